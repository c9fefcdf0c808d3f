/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A database brought to this program's schema. The migrations are compiled in from schemas/sql/, so that the program
 * carries what it needs.
 */
#include "daemon/store/private.h"

#include <errno.h>
#include <stdio.h>

/* The text of schemas/sql/NAME.sql as a zero-terminated array. */
#define MIGRATION(symbol, file)                                                                    \
	__asm__(".section .rodata\n.global " #symbol "\n" #symbol ":\n"                            \
		".incbin \"" file "\"\n.byte 0\n.previous\n");                                     \
	extern const char(symbol)[]

MIGRATION(sql_0001_initial, "schemas/sql/0001_initial.sql");
MIGRATION(sql_0002_row_label, "schemas/sql/0002_row_label.sql");
MIGRATION(sql_0003_loss_until, "schemas/sql/0003_loss_until.sql");
MIGRATION(sql_0004_no_time, "schemas/sql/0004_no_time.sql");
MIGRATION(sql_0005_ledger_sums, "schemas/sql/0005_ledger_sums.sql");
MIGRATION(sql_0006_left_open, "schemas/sql/0006_left_open.sql");
MIGRATION(sql_0007_sample_sums, "schemas/sql/0007_sample_sums.sql");
MIGRATION(sql_0008_alarm, "schemas/sql/0008_alarm.sql");
MIGRATION(sql_0009_snapshot, "schemas/sql/0009_snapshot.sql");
MIGRATION(sql_0010_undone, "schemas/sql/0010_undone.sql");
MIGRATION(sql_0011_fewer_pages, "schemas/sql/0011_fewer_pages.sql");
MIGRATION(sql_0012_intent, "schemas/sql/0012_intent.sql");

/* migrations[n] brings user_version n to n + 1. */
static const char *const migrations[] = {
	sql_0001_initial,     sql_0002_row_label, sql_0003_loss_until,	sql_0004_no_time,
	sql_0005_ledger_sums, sql_0006_left_open, sql_0007_sample_sums, sql_0008_alarm,
	sql_0009_snapshot,    sql_0010_undone,	  sql_0011_fewer_pages, sql_0012_intent};
_Static_assert(sizeof(migrations) / sizeof(migrations[0]) == STORE_SCHEMA, "a migration a version");

static int migrate_step(sqlite3 *db, int version)
{
	char set[64];
	int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	if (rc == SQLITE_OK) {
		rc = sqlite3_exec(db, migrations[version], NULL, NULL, NULL);
	}
	if (rc == SQLITE_OK) {
		snprintf(set, sizeof(set), "PRAGMA user_version=%d", version + 1);
		rc = sqlite3_exec(db, set, NULL, NULL, NULL);
	}
	if (rc == SQLITE_OK) {
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	}
	return store_errno(db, rc);
}

int store_file_migrate(sqlite3 *db)
{
	sqlite3_stmt *q = NULL;
	int version = -1, rc = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &q, NULL);

	if (rc == SQLITE_OK) {
		rc = sqlite3_step(q);
		version = rc == SQLITE_ROW ? sqlite3_column_int(q, 0) : -1;
	}
	sqlite3_finalize(q);
	if (version < 0 || version > STORE_SCHEMA) {
		return version < 0 ? store_errno(db, rc) : -EPROTONOSUPPORT;
	}
	for (; version < STORE_SCHEMA; version++) {
		int r = migrate_step(db, version);

		if (r < 0) {
			return r;
		}
	}
	return 0;
}
