/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The assembler: from cells to blocks and gaps on the floor's grid. See assemble.h.
 *
 * The window is a ring of WINDOW slots by floor frame. WINDOW is a multiple of 1600, so that neither
 * block nor slice wraps and a span's frames are handed out as one array. It covers what may lie
 * between the oldest open frame and the newest: a second of jumping numbers, a slice that waits, and a
 * push.
 *
 * Invariants
 *   - slots outside [base, base + WINDOW) are EMPTY; below `low` none is written any more.
 *   - cells [first_count, next) have their final verdict in `log` and are in no span yet. FORCED_CELLS
 *     bounds them, whatever the floor numbers its frames: then a block closes as it is.
 */
#include "tdm/blocks/assemble.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "tdm/le.h"

#define WINDOW	     16000u
#define LOG	     32768u
#define FORCED_CELLS 12000u
#define PER_SECOND   TDM_FRAMES_PER_SECOND

_Static_assert(WINDOW % ASSEMBLE_SLICE == 0, "slices do not wrap");
_Static_assert(WINDOW > PER_SECOND + 2 * ASSEMBLE_SLICE + ASSEMBLE_PUSH, "window");
_Static_assert(FORCED_CELLS + ASSEMBLE_PUSH <= (ASSEMBLE_SECONDS - 1) * PER_SECOND, "seconds");
_Static_assert(FORCED_CELLS + ASSEMBLE_PUSH <= LOG, "log");

enum slot_state { EMPTY = 0, GUESS, LOST, GOOD }; /* GUESS: lost, and its number is a guess */

struct slot {
	uint64_t count;	   /* of its cell */
	uint16_t identity; /* tower << 8 | floor */
	uint16_t offset;
	uint8_t state;
	bool step, placed;
};

struct lengths {
	uint32_t block, gap;
};

struct assembler {
	struct lengths lengths[2]; /* of frames below change_at, and from it on */
	uint64_t change_at;
	struct assemble_point at; /* behind the last span taken */
	bool started;		  /* `at` holds, `next` holds */
	bool taken;		  /* a span has been taken: at.frame is final */
	bool split;		  /* so far, at.frame's block has been given for another floor */
	uint64_t begin;		  /* first frame ever: what is before it never existed */
	uint64_t next;		  /* count of the next verdict */
	uint64_t head;		  /* the board's clock */
	uint64_t low;		  /* frames below are closed */
	uint64_t top;		  /* behind the last slot placed */
	uint64_t sure;		  /* behind the last slot that is GOOD or LOST */
	uint64_t good;		  /* behind the last that is GOOD */
	uint32_t delay;
	bool delay_known;
	/* behind the last frame placed before the floor moved its numbers back */
	uint64_t moved_back;

	bool cut; /* the count jumped (or ended): frames below cut_frame are closed */
	uint64_t cut_frame, cut_count, resume_count, resume_frame;

	bool current;
	struct assembled span;
	uint64_t split_at; /* current: first frame of the other floor; 0: none */

	struct block_frame scratch[ASSEMBLE_SLICE]; /* frames of a split block */
	struct block_frame in[WINDOW];
	struct slot slots[WINDOW];
	uint8_t log[LOG]; /* final verdict by count */
};

static struct slot *slot_of(struct assembler *a, uint64_t frame)
{
	return &a->slots[frame % WINDOW];
}

static uint64_t down(uint64_t value, uint32_t step)
{
	return value - value % step;
}

static const struct lengths *lengths_at(const struct assembler *a, uint64_t frame)
{
	return &a->lengths[frame >= a->change_at];
}

/* First frame of the block, or gap, that `frame` is in. */
static uint64_t block_of(const struct assembler *a, uint64_t frame)
{
	return down(frame, lengths_at(a, frame)->block);
}

static uint64_t gap_of(const struct assembler *a, uint64_t frame)
{
	return down(frame, lengths_at(a, frame)->gap);
}

/* -------------------------------------------------------------------------- life of the thing */

