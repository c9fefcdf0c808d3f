/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hit: a TriDAS "data frame", one PMT pulse. Public layout (github manzali/bdx), kept to the bit.
 *
 * 16 bytes of header and the samples. Bits from the least significant of each little-endian word:
 *   bytes 0-3    PMTID 4, EFCMID 5, TowerID 7, sync 16 = 0x55AA
 *   bytes 4-11   T5ns 16, FrameCounter 13, Seconds 17, Days 10 (BCD), Years 8 (BCD)
 *   bytes 12-15  NDataSamples 6, unused 1, FifoFull 1, Charge 22, FragFlag 1, ZipFlag 1
 * A sample is one byte with ZipFlag, two without. The FCM fills T5ns and FrameCounter; the shore
 * fills Seconds, Days and Years (hit_stamp), nothing else. All of them together are the floor's label,
 * which lags true time by the one-way delay of the cable: no stamp has that delay in it.
 */
#ifndef TDM_HIT_H
#define TDM_HIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	bool fragment;	 /* the pulse continues in the next hit */
	bool zip;	 /* samples are one byte */
};

/* Header to and from bytes, exactly; no field is checked. */
void hit_pack(const struct hit *h, uint8_t bytes[HIT_HEADER_BYTES]);
void hit_unpack(const uint8_t bytes[HIT_HEADER_BYTES], struct hit *ret_h);

/* Whole length of the hit whose header is at `bytes`: header and samples. */
size_t hit_bytes(const uint8_t *bytes);

/* Whether a hit header is legal where the FCM sends it: sync word, T5ns and FrameCounter in range,
 * length at most 88. The time of day is not looked at. */
bool hit_legal(const uint8_t *bytes);

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

#endif
