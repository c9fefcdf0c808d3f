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

#include "daemon/settle.h"

#define B      80u
#define START  (8000ull * 50)
#define SPANS  600u
#define GROUPS 2u

static const struct settle_config config = {
	.link = 1,
	.owner = {.block_frames = B,
		  .gap_frames = 1600,
		  .groups = GROUPS,
		  .group_streams = {1u << FCM_PMT, 1u << FCM_PMT | 1u << FCM_HYDROPHONE}},
};

static uint64_t dice;
static uint32_t roll(uint32_t n)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(dice >> 33) % n;
}

static bool takes(unsigned stream, unsigned group)
{
	return config.owner.group_streams[group] & 1u << stream;
}

/* Span n: block n, cells 4 behind; some are gaps or split blocks. */
static struct assembled span_of(unsigned n)
{
	struct assembled s = {
		.first_frame = START + (uint64_t)n * B,
		.frames = B,
		.tower = 1,
		.floor = 2,
		.first_count = START + (uint64_t)n * B + 4,
		.end_count = START + (uint64_t)(n + 1) * B + 4,
		.gap = n % 97 == 50,
		.split = n % 61 == 33,
		.tail_loss = n % 10 == 3 ? TDM_LOSS_CRC : TDM_GOOD,
		.tail_cells = n % 10 == 3 ? 5 : B,
	};
	uint64_t second = s.first_count / 8000;

	s.first_second = second;
	for (uint64_t c = s.first_count; c < s.end_count; c++) {
		bool bad = s.tail_loss != TDM_GOOD && c + 5 >= s.end_count;

		s.verdicts[c / 8000 - second][bad ? TDM_LOSS_CRC : TDM_GOOD]++;
	}
	s.behind = (struct assemble_point){
		.count = s.end_count,
		.frame = s.first_frame + B,
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

	(void)context;
	assert_false(rows.closed[i]);
	assert_true(ledger_link_balances(row));
	rows.closed[i] = true;
	rows.cells[i] = row->cells;
	rows.good[i] = row->verdicts[TDM_GOOD];
}

static void on_stream(void *context, const struct ledger_stream_row *row)
{
	unsigned i = (unsigned)(row->second - START / 8000);

	(void)context;
	assert_true(ledger_stream_balances(row));
	assert_int_equal(row->in_flight, 0);
	assert_true(takes(row->stream, row->group));
	rows.offered[i] += row->offered;
	rows.done[i] += row->outcome[OUTCOME_ACKED];
}

static const struct ledger_sink sink = {on_stream, on_link, NULL};

/* One life: goes on from the account, dies at any time (or ends when all is settled). */
static bool live(struct owner_account *account, uint8_t acked[SPANS][FCM_STREAMS][GROUPS],
		 unsigned steps)
{
	struct settle *s = settle_create(&config);
	unsigned first =
		account->cursor.count ? (unsigned)((account->cursor.frame - START) / B) : 0;
	unsigned next = first;
	uint8_t out[SPANS][FCM_STREAMS];
	bool all;

	memset(out, 0, sizeof(out));
	settle_begin(s, 3, account);
	while (steps-- > 0) {
		if (next < SPANS && next - first < 300 && roll(3) == 0) {
			struct assembled span = span_of(next);

			for (unsigned st = 0; st < FCM_STREAMS; st++) {
				for (unsigned g = 0; g < GROUPS; g++) {
					bool plain = !span.gap && !span.split;

					/* Nothing is remembered that was not acknowledged. */
					if (settle_acked(s, &span, st, g)) {
						assert_true(acked[next][st][g] && plain);
						acked[next][st][g] = 2;
					} else {
						assert_false(acked[next][st][g] && plain);
					}
				}
				out[next][st] = 1;
			}
			assert_int_equal(settle_push(s, &span, 7), next - first);
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
				    settle_account(s)->cursor.count > 0) {
					acked[n][st][g] = 1;
				}
			}
			settle_block(s, n - first, st, outcome);
			settle_block(s, n - first, st, outcome); /* twice: nothing happens */
		}
		settle_advance(s, NULL, NULL);
		ledger_close(settle_ledger(s), settle_second(s), &sink);
		settle_pack(s);
		*account = *settle_account(s);
	}
	all = account->cursor.count && account->cursor.frame == START + (uint64_t)SPANS * B;
	settle_destroy(s);
	return all;
}

