/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spans out and back: the cursor goes over what is settled and over nothing else; what was acknowledged
 * beyond it is remembered, exactly, through any number of deaths; the rows come out as if nobody had
 * died.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/data/ack_tracker.h"
#include "tests/unit/rig/dies.h"
#include "tests/unit/rig/balances.h"

#define B      80u
#define START  (8000ull * 50)
#define SPANS  600u
#define GROUPS 2u

static const struct owner_config config = {
	.groups = GROUPS,
	.group_streams = {1u << FCM_PMT, 1u << FCM_PMT | 1u << FCM_HYDROPHONE,
			  7 /* there is no third group */},
};

static bool has_room(const struct ack_tracker *s)
{
	return ack_tracker_out(s) < SETTLE_SPANS;
}

static uint64_t dice;
static uint32_t roll(uint32_t n)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(dice >> 33) % n;
}

static bool takes(unsigned stream, unsigned group)
{
	return config.group_streams[group] & 1u << stream;
}

/* Lengths of the blocks of a life's slices. */
struct lengths {
	unsigned slices;
	uint32_t frames;
};
static const struct lengths one_length[] = {{1000, B}},
			    many_lengths[] = {{3, B},	 {2, 16}, {1, 1600},
					      {10, 320}, {7, 40}, {1000, B}};
static const struct lengths *lengths = one_length;

/* Where span n begins; how long it is. */
static uint64_t first_of(unsigned n, uint32_t *ret_frames)
{
	const struct lengths *of = lengths;
	uint64_t frame = START;

	while (n >= of->slices * 1600 / of->frames) {
		n -= of->slices * 1600 / of->frames;
		frame += (uint64_t)of->slices * 1600;
		of++;
	}
	*ret_frames = of->frames;
	return frame + (uint64_t)n * of->frames;
}

/* Span n: block n, cells 4 behind; some are gaps or split blocks. */
static struct assembled span_of(unsigned n)
{
	uint32_t frames;
	uint64_t first = first_of(n, &frames);
	struct assembled s = {
		.first_frame = first,
		.frames = frames,
		.tower = 1,
		.floor = 2,
		.first_count = first + 4,
		.end_count = first + frames + 4,
		.gap = n % 97 == 50,
		.split = n % 61 == 33,
		.tail_loss = n % 10 == 3 ? TDM_LOSS_CRC : TDM_GOOD,
		.tail_cells = n % 10 == 3 ? 5 : frames,
	};
	uint64_t second = s.first_count / 8000;

	s.first_second = second;
	for (uint64_t c = s.first_count; c < s.end_count; c++) {
		bool bad = s.tail_loss != TDM_GOOD && c + 5 >= s.end_count;

		s.verdicts[c / 8000 - second][bad ? TDM_LOSS_CRC : TDM_GOOD]++;
	}
	s.behind = (struct assemble_point){
		.count = s.end_count,
		.frame = s.first_frame + frames,
		.delay = 4,
		.delay_known = 1,
		.tower = 1,
		.floor = 2,
	};
	return s;
}

static struct {
	uint32_t cells[16], good[16], offered[16], done[16];
	bool closed[16];
} rows;

static void on_link(void *context, const struct ledger_link_row *row)
{
	unsigned i = (unsigned)(row->second - START / 8000);

	assert_false(rows.closed[i]);
	assert_true(ledger_link_balances(row));
	rows.closed[i] = true;
	rows.cells[i] = row->cells;
	rows.good[i] = row->verdicts[TDM_GOOD];
}

static void on_stream(void *context, const struct ledger_stream_row *row)
{
	unsigned i = (unsigned)(row->second - START / 8000);

	assert_true(ledger_stream_balances(row));
	assert_int_equal(row->in_flight, 0);
	assert_true(takes(row->stream, row->group));
	rows.offered[i] += row->offered;
	rows.done[i] += row->outcome[OUTCOME_ACKED];
}

static const struct ledger_sink sink = {on_stream, on_link, NULL};

/* The span may go out: the account has its length, or takes it. It takes it as soon as the cursor
 * has reached the previous change, and not earlier. */
static bool has_length(struct ack_tracker *s, const struct assembled *span)
{
	const struct owner_account *a = ack_tracker_account(s);
	uint64_t changed = a->change_frame;

	if (account_block_frames(a, span->first_frame) == span->frames) {
		return true;
	}
	assert_int_equal(
		account_change_length(ack_tracker_change(s), span->first_frame, span->frames),
		a->cursor.frame >= changed);
	return a->cursor.frame >= changed;
}

