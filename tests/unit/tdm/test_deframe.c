/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The deframer's rules, one by one: a short stream, and the verdicts it must get, a letter a cell.
 * Every rule is tried with several ways of cutting the stream into pushes: the verdicts are the same.
 */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/tdm/deframe_rig.h"
#include "tests/unit/rig/dies.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define FIRST	 16384u

static struct tdm_deframe_stats stats_of(const struct rig *r)
{
	struct tdm_deframe_stats s;

	tdm_deframe_stats(r->d, &s);
	return s;
}

/* ------------------------------------------------------------------- rules without board gaps */

static void lay_in_step(struct rig *r)
{
	rig_lay(r, 8);
}

static void lay_offset(struct rig *r)
{
	rig_lay_bytes(r, NULL, 100);
	rig_lay(r, 8);
	rig_lay_bytes(r, NULL, 9900);
}

static void lay_offset_last_byte(struct rig *r)
{
	rig_lay_bytes(r, NULL, 9999);
	rig_lay(r, 8);
	rig_lay_bytes(r, NULL, 1);
}

static void lay_forward(struct rig *r)
{
	rig_lay(r, 6);
	rig_lay_bytes(r, NULL, 5);
	rig_lay(r, 8);
}

static void lay_forward_over_border(struct rig *r)
{
	lay_offset_last_byte(r); /* 9 cells, frames 0..7 at offset 9999 */
	rig_lay(r, 8);		 /* one byte later: offset 0 of the next but one cell */
}

static void lay_backward(struct rig *r)
{
	rig_lay(r, 6);
	rig_cut(r, 5);
	rig_lay(r, 8);
}

static void lay_there_and_back(struct rig *r)
{
	rig_lay(r, 6);
	rig_lay_bytes(r, NULL, 7);
	rig_lay(r, 2);
	rig_cut(r, 7);
	rig_lay(r, 4);
}

static void lay_twice_in_a_cell(struct rig *r)
{
	/* The second slip comes while the first is being confirmed. */
	rig_lay(r, 6);
	rig_lay_bytes(r, NULL, 7);
	rig_lay(r, 1);
	rig_lay_bytes(r, NULL, 9);
	rig_lay(r, 8);
}

static void lay_bad_data(struct rig *r)
{
	rig_lay(r, 8);
	rig_damage(r, 5, 5000);
}

static void lay_bad_end(struct rig *r)
{
	rig_lay(r, 8);
	rig_damage(r, 5, 9999);
}

static void lay_bad_header(struct rig *r)
{
	rig_lay(r, 8);
	rig_damage(r, 5, 12);
}

static void lay_no_sync_twice(struct rig *r)
{
	rig_lay(r, 8);
	rig_damage(r, 4, 0);
	rig_damage(r, 5, 3);
}

static void lay_no_sync_thrice(struct rig *r)
{
	rig_lay(r, 12);
	rig_damage(r, 4, 0);
	rig_damage(r, 5, 1);
	rig_damage(r, 6, 2);
}

static void lay_no_sync_interrupted(struct rig *r)
{
	rig_lay(r, 10);
	rig_damage(r, 4, 0);
	rig_damage(r, 5, 0);
	rig_damage(r, 6, 12); /* sync is there: the misses do not hang together */
	rig_damage(r, 7, 0);
}

static void lay_bad_while_confirming(struct rig *r)
{
	rig_lay(r, 9);
	rig_damage(r, 0, 5000); /* header sound: goes on */
	rig_damage(r, 1, 5000);
}

static void lay_none_whole_while_confirming(struct rig *r)
{
	rig_lay(r, 9);
	rig_damage(r, 0, 5000);
	rig_damage(r, 1, 5000);
	rig_damage(r, 2, 5000);
}

static void lay_broken_confirmation(struct rig *r)
{
	rig_lay(r, 9);
	rig_damage(r, 2, 12);
}

static void lay_false_header(struct rig *r)
{
	/* The stream begins at 4000 of a frame: the false header at 5000 is met first. */
	uint8_t frame[TDM_FRAME_BYTES];

	r->copy_header_at = 5000;
	rig_lay(r, 1);
	memcpy(frame, r->stream, sizeof(frame));
	rig_cut(r, TDM_FRAME_BYTES);
	rig_lay_bytes(r, frame + 4000, 6000);
	rig_lay(r, 8);
	rig_lay_bytes(r, NULL, 4000);
}

