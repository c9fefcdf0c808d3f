/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Incidents of the past and the account of darkness: written, asked, taken over by the next daemon, rolled up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "daemon/core/now.h"
#include "tests/unit/rig/query_rig.h"

#define SECOND 1000000000ll
#define HOUR   (3600 * SECOND)
#define DAY    (24 * HOUR)

static struct store_incident incident(uint32_t number, const char *code, int64_t since_s,
				      int64_t until_s)
{
	struct store_incident i = {.number = number,
				   .since_ns = RIG_UTC + since_s * SECOND,
				   .until_ns = until_s ? RIG_UTC + until_s * SECOND : 0,
				   .observations = 2,
				   .frames = 10 * number,
				   .dark_ms = 1500};

	snprintf(i.code, sizeof(i.code), "%s", code);
	snprintf(i.object, sizeof(i.object), "link%u", number);
	snprintf(i.text, sizeof(i.text), "no light");
	return i;
}

static int setup(void **state)
{
	struct store_rig *r = calloc(1, sizeof(*r));
	struct store_incident i;

	assert_non_null(r);
	store_rig_create(r);
	store_rig_open(r);
	i = incident(1, "link-dark", 0, 0);
	store_put_incident(r->s, &i, 0);
	i.red = true;
	snprintf(i.own, sizeof(i.own), "reset by ann");
	store_put_incident(r->s, &i, 0); /* replaces itself */
	store_put_incident_end(r->s, 1, RIG_UTC + 20 * SECOND, false);
	store_put_incident_end(r->s, 1, RIG_UTC + 90 * SECOND, true); /* it has ended before */
	i = incident(2, "hv-trip", 10, 0);
	i.ack = (struct alarm_hand){"bert", "local", "at daylight", RIG_UTC + 11 * SECOND};
	store_put_incident(r->s, &i, 0);
	i = incident(3, "link-loss", 11, 0);
	store_put_incident(r->s, &i, 0);
	store_put_incident_end(r->s, 3, RIG_UTC + 12 * SECOND, true);
	i = incident(4, "disk-low", 50, 60);
	store_put_incident(r->s, &i, 0);
	store_rig_flush(r);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct store_rig *r = *state;

	store_rig_destroy(r);
	free(r);
	return 0;
}

static json_t *incidents_of(struct store_rig *r, int64_t since_s, int64_t until_s)
{
	struct query_filter f = {.since_ns = RIG_UTC + since_s * SECOND,
				 .until_ns = RIG_UTC + until_s * SECOND};
	struct query *q = query_rig_open(r);
	json_t *answer = NULL;

	assert_int_equal(query_incidents(q, &f, &answer), 0);
	query_close(q);
	return answer;
}

/* "1 2": their numbers. */
static const char *numbers(const json_t *answer)
{
	static char text[80];
	size_t n;
	const json_t *i;

	text[0] = '\0';
	json_array_foreach (json_at(answer, "incidents"), n, i) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text), n ? " %.0f" : "%.0f",
			 json_number_at(i, "number"));
	}
	return text;
}

/* What was active in a time, oldest first; what belongs to another one is not shown. */
static void test_of_a_time(void **state)
{
	static const struct {
		int64_t since, until;
		const char *wanted;
	} times[] = {{-10, 100, "1 2 4"}, {-10, 0, ""},	  {-10, 1, "1"},   {20, 50, "1 2"},
		     {21, 50, "2"},	  {61, 100, "2"}, {55, 56, "2 4"}, {0, 11, "1 2"}};

	for (size_t n = 0; n < sizeof(times) / sizeof(times[0]); n++) {
		json_t *answer = incidents_of(*state, times[n].since, times[n].until);

		assert_string_equal(numbers(answer), times[n].wanted);
		json_decref(answer);
	}
}

/* By its number, whenever it was; what belongs to another one, or never was, is none. */
static void test_of_a_number(void **state)
{
	struct query *q = query_rig_open(*state);

	for (int64_t n = 1; n <= 5; n++) {
		struct query_filter f = {.incident = n};
		const char *wanted = n == 1 ? "1" : n == 2 ? "2" : n == 4 ? "4" : "";
		json_t *answer = NULL;

		assert_int_equal(query_incidents(q, &f, &answer), 0);
		assert_string_equal(numbers(answer), wanted);
		json_decref(answer);
	}
	query_close(q);
}

static void test_members(void **state)
{
	json_t *answer = incidents_of(*state, 0, 100);
	const json_t *one = json_array_get(json_at(answer, "incidents"), 0);
	const json_t *two = json_array_get(json_at(answer, "incidents"), 1);

	assert_string_equal(json_text_at(one, "severity"), "red");
	assert_string_equal(json_text_at(one, "state"), "cleared");
	assert_string_equal(json_text_at(one, "own"), "reset by ann");
	assert_true(json_number_at(one, "until") == RIG_UTC / 1e9 + 20);
	assert_int_equal(json_number_at(json_at(one, "cost"), "frames"), 10);
	assert_true(json_number_at(json_at(one, "cost"), "dark_s") == 1.5);
	assert_true(json_is_null(json_at(one, "acknowledged_by")));
	assert_string_equal(json_text_at(two, "state"), "active");
	assert_string_equal(json_text_at(two, "severity"), "warning");
	assert_string_equal(json_text_at(two, "acknowledged_by"), "bert");
	assert_string_equal(json_text_at(two, "acknowledged_text"), "at daylight");
	assert_true(json_is_null(json_at(two, "until")));
	json_decref(answer);
}

