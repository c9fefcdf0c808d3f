/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of a job: those whose client ids begin with its name. See query.h. */
#include "slowctl/query_private.h"

#include <stdio.h>

#define JOB_PAGE 1000

int query_job(struct query *q, const char *job, const char *after, json_t **ret_json)
{
	static const struct column columns[] = {
		{"command", COLUMN_INT}, {"client_id", COLUMN_TEXT}, {"parameter", COLUMN_TEXT},
		{"op", COLUMN_TEXT},	 {"new", COLUMN_REAL},	     {"state", COLUMN_TEXT},
		{"detail", COLUMN_TEXT}, {"attempts", COLUMN_INT},   {"ended", COLUMN_TIME},
		{NULL, COLUMN_END}};
	char from[80], to[80];
	json_t *json = NULL;
	sqlite3_stmt *s;
	int r;

	snprintf(from, sizeof(from), "%.70s.", job);
	snprintf(to, sizeof(to), "%.70s/", job); /* '/' is the next one behind '.' */
	r = query_prepare(q, &s,
			  "SELECT id, client_id, parameter, op, new_value, state, detail, attempts,"
			  " ended FROM command WHERE client_id > ?1 AND client_id < ?2"
			  " ORDER BY client_id LIMIT ?3",
			  "ssi", after && *after ? after : from, to, (int64_t)JOB_PAGE);
	if (r == 0) {
		r = query_list(q, s, columns, "commands", &json);
	}
	if (r == 0 &&
	    (json_object_set_new(json, "job", json_string(job)) < 0 ||
	     json_object_set_new(json, "more",
				 json_boolean(json_array_size(json_object_get(json, "commands")) ==
					      JOB_PAGE)) < 0)) {
		json_decref(json);
		r = query_no_memory(q);
	}
	if (r == 0) {
		*ret_json = json;
	}
	return r;
}