struct assembler *assemble_create(const struct assemble_config *config)
{
	struct assembler *a = calloc(1, sizeof(*a));

	assert(ASSEMBLE_SLICE % config->block_frames == 0 &&
	       ASSEMBLE_SLICE % config->gap_frames == 0 &&
	       config->gap_frames % config->block_frames == 0);
	if (a) {
		a->lengths[1] = (struct lengths){config->block_frames, config->gap_frames};
		a->at.tower = config->tower;
		a->at.floor = config->floor;
	}
	return a;
}

void assemble_destroy(struct assembler *a)
{
	free(a);
}

void assemble_resume(struct assembler *a, const struct assemble_point *point)
{
	a->at = *point;
	a->started = true;
	a->taken = true;
	a->begin = point->frame;
	a->low = point->frame;
	a->next = point->count;
	a->delay = point->delay;
	a->delay_known = point->delay_known;
}

void assemble_change(struct assembler *a, uint64_t from, uint32_t block_frames, uint32_t gap_frames)
{
	assert(ASSEMBLE_SLICE % gap_frames == 0 && gap_frames % block_frames == 0);
	assert(from % ASSEMBLE_SLICE == 0 && from >= assemble_border(a));
	assert(a->change_at <= a->at.frame);
	a->lengths[0] = a->lengths[1];
	a->lengths[1] = (struct lengths){block_frames, gap_frames};
	a->change_at = from;
}

/* ------------------------------------------------------------------------------------ cells in */

/* The count jumps from `next` to `count`, or ends there. Nothing comes any more for open blocks. */
static void cut(struct assembler *a, uint64_t count)
{
	uint64_t first = count > a->delay ? count - a->delay : 0;

	assert(!a->cut); /* spans are taken between two pushes */
	a->cut = true;
	a->cut_frame = a->top > a->low ? block_of(a, a->top - 1) + lengths_at(a, a->top - 1)->block
				       : a->low;
	a->cut_count = a->next;
	a->resume_count = count;
	a->resume_frame = a->cut_frame;
	/* A PPS moves the count by less than a second: the frames that never were are declared
	 * lost. More is another count altogether. */
	if (first > a->cut_frame + PER_SECOND) {
		a->resume_frame = block_of(a, first);
	}
	a->low = a->resume_frame;
}

static void place(struct assembler *a, uint64_t frame, const struct tdm_verdict *v,
		  enum slot_state state)
{
	struct slot *s = slot_of(a, frame);

	s->count = v->count;
	s->state = (uint8_t)state;
	s->placed = true;
	s->step = v->step && state == GOOD;
	a->in[frame % WINDOW] = (struct block_frame){
		.frame = state == GOOD ? v->frame : NULL,
		.loss = (uint8_t)v->loss,
	};
	if (state == GOOD) {
		s->identity = (uint16_t)(v->header.tower << 8 | v->header.floor);
		s->offset = v->offset;
		a->in[frame % WINDOW].header_flags = v->header.flags;
		a->good = MAX(a->good, frame + 1);
	}
	if (state != GUESS) {
		a->sure = MAX(a->sure, frame + 1);
	}
	a->top = MAX(a->top, frame + 1);
}

/* The first frame of all, or one of before it while nothing has been given out. */
static void move_begin(struct assembler *a, uint64_t frame, uint64_t count)
{
	if (!a->started) {
		a->started = true;
		a->at.count = count;
		a->next = count;
		a->begin = frame;
		a->low = block_of(a, frame);
		a->at.frame = a->low;
	} else if (!a->taken && !a->current && !a->cut && frame < a->begin &&
		   a->top - block_of(a, frame) < PER_SECOND) {
		a->begin = frame;
		a->low = block_of(a, frame);
		a->at.frame = a->low;
	}
}

static enum tdm_loss good_cell(struct assembler *a, const struct tdm_verdict *v)
{
	uint64_t frame = v->floor_frame;
	uint32_t delay = (uint32_t)(v->count - frame);

