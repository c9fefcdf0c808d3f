/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The assembler: every cell in one span, every frame in its place, every slice declared. The rig feeds
 * verdicts, takes spans as they close and checks at each what must always hold: spans follow each
 * other without a hole in counts and frames, their sums are those of the final verdicts, a good frame
 * is in the span of its number and in no other.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tdm/blocks/assemble.h"
#include "tdm/le.h"
#include "tests/unit/rig/dies.h"

#define B     80u
#define START (8000ull * 100)
#define CELLS 65536u
#define SPANS 4096u
#define PUSH  16u /* cells between two looks for spans */

/* Lengths of blocks: of frames below `from`, and from it on. */
struct change {
	uint64_t from;
	uint32_t block[2];
	unsigned turn;
};

struct kept {
	struct assembled span;
	struct change change;		/* as it was after the span */
	uint8_t status[ASSEMBLE_SLICE]; /* 0: good */
	bool after;
};

static struct rig {
	struct assembler *a;
	uint64_t next;
	uint32_t delay, sequence;
	uint8_t tower, floor;
	bool step;
	uint8_t frames[CELLS][TDM_HEADER_BYTES];
	uint8_t final[CELLS];	/* verdict of a cell, by count - START */
	uint64_t placed[CELLS]; /* its floor frame, when good */
	uint32_t age[CELLS];	/* `sequence` when it came */
	bool looked[CELLS];	/* spans were taken behind this cell: a completion ended */
	struct kept spans[SPANS];
	unsigned count;
	struct assemble_point at;
	struct change change;
	bool began;
} * R;
static bool changing; /* the lengths change again and again */

static struct assemble_config config = {
	.block_frames = B,
	.gap_frames = 1600,
	.tower = 1,
	.floor = 4,
};

static void begin(void)
{
	if (R) {
		assemble_destroy(R->a);
		free(R);
	}
	R = calloc(1, sizeof(*R));
	R->a = assemble_create(&config);
	R->next = START;
	R->delay = 4;
	R->tower = 1;
	R->floor = 4;
	R->change.block[1] = B;
}

static uint32_t length_at(uint64_t frame)
{
	return R->change.block[frame >= R->change.from];
}

/* After a change, plan the next one some slices ahead. */
static void change_length(void)
{
	static const uint32_t turns[] = {16, 80, 1600, 8, 320};
	struct change *c = &R->change;

	if (!changing || R->at.frame < c->from) {
		return;
	}
	c->block[0] = c->block[1];
	c->block[1] = turns[c->turn++ % 5];
	c->from = assemble_border(R->a) + ASSEMBLE_SLICE * (c->turn % 3);
	assemble_change(R->a, c->from, c->block[1], ASSEMBLE_SLICE);
}