/* The next daemon finds what had not ended, and the last number. */
static void test_taken_over(void **state)
{
	struct store_rig *r = *state;
	struct store_past *past;

	store_rig_close(r);
	assert_int_equal(store_open(&r->config, &r->s, NULL), 0);
	past = store_take_past(r->s);
	assert_int_equal(past->last_incident, 4);
	assert_int_equal(past->incident_count, 1);
	assert_int_equal(past->incidents[0].number, 2);
	assert_string_equal(past->incidents[0].code, "hv-trip");
	assert_string_equal(past->incidents[0].object, "link2");
	assert_string_equal(past->incidents[0].text, "no light");
	assert_string_equal(past->incidents[0].ack.who, "bert");
	assert_int_equal(past->incidents[0].frames, 20);
	assert_int_equal(past->incidents[0].dark_ms, 1500);
	assert_true(past->incidents[0].since_ns == RIG_UTC + 10 * SECOND);
	store_past_free(past);
}

static json_t *dark_of(struct store_rig *r, int64_t since_ns, int64_t until_ns)
{
	struct query_filter f = {.since_ns = since_ns, .until_ns = until_ns};
	struct query *q = query_rig_open(r);
	json_t *answer = NULL;

	assert_int_equal(query_dark(q, &f, &answer), 0);
	query_close(q);
	return answer;
}

static void assert_dark(const json_t *answer, double dark_s, int hits, size_t causes)
{
	assert_true(json_number_at(answer, "dark_s") == dark_s);
	assert_int_equal(json_number_at(answer, "hits"), hits);
	assert_int_equal(json_array_size(json_at(answer, "causes")), causes);
}

/* Two hours, so many days ago: a module of link 1 dark all the time, hits of link 2 lost in each second. */
static int64_t put_darkness(struct store_rig *r, unsigned days)
{
	int64_t then = now_utc_ns() - days * DAY;

	then -= then % HOUR;
	for (int64_t s = 0; s < 7200; s++) {
		struct store_dark dark = {.incident = 1,
					  .link = 1,
					  .tower = 1,
					  .floor = 2,
					  .modules = 4,
					  .dark_ms = 1000};
		struct store_dark hits = {
			.incident = 2, .link = 2, .tower = 1, .floor = 3, .hits = 3};

		store_put_dark(r->s, then + s * SECOND, &dark);
		store_put_dark(r->s, then + s * SECOND, &hits);
	}
	store_rig_flush(r);
	return then;
}

static void test_darkness(void **state)
{
	struct store_rig *r = *state;
	int64_t then = put_darkness(r, 0) + 60 * SECOND;
	const struct store_dark more = {.incident = 1, .link = 1, .modules = 1, .dark_ms = 500};
	json_t *answer;
	const json_t *cause;

	store_put_dark(r->s, then, &more); /* adds up */
	store_rig_flush(r);
	answer = dark_of(r, then, then + 10 * SECOND);
	assert_dark(answer, 10.5, 30, 2);
	cause = json_array_get(json_at(answer, "causes"), 0);
	assert_string_equal(json_text_at(cause, "code"), "link-dark");
	assert_string_equal(json_text_at(cause, "object"), "link1");
	assert_int_equal(json_number_at(cause, "floor"), 2);
	assert_true(json_number_at(cause, "dark_s") == 10.5);
	json_decref(answer);
	assert_int_equal(store_rig_number(r, "SELECT modules FROM dark WHERE dark_ms = 1500"), 5);
	answer = dark_of(r, then - 120 * SECOND, then - 60 * SECOND);
	assert_dark(answer, 0, 0, 0);
	json_decref(answer);
}

/* Old seconds become minutes, then hours: the sums of whole hours stay. */
static void test_rolled_up(void **state)
{
	struct store_rig *r = *state;
	int64_t then = put_darkness(r, 3), rows[3];

	for (unsigned n = 0; n < 3; n++) {
		json_t *answer = dark_of(r, then, then + HOUR);

		assert_dark(answer, 3600, 3 * 3600, 2);
		json_decref(answer);
		rows[n] = store_rig_number(r, "SELECT count(*) FROM dark");
		store_rig_close(r);
		r->config.ages.ledger_seconds_days = n < 1 ? 1 : 0;
		r->config.ages.ledger_minutes_days = n < 1 ? 0 : 2;
		r->config.keep_ms = r->config.keep_rest = 1;
		store_rig_open(r);
		for (unsigned wait = 0;
		     wait < 500 &&
		     store_rig_number(r, n < 1 ? "SELECT count(*) FROM dark WHERE span = 1"
					       : "SELECT count(*) FROM dark WHERE span = 60") > 0;
		     wait++) {
			nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
		}
	}
	assert_int_equal(rows[0], 2 * 7200);
	assert_int_equal(rows[1], 2 * 120);
	assert_int_equal(rows[2], 2 * 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_of_a_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_of_a_number, setup, teardown),
		cmocka_unit_test_setup_teardown(test_members, setup, teardown),
		cmocka_unit_test_setup_teardown(test_taken_over, setup, teardown),
		cmocka_unit_test_setup_teardown(test_darkness, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rolled_up, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
