// SPDX-License-Identifier: GPL-2.0-or-later
/* Two levels of limits in virtual time: on the limit, hysteresis, delay, values that come no more. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "slowctl/param/limits.h"

#define S 1000000000ull

static const struct limits plain = {
	.warn_min = 0, .warn_max = 40, .alarm_min = -5, .alarm_max = 50};

/* The level after the value at this second. */
static enum limits_level see(const struct limits *l, struct limits_state *s, double value,
			     uint64_t second)
{
	limits_see(l, s, value, second * S);
	return limits_level(l, s, second * S);
}

static void test_levels(void **state)
{
	static const struct {
		double value;
		enum limits_level level;
	} cases[] = {
		{20, LEVEL_NORMAL},  {40, LEVEL_NORMAL},  {40.1, LEVEL_WARNING},
		{50, LEVEL_WARNING}, {50.1, LEVEL_ALARM}, {45, LEVEL_WARNING},
		{40, LEVEL_NORMAL},  {0, LEVEL_NORMAL},	  {-0.1, LEVEL_WARNING},
		{-5.1, LEVEL_ALARM}, {100, LEVEL_ALARM},  {20, LEVEL_NORMAL},
	};
	struct limits_state s = {0};

	for (unsigned n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		assert_int_equal(see(&plain, &s, cases[n].value, n + 1), cases[n].level);
	}
}

/* A value that trembles on its limit begins once. */
static void test_hysteresis(void **state)
{
	struct limits l = plain;
	struct limits_state s = {0};

	l.hysteresis = 1;
	assert_int_equal(see(&l, &s, 50.01, 1), LEVEL_ALARM);
	for (unsigned n = 2; n < 100; n++) {
		assert_int_equal(see(&l, &s, n % 2 ? 50.01 : 49.01, n), LEVEL_ALARM);
	}
	assert_int_equal(see(&l, &s, 49, 100), LEVEL_WARNING);
	assert_int_equal(see(&l, &s, 49.9, 101), LEVEL_WARNING);
	assert_int_equal(see(&l, &s, 39.5, 102), LEVEL_WARNING);
	assert_int_equal(see(&l, &s, 39, 103), LEVEL_NORMAL);
	assert_int_equal(see(&l, &s, 39.9, 104),
			 LEVEL_NORMAL); /* it has not begun: no hysteresis */
}

static void test_delay(void **state)
{
	struct limits l = plain;
	struct limits_state s = {0};

	l.delay_s = 5;
	l.hysteresis = 1;
	assert_int_equal(see(&l, &s, 60, 10), LEVEL_NORMAL);
	assert_int_equal(see(&l, &s, 60, 14), LEVEL_NORMAL);
	assert_int_equal(see(&l, &s, 40, 14), LEVEL_NORMAL); /* inside: begins anew */
	assert_int_equal(see(&l, &s, 60, 15), LEVEL_NORMAL);
	assert_int_equal(see(&l, &s, 60, 19), LEVEL_NORMAL);
	assert_int_equal(see(&l, &s, 60, 20), LEVEL_ALARM);
	/* Flapping with less than the delay never begins. */
	assert_int_equal(see(&l, &s, 20, 21), LEVEL_NORMAL);
	for (unsigned n = 22; n < 100; n++) {
		assert_int_equal(see(&l, &s, n % 4 ? 60 : 20, n), LEVEL_NORMAL);
	}
	assert_int_equal(see(&l, &s, 20, 100), LEVEL_NORMAL);
	/* No more values: it is judged by the clock then. */
	assert_int_equal(see(&l, &s, 60, 200), LEVEL_NORMAL);
	assert_int_equal(limits_level(&l, &s, 204 * S), LEVEL_NORMAL);
	assert_int_equal(limits_level(&l, &s, 205 * S), LEVEL_ALARM);
	/* A warning that goes on while the alarm's delay has begun anew. */
	assert_int_equal(see(&l, &s, 45, 206), LEVEL_WARNING);
	assert_int_equal(see(&l, &s, 60, 207), LEVEL_WARNING);
	assert_int_equal(see(&l, &s, 60, 212), LEVEL_ALARM);
}

static void test_one_sided(void **state)
{
	const struct limits low = {.warn_min = 1000,
				   .warn_max = INFINITY,
				   .alarm_min = 500,
				   .alarm_max = INFINITY,
				   .hysteresis = 50};
	struct limits_state s = {0};

	assert_int_equal(see(&low, &s, 1e12, 1), LEVEL_NORMAL);
	assert_int_equal(see(&low, &s, 400, 2), LEVEL_ALARM);
	assert_true(limits_passed(&low, LEVEL_ALARM, 400) == 500);
	assert_true(limits_passed(&low, LEVEL_WARNING, 600) == 1000);
	assert_int_equal(see(&low, &s, 549, 3), LEVEL_ALARM);
	assert_int_equal(see(&low, &s, 550, 4), LEVEL_WARNING);
	assert_int_equal(see(&low, &s, 1050, 5), LEVEL_NORMAL);
	assert_true(limits_passed(&plain, LEVEL_ALARM, 49.5) == 50);
	assert_true(limits_passed(&plain, LEVEL_ALARM, -6) == -5);
}

static void test_faults(void **state)
{
	const struct limits none = {-INFINITY, INFINITY, -INFINITY, INFINITY, 0, 0};
	struct limits l = plain;

	assert_null(limits_fault(&none));
	assert_false(limits_given(&none));
	assert_null(limits_fault(&plain));
	assert_true(limits_given(&plain));
	l.hysteresis = 20;
	assert_null(limits_fault(&l));
	l.hysteresis = 20.1;
	assert_non_null(limits_fault(&l));
	l = plain;
	l.warn_max = 50;
	assert_non_null(limits_fault(&l));
	l = none;
	l.delay_s = 1;
	assert_non_null(limits_fault(&l));
	l.warn_max = 5; /* a warning alone */
	assert_null(limits_fault(&l));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels), cmocka_unit_test(test_hysteresis),
		cmocka_unit_test(test_delay),  cmocka_unit_test(test_one_sided),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
