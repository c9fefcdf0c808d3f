/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The archive: old commands with their transitions, and old events, are moved to one file per year beside the
 * database (station-2026.db). It has the same tables, so fcmctl --socket none --database FILE reads it. A row is deleted
 * here only when the archive's transaction with it is on the disk; after a kill in between it is in both files, and is
 * written to the archive again.
 *
 * A new database begins with number 1 again. If the archive has a row of another database with the same number, an
 * alarm says so, and nothing is moved until that file is elsewhere. Where a client's id was used again, the older row
 * loses it.
 *
 * The newest rows stay, whatever their age: the next command's number comes from them, and so do the events that a daemon
 * left open. Commands that are a reason in status stay, too. The sequences used by the others are saved before.
 */
#include "daemon/store/private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "schemas/sql.h"
#include "slowctl/query/sql_file.h"

#define SECOND_NS 1000000000ll
#define DAY_NS	  (86400 * SECOND_NS)
#define BATCH	  500 /* rows a step: urgent ones wait for it */
#define COMMANDS  "1000"
#define EVENTS	  "5000" /* OPEN_EVENTS of read.c looks at so many */
#define LOOKED_AT "5000" /* rows of a clock that was ahead may come before older ones */
#define STEPS	  5u
#define OLD_COMMAND                                                                                \
	"id >= ?1 AND id < ?1 + 500 AND ended IS NOT NULL AND time >= ?2 AND time < ?3"            \
	" AND id <= (SELECT max(id) FROM main.command WHERE id < " JOURNAL_OWN_IDS ") - " COMMANDS \
	" AND NOT " STORE_UNDONE
#define OLD_EVENT                                                                                  \
	"id >= ?1 AND id < ?1 + 500 AND time >= ?2 AND time < ?3"                                  \
	" AND id <= (SELECT max(id) FROM main.event) - " EVENTS
#define OLD_ONES "(SELECT id FROM main.command WHERE " OLD_COMMAND ")"

_Static_assert(BATCH == 500, "OLD_COMMAND and OLD_EVENT say it");

/* ?1: the first row's id; ?2, ?3: times of one year, not younger than what is old. */
struct kind {
	const char *find; /* ?1: before. Id and time of the oldest that may go */
	const char *copy[STEPS], *drop[STEPS];
};

static const struct kind kinds[] = {
	{"SELECT id, time FROM (SELECT id, time FROM main.command WHERE ended IS NOT NULL AND id <="
	 " (SELECT max(id) FROM main.command WHERE id < " JOURNAL_OWN_IDS ") - " COMMANDS
	 " AND NOT " STORE_UNDONE " ORDER BY id LIMIT " LOOKED_AT
	 ") WHERE time < ?1 ORDER BY id LIMIT 1",
	 {"DELETE FROM archive.command AS a WHERE id IN " OLD_ONES
	  " AND EXISTS (SELECT 1 FROM main.command m WHERE m.id = a.id AND m.time = a.time"
	  " AND m.parameter = a.parameter)",
	  "UPDATE archive.command SET client_id = NULL WHERE client_id IN"
	  " (SELECT client_id FROM main.command WHERE " OLD_COMMAND ")",
	  "INSERT INTO archive.command SELECT * FROM main.command WHERE " OLD_COMMAND,
	  "DELETE FROM archive.transition WHERE command IN " OLD_ONES,
	  "INSERT INTO archive.transition SELECT * FROM main.transition WHERE command "
	  "IN " OLD_ONES},
	 {"INSERT INTO main.sequence(tower, floor, reserved_until)"
	  " SELECT tower, floor, max(sequence) FROM main.command WHERE " OLD_COMMAND
	  " AND sequence IS NOT NULL GROUP BY tower, floor ON CONFLICT DO UPDATE"
	  " SET reserved_until = max(reserved_until, excluded.reserved_until)",
	  "DELETE FROM main.transition WHERE command IN (SELECT id FROM archive.command"
	  " WHERE id IN " OLD_ONES ")",
	  "DELETE FROM main.command WHERE " OLD_COMMAND
	  " AND id IN (SELECT id FROM archive.command)"}},
	{"SELECT id, time FROM (SELECT id, time FROM event WHERE id <="
	 " (SELECT max(id) FROM event) - " EVENTS " ORDER BY id LIMIT " LOOKED_AT
	 ") WHERE time < ?1 ORDER BY id LIMIT 1",
	 {"DELETE FROM archive.event AS a WHERE " OLD_EVENT
	  " AND EXISTS (SELECT 1 FROM main.event m WHERE m.id = a.id AND m.time = a.time"
	  " AND m.code = a.code)",
	  "INSERT INTO archive.event SELECT * FROM main.event WHERE " OLD_EVENT},
	 {"DELETE FROM main.event WHERE " OLD_EVENT " AND id IN (SELECT id FROM archive.event)"}},
};

