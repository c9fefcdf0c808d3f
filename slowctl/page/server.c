// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See server.h. A connection has a place. evhttp asks us for its bufferevent when it begins, but does not say when it
 * ends, if it never sends a request: we keep a reference to the bufferevent, and see that evhttp has let go of it.
 */
#include "slowctl/page/server.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/keyvalq_struct.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "daemon/core/log.h"

#define HEADERS_BYTES 16384 /* of a request */

/* One connection, and the request that it has open. */
struct server_client {
	struct server *server;
	struct bufferevent *connection; /* evhttp's, and ours */
	struct event *deadline;
	struct evhttp_request *request; /* NULL: it waits for one */
	bool events;
	bool hung_up; /* evhttp has not seen it yet */
	void (*ended)(void *context);
	void *context;
	LIST_ENTRY(server_client) next; /* the newest first */
};

struct server {
	struct evhttp *http;
	struct evhttp_bound_socket *socket;
	struct server_config config;
	unsigned clients;
	LIST_HEAD(, server_client) list;
};

/* ------------------------------------------------------------------ connections */

/* evhttp has let go of it: then it has taken its callbacks away. */
static bool is_over(const struct server_client *c)
{
	bufferevent_event_cb event;

	bufferevent_getcb(c->connection, NULL, NULL, &event, NULL);
	return !event;
}

static void release(struct server_client *c)
{
	LIST_REMOVE(c, next);
	c->server->clients--;
	event_free(c->deadline);
	bufferevent_decref(c->connection);
	free(c);
}

/* evhttp sees that the connection has ended, and lets go of it. */
static void hang_up(struct server_client *c)
{
	evutil_socket_t fd = bufferevent_getfd(c->connection);

	c->hung_up = true;
	if (fd >= 0) {
		shutdown(fd, SHUT_RDWR);
	}
}

static void within(struct server_client *c, int seconds)
{
	const struct timeval t = {.tv_sec = seconds};

	event_add(c->deadline, &t);
}

static void tell_end(struct server_client *c)
{
	if (c->ended) {
		c->ended(c->context);
		c->ended = NULL;
	}
}

/* While a request is being answered evhttp looks at no connection: it is refused, not hung up. */
static void on_deadline(evutil_socket_t fd, short what, void *context)
{
	struct server_client *c = context;

	if (is_over(c)) {
		release(c);
	} else if (c->request && !c->events) {
		tell_end(c);
		server_refuse(c, HTTP_SERVUNAVAIL, "try again later", "no answer within %d s",
			      SERVER_ANSWER_S);
	} else {
		hang_up(c);
		within(c, 1);
	}
}

/* evhttp lets go of the connection. A request that is not answered yet is ours. */
static void on_closed(struct evhttp_connection *connection, void *context)
{
	struct server_client *c = context;

	if (c->request && !evhttp_request_get_connection(c->request)) {
		evhttp_request_free(c->request);
	}
	c->request = NULL;
	tell_end(c);
	event_active(c->deadline, EV_TIMEOUT, 0);
}

/* All places are taken: the connection that has been silent for longest is closed. */
static void make_room(struct server *s)
{
	struct server_client *c, *oldest = NULL;

	LIST_FOREACH (c, &s->list, next) {
		oldest = c->request || c->hung_up ? oldest : c;
	}
	if (oldest) {
		hang_up(oldest);
	}
	log_warning("page", "more than %u connections: %s", SERVER_PLACES,
		    oldest ? "the oldest without a request is closed" : "a new one is closed");
}

static void release_those_over(struct server *s)
{
	struct server_client *c, *next;

	for (c = LIST_FIRST(&s->list); c; c = next) {
		next = LIST_NEXT(c, next);
		if (is_over(c)) {
			release(c);
		}
	}
}

/* NULL: out of memory; evhttp then makes a connection of its own, which has no place and is refused by find(). */
static struct bufferevent *on_connection(struct event_base *base, void *context)
{
	struct server *s = context;
	struct server_client *c;

	release_those_over(s);
	c = calloc(1, sizeof(*c));
	if (!c) {
		return NULL;
	}
	c->server = s;
	c->deadline = event_new(base, -1, 0, on_deadline, c);
	c->connection =
		c->deadline ? bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE) : NULL;
	if (!c->connection) {
		if (c->deadline) {
			event_free(c->deadline);
		}
		free(c);
		return NULL;
	}
	bufferevent_incref(c->connection);
	bufferevent_setwatermark(c->connection, EV_READ, 0, 2 * HEADERS_BYTES);
	if (s->clients >= SERVER_PLACES) {
		make_room(s);
	}
	LIST_INSERT_HEAD(&s->list, c, next);
	s->clients++;
	within(c, SERVER_REQUEST_S);
	if (s->clients > 2 * SERVER_PLACES) { /* it gets its socket right after this */
		event_active(c->deadline, EV_TIMEOUT, 0);
	}
	return c->connection;
}

static struct server_client *find(struct server *s, struct evhttp_request *request)
{
	struct bufferevent *connection =
		evhttp_connection_get_bufferevent(evhttp_request_get_connection(request));
	struct server_client *c;