static void lay_slip_onto_copy(struct rig *r)
{
	/* Behind the slip the copy stands where the header was. */
	r->copy_header_at = 5000;
	rig_lay(r, 6);
	rig_lay_bytes(r, NULL, 5000);
	rig_lay(r, 22);
}

static void lay_noise(struct rig *r)
{
	rig_lay(r, 30);
	for (uint32_t i = 4; i < 28; i++) {
		rig_damage(r, i, i % 2 ? 10 : 7000);
	}
}

static void lay_number_moves(struct rig *r)
{
	rig_lay(r, 6);
	r->number_base += 3;
	rig_lay(r, 5);
}

static void lay_number_moves_back(struct rig *r)
{
	rig_lay(r, 6);
	r->number_base += 3;
	rig_lay(r, 2);
	r->number_base -= 3;
	rig_lay(r, 3);
}

static void lay_number_outlier(struct rig *r)
{
	rig_lay(r, 6);
	rig_lay_numbered(r, 77);
	rig_lay(r, 2);
}

static void lay_number_agrees_across_bad_frame(struct rig *r)
{
	rig_lay(r, 6);
	r->number_base += 4000;
	rig_lay(r, 5);
	rig_damage(r, 7, 9000); /* neither agrees nor disagrees */
}

static void lay_number_no_two_agree(struct rig *r)
{
	rig_lay(r, 6);
	rig_lay_numbered(r, 10);
	rig_lay_numbered(r, 20);
	rig_lay_numbered(r, 30);
	rig_lay_numbered(r, 31);
	rig_lay_numbered(r, 32);
	rig_lay_numbered(r, 33);
}

static void lay_number_illegal(struct rig *r)
{
	rig_lay(r, 5);
	rig_lay_numbered(r, 8000);
	rig_lay_numbered(r, 8001);
	rig_lay_numbered(r, 8002);
	rig_lay_numbered(r, 0x1fff);
	rig_lay(r, 2);
}

static void lay_looped_back(struct rig *r)
{
	rig_lay(r, 5);
	r->flags = TDM_FLAG_DOWNSTREAM;
	rig_lay(r, 5);
	r->flags = 0;
	rig_lay(r, 2);
}

static void lay_boot(struct rig *r)
{
	rig_lay(r, 5);
	r->flags = TDM_FLAG_BOOTED;
	r->sequence_base = 0u - r->laid;
	rig_lay(r, 5);
}

static void lay_other_floor(struct rig *r)
{
	rig_lay(r, 5);
	r->floor = 12;
	r->sequence_base += 123456;
	rig_lay(r, 5);
}

static void lay_garbage(struct rig *r)
{
	rig_lay_bytes(r, NULL, 60000);
}

static void lay_frame_inserted(struct rig *r)
{
	/* A whole cell more than there should be: alignment holds, the numbering moves. */
	rig_lay(r, 6);
	rig_lay_bytes(r, NULL, TDM_FRAME_BYTES);
	rig_lay(r, 5);
}

