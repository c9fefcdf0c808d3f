/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of a listening ZeroMQ socket: the number of connections, in total and per address, and
 * what each may send. libzmq itself has no limits: it accepts until there are no descriptors left,
 * and keeps a message until it is complete.
 *
 * libzmq's monitor reports each accepted connection (with its descriptor), each failed handshake
 * (without one, but the end of that connection is reported next) and each successful one (without
 * one). A peer with another protocol only connects and disconnects, or is cut off here when it has not sent a greeting in
 * time: the number of such peers is the difference of the sums after the time of a handshake.
 *
 * The descriptors belong to libzmq, which may close them at any time: none is touched unless it is still the known
 * connection (SO_COOKIE). Belongs to the thread of the socket.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DOOR_ADDRESS_MAX 64u
#define DOOR_WATCH_NS	 20000000ull /* between two checks of door_watch() */

/* Limits of every listener of the station: connections; of them from one address. */
#define DOOR_MOST 128u
#define DOOR_MOST_A_SOURCE                                                                         \
	32u /* a host may run all members, and more may ask than there is room for */

#define DOOR_ID_MAX 255u /* bytes of a routing id; libzmq 4.3.4 takes longer ones, too */

struct door;

struct door_config {
	void *context, *socket; /* not bound yet */
	const char *
		name; /* of this door: "control"; its listening socket is kept under it (listener.h) */
	unsigned most;		/* connections */
	unsigned most_a_source; /* of them from one address */
	/* A connection is closed when it has sent this many bytes since its last whole message, or
	 * since its beginning; 0: none. */
	uint64_t unfinished;
	uint64_t life;	    /* so is one that has sent so many bytes altogether; 0: none */
	uint64_t silent_ns; /* so is one that ends no message for so long; 0: none */
	/* A connection has ended; NULL. No message of a later one with this descriptor has been taken by then. */
	void (*ended)(void *context, int fd);
	void *ended_context;
};

/* A peer that was refused. */
struct door_refusal {
	char address[DOOR_ADDRESS_MAX]; /* "" unknown */
	char key[9];			/* the beginning of its public key; "" none */
	const char *why;
};

struct door_status {
	uint64_t accepted, ended, admitted; /* TCP connections; of them let in */
	uint64_t refused;		    /* not let in, whatever the reason */
	uint64_t crowded;		    /* cut off: too many connections */
	uint64_t unfinished;		    /* cut off: an endless message */
	uint64_t silent;		    /* cut off: no message for too long */
	uint64_t greedy;		    /* cut off: has sent too much */
	struct door_refusal last;	    /* of `refused` */
	int closed; /* why it is not bound, negative errno; tried again each second; 0: it is bound */
};

/* A ROUTER for a door; NULL: zmq_errno(). libzmq 4.3.4 counts the peers that do not name
 * themselves, from rand() on, and aborts where another peer has the next number for its name: each
 * socket begins at a random number. */
void *door_router(void *context);
/* Before the socket is bound, by door_bind(). Negative errno. */
int door_open(const struct door_config *config, struct door **ret_door);
/* zmq_bind(), once. A socket of tcp:// and a numeric address or * outlives the daemon (listener.h).
 * While another program uses the address, or the machine does not have it yet, the result is 0 and
 * door_second() tries again; the status shows it. Other errors: negative errno, -EINVAL for
 * ZeroMQ's own. */
int door_bind(struct door *d, const char *endpoint);
/* Where it is bound, a wildcard port resolved; as given to door_bind() while it is not. */
const char *door_endpoint(const struct door *d);
/* The monitor's ZeroMQ socket, to poll. */
void *door_socket(struct door *d);
/* Handle some of the monitor's reports. True: there may be more. */
bool door_serve(struct door *d, uint64_t now_ns);
/* A whole message has come on this descriptor (ZMQ_SRCFD). `known`: its sender is a member; others
 * are closed first when there are too many. With `life` this is ignored: a connection that has sent
 * more than ZeroMQ's greeting counts as known. */
void door_heard(struct door *d, int fd, bool known);
/* Call at least every DOOR_WATCH_NS, after the messages: finds connections that send without end.
 * `drained`: all whole messages have been taken. While they are not, it checks once a second. */
void door_watch(struct door *d, bool drained, uint64_t now_ns);
/* Every second. */
void door_second(struct door *d);
/* A key was refused (zap.h). */
void door_refused(struct door *d, const char *address, const char *key, const char *why);
/* End a connection: libzmq sees its end and cleans up. */
void door_cut(struct door *d, int fd);
/* The same, counted as one too many. */
void door_cut_crowded(struct door *d, int fd);
void door_cut_all(struct door *d);
void door_get_status(const struct door *d, struct door_status *ret_status);
/* Before the socket is closed. NULL is fine. */
void door_close(struct door *d);
