/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions of DMA: the file says which session a start of DMA belongs to. While no file has been open, a start of DMA and
 * its waiting rows have a placeholder for the session.
 */
#include "daemon/store/private.h"

#include <stdlib.h>

/* Sets the session of a start of DMA. True: it is a new one, and has no row in the file yet. */
static bool settle(struct store_sessions *k, struct store_dma_start *b)
{
	struct store_dma *d = &k->dma[b->link];
	bool is_new = !b->taken_over || d->dma_epoch != b->dma_epoch;

	if (is_new) { /* else its ring lived on: the same DMA */
		if (d->session == k->newest && b->dma_epoch <= d->dma_epoch) {
			k->newest++; /* the board counts from 1 again */
		}
		d->session = k->newest;
		d->dma_epoch = b->dma_epoch;
	}
	b->session = d->session;
	d->seen = true;
	d->last = *b;
	return is_new;
}

static void dma_row(struct row *row, const struct store_dma_start *b)
{
	row_make(row, ROW_DMA, ROW_VI(b->session), ROW_VI(b->link), ROW_VI(b->dma_epoch),
		 ROW_VI(b->utc_ns), ROW_VI(b->serial), ROW_VI(b->board_boot));
}

/* What a daemon before us left open of other starts of DMA than this one will not be settled any more. */
static void over_row(struct row *row, const struct store_dma_start *b)
{
	row_make(row, ROW_DMA_OVER, ROW_VI(b->session), ROW_VI(b->link), ROW_VI(b->dma_epoch));
}

/* The placeholder of its session. Out of memory: its rows go with those of the last start. */
static uint32_t start_later(struct store *s, const struct store_dma_start *b)
{
	if (s->start_count == s->start_room) {
		size_t room = s->start_room ? 2 * s->start_room : 16;
		void *more = realloc(s->starts, room * sizeof(*s->starts));

		if (!more) {
			return STORE_LATER + (uint32_t)s->start_count - 1;
		}
		s->starts = more;
		s->start_room = room;
	}
	s->starts[s->start_count] = *b;
	return STORE_LATER + (uint32_t)s->start_count++;
}

uint32_t store_session(struct store *s, unsigned link, uint32_t dma_epoch, bool taken_over,
		       uint32_t serial, uint32_t board_boot, int64_t utc_ns)
{
	struct store_dma_start b = {.link = link % NANET3_LINKS,
				    .dma_epoch = dma_epoch,
				    .serial = serial,
				    .board_boot = board_boot,
				    .taken_over = taken_over,
				    .utc_ns = utc_ns};
	bool first, is_new;
	struct row row;

	pthread_mutex_lock(&s->lock);
	if (!s->sessions_known) {
		b.session = start_later(s, &b);
		pthread_mutex_unlock(&s->lock);
		return b.session;
	}
	first = !s->sessions.dma[b.link].seen;
	is_new = settle(&s->sessions, &b);
	pthread_mutex_unlock(&s->lock);
	if (is_new) {
		dma_row(&row, &b);
		store_submit(s, &row, 0, STORE_URGENT);
	}
	if (first) {
		over_row(&row, &b);
		store_submit(s, &row, 0, STORE_URGENT);
	}
	return b.session;
}

void store_settle_session(struct store *s, struct row *row)
{
	struct row_value *v = &row->values[0];

	if ((row->id == ROW_LEDGER_LINK || row->id == ROW_LEDGER_STREAM || row->id == ROW_LOSS) &&
	    v->i >= STORE_LATER && (size_t)(v->i - STORE_LATER) < s->start_count) {
		v->i = s->starts[v->i - STORE_LATER].session;
	}
}

/* Our starts of DMA for a file that may not have them, before all rows that name their sessions. */
static void put_starts_again(struct store *s)
{
	struct row row;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (s->sessions.dma[link].seen) {
			dma_row(&row, &s->sessions.dma[link].last);
			store_rows_put_first(s, &row);
		}
	}
}

/* The starts of DMA while there was no file, in their order. */
static void settle_starts(struct store *s)
{
	bool seen[NANET3_LINKS] = {false};
	struct row row;

	for (size_t n = 0; n < s->start_count; n++) {
		settle(&s->sessions, &s->starts[n]);
	}
	for (size_t n = s->start_count; n > 0; n--) { /* each before the one put last */
		dma_row(&row, &s->starts[n - 1]);
		store_rows_put_first(s, &row);
	}
	for (size_t n = 0; n < s->start_count; n++) {
		const struct store_dma_start *b = &s->starts[n];

		if (!seen[b->link]) {
			seen[b->link] = true;
			over_row(&row, b);
			store_rows_put_first(s, &row);
		}
	}
}

void store_adopt(struct store *s, const struct store_sessions *known, struct store_past *past)
{
	pthread_mutex_lock(&s->lock);
	store_past_free(s->past);
	s->past = past;
	s->status.away = false;
	if (s->sessions_known) { /* it is another file, perhaps: what we know goes on */
		if (known->newest > s->sessions.newest) {
			s->sessions.newest = known->newest;
		}
		put_starts_again(s);
	} else {
		s->sessions = *known;
		settle_starts(s);
		s->sessions_known = true;
	}
	pthread_mutex_unlock(&s->lock);
}
