/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Old commands and events move to a file a year beside the database: none is lost, none is in both, what is open
 * or among the newest stays, sequences stay known. What cannot be archived is not deleted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/unit/rig/store_rig.h"

#define COMMANDS 2600
#define EVENTS	 6200

/* 2026-11; the oldest rows are of 2018 and 2019. */
static int64_t clock_ns(void)
{
	return RIG_UTC;
}

static void run_sql(const struct store_rig *r, const char *sql)
{
	sqlite3 *db = NULL;
	char *error = NULL;

	assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK) {
		fail_msg("%s", error);
	}
	sqlite3_close(db);
}

/* A new database. A command each 8 hours from the middle of 2018 on; number 700 has never ended, how 500 and 600 ended
 * is not known, and a later one on the parameter of 600 is done. */
static void fill(struct store_rig *r)
{
	store_rig_open(r);
	store_rig_close(r);
	run_sql(r,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
		" WHERE i < 2600) INSERT INTO command(id, time, who, tower, floor,"
		" parameter, op, sequence, state, ended) SELECT i,"
		" 1530000000000000000 + i * 28800000000000, 'w', 1, 1 + i % 4, 'p', 'set',"
		" i + 10000, 'DONE', CASE WHEN i <> 700 THEN 1 END FROM n;"
		"INSERT INTO transition(command, number, time, state) SELECT id, 1, time, 'QUEUED'"
		" FROM command UNION ALL SELECT id, 2, time + 1, 'DONE' FROM command;"
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
		" WHERE i < 6200) INSERT INTO event(id, time, severity, code, text)"
		" SELECT i, 1530000000000000000 + i, 'info', 'c', 't' FROM n;"
		"UPDATE command SET state = 'UNKNOWN', parameter = 'q' || id"
		" WHERE id IN (500, 600);"
		"UPDATE command SET parameter = 'q600' WHERE id = 650;"
		"DELETE FROM sequence");
}

static void create(struct store_rig *r)
{
	store_rig_create(r);
	r->config.ages.journal_days = 1825;
	r->config.keep_ms = 20;
	r->config.keep_rest = 1;
	r->config.utc_ns = clock_ns;
	fill(r);
}

static int64_t in_archive(const struct store_rig *r, int year, const char *sql)
{
	struct store_rig other = *r;

	snprintf(other.path, sizeof(other.path), "%s/station-%d.db", r->dir, year);
	return access(other.path, F_OK) < 0 ? 0 : store_rig_number(&other, sql);
}

static int64_t in_all(const struct store_rig *r, const char *sql)
{
	int64_t sum = store_rig_number(r, sql);

	for (int year = 2018; year <= 2021; year++) {
		sum += in_archive(r, year, sql);
	}
	return sum;
}

/* Until so many are left of the table. */
static void until(struct store_rig *r, const char *sql, int64_t left)
{
	for (int i = 0; i < 1000 && store_rig_number(r, sql) != left; i++) {
		usleep(10000);
	}
	assert_int_equal(store_rig_number(r, sql), left);
}

static void destroy(struct store_rig *r)
{
	char path[128];

	for (int year = 2018; year <= 2021; year++) {
		snprintf(path, sizeof(path), "%s/station-%d.db", r->dir, year);
		unlink(path);
	}
	store_rig_destroy(r);
}

