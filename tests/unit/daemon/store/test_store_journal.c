/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands in the store, on a real file: group commit, answers, numbers given again, disks that refuse, kill -9 in the
 * middle of commits, what a restart reads of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/rig/store_rig.h"

#define JOURNAL (STORE_URGENT | STORE_ANSWER | STORE_NOW_OR_NEVER)

static void test_group_commit(void **state)
{
	struct store_rig r;
	struct store_status status;
	struct store_done done;
	struct row row;

	store_rig_create(&r);
	store_rig_open(&r);
	for (uint64_t id = 1; id <= 100; id++) { /* nothing urgent: all in one, after 100 ms */
		store_rig_command(&row, id, NULL, (uint32_t)id);
		assert_int_equal(store_submit(r.s, &row, 0, 0), 0);
	}
	store_rig_flush(&r);
	store_get_status(r.s, &status);
	assert_int_equal(status.rows, 100);
	assert_int_equal(status.commits, 1);
	assert_int_equal(status.lag_ns, 0);
	for (uint64_t id = 101; id <= 200;
	     id++) { /* urgent: at once, together what came together */
		store_rig_command(&row, id, NULL, (uint32_t)id);
		assert_int_equal(store_submit(r.s, &row, id, JOURNAL), 0);
	}
	for (uint64_t id = 101; id <= 200; id++) {
		done = store_rig_wait(&r);
		assert_int_equal(done.cookie, id);
		assert_int_equal(done.result, 0);
		assert_int_equal(done.row, ROW_COMMAND);
	}
	store_get_status(r.s, &status);
	assert_in_range(status.commits, 2, 60);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM command_life"), 200);
	assert_false(store_take_done(r.s, &done));
	store_rig_destroy(&r);
}

/* What comes while the first is being written goes with it. */
static void test_commit_gathers(void **state)
{
	struct store_rig r;
	struct store_status status;
	struct row row;
	sqlite3 *db;

	store_rig_create(&r);
	store_rig_open(&r);
	assert_int_equal(sqlite3_open(r.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	for (uint64_t id = 1; id <= 100; id++) {
		store_rig_command(&row, id, NULL, (uint32_t)id);
		assert_int_equal(store_submit(r.s, &row, id, JOURNAL), 0);
		usleep(id == 1 ? 50000 : 0); /* it has been taken, and waits for the lock */
	}
	sqlite3_close(db);
	for (uint64_t id = 1; id <= 100; id++) {
		assert_int_equal(store_rig_wait(&r).result, 0);
	}
	store_get_status(r.s, &status);
	assert_int_equal(status.commits, 1);
	assert_int_equal(status.errors, 0);
	store_rig_destroy(&r);
}

/* All up to settled_until have ended, and no open one is behind it. */
static void test_settled(void **state)
{
	static const char settled[] = "SELECT value FROM station WHERE key = 'settled_until'";
	struct store_past *past;
	struct store_rig r;
	struct row row;

	store_rig_create(&r);
	store_rig_open(&r);
	store_put_alive(r.s, RIG_UTC);
	store_rig_flush(&r);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM station"), 1); /* no command */
	for (uint64_t id = 1; id <= 4; id++) {
		store_rig_command(&row, id, NULL, (uint32_t)id + 100);
		store_submit(r.s, &row, id, 0);
	}
	store_rig_transition(&row, 1, "DONE", -1, "", true);
	store_submit(r.s, &row, 0, 0);
	store_rig_transition(&row, 3, "DONE", -1, "", true);
	store_submit(r.s, &row, 0, 0);
	store_put_alive(r.s, RIG_UTC + 1);
	store_rig_flush(&r);
	assert_int_equal(store_rig_number(&r, settled), 1);
	store_rig_transition(&row, 2, "DONE", -1, "", true);
	store_submit(r.s, &row, 0, 0);
	store_put_alive(r.s, RIG_UTC + 2);
	store_rig_flush(&r);
	assert_int_equal(store_rig_number(&r, settled), 3);
	store_rig_close(&r);
	store_rig_open(&r);
	past = store_take_past(r.s);
	assert_int_equal(past->command_count, 1);
	assert_int_equal(past->commands[0].id, 4);
	store_past_free(past);
	store_rig_transition(&row, 4, "DONE", -1, "", true);
	store_submit(r.s, &row, 0, 0);
	store_put_alive(r.s, RIG_UTC + 3);
	store_rig_flush(&r);
	assert_int_equal(store_rig_number(&r, settled), 4);
	assert_int_equal(store_rig_number(&r, "SELECT value FROM station WHERE key = 'last_alive'"),
			 RIG_UTC + 3);
	store_rig_destroy(&r);
}

static void test_constraint(void **state)
{
	struct store_rig r;
	struct store_status status;
	struct row row;

	store_rig_create(&r);
	store_rig_open(&r);
	store_rig_command(&row, 1, "abc", 1);
	store_submit(r.s, &row, 1, JOURNAL);
	assert_int_equal(store_rig_wait(&r).result, 0);
	store_rig_command(&row, 2, "abc", 2); /* the client id again */
	store_submit(r.s, &row, 2, STORE_ANSWER);
	store_rig_command(&row, 1, NULL, 3); /* the id again */
	store_submit(r.s, &row, 3, STORE_ANSWER);
	store_rig_command(&row, 4, NULL, 4);
	store_submit(r.s, &row, 4, STORE_ANSWER | STORE_URGENT);
	assert_int_equal(store_rig_wait(&r).result, -EEXIST);
	assert_int_equal(store_rig_wait(&r).result, -EEXIST);
	assert_int_equal(store_rig_wait(&r).result, 0);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM command"), 2);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM command_life"), 2);
	store_get_status(r.s, &status);
	assert_int_equal(status.given_up, 2);
	assert_false(status.failing);
	store_rig_destroy(&r);
}