/* One life: goes on from the account, dies at any time (or ends when all is settled). */
static bool live(struct owner_account *account, uint8_t acked[SPANS][FCM_STREAMS][GROUPS],
		 unsigned steps)
{
	struct ack_tracker *s = ack_tracker_create(1, &config);
	uint8_t out[SPANS][FCM_STREAMS];
	unsigned first = 0, next;
	bool all;

	while (account->cursor.count && span_of(first).first_frame < account->cursor.frame) {
		first++;
	}
	next = first;

	memset(out, 0, sizeof(out));
	ack_tracker_begin(s, 3, account);
	while (steps-- > 0) {
		if (next < SPANS && next - first < 300 && roll(3) == 0) {
			struct assembled span = span_of(next);

			if (!has_length(s, &span)) {
				continue;
			}
			for (unsigned st = 0; st < FCM_STREAMS; st++) {
				for (unsigned g = 0; g < GROUPS; g++) {
					bool plain = !span.gap && !span.split;

					/* Nothing is remembered that was not acknowledged. */
					if (ack_tracker_acked(s, &span, st, g)) {
						assert_true(acked[next][st][g] && plain);
						acked[next][st][g] = 2;
					} else {
						assert_false(acked[next][st][g] && plain);
					}
				}
				out[next][st] = 1;
			}
			assert_int_equal(ack_tracker_push(s, &span, 7), next - first);
			next++;
		} else if (next > first) {
			unsigned n = next - 1 - roll(next - first < 40 ? next - first : 40);
			unsigned st = roll(FCM_STREAMS);
			uint8_t outcome[GROUPS_MAX] = {0};

			if (!out[n][st]) {
				continue;
			}
			out[n][st] = 0;
			for (unsigned g = 0; g < GROUPS; g++) {
				outcome[g] = acked[n][st][g] == 2 || roll(3) ? OUTCOME_ACKED
									     : OUTCOME_DROP_SLOW;
				/* Before the first block is settled there is nothing to count from. */
				if (takes(st, g) && outcome[g] == OUTCOME_ACKED &&
				    ack_tracker_account(s)->cursor.count > 0) {
					acked[n][st][g] = 1;
				}
			}
			ack_tracker_block(s, n - first, st, outcome);
			ack_tracker_block(s, n - first, st, outcome); /* twice: nothing happens */
		}
		ack_tracker_advance(s, NULL, NULL);
		ledger_close(ack_tracker_ledger(s), ack_tracker_second(s), &sink);
		ack_tracker_pack(s);
		*account = *ack_tracker_account(s);
	}
	all = account->cursor.count && account->cursor.frame == span_of(SPANS).first_frame;
	ack_tracker_destroy(s);
	return all;
}

static void lives_of(const struct lengths *of)
{
	uint64_t end;

	lengths = of;
	end = span_of(SPANS).first_frame;
	for (unsigned seed = 0; seed < 20; seed++) {
		static uint8_t acked[SPANS][FCM_STREAMS][GROUPS];
		struct owner_account account;
		unsigned lives = 0;

		dice = seed + 1;
		account_begin(&account, B);
		memset(acked, 0, sizeof(acked));
		memset(&rows, 0, sizeof(rows));
		while (!live(&account, acked, 50 + roll(6000))) {
			assert_true(++lives < 3000);
			/* What is before the cursor is done with; bits beyond speak of the rest. */
		}
		for (unsigned i = 0; i < (end - START) / 8000; i++) {
			assert_true(rows.closed[i]);
			assert_int_equal(rows.cells[i], i == 0 ? 7996 : 8000);
			assert_true(of != one_length || rows.cells[i] - rows.good[i] == 50);
			assert_int_equal(rows.offered[i], 3 * 8000);
		}
	}
	lengths = one_length;
}

static void test_lives(void **state)
{
	lives_of(one_length);
}

/* Daemons with other block lengths: acknowledgements beyond the cursor are still remembered. */
static void test_lives_with_other_lengths(void **state)
{
	lives_of(many_lengths);
}

