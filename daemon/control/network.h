/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control protocol over the network: a ZeroMQ ROUTER, always encrypted and authenticated (CURVE), for the
 * keys of an allow list (slowctl/access/access.h). One request or answer a message, as on the Unix socket
 * (schemas/control.md). Main thread, libevent; a context of ZeroMQ of its own.
 *
 * A key that is not in the list fails at the handshake. Each key has limits: `rate` requests a second, NETWORK_OPEN_MAX
 * open ones, CONTROL_BACKLOG_MAX bytes of unread answers; messages have at most 1 MiB. A new list is used at once, for
 * existing connections too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/net/door.h"
#include "slowctl/access/access.h"
#include "slowctl/param/error.h"

struct dispatch;
struct event_base;
struct network;

#define NETWORK_CLIENTS                                                                            \
	256u /* that we keep answers for: more than there may be connections (door.h) */
#define NETWORK_CLIENTS_KEY 32u	 /* of one key */
#define NETWORK_OPEN_MAX    500u /* requests of one key that wait for their ends */

struct network_config {
	const char *endpoint; /* tcp://ADDRESS:PORT */
	const char *key_file; /* the server's secret */
	double rate, burst;   /* requests a second and key; at once */
	/* A key of the list has been let in from `address`; `logins`: since this was last called for it. Of one key and
	 * address once a minute at most. NULL: not reported. */
	void (*login)(void *context, const struct access_key *key, const char *address,
		      uint64_t logins);
	void *login_context;
};

struct network_status {
	struct door_status door;
	uint64_t refused_key; /* of those refused: encrypted, but not in the list */
	uint64_t requests;
	uint64_t bad_messages; /* no JSON object in one frame */
	uint64_t refused_rate; /* requests beyond the rate, or beyond the open ones */
	uint64_t removed;      /* messages of keys that are no longer in the list */
	uint64_t unsent;       /* answers that a client did not take */
	unsigned keys, clients;
	char public_key[ACCESS_KEY_TEXT];
};

/* Refuses to start without encryption, key or list. `list` is copied. Negative errno, `error` filled. */
int network_open(struct event_base *base, const struct network_config *config,
		 const struct access_list *list, struct dispatch *dispatch,
		 struct network **ret_network, struct sc_error *error);
/* From now on. Connections of keys that are gone are ended. */
void network_allow(struct network *n, const struct access_list *list, double rate, double burst);
/* Once a second. */
void network_tend(struct network *n);
void network_get_status(const struct network *n, struct network_status *ret_status);
/* The last answers are sent, for up to 200 ms. NULL is fine. */
void network_close(struct network *n);
