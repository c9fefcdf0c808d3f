// SPDX-License-Identifier: GPL-2.0-or-later
/* The tap between capture and recorder: see tap.h. */
#include "daemon/data/tap.h"

#include <string.h>

#define SUSPECT_NS 300000000ull /* a suspect's data are offered for so long unasked */

#define POSITION_MASK ((1ull << 44) - 1)

int tap_init(struct tap *t, uint32_t size)
{
	memset(t, 0, sizeof(*t));
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		pthread_mutex_init(&t->link[i].lease, NULL);
	}
	return queue_init(&t->queue, sizeof(struct tap_entry), size, 1);
}

void tap_fini(struct tap *t)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		pthread_mutex_destroy(&t->link[i].lease);
	}
	queue_fini(&t->queue);
}

/* ------------------------------------------------------------------------------------- capture */

void tap_begin(struct tap *t, unsigned link, uint32_t dma_epoch, const struct tap_board *board,
	       uint64_t position)
{
	struct tap_link *l = &t->link[link];

	l->life++;
	l->dma_epoch = dma_epoch;
	l->board = *board;
	atomic_store(&l->floor, tap_ticket(l->life, position));
}

static struct tap_entry *put(struct tap *t, unsigned link, enum tap_kind kind)
{
	struct tap_entry *place = queue_reserve(&t->queue);

	if (place) {
		*place = (struct tap_entry){
			.kind = (uint8_t)kind,
			.link = (uint8_t)link,
			.dma_epoch = t->link[link].dma_epoch,
			.ticket = t->link[link].fed,
		};
	}
	return place;
}

/* Cells that the queue had no place for go first. False: it has none now either. */
static bool put_missed(struct tap *t, unsigned link)
{
	struct tap_link *l = &t->link[link];

	while (l->missed_n > 0) {
		struct tap_entry *e = put(t, link, TAP_LET_GO);

		if (!e) {
			return false;
		}
		e->dma_epoch = l->missed[0].dma_epoch;
		e->count = l->missed[0].count;
		e->frames = l->missed[0].frames;
		queue_commit(&t->queue);
		l->missed_n--;
		memmove(&l->missed[0], &l->missed[1], l->missed_n * sizeof(l->missed[0]));
	}
	return true;
}

void tap_end(struct tap *t, unsigned link)
{
	struct tap_link *l = &t->link[link];

	pthread_mutex_lock(&l->lease);
	atomic_store(&l->floor, tap_ticket(l->life + 1, 0));
	pthread_mutex_unlock(&l->lease);
	put_missed(t, link); /* what finds no place now does in the link's next life */
	l->feeding = false;
}

void tap_suspect(struct tap *t, unsigned link, uint64_t count, uint64_t now_ns)
{
	struct tap_link *l = &t->link[link];
	struct tap_entry *e;

	if (!atomic_load_explicit(&l->armed, memory_order_relaxed)) {
		return;
	}
	e = put(t, link, TAP_SUSPECT);
	if (!e) {
		return;
	}
	e->count = count;
	queue_commit(&t->queue);
	queue_wake(&t->queue);
	l->until_ns = now_ns + SUSPECT_NS;
}

bool tap_feeding(struct tap *t, unsigned link, uint64_t release_position, uint64_t now_ns,
		 uint64_t *ret_from)
{
	struct tap_link *l = &t->link[link];
	bool feeds = atomic_load_explicit(&l->wanted, memory_order_relaxed) || now_ns < l->until_ns;

	if (feeds && !l->feeding) {
		l->fed_from = tap_ticket(l->life, release_position);
		l->fed = l->fed_from;
		l->mark = 0;
		l->state_sent = false;
	}
	if (!feeds) { /* they are not missed */
		l->missed_n = 0;
	}
	l->feeding = feeds;
	*ret_from = l->fed & POSITION_MASK;
	return feeds;
}

static bool put_state(struct tap *t, unsigned link, uint64_t count, const struct label *label,
		      uint32_t run)
{
	struct tap_link *l = &t->link[link];
	struct tap_entry *e;

	if (l->state_sent && !label_changed(&l->sent_label, label) && l->sent_run == run) {
		return true;
	}
	e = put(t, link, TAP_STATE);
	if (!e) {
		return false;
	}
	e->count = count;
	e->state.label = *label;
	e->state.run = run;
	e->state.board = l->board;
	queue_commit(&t->queue);
	l->state_sent = true;
	l->sent_label = *label;
	l->sent_run = run;
	return true;
}

