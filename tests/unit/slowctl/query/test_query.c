/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queries on a real file: beside a writing store, after a killed one, after an orderly end; answers in
 * the shapes of schemas/control.md; nothing is changed by asking.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "slowctl/query/ask.h"
#include "slowctl/query/private.h"
#include "tests/unit/rig/query_rig.h"
#include "tests/unit/rig/store_rig.h"

static const char *const groups[GROUPS_MAX] = {"trigger", "acoustic"};

static void put_ledger(struct store_rig *r)
{
	struct ledger_link_row l = {.dma_epoch = 1,
				    .cells = 8000,
				    .link = 2,
				    .tower = 1,
				    .floor = 3,
				    .verdicts = {7990, 0, 0, 0, 10}};
	struct ledger_stream_row m = {.dma_epoch = 1,
				      .link = 2,
				      .stream = FCM_PMT,
				      .offered = 8000,
				      .outcome = {0, 7400, 590, 0, 0, 0, 10}};
	struct ledger_loss loss = {.code = TDM_LOSS_CRC,
				   .link = 2,
				   .tower = 1,
				   .floor = 3,
				   .dma_epoch = 1,
				   .first = 40000,
				   .frames = 4,
				   .tai_ns = RIG_UTC + 37000000000ll};

	for (unsigned second = 1; second <= 5; second++) {
		l.second = m.second = second;
		l.closed = m.closed = second < 5;
		if (second == 5) { /* open: in flight still */
			m.outcome[OUTCOME_ACKED] = 7000;
			m.in_flight = 400;
			l.verdicts[0] = 7000;
			l.cells = 7010;
		}
		store_put_link_row(r->s, 1, &l, INT64_MIN, RIG_UTC + second, 0, 0);
		store_put_stream_row(r->s, 1, &m, groups, RIG_UTC + second, 0, 0);
	}
	store_put_loss(r->s, 1, &loss, groups, RIG_UTC + 3, 0, 0);
}

static void put_commands(struct store_rig *r)
{
	struct row row;

	store_rig_command(&row, 1, "one", 101);
	store_submit(r->s, &row, 0, 0);
	store_rig_transition(&row, 1, "SENT", 12345, "sent, attempt 1", false);
	store_submit(r->s, &row, 0, 0);
	store_rig_transition(&row, 1, "DONE", -1, "read-back 1450.0 V", true);
	store_submit(r->s, &row, 0, 0);
	store_rig_command(&row, 2, NULL, 102);
	store_submit(r->s, &row, 0, 0);
	for (int i = 0; i < 20; i++) {
		row_begin(&row, ROW_SAMPLE);
		row_add(&row, ROW_VT("tower1.floor3.om2.hv"));
		row_add(&row, ROW_VI(RIG_UTC + i * 1000000000ll));
		row_add(&row, ROW_VR(1400 + i));
		row_add(&row, ROW_VR(1450));
		store_submit(r->s, &row, 0, 0);
	}
	row_begin(&row, ROW_SAMPLE);
	row_add(&row, ROW_VT("clock.state"));
	row_add(&row, ROW_VI(RIG_UTC));
	row_add(&row, ROW_VR(2));
	row_add(&row, ROW_VNULL);
	store_submit(r->s, &row, 0, 0);
}

static void put_station(struct store_rig *r)
{
	struct phase_row row = {.mean_ps = 3000.5, .sigma_ps = 20, .samples = 10};
	struct phase_judgement j = {.verdict = PHASE_SLIP, .slip = -2};
	struct phase_reference ref = {.phase_ps = 3000.5, .time_ns = RIG_UTC};
	struct label label = {.source = LABEL_GPSD, .state = CLOCK_LOCKED};

	for (int i = 0; i < 5; i++) {
		store_put_phase_row(r->s, 1, &row, RIG_UTC + i);
	}
	store_put_phase_event(r->s, 1, &j, NULL, NULL, RIG_UTC);
	store_put_phase_reference(r->s, 1, &ref, "expert", "new fibre");
	store_put_clock_event(r->s, &label, "gpsd is back", RIG_UTC);
	store_put_event(r->s, "info", "odd", NULL, "bytes \xff\xfe", NULL, RIG_UTC + 5);
	/* Written later, yet it was before. */
	store_put_event(r->s, "red", "trip", "floor3.om2", "tripped", "clear it", RIG_UTC);
	store_put_station(r->s, "last_alive", "1795000000");
	store_put_run_begin(r->s, 5, "physics", "shift", RIG_UTC);
	assert_int_equal(store_rig_wait(r).result, 0);
}

