/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The database that version 0.2.0 wrote (tests/data/golden/database.sql): queries answer what is in it, and the daemon's
 * store takes it over, brings it to the schema of today and goes on writing. schemas/VERSIONS.md is the rule.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/unit/rig/query_rig.h"
#include "tests/unit/rig/store_rig.h"

/* Columns of the tables of one database that the other lacks. */
#define COLUMNS(of)                                                                                \
	"SELECT m.name, p.name, p.type, p.\"notnull\", p.pk FROM " of ".sqlite_master m,"          \
	" pragma_table_info(m.name, '" of "') p WHERE m.type = 'table'"
#define LACKING(a, b) "SELECT count(*) FROM (" COLUMNS(a) " EXCEPT " COLUMNS(b) ")"

static int one_number(void *number, int columns, char **values, char **names)
{
	*(int *)number = atoi(values[0]);
	return 0;
}

static void assert_same_columns(const char *path, const char *other)
{
	const char *const lacking[] = {LACKING("main", "other"), LACKING("other", "main")};
	char attach[160];
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	snprintf(attach, sizeof(attach), "ATTACH '%s' AS other", other);
	store_rig_sql(db, attach);
	for (unsigned n = 0; n < 2; n++) {
		int columns = -1;

		assert_int_equal(sqlite3_exec(db, lacking[n], one_number, &columns, NULL),
				 SQLITE_OK);
		assert_int_equal(columns, 0);
	}
	sqlite3_close(db);
}

static int setup(void **state)
{
	struct store_rig *r = calloc(1, sizeof(*r));
	char *sql;

	if (!r) {
		return -1;
	}
	store_rig_create(r);
	sql = store_rig_text("tests/data/golden/database.sql");
	store_rig_run(r->path, sql);
	free(sql);
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

/* The first row of an answer's list, which has `rows` of them. */
static json_t *first_of(json_t *answer, const char *list, size_t rows)
{
	json_t *got = json_at(answer, list);

	assert_int_equal(json_array_size(got), rows);
	return json_array_get(got, 0);
}

static void test_commands(void **state)
{
	struct query *q = query_rig_open(*state);
	json_t *answer, *command;

	assert_int_equal(query_commands(q, &(struct query_filter){0}, &answer), 0);
	command = first_of(answer, "commands", 3); /* the newest */
	assert_string_equal(json_text_at(command, "state"), "REFUSED");
	assert_non_null(strstr(json_text_at(command, "detail"), "outside its hardware's range"));
	json_decref(answer);
	assert_int_equal(query_command(q, &(struct query_filter){.command = 1}, &answer), 0);
	assert_string_equal(json_text_at(answer, "parameter"), "tower1.floor1.om1.hv");
	assert_string_equal(json_text_at(answer, "state"), "DONE");
	assert_string_equal(json_text_at(answer, "who"), "root");
	assert_string_equal(json_text_at(answer, "reason"), "golden");
	command = first_of(answer, "transitions", 4);
	assert_string_equal(json_text_at(command, "state"), "QUEUED");
	json_decref(answer);
	assert_int_equal(query_jobs(q, &(struct query_filter){0}, &answer), 0);
	assert_string_equal(json_text_at(first_of(answer, "jobs", 1), "job"),
			    "20261125T191542-154be802");
	json_decref(answer);
	query_close(q);
}

static void test_values(void **state)
{
	struct query *q = query_rig_open(*state);
	struct query_filter hv = {.name = "floor1.om1.hv"};
	json_t *answer;

	assert_int_equal(query_history(q, &hv, &answer), 0);
	assert_string_equal(json_text_at(answer, "unit"), "V");
	assert_true(json_number_at(first_of(answer, "rows", 10), "value") == 1399.8);
	json_decref(answer);
	assert_int_equal(query_snapshot(q, "before", &answer), 0);
	assert_string_equal(json_text_at(first_of(answer, "values", 4), "parameter"),
			    "tower1.floor1.om1.hv");
	json_decref(answer);
	query_close(q);
}

static void test_account(void **state)
{
	struct query *q = query_rig_open(*state);
	struct query_filter all = {.link = QUERY_ALL}, first = {.link = 0};
	json_t *answer, *total;

	assert_int_equal(query_ledger(q, &all, &answer), 0);
	assert_true(json_is_true(json_at(answer, "balanced")));
	total = first_of(json_at(answer, "totals"), "links", 4);
	assert_int_equal(json_number_at(total, "cells"), 24000);
	assert_int_equal(json_number_at(total, "link-down"), 80);
	assert_int_equal(json_number_at(total, "alignment"), 3);
	assert_int_equal(json_array_size(json_at(answer, "losses")), 10);
	json_decref(answer);
	assert_int_equal(query_phase_history(q, &first, &answer), 0);
	assert_string_equal(json_text_at(json_at(answer, "reference"), "reason"), "golden");
	assert_true(json_number_at(first_of(answer, "rows", 58), "mean_ps") == 4100.5);
	assert_int_equal(json_array_size(json_at(answer, "events")), 2);
	json_decref(answer);
	query_close(q);
}

static void test_station(void **state)
{
	struct query *q = query_rig_open(*state);
	json_t *answer;

	assert_int_equal(query_runs(q, &(struct query_filter){0}, &answer), 0);
	assert_string_equal(json_text_at(first_of(answer, "runs", 1), "note"), "golden");
	json_decref(answer);
	assert_int_equal(query_events(q, &(struct query_filter){0}, &answer), 0);
	assert_string_equal(json_text_at(first_of(answer, "events", 12), "code"), "daemon-stop");
	json_decref(answer);
	assert_int_equal(query_clock_history(q, &(struct query_filter){0}, &answer), 0);
	assert_string_equal(json_text_at(first_of(answer, "events", 2), "state"), "locked");
	json_decref(answer);
	assert_int_equal(query_station(q, &answer), 0);
	assert_string_equal(json_text_at(json_at(answer, "station"), "settled_until"), "3");
	assert_int_equal(json_number_at(answer, "schema"), 1);
	json_decref(answer);
	query_close(q);
}

/* The writer takes the file over: its columns are those of a new file, its rows are there, and it can be written to. */
static void test_taken_over(void **state)
{
	struct store_rig *r = *state, new;
	struct row row;

	store_rig_create(&new);
	store_rig_open(&new);
	store_rig_close(&new);
	store_rig_open(r);
	store_rig_command(&row, 4, "after-0.2.0", 1);
	assert_int_equal(store_submit(r->s, &row, 0, 0), 0);
	store_rig_close(r);
	assert_int_equal(store_rig_number(r, "PRAGMA user_version"), STORE_SCHEMA);
	assert_int_equal(store_rig_number(r, "SELECT count(*) FROM command"), 4);
	assert_int_equal(store_rig_number(r, "SELECT count(*) FROM transition"), 6);
	assert_int_equal(store_rig_number(r, "SELECT count(*) FROM sample"), 10);
	assert_int_equal(store_rig_number(r, "SELECT acknowledged IS NOT NULL FROM observation"),
			 1);
	assert_same_columns(r->path, new.path);
	store_rig_destroy(&new);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_commands, setup, teardown),
		cmocka_unit_test_setup_teardown(test_values, setup, teardown),
		cmocka_unit_test_setup_teardown(test_account, setup, teardown),
		cmocka_unit_test_setup_teardown(test_station, setup, teardown),
		cmocka_unit_test_setup_teardown(test_taken_over, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
