/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read-only queries on the station: phase, runs, events, clock, and its own settings. See query.h.
 */
#include "slowctl/query/private.h"

#include <errno.h>

#include "schemas/rows.h"

static int64_t limit_or(unsigned limit, unsigned otherwise)
{
	return limit ? limit : otherwise;
}

/* ------------------------------------------------------------------ phase */

static int phase_reference(struct query *q, int link, json_t **ret_json)
{
	static const struct column columns[] = {
		{"phase_ps", COLUMN_REAL}, {"rtt_frames", COLUMN_INT}, {"rtt_bytes", COLUMN_INT},
		{"rtt_bits", COLUMN_INT},  {"time", COLUMN_TIME},      {"who", COLUMN_TEXT},
		{"reason", COLUMN_TEXT},   {NULL, COLUMN_END},
	};
	sqlite3_stmt *s;
	int r = query_prepare(q, &s,
			      "SELECT phase_ps, rtt_frames, rtt_bytes, rtt_bits, time, who, reason"
			      " FROM phase_reference WHERE link = ?1",
			      "i", (int64_t)link);

	if (r < 0) {
		return r;
	}
	r = query_step(q, s);
	if (r >= 0) {
		*ret_json = r > 0 ? query_object(s, 0, columns) : json_null();
		r = *ret_json ? 0 : query_no_memory(q);
	}
	sqlite3_finalize(s);
	return r;
}

static int phase_rows(struct query *q, int link, int64_t since_ns, int64_t limit, json_t **ret_json)
{
	static const struct column columns[] = {
		{"time", COLUMN_TIME},	    {"mean_ps", COLUMN_REAL},  {"sigma_ps", COLUMN_REAL},
		{"min_ps", COLUMN_REAL},    {"max_ps", COLUMN_REAL},   {"samples", COLUMN_INT},
		{"rtt_frames", COLUMN_INT}, {"rtt_bytes", COLUMN_INT}, {"rtt_bits", COLUMN_INT},
		{NULL, COLUMN_END},
	};
	sqlite3_stmt *s;
	int r = query_prepare(
		q, &s,
		"SELECT * FROM (SELECT time, mean_ps, sigma_ps, min_ps, max_ps, samples,"
		" rtt_frames, rtt_bytes, rtt_bits FROM phase_row"
		" WHERE link = ?1 AND time >= ?2 ORDER BY time DESC LIMIT ?3)"
		" ORDER BY time",
		"iii", (int64_t)link, since_ns, limit);

	return r < 0 ? r : query_array(q, s, columns, ret_json);
}

static int phase_events(struct query *q, int link, int64_t since_ns, int64_t limit,
			json_t **ret_json)
{
	static const struct column columns[] = {
		{"time", COLUMN_TIME},	  {"verdict", COLUMN_TEXT},
		{"slip", COLUMN_INT},	  {"difference_ps", COLUMN_REAL},
		{"mean_ps", COLUMN_REAL}, {"sigma_ps", COLUMN_REAL},
		{"samples", COLUMN_INT},  {"who", COLUMN_TEXT},
		{"reason", COLUMN_TEXT},  {NULL, COLUMN_END},
	};
	sqlite3_stmt *s;
	int r = query_prepare(
		q, &s,
		"SELECT * FROM (SELECT time, verdict, slip, difference_ps, mean_ps,"
		" sigma_ps, samples, who, reason FROM phase_event"
		" WHERE link = ?1 AND time >= ?2 ORDER BY time DESC, rowid DESC LIMIT ?3)"
		" ORDER BY time",
		"iii", (int64_t)link, since_ns, limit);

	return r < 0 ? r : query_array(q, s, columns, ret_json);
}

int query_phase_history(struct query *q, int link, int64_t since_ns, unsigned limit,
			json_t **ret_json)
{
	json_t *reference = NULL, *rows = NULL, *events = NULL;
	int r = phase_reference(q, link, &reference);

	r = r == 0 ? phase_rows(q, link, since_ns, limit_or(limit, 600), &rows) : r;
	r = r == 0 ? phase_events(q, link, since_ns, limit_or(limit, 600), &events) : r;
	if (r < 0) {
		json_decref(reference);
		json_decref(rows);
		json_decref(events);
		return r;
	}
	*ret_json = json_pack("{sisososo}", "link", link, "reference", reference, "rows", rows,
			      "events", events);
	return *ret_json ? 0 : query_no_memory(q);
}

/* ------------------------------------------------------------------ runs, events, clock */