static void test_lives(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 20; seed++) {
		static uint8_t acked[SPANS][FCM_STREAMS][GROUPS];
		struct owner_account account;
		unsigned lives = 0;

		dice = seed + 1;
		memset(&account, 0, sizeof(account));
		memset(acked, 0, sizeof(acked));
		memset(&rows, 0, sizeof(rows));
		while (!live(&account, acked, 50 + roll(6000))) {
			assert_true(++lives < 3000);
			/* What is before the cursor is done with; bits beyond speak of the rest. */
		}
		for (unsigned i = 0; i < SPANS * B / 8000; i++) {
			assert_true(rows.closed[i]);
			assert_int_equal(rows.cells[i], i == 0 ? 7996 : 8000);
			assert_int_equal(rows.cells[i] - rows.good[i], 50);
			assert_int_equal(rows.offered[i], 3 * 8000);
		}
	}
}

/* The first account has no cursor: nothing can be remembered, and nothing is. */
static void test_before_the_first(void **state)
{
	struct owner_account account;
	struct settle *s = settle_create(&config);
	uint8_t outcome[GROUPS_MAX] = {OUTCOME_ACKED, OUTCOME_ACKED};
	struct assembled span;

	(void)state;
	memset(&account, 0, sizeof(account));
	settle_begin(s, 3, &account);
	for (unsigned n = 0; n < 3; n++) {
		span = span_of(n);
		settle_push(s, &span, 7);
	}
	settle_block(s, 2, FCM_PMT, outcome);
	assert_false(settle_advance(s, NULL, NULL));
	span = span_of(2);
	assert_false(settle_acked(s, &span, FCM_PMT, 0));
	for (unsigned st = 0; st < FCM_STREAMS; st++) {
		settle_block(s, 0, st, outcome);
	}
	assert_true(settle_advance(s, NULL, NULL));
	settle_block(s, 1, FCM_PMT, outcome);
	span = span_of(1);
	assert_true(settle_acked(s, &span, FCM_PMT, 0));
	assert_false(settle_acked(s, &span, FCM_HYDROPHONE, 1));
	assert_false(settle_acked(s, &span, FCM_HYDROPHONE, 0)); /* does not take it */
	settle_destroy(s);
	settle_destroy(NULL);
}

/* Blocks that nobody claims to have offered leave the row all the same, by a name. */
static void test_nonsense_outcome(void **state)
{
	struct owner_account account;
	struct settle *s = settle_create(&config);
	uint8_t outcome[GROUPS_MAX] = {OUTCOME_NOT_OFFERED, 200};
	struct assembled span = span_of(0);

	(void)state;
	memset(&account, 0, sizeof(account));
	settle_begin(s, 3, &account);
	settle_push(s, &span, 7);
	for (unsigned st = 0; st < FCM_STREAMS; st++) {
		settle_block(s, 0, st, outcome);
	}
	settle_block(s, 77, 0, outcome); /* no such span */
	assert_true(settle_advance(s, NULL, NULL));
	assert_int_equal(settle_ledger(s)
				 ->streams[START / 8000 % LEDGER_SECONDS][FCM_PMT][0]
				 .outcome[OUTCOME_DROP_NO_MEMBER],
			 B);
	settle_destroy(s);
}

static void test_labels_and_runs(void **state)
{
	struct owner_account a;
	struct label label;

	(void)state;
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
		assert_true(account_add_run(&a, i * 1600, i + 10));
	}
	assert_false(account_add_run(&a, 9999, 1));
	assert_int_equal(account_run(&a, 1599), 10);
	assert_int_equal(account_run(&a, 1600), 11);
	assert_int_equal(account_run(&a, UINT64_MAX), 10 + OWNER_RUNS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lives),
		cmocka_unit_test(test_before_the_first),
		cmocka_unit_test(test_nonsense_outcome),
		cmocka_unit_test(test_labels_and_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
