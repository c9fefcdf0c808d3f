/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store's states while its file cannot be opened.
 *
 *   open --fails as a broken file does, or another file lies there--> away --opened--> gated --main took the
 *    ^                                                                 ^ every few s     |        past--.
 *    '------------------------------------------------------------------------------------<------------'
 */
#include "daemon/store/private.h"

#include <errno.h>

#include "daemon/core/now.h"

#define MS	     1000000ull
#define OPEN_RETRIES 5u /* times as rare as those of a commit: an opening reads the file */

void store_note_error(struct store *s, int r, unsigned periods, const char *text, const char *hint)
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

void store_note_away(struct store *s, int r, const struct sc_error *error)
{
	store_note_error(s, r, r == -EBUSY ? 1 : OPEN_RETRIES, error->message, error->hint);
}

static void try_open(struct store *s)
{
	struct sc_error error = {0};
	int r = store_file_open(s, STORE_BUSY_MS, &error);

	if (r < 0) {
		store_note_away(s, r, &error);
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

bool store_at_file(struct store *s, bool urgent)
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
