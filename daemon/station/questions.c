// SPDX-License-Identifier: GPL-2.0-or-later
/* Questions to the database, see questions.h. */
#include "daemon/station/questions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "daemon/control/control.h"
#include "daemon/core/now.h"
#include "daemon/disk/disk.h"
#include "daemon/station/base.h"
#include "daemon/station/station.h"
#include "daemon/store/store.h"

/* Other questions wait meanwhile. With ROWS_MAX it also bounds what the main thread has to write out. */
#define LIMIT_MS 40
#define OPEN_MAX 512u
#define HANGS_NS                                                                                   \
	2000000000ull /* a question that takes so long, limits and all, waits for the disk */

struct asked {
	struct work work;
	TAILQ_ENTRY(asked) link;
	struct question question; /* rq: NULL when it was answered before its end */
	struct questions *questions;
	int r;
	json_t *answer;
	struct sc_error error;
};

struct questions {
	struct worker *worker;
	TAILQ_HEAD(, asked) open;
	unsigned count; /* open */
	const char *path;
	struct query *query; /* the thread's; NULL: not open */
};

/* --- the thread --- */

static void ask(struct work *work)
{
	struct asked *a = (struct asked *)work;
	struct questions *qs = a->questions;

	a->r = qs->query ? 0 : query_open(qs->path, &qs->query, &a->error);
	if (a->r < 0) {
		return;
	}
	query_limit(qs->query, LIMIT_MS);
	a->r = a->question.ask(qs->query, &a->question, &a->answer);
	if (a->r < 0) {
		snprintf(a->error.message, sizeof(a->error.message), "%s", query_error(qs->query));
	}
}

static void forget(struct work *work)
{
	struct asked *a = (struct asked *)work;

	query_close(a->questions->query);
	a->questions->query = NULL;
}

/* --- answers --- */

void questions_tell(struct question *n, int r, json_t *answer, const struct sc_error *error)
{
	if (error->code[0]) {
		control_fail_error(n->rq,
				   error_detail_of(error->code) == DETAIL_NOT_WRITTEN ? "refused"
										      : "internal",
				   error, NULL);
	} else {
		station_tell(n->rq, r, answer, n->what);
	}
}

static void tell(struct question *n, int r, json_t *answer, const struct sc_error *error)
{
	(n->tell ? n->tell : questions_tell)(n, r, answer, error);
	n->rq = NULL;
}

static void release(struct asked *a)
{
	json_decref(a->question.args);
	json_decref(a->question.names);
	free(a->question.context);
	free(a);
}

static void asked(struct work *work)
{
	struct asked *a = (struct asked *)work;

	TAILQ_REMOVE(&a->questions->open, a, link);
	a->questions->count--;
	if (a->question.rq) {
		tell(&a->question, a->r, a->answer, &a->error);
	} else {
		json_decref(a->answer);
	}
	release(a);
}

static void forgot(struct work *work)
{
	free(work);
}

/* --- what can be asked now --- */

/* It would answer with what is old as if that were all. And SQLite's connections of one process share the -shm: opened
 * on a disk that takes nothing, it would keep the store from writing when the disk takes something again. */
static int check_written(struct station *s, struct sc_error *error)
{
	struct store_status v;
	char since[64] = "since the daemon's start";

	store_get_status(s->store, &v);
	if (!v.away && !v.failing) {
		return 0;
	}
	if (v.last_commit_ns) {
		snprintf(since, sizeof(since), "in the last %.0f s",
			 (double)(now_mono_ns() - v.last_commit_ns) / 1e9);
	}
	return sc_fail(error, -EIO, error_details[DETAIL_NOT_WRITTEN].word,
		       v.away ? v.last_error_hint : journal_trouble(v.last_error).action,
		       "the database %s is not written now: %s; what happened %s is not in it",
		       s->config.store.database,
		       v.away ? v.last_error_text : journal_trouble(v.last_error).what, since);
}

static bool hangs(struct station *s)
{
	struct disk_status disk;

	disk_get_status(s->disk, &disk);
	return (disk.asked_ns && now_mono_ns() - disk.asked_ns >= DISK_HANGS_NS) ||
	       worker_busy_ns(s->questions->worker) >= HANGS_NS;
}