static void test_moves(void **state)
{
	struct store_rig r;

	create(&r);
	store_rig_open(&r);
	/* the newest, the open one, and one that is a reason still */
	until(&r, "SELECT count(*) FROM command", 1002);
	until(&r, "SELECT count(*) FROM event", 5000);
	assert_int_equal(
		store_rig_number(&r, "SELECT count(*) FROM command WHERE id IN (500, 700)"), 2);
	assert_int_equal(store_rig_number(&r, "SELECT min(id) FROM event"), EVENTS - 5000 + 1);
	assert_int_equal(in_all(&r, "SELECT count(*) FROM command"), COMMANDS);
	assert_int_equal(in_all(&r, "SELECT sum(id) FROM command"),
			 (int64_t)COMMANDS * (COMMANDS + 1) / 2);
	assert_int_equal(in_all(&r, "SELECT count(*) FROM transition"), 2 * COMMANDS);
	assert_int_equal(in_all(&r, "SELECT count(*) FROM event"), EVENTS);
	/* Each in the file of its year, which is a database like ours. */
	for (int year = 2018; year <= 2019; year++) {
		char sql[160];

		snprintf(sql, sizeof(sql),
			 "SELECT count(*) FROM command WHERE strftime('%%Y', time / 1000000000,"
			 " 'unixepoch') <> '%d'",
			 year);
		assert_true(in_archive(&r, year, "SELECT count(*) FROM command") > 400);
		assert_int_equal(in_archive(&r, year, sql), 0);
		assert_int_equal(in_archive(&r, year, "PRAGMA user_version"), STORE_SCHEMA);
	}
	assert_int_equal(store_rig_number(&r, "SELECT max(reserved_until) FROM sequence"), 11600);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM sequence"), 4);
	store_rig_close(&r);
	destroy(&r);
}

static void until_failing(struct store_rig *r, const char *text)
{
	struct store_status status;

	for (int i = 0; i < 500; i++) {
		store_get_status(r->s, &status);
		if (status.keep_errors > 2) {
			break;
		}
		usleep(10000);
	}
	assert_true(status.keep_errors > 2 && status.keep_failing);
	if (!strstr(status.keep_error_text, text)) {
		fail_msg("%s", status.keep_error_text);
	}
}

/* A directory lies where the archive would: nothing is deleted, and it is told. */
static void test_no_archive(void **state)
{
	struct store_rig r;
	char path[128];

	create(&r);
	snprintf(path, sizeof(path), "%s/station-2018.db", r.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	store_rig_open(&r);
	until_failing(&r, "archive of the journal of 2018: unable to open");
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM command"), COMMANDS);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM event"), EVENTS);
	assert_int_equal(rmdir(path), 0);
	until(&r, "SELECT count(*) FROM command", 1002); /* it goes on by itself */
	store_rig_close(&r);
	assert_int_equal(in_all(&r, "SELECT count(*) FROM command"), COMMANDS);
	destroy(&r);
}

/* A death between both files: the rows are in both, and are written there again. */
static void test_in_both(void **state)
{
	struct store_rig r;
	char sql[256];

	create(&r);
	store_rig_open(&r);
	until(&r, "SELECT count(*) FROM command", 1002);
	store_rig_close(&r);
	snprintf(sql, sizeof(sql),
		 "ATTACH '%s/station-2018.db' AS a; INSERT INTO command SELECT * FROM a.command;"
		 "INSERT INTO transition SELECT * FROM a.transition",
		 r.dir);
	run_sql(&r, sql);
	assert_true(in_all(&r, "SELECT count(*) FROM command") > COMMANDS);
	store_rig_open(&r);
	until(&r, "SELECT count(*) FROM command", 1002);
	store_rig_close(&r);
	assert_int_equal(in_all(&r, "SELECT count(*) FROM command"), COMMANDS);
	assert_int_equal(in_all(&r, "SELECT count(*) FROM transition"), 2 * COMMANDS);
	destroy(&r);
}

static void move(const struct store_rig *r, int from, int to)
{
	char a[128], b[128];

	snprintf(a, sizeof(a), "%s/station-%d.db", r->dir, from);
	snprintf(b, sizeof(b), "%s/station-%d.db", r->dir, to);
	assert_int_equal(rename(a, b), 0);
}