	LIST_FOREACH (c, &s->list, next) {
		if (c->connection == connection) {
			return c;
		}
	}
	return NULL;
}

void server_on_end(struct server_client *c, void (*ended)(void *context), void *context)
{
	c->ended = ended;
	c->context = context;
}

/* ------------------------------------------------------------------ answers */

static void add_headers(struct evhttp_request *request, const char *type)
{
	static const char *const always[][2] = {
		{"Content-Security-Policy",
		 "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
		 "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		{"Cache-Control", "no-store"},
	};
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
		evhttp_add_header(headers, always[i][0], always[i][1]);
	}
	evhttp_add_header(headers, "Content-Type", type);
}

static void on_answered(struct evhttp_request *request, void *context)
{
	within(context, SERVER_REQUEST_S);
}

/* `body` may be NULL; it stays the caller's. */
static void answer(struct server_client *c, int code, const char *type, struct evbuffer *body)
{
	struct evhttp_request *request = c->request;

	c->request = NULL;
	c->ended = NULL;
	add_headers(request, type);
	if (code != HTTP_OK) {
		evhttp_add_header(evhttp_request_get_output_headers(request), "Connection",
				  "close");
	}
	within(c, SERVER_ANSWER_S);
	evhttp_request_set_on_complete_cb(request, on_answered, c);
	evhttp_send_reply(request, code, NULL, body);
}

void server_answer_bytes(struct server_client *c, const char *type, const void *bytes,
			 size_t length)
{
	struct evbuffer *body = evbuffer_new();

	if (body) {
		evbuffer_add_reference(body, bytes, length, NULL, NULL);
	}
	answer(c, body ? HTTP_OK : HTTP_INTERNAL, type, body);
	if (body) {
		evbuffer_free(body);
	}
}

static void release_text(const void *bytes, size_t length, void *context)
{
	free(context);
}

/* `text` is taken over; NULL: out of memory. */
static void answer_with(struct server_client *c, int code, const char *type, char *text)
{
	size_t length = text ? strlen(text) : 0;
	struct evbuffer *body = evbuffer_new();

	if (length > SERVER_OUTPUT_BYTES) {
		free(text);
		evbuffer_free(body);
		server_refuse(c, HTTP_INTERNAL, "ask for a shorter time",
			      "the answer would have %zu bytes", length);
		return;
	}
	if (!text || !body || evbuffer_add_reference(body, text, length, release_text, text) < 0) {
		free(text);
		code = HTTP_INTERNAL;
	}
	answer(c, code, type, body);
	if (body) {
		evbuffer_free(body);
	}
}

void server_answer(struct server_client *c, int code, json_t *json)
{
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	answer_with(c, code, "application/json", text);
}

void server_answer_text(struct server_client *c, int code, const char *type, const char *text)
{
	answer_with(c, code, type, text ? strdup(text) : NULL);
}

void server_refuse(struct server_client *c, int code, const char *hint, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	server_answer(c, code, json_pack("{s:s,s:s}", "error", text, "hint", hint));
}

bool server_begin_events(struct server_client *c)
{
	const struct server_client *other;
	unsigned streams = 0;

	LIST_FOREACH (other, &c->server->list, next) {
		streams += other->events && other->request;
	}
	if (streams >= SERVER_STREAMS) {
		server_refuse(c, HTTP_SERVUNAVAIL, "close another page",
			      "%u pages are open, the rest of the places is for other questions",
			      streams);
		return false;
	}
	add_headers(c->request, "text/event-stream");
	c->events = true;
	event_del(c->deadline);
	evhttp_send_reply_start(c->request, HTTP_OK, NULL);
	return true;
}

bool server_send_event(struct server_client *c, const char *event, const char *data)
{
	struct evbuffer *chunk = evbuffer_new();

	if (!chunk || evbuffer_add_printf(chunk, "event: %s\ndata: %s\n\n", event, data) < 0) {
		hang_up(c);
	} else if (evbuffer_get_length(bufferevent_get_output(c->connection)) +
			   evbuffer_get_length(chunk) >
		   SERVER_OUTPUT_BYTES) {
		log_notice("page", "a client has not read for %u KiB: disconnected",
			   SERVER_OUTPUT_BYTES >> 10);
		hang_up(c);
	} else {
		evhttp_send_reply_chunk(c->request, chunk);
		evbuffer_free(chunk);
		return true;
	}
	if (chunk) {
		evbuffer_free(chunk);
	}
	return false;
}

/* ------------------------------------------------------------------ requests */

/* The name in "name:port", "[::1]:port". */
static size_t host_length(const char *host)
{
	const char *end = *host == '[' ? strchr(host, ']') : NULL;

	return end ? (size_t)(end + 1 - host) : strcspn(host, ":");
}

static bool is_host(const char *given, const char *name)
{
	size_t length = host_length(given);

	if (*given == '[' && *name != '[') { /* an address of the configuration has none */
		given++;
		length -= length >= 2 ? 2 : length;
	}
	return length == strlen(name) && strncasecmp(given, name, length) == 0;
}

