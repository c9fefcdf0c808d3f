/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store's thread: rows in, transactions out. See store.h for what it promises.
 *
 *   submit -> [jobs] -> list of waiting rows, in order -> transaction -> [done]
 *                         ^ kept when the disk refuses ----'
 *
 * The list is worked from its head in batches; a batch is written whole or not at all. While the disk
 * refuses, STORE_NOW_OR_NEVER rows are tried alone and at once, so that a command gets its answer soon.
 */
#include "daemon/store/private.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/now.h"
#include "daemon/core/thread.h"

/* The caller of store_open() has other work, and the thread tries again. */
#define BUSY_MAIN_MS 200
#define BATCH	     2000u /* rows a transaction */
#define MS	     1000000ull
#define OPEN_RETRIES 5u /* times as rare as those of a commit: an opening reads the file */

/* ------------------------------------------------------------------ main thread's side */

struct store_past *store_take_past(struct store *s)
{
	struct store_past *past;

	pthread_mutex_lock(&s->lock);
	past = s->past;
	s->past = NULL;
	pthread_mutex_unlock(&s->lock);
	if (past) {
		queue_wake(&s->jobs); /* it may write now */
	}
	return past;
}

void store_get_status(struct store *s, struct store_status *ret_status)
{
	uint64_t now = now_mono_ns();

	pthread_mutex_lock(&s->lock);
	*ret_status = s->status;
	ret_status->lag_ns = s->oldest_ns && now > s->oldest_ns ? now - s->oldest_ns : 0;
	ret_status->queued = atomic_load(&s->submitted) - s->finished_seen;
	pthread_mutex_unlock(&s->lock);
	ret_status->refused = atomic_load(&s->refused);
}

/* ------------------------------------------------------------------ while the file cannot be opened */

/*
 *   open --fails as a broken file does, or another file lies there--> away --opened--> gated --main took the
 *    ^                                                                 ^ every few s     |        past--.
 *    '------------------------------------------------------------------------------------<------------'
 */

/* Update the status after a failure; the next attempt is so many retry periods from now. */
static void note_error(struct store *s, int r, unsigned periods, const char *text, const char *hint)
{
	s->away_result = r;
	s->retry_at_ns = now_mono_ns() + periods * s->config.retry_ms * MS;
	pthread_mutex_lock(&s->lock);
	s->status.errors++;
	s->status.failing = true;
	s->status.away = !s->db;
	s->status.last_error = r;
	snprintf(s->status.last_error_text, sizeof(s->status.last_error_text), "%s", text);
	snprintf(s->status.last_error_hint, sizeof(s->status.last_error_hint), "%s", hint);
	pthread_mutex_unlock(&s->lock);
}

static void note_away(struct store *s, int r, const struct sc_error *error)
{
	note_error(s, r, r == -EBUSY ? 1 : OPEN_RETRIES, error->message, error->hint);
}

static void try_open(struct store *s)
{
	struct sc_error error = {0};
	int r = store_file_open(s, STORE_BUSY_MS, &error);

	if (r < 0) {
		note_away(s, r, &error);
		return;
	}
	s->gated = !atomic_load(&s->stop); /* at the end nobody takes it any more */
	s->retry_at_ns = now_mono_ns() + s->config.retry_ms * MS;
	queue_wake(&s->done);
}

/* The main thread takes the past in its loop. */
static bool is_gated(struct store *s)
{
	bool untaken;

	if (!s->gated) {
		return false;
	}
	pthread_mutex_lock(&s->lock);
	untaken = s->past != NULL;
	pthread_mutex_unlock(&s->lock);
	s->gated = untaken && !atomic_load(&s->stop);
	if (!s->gated) {
		s->retry_at_ns = 0;
	}
	return s->gated;
}

/* Before writing: whether the file can be written; opens it when that is due. `urgent`: an urgent row waits. */
static bool at_file(struct store *s, bool urgent)
{
	bool due;

	if (s->db && store_file_replaced(s)) {
		store_file_close(s);
		s->retry_at_ns = 0;
	} else if (s->db && s->doubt) {
		store_file_close(s); /* opened again when a commit would have been tried again */
	}
	due = now_mono_ns() >= s->retry_at_ns;
	if (!s->db && due) {
		try_open(s);
	}
	if (s->db && !is_gated(s)) {
		return true;
	}
	if (urgent || due || s->waiting > s->config.keep_rows) {
		store_rows_refuse(s, s->away_result ? s->away_result : -EAGAIN);
	}
	if (s->gated && due) {
		s->retry_at_ns = now_mono_ns() + s->config.retry_ms * MS;
	}
	return false;
}

/* ------------------------------------------------------------------ writing */

static int bind_value(sqlite3_stmt *step, int place, const struct row *row)
{
	const struct row_value *v = &row->values[place - 1];

	switch (v->type) {
	case ROW_INT:
		return sqlite3_bind_int64(step, place, v->i);
	case ROW_REAL:
		return sqlite3_bind_double(step, place, v->d);
	case ROW_TEXT:
		if (v->text >= row->used) {
			return sqlite3_bind_text(step, place, "", 0, SQLITE_STATIC);
		}
		return sqlite3_bind_text(step, place, row->arena + v->text, -1, SQLITE_STATIC);
	default:
		return sqlite3_bind_null(step, place);
	}
}

