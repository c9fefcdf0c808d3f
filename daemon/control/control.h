/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket: JSON messages (schemas/control.md), one per line, on a Unix socket, from users whose groups give them
 * a role (user_groups.h); and a request as operations see it, of any transport (dispatch.h). Main thread, libevent.
 *
 * A request lives until control_answer() or control_fail() is called on it, exactly once, now or later. If its client is
 * gone by then, the answer is dropped; the work was done.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "daemon/control/args.h"
#include "daemon/control/user_groups.h"
#include "schemas/error_detail.h"
#include "slowctl/access/access.h"
#include "slowctl/param/error.h"

struct event_base;
struct control;
struct dispatch;
struct control_request;

struct control_op {
	const char *name;
	enum access_role role; /* who may */
	void (*run)(struct control_request *rq, json_t *args, void *context);
	const char *about;		/* one line; NULL: none */
	const struct control_arg *args; /* checked before run(); ends with name NULL; NULL: none */
	/* Also served when there are too many connections (places.h): `safe`, and what shows the state. */
	bool urgent;
	const void *
		data; /* for run(): what differs where several operations have one; see control_op() */
};

/* All operations of `tables` (ends with NULL) and the details of errors, as `ops.list` answers. */
json_t *control_ops_json(const struct control_op *const *tables);

struct control_peer {
	int64_t uid, pid; /* -1: unknown */
	char who[64];	  /* the peer's user name, or its number; its key's name */
	char origin[80];  /* "local", "curve:NAME" */
	enum access_role role;
};

/* The peer of `rq` lacks the role, as `error` says: journal the refusal. True: the callee answers the request when the
 * row is written. */
typedef bool (*control_refused_fn)(void *context, struct control_request *rq, const char *op,
				   json_t *args, const struct sc_error *error);
struct dispatch *dispatch_create(const struct control_op *const *tables, void *context,
				 control_refused_fn refused);
/* After all transports. Requests that are open may be answered until then, not after. NULL is fine. */
void dispatch_destroy(struct dispatch *dispatch);
/* Requests that their peers' roles did not allow. */
uint64_t dispatch_refused(const struct dispatch *dispatch);

struct control_stats {
	uint64_t clients; /* now */
	/* since the start: not JSON, not an object, too long, half: cut off */
	uint64_t bad_messages;
	uint64_t crowded;      /* cut off: too many connections */
	uint64_t strangers;    /* refused: they have no role */
	int64_t last_stranger; /* the uid of the last */
};

/* Largest request; a longer one is answered with `usage` and its connection closed. */
#define CONTROL_LINE_MAX (1u << 20)
/* A client with more unread answers than this is cut off. */
#define CONTROL_BACKLOG_MAX (16u << 20)

/* `path` is made with the mode of control_groups_mode(); a stale socket of a dead daemon is taken over, a live one is
 * -EADDRINUSE, anything but a socket is -EEXIST. Beside it lies PATH.lock. A client is served when its name is known,
 * or NAMES_WAIT_MS later (user_names.h). `groups` are copied, `dispatch` must outlive the server. */
int control_open(struct event_base *base, const char *path, const struct control_groups *groups,
		 struct dispatch *dispatch, struct control **ret_control);
/* Use these groups from now on, for connected clients too: one without a role is cut off. Negative: the mode of the
 * socket's file cannot be set. */
int control_regroup(struct control *c, const struct control_groups *groups);
/* Every second or so, `now_ns` by CLOCK_MONOTONIC: a client that has sent half a message and nothing more for 30 s is cut
 * off. A socket that somebody has removed is made again, without effect on connected clients. 0: it was there; 1: it was
 * made again; negative as control_open(): it cannot be made. */
int control_tend(struct control *c, uint64_t now_ns);
/* Closes all clients. Removes the socket, if it is still ours. NULL is fine. */
void control_close(struct control *c);
void control_get_stats(const struct control *c, struct control_stats *ret_stats);

const struct control_peer *control_peer(const struct control_request *rq);
/* The operation that was found for it. */
const struct control_op *control_op(const struct control_request *rq);
/* "anna (uid 1000, pid 4711, local)", "daq (curve:daq)" */
void control_peer_words(const struct control_peer *peer, char *text, size_t size);
/* Whether the peer has a role that only the arguments ask for (`what`: dangerous parameters, force). False: refused,
 * counted, journaled and answered. */
bool control_may(struct control_request *rq, json_t *args, enum access_role needs,
		 const char *what);
/* Whether it is a dry run ("dry_run"): nothing is to be done. */
static inline bool control_is_dry(const json_t *args)
{
	return arg_true(args, "dry_run");
}
/* A dry run is answered with this text: the operation would be done. False: it is none, do it. */
bool control_dry(struct control_request *rq, const json_t *args, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The next request of the client, on the Unix socket, is served after the end of this one. */
void control_hold(struct control_request *rq);
/* `rq` is a subscription: it sends progress until its client closes. That client may be cut off when there are too
 * many. */
void control_subscribe(struct control_request *rq);
/* Whether both are of the same user or key. */
bool control_same_peer(const struct control_request *a, const struct control_request *b);
bool control_alive(const struct control_request *rq);
/* `result` is stolen. */
void control_answer(struct control_request *rq, json_t *result);
/* `extra` (stolen, may be NULL) is merged into the error object. */
void control_fail(struct control_request *rq, const char *code, const char *hint, json_t *extra,
		  const char *format, ...) __attribute__((format(printf, 5, 6)));
/* In the words of `error`, its code as the detail. `extra` as above. */
void control_fail_error(struct control_request *rq, const char *code, const struct sc_error *error,
			json_t *extra);
/* For `extra`: {"detail": its word}. */
json_t *control_detail(enum error_detail detail);
/* `progress` is stolen. */
void control_progress(struct control_request *rq, json_t *progress);