static void test_change_of_length(void **state)
{
	struct owner_account a;

	account_begin(&a, 80);
	assert_int_equal(account_block_frames(&a, 0), 80);
	assert_int_equal(account_block_frames(&a, UINT64_MAX), 80);
	a.cursor.frame = 16080;
	assert_false(account_change_length(&a, 17600, 80));
	assert_true(account_change_length(&a, 17600, 8));
	assert_int_equal(account_block_frames(&a, 17599), 80);
	assert_int_equal(account_block_frames(&a, 17600), 8);
	assert_false(account_change_length(&a, 19200, 320)); /* one at a time */
	assert_int_equal(account_block_frames(&a, 19200), 8);
	a.cursor.frame = 17600;
	assert_true(account_change_length(&a, 19200, 1600));
	assert_int_equal(account_block_frames(&a, 17600), 8);
	assert_int_equal(account_block_frames(&a, 19200), 1600);
}

/* The first account has no cursor: nothing can be remembered, and nothing is. */
static void test_before_the_first(void **state)
{
	struct owner_account account;
	struct ack_tracker *s = ack_tracker_create(1, &config);
	uint8_t outcome[GROUPS_MAX] = {OUTCOME_ACKED, OUTCOME_ACKED};
	struct assembled span;

	account_begin(&account, B);
	ack_tracker_begin(s, 3, &account);
	for (unsigned n = 0; n < 3; n++) {
		span = span_of(n);
		ack_tracker_push(s, &span, 7);
	}
	ack_tracker_block(s, 2, FCM_PMT, outcome);
	assert_false(ack_tracker_advance(s, NULL, NULL));
	span = span_of(2);
	assert_false(ack_tracker_acked(s, &span, FCM_PMT, 0));
	for (unsigned st = 0; st < FCM_STREAMS; st++) {
		ack_tracker_block(s, 0, st, outcome);
	}
	assert_true(ack_tracker_advance(s, NULL, NULL));
	ack_tracker_block(s, 1, FCM_PMT, outcome);
	span = span_of(1);
	assert_true(ack_tracker_acked(s, &span, FCM_PMT, 0));
	assert_false(ack_tracker_acked(s, &span, FCM_HYDROPHONE, 1));
	assert_false(ack_tracker_acked(s, &span, FCM_HYDROPHONE, 0)); /* does not take it */
	ack_tracker_destroy(s);
	ack_tracker_destroy(NULL);
}

/* Blocks that nobody claims to have offered leave the row all the same, by a name. */
static void test_nonsense_outcome(void **state)
{
	struct owner_account account;
	struct ack_tracker *s = ack_tracker_create(1, &config);
	uint8_t outcome[GROUPS_MAX] = {OUTCOME_NOT_OFFERED, OUTCOMES};
	struct assembled span = span_of(0);

	account_begin(&account, B);
	ack_tracker_begin(s, 3, &account);
	ack_tracker_push(s, &span, 7);
	for (unsigned st = 0; st < FCM_STREAMS; st++) {
		ack_tracker_block(s, 0, st, outcome);
	}
	ack_tracker_block(s, 77, 0, outcome); /* no such span */
	assert_true(ack_tracker_advance(s, NULL, NULL));
	assert_int_equal(ack_tracker_ledger(s)
				 ->streams[START / 8000 % LEDGER_SECONDS][FCM_PMT][0]
				 .outcome[OUTCOME_DROP_NO_MEMBER],
			 B);
	ack_tracker_destroy(s);
}

static void test_labels_and_runs(void **state)
{
	struct owner_account a;
	struct label label;

	memset(&a, 0, sizeof(a));
	memset(&label, 0, sizeof(label));
	assert_int_equal(account_label(&a, 5)->anchor_tai_ns, FCM_NO_TAI);
	assert_int_equal(account_run(&a, 5), 0);
	for (unsigned i = 1; i <= 6; i++) {
		label.time_epoch = i;
		account_add_label(&a, i * 100, &label);
		account_add_label(&a, i * 100 + 1, &label); /* the same again is none */
	}
	assert_int_equal(a.labels, OWNER_LABELS);
	assert_int_equal(account_label(&a, 650)->time_epoch, 6);
	assert_int_equal(account_label(&a, 599)->time_epoch, 5);
	assert_int_equal(account_label(&a, 100)->time_epoch, 1); /* the oldest is kept */
	label.time_epoch = 7;
	account_add_label(&a, 600, &label); /* no block has had the last one */
	assert_int_equal(account_label(&a, 600)->time_epoch, 7);
	assert_int_equal(account_label(&a, 599)->time_epoch, 5);
	for (unsigned i = 0; i < OWNER_RUNS; i++) {
		assert_true(account_add_run(&a, i * 1600, i + 10, 0));
	}
	assert_false(account_add_run(&a, 9999, 1, 0));
	assert_int_equal(account_run(&a, 1599), 10);
	assert_int_equal(account_run(&a, 1600), 11);
	assert_int_equal(account_run(&a, UINT64_MAX), 10 + OWNER_RUNS - 1);
}