static int setup(void **state)
{
	struct store_rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	store_rig_create(r);
	store_rig_open(r);
	put_commands(r);
	put_ledger(r);
	put_station(r);
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

static void test_commands(void **state)
{
	struct query *q = query_rig_open(*state);
	struct query_filter f = {0};
	json_t *json = NULL, *c, *t;

	assert_int_equal(query_commands(q, &f, &json), 0);
	assert_int_equal(json_array_size(json_at(json, "commands")), 2);
	c = json_array_get(json_at(json, "commands"), 1);
	assert_true(json_number_at(c, "command") == 1);
	assert_string_equal(json_text_at(c, "client_id"), "one");
	assert_string_equal(json_text_at(c, "state"), "DONE");
	assert_true(json_number_at(c, "new") == 1450);
	assert_true(json_number_at(c, "time") == 1795000000);
	assert_true(json_is_null(json_at(json_array_get(json_at(json, "commands"), 0), "ended")));
	json_decref(json);

	assert_int_equal(query_command(q, &(struct query_filter){.command = 1}, &json), 0);
	t = json_at(json, "transitions");
	assert_int_equal(json_array_size(t), 3);
	assert_string_equal(json_text_at(json_array_get(t, 0), "state"), "QUEUED");
	assert_true(json_number_at(json_array_get(t, 1), "frame") == 12345);
	json_decref(json);
	assert_int_equal(query_command(q, &(struct query_filter){.command = 99}, &json), -ENOENT);
	query_close(q);
}

static void test_filters(void **state)
{
	static const struct {
		struct query_filter filter;
		size_t found;
	} cases[] = {
		{{.limit = 1}, 1},
		{{.state = "open"}, 1},
		{{.state = "done"}, 1},
		{{.state = "FAILED"}, 0},
		{{.parameter = "floor3.om2.hv"}, 2},
		{{.parameter = "floor*.om[0-1].hv"}, 0},
		{{.parameter = "tower1.floor3"}, 2},
		{{.who = "operator"}, 2},
		{{.who = "'; DROP TABLE command; --"}, 0},
		{{.tower = 1, .floor = 3}, 2},
		{{.floor = 4}, 0},
		{{.since_ns = RIG_UTC + 2}, 1},
	};
	struct query *q = query_rig_open(*state);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *json = NULL;

		assert_int_equal(query_commands(q, &cases[i].filter, &json), 0);
		if (json_array_size(json_at(json, "commands")) != cases[i].found) {
			fail_msg("case %zu: %zu found", i,
				 json_array_size(json_at(json, "commands")));
		}
		json_decref(json);
	}
	query_close(q);
}

/* What a value means and its unit stand in the file: for all objects of a kind, for samples and commands;
 * and so which kinds there are. */
static void test_words(void **state)
{
	static const struct {
		const char *parameter;
		size_t count, value;
		const char *word, *unit;
	} cases[] = {
		{"link2.state", 6, 4, "up", ""},
		{"tower1.floor3.om2.power", 2, 1, "on", ""},
		{"tower12.floor3.om0.power", 2, 0, "off", ""},
		{"clock.state", 5, 2, "locked", ""},
		{"tower1.floor3.om2.hv", 0, 0, NULL, "V"},
		{"tower1.floor3.om2.rate", 0, 0, NULL, "Hz"},
		{"tower.floor.om", 0, 0, NULL, NULL}, /* no name of ours */
		{"link2", 0, 0, NULL, NULL},
	};
	const struct param_floor floor = {.link = 2, .tower = 1, .floor = 3};
	struct store_rig *r = *state;
	struct sc_error error = {0};
	struct params *params = NULL;
	json_t *json = NULL;
	struct query *q;

	assert_int_equal(params_load("schemas/parameters.conf", &floor, 1, &params, &error), 0);
	store_put_words(r->s, params);
	params_destroy(params);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct row row;

		row_begin(&row, ROW_SAMPLE);
		row_add(&row, ROW_VT(cases[i].parameter));
		row_add(&row, ROW_VI(RIG_UTC + 100));
		row_add(&row, ROW_VR((double)cases[i].value));
		row_add(&row, ROW_VNULL);
		store_submit(r->s, &row, 0, 0);
	}
	store_rig_flush(r);
	q = query_rig_open(r);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const json_t *words;

		assert_int_equal(
			query_history(q, &(struct query_filter){.name = cases[i].parameter}, &json),
			0);
		words = json_at(json, "words");
		assert_int_equal(json_array_size(words), cases[i].count);
		if (cases[i].unit) {
			assert_string_equal(json_text_at(json, "unit"), cases[i].unit);
		}
		assert_true(cases[i].word ? true : json_is_null(words));
		if (cases[i].word) {
			assert_string_equal(
				json_string_value(json_array_get(words, cases[i].value)),
				cases[i].word);
		}
		json_decref(json);
	}
	assert_int_equal(
		query_history(q, &(struct query_filter){.name = "floor3.fcm.uptime"}, &json),
		-ENODATA);
	assert_int_equal(
		query_history(q, &(struct query_filter){.name = "floor3.fcm.uptme"}, &json),
		-ENOENT);
	query_close(q);
}

