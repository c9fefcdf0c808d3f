/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The assembler of one link: from verdicts on the board's cells to plans of blocks on the floor's own
 * grid of frames. Pure: no threads, no I/O, no clock but the board's count, no allocation after
 * create. capture/link.c feeds it with what tdm/deframe.h emits and makes blocks of what comes out.
 *
 *   verdict (count, frame or loss) --> slot of its floor frame --> [window] --> spans, in order
 *
 *        base                      base + B                                        top
 *   ------+--------------------------+----------------------------------------------+-------> floor
 *    gone |  block being filled      | frames after: they close it                  |         frames
 *
 * A *span* is settled as a whole: the frames of one block (made three times, one block per stream), or of
 * a GAP (a slice without a good frame), or none at all (cells accounted for before a hole in the
 * count). Spans follow each other without a hole in the *count* too: every cell belongs to exactly one,
 * so their sums are the ledger's.
 *
 * The last good frame says where a lost cell belongs: delay = count - floor frame. While the
 * link is not aligned that is an estimate, which a good frame corrects.
 *
 * A block is closed when a frame after it has been seen or is certainly lost (the first one behind
 * has the tails of crossing hits), or ASSEMBLE_LATE counts after its end was due, by the delay of
 * its good frames. So no block is held for longer, however the floor's numbers jump. A block at the
 * start of a slice with only lost frames waits: either a good frame comes and it goes out as a
 * partial block, or the slice ends and is one GAP. A good frame that comes too late, or twice, is a
 * time fault: the assembler decides the final verdict of a cell.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tdm/blocks/block.h"
#include "tdm/deframe.h"

#define ASSEMBLE_SLICE	 FCM_SLICE_FRAMES
#define ASSEMBLE_LATE	 160u /* counts: 20 ms */
#define ASSEMBLE_SECONDS 3u   /* seconds that the cells of a span may touch */

struct assemble_config {
	uint32_t block_frames; /* divisor of 1600 */
	uint32_t gap_frames;   /* multiple of it and divisor of 1600: 1600, less where the ring is
				* too short to wait for a whole slice */
	uint8_t tower, floor;  /* as configured: until a frame says otherwise */
};

/* A link's position after a span: all that a restarted daemon needs to continue in the same
 * way. */
struct assemble_point {
	uint64_t count; /* cells below are accounted for */
	uint64_t frame; /* floor frames below are in spans */
	uint32_t delay; /* count - floor frame */
	uint8_t delay_known, tower, floor;
	uint8_t slice_good; /* a good frame of the slice that `frame` lies in is in a span */
	uint8_t marked;	    /* `mark` is the last good frame before `count`, alignment kept since */
	uint8_t reserved[3];
	struct tdm_deframe_mark mark;
};

struct assembled {
	uint64_t first_frame;
	uint32_t frames; /* 0: account only */
	uint8_t tower, floor;
	bool gap, step;
	bool split; /* one of several blocks of the same frames: the floor changed in here */
	bool hole;  /* the count jumps behind it, or ends */
	const struct block_frame *in;
	const uint8_t *after;		 /* as in struct block_plan */
	uint64_t first_count, end_count; /* its cells */
	uint64_t last_good_count;	 /* 0: none is good */
	/* The cells by second and verdict. */
	uint64_t first_second;
	uint16_t verdicts[ASSEMBLE_SECONDS][TDM_LOSSES];
	/* The cells at its end that were lost for one reason: how many, and why. */
	uint8_t tail_loss;
	uint32_t tail_cells;
	struct assemble_point behind;
};

struct assembler;

/* NULL when out of memory. */
struct assembler *assemble_create(const struct assemble_config *config);
void assemble_destroy(struct assembler *a);

/* Before the first cell: continue behind the previous daemon's point, with the block length in use
 * there. Cells below point->count must not be pushed. */
void assemble_resume(struct assembler *a, const struct assemble_point *point);
/* Blocks and gaps from frame `from` on have these lengths. `from` is the first frame of a slice, at
 * the border or later; spans have reached the frame of the previous change. */
void assemble_change(struct assembler *a, uint64_t from, uint32_t block_frames,
		     uint32_t gap_frames);

/* One cell. Counts rise; a hole in them closes all that is open. Returns the final verdict. `frame`
 * must stay valid until the span it went into is taken. At most ASSEMBLE_PUSH cells between two times
 * that assemble_next() said NULL. */
#define ASSEMBLE_PUSH 2000u
enum tdm_loss assemble_cell(struct assembler *a, const struct tdm_verdict *v);
/* The board's clock has come to `count`: cells below have been handed over, verdict or not. */
void assemble_clock(struct assembler *a, uint64_t count);
/* The DMA epoch has ended: everything open is closed. */
void assemble_end(struct assembler *a);

/* The oldest closed span, NULL: none. It stays the same, and its frames are needed, until taken. */
const struct assembled *assemble_next(struct assembler *a);
void assemble_take(struct assembler *a);

/* The cell that closes the open block, when nothing is lost; 0: unknown. */
uint64_t assemble_due(const struct assembler *a);

/* First frame that is in no span yet: where a new label or run may begin. */
uint64_t assemble_frontier(const struct assembler *a);
/* The next slice's first frame: where blocks may get another length. */
uint64_t assemble_border(const struct assembler *a);
