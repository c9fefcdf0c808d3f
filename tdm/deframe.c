/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From cells to frames. See deframe.h for the rules.
 *
 * A link is one endless stream of bytes; byte b of cell n is at stream position n x 10 000 + b.
 * Everything is said in these positions, and `pos` is the one that matters: where the next frame
 * begins (CONFIRM, LOCKED) or from where to search (HUNT). A *window* is a piece of the stream in
 * contiguous memory: a push, or something kept that is read a second time.
 *
 *      |<------- window ------------------------------------->|
 *   ---+--------------+--------------+--------------+---------+---> stream
 *   held >|           |              |              | held >  |
 *         pos         pos + 10 000 ...              pos
 *
 * Invariants
 *   - bytes [pos, pos + held) lie in hold_area(): a carry slot when LOCKED, else the scratch frame;
 *     the next byte wanted of any window is pos + held. The state changes only with held == 0.
 *   - every cell below `next` has had its verdict, no cell from `next` on. While not LOCKED a push
 *     ends with next == end, so LOCKED begins with pos inside cell `next`, and stays so.
 *   - a carry slot is given up to the next frame only when a good frame has been emitted from it.
 *   - read a second time are only the (at most 3) frames in `missed`, a frame that failed to confirm
 *     and one that turned out a copy. So the work is linear in the bytes, whatever they are.
 */
#include "tdm/deframe.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CONFIRM_FRAMES 3u
#define MISS_FRAMES    3u
#define STEP_FRAMES    3u
#define DOUBT_FRAMES   16u /* without a whole one: is this the frame's header, or a copy of one? */
#define COUNT_LIMIT    (1ull << 50) /* counts from here on have no stream position in 64 bits */
#define CARRY_STRIDE   10048u	    /* a frame, on cache lines */
#define SEAM	       (TDM_HEADER_BYTES - 1) /* bytes that may begin a header cut by a window's end */

struct window {
	const uint8_t *bytes;
	uint64_t begin, end; /* stream positions */
};

struct tdm_deframe {
	struct tdm_deframe_stats stats;
	tdm_emit_fn emit; /* of the call under way */
	void *context;

	bool started;
	uint64_t end;  /* count behind the last cell pushed or lost */
	uint64_t next; /* first cell without a verdict */
	uint64_t pos;
	uint32_t held;

	unsigned confirmed;   /* CONFIRM: frames so far */
	bool confirmed_whole; /* one of them had its CRC-32C right */
	unsigned misses;      /* LOCKED: frames without sync in a row */
	unsigned bad;	      /* LOCKED: frames with sync since the last whole one */
	uint64_t missed_pos;
	uint32_t missed_bytes; /* of the last misses, as far as they hang together */

	/* The floor's numbering. lag = (cell - number) mod 8000. */
	bool numbered, moved, seen;
	unsigned agreed; /* frames in a row that agree on new_lag */
	uint32_t lag, new_lag;
	uint64_t seen_cell; /* of the last whole frame */
	uint32_t seen_sequence;

	unsigned slot, slots;
	uint8_t *carry;
	uint8_t scratch[TDM_FRAME_BYTES];
	uint8_t missed[MISS_FRAMES * TDM_FRAME_BYTES];
};

static const char *const loss_names[TDM_LOSSES] = {
	[TDM_GOOD] = "good",
	[TDM_LOSS_LINK_DOWN] = "link-down",
	[TDM_LOSS_BOARD_FIFO] = "board-fifo",
	[TDM_LOSS_RING_FULL] = "ring-full",
	[TDM_LOSS_CRC] = "crc",
	[TDM_LOSS_ALIGNMENT] = "alignment",
	[TDM_LOSS_TIME] = "time-fault",
};

const char *tdm_loss_name(enum tdm_loss loss)
{
	return (unsigned)loss < TDM_LOSSES ? loss_names[loss] : "unknown";
}

/* --------------------------------------------------------------------------------- verdicts */

