/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket: JSON messages (schemas/control.md), one a line, on a Unix socket whose group may
 * operate the station. Frames lines, checks the envelope, names the peer, finds the operation in a table;
 * knows nothing of what the operations do. Main thread, libevent.
 *
 * A request lives until control_answer() or control_fail() is called on it, exactly once, now or later.
 * Its client may be gone by then: the answer is dropped, the work was done.
 */
#ifndef DAEMON_CONTROL_H
#define DAEMON_CONTROL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

struct event_base;
struct control;
struct control_request;

struct control_op {
	const char *name;
	void (*run)(struct control_request *rq, json_t *args, void *context);
};

struct control_peer {
	uid_t uid;
	pid_t pid;
	char who[64]; /* the peer's user name, or its number */
};

struct control_stats {
	uint64_t clients;      /* now */
	uint64_t bad_messages; /* since the start: not JSON, not an object, too long: cut off */
};

/* Largest request; a longer one is answered with `usage` and its connection closed. */
#define CONTROL_LINE_MAX (1u << 20)
/* A client that does not read its answers is cut off beyond this. */
#define CONTROL_BACKLOG_MAX (16u << 20)
/* One more, and the client goes that has been idle longest; if all wait for an answer, the new one. */
#define CONTROL_CLIENTS_MAX 128u

/* `path` is made with mode 0660 and, when `group` is not empty, that group; a stale socket of a dead
 * daemon is taken over, a live one is -EADDRINUSE, anything but a socket is -EEXIST. Beside it lies
 * PATH.lock. `ops` ends with a NULL name; it and `group` must outlive the server. */
int control_open(struct event_base *base, const char *path, const char *group,
		 const struct control_op *ops, void *context, struct control **ret_control);
/* Now and then: 0 when all is well; when somebody has removed the socket it is made anew, 1, or cannot be,
 * negative as of control_open(). Clients that are connected notice nothing. */
int control_tend(struct control *c);
/* Closes all clients; open requests may still be answered into the void until control_close returns,
 * not after. Removes the socket, if it is still ours. NULL is fine. */
void control_close(struct control *c);
void control_get_stats(const struct control *c, struct control_stats *ret_stats);

const struct control_peer *control_peer(const struct control_request *rq);
/* Whether the client is still there. */
bool control_alive(const struct control_request *rq);
/* `result` is stolen. */
void control_answer(struct control_request *rq, json_t *result);
/* `extra` (stolen, may be NULL) is merged into the error object. */
void control_fail(struct control_request *rq, const char *code, const char *hint, json_t *extra,
		  const char *format, ...) __attribute__((format(printf, 5, 6)));
/* `progress` is stolen. */
void control_progress(struct control_request *rq, json_t *progress);

#endif