/* The beginning of its year, and of the next one. */
static int year_of(int64_t time_ns, int64_t *ret_from_ns, int64_t *ret_to_ns)
{
	time_t seconds = (time_t)(time_ns / SECOND_NS);
	struct tm utc;
	struct tm first = {.tm_mday = 1};

	gmtime_r(&seconds, &utc);
	first.tm_year = utc.tm_year;
	*ret_from_ns = timegm(&first) * SECOND_NS;
	first = (struct tm){.tm_mday = 1, .tm_year = utc.tm_year + 1};
	*ret_to_ns = timegm(&first) * SECOND_NS;
	return utc.tm_year + 1900;
}

/* station.db: station-2026.db */
static int archive_path(const struct store *s, int year, char *path, size_t size)
{
	size_t length = strlen(s->config.path);

	if (length > 3 && strcmp(s->config.path + length - 3, ".db") == 0) {
		length -= 3;
	}
	return snprintf(path, size, "%.*s-%d.db", (int)length, s->config.path, year) < (int)size
		       ? 0
		       : -ENAMETOOLONG;
}

/* For the operator: which file (year 0: none yet), and what is wrong with it. */
__attribute__((format(printf, 4, 5))) static int fail(struct store *s, int year, int r,
						      const char *format, ...)
{
	char what[280], of[16] = "";
	va_list args;

	if (year) {
		snprintf(of, sizeof(of), " of %d", year);
	}
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(s->keep.why, sizeof(s->keep.why), "archive of the journal%s: %s", of, what);
	return r;
}

/* Make the year's file, or bring it to our schema, and attach it. */
static int attach(struct store *s, int year)
{
	char path[4096], *sql;
	sqlite3 *db = NULL;
	int rc, r = archive_path(s, year, path, sizeof(path));

	if (r < 0) {
		return fail(s, year, r, "%s", strerror(-r));
	}
	rc = sqlite3_open(path, &db);
	rc = rc == SQLITE_OK ? sql_guard(db) : rc;
	r = store_errno(db, rc);
	if (r == 0) {
		sqlite3_busy_timeout(db, STORE_BUSY_MS);
		r = store_schema_migrate(db, &store_schema, NULL);
	}
	if (r == -EPROTONOSUPPORT) {
		fail(s, year, r,
		     "the file is of another version or program, move it away: mv %s %s.old", path,
		     path);
	} else if (r < 0) {
		fail(s, year, r, "%s", sqlite3_errmsg(db));
	}
	sqlite3_close(db);
	if (r < 0) {
		return r;
	}
	sql = sqlite3_mprintf("ATTACH %Q AS archive", path);
	r = store_errno(s->db, sql ? sqlite3_exec(s->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM);
	sqlite3_free(sql);
	return r == 0 ? r : fail(s, year, r, "%s", sqlite3_errmsg(s->db));
}

/* The statements in one transaction, with values[]: first id, from and to before which time. */
static int run_all(struct store *s, int year, const char *const steps[STEPS],
		   const int64_t values[3])
{
	int r = store_run_all(s->db, steps, STEPS, values, 3);

	if (r < 0) {
		fail(s, year, r, "%s",
		     r == -EEXIST
			     ? "it has another database's rows: move it away, under another name"
			     : sqlite3_errmsg(s->db));
		store_roll_back(s->db);
	}
	return r;
}

static int move(struct store *s, const struct kind *k, int64_t first, int64_t time_ns,
		int64_t before_ns, uint64_t *ret_rows)
{
	int64_t values[3] = {first};
	int year = year_of(time_ns, &values[1], &values[2]);
	int r = attach(s, year);

	values[2] = values[2] < before_ns ? values[2] : before_ns;
	if (r < 0) {
		return r;
	}
	r = run_all(s, year, k->copy, values);
	if (r == 0) {
		r = run_all(s, year, k->drop, values);
		*ret_rows = (uint64_t)sqlite3_changes(s->db);
	}
	store_run(s->db, "DETACH archive", NULL, 0);
	return r == 0 ? 1 : r;
}

int store_archive_step(struct store *s, int64_t utc_ns, uint64_t *ret_rows)
{
	int64_t before_ns = utc_ns - s->config.ages.journal_days * DAY_NS;

	for (size_t n = 0; n < sizeof(kinds) / sizeof(kinds[0]) && s->config.ages.journal_days;
	     n++) {
		int64_t row[2] = {0}; /* id and time */
		int r = store_find(s->db, kinds[n].find, before_ns, row, 2);

		if (r < 0) {
			return fail(s, 0, r, "%s", sqlite3_errmsg(s->db));
		}
		if (r > 0) {
			return move(s, &kinds[n], row[0], row[1], before_ns, ret_rows);
		}
	}
	return 0;
}