/* One range as long as they follow each other: counts in between may never have been. */
static void miss(struct tap_link *l, uint64_t count, uint64_t frames)
{
	struct tap_missed *last = l->missed_n > 0 ? &l->missed[l->missed_n - 1] : NULL;
	bool later = last && last->dma_epoch == l->dma_epoch && last->count < count;

	if (later && last->count + last->frames == count) {
		last->frames += frames;
	} else if (later && l->missed_n == TAP_MISSED) { /* they are too many: better than none */
		last->frames = count + frames - last->count;
	} else {
		l->missed_n += l->missed_n < TAP_MISSED;
		l->missed[l->missed_n - 1] = (struct tap_missed){l->dma_epoch, count, frames};
	}
}

void tap_offer(struct tap *t, unsigned link, uint64_t position, const struct nanet3_event *e,
	       const uint8_t *data, uint32_t bytes, const struct label *label, uint32_t run,
	       uint64_t now_ns)
{
	struct tap_link *l = &t->link[link];
	struct tap_entry *place = NULL;

	if (put_missed(t, link) && put_state(t, link, e->frame_count, label, run)) {
		place = put(t, link, TAP_CELLS);
	}
	l->fed = tap_ticket(l->life, position) + 1;
	if (!place) {
		miss(l, e->frame_count, e->frames);
		return;
	}
	place->ticket = l->fed - 1;
	place->reason = e->reason;
	place->count = e->frame_count;
	place->frames = e->frames;
	place->cells.data = data;
	place->cells.bytes = bytes;
	place->cells.time_ns = e->time_ns;
	queue_commit(&t->queue);
	if (l->mark == 0) {
		l->mark = l->fed;
		l->mark_ns = now_ns;
	}
}

uint64_t tap_release(struct tap *t, unsigned link, uint64_t to, uint64_t used, uint64_t depth,
		     uint64_t now_ns)
{
	struct tap_link *l = &t->link[link];
	uint64_t done = atomic_load_explicit(&l->done, memory_order_acquire);
	uint64_t floor = atomic_load_explicit(&l->floor, memory_order_relaxed);
	uint64_t end = tap_ticket(l->life, to), limit = done;

	limit = limit > l->fed_from ? limit : l->fed_from;
	limit = limit > floor ? limit : floor;

	if (done >= l->mark) {
		l->mark = 0;
	}
	if (l->feeding && limit < end) {
		bool late = l->mark && now_ns - l->mark_ns > TAP_BEHIND_NS;
		bool crowded = used > depth / 2 && end - limit > depth / 8;

		if (late || crowded) {
			l->let_go += end - limit;
			l->mark = 0;
		} else {
			end = limit;
		}
	}
	if (end > floor) {
		atomic_store(&l->floor, end); /* before the board may have them */
	}
	return end & POSITION_MASK;
}

/* ------------------------------------------------------------------------------------- recorder */

bool tap_holds(struct tap *t, const struct tap_entry *e)
{
	/* A read-modify-write, so that no reading of the entry's bytes sinks below it. */
	return e->ticket >= atomic_fetch_add(&t->link[e->link].floor, 0);
}

bool tap_lend(struct tap *t, const struct tap_entry *e)
{
	pthread_mutex_lock(&t->link[e->link].lease);
	if (tap_holds(t, e)) {
		return true;
	}
	pthread_mutex_unlock(&t->link[e->link].lease);
	return false;
}

void tap_return(struct tap *t, const struct tap_entry *e)
{
	pthread_mutex_unlock(&t->link[e->link].lease);
}

void tap_done(struct tap *t, const struct tap_entry *e)
{
	struct tap_link *l = &t->link[e->link];

	if (e->kind == TAP_CELLS &&
	    e->ticket >= atomic_load_explicit(&l->done, memory_order_relaxed)) {
		atomic_store_explicit(&l->done, e->ticket + 1, memory_order_release);
	}
}
