/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stamped hits (tdm/hit.h) as the judges of the tests see them. */
#pragma once

#include "tdm/hit.h"

static inline bool bcd_legal(unsigned bcd)
{
	for (; bcd > 0; bcd >>= 4) {
		if ((bcd & 0xfu) > 9) {
			return false;
		}
	}
	return true;
}

/* As hit_legal(), and the time of day: for the reader's side. */
static inline bool hit_legal_stamped(const uint8_t *bytes)
{
	struct hit h;

	if (!hit_legal(bytes)) {
		return false;
	}
	hit_unpack(bytes, &h);
	/* 0x366: the 366th day of a leap year where 1 January is day 1. */
	return h.second <= HIT_SECOND_MAX && h.day_bcd <= 0x366 && bcd_legal(h.day_bcd) &&
	       bcd_legal(h.year_bcd);
}

/* Write Seconds, Days, Years; every other bit stays. */
static inline void hit_stamp(uint8_t *bytes, const struct hit_stamp *stamp)
{
	hit_walk_stamp(bytes, le64_get(bytes + HIT_TIME), hit_walk_stamp_bits(stamp));
}

/* Clear Seconds, Days, Years: the form that is hashed against the truth. */
static inline void hit_unstamp(uint8_t *bytes)
{
	hit_walk_stamp(bytes, le64_get(bytes + HIT_TIME), 0);
}
