/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The role of a local user by its groups: see user_groups.h. */
#include "daemon/control/user_groups.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GROUPS_USUAL 64u

static const char *const keys[ACCESS_ROLES] = {
	[ACCESS_READER] = "reader_group",
	[ACCESS_OPERATOR] = "socket_group",
	[ACCESS_EXPERT] = "expert_group",
};

int control_groups_find(const char *const names[ACCESS_ROLES], struct control_groups *ret_groups,
			struct sc_error *error)
{
	struct control_groups g = {.roles = *names[ACCESS_EXPERT] || *names[ACCESS_READER]};

	for (unsigned role = 0; role < ACCESS_ROLES; role++) {
		const struct group *found;

		if (!*names[role]) {
			continue;
		}
		errno = 0;
		found = getgrnam(names[role]);
		if (!found) {
			return sc_fail(error, errno ? -errno : -ESRCH, "group",
				       "make the group (groupadd --system), or name another",
				       "[control] %s = %s: %s", keys[role], names[role],
				       errno ? strerror(errno) : "there is no such group");
		}
		g.has[role] = true;
		g.gid[role] = found->gr_gid;
	}
	if (g.roles && !g.has[ACCESS_OPERATOR]) {
		g.has[ACCESS_OPERATOR] = true;
		g.gid[ACCESS_OPERATOR] = getegid();
	} else if (!g.roles && g.has[ACCESS_OPERATOR]) {
		g.has[ACCESS_EXPERT] = true;
		g.gid[ACCESS_EXPERT] = g.gid[ACCESS_OPERATOR];
	}
	*ret_groups = g;
	return 0;
}

/* No group is configured: the file's mode decides who gets in. */
static bool has_none(const struct control_groups *groups)
{
	return !groups->has[ACCESS_READER] && !groups->has[ACCESS_OPERATOR] &&
	       !groups->has[ACCESS_EXPERT];
}

mode_t control_groups_mode(const struct control_groups *groups)
{
	return has_none(groups) ? 0660 : 0666;
}

/* The peer's supplementary groups: `few`, or a longer list that is the caller's to free. NULL: unknown. */
static gid_t *groups_of(int fd, gid_t few[GROUPS_USUAL], size_t *ret_count)
{
	socklen_t size = (socklen_t)(GROUPS_USUAL * sizeof(*few));
	gid_t *list = few;

	while (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, list, &size) < 0) {
		if (errno != ERANGE || list != few) {
			size = 0;
			break;
		}
		list = malloc(size); /* as many as it has */
		if (!list) {
			return NULL;
		}
	}
	*ret_count = size / sizeof(*list);
	return list;
}

static bool is_in(gid_t wanted, gid_t first, const gid_t *list, size_t count)
{
	bool in = wanted == first;

	for (size_t n = 0; n < count && !in; n++) {
		in = list[n] == wanted;
	}
	return in;
}

bool control_groups_role(const struct control_groups *groups, int fd, enum access_role *ret_role)
{
	struct ucred peer = {.uid = (uid_t)-1, .gid = (gid_t)-1};
	socklen_t length = sizeof(peer);
	gid_t few[GROUPS_USUAL], *list;
	size_t count = 0;
	bool found = false;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) {
		return false;
	}
	if (has_none(groups) || peer.uid == 0) {
		*ret_role = ACCESS_EXPERT;
		return true;
	}
	list = groups_of(fd, few, &count);
	for (unsigned role = ACCESS_ROLES; role-- > 0 && !found;) {
		found = groups->has[role] && is_in(groups->gid[role], peer.gid, list, count);
		if (found) {
			*ret_role = (enum access_role)role;
		}
	}
	if (list != few) {
		free(list);
	}
	return found;
}