static void test_history(void **state)
{
	struct query *q = query_rig_open(*state);
	json_t *json = NULL, *rows;

	assert_int_equal(query_history(q,
				       &(struct query_filter){.name = "floor3.om2.hv", .limit = 5},
				       &json),
			 0);
	assert_string_equal(json_text_at(json, "name"), "tower1.floor3.om2.hv");
	assert_string_equal(json_text_at(json, "unit"), "V");
	rows = json_at(json, "rows");
	assert_int_equal(json_array_size(rows), 5); /* the newest, oldest first */
	assert_true(json_number_at(json_array_get(rows, 0), "value") == 1415);
	assert_true(json_number_at(json_array_get(rows, 4), "value") == 1419);
	assert_int_equal(json_array_size(json_at(json, "sets")), 2);
	json_decref(json);
	assert_int_equal(query_history(q, &(struct query_filter){.name = "clock.state"}, &json), 0);
	assert_true(json_is_null(json_at(json, "unit")));
	assert_true(json_is_null(json_at(json_array_get(json_at(json, "rows"), 0), "setpoint")));
	json_decref(json);
	assert_int_equal(query_history(q, &(struct query_filter){.name = "floor3.om2"}, &json),
			 -ENOENT);
	assert_true(query_error(q)[0]);
	query_close(q);
}

static void test_ambiguous(void **state)
{
	struct store_rig *r = *state;
	struct query *q;
	struct row row;
	json_t *json = NULL;

	row_begin(&row, ROW_SAMPLE);
	row_add(&row, ROW_VT("tower2.floor3.om2.hv"));
	row_add(&row, ROW_VI(RIG_UTC));
	row_add(&row, ROW_VR(1));
	row_add(&row, ROW_VNULL);
	store_submit(r->s, &row, 0, 0);
	store_rig_flush(r);
	q = query_rig_open(r);
	assert_int_equal(query_history(q, &(struct query_filter){.name = "floor3.om2.hv"}, &json),
			 -ENOTUNIQ);
	assert_int_equal(
		query_history(q, &(struct query_filter){.name = "tower2.floor3.om2.hv"}, &json), 0);
	json_decref(json);
	query_close(q);
}

static void test_ledger(void **state)
{
	struct store_rig *r = *state;
	struct ledger_link_row wrong = {.dma_epoch = 1,
					.cells = 8000,
					.second = 9,
					.link = 2,
					.tower = 1,
					.floor = 3,
					.closed = 1,
					.verdicts = {7999}};
	struct query *q = query_rig_open(r);
	json_t *json = NULL, *total, *loss;

	assert_int_equal(query_account_of(q, 0, QUERY_ALL, 0, &json), 0);
	assert_true(json_is_true(json_at(json, "balanced")));
	total = json_array_get(json_at(json_at(json, "totals"), "links"), 0);
	assert_true(json_number_at(total, "seconds") == 5);
	assert_true(json_number_at(total, "open") == 1);
	assert_true(json_number_at(total, "cells") == 39010);
	assert_true(json_number_at(total, "crc") == 50);
	assert_true(json_number_at(total, "alignment") == 0);
	assert_true(json_number_at(total, "lost") == 50);
	total = json_array_get(json_at(json_at(json, "totals"), "streams"), 0);
	assert_string_equal(json_text_at(total, "group"), "trigger");
	assert_true(json_number_at(json_at(total, "dropped"), "no-member") == 2950);
	assert_true(json_number_at(json_at(total, "dropped"), "no-time") == 50);
	assert_true(json_number_at(total, "lost") == 3000);
	assert_int_equal(json_array_size(json_at(json, "links")), 5);
	assert_int_equal(json_array_size(json_at(json, "unbalanced")), 0);
	loss = json_array_get(json_at(json, "losses"), 0);
	assert_string_equal(json_text_at(loss, "code"), "crc");
	assert_string_equal(json_text_at(loss, "kind"), "link");
	assert_true(json_number_at(loss, "last") == 40003);
	assert_true(json_is_null(json_at(loss, "group")));
	json_decref(json);
	assert_int_equal(query_account_of(q, 0, 1, 0, &json), 0);
	assert_int_equal(json_array_size(json_at(json, "links")), 0);
	json_decref(json);

	store_put_link_row(r->s, 1, &wrong, INT64_MIN, RIG_UTC + 9, 0, 0);
	store_rig_flush(r);
	assert_int_equal(query_account_of(q, 0, QUERY_ALL, 3, &json), 0);
	assert_true(json_is_false(json_at(json, "balanced")));
	assert_int_equal(json_array_size(json_at(json, "links")), 3);
	assert_int_equal(json_array_size(json_at(json, "unbalanced")), 1);
	assert_true(json_number_at(json_array_get(json_at(json, "unbalanced"), 0), "second") == 9);
	json_decref(json);
	query_close(q);
}

