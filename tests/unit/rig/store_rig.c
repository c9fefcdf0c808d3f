/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A store on a real file in a directory of its own, for tests of store and queries. See store_rig.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/rig/store_rig.h"

#include <dirent.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void store_rig_create(struct store_rig *r)
{
	*r = (struct store_rig){0};
	strcpy(r->dir, "/tmp/store-test-XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	snprintf(r->path, sizeof(r->path), "%s/station.db", r->dir);
	r->config.path = r->path;
	r->config.commit_ms = 100;
	r->config.retry_ms = 100;
}

void store_rig_open(struct store_rig *r)
{
	struct sc_error error = {0};
	int result = store_open(&r->config, &r->s, &error);

	if (result < 0) {
		fail_msg("%d: %s", result, error.message);
	}
	assert_int_equal(store_start(r->s), 0);
}

void store_rig_close(struct store_rig *r)
{
	if (r->s) {
		assert_int_equal(store_stop(r->s, 2000), 0);
	}
	store_destroy(r->s);
	r->s = NULL;
}

void store_rig_destroy(struct store_rig *r)
{
	static const char *const ends[] = {"", "-wal", "-shm", ".lock"};
	char path[128];

	store_destroy(r->s);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", r->path, ends[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(r->dir), 0);
}

struct store_done store_rig_wait(struct store_rig *r)
{
	struct store_done done = {0};
	struct pollfd fd = {.fd = store_done_fd(r->s), .events = POLLIN};

	while (!store_take_done(r->s, &done)) {
		assert_int_equal(poll(&fd, 1, 5000), 1);
	}
	return done;
}

void store_rig_flush(struct store_rig *r)
{
	struct store_status status;

	for (int i = 0; i < 500; i++) {
		store_past_free(
			store_take_past(r->s)); /* as main would, when it was opened again */
		store_get_status(r->s, &status);
		if (status.queued == 0) {
			return;
		}
		usleep(10000);
	}
	fail_msg("%llu rows are still queued: %s", (unsigned long long)status.queued,
		 status.last_error_text);
}

int64_t store_rig_number(const struct store_rig *r, const char *sql)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *q = NULL;
	int64_t number = INT64_MIN;

	assert_int_equal(sqlite3_open_v2(r->path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK) {
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	}
	if (sqlite3_step(q) == SQLITE_ROW && sqlite3_column_type(q, 0) != SQLITE_NULL) {
		number = sqlite3_column_int64(q, 0);
	}
	sqlite3_finalize(q);
	sqlite3_close(db);
	return number;
}

char *store_rig_text(const char *path)
{
	char *text = calloc(1, 65536);
	FILE *f = fopen(path, "r");

	assert_non_null(text);
	assert_non_null(f);
	assert_true(fread(text, 1, 65535, f) > 0);
	fclose(f);
	return text;
}

char *store_rig_migration(const char *directory, unsigned number)
{
	struct dirent *entry;
	char prefix[8], path[300] = "";
	DIR *dir = opendir(directory);

	assert_non_null(dir);
	snprintf(prefix, sizeof(prefix), "%04u_", number);
	while (!path[0] && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, prefix, 5) == 0) {
			snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		}
	}
	closedir(dir);
	return store_rig_text(path);
}

void store_rig_sql(sqlite3 *db, const char *sql)
{
	char *error = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK) {
		fail_msg("%.200s: %s", sql, error);
	}
}

void store_rig_run(const char *path, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

void store_rig_command(struct row *row, uint64_t id, const char *client_id, uint32_t sequence)
{
	row_begin(row, ROW_COMMAND);
	row_add(row, ROW_VI((int64_t)id));
	row_add(row, ROW_VT(client_id));
	row_add(row, ROW_VI(RIG_UTC + (int64_t)id));
	row_add(row, ROW_VT("operator"));
	row_add(row, ROW_VI(1000));
	row_add(row, ROW_VI(4711));
	row_add(row, ROW_VT("local"));
	row_add(row, ROW_VT("because"));
	row_add(row, ROW_VI(2));
	row_add(row, ROW_VI(1));
	row_add(row, ROW_VI(3));
	row_add(row, ROW_VT("tower1.floor3.om2.hv"));
	row_add(row, ROW_VT("set"));
	row_add(row, ROW_VR(1400));
	row_add(row, ROW_VR(1450));
	row_add(row, ROW_VT("V"));
	row_add(row, ROW_VI(sequence));
	row_add(row, ROW_VI(7));
	row_add(row, ROW_VT("QUEUED"));
	row_add(row, ROW_VNULL);
	row_add(row, ROW_VNULL);
}

void store_rig_transition(struct row *row, uint64_t id, const char *state, int64_t frame,
			  const char *detail, bool ended)
{
	row_begin(row, ROW_TRANSITION);
	row_add(row, ROW_VI((int64_t)id));
	row_add(row, ROW_VI(RIG_UTC + 1000 + (int64_t)id));
	row_add(row, ROW_VT(state));
	if (frame >= 0) {
		row_add(row, ROW_VI(frame));
	} else {
		row_add(row, ROW_VNULL);
	}
	row_add(row, ROW_VT(detail));
	row_add(row, ROW_VI((int64_t)id + 100));
	row_add(row, ROW_VI(7));
	row_add(row, ROW_VI(1));
	if (ended) {
		row_add(row, ROW_VI(RIG_UTC + 1000 + (int64_t)id));
	} else {
		row_add(row, ROW_VNULL);
	}
}
