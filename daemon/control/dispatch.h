/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The dispatch of requests, for all transports: it checks the envelope, finds the operation in a
 * table, checks arguments and role, and builds the answers. A transport (control.c, network.c)
 * brings messages and takes answers away. Main thread.
 *
 *   transport --dispatch_bytes(client, ...)--> dispatch --run()--> operation
 *       ^                                                              |
 *       '-- transport->say(client, answer) <-- dispatch <-- control_answer()
 *
 * When a client disconnects, later answers to its open requests are dropped.
 */
#pragma once

#include <sys/queue.h>

#include "daemon/control/control.h"

struct control_client;

struct control_transport {
	/* Takes `message` over. The client must not be freed by it. */
	void (*say)(struct control_client *client, json_t *message);
	/* A request of the client has been answered: `open` is one less. As above. May be NULL. */
	void (*answered)(struct control_client *client);
};

/* Part of a transport's own client. */
struct control_client {
	struct dispatch *dispatch;
	const struct control_transport *transport;
	struct control_peer peer;
	LIST_HEAD(, control_request) requests;
	unsigned open;	     /* requests */
	unsigned held;	     /* of them: control_hold() */
	unsigned subscribed; /* of them: control_subscribe() */
	bool gone;	  /* it receives no more answers: operations that only read are not run */
	bool urgent_only; /* it is served nothing but operations that are urgent */
};

/* `peer` is the caller's to fill. */
void control_client_init(struct control_client *client, struct dispatch *dispatch,
			 const struct control_transport *transport);
/* Whether it waits for an answer: not all its requests are subscriptions. */
bool control_client_waits(const struct control_client *client);
/* The client has disconnected. */
void control_client_fini(struct control_client *client);

#define CONTROL_VALUES_MAX                                                                         \
	4096u /* of one message; the longest that anybody needs has some hundred names */

/* A message as JSON. NULL: `error->text` says why; also with more than CONTROL_VALUES_MAX values,
 * because each costs the main thread time (up to 0.2 s for all that fit into a message). */
json_t *dispatch_load(const void *bytes, size_t length, json_error_t *error);
/* Serve one message, an object; it stays the caller's. */
void dispatch_take(struct control_client *client, json_t *message);
/* Serve one message as it came. NULL, or why it is none; `error` keeps that text. */
const char *dispatch_bytes(struct control_client *client, const void *bytes, size_t length,
			   json_error_t *error);
/* Answer what is no request, or is not served, with an error to `id` (NULL: null).
 * `detail` may be DETAIL_NONE. */
void dispatch_refuse(struct control_client *client, json_t *id, const char *code, const char *hint,
		     enum error_detail detail, const char *why);
