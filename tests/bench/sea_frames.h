/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames as floors send them, laid out as the board lays them into a link's ring: for benchmarks that
 * want real hits without a board. The floors are the emulator's own (driver/emu/floor/floor.h).
 *
 *   link 0: [16 frames, page-aligned stride] [16 frames] ...   link 1: ...
 *
 * Frame 0 of a set is frame 0 of a second; the FIFOs have run for a while before it. Every frame is
 * sealed, numbered in step, and its time word agrees with the label.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tdm/blocks/label.h"
#include "tdm/frame.h"

#define SEA_LINKS	  4u
#define SEA_BUFFER_FRAMES 16u
#define SEA_STRIDE	  163840u /* 16 frames, to the next page */
#define SEA_DELAY	  7u	  /* counts between a floor's frame and its arrival */

struct sea_frames {
	uint8_t *bytes;
	size_t mapped;
	unsigned frames; /* a link; a multiple of SEA_BUFFER_FRAMES, at most 8000 */
	uint64_t count;	 /* the board's count of the first cell of every link */
	struct label label;
	double fill_mbps; /* of a floor: bytes in use, headers and samples among them */
	double hit_khz;	  /* of a module */
};

/* `mbps`: wanted fill of a floor, 0: every slot full. Negative errno; free with sea_frames_fini(). */
int sea_frames_init(struct sea_frames *s, unsigned frames, double mbps, uint64_t seed);
void sea_frames_fini(struct sea_frames *s);

/* A buffer of SEA_BUFFER_FRAMES frames. */
static inline const uint8_t *sea_buffer(const struct sea_frames *s, unsigned link, unsigned buffer)
{
	size_t buffers = s->frames / SEA_BUFFER_FRAMES;

	return s->bytes + (link * buffers + buffer) * SEA_STRIDE;
}
