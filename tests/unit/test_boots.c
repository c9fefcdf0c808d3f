/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boots are the floors': one boot is told once, a swap of fibres is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/boots.h"

static void test_a_boot_is_told_once(void **state)
{
	struct boots b = {.used = 0};
	uint32_t before = 0;

	(void)state;
	assert_false(boots_heard(&b, 1, 3, 7, 100, &before)); /* heard first */
	assert_false(boots_heard(&b, 1, 3, 7, 200, &before));
	assert_true(boots_heard(&b, 1, 3, 8, 300, &before));
	assert_int_equal(before, 7);
	assert_int_equal(boots_find(&b, 1, 3)->booted_ns, 300);
	assert_false(boots_heard(&b, 1, 3, 8, 400, &before));
	assert_int_equal(boots_find(&b, 1, 3)->booted_ns, 300);
}

static void test_a_swap_is_no_boot(void **state)
{
	/* What comes up links 0 and 3 in turn: floors 1 and 4, swapped and back. */
	static const uint8_t heard[][2] = {{1, 29}, {4, 3}, {4, 3}, {1, 29}, {1, 29}, {4, 3}};
	struct boots b = {.used = 0};
	uint32_t before = 0;

	(void)state;
	for (size_t n = 0; n < sizeof(heard) / sizeof(heard[0]); n++) {
		assert_false(boots_heard(&b, 1, heard[n][0], heard[n][1], 100 * n, &before));
	}
	assert_int_equal(boots_find(&b, 1, 1)->booted_ns, 0);
	assert_false(boots_heard(&b, 2, 1, 30, 900, &before)); /* another tower's */
	assert_true(boots_heard(&b, 1, 1, 30, 1000, &before));
}

static void test_more_floors_than_room(void **state)
{
	struct boots b = {.used = 0};
	uint32_t before = 0;

	(void)state;
	for (uint8_t floor = 1; floor < 60; floor++) {
		assert_false(boots_heard(&b, 1, floor, 1, 1, &before));
	}
	assert_int_equal(b.used, BOOTS_FLOORS);
	assert_true(boots_heard(&b, 1, 59, 2, 2, &before));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_boot_is_told_once),
		cmocka_unit_test(test_a_swap_is_no_boot),
		cmocka_unit_test(test_more_floors_than_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
