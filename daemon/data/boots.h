/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detects that an FCM has booted: the boot count in its telemetry differs from its last report, or
 * from the count that an earlier daemon knew. Counts belong to floors, not to links: fibres may be
 * swapped. No I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define BOOTS_FLOORS   16u		       /* more than links: those of a swap, too */
#define BOOTS_TEXT_MAX (BOOTS_FLOORS * 20 + 1) /* as boots_write() has it */

struct boots_floor {
	uint8_t tower, floor;
	uint32_t count;
	uint64_t booted_ns; /* CLOCK_MONOTONIC; 0: not said yet, or before that clock began */
};

struct boots {
	struct boots_floor floor[BOOTS_FLOORS];
	unsigned used, next; /* next: replaced when all are in use */
};

/* NULL: unknown floor. */
static inline struct boots_floor *boots_find(struct boots *b, uint8_t tower, uint8_t floor)
{
	for (unsigned n = 0; n < b->used; n++) {
		if (b->floor[n].tower == tower && b->floor[n].floor == floor) {
			return &b->floor[n];
		}
	}
	return NULL;
}

static inline struct boots_floor *boots_add(struct boots *b, uint8_t tower, uint8_t floor,
					    uint32_t count)
{
	unsigned n = b->used < BOOTS_FLOORS ? b->used++ : b->next++ % BOOTS_FLOORS;

	b->floor[n] = (struct boots_floor){.tower = tower, .floor = floor, .count = count};
	return &b->floor[n];
}

/* A floor's boot count and uptime. True: it has booted since its last report, or since an earlier
 * daemon's; its count before was *ret_before. */
static inline bool boots_heard(struct boots *b, uint8_t tower, uint8_t floor, uint32_t count,
			       uint32_t uptime_s, uint64_t now_ns, uint32_t *ret_before)
{
	struct boots_floor *f = boots_find(b, tower, floor);
	uint64_t up_ns = uptime_s * 1000000000ull;
	bool booted = f && f->count != count;

	if (booted) {
		*ret_before = f->count;
		f->count = count;
	}
	f = f ? f : boots_add(b, tower, floor, count);
	if (booted || f->booted_ns == 0) {
		f->booted_ns = now_ns > up_ns ? now_ns - up_ns : 0;
	}
	return booted;
}

/* "1.3 29, 1.4 3, " for boots_read() of the next daemon. */
static inline void boots_write(const struct boots *b, char buf[BOOTS_TEXT_MAX])
{
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned n = 0; n < b->used; n++) {
		const struct boots_floor *f = &b->floor[n];

		used += (size_t)snprintf(buf + used, BOOTS_TEXT_MAX - used, "%u.%u %u, ", f->tower,
					 f->floor, f->count);
	}
}

/* Ignores floors that have reported already; ends at text that it cannot read. */
static inline void boots_read(struct boots *b, const char *text)
{
	unsigned tower, floor, count;
	int length = 0;

	while (b->used < BOOTS_FLOORS &&
	       sscanf(text, "%3u.%3u %10u, %n", &tower, &floor, &count, &length) == 3 &&
	       length > 0) {
		if (!boots_find(b, (uint8_t)tower, (uint8_t)floor)) {
			boots_add(b, (uint8_t)tower, (uint8_t)floor, count);
		}
		text += length;
		length = 0;
	}
}