/* 0, or SQLite's result. */
static int run_step(sqlite3_stmt *step, const struct row *row)
{
	int rc = SQLITE_OK, places = sqlite3_bind_parameter_count(step);

	for (int place = 1; place <= places && rc == SQLITE_OK; place++) {
		rc = bind_value(step, place, row);
	}
	if (rc == SQLITE_OK) {
		rc = sqlite3_step(step);
		rc = rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
	}
	sqlite3_reset(step);
	return rc;
}

/* All statements of a row. An error of the row (constraint, type) is its result; an error of the whole transaction is
 * returned. */
static int write_row(struct store *s, struct store_job *j)
{
	store_settle_session(s, &j->row);
	for (unsigned n = 0; n < STORE_STEPS && s->steps[j->row.id][n]; n++) {
		int rc = run_step(s->steps[j->row.id][n], &j->row);
		int r = store_errno(s->db, rc);

		if (r == -EEXIST || r == -EINVAL) {
			j->result = r;
			return SQLITE_OK;
		}
		if (rc != SQLITE_OK) {
			return rc;
		}
	}
	return SQLITE_OK;
}

static bool chosen(const struct store_job *j, unsigned only)
{
	return !only || (j->flags & only);
}

static void note_failure(struct store *s, int rc)
{
	int r = store_errno(s->db, rc);

	s->doubt = r == -EUCLEAN || r == -EIO || r == -EROFS;
	note_error(s, r, 1, sqlite3_errmsg(s->db), "");
}

static void note_commit(struct store *s, uint64_t rows, uint64_t lost, uint64_t began_ns)
{
	uint64_t now = now_mono_ns();

	s->retry_at_ns = 0;
	pthread_mutex_lock(&s->lock);
	s->status.rows += rows;
	s->status.given_up += lost;
	s->status.commits++;
	s->status.failing = false;
	s->status.last_commit_ns = now;
	s->status.commit_last_ns = now - began_ns;
	if (now - began_ns > s->status.commit_max_ns) {
		s->status.commit_max_ns = now - began_ns;
	}
	pthread_mutex_unlock(&s->lock);
}

/* Write up to BATCH rows (with one of the flags `only`; 0: all) in one transaction. Rows that come meanwhile are
 * included: otherwise the first of a hundred would have a commit of its own. */
static int transact(struct store *s, unsigned only, unsigned *ret_rows)
{
	unsigned rows = 0;
	int rc = sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	for (struct store_job *j = TAILQ_FIRST(&s->list), *next;
	     j && rows < BATCH && rc == SQLITE_OK; j = next || only ? next : store_rows_take(s)) {
		next = TAILQ_NEXT(j, link);
		if (chosen(j, only)) {
			j->result = 0;
			rc = write_row(s, j);
			rows++;
		}
	}
	if (rc == SQLITE_OK) {
		rc = sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
	}
	if (rc != SQLITE_OK) {
		note_failure(s, rc); /* before the rollback changes SQLite's message */
		store_roll_back(s->db);
	}
	*ret_rows = rows;
	return rc;
}

/* The batch is written: its rows are done. */
static void finish_batch(struct store *s, unsigned only, unsigned rows, uint64_t began_ns)
{
	unsigned n = 0;
	uint64_t lost = 0;

	for (struct store_job *j = TAILQ_FIRST(&s->list), *next; j; j = next) {
		next = TAILQ_NEXT(j, link);
		if (n < rows && chosen(j, only)) {
			lost += j->result < 0;
			store_rows_finish(s, j, j->result);
			n++;
		}
	}
	note_commit(s, rows - lost, lost, began_ns);
}

/* 0 or negative errno. */
static int write_batch(struct store *s, unsigned only)
{
	uint64_t began = now_mono_ns();
	unsigned rows = 0;
	int rc = transact(s, only, &rows), r = store_errno(s->db, rc);

	if (rc == SQLITE_OK) {
		finish_batch(s, only, rows, began);
		store_rows_publish(s);
		queue_wake(&s->done);
	} else {
		store_rows_refuse(s, r);
	}
	return r;
}

static bool has_now_or_never(const struct store *s)
{
	const struct store_job *j;

	TAILQ_FOREACH (j, &s->list, link) {
		if (j->flags & STORE_NOW_OR_NEVER) {
			return true;
		}
	}
	return false;
}

/* Write what is due. `at_once`: something of it is urgent, or the end has come. */
static void write_due(struct store *s, bool at_once)
{
	while (s->waiting) {
		uint64_t now = now_mono_ns();
		bool ripe = at_once || s->waiting >= BATCH ||
			    now >= TAILQ_FIRST(&s->list)->queued_ns + s->config.commit_ms * MS;
		int r;

		if (s->retry_at_ns && now < s->retry_at_ns) {
			/* Failing: only what cannot wait is tried, alone. */
			if (!has_now_or_never(s) || write_batch(s, STORE_NOW_OR_NEVER) < 0) {
				return;
			}
			continue;
		}
		if (!ripe) {
			return;
		}
		r = write_batch(s, 0);
		if (r < 0) {
			return;
		}
	}
}