	if (a->delay_known && delay > a->delay) {
		a->moved_back = a->top;
	}
	a->delay = delay;
	a->delay_known = true;
	if (frame < a->low || frame >= a->at.frame + WINDOW || slot_of(a, frame)->state == GOOD) {
		return TDM_LOSS_TIME;
	}
	place(a, frame, v, GOOD);
	return TDM_GOOD;
}

static void lost_cell(struct assembler *a, const struct tdm_verdict *v)
{
	uint64_t frame = v->count > a->delay ? v->count - a->delay : 0;
	bool sure = a->delay_known && (v->loss == TDM_LOSS_CRC || v->loss == TDM_LOSS_BOARD_FIFO ||
				       v->loss == TDM_LOSS_RING_FULL);

	if (frame >= a->low && frame < a->at.frame + WINDOW && slot_of(a, frame)->state == EMPTY) {
		place(a, frame, v, sure ? LOST : GUESS);
	}
}

enum tdm_loss assemble_cell(struct assembler *a, const struct tdm_verdict *v)
{
	enum tdm_loss loss = v->loss;

	if (a->started && v->count != a->next) {
		cut(a, v->count);
	}
	move_begin(a,
		   v->loss == TDM_GOOD	 ? v->floor_frame
		   : v->count > a->delay ? v->count - a->delay
					 : 0,
		   v->count);
	a->next = v->count + 1;
	if (loss == TDM_GOOD) {
		loss = good_cell(a, v);
	} else {
		lost_cell(a, v);
	}
	a->log[v->count % LOG] = (uint8_t)loss;
	assemble_clock(a, a->next);
	return loss;
}

void assemble_clock(struct assembler *a, uint64_t count)
{
	a->head = MAX(a->head, count);
}

void assemble_end(struct assembler *a)
{
	if (a->started) {
		cut(a, a->next);
	}
}

/* ------------------------------------------------------------------------------------ spans out */

/* What frames [first, end) are late by. A floor that moves its numbers back makes `delay` larger with each
 * of its frames: the good ones that are there already came with less, and do not wait for that. */
static uint32_t delay_of(struct assembler *a, uint64_t first, uint64_t end)
{
	uint32_t delay = a->delay;

	for (uint64_t f = first; a->moved_back > first && f < end; f++) {
		const struct slot *s = slot_of(a, f);

		if (s->state == GOOD && s->count - f < delay) {
			delay = (uint32_t)(s->count - f);
		}
	}
	return delay;
}

/* Whether frames [first, end) are as known as they will ever be. */
static bool closed(struct assembler *a, uint64_t first, uint64_t end)
{
	if (a->cut && end <= a->cut_frame) {
		return true;
	}
	return a->sure > end || a->head >= end + delay_of(a, first, end) + ASSEMBLE_LATE;
}

/* A floor that keeps moving its numbers back would hold a block without a good frame open for ever. */
static bool forced(const struct assembler *a)
{
	return a->next - a->at.count >= FORCED_CELLS;
}

static bool any_good(struct assembler *a, uint64_t first, uint64_t end)
{
	if (a->good <= first) {
		return false;
	}
	for (uint64_t f = first; f < end; f++) {
		if (slot_of(a, f)->state == GOOD) {
			return true;
		}
	}
	return false;
}

/* Which frames go out next, if any may. */
static bool choose(struct assembler *a, uint64_t *ret_end, bool *ret_gap)
{
	const struct lengths *lengths = lengths_at(a, a->at.frame);
	uint64_t base = a->at.frame, end = base + lengths->block;
	uint64_t slice_end = gap_of(a, base) + lengths->gap;

	if (!closed(a, base, end) && !forced(a)) {
		return false;
	}
	*ret_end = end;
	*ret_gap = false;
	slice_end = a->cut ? MIN(slice_end, a->cut_frame) : slice_end;
	if (a->at.slice_good || a->split || any_good(a, base, slice_end)) {
		return true;
	}
	if (closed(a, base, slice_end)) {
		*ret_end = slice_end;
		*ret_gap = true;
		return true;
	}
	return forced(a);
}