static void give(struct tdm_deframe *d, const struct tdm_verdict *v)
{
	assert(v->count == d->next);
	d->next++;
	d->stats.cells[v->loss]++;
	d->emit(d->context, v);
}

static void charge_until(struct tdm_deframe *d, uint64_t count, enum tdm_loss loss)
{
	while (d->next < count) {
		struct tdm_verdict v = {.count = d->next, .loss = loss};

		give(d, &v);
	}
}

static uint32_t lag_of(uint64_t cell, uint16_t number)
{
	return (uint32_t)((cell + TDM_FRAMES_PER_SECOND - number) % TDM_FRAMES_PER_SECOND);
}

/* Whether the floor's frames are numbered as before; three that agree make a new "as before". */
static bool in_step(struct tdm_deframe *d, uint32_t lag)
{
	if (d->numbered && lag == d->lag) {
		d->agreed = 0;
		return true;
	}
	d->agreed = d->agreed > 0 && lag == d->new_lag ? d->agreed + 1 : 1;
	d->new_lag = lag;
	if (d->agreed < STEP_FRAMES) {
		return false;
	}
	if (d->numbered) {
		d->moved = true;
		d->stats.steps++;
	}
	d->numbered = true;
	d->lag = lag;
	d->agreed = 0;
	return true;
}

/* Take note of a whole frame's number and sequence; false when the number cannot be trusted. */
static bool account(struct tdm_deframe *d, uint64_t cell, const struct tdm_header *h)
{
	uint32_t lag;

	if (h->flags & TDM_FLAG_DOWNSTREAM || h->time.frame >= TDM_FRAMES_PER_SECOND) {
		return false;
	}
	if (d->seen && h->sequence != d->seen_sequence + (uint32_t)(cell - d->seen_cell)) {
		d->stats.sequence_gaps++;
	}
	d->seen = true;
	d->seen_cell = cell;
	d->seen_sequence = h->sequence;
	lag = lag_of(cell, h->time.frame);
	return in_step(d, lag) && lag <= cell;
}

/* ------------------------------------------------------------------------- bytes and windows */

static uint8_t *hold_area(struct tdm_deframe *d)
{
	return d->stats.state == TDM_LOCKED ? d->carry + (size_t)d->slot * CARRY_STRIDE
					    : d->scratch;
}

/* Keep up to `want` bytes of the window behind those held; false when it has fewer. memmove: a
 * window may be the scratch frame itself. */
static bool hold(struct tdm_deframe *d, const struct window *w, uint32_t want)
{
	uint64_t from = d->pos + d->held;
	uint64_t have = w->end > from ? w->end - from : 0;
	uint32_t n = have < want ? (uint32_t)have : want;

	if (n > 0) {
		memmove(hold_area(d) + d->held, w->bytes + (from - w->begin), n);
	}
	d->held += n;
	return n == want;
}

/* The frame at pos in one piece; NULL when the window ends first, what there is of it is held. */
static const uint8_t *take(struct tdm_deframe *d, const struct window *w, bool *ret_carried)
{
	*ret_carried = d->held > 0;
	if (d->held == 0 && d->pos + TDM_FRAME_BYTES <= w->end) {
		return w->bytes + (d->pos - w->begin);
	}
	if (!hold(d, w, TDM_FRAME_BYTES - d->held)) {
		return NULL;
	}
	d->held = 0;
	return hold_area(d);
}

/* ------------------------------------------------------------------------------------- hunt */

/* First sound header that begins in the first `starts` of `length` bytes, or NULL. */
static const uint8_t *find_header(const uint8_t *bytes, size_t length, size_t starts)
{
	const uint8_t *p = bytes;

	for (;;) {
		p = memmem(p, length - (size_t)(p - bytes), tdm_sync, sizeof(tdm_sync));
		if (p == NULL || (size_t)(p - bytes) >= starts ||
		    (size_t)(p - bytes) + TDM_HEADER_BYTES > length) {
			return NULL;
		}
		if (tdm_header_check(p) == TDM_OK) {
			return p;
		}
		p++;
	}
}

