/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a counter of lost hits has grown by in the last minute. The counter is polled now and then, and
 * begins at 0 with the FCM's boot. Pure.
 */
#ifndef DAEMON_OVERFLOW_H
#define DAEMON_OVERFLOW_H

#include <stdbool.h>
#include <stdint.h>

#define OVERFLOW_READINGS  16u
#define OVERFLOW_WINDOW_NS 60000000000ull

struct overflow {
	struct {
		uint64_t ns, lost;
	} grown[OVERFLOW_READINGS];
	unsigned next;
	bool known;
	uint64_t counter, read_ns;
};

/* The counter as read at `read_ns` (CLOCK_MONOTONIC); the same reading may be given again. */
static inline void overflow_read(struct overflow *o, uint64_t counter, uint64_t read_ns)
{
	if (read_ns == o->read_ns) {
		return;
	}
	if (o->known && counter != o->counter) {
		o->grown[o->next % OVERFLOW_READINGS].ns = read_ns;
		o->grown[o->next++ % OVERFLOW_READINGS].lost =
			counter > o->counter ? counter - o->counter : counter;
	}
	o->known = true;
	o->counter = counter;
	o->read_ns = read_ns;
}

static inline uint64_t overflow_recent(const struct overflow *o, uint64_t now_ns)
{
	uint64_t sum = 0;

	for (unsigned n = 0; n < OVERFLOW_READINGS; n++) {
		sum += o->grown[n].ns && now_ns - o->grown[n].ns < OVERFLOW_WINDOW_NS
			       ? o->grown[n].lost
			       : 0;
	}
	return sum;
}

#endif
