/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fibre to try the deframer on: frames are laid into one stream of bytes, damaged there, and fed to
 * a deframer in cells. Every verdict is checked as it comes and kept.
 *
 * What the rig itself asserts, at every verdict: counts rise by one; a good frame is byte for byte
 * the one that was laid at that place; carried frames stay as they were for RIG_KEEP further frames;
 * floor_frame keeps its promise.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tdm/deframe.h"

#define RIG_FRAMES  600u /* that one rig can lay */
#define RIG_KEEP    8u
#define RIG_LAG	    7u /* cells between a floor's frame and its arrival */
#define RIG_NOWHERE SIZE_MAX
#define RIG_DAMAGED 1u /* changed after it was laid */
#define RIG_LOST    2u /* in a gap */

struct rig_verdict {
	uint64_t count, floor_frame;
	enum tdm_loss loss;
	uint32_t sequence; /* when has_header */
	uint16_t offset;
	bool has_header, step;
};

struct rig {
	struct tdm_deframe *d;
	uint64_t first; /* count of the stream's first cell */
	uint64_t random;

	uint8_t *stream;
	size_t bytes;	 /* laid */
	size_t fed;	 /* pushed or lost: whole cells */
	uint8_t *broken; /* per byte of the stream: RIG_DAMAGED, RIG_LOST or 0 */

	/* How the next frame is laid. */
	uint32_t laid; /* frames so far; also the sequence, unless moved */
	uint32_t sequence_base;
	uint32_t number_base;
	uint8_t flags, floor;
	unsigned copy_header_at;  /* 0: nowhere. Else a copy of the header stands there too */
	uint8_t *frames;	  /* as they were laid */
	size_t place[RIG_FRAMES]; /* in the stream; RIG_NOWHERE when cut */
	uint64_t good_count[RIG_FRAMES]; /* of the cell it was delivered for; 0: was not */

	struct rig_verdict log[4 * RIG_FRAMES];
	unsigned verdicts;
	uint64_t next;
	struct {
		const uint8_t *frame;
		uint32_t index;
	} kept[RIG_KEEP]; /* the last good frames */
	unsigned goods;
	uint8_t *pushes[4 * RIG_FRAMES]; /* the caller's bytes, freed at the end */
	unsigned pushed;
};

struct rig *rig_create(uint64_t first, uint64_t seed);
void rig_destroy(struct rig *r);
uint64_t rig_random(struct rig *r, uint64_t below);

void rig_lay(struct rig *r, unsigned frames);
/* A frame whose number is `number` instead of its own. */
void rig_lay_numbered(struct rig *r, uint16_t number);
void rig_lay_bytes(struct rig *r, const uint8_t *bytes, size_t length); /* NULL: random ones */
void rig_cut(struct rig *r, size_t bytes);				/* the last ones laid */
void rig_damage(struct rig *r, uint32_t frame, unsigned offset);

/* Push up to `cells` of the whole cells laid, `each` at a time (0: at random). */
void rig_feed(struct rig *r, unsigned cells, unsigned each);
#define RIG_ALL 0xffffffffu
/* The board loses the next `cells` cells laid. */
void rig_gap(struct rig *r, unsigned cells, enum tdm_loss loss);

/* A letter a verdict: G good, S good and step, C CRC, A alignment, T time, D down, F fifo, R ring. */
void rig_assert_verdicts(const struct rig *r, const char *letters);
