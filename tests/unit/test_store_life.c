/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store over lives: of the board's driver (sessions), of daemons that ended with frames in flight, of runs
 * while the disk refuses.
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

#include "tests/unit/store_rig.h"

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
	struct store_done done;
	sqlite3 *db;

	(void)state;
	store_rig_create(&r);
	store_rig_open(&r);
	store_put_run_begin(r.s, 5, "physics", "shift", RIG_UTC);
	done = store_rig_wait(&r);
	assert_true(done.row == ROW_RUN_BEGIN && done.result == 0);
	db = hold(&r);
	store_put_run_end(r.s, 5, RIG_UTC + 9, 4300);
	until_failing(&r);
	store_put_run_begin(r.s, 6, "more", "shift", RIG_UTC);
	done = store_rig_wait(&r);
	assert_true(done.row == ROW_RUN_BEGIN && done.result == -EBUSY);
	let_go(db);
	store_rig_close(&r);
	assert_int_equal(store_open(&r.config, &r.s, NULL), 0);
	assert_int_equal(store_read_run(r.s, &run), 0);
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

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_refused),
		cmocka_unit_test(test_keeps_what_is_said_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
