/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The label: the TAI time of a board count. The clock makes it (main thread); capture takes it at
 * the border of a block. A new label is a new time epoch. It is kept in the owner page, so that a
 * restarted daemon stamps data as the previous one did.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum label_source {
	LABEL_NONE = 0,
	LABEL_GPSD = 1,
	LABEL_FLOORS = 2,   /* the time word that the floors already carry */
	LABEL_SYSTEM = 3,   /* the synchronised system clock */
	LABEL_EMULATOR = 4, /* --speed max, --play: the model's own labels */
};

enum clock_state {
	CLOCK_NO_TIME = 0,
	CLOCK_ACQUIRING = 1,
	CLOCK_LOCKED = 2,
	CLOCK_HOLDOVER = 3,
	CLOCK_FAULT = 4,
};

struct label {
	uint32_t time_epoch;
	uint8_t source, state; /* enum label_source, enum clock_state */
	uint8_t leap;	       /* 1 = a second is inserted at leap_tai_ns */
	uint8_t reserved;
	uint32_t uncertainty_ns; /* UINT32_MAX: none */
	int32_t tai_utc_s;	 /* TAI - UTC now: 37 */
	uint64_t anchor_count;	 /* this board count ... */
	int64_t anchor_tai_ns;	 /* ... begins at this TAI since 1970; INT64_MIN: no time */
	int64_t leap_tai_ns;	 /* when tai_utc_s grows by one; INT64_MAX: not announced */
	uint64_t reserved1[2];
};
_Static_assert(sizeof(struct label) == 56, "label");

/* Whether two labels differ in more than their uncertainty. */
static inline bool label_differs(const struct label *a, const struct label *b)
{
	return a->time_epoch != b->time_epoch || a->source != b->source || a->state != b->state ||
	       a->leap != b->leap || a->tai_utc_s != b->tai_utc_s ||
	       a->anchor_count != b->anchor_count || a->anchor_tai_ns != b->anchor_tai_ns ||
	       a->leap_tai_ns != b->leap_tai_ns;
}

/* Whether they differ at all: the clock reports a growing uncertainty once a second. */
static inline bool label_changed(const struct label *a, const struct label *b)
{
	return label_differs(a, b) || a->uncertainty_ns != b->uncertainty_ns;
}

/* TAI since 1970 of the start of `count`; only with anchor_tai_ns != INT64_MIN. */
static inline int64_t label_tai_ns(const struct label *l, uint64_t count)
{
	return l->anchor_tai_ns + ((int64_t)count - (int64_t)l->anchor_count) * 125000;
}

/* UTC since 1970 in ns; in a leap second it stays in 23:59:60, i.e. is `*ret_leap` = 1 and repeats the
 * last second's number plus one (second of day 86400). */
static inline int64_t label_utc_ns(const struct label *l, int64_t tai_ns, int *ret_leap)
{
	int64_t offset = l->tai_utc_s;

	*ret_leap = 0;
	if (tai_ns >= l->leap_tai_ns) {
		if (tai_ns < l->leap_tai_ns + 1000000000) {
			*ret_leap = 1;
		} else {
			offset++;
		}
	}
	return tai_ns - offset * 1000000000;
}