static void pass(struct tdm_deframe *d, uint64_t bytes)
{
	d->pos += bytes;
	d->stats.hunted_bytes += bytes;
}

static bool candidate(struct tdm_deframe *d)
{
	d->stats.state = TDM_CONFIRM;
	d->stats.offset = (uint32_t)(d->pos % TDM_FRAME_BYTES);
	d->confirmed = 0;
	d->confirmed_whole = false;
	return true;
}

/* Search where the last window ended; true when a header was found that began there. */
static bool hunt_seam(struct tdm_deframe *d, const struct window *w)
{
	uint32_t starts = d->held, drop;
	const uint8_t *found;

	hold(d, w, SEAM);
	found = find_header(d->scratch, d->held, starts);
	if (found != NULL) {
		drop = (uint32_t)(found - d->scratch);
		d->held = starts;
	} else if (d->held < starts + SEAM) { /* a short window, used up: all of it is seam */
		drop = d->held > SEAM ? d->held - SEAM : 0;
	} else {
		drop = starts;
		d->held = starts;
	}
	d->held -= drop;
	memmove(d->scratch, d->scratch + drop, d->held);
	pass(d, drop);
	return found != NULL;
}

/* Search a header; false when the window is used up. */
static bool hunt(struct tdm_deframe *d, const struct window *w)
{
	const uint8_t *from, *found;
	size_t length;

	if (d->held > 0) {
		if (hunt_seam(d, w)) {
			return candidate(d);
		}
		if (d->held > 0) {
			return false;
		}
	}
	from = w->bytes + (d->pos - w->begin);
	length = (size_t)(w->end - d->pos);
	found = find_header(from, length, length);
	if (found != NULL) {
		pass(d, (uint64_t)(found - from));
		return candidate(d);
	}
	if (length > SEAM) {
		pass(d, length - SEAM);
	}
	hold(d, w, SEAM);
	return false;
}

/* ----------------------------------------------------------------------- confirm and locked */

static void run(struct tdm_deframe *d, const struct window *w);

/* The frame at pos is none: search on behind its first byte. */
static void hunt_inside(struct tdm_deframe *d, const uint8_t *frame)
{
	struct window w = {frame + 1, d->pos + 1, d->pos + TDM_FRAME_BYTES};

	d->stats.state = TDM_HUNT;
	pass(d, 1);
	run(d, &w);
}

/* The frame at pos, if it confirms the lock. A copy of a header inside data repeats like one, but no
 * CRC-32C is ever right behind it. */
static void confirm(struct tdm_deframe *d, const uint8_t *frame)
{
	uint64_t cell = d->pos / TDM_FRAME_BYTES;
	struct tdm_header header;
	enum tdm_check check = tdm_frame_check(frame, &header);

	charge_until(d, cell + 1, TDM_LOSS_ALIGNMENT);
	if (check == TDM_OK) {
		d->confirmed_whole = true;
		account(d, cell, &header);
	}
	d->confirmed++;
	if (check == TDM_NO_SYNC || check == TDM_BAD_HEADER ||
	    (d->confirmed == CONFIRM_FRAMES && !d->confirmed_whole)) {
		hunt_inside(d, frame);
		return;
	}
	pass(d, TDM_FRAME_BYTES);
	if (d->confirmed == CONFIRM_FRAMES) {
		d->stats.state = TDM_LOCKED;
		d->stats.locks++;
	}
}

/* A frame without sync. The third in a row ends the lock; the hunt begins with the first. */
static void miss(struct tdm_deframe *d, const uint8_t *frame)
{
	if (d->misses == 0) {
		d->missed_bytes = 0;
	}
	if (d->missed_bytes == 0) {
		d->missed_pos = d->pos;
	}
	memcpy(d->missed + d->missed_bytes, frame, TDM_FRAME_BYTES);
	d->missed_bytes += TDM_FRAME_BYTES;
	d->misses++;
}

