/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inline access to the fields of a hit header (tdm/hit.h) that a walk through a stream of hits
 * needs; hit.c uses them, too. One pass over the header finds whether it is legal, its length and
 * its time.
 *
 * The time word of a hit (bytes 4..11) is one little-endian 64-bit number: T5ns in bits 0..15,
 * FrameCounter 16..28, and from bit 29 on what the shore fills. That split makes stamping one mask
 * and one or.
 */
#ifndef TDM_HIT_WALK_H
#define TDM_HIT_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "tdm/hit.h"
#include "tdm/le.h"

#define HIT_TIME    4u	  /* offset of the time word */
#define HIT_SHAPE   12u	  /* offset of samples, charge and flags */
#define HIT_SAMPLES 0x3fu /* their number in it */

/* T5ns (bits 0-15) and FrameCounter (16-28) of the time word: the FCM's own part. */
#define HIT_WALK_BORN 0x1fffffffull

struct hit_walk {
	uint64_t time;	/* the time word */
	uint32_t born;	/* FrameCounter << 16 | T5ns: orders hits inside a second */
	uint32_t bytes; /* whole length */
	bool legal;	/* as hit_legal() */
};

/* Whole length of the hit at `p`, legal or not: HIT_HEADER_BYTES and up to 126 more. */
static inline uint32_t hit_walk_bytes(const uint8_t *p)
{
	uint32_t shape = le32_get(p + HIT_SHAPE);

	return HIT_HEADER_BYTES + ((shape & HIT_SAMPLES) << (~shape >> 31));
}

/* Reads HIT_HEADER_BYTES. */
static inline struct hit_walk hit_walk_look(const uint8_t *p)
{
	uint64_t time = le64_get(p + HIT_TIME);
	struct hit_walk w = {
		.time = time,
		.born = (uint32_t)(time & HIT_WALK_BORN),
		.bytes = hit_walk_bytes(p),
	};

	w.legal = (le16_get(p + 2) == HIT_SYNC) & ((w.born & 0xffffu) <= HIT_T5NS_MAX) &
		  (w.born >> 16 <= HIT_FRAME_MAX) & (w.bytes <= HIT_MAX_BYTES);
	return w;
}

/* Seconds, Days and Years in their place in the time word. */
static inline uint64_t hit_walk_stamp_bits(const struct hit_stamp *stamp)
{
	return (uint64_t)(stamp->second & 0x1ffffu) << 29 |
	       (uint64_t)(stamp->day_bcd & 0x3ffu) << 46 | (uint64_t)stamp->year_bcd << 56;
}

static inline void hit_walk_stamp(uint8_t *p, uint64_t time, uint64_t stamp_bits)
{
	le64_put(p + HIT_TIME, (time & HIT_WALK_BORN) | stamp_bits);
}

#endif
