/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks of a slice of 200 ms, of all floors, and their hits in order of time. It is the unit of a conversion: what is
 * written is written up to a complete slice.
 *
 *   slice_takes()? --yes--> slice_add() ...; --no--> slice_order(), use it, slice_empty()
 *
 * A block that comes late, after the first one of the next slice, is of the slice in which it comes. A slice has bounds:
 * one with more than SLICE_HITS hits, say, becomes two. Pure, but for memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/consumer/fcmdata.h"

#define SLICE_BLOCKS 4096u
#define SLICE_HITS   2000000u /* four floors at full load have 1.1 million */
#define SLICE_BYTES  ((size_t)96 << 20)

struct slice_block {
	struct fcm_block_header header;
	uint64_t gap_first, gap_frames, gap_lost;
	size_t payload_at;
};

struct slice {
	struct slice_block *blocks;
	size_t blocks_n;
	uint8_t *bytes; /* the payloads, one after the other */
	size_t bytes_n, bytes_room;
	struct fcm_hit_row *rows, *scratch; /* `block`: index in blocks */
	size_t rows_n, rows_room;
	const uint8_t **payloads; /* of the blocks; after slice_order() */
	uint64_t bad_blocks;	  /* since slice_init(): their hits could not be read */
};

int slice_init(struct slice *s); /* -ENOMEM */
void slice_fini(struct slice *s);

bool slice_takes(const struct slice *s, const struct fcm_block_header *h);
/* The block is copied. -ENOMEM. */
int slice_add(struct slice *s, const struct fcmdata_block *b);
void slice_order(struct slice *s);
/* Ready for the next one. */
void slice_empty(struct slice *s);

/* A block as the calls of fcmdata.h take it; after slice_order(). */
struct fcmdata_block slice_block(const struct slice *s, size_t i);
/* TAI - UTC in s by a block's label; 0: it has no time. */
int32_t slice_tai_utc_s(const struct fcm_block_header *h);
