/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store over lives: of the board's driver (sessions), of daemons that ended with frames in flight or commands
 * left undone, of runs while the disk refuses.
 */
#include <errno.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/rig/store_rig.h"

static const char *const groups[GROUPS_MAX] = {"trigger", "acoustic"};

/* Somebody else writes in the file: all that is put meets a database that is busy. */
static sqlite3 *hold(struct store_rig *r)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	return db;
}

static void let_go(sqlite3 *db)
{
	assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void until_failing(struct store_rig *r)
{
	struct store_status status = {0};

	for (int i = 0; i < 1000 && !status.failing; i++) {
		usleep(10000);
		store_get_status(r->s, &status);
	}
	assert_true(status.failing);
}

/* A run begins only where its row is written; that it has ended is written when it can be. */
static void test_run_refused(void **state)
{
	struct store_rig r;
	struct store_run run;
	struct store_past *past;
	struct store_done done;
	sqlite3 *db;

	store_rig_create(&r);
	store_rig_open(&r);
	store_put_run_begin(r.s, 5, "physics", "shift", RIG_UTC);
	done = store_rig_wait(&r);
	assert_true(done.row == ROW_RUN_BEGIN && done.result == 0);
	db = hold(&r);
	store_put_run_end(r.s, 5, RIG_UTC + 9, 4300, 0);
	until_failing(&r);
	store_put_run_begin(r.s, 6, "more", "shift", RIG_UTC);
	done = store_rig_wait(&r);
	assert_true(done.row == ROW_RUN_BEGIN && done.result == -EBUSY);
	let_go(db);
	store_rig_close(&r);
	assert_int_equal(store_open(&r.config, &r.s, NULL), 0);
	past = store_take_past(r.s);
	run = past->run;
	store_past_free(past);
	assert_true(run.last_number == 5 && !run.open);
	store_rig_destroy(&r);
}

/* More rows than can be kept: what is put again anyway goes before what is said once. */
static void test_keeps_what_is_said_once(void **state)
{
	struct ledger_link_row l = {.dma_epoch = 1, .link = 2};
	struct store_rig r;
	struct store_status status;
	sqlite3 *db;

	store_rig_create(&r);
	r.config.keep_rows = 20;
	store_rig_open(&r);
	db = hold(&r);
	for (l.second = 0; l.second < 10; l.second++) {
		for (unsigned again = 0; again < 9; again++) {
			l.closed = again == 8;
			l.cells = l.verdicts[TDM_GOOD] = 1000 * again;
			store_put_link_row(r.s, 1, &l, FCM_NO_TAI, RIG_UTC, 0, 0);
		}
	}
	until_failing(&r);
	let_go(db);
	store_rig_flush(&r);
	store_get_status(r.s, &status);
	assert_int_equal(status.given_up, 0);
	assert_int_equal(store_rig_number(&r, "SELECT sum(closed) FROM ledger_link"), 10);
	store_rig_destroy(&r);
}

static void test_sessions(void **state)
{
	struct store_rig r;

	store_rig_create(&r);
	store_rig_open(&r);
	assert_int_equal(store_session(r.s, 0, 1, false, 42, 3, RIG_UTC), 1);
	assert_int_equal(store_session(r.s, 1, 1, false, 42, 3, RIG_UTC), 1);
	assert_int_equal(store_session(r.s, 0, 2, false, 42, 3, RIG_UTC), 1); /* DMA began anew */
	store_rig_close(&r);
	store_rig_open(&r); /* the daemon again: takes over, or begins anew, the driver lives on */
	assert_int_equal(store_session(r.s, 0, 2, true, 42, 3, RIG_UTC), 1);
	assert_int_equal(store_session(r.s, 1, 3, false, 42, 3, RIG_UTC), 1);
	store_rig_close(&r);
	store_rig_open(&r); /* the board again: counts from 1 */
	assert_int_equal(store_session(r.s, 0, 1, false, 42, 4, RIG_UTC), 2);
	assert_int_equal(store_session(r.s, 1, 1, false, 42, 4, RIG_UTC), 2);
	store_rig_close(&r);
	store_rig_open(&r); /* one link lives on, the other begins anew under a number known */
	assert_int_equal(store_session(r.s, 0, 1, true, 42, 4, RIG_UTC), 2);
	assert_int_equal(store_session(r.s, 1, 1, false, 42, 4, RIG_UTC), 3);
	assert_int_equal(store_session(r.s, 0, 1, true, 42, 4, RIG_UTC), 2);
	store_rig_close(&r);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM dma"), 7);
	store_rig_destroy(&r);
}

/* A board that lives long starts DMA often; then it is switched off. */
static void test_long_life(void **state)
{
	struct store_rig r;

	store_rig_create(&r);
	store_rig_open(&r);
	for (uint32_t epoch = 1; epoch <= 40; epoch++) {
		for (unsigned link = 0; link < 4; link++) {
			assert_int_equal(store_session(r.s, link, epoch, false, 42, 3, RIG_UTC), 1);
		}
	}
	for (int restart = 0; restart < 2; restart++) {
		store_rig_close(&r);
		store_rig_open(&r);
		for (unsigned link = 0; link < 4; link++) { /* the board again */
			assert_int_equal(store_session(r.s, link, 1, false, 42, 4, RIG_UTC),
					 2 + restart);
		}
	}
	store_rig_close(&r);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM dma"), 168);
	store_rig_destroy(&r);
}

static void put_stream(struct store_rig *r, uint32_t epoch, uint64_t second, uint32_t in_flight)
{
	struct ledger_link_row l = {.dma_epoch = epoch,
				    .cells = 8000,
				    .second = second,
				    .link = 2,
				    .tower = 1,
				    .floor = 3,
				    .closed = in_flight == 0,
				    .verdicts = {8000}};
	struct ledger_stream_row m = {.dma_epoch = epoch,
				      .link = 2,
				      .second = second,
				      .closed = in_flight == 0,
				      .offered = 8000,
				      .outcome = {0, 8000 - in_flight},
				      .in_flight = in_flight};

	store_put_link_row(r->s, 1, &l, FCM_NO_TAI, RIG_UTC + (int64_t)second, 0, 0);
	store_put_stream_row(r->s, 1, &m, groups, RIG_UTC + (int64_t)second, 0, 0);
}

#define OPEN_ROWS                                                                                  \
	"SELECT (SELECT count(*) FROM ledger_stream WHERE NOT closed)"                             \
	" + (SELECT count(*) FROM ledger_link WHERE NOT closed) + (SELECT count(*) FROM loss"      \
	" WHERE open)"
#define SHUTDOWN                                                                                   \
	"SELECT count(*) FROM ledger_stream WHERE closed AND in_flight = 0"                        \
	" AND offered = acked + slow + shutdown AND shutdown = "
#define NAMED "SELECT sum(frames) FROM loss WHERE kind = 1 AND code = 'shutdown'"

/* A daemon ends with frames in flight. Taken over they stay so; when the ring is gone they are lost. */
static void test_left_in_flight(void **state)
{
	struct ledger_loss loss = {
		.kind = 0, .code = TDM_LOSS_CRC, .link = 2, .open = 1, .dma_epoch = 1, .frames = 4};
	struct ledger_loss drop = {.kind = 1,
				   .code = OUTCOME_DROP_SLOW,
				   .link = 2,
				   .dma_epoch = 1,
				   .first = 6 * 8000 - 160,
				   .frames = 400};
	struct store_rig r;

	store_rig_create(&r);
	store_rig_open(&r);
	store_session(r.s, 2, 1, false, 42, 3, RIG_UTC);
	put_stream(&r, 1, 4, 0);
	put_stream(&r, 1, 5, 800);
	put_stream(&r, 1, 6, 8000);
	store_put_loss(r.s, 1, &loss, groups, RIG_UTC, 0, 0);
	/* Dropped since the rows of seconds 5 and 6 were written. */
	store_put_loss(r.s, 1, &drop, groups, RIG_UTC, 0, 0);
	store_rig_close(&r);
	store_rig_open(&r);
	assert_int_equal(store_session(r.s, 2, 1, true, 42, 3, RIG_UTC), 1);
	store_rig_flush(&r);
	assert_int_equal(store_rig_number(&r, OPEN_ROWS), 5);
	/* DMA anew in the same daemon: what is out still comes back, and closes the rows of the old one. */
	assert_int_equal(store_session(r.s, 2, 2, false, 42, 3, RIG_UTC), 1);
	put_stream(&r, 2, 7, 80);
	store_rig_flush(&r);
	assert_int_equal(store_rig_number(&r, OPEN_ROWS), 7);
	store_rig_close(&r);
	store_rig_open(&r);
	assert_int_equal(store_session(r.s, 1, 9, false, 42, 3, RIG_UTC), 1); /* another link */
	assert_int_equal(store_session(r.s, 2, 2, true, 42, 3, RIG_UTC), 1);
	store_rig_flush(&r);
	assert_int_equal(store_rig_number(&r, OPEN_ROWS), 2); /* of the epoch that lives on */
	assert_int_equal(store_rig_number(&r, SHUTDOWN "640 AND slow = 160"), 1);
	assert_int_equal(store_rig_number(&r, SHUTDOWN "7760 AND slow = 240"), 1);
	assert_int_equal(store_rig_number(&r, NAMED), 8400);
	assert_int_equal(store_rig_number(&r, NAMED " AND grp = 'trigger' AND floor = 3"
						    " AND first = 5 * 8000 + 7360"),
			 640);
	store_rig_close(&r);
	store_rig_open(&r); /* the board was off */
	assert_int_equal(store_session(r.s, 2, 1, false, 42, 4, RIG_UTC), 2);
	store_rig_flush(&r);
	assert_int_equal(store_rig_number(&r, OPEN_ROWS), 0);
	assert_int_equal(store_rig_number(&r, NAMED), 8480);
	store_rig_close(&r);
	store_rig_destroy(&r);
}

/* What lasts of alarms is as it was put last; what is forgotten is gone. */
static void test_alarms(void **state)
{
	struct alarm paused = {.object = "group trigger",
			       .code = "consumer-none",
			       .state = ALARM_OVER,
			       .paused_until_ns = RIG_UTC + 3600000000000,
			       .paused_level = LEVEL_WARNING,
			       .pause = {"anna", "curve:daq", "farm is down", RIG_UTC}};
	struct alarm seen = {.object = "tower1.floor3",
			     .code = "hv-trip",
			     .state = ALARM_RAISED,
			     .level = LEVEL_WARNING,
			     .highest = LEVEL_ALARM,
			     .parts = 0x80000001,
			     .count = 7,
			     .since_ns = RIG_UTC - 5,
			     .text = "tripped",
			     .action = "clear it"};
	const struct engine_now now = {1, RIG_UTC + 1000000000};
	struct alarms *a = alarms_create();
	const struct alarm *got;
	struct store_past *past;
	struct store_rig r;

	store_rig_create(&r);
	store_rig_open(&r);
	store_put_observation(r.s, &paused);
	store_put_observation(r.s, &seen);
	seen.acknowledged = true;
	seen.ack = (struct alarm_hand){"bert", "local", "", RIG_UTC + 1};
	store_put_observation(r.s, &seen);
	snprintf(seen.code, sizeof(seen.code), "other");
	store_put_observation(r.s, &seen);
	store_put_observation_forget(r.s, &seen);
	store_rig_close(&r);

	assert_int_equal(store_open(&r.config, &r.s, NULL), 0);
	past = store_take_past(r.s);
	for (size_t n = 0; n < past->observation_count; n++) {
		alarms_recover(a, &past->observations[n], now);
	}
	store_past_free(past);
	assert_null(alarms_find(a, "tower1.floor3", "other"));
	got = alarms_find(a, "tower1.floor3", "hv-trip");
	assert_true(got && got->state == ALARM_AWAITED && got->acknowledged &&
		    got->ack.utc_ns == RIG_UTC + 1 && got->parts == 0x80000001 && got->count == 7 &&
		    got->level == LEVEL_WARNING && got->highest == LEVEL_ALARM &&
		    got->since_ns == RIG_UTC - 5 && !got->paused_until_ns);
	assert_string_equal(got->ack.who, "bert");
	assert_string_equal(got->text, "tripped");
	assert_string_equal(got->action, "clear it");
	got = alarms_find(a, "group trigger", "consumer-none");
	assert_true(got && got->state == ALARM_OVER && !got->acknowledged &&
		    got->paused_until_ns == paused.paused_until_ns &&
		    got->paused_level == LEVEL_WARNING && got->pause.utc_ns == RIG_UTC);
	assert_string_equal(got->pause.text, "farm is down");
	assert_string_equal(got->pause.origin, "curve:daq");
	alarms_destroy(a);
	store_destroy(r.s);
	r.s = NULL;
	store_rig_destroy(&r);
}

/* Number of commands of the same floor that may have been sent after an open one: those requested
 * later, and earlier ones that had not ended by then, because words overtake. */
static void test_read_later(void **state)
{
	static const struct {
		uint64_t id, later;
	} wanted[] = {{300, 210}, {400, 111}, {501, 1}, {502, 1}};
	struct store_past *past;
	struct store_rig r;
	size_t found = 0;

	store_rig_create(&r);
	store_rig_open(&r);
	store_rig_close(&r);
	/* One a second: 1..500 on floor 3, taken at their number; 300 and 400 are open, others ended 10 s later. 501 and
	 * 502 are on floor 4, and 600 was refused: it had no sequence. */
	store_rig_run(
		r.path,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 502)"
		" INSERT INTO command(id, client_id, time, who, tower, floor, parameter, op,"
		" new_value, sequence, state, ended) SELECT i, 'c' || i, i, 'w', 1,"
		" iif(i > 500, 4, 3), 'tower1.floor3.om0.threshold', 'set', 12, i, 'SENT',"
		" iif(i IN (300, 400) OR i > 500, NULL, i + 10) FROM n;"
		"INSERT INTO command(id, time, who, tower, floor, parameter, op, new_value,"
		" state, ended) VALUES(600, 600, 'w', 1, 3, 'tower1.floor3.om0.threshold',"
		" 'set', 12, 'REFUSED', 600);"
		"INSERT OR REPLACE INTO station(key, value) VALUES('settled_until', '299')");
	assert_int_equal(store_open(&r.config, &r.s, NULL), 0);
	past = store_take_past(r.s);
	for (size_t n = 0; n < past->command_count; n++) {
		const struct engine_journal *j = &past->commands[n];

		if (j->ended || j->undone) {
			continue;
		}
		assert_true(found < sizeof(wanted) / sizeof(wanted[0]));
		assert_int_equal(j->id, wanted[found].id);
		assert_int_equal(j->later, wanted[found].later);
		found++;
	}
	assert_int_equal(found, sizeof(wanted) / sizeof(wanted[0]));
	store_past_free(past);
	store_destroy(r.s);
	r.s = NULL;
	store_rig_destroy(&r);
}

