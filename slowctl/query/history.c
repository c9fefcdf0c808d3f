// SPDX-License-Identifier: GPL-2.0-or-later
/* The history of a parameter: its samples, its sets, and its value before them. See query.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/param/param.h"
#include "slowctl/query/private.h"

/* The full name behind `name`: itself, or the one known name that ends so. Skips from name to name over
 * the indexes, so that the length of history and journal does not matter. */
static int full_name(struct query *q, const char *name, char *full, size_t size)
{
	json_t *row = NULL;
	json_int_t found;
	int r = query_row(
		q, &row,
		"SELECT count(*) AS found, max(n) AS name FROM (" QUERY_KNOWN_NAMES
		" WHERE n = ?1 OR (n LIKE 'tower%' AND substr(n, instr(n, '.') + 1) = ?1))",
		"s", name);

	if (r < 0) {
		return r;
	}
	found = json_integer_value(json_object_get(row, "found"));
	if (found == 1) {
		snprintf(full, size, "%s", json_string_value(json_object_get(row, "name")));
	} else {
		snprintf(q->error, sizeof(q->error),
			 found ? "%.80s is in several towers: say which"
			       : "%.80s was never recorded",
			 name);
	}
	json_decref(row);
	return found == 1 ? 0 : found ? -ENOTUNIQ : -ENOENT;
}

/* Whether the dictionary has such a kind of parameter, whatever its floor. */
static bool kind_known(struct query *q, const char *name)
{
	json_t *row = NULL;
	bool known = query_row(q, &row, "SELECT " QUERY_UNIT("?1") " AS unit", "s", name) == 0 &&
		     json_is_string(json_object_get(row, "unit"));

	json_decref(row);
	return known;
}

#define SUM_MAX_NS 3600000000000ll /* the longest span that is rolled up */

/* The value before the first row; null where rows were cut to `limit`, or one is of that very time. */
static int history_before(struct query *q, const char *name, int64_t since_ns, unsigned limit,
			  const json_t *rows, json_t **ret_before)
{
	const json_t *first = json_object_get(json_array_get(rows, 0), "time");

	if (since_ns <= 0 || json_array_size(rows) >= limit ||
	    (first && json_number_value(first) <= (double)since_ns / 1e9)) {
		*ret_before = json_null();
		return 0;
	}
	return query_last_sample(q, name, since_ns, ret_before);
}

int query_history(struct query *q, const struct query_filter *f, json_t **ret_json)
{
	json_t *head = NULL, *before = NULL, *rows;
	char full[PARAM_NAME_MAX];
	unsigned limit = f->limit ? f->limit : 1000;
	int64_t until_ns = query_until_ns(f);
	int r = full_name(q, f->name, full, sizeof(full));

	if (r == -ENOENT && kind_known(q, f->name)) {
		r = -ENODATA;
	}
	r = r == 0 ? query_head(q, full, &head) : r;
	r = query_add_rows(q, r, head, "rows",
			   "SELECT time AS [time:t], value, setpoint, until AS [until:t?],"
			   " low AS [min:?], high AS [max:?], samples AS [samples:?], span AS "
			   "[span_s:?] FROM ("
			   "SELECT time, value, setpoint, NULL AS until, NULL AS low, NULL AS high,"
			   " NULL AS samples, NULL AS span FROM sample"
			   " WHERE parameter = ?1 AND time >= ?2 AND time < ?3 UNION ALL"
			   " SELECT time, mean, setpoint, until, low, high, samples, span"
			   " FROM sample_sum WHERE parameter = ?1 AND time > ?5 AND time < ?3"
			   " AND until >= ?2 ORDER BY time DESC LIMIT ?4) ORDER BY time",
			   "siiii", full, f->since_ns, until_ns, (int64_t)limit,
			   f->since_ns - SUM_MAX_NS);
	rows = json_object_get(head, "rows");
	r = r == 0 ? history_before(q, full, f->since_ns, limit, rows, &before) : r;
	r = r == 0 && json_object_set_new(head, "before", before) < 0 ? query_no_memory(q) : r;
	r = query_add_rows(q, r, head, "sets",
			   "SELECT * FROM (" QUERY_COMMAND JOURNAL_BY_PARAMETER
			   " WHERE parameter = ?1 AND time >= ?2 AND time < ?3 ORDER BY id DESC"
			   " LIMIT ?4) ORDER BY command",
			   "siii", full, f->since_ns, until_ns, (int64_t)limit);
	return query_answer(q, r, head, ret_json);
}
