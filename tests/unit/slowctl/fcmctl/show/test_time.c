// SPDX-License-Identifier: GPL-2.0-or-later
/* Time as an operator types it and as fcmctl prints it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <math.h>

#include <cmocka.h>

#include "slowctl/fcmctl/show/time.h"

/* 2026-11-20 15:12:03.25 UTC */
#define NOW	 1795187523.25
#define MIDNIGHT 1795132800.0

static void test_points(void **state)
{
	static const struct {
		const char *text;
		int err;
		double time;
	} rows[] = {
		{"now", 0, NOW},
		{"today", 0, MIDNIGHT},
		{"yesterday", 0, MIDNIGHT - 86400.0},
		{"30s", 0, NOW - 30.0},
		{"5m", 0, NOW - 300.0},
		{"1h30m", 0, NOW - 5400.0},
		{"1.5h", 0, NOW - 5400.0},
		{"2d", 0, NOW - 172800.0},
		{"1w", 0, NOW - 604800.0},
		{"1000d", 0, NOW - 86400000.0},
		{"02:00", 0, MIDNIGHT + 7200.0},
		{"02:00Z", 0, MIDNIGHT + 7200.0},
		{"15:12:03.25", 0, NOW},
		{"23:59", 0, MIDNIGHT - 60.0}, /* of yesterday: it has not been today */
		{"2026-11-20", 0, MIDNIGHT},
		{"2026-11-20T15:12:03.25", 0, NOW},
		{"2026-11-20 15:12:03.25", 0, NOW},
		{"2026-11-20T15:12", 0, NOW - 3.25},
		{"2026-11-20T16:12:03.25+01:00", 0, NOW},
		{"2026-11-20T10:12:03.25-0500", 0, NOW},
		{"2026-11-20T16:12:03.25+01", 0, NOW},
		{"2026-11-20T15:12:03.25Z", 0, NOW},
		{"2024-02-29", 0, 1709164800.0},
		{"2000-02-29", 0, 951782400.0},
		{"@1795187523.25", 0, NOW},
		{"@0", 0, 0.0},
		{"", -EINVAL, 0},
		{"5", -EINVAL, 0}, /* of what? */
		{"h", -EINVAL, 0},
		{"5x", -EINVAL, 0},
		{"5m3", -EINVAL, 0},
		{"-5m", -EINVAL, 0},
		{"1e3s", -EINVAL, 0},
		{"tomorrow", -EINVAL, 0},
		{"24:00", -ERANGE, 0},
		{"12:60", -ERANGE, 0},
		{"12:5", -EINVAL, 0},
		{"12:05x", -EINVAL, 0},
		{"2026-13-01", -ERANGE, 0},
		{"2026-00-10", -ERANGE, 0},
		{"2026-02-29", -ERANGE, 0},
		{"1900-02-29", -ERANGE, 0},
		{"2026-11-20T", -EINVAL, 0},
		{"2026-11-20T15:12:03+1", -EINVAL, 0},
		{"2026-11-20T15:12:03+15:00", -ERANGE, 0},
		{"2026-11-20T15:12:03Zz", -EINVAL, 0},
		{"2026-11-20x", -EINVAL, 0},
		{"2026-1-2", -EINVAL, 0},
		{"@", -EINVAL, 0},
		{"@12x", -EINVAL, 0},
		{"99999d", -ERANGE, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double time = -1.0;
		int err = ctl_time_parse(rows[i].text, NOW, &time);

		if (err != rows[i].err || fabs(time - (err == 0 ? rows[i].time : -1.0)) > 1e-5) {
			fail_msg("'%s': %d, %.6f", rows[i].text, err, time);
		}
	}
}

static void test_spans(void **state)
{
	static const struct {
		const char *text;
		int err;
		double span;
	} rows[] = {
		{"10", 0, 10.0},       {"0.5", 0, 0.5},		{"10s", 0, 10.0},
		{"2min", 0, 120.0},    {"1h1m1s", 0, 3661.0},	{"", -EINVAL, 0.0},
		{"s", -EINVAL, 0.0},   {"10 s", -EINVAL, 0.0},	{"1m30", -EINVAL, 0.0},
		{"-1s", -EINVAL, 0.0}, {"4000d", -ERANGE, 0.0}, {".5s", -EINVAL, 0.0},
		{"1hs", -EINVAL, 0.0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double span = -1.0;
		int err = ctl_span_parse(rows[i].text, &span);

		if (err != rows[i].err || fabs(span - (err == 0 ? rows[i].span : -1.0)) > 1e-9) {
			fail_msg("'%s': %d, %g", rows[i].text, err, span);
		}
	}
}

static void test_time_text(void **state)
{
	char buf[40];

	assert_string_equal(ctl_time_text(NOW, 0, buf, sizeof(buf)), "2026-11-20 15:12:03");
	assert_string_equal(ctl_time_text(NOW, 3, buf, sizeof(buf)), "2026-11-20 15:12:03.250");
	assert_string_equal(ctl_time_text(NOW + 0.7499, 0, buf, sizeof(buf)),
			    "2026-11-20 15:12:03");
	assert_string_equal(ctl_time_text(1.000001, 6, buf, sizeof(buf)),
			    "1970-01-01 00:00:01.000001");
	assert_string_equal(ctl_time_text(-0.5, 1, buf, sizeof(buf)), "1969-12-31 23:59:59.5");
	assert_string_equal(ctl_time_text((double)NAN, 0, buf, sizeof(buf)), "?");
	assert_string_equal(ctl_time_text(1e300, 0, buf, sizeof(buf)), "?");
	ctl_time_text(NOW, 6, buf, 5); /* a small buffer is not overrun */
}

static void test_ns_text(void **state)
{
	static const struct {
		int64_t time_ns;
		const char *text;
	} cases[] = {
		{1795187523250936725, "2026-11-20T15:12:03.250936725"},
		{0, "1970-01-01T00:00:00.000000000"},
		{-1, "1969-12-31T23:59:59.999999999"},
		{INT64_MAX, "2262-04-11T23:47:16.854775807"},
		{INT64_MIN + 1, "1677-09-21T00:12:43.145224193"},
		{INT64_MIN, "-"},
	};
	char buf[40];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(ctl_time_ns_text(cases[i].time_ns, buf, sizeof(buf)),
				    cases[i].text);
	}
}

static void test_span_text(void **state)
{
	static const struct {
		double span;
		const char *text;
	} rows[] = {
		{0.0, "0 ms"},	       {0.0123, "12 ms"},     {0.1, "0.1 s"},
		{9.94, "9.9 s"},       {9.96, "10 s"},	      {59.4, "59 s"},
		{59.6, "1 min 0 s"},   {250.0, "4 min 10 s"}, {3599.6, "1 h 0 min"},
		{7500.0, "2 h 5 min"}, {273600.0, "3 d 4 h"}, {-2.0, "-2.0 s"},
	};
	char buf[32];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_string_equal(ctl_span_text(rows[i].span, buf, sizeof(buf)), rows[i].text);
	}
	assert_string_equal(ctl_span_text((double)INFINITY, buf, sizeof(buf)), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_points),	  cmocka_unit_test(test_spans),
		cmocka_unit_test(test_time_text), cmocka_unit_test(test_ns_text),
		cmocka_unit_test(test_span_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
