// SPDX-License-Identifier: GPL-2.0-or-later
/* How far one word is from another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "slowctl/param/edits.h"

#define LONGEST "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void test_edits(void **state)
{
	static const struct {
		const char *a, *b;
		unsigned edits;
	} rows[] = {
		{"", "", 0},
		{"", "status", 6},
		{"status", "status", 0},
		{"statu", "status", 1},
		{"sstatus", "status", 1},
		{"stetus", "status", 1},
		{"sttaus", "status", 1}, /* neighbours swapped */
		{"clok", "clock", 1},
		{"kitten", "sitting", 3},
		{LONGEST, LONGEST "b", UINT_MAX},
		{LONGEST, "", EDITS_MAX},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(edits(rows[i].a, rows[i].b), rows[i].edits);
		assert_int_equal(edits(rows[i].b, rows[i].a), rows[i].edits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
