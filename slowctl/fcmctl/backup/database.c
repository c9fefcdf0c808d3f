/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The copy of a database by SQLite's backup interface.
 *
 * The whole copy is one read transaction. In WAL mode that holds up no writer: the daemon's commits go on. Without it
 * each commit of the daemon, two a second, would make SQLite begin the copy again. What a read transaction costs is that
 * the log grows while it lasts, by what the daemon writes (some 50 kB a second); the daemon's next checkpoint ends that.
 * So the copy takes no longer than it must: it pauses after each step for as long as the step took, to leave the disk to
 * the daemon, but not any more once PATIENCE_S have passed.
 *
 * Without a -wal nobody has the file open. It is then read as it is, and no file is made beside it: a -shm of root's
 * would be in the daemon's way. If a daemon has started meanwhile, the copy begins again.
 */
#include "slowctl/fcmctl/backup/database.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "schemas/rows.h"
#include "schemas/sql.h"
#include "slowctl/fcmctl/backup/files.h"
#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/query/sql_file.h"

#define STEP_PAGES   256 /* 1 MiB */
#define PATIENCE_S   60.0
#define PAUSE_MOST_S 0.05
#define BUSY_MS	     5000

static int sql_errno(int rc, sqlite3 *db)
{
	int e = db != NULL ? sqlite3_system_errno(db) : 0;

	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EUCLEAN;
	default:
		return e > 0 ? -e : -EIO;
	}
}

static int fail(struct sc_error *error, int rc, sqlite3 *db, const char *doing, const char *path)
{
	int r = sql_errno(rc, db);

	if (r == -EUCLEAN) {
		return sc_fail(error, r, "damaged",
			       "Repair it (sqlite3 FILE .recover), or use another backup.",
			       "%s is damaged: %s", path, sqlite3_errmsg(db));
	}
	return files_fail(error, r < 0 ? r : -EIO, doing, path);
}

/* 1: *ret_value; 0: no row, or NULL; or negative errno. */
static int one_number(sqlite3 *db, const char *sql, int64_t *ret_value)
{
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &q, NULL), found = 0;

	rc = rc == SQLITE_OK ? sqlite3_step(q) : rc;
	if (rc == SQLITE_ROW && sqlite3_column_type(q, 0) != SQLITE_NULL) {
		*ret_value = sqlite3_column_int64(q, 0);
		found = 1;
	}
	sqlite3_finalize(q);
	return sql_errno(rc, db) < 0 ? sql_errno(rc, db) : found;
}

static bool has_log(const char *path)
{
	char log[PATH_MAX];

	return access(files_name(log, "%s-wal", path), F_OK) == 0;
}