static const struct rule {
	const char *name;
	void (*lay)(struct rig *r);
	const char *verdicts;
	uint32_t offset;
	uint8_t locks, unlocks, header_errors, sequence_gaps, steps;
	enum tdm_align_state state;
} rules[] = {
	{"in step", lay_in_step, "AAAGGGGG", 0, 1, 0, 0, 0, 0, TDM_LOCKED},
	{"offset 100", lay_offset, "AAAGGGGG", 100, 1, 0, 0, 0, 0, TDM_LOCKED},
	{"offset 9999", lay_offset_last_byte, "AAAGGGGG", 9999, 1, 0, 0, 0, 0, TDM_LOCKED},
	{"forward slip", lay_forward, "AAAGGGAAAGGGG", 5, 2, 1, 0, 0, 0, TDM_LOCKED},
	{"forward slip over a cell's border", lay_forward_over_border, "AAAGGGGGAAAASGGGG", 0, 2, 1,
	 0, 1, 1, TDM_LOCKED},
	{"backward slip", lay_backward, "AAAGGCAAASGG", 9995, 2, 1, 0, 1, 1, TDM_LOCKED},
	{"there and back", lay_there_and_back, "AAAGGGAAGGGG", 0, 1, 0, 0, 0, 0, TDM_LOCKED},
	{"slip while confirming", lay_twice_in_a_cell, "AAAGGGAAAAGGGG", 16, 2, 1, 0, 0, 0,
	 TDM_LOCKED},
	{"bad data", lay_bad_data, "AAAGGCGG", 0, 1, 0, 0, 0, 0, TDM_LOCKED},
	{"bad end mark", lay_bad_end, "AAAGGCGG", 0, 1, 0, 0, 0, 0, TDM_LOCKED},
	{"bad header", lay_bad_header, "AAAGGCGG", 0, 1, 0, 1, 0, 0, TDM_LOCKED},
	{"no sync, twice", lay_no_sync_twice, "AAAGAAGG", 0, 1, 0, 0, 0, 0, TDM_LOCKED},
	{"no sync, three times", lay_no_sync_thrice, "AAAGAAAAAAGG", 0, 2, 1, 0, 0, 0, TDM_LOCKED},
	{"no sync, interrupted", lay_no_sync_interrupted, "AAAGAACAGG", 0, 1, 0, 1, 0, 0,
	 TDM_LOCKED},
	{"bad data while confirming", lay_bad_while_confirming, "AAATGGGGG", 0, 1, 0, 0, 0, 0,
	 TDM_LOCKED},
	{"none whole while confirming", lay_none_whole_while_confirming, "AAAAAAGGG", 0, 1, 0, 0, 0,
	 0, TDM_LOCKED},
	{"bad header while confirming", lay_broken_confirmation, "AAAAAAGGG", 0, 1, 0, 0, 0, 0,
	 TDM_LOCKED},
	{"false header", lay_false_header, "AAAAAGGG", 6000, 1, 0, 0, 0, 0, TDM_LOCKED},
	{"slip onto a copy of the header", lay_slip_onto_copy, "AAAGGGACCCCCCCCCCCCCCCCAAGG", 5000,
	 2, 1, 0, 0, 0, TDM_LOCKED},
	{"noise", lay_noise, "AAAGCCCCCCCCCCCCCCCCCCCCCCCCGG", 0, 1, 0, 12, 0, 0, TDM_LOCKED},
	{"number moves", lay_number_moves, "AAAGGGTTSGG", 0, 1, 0, 0, 0, 1, TDM_LOCKED},
	{"number moves and is back", lay_number_moves_back, "AAAGGGTTGGG", 0, 1, 0, 0, 0, 0,
	 TDM_LOCKED},
	{"number, one outlier", lay_number_outlier, "AAAGGGTGG", 0, 1, 0, 0, 0, 0, TDM_LOCKED},
	{"number moves, a bad frame between", lay_number_agrees_across_bad_frame, "AAAGGGTCTSG", 0,
	 1, 0, 0, 0, 1, TDM_LOCKED},
	{"number, no two agree", lay_number_no_two_agree, "AAAGGGTTTTSG", 0, 1, 0, 0, 0, 1,
	 TDM_LOCKED},
	{"number above 7999", lay_number_illegal, "AAAGGTTTTGG", 0, 1, 0, 0, 0, 0, TDM_LOCKED},
	{"optical loop-back", lay_looped_back, "AAAGGTTTTTGG", 0, 1, 0, 0, 0, 0, TDM_LOCKED},
	{"FCM boot", lay_boot, "AAAGGGGGGG", 0, 1, 0, 0, 1, 0, TDM_LOCKED},
	{"another floor", lay_other_floor, "AAAGGGGGGG", 0, 1, 0, 0, 1, 0, TDM_LOCKED},
	{"garbage", lay_garbage, "AAAAAA", 0, 0, 0, 0, 0, 0, TDM_HUNT},
	{"a cell inserted", lay_frame_inserted, "AAAGGGATTSGG", 0, 1, 0, 0, 1, 1, TDM_LOCKED},
};