static void put_drop(struct store_rig *r, unsigned link, unsigned outcome, uint64_t first,
		     uint64_t frames, bool open, int64_t utc_ns)
{
	struct ledger_loss loss = {.kind = 1,
				   .code = (uint8_t)outcome,
				   .link = (uint8_t)link,
				   .tower = 1,
				   .floor = (uint8_t)(link + 1),
				   .open = open,
				   .stream = FCM_PMT,
				   .dma_epoch = 1,
				   .first = first,
				   .frames = frames,
				   .tai_ns = first == 1000 ? 77 : INT64_MIN};

	store_put_loss(r->s, 1, &loss, groups, utc_ns, 0, 0);
}

/* Rows of a loss that follow each other are one; nothing else is joined. */
static void test_joined_losses(void **state)
{
	static const struct {
		const char *code;
		int link;
		int64_t first, last, frames, tai_ns;
		double begun, time; /* s after the rig's UTC */
		bool open;
	} wanted[] = {
		{"slow", 2, 1000, 9079, 8080, 77, 199.9, 203, true}, /* three rows */
		{"slow", 2, 9080, 9159, 80, 0, 203.99, 204, false},  /* another DMA epoch */
		{"no-member", 2, 9080, 9159, 80, 0, 204.99, 205, false},
		{"no-member", 2, 9240, 9319, 80, 0, 205.99, 206, false}, /* a gap before it */
		{"no-member", 3, 9320, 9399, 80, 0, 206.99, 207, false}, /* another link */
	};
	struct store_rig *r = *state;
	struct query *q;
	json_t *json = NULL;
	struct ledger_loss other = {.kind = 1, .code = OUTCOME_DROP_SLOW, .link = 2, .tower = 1};

	put_drop(r, 2, OUTCOME_DROP_SLOW, 1000, 800, true, RIG_UTC + 200000000000ll);
	put_drop(r, 2, OUTCOME_DROP_SLOW, 1800, 7200, false, RIG_UTC + 202000000000ll);
	put_drop(r, 2, OUTCOME_DROP_SLOW, 9000, 80, true, RIG_UTC + 203000000000ll);
	put_drop(r, 2, OUTCOME_DROP_NO_MEMBER, 9080, 80, false, RIG_UTC + 205000000000ll);
	put_drop(r, 2, OUTCOME_DROP_NO_MEMBER, 9240, 80, false, RIG_UTC + 206000000000ll);
	put_drop(r, 3, OUTCOME_DROP_NO_MEMBER, 9320, 80, false, RIG_UTC + 207000000000ll);
	other.floor = 3;
	other.dma_epoch = 2;
	other.first = 9080;
	other.frames = 80;
	other.tai_ns = INT64_MIN;
	store_put_loss(r->s, 1, &other, groups, RIG_UTC + 204000000000ll, 0, 0);
	store_rig_flush(r);
	q = query_rig_open(r);
	assert_int_equal(query_account_of(q, RIG_UTC + 100000000000ll, QUERY_ALL, 0, &json), 0);
	assert_int_equal(json_array_size(json_at(json, "losses")), 5);
	for (size_t i = 0; i < 5; i++) {
		const json_t *l = NULL;
		size_t n;
		json_t *found;

		json_array_foreach (json_at(json, "losses"), n, found) {
			bool same = strcmp(json_text_at(found, "code"), wanted[i].code) == 0 &&
				    json_number_at(found, "first") == (double)wanted[i].first;

			l = same ? found : l;
		}
		assert_non_null(l);
		assert_int_equal(json_number_at(l, "link"), wanted[i].link);
		assert_int_equal(json_number_at(l, "last"), wanted[i].last);
		assert_int_equal(json_number_at(l, "frames"), wanted[i].frames);
		assert_true(fabs(json_number_at(l, "begun") - 1795000000 - wanted[i].begun) < 1e-3);
		assert_true(fabs(json_number_at(l, "time") - 1795000000 - wanted[i].time) < 1e-3);
		assert_int_equal(json_is_true(json_at(l, "open")), wanted[i].open);
		assert_int_equal(json_integer_value(json_at(l, "tai_ns")), wanted[i].tai_ns);
	}
	json_decref(json);
	/* The newest come from all rows, not from the newest rows. */
	assert_int_equal(query_account_of(q, RIG_UTC + 100000000000ll, 2, 4, &json), 0);
	assert_int_equal(json_array_size(json_at(json, "losses")), 4);
	assert_int_equal(json_number_at(json_array_get(json_at(json, "losses"), 0), "first"), 1000);
	json_decref(json);
	query_close(q);
}

/* ------------------------------------------------------------------ limits */

#define BIG_SECONDS 60000