static void check_span(const struct assembled *s)
{
	struct kept *k = &R->spans[R->count++];
	uint32_t sums[TDM_LOSSES] = {0}, cells = 0;

	assert_true(R->count < SPANS);
	if (R->began) {
		assert_int_equal(s->first_count, R->at.count);
		assert_int_equal(s->first_frame, R->at.frame);
	}
	R->began = true;
	R->at = s->behind;
	assert_true(s->end_count >= s->first_count && s->end_count <= R->next);
	assert_true(s->frames <= ASSEMBLE_SLICE);
	if (!s->gap && s->frames > 0) {
		assert_int_equal(s->frames, length_at(s->first_frame));
		assert_int_equal(s->first_frame % s->frames, 0);
	}
	if (s->frames > 0) {
		assert_int_equal(s->first_frame / ASSEMBLE_SLICE,
				 (s->first_frame + s->frames - 1) / ASSEMBLE_SLICE);
	}
	for (uint64_t c = s->first_count; c < s->end_count; c++) {
		sums[R->final[c - START]]++;
	}
	for (unsigned i = 0; i < TDM_LOSSES; i++) {
		uint32_t n = 0;

		for (unsigned sec = 0; sec < ASSEMBLE_SECONDS; sec++) {
			n += s->verdicts[sec][i];
		}
		assert_int_equal(n, sums[i]);
		cells += n;
	}
	assert_int_equal(cells, s->end_count - s->first_count);
	k->span = *s;
	k->after = s->after != NULL;
	for (uint32_t f = 0; f < s->frames; f++) {
		const struct block_frame *in = &s->in[f];

		assert_true((in->frame == NULL) == (in->loss != TDM_GOOD));
		k->status[f] = in->loss;
		if (in->frame) {
			size_t cell = (size_t)(in->frame - R->frames[0]) / TDM_HEADER_BYTES;

			assert_false(s->gap);
			assert_int_equal(R->placed[cell], s->first_frame + f);
			R->placed[cell] = UINT64_MAX; /* in no other span */
			/* A deframer's carry store has room for that many, whatever the floor does. */
			assert_true(R->sequence - R->age[cell] <=
				    length_at(s->first_frame) + ASSEMBLE_LATE + PUSH);
			assert_int_equal(in->frame[TDM_OFF_TOWER], s->tower);
			assert_int_equal(in->frame[TDM_OFF_FLOOR], s->floor);
		}
	}
}

static void take(void)
{
	const struct assembled *s;

	if (R->next > START) {
		R->looked[R->next - 1 - START] = true;
	}
	while ((s = assemble_next(R->a))) {
		assert_ptr_equal(assemble_next(R->a), s);
		check_span(s);
		assemble_take(R->a);
		change_length();
		R->spans[R->count - 1].change = R->change;
	}
}

static enum tdm_loss cell(enum tdm_loss loss)
{
	size_t i = (size_t)(R->next - START);
	struct tdm_verdict v = {.count = R->next, .loss = loss};
	enum tdm_loss final;

	assert_true(i < CELLS);
	if (loss == TDM_GOOD) {
		v.floor_frame = R->next - R->delay;
		v.frame = R->frames[i];
		v.has_header = true;
		v.header.tower = R->tower;
		v.header.floor = R->floor;
		v.header.time.frame = (uint16_t)(v.floor_frame % 8000);
		v.header.sequence = R->sequence;
		v.offset = 17;
		v.step = R->step;
		R->step = false;
		R->frames[i][TDM_OFF_TOWER] = R->tower;
		R->frames[i][TDM_OFF_FLOOR] = R->floor;
		le32_put(R->frames[i] + TDM_OFF_SEQUENCE, R->sequence);
		le64_put(R->frames[i] + TDM_OFF_TIME, tdm_time_pack(&v.header.time));
		R->placed[i] = v.floor_frame;
	}
	R->age[i] = R->sequence++;
	R->next++;
	final = assemble_cell(R->a, &v);
	R->final[i] = (uint8_t) final;
	assert_true(loss == final || (loss == TDM_GOOD && final == TDM_LOSS_TIME));
	return final;
}

/* `n` cells with the same fate, taken as after completions. */
static void cells(unsigned n, enum tdm_loss loss)
{
	while (n-- > 0) {
		cell(loss);
		if (R->next % PUSH == 0) {
			assemble_clock(R->a, R->next);
			take();
		}
	}
	assemble_clock(R->a, R->next);
	take();
}

static unsigned count_status(const struct kept *k, uint8_t loss)
{
	unsigned n = 0;

	for (uint32_t f = 0; f < k->span.frames; f++) {
		n += k->status[f] == loss;
	}
	return n;
}

/* -------------------------------------------------------------------------------------- cases */

