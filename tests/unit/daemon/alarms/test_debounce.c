/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reasons begin when they have held, are told once, and are over when they have been away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/alarms/debounce.h"

#define MS 1000000ull

static struct debounce t;

static struct debounce_reason *see(const char *code, uint64_t hold_ms, uint64_t at_ms)
{
	return debounce_see(&t, code, "link0", hold_ms * MS, 0, at_ms * MS);
}

static int clear(void **state)
{
	memset(&t, 0, sizeof(t));
	return 0;
}

static void test_at_once(void **state)
{
	struct debounce_reason *e = see("link-dark", 0, 1000);

	assert_true(debounce_is_active(e));
	assert_true(debounce_report(e));
	assert_false(debounce_report(e));
	assert_null(debounce_next_cleared(&t, NULL, 1000 * MS)); /* seen in this tick */
	assert_ptr_equal(see("link-dark", 0, 1100), e);
	assert_false(debounce_report(e));
	assert_int_equal(e->since_ns, 1000 * MS);
	assert_ptr_equal(debounce_next_cleared(&t, NULL, 1200 * MS), e);
	assert_null(debounce_next_cleared(&t, e, 1200 * MS));
	debounce_forget(e);
	assert_null(debounce_next_cleared(&t, NULL, 1300 * MS));
	assert_true(debounce_report(see("link-dark", 0, 1400)));
}

/* Flickers: seen for 0.1 s every second, it never begins. */
static void test_a_flicker_is_none(void **state)
{
	for (uint64_t at = 1000; at < 20000; at += 1000) {
		struct debounce_reason *e = see("consumer-lag", 1000, at);

		assert_false(debounce_is_active(e));
		assert_false(debounce_report(see("consumer-lag", 1000, at + 100)));
	}
}

static void test_it_holds(void **state)
{
	struct debounce_reason *e = NULL;

	for (uint64_t at = 1000; at < 2000; at += 100) {
		e = see("consumer-lag", 1000, at);
		assert_false(debounce_report(e));
	}
	e = see("consumer-lag", 1000, 2000);
	assert_true(debounce_report(e));
	/* Away for less than its hold: the same one. */
	assert_null(debounce_next_cleared(&t, NULL, 2900 * MS));
	assert_ptr_equal(see("consumer-lag", 1000, 2950), e);
	assert_false(debounce_report(e));
	assert_int_equal(e->since_ns, 1000 * MS);
	assert_ptr_equal(debounce_next_cleared(&t, NULL, 3950 * MS), e);
}

/* Modules that trip one after the other: each is told, also the one that trips again. */
static void test_parts(void **state)
{
	static const struct {
		uint32_t parts;
		bool told;
	} seen[] = {{1, true}, {1, false}, {5, true}, {4, false}, {5, true}, {5, false}};

	for (size_t n = 0; n < sizeof(seen) / sizeof(seen[0]); n++) {
		struct debounce_reason *e = debounce_see(&t, "hv-trip", "tower1.floor3", 0,
							 seen[n].parts, (n + 1) * 100 * MS);

		assert_int_equal(debounce_report(e), seen[n].told);
	}
}

static void test_no_room(void **state)
{
	char code[16];

	for (unsigned n = 0; n < DEBOUNCE_MAX; n++) {
		snprintf(code, sizeof(code), "code%u", n);
		assert_non_null(see(code, 0, 100));
	}
	assert_null(see("one-more", 0, 100));
	assert_non_null(see("code63", 0, 200));
}

/* True for a pair of code and object, from the report until the reason is cleared. */
static void test_told_is_true_between_report_and_clearing(void **state)
{
	struct debounce_reason *e = see("link-dark", 1000, 1000);

	assert_false(debounce_is_reported(&t, "link-dark", "link0"));
	for (uint64_t at = 1400; at <= 2000; at += 300) {
		e = see("link-dark", 1000, at);
	}
	assert_true(debounce_report(e));
	assert_true(debounce_is_reported(&t, "link-dark", "link0"));
	assert_false(debounce_is_reported(&t, "link-dark", "link1"));
	assert_false(debounce_is_reported(&t, "link-down", "link0"));
	debounce_forget(e);
	assert_false(debounce_is_reported(&t, "link-dark", "link0"));
}

/* Missing for at most half its hold, a reason that has not begun keeps its start. */
static void test_half_the_hold_may_be_missed(void **state)
{
	see("consumer-lag", 1000, 1000);
	assert_int_equal(see("consumer-lag", 1000, 1500)->since_ns, 1000 * MS);
	assert_int_equal(see("consumer-lag", 1000, 2001)->since_ns, 2001 * MS);
}

/* All cleared reasons are found, each once; memory behind the table is not searched. */
static void test_each_cleared_reason_is_found_once(void **state)
{
	static struct {
		struct debounce t;
		struct debounce_reason behind;
	} table;
	struct debounce_reason *e = NULL;
	char code[16];

	memset(&table, 0, sizeof(table));
	for (unsigned n = 0; n < DEBOUNCE_MAX; n++) {
		snprintf(code, sizeof(code), "code%u", n);
		assert_true(debounce_report(debounce_see(&table.t, code, "", 0, 0, 100 * MS)));
	}
	table.behind = table.t.reason[0];
	snprintf(table.behind.code, sizeof(table.behind.code), "behind");
	assert_false(debounce_is_reported(&table.t, "behind", ""));
	for (unsigned n = 0; n < DEBOUNCE_MAX; n++) {
		e = debounce_next_cleared(&table.t, e, 200 * MS);
		assert_ptr_equal(e, &table.t.reason[n]);
	}
	assert_null(debounce_next_cleared(&table.t, e, 200 * MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_at_once, clear),
		cmocka_unit_test_setup(test_a_flicker_is_none, clear),
		cmocka_unit_test_setup(test_it_holds, clear),
		cmocka_unit_test_setup(test_parts, clear),
		cmocka_unit_test_setup(test_no_room, clear),
		cmocka_unit_test_setup(test_told_is_true_between_report_and_clearing, clear),
		cmocka_unit_test_setup(test_half_the_hold_may_be_missed, clear),
		cmocka_unit_test_setup(test_each_cleared_reason_is_found_once, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