/* A day and more of four links, written behind the store's back. */
static void put_much(const struct store_rig *r)
{
	static const char sql[] =
		"BEGIN;"
		"WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < %d - 1),"
		" l(k) AS (VALUES(0), (1), (2), (3))"
		" INSERT INTO ledger_link SELECT 9, 1, k, i, 1, k + 1, 8000, 8000, 0, 0, 0, 0, 0, "
		"0,"
		" 0, 0, 1, %lld + i * 1000000000, NULL FROM l, s;"
		"WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < %d - 1)"
		" INSERT INTO loss SELECT 9, 0, 'crc', 1, 1, 2, '', '', 1, i * 8000, 1, NULL,"
		" %lld + i * 1000000000, 0, NULL FROM s; COMMIT";
	long long from = RIG_UTC - BIG_SECONDS * 1000000000ll;
	char text[1024];
	sqlite3 *db;

	snprintf(text, sizeof(text), sql, BIG_SECONDS, from, BIG_SECONDS, from);
	assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* Every page of the -wal can be put back into the file: no reader holds a snapshot. */
static bool nobody_reads(const struct store_rig *r)
{
	sqlite3_stmt *s;
	sqlite3 *db;
	int busy;

	assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA wal_checkpoint(TRUNCATE)", -1, &s, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	busy = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return busy == 0;
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* A question that takes too long ends in time, leaves nothing behind, and does not spoil the next. */
static void test_limit(void **state)
{
	struct store_rig *r = *state;
	struct query_filter nothing = {.who = "nobody"};
	struct query *q;
	json_t *json = NULL;
	double whole, cut;

	put_much(r);
	q = query_rig_open(r);
	whole = cpu_ms();
	assert_int_equal(query_account_of(q, 0, QUERY_ALL, 0, &json), 0);
	assert_true(json_number_at(json_array_get(json_at(json_at(json, "totals"), "links"), 0),
				   "seconds") == BIG_SECONDS);
	json_decref(json);
	json = NULL;
	whole = cpu_ms() - whole;

	cut = cpu_ms();
	query_limit(q, 10);
	assert_int_equal(query_account_of(q, 0, QUERY_ALL, 0, &json), -ETIME);
	cut = cpu_ms() - cut;
	assert_null(json);
	assert_string_equal(query_error(q), "not answered within 10 ms");
	if (cut > 60 || cut > whole / 2) {
		fail_msg("%.1f ms for what may take 10, and takes %.1f", cut, whole);
	}
	assert_true(nobody_reads(r));

	query_limit(q, 1000);
	assert_int_equal(query_account_of(q, RIG_UTC, 2, 0, &json), 0);
	json_decref(json);
	query_limit(q, 1000);
	assert_int_equal(query_commands(q, &nothing, &json), 0);
	json_decref(json);
	/* Time that passed between two questions is nobody's. */
	query_limit(q, 1);
	usleep(5000);
	assert_int_equal(query_account_of(q, 0, QUERY_ALL, 0, &json), -ETIME);
	query_limit(q, 0);
	assert_int_equal(query_account_of(q, 0, 1, 0, &json), 0);
	json_decref(json);
	query_close(q);
}

static void check_state(struct query *q, const struct store_rig *r, uint64_t id, const char *wanted)
{
	json_t *json = NULL;

	assert_int_equal(query_command_now(q, id, &json), 0);
	assert_string_equal(json_text_at(json, "state"), wanted);
	json_decref(json);
	assert_true(nobody_reads(r));
}

static void change(const struct store_rig *r, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
	store_rig_sql(db, sql);
	sqlite3_close(db);
}

/* Of one reader, again and again: each answer is of its moment, none holds a snapshot, a failure neither. */
static void test_times(void **state)
{
	json_t *args = json_pack("{s:f,s:f,s:f}", "by", 2.5, "far", 1e300, "before", -1.0);

	assert_int_equal(query_ns(args, "by", 0), 2500000000);
	assert_int_equal(query_ns(args, "far", 0), INT64_MAX);
	assert_int_equal(query_ns(args, "before", 1), 0);
	assert_int_equal(query_ns(args, "other", 7), 7);
	json_decref(args);
}

static void test_command_again(void **state)
{
	struct store_rig *r = *state;
	struct query *q = query_rig_open(r);
	json_t *json = NULL;
	struct row row;

	check_state(q, r, 2, "QUEUED");
	store_rig_transition(&row, 2, "SENT", 12345, "sent, attempt 1", false);
	store_submit(r->s, &row, 0, 0);
	store_rig_flush(r);
	check_state(q, r, 2, "SENT");
	check_state(q, r, 1, "DONE");
	assert_int_equal(query_command_now(q, 99, &json), -ENOENT);
	assert_string_equal(query_error(q), "no such command");
	assert_true(nobody_reads(r));

	change(r, "ALTER TABLE command ADD COLUMN later TEXT");
	check_state(q, r, 2, "SENT");
	change(r, "ALTER TABLE command RENAME TO elsewhere");
	assert_int_equal(query_command_now(q, 2, &json), -EIO);
	assert_string_equal(query_error(q), "no such table: command");
	assert_true(nobody_reads(r));
	change(r, "ALTER TABLE elsewhere RENAME TO command; UPDATE command SET state = 'DONE'");
	check_state(q, r, 2, "DONE");
	assert_null(json);
	query_close(q);
}

static size_t faults_of(const struct store_rig *r, bool whole)
{
	struct query *q = query_rig_open(r);
	json_t *faults = NULL;
	int error = query_check(q, whole, &faults);
	size_t count = json_array_size(faults) + (error == -EUCLEAN);

	assert_true(error == 0 || error == -EUCLEAN);
	json_decref(faults);
	query_close(q);
	return count;
}

/* A page of zeros is found by the quick check and by the whole one; beside a writer no snapshot is held. */
static void test_check(void **state)
{
	struct store_rig *r = *state;
	int64_t page, root;
	FILE *f;

	assert_int_equal(faults_of(r, false), 0);
	assert_int_equal(faults_of(r, true), 0);
	assert_true(nobody_reads(r));
	page = store_rig_number(r, "PRAGMA page_size");
	root = store_rig_number(r, "SELECT rootpage FROM sqlite_schema WHERE name = 'event'");
	store_rig_close(r);
	f = fopen(r->path, "r+");
	assert_non_null(f);
	assert_int_equal(fseek(f, (long)((root - 1) * page), SEEK_SET), 0);
	for (int64_t n = 0; n < page; n++) {
		assert_int_equal(fputc(0, f), 0);
	}
	assert_int_equal(fclose(f), 0);
	assert_true(faults_of(r, false) > 0);
	assert_true(faults_of(r, true) > 0);
}

static void test_station(void **state)
{
	const struct query_filter all = {0};
	struct query *q = query_rig_open(*state);
	json_t *json = NULL;

	assert_int_equal(
		query_phase_history(q, &(struct query_filter){.link = 1, .limit = 3}, &json), 0);
	assert_int_equal(json_array_size(json_at(json, "rows")), 3);
	assert_string_equal(json_text_at(json_array_get(json_at(json, "events"), 0), "verdict"),
			    "SLIP");
	assert_string_equal(json_text_at(json_at(json, "reference"), "who"), "expert");
	json_decref(json);
	assert_int_equal(query_phase_history(q, &all, &json), 0);
	assert_true(json_is_null(json_at(json, "reference")));
	json_decref(json);
	assert_int_equal(query_runs(q, &all, &json), 0);
	assert_true(json_number_at(json, "current") == 5);
	json_decref(json);
	assert_int_equal(query_events(q, &all, &json), 0);
	assert_int_equal(json_array_size(json_at(json, "events")), 2);
	assert_string_equal(json_text_at(json_array_get(json_at(json, "events"), 1), "action"),
			    "clear it");
	json_decref(json);
	assert_int_equal(query_clock_history(q, &all, &json), 0);
	assert_string_equal(json_text_at(json_array_get(json_at(json, "events"), 0), "source"),
			    "gpsd");
	json_decref(json);
	assert_int_equal(query_station(q, &json), 0);
	assert_string_equal(json_text_at(json_at(json, "station"), "last_alive"), "1795000000");
	assert_true(json_number_at(json, "last_write") > 1794999999);
	json_decref(json);
	query_close(q);
}

/* Rows of the answer to `op` in a time of seconds since the rig's, the newest `limit`. */
static json_t *between(struct query *q, const char *op, const char *rows, double since,
		       double until, int limit)
{
	double zero = (double)RIG_UTC / 1e9;
	json_t *args = json_pack("{s:f,s:f,s:i,s:i}", "since", zero + since, "until", zero + until,
				 "limit", limit, "link", 3);
	json_t *answer = NULL, *found;

	assert_int_equal(query_ask(q, op, args, NULL, &answer), 0);
	found = json_incref(json_object_get(answer, rows));
	json_decref(args);
	json_decref(answer);
	return found;
}

/* Of a time that is over: what came later neither counts against the limit nor is in the answer. */
static void test_until(void **state)
{
	static const struct {
		const char *op, *rows, *time;
	} lists[] = {{"command.list", "commands", "time"}, {"event.list", "events", "time"},
		     {"clock.history", "events", "time"},  {"run.show", "runs", "begun"},
		     {"phase.history", "events", "time"},  {"phase.history", "rows", "time"}};
	struct store_rig *r = *state;
	struct query *q;
	char sql[1500];

	for (size_t i = 0; i < 5; i++) {
		static const char *const inserts[] = {
			"INSERT INTO event(time, severity, code, object, text, action)"
			" SELECT at, 'info', 'remark', 'shift', i, '' FROM t",
			"INSERT INTO command SELECT 100 + i, NULL, at, 'anna', 1, 1, 'local', '', "
			"1,"
			" 1, 1, 'clock.state', 'set', 0, 1, '', 1, 1, 'DONE', '', 1, at FROM t",
			"INSERT INTO clock_event SELECT at, 'locked', 'gpsd', 50, 1, '' FROM t",
			"INSERT INTO run SELECT 100 + i, '', 'anna', at, 1, at + 500000000, 2 FROM "
			"t",
			"INSERT INTO phase_event SELECT 3, at, 'PASS', 0, 1, 1, 1, 1, '', '' FROM "
			"t"};

		snprintf(sql, sizeof(sql),
			 "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < "
			 "39), t(i, at) AS (SELECT i, %lld + 1000000000 * (i + 10) FROM n) %s",
			 (long long)RIG_UTC, inserts[i]);
		change(r, sql);
	}
	change(r, "INSERT INTO phase_row SELECT 3, time, 1, 1, 1, 1, 1, 1, 1, 1 FROM phase_event "
		  "WHERE link = 3; UPDATE run SET ended = begun WHERE ended IS NULL");
	q = query_rig_open(r);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		json_t *rows = between(q, lists[i].op, lists[i].rows, 12, 15, 10);
		size_t n;
		json_t *row;

		assert_int_equal(json_array_size(rows), 3); /* of 12, 13 and 14 s */
		json_array_foreach (rows, n, row) {
			double at = json_number_at(row, lists[i].time) - (double)RIG_UTC / 1e9;

			assert_true(at > 11.9 && at < 14.1);
		}
		json_decref(rows);
		rows = between(q, lists[i].op, lists[i].rows, 12, 15, 2);
		assert_int_equal(json_array_size(rows), 2);
		json_decref(rows);
	}
	query_close(q);
}

/* Of a long time, one row of the phase in so many seconds: the last of them. */
static void test_phase_by_minute(void **state)
{
	struct store_rig *r = *state;
	struct query *q;
	json_t *answer = NULL;

	change(r, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 179)"
		  " INSERT INTO phase_row SELECT 3, 6000000000 * 1000 + 1000000000 * i, i, 1, 1, 1,"
		  " 1, 1, 1, 1 FROM n");
	q = query_rig_open(r);
	assert_int_equal(
		query_phase_history(q, &(struct query_filter){.link = 3, .by_s = 60}, &answer), 0);
	assert_int_equal(json_array_size(json_at(answer, "rows")), 3);
	for (int i = 0; i < 3; i++) {
		json_t *row = json_array_get(json_at(answer, "rows"), (size_t)i);

		assert_true(json_number_at(row, "mean_ps") == 59 + 60 * i);
		assert_true(json_number_at(row, "time") == 6059 + 60 * i);
	}
	json_decref(answer);
	query_close(q);
}

