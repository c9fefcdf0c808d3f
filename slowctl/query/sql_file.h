/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first looks at a database file. It is not trusted: another program may have written it, and its schema (views,
 * triggers, checks) is code that SQLite runs. `application_id` marks FCM-Server's files (ROWS_APPLICATION),
 * `user_version` counts the migrations in schemas/sql/.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Before the first statement on `db`: its schema may call only SQLite's functions without side effects, and no SQL
 * can change the schema's own text or SQLite's internal tables. One of SQLITE_*.
 */
static inline int sql_guard(sqlite3 *db)
{
	int rc = sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);

	return rc == SQLITE_OK ? sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0)
			       : rc;
}

struct sql_schema {
	uint32_t application_id;
	int version;
	bool empty; /* no table yet */
};

/* SQLite's result. */
static inline int sql_schema_read(sqlite3 *db, struct sql_schema *ret_schema)
{
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(db,
				    "SELECT application_id, user_version,"
				    " NOT EXISTS (SELECT 1 FROM sqlite_schema)"
				    " FROM pragma_application_id, pragma_user_version",
				    -1, &q, 0);

	*ret_schema = (struct sql_schema){.version = 0};
	if (rc == SQLITE_OK) {
		rc = sqlite3_step(q);
	}
	if (rc == SQLITE_ROW) {
		ret_schema->application_id = (uint32_t)sqlite3_column_int64(q, 0);
		ret_schema->version = sqlite3_column_int(q, 1);
		ret_schema->empty = sqlite3_column_int(q, 2) != 0;
		rc = SQLITE_OK;
	}
	sqlite3_finalize(q);
	return rc;
}
