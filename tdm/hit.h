/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hit: a TriDAS "data frame", one PMT pulse. Public layout (github manzali/bdx), kept to the bit.
 *
 * 16 bytes of header and the samples. Bits from the least significant of each little-endian word:
 *   bytes 0-3    PMTID 4, EFCMID 5, TowerID 7, sync 16 = 0x55AA
 *   bytes 4-11   T5ns 16, FrameCounter 13, Seconds 17, Days 10 (BCD), Years 8 (BCD)
 *   bytes 12-15  NDataSamples 6, unused 1, FifoFull 1, Charge 22, FragFlag 1, ZipFlag 1
 * A sample is one byte with ZipFlag, two without. The floor fills everything except Seconds, Days and
 * Years, which the shore fills by hit_stamp() (who fills what: ours). The time fields together are the
 * floor's label, which lags true time by the one-way delay of the cable: no stamp has that delay in it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tdm/le.h"

#define HIT_HEADER_BYTES 16u
#define HIT_MAX_BYTES	 88u /* 44 16-bit words */
#define HIT_SYNC	 0x55AAu
#define HIT_T5NS_MAX	 24999u
#define HIT_FRAME_MAX	 7999u
#define HIT_SECOND_MAX	 86399u

struct hit {
	uint8_t pmt;	  /* 0..15 */
	uint8_t efcm;	  /* 0..31: the floor */
	uint8_t tower;	  /* 0..127 */
	uint16_t t5ns;	  /* 0..24999, units of 5 ns inside the frame */
	uint16_t frame;	  /* 0..7999 */
	uint32_t second;  /* 0..86399 */
	uint16_t day_bcd; /* 0x000..0x366 */
	uint8_t year_bcd; /* 0x00..0x99 */
	uint8_t samples;  /* 0..63 */
	bool fifo_full;
	uint32_t charge; /* 22 bits */
	bool fragment;	 /* goes on with the pulse of the hit before it */
	bool zip;	 /* samples are one byte */
};

/* Header to and from bytes, exactly; no field is checked. */
void hit_pack(const struct hit *h, uint8_t bytes[HIT_HEADER_BYTES]);
void hit_unpack(const uint8_t bytes[HIT_HEADER_BYTES], struct hit *ret_h);

/* A second of UTC as it is written into hits. */
struct hit_stamp {
	uint32_t second;  /* 0..86399 */
	uint16_t day_bcd; /* see enum hit_day_origin */
	uint8_t year_bcd;
};
/* The public TriDAS code counts 1 January as day 0, IRIG-B as day 1. */
enum hit_day_origin { HIT_DAY_FROM_0 = 0, HIT_DAY_FROM_1 = 1 };

/* Stamp of a UTC second given as seconds since 1970 (POSIX). */
void hit_stamp_of(int64_t utc_s, enum hit_day_origin origin, struct hit_stamp *ret_stamp);

/*
 * In which second was a hit born that travels in frame `carrier` (0..7999) of second S?
 * Its FrameCounter `born` is at or before the carrier: born <= carrier -> S, else S - 1.
 * Returns 0 or -1. A caller with a FIFO bound checks hit_age_frames() against it.
 */
int hit_second_offset(unsigned born, unsigned carrier);
/* How many frames before the carrier: 0..7999. */
unsigned hit_age_frames(unsigned born, unsigned carrier);

/*
 * What a walk through a stream of hits needs: one pass over the header finds whether it is legal,
 * its length and its time.
 *
 * The time word of a hit (bytes 4..11) is one little-endian 64-bit number: T5ns in bits 0..15,
 * FrameCounter 16..28, and from bit 29 on what the shore fills. That split makes stamping one mask
 * and one or.
 */
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

/* Whole length of the hit whose header is at `p`, legal or not: the header and up to 126 more. */
static inline uint32_t hit_bytes(const uint8_t *p)
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
		.bytes = hit_bytes(p),
	};

	w.legal = (le16_get(p + 2) == HIT_SYNC) & ((w.born & 0xffffu) <= HIT_T5NS_MAX) &
		  (w.born >> 16 <= HIT_FRAME_MAX) & (w.bytes <= HIT_MAX_BYTES);
	return w;
}

/* Whether a hit header is legal where the FCM sends it: sync word, T5ns and FrameCounter in range,
 * length at most 88. The time of day is not looked at. */
static inline bool hit_legal(const uint8_t *bytes)
{
	return hit_walk_look(bytes).legal;
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