/* The schema of the file, and that of this program. */
static void test_schema_is_told(void **state)
{
	struct query *q = query_rig_open(*state);
	json_t *json = NULL;

	assert_int_equal(query_station(q, &json), 0);
	assert_true(json_number_at(json, "schema") == ROWS_SCHEMA);
	assert_true(json_number_at(json, "program_schema") == ROWS_SCHEMA);
	json_decref(json);
	query_close(q);
}

/* Names, sizes and contents of the database's files. */
static uint64_t fingerprint(const struct store_rig *r, bool with_shm)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	uint64_t sum = 1469598103934665603ull;

	for (size_t i = 0; i < (with_shm ? 3 : 2); i++) {
		char path[128];
		FILE *f;
		int byte;

		snprintf(path, sizeof(path), "%s%s", r->path, ends[i]);
		f = fopen(path, "r");
		sum = (sum ^ (f ? 1 : 2)) * 1099511628211ull;
		while (f && (byte = fgetc(f)) != EOF) {
			sum = (sum ^ (unsigned)byte) * 1099511628211ull;
		}
		if (f) {
			fclose(f);
		}
	}
	return sum;
}

static void ask_all(const struct store_rig *r)
{
	struct query *q = query_rig_open(r);
	struct query_filter f = {0};
	json_t *json = NULL;

	assert_int_equal(query_commands(q, &f, &json), 0);
	assert_int_equal(json_array_size(json_at(json, "commands")), 2);
	json_decref(json);
	assert_int_equal(query_account_of(q, 0, QUERY_ALL, 0, &json), 0);
	json_decref(json);
	query_close(q);
}

