/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A token bucket: limits a rate and a burst. Zero-initialised it is full.
 */
#ifndef DAEMON_CORE_BUCKET_H
#define DAEMON_CORE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