static void try_rule(const struct rule *rule, unsigned each)
{
	struct rig *r = rig_create(FIRST, 1);
	struct tdm_deframe_stats s;
	uint64_t sum = 0;

	rule->lay(r);
	rig_feed(r, RIG_ALL, each);
	rig_assert_verdicts(r, rule->verdicts);
	s = stats_of(r);
	assert_int_equal(s.state, rule->state);
	assert_int_equal(s.offset, rule->offset);
	assert_int_equal(s.locks, rule->locks);
	assert_int_equal(s.unlocks, rule->unlocks);
	assert_int_equal(s.header_errors, rule->header_errors);
	assert_int_equal(s.sequence_gaps, rule->sequence_gaps);
	assert_int_equal(s.steps, rule->steps);
	for (unsigned i = 0; i < TDM_LOSSES; i++) {
		sum += s.cells[i];
	}
	assert_int_equal(sum, r->verdicts);
	assert_true(r->verdicts + 1 >= r->fed / TDM_FRAME_BYTES);
	rig_destroy(r);
}

static void test_rule(void **state)
{
	static const unsigned each[] = {1, 2, 3, 5, 16, 100, 0};

	for (unsigned i = 0; i < COUNT(each); i++) {
		try_rule(*state, each[i]);
	}
}

/* -------------------------------------------------------------------------------- board gaps */

static void test_gap_in_step(void **state)
{
	struct rig *r = rig_create(FIRST, 2);

	rig_lay(r, 16);
	rig_feed(r, 5, 2);
	rig_gap(r, 2, TDM_LOSS_BOARD_FIFO);
	rig_feed(r, 2, 1);
	rig_gap(r, 1, TDM_LOSS_RING_FULL);
	rig_gap(r, 1, TDM_LOSS_BOARD_FIFO);
	rig_feed(r, RIG_ALL, 3);
	rig_assert_verdicts(r, "AAAGGFFGGRFGGGGG");
	assert_int_equal(stats_of(r).unlocks, 0);
	assert_int_equal(stats_of(r).sequence_gaps, 0);
	rig_destroy(r);
}

/* The frame that a gap cuts begins before it, and pays with it. */
static void test_gap_cuts_straddling(void **state)
{
	struct rig *r = rig_create(FIRST, 3);

	rig_lay_bytes(r, NULL, 6000);
	rig_lay(r, 16);
	rig_feed(r, 6, 4);
	rig_assert_verdicts(r, "AAAGG"); /* the sixth straddles */
	rig_gap(r, 2, TDM_LOSS_RING_FULL);
	rig_assert_verdicts(r, "AAAGGRRR");
	rig_gap(r, 1, TDM_LOSS_BOARD_FIFO); /* nothing was pending */
	rig_feed(r, 1, 1);
	rig_assert_verdicts(r, "AAAGGRRRF");
	rig_gap(r, 1, TDM_LOSS_BOARD_FIFO); /* begun behind one gap, cut by the next */
	rig_feed(r, RIG_ALL, 2);
	rig_assert_verdicts(r, "AAAGGRRRFFFGGGG");
	assert_int_equal(stats_of(r).offset, 6000);
	assert_int_equal(stats_of(r).unlocks, 0);
	rig_destroy(r);
}

static void test_link_down(void **state)
{
	struct rig *r = rig_create(FIRST, 4);

	rig_gap(r, 0, TDM_LOSS_LINK_DOWN);
	rig_lay_bytes(r, NULL, 6000);
	rig_lay(r, 19);
	rig_feed(r, 6, 4);
	rig_gap(r, 2, TDM_LOSS_LINK_DOWN);
	rig_assert_verdicts(r, "AAAGGDDD");
	assert_int_equal(stats_of(r).state, TDM_HUNT);
	rig_feed(r, 5, 4);
	rig_assert_verdicts(r, "AAAGGDDDAAAG");
	rig_gap(r, 0, TDM_LOSS_LINK_DOWN); /* it flickered: no cell lost but the one it cut */
	rig_feed(r, RIG_ALL, 4);
	rig_assert_verdicts(r, "AAAGGDDDAAAGDAAAGG");
	assert_int_equal(stats_of(r).locks, 3);
	assert_int_equal(stats_of(r).unlocks, 2);
	assert_int_equal(stats_of(r).steps, 0);
	rig_destroy(r);
}