static void test_after_orderly_end(void **state)
{
	struct store_rig *r = *state;
	uint64_t before;

	store_rig_close(r);
	before = fingerprint(r, true);
	assert_int_equal(chmod(r->dir, 0500), 0); /* not even a -shm may be made */
	ask_all(r);
	assert_int_equal(chmod(r->dir, 0700), 0);
	assert_true(before == fingerprint(r, true));
}

/* A daemon is killed: what it had committed lies in the -wal. */
static void test_after_kill(void **state)
{
	struct store_rig *r = *state;
	uint64_t before;
	int fds[2], status;
	pid_t pid;
	char byte;

	store_rig_close(r);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		if (store_open(&r->config, &r->s, NULL) < 0 || store_start(r->s) < 0) {
			_exit(1);
		}
		store_put_event(r->s, "info", "last", "x", "the last word", NULL, RIG_UTC + 99);
		store_rig_flush(r);
		if (write(fds[1], "x", 1) != 1) {
			_exit(2);
		}
		pause();
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	waitpid(pid, &status, 0);
	close(fds[0]);
	close(fds[1]);
	before = fingerprint(r, false);
	for (int i = 0; i < 3; i++) {
		struct query *q = query_rig_open(r);
		json_t *json = NULL;

		assert_int_equal(query_events(q, &(struct query_filter){.limit = 1}, &json), 0);
		assert_string_equal(
			json_text_at(json_array_get(json_at(json, "events"), 0), "text"),
			"the last word");
		json_decref(json);
		query_close(q);
	}
	assert_true(before == fingerprint(r, false));
}

