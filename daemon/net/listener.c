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

/* Port 0 asks for a new one each time. (The port of an IPv6 address is in the same place.) */
static bool listens_at(int fd, const struct sockaddr *address, socklen_t length)
{
	return ((const struct sockaddr_in *)(const void *)address)->sin_port != 0 &&
	       sd_is_socket_sockaddr(fd, SOCK_STREAM, address, length, true) > 0;
}

/* The kept socket of this name and address; -1: there is none. One of another address is forgotten. */
static int take_kept(const char *name, const struct sockaddr *address, socklen_t length)
{
	bool other = false;
	int fd = -1;

	pthread_mutex_lock(&store.lock);
	for (unsigned i = 0; i < store.count; i++) {
		struct kept *k = &store.kept[i];

		if (k->fd < 0 || strcmp(k->name, name) != 0) {
			continue;
		}
		if (fd < 0 && listens_at(k->fd, address, length)) {
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
	int fd = take_kept(name, address, length);

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