/* ------------------------------------------------------------------ the thread */

/* ms until something is due; -1: for ever. */
static int wait_ms(const struct store *s)
{
	uint64_t now = now_mono_ns(),
		 due = s->keep.next_ns < s->whole.next_ns ? s->keep.next_ns : s->whole.next_ns;
	const struct store_job *j = TAILQ_FIRST(&s->list);

	if (s->retry_at_ns) {
		due = s->retry_at_ns;
	} else if (j && j->queued_ns + s->config.commit_ms * MS < due) {
		due = j->queued_ns + s->config.commit_ms * MS;
	}
	if (due == UINT64_MAX) {
		return -1;
	}
	return due <= now ? 0 : (int)((due - now + MS - 1) / MS);
}

/* After store_stop(): write the waiting rows, within the grace period. */
static void drain_to_the_end(struct store *s)
{
	for (;;) {
		uint64_t now;

		store_rows_drain(s);
		if (at_file(s, true)) {
			write_due(s, true);
		}
		now = now_mono_ns();
		if (!s->waiting || now >= atomic_load(&s->stop_by_ns)) {
			break;
		}
		poll(NULL, 0, 20);
	}
	while (s->waiting) {
		store_rows_give_up(s, TAILQ_FIRST(&s->list), -ECANCELED);
		s->left++;
	}
	store_rows_publish(s);
	queue_wake(&s->done);
	if (s->db && !s->left) {
		sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	}
}

/* Owns the connection and the list of waiting rows. */
static void *store_thread(void *context)
{
	struct store *s = context;

	store_keep_start(s);
	while (!atomic_load(&s->stop)) {
		struct pollfd fd = {.fd = s->jobs.fd, .events = POLLIN};
		bool urgent;

		poll(&fd, 1, wait_ms(s));
		urgent = store_rows_drain(s);
		store_rows_publish(s);
		if (!at_file(s, urgent)) {
			continue;
		}
		write_due(s, urgent);
		if (!s->retry_at_ns && now_mono_ns() >= s->keep.next_ns) {
			store_keep_step(s);
		}
		if (!s->retry_at_ns && now_mono_ns() >= s->whole.next_ns) {
			store_whole_step(s);
		}
	}
	drain_to_the_end(s);
	return NULL;
}

int store_start(struct store *s)
{
	int r = thread_start(&s->thread, "store", store_thread, s);

	s->running = r == 0;
	return r;
}

unsigned store_stop(struct store *s, unsigned grace_ms)
{
	if (!s->running) {
		return 0;
	}
	atomic_store(&s->stop_by_ns, now_mono_ns() + grace_ms * MS);
	atomic_store(&s->stop, true);
	queue_wake(&s->jobs);
	pthread_join(s->thread, NULL);
	s->running = false;
	return s->left;
}

void store_destroy(struct store *s)
{
	if (!s) {
		return;
	}
	store_stop(s, 0);
	store_rows_drop(s);
	store_file_close(s);
	store_whole_end(s);
	store_past_free(s->past);
	free(s->starts);
	free(s->path);
	queue_fini(&s->jobs);
	queue_fini(&s->done);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* The first opening, by the caller of store_open(). */
static int first_open(struct store *s, struct sc_error *error)
{
	int r;

	if (s->config.later) {
		r = sc_fail(error, -ETIMEDOUT, "database", "Look at the disk: dmesg, iostat.",
			    "database %s: its disk does not answer", s->config.path);
	} else {
		r = store_file_open(s, s->config.patient ? BUSY_MAIN_MS : STORE_BUSY_MS, error);
	}
	if (r < 0 && s->config.patient && !s->final && r != -ENOMEM) {
		note_away(s, r, error);
		s->retry_at_ns = s->config.later ? 0 : s->retry_at_ns;
		r = 0;
	}
	return r;
}

int store_open(const struct store_config *config, struct store **ret_store, struct sc_error *error)
{
	struct store *s = queue_home_alloc(sizeof(*s));
	struct sc_error own = {0};
	int r;

	error = error ? error : &own;
	if (!s) {
		return sc_fail(error, -ENOMEM, "memory", "", "out of memory");
	}
	s->config = *config;
	s->config.commit_ms = config->commit_ms ? config->commit_ms : 500;
	s->config.retry_ms = config->retry_ms ? config->retry_ms : 1000;
	s->config.keep_rows = config->keep_rows ? config->keep_rows : 20000;
	s->config.recent = config->recent ? config->recent : 1000;
	TAILQ_INIT(&s->list);
	s->lock_fd = -1;
	s->jobs.fd = s->done.fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	s->path = strdup(config->path);
	s->config.path = s->path;
	r = s->path ? store_rows_init(s) : -ENOMEM;
	if (r < 0) {
		sc_fail(error, r, "memory", "", "no room for the store's queues: %s", strerror(-r));
	} else {
		r = first_open(s, error);
	}
	if (r < 0) {
		store_destroy(s);
		return r;
	}
	*ret_store = s;
	return 0;
}
