/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Losses become runs: what, how many, from where on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/data/losses.h"

static struct seen {
	struct ledger_loss loss[256];
	unsigned losses;
} S;

static void on_loss(void *context, const struct ledger_loss *loss)
{
	S.loss[S.losses++] = *loss;
}

static void test_runs(void **state)
{
	struct losses l;
	struct label label = {.anchor_count = 0, .anchor_tai_ns = 5000};

	memset(&S, 0, sizeof(S));
	losses_init(&l, 2, 4, on_loss, NULL);
	losses_identity(&l, 1, 6);
	for (uint64_t c = 100; c < 110; c++) {
		losses_cell(&l, c, TDM_LOSS_CRC, &label);
	}
	losses_tick(&l, 110, false);
	assert_int_equal(S.losses, 1);
	assert_true(S.loss[0].open);
	assert_int_equal(S.loss[0].frames, 10);
	assert_int_equal(S.loss[0].tai_ns, 5000 + 100 * 125000);
	losses_cell(&l, 110, TDM_LOSS_CRC, &label);
	losses_tick(&l, 111, false);
	assert_int_equal(S.losses, 1); /* told already, still open */
	losses_tick(&l, 111, true);
	assert_int_equal(S.losses, 2);
	losses_tick(&l, 112, false); /* a cell that was not lost */
	assert_int_equal(S.losses, 3);
	assert_false(S.loss[2].open);
	assert_int_equal(S.loss[2].frames, 11);
	assert_int_equal(S.loss[2].floor, 6);
	/* Two reasons, one cell each: each ends with its own. */
	memset(&S, 0, sizeof(S));
	losses_cell(&l, 200, TDM_LOSS_CRC, NULL);
	losses_cell(&l, 201, TDM_LOSS_TIME, NULL);
	losses_cell(&l, 202, TDM_LOSS_CRC, NULL);
	losses_tick(&l, 210, false);
	assert_int_equal(S.losses, 3);
	assert_int_equal(S.loss[0].tai_ns, FCM_NO_TAI);
}

/* Every second cell is lost: few runs are told, and no lost cell is missing in them. */
static void test_crowd(void **state)
{
	struct losses l;
	uint64_t frames = 0;

	memset(&S, 0, sizeof(S));
	losses_init(&l, 2, 4, on_loss, NULL);
	for (uint64_t c = 8000; c < 16000; c += 2) {
		losses_cell(&l, c, TDM_LOSS_CRC, NULL);
		if (c % 16 == 0) {
			losses_tick(&l, c + 2, false);
		}
	}
	losses_tick(&l, 17000, false);
	for (unsigned i = 0; i < S.losses; i++) {
		frames += S.loss[i].open ? 0 : S.loss[i].frames;
	}
	assert_int_equal(frames, 4000);
	assert_true(S.losses <= 2 * LOSSES_PER_SECOND + 2);
}

static void test_restored_run(void **state)
{
	struct losses l;

	memset(&S, 0, sizeof(S));
	losses_init(&l, 2, 4, on_loss, NULL);
	losses_restore(&l, TDM_LOSS_LINK_DOWN, 1000, 3000, 2000);
	losses_cell(&l, 3000, TDM_LOSS_LINK_DOWN, NULL);
	losses_tick(&l, 3002, false);
	assert_int_equal(S.losses, 1);
	assert_int_equal(S.loss[0].first, 1000);
	assert_int_equal(S.loss[0].frames, 2001);
}

static void test_drops(void **state)
{
	struct losses l;

	memset(&S, 0, sizeof(S));
	losses_init(&l, 2, 4, on_loss, NULL);
	for (uint64_t f = 0; f < 800; f += 80) {
		losses_block(&l, FCM_PMT, 1, f, 80, f < 240 ? OUTCOME_ACKED : OUTCOME_DROP_SLOW,
			     NULL);
	}
	losses_tick(&l, 0, false);
	assert_int_equal(S.losses, 1);
	assert_int_equal(S.loss[0].frames, 560);
	losses_block(&l, FCM_PMT, 1, 800, 80, OUTCOME_DROP_NO_MEMBER, NULL);
	losses_block(&l, FCM_PMT, 1, 880, 80, OUTCOME_ACKED, NULL);
	losses_end(&l);
	assert_int_equal(S.losses, 3);
	assert_int_equal(S.loss[1].kind, 1);
	assert_int_equal(S.loss[1].code, OUTCOME_DROP_SLOW);
	assert_int_equal(S.loss[1].first, 240);
	assert_int_equal(S.loss[1].open, 0);
	assert_int_equal(S.loss[2].code, OUTCOME_DROP_NO_MEMBER);
	assert_int_equal(S.loss[2].frames, 80);
}

/* With losses in an odd second, which lies behind the runs of drops in memory. */
static void only_what_is_open_is_ended(void **state)
{
	struct losses l;

	memset(&S, 0, sizeof(S));
	losses_init(&l, 2, 4, on_loss, NULL);
	losses_cell(&l, 1 * 8000 + 5, TDM_LOSS_CRC, NULL);
	losses_block(&l, FCM_STREAMS - 1, GROUPS_MAX - 1, 8000, 80, OUTCOME_DROP_POOL, NULL);
	losses_tick(&l, 8006, true);
	assert_int_equal(S.losses, 2); /* both open */
	losses_end(&l);
	assert_int_equal(S.losses, 4);
	assert_int_equal(S.loss[2].code, TDM_LOSS_CRC);
	assert_int_equal(S.loss[3].stream, FCM_STREAMS - 1);
	assert_int_equal(S.loss[3].group, GROUPS_MAX - 1);
	losses_end(&l);
	assert_int_equal(S.losses, 4); /* once */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_restored_run),
		cmocka_unit_test(test_drops),
		cmocka_unit_test(only_what_is_open_is_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