/* Count the span's cells by second and verdict, and how it ends. */
static void tally(struct assembler *a, struct assembled *s)
{
	s->first_second = s->first_count / PER_SECOND;
	for (uint64_t c = s->first_count; c < s->end_count; c++) {
		uint8_t loss = a->log[c % LOG];
		uint64_t second = c / PER_SECOND - s->first_second;

		assert(second < ASSEMBLE_SECONDS);
		s->verdicts[second][loss]++;
		if (loss != s->tail_loss) {
			s->tail_loss = loss;
			s->tail_cells = 0;
		}
		s->tail_cells++;
	}
}

/* The last good frame, if the alignment has not been lost by link-down since. */
static void mark_point(struct assembler *a, struct assembled *s, const struct slot *last,
		       const uint8_t *frame)
{
	struct assemble_point *p = &s->behind;
	struct tdm_time time;
	uint64_t from = last ? last->count : s->first_count;

	if (last) {
		tdm_time_unpack(le64_get(frame + TDM_OFF_TIME), &time);
		p->marked = 1;
		p->mark = (struct tdm_deframe_mark){
			.count = last->count,
			.sequence = le32_get(frame + TDM_OFF_SEQUENCE),
			.number = time.frame,
			.offset = last->offset,
		};
	}
	for (uint64_t c = from; c < s->end_count; c++) {
		if (a->log[c % LOG] == TDM_LOSS_LINK_DOWN) {
			p->marked = 0;
		}
	}
}

/* Look through the frames of a span: whose they are, what they are made of, where its cells end. */
static void survey(struct assembler *a, struct assembled *s)
{
	const struct slot *last = NULL;
	const uint8_t *last_frame = NULL;
	uint64_t last_number = 0;

	for (uint64_t f = s->first_frame; f < s->first_frame + s->frames; f++) {
		struct slot *slot = slot_of(a, f);
		struct block_frame *in = &a->in[f % WINDOW];

		if (slot->state == EMPTY) {
			*in = (struct block_frame){
				.loss = f < a->begin ? TDM_LOSS_LINK_DOWN : TDM_LOSS_TIME,
			};
		} else if (slot->state == GOOD) {
			if (last && slot->identity != last->identity) {
				a->split_at = f;
				break;
			}
			last = slot;
			last_number = f;
			last_frame = in->frame;
			s->step |= slot->step;
		}
		if (slot->placed) {
			s->end_count = MAX(s->end_count, slot->count + 1);
		}
	}
	if (last) {
		s->tower = (uint8_t)(last->identity >> 8);
		s->floor = (uint8_t)last->identity;
		s->last_good_count = last->count;
		s->behind.tower = s->tower;
		s->behind.floor = s->floor;
		s->behind.delay = (uint32_t)(last->count - last_number);
		s->behind.delay_known = 1;
	}
	mark_point(a, s, last, last_frame);
}

/* The frames of the first floor of a block that has two: the rest never came from it. */
static void keep_first_floor(struct assembler *a, struct assembled *s)
{
	for (uint32_t i = 0; i < s->frames; i++) {
		uint64_t f = s->first_frame + i;

		a->scratch[i] = f < a->split_at ? a->in[f % WINDOW]
						: (struct block_frame){.loss = TDM_LOSS_LINK_DOWN};
	}
	s->in = a->scratch;
}

static const uint8_t *frame_after(struct assembler *a, const struct assembled *s)
{
	uint64_t end = s->first_frame + s->frames;
	const struct slot *slot = slot_of(a, end);
	uint16_t identity = (uint16_t)(s->tower << 8 | s->floor);

	if (a->split_at || (a->cut && end >= a->cut_frame) || end >= a->top ||
	    slot->state != GOOD || slot->step || slot->identity != identity) {
		return NULL;
	}
	return a->in[end % WINDOW].frame;
}