/* Dark from the start, and while hunting. */
static void test_dark(void **state)
{
	struct rig *r = rig_create(FIRST, 5);

	rig_lay(r, 20);
	rig_gap(r, 3, TDM_LOSS_LINK_DOWN);
	rig_gap(r, 0, TDM_LOSS_RING_FULL);
	rig_gap(r, 2, TDM_LOSS_LINK_DOWN);
	rig_feed(r, 2, 2);
	rig_gap(r, 1, TDM_LOSS_LINK_DOWN);
	rig_feed(r, RIG_ALL, 1);
	rig_assert_verdicts(r, "DDDDDAADAAAGGGGGGGGG");
	rig_destroy(r);
}

/* A gap neither ends confirming nor forgets misses: pieces of two cells between gaps still lock, and
 * still unlock. */
static void test_gaps_between_two_cells(void **state)
{
	struct rig *r = rig_create(FIRST, 6);

	rig_lay(r, 9);
	rig_lay_bytes(r, NULL, 500);
	rig_lay(r, 20);
	while (r->bytes - r->fed >= 3 * TDM_FRAME_BYTES) {
		rig_feed(r, 2, 1);
		rig_gap(r, 1, TDM_LOSS_RING_FULL);
	}
	/* In two cells and a gap there is one whole frame at offset 500. */
	rig_assert_verdicts(r, "AARAGRGGRAARAARAARARRGRRGRR");
	assert_int_equal(stats_of(r).locks, 2);
	assert_int_equal(stats_of(r).unlocks, 1);
	rig_destroy(r);
}

/* ------------------------------------------------------------------------- counts and numbers */

static void test_floor_frame(void **state)
{
	struct rig *r = rig_create(3 * 8000 - 5, 7);

	rig_lay(r, 30);
	rig_feed(r, RIG_ALL, 4);
	for (unsigned i = 3; i < 30; i++) {
		assert_int_equal(r->log[i].loss, TDM_GOOD);
		assert_int_equal(r->log[i].floor_frame, r->log[i].count - RIG_LAG);
	}
	rig_destroy(r);
}

/* A frame numbered before the board's count 0 has no place on its line. */
static void test_before_count_0(void **state)
{
	struct rig *r = rig_create(0, 8);

	rig_lay(r, 12);
	rig_feed(r, RIG_ALL, 4);
	rig_assert_verdicts(r, "AAATTTTGGGGG");
	assert_int_equal(r->log[7].floor_frame, 0);
	rig_destroy(r);
}

static void test_headers_of_the_lost(void **state)
{
	struct rig *r = rig_create(FIRST, 9);

	rig_lay(r, 7);
	rig_lay_numbered(r, 1);
	rig_lay(r, 1);
	rig_damage(r, 4, 9000);
	rig_damage(r, 5, 10);
	rig_damage(r, 6, 1);
	rig_feed(r, RIG_ALL, 3);
	rig_assert_verdicts(r, "AAAGCCATG");
	assert_true(r->log[4].has_header);
	assert_int_equal(r->log[4].sequence, 4);
	assert_false(r->log[5].has_header);
	assert_false(r->log[6].has_header);
	assert_true(r->log[7].has_header);
	assert_int_equal(r->log[7].sequence, 7);
	rig_destroy(r);
}

static void test_who(void **state)
{
	struct rig *r = rig_create(FIRST, 10);

	assert_int_equal(stats_of(r).floor, 0xff);
	assert_int_equal(stats_of(r).tower, 0xff);
	rig_lay(r, 5);
	rig_feed(r, RIG_ALL, 1);
	assert_int_equal(stats_of(r).tower, 1);
	assert_int_equal(stats_of(r).floor, 3);
	r->floor = 9;
	rig_lay(r, 1);
	rig_feed(r, RIG_ALL, 1);
	assert_int_equal(stats_of(r).floor, 9);
	rig_destroy(r);
}

/* --------------------------------------------------------------------------- reset and resume */

static void test_reset(void **state)
{
	struct rig *r = rig_create(FIRST, 11);

	rig_lay_bytes(r, NULL, 10);
	rig_lay(r, 12);
	rig_feed(r, 5, 5);
	rig_assert_verdicts(r, "AAAG");
	tdm_deframe_reset(r->d);
	r->next++; /* the straddling frame is forgotten with the rest */
	rig_feed(r, RIG_ALL, 2);
	rig_assert_verdicts(r, "AAAGAAAGGG");
	assert_int_equal(stats_of(r).locks, 2);
	assert_int_equal(stats_of(r).unlocks, 1);
	assert_int_equal(stats_of(r).cells[TDM_LOSS_ALIGNMENT], 6);
	assert_int_equal(stats_of(r).steps, 0);
	rig_destroy(r);
}

