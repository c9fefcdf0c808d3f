/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migrations, with a schema of the test's own (tests/data/migrations): files of every older version, filled with rows
 * in every table, are brought up to date, each row is there as it was. Killed in the middle of a migration, nothing
 * is lost, and the next opening finishes it. Then the daemon's own schema, made from schemas/sql/.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "daemon/store/private.h"
#include "tests/unit/rig/store_rig.h"

#define ROWS	  5  /* in each table */
#define LAST	  3u /* version of the test's schema */
#define OURS	  0x54455354
#define DIRECTORY "tests/data/migrations"
#define TEXT_SIZE 65536 /* all rows of one file as text */

static sqlite3 *open_db(const char *path)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	return db;
}

static const char *texts[LAST];
static struct store_schema schema = {OURS, texts, LAST};

static int read_texts(void **state)
{
	for (unsigned n = 0; n < LAST; n++) {
		texts[n] = store_rig_migration(DIRECTORY, n + 1);
	}
	return 0;
}

static int free_texts(void **state)
{
	for (unsigned n = 0; n < LAST; n++) {
		free((void *)(uintptr_t)texts[n]);
	}
	return 0;
}

/* As a daemon of that version would. */
static int migrate_to(sqlite3 *db, unsigned version)
{
	struct store_schema older = {OURS, texts, version};

	return store_schema_migrate(db, &older, NULL);
}

typedef void (*table_fn)(sqlite3 *db, const char *table, void *context);

static void each_table(sqlite3 *db, table_fn fn, void *context)
{
	sqlite3_stmt *q;

	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT name FROM sqlite_schema WHERE type = 'table'"
					    " AND name NOT LIKE 'sqlite_%' ORDER BY name",
					    -1, &q, NULL),
			 SQLITE_OK);
	while (sqlite3_step(q) == SQLITE_ROW) {
		fn(db, (const char *)sqlite3_column_text(q, 0), context);
	}
	sqlite3_finalize(q);
}

/* "a,b,c", and as many values for the row n. */
static void columns_of(sqlite3 *db, const char *table, int n, char *names, char *values,
		       size_t size)
{
	sqlite3_stmt *q;
	size_t a = 0, b = 0;
	char sql[128];
	int place = 0;

	snprintf(sql, sizeof(sql), "SELECT name, type FROM pragma_table_info('%s')", table);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
	names[0] = values[0] = '\0';
	for (; sqlite3_step(q) == SQLITE_ROW; place++) {
		const char *type = (const char *)sqlite3_column_text(q, 1);
		const char *comma = place ? "," : "";

		a += (size_t)snprintf(names + a, size - a, "%s%s", comma,
				      (const char *)sqlite3_column_text(q, 0));
		if (strcmp(type, "TEXT") == 0) {
			b += (size_t)snprintf(values + b, size - b, "%s'%s %d'", comma, table, n);
		} else {
			b += (size_t)snprintf(values + b, size - b, "%s%d", comma, n + 100 * place);
		}
	}
	sqlite3_finalize(q);
	assert_true(place > 0 && a < size && b < size);
}

static void fill_table(sqlite3 *db, const char *table, void *context)
{
	char names[1024], values[1024], sql[2300];

	for (int n = 1; n <= ROWS; n++) {
		columns_of(db, table, n, names, values, sizeof(names));
		snprintf(sql, sizeof(sql), "INSERT INTO %s(%s) VALUES(%s)", table, names, values);
		store_rig_sql(db, sql);
	}
}

/* What an older file had, in the columns that it had. */
struct content {
	unsigned tables;
	char name[32][64], columns[32][1024];
	char text[TEXT_SIZE];
	size_t used;
};

static int add_row(void *context, int count, char **values, char **names)
{
	struct content *c = context;

	for (int n = 0; n < count; n++) {
		c->used += (size_t)snprintf(c->text + c->used, TEXT_SIZE - c->used, "%s|",
					    values[n] ? values[n] : "NULL");
		assert_true(c->used < TEXT_SIZE - 1);
	}
	return 0;
}

static void add_rows(sqlite3 *db, struct content *c, unsigned table)
{
	char sql[1200], *error = NULL;

	snprintf(sql, sizeof(sql), "SELECT %s FROM %s ORDER BY 1, 2", c->columns[table],
		 c->name[table]);
	if (sqlite3_exec(db, sql, add_row, c, &error) != SQLITE_OK) {
		fail_msg("%s: %s", sql, error);
	}
}

static void note_table(sqlite3 *db, const char *table, void *context)
{
	struct content *c = context;
	char values[1024];

	assert_true(c->tables < 32);
	snprintf(c->name[c->tables], sizeof(c->name[0]), "%s", table);
	columns_of(db, table, 0, c->columns[c->tables], values, sizeof(values));
	add_rows(db, c, c->tables++);
}

