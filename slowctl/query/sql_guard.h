/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A database file is not trusted: another program may have written it, and its schema (views, triggers, checks) is
 * code that SQLite runs.
 */
#ifndef SLOWCTL_QUERY_SQL_GUARD_H
#define SLOWCTL_QUERY_SQL_GUARD_H

#include <sqlite3.h>

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

#endif
