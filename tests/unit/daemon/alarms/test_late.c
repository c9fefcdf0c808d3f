/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a tick came late: only what neither the board nor our own work explains is the machine's doing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/alarms/late.h"

static void test_late_judge(void **state)
{
	/* All in ms since the tick before. */
	static const struct {
		uint64_t all, cpu, board;
		enum late late;
		uint64_t ms;
	} cases[] = {
		{100, 1, 1, LATE_NOT, 0},
		{500, 1, 1, LATE_NOT, 0},
		{1000, 2, 1, LATE_MACHINE, 997},
		{2000, 2, 1900, LATE_BOARD, 1900},
		{2000, 1900, 2, LATE_BUSY, 1900},
		{5000, 2, 2000, LATE_MACHINE, 2998}, /* both: the machine is told of its share */
		{900, 100, 500, LATE_BOARD, 500},    /* an idle tick's wait is nobody's fault */
		{600, 0, 700, LATE_BOARD, 700},	     /* the sums are read one after the other */
	};

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct late_tick before = {77000000, 5000000, 9000000}, now = before;
		uint64_t ns = 0;

		now.mono_ns += cases[n].all * 1000000;
		now.cpu_ns += cases[n].cpu * 1000000;
		now.board_ns += cases[n].board * 1000000;
		assert_int_equal(late_judge(&before, &now, &ns), cases[n].late);
		assert_int_equal(ns, cases[n].ms * 1000000);
	}
}

static void test_first_tick(void **state)
{
	struct late_tick none = {0}, now = {.mono_ns = 99000000000};
	uint64_t ns = 0;

	assert_int_equal(late_judge(&none, &now, &ns), LATE_NOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late_judge),
		cmocka_unit_test(test_first_tick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