static void test_steady(void **state)
{
	begin();
	cells(8000, TDM_GOOD);
	/* The first cell's frame is START - 4: the block before START begins it. */
	assert_int_equal(R->spans[0].span.first_frame, START - B);
	assert_int_equal(count_status(&R->spans[0], TDM_LOSS_LINK_DOWN), B - 4);
	assert_int_equal(R->spans[0].span.end_count, START + 4);
	for (unsigned i = 1; i < R->count; i++) {
		const struct assembled *s = &R->spans[i].span;

		assert_int_equal(count_status(&R->spans[i], TDM_GOOD), B);
		assert_int_equal(s->end_count - s->first_count, B);
		assert_true(R->spans[i].after);
		assert_true(s->behind.marked);
		assert_int_equal(s->behind.mark.count, s->end_count - 1);
		assert_int_equal(s->behind.mark.number, (s->first_frame + B - 1) % 8000);
		assert_int_equal(s->behind.mark.offset, 17);
		assert_int_equal(s->behind.delay, 4);
	}
	assert_int_equal(R->count, 8000 / B);
}

static void test_single_losses(void **state)
{
	begin();
	cells(4 + 2 * B + 10, TDM_GOOD);
	cells(1, TDM_LOSS_CRC);
	cells(68, TDM_GOOD);
	cells(1, TDM_LOSS_CRC);	      /* the last frame of the block, */
	cells(1, TDM_LOSS_RING_FULL); /* and the one behind it */
	/* Both known: the block is closed at once. */
	assert_int_equal(R->count, 4);
	assert_int_equal(R->spans[3].status[10], TDM_LOSS_CRC);
	assert_int_equal(R->spans[3].status[79], TDM_LOSS_CRC);
	assert_int_equal(count_status(&R->spans[3], TDM_GOOD), 78);
	assert_false(R->spans[3].after);
	assert_int_equal(R->spans[3].span.tail_loss, TDM_LOSS_CRC);
	assert_int_equal(R->spans[3].span.tail_cells, 1);
}

/* Link down inside a slice: partial blocks; for whole slices: one GAP each, and soon after its end. */
static void test_link_down(void **state)
{
	unsigned gaps = 0;

	begin();
	cells(4 + 1600 + 800 + 33, TDM_GOOD);
	R->count = 0;
	cells(1600 - 800 - 33 + 3200 + 163, TDM_LOSS_LINK_DOWN);
	/* The rest of the slice block by block, then two GAPs. */
	assert_int_equal(R->count, 10 + 2);
	assert_int_equal(count_status(&R->spans[0], TDM_GOOD), 33);
	assert_int_equal(count_status(&R->spans[0], TDM_LOSS_LINK_DOWN), 47);
	for (unsigned i = 0; i < R->count; i++) {
		gaps += R->spans[i].span.gap;
		if (R->spans[i].span.gap) {
			assert_int_equal(R->spans[i].span.frames, 1600);
			assert_int_equal(R->spans[i].span.first_frame % 1600, 0);
			assert_int_equal(count_status(&R->spans[i], TDM_LOSS_LINK_DOWN), 1600);
			assert_int_equal(R->spans[i].span.floor, 4);
			assert_int_equal(R->spans[i].span.behind.marked, 0);
		}
	}
	assert_int_equal(gaps, 2);
	/* It comes back in the middle of a slice: what waited goes out as partial blocks. */
	R->count = 0;
	cells(640 - 163, TDM_LOSS_LINK_DOWN);
	assert_int_equal(R->count, 0);
	R->delay = 7; /* another length of fibre */
	cells(1600, TDM_GOOD);
	assert_false(R->spans[0].span.gap);
	assert_int_equal(count_status(&R->spans[0], TDM_LOSS_LINK_DOWN), B);
	/* Nothing that was good is lost for the new delay: the guesses gave way. */
	for (uint64_t c = R->next - 1600; c < R->next; c++) {
		assert_int_equal(R->final[c - START], TDM_GOOD);
	}
}

static void test_dead_from_the_start(void **state)
{
	begin();
	cells(100, TDM_LOSS_LINK_DOWN);
	assert_int_equal(R->count, 0);
	cells(1600 * 3 + 160 - 100, TDM_LOSS_LINK_DOWN);
	assert_int_equal(R->count, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(R->spans[i].span.gap);
		assert_int_equal(R->spans[i].span.first_frame, START + 1600 * i);
		assert_int_equal(R->spans[i].span.tower, 1);
	}
}