static void unlock(struct tdm_deframe *d)
{
	if (d->stats.state == TDM_LOCKED) {
		d->stats.unlocks++;
	}
	d->stats.state = TDM_HUNT;
	d->misses = 0;
	d->bad = 0;
}

static void hunt_missed(struct tdm_deframe *d)
{
	struct window w = {d->missed, d->missed_pos, d->missed_pos + d->missed_bytes};

	unlock(d);
	d->pos = w.begin;
	run(d, &w);
}

static enum tdm_loss judge(struct tdm_deframe *d, const uint8_t *frame, struct tdm_verdict *v)
{
	enum tdm_check check = tdm_frame_check(frame, &v->header);

	v->has_header = check == TDM_OK || check == TDM_BAD_CRC;
	switch (check) {
	case TDM_NO_SYNC:
		miss(d, frame);
		return TDM_LOSS_ALIGNMENT;
	case TDM_BAD_HEADER:
		d->misses = 0;
		d->bad++;
		d->stats.header_errors++;
		return TDM_LOSS_CRC;
	case TDM_BAD_CRC:
		d->misses = 0;
		d->bad++;
		return TDM_LOSS_CRC;
	case TDM_OK:
		break;
	}
	d->misses = 0;
	d->bad = 0;
	return account(d, v->count, &v->header) ? TDM_GOOD : TDM_LOSS_TIME;
}

/* A slip may shift a copy of a header, somebody's data, to where the frame's own was. Noise alone
 * leaves no other sound header: then the frames are what they seem, bad. */
static bool is_copy(const struct tdm_deframe *d, const uint8_t *frame)
{
	size_t inside = TDM_FRAME_BYTES - 1;

	return d->bad >= DOUBT_FRAMES && find_header(frame + 1, inside, inside) != NULL;
}

static void deliver(struct tdm_deframe *d, const uint8_t *frame, bool carried)
{
	struct tdm_verdict v;

	/* Not an initialiser: the header alone would be cleared 8000 times a second for nothing. */
	v.count = d->next;
	v.frame = NULL;
	v.floor_frame = 0;
	v.carried = false;
	v.step = false;
	v.offset = 0;
	assert(d->pos / TDM_FRAME_BYTES == d->next);
	v.loss = judge(d, frame, &v);
	if (v.loss == TDM_GOOD) {
		v.frame = frame;
		v.floor_frame = v.count - d->lag;
		v.carried = carried;
		v.step = d->moved;
		v.offset = (uint16_t)d->stats.offset;
		d->moved = false;
		d->stats.tower = v.header.tower;
		d->stats.floor = v.header.floor;
		if (carried) {
			d->slot = (d->slot + 1) % d->slots;
		}
	}
	give(d, &v);
	if (is_copy(d, frame)) {
		unlock(d);
		hunt_inside(d, frame);
		return;
	}
	d->pos += TDM_FRAME_BYTES;
	if (d->misses == MISS_FRAMES) {
		hunt_missed(d);
	}
}

/* Read a window to its end. Calls itself through hunt_inside() and hunt_missed() on kept bytes, two
 * deep at most: neither window holds enough frames to lock, the former's not even a whole one. */
static void run(struct tdm_deframe *d, const struct window *w)
{
	for (;;) {
		const uint8_t *frame;
		bool carried;

		if (d->stats.state == TDM_HUNT && !hunt(d, w)) {
			return;
		}
		frame = take(d, w, &carried);
		if (frame == NULL) {
			return;
		}
		if (d->stats.state == TDM_LOCKED) {
			deliver(d, frame, carried);
		} else {
			confirm(d, frame);
		}
	}
}

/* ------------------------------------------------------------------------------ the contract */

struct tdm_deframe *tdm_deframe_create(unsigned keep)
{
	struct tdm_deframe *d = calloc(1, sizeof(*d));

