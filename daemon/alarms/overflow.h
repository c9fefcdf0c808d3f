/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hits lost in modules: the increase of each module's counter in the last minute, and the totals of a floor's episode.
 * An episode ends when no module of the floor has lost a hit for a minute. The counter is polled, and restarts at 0
 * when the FCM boots, and when it has passed its largest value. No I/O.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define OVERFLOW_READINGS  16u
#define OVERFLOW_WINDOW_NS 60000000000ull
#define OVERFLOW_MODULES   6u		/* of a floor */
#define OVERFLOW_WRAP	   (1ull << 31) /* of the counter: tdm/registers.h */
#define OVERFLOW_MOST_HZ   10000000ull	/* no module loses more */

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
	uint64_t booted_ns; /* the FCM, for the last time (CLOCK_MONOTONIC); 0: unknown */
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

/* The increase since the last reading. A counter that has fallen has passed its largest value, if it can have got
 * there and the FCM has not booted; else it restarted. At 0 it did: the boot may be reported later. */
static inline uint64_t overflow_since(const struct overflow_floor *f, const struct overflow *o,
				      uint64_t counter, uint64_t read_ns)
{
	uint64_t passed = counter + OVERFLOW_WRAP - o->counter;

	if (counter >= o->counter) {
		return counter - o->counter;
	}
	return counter > 0 && f->booted_ns < o->read_ns &&
			       passed <= OVERFLOW_MOST_HZ * ((read_ns - o->read_ns) / 1000000000)
		       ? passed
		       : counter;
}

/* The counter as read at `read_ns` (CLOCK_MONOTONIC); the same reading may be given again. */
static inline void overflow_read(struct overflow_floor *f, unsigned module, uint64_t counter,
				 uint64_t read_ns)
{
	struct overflow *o = &f->module[module];
	uint64_t lost = overflow_since(f, o, counter, read_ns);

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