/* A successor goes on without a loss, also in the middle of a straddling frame. */
static void test_resume(void **state)
{
	struct rig *r = rig_create(FIRST, 12);
	struct tdm_deframe_mark mark;

	rig_lay_bytes(r, NULL, 4321);
	rig_lay(r, 20);
	r->fed = 7 * TDM_FRAME_BYTES; /* an earlier one did these */
	r->next = FIRST + 7;
	mark = (struct tdm_deframe_mark){
		.count = FIRST + 5,
		.sequence = 5,
		.number = (uint16_t)((FIRST + 5 - RIG_LAG) % 8000),
		.offset = 4321,
	};
	assert_int_equal(tdm_deframe_resume(r->d, &mark), 0);
	rig_feed(r, 4, 2);
	rig_gap(r, 1, TDM_LOSS_RING_FULL);
	rig_feed(r, RIG_ALL, 2);
	rig_assert_verdicts(r, "GGGRRGGGGGGG");
	assert_int_equal(stats_of(r).sequence_gaps, 0);
	rig_destroy(r);
}

/* The link slipped and was renumbered while nobody looked: as if the lock had been lost just now. */
static void test_resume_outdated(void **state)
{
	struct rig *r = rig_create(FIRST, 13);
	struct tdm_deframe_mark mark = {FIRST - 10, 0, 0, 4000};

	rig_lay_bytes(r, NULL, 4321);
	rig_lay(r, 12);
	assert_int_equal(tdm_deframe_resume(r->d, &mark), 0);
	rig_feed(r, RIG_ALL, 2);
	rig_assert_verdicts(r, "AAASGGGGGGG");
	assert_int_equal(stats_of(r).sequence_gaps, 1);
	rig_destroy(r);
}

static void test_resume_refused(void **state)
{
	struct tdm_deframe *d = tdm_deframe_create(0);
	struct tdm_deframe_stats s;

	assert_int_equal(tdm_deframe_resume(d, &(struct tdm_deframe_mark){.offset = 10000}),
			 -EINVAL);
	assert_int_equal(tdm_deframe_resume(d, &(struct tdm_deframe_mark){.number = 8000}),
			 -EINVAL);
	tdm_deframe_stats(d, &s);
	assert_int_equal(s.state, TDM_HUNT);
	tdm_deframe_destroy(d);
	tdm_deframe_destroy(NULL);
}

/* ------------------------------------------------------------------------------ odd callers */

/* What the rig would not do: the verdicts' counts only. */
struct counts {
	uint64_t count[16];
	enum tdm_loss loss[16];
	unsigned n;
};

static void note(void *context, const struct tdm_verdict *v)
{
	struct counts *c = context;

	assert_true(c->n < COUNT(c->count));
	c->count[c->n] = v->count;
	c->loss[c->n++] = v->loss;
}

/* A hole in the count that no gap spoke for, and a count that goes back: the frame they cut has lost
 * its alignment, the cells left out are nobody's, the lock is kept. */
static void test_hole(void **state)
{
	static const uint64_t counts[] = {104, 107, 108, 99, 100};
	static const enum tdm_loss losses[] = {TDM_LOSS_ALIGNMENT, TDM_GOOD, TDM_LOSS_ALIGNMENT,
					       TDM_LOSS_TIME, TDM_LOSS_ALIGNMENT};
	struct rig *r = rig_create(100, 14);
	struct counts c = {.n = 0};

	rig_lay_bytes(r, NULL, 10);
	rig_lay(r, 12);
	rig_feed(r, 5, 5); /* 104 is pending */
	tdm_deframe_push(r->d, r->stream + 7 * TDM_FRAME_BYTES, 2, 107, note, &c);
	tdm_deframe_push(r->d, r->stream, 0, 5, note, &c); /* no cells: no hole either */
	tdm_deframe_push(r->d, r->stream + 9 * TDM_FRAME_BYTES, 2, 99, note, &c);
	tdm_deframe_gap(r->d, 0, 0, TDM_LOSS_LINK_DOWN, note, &c);
	assert_int_equal(c.n, COUNT(counts));
	for (unsigned i = 0; i < c.n; i++) {
		assert_int_equal(c.count[i], counts[i]);
		assert_int_equal(c.loss[i], losses[i]);
	}
	rig_destroy(r);
}

