/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client's end of the control socket: JSON messages of schemas/control.md, one a line. Either one request at a
 * time (client_call(), which skips answers to earlier ones by their id), or many side by side.
 *
 * Signals: while it waits, SIGINT and SIGTERM are blocked except inside ppoll(), so that a handler's flag,
 * asked for through `interrupted`, is never missed.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct client;

/* Longest answer taken: a day of a ledger's rows fits. */
#define CLIENT_LINE_MAX (64u << 20)

/* -ENOENT nobody ever listened, -ECONNREFUSED nobody does now, -EAGAIN its queue is full, -EACCES,
 * -ENAMETOOLONG (Unix sockets: 107 bytes). */
int client_open(const char *path, struct client **ret_client);
void client_close(struct client *c);

/*
 * Send `op` with `args` (taken over, NULL: none) and wait for its answer, `timeout_s` at most between
 * two messages of the daemon. Each progress is passed to `progress` (may be NULL). `interrupted` (may be
 * NULL) is asked whenever a signal woke us.
 *   0 and *ret_answer (the whole message, caller's; "ok" says how it went)
 *   -ETIMEDOUT, -EINTR (interrupted: the daemon works on), -ECONNRESET (the daemon went away), -EPROTO
 *   (what came is no answer), -EMSGSIZE (longer than CLIENT_LINE_MAX), -ENOMEM
 * After an error the connection may hold half a message: close it.
 */
int client_call(struct client *c, const char *op, json_t *args, double timeout_s,
		void (*progress)(void *context, const json_t *progress), void *context,
		bool (*interrupted)(void), json_t **ret_answer);

/*
 * Many at once: send a request, *ret_id is its number (set even on failure); later take the next message, whose
 * number says to which request it belongs: a progress, or the answer. Errors as of client_call().
 */
int client_ask(struct client *c, const char *op, json_t *args, double timeout_s,
	       bool (*interrupted)(void), unsigned *ret_id);
int client_next(struct client *c, double timeout_s, bool (*interrupted)(void), unsigned *ret_id,
		json_t **ret_message);

/* Until `events` of poll() are there on any file: 0, -ETIMEDOUT at `deadline` (ctl_monotonic()), -EINTR. */
int client_wait(int fd, short events, double deadline, bool (*interrupted)(void));
