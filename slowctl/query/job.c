/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs: commands whose client ids begin with one name, JOB.LINE.INDEX.ATTEMPT. See query.h. */
#include "slowctl/query/private.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define JOB_PAGE      250
#define JOBS_DEFAULT  20u
#define CLIENT_ID_MAX 96

int query_job(struct query *q, const char *job, const char *after, json_t **ret_json)
{
	char from[80], to[80];
	json_t *json = NULL;
	sqlite3_stmt *s;
	int r;

	snprintf(from, sizeof(from), "%.70s.", job);
	snprintf(to, sizeof(to), "%.70s/", job); /* '/' is the next one behind '.' */
	r = query_prepare(q, &s,
			  "SELECT " QUERY_COMMAND_COLUMNS
			  " FROM command WHERE client_id > ?1 AND client_id < ?2"
			  " ORDER BY client_id LIMIT ?3",
			  "ssi", after && *after ? after : from, to, (int64_t)JOB_PAGE);
	if (r == 0) {
		r = query_list(q, s, query_command_columns, "commands", &json);
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

/* The last client id before `below` that begins with a digit, as the names of jobs do. 1: there is one, 0: none. */
static int last_id(struct query *q, const char *below, char *id, size_t size)
{
	sqlite3_stmt *s;
	const char *text;
	int r = query_prepare(q, &s,
			      "SELECT max(client_id) FROM command"
			      " WHERE client_id >= '0' AND client_id < ?1",
			      "s", below);

	if (r < 0) {
		return r;
	}
	r = query_step(q, s);
	text = r > 0 ? (const char *)sqlite3_column_text(s, 0) : NULL;
	if (text) {
		snprintf(id, size, "%s", text);
	}
	sqlite3_finalize(s);
	return r < 0 ? r : text != NULL;
}

/* {STATE: commands} of a job. */
static int count_states(struct query *q, const char *from, const char *to, json_t **ret_states)
{
	json_t *states = json_object();
	sqlite3_stmt *s;
	int r = query_prepare(q, &s,
			      "SELECT state, count(*) FROM command"
			      " WHERE client_id > ?1 AND client_id < ?2 GROUP BY state",
			      "ss", from, to);

	while (r == 0 && (r = query_step(q, s)) > 0) {
		const char *state = (const char *)sqlite3_column_text(s, 0);

		r = json_object_set_new(states, state ? state : "",
					json_integer(sqlite3_column_int64(s, 1))) < 0
			    ? query_no_memory(q)
			    : 0;
	}
	sqlite3_finalize(s);
	if (r < 0) {
		json_decref(states);
		return r;
	}
	*ret_states = states;
	return 0;
}

static int sum_up(struct query *q, const char *job, json_t **ret_json)
{
	static const struct column columns[] = {
		{"time", COLUMN_TIME},	{"who", COLUMN_TEXT},	  {"reason", COLUMN_TEXT},
		{"ended", COLUMN_TIME}, {"commands", COLUMN_INT}, {"open", COLUMN_INT},
		{"back", COLUMN_INT},	{NULL, COLUMN_END},
	};
	char from[CLIENT_ID_MAX], to[CLIENT_ID_MAX], back[CLIENT_ID_MAX], behind[CLIENT_ID_MAX];
	json_t *sum = NULL, *states = NULL;
	sqlite3_stmt *s;
	int r;

	snprintf(from, sizeof(from), "%.80s.", job);
	snprintf(to, sizeof(to), "%.80s/", job);
	snprintf(back, sizeof(back), "%.80s-b.", job);
	snprintf(behind, sizeof(behind), "%.80s-b/", job);
	r = query_prepare(q, &s,
			  "SELECT min(time), who, reason,"
			  " CASE WHEN count(ended) = count(*) THEN max(ended) END, count(*),"
			  " count(*) - count(ended), (SELECT count(*) FROM command"
			  " WHERE client_id > ?3 AND client_id < ?4)"
			  " FROM command WHERE client_id > ?1 AND client_id < ?2",
			  "ssss", from, to, back, behind);
	if (r == 0) {
		r = query_step(q, s);
		sum = r > 0 ? query_object(s, 0, columns) : NULL;
		r = r < 0 ? r : sum ? 0 : query_no_memory(q);
		sqlite3_finalize(s);
	}
	r = r == 0 ? count_states(q, from, to, &states) : r;
	if (r < 0 || json_object_set_new(sum, "states", states) < 0 ||
	    json_object_set_new(sum, "job", json_string(job)) < 0) {
		json_decref(sum);
		return r < 0 ? r : query_no_memory(q);
	}
	*ret_json = sum;
	return 0;
}

/* JOB of JOB.LINE.INDEX.ATTEMPT, in place; false: it is nothing of the kind, or a roll-back, which goes with its job. */
static bool cut_to_job(char *id)
{
	unsigned line, index, attempt;
	char *dot = strchr(id, '.');

	if (!dot || sscanf(dot, ".%u.%u.%u", &line, &index, &attempt) != 3) {
		return false;
	}
	*dot = '\0';
	return dot - id < 2 || strcmp(dot - 2, "-b") != 0;
}

int query_jobs(struct query *q, unsigned limit, json_t **ret_json)
{
	json_t *jobs = json_array();
	char id[CLIENT_ID_MAX], below[CLIENT_ID_MAX + 1] = ":"; /* behind '9' */
	int r = 0;

	limit = limit ? limit : JOBS_DEFAULT;
	while (json_array_size(jobs) < limit && (r = last_id(q, below, id, sizeof(id))) > 0) {
		json_t *job = NULL;

		snprintf(below, sizeof(below), "%s", id);
		if (cut_to_job(id)) {
			snprintf(below, sizeof(below), "%s.", id); /* before all of it */
			r = sum_up(q, id, &job);
		}
		if (r < 0) {
			break;
		}
		if (job) {
			json_array_append_new(jobs, job);
		}
	}
	*ret_json = r < 0 ? NULL : json_pack("{s:o}", "jobs", jobs);
	if (r < 0) {
		json_decref(jobs);
		return r;
	}
	return *ret_json ? 0 : query_no_memory(q);
}
