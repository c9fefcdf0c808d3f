/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hits as rows and columns, for programs that compute with them: the daemon's blocks keep hits as the floor sent them,
 * of any length and packed by the bit. What the papers call decompression and reformatting.
 *
 *   block --hit_rows()--> rows (32 bytes a hit) --hit_rows_order()--> in time order, floors merged
 *                           |--hit_rows_split()--> columns           '--hit_rows_waveforms()--> samples of 16 bits
 *
 * Pure: memory is the caller's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "schemas/fcm_data.h"
#include "schemas/fcm_hits.h"
#include "tdm/frame.h"

#define HIT_ROWS_ALL (-1)

/* TAI of a hit that was born at `frame`, `t5ns` and travelled in carrying frame `carrier` of a block: the carrier's time,
 * less what the hit is older, plus its place in its frame. FCM_NO_TAI without a label. */
static inline int64_t hit_tai_ns(const struct fcm_block_header *h, uint32_t carrier, unsigned frame,
				 unsigned t5ns)
{
	unsigned of_second = (unsigned)((h->first_frame + carrier) % TDM_FRAMES_PER_SECOND);
	unsigned age =
		of_second >= frame ? of_second - frame : of_second + TDM_FRAMES_PER_SECOND - frame;

	if (h->flags & FCM_BLOCK_NO_TIME || h->tai_ns == FCM_NO_TAI) {
		return FCM_NO_TAI;
	}
	/* A header's time may be any number: wrap, do not overflow. */
	return (int64_t)((uint64_t)h->tai_ns +
			 (uint64_t)(((int64_t)carrier - age) * TDM_FRAME_NS + (int64_t)t5ns * 5));
}

/*
 * The hits of a checked block (fcmdata_check(), or built here), module by module in the order sent; of one module, or
 * HIT_ROWS_ALL. `room`: rows that there is place for, header->items is always enough. How many, or -EINVAL: not a block of
 * hits, no such module; -EBADMSG: a hit that is none; -ENOSPC.
 */
int64_t hit_rows(const struct fcm_block_header *header, const uint8_t *payload, int module,
		 uint32_t block, struct fcm_hit_row *rows, size_t room);

/* Sort by time, hits of the same ns in the order given. `scratch`: as many rows. */
void hit_rows_order(struct fcm_hit_row *rows, struct fcm_hit_row *scratch, size_t n);

/* Each field to the columns. */
void hit_rows_split(const struct fcm_hit_row *rows, size_t n, const struct fcm_hit_columns *to);

/* All samples of the rows: how many values. */
size_t hit_rows_samples(const struct fcm_hit_row *rows, size_t n);
/* The samples of rows of one block or of several, as 16-bit values, those with FCM_HIT_ZIP expanded. `payloads`: by
 * their `block`. Row i has values[offsets[i]] up to values[offsets[i + 1]]; `offsets`: n + 1. */
void hit_rows_waveforms(const struct fcm_hit_row *rows, size_t n, const uint8_t *const payloads[],
			uint16_t *values, uint64_t *offsets);
