/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots: set values under a name. See query.h. */
#include "slowctl/query/private.h"

#include <errno.h>
#include <stdbool.h>

static const struct column columns[] = {
	{"id", COLUMN_INT},	    {"name", COLUMN_TEXT},   {"time", COLUMN_TIME},
	{"who", COLUMN_TEXT},	    {"note", COLUMN_TEXT},   {"pattern", COLUMN_TEXT},
	{"parameters", COLUMN_INT}, {"unknown", COLUMN_INT}, {NULL, COLUMN_END}};

#define COLUMNS "id, name, time, who, note, pattern, parameters, unknown"

/* A file of an earlier daemon has none. */
static bool has_them(const struct query *q)
{
	return q->version >= 9;
}

int query_snapshots(struct query *q, unsigned limit, json_t **ret_json)
{
	sqlite3_stmt *s;
	int r = query_prepare(
		q, &s,
		has_them(q) ? "SELECT " COLUMNS " FROM snapshot ORDER BY time DESC LIMIT ?1"
			    : "SELECT " COLUMNS " FROM (SELECT 0 AS id, '' AS name, 0 AS time,"
			      " '' AS who, '' AS note, '' AS pattern, 0 AS parameters,"
			      " 0 AS unknown) WHERE 0 LIMIT ?1",
		"i", (int64_t)(limit ? limit : 100));

	return r < 0 ? r : query_list(q, s, columns, "snapshots", ret_json);
}

static int add_values(struct query *q, json_t *snapshot, int64_t id)
{
	static const struct column value_columns[] = {
		{"parameter", COLUMN_TEXT}, {"value", COLUMN_REAL}, {NULL, COLUMN_END}};
	json_t *array = NULL;
	sqlite3_stmt *s;
	int r = query_prepare(q, &s,
			      "SELECT parameter, value FROM snapshot_value WHERE snapshot = ?1"
			      " ORDER BY parameter",
			      "i", id);

	r = r < 0 ? r : query_array(q, s, value_columns, &array);
	if (r == 0 && json_object_set_new(snapshot, "values", array) < 0) {
		r = query_no_memory(q);
	}
	return r;
}

int query_snapshot(struct query *q, const char *name, json_t **ret_json)
{
	json_t *snapshot = NULL;
	sqlite3_stmt *s;
	int64_t id = 0;
	int r = has_them(q)
			? query_prepare(q, &s, "SELECT " COLUMNS " FROM snapshot WHERE name = ?1",
					"s", name)
			: -ENOENT;

	if (r < 0) {
		return r;
	}
	r = query_step(q, s);
	if (r > 0) {
		id = sqlite3_column_int64(s, 0);
		snapshot = query_object(s, 0, columns);
	}
	sqlite3_finalize(s);
	if (r <= 0) {
		return r < 0 ? r : -ENOENT;
	}
	r = snapshot ? add_values(q, snapshot, id) : query_no_memory(q);
	if (r < 0) {
		json_decref(snapshot);
		return r;
	}
	*ret_json = snapshot;
	return 0;
}
