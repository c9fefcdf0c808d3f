/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The receiving end of a link on the board: word lock, where the grid falls, and what damages the
 * bytes on their way. It belongs to the board's cage, not to the fibre: when fibres are swapped the
 * receiver stays.
 *
 *   frame of the floor --damage--> cells on the board's grid (offset 0..9999) + truth records
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/emu/common/rng.h"
#include "driver/emu/common/truth.h"
#include "tdm/deframe.h"

#define RECEIVER_SLIPS 64u

struct receiver {
	struct rng rng;
	bool lit, locked;
	uint64_t lock_at;		/* step at which the words are found, when lit */
	uint32_t offset;		/* where a frame begins in its cell */
	unsigned confirm;		/* frames that a reader still spends on finding alignment */
	unsigned slip;			/* bits, of the lock held now */
	unsigned slips[RECEIVER_SLIPS]; /* of the next locks */
	unsigned slip_count;
	uint32_t code_errors; /* since the board has looked: a step sees those of the last cell */
	/* faults ordered */
	uint32_t crc, drop, insert;
	bool no_phase;
	/* a frame that straddles cells */
	uint8_t frames[2][TDM_FRAME_BYTES];
	unsigned current;
	struct truth_record pending;
	bool has_pending;
	/* Called for every record that is certain. */
	void (*emit)(void *context, const struct truth_record *truth);
	void *context;
};

void receiver_init(struct receiver *r, uint64_t seed, unsigned link,
		   void (*emit)(void *context, const struct truth_record *truth), void *context);
/* A step begins; `lit` says whether light comes in. */
void receiver_step(struct receiver *r, uint64_t step, bool lit);
/* The board resets or aligns the transceiver at `step`. */
void receiver_realign(struct receiver *r, uint64_t step, bool reset);
/* The next lock gained comes `bits` off; not when too many are queued. */
void receiver_slip(struct receiver *r, unsigned bits);

/* Where the floor shall build the frame that begins in this step: in the cell itself, or here. */
uint8_t *receiver_frame(struct receiver *r, uint8_t *cell);
/*
 * The frame is built: damage it as ordered, cut it to the cell, decide its fate. `truth->fate` comes
 * in as what the board does with the cell and goes out as what is to be expected. Calls emit() for
 * every record that is now certain: none or one, two when a straddling one was waiting.
 */
void receiver_cell(struct receiver *r, uint8_t *cell, struct truth_record *truth);
/* The record still waiting, at the end. */
void receiver_flush(struct receiver *r);