	if (d == NULL) {
		return NULL;
	}
	/* One slot for the frame being completed, one for the frame that has just been emitted. */
	d->slots = keep + 2;
	d->carry = aligned_alloc(64, (size_t)d->slots * CARRY_STRIDE);
	if (d->carry == NULL) {
		free(d);
		return NULL;
	}
	d->stats.tower = 0xff;
	d->stats.floor = 0xff;
	return d;
}

void tdm_deframe_destroy(struct tdm_deframe *d)
{
	if (d != NULL) {
		free(d->carry);
		free(d);
	}
}

void tdm_deframe_reset(struct tdm_deframe *d)
{
	unlock(d);
	d->started = false;
	d->held = 0;
	d->numbered = false;
	d->moved = false;
	d->seen = false;
	d->agreed = 0;
}

int tdm_deframe_resume(struct tdm_deframe *d, const struct tdm_deframe_mark *mark)
{
	if (mark->offset >= TDM_FRAME_BYTES || mark->number >= TDM_FRAMES_PER_SECOND) {
		return -EINVAL;
	}
	tdm_deframe_reset(d);
	d->stats.state = TDM_LOCKED;
	d->stats.offset = mark->offset;
	d->stats.locks++;
	d->numbered = true;
	d->lag = lag_of(mark->count, mark->number);
	d->seen = true;
	d->seen_cell = mark->count;
	d->seen_sequence = mark->sequence;
	return 0;
}

/* What is held is cut off: go on at cell `count`, at the same offset when there is one. */
static void skip_to(struct tdm_deframe *d, uint64_t count)
{
	if (d->stats.state != TDM_LOCKED) {
		d->stats.hunted_bytes += d->held;
	}
	d->held = 0;
	d->missed_bytes = 0;
	d->next = count;
	d->end = count;
	d->pos = count * TDM_FRAME_BYTES;
	if (d->stats.state != TDM_HUNT) {
		d->pos += d->stats.offset;
	}
}

/* Begin, or continue behind an unexplained hole: a straddling frame is charged as the lost
 * alignment that it is. */
static void go_on_at(struct tdm_deframe *d, uint64_t count, tdm_emit_fn emit, void *context)
{
	d->emit = emit;
	d->context = context;
	if (d->started && d->end == count) {
		return;
	}
	if (d->started) {
		charge_until(d, d->end, TDM_LOSS_ALIGNMENT);
	}
	d->started = true;
	skip_to(d, count);
}

void tdm_deframe_push(struct tdm_deframe *d, const uint8_t *bytes, uint32_t cells, uint64_t count,
		      tdm_emit_fn emit, void *context)
{
	struct window w = {
		.bytes = bytes,
		.begin = count * TDM_FRAME_BYTES,
		.end = (count + cells) * TDM_FRAME_BYTES,
	};

	if (cells == 0) {
		return;
	}
	if (count >= COUNT_LIMIT) { /* a board that is gone reads all ones */
		tdm_deframe_gap(d, cells, count, TDM_LOSS_ALIGNMENT, emit, context);
		return;
	}
	go_on_at(d, count, emit, context);
	d->end = count + cells;
	run(d, &w);
	if (d->stats.state != TDM_LOCKED) {
		charge_until(d, d->end, TDM_LOSS_ALIGNMENT);
	}
}

void tdm_deframe_gap(struct tdm_deframe *d, uint64_t cells, uint64_t count, enum tdm_loss loss,
		     tdm_emit_fn emit, void *context)
{
	assert(loss > TDM_GOOD && loss < TDM_LOSSES);
	if (cells == 0 && loss != TDM_LOSS_LINK_DOWN) {
		return;
	}
	go_on_at(d, count, emit, context);
	charge_until(d, count + cells, loss);
	if (loss == TDM_LOSS_LINK_DOWN) {
		unlock(d);
	}
	skip_to(d, count + cells);
}

void tdm_deframe_stats(const struct tdm_deframe *d, struct tdm_deframe_stats *ret_stats)
{
	*ret_stats = d->stats;
}
