/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions of DMA: which one a start of DMA belongs to is known from the file. What began before a file was open has a
 * number that stands for its session, in rows that wait as well, until the file is open.
 */
#include "daemon/store/private.h"

#include <errno.h>
#include <stdlib.h>

/* The session of a start of DMA, *ret_row: it wants its row. */
static uint32_t session_of(struct store_sessions *k, const struct store_beginning *b, bool *ret_row)
{
	struct store_dma *d = &k->dma[b->link];

	*ret_row = !b->taken_over || d->dma_epoch != b->dma_epoch;
	if (*ret_row) { /* else its ring lived on: the same DMA */
		if (d->session == k->newest && b->dma_epoch <= d->dma_epoch) {
			k->newest++; /* the board has begun counting again */
		}
		d->session = k->newest;
		d->dma_epoch = b->dma_epoch;
	}
	d->told = true;
	d->utc_ns = b->utc_ns;
	d->serial = b->serial;
	d->board_boot = b->board_boot;
	return d->session;
}

static void dma_row(struct row *row, unsigned link, uint32_t session, uint32_t dma_epoch,
		    int64_t utc_ns, uint32_t serial, uint32_t board_boot)
{
	row_make(row, ROW_DMA, ROW_VI(session), ROW_VI(link), ROW_VI(dma_epoch), ROW_VI(utc_ns),
		 ROW_VI(serial), ROW_VI(board_boot));
}

/* What a daemon before us left open of other starts of DMA than this one will not be settled any more. */
static void over_row(struct row *row, unsigned link, uint32_t session, uint32_t dma_epoch)
{
	row_make(row, ROW_DMA_OVER, ROW_VI(session), ROW_VI(link), ROW_VI(dma_epoch));
}

/* Out of memory: the rows of this beginning go with those of the last one. */
static uint32_t begin_later(struct store *s, const struct store_beginning *b)
{
	if (s->beginning_count == s->beginning_room) {
		size_t room = s->beginning_room ? 2 * s->beginning_room : 16;
		void *more = realloc(s->beginnings, room * sizeof(*s->beginnings));

		if (!more) {
			return STORE_LATER + (uint32_t)s->beginning_count - 1;
		}
		s->beginnings = more;
		s->beginning_room = room;
	}
	s->beginnings[s->beginning_count] = *b;
	return STORE_LATER + (uint32_t)s->beginning_count++;
}

uint32_t store_session(struct store *s, unsigned link, uint32_t dma_epoch, bool taken_over,
		       uint32_t serial, uint32_t board_boot, int64_t utc_ns)
{
	struct store_beginning b = {.link = link % NANET3_LINKS,
				    .dma_epoch = dma_epoch,
				    .serial = serial,
				    .board_boot = board_boot,
				    .taken_over = taken_over,
				    .utc_ns = utc_ns};
	bool first, wants_row = false;
	uint32_t session;
	struct row row;

	pthread_mutex_lock(&s->lock);
	if (!s->sessions_known) {
		session = begin_later(s, &b);
		pthread_mutex_unlock(&s->lock);
		return session;
	}
	first = !s->sessions.dma[b.link].told;
	session = session_of(&s->sessions, &b, &wants_row);
	pthread_mutex_unlock(&s->lock);
	if (wants_row) {
		dma_row(&row, b.link, session, dma_epoch, utc_ns, serial, board_boot);
		store_submit(s, &row, 0, STORE_URGENT);
	}
	if (first) {
		over_row(&row, b.link, session, dma_epoch);
		store_submit(s, &row, 0, STORE_URGENT);
	}
	return session;
}

void store_settle_session(struct store *s, struct row *row)
{
	struct row_value *v = &row->values[0];

	if ((row->id == ROW_LEDGER_LINK || row->id == ROW_LEDGER_STREAM || row->id == ROW_LOSS) &&
	    v->i >= STORE_LATER && (size_t)(v->i - STORE_LATER) < s->beginning_count) {
		v->i = s->beginnings[v->i - STORE_LATER].session;
	}
}

/* Our starts of DMA, told to a file that may not have them, before all rows that name their sessions. */
static void tell_again(struct store *s)
{
	struct row row;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		const struct store_dma *d = &s->sessions.dma[link];

		if (d->told) {
			dma_row(&row, link, d->session, d->dma_epoch, d->utc_ns, d->serial,
				d->board_boot);
			store_rows_put_first(s, &row);
		}
	}
}

/* What began while there was no file, in its order. */
static void settle_beginnings(struct store *s)
{
	bool first[NANET3_LINKS] = {false};
	struct row row;

	for (size_t n = 0; n < s->beginning_count; n++) {
		struct store_beginning *b = &s->beginnings[n];
		bool wants_row;

		b->session = session_of(&s->sessions, b, &wants_row);
	}
	for (size_t n = s->beginning_count; n > 0; n--) { /* each before the one put last */
		const struct store_beginning *b = &s->beginnings[n - 1];

		dma_row(&row, b->link, b->session, b->dma_epoch, b->utc_ns, b->serial,
			b->board_boot);
		store_rows_put_first(s, &row);
	}
	for (size_t n = 0; n < s->beginning_count; n++) {
		const struct store_beginning *b = &s->beginnings[n];

		if (!first[b->link]) {
			first[b->link] = true;
			over_row(&row, b->link, b->session, b->dma_epoch);
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
		tell_again(s);
	} else {
		s->sessions = *known;
		settle_beginnings(s);
		s->sessions_known = true;
	}
	pthread_mutex_unlock(&s->lock);
}