/* A good frame later than 20 ms after the end was due, and one that comes twice. */
static void test_late_and_twice(void **state)
{
	begin();
	cells(4 + 40, TDM_GOOD);
	R->delay = 5; /* one step back: the last number again */
	assert_int_equal(cell(TDM_GOOD), TDM_LOSS_TIME);
	R->step = true;
	cells(200, TDM_GOOD);
	assert_int_equal(count_status(&R->spans[1], TDM_GOOD), B);
	assert_int_equal(R->spans[1].span.end_count - R->spans[1].span.first_count, B + 1);
	assert_true(R->spans[1].span.step);
	/* Far back: all of it is gone already. */
	R->delay = 405;
	assert_int_equal(cell(TDM_GOOD), TDM_LOSS_TIME);
	cells(398, TDM_GOOD);
	/* Forth again: the numbers left out are declared. */
	R->delay = 5;
	cells(1000, TDM_GOOD);
	R->delay = 5;
	for (unsigned i = 1; i < R->count; i++) {
		assert_int_equal(count_status(&R->spans[i], TDM_LOSS_LINK_DOWN), 0);
	}
}

/* The PPS moves the count: what is open is closed, and the seconds are cut. */
static void test_hole(void **state)
{
	unsigned holes = 0;

	begin();
	cells(4 + 240 + 30, TDM_GOOD);
	R->count = 0;
	R->next = START + 8000;
	cells(400, TDM_GOOD);
	for (unsigned i = 0; i < R->count; i++) {
		const struct kept *k = &R->spans[i];

		if (k->span.hole) {
			holes++;
			assert_int_equal(k->span.end_count, START + 4 + 240 + 30);
			assert_int_equal(k->span.behind.count, START + 8000);
			assert_int_equal(count_status(k, TDM_GOOD), 30);
			assert_false(k->after);
		}
	}
	assert_int_equal(holes, 1);
	/* Frames that never were are declared lost all the same. */
	assert_int_equal(R->at.frame % B, 0);
	/* An altogether different count begins anew. */
	begin();
	cells(500, TDM_GOOD);
	R->next = START + 40000;
	cells(500, TDM_GOOD);
	assert_true(R->count < 20);
	assert_true(R->at.frame > START + 40000 && R->at.frame % B == 0);
}

static void test_other_floor(void **state)
{
	const struct kept *first, *second;

	begin();
	cells(4 + B + 30, TDM_GOOD);
	R->count = 0;
	R->floor = 9;
	cells(200, TDM_GOOD);
	first = &R->spans[0];
	second = &R->spans[1];
	assert_int_equal(first->span.first_frame, second->span.first_frame);
	assert_true(first->span.split && second->span.split);
	assert_int_equal(first->span.floor, 4);
	assert_int_equal(second->span.floor, 9);
	assert_int_equal(count_status(first, TDM_GOOD), 30);
	assert_int_equal(count_status(second, TDM_GOOD), 50);
	assert_int_equal(first->status[30], TDM_LOSS_LINK_DOWN);
	assert_int_equal(second->status[29], TDM_LOSS_LINK_DOWN);
	assert_false(first->after);
	assert_true(second->after);
	assert_false(R->spans[2].span.split);
	/* On a border there is nothing to split. */
	begin();
	cells(4 + B, TDM_GOOD);
	R->floor = 9;
	cells(200, TDM_GOOD);
	for (unsigned i = 0; i < R->count; i++) {
		assert_false(R->spans[i].span.split);
	}
	assert_false(R->spans[1].after); /* not the same floor's */
}