/* A reader with an open snapshot does not hold the writer up, and sees new rows with its next query. */
static void test_beside_writer(void **state)
{
	struct store_rig *r = *state;
	struct query *q = query_rig_open(r);
	json_t *json = NULL;

	for (int i = 0; i < 50; i++) {
		store_put_event(r->s, "info", "n", "x", "y", NULL, RIG_UTC + 100 + i);
		store_rig_flush(r);
		assert_int_equal(query_events(q,
					      &(struct query_filter){.since_ns = RIG_UTC + 100,
								     .limit = 1000},
					      &json),
				 0);
		assert_int_equal(json_array_size(json_at(json, "events")), i + 1);
		json_decref(json);
	}
	query_close(q);
}

static void test_open_errors(void **state)
{
	struct store_rig *r = *state;
	struct sc_error error = {0};
	struct query *q = NULL;
	char path[128];
	FILE *f;

	assert_int_equal(query_open("/nonexistent/x.db", &q, &error), -ENOENT);
	assert_true(error.hint[0]);
	snprintf(path, sizeof(path), "%s/odd ?#%%name.db", r->dir);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(query_open(path, &q, &error), -EUCLEAN); /* empty */
	for (int i = 0; i < 1000; i++) {
		fputs("rubbish", f);
	}
	fclose(f);
	assert_int_equal(query_open(path, &q, &error), -EUCLEAN);
	unlink(path);
	assert_null(q);
	query_close(NULL);
}

static int guarded(sqlite3 *db, int what)
{
	int is = -1;

	assert_int_equal(sqlite3_db_config(db, what, -1, &is), SQLITE_OK);
	return is;
}

/* Beside a daemon and without one: a view of the file calls none of our functions, our questions may. */
static void test_schema_is_not_trusted(void **state)
{
	struct store_rig *r = *state;
	struct query_filter f = {.parameter = "*.hv"};
	json_t *json = NULL;

	for (unsigned closed = 0; closed < 2; closed++) {
		struct query *q = query_rig_open(r);

		assert_int_equal(guarded(q->db, SQLITE_DBCONFIG_DEFENSIVE), 1);
		assert_int_equal(guarded(q->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA), 0);
		assert_int_equal(query_commands(q, &f, &json), 0);
		json_decref(json);
		query_close(q);
		if (!closed) {
			store_rig_close(r);
		}
	}
}

static void test_view_of_a_hostile_file(void **state)
{
	struct store_rig *r = *state;
	struct query_filter f = {0};
	json_t *json = NULL;
	struct query *q;

	store_rig_close(r);
	/* Another view does no harm */
	store_rig_run(r->path, "ALTER TABLE command RENAME TO was;"
			       "CREATE VIEW command AS SELECT *, lower(who) AS small FROM was");
	q = query_rig_open(r);
	assert_int_equal(query_commands(q, &f, &json), 0);
	json_decref(json);
	query_close(q);
	store_rig_run(r->path, "DROP VIEW command;"
			       "CREATE VIEW command AS SELECT * FROM was"
			       " WHERE kind_key('', parameter) <> ''");
	q = query_rig_open(r);
	assert_true(query_commands(q, &f, &json) < 0);
	assert_non_null(strstr(query_error(q), "unsafe use of kind_key"));
	query_close(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_commands, setup, teardown),
		cmocka_unit_test_setup_teardown(test_filters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_words, setup, teardown),
		cmocka_unit_test_setup_teardown(test_history, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ambiguous, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ledger, setup, teardown),
		cmocka_unit_test_setup_teardown(test_joined_losses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
		cmocka_unit_test(test_times),
		cmocka_unit_test_setup_teardown(test_command_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_check, setup, teardown),
		cmocka_unit_test_setup_teardown(test_station, setup, teardown),
		cmocka_unit_test_setup_teardown(test_until, setup, teardown),
		cmocka_unit_test_setup_teardown(test_phase_by_minute, setup, teardown),
		cmocka_unit_test_setup_teardown(test_schema_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(test_after_orderly_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_after_kill, setup, teardown),
		cmocka_unit_test_setup_teardown(test_beside_writer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_open_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_schema_is_not_trusted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_view_of_a_hostile_file, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
