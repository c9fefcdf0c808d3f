/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of the tables that a conversion makes, as they lie in a file: little-endian, without padding. tables.h says
 * what each field is. Times are TAI since 1970 in ns, FCM_NO_TAI where the data had no time.
 */
#pragma once

#include <stdint.h>

#define OUT_PACKED __attribute__((packed))

/* Reasons why frames are missing: those of a block's status, and that no block came at all. */
enum out_reason {
	OUT_LINK_DOWN = 1,
	OUT_BOARD_FIFO = 2,
	OUT_RING_FULL = 3,
	OUT_CRC = 4,
	OUT_ALIGNMENT = 5,
	OUT_TIME_FAULT = 6,
	OUT_NO_BLOCK = 7,
	OUT_REASONS = 8,
};

struct OUT_PACKED out_hit {
	int64_t tai_ns;
	uint64_t waveform_at;
	uint32_t charge, block;
	uint16_t frame, t5ns;
	uint8_t tower, floor, module, pmt, samples, flags;
};

struct OUT_PACKED out_block {
	int64_t tai_ns, first_item_tai_ns, last_item_tai_ns;
	uint64_t first_frame, sequence, slice_id;
	uint64_t gap_first, gap_frames, gap_lost;
	uint32_t group_id, flags, run, dma_epoch, time_epoch, uncertainty_ns;
	uint32_t frames, frames_lost, frames_bad, cable_delay_ns;
	uint32_t items, item_faults, payload_bytes, payload_crc, header_crc;
	int32_t tai_utc_s;
	uint8_t stream, board, link, channels, tower, floor, label_source, clock_state;
};

struct OUT_PACKED out_group {
	uint32_t group_id, run, dma_epoch;
	int64_t tai_ns;
	uint64_t slice_id, first_frame;
	uint64_t first_block, first_hit;
	uint32_t blocks, hits;
};

struct OUT_PACKED out_index {
	uint64_t index, n_items;
};

struct OUT_PACKED out_missing {
	int64_t tai_ns;
	uint64_t first_frame, frames;
	uint32_t run, dma_epoch;
	uint8_t stream, link, tower, floor, code, edge;
	char reason[14];
};

struct OUT_PACKED out_piece {
	int64_t tai_ns;
	uint64_t at, samples, first_frame;
	uint32_t dma_epoch;
	uint8_t link, tower, floor, hydrophone;
};

struct OUT_PACKED out_telemetry {
	int64_t tai_ns;
	uint64_t frame;
	uint32_t block;
	uint8_t link, tower, floor;
	uint8_t bytes[64];
};

struct OUT_PACKED out_serial {
	int64_t tai_ns;
	uint64_t frame, at;
	uint16_t sequence;
	uint8_t link, tower, floor, channel, length;
};
