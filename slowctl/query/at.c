/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of parameters at a past time, who had set them, and the differences between two times.
 * Nothing is made up: before the first sample there is no value, and each one says how old it was
 * then. See query.h.
 */
#include "slowctl/query/private.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* An unchanged value is recorded every 10 minutes: a sample that is much older was not renewed. */
#define FRESH_S 900.0

/* Old samples are rolled up: their mean is the value from the first of them to the last. */
#define SAMPLE_SQL                                                                                 \
	"SELECT value, sampled AS [sampled:t], ?2 - sampled AS [age_s:t], setpoint,"               \
	" span AS span_s, low AS min, high AS max, samples FROM ("                                 \
	"SELECT * FROM (SELECT value, time AS sampled, setpoint, NULL AS span, NULL AS low,"       \
	" NULL AS high, NULL AS samples FROM sample WHERE parameter = ?1 AND time <= ?2"           \
	" ORDER BY time DESC LIMIT 1) UNION ALL"                                                   \
	" SELECT * FROM (SELECT mean, min(until, ?2), setpoint, span, low, high, samples"          \
	" FROM sample_sum WHERE parameter = ?1 AND time <= ?2 ORDER BY time DESC LIMIT 1))"        \
	" ORDER BY sampled DESC LIMIT 1"
/* The last one that the floor had executed by then. */
#define AUTHOR_SQL                                                                                 \
	"SELECT id AS command, who, origin, reason, op, new_value AS new, state,"                  \
	" time AS [time:t], executed AS [executed:t] FROM ("                                       \
	"SELECT *, (SELECT min(t.time) FROM transition t WHERE t.command = c.id"                   \
	" AND t.state IN ('ACKED', 'DONE')) AS executed FROM " JOURNAL_BY_PARAMETER " c"           \
	" WHERE parameter = ?1 AND op <> 'action' AND time <= ?2)"                                 \
	" WHERE executed <= ?2 ORDER BY id DESC LIMIT 1"
/* One that was under way; a parameter has one open at a time, those behind it are refused. */
#define OPEN_SQL                                                                                   \
	"SELECT id AS command, new_value AS new"                                                   \
	" FROM (SELECT id, new_value, ended FROM " JOURNAL_BY_PARAMETER                            \
	" WHERE parameter = ?1 AND time <= ?2"                                                     \
	" ORDER BY id DESC LIMIT 16) WHERE ended IS NULL OR ended > ?2 ORDER BY id DESC LIMIT 1"

/* ------------------------------------------------------------------ which */

/* What is only done has commands, but no value. */
#define NAMES_SQL                                                                                  \
	QUERY_KNOWN_NAMES " WHERE n IS NOT NULL AND (?1 IS NULL OR name_matches(?1, n))"           \
			  " AND coalesce((SELECT op FROM " JOURNAL_BY_PARAMETER                    \
			  " WHERE parameter = n LIMIT 1), 'set') <> 'action'"                      \
			  " ORDER BY n"

static int add_names(struct query *q, const char *pattern, json_t *names)
{
	sqlite3_stmt *s;
	size_t before = json_array_size(names);
	int r = query_prepare(q, &s, NAMES_SQL, "s", pattern);

	if (r < 0) {
		return r;
	}
	while ((r = query_step(q, s)) > 0) {
		json_array_append_new(names, json_string((const char *)sqlite3_column_text(s, 0)));
	}
	sqlite3_finalize(s);
	if (r == 0 && pattern && json_array_size(names) == before) {
		snprintf(q->error, sizeof(q->error), "%.80s was never recorded", pattern);
		return -ENOENT;
	}
	return r;
}

int query_names(struct query *q, const json_t *patterns, json_t **ret_names)
{
	json_t *names = json_array();
	const json_t *pattern;
	size_t n;
	int r = json_array_size(patterns) == 0 ? add_names(q, NULL, names) : 0;

	json_array_foreach (patterns, n, pattern) {
		const char *text = json_string_value(pattern);

		if (r == 0) {
			r = add_names(q, text ? text : "", names);
		}
	}
	return query_answer(q, r, names, ret_names);
}

/* ------------------------------------------------------------------ what it was */

static double number_of(const json_t *object, const char *key)
{
	const json_t *j = json_object_get(object, key);

	return json_is_number(j) ? json_number_value(j) : NAN;
}

/* The value of a command that the floor executed after the sample, else that of the sample. */
static json_t *setpoint_of(const json_t *sample, const json_t *author)
{
	double sampled = number_of(sample, "sampled"), executed = number_of(author, "executed");
	bool since = isfinite(executed) && !(sampled >= executed);
	json_t *set = json_object_get(since ? author : sample, since ? "new" : "setpoint");

	return set ? json_incref(set) : json_null();
}

static bool sets_to(const json_t *command, double setpoint)
{
	return fabs(number_of(command, "new") - setpoint) < 1e-6;
}

/* Whose set point it is: a module that loses its power is set to 0 by its FCM, whatever the last command was. */
static const char *set_by(const json_t *setpoint, const json_t *author, const json_t *open)
{
	double set = json_is_number(setpoint) ? json_number_value(setpoint) : NAN;

	if (!json_is_object(author) || isnan(set)) {
		return NULL;
	}
	return sets_to(author, set) ? "command" : sets_to(open, set) ? NULL : "fcm";
}

