/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger and time, on a real file: what it has no rows of, when its losses began. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "slowctl/query/query.h"
#include "tests/unit/rig/query_rig.h"
#include "tests/unit/rig/store_rig.h"

#define SLACK_S 5 /* a busy host, when it is missing up to now */

static const char *const groups[] = {"trigger", "acoustic"};

static int setup(void **state)
{
	struct store_rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	store_rig_create(r);
	store_rig_open(r);
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

static void put_second(struct store_rig *r, unsigned epoch, unsigned second, int64_t begin_ns,
		       double written_s)
{
	struct ledger_link_row row = {.dma_epoch = epoch,
				      .second = second,
				      .cells = 8000,
				      .link = 1,
				      .tower = 1,
				      .floor = 2,
				      .closed = 1,
				      .verdicts = {8000}};

	store_put_link_row(r->s, 1, &row, INT64_MIN, begin_ns + (int64_t)(written_s * 1e9), 0, 0);
}

/* The only gap, in seconds from `begin_ns` on. */
static void expect_missing(const struct store_rig *r, int64_t begin_ns, double since_s,
			   double from_s, double to_s)
{
	struct sc_error error = {0};
	struct query *q = NULL;
	json_t *json = NULL, *gap;
	double begin = (double)begin_ns / 1e9;

	assert_int_equal(query_open(r->path, &q, &error), 0);
	assert_int_equal(query_account_of(q, begin_ns + (int64_t)(since_s * 1e9), 1, 0, &json), 0);
	assert_int_equal(json_array_size(json_object_get(json, "missing")), to_s > from_s);
	if (to_s > from_s) {
		gap = json_array_get(json_object_get(json, "missing"), 0);
		assert_true(fabs(json_number_value(json_object_get(gap, "begun")) - begin -
				 from_s) < 0.01);
		assert_true(fabs(json_number_value(json_object_get(gap, "ended")) - begin - to_s) <
			    SLACK_S);
		assert_int_equal(
			json_integer_value(json_array_get(json_object_get(gap, "links"), 0)), 1);
	}
	assert_true(fabs(json_number_value(json_object_get(json, "missing_s")) - (to_s - from_s)) <
		    SLACK_S);
	assert_true(json_is_true(json_object_get(json, "balanced")));
	assert_true(json_is_null(json_object_get(json, "begins")) == (since_s > 0));
	json_decref(json);
	query_close(q);
}

/* A daemon that is back in time writes late what the ring kept: nothing is missing. One that is back
 * too late closes the old count's last second and begins another: what is between is missing. */
static void test_missing(void **state)
{
	struct store_rig *r = *state;
	struct timespec t;
	int64_t begin;

	clock_gettime(CLOCK_REALTIME, &t);
	begin = ((int64_t)t.tv_sec - 62) * 1000000000ll;
	for (unsigned s = 0; s < 10; s++) {
		put_second(r, 1, 100 + s, begin, s);
	}
	for (unsigned s = 10; s < 14; s++) {
		put_second(r, 1, 100 + s, begin, 13.5);
	}
	for (unsigned s = 14; s < 17; s++) {
		put_second(r, 1, 100 + s, begin, s + 0.5);
	}
	put_second(r, 1, 117, begin, 60);
	store_rig_flush(r);
	expect_missing(r, begin, -10, 0, 0);
	put_second(r, 2, 3, begin, 61);
	put_second(r, 2, 4, begin, 62);
	store_rig_flush(r);
	expect_missing(r, begin, -10, 17.5, 60);
	expect_missing(r, begin, 5, 17.5, 60);
	expect_missing(r, begin, 30, 30, 60);
	expect_missing(r, begin, 60.5, 0, 0);
}

/* Nobody has written since: it is missing up to now. */
static void test_missing_up_to_now(void **state)
{
	struct store_rig *r = *state;
	struct timespec t;
	int64_t begin;

	clock_gettime(CLOCK_REALTIME, &t);
	begin = ((int64_t)t.tv_sec - 100) * 1000000000ll + t.tv_nsec;
	put_second(r, 1, 100, begin, 0);
	put_second(r, 1, 101, begin, 1);
	store_rig_flush(r);
	expect_missing(r, begin, -10, 1, 100);
	expect_missing(r, begin, 50, 50, 100);
}

static const json_t *loss_of(const json_t *json, uint64_t first)
{
	size_t n;
	const json_t *l;

	json_array_foreach (json_object_get(json, "losses"), n, l) {
		if (json_number_value(json_object_get(l, "first")) == (double)first) {
			return l;
		}
	}
	fail_msg("no loss begins at %llu", (unsigned long long)first);
	return NULL;
}

/* A loss begun at the time that its label says, 2 s off the system clock; without label the latter's. */
static void test_loss_times(void **state)
{
	static const struct {
		uint64_t first;
		uint8_t kind;
		int64_t tai_ns;
		double begun; /* s after the rig's UTC */
		uint64_t next;
	} wanted[] = {
		{80000, 0, RIG_UTC + 339000000000ll, 302, 80800},
		{160000, 0, INT64_MIN, 300 - 0.1, 160800},
		{240000, 1, RIG_UTC + 340000000000ll, 303, 240800},
		{320000, 1, INT64_MIN, 300 - 0.1, 320800},
		{400000, 0, INT64_MIN, 300 - 0.5, 404000}, /* joined: it has holes */
	};
	enum { LOSSES = sizeof(wanted) / sizeof(wanted[0]) };
	struct store_rig *r = *state;
	struct query *q = NULL;
	json_t *json = NULL;

	for (size_t i = 0; i < LOSSES; i++) {
		struct ledger_loss loss = {.kind = wanted[i].kind,
					   .code = wanted[i].kind ? OUTCOME_DROP_SLOW
								  : TDM_LOSS_CRC,
					   .link = 1,
					   .tower = 1,
					   .floor = 2,
					   .dma_epoch = 7,
					   .first = wanted[i].first,
					   .next = wanted[i].next,
					   .frames = 800,
					   .tai_ns = wanted[i].tai_ns};

		store_put_loss(r->s, 1, &loss, groups, RIG_UTC + 300000000000ll, 0, 0);
	}
	store_rig_flush(r);
	assert_int_equal(query_open(r->path, &q, NULL), 0);
	for (int known = 0; known <= 1; known++) {
		/* A file that does not tell TAI-UTC yet: the system clock's for all. */
		if (known) {
			store_put_station(r->s, "tai_utc_s", "37");
			store_rig_flush(r);
		}
		assert_int_equal(query_account_of(q, RIG_UTC + 250000000000ll, 1, 0, &json), 0);
		assert_int_equal(json_array_size(json_object_get(json, "losses")), LOSSES);
		for (size_t i = 0; i < LOSSES; i++) {
			const json_t *l = loss_of(json, wanted[i].first);
			double span = (double)(wanted[i].next - wanted[i].first) / 8000;
			double begun = known ? wanted[i].begun : 300 - span;

			assert_int_equal(json_integer_value(json_object_get(l, "last")),
					 wanted[i].next - 1);

			assert_true(fabs(json_number_value(json_object_get(l, "begun")) -
					 1795000000 - begun) < 1e-3);
			assert_true(fabs(json_number_value(json_object_get(l, "time")) -
					 1795000000 - 300) < 1e-3);
			assert_int_equal(json_is_null(json_object_get(l, "tai")),
					 wanted[i].tai_ns == INT64_MIN);
		}
		for (size_t i = 1; i < LOSSES; i++) { /* as time went by, whatever their numbers */
			const json_t *l = json_object_get(json, "losses");

			assert_true(
				json_number_value(
					json_object_get(json_array_get(l, i - 1), "begun")) <=
				json_number_value(json_object_get(json_array_get(l, i), "begun")));
		}
		json_decref(json);
	}
	query_close(q);
}

static const json_t *row_of(const json_t *json, const char *kind, unsigned second)
{
	size_t n;
	const json_t *row;

	json_array_foreach (json_object_get(json, kind), n, row) {
		if (json_integer_value(json_object_get(row, "second")) == second) {
			return row;
		}
	}
	fail_msg("no second %u in %s", second, kind);
	return NULL;
}

/* Seconds begin when their label says, 2 s off the system clock, those of streams too; without label they
 * go by the latter, and a label that was known is kept. */
static void test_row_times(void **state)
{
	static const struct {
		int64_t open_tai_ns, tai_ns;
		double begun; /* s after the rig's UTC */
	} wanted[] = {
		{RIG_UTC + 338000000000ll, RIG_UTC + 338000000000ll, 301},
		{RIG_UTC + 339000000000ll, INT64_MIN, 302},
		{INT64_MIN, RIG_UTC + 340000000000ll, 303},
		{INT64_MIN, INT64_MIN, 302},
	};
	struct store_rig *r = *state;
	struct ledger_link_row l = {.dma_epoch = 4, .cells = 8000, .verdicts = {8000}};
	struct ledger_stream_row m = {.dma_epoch = 4, .offered = 8000, .outcome = {0, 8000}};
	struct query *q = NULL;
	json_t *json = NULL;

	store_put_station(r->s, "tai_utc_s", "37");
	for (unsigned n = 0; n < 4; n++) {
		int64_t written = RIG_UTC + 300000000000ll + n * 1000000000ll;

		l.second = m.second = n;
		l.closed = m.closed = 0;
		store_put_link_row(r->s, 1, &l, wanted[n].open_tai_ns, written - 7, 0, 0);
		l.closed = m.closed = 1;
		store_put_stream_row(r->s, 1, &m, groups, written, 0, 0);
		store_put_link_row(r->s, 1, &l, wanted[n].tai_ns, written, 0, 0);
	}
	store_rig_flush(r);
	assert_int_equal(query_open(r->path, &q, NULL), 0);
	assert_int_equal(query_account_of(q, RIG_UTC, QUERY_ALL, 0, &json), 0);
	for (unsigned n = 0; n < 8; n++) {
		const json_t *row = row_of(json, n < 4 ? "links" : "streams", n % 4);

		assert_true(fabs(json_number_value(json_object_get(row, "begun")) - 1795000000 -
				 wanted[n % 4].begun) < 1e-3);
		assert_int_equal(json_is_null(json_object_get(row, "tai")), n % 4 == 3);
	}
	json_decref(json);
	query_close(q);
}

/* A second of everything. */
static void fill(const char *path)
{
	store_rig_run(
		path,
		"INSERT INTO ledger_link(session, dma_epoch, link, second, tower, floor, cells,"
		" good, link_down, board_fifo, ring_full, crc, alignment, time_fault, partial,"
		" restarts, closed, time, tai_ns) VALUES(1,1,2,9,1,3,8000,7992,0,0,0,8,0,0,0,0,1,"
		"1795000300000000000,1795000336000000000);"
		"INSERT INTO ledger_stream(session, dma_epoch, link, stream, grp, second, offered,"
		" acked, no_member, slow, shutdown, pool, no_time, in_flight, closed, time) VALUES"
		"(1,1,2,'pmt','trigger',9,8000,7920,80,0,0,0,0,0,1,1795000300000000000);"
		"INSERT INTO loss(session, kind, code, link, tower, floor, stream, grp, dma_epoch,"
		" first, frames, tai_ns, time, open, until) VALUES"
		"(1,0,'crc',2,1,3,'','',1,72000,8,NULL,1795000300000000000,0,72016);"
		"INSERT INTO command(id, time, who, parameter, op, state) VALUES"
		"(7,1795000300000000000,'anna','tower1.floor3.om2.hv','set','DONE');"
		"INSERT INTO transition(command, number, time, state) VALUES"
		"(7,2,1795000300000000000,'SENT'),(7,3,1795000300000000000,'DONE')");
}

static void check_answers(const struct store_rig *r)
{
	struct query *q = NULL;
	json_t *json = NULL;
	const json_t *row, *loss, *hop;

	assert_int_equal(query_open(r->path, &q, NULL), 0);
	assert_int_equal(query_account_of(q, RIG_UTC, QUERY_ALL, 0, &json), 0);
	assert_true(json_is_true(json_object_get(json, "balanced")));
	assert_int_equal(json_array_size(json_object_get(json, "links")), 1);
	assert_int_equal(json_array_size(json_object_get(json, "streams")), 1);
	row = json_object_get(row_of(json, "streams", 9), "dropped");
	assert_int_equal(json_integer_value(json_object_get(row, "no-member")), 80);
	assert_int_equal(json_integer_value(json_object_get(row, "no-time")), 0);
	row = row_of(json, "links", 9);
	loss = loss_of(json, 72000);
	hop = json_array_get(json_object_get(json, "hops"), 0);
	assert_int_equal(json_integer_value(json_object_get(row, "seconds")), 1);
	assert_int_equal(json_integer_value(json_object_get(loss, "last")), 72015);
	assert_int_equal(json_integer_value(json_object_get(hop, "frames")), 8);
	assert_false(json_is_null(json_object_get(row, "tai")));
	assert_true(fabs(json_number_value(json_object_get(row, "begun")) - 1795000000 - 299) <
		    1e-3);
	json_decref(json);
	assert_int_equal(query_history(q, &(struct query_filter){.name = "floor3.om2.hv"}, &json),
			 0);
	assert_int_equal(json_array_size(json_object_get(json, "rows")), 0);
	json_decref(json);
	assert_int_equal(query_command(q, &(struct query_filter){.command = 7}, &json), 0);
	row = json_object_get(json, "transitions");
	assert_int_equal(json_array_size(row), 3);
	assert_string_equal(json_string_value(json_object_get(json_array_get(row, 0), "state")),
			    "QUEUED");
	assert_string_equal(json_string_value(json_object_get(json_array_get(row, 2), "state")),
			    "DONE");
	json_decref(json);
	query_close(q);
}

/* The file answers the same, unchanged, with a daemon and without; one of another schema or program does not. */
static void test_file_of_today(void **state)
{
	static const char *const others[] = {"PRAGMA user_version = 0", "PRAGMA user_version = 3",
					     "PRAGMA application_id = 0",
					     "PRAGMA application_id = 0x46434d00"};
	struct store_rig *r = *state;
	struct query *q = NULL;
	struct sc_error error;

	fill(r->path);
	check_answers(r);
	store_rig_close(r);
	check_answers(r);
	assert_int_equal(store_rig_number(r, "PRAGMA user_version"), STORE_SCHEMA);
	store_rig_open(r);
	check_answers(r);
	assert_int_equal(store_rig_number(r, "SELECT count(*) FROM command"), 1);
	store_rig_close(r);
	for (size_t n = 0; n < sizeof(others) / sizeof(others[0]); n++) {
		store_rig_run(r->path, others[n]);
		assert_int_equal(query_open(r->path, &q, &error), -EPROTONOSUPPORT);
		assert_non_null(strstr(error.message, r->path));
		assert_true(error.hint[0]);
		assert_null(q);
		store_rig_run(r->path,
			      "PRAGMA user_version = 2; PRAGMA application_id = 0x46434d01");
	}
	store_rig_open(r);
}

/* --- from when to when, by what span, where --- */

static json_t *ask(const struct store_rig *r, int64_t since_s, int64_t until_s, unsigned by_s)
{
	struct query_filter what = {.since_ns = RIG_UTC + since_s * 1000000000,
				    .until_ns = RIG_UTC + until_s * 1000000000,
				    .link = QUERY_ALL,
				    .by_s = by_s};
	struct query *q = NULL;
	json_t *json = NULL;

	assert_int_equal(query_open(r->path, &q, NULL), 0);
	assert_int_equal(query_ledger(q, &what, &json), 0);
	query_close(q);
	return json;
}

static json_int_t total(const json_t *json, const char *kind, const char *key)
{
	const json_t *list = json_object_get(json_object_get(json, "totals"), kind);

	return json_integer_value(json_object_get(json_array_get(list, 0), key));
}

/* Four minutes of seconds; what is asked of the second and third is theirs, and nothing is missing in it. */
static void test_from_to(void **state)
{
	struct store_rig *r = *state;
	struct ledger_stream_row m = {
		.dma_epoch = 4, .link = 1, .offered = 8000, .outcome = {0, 8000}, .closed = 1};
	json_t *json;

	assert_int_equal(RIG_UTC / 1000000000 % 60, 40); /* 20 s to the minute */
	for (unsigned s = 0; s < 240; s++) {
		put_second(r, 4, s, RIG_UTC + 20000000000ll, s);
		m.second = s;
		store_put_stream_row(r->s, 1, &m, groups, RIG_UTC + (20 + s) * 1000000000ll, 0, 0);
	}
	store_rig_flush(r);
	json = ask(r, 80, 200, 60);
	assert_int_equal(total(json, "links", "seconds"), 120);
	assert_int_equal(total(json, "links", "cells"), 120 * 8000);
	assert_int_equal(total(json, "streams", "offered"), 120 * 8000);
	assert_int_equal(json_array_size(json_object_get(json, "missing")), 0);
	assert_int_equal(json_array_size(json_object_get(json, "links")), 2);
	assert_int_equal(json_array_size(json_object_get(json, "streams")), 2);
	assert_int_equal(json_integer_value(json_object_get(row_of(json, "links", 60), "seconds")),
			 60);
	assert_int_equal(
		json_integer_value(json_object_get(row_of(json, "streams", 120), "offered")),
		60 * 8000);
	json_decref(json);
	json = ask(r, 80, 200, 3600);
	assert_int_equal(json_array_size(json_object_get(json, "links")), 1);
	json_decref(json);
	json = ask(r, 80, 400, 0); /* beyond its end: missing up to there */
	assert_int_equal(json_array_size(json_object_get(json, "links")), 180);
	assert_int_equal((int)json_number_value(json_object_get(json, "missing_s")), 141);
	json_decref(json);
}

/* Each place once, with the first and the last frame; the worst first. */
static void test_hops(void **state)
{
	static const struct ledger_loss losses[] = {
		{.kind = 0, .code = TDM_LOSS_CRC, .first = 800, .next = 801, .frames = 1},
		{.kind = 0, .code = TDM_LOSS_CRC, .first = 8000, .next = 8010, .frames = 10},
		{.kind = 0, .code = TDM_LOSS_BOARD_FIFO, .first = 900, .next = 990, .frames = 90},
		{.kind = 0, .code = TDM_LOSS_RING_FULL, .first = 2000, .next = 2004, .frames = 4},
		{.kind = 1, .code = OUTCOME_DROP_SLOW, .first = 80, .next = 160, .frames = 80},
		{.kind = 1, .code = OUTCOME_DROP_POOL, .first = 80, .next = 85, .frames = 5},
	};
	static const struct {
		const char *hop;
		int frames, losses, first, last;
	} wanted[] = {{"board", 90, 1, 900, 989},
		      {"group", 80, 1, 80, 159},
		      {"link", 11, 2, 800, 8009},
		      {"daemon", 5, 1, 80, 84},
		      {"ring", 4, 1, 2000, 2003}};
	struct store_rig *r = *state;
	const json_t *hops;
	json_t *json;

	store_put_station(r->s, "tai_utc_s", "37");
	for (size_t n = 0; n < sizeof(losses) / sizeof(losses[0]); n++) {
		struct ledger_loss loss = losses[n];

		loss.link = 1;
		loss.floor = 2;
		loss.tai_ns = loss.code == TDM_LOSS_RING_FULL && loss.kind == 0
				      ? FCM_NO_TAI
				      : RIG_UTC + (int64_t)loss.first * 125000;
		store_put_loss(r->s, 1, &loss, groups, RIG_UTC + 5000000000ll, 0, 0);
	}
	store_rig_flush(r);
	json = ask(r, 0, 10, 0);
	hops = json_object_get(json, "hops");
	assert_int_equal(json_array_size(hops), 5);
	for (size_t n = 0; n < 5; n++) {
		const json_t *hop = json_array_get(hops, n);

		assert_string_equal(json_string_value(json_object_get(hop, "hop")), wanted[n].hop);
		assert_int_equal(json_integer_value(json_object_get(hop, "frames")),
				 wanted[n].frames);
		assert_int_equal(json_integer_value(json_object_get(hop, "losses")),
				 wanted[n].losses);
		assert_int_equal(json_integer_value(json_object_get(hop, "first")),
				 wanted[n].first);
		assert_int_equal(json_integer_value(json_object_get(hop, "last")), wanted[n].last);
		/* What began before the label came is timed by the system clock, and says so. */
		assert_int_equal(json_is_null(json_object_get(hop, "tai")),
				 strcmp(wanted[n].hop, "ring") == 0);
	}
	json_decref(json);
}

/* A board that came back counts anew: its numbers do not go with those before. */
static void test_hops_of_epochs(void **state)
{
	static const uint64_t firsts[] = {2704000, 8000};
	struct store_rig *r = *state;
	const json_t *hops;
	json_t *json;

	store_put_station(r->s, "tai_utc_s", "37");
	for (unsigned n = 0; n < 2; n++) {
		struct ledger_loss loss = {.code = TDM_LOSS_LINK_DOWN,
					   .link = 1,
					   .floor = 2,
					   .dma_epoch = 4 + n,
					   .first = firsts[n],
					   .next = firsts[n] + 160,
					   .frames = 160,
					   .tai_ns = RIG_UTC + 1000000000ll * (n + 1)};

		store_put_loss(r->s, 1 + n, &loss, groups, RIG_UTC + 5000000000ll, 0, 0);
	}
	store_rig_flush(r);
	json = ask(r, 0, 10, 0);
	hops = json_object_get(json, "hops");
	assert_int_equal(json_array_size(hops), 2);
	for (unsigned n = 0; n < 2; n++) {
		const json_t *hop = json_array_get(hops, n);

		assert_int_equal(json_integer_value(json_object_get(hop, "dma_epoch")), 4 + n);
		assert_int_equal(json_integer_value(json_object_get(hop, "losses")), 1);
		assert_int_equal(json_integer_value(json_object_get(hop, "first")), firsts[n]);
		assert_int_equal(json_integer_value(json_object_get(hop, "last")), firsts[n] + 159);
	}
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_missing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missing_up_to_now, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loss_times, setup, teardown),
		cmocka_unit_test_setup_teardown(test_row_times, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_of_today, setup, teardown),
		cmocka_unit_test_setup_teardown(test_from_to, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hops, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hops_of_epochs, setup, teardown),
	};

	return cmocka_run_group_tests_name("ledger and time", tests, NULL, NULL);
}
