/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What peers can cause at any rate is limited: a token bucket; a counter whose growth is
 * reported at most once a minute. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Limits a rate and a burst. Zero-initialised it is full. */
struct bucket {
	double used; /* tokens that are missing */
	uint64_t at_ns;
};

/* `rate` tokens per second, at most `burst` (>= 1). False: there is no token, and nothing is
 * taken. */
static inline bool bucket_take(struct bucket *b, double rate, double burst, uint64_t now_ns)
{
	double back = (double)(now_ns - b->at_ns) / 1e9 * rate;

	b->used = back < b->used ? b->used - back : 0;
	b->at_ns = now_ns;
	if (b->used + 1 > burst) {
		return false;
	}
	b->used += 1;
	return true;
}

#define REPORT_AGAIN_NS 60000000000ull

struct reported_count {
	uint64_t count, at_ns; /* as last reported; 0: never */
};

/* By how much `count` has grown since the last report, if a report is allowed at `now_ns`
 * (CLOCK_MONOTONIC); else 0. */
static inline uint64_t reported_growth(struct reported_count *r, uint64_t count, uint64_t now_ns)
{
	uint64_t more = count - r->count;

	if (more == 0 || (r->at_ns && now_ns - r->at_ns < REPORT_AGAIN_NS)) {
		return 0;
	}
	r->count = count;
	r->at_ns = now_ns;
	return more;
}
