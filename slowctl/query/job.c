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

int query_job(struct query *q, const struct query_filter *f, json_t **ret_json)
{
	char from[80], to[80];
	json_t *json = json_pack("{s:s}", "job", f->job);
	int r;

	snprintf(from, sizeof(from), "%.70s.", f->job);
	snprintf(to, sizeof(to), "%.70s/", f->job); /* '/' is the next one behind '.' */
	r = query_add_rows(q, 0, json, "commands",
			   QUERY_COMMAND "command WHERE client_id > ?1 AND client_id < ?2"
					 " ORDER BY client_id LIMIT ?3",
			   "ssi", f->after && *f->after ? f->after : from, to, (int64_t)JOB_PAGE);
	json_object_set_new(
		json, "more",
		json_boolean(json_array_size(json_object_get(json, "commands")) == JOB_PAGE));
	return query_answer(q, r, json, ret_json);
}

/* The last client id before `below` that begins with a digit, as the names of jobs do. 1: there is one, 0: none. */
static int last_id(struct query *q, const char *below, char *id, size_t size)
{
	json_t *row = NULL;
	const char *text;
	int r = query_row(q, &row,
			  "SELECT max(client_id) AS id FROM command"
			  " WHERE client_id >= '0' AND client_id < ?1",
			  "s", below);

	text = json_string_value(json_object_get(row, "id"));
	if (text) {
		snprintf(id, size, "%s", text);
	}
	r = r == 0 ? text != NULL : r;
	json_decref(row);
	return r;
}

static int sum_up(struct query *q, const char *job, json_t **ret_json)
{
	char from[CLIENT_ID_MAX], to[CLIENT_ID_MAX], back[CLIENT_ID_MAX], behind[CLIENT_ID_MAX];

	snprintf(from, sizeof(from), "%.80s.", job);
	snprintf(to, sizeof(to), "%.80s/", job);
	snprintf(back, sizeof(back), "%.80s-b.", job);
	snprintf(behind, sizeof(behind), "%.80s-b/", job);
	return query_row(q, ret_json,
			 "SELECT ?5 AS job, min(time) AS [time:t], who, reason,"
			 " CASE WHEN count(ended) = count(*) THEN max(ended) END AS [ended:t],"
			 " count(*) AS commands, count(*) - count(ended) AS open,"
			 " (SELECT count(*) FROM command"
			 " WHERE client_id > ?3 AND client_id < ?4) AS back,"
			 " (SELECT json_group_object(state, n) FROM (SELECT state, count(*) AS n"
			 " FROM command WHERE client_id > ?1 AND client_id < ?2 GROUP BY state))"
			 " AS [states:j] FROM command WHERE client_id > ?1 AND client_id < ?2",
			 "sssss", from, to, back, behind, job);
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

int query_jobs(struct query *q, const struct query_filter *f, json_t **ret_json)
{
	json_t *jobs = json_array();
	char id[CLIENT_ID_MAX], below[CLIENT_ID_MAX + 1] = ":"; /* behind '9' */
	unsigned limit = f->limit ? f->limit : JOBS_DEFAULT;
	int r = 0;

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
	r = r < 0 ? r : 0;
	return query_answer(q, r, json_pack("{s:o}", "jobs", jobs), ret_json);
}
