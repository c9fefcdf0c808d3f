/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The deframer: from the board's cells to the floor's frames. Alignment, checks, order.
 *
 * The board cuts a link's bytes on its own grid of 10 000: a *cell* per board count. While aligned,
 * cell and frame coincide; after a byte slip a frame begins at an offset inside its cell and ends
 * in the next. The deframer finds the frames again and gives **every cell exactly one verdict**, in
 * order. The ledger counts these verdicts. A frame belongs to the cell in which it begins.
 *
 *   cells in --> [hunt -> confirm x3 -> locked] --> one struct tdm_verdict a cell --> emit()
 *
 * Hunt: search the sync word, accept an offset whose next frames confirm it (3 in a row, header CRC
 * correct, at least one of them correct as a whole: a copy of a header inside data never locks).
 * Cells passed meanwhile are ALIGNMENT losses, including those of the confirming frames. Locked: a
 * frame without sync is a loss (ALIGNMENT) of one cell; 3 in a row end the lock, and the hunt
 * begins with the first of them (they are kept), so that a byte slip costs three or four cells. Bad
 * CRC: loss CRC; this never ends the lock, unless 16 in a row contain another sound header.
 *
 * A floor's frames carry a number, 0..7999 (time.frame), which must advance by the cells passed since
 * the last good frame. Out of step: loss TIME until 3 sound frames in a row agree on a new step; the
 * third is good and has `step` set. Confirming frames count towards the 3, so that the first frame
 * after a lock is good at once. TIME losses are also: a number above 7999, a frame that came down from
 * a board (optical loop-back: the number is not a floor's), and a number that lies before count 0.
 * A sequence that advances by another number than the cells passed is counted and loses nothing.
 * Labels (second, day, year) and the floor's identity are not checked here: the clock and the
 * operator do that.
 *
 * A gap (from the board) keeps the lock: it is a whole number of cells, so frames continue at the same
 * offset. LINK_DOWN ends the lock.
 *
 * The same cells and gaps give the same verdicts, however the pushes cut them.
 *
 * No allocation after init, no I/O. Frames that straddle two pushes are copied to the deframer's
 * carry store and stay valid for `keep` further frames; all others point into the caller's bytes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tdm/frame.h"

/* The verdict on a cell. The order is that of the ledger's columns; names in tdm_loss_name(). */
enum tdm_loss {
	TDM_GOOD = 0,
	TDM_LOSS_LINK_DOWN = 1,	 /* no light, no lock: reported by the board */
	TDM_LOSS_BOARD_FIFO = 2, /* the board's own FIFO overflowed */
	TDM_LOSS_RING_FULL = 3,	 /* buffers were not released in time */
	TDM_LOSS_CRC = 4,
	TDM_LOSS_ALIGNMENT = 5,
	TDM_LOSS_TIME = 6, /* time fault: the frame's own number cannot be trusted */
	TDM_LOSSES = 7,
};
/* "good", "link-down", "board-fifo", "ring-full", "crc", "alignment", "time-fault". */
const char *tdm_loss_name(enum tdm_loss loss);

struct tdm_verdict {
	uint64_t count;	      /* the board's count of the cell */
	enum tdm_loss loss;   /* TDM_GOOD, or why there is no frame */
	const uint8_t *frame; /* the frame's 10 000 bytes, when good */
	/* The floor's own frame on the board's count line: the largest number n <= count with
	 * n % 8000 == header.time.frame. Only when good. */
	uint64_t floor_frame;
	struct tdm_header header; /* when has_header: good, TIME, or CRC with a sound header */
	bool has_header;
	bool carried;	 /* frame is in the carry store */
	uint16_t offset; /* of the frame in its cell; only when good */
	bool step;	 /* first good frame after the floor's numbering moved */
};

typedef void (*tdm_emit_fn)(void *context, const struct tdm_verdict *verdict);

enum tdm_align_state { TDM_HUNT, TDM_CONFIRM, TDM_LOCKED };

struct tdm_deframe_stats {
	enum tdm_align_state state;
	uint32_t offset;	    /* of the frame in its cell, 0..9999 */
	uint64_t cells[TDM_LOSSES]; /* by verdict */
	uint64_t locks, unlocks;    /* times alignment was gained and lost */
	uint64_t header_errors;	    /* of the CRC losses, those with an unsound header too */
	uint64_t sequence_gaps;	    /* the floor's sequence moved by other than the cells passed */
	uint64_t steps;		    /* accepted moves of the floor's numbering */
	uint64_t hunted_bytes; /* bytes passed without alignment, those of confirming frames too */
	uint8_t tower, floor;  /* of the last good frame; 0xff before the first */
};

struct tdm_deframe; /* opaque; one per link */

/* `keep`: how many frames a carried frame must outlive (a block and a reserve), sizes the carry
 * store. NULL when out of memory. */
struct tdm_deframe *tdm_deframe_create(unsigned keep);
void tdm_deframe_destroy(struct tdm_deframe *d);

/* Forget alignment, numbering and carry; counters stay. For a new DMA epoch. */
void tdm_deframe_reset(struct tdm_deframe *d);

/* The last good frame of a link: after a restart the next daemon continues behind it without
 * hunting. All but `count` (its cell's) as in the frame's verdict. */
struct tdm_deframe_mark {
	uint64_t count;
	uint32_t sequence; /* header.sequence */
	uint16_t number;   /* header.time.frame */
	uint16_t offset;
};
/* Reset, and be locked as if `mark` had been the last good frame. The next push or gap may begin at any
 * later count; if the mark is no longer true, the rules above detect it. -EINVAL: not a mark. */
int tdm_deframe_resume(struct tdm_deframe *d, const struct tdm_deframe_mark *mark);

/* `cells` whole cells of 10 000 bytes at `bytes`, the first with board count `count`. Verdicts come
 * through emit, possibly fewer or more than `cells` of them: the verdict on a straddling frame comes
 * with the push that completes it. `bytes` must stay valid until the frames made from them are.
 * Pushes and gaps follow each other without a hole in the count; in a hole the cells get no verdict
 * and the alignment is kept. emit() must not push. Counts stay below 2^50 (4000 years); cells
 * beyond are ALIGNMENT losses. */
void tdm_deframe_push(struct tdm_deframe *d, const uint8_t *bytes, uint32_t cells, uint64_t count,
		      tdm_emit_fn emit, void *context);
/* The board lost `cells` cells from `count` on, for `loss` (LINK_DOWN, BOARD_FIFO, RING_FULL). A
 * straddling frame that the gap cuts is charged to the gap's loss. LINK_DOWN also ends the
 * alignment, even with cells == 0. */
void tdm_deframe_gap(struct tdm_deframe *d, uint64_t cells, uint64_t count, enum tdm_loss loss,
		     tdm_emit_fn emit, void *context);

void tdm_deframe_stats(const struct tdm_deframe *d, struct tdm_deframe_stats *ret_stats);