int query_runs(struct query *q, unsigned limit, json_t **ret_json)
{
	static const struct column columns[] = {
		{"number", COLUMN_INT},	     {"note", COLUMN_TEXT},  {"who", COLUMN_TEXT},
		{"begun", COLUMN_TIME},	     {"ended", COLUMN_TIME}, {"begun_slice", COLUMN_INT},
		{"ended_slice", COLUMN_INT}, {NULL, COLUMN_END},
	};
	sqlite3_stmt *s;
	const json_t *last;
	json_int_t current = 0;
	int r = query_prepare(q, &s,
			      "SELECT number, note, who, begun, ended, nullif(begun_slice, 0), "
			      "nullif(ended_slice, 0)"
			      " FROM run"
			      " ORDER BY number DESC LIMIT ?1",
			      "i", limit_or(limit, 100));

	r = r < 0 ? r : query_list(q, s, columns, "runs", ret_json);
	if (r < 0) {
		return r;
	}
	last = json_array_get(json_object_get(*ret_json, "runs"), 0);
	if (last && json_is_null(json_object_get(last, "ended"))) {
		current = json_integer_value(json_object_get(last, "number"));
	}
	json_object_set_new(*ret_json, "current", json_integer(current));
	return 0;
}

int query_events(struct query *q, int64_t since_ns, unsigned limit, json_t **ret_json)
{
	static const struct column columns[] = {
		{"time", COLUMN_TIME},	 {"severity", COLUMN_TEXT}, {"code", COLUMN_TEXT},
		{"object", COLUMN_TEXT}, {"text", COLUMN_TEXT},	    {"action", COLUMN_TEXT},
		{NULL, COLUMN_END},
	};
	sqlite3_stmt *s;
	int r = query_prepare(q, &s,
			      "SELECT time, severity, code, object, text, action FROM event"
			      " WHERE time >= ?1 ORDER BY time DESC, id DESC LIMIT ?2",
			      "ii", since_ns, limit_or(limit, 100));

	return r < 0 ? r : query_list(q, s, columns, "events", ret_json);
}

int query_clock_history(struct query *q, int64_t since_ns, unsigned limit, json_t **ret_json)
{
	static const struct column columns[] = {
		{"time", COLUMN_TIME},	    {"state", COLUMN_TEXT},
		{"source", COLUMN_TEXT},    {"uncertainty_ns", COLUMN_INT},
		{"time_epoch", COLUMN_INT}, {"reason", COLUMN_TEXT},
		{NULL, COLUMN_END},
	};
	sqlite3_stmt *s;
	int r = query_prepare(
		q, &s,
		"SELECT time, state, source, uncertainty_ns, time_epoch, reason"
		" FROM clock_event WHERE time >= ?1 ORDER BY time DESC, rowid DESC LIMIT ?2",
		"ii", since_ns, limit_or(limit, 100));

	return r < 0 ? r : query_list(q, s, columns, "events", ret_json);
}

/* ------------------------------------------------------------------ the station */

static int station_values(struct query *q, json_t *object)
{
	sqlite3_stmt *s;
	int r = query_prepare(q, &s, "SELECT key, coalesce(value, '') FROM station", "");

	if (r < 0) {
		return r;
	}
	while ((r = query_step(q, s)) > 0) {
		json_t *text = json_string((const char *)sqlite3_column_text(s, 1));

		json_object_set_new(object, (const char *)sqlite3_column_text(s, 0),
				    text ? text : json_string("?"));
	}
	sqlite3_finalize(s);
	return r;
}

/* From the tables that are written all the time, by their indexes. */
static int last_write(struct query *q, json_t **ret_time)
{
	static const struct column columns[] = {{"last_write", COLUMN_TIME}, {NULL, COLUMN_END}};
	sqlite3_stmt *s;
	json_t *object;
	int r = query_prepare(q, &s,
			      "SELECT max(t) FROM (SELECT max(time) AS t FROM ledger_link"
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

	if (r < 0) {
		return r;
	}
	r = query_step(q, s);
	object = r > 0 ? query_object(s, 0, columns) : NULL;
	sqlite3_finalize(s);
	if (r < 0) {
		return r;
	}
	*ret_time = object ? json_incref(json_object_get(object, "last_write")) : json_null();
	json_decref(object);
	return 0;
}

int query_station(struct query *q, json_t **ret_json)
{
	json_t *values = json_object(), *time = NULL;
	int r = values ? station_values(q, values) : query_no_memory(q);

	r = r == 0 ? last_write(q, &time) : r;
	if (r < 0) {
		json_decref(values);
		return r;
	}
	*ret_json = json_pack("{sosisiso}", "station", values, "schema", q->version,
			      "program_schema", ROWS_SCHEMA, "last_write", time);
	return *ret_json ? 0 : query_no_memory(q);
}
