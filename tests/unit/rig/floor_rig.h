/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A floor of a few lines for tests of the data path: sealed frames full of hits that prove themselves.
 * A hit's samples say which hit of its module it is and in which frame it starts, the rest is a
 * function of that; so whoever holds a payload can tell lost, doubled, misplaced and damaged hits.
 * Slots are kept short, so that many hits cross into the next frame.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tdm/frame.h"

#define FLOOR_RIG_FIFO	4096u
#define FLOOR_RIG_REPLY 1111u /* every so many frames one has a reply */

struct floor_rig {
	uint8_t tower, floor;
	uint8_t crc_errors; /* of its downlink, as its frames tell */
	uint32_t sequence;
	int64_t utc_s;	     /* of frame 0's second; its time word */
	unsigned slot_limit; /* bytes of a module's slot at most */
	unsigned hits;	     /* a frame and module on average */
	unsigned age_max;    /* frames between birth and travel at most */
	uint64_t random;
	struct {
		uint8_t fifo[FLOOR_RIG_FIFO];
		size_t used;
		size_t rest; /* bytes at its front that belong to a hit begun in an earlier frame */
		uint64_t counter;
	} module[TDM_MODULES];
};

void floor_rig_init(struct floor_rig *r, uint8_t tower, uint8_t floor);
/* The next frame: number `n` on the count line. */
void floor_rig_frame(struct floor_rig *r, uint64_t n, uint8_t *frame);

/* A hit proves itself: 0, or a line number that says which check failed. Seconds, Days and Years are
 * not looked at. */
int floor_rig_hit_bad(const uint8_t *hit, uint8_t tower, uint8_t floor, unsigned module);
uint64_t floor_rig_hit_counter(const uint8_t *hit);
uint64_t floor_rig_hit_start(const uint8_t *hit); /* frame it starts in */
/* Sample i of a hydrophone in frame n. */
int32_t floor_rig_sample(uint8_t floor, unsigned hydrophone, uint64_t n, unsigned i);
