/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boots are the floors': one boot is told once, a swap of fibres is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/data/boots.h"

static void test_a_boot_is_told_once(void **state)
{
	struct boots b = {.used = 0};
	uint32_t before = 0;

	assert_false(boots_heard(&b, 1, 3, 7, 9000, 100, &before)); /* heard first */
	assert_false(boots_heard(&b, 1, 3, 7, 9000, 200, &before));
	assert_true(boots_heard(&b, 1, 3, 8, 0, 300, &before));
	assert_int_equal(before, 7);
	assert_int_equal(boots_find(&b, 1, 3)->booted_ns, 300);
	assert_false(boots_heard(&b, 1, 3, 8, 0, 400, &before));
	assert_int_equal(boots_find(&b, 1, 3)->booted_ns, 300);
}

static void test_a_swap_is_no_boot(void **state)
{
	/* What comes up links 0 and 3 in turn: floors 1 and 4, swapped and back. */
	static const uint8_t heard[][2] = {{1, 29}, {4, 3}, {4, 3}, {1, 29}, {1, 29}, {4, 3}};
	struct boots b = {.used = 0};
	uint32_t before = 0;

	for (size_t n = 0; n < sizeof(heard) / sizeof(heard[0]); n++) {
		assert_false(boots_heard(&b, 1, heard[n][0], heard[n][1], 9000, 100 * n, &before));
	}
	assert_int_equal(boots_find(&b, 1, 1)->booted_ns, 0);
	assert_false(boots_heard(&b, 2, 1, 30, 9000, 900, &before)); /* another tower's */
	assert_true(boots_heard(&b, 1, 1, 30, 9000, 1000, &before));
}

static void test_more_floors_than_room(void **state)
{
	struct boots b = {.used = 0};
	uint32_t before = 0;

	for (uint8_t floor = 1; floor < 60; floor++) {
		assert_false(boots_heard(&b, 1, floor, 1, 9000, 1, &before));
	}
	assert_int_equal(b.used, BOOTS_FLOORS);
	assert_true(boots_heard(&b, 1, 59, 2, 9000, 2, &before));
}

/* 25 s after a boot: of one that was heard the moment is known, of one that was not, too. */
static void test_when_it_booted(void **state)
{
	const uint64_t s = 1000000000;
	struct boots b = {.used = 0};
	uint32_t before = 0;

	assert_false(boots_heard(&b, 1, 3, 7, 25, 100 * s, &before));
	assert_int_equal(boots_find(&b, 1, 3)->booted_ns, 75 * s);
	assert_false(boots_heard(&b, 1, 3, 7, 26, 102 * s, &before));
	assert_int_equal(boots_find(&b, 1, 3)->booted_ns, 75 * s);
	assert_true(boots_heard(&b, 1, 3, 8, 1, 200 * s, &before));
	assert_int_equal(boots_find(&b, 1, 3)->booted_ns, 199 * s);
	assert_false(boots_heard(&b, 1, 4, 2, 500, 200 * s, &before)); /* before the clock began */
	assert_int_equal(boots_find(&b, 1, 4)->booted_ns, 0);
}

static void test_a_boot_while_no_daemon_looked(void **state)
{
	struct boots b = {.used = 0}, next = {.used = 0};
	char text[BOOTS_TEXT_MAX];
	uint32_t before = 0;

	boots_heard(&b, 1, 3, 7, 9000, 1, &before);
	boots_heard(&b, 255, 255, UINT32_MAX, 9000, 1, &before);
	boots_write(&b, text);
	boots_heard(&next, 1, 4, 3, 9000, 1, &before);
	boots_read(&next, text);
	assert_int_equal(next.used, 3);
	assert_true(boots_heard(&next, 1, 3, 8, 5, 9, &before));
	assert_int_equal(before, 7);
	assert_false(boots_heard(&next, 255, 255, UINT32_MAX, 9000, 9, &before));
	boots_read(&next, "1.4 9, "); /* heard already: what it said itself holds */
	assert_false(boots_heard(&next, 1, 4, 3, 9000, 9, &before));
}

static void test_what_is_kept_of_many_and_of_rubbish(void **state)
{
	struct boots b = {.used = 0}, next = {.used = 0};
	char text[BOOTS_TEXT_MAX];
	uint32_t before = 0;

	for (uint8_t floor = 100; floor < 160; floor++) {
		boots_heard(&b, 200, floor, UINT32_MAX, 9000, 1, &before);
	}
	boots_write(&b, text);
	boots_read(&next, text);
	assert_int_equal(next.used, BOOTS_FLOORS);
	boots_read(&next, text);
	assert_int_equal(next.used, BOOTS_FLOORS);
	next.used = 0;
	boots_read(&next, "1.3 seven, 1.4 8, ");
	assert_int_equal(next.used, 0);
	boots_read(&next, "");
	assert_int_equal(next.used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_boot_is_told_once),
		cmocka_unit_test(test_a_swap_is_no_boot),
		cmocka_unit_test(test_more_floors_than_room),
		cmocka_unit_test(test_when_it_booted),
		cmocka_unit_test(test_a_boot_while_no_daemon_looked),
		cmocka_unit_test(test_what_is_kept_of_many_and_of_rubbish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