/* A board that is gone reads all ones. */
static void test_count_of_a_dead_board(void **state)
{
	struct rig *r = rig_create(100, 15);
	struct counts c = {.n = 0};

	rig_lay(r, 12);
	rig_feed(r, 5, 5);
	tdm_deframe_push(r->d, r->stream, 2, UINT64_MAX - 5, note, &c);
	tdm_deframe_push(r->d, r->stream, 2, UINT64_MAX - 3, note, &c);
	tdm_deframe_push(r->d, r->stream, 2, 1ull << 50, note, &c);
	assert_int_equal(c.n, 6);
	for (unsigned i = 0; i < c.n; i++) {
		assert_int_equal(c.loss[i], TDM_LOSS_ALIGNMENT);
	}
	rig_feed(r, RIG_ALL, 2); /* as if nothing had been */
	rig_assert_verdicts(r, "AAAGGGGGGGGG");
	rig_destroy(r);
}

static void test_names(void **state)
{
	assert_string_equal(tdm_loss_name(TDM_GOOD), "good");
	assert_string_equal(tdm_loss_name(TDM_LOSS_LINK_DOWN), "link-down");
	assert_string_equal(tdm_loss_name(TDM_LOSS_BOARD_FIFO), "board-fifo");
	assert_string_equal(tdm_loss_name(TDM_LOSS_RING_FULL), "ring-full");
	assert_string_equal(tdm_loss_name(TDM_LOSS_CRC), "crc");
	assert_string_equal(tdm_loss_name(TDM_LOSS_ALIGNMENT), "alignment");
	assert_string_equal(tdm_loss_name(TDM_LOSS_TIME), "time-fault");
	assert_string_equal(tdm_loss_name(TDM_LOSSES), "unknown");
}

/* ---- at the edges ---- */

/* Numbers go from 0 to 7999: 8000 instead of 0 is invalid. */
static void test_number_8000_is_none(void **state)
{
	struct rig *r = rig_create(8000 * 3 + RIG_LAG - 5, 1);

	rig_lay(r, 5);
	rig_lay_numbered(r, 8000);
	rig_lay(r, 2);
	rig_feed(r, RIG_ALL, RIG_ALL);
	rig_assert_verdicts(r, "AAAGGTGG");
	rig_destroy(r);
}

/* After a reset any floor numbers are accepted. */
static void test_a_reset_forgets_the_numbering(void **state)
{
	struct rig *r = rig_create(8000 * 3, 1);

	rig_lay(r, 6);
	rig_feed(r, RIG_ALL, RIG_ALL);
	tdm_deframe_reset(r->d);
	r->number_base += 3;
	rig_lay(r, 6);
	rig_feed(r, RIG_ALL, RIG_ALL);
	rig_assert_verdicts(r, "AAAGGGAAAGGG");
	rig_destroy(r);
}

/* Bytes skipped by a search are counted, those of a frame cut by a gap are not. */
static void test_bytes_are_hunted_outside_of_a_lock_only(void **state)
{
	struct tdm_deframe_stats before, behind;
	struct rig *r = rig_create(8000 * 3, 1);

	rig_lay_bytes(r, NULL, 2 * TDM_FRAME_BYTES);
	rig_feed(r, 1, 1);
	rig_gap(r, 1, TDM_LOSS_BOARD_FIFO);
	tdm_deframe_stats(r->d, &behind);
	assert_int_equal(behind.hunted_bytes, TDM_FRAME_BYTES);
	rig_lay_bytes(r, NULL, 4000);
	rig_lay(r, 8);
	rig_feed(r, 6, RIG_ALL);
	tdm_deframe_stats(r->d, &before);
	assert_int_equal(before.state, TDM_LOCKED);
	rig_gap(r, 1, TDM_LOSS_BOARD_FIFO);
	tdm_deframe_stats(r->d, &behind);
	assert_int_equal(behind.hunted_bytes, before.hunted_bytes);
	rig_destroy(r);
}

