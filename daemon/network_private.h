/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of the network's control server: messages (network.c) and the door (network_door.c), which is who gets
 * through the handshake. Nobody else includes this.
 */
#ifndef DAEMON_NETWORK_PRIVATE_H
#define DAEMON_NETWORK_PRIVATE_H

#include <stdatomic.h>

#include <event2/event.h>

#include "daemon/bucket.h"
#include "daemon/control_desk.h"
#include "daemon/network.h"

#define DOOR_PLACES 1024u /* addresses by descriptor */
#define DOOR_BACK   8u	  /* s: by then a handshake has succeeded or not */

/*
 * Who knocks. libzmq tells of a connection (its descriptor), of a handshake that failed (not whose; but the end
 * of that connection is the next that it tells), and of one that succeeded (not whose). Somebody who speaks
 * another protocol altogether is only seen to come and to go: those are what is missing in the sums
 * when all handshakes must be over.
 */
struct door {
	void *zap, *monitor;
	uint16_t port;
	struct {
		int fd;
		char address[64];
	} place[DOOR_PLACES];
	const char *failed; /* why the handshake failed whose connection ends next; NULL */
	uint64_t accepted[DOOR_BACK];
	unsigned second;
	uint64_t told; /* refused, with a reason */
};

struct network_client {
	struct control_client base;
	struct network *network;
	uint8_t id[255];  /* ZeroMQ's routing id */
	uint8_t id_bytes; /* 0: the place is free */
	char key[ACCESS_KEY_TEXT];
	int fd; /* of its connection */
	_Atomic uint64_t
		unread; /* bytes that libzmq still has for it; counted down on its thread */
	uint64_t heard_ns;
	bool gone;
};

struct network {
	struct event_base *base;
	struct control_desk *desk;
	void *context, *router;
	struct door door;
	struct event *events[3], *turns;
	struct network_client client[NETWORK_CLIENTS];
	struct access_list list;
	struct bucket bucket[ACCESS_KEYS_MAX]; /* as in the list */
	double rate, burst;
	struct network_status status;
};

/* network_door.c */
int door_open(struct network *n); /* before the ROUTER is bound */
int door_bound(struct network *n);
/* True: there is more. */
bool door_serve(struct network *n);
void door_second(struct network *n);
void door_close(struct network *n);
/* End a connection of ours: libzmq sees its end, and does the rest. */
void door_cut(struct network *n, int fd);

#endif