/* ------------------------------------------------------------------------- cells and their losses */

#define SECOND 50u /* of START */

/* Cells [first, end), of no block, of which the last `lost` were lost as `loss`. */
static struct assembled cells_of(uint64_t first, uint64_t end, enum tdm_loss loss, uint32_t lost)
{
	return (struct assembled){
		.tower = 1,
		.floor = 2,
		.first_count = first,
		.end_count = end,
		.first_second = first / 8000,
		.tail_loss = (uint8_t)loss,
		.tail_cells = lost,
		.behind = {.count = end, .frame = end},
	};
}

static struct ack_tracker *started(void)
{
	struct ack_tracker *s = ack_tracker_create(1, &config);
	struct owner_account account;

	assert_non_null(s);
	account_begin(&account, B);
	account.cursor.count = account.cursor.frame = START;
	ack_tracker_begin(s, 3, &account);
	return s;
}

static void go_over(struct ack_tracker *s, const struct assembled *span)
{
	ack_tracker_push(s, span, 0);
	assert_true(ack_tracker_advance(s, NULL, NULL));
}

static void come_back(struct ack_tracker *s, uint64_t number)
{
	uint8_t outcome[GROUPS_MAX];

	memset(outcome, OUTCOME_ACKED, sizeof(outcome));
	for (unsigned st = 0; st < FCM_STREAMS; st++) {
		ack_tracker_block(s, number, st, outcome);
	}
}

static void test_a_loss_over_many_spans_is_one_run(void **state)
{
	static const struct {
		unsigned first, end, loss, lost;
		bool hole;
		unsigned run_loss, run_first, run_frames;
	} table[] = {
		{0, 80, TDM_LOSS_CRC, 30, false, TDM_LOSS_CRC, 50, 30},
		{80, 160, TDM_LOSS_CRC, 80, false, TDM_LOSS_CRC, 50, 110},
		{160, 240, TDM_LOSS_CRC, 80, false, TDM_LOSS_CRC, 50, 190},
		{240, 240, TDM_GOOD, 0, false, TDM_LOSS_CRC, 50, 190}, /* no cell and no end */
		{240, 320, TDM_LOSS_CRC, 10, false, TDM_LOSS_CRC, 310, 10},
		{320, 400, TDM_LOSS_ALIGNMENT, 80, false, TDM_LOSS_ALIGNMENT, 320, 80},
		{400, 480, TDM_GOOD, 80, false, TDM_GOOD, 0, 0},
		{480, 560, TDM_LOSS_CRC, 80, false, TDM_LOSS_CRC, 480, 80},
		{560, 640, TDM_LOSS_CRC, 80, true, TDM_GOOD, 0, 0},
		{640, 720, TDM_LOSS_CRC, 80, false, TDM_LOSS_CRC, 640, 80},
		{720, 720, TDM_LOSS_CRC, 0, true, TDM_GOOD, 0, 0},
	};
	struct ack_tracker *s = started();

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct assembled span = cells_of(START + table[i].first, START + table[i].end,
						 table[i].loss, table[i].lost);
		const struct owner_account *a = ack_tracker_account(s);

		span.hole = table[i].hole;
		go_over(s, &span);
		assert_int_equal(a->loss, table[i].run_loss);
		assert_int_equal(a->loss_first,
				 table[i].run_frames ? START + table[i].run_first : 0);
		assert_int_equal(a->loss_frames, table[i].run_frames);
	}
	ack_tracker_destroy(s);
}

