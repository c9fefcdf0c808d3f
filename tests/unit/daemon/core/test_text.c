/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts put together piece by piece: lists, bits, dates; what has no room is cut, and stays a
 * string. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/core/text.h"

static void test_add_and_list(void **state)
{
	char text[32] = "";

	text_list(text, sizeof(text), "%u crc", 3u);
	assert_string_equal(text, "3 crc");
	text_list(text, sizeof(text), "%u alignment", 4u);
	assert_string_equal(text, "3 crc, 4 alignment");
	text_add(text, sizeof(text), "; %s", "ended");
	assert_string_equal(text, "3 crc, 4 alignment; ended");
}

static void test_no_room(void **state)
{
	char text[8] = "";

	for (unsigned n = 0; n < 5; n++) {
		text_list(text, sizeof(text), "om%u", n);
	}
	assert_string_equal(text, "om0, om");
	text_add(text, sizeof(text), "more");
	assert_string_equal(text, "om0, om");
}

static void test_bits(void **state)
{
	char text[32] = "of before";

	assert_string_equal(text_bits(text, sizeof(text), "om", 0x80000005u), "om0, om2, om31");
	assert_string_equal(text_bits(text, sizeof(text), "", 1u << 3), "3");
	assert_string_equal(text_bits(text, sizeof(text), "om", 0), "");
}

static void test_utc(void **state)
{
	char text[32];

	assert_string_equal(text_utc(text, sizeof(text), 0), "1970-01-01 00:00:00");
	assert_string_equal(text_utc(text, sizeof(text), 1795372614999999999),
			    "2026-11-22 18:36:54");
	assert_string_equal(text_utc(text, 8, 0), "a date ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_and_list),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_utc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
