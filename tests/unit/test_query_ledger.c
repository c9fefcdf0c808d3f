/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger and time, on a real file: what it has no rows of, when its losses began. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "slowctl/query.h"
#include "tests/unit/store_rig.h"

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
	assert_int_equal(query_ledger(q, begin_ns + (int64_t)(since_s * 1e9), 1, 0, &json), 0);
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

		store_put_loss(r->s, 1, &loss, groups, RIG_UTC + 300000000000ll);
	}
	store_rig_flush(r);
	assert_int_equal(query_open(r->path, &q, NULL), 0);
	for (int known = 0; known <= 1; known++) {
		/* A file that does not tell TAI-UTC yet: the system clock's for all. */
		if (known) {
			store_put_station(r->s, "tai_utc_s", "37");
			store_rig_flush(r);
		}
		assert_int_equal(query_ledger(q, RIG_UTC + 250000000000ll, 1, 0, &json), 0);
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
	assert_int_equal(query_ledger(q, RIG_UTC, QUERY_ALL, 0, &json), 0);
	for (unsigned n = 0; n < 8; n++) {
		const json_t *row = row_of(json, n < 4 ? "links" : "streams", n % 4);

		assert_true(fabs(json_number_value(json_object_get(row, "begun")) - 1795000000 -
				 wanted[n % 4].begun) < 1e-3);
		assert_int_equal(json_is_null(json_object_get(row, "tai")), n % 4 == 3);
	}
	json_decref(json);
	query_close(q);
}

static void run_sql(sqlite3 *db, const char *sql)
{
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void make_version_1(const char *path)
{
	static char sql[32768];
	FILE *f = fopen("schemas/sql/0001_initial.sql", "r");
	sqlite3 *db = NULL;

	assert_non_null(f);
	sql[fread(sql, 1, sizeof(sql) - 1, f)] = '\0';
	fclose(f);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	run_sql(db, sql);
	run_sql(db, "PRAGMA user_version=1");
	run_sql(db, "INSERT INTO ledger_link VALUES"
		    "(1,1,2,9,1,3,8000,8000,0,0,0,0,0,0,0,0,1,1795000300000000000)");
	run_sql(db, "INSERT INTO ledger_stream VALUES"
		    "(1,1,2,'pmt','trigger',9,8000,7920,80,0,0,0,0,1,1795000300000000000)");
	run_sql(db, "INSERT INTO loss VALUES"
		    "(1,0,'crc',2,1,3,'','',1,72000,8,NULL,1795000300000000000,0)");
	sqlite3_close(db);
}

/* A file from before rows had labels answers, unchanged; the daemon brings it up to date, its rows stay. */
static void test_version_1(void **state)
{
	struct store_rig *r = *state;

	store_rig_close(r);
	unlink(r->path);
	make_version_1(r->path);
	for (int migrated = 0; migrated <= 1; migrated++) {
		struct query *q = NULL;
		json_t *json = NULL;
		const json_t *row, *loss;

		assert_int_equal(store_rig_number(r, "PRAGMA user_version"),
				 migrated ? STORE_SCHEMA : 1);
		assert_int_equal(query_open(r->path, &q, NULL), 0);
		assert_int_equal(query_ledger(q, RIG_UTC, QUERY_ALL, 0, &json), 0);
		assert_int_equal(json_array_size(json_object_get(json, "links")), 1);
		assert_true(json_is_true(json_object_get(json, "balanced")));
		row = json_object_get(row_of(json, "streams", 9), "dropped");
		assert_int_equal(json_integer_value(json_object_get(row, "no-member")), 80);
		assert_int_equal(json_integer_value(json_object_get(row, "no-time")), 0);
		row = row_of(json, "links", 9);
		loss = loss_of(json, 72000);
		assert_int_equal(json_integer_value(json_object_get(loss, "last")), 72007);
		assert_true(json_is_null(json_object_get(row, "tai")));
		assert_true(fabs(json_number_value(json_object_get(row, "begun")) - 1795000000 -
				 299) < 1e-3);
		json_decref(json);
		query_close(q);
		if (!migrated) {
			store_rig_open(r);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_missing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missing_up_to_now, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loss_times, setup, teardown),
		cmocka_unit_test_setup_teardown(test_row_times, setup, teardown),
		cmocka_unit_test_setup_teardown(test_version_1, setup, teardown),
	};

	return cmocka_run_group_tests_name("ledger and time", tests, NULL, NULL);
}
