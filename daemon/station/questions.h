/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions to the database, asked by a thread of their own: a disk that hangs blocks only that thread. One
 * after the other; each is given a limit of time. Main thread, but for `ask`.
 */
#pragma once

#include <jansson.h>

#include "daemon/core/worker.h"
#include "slowctl/param/error.h"
#include "slowctl/query/query.h"

#define ROWS_MAX 10000 /* of a question; more is refused */

struct question;
struct station;

/* On the thread. 0 and the answer, or negative errno of query.h. */
typedef int (*question_ask_fn)(struct query *q, const struct question *n, json_t **ret_json);
/* Answers n->rq. `answer` is taken over. `error` says why the database was not asked; its code is "" when it was, its
 * message then in SQLite's words. */
typedef void (*question_tell_fn)(struct question *n, int r, json_t *answer,
				 const struct sc_error *error);

struct question {
	struct station *station; /* filled in */
	void *asker;		 /* for `tell` */
	struct control_request *rq;
	const char *what; /* as the answer calls it; outlives the question */
	json_t *args;	  /* of the request; NULL: none */
	uint64_t command; /* a number that is asked for */
	const char *op;	  /* of query_ask() */
	json_t *names;	  /* full names, a reference of its own; NULL: none */
	void *context;	  /* from malloc(); freed with the question */
	question_ask_fn ask;
	question_tell_fn tell; /* NULL: questions_tell() */
};

/* Negative errno. */
int questions_start(struct station *s);
/* `question` is copied, `names` and `context` are taken over. Refused at once when its arguments ask for more
 * than ROWS_MAX rows, or the database is not written or its disk hangs. No further request of the client is looked at
 * until this one has its answer. */
void questions_ask(struct station *s, const struct question *question);
/* How most are answered: with the answer as it is, or in words what was wrong. */
void questions_tell(struct question *n, int r, json_t *answer, const struct sc_error *error);
/* Another file may have taken the place of the one that is open. */
void questions_forget(struct station *s);
/* Other work that may hang with a disk, on the same thread. */
void questions_work(struct station *s, struct work *work);
/* Ten times a second: what waits for a disk that hangs is answered without it. */
void questions_tick(struct station *s);
/* All that are open are answered. */
void questions_stop(struct station *s);
