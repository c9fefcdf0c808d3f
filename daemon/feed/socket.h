/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sockets of the TriDAS feed: listening, names, options. No state. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* A non-blocking socket that listens at a numeric IPv4 or IPv6 address and is kept under `name` (listener.h); port 0:
 * any free one. -EINVAL: no such address; else bind's and listen's errors. */
int feed_socket_listen(const char *name, const char *address, uint16_t port);
/* Sent at once; a peer that lost its power or its cable is noticed within half a minute. */
void feed_socket_tune(int fd);
/* "127.0.0.1:40712", "[::1]:40712" */
void feed_socket_name(const struct sockaddr_storage *a, socklen_t length, char *text, size_t size);
