/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The desk: requests of all transports. Checks the envelope and the peer's role, finds the operation in a
 * table, builds the answers; a transport (control.c, network.c) brings messages and takes answers away.
 * Main thread.
 *
 *   transport --dispatch_take(client, message)--> desk --run()--> operation
 *       ^                                                                 |
 *       '-- transport->say(client, answer) <-- desk <-- control_answer() -'
 *
 * A client that goes away orphans its open requests: what is still answered then is dropped.
 */
#ifndef DAEMON_CONTROL_DISPATCH_H
#define DAEMON_CONTROL_DISPATCH_H

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
	struct dispatch *desk;
	const struct control_transport *transport;
	struct control_peer peer;
	LIST_HEAD(, control_request) requests;
	unsigned open;	     /* requests */
	unsigned held;	     /* of them, those whose ends its next one has to wait for */
	unsigned subscribed; /* of them: control_subscribe() */
	bool gone;	     /* nobody takes its answers any more: what only asks is not served */
	bool urgent_only;    /* it is served nothing but operations that are urgent */
};

/* `peer` is the caller's to fill. */
void control_client_init(struct control_client *client, struct dispatch *desk,
			 const struct control_transport *transport);
/* Whether it waits for an answer, not only for news. */
bool control_client_waits(const struct control_client *client);
/* It is gone. */
void control_client_fini(struct control_client *client);

#define CONTROL_VALUES_MAX                                                                         \
	4096u /* of one message; the longest that anybody needs has some hundred names */

/* A message as JSON. Each of its values costs the main thread time, up to 0.2 s for all that fit into a message:
 * with more than CONTROL_VALUES_MAX it is none. NULL: `error->text` says why. */
json_t *dispatch_load(const void *bytes, size_t length, json_error_t *error);
/* Serve one message, an object; it stays the caller's. */
void dispatch_take(struct control_client *client, json_t *message);
/* Serve one message as it came. NULL, or why it is none; `error` keeps that text. */
const char *dispatch_bytes(struct control_client *client, const void *bytes, size_t length,
			   json_error_t *error);
/* What came is no request, or one that is not served: answered as an error to `id` (NULL: null).
 * `detail` may be DETAIL_NONE. */
void dispatch_refuse(struct control_client *client, json_t *id, const char *code, const char *hint,
		     enum error_detail detail, const char *why);

#endif