/* The link's position behind the span. */
static void point_behind(struct assembler *a, struct assembled *s)
{
	struct assemble_point *p = &s->behind;
	uint64_t end = s->first_frame + s->frames;

	p->count = s->end_count;
	p->frame = a->split_at ? s->first_frame : end;
	if (s->last_good_count > 0) {
		p->slice_good = 1;
	}
	if (s->hole) {
		p->count = a->resume_count;
		p->frame = a->resume_frame;
	}
	if (gap_of(a, p->frame) != gap_of(a, s->first_frame)) {
		p->slice_good = 0;
	}
}

/* The cells before a cut that no block has. */
static void account_span(struct assembler *a, struct assembled *s)
{
	s->end_count = a->cut_count;
	s->hole = true;
	mark_point(a, s, NULL, NULL);
	point_behind(a, s);
	tally(a, s);
}

static void block_span(struct assembler *a, struct assembled *s, uint64_t end, bool gap)
{
	s->frames = (uint32_t)(end - s->first_frame);
	s->gap = gap;
	s->in = &a->in[s->first_frame % WINDOW];
	survey(a, s);
	if (a->split_at) {
		keep_first_floor(a, s);
	} else if (a->cut && end >= a->cut_frame) {
		s->end_count = a->cut_count;
		s->hole = true;
	} else if (end >= a->top && !a->cut) {
		s->end_count = a->next; /* nothing waits behind: strays belong here */
	}
	s->split = a->split || a->split_at;
	s->after = frame_after(a, s);
	point_behind(a, s);
	tally(a, s);
}

const struct assembled *assemble_next(struct assembler *a)
{
	struct assembled *s = &a->span;
	uint64_t end = 0;
	bool gap = false;

	if (a->current) {
		return s;
	}
	if (!a->started) {
		return NULL;
	}
	a->split_at = 0;
	*s = (struct assembled){
		.first_frame = a->at.frame,
		.first_count = a->at.count,
		.end_count = a->at.count,
		.tower = a->at.tower,
		.floor = a->at.floor,
		.tail_loss = TDM_GOOD,
		.behind = a->at,
	};
	if (a->cut && a->at.frame >= a->cut_frame) {
		account_span(a, s);
	} else if (choose(a, &end, &gap)) {
		block_span(a, s, end, gap);
	} else {
		return NULL;
	}
	a->current = true;
	a->low = MAX(a->low, a->at.frame + s->frames);
	return s;
}

static void clear(struct assembler *a, uint64_t first, uint64_t end)
{
	for (uint64_t f = first; f < end; f++) {
		*slot_of(a, f) = (struct slot){0};
		a->in[f % WINDOW] = (struct block_frame){0};
	}
}

/* The block comes once more, for the other floor: what was the first one's is lost to it. */
static void leave_second_floor(struct assembler *a)
{
	for (uint64_t f = a->span.first_frame; f < a->split_at; f++) {
		struct slot *slot = slot_of(a, f);

		slot->state = LOST;
		slot->placed = false;
		a->in[f % WINDOW] = (struct block_frame){.loss = TDM_LOSS_LINK_DOWN};
	}
}

void assemble_take(struct assembler *a)
{
	const struct assembled *s = &a->span;

	assert(a->current);
	a->current = false;
	a->taken = true;
	a->split = a->split_at != 0;
	if (a->split) {
		leave_second_floor(a);
	} else {
		clear(a, s->first_frame, s->first_frame + s->frames);
	}
	if (s->hole) {
		a->cut = false;
		a->top = MAX(a->top, s->behind.frame);
		a->low = MAX(a->low, s->behind.frame);
	}
	a->at = s->behind;
}

uint64_t assemble_due(const struct assembler *a)
{
	return a->started && a->delay_known
		       ? a->at.frame + lengths_at(a, a->at.frame)->block + a->delay
		       : 0;
}

uint64_t assemble_frontier(const struct assembler *a)
{
	return a->current ? a->at.frame + a->span.frames : a->at.frame;
}

uint64_t assemble_border(const struct assembler *a)
{
	uint64_t from = assemble_frontier(a);

	from = a->cut ? MAX(from, a->resume_frame) : from; /* found by the old lengths */
	return down(from + ASSEMBLE_SLICE - 1, ASSEMBLE_SLICE);
}
