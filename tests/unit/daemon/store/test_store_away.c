/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A patient store without its file: at the start and later. What came meanwhile is kept or refused, sessions
 * of DMA come out right, nothing is written before main has taken what the file knows, and no file is begun in
 * the place of one that was there.
 */
#include <errno.h>
#include <fcntl.h>
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

#include "daemon/core/now.h"
#include "tests/unit/rig/store_rig.h"

#define JOURNAL (STORE_URGENT | STORE_ANSWER | STORE_NOW_OR_NEVER)

static void create(struct store_rig *r)
{
	store_rig_create(r);
	r->config.retry_ms = 20;
	r->config.patient = true;
}

static struct store_status status(struct store_rig *r)
{
	struct store_status v;

	store_get_status(r->s, &v);
	return v;
}

static struct store_past *until_past(struct store_rig *r)
{
	for (int i = 0; i < 500; i++) {
		struct store_past *past = store_take_past(r->s);

		if (past) {
			return past;
		}
		usleep(10000);
	}
	fail_msg("not opened: %s", status(r).last_error_text);
	return NULL;
}

static void until_away(struct store_rig *r)
{
	for (int i = 0; i < 500 && !status(r).away; i++) {
		usleep(10000);
	}
	assert_true(status(r).away && status(r).failing);
	assert_non_null(strstr(status(r).last_error_text, r->path));
	assert_true(status(r).last_error_hint[0]);
}

/* The answer to a command's row. */
static int journal(struct store_rig *r, uint64_t id)
{
	struct row row;

	store_rig_command(&row, id, NULL, (uint32_t)id);
	assert_int_equal(store_submit(r->s, &row, id, JOURNAL), 0);
	return store_rig_wait(r).result;
}

static void put_second(struct store_rig *r, uint32_t session, unsigned link, uint64_t second)
{
	struct ledger_link_row row = {
		.link = (uint8_t)link, .second = second, .tower = 1, .closed = 1};

	row.floor = (uint8_t)(link + 1);
	row.dma_epoch = 1;
	row.cells = row.verdicts[0] = 8000;
	assert_int_equal(store_put_link_row(r->s, session, &row, FCM_NO_TAI, RIG_UTC, 0, 0), 0);
}

static void move(const struct store_rig *r, const char *from, const char *to)
{
	char a[160], b[160];

	snprintf(a, sizeof(a), "%s/%s", r->dir, from);
	snprintf(b, sizeof(b), "%s/%s", r->dir, to);
	assert_int_equal(rename(a, b), 0);
}

static void erase(const struct store_rig *r, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", r->dir, name);
	unlink(path);
}

/* Its directory comes later, as with a disk that is mounted late. */
static void test_later(void **state)
{
	struct store_rig r;
	struct sc_error error = {0};
	struct store_past *past;
	uint32_t first, second;
	char dir[64];

	create(&r);
	strcpy(dir, r.dir);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(store_open(&r.config, &r.s, &error), 0);
	assert_non_null(strstr(error.message, r.path));
	assert_null(store_take_past(r.s));
	until_away(&r);
	assert_int_equal(store_start(r.s), 0);
	assert_int_equal(journal(&r, 1), -ENOENT);
	first = store_session(r.s, 0, 1, false, 42, 3, RIG_UTC);
	put_second(&r, first, 0, 100);
	second = store_session(r.s, 0, 1, false, 42, 4, RIG_UTC); /* the board has begun anew */
	assert_int_not_equal(first, second);
	put_second(&r, second, 0, 7);
	store_put_event(r.s, "info", "x", "y", "z", "", RIG_UTC);
	assert_int_equal(mkdir(dir, 0700), 0);
	past = until_past(&r);
	assert_int_equal(past->last_command, 0);
	store_past_free(past);
	put_second(&r, second, 0, 8); /* main knows the number that it was given */
	store_rig_flush(&r);
	assert_false(status(&r).failing || status(&r).away);
	assert_int_equal(status(&r).given_up, 0);
	assert_int_equal(store_rig_number(&r, "SELECT group_concat(session || '.' || second, ' ')"
					      " = '1.100 2.7 2.8' FROM ledger_link"),
			 1);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM dma"), 2);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM event"), 1);
	assert_int_equal(store_session(r.s, 0, 2, false, 42, 4, RIG_UTC), 2);
	assert_int_equal(journal(&r, 1), 0);
	store_rig_close(&r);
	store_rig_destroy(&r);
}

