/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reader of the daemon's control socket, in an event loop: for programs beside the daemon that follow it for years. Never
 * waits. When there is no daemon, or it refuses, there is a text that says why and what to do.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct event_base;
struct reader;

/* Where the station is. */
struct reader_place {
	unsigned board;
	bool installed; /* systemd runs its daemon; else somebody's make run does, in dir */
	const char *dir;
	char socket[4096];
	char database[4096];
};

/* Of board `board`; or, with `dir`, of a make run. */
void reader_find(struct reader_place *ret_place, unsigned board, const char *dir);

/* `place` stays the caller's. `message` gets each message of the daemon, which stays ours. NULL: out of memory. */
struct reader *reader_new(struct event_base *base, const struct reader_place *place,
			  void (*message)(void *context, const json_t *message), void *context);
void reader_free(struct reader *r); /* NULL is fine */

/* 0: it is connected; 1: it is now, and nothing is asked yet; -ENOTCONN: there is no daemon, see reader_away(). */
int reader_connect(struct reader *r);
/* Sends a request to a connected daemon; `args` are taken over, NULL: none. */
void reader_ask(struct reader *r, int id, const char *op, json_t *args);
/* Gives this connection up: the daemon is silent, or has said what makes no sense. */
void reader_give_up(struct reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The daemon has answered what it was asked: there is no reason to complain. */
void reader_is_well(struct reader *r);

/* Why there is no answer, and what to do; "": all is well. */
const char *reader_away(const struct reader *r);
const char *reader_action(const struct reader *r);