/* A file as the schema `version` made it, filled; what is in it. */
static void make(const char *path, unsigned version, struct content *ret_content)
{
	sqlite3 *db = open_db(path);

	store_rig_sql(db, "PRAGMA journal_mode=WAL");
	assert_int_equal(migrate_to(db, version), 0);
	each_table(db, fill_table, NULL);
	*ret_content = (struct content){0};
	each_table(db, note_table, ret_content);
	sqlite3_close(db);
	assert_true(ret_content->tables >= 2);
}

/* All that was in the file is in it. */
static void check_kept(const char *path, const struct content *was)
{
	struct content *is = calloc(1, sizeof(*is));
	sqlite3 *db = open_db(path);

	assert_non_null(is);
	memcpy(is, was, offsetof(struct content, text));
	for (unsigned n = 0; n < is->tables; n++) {
		add_rows(db, is, n);
	}
	sqlite3_close(db);
	assert_string_equal(is->text, was->text);
	free(is);
}

/* It is brought up to date, and can be written. */
static void check_opens(struct store_rig *r, const struct content *was)
{
	sqlite3 *db = open_db(r->path);

	assert_int_equal(store_schema_migrate(db, &schema, NULL), 0);
	store_rig_sql(db, "INSERT INTO place VALUES('new', 'value', 'V'); DELETE FROM place"
			  " WHERE key = 'new'; UPDATE sum SET total = total");
	sqlite3_close(db);
	assert_int_equal(store_rig_number(r, "PRAGMA user_version"), LAST);
	assert_int_equal(store_rig_number(r, "PRAGMA application_id"), OURS);
	check_kept(r->path, was);
	assert_int_equal(store_rig_number(r, "SELECT count(*) FROM pragma_quick_check"
					     " WHERE quick_check = 'ok'"),
			 1);
}

static void forget(const struct store_rig *r)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	char path[128];

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", r->path, ends[i]);
		unlink(path);
	}
}

static void test_every_schema(void **state)
{
	struct content *was = calloc(1, sizeof(*was));
	struct store_rig r;

	store_rig_create(&r);
	for (unsigned version = 1; version <= LAST; version++) {
		make(r.path, version, was);
		check_opens(&r, was);
		forget(&r);
	}
	store_rig_destroy(&r);
	free(was);
}

/* The rows of a new file are numbered as they came; a command's first state is in its own row. */
static void test_states_in_order(void **state)
{
	struct store_rig r;

	store_rig_create(&r);
	store_rig_open(&r);
	store_rig_run(r.path,
		      "INSERT INTO command(id, time, who, parameter, op, state, detail, ended)"
		      " VALUES (1, 5, 'w', 'p', 'set', 'DONE', 'there', 7),"
		      " (2, 5, 'w', 'p', 'set', 'SENT', 'sent', NULL),"
		      " (3, 6, 'w', 'p', 'set', 'REFUSED', 'beyond', 6);"
		      "INSERT INTO transition(command, number, time, state) VALUES"
		      " (1, 2, 7, 'SENT'), (1, 3, 7, 'ACKED'), (2, 2, 6, 'SENT'),"
		      " (1, 4, 7, 'DONE')");
	assert_int_equal(
		store_rig_number(&r,
				 "SELECT group_concat(state, ' ') = 'QUEUED SENT ACKED DONE'"
				 " AND group_concat(number) = '1,2,3,4' AND min(time) = 5 FROM"
				 " (SELECT * FROM command_life WHERE command = 1 ORDER BY number)"),
		1);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM command_life"), 7);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM transition"), 4);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM command_life WHERE command = 3"
					      " AND state = 'REFUSED' AND detail = 'beyond'"),
			 1);
	store_put_alive(r.s, RIG_UTC);
	store_rig_flush(&r);
	assert_int_equal(
		store_rig_number(&r, "SELECT value FROM station WHERE key = 'settled_until'"), 1);
	store_rig_close(&r);
	store_rig_destroy(&r);
}

static unsigned signs;

static void sign(void)
{
	signs++;
}

/* Who waits for a long migration hears that it goes on; who opens a file of today hears nothing. */
static void test_at_work(void **state)
{
	struct store_rig r;
	sqlite3 *db;

	store_rig_create(&r);
	db = open_db(r.path);
	assert_int_equal(migrate_to(db, 1), 0);
	store_rig_sql(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
			  " WHERE i < 50000) INSERT INTO reading SELECT i, 'r', i FROM n");
	signs = 0;
	assert_int_equal(store_schema_migrate(db, &schema, sign), 0);
	assert_true(signs > 0);
	signs = 0;
	assert_int_equal(store_schema_migrate(db, &schema, sign), 0);
	assert_int_equal(signs, 0);
	sqlite3_close(db);
	store_rig_destroy(&r);
}