/* The database was lost, numbers began anew: what the archive has of the old one stays, and it is told. */
static void test_another_database(void **state)
{
	static const char old[] = "SELECT total(time % 1000) FROM command";
	struct store_rig r;
	char path[128];
	int64_t archived;

	create(&r);
	store_rig_open(&r);
	until(&r, "SELECT count(*) FROM command", 1002);
	store_rig_close(&r);
	archived = in_archive(&r, 2018, "SELECT count(*) FROM command");
	assert_int_equal(unlink(r.path), 0);
	fill(&r);
	run_sql(&r, "UPDATE command SET time = time + 7; UPDATE event SET time = time + 7");
	store_rig_open(&r);
	until_failing(&r, "archive of the journal of 2018: it has another database's rows");
	assert_int_equal(in_archive(&r, 2018, "SELECT count(*) FROM command"), archived);
	assert_int_equal(in_archive(&r, 2018, old), 0);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM command"), COMMANDS);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM event"), EVENTS);
	move(&r, 2018, 2020);
	move(&r, 2019, 2021);
	until(&r, "SELECT count(*) FROM command", 1002); /* it goes on by itself */
	store_rig_close(&r);
	assert_int_equal(in_archive(&r, 2018, old), 7 * archived);
	assert_int_equal(in_archive(&r, 2020, old), 0);
	snprintf(path, sizeof(path), "%s/station-2020.db", r.dir);
	assert_int_equal(access(path, F_OK), 0);
	destroy(&r);
}

/* A client's id comes again, years later: no command is lost for it. */
static void test_client_again(void **state)
{
	struct store_rig r;

	create(&r);
	run_sql(&r, "DELETE FROM command WHERE id = 300;"
		    "UPDATE command SET client_id = 'night' WHERE id = 1");
	store_rig_open(&r);
	until(&r, "SELECT count(*) FROM command", 1002);
	store_rig_close(&r);
	run_sql(&r, "INSERT INTO command(id, client_id, time, who, tower, floor, parameter, op,"
		    " state, ended) VALUES(300, 'night', 1538640000000000000, 'w', 1, 1, 'p',"
		    " 'set', 'DONE', 1)");
	store_rig_open(&r);
	until(&r, "SELECT count(*) FROM command", 1002);
	store_rig_close(&r);
	assert_int_equal(in_all(&r, "SELECT count(*) FROM command"), COMMANDS);
	assert_int_equal(in_archive(&r, 2018, "SELECT id FROM command WHERE client_id = 'night'"),
			 300);
	destroy(&r);
}

/* The year's file is of another version or program: it stays as it is, nothing moves until it is elsewhere. */
static void test_another_schema(void **state)
{
	struct store_rig r;
	char path[128], command[320];

	create(&r);
	snprintf(path, sizeof(path), "%s/station-2018.db", r.dir);
	store_rig_run(path, "CREATE TABLE mine(x); PRAGMA user_version = 12");
	store_rig_open(&r);
	snprintf(command, sizeof(command), "mv %s %s.old", path, path);
	until_failing(&r, "archive of the journal of 2018: the file is of another version");
	until_failing(&r, command);
	assert_int_equal(in_archive(&r, 2018, "PRAGMA user_version"), 12);
	assert_int_equal(in_archive(&r, 2018, "SELECT count(*) FROM sqlite_schema"), 1);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM command"), COMMANDS);
	assert_int_equal(system(command), 0);
	until(&r, "SELECT count(*) FROM command", 1002); /* it goes on by itself */
	store_rig_close(&r);
	assert_int_equal(in_archive(&r, 2018, "PRAGMA application_id"), ROWS_APPLICATION);
	snprintf(path, sizeof(path), "%s/station-2018.db.old", r.dir);
	assert_int_equal(unlink(path), 0);
	destroy(&r);
}

/* Rows of a clock that was years ahead do not hold up what is behind them. */
static void test_clock_was_ahead(void **state)
{
	struct store_rig r;

	create(&r);
	run_sql(&r, "UPDATE command SET time = 4000000000000000000 WHERE id <= 3;"
		    "UPDATE event SET time = 4000000000000000000 WHERE id <= 3");
	store_rig_open(&r);
	until(&r, "SELECT count(*) FROM command", 1005);
	until(&r, "SELECT count(*) FROM event", 5003);
	assert_int_equal(store_rig_number(&r, "SELECT sum(id) FROM command WHERE id <= 3"), 6);
	store_rig_close(&r);
	assert_int_equal(in_all(&r, "SELECT count(*) FROM command"), COMMANDS);
	destroy(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves),		cmocka_unit_test(test_no_archive),
		cmocka_unit_test(test_in_both),		cmocka_unit_test(test_another_database),
		cmocka_unit_test(test_another_schema),	cmocka_unit_test(test_client_again),
		cmocka_unit_test(test_clock_was_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
