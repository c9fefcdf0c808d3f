/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots: set values under a name. See query.h. */
#include "slowctl/query/private.h"

#include <errno.h>

#define SNAPSHOT                                                                                   \
	"SELECT id, name, time AS [time:t], who, note, pattern, parameters, unknown FROM snapshot"

int query_snapshots(struct query *q, unsigned limit, json_t **ret_json)
{
	json_t *json = json_object();
	int r = query_add_rows(q, 0, json, "snapshots", SNAPSHOT " ORDER BY time DESC LIMIT ?1",
			       "i", (int64_t)(limit ? limit : 100));

	return query_answer(q, r, json, ret_json);
}

int query_snapshot(struct query *q, const char *name, json_t **ret_json)
{
	json_t *snapshot = NULL;
	int r = query_row(q, &snapshot, SNAPSHOT " WHERE name = ?1", "s", name);

	r = r == 0 && json_is_null(snapshot) ? -ENOENT : r;
	r = query_add_rows(q, r, snapshot, "values",
			   "SELECT parameter, value FROM snapshot_value WHERE snapshot = ?1 ORDER "
			   "BY parameter",
			   "i", (int64_t)json_integer_value(json_object_get(snapshot, "id")));
	return query_answer(q, r, snapshot, ret_json);
}