static void test_end(void **state)
{
	begin();
	cells(4 + B + 30, TDM_GOOD);
	R->count = 0;
	assemble_end(R->a);
	take();
	assert_int_equal(R->count, 1);
	assert_true(R->spans[0].span.hole);
	assert_int_equal(count_status(&R->spans[0], TDM_GOOD), 30);
	assert_int_equal(R->spans[0].span.end_count, R->next);
	/* Nothing open: the cells alone. */
	begin();
	assemble_end(R->a);
	take();
	assert_int_equal(R->count, 0);
}

static uint64_t dice;
static uint32_t roll(uint32_t n)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(dice >> 33) % n;
}

/* One random event of a link's life. Returns false when the rig is full. */
static void live(bool tame)
{
	switch (roll(tame ? 4 : 9)) {
	case 0:
		cells(1 + roll(3), (enum tdm_loss)(TDM_LOSS_BOARD_FIFO + roll(3)));
		break;
	case 1:
		cells(1 + roll(3000), TDM_LOSS_LINK_DOWN);
		if (roll(2)) {
			cells(3, TDM_LOSS_ALIGNMENT);
		}
		break;
	case 4:
		R->delay = roll(3) ? 3 + roll(6) : roll(7999);
		R->step = true;
		break;
	case 5:
		R->floor = (uint8_t)(3 + roll(2));
		break;
	case 6:
		R->next += roll(4) ? 1 + roll(7999) : 20000;
		break;
	case 7: /* a floor that repeats itself */
		for (unsigned i = 0; i < 50 && R->delay < 7990; i++) {
			R->delay++;
			cells(3, TDM_GOOD);
		}
		break;
	default:
		cells(1 + roll(500), TDM_GOOD);
		break;
	}
}

static void random_lives(void)
{
	for (unsigned seed = 0; seed < 150; seed++) {
		uint64_t last;

		dice = seed * 77 + 1;
		begin();
		while (R->next < START + CELLS - 30000) {
			live(false);
		}
		/* In the end all is in spans: every cell that was fed. */
		cells(1, TDM_GOOD);
		assemble_end(R->a);
		take();
		last = R->spans[R->count - 1].span.end_count;
		assert_int_equal(last, R->next);
	}
}

static void test_random(void **state)
{
	random_lives();
}

static void test_random_with_other_lengths(void **state)
{
	changing = true;
	random_lives();
	assert_true(R->change.turn > 3);
	changing = false;
}

/* A floor that steps back again and again cannot hold a block, or memory, for ever. */
static void test_stuck_number(void **state)
{
	begin();
	cells(1000, TDM_GOOD);
	for (unsigned i = 0; i < 30000; i++) {
		R->delay = R->delay < 7999 ? R->delay + 1 : 4;
		cell(TDM_GOOD);
		if (i % 16 == 15) {
			assemble_clock(R->a, R->next);
			take();
			assert_true(R->next - R->at.count < 14000);
		}
	}
}

/* A block half full when the floor begins its numbers anew: it goes out when it is due, and what comes
 * with numbers that are over is a time fault until they are caught up with. */
static void test_moved_back(void **state)
{
	const uint32_t back[] = {1000, 7900};

	for (unsigned i = 0; i < 2; i++) {
		begin();
		cells(1004, TDM_GOOD);
		assert_int_equal(R->at.frame, START + 960);
		R->delay += back[i];
		cells(B + ASSEMBLE_LATE + PUSH, TDM_GOOD);
		assert_int_equal(R->at.frame, START + 960 + B);
		assert_int_equal(count_status(&R->spans[R->count - 1], TDM_GOOD), 40);
		cells(back[i], TDM_GOOD);
		cells(2000, TDM_GOOD);
		assert_int_equal(count_status(&R->spans[R->count - 1], TDM_GOOD), B);
	}
}

