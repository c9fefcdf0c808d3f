/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lost hits of the last minute from a counter that is read every ten seconds and may begin anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/overflow.h"

#define S 1000000000ull

static void test_the_last_minute(void **state)
{
	struct overflow o = {.next = 0};

	(void)state;
	overflow_read(&o, 5000, 100 * S); /* lost before we looked */
	assert_int_equal(overflow_recent(&o, 101 * S), 0);
	overflow_read(&o, 5000, 110 * S);
	overflow_read(&o, 5700, 120 * S);
	overflow_read(&o, 5700, 120 * S); /* the same reading */
	assert_int_equal(overflow_recent(&o, 121 * S), 700);
	overflow_read(&o, 6000, 150 * S);
	assert_int_equal(overflow_recent(&o, 151 * S), 1000);
	assert_int_equal(overflow_recent(&o, 181 * S), 300);
	assert_int_equal(overflow_recent(&o, 211 * S), 0);
}

static void test_a_boot(void **state)
{
	struct overflow o = {.next = 0};

	(void)state;
	overflow_read(&o, 1000000, 100 * S);
	overflow_read(&o, 0, 110 * S);
	assert_int_equal(overflow_recent(&o, 111 * S), 0);
	overflow_read(&o, 40, 120 * S);
	overflow_read(&o, 10, 130 * S);
	assert_int_equal(overflow_recent(&o, 131 * S), 50);
}

static void test_for_ever(void **state)
{
	struct overflow o = {.next = 0};

	(void)state;
	for (uint64_t n = 1; n < 1000; n++) {
		overflow_read(&o, n * 3, n * 10 * S);
	}
	assert_int_equal(overflow_recent(&o, 9990 * S), 6 * 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_last_minute),
		cmocka_unit_test(test_a_boot),
		cmocka_unit_test(test_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
