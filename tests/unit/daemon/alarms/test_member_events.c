/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members that come and go: who, why, and never more than a minute's share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/alarms/member_events.h"

#define S 1000000000ull

static struct member_events c;
static struct publisher_status now;
static struct member_event coming;

static int setup(void **state)
{
	memset(&c, 0, sizeof(c));
	memset(&now, 0, sizeof(now));
	return 0;
}

static void member(unsigned row, const char *name, enum member_state what)
{
	snprintf(now.member[row].name, sizeof(now.member[row].name), "%s", name);
	snprintf(now.member[row].group, sizeof(now.member[row].group), "acoustic");
	now.member[row].state = what;
	now.members = row >= now.members ? row + 1 : now.members;
}

static void told(uint64_t now_ns, const char *text)
{
	assert_true(member_events_next(&c, &now, false, now_ns, &coming));
	assert_string_equal(coming.text, text);
	assert_string_equal(coming.group, "acoustic");
}

static void nothing(uint64_t now_ns)
{
	assert_false(member_events_next(&c, &now, false, now_ns, &coming));
}

static void comes_and_goes(void **state)
{
	nothing(1 * S);
	member(0, "a", MEMBER_ALIVE);
	member(1, "b", MEMBER_ALIVE);
	told(2 * S, "member a is there");
	told(2 * S, "member b is there");
	nothing(2 * S);
	now.member[0].delivered = 7; /* what else changes is no news */
	nothing(3 * S);
	member(0, "a", MEMBER_SILENT);
	told(4 * S, "member a is gone: it has given no sign of life");
	nothing(4 * S);
	member(0, "a", MEMBER_ALIVE);
	member(1, "b", MEMBER_LEFT);
	told(5 * S, "member a is back");
	told(5 * S, "member b is gone: it has left, or its connection has ended");
	nothing(5 * S);
}

/* Its row goes to another; and of one that was too slow the policy's own event tells. */
static void rows(void **state)
{
	member(0, "a", MEMBER_ALIVE);
	told(1 * S, "member a is there");
	member(0, "a", MEMBER_TOO_SLOW);
	nothing(2 * S);
	member(0, "b", MEMBER_ALIVE);
	told(3 * S, "member b is there");
	member(0, "a", MEMBER_LEFT); /* came and went between two looks */
	nothing(4 * S);
}

static void start(void **state)
{
	member(0, "a", MEMBER_ALIVE);
	assert_false(member_events_next(&c, &now, true, 1 * S, &coming));
	nothing(4 * S);
	member(0, "a", MEMBER_LEFT);
	told(5 * S, "member a is gone: it has left, or its connection has ended");
}

/* Soon after the daemon's start: joins are no news, but a member that was seen alive and is gone is. */
static void gone_soon_after_the_start(void **state)
{
	member(0, "a", MEMBER_ALIVE);
	member(1, "b", MEMBER_LEFT);
	assert_false(member_events_next(&c, &now, true, 1 * S, &coming));
	member(0, "a", MEMBER_SILENT);
	assert_true(member_events_next(&c, &now, true, 2 * S, &coming));
	assert_string_equal(coming.text, "member a is gone: it has given no sign of life");
	assert_false(member_events_next(&c, &now, true, 2 * S, &coming));
	nothing(4 * S);
}

/* One that comes and goes all the time does not fill the database. */
static void flood(void **state)
{
	char longest[sizeof(now.member[0].name)];
	unsigned events = 0;

	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	for (unsigned n = 0; n < 600; n++) { /* ten minutes, one a second */
		member(0, longest, n % 2 ? MEMBER_LEFT : MEMBER_ALIVE);
		events += member_events_next(&c, &now, false, (100 + n) * S, &coming);
	}
	assert_int_equal(events, 10 * MEMBER_EVENTS_A_MINUTE);
	assert_int_equal(c.left_out, 50);
	member(0, longest, MEMBER_ALIVE);
	assert_true(member_events_next(&c, &now, false, 800 * S, &coming));
	assert_non_null(strstr(coming.text, "; 50 more came or went before"));
}

/* A group has no member: is one that was not ended still there? */
static void silent(void **state)
{
	int64_t utc_ns = 1795372620ll * 1000000000; /* 2026-11-22 18:37:00 */
	char text[120] = "";

	assert_false(member_events_silent(&now, "acoustic", 100 * S, utc_ns, text, sizeof(text)));
	member(0, "a", MEMBER_SILENT);
	now.member[0].last_seen_ns = 94 * S;
	member(1, "b", MEMBER_LEFT);
	now.member[1].last_seen_ns = 90 * S;
	assert_true(member_events_silent(&now, "acoustic", 100 * S, utc_ns, text, sizeof(text)));
	assert_string_equal(text, "a has been silent since 2026-11-22 18:36:54 UTC");
	assert_false(member_events_silent(&now, "trigger", 100 * S, utc_ns, text, sizeof(text)));
	now.member[1].last_seen_ns = 95 * S; /* it took over, and has left since */
	assert_false(member_events_silent(&now, "acoustic", 100 * S, utc_ns, text, sizeof(text)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(comes_and_goes, setup),
		cmocka_unit_test_setup(rows, setup),
		cmocka_unit_test_setup(start, setup),
		cmocka_unit_test_setup(flood, setup),
		cmocka_unit_test_setup(silent, setup),
		cmocka_unit_test_setup(gone_soon_after_the_start, setup),
	};

	return cmocka_run_group_tests_name("comings", tests, NULL, NULL);
}
