/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read-only queries on the station: phase, runs, events, clock, and its own settings. See query.h.
 */
#include "slowctl/query/private.h"

#include "schemas/rows.h"

/* Rows of the link ?1 in the time ?2 to ?3, the newest ?4, oldest first. */
#define PHASE_TIME "link = ?1 AND time >= ?2 AND time < "
#define PHASE_COLUMNS                                                                              \
	"time AS [time:t], mean_ps, sigma_ps, min_ps, max_ps, samples, rtt_frames, rtt_bytes,"     \
	" rtt_bits"
static const char phase_rows[] = "SELECT * FROM (SELECT " PHASE_COLUMNS
				 " FROM phase_row WHERE " PHASE_TIME "?3 ORDER BY time DESC"
				 " LIMIT ?4) ORDER BY [time:t]";
/* The last of each span of ?5: skips from one to the one before, so that those between cost nothing. */
static const char phase_last_rows[] =
	"WITH RECURSIVE last(t) AS (SELECT max(time) FROM phase_row WHERE " PHASE_TIME "?3"
	" UNION ALL SELECT (SELECT max(time) FROM phase_row WHERE " PHASE_TIME "t / ?5 * ?5)"
	" FROM last WHERE t IS NOT NULL LIMIT ?4) SELECT " PHASE_COLUMNS
	" FROM last JOIN phase_row ON link = ?1 AND time = t ORDER BY time";

int query_phase_history(struct query *q, const struct query_filter *f, json_t **ret_json)
{
	int64_t link = f->link, limit = f->limit ? f->limit : 600, until = query_until_ns(f);
	bool thin = f->by_s > 1;
	json_t *json, *reference = NULL;
	int r = query_row(q, &reference,
			  "SELECT phase_ps, rtt_frames, rtt_bytes, rtt_bits, time AS [time:t], who,"
			  " reason FROM phase_reference WHERE link = ?1",
			  "i", link);

	json = json_pack("{s:i,s:o*}", "link", f->link, "reference", reference);
	r = query_add_rows(q, r, json, "rows", thin ? phase_last_rows : phase_rows,
			   thin ? "iiiii" : "iiii", link, f->since_ns, until, limit,
			   f->by_s * 1000000000ll);
	r = query_add_rows(q, r, json, "events",
			   "SELECT * FROM (SELECT time AS [time:t], verdict, slip, difference_ps,"
			   " mean_ps, sigma_ps, samples, who, reason FROM phase_event"
			   " WHERE link = ?1 AND time >= ?2 AND time < ?3"
			   " ORDER BY time DESC, rowid DESC LIMIT ?4) ORDER BY [time:t]",
			   "iiii", link, f->since_ns, until, limit);
	return query_answer(q, r, json, ret_json);
}

int query_runs(struct query *q, const struct query_filter *f, json_t **ret_json)
{
	json_t *answer = NULL;
	int r = query_row(q, &answer,
			  "SELECT coalesce((SELECT iif(ended IS NULL, number, 0) FROM run"
			  " ORDER BY number DESC LIMIT 1), 0) AS current",
			  "");

	r = query_add_rows(q, r, answer, "runs",
			   "SELECT number, note, who, begun AS [begun:t], ended AS [ended:t],"
			   " nullif(begun_slice, 0) AS begun_slice,"
			   " nullif(ended_slice, 0) AS ended_slice"
			   " FROM run WHERE begun < ?3 AND coalesce(ended, ?3) >= ?1"
			   " ORDER BY number DESC LIMIT ?2",
			   "iii", f->since_ns, (int64_t)(f->limit ? f->limit : 100),
			   query_until_ns(f));
	return query_answer(q, r, answer, ret_json);
}

int query_events(struct query *q, const struct query_filter *f, json_t **ret_json)
{
	json_t *json = json_object();
	/* A remark about an incident ends with its number, as daemon/ops/logbook.c writes it. */
	int r = query_add_rows(q, 0, json, "events",
			       "SELECT time AS [time:t], severity, code, object, text, action"
			       " FROM event WHERE time >= ?1 AND time < ?2 AND (?4 = 0 OR"
			       " code IN ('remark', 'summary')"
			       " AND text LIKE '% [incident ' || ?4 || ']')"
			       " ORDER BY time DESC, id DESC LIMIT ?3",
			       "iiii", f->since_ns, query_until_ns(f),
			       (int64_t)(f->limit ? f->limit : 100), f->incident);

	return query_answer(q, r, json, ret_json);
}

int query_clock_history(struct query *q, const struct query_filter *f, json_t **ret_json)
{
	return query_list(
		q, "events",
		"SELECT time AS [time:t], state, source, uncertainty_ns, time_epoch, reason"
		" FROM clock_event WHERE time >= ?1 AND time < ?3"
		" ORDER BY time DESC, rowid DESC LIMIT ?2",
		f, ret_json);
}

static int station_values(struct query *q, json_t *object)
{
	sqlite3_stmt *s = NULL;
	int r = query_prepare(q, &s, "SELECT key, coalesce(value, '') FROM station", "");

	while (r == 0 && (r = query_step(q, s)) > 0) {
		json_t *text = json_string((const char *)sqlite3_column_text(s, 1));

		r = json_object_set_new(object, (const char *)sqlite3_column_text(s, 0),
					text ? text : json_string("?")) < 0
			    ? query_no_memory(q)
			    : 0;
	}
	sqlite3_finalize(s);
	return r;
}

int query_station(struct query *q, json_t **ret_json)
{
	json_t *json = NULL, *values = json_object();
	/* From the tables that are written all the time, by their indexes. */
	int r = query_row(q, &json,
			  "SELECT max(t) AS [last_write:t] FROM ("
			  "SELECT max(time) AS t FROM ledger_link"
			  " UNION ALL SELECT max(time) FROM event"
			  " UNION ALL SELECT max(time) FROM clock_event"
			  " UNION ALL SELECT max(time) FROM phase_row WHERE link = 0"
			  " UNION ALL SELECT max(time) FROM phase_row WHERE link = 1"
			  " UNION ALL SELECT max(time) FROM phase_row WHERE link = 2"
			  " UNION ALL SELECT max(time) FROM phase_row WHERE link = 3"
			  " UNION ALL SELECT time FROM command"
			  " WHERE id = (SELECT max(id) FROM command)"
			  " UNION ALL SELECT max(time) FROM transition"
			  " WHERE command = (SELECT max(command) FROM transition))",
			  "");

	r = r == 0 ? station_values(q, values) : r;
	json_object_set_new(json, "station", values);
	json_object_set_new(json, "schema", json_integer(q->version));
	json_object_set_new(json, "program_schema", json_integer(ROWS_SCHEMA));
	return query_answer(q, r, json, ret_json);
}
