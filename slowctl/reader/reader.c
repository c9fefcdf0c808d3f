// SPDX-License-Identifier: GPL-2.0-or-later
/* See reader.h. Requests and answers are lines of JSON: schemas/control.md. */
#include "slowctl/reader/reader.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/core/text.h"

#define LINE_BYTES (4u << 20) /* the longest message that is taken */

struct reader {
	struct event_base *base;
	const struct reader_place *place;
	void (*message)(void *context, const json_t *message);
	void *context;
	struct bufferevent *connection; /* NULL: there is none */
	char away[256], action[256];
};

void reader_find(struct reader_place *p, unsigned board, const char *dir)
{
	p->board = board;
	p->installed = !dir;
	p->dir = dir;
	if (dir) {
		snprintf(p->socket, sizeof(p->socket), "%s/control.sock", dir);
		snprintf(p->database, sizeof(p->database), "%s/station.db", dir);
	} else {
		snprintf(p->socket, sizeof(p->socket), "/run/fcm-server/%u/control.sock", board);
		snprintf(p->database, sizeof(p->database), "/var/lib/fcm-server/%u/station.db",
			 board);
	}
}

/* ------------------------------------------------------------------ why there is no answer */

static void set_away(struct reader *r, const char *action, const char *text)
{
	snprintf(r->away, sizeof(r->away), "%s", text);
	snprintf(r->action, sizeof(r->action), "%s", action);
	text_whole(r->away);
	text_whole(r->action);
}

static void disconnect(struct reader *r)
{
	if (r->connection) {
		bufferevent_free(r->connection);
		r->connection = NULL;
	}
}

void reader_give_up(struct reader *r, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	set_away(r, "", text);
	disconnect(r);
}

void reader_is_well(struct reader *r)
{
	r->away[0] = '\0';
}

const char *reader_away(const struct reader *r)
{
	return r->away;
}

const char *reader_action(const struct reader *r)
{
	return r->action;
}

static void set_no_daemon(struct reader *r, int error)
{
	char action[128], text[256];

	if (error == EACCES) {
		snprintf(text, sizeof(text), "no access to %.200s", r->place->socket);
		set_away(r, "be in its group; or name yours as reader_group in [control]", text);
		return;
	}
	if (error == EAGAIN) {
		set_away(r, "look at its process", "fcm-server accepts no connection");
		return;
	}
	snprintf(action, sizeof(action),
		 r->place->installed ? "systemctl status fcm-server@%u"
				     : "is its make run running?",
		 r->place->board);
	snprintf(text, sizeof(text), "fcm-server for board %u is not running", r->place->board);
	set_away(r, action, text);
}

/* ------------------------------------------------------------------ what comes */

/* With id null: all that this client asks is refused, or its connection is closed. */
static void take_refusal(struct reader *r, const json_t *message)
{
	const json_t *error = json_object_get(message, "error");
	const char *why = json_string_value(json_object_get(error, "message"));
	const char *action = json_string_value(json_object_get(error, "hint"));

	if (error && json_is_null(json_object_get(message, "id"))) {
		set_away(r, action ? action : "", why ? why : "the daemon refuses");
	}
}

static void on_lines(struct bufferevent *connection, void *context)
{
	struct reader *r = context;
	char *line;

	while (r->connection && (line = evbuffer_readln(bufferevent_get_input(r->connection), NULL,
							EVBUFFER_EOL_LF)) != NULL) {
		json_t *message = json_loads(line, 0, NULL);

		free(line);
		if (message) {
			take_refusal(r, message);
			r->message(r->context, message);
			json_decref(message);
		}
	}
	if (r->connection &&
	    evbuffer_get_length(bufferevent_get_input(r->connection)) > LINE_BYTES) {
		reader_give_up(r, "a message of the daemon is longer than %u bytes", LINE_BYTES);
	}
}

static void on_event(struct bufferevent *connection, short what, void *context)
{
	struct reader *r = context;

	if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))) {
		return;
	}
	on_lines(connection, r);
	if (!r->away[0]) {
		set_away(r, "", "the daemon has closed the connection");
	}
	disconnect(r);
}

/* ------------------------------------------------------------------ what is asked */

/* A connection to a Unix socket is made at once, or not at all. */
int reader_connect(struct reader *r)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	size_t length = strlen(r->place->socket);
	int fd;

	if (r->connection) {
		return 0;
	}
	if (length >= sizeof(a.sun_path)) {
		set_away(r, "name it by a shorter path",
			 "the path of the control socket is too long");
		return -ENOTCONN;
	}
	memcpy(a.sun_path, r->place->socket, length);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		set_no_daemon(r, errno);
	} else {
		r->connection = bufferevent_socket_new(r->base, fd, BEV_OPT_CLOSE_ON_FREE);
	}
	if (!r->connection) {
		if (fd >= 0) {
			close(fd);
		}
		return -ENOTCONN;
	}
	bufferevent_setcb(r->connection, on_lines, NULL, on_event, r);
	bufferevent_enable(r->connection, EV_READ | EV_WRITE);
	return 1;
}

void reader_ask(struct reader *r, int id, const char *op, json_t *args)
{
	json_t *request = json_pack("{s:i,s:i,s:s,s:o}", "v", 2, "id", id, "op", op, "args",
				    args ? args : json_object());
	char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;

	if (text && r->connection) {
		evbuffer_add_printf(bufferevent_get_output(r->connection), "%s\n", text);
	}
	free(text);
	json_decref(request);
}

struct reader *reader_new(struct event_base *base, const struct reader_place *place,
			  void (*message)(void *context, const json_t *message), void *context)
{
	struct reader *r = calloc(1, sizeof(*r));

	if (r) {
		r->base = base;
		r->place = place;
		r->message = message;
		r->context = context;
	}
	return r;
}

void reader_free(struct reader *r)
{
	if (r) {
		disconnect(r);
		free(r);
	}
}
