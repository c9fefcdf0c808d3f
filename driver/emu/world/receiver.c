/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The receiving end of a link: see receiver.h. */
#include "driver/emu/world/receiver.h"

#include <string.h>

#include "tdm/frame.h"

#define RELOCK_ALIGN_STEPS 16u /* 2 ms */
#define RELOCK_RESET_STEPS 80u /* 10 ms */
#define CONFIRM_FRAMES	   3u  /* a reader needs so many to trust an alignment (tdm/deframe.h) */
#define INSERTED	   0x00

void receiver_init(struct receiver *r, uint64_t seed, unsigned link,
		   void (*emit)(void *context, const struct truth_record *truth), void *context)
{
	memset(r, 0, sizeof(*r));
	r->emit = emit;
	r->context = context;
	rng_seed(&r->rng, seed, RNG_FAULTS, 0x10000 + link, 0);
}

static void gain_lock(struct receiver *r)
{
	r->locked = true;
	r->offset = 0;
	r->insert = 0;
	r->slip = 0;
	if (r->slip_count > 0) {
		r->slip = r->slips[0];
		r->slip_count--;
		memmove(r->slips, r->slips + 1, r->slip_count * sizeof(r->slips[0]));
	}
}

void receiver_step(struct receiver *r, uint64_t step, bool lit)
{
	if (lit && !r->lit) {
		r->lock_at = step + RELOCK_RESET_STEPS;
	}
	if (!lit && r->lit) { /* the last thing that a dying link shows */
		r->code_errors += 1 + rng_below(&r->rng, 1000);
	}
	r->lit = lit;
	if (!lit) {
		r->locked = false;
	} else if (!r->locked && step >= r->lock_at) {
		gain_lock(r);
	}
}

void receiver_realign(struct receiver *r, uint64_t step, bool reset)
{
	r->locked = false;
	r->lock_at = step + (reset ? RELOCK_RESET_STEPS : RELOCK_ALIGN_STEPS);
}

void receiver_slip(struct receiver *r, unsigned bits)
{
	if (r->slip_count < RECEIVER_SLIPS) {
		r->slips[r->slip_count++] = bits;
	}
}

uint8_t *receiver_frame(struct receiver *r, uint8_t *cell)
{
	if (r->offset == 0 && r->insert == 0) {
		return cell;
	}
	return r->frames[r->current];
}

/* A few bits over behind the sync word: found by the CRC, not by the search for frames. */
static void damage(struct receiver *r, uint8_t *frame)
{
	const uint32_t at =
		TDM_HEADER_BYTES + rng_below(&r->rng, TDM_OFF_CRC - TDM_HEADER_BYTES - 4);

	frame[at] ^= (uint8_t)(1 + rng_below(&r->rng, 255));
	frame[at + 3] ^= 0x40;
	r->code_errors += 2;
}

/* Bytes come in between: from here on, frames begin later in their cells. Returns how many. The one
 * before, ending in this cell, stays whole. */
static uint32_t insert(struct receiver *r)
{
	const uint32_t room = TDM_FRAME_BYTES - 1 - r->offset;
	const uint32_t n = r->insert < room ? r->insert : room;

	r->insert = 0;
	if (n == 0) {
		return 0;
	}
	r->offset += n;
	r->code_errors += 1;
	r->confirm = CONFIRM_FRAMES;
	return n;
}

static void cut(struct receiver *r, uint8_t *cell, uint32_t inserted)
{
	const uint8_t *frame = r->frames[r->current];
	const uint8_t *before = r->frames[r->current ^ 1u];
	const uint32_t tail = r->offset - inserted;

	memcpy(cell, before + TDM_FRAME_BYTES - tail, tail);
	memset(cell + tail, INSERTED, inserted);
	memcpy(cell + r->offset, frame, TDM_FRAME_BYTES - r->offset);
	r->current ^= 1u;
}

static void decide(struct receiver *r, struct truth_record *t)
{
	if (t->fate == TDM_LOSS_LINK_DOWN) {
		r->confirm = CONFIRM_FRAMES;
	}
	if (t->fate != TDM_GOOD) {
		return;
	}
	if (r->confirm > 0) {
		r->confirm--;
		t->fate = TDM_LOSS_ALIGNMENT;
	} else if (t->flags & TRUTH_CORRUPTED) {
		t->fate = TDM_LOSS_CRC;
	} else if (t->flags & TRUTH_TIME) {
		t->fate = TDM_LOSS_TIME;
	}
}

void receiver_cell(struct receiver *r, uint8_t *cell, struct truth_record *truth)
{
	uint8_t *frame = receiver_frame(r, cell);
	const bool handed_over = truth->fate == TDM_GOOD;
	uint32_t inserted = 0;

	if (r->has_pending && !handed_over && r->pending.fate == TDM_GOOD) {
		r->pending.fate = truth->fate; /* the cell with its end is lost */
	}
	receiver_flush(r);
	if (handed_over && r->crc > 0) {
		r->crc--;
		damage(r, frame);
		truth->flags |= TRUTH_CORRUPTED;
	}
	if (handed_over && r->insert > 0) {
		inserted = insert(r);
		truth->flags |= inserted > 0 ? TRUTH_UNALIGNED : 0;
	}
	decide(r, truth);
	if (frame == cell) {
		r->emit(r->context, truth);
		return;
	}
	cut(r, cell, inserted);
	r->pending = *truth;
	r->has_pending = true;
}

void receiver_flush(struct receiver *r)
{
	if (r->has_pending) {
		r->has_pending = false;
		r->emit(r->context, &r->pending);
	}
}
