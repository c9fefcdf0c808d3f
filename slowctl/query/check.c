/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is the file whole? SQLite's own look at it, which changes nothing. */
#include "slowctl/query/private.h"

#include <errno.h>

int query_check(struct query *q, bool whole, json_t **ret_faults)
{
	const char *sql = whole ? "PRAGMA integrity_check(5)" : "PRAGMA quick_check(5)";
	json_t *faults = json_array();
	sqlite3_stmt *statement = NULL;
	int r = query_prepare(q, &statement, sql, "");

	while (r == 0 && (r = query_step(q, statement)) > 0) {
		const char *text = (const char *)sqlite3_column_text(statement, 0);

		/* A damaged file may have any bytes in its names. */
		if (text && sqlite3_stricmp(text, "ok") != 0 &&
		    json_array_append_new(faults, json_string(text)) < 0) {
			json_array_append_new(faults, json_string("damaged"));
		}
		r = 0;
	}
	if (sqlite3_errcode(q->db) == SQLITE_INTERRUPT) {
		r = -EINTR;
	}
	sqlite3_finalize(statement);
	*ret_faults = faults;
	return r;
}

void query_interrupt(struct query *q)
{
	sqlite3_interrupt(q->db);
}