/* The ring of a predecessor lives on: its session, known only when the file can be opened. */
static void test_goes_on(void **state)
{
	struct store_rig r;
	uint32_t session;

	create(&r);
	store_rig_open(&r);
	for (uint32_t n = 1; n <= 3; n++) {
		assert_int_equal(store_session(r.s, 0, 1, false, 42, n, RIG_UTC), n);
	}
	put_second(&r, 3, 0, 5);
	store_rig_close(&r);
	move(&r, "station.db", "kept.db");
	assert_int_equal(mkdir(r.path, 0700), 0); /* in its place, and not to be opened */
	assert_int_equal(store_open(&r.config, &r.s, NULL), -EISDIR);
	assert_int_equal(rmdir(r.path), 0);
	assert_int_equal(close(open(r.path, O_CREAT | O_WRONLY, 0600)), 0);
	assert_int_equal(truncate(r.path, 5000), 0);
	assert_int_equal(store_open(&r.config, &r.s, NULL), 0);
	until_away(&r);
	session = store_session(r.s, 0, 1, true, 42, 3, RIG_UTC);
	put_second(&r, session, 0, 6);
	assert_int_equal(store_start(r.s), 0);
	move(&r, "kept.db", "station.db");
	store_past_free(until_past(&r));
	store_rig_flush(&r);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM ledger_link WHERE session = 3"),
			 2);
	store_rig_close(&r);
	store_rig_destroy(&r);
}

/* The file is moved away while it is open: none is begun; nothing is written before main knows the next one. */
static void test_moved(void **state)
{
	struct store_rig r;
	struct store_past *past;
	uint32_t session;

	create(&r);
	store_rig_open(&r);
	store_past_free(store_take_past(r.s));
	session = store_session(r.s, 2, 1, false, 42, 3, RIG_UTC);
	assert_int_equal(journal(&r, 1), 0);
	move(&r, "station.db", "kept.db");
	assert_true(journal(&r, 2) < 0);
	until_away(&r);
	put_second(&r, session, 2, 5);
	usleep(300000);
	assert_int_equal(access(r.path, F_OK), -1);
	assert_true(status(&r).kept > 0);
	move(&r, "kept.db", "station.db");
	for (int i = 0; i < 500 && status(&r).away; i++) {
		usleep(10000);
	}
	usleep(100000);
	assert_int_equal(journal(&r, 3) < 0, 1); /* not before it is taken */
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM ledger_link"), 0);
	past = store_take_past(r.s);
	assert_non_null(past);
	assert_int_equal(past->last_command, 1);
	store_past_free(past);
	store_rig_flush(&r);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM ledger_link"), 1);
	assert_int_equal(journal(&r, 4), 0);
	store_rig_close(&r);
	store_rig_destroy(&r);
}

/* Another file takes its place, the log of the old one lies there still: it is not written into the new one. */
static void test_other_file(void **state)
{
	struct store_rig r;
	sqlite3 *db = NULL, *reader = NULL;
	char copy[160], sql[256];

	create(&r);
	store_rig_open(&r);
	store_past_free(store_take_past(r.s));
	assert_int_equal(store_session(r.s, 1, 1, false, 42, 3, RIG_UTC), 1);
	assert_int_equal(journal(&r, 1), 0);
	snprintf(copy, sizeof(copy), "%s/copy.db", r.dir);
	snprintf(sql, sizeof(sql), "VACUUM INTO '%s'", copy);
	assert_int_equal(sqlite3_open(r.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	for (uint64_t id = 2; id <= 40; id++) {
		assert_int_equal(journal(&r, id), 0); /* in the log only */
	}
	/* A reader of ours keeps SQLite from tidying up. */
	assert_int_equal(sqlite3_open(r.path, &reader), SQLITE_OK);
	assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT * FROM command", NULL, NULL, NULL),
			 SQLITE_OK);
	move(&r, "copy.db", "station.db");
	assert_true(journal(&r, 41) < 0);
	store_past_free(until_past(&r));
	store_rig_flush(&r);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM command"), 1);
	/* What it must know for the rows to come is told to it again. */
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM dma"), 1);
	assert_int_equal(journal(&r, 41), 0);
	sqlite3_close(reader);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM command"), 2);
	store_rig_close(&r);
	store_rig_open(&r); /* checks it */
	store_rig_close(&r);
	erase(&r, "copy.db");
	store_rig_destroy(&r);
}

/* What waiting does not mend is refused at once, and left as it is. */
static void test_final(void **state)
{
	struct store_rig r;
	struct store *other = NULL;
	struct sc_error error = {0};

	create(&r);
	store_rig_open(&r);
	assert_int_equal(store_open(&r.config, &other, &error), -EBUSY);
	assert_non_null(strstr(error.hint, "daemon"));
	store_rig_close(&r);
	unlink(r.path);
	assert_int_equal(mkdir(r.path, 0700), 0);
	assert_int_equal(store_open(&r.config, &r.s, &error), -EISDIR);
	assert_int_equal(rmdir(r.path), 0);
	assert_null(other);
	assert_null(r.s);
	store_rig_destroy(&r);
}

/* A file of another version or program: rows wait or are refused, and it is left as it is. Once it has been moved away
 * a new file is begun; but not where one of ours has been. */
static void test_other_schema(void **state)
{
	static const char *const others[] = {"PRAGMA user_version=99", "CREATE TABLE mine(x)"};
	struct store_rig r;
	uint32_t session;
	char path[160];

	create(&r);
	for (size_t n = 0; n < 2; n++) {
		if (n == 0) {
			store_rig_open(&r);
			store_rig_close(&r);
		}
		store_rig_run(r.path, others[n]);
		store_rig_open(&r);
		assert_true(status(&r).away);
		assert_int_equal(status(&r).last_error, -EPROTONOSUPPORT);
		assert_non_null(strstr(status(&r).last_error_hint, "mv station.db"));
		session = store_session(r.s, 0, 1, false, 1, 1, RIG_UTC);
		put_second(&r, session, 0, 1);
		assert_true(journal(&r, 41) < 0);
		if (n == 0) {
			assert_int_equal(store_rig_number(&r, "PRAGMA user_version"), 99);
			assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM ledger_link"),
					 0);
		} else {
			assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM sqlite_schema"),
					 1);
		}
		move(&r, "station.db", "old.db");
		store_past_free(until_past(&r));
		store_rig_flush(&r);
		assert_int_equal(journal(&r, 41), 0);
		assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM ledger_link"), 1);
		store_rig_close(&r);
		erase(&r, "old.db");
		erase(&r, "station.db");
	}
	store_rig_open(&r);
	store_past_free(store_take_past(r.s));
	snprintf(path, sizeof(path), "VACUUM INTO '%s/ours.db'", r.dir);
	store_rig_run(r.path, path);
	snprintf(path, sizeof(path), "%s/other.db", r.dir);
	store_rig_run(path, others[1]);
	move(&r, "other.db", "station.db");
	assert_true(journal(&r, 42) < 0);
	assert_int_equal(status(&r).last_error, -EPROTONOSUPPORT);
	move(&r, "station.db", "other.db");
	usleep(200000);
	assert_true(journal(&r, 42) < 0);
	assert_int_equal(access(r.path, F_OK), -1);
	move(&r, "ours.db", "station.db");
	store_past_free(until_past(&r));
	assert_int_equal(journal(&r, 42), 0);
	store_rig_close(&r);
	erase(&r, "other.db");
	store_rig_destroy(&r);
}

