/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Old samples become minutes, minutes hours: their number, mean, least and greatest are right, set points change
 * where they did, states stay as they are, and what was at a time is told from them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/core/now.h"
#include "slowctl/query/query.h"
#include "tests/unit/rig/query_rig.h"
#include "tests/unit/rig/store_rig.h"

#define SECOND 1000000000ll
#define HOUR   (3600 * SECOND)
#define DAY    (24 * HOUR)
#define HV     "tower1.floor3.om2.hv"
#define TRIP   "tower1.floor3.om2.trip"
#define N      720 /* samples of two hours */

struct keep_rig {
	struct store_rig store;
	int64_t from; /* an hour of UTC, 40 days ago */
};

static double value_of(unsigned n)
{
	return 1400 + (double)(n % 17) * 0.25;
}

/* Changed in the middle of a minute. */
static double setpoint_of(unsigned n)
{
	return n < 100 ? 1400 : n < 106 ? 1450 : 1400;
}

static void put_sample(struct store_rig *r, const char *name, int64_t time, double value,
		       double setpoint)
{
	struct row row;

	row_begin(&row, ROW_SAMPLE);
	row_add(&row, ROW_VT(name));
	row_add(&row, ROW_VI(time));
	row_add(&row, ROW_VR(value));
	row_add(&row, ROW_VR(setpoint));
	store_submit(r->s, &row, 0, 0);
}

static int setup(void **state)
{
	struct keep_rig *k = calloc(1, sizeof(*k));
	int64_t now = now_utc_ns();

	assert_non_null(k);
	store_rig_create(&k->store);
	store_rig_open(&k->store);
	k->from = now - now % HOUR - 40 * DAY;
	store_put_station(k->store.s, "words.om.trip", "off on");
	for (unsigned n = 0; n < N; n++) {
		put_sample(&k->store, HV, k->from + n * 10 * SECOND, value_of(n), setpoint_of(n));
		put_sample(&k->store, "board.temperature", k->from + n * 10 * SECOND, n, NAN);
		if (n % 100 == 50) {
			put_sample(&k->store, TRIP, k->from + n * 10 * SECOND, n / 100 % 2, NAN);
		}
		if (n % 100 == 0) {
			store_rig_flush(&k->store);
		}
	}
	put_sample(&k->store, HV, now - DAY, 1399, 1400);
	store_rig_flush(&k->store);
	*state = k;
	return 0;
}

static int teardown(void **state)
{
	struct keep_rig *k = *state;

	store_rig_destroy(&k->store);
	free(k);
	return 0;
}

/* Reopen with these ages and wait until `due` counts nothing. */
static void keep(struct keep_rig *k, unsigned full, unsigned minutes, unsigned days,
		 const char *due)
{
	struct store_rig *r = &k->store;
	struct store_status status;

	store_rig_close(r);
	r->config.ages.samples_full_days = full;
	r->config.ages.samples_minutes_days = minutes;
	r->config.ages.samples_days = days;
	r->config.keep_ms = 10;
	r->config.keep_rest = 1;
	store_rig_open(r);
	for (unsigned n = 0; n < 1000 && store_rig_number(r, due) > 0; n++) {
		usleep(20000);
	}
	store_get_status(r->s, &status);
	if (status.keep_errors > 0) {
		fail_msg("%s", status.keep_error_text);
	}
	assert_int_equal(store_rig_number(r, due), 0);
}

#define OLD "time < (unixepoch() - 20 * 86400) * 1000000000"

/* All samples are there once: in which row, with which set point, of which mean. */
static void check_rows(const struct keep_rig *k, unsigned span_s)
{
	struct query_filter f = {.name = HV, .until_ns = k->from + DAY, .limit = 100000};
	struct query *q = query_rig_open(&k->store);
	json_t *json = NULL;
	const json_t *row;
	unsigned next = 0;
	size_t n;

	assert_int_equal(query_history(q, &f, &json), 0);
	json_array_foreach (json_object_get(json, "rows"), n, row) {
		unsigned samples = (unsigned)json_number_at(row, "samples"), end = next + samples;
		double low = INFINITY, high = -INFINITY, sum = 0;

		assert_true(json_number_at(row, "span_s") == span_s);
		assert_true(fabs(json_number_at(row, "time") -
				 ((double)k->from / 1e9 + next * 10)) < 1e-3);
		assert_true(fabs(json_number_at(row, "until") -
				 ((double)k->from / 1e9 + (end - 1) * 10)) < 1e-3);
		for (; next < end; next++) {
			assert_true(json_number_at(row, "setpoint") == setpoint_of(next));
			low = fmin(low, value_of(next));
			high = fmax(high, value_of(next));
			sum += value_of(next);
		}
		assert_true(json_number_at(row, "min") == low);
		assert_true(json_number_at(row, "max") == high);
		assert_true(fabs(json_number_at(row, "value") - sum / samples) < 1e-9);
	}
	assert_int_equal(next, N);
	/* Two hours of rows, and two that a change of the set point begins: in the midst of minutes 16, 17. */
	assert_int_equal(json_array_size(json_object_get(json, "rows")),
			 span_s == 60 ? 120 + 2 : 2 + 2);
	json_decref(json);
	query_close(q);
}