/* Of how many samples the value is the mean; null: it is one. */
static json_t *sum_of(const json_t *sample)
{
	json_t *span_s = json_object_get(sample, "span_s");

	if (!json_is_integer(span_s)) {
		return json_null();
	}
	return json_pack("{s:O,s:O,s:O,s:O}", "span_s", span_s, "samples",
			 json_object_get(sample, "samples"), "min", json_object_get(sample, "min"),
			 "max", json_object_get(sample, "max"));
}

int query_last_sample(struct query *q, const char *name, int64_t time_ns, json_t **ret_json)
{
	json_t *sample = NULL;
	int r = query_row(q, &sample, SAMPLE_SQL, "si", name, time_ns);

	if (r < 0) {
		return r;
	}
	*ret_json = number_of(sample, "age_s") <= FRESH_S && isfinite(number_of(sample, "value"))
			    ? json_pack("{s:O,s:O,s:O}", "time", json_object_get(sample, "sampled"),
					"value", json_object_get(sample, "value"), "setpoint",
					json_object_get(sample, "setpoint"))
			    : json_null();
	json_decref(sample);
	return *ret_json ? 0 : query_no_memory(q);
}

static int at_object(struct query *q, const char *name, int64_t time_ns, json_t **ret_json)
{
	json_t *sample = NULL, *author = NULL, *open = NULL, *setpoint;
	const char *by;
	double age_s;
	int r = query_row(q, &sample, SAMPLE_SQL, "si", name, time_ns);

	r = r == 0 ? query_row(q, &author, AUTHOR_SQL, "si", name, time_ns) : r;
	r = r == 0 ? query_row(q, &open, OPEN_SQL, "si", name, time_ns) : r;
	if (r == 0) {
		age_s = number_of(sample, "age_s");
		setpoint = setpoint_of(sample, author);
		by = set_by(setpoint, author, open);
		*ret_json = json_pack("{s:O?,s:O?,s:O?,s:s,s:o,s:o,s:s?,s:O?,s:O?}", "value",
				      json_object_get(sample, "value"), "sampled",
				      json_object_get(sample, "sampled"), "age_s",
				      json_object_get(sample, "age_s"), "quality",
				      !isfinite(age_s)	? "never"
				      : age_s > FRESH_S ? "stale"
							: "good",
				      "mean_of", sum_of(sample), "setpoint", setpoint, "set_by", by,
				      "author", by && strcmp(by, "command") == 0 ? author : NULL,
				      "open", json_object_get(open, "command"));
		r = *ret_json ? 0 : query_no_memory(q);
	}
	json_decref(sample);
	json_decref(author);
	json_decref(open);
	return r;
}

static int add_at(struct query *q, const char *name, int64_t time_ns, json_t *parameters)
{
	json_t *head = NULL, *at = NULL;
	int r = query_head(q, name, &head);

	r = r == 0 ? at_object(q, name, time_ns, &at) : r;
	if (r == 0 &&
	    (json_object_update(head, at) < 0 || json_array_append(parameters, head) < 0)) {
		r = query_no_memory(q);
	}
	json_decref(head);
	json_decref(at);
	return r;
}

int query_at(struct query *q, const struct query_filter *f, json_t **ret_json)
{
	json_t *parameters = json_array();
	const json_t *name;
	size_t n;
	int r = 0;

	json_array_foreach (f->names, n, name) {
		r = r == 0 ? add_at(q, json_string_value(name), f->at_ns, parameters) : r;
	}
	return query_answer(
		q, r,
		json_pack("{s:f,s:o}", "time", (double)f->at_ns / 1e9, "parameters", parameters),
		ret_json);
}

/* ------------------------------------------------------------------ what differs */

static bool same(double a, double b, double within)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) <= within;
}

/* Below the dictionary's deadband it is the same value; a file that does not know it: as written. */
static int deadband_of(struct query *q, const char *name, double *ret_deadband)
{
	json_t *row = NULL;
	int r = query_row(q, &row,
			  "SELECT CAST(value AS REAL) AS deadband FROM station"
			  " WHERE key = kind_key('deadband.', ?1)",
			  "s", name);

	*ret_deadband = json_real_value(json_object_get(row, "deadband"));
	json_decref(row);
	return r;
}

static int add_if_different(struct query *q, const char *name, const struct query_filter *f,
			    json_t *differences)
{
	json_t *head = NULL, *from = NULL, *to = NULL;
	double deadband;
	int r = at_object(q, name, f->from_ns, &from);

	r = r == 0 ? at_object(q, name, f->to_ns, &to) : r;
	r = r == 0 ? deadband_of(q, name, &deadband) : r;
	if (r == 0 && !(same(number_of(from, "value"), number_of(to, "value"), deadband) &&
			same(number_of(from, "setpoint"), number_of(to, "setpoint"), 1e-9))) {
		r = query_head(q, name, &head);
		if (r == 0 && (json_object_set(head, "from", from) < 0 ||
			       json_object_set(head, "to", to) < 0 ||
			       json_array_append(differences, head) < 0)) {
			r = query_no_memory(q);
		}
	}
	json_decref(head);
	json_decref(from);
	json_decref(to);
	return r;
}

int query_diff(struct query *q, const struct query_filter *f, json_t **ret_json)
{
	json_t *differences = json_array();
	const json_t *name;
	size_t n;
	int r = 0;

	json_array_foreach (f->names, n, name) {
		r = r == 0 ? add_if_different(q, json_string_value(name), f, differences) : r;
	}
	return query_answer(q, r,
			    json_pack("{s:f,s:f,s:I,s:o}", "from", (double)f->from_ns / 1e9, "to",
				      (double)f->to_ns / 1e9, "compared",
				      (json_int_t)json_array_size(f->names), "differences",
				      differences),
			    ret_json);
}
