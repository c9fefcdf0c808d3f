/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The schema of a database: whether it is this program's, and how an older one is brought up to date. The migrations
 * are compiled in from schemas/sql/, so that the program carries what it needs.
 */
#include "daemon/store/private.h"

#include <errno.h>
#include <stdio.h>

#include "slowctl/query/sql_file.h"

/* The text of schemas/sql/NAME.sql as a zero-terminated array. */
#define MIGRATION(symbol, file)                                                                    \
	__asm__(".section .rodata\n.global " #symbol "\n" #symbol ":\n"                            \
		".incbin \"" file "\"\n.byte 0\n.previous\n");                                     \
	extern const char(symbol)[]

MIGRATION(sql_0001_initial, "schemas/sql/0001_initial.sql");
MIGRATION(sql_0002_incidents, "schemas/sql/0002_incidents.sql");

static const char *const migrations[] = {sql_0001_initial, sql_0002_incidents};
_Static_assert(sizeof(migrations) / sizeof(migrations[0]) == STORE_SCHEMA, "a migration a version");

const struct store_schema store_schema = {ROWS_APPLICATION, migrations, STORE_SCHEMA};

int store_schema_version(sqlite3 *db, const struct store_schema *schema, int *ret_version)
{
	struct sql_schema is;
	int rc = sql_schema_read(db, &is);

	if (rc != SQLITE_OK) {
		return store_errno(db, rc);
	}
	*ret_version = is.version;
	if (is.empty) { /* a new file */
		return is.application_id == 0 && is.version == 0 ? 0 : -EPROTONOSUPPORT;
	}
	return is.application_id == schema->application_id && is.version > 0 &&
			       is.version <= (int)schema->count
		       ? 0
		       : -EPROTONOSUPPORT;
}

static int migrate_step(sqlite3 *db, const struct store_schema *schema, int version)
{
	char set[64];
	int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	if (rc == SQLITE_OK) {
		rc = sqlite3_exec(db, schema->migrations[version], NULL, NULL, NULL);
	}
	if (rc == SQLITE_OK) {
		snprintf(set, sizeof(set), "PRAGMA user_version=%d; COMMIT", version + 1);
		rc = sqlite3_exec(db, set, NULL, NULL, NULL);
	}
	return store_errno(db, rc);
}

#define AT_WORK_STEPS 1000000 /* of SQLite's machine: about 20 ms */

static int tell_at_work(void *context)
{
	void (*const *at_work)(void) = context;

	(*at_work)();
	return 0;
}

int store_schema_migrate(sqlite3 *db, const struct store_schema *schema, void (*at_work)(void))
{
	int version = 0, r = store_schema_version(db, schema, &version);

	if (at_work) {
		sqlite3_progress_handler(db, AT_WORK_STEPS, tell_at_work, (void *)&at_work);
	}
	for (; r == 0 && version < (int)schema->count; version++) {
		r = migrate_step(db, schema, version);
	}
	sqlite3_progress_handler(db, 0, NULL, NULL);
	return r;
}