static bool same(const struct kept *x, const struct kept *y)
{
	return x->span.first_frame == y->span.first_frame && x->span.frames == y->span.frames &&
	       x->span.gap == y->span.gap && x->span.tower == y->span.tower &&
	       x->span.floor == y->span.floor && x->span.first_count == y->span.first_count &&
	       x->span.end_count == y->span.end_count && x->after == y->after &&
	       memcmp(x->status, y->status, x->span.frames) == 0 &&
	       memcmp(x->span.verdicts, y->span.verdicts, sizeof(x->span.verdicts)) == 0 &&
	       memcmp(&x->span.behind, &y->span.behind, sizeof(x->span.behind)) == 0;
}

/* The cells of a life once more, for a successor that goes on from `point`. */
static void replay(const struct kept *behind, uint64_t end)
{
	const struct assemble_point *point = &behind->span.behind;
	struct assemble_config mine = config;

	R->change = behind->change;
	mine.block_frames = length_at(point->frame);
	assemble_destroy(R->a);
	R->a = assemble_create(&mine);
	assemble_resume(R->a, point);
	if (R->change.from > point->frame) {
		assemble_change(R->a, R->change.from, R->change.block[1], ASSEMBLE_SLICE);
	}
	R->at = *point;
	R->count = 0;
	for (R->next = point->count; R->next < end;) {
		size_t n = (size_t)(R->next - START);
		struct tdm_verdict v = {.count = R->next, .loss = (enum tdm_loss)R->final[n]};

		if (v.loss == TDM_GOOD) {
			struct tdm_time time;

			tdm_time_unpack(le64_get(R->frames[n] + TDM_OFF_TIME), &time);
			v.frame = R->frames[n];
			v.offset = 17;
			v.header.tower = R->frames[n][TDM_OFF_TOWER];
			v.header.floor = R->frames[n][TDM_OFF_FLOOR];
			v.floor_frame = v.count - (v.count - time.frame) % 8000;
			R->placed[n] = v.floor_frame;
		}
		R->age[n] = R->sequence++;
		assemble_cell(R->a, &v);
		R->next++;
		if (R->looked[n]) {
			assemble_clock(R->a, R->next);
			take();
		}
	}
}

/* Killed behind any span: a successor that goes on from its point makes the same spans. */
static void resume_lives(void)
{
	static struct kept first[SPANS];
	unsigned compared = 0;

	for (unsigned seed = 0; seed < 25; seed++) {
		unsigned count;

		dice = seed * 31 + 5;
		begin();
		while (R->next < START + CELLS - 40000) {
			live(true);
		}
		count = R->count;
		memcpy(first, R->spans, sizeof(first));
		for (unsigned k = 0; k + 1 < count; k += 1 + count / 40) {
			replay(&first[k], R->next);
			assert_int_equal(R->count, count - k - 1);
			for (unsigned n = 0; n < R->count; n++, compared++) {
				if (!same(&R->spans[n], &first[k + 1 + n])) {
					fail_msg("seed %u, killed behind span %u: the %uth differs",
						 seed, k, n);
				}
			}
		}
	}
	assert_true(compared > 1000);
}

static void test_resume(void **state)
{
	resume_lives();
}

/* Data are sent again in the same blocks, whatever lengths the predecessors had. */
static void test_resume_with_other_lengths(void **state)
{
	changing = true;
	resume_lives();
	changing = false;
}

static int clean(void **state)
{
	assemble_destroy(R->a);
	free(R);
	assemble_destroy(NULL);
	return 0;
}

/* ------------------------------------------------------------------------------------ at borders */

/* The assembler takes all of them. */
static void good_cells(unsigned n)
{
	size_t first = (size_t)(R->next - START);

	cells(n, TDM_GOOD);
	for (size_t i = first; i < first + n; i++) {
		assert_int_equal(R->final[i], TDM_GOOD);
	}
}

