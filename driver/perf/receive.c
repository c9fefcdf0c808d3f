/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data of a link (measure.h): the time from the board's hand-over of a buffer until its reader has it, both
 * asleep and polling the board's queue. The board does not report when it handed over; but its frames are
 * 125 us each, so the earliest buffer of a round, in either mode, is taken as zero, and the result is the
 * delay after that.
 */
#include <errno.h>
#include <string.h>

#include "driver/perf/measure.h"

#define COUNT	1000u
#define ROUNDS	20u
#define SKIP	4u /* buffers after a change of modes */
#define WAIT_MS 2000

struct receiver {
	struct nanet3 *b;
	unsigned link;
	uint64_t next;	/* position */
	uint64_t frame; /* that should come; 0: whichever */
	bool broken;	/* a short second, or a ring that was full: the round's zero is lost */
};

/* One buffer, or gap: when it came, less when its last frame ended by the count of frames. */
static int next_buffer(struct receiver *x, uint64_t *ret_ns)
{
	const struct nanet3_event *c;
	struct nanet3_event ev;

	while (nanet3_write_position(x->b, x->link) <= x->next) {
		int r = nanet3_wait(x->b, WAIT_MS);

		if (r <= 0 && r != -EINTR) {
			return r == 0 ? -ETIMEDOUT : r;
		}
		while (nanet3_next_event(x->b, &ev) == 1) {
			if (ev.type == NANET3_EVENT_GONE) {
				return -ENODEV;
			}
		}
	}
	*ret_ns = nanet3_now_ns();
	c = nanet3_completion(x->b, x->link, x->next);
	x->broken = x->broken || (x->frame != 0 && c->frame_count != x->frame);
	x->frame = c->frame_count + c->frames;
	*ret_ns -= x->frame * NANET3_FRAME_NS; /* wraps: only differences count */
	x->next++;
	return nanet3_release(x->b, x->link, x->next);
}

static int receive(struct receiver *x, enum perf_mode mode, uint64_t count, struct samples *samples)
{
	int err = nanet3_polling(x->b, mode == PERF_POLLING);

	x->frame = 0;
	for (uint64_t i = 0; i < count + SKIP && err == 0; i++) {
		uint64_t ns;

		err = next_buffer(x, &ns);
		if (err == 0 && i >= SKIP) {
			samples_add(samples, ns);
		}
	}
	return err;
}

/* The round's times, from its earliest on, to those of all rounds. */
static void zero(const struct samples round[PERF_MODES], struct samples all[PERF_MODES])
{
	uint64_t earliest = round[round[0].count > 0 ? 0 : 1].ns[0];

	for (int m = 0; m < PERF_MODES; m++) {
		for (size_t i = 0; i < round[m].count; i++) {
			earliest = (int64_t)(round[m].ns[i] - earliest) < 0 ? round[m].ns[i]
									    : earliest;
		}
	}
	for (int m = 0; m < PERF_MODES; m++) {
		for (size_t i = 0; i < round[m].count; i++) {
			samples_add(&all[m], round[m].ns[i] - earliest);
		}
	}
}

static int rounds(const struct perf_options *o, struct receiver *x, uint64_t part,
		  struct samples all[PERF_MODES])
{
	/* Of one round: time of arrival less that of the last frame, not yet zeroed. */
	struct samples round[PERF_MODES];
	int err = samples_make(round, part);

	/* Broken ones are repeated; a board that breaks them all cannot be measured. */
	for (unsigned i = 0, good = 0; good < ROUNDS && err == 0; i++) {
		x->broken = false;
		for_each_mode (o, m) {
			round[m].count = 0;
			err = err == 0 ? receive(x, m, part, &round[m]) : err;
		}
		if (err == 0 && !x->broken) {
			zero(round, all);
			good++;
		} else if (err == 0 && i >= 3 * ROUNDS) {
			err = -EPROTO;
		}
	}
	samples_free(round);
	return err;
}

static int measure(const struct perf_options *o, struct receiver *x, struct results *r)
{
	const struct nanet3_ring *ring = nanet3_ring(x->b, x->link);
	uint64_t bytes = (uint64_t)ring->frames_per_buffer * NANET3_FRAME_BYTES;
	uint64_t part = ((o->count != 0 ? o->count : COUNT) + ROUNDS - 1) / ROUNDS;
	struct samples all[PERF_MODES];
	int err = samples_make(all, part * ROUNDS);

	if (err == 0) {
		err = rounds(o, x, part, all);
	}
	for_each_mode (o, m) {
		err = err == 0 ? latency_report(r, m, bytes, &all[m]) : err;
	}
	samples_free(all);
	return err;
}

int measure_receive(const struct perf_options *o, struct nanet3 *b, struct results *r)
{
	struct receiver x = {.b = b, .link = o->link};
	bool taken_over;
	int err;

	r->figures = latency_figures;
	r->figures.name = "receive";
	r->histogram = latency_histogram;
	snprintf(r->note, sizeof(r->note), "link %u", o->link);
	if (nanet3_info(b)->emulated == NANET3_EMULATED_UNPACED) {
		return -EOPNOTSUPP;
	}
	err = nanet3_claim(b, o->link, 0, &taken_over);
	if (err < 0) {
		return err;
	}
	if (taken_over) { /* it is somebody's: closing the handle lets it linger on */
		return -EBUSY;
	}
	err = measure(o, &x, r);
	(void)nanet3_yield(b, o->link);
	return err;
}