/* A daemon has it open: by the lock of its store, beside the name that the daemon was given. */
static bool is_locked(const char *path)
{
	char name[PATH_MAX];
	int fd = open(files_name(name, "%s.lock", path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;

	if (fd >= 0) {
		close(fd);
	}
	return locked;
}

/* Nothing of the file's schema runs by itself. */
static int guard(sqlite3 *db)
{
	int rc = sql_guard(db);

	return rc == SQLITE_OK ? sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL)
			       : rc;
}

/* With the characters that a URI gives a meaning as %XX. */
static int read_uri(const char *path, bool live, char *uri, size_t size)
{
	size_t n = (size_t)snprintf(uri, size, "file:");

	for (; *path != '\0' && n + 40 < size; path++) {
		n += (size_t)snprintf(uri + n, size - n,
				      strchr("%?#", *path) != NULL ? "%%%02x" : "%c",
				      (unsigned)(unsigned char)*path);
	}
	snprintf(uri + n, size - n, live ? "?mode=ro" : "?mode=ro&immutable=1");
	return *path == '\0' ? 0 : -ENAMETOOLONG;
}

static int open_to_read(const char *path, bool live, sqlite3 **ret_db, struct sc_error *error)
{
	char uri[3 * PATH_MAX];
	struct sql_schema is = {0};
	int r = read_uri(path, live, uri, sizeof(uri));
	int rc;

	if (r < 0 || access(path, R_OK) < 0) {
		return files_fail(error, r < 0 ? r : -errno, "read", path);
	}
	rc = sqlite3_open_v2(uri, ret_db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
	rc = rc == SQLITE_OK ? guard(*ret_db) : rc;
	if (rc == SQLITE_OK) {
		sqlite3_busy_timeout(*ret_db, BUSY_MS);
		sqlite3_db_config(*ret_db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
		rc = sql_schema_read(*ret_db, &is);
	}
	if (rc != SQLITE_OK) {
		return fail(error, rc, *ret_db, "read", path);
	}
	if (is.application_id != ROWS_APPLICATION || is.version < 1 || is.version > ROWS_SCHEMA) {
		return sc_fail(error, -EPROTONOSUPPORT, "schema", "Use that version's own fcmctl.",
			       "%s is of another version of FCM-Server, or of another program",
			       path);
	}
	return 0;
}

/* ------------------------------------------------------------------ the copy */

static void pause_s(double seconds)
{
	struct timespec span = {.tv_nsec = (long)(seconds * 1e9)};

	nanosleep(&span, NULL);
}

/* One of SQLITE_*: SQLITE_DONE when all pages are there. */
static int copy_pages(sqlite3 *from, sqlite3 *to, bool live)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
	double began = ctl_monotonic();
	int rc = b != NULL ? SQLITE_OK : sqlite3_errcode(to);

	while (b != NULL && (rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED)) {
		double before = ctl_monotonic(), took;

		rc = sqlite3_backup_step(b, STEP_PAGES);
		took = ctl_monotonic() - before;
		if (rc != SQLITE_DONE && live && before - began < PATIENCE_S) {
			pause_s(took < PAUSE_MOST_S ? took : PAUSE_MOST_S);
		}
	}
	sqlite3_backup_finish(b);
	return rc;
}

static int count_rows(sqlite3 *db, json_t *rows, const char *path, struct sc_error *error)
{
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(db,
				    "SELECT name FROM sqlite_schema WHERE type = 'table'"
				    " AND name NOT LIKE 'sqlite_%' ORDER BY name",
				    -1, &q, NULL);
	int r = 0;

	while (rc == SQLITE_OK && r == 0 && sqlite3_step(q) == SQLITE_ROW) {
		const char *table = (const char *)sqlite3_column_text(q, 0);
		char *sql = sqlite3_mprintf("SELECT count(*) FROM %Q", table);
		int64_t count = 0;

		r = sql != NULL ? one_number(db, sql, &count) : -ENOMEM;
		sqlite3_free(sql);
		r = r < 0 ? r : 0;
		json_object_set_new(rows, table, json_integer(count));
	}
	sqlite3_finalize(q);
	return r < 0 || rc != SQLITE_OK ? fail(error, r < 0 ? SQLITE_CORRUPT : rc, db, "read", path)
					: 0;
}

/* As of one moment: pages and counts. */
static int copy_out(const char *from, const char *to, bool live, json_t *rows,
		    struct sc_error *error)
{
	sqlite3 *source = NULL, *copy = NULL;
	int r = open_to_read(from, live, &source, error), rc = SQLITE_OK;

	if (r == 0) {
		rc = sqlite3_open_v2(to, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
		/* A copy that was interrupted is thrown away. */
		rc = rc == SQLITE_OK
			     ? sqlite3_exec(copy, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF",
					    NULL, NULL, NULL)
			     : rc;
		if (rc == SQLITE_OK) {
			rc = sqlite3_exec(source, "BEGIN; SELECT 1 FROM sqlite_schema", NULL, NULL,
					  NULL);
			rc = rc == SQLITE_OK ? copy_pages(source, copy, live) : rc;
		}
		r = rc == SQLITE_OK || rc == SQLITE_DONE
			    ? count_rows(source, rows, from, error)
			    : fail(error, rc, sqlite3_errcode(copy) != SQLITE_OK ? copy : source,
				   "copied to", to);
	}
	sqlite3_close(copy);
	sqlite3_close(source);
	return r;
}

/* ------------------------------------------------------------------ its check */

static int check_pages(sqlite3 *db, const char *path, struct sc_error *error)
{
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &q, NULL), r = 0;
	const char *answer = "";

	rc = rc == SQLITE_OK ? sqlite3_step(q) : rc;
	if (rc == SQLITE_ROW) {
		answer = (const char *)sqlite3_column_text(q, 0);
	}
	if (rc != SQLITE_ROW) {
		r = fail(error, rc, db, "checked", path);
	} else if (answer == NULL || strcmp(answer, "ok") != 0) {
		r = sc_fail(
			error, -EUCLEAN, "damaged",
			"The station's database is damaged, or the disk of the backup: look at the "
			"system log.",
			"the copy %s is damaged: %s", path, answer != NULL ? answer : "?");
	}
	sqlite3_finalize(q);
	return r;
}

/* The time of the data: what happened later is not in it, also where the copy is made later. */
#define MARK                                                                                       \
	"INSERT OR REPLACE INTO station(key, value) SELECT 'copied', min(%lld,"                    \
	" coalesce((SELECT min(CAST(value AS INTEGER)) FROM station"                               \
	" WHERE key IN ('copied', 'last_alive') AND CAST(value AS INTEGER) > 0), %lld))"

static int mark(sqlite3 *db, int64_t made_ns, const char *path, struct sc_error *error)
{
	char *sql = made_ns != 0 ? sqlite3_mprintf(MARK, (long long)made_ns, (long long)made_ns)
				 : sqlite3_mprintf("");
	int rc = sql != NULL ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	/* One file, without a log. */
	rc = rc == SQLITE_OK ? sqlite3_exec(db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL)
			     : rc;
	return rc == SQLITE_OK ? 0 : fail(error, rc, db, "written", path);
}

static int check(const char *path, int64_t made_ns, const json_t *rows, struct sc_error *error)
{
	json_t *counted = json_object();
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), r;

	rc = rc == SQLITE_OK ? guard(db) : rc;
	r = rc == SQLITE_OK ? check_pages(db, path, error) : fail(error, rc, db, "opened", path);
	r = r == 0 ? count_rows(db, counted, path, error) : r;
	if (r == 0 && !json_equal(counted, rows)) {
		r = sc_fail(error, -EUCLEAN, "damaged", "Make the backup again.",
			    "the copy %s has other numbers of rows than the database", path);
	}
	r = r == 0 ? mark(db, made_ns, path, error) : r;
	sqlite3_close(db);
	json_decref(counted);
	return r == 0 ? files_sync(path, error) : r;
}

int database_copy(const char *from, const char *to, int64_t made_ns, json_t **ret_rows,
		  struct sc_error *error)
{
	json_t *rows = json_object();
	char real[PATH_MAX]; /* the log is beside the file, the lock beside the link */
	bool live;
	int r;

	if (realpath(from, real) == NULL) {
		json_decref(rows);
		return files_fail(error, -errno, "read", from);
	}
	live = has_log(real) || is_locked(from);
	r = copy_out(real, to, live, rows, error);
	/* A daemon has started: that was perhaps half of it. */
	if (!live && (has_log(real) || is_locked(from))) {
		unlink(to);
		json_object_clear(rows);
		r = copy_out(real, to, true, rows, error);
	}
	r = r == 0 ? check(to, made_ns, rows, error) : r;
	if (r < 0) {
		json_decref(rows);
		return r;
	}
	*ret_rows = rows;
	return 0;
}

/* ------------------------------------------------------------------ facts */

int database_facts(const char *path, struct database_facts *ret_facts, struct sc_error *error)
{
	static const char *const sql[] = {
		"SELECT min(begun) FROM dma",
		"SELECT max(coalesce((SELECT CAST(value AS INTEGER) FROM station"
		" WHERE key = 'last_alive'), 0),"
		" coalesce((SELECT max(time) FROM event), 0))",
		"SELECT max(coalesce((SELECT max(id) FROM command WHERE id < " JOURNAL_OWN_IDS
		"), 0), " NUMBERS_AFTER("command") ")",
		"SELECT max(coalesce((SELECT max(number) FROM run), 0), " NUMBERS_AFTER("run") ")",
		"SELECT max(coalesce((SELECT max(number) FROM incident), 0), " NUMBERS_AFTER(
			"incident") ")",
	};
	struct database_facts facts = {0};
	int64_t *const values[] = {&facts.born_ns, &facts.alive_ns, &facts.command, &facts.run,
				   &facts.incident};
	sqlite3 *db = NULL;
	char real[PATH_MAX];
	int r = realpath(path, real) == NULL ? files_fail(error, -errno, "read", path)
					     : open_to_read(real, has_log(real), &db, error);

	for (size_t n = 0; n < sizeof(sql) / sizeof(sql[0]) && r >= 0; n++) {
		r = one_number(db, sql[n], values[n]);
		if (r < 0) {
			fail(error, SQLITE_CORRUPT, db, "read", path);
		}
	}
	sqlite3_close(db);
	*ret_facts = facts;
	return r < 0 ? r : 0;
}

int database_settle(const char *path)
{
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);

	int r;

	rc = rc == SQLITE_OK ? guard(db) : rc;
	rc = rc == SQLITE_OK ? sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL)
			     : rc;
	r = sql_errno(rc, db);
	sqlite3_close(db); /* the last one removes it */
	return r;
}
