/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates by the board's count: steady however unevenly this machine looks, never more than 8000 frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/alarms/rates.h"

static void add(struct rates *r, uint64_t cells, uint64_t good)
{
	struct rates_point p = {cells, good, good * 100, good * 3};

	rates_add(r, &p);
}

static void is(const struct rates *r, double frames)
{
	struct rates_now now = rates_get(r);

	assert_true(now.frames > frames - 0.5 && now.frames < frames + 0.5);
	assert_true(now.bytes > 100 * frames - 50 && now.bytes < 100 * frames + 50);
	assert_true(now.hits > 3 * frames - 2 && now.hits < 3 * frames + 2);
}

static void test_uneven_looks(void **state)
{
	/* Cells seen a second: a machine that stands still and catches up. */
	static const unsigned seen[] = {8000, 3929, 11900, 8171, 100, 15900, 8000};
	struct rates r = {.points = 0};
	uint64_t cells = 5000;

	is(&r, 0);
	add(&r, cells, cells);
	is(&r, 0);
	for (size_t n = 0; n < sizeof(seen) / sizeof(seen[0]); n++) {
		cells += seen[n];
		add(&r, cells, cells);
		is(&r, 8000);
	}
}

static void test_losses_and_standstill(void **state)
{
	struct rates r = {.points = 0};

	for (unsigned n = 0; n < 10; n++) {
		add(&r, n * 8000, n * 6000);
	}
	is(&r, 6000);
	for (unsigned n = 0; n < RATES_S; n++) {
		add(&r, 9 * 8000, 9 * 6000);
	}
	is(&r, 0); /* the board counts no more */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uneven_looks),
		cmocka_unit_test(test_losses_and_standstill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