/* Another program's file, an older or a newer schema's, one that has only our mark: nothing is changed. */
static void test_others(void **state)
{
	static const struct {
		const char *sql;
		int result;
	} files[] = {
		{"", 0},
		{"PRAGMA journal_mode=WAL", 0}, /* killed before it had a schema */
		{"CREATE TABLE mine(x)", -EPROTONOSUPPORT},
		{"CREATE TABLE mine(x); PRAGMA user_version=1", -EPROTONOSUPPORT},
		{"CREATE TABLE mine(x); PRAGMA application_id=1; PRAGMA user_version=1",
		 -EPROTONOSUPPORT},
		{"CREATE TABLE mine(x); PRAGMA application_id=0x54455354", -EPROTONOSUPPORT},
		{"CREATE TABLE mine(x); PRAGMA application_id=0x54455354; PRAGMA user_version=4",
		 -EPROTONOSUPPORT},
		{"CREATE TABLE mine(x); PRAGMA application_id=0x54455354; PRAGMA user_version=-1",
		 -EPROTONOSUPPORT},
		{"PRAGMA application_id=0x54455354", -EPROTONOSUPPORT},
		{"PRAGMA user_version=1", -EPROTONOSUPPORT},
	};
	struct store_rig r;

	store_rig_create(&r);
	for (size_t n = 0; n < sizeof(files) / sizeof(files[0]); n++) {
		int64_t version, application;
		sqlite3 *db = open_db(r.path);

		store_rig_sql(db, files[n].sql);
		version = store_rig_number(&r, "PRAGMA user_version");
		application = store_rig_number(&r, "PRAGMA application_id");
		assert_int_equal(store_schema_migrate(db, &schema, NULL), files[n].result);
		if (files[n].result < 0) {
			assert_int_equal(store_rig_number(&r, "PRAGMA user_version"), version);
			assert_int_equal(store_rig_number(&r, "PRAGMA application_id"),
					 application);
		}
		sqlite3_close(db);
		forget(&r);
	}
	store_rig_destroy(&r);
}

/* Dies with all of a migration done but for its end. */
static void die_in_migration(const char *path, unsigned version)
{
	sqlite3 *db = NULL;
	const char *sql = texts[version];

	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(db, "PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN IMMEDIATE", NULL,
			 NULL, NULL) != SQLITE_OK ||
	    sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
		_exit(1);
	}
	kill(getpid(), SIGKILL);
}

static void test_killed_inside(void **state)
{
	struct content *was = calloc(1, sizeof(*was));
	struct store_rig r;

	store_rig_create(&r);
	for (unsigned version = 1; version < LAST; version++) {
		pid_t pid;
		int status;

		make(r.path, version, was);
		pid = fork();
		if (pid == 0) {
			die_in_migration(r.path, version);
		}
		waitpid(pid, &status, 0);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		assert_int_equal(store_rig_number(&r, "PRAGMA user_version"), version);
		check_opens(&r, was);
		forget(&r);
	}
	store_rig_destroy(&r);
	free(was);
}

static void open_and_end(const char *path)
{
	sqlite3 *db = NULL;

	_exit(sqlite3_open(path, &db) != SQLITE_OK || store_schema_migrate(db, &schema, NULL) < 0);
}

/* Killed anywhere while the oldest file is brought up to date. */
static void test_killed_anywhere(void **state)
{
	struct content *was = calloc(1, sizeof(*was));
	struct store_rig r;
	unsigned halfway = 0;

	store_rig_create(&r);
	for (unsigned round = 0; round < 30; round++) {
		int64_t version;
		pid_t pid;

		make(r.path, 1, was);
		pid = fork();
		if (pid == 0) {
			open_and_end(r.path);
		}
		usleep(round * 300);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		version = store_rig_number(&r, "PRAGMA user_version");
		assert_in_range(version, 1, LAST);
		halfway += version > 1 && version < LAST;
		check_kept(r.path, was);
		check_opens(&r, was);
		forget(&r);
	}
	print_message("%u of 30 kills left it between two schemas\n", halfway);
	store_rig_destroy(&r);
	free(was);
}

/* What the file's schema says is not trusted, by the daemon neither; its own migrations do without. */
static void test_schema_is_not_trusted(void **state)
{
	static const int on_off[][2] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
					{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0}};
	struct sc_error error = {0};
	struct store_rig r;
	int is = -1;

	store_rig_create(&r);
	assert_int_equal(store_open(&r.config, &r.s, &error), 0); /* a new file, migrated */
	for (size_t i = 0; i < sizeof(on_off) / sizeof(on_off[0]); i++) {
		assert_int_equal(sqlite3_db_config(r.s->db, on_off[i][0], -1, &is), SQLITE_OK);
		assert_int_equal(is, on_off[i][1]);
	}
	store_rig_destroy(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_schema),
		cmocka_unit_test(test_states_in_order),
		cmocka_unit_test(test_at_work),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_killed_inside),
		cmocka_unit_test(test_killed_anywhere),
		cmocka_unit_test(test_schema_is_not_trusted),
	};

	return cmocka_run_group_tests(tests, read_texts, free_texts);
}
