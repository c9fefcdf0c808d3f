/* SPDX-License-Identifier: GPL-2.0-or-later */
/* overflow.h: hits lost in the last minute, from a counter that is read every ten seconds and restarts with the FCM;
 * and the totals of a floor's episode, from the first loss to the last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/alarms/overflow.h"

#define S 1000000000ull

static void test_the_last_minute(void **state)
{
	struct overflow_floor f = {.first_ns = 0};

	overflow_read(&f, 2, 5000, 100 * S); /* lost before we looked */
	assert_int_equal(overflow_recent(&f.module[2], 101 * S), 0);
	overflow_read(&f, 2, 5000, 110 * S);
	overflow_read(&f, 2, 5700, 120 * S);
	overflow_read(&f, 2, 5700, 120 * S); /* the same reading */
	assert_int_equal(overflow_recent(&f.module[2], 121 * S), 700);
	overflow_read(&f, 2, 6000, 150 * S);
	assert_int_equal(overflow_recent(&f.module[2], 151 * S), 1000);
	assert_int_equal(overflow_recent(&f.module[2], 181 * S), 300);
	assert_int_equal(overflow_recent(&f.module[2], 211 * S), 0);
}

static void test_a_boot(void **state)
{
	struct overflow_floor f = {.first_ns = 0};

	overflow_read(&f, 2, 1000000, 100 * S);
	overflow_read(&f, 2, 0, 110 * S);
	assert_int_equal(overflow_recent(&f.module[2], 111 * S), 0);
	overflow_read(&f, 2, 40, 120 * S);
	overflow_read(&f, 2, 10, 130 * S);
	assert_int_equal(overflow_recent(&f.module[2], 131 * S), 50);
}

/* Past its largest value it goes on with 0; but not when it was far from there, or the FCM has booted. */
static void test_a_wrap(void **state)
{
	struct overflow_floor f = {.first_ns = 0};

	overflow_read(&f, 2, OVERFLOW_WRAP - 300, 100 * S);
	overflow_read(&f, 2, 400, 110 * S);
	assert_int_equal(overflow_recent(&f.module[2], 111 * S), 700);
	overflow_read(&f, 2, OVERFLOW_WRAP - 60000000, 200 * S);
	overflow_read(&f, 2, 40000000, 210 * S); /* the most that a module can lose in 10 s */
	assert_int_equal(overflow_recent(&f.module[2], 261 * S), 100000000);
	overflow_read(&f, 2, OVERFLOW_WRAP - 60000001, 300 * S);
	overflow_read(&f, 2, 40000000, 310 * S); /* more: it restarted */
	assert_int_equal(overflow_recent(&f.module[2], 361 * S), 40000000);
	overflow_read(&f, 3, OVERFLOW_WRAP - 300, 400 * S);
	f.booted_ns = 405 * S;
	overflow_read(&f, 3, 400, 410 * S);
	assert_int_equal(overflow_recent(&f.module[3], 411 * S), 400);
	overflow_read(&f, 3, OVERFLOW_WRAP - 300, 420 * S);
	overflow_read(&f, 3, 0, 430 * S); /* a boot that is reported later */
	assert_int_equal(overflow_recent(&f.module[3], 481 * S), 0);
	overflow_read(&f, 3, OVERFLOW_WRAP - 300, 500 * S);
	overflow_read(&f, 3, 400, 510 * S); /* it booted before this */
	assert_int_equal(overflow_recent(&f.module[3], 561 * S), 700);
}

static void test_for_ever(void **state)
{
	struct overflow_floor f = {.first_ns = 0};

	for (uint64_t n = 1; n < 1000; n++) {
		overflow_read(&f, 2, n * 3, n * 10 * S);
	}
	assert_int_equal(overflow_recent(&f.module[2], 9990 * S), 6 * 3);
}

/* A floor's episode: all its modules, from the reading before the first loss to the last that grew. */
static void test_an_episode(void **state)
{
	struct overflow_floor f = {.first_ns = 0};

	for (unsigned m = 0; m < OVERFLOW_MODULES; m++) {
		overflow_read(&f, m, 5000, 100 * S + m);
	}
	assert_int_equal(f.last_ns, 0);
	overflow_read(&f, 1, 0, 105 * S); /* a boot loses none */
	overflow_read(&f, 0, 5700, 110 * S);
	overflow_read(&f, 3, 5010, 112 * S);
	overflow_read(&f, 0, 5700, 120 * S);
	overflow_read(&f, 3, 5020, 171 * S); /* 59 s later: still the same */
	overflow_read(&f, 0, 5800, 230 * S);
	assert_int_equal(f.lost[0], 800);
	assert_int_equal(f.lost[3], 20);
	assert_int_equal(f.first_ns, 100 * S);
	assert_int_equal(f.last_ns, 230 * S);
	overflow_read(&f, 0, 5800, 285 * S);
	overflow_read(&f, 0, 5801, 290 * S); /* a minute later: another */
	assert_int_equal(f.lost[0], 1);
	assert_int_equal(f.lost[3], 0);
	assert_int_equal(f.first_ns, 285 * S);
	assert_int_equal(f.last_ns, 290 * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_last_minute), cmocka_unit_test(test_a_boot),
		cmocka_unit_test(test_a_wrap),		cmocka_unit_test(test_for_ever),
		cmocka_unit_test(test_an_episode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