/* A second is partial where the count jumps out of it or into it. */
static void test_seconds_that_a_jump_cuts_are_partial(void **state)
{
	static const struct {
		bool hole;
		unsigned end, behind;
		bool partial[4];
	} table[] = {
		{true, 100, 16007, {true, false, true, false}},
		{true, 8000, 16007, {false, false, true, false}},
		{true, 100, 24000, {true, false, false, false}},
		{true, 8000, 24000, {false, false, false, false}},
		{false, 100, 100, {false, false, false, false}},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct assembled span = cells_of(START, START + table[i].end, TDM_GOOD, 0);
		struct ack_tracker *s = started();

		span.hole = table[i].hole;
		span.behind.count = START + table[i].behind;
		go_over(s, &span);
		for (unsigned n = 0; n < 4; n++) {
			assert_int_equal(
				ack_tracker_ledger(s)->links[(SECOND + n) % LEDGER_SECONDS].partial,
				table[i].partial[n]);
		}
		ack_tracker_destroy(s);
	}
}

static void test_rows_name_the_floor_of_the_span(void **state)
{
	struct assembled span = cells_of(START, START + 80, TDM_GOOD, 0);
	struct ack_tracker *s = started();
	const struct ledger_link_row *row = &ack_tracker_ledger(s)->links[SECOND % LEDGER_SECONDS];

	span.tower = 4;
	span.floor = 6;
	go_over(s, &span);
	assert_int_equal(row->tower, 4);
	assert_int_equal(row->floor, 6);
	ack_tracker_destroy(s);
}

/* ------------------------------------------------------------------------------------ successors */

/* Memory beyond the rows of the account is not read. */
static void test_a_successor_takes_the_rows_and_no_more(void **state)
{
	struct owner_account account = {
		.cursor = {.count = 8000 * 3 + 500, .frame = 8000 * 3, .tower = 1, .floor = 7},
		.link_rows = 1,
		.stream_rows = 1,
		.link_row = {{.second = 3, .cells = 500, .verdicts = {500}, .tower = 1, .floor = 2},
			     {.second = 2, .cells = 77}},
		.stream_row = {{.second = 3, .offered = 80, .outcome = {80}, .stream = FCM_PMT},
			       {.second = 2, .offered = 7, .outcome = {7}, .stream = FCM_PMT}},
	};
	struct ack_tracker *s = ack_tracker_create(1, &config);
	const struct ledger *l = ack_tracker_ledger(s);

	ack_tracker_begin(s, 3, &account);
	assert_int_equal(l->links[3].cells, 500);
	assert_int_equal(l->links[3].restarts, 1);
	assert_int_equal(l->links[3].floor, 7);
	assert_int_equal(l->streams[3][FCM_PMT][0].offered, 80);
	assert_int_equal(l->links[2].cells, 0);
	assert_int_equal(l->streams[2][FCM_PMT][0].offered, 0);
	ack_tracker_destroy(s);
}

/* A full list is valid; a longer one than possible is not. */
static void test_lists_of_impossible_length_are_dropped(void **state)
{
	static const struct {
		uint8_t labels, runs;
		bool kept;
	} table[] = {
		{OWNER_LABELS, OWNER_RUNS, true},
		{OWNER_LABELS + 1, OWNER_RUNS, false},
		{OWNER_LABELS, OWNER_RUNS + 1, false},
	};
	struct ack_tracker *s = ack_tracker_create(1, &config);

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct owner_account account = {.labels = table[i].labels, .runs = table[i].runs};

		ack_tracker_begin(s, 3, &account);
		assert_int_equal(ack_tracker_account(s)->labels, table[i].kept ? OWNER_LABELS : 0);
		assert_int_equal(ack_tracker_account(s)->runs, table[i].kept ? OWNER_RUNS : 0);
	}
	ack_tracker_destroy(s);
}

/* A gap of `blocks` goes out behind block `at`, then block after block; some are acknowledged. */
#define REACH (OWNER_ACKED * 64 / 3) /* blocks: three pairs of stream and group take part */
#define FAR   25000u

static bool acked_blocks[FAR][FCM_STREAMS];

static void jump(struct ack_tracker *s, unsigned at, unsigned blocks)
{
	static const uint8_t outcome[GROUPS_MAX] = {OUTCOME_ACKED, OUTCOME_ACKED};
	struct assembled span = {.gap = true,
				 .first_frame = START + (uint64_t)at * B,
				 .frames = blocks * B,
				 .behind = {.count = START + 1}};

	span.behind.frame = span.first_frame + span.frames;
	ack_tracker_push(s, &span, 0);
	span = span_of(0);
	for (unsigned block = at + blocks; block < at + blocks + 1000; block++) {
		unsigned st = roll(FCM_STREAMS);
		uint64_t number;

		span.first_frame = START + (uint64_t)block * B;
		number = ack_tracker_push(s, &span, 7);
		if (roll(2)) {
			ack_tracker_block(s, number, st, outcome);
			acked_blocks[block][st] |= block < at + REACH;
		}
	}
	assert_true(ack_tracker_advance(s, NULL, NULL));
}

