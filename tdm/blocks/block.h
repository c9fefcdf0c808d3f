/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Building a block: the data message of one floor and one stream (schemas/fcm_data.h), out of frames where they lie.
 * Pure: no clock, no state, no log; the same plan makes the same bytes, padding included. The daemon builds blocks of
 * what a board delivers, readers of recordings build the same blocks of what was recorded.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "schemas/fcm_data.h"
#include "tdm/frame.h"
#include "tdm/hit.h"
#include "tdm/blocks/label.h"

/* One carrying frame of a block to be. */
struct block_frame {
	const uint8_t *frame; /* NULL: lost */
	uint8_t loss;	      /* enum tdm_loss */
	uint8_t header_flags;
};

/* The input of a block. Pure: the same input gives the same bytes. */
struct block_plan {
	enum fcm_stream stream;
	uint8_t board, link, tower, floor;
	uint32_t run, dma_epoch, flags;
	uint64_t first_frame;	      /* floor's frames on the board's count line */
	uint32_t frames;	      /* 1..1600 */
	uint32_t block_frames;	      /* block length, for the sequence */
	const struct block_frame *in; /* frames of them */
	/* The frame behind the last, with the tails of crossing hits; NULL: unknown, they are faults. */
	const uint8_t *after;
	struct label label;
	enum hit_day_origin day_origin;
	uint32_t cable_delay_ns; /* added to the header's times; 0 = none */
};
/* Upper bound of the payload of such a block. */
size_t block_capacity(const struct block_plan *plan);
/* Fill header and payload; `payload`: block_capacity() bytes, at a multiple of 8. */
void block_build(const struct block_plan *plan, struct fcm_block_header *header, uint8_t *payload);

/* The slice that a label puts a frame in: UTC ms since 2000-01-01 00:00 / 200, leap seconds ignored. 0:
 * the label has no time. */
uint64_t slice_of_frame(const struct label *label, uint64_t frame);
