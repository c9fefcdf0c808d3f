/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of TCP sockets. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* A socket's own address, or its peer's. Returns the port; 0: it is no TCP socket, or has no address any more. */
static inline uint16_t address_of(int fd, bool peer, struct sockaddr_storage *ret_address)
{
	struct sockaddr *a = (struct sockaddr *)ret_address;
	socklen_t length = sizeof(*ret_address);

	a->sa_family = AF_UNSPEC;
	if (fd < 0 || (peer ? getpeername(fd, a, &length) : getsockname(fd, a, &length)) < 0) {
		return 0;
	}
	return a->sa_family == AF_INET	  ? ntohs(((struct sockaddr_in *)a)->sin_port)
	       : a->sa_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)a)->sin6_port)
					  : 0;
}
