/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rates of a link over the last RATES_S seconds. Time is counted in cells (the link's places for a frame, 8000 a
 * second by the board's clock), so that neither a dip nor a peak appears when the daemon was held up. No I/O.
 */
#pragma once

#include <stdint.h>

#define RATES_S		       3u
#define RATES_CELLS_PER_SECOND 8000.0

/* Counters: cells that the board started, the good ones of them, their bytes and hits. */
struct rates_point {
	uint64_t cells, good, bytes, hits;
};

struct rates {
	struct rates_point at[RATES_S + 1]; /* circular, one point per second */
	uint64_t points;
};

struct rates_now {
	double frames, bytes, hits; /* per second */
};

static inline void rates_add(struct rates *r, const struct rates_point *now)
{
	r->at[r->points++ % (RATES_S + 1)] = *now;
}

/* All zero while the board's count does not advance. */
static inline struct rates_now rates_get(const struct rates *r)
{
	uint64_t span = r->points > RATES_S ? RATES_S : r->points - (r->points > 0);
	const struct rates_point *b = &r->at[(r->points - 1) % (RATES_S + 1)];
	const struct rates_point *a = &r->at[(r->points - 1 - span) % (RATES_S + 1)];
	double seconds = (double)(b->cells - a->cells) / RATES_CELLS_PER_SECOND;

	if (!span || seconds <= 0) {
		return (struct rates_now){0, 0, 0};
	}
	return (struct rates_now){
		.frames = (double)(b->good - a->good) / seconds,
		.bytes = (double)(b->bytes - a->bytes) / seconds,
		.hits = (double)(b->hits - a->hits) / seconds,
	};
}
