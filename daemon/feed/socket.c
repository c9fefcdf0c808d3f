/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sockets of the TriDAS feed, see socket.h. */
#include "daemon/feed/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "daemon/net/listener.h"

/* TCP's own watch over a peer that has lost its power or its cable, s. */
#define KEEP_IDLE_S	10
#define KEEP_INTERVAL_S 5
#define KEEP_COUNT	3
/* Unacknowledged by the peer's TCP for so long: it is gone; also the end of what a dropped reader left. */
#define UNACKED_MS 30000

static void set_number(int fd, int level, int option, int value)
{
	/* None of them is worth losing a reader for. */
	(void)setsockopt(fd, level, option, &value, sizeof(value));
}

void feed_socket_name(const struct sockaddr_storage *a, socklen_t length, char *text, size_t size)
{
	char host[48] = "?", port[8] = "?";

	getnameinfo((const struct sockaddr *)a, length, host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(text, size, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

void feed_socket_tune(int fd)
{
	set_number(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_number(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_number(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S);
	set_number(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S);
	set_number(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEP_COUNT);
	set_number(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNACKED_MS);
}

int feed_socket_listen(const char *name, const char *address, uint16_t port)
{
	struct addrinfo hints = {
		.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *found = NULL;
	char service[8];
	int fd;

	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(address, service, &hints, &found) != 0) {
		return -EINVAL;
	}
	fd = listener_open(name, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return fd;
}
