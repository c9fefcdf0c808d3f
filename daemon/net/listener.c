// SPDX-License-Identifier: GPL-2.0-or-later
/* Listening sockets that outlive the daemon, see listener.h. */
#include "daemon/net/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#define KEPT_MAX       32u
#define NAME_MAX_BYTES 32u
#define BACKLOG	       512 /* also for those who come between two daemons */

/* What systemd has given us, until it is asked for. */
static struct {
	pthread_mutex_t lock;
	struct kept {
		int fd; /* -1: asked for */
		char name[NAME_MAX_BYTES];
	} kept[KEPT_MAX];
	unsigned count;
} store = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* It has our own name, but what lies under it is not ours any more. */
static void forget(const char *name)
{
	sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", name);
}

/* A listening socket does not hang up: systemd need not look (FDPOLL). */
static void keep(const char *name, int fd)
{
	char text[NAME_MAX_BYTES + 48];

	snprintf(text, sizeof(text), "FDSTORE=1\nFDNAME=%s\nFDPOLL=0", name);
	sd_pid_notify_with_fds(0, 0, text, &fd, 1);
}

void listener_inherit(void)
{
	char **names = NULL;
	int count = sd_listen_fds_with_names(1, &names);

	for (int i = 0; i < count; i++) {
		if (store.count < KEPT_MAX && strlen(names[i]) < NAME_MAX_BYTES) {
			struct kept *k = &store.kept[store.count++];

			k->fd = SD_LISTEN_FDS_START + i;
			strcpy(k->name, names[i]);
		} else {
			close(SD_LISTEN_FDS_START + i);
		}
		free(names[i]);
	}
	free(names);
}

static bool same_address(const struct sockaddr_storage *a, const struct sockaddr *b)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->ss_family != b->sa_family) {
		return false;
	}
	if (a->ss_family == AF_INET) {
		return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	}
	return a->ss_family == AF_INET6 && a6->sin6_port == b6->sin6_port &&
	       a6->sin6_scope_id == b6->sin6_scope_id &&
	       memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
}

static bool listens_at(int fd, const struct sockaddr *address)
{
	struct sockaddr_storage a = {.ss_family = AF_UNSPEC};
	socklen_t length = sizeof(a);
	int listens = 0, type = 0;
	socklen_t size = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
	       getsockname(fd, (struct sockaddr *)&a, &length) == 0 && same_address(&a, address);
}

/* The kept socket of this name and address; -1: there is none. One of another address is forgotten. */
static int take_kept(const char *name, const struct sockaddr *address)
{
	bool other = false;
	int fd = -1;

	pthread_mutex_lock(&store.lock);
	for (unsigned i = 0; i < store.count; i++) {
		struct kept *k = &store.kept[i];

		if (k->fd < 0 || strcmp(k->name, name) != 0) {
			continue;
		}
		if (fd < 0 && listens_at(k->fd, address)) {
			fd = k->fd;
		} else {
			close(k->fd);
			other = true;
		}
		k->fd = -1;
	}
	pthread_mutex_unlock(&store.lock);
	if (other) {
		forget(name);
	}
	if (other && fd >= 0) {
		keep(name, fd);
	}
	return fd;
}

static int listen_at(const struct sockaddr *address, socklen_t length)
{
	const int one = 1, zero = 0;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int r = fd < 0 ? -errno : 0;

	if (fd >= 0) {
		/* Neither is worth doing without the socket. */
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	}
	if (fd >= 0 && (bind(fd, address, length) < 0 || listen(fd, BACKLOG) < 0)) {
		r = -errno;
		close(fd);
	}
	return r < 0 ? r : fd;
}

int listener_open(const char *name, const struct sockaddr *address, socklen_t length)
{
	int fd = take_kept(name, address);

	if (fd < 0) {
		fd = listen_at(address, length);
		if (fd >= 0) {
			keep(name, fd);
		}
	}
	return fd;
}

void listener_settle(void)
{
	pthread_mutex_lock(&store.lock);
	for (unsigned i = 0; i < store.count; i++) {
		struct kept *k = &store.kept[i];

		if (k->fd >= 0) {
			close(k->fd);
			k->fd = -1;
			forget(k->name);
		}
	}
	pthread_mutex_unlock(&store.lock);
}
