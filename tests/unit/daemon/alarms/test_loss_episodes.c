/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bursts of losses: begin, other kinds, end with totals and the losses' own duration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/alarms/loss_episodes.h"

#define S 1000000000ull

static struct loss_episodes b;
static uint64_t counts[LOSS_EPISODES_NAMES];
static struct loss_episodes_report report;

static int setup(void **state)
{
	memset(counts, 0, sizeof(counts));
	counts[1] = 77; /* of the start */
	loss_episodes_start(&b, counts, 0, 0, false);
	return 0;
}

static enum loss_episodes_news step(uint64_t at_ms)
{
	return loss_episodes_step(&b, counts, false, at_ms * 1000000, &report);
}

static void test_one_burst(void **state)
{
	assert_int_equal(step(1000), LOSS_EPISODES_NOTHING);
	counts[1] += 520;
	assert_true(loss_episodes_going_on(
		&b, 1100000000)); /* shown before it was stepped over: not "ended" */
	loss_episodes_span(&b, 4, 8000, 8520);
	assert_int_equal(step(1100), LOSS_EPISODES_STARTED);
	assert_int_equal(report.lost[1], 520);
	for (uint64_t at = 1200; at <= 6000; at += 100) {
		counts[1] += 800;
		assert_int_equal(step(at), LOSS_EPISODES_NOTHING);
		assert_true(loss_episodes_going_on(&b, at * 1000000));
	}
	loss_episodes_span(&b, 4, 8000, 8000 + 39720);
	for (uint64_t at = 6100; at < 9000; at += 100) {
		assert_int_equal(step(at), LOSS_EPISODES_NOTHING);
	}
	assert_int_equal(step(9000), LOSS_EPISODES_ENDED);
	assert_false(loss_episodes_going_on(&b, 9 * S));
	assert_int_equal(report.lost[1], 520 + 49 * 800);
	assert_int_equal(report.sum, 520 + 49 * 800);
	assert_true(report.seconds > 4.96 && report.seconds < 4.97); /* the frames', not ours */
	assert_int_equal(step(9100), LOSS_EPISODES_NOTHING);
}

/* A run from before the account may be reported after it begins: it does not lengthen the first burst. */
static void test_before_the_account(void **state)
{
	loss_episodes_start(&b, counts, 4, 8083, false);
	loss_episodes_span(&b, 4, 8000, 8080);
	loss_episodes_span(&b, 4, 8080, 8083);
	counts[1] += 16000;
	loss_episodes_span(&b, 4, 88000, 104000);
	assert_int_equal(step(1000), LOSS_EPISODES_STARTED);
	assert_true(report.seconds > 1.99 && report.seconds < 2.01);
	loss_episodes_span(&b, 5, 0, 8000); /* a later epoch counts from 0 again */
	counts[1] += 8000;
	assert_int_equal(step(1100), LOSS_EPISODES_NOTHING);
	assert_int_equal(step(5000), LOSS_EPISODES_ENDED);
	assert_true(report.seconds > 2.99 && report.seconds < 3.01);
}

/* What is left out is none of the burst that it comes in, which ends as it would have. */
static void test_left_out(void **state)
{
	counts[1] += 520;
	assert_int_equal(step(1000), LOSS_EPISODES_STARTED);
	counts[2] += 9;
	loss_episodes_start(&b, counts, 0, 0, true);
	assert_int_equal(step(2000), LOSS_EPISODES_NOTHING);
	assert_int_equal(step(5000), LOSS_EPISODES_ENDED);
	assert_int_equal(report.sum, 520);
	assert_int_equal(report.lost[2], 0);
	counts[2] += 9;
	loss_episodes_start(&b, counts, 0, 0, true);
	assert_int_equal(step(6000), LOSS_EPISODES_NOTHING);
}

