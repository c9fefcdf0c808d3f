/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page's HTTP server, by libevent's evhttp, with the limits that evhttp does not have: GET only; PLACES
 * connections, for one more the oldest without a request is closed; a request must be complete in REQUEST_S, its answer
 * taken in ANSWER_S; at most OUTPUT_BYTES wait for a client. A request whose Host is not one of ours is refused: it came
 * by a name that somebody else owns (DNS rebinding). So is a request for live or past data that the browser says a
 * foreign page made (browsers say that on loopback and by https only; a foreign page could not read the answer anyway).
 */
#pragma once

#include <event2/buffer.h>
#include <event2/http.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "slowctl/param/error.h"

#define SERVER_PLACES	    32u
#define SERVER_STREAMS	    (SERVER_PLACES / 2) /* they do not end: the other places are for what does */
#define SERVER_OUTPUT_BYTES (1u << 20)
#define SERVER_REQUEST_S    30
#define SERVER_ANSWER_S	    60
#define SERVER_HOSTS_MAX    8u
#define SERVER_ROUTES_MAX   6u

struct event_base;
struct server;
struct server_client; /* of one request, until it is answered or its connection has ended */

/* A request for a path below `prefix`, which ends with a slash; `rest` is what follows it. Or for `prefix` itself. */
struct server_route {
	const char *prefix;
	void (*ask)(void *context, struct server_client *c, const char *rest,
		    const struct evkeyvalq *arguments);
	void *context;
};

struct server_config {
	const char *address; /* numeric */
	unsigned short port; /* 0: any that is free */
	const char *hosts[SERVER_HOSTS_MAX +
			  1]; /* further names that Host may have; NULL behind the last */
	struct server_route route[SERVER_ROUTES_MAX + 1]; /* no prefix behind the last */
};

/* Negative errno and *error. */
int server_open(struct event_base *base, const struct server_config *config,
		struct server **ret_server, struct sc_error *error);
/* Ends all connections. NULL is fine. */
void server_close(struct server *s);
/* The port it listens on. */
unsigned short server_port(const struct server *s);

/* Answers the request; the client is void. `json` is taken over. */
void server_answer(struct server_client *c, int code, json_t *json);
/* The same with {"error", "hint"}. */
void server_refuse(struct server_client *c, int code, const char *hint, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The same with a copy of `text`; NULL: out of memory. */
void server_answer_text(struct server_client *c, int code, const char *type, const char *text);
/* The same with bytes that stay as they are until the server is closed. */
void server_answer_bytes(struct server_client *c, const char *type, const void *bytes,
			 size_t length);
/* `ended` is called when the connection ends before the answer; the client is void then. NULL: no more. */
void server_on_end(struct server_client *c, void (*ended)(void *context), void *context);

/* The answer is a stream of server-sent events, without end. False: there are SERVER_STREAMS already; it was refused. */
bool server_begin_events(struct server_client *c);
/* False: the client does not read, and is disconnected; `ended` will be called. */
bool server_send_event(struct server_client *c, const char *event, const char *data);
