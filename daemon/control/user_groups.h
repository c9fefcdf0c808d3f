/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Roles of the peers of the control socket, by their groups at the time of connection, which the
 * kernel keeps (SO_PEERCRED, SO_PEERGROUPS). Names of groups are looked up only in
 * control_groups_find(), because that may block.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "slowctl/access/access.h"
#include "slowctl/param/error.h"

struct control_groups {
	bool roles; /* a group of experts or of readers is configured; else every user who can connect is an expert */
	bool has[ACCESS_ROLES];
	gid_t gid[ACCESS_ROLES];
};

/* `names` by role, "" none: operators are then the daemon's own group. 0; -ESRCH, there is no such group; or what the
 * look-up failed with. `error` is filled, with what to do. */
int control_groups_find(const char *const names[ACCESS_ROLES], struct control_groups *ret_groups,
			struct sc_error *error);
/* Of the socket's file. Where a group is configured every user may connect, and control_groups_role() decides: a file
 * has one group only, and to give it to one is a right (chown) that the daemon does not need for anything else. */
mode_t control_groups_mode(const struct control_groups *groups);
/* The role of the peer of a connected Unix socket: root's is expert, else that of the best of its groups. False: it has
 * none. */
bool control_groups_role(const struct control_groups *groups, int fd, enum access_role *ret_role);