/* A false header whose next frame ends some bytes before the window does: frames that begin around there are
 * found, however the stream comes. */
static void test_a_search_that_resumes_at_a_windows_end(void **state)
{
	for (unsigned left = 1; left <= 40; left += 3) {
		for (unsigned start = 29960; start <= 30005; start += 5) {
			struct rig *r[2];

			for (unsigned i = 0; i < 2; i++) {
				uint8_t header[TDM_HEADER_BYTES];

				r[i] = rig_create(8000 * 3, left);
				rig_lay(r[i], 1);
				memcpy(header, r[i]->stream, sizeof(header));
				rig_cut(r[i], TDM_FRAME_BYTES);
				rig_lay_bytes(r[i], NULL, TDM_FRAME_BYTES - left);
				rig_lay_bytes(r[i], header, sizeof(header));
				rig_lay_bytes(r[i], NULL, start - r[i]->bytes);
				rig_lay(r[i], 6);
				rig_lay_bytes(r[i], NULL, TDM_FRAME_BYTES);
				rig_feed(r[i], RIG_ALL, i ? 3 : RIG_ALL);
				assert_int_equal(r[i]->goods, 3);
			}
			assert_int_equal(r[0]->verdicts, r[1]->verdicts);
			for (unsigned n = 0; n < r[0]->verdicts; n++) {
				assert_int_equal(r[0]->log[n].loss, r[1]->log[n].loss);
			}
			rig_destroy(r[0]);
			rig_destroy(r[1]);
		}
	}
}

static void test_a_deframer_gives_its_memory_back(void **state)
{
	size_t memory = 0;

	for (unsigned i = 0; i < 20; i++) {
		memory = i == 10 ? mallinfo2().uordblks : memory;
		tdm_deframe_destroy(tdm_deframe_create(8));
	}
	assert_int_equal(mallinfo2().uordblks, memory);
}

static void no_loss(void *context, const struct tdm_verdict *v)
{
}

static void gap_that_is_good(void *d)
{
	tdm_deframe_gap(d, 1, 5, TDM_GOOD, no_loss, NULL);
}

static void gap_without_name(void *d)
{
	tdm_deframe_gap(d, 1, 5, TDM_LOSSES, no_loss, NULL);
}

static void test_a_gap_without_a_loss_is_our_bug(void **state)
{
	struct tdm_deframe *d = tdm_deframe_create(8);

	assert_true(dies(gap_that_is_good, d));
	assert_true(dies(gap_without_name, d));
	tdm_deframe_destroy(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gap_in_step),
		cmocka_unit_test(test_gap_cuts_straddling),
		cmocka_unit_test(test_link_down),
		cmocka_unit_test(test_dark),
		cmocka_unit_test(test_gaps_between_two_cells),
		cmocka_unit_test(test_floor_frame),
		cmocka_unit_test(test_before_count_0),
		cmocka_unit_test(test_headers_of_the_lost),
		cmocka_unit_test(test_who),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_resume_outdated),
		cmocka_unit_test(test_resume_refused),
		cmocka_unit_test(test_hole),
		cmocka_unit_test(test_count_of_a_dead_board),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_number_8000_is_none),
		cmocka_unit_test(test_a_reset_forgets_the_numbering),
		cmocka_unit_test(test_bytes_are_hunted_outside_of_a_lock_only),
		cmocka_unit_test(test_a_search_that_resumes_at_a_windows_end),
		cmocka_unit_test(test_a_deframer_gives_its_memory_back),
		cmocka_unit_test(test_a_gap_without_a_loss_is_our_bug),
	};

	struct CMUnitTest by_rule[COUNT(rules)];
	int failed;

	for (unsigned i = 0; i < COUNT(rules); i++) {
		by_rule[i] = (struct CMUnitTest){
			.name = rules[i].name,
			.test_func = test_rule,
			.initial_state = (void *)(uintptr_t)&rules[i],
		};
	}
	failed = cmocka_run_group_tests_name("tdm deframer, rule by rule", by_rule, NULL, NULL);
	return failed + cmocka_run_group_tests_name("tdm deframer", tests, NULL, NULL);
}