static void refused_row(struct row *row, uint64_t id, const char *client_id)
{
	store_rig_command(row, id, client_id, (uint32_t)id);
	row->values[18].text = (typeof(row->values[18].text))row->used;
	memcpy(row->arena + row->used, "REFUSED", sizeof("REFUSED"));
	row->used += sizeof("REFUSED");
}

/* What is refused at once has CLIENT_ID!NUMBER, and is in conflict with a command that has CLIENT_ID. */
static void test_refused_repeats(void **state)
{
	static const struct {
		uint64_t id;
		const char *client_id;
		bool refused;
		int result;
	} rows[] = {
		{1, "abc", false, 0},	       {2, "abc!2", true, -EEXIST}, {3, "abd!3", true, 0},
		{4, "abd!4", true, 0},	/* the first was none */
		{5, "abc!5", false, 0}, /* whoever likes such client ids */
		{6, "abc!5!6", true, -EEXIST}, {7, "abc!8", true, 0},	    {9, NULL, true, 0},
	};
	struct store_rig r;
	struct row row;

	store_rig_create(&r);
	store_rig_open(&r);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].refused) {
			refused_row(&row, rows[i].id, rows[i].client_id);
		} else {
			store_rig_command(&row, rows[i].id, rows[i].client_id,
					  (uint32_t)rows[i].id);
		}
		store_submit(r.s, &row, rows[i].id, JOURNAL);
		assert_int_equal(store_rig_wait(&r).result, rows[i].result);
	}
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM command"), 6);
	assert_int_equal(
		store_rig_number(&r, "SELECT count(*) FROM command WHERE client_id = 'abd!3'"), 1);
	store_rig_destroy(&r);
}

/* A transition outlives its command: its row was refused, or a copy from before it was put in the file's place. The
 * number is given anew later, and what is written there speaks of that command only. */
static void test_number_again(void **state)
{
	struct store_rig r;
	struct row row;

	store_rig_create(&r);
	store_rig_open(&r);
	store_rig_transition(&row, 1, "CANCELLED", -1, "taken back", true);
	assert_int_equal(store_submit(r.s, &row, 1, STORE_URGENT | STORE_ANSWER), 0);
	assert_int_equal(store_rig_wait(&r).result, 0);
	store_rig_run(r.path,
		      "INSERT OR REPLACE INTO transition(command, number, time, state)"
		      " VALUES(1, 1, 5, 'CANCELLED'), (1, 2, 6, 'DONE'), (2, 1, 7, 'SENT')");
	store_rig_close(&r);
	store_rig_open(&r); /* whoever gives numbers has read the last one from the file */
	store_rig_command(&row, 1, "abc", 1);
	assert_int_equal(store_submit(r.s, &row, 2, JOURNAL), 0);
	assert_int_equal(store_rig_wait(&r).result, 0);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM command_life WHERE command = 1"
					      " AND state = 'QUEUED' AND number = 1"),
			 1);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM transition WHERE command = 1"),
			 0);
	store_rig_destroy(&r);
}

/* What was busy goes once more under a sequence that is journaled now or never: before rows that have waited for the
 * disk. Those say nothing of the command as it is now. */
