/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first opening of a backup: no number is given twice, however often it is restored, and whatever the clock says. */
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/rig/store_rig.h"

#define SECOND_NS 1000000000ll
#define HOUR_S	  3600ll

static int64_t now_ns;

static int64_t clock_of_test(void)
{
	return now_ns;
}

/* A database with two commands (the second is open), a run and an incident; closed. */
static void make(struct store_rig *r)
{
	struct row row;

	store_rig_create(r);
	r->config.utc_ns = clock_of_test;
	now_ns = RIG_UTC;
	store_rig_open(r);
	store_rig_command(&row, 1, "a", 11);
	store_submit(r->s, &row, 0, STORE_URGENT);
	store_rig_transition(&row, 1, "DONE", 5, "read-back", true);
	store_submit(r->s, &row, 0, STORE_URGENT);
	store_rig_command(&row, 2, "b", 12);
	store_submit(r->s, &row, 0, STORE_URGENT);
	store_put_run_begin(r->s, 7, "physics", "shift", RIG_UTC);
	store_put_incident(r->s,
			   &(struct store_incident){
				   .number = 3, .code = "c", .object = "link0", .since_ns = 1},
			   STORE_URGENT);
	store_session(r->s, 0, 4, false, 1, 1, RIG_UTC);
	store_put_event(r->s, "info", "daemon-start", "daemon", "it began", "", RIG_UTC);
	store_rig_flush(r);
	store_rig_close(r);
}

/* As fcmctl backup marks it. */
static void mark(struct store_rig *r)
{
	char sql[160];

	snprintf(sql, sizeof(sql),
		 "INSERT OR REPLACE INTO station(key, value) VALUES('copied', '%lld')", RIG_UTC);
	store_rig_run(r->path, sql);
}

/* Opened `seconds` after the backup. The caller frees it. */
static struct store_past *open_after(struct store_rig *r, int64_t seconds)
{
	now_ns = RIG_UTC + seconds * SECOND_NS;
	store_rig_open(r);
	return store_take_past(r->s);
}

static void test_skips(void **state)
{
	struct store_rig r;
	struct store_past *past;

	make(&r);
	mark(&r);
	past = open_after(&r, HOUR_S);
	assert_int_equal(past->last_command, 2 + 10000 * (HOUR_S + 1));
	assert_int_equal(past->run.last_number, 7 + 5 * (HOUR_S + 1));
	assert_int_equal(past->last_incident, 3 + 32 * (HOUR_S + 1));
	assert_int_equal(past->sequence_count > 0, 1);
	assert_true(past->sequences[0].reserved_until >= 12 + 65536 + 1000 * HOUR_S);
	/* What was open has ended. */
	assert_false(past->run.open);
	assert_int_equal(past->incident_count, 0);
	assert_false(past->crashed);
	store_past_free(past);
	/* Another board begins a session that nobody has used, even with a larger epoch. */
	assert_int_equal(store_session(r.s, 0, 9, false, 1, 1, now_ns), 1 + 10 * (HOUR_S + 1));
	store_rig_flush(&r);
	store_rig_close(&r);
	assert_int_equal(store_rig_number(&r,
					  "SELECT count(*) FROM command WHERE id = 2 AND state ="
					  " 'UNKNOWN' AND ended IS NOT NULL"),
			 1);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM transition WHERE command = 2"),
			 1);
	assert_int_equal(store_rig_number(&r, "SELECT ended FROM run WHERE number = 7"), RIG_UTC);
	assert_int_equal(store_rig_number(&r, "SELECT until FROM incident WHERE number = 3"),
			 RIG_UTC);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM event WHERE code ="
					      " 'database-restored' AND text LIKE 'restored from a"
					      " backup of 2026-%'"),
			 1);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM station WHERE key = 'copied'"),
			 0);
	store_rig_destroy(&r);
	(void)state;
}

/* The next start of the same daemon goes on, and skips nothing more. */
static void test_once(void **state)
{
	struct store_rig r;
	struct store_past *past;
	uint64_t last;

	make(&r);
	mark(&r);
	past = open_after(&r, HOUR_S);
	last = past->last_command;
	store_past_free(past);
	store_rig_close(&r);
	past = open_after(&r, 2 * HOUR_S);
	assert_int_equal(past->last_command, last);
	assert_int_equal(past->run.last_number, 7 + 5 * (HOUR_S + 1));
	store_past_free(past);
	store_rig_destroy(&r);
	(void)state;
}