static void test_acknowledged_is_what_was_however_far_the_cursor_jumps(void **state)
{
	static const unsigned jumps[] = {0,   1,   7,	21,    22,	64,	 100, 128,
					 405, 640, 809, REACH, 811,	5000,	 1,   63,
					 300, 2,   1,	REACH, 85 * 64, 86 * 64, 1,   500};
	struct ack_tracker *s = started();
	unsigned at = 0;

	dice = 5;
	for (size_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
		struct assembled span = span_of(0);
		struct owner_account account;

		jump(s, at, jumps[i]);
		at += jumps[i];
		for (unsigned block = at; block < at + REACH + 100; block++) {
			span.first_frame = START + (uint64_t)block * B;
			for (unsigned st = 0; st < FCM_STREAMS; st++) {
				for (unsigned g = 0; g < GROUPS; g++) {
					assert_int_equal(ack_tracker_acked(s, &span, st, g),
							 takes(st, g) && acked_blocks[block][st]);
				}
			}
		}
		account = *ack_tracker_account(s);
		ack_tracker_destroy(s);
		s = ack_tracker_create(1, &config);
		ack_tracker_begin(s, 3, &account);
	}
	ack_tracker_destroy(s);
}

/* --------------------------------------------------------------------------------- room, and ends */

static void push_one_more(void *s)
{
	const struct assembled span = span_of(0);

	ack_tracker_push(s, &span, 0);
}

static void begin_too_early(void *s)
{
	const struct owner_account fresh = {0};

	ack_tracker_begin(s, 4, &fresh);
}

static void test_as_many_spans_as_there_is_room_for_are_out(void **state)
{
	static const uint8_t outcome[GROUPS_MAX] = {OUTCOME_ACKED, OUTCOME_ACKED};
	struct assembled span = span_of(0);
	struct ack_tracker *s = started();

	for (unsigned n = 0; n < SETTLE_SPANS; n++) {
		assert_true(has_room(s));
		assert_int_equal(ack_tracker_out(s), n);
		ack_tracker_push(s, &span, 1u << FCM_PMT);
	}
	assert_false(has_room(s));
	assert_true(dies(push_one_more, s));
	assert_true(dies(begin_too_early, s));
	ack_tracker_block(s, SETTLE_SPANS, FCM_PMT, outcome); /* not out: no other one is settled */
	assert_false(ack_tracker_advance(s, NULL, NULL));
	for (unsigned n = 0; n < 10; n++) {
		ack_tracker_block(s, n, FCM_PMT, outcome);
		assert_true(ack_tracker_advance(s, NULL, NULL));
		assert_true(has_room(s));
		assert_int_equal(ack_tracker_out(s), SETTLE_SPANS - 1);
		ack_tracker_push(s, &span, 1u << FCM_PMT);
		assert_false(has_room(s));
	}
	ack_tracker_destroy(s);
}

/* More seconds and pairs than the account has places for: the oldest are in it. */
static void test_the_account_holds_what_it_has_room_for(void **state)
{
	static const struct owner_config all = {.groups = GROUPS_MAX,
						.group_streams = {7, 7, 7, 7}};
	struct ack_tracker *s = ack_tracker_create(0, &all);
	const struct owner_account *a = ack_tracker_account(s);
	struct owner_account fresh = {0};

	ack_tracker_begin(s, 3, &fresh);
	for (unsigned n = 0; n < 6; n++) {
		struct assembled span =
			cells_of(START + n * 8000, START + (n + 1) * 8000, TDM_GOOD, 8000);

		span.first_frame = span.first_count;
		span.frames = 8000;
		come_back(s, ack_tracker_push(s, &span, 7));
		assert_true(ack_tracker_advance(s, NULL, NULL));
	}
	ack_tracker_pack(s);
	assert_int_equal(a->link_rows, OWNER_LINK_ROWS);
	assert_int_equal(a->stream_rows, 2 * OWNER_PAIRS);
	for (unsigned i = 0; i < OWNER_LINK_ROWS; i++) {
		assert_int_equal(a->link_row[i].second, SECOND + i);
		assert_int_equal(a->link_row[i].cells, 8000);
	}
	for (unsigned i = 0; i < 2 * OWNER_PAIRS; i++) {
		assert_int_equal(a->stream_row[i].second, SECOND + i / OWNER_PAIRS);
		assert_int_equal(a->stream_row[i].outcome[0], 8000);
	}
	ack_tracker_destroy(s);
}