/* What is damaged lies where no opening sees it: the file is not opened again for every row that comes. */
static void test_damaged_inside(void **state)
{
	struct store_rig r;
	struct store_past *past;
	unsigned opened = 0, urgent = 0;
	uint64_t began;
	struct row row;

	create(&r);
	r.config.retry_ms = 100;
	store_rig_open(&r);
	store_rig_close(&r);
	store_rig_run(
		r.path,
		"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql ="
		" replace(sql, 'ended IS NOT NULL', 'ended = 0') WHERE name = 'command_undone'");
	store_rig_run(r.path,
		      "INSERT INTO command(id, time, who, parameter, op, sequence, state, ended)"
		      " VALUES(1, 1, 'w', 'p', 'set', 1, 'UNKNOWN', 1)");
	store_rig_run(
		r.path,
		"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql ="
		" replace(sql, 'ended = 0', 'ended IS NOT NULL') WHERE name = 'command_undone'");
	store_rig_open(&r);
	store_past_free(store_take_past(r.s));
	store_rig_transition(&row, 1, "DONE", 5, "", true);
	assert_int_equal(store_submit(r.s, &row, 0, STORE_URGENT), 0);
	for (began = now_mono_ns(); opened < 5 && now_mono_ns() - began < 20000000000ull;) {
		past = store_take_past(r.s);
		opened += past != NULL;
		store_past_free(past);
		usleep(1000);
		store_put_event(r.s, "info", "x", "y", "z", "", RIG_UTC);
		assert_int_equal(store_put_run_slice(r.s, 1, ++urgent, false, 0), 0);
	}
	assert_int_equal(opened, 5);
	assert_true(now_mono_ns() - began > 4 * 100 * 1000000ull); /* 5 openings, 4 rests */
	assert_int_equal(status(&r).last_error, -EUCLEAN);
	assert_true(journal(&r, 2) < 0);
	assert_true(store_stop(r.s, 0) > 0);
	store_rig_destroy(&r);
}

/* It ends in time though there is no file, and says how many rows are lost. */
static void test_ends(void **state)
{
	struct store_rig r;

	create(&r);
	assert_int_equal(rmdir(r.dir), 0);
	assert_int_equal(store_open(&r.config, &r.s, NULL), 0);
	assert_int_equal(store_start(r.s), 0);
	put_second(&r, store_session(r.s, 0, 1, false, 1, 1, RIG_UTC), 0, 1);
	assert_int_equal(store_stop(r.s, 200), 1);
	assert_int_equal(mkdir(r.dir, 0700), 0);
	store_rig_destroy(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_later),	       cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_moved),	       cmocka_unit_test(test_other_file),
		cmocka_unit_test(test_final),	       cmocka_unit_test(test_other_schema),
		cmocka_unit_test(test_damaged_inside), cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