static void note_undone(void *context, const struct engine_reason *reason)
{
	char *all = context;
	size_t used = strlen(all);

	if (strcmp(reason->code, "command-unknown") == 0 || strcmp(reason->code, "safe-cut") == 0) {
		snprintf(all + used, 400 - used, "%s of %s: %.46s;", reason->code, reason->object,
			 reason->text);
	}
}

/* What was left undone is found however much came after it, until a later command on its parameter is done. */
static void test_read_undone(void **state)
{
	static const struct param_floor floors[] = {{2, 1, 3}};
	struct engine_config config;
	struct engine_now now = {1000, RIG_UTC};
	struct params *p = NULL;
	struct store_past *past;
	struct store_rig r;
	struct engine *e;
	sqlite3 *db = NULL;
	char all[400] = "";

	store_rig_create(&r);
	store_rig_open(&r);
	store_rig_close(&r);
	assert_int_equal(sqlite3_open(r.path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(
			db,
			"WITH c(id, parameter, state, reason) AS (VALUES"
			" (1, 'om0.reset', 'UNKNOWN', NULL), (2, 'om1.reset', 'UNKNOWN', NULL),"
			" (3, 'om1.reset', 'UNKNOWN', NULL), (4, 'om0.reset', 'DONE', NULL),"
			" (5, 'om2.power', 'FAILED', 'safe 5'), (6, 'om3.power', 'FAILED', 'safe "
			"5: x'),"
			" (7, 'om4.power', 'FAILED', 'safe 5'), (8, 'om3.power', 'DONE', 'on "
			"again'),"
			" (9, 'om5.power', 'FAILED', 'safety first'))"
			" INSERT INTO command(id, time, who, tower, floor, parameter, op, "
			"sequence, state,"
			" reason, detail, ended) SELECT id, 1, 'w', 1, 3, 'tower1.floor3.' || "
			"parameter,"
			" iif(parameter LIKE '%reset', 'action', 'set'), id, state, reason, 'as "
			"told', 2"
			" FROM c;"
			/* All but the fifth were cut off. */
			"INSERT INTO transition(command, number, time, state, detail) SELECT id, "
			"1, 2, "
			"'UNKNOWN', "
			"'" ENGINE_TAKEN_UP " QUEUED; asking the FCM' FROM command WHERE id <> 5;"
			"WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < "
			"3000)"
			" INSERT INTO command(id, client_id, time, who, tower, floor, parameter, "
			"op,"
			" new_value, sequence, state, ended) SELECT i, 'c' || i, 1, 'w', 1, 3,"
			" 'tower1.floor3.om0.threshold', 'set', 12, i, 'DONE', 2 FROM n",
			NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(store_open(&r.config, &r.s, NULL), 0);
	assert_int_equal(params_load("schemas/parameters.conf", floors, 1, &p, NULL), 0);
	engine_config_default(&config);
	e = engine_create(p, &config);
	past = store_take_past(r.s);
	assert_int_equal(store_past_engine(past, e, now), 0);
	store_past_free(past);
	engine_reasons(e, now, note_undone, all);
	assert_string_equal(all,
			    "command-unknown of tower1.floor3.om1.reset: command 3: as told;"
			    "safe-cut of safe: safe 5 was cut off by the daemon's end: 1 of i;");
	engine_destroy(e);
	params_destroy(p);
	store_destroy(r.s);
	r.s = NULL;
	store_rig_destroy(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_undone), cmocka_unit_test(test_read_later),
		cmocka_unit_test(test_run_refused), cmocka_unit_test(test_keeps_what_is_said_once),
		cmocka_unit_test(test_sessions),    cmocka_unit_test(test_long_life),
		cmocka_unit_test(test_alarms),	    cmocka_unit_test(test_left_in_flight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