static int fail_hung(struct station *s, struct sc_error *error)
{
	return sc_fail(error, -EIO, "disk", "Look at the disk: fcmctl status.",
		       "the disk of %s does not answer", s->config.store.database);
}

static int check(struct station *s, const struct question *n, struct sc_error *error)
{
	int r = check_written(s, error);

	if (r == 0 && hangs(s)) {
		r = fail_hung(s, error);
	}
	if (r == 0 && s->questions->count >= OPEN_MAX) {
		r = sc_fail(error, -EAGAIN, "busy", "Ask again in a moment.",
			    "%s: %u questions to the database wait", n->what, OPEN_MAX);
	}
	return r;
}

/* NULL: no memory. */
static struct asked *asked_new(struct questions *qs, const struct question *question,
			       void (*run)(struct work *), void (*done)(struct work *))
{
	struct asked *a = calloc(1, sizeof(*a));

	if (a) {
		a->work = (struct work){.run = run, .done = done};
		a->question = *question;
		a->questions = qs;
		a->error.code = "";
	}
	return a;
}

static void refuse(struct station *s, const struct question *question, int r,
		   const struct sc_error *error)
{
	struct question n = *question;

	n.station = s;
	tell(&n, r, NULL, error);
	json_decref(n.names);
	free(n.context);
}

void questions_ask(struct station *s, const struct question *question)
{
	static const struct sc_error none = {.code = ""};
	struct questions *qs = s->questions;
	struct sc_error error = {0};
	struct asked *a;
	int r;

	if (json_integer_value(json_object_get(question->args, "limit")) > ROWS_MAX) {
		refuse(s, question, -ETIME, &none);
		return;
	}
	r = check(s, question, &error);
	a = r == 0 ? asked_new(qs, question, ask, asked) : NULL;
	if (!a) {
		r = r ? r : sc_fail(&error, -ENOMEM, "memory", "", "out of memory");
		refuse(s, question, r, &error);
		return;
	}
	json_incref(a->question.args);
	a->question.station = s;
	TAILQ_INSERT_TAIL(&qs->open, a, link);
	qs->count++;
	control_hold(a->question.rq);
	worker_give(qs->worker, &a->work);
}

void questions_forget(struct station *s)
{
	static const struct question none = {.rq = NULL};
	struct asked *a = asked_new(s->questions, &none, forget, forgot);

	if (a) {
		worker_give(s->questions->worker, &a->work);
	}
}

void questions_work(struct station *s, struct work *work)
{
	worker_give(s->questions->worker, work);
}

/* The thread may be at one of them: what it writes is not touched. */
static void tell_all(struct station *s, int r, const struct sc_error *error)
{
	struct asked *a;

	TAILQ_FOREACH (a, &s->questions->open, link) {
		if (a->question.rq) {
			tell(&a->question, r, NULL, error);
		}
	}
}

void questions_tick(struct station *s)
{
	struct sc_error error = {0};

	if (s->questions->count > 0 && hangs(s)) {
		tell_all(s, fail_hung(s, &error), &error);
	}
}

/* --- life --- */

int questions_start(struct station *s)
{
	struct questions *qs = calloc(1, sizeof(*qs));
	int r;

	if (!qs) {
		return -ENOMEM;
	}
	TAILQ_INIT(&qs->open);
	qs->path = s->config.store.database;
	r = worker_start(s->base, "questions", &qs->worker);
	if (r < 0) {
		free(qs);
		return r;
	}
	s->questions = qs;
	return 0;
}

void questions_stop(struct station *s)
{
	struct questions *qs = s->questions;
	struct sc_error error = {0};

	if (!qs) {
		return;
	}
	sc_fail(&error, -ECANCELED, "stopped", "Ask again when it is back.",
		"the daemon was stopped");
	tell_all(s, -ECANCELED, &error);
	s->questions = NULL;
	if (worker_stop(qs->worker)) { /* else its thread uses it still */
		query_close(qs->query);
		free(qs);
	}
}