/* ---------------------------------------------------------------------------------------- history */

/* The label and the run of the block before the cursor are kept, and so is a run not yet reported. */
static void test_history_goes_when_the_cursor_has_left_it(void **state)
{
	struct assembled span = cells_of(START, START + 80, TDM_GOOD, 0);
	struct owner_account account = {.cursor = {.count = START, .frame = START}};
	struct ack_tracker *s = ack_tracker_create(1, &config);
	struct owner_account *a = ack_tracker_change(s);
	struct label label;

	memset(&label, 0, sizeof(label));
	for (unsigned i = 0; i < 3; i++) {
		label.time_epoch = i + 1;
		account_add_label(&account, START + i * 80, &label);
		account_add_run(&account, START + i * 80, i + 1, i + 1);
	}
	ack_tracker_begin(s, 3, &account);
	a->run[2].change = 0;
	go_over(s, &span); /* to the second label's first frame */
	assert_int_equal(a->labels, 3);
	assert_int_equal(a->runs, 3); /* the second run has not been reported */
	a->run[1].change = 0;
	span = cells_of(START + 80, START + 80, TDM_GOOD, 0);
	go_over(s, &span);
	assert_int_equal(a->runs, 2);
	assert_int_equal(account_run(a, START + 80), 2);
	assert_int_equal(account_run(a, START + 160), 3);
	span = cells_of(START + 80, START + 81, TDM_GOOD, 0);
	go_over(s, &span);
	assert_int_equal(a->labels, 2);
	assert_int_equal(account_label(a, START + 80)->time_epoch, 2);
	assert_int_equal(account_label(a, START + 160)->time_epoch, 3);
	for (unsigned n = 2; n < 8; n++) { /* the last ones stay forever */
		span = cells_of(START + n * 80, START + n * 80 + 80, TDM_GOOD, 0);
		go_over(s, &span);
	}
	assert_int_equal(a->labels, 1);
	assert_int_equal(a->runs, 1);
	assert_int_equal(account_label(a, START + 800)->time_epoch, 3);
	assert_int_equal(account_run(a, START + 800), 3);
	ack_tracker_destroy(s);
}

static void test_labels_leave_runs_alone(void **state)
{
	struct owner_account a;
	struct label label;

	memset(&a, 0, sizeof(a));
	memset(&label, 0, sizeof(label));
	for (unsigned i = 0; i < OWNER_RUNS; i++) {
		account_add_run(&a, i * 1600, i + 10, 0);
	}
	for (unsigned i = 0; i < 20; i++) {
		label.time_epoch = i;
		account_add_label(&a, i * 100, &label);
	}
	for (unsigned i = 0; i < OWNER_RUNS; i++) {
		assert_int_equal(account_run(&a, i * 1600), i + 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lives),
		cmocka_unit_test(test_lives_with_other_lengths),
		cmocka_unit_test(test_change_of_length),
		cmocka_unit_test(test_before_the_first),
		cmocka_unit_test(test_nonsense_outcome),
		cmocka_unit_test(test_labels_and_runs),
		cmocka_unit_test(test_a_loss_over_many_spans_is_one_run),
		cmocka_unit_test(test_seconds_that_a_jump_cuts_are_partial),
		cmocka_unit_test(test_rows_name_the_floor_of_the_span),
		cmocka_unit_test(test_a_successor_takes_the_rows_and_no_more),
		cmocka_unit_test(test_lists_of_impossible_length_are_dropped),
		cmocka_unit_test(test_acknowledged_is_what_was_however_far_the_cursor_jumps),
		cmocka_unit_test(test_as_many_spans_as_there_is_room_for_are_out),
		cmocka_unit_test(test_the_account_holds_what_it_has_room_for),
		cmocka_unit_test(test_history_goes_when_the_cursor_has_left_it),
		cmocka_unit_test(test_labels_leave_runs_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