static json_t *at(struct query *q, const char *name, int64_t time_ns)
{
	json_t *names = json_pack("[s]", name), *json = NULL, *one;
	struct query_filter f = {.names = names, .at_ns = time_ns};

	assert_int_equal(query_at(q, &f, &json), 0);
	one = json_incref(json_array_get(json_object_get(json, "parameters"), 0));
	json_decref(json);
	json_decref(names);
	return one;
}

static void check_at(const struct keep_rig *k)
{
	struct query *q = query_rig_open(&k->store);
	json_t *one = at(q, HV, k->from + 1034 * SECOND);

	assert_true(json_number_at(one, "setpoint") == 1450);
	assert_true(json_number_at(json_object_get(one, "mean_of"), "samples") >= 2);
	assert_true(json_number_at(one, "age_s") < 10);
	assert_string_equal(json_string_value(json_object_get(one, "quality")), "good");
	json_decref(one);
	one = at(q, HV, k->from + 2 * HOUR + 600 * SECOND);
	assert_true(json_number_at(one, "age_s") == 610);
	json_decref(one);
	one = at(q, HV, k->from + 3 * HOUR);
	assert_string_equal(json_string_value(json_object_get(one, "quality")), "stale");
	json_decref(one);
	one = at(q, HV, k->from - 1);
	assert_true(json_is_null(json_object_get(one, "value")));
	json_decref(one);
	one = at(q, HV, now_utc_ns()); /* of yesterday, and one sample */
	assert_true(json_number_at(one, "value") == 1399);
	assert_true(json_is_null(json_object_get(one, "mean_of")));
	json_decref(one);
	query_close(q);
}

static void test_rolled_up(void **state)
{
	struct keep_rig *k = *state;
	struct store_rig *r = &k->store;

	keep(k, 20, 0, 0, "SELECT count(*) FROM sample WHERE " OLD " AND parameter <> '" TRIP "'");
	check_rows(k, 60);
	check_at(k);
	assert_int_equal(
		store_rig_number(r, "SELECT count(*) FROM sample WHERE parameter = '" TRIP "'"), 7);
	assert_int_equal(
		store_rig_number(r, "SELECT count(*) FROM sample WHERE parameter = '" HV "'"), 1);
	/* Without a set point, a minute is a row. */
	assert_int_equal(
		store_rig_number(r, "SELECT count(*) FROM sample_sum WHERE setpoint IS NULL"), 120);
	keep(k, 20, 30, 0, "SELECT count(*) FROM sample_sum WHERE span = 60");
	check_rows(k, 3600);
	check_at(k);
	assert_int_equal(store_rig_number(r, "SELECT sum(samples) FROM sample_sum"), 2 * N);
	keep(k, 20, 30, 35,
	     "SELECT (SELECT count(*) FROM sample_sum) + (SELECT count(*) FROM sample WHERE " OLD
	     ")");
	assert_int_equal(store_rig_number(r, "SELECT count(*) FROM sample"), 1);
}

/* The youngest that is due is a whole minute: what belongs to it is rolled up with it. */
static void test_border(void **state)
{
	struct keep_rig *k = *state;
	struct store_rig *r = &k->store;
	int64_t border = now_utc_ns() - 20 * DAY;

	for (int n = -12; n < 12; n++) {
		put_sample(r, "board.humidity", border + n * 10 * SECOND, n, NAN);
	}
	store_rig_flush(r);
	keep(k, 20, 0, 0,
	     "SELECT count(*) FROM sample WHERE parameter = 'board.humidity'"
	     " AND time < (unixepoch() - 20 * 86400 - 75) * 1000000000");
	assert_int_equal(store_rig_number(r, "SELECT count(*) FROM sample_sum WHERE parameter ="
					     " 'board.humidity' AND time / 60000000000 <>"
					     " until / 60000000000"),
			 0);
	assert_int_equal(store_rig_number(r, "SELECT (SELECT sum(samples) FROM sample_sum WHERE"
					     " parameter = 'board.humidity') + (SELECT count(*)"
					     " FROM sample WHERE parameter = 'board.humidity')"),
			 24);
	assert_int_equal(store_rig_number(r, "SELECT count(*) FROM sample_sum WHERE time >"
					     " (unixepoch() - 20 * 86400) * 1000000000"),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rolled_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_border, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