/* A block has the frame behind it, however often spans are requested. */
static void test_a_block_waits_for_the_frame_behind_it(void **state)
{
	begin();
	for (unsigned i = 0; i < 1000; i++) {
		cells(1, TDM_GOOD);
	}
	assert_int_equal(R->count, 1 + (1000 - 5) / B);
	for (unsigned i = 1; i < R->count; i++) {
		const struct assembled *s = &R->spans[i].span;

		assert_true(R->spans[i].after);
		assert_int_equal(s->behind.mark.sequence, s->end_count - 1 - START);
	}
}

/* The alignment is lost after the block, not in it. */
static void test_a_link_that_goes_down_behind_a_block_was_aligned_in_it(void **state)
{
	begin();
	assert_int_equal(assemble_due(R->a), 0);
	cells(3, TDM_LOSS_LINK_DOWN);
	assert_int_equal(assemble_due(R->a), 0); /* how late frames are is unknown */
	begin();
	cells(4 + B, TDM_GOOD);
	assert_int_equal(assemble_due(R->a), START + B + 4);
	cells(B, TDM_LOSS_LINK_DOWN);
	cells(2000, TDM_GOOD);
	assert_int_equal(R->spans[1].span.end_count, START + 4 + B);
	assert_true(R->spans[1].span.behind.marked);
	assert_false(R->spans[2].span.behind.marked);
}

/* The count jumps at a block border: later frames are in the right place. */
static void test_a_hole_at_a_border_costs_what_is_missing(void **state)
{
	unsigned lost = 0;

	begin();
	cells(4 + 2 * B, TDM_GOOD);
	R->next += 10;
	good_cells(3 * B);
	for (unsigned i = 1; i < R->count; i++) {
		lost += R->spans[i].span.frames - count_status(&R->spans[i], TDM_GOOD);
	}
	assert_int_equal(lost, 10);
}

/* The frames of cells of a dark link are guessed: a floor that returns with other numbers wins. */
static void test_a_good_frame_overrules_a_guess(void **state)
{
	begin();
	cells(4 + 2 * B, TDM_GOOD);
	cells(100, TDM_LOSS_LINK_DOWN);
	R->delay += 50;
	good_cells(B);
}

/* A slice without a good frame is one GAP, even if good frames follow already. */
static void test_a_slice_without_a_good_frame_is_a_gap(void **state)
{
	unsigned gaps = 0;

	begin();
	cells(4 + ASSEMBLE_SLICE, TDM_GOOD);
	cells(ASSEMBLE_SLICE, TDM_LOSS_LINK_DOWN);
	cells(ASSEMBLE_SLICE, TDM_GOOD);
	for (unsigned i = 0; i < R->count; i++) {
		gaps += R->spans[i].span.gap;
		assert_true(!R->spans[i].span.gap || R->spans[i].span.frames == ASSEMBLE_SLICE);
	}
	assert_int_equal(gaps, 1);
}

static void take_without_a_span(void *a)
{
	assemble_take(a);
}

static void test_to_take_what_is_not_there_is_our_bug(void **state)
{
	begin();
	assert_true(dies(take_without_a_span, R->a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steady),
		cmocka_unit_test(test_single_losses),
		cmocka_unit_test(test_link_down),
		cmocka_unit_test(test_dead_from_the_start),
		cmocka_unit_test(test_late_and_twice),
		cmocka_unit_test(test_hole),
		cmocka_unit_test(test_other_floor),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_stuck_number),
		cmocka_unit_test(test_moved_back),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_a_block_waits_for_the_frame_behind_it),
		cmocka_unit_test(test_a_link_that_goes_down_behind_a_block_was_aligned_in_it),
		cmocka_unit_test(test_a_hole_at_a_border_costs_what_is_missing),
		cmocka_unit_test(test_a_good_frame_overrules_a_guess),
		cmocka_unit_test(test_a_slice_without_a_good_frame_is_a_gap),
		cmocka_unit_test(test_to_take_what_is_not_there_is_our_bug),
		cmocka_unit_test(test_random_with_other_lengths),
		cmocka_unit_test(test_resume_with_other_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, clean);
}