/* Where the clock is before the backup, nobody knows how long ago that was; one far ahead does not use numbers up. */
static void test_clock(void **state)
{
	static const struct {
		int64_t after, seconds;
	} cases[] = {{-HOUR_S, 30 * 86400ll}, {40 * 366 * 86400ll, 366 * 86400ll}, {0, 0}};

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct store_rig r;
		struct store_past *past;

		make(&r);
		mark(&r);
		past = open_after(&r, cases[n].after);
		assert_int_equal(past->last_command, 2 + 10000 * (cases[n].seconds + 1));
		assert_true(past->last_command < 1000000000000); /* ENGINE_OWN_IDS */
		store_past_free(past);
		store_rig_destroy(&r);
	}
	(void)state;
}

/* Restored again later: all that the first daemon can have given is below. */
static void test_twice(void **state)
{
	struct store_rig first, again;
	struct store_past *past;
	uint64_t last;

	make(&first);
	mark(&first);
	make(&again);
	mark(&again);
	past = open_after(&first, 60);
	last = past->last_command;
	store_past_free(past);
	past = open_after(&again, 61);
	assert_int_equal(past->last_command, last + 10000); /* of that second */
	store_past_free(past);
	store_rig_destroy(&first);
	store_rig_destroy(&again);
	(void)state;
}

/* A wrong clock each time: the commands stay below those of a daemon without journal, the others in their bits. */
static void test_range(void **state)
{
	struct store_rig r;
	struct store_past *past;

	make(&r);
	for (int n = 0; n < 8; n++) {
		mark(&r);
		past = open_after(&r, 40 * 366 * 86400ll);
		assert_true(past->last_command < 1000000000000);
		assert_true(past->run.last_number > 7 + (unsigned)n * 5 * 366 * 86400);
		assert_true(past->last_incident <= 4200000000u);
		assert_true(past->last_incident >= 1000000000u);
		assert_true(store_session(r.s, 0, 20u + (unsigned)n, false, 1, 1, now_ns) <
			    0x80000000u);
		store_past_free(past);
		store_rig_flush(&r);
		store_rig_close(&r);
	}
	store_rig_destroy(&r);
	(void)state;
}

/* A safe that was under way in the backup is named; what operators have acknowledged and paused is not valid any more. */
static void test_left(void **state)
{
	struct store_rig r;
	struct store_past *past;
	unsigned cut = 0;

	make(&r);
	store_rig_run(r.path, "UPDATE command SET reason = 'safe 2' WHERE id = 2;"
			      "UPDATE run SET begun = begun + 5;"
			      "INSERT INTO observation(object, code, state, level, highest, latch,"
			      " parts, count, since, text, action, acknowledged, ack_who, paused,"
			      " paused_until, paused_level) VALUES"
			      " ('om1', 'limit', 'raised', 1, 1, 0, 0, 1, 1, '', '', 1, 'ann', 1,"
			      " 9000000000000000000, 2),"
			      " ('om2', 'limit', 'over', 1, 1, 0, 0, 1, 1, '', '', NULL, NULL, 1,"
			      " 9000000000000000000, 2)");
	mark(&r);
	past = open_after(&r, HOUR_S);
	for (size_t n = 0; n < past->command_count; n++) {
		cut += past->commands[n].id == 2 && past->commands[n].cut;
	}
	assert_int_equal(cut, 1);
	store_past_free(past);
	store_rig_close(&r);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM observation"), 1);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM observation WHERE"
					      " acknowledged IS NOT NULL OR paused IS NOT NULL"),
			 0);
	/* A run that began after the last sign of life ended then, and not before. */
	assert_int_equal(store_rig_number(&r, "SELECT ended - begun FROM run WHERE number = 7"), 0);
	store_rig_destroy(&r);
	(void)state;
}

/* Any other file is left as it is. */
static void test_no_backup(void **state)
{
	struct store_rig r;
	struct store_past *past;

	make(&r);
	past = open_after(&r, HOUR_S);
	assert_int_equal(past->last_command, 2);
	assert_int_equal(past->run.last_number, 7);
	assert_true(past->run.open);
	assert_int_equal(past->last_incident, 3);
	assert_int_equal(past->incident_count, 1);
	store_past_free(past);
	store_rig_destroy(&r);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_skips),	  cmocka_unit_test(test_once),
		cmocka_unit_test(test_clock),	  cmocka_unit_test(test_twice),
		cmocka_unit_test(test_range),	  cmocka_unit_test(test_left),
		cmocka_unit_test(test_no_backup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
