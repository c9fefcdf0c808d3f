/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the schema's version from a database file. `application_id` marks FCM-Server's files
 * (ROWS_APPLICATION), `user_version` counts the migrations in schemas/sql/.
 */
#ifndef SLOWCTL_QUERY_SQL_SCHEMA_H
#define SLOWCTL_QUERY_SQL_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

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

#endif
