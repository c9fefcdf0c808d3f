/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waiting rows: from the main thread's queue to the thread's list, in order, and from there to the answers.
 */
#include "daemon/store/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/now.h"

#define JOBS_SIZE 65536u
#define DONE_SIZE 32768u

/* ------------------------------------------------------------------ main thread's side */

int store_rows_init(struct store *s)
{
	int r = queue_init(&s->jobs, sizeof(struct store_job *), JOBS_SIZE, 1);

	return r == 0 ? queue_init(&s->done, sizeof(struct store_done), DONE_SIZE, 1) : r;
}

static struct store_job *job_new(const struct row *row, uint64_t cookie, unsigned flags)
{
	struct store_job *j = malloc(offsetof(struct store_job, row.arena) + row->used);

	if (!j) {
		return NULL;
	}
	j->cookie = cookie;
	j->flags = flags;
	j->result = 0;
	j->queued_ns = now_mono_ns();
	memcpy(&j->row, row, offsetof(struct row, arena) + row->used);
	return j;
}

static int refuse(struct store *s, int r)
{
	atomic_fetch_add(&s->refused, 1);
	return r;
}

int store_submit(struct store *s, const struct row *row, uint64_t cookie, unsigned flags)
{
	struct store_job **place, *j;

	if (row->id == ROW_NONE || row->id >= ROW_IDS || row->count != store_sql[row->id].values ||
	    row->used > ROW_ARENA || (row->cut && row->id == ROW_COMMAND)) {
		return refuse(s, -EINVAL);
	}
	if ((flags & STORE_ANSWER) && s->answers >= DONE_SIZE) {
		return refuse(s, -ENOBUFS);
	}
	place = queue_reserve(&s->jobs);
	if (!place) {
		return refuse(s, -ENOBUFS);
	}
	j = job_new(row, cookie, flags);
	if (!j) {
		return refuse(s, -ENOMEM);
	}
	if (flags & STORE_ANSWER) {
		s->answers++;
	}
	*place = j;
	atomic_fetch_add(&s->submitted, 1);
	queue_commit(&s->jobs);
	queue_wake(&s->jobs);
	return 0;
}

int store_done_fd(const struct store *s)
{
	return s->done.fd;
}

bool store_take_done(struct store *s, struct store_done *ret_done)
{
	if (!queue_take(&s->done, ret_done)) {
		queue_hush(&s->done);
		if (!queue_take(&s->done, ret_done)) { /* it may have come before the hush */
			return false;
		}
	}
	s->answers--;
	return true;
}

void store_rows_drop(struct store *s)
{
	struct store_job *j;

	while (s->jobs.items && queue_take(&s->jobs, &j)) {
		free(j);
	}
}

/* ------------------------------------------------------------------ the list */

void store_rows_put_first(struct store *s, const struct row *row)
{
	struct store_job *j = job_new(row, 0, STORE_URGENT);

	if (!j) {
		refuse(s, -ENOMEM);
		return;
	}
	TAILQ_INSERT_HEAD(&s->list, j, link);
	s->waiting++;
	atomic_fetch_add(&s->submitted, 1);
}

void store_rows_finish(struct store *s, struct store_job *j, int result)
{
	TAILQ_REMOVE(&s->list, j, link);
	s->waiting--;
	s->finished++;
	if (j->flags & STORE_ANSWER) {
		struct store_done *d = queue_reserve(&s->done); /* room is kept by store_submit() */

		*d = (struct store_done){j->cookie, result, j->row.id};
		queue_commit(&s->done);
	}
	free(j);
}

struct store_job *store_rows_take(struct store *s)
{
	struct store_job *j;

	if (!queue_take(&s->jobs, &j)) {
		return NULL;
	}
	TAILQ_INSERT_TAIL(&s->list, j, link);
	s->waiting++;
	return j;
}

bool store_rows_drain(struct store *s)
{
	struct store_job *j;
	bool urgent = false;

	queue_hush(&s->jobs);
	while ((j = store_rows_take(s))) {
		urgent |= (j->flags & STORE_URGENT) != 0;
	}
	return urgent;
}

void store_rows_publish(struct store *s)
{
	pthread_mutex_lock(&s->lock);
	s->finished_seen = s->finished;
	s->oldest_ns = TAILQ_EMPTY(&s->list) ? 0 : TAILQ_FIRST(&s->list)->queued_ns;
	s->status.kept = s->retry_at_ns ? s->waiting : 0;
	pthread_mutex_unlock(&s->lock);
}

void store_rows_give_up(struct store *s, struct store_job *j, int result)
{
	store_rows_finish(s, j, result);
	pthread_mutex_lock(&s->lock);
	s->status.given_up++;
	pthread_mutex_unlock(&s->lock);
}

void store_rows_refuse(struct store *s, int result)
{
	for (struct store_job *j = TAILQ_FIRST(&s->list), *next; j; j = next) {
		next = TAILQ_NEXT(j, link);
		if (j->flags & STORE_NOW_OR_NEVER) {
			/* not counted as lost: its sender gets the answer */
			store_rows_finish(s, j, result);
		}
	}
	for (struct store_job *j = TAILQ_FIRST(&s->list), *next; j; j = next) {
		next = TAILQ_NEXT(j, link);
		if (s->waiting > s->config.keep_rows && j->flags & STORE_COMES_AGAIN) {
			store_rows_finish(s, j, result); /* not lost: a newer one is behind it */
		}
	}
	while (s->waiting > s->config.keep_rows) {
		/* The analyzer does not see that TAILQ_REMOVE moved the head on. */
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		store_rows_give_up(s, TAILQ_FIRST(&s->list), result);
	}
	store_rows_publish(s);
	queue_wake(&s->done);
}