static bool knows_host(const struct server *s, const char *given)
{
	static const char *const own[] = {"localhost", "127.0.0.1", "[::1]"};
	bool known = is_host(given, s->config.address);

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		known = known || is_host(given, own[i]);
	}
	for (size_t i = 0; s->config.hosts[i]; i++) {
		known = known || is_host(given, s->config.hosts[i]);
	}
	return known;
}

/* Browsers say which site made a request; other programs say nothing. */
static bool is_foreign(const struct evkeyvalq *headers)
{
	const char *site = evhttp_find_header(headers, "Sec-Fetch-Site");

	return site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

static const struct server_route *find_route(const struct server *s, const char *path)
{
	const struct server_route *r = s->config.route;

	for (; r->prefix; r++) {
		size_t length = strlen(r->prefix);

		if (strncmp(path, r->prefix, length) == 0 &&
		    (r->prefix[length - 1] == '/' || !path[length])) {
			return r;
		}
	}
	return NULL;
}

/* NULL: there is no such path. */
static const struct server_route *admit(struct server *s, struct server_client *c,
					struct evkeyvalq *ret_arguments, const char **ret_rest)
{
	const struct evkeyvalq *headers = evhttp_request_get_input_headers(c->request);
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(c->request);
	const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
	const char *query = uri ? evhttp_uri_get_query(uri) : NULL;
	const char *host = evhttp_find_header(headers, "Host");
	const struct server_route *route = path ? find_route(s, path) : NULL;

	if (!host || !knows_host(s, host)) {
		server_refuse(
			c, 403, "call it by its address, or start fcm-page with --host NAME",
			"this page is not served under the name in your request's Host header");
	} else if (!route) {
		server_refuse(c, HTTP_NOTFOUND, "", "there is no such page");
	} else if (strcmp(route->prefix, "/") != 0 && is_foreign(headers)) {
		server_refuse(c, 403, "", "a page of another site asked for this");
	} else if (query && evhttp_parse_query_str(query, ret_arguments) < 0) {
		server_refuse(c, HTTP_BADREQUEST, "", "the arguments are invalid");
	} else {
		*ret_rest = path + strlen(route->prefix);
		return route;
	}
	return NULL;
}

static void on_request(struct evhttp_request *request, void *context)
{
	struct server *s = context;
	struct server_client *c = find(s, request);
	struct evkeyvalq arguments;
	const struct server_route *route;
	const char *rest = "";

	if (!c) {
		evhttp_send_error(request, HTTP_SERVUNAVAIL, NULL);
		return;
	}
	TAILQ_INIT(&arguments);
	evhttp_connection_set_closecb(evhttp_request_get_connection(request), on_closed, c);
	c->request = request;
	within(c, SERVER_ANSWER_S);
	route = admit(s, c, &arguments, &rest);
	if (route) {
		route->ask(route->context, c, rest, &arguments);
	}
	evhttp_clear_headers(&arguments);
}

/* ------------------------------------------------------------------ start and stop */

int server_open(struct event_base *base, const struct server_config *config,
		struct server **ret_server, struct sc_error *error)
{
	struct server *s = calloc(1, sizeof(*s));

	if (!s) {
		return sc_fail(error, -ENOMEM, "internal", "", "out of memory");
	}
	s->config = *config;
	LIST_INIT(&s->list);
	s->http = evhttp_new(base);
	if (!s->http) {
		free(s);
		return sc_fail(error, -ENOMEM, "internal", "", "out of memory");
	}
	evhttp_set_allowed_methods(s->http, EVHTTP_REQ_GET);
	evhttp_set_max_headers_size(s->http, HEADERS_BYTES);
	evhttp_set_max_body_size(s->http, 0);
	evhttp_set_bevcb(s->http, on_connection, s);
	evhttp_set_gencb(s->http, on_request, s);
	s->socket = evhttp_bind_socket_with_handle(s->http, config->address, config->port);
	if (!s->socket) {
		int r = -errno;

		server_close(s);
		return sc_fail(error, r < 0 ? r : -EADDRNOTAVAIL, "failed",
			       "another port: --port N; ss -ltnp shows who listens",
			       "cannot listen on %s, port %u: %s", config->address, config->port,
			       strerror(r < 0 ? -r : EADDRNOTAVAIL));
	}
	*ret_server = s;
	return 0;
}

unsigned short server_port(const struct server *s)
{
	struct sockaddr_in6 a = {0}; /* the port of an IPv4 address is at the same place */
	socklen_t length = sizeof(a);

	return getsockname(evhttp_bound_socket_get_fd(s->socket), (struct sockaddr *)&a, &length) <
			       0
		       ? 0
		       : ntohs(a.sin6_port);
}

void server_close(struct server *s)
{
	struct server_client *c, *next;

	if (!s) {
		return;
	}
	evhttp_free(s->http);
	for (c = LIST_FIRST(&s->list); c; c = next) {
		next = LIST_NEXT(c, next);
		release(c);
	}
	free(s);
}
