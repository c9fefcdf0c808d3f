/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listening TCP sockets that outlive the daemon. systemd keeps a copy of each in the unit's
 * descriptor store and gives it to the next daemon. In between, no other program can take the port,
 * and new connections wait in the backlog. Without systemd they are ordinary sockets.
 *
 * A socket is kept under a name. It is used again only when it still listens at the address that is asked for; else it
 * is closed, and removed from the store.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>

/* Take the sockets that systemd has kept. Once, at the start, before there are threads. */
void listener_inherit(void);
/* A non-blocking socket that listens at an IPv4 or IPv6 address, kept under `name`. Any thread; one name is one
 * thread's. Returns its descriptor, the caller's, or socket's, bind's, listen's negative errno. */
int listener_open(const char *name, const struct sockaddr *address, socklen_t length);
/* All names have been asked for: close the other sockets, and remove them from the store. */
void listener_settle(void);

/* True: this error of bind is tried again: another program has the port, or the machine does not
 * have the address yet. */
static inline bool listener_may_wait(int r)
{
	return r == -EADDRINUSE || r == -EADDRNOTAVAIL;
}
