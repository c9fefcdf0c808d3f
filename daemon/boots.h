/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When an FCM has booted: its boot count in the telemetry has changed. Counts belong to floors, not to
 * links: fibres may be swapped. Pure.
 */
#ifndef DAEMON_BOOTS_H
#define DAEMON_BOOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOOTS_FLOORS 16u /* more than links: those of a swap, too */

struct boots_floor {
	uint8_t tower, floor;
	uint32_t count;
	uint64_t booted_ns; /* CLOCK_MONOTONIC; 0: not while we looked */
};

struct boots {
	struct boots_floor floor[BOOTS_FLOORS];
	unsigned used, next; /* next: replaced when all are in use */
};

/* NULL: never heard of. */
static inline struct boots_floor *boots_find(struct boots *b, uint8_t tower, uint8_t floor)
{
	for (unsigned n = 0; n < b->used; n++) {
		if (b->floor[n].tower == tower && b->floor[n].floor == floor) {
			return &b->floor[n];
		}
	}
	return NULL;
}

/* The floor says its boot count. True: it has booted since it said so last, then as *ret_before. */
static inline bool boots_heard(struct boots *b, uint8_t tower, uint8_t floor, uint32_t count,
			       uint64_t now_ns, uint32_t *ret_before)
{
	struct boots_floor *f = boots_find(b, tower, floor);

	if (!f) {
		f = &b->floor[b->used < BOOTS_FLOORS ? b->used++ : b->next++ % BOOTS_FLOORS];
		*f = (struct boots_floor){.tower = tower, .floor = floor, .count = count};
		return false;
	}
	if (f->count == count) {
		return false;
	}
	*ret_before = f->count;
	f->count = count;
	f->booted_ns = now_ns;
	return true;
}

#endif
