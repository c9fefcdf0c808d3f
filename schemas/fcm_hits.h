/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hits as rows and as columns, for programs that compute with them. OURS. A data message (fcm_data.h) has hits as the
 * floor sent them, of any length and packed by the bit; libfcmdata makes rows of them, and so does fcm_data.py, which has
 * the numpy dtype. Rows are memory of one machine, not a file's format.
 */
#ifndef FCM_HITS_H
#define FCM_HITS_H

#include <assert.h>
#include <stdint.h>

#define FCM_HIT_ZIP	  0x1u /* its samples are one byte each in the payload */
#define FCM_HIT_FRAGMENT  0x2u /* goes on with the pulse of this module's hit before it */
#define FCM_HIT_FIFO_FULL 0x4u /* hits of this module were lost in the FCM's FIFO */

struct fcm_hit_row {
	int64_t tai_ns;	 /* TAI since 1970, true time as the block's header has it; FCM_NO_TAI */
	uint32_t charge; /* 22 bits, as the FCM computed it */
	uint32_t
		samples_at; /* offset of its samples in the block's payload; its header is the 16 bytes before */
	uint32_t block; /* the caller's number of the block */
	uint16_t frame; /* 0..7999: frame of the second in which it was born */
	uint16_t t5ns;	/* 0..24999: units of 5 ns in it */
	uint8_t tower, floor;
	uint8_t module;	 /* 0..5: the channel in which it came */
	uint8_t pmt;	 /* 0..15: as the hit itself says */
	uint8_t samples; /* 0..63 */
	uint8_t flags;
	uint8_t reserved[2]; /* 0 */
};
static_assert(sizeof(struct fcm_hit_row) == 32, "hit row");

/* Where each field of rows goes; NULL: nowhere. */
struct fcm_hit_columns {
	int64_t *tai_ns;
	uint32_t *charge, *samples_at, *block;
	uint16_t *frame, *t5ns;
	uint8_t *tower, *floor, *module, *pmt, *samples, *flags;
};

#endif