static void test_sequence_ahead(void **state)
{
	struct store_rig r;
	struct store_status status = {0};
	struct row row;
	sqlite3 *db;

	store_rig_create(&r);
	r.config.retry_ms = 10000; /* only what is now or never is tried meanwhile */
	store_rig_open(&r);
	store_rig_command(&row, 1, NULL, 101);
	store_submit(r.s, &row, 1, JOURNAL);
	assert_int_equal(store_rig_wait(&r).result, 0);
	assert_int_equal(sqlite3_open(r.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	store_rig_transition(&row, 1, "SENT", 5, "sent, attempt 1", false);
	store_submit(r.s, &row, 0, STORE_URGENT);
	for (int i = 0; i < 1000 && !status.failing; i++) {
		usleep(10000);
		store_get_status(r.s, &status);
	}
	assert_true(status.failing);
	sqlite3_close(db);
	store_rig_transition(&row, 1, "QUEUED", -1, "once more", false);
	row.values[5].i = 102;
	store_submit(r.s, &row, 2, JOURNAL);
	assert_int_equal(store_rig_wait(&r).result, 0);
	store_rig_flush(&r);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM command_life"), 3);
	assert_int_equal(store_rig_number(&r, "SELECT sequence FROM command"), 102);
	store_rig_destroy(&r);
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_full_disk(void **state)
{
	struct store_rig r;
	struct store_status status;
	struct row row;
	uint64_t id;

	signal(SIGXFSZ, SIG_IGN);
	store_rig_create(&r);
	r.config.keep_rows = 50;
	store_rig_open(&r);
	store_rig_command(&row, 1, NULL, 1);
	store_submit(r.s, &row, 1, JOURNAL);
	assert_int_equal(store_rig_wait(&r).result, 0);
	limit_files(4096);
	for (id = 2; id < 5; id++) {
		store_rig_command(&row, id, NULL, (uint32_t)id);
		store_submit(r.s, &row, id, JOURNAL);
		assert_true(store_rig_wait(&r).result < 0);
	}
	store_get_status(r.s, &status);
	assert_true(status.failing);
	assert_true(status.errors > 0);
	assert_true(status.last_error < 0);
	assert_true(status.last_error_text[0]);
	/* Others are kept, up to the bound; the oldest are given up, and counted. */
	for (int i = 0; i < 80; i++) {
		char key[16];

		snprintf(key, sizeof(key), "key%02d", i);
		store_put_station(r.s, key, "x");
	}
	usleep(400000);
	store_get_status(r.s, &status);
	assert_true(status.failing);
	assert_int_equal(status.kept, 50);
	assert_true(status.lag_ns > 100000000);
	limit_files(RLIM_INFINITY);
	store_rig_flush(&r);
	store_get_status(r.s, &status);
	assert_false(status.failing);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM station"), 50);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM station WHERE key = 'key79'"),
			 1);
	store_rig_command(&row, 9, NULL, 9);
	store_submit(r.s, &row, 9, JOURNAL);
	assert_int_equal(store_rig_wait(&r).result, 0);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM command"), 2);
	store_rig_close(&r);
	store_rig_destroy(&r);
}

/* Another program holds the file for writing: commands know soon, the rest waits. */
static void test_locked(void **state)
{
	struct store_rig r;
	sqlite3 *db = NULL;
	struct row row;

	store_rig_create(&r);
	store_rig_open(&r);
	assert_int_equal(sqlite3_open(r.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	store_put_station(r.s, "waits", "x");
	store_rig_command(&row, 1, NULL, 1);
	store_submit(r.s, &row, 1, JOURNAL);
	assert_int_equal(store_rig_wait(&r).result, -EBUSY);
	assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	store_rig_flush(&r);
	assert_int_equal(store_rig_number(&r, "SELECT count(*) FROM station"), 1);
	store_rig_destroy(&r);
}

/* A stop with a disk that refuses ends in time and says what was lost. */
static void test_stop_refused(void **state)
{
	struct store_rig r;

	signal(SIGXFSZ, SIG_IGN);
	store_rig_create(&r);
	store_rig_open(&r);
	limit_files(4096);
	store_put_station(r.s, "lost", "x");
	assert_int_equal(store_stop(r.s, 300), 1);
	limit_files(RLIM_INFINITY);
	store_rig_destroy(&r);
}

/* The child commits commands as fast as it can and says which were answered. */
static void child(struct store_rig *r, uint64_t id, int fd)
{
	struct row row;

	if (store_open(&r->config, &r->s, NULL) < 0 || store_start(r->s) < 0) {
		_exit(1);
	}
	for (;; id++) {
		struct store_done done;

		store_rig_command(&row, id, NULL, (uint32_t)id);
		if (store_submit(r->s, &row, id, JOURNAL) < 0) {
			usleep(1000);
			id--;
		}
		store_rig_transition(&row, id, "SENT", (int64_t)id, "sent", false);
		store_submit(r->s, &row, 0, 0);
		while (store_take_done(r->s, &done)) {
			if (done.result < 0 ||
			    write(fd, &done.cookie, sizeof(done.cookie)) != sizeof(done.cookie)) {
				_exit(2);
			}
		}
	}
}

static void test_kill(void **state)
{
	struct store_rig r;
	uint64_t answered = 0, id;

	store_rig_create(&r);
	for (int round = 0; round < 12; round++) {
		uint64_t first = (uint64_t)round * 1000000 + 1, next = first;
		char sql[96];
		int fds[2];
		pid_t pid;

		assert_int_equal(pipe(fds), 0);
		pid = fork();
		if (pid == 0) {
			close(fds[0]);
			child(&r, first, fds[1]);
		}
		close(fds[1]);
		if (round % 2) { /* not before it has answered, however busy the host is */
			struct pollfd answer = {.fd = fds[0], .events = POLLIN};

			assert_int_equal(poll(&answer, 1, 60000), 1);
		}
		usleep(20000 + 7000 * (unsigned)round);
		assert_int_equal(kill(pid, SIGKILL), 0);
		waitpid(pid, NULL, 0);
		while (read(fds[0], &id, sizeof(id)) == sizeof(id)) {
			assert_int_equal(id, next++); /* in order */
			answered++;
		}
		close(fds[0]);
		store_rig_open(&r); /* checks the file */
		assert_int_equal(
			store_rig_number(&r, "SELECT count(*) FROM command c WHERE"
					     " (state = 'SENT') <> EXISTS"
					     " (SELECT 1 FROM transition WHERE command = c.id)"),
			0);
		snprintf(sql, sizeof(sql),
			 "SELECT count(*) FROM command WHERE id BETWEEN %llu AND %llu",
			 (unsigned long long)first, (unsigned long long)next - 1);
		assert_int_equal(store_rig_number(&r, sql), next - first);
		store_rig_close(&r);
	}
	assert_true(answered > 0);
	print_message("%llu commands answered before kill -9, none lost\n",
		      (unsigned long long)answered);
	store_rig_destroy(&r);
}

/* Everything the engine needs after a crash comes from the file. */
static void test_read_engine(void **state)
{
	static const struct param_floor floors[] = {{2, 1, 3}};
	struct engine_config config;
	struct engine_command_view v;
	struct engine_now now = {1000, RIG_UTC};
	struct engine_request q = {.parameter = "floor3.om1.threshold", .value = 12, .who = "t"};
	struct params *p = NULL;
	struct engine *e;
	struct store_rig r;
	struct store_past *past;
	struct row row;
	uint64_t id;

	store_rig_create(&r);
	store_rig_open(&r);
	for (id = 1; id <= 3; id++) {
		store_rig_command(&row, id, id == 1 ? "one" : NULL, (uint32_t)id + 100);
		store_submit(r.s, &row, 0, 0);
	}
	store_rig_transition(&row, 1, "DONE", -1, "read-back 1450.0 V", true);
	store_submit(r.s, &row, 0, 0);
	store_rig_transition(&row, 2, "SENT", 12345, "sent", false);
	store_submit(r.s, &row, 0, 0);
	row_begin(&row, ROW_SEQUENCE);
	row_add(&row, ROW_VI(1));
	row_add(&row, ROW_VI(3));
	row_add(&row, ROW_VI(90));
	store_submit(r.s, &row, 0, 0);
	store_rig_close(&r);

	assert_int_equal(store_open(&r.config, &r.s, NULL), 0);
	assert_int_equal(params_load("schemas/parameters.conf", floors, 1, &p, NULL), 0);
	engine_config_default(&config);
	e = engine_create(p, &config);
	past = store_take_past(r.s);
	assert_int_equal(store_past_engine(past, e, now), 0);
	store_past_free(past);
	assert_true(engine_command(e, 1, &v));
	assert_true(v.ended && v.state == COMMAND_DONE);
	assert_true(engine_command(e, 2, &v));
	assert_true(!v.ended && v.state == COMMAND_UNKNOWN && v.sequence == 102);
	assert_true(engine_command(e, 3, &v));
	assert_false(v.ended);
	engine_link(e, 2, true, 1, 3, now);
	assert_int_equal(engine_submit(e, &q, now, &id, NULL), 0);
	assert_int_equal(id, 4);
	assert_true(engine_command(e, 4, &v));
	assert_true(v.sequence > 103); /* beyond all that was reserved or used */
	engine_destroy(e);
	params_destroy(p);
	store_rig_destroy(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_group_commit),
		cmocka_unit_test(test_commit_gathers),
		cmocka_unit_test(test_settled),
		cmocka_unit_test(test_constraint),
		cmocka_unit_test(test_refused_repeats),
		cmocka_unit_test(test_number_again),
		cmocka_unit_test(test_sequence_ahead),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_locked),
		cmocka_unit_test(test_stop_refused),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_read_engine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
