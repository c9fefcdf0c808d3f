/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hits lost in modules: the increase of each module's counter in the last minute, and the totals of a floor's episode.
 * An episode ends when no module of the floor has lost a hit for a minute. The counter is polled, and restarts at 0
 * when the FCM boots. No I/O.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define OVERFLOW_READINGS  16u
#define OVERFLOW_WINDOW_NS 60000000000ull
#define OVERFLOW_MODULES   6u /* of a floor */

struct overflow {
	struct {
		uint64_t ns, lost;
	} grown[OVERFLOW_READINGS];
	unsigned next;
	bool known;
	uint64_t counter, read_ns;
};

struct overflow_floor {
	struct overflow module[OVERFLOW_MODULES];
	/* the current episode, or the last one */
	uint64_t lost[OVERFLOW_MODULES];
	/* all of it was lost between these two readings; 0: none yet */
	uint64_t first_ns, last_ns;
};

static inline void overflow_grown(struct overflow_floor *f, unsigned module, uint64_t lost,
				  uint64_t before_ns, uint64_t read_ns)
{
	if (!lost) {
		return;
	}
	if (!f->last_ns || (read_ns > f->last_ns && read_ns - f->last_ns >= OVERFLOW_WINDOW_NS)) {
		memset(f->lost, 0, sizeof(f->lost));
		f->first_ns = before_ns;
		f->last_ns = read_ns;
	}
	f->lost[module] += lost;
	f->first_ns = before_ns < f->first_ns ? before_ns : f->first_ns;
	f->last_ns = read_ns > f->last_ns ? read_ns : f->last_ns;
}

/* The counter as read at `read_ns` (CLOCK_MONOTONIC); the same reading may be given again. */
static inline void overflow_read(struct overflow_floor *f, unsigned module, uint64_t counter,
				 uint64_t read_ns)
{
	struct overflow *o = &f->module[module];
	uint64_t lost = counter > o->counter ? counter - o->counter : counter;

	if (read_ns == o->read_ns) {
		return;
	}
	if (o->known && counter != o->counter) {
		o->grown[o->next % OVERFLOW_READINGS].ns = read_ns;
		o->grown[o->next++ % OVERFLOW_READINGS].lost = lost;
		overflow_grown(f, module, lost, o->read_ns, read_ns);
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