/* A kind that joins is told at once; a second burst is one of its own, with its own totals. */
static void test_kinds_and_bursts(void **state)
{
	counts[4] += 5;
	assert_int_equal(step(1000), LOSS_EPISODES_STARTED);
	counts[4] += 5;
	assert_int_equal(step(1100), LOSS_EPISODES_NOTHING);
	counts[2] += 4000;
	assert_int_equal(step(1200), LOSS_EPISODES_MORE);
	assert_int_equal(report.lost[2], 4000);
	assert_int_equal(report.lost[4], 10);
	assert_int_equal(loss_episodes_step(&b, counts, true, 1300 * 1000000ull, &report),
			 LOSS_EPISODES_NOTHING);
	counts[2]++;
	assert_int_equal(loss_episodes_step(&b, counts, true, 1400 * 1000000ull, &report),
			 LOSS_EPISODES_MORE);
	assert_int_equal(step(4400), LOSS_EPISODES_ENDED);
	counts[4] += 150;
	loss_episodes_span(&b, 4, 100000, 100150);
	assert_int_equal(step(5000), LOSS_EPISODES_STARTED);
	assert_int_equal(report.sum, 150);
	assert_int_equal(step(8000), LOSS_EPISODES_ENDED);
	assert_int_equal(report.lost[2], 0);
	assert_int_equal(report.lost[4], 150);
	assert_true(report.seconds < 0.02);
}

/* A frame lost every four seconds for an hour: some bursts, then one, told once a minute. */
static void test_bounded(void **state)
{
	unsigned news = 0;

	for (uint64_t at = 1000; at < 3601000; at += 100) {
		counts[3] += at % 4000 == 0;
		news += step(at) != LOSS_EPISODES_NOTHING;
	}
	assert_in_range(news, 50, 75);
	assert_int_equal(step(3601000 + 60000), LOSS_EPISODES_ENDED);
}

static void test_epochs(void **state)
{
	counts[3] += 100;
	loss_episodes_span(&b, 1, 800000, 808000);
	loss_episodes_span(&b, 2, 0, 4000);
	loss_episodes_span(&b, 2, 0, 8000);
	step(1000);
	assert_int_equal(step(5000), LOSS_EPISODES_ENDED);
	assert_true(report.seconds > 1.99 && report.seconds < 2.01);
}

/* The rest of the epoch before is told when the next one has losses already. */
static void test_epoch_told_late(void **state)
{
	counts[3] += 100;
	loss_episodes_span(&b, 7, 800000, 808000);
	loss_episodes_span(&b, 8, 0, 4000);
	loss_episodes_span(&b, 7, 800000, 812000);
	loss_episodes_span(&b, 8, 0, 8000);
	step(1000);
	assert_int_equal(step(5000), LOSS_EPISODES_ENDED);
	assert_true(report.seconds > 2.49 && report.seconds < 2.51);
}

/* What is told without an epoch: the board has begun to count anew, after an hour or from an hour. */
static void test_counts_anew(void **state)
{
	const uint64_t hour = 3600ull * 8000;

	for (unsigned i = 0; i < 2; i++) {
		uint64_t was = i ? 0 : hour, is = i ? hour : 0;

		counts[3] += 100;
		loss_episodes_span(&b, 0, was, was + 4000);
		loss_episodes_span(&b, 0, is, is + 4000);
		loss_episodes_span(&b, 0, was, was + 8000);
		loss_episodes_span(&b, 0, is + 50 * 8000, is + 60 * 8000);
		step(1000 + 10000 * i);
		assert_int_equal(step(5000 + 10000 * i), LOSS_EPISODES_ENDED);
		assert_true(report.seconds > 60.99 && report.seconds < 61.01);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_one_burst, setup),
		cmocka_unit_test_setup(test_before_the_account, setup),
		cmocka_unit_test_setup(test_left_out, setup),
		cmocka_unit_test_setup(test_kinds_and_bursts, setup),
		cmocka_unit_test_setup(test_bounded, setup),
		cmocka_unit_test_setup(test_epochs, setup),
		cmocka_unit_test_setup(test_epoch_told_late, setup),
		cmocka_unit_test_setup(test_counts_anew, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
