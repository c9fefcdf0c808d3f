/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What earlier runs of a job came to, from the journal: see job.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/fcmctl/jobs/job.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/param/number.h"

#define NAMES_AT_ONCE 200u /* the daemon takes 256 */
#define BEGIN_ANOTHER "to begin a new job, omit --job"

/* ------------------------------------------------------------------ one command */

bool job_is_over(const json_t *command)
{
	return json_is_number(json_object_get(command, "ended"));
}

bool job_is_back(const char *id)
{
	size_t length = strlen(id);
	size_t tail = strlen(JOB_BACK);

	return length > tail && strcmp(id + length - tail, JOB_BACK) == 0;
}

unsigned job_attempt(const json_t *command)
{
	const char *last = strrchr(value_string(command, "client_id", ""), '.');

	return last != NULL ? (unsigned)strtoul(last + 1, NULL, 10) : 0;
}

enum many_state job_settled(const json_t *before, bool action, unsigned *ret_attempt)
{
	const char *state = value_string(before, "state", "");

	*ret_attempt = job_attempt(before);
	if (strcmp(state, "DONE") == 0) {
		return MANY_SKIPPED;
	}
	if (!job_is_over(before)) {
		return MANY_WAITS; /* the same client id: its end is waited for */
	}
	if (strcmp(state, "UNKNOWN") == 0) {
		return MANY_UNKNOWN;
	}
	if (action && value_integer(before, "attempts", 0) > 0 && strcmp(state, "FAILED") == 0) {
		return MANY_FAILED; /* it may have been executed, and would be twice */
	}
	++*ret_attempt;
	return MANY_WAITS;
}

bool job_stands(const struct job_row *row)
{
	unsigned attempt;

	return row->before != NULL &&
	       (job_settled(row->before, row->value == NULL, &attempt) != MANY_WAITS ||
		!job_is_over(row->before));
}

/* ------------------------------------------------------------------ reading */

int job_read(struct ctl *ctl, const char *id, json_t **ret_commands)
{
	json_t *all = json_array();
	char after[64] = "";
	bool more = true;
	int code = CTL_DONE;

	while (code == CTL_DONE && more) {
		json_t *result = NULL;
		json_t *last;

		code = ctl_ask(ctl, "job.show", json_pack("{s:s,s:s}", "job", id, "after", after),
			       &result);
		json_array_extend(all, json_object_get(result, "commands"));
		more = value_true(result, "more");
		last = json_array_get(all, json_array_size(all) - 1);
		snprintf(after, sizeof(after), "%s", value_string(last, "client_id", ""));
		json_decref(result);
	}
	if (code != CTL_DONE) {
		json_decref(all);
		return code;
	}
	*ret_commands = all;
	return CTL_DONE;
}

/* The row of the job that a client id belongs to; `behind`: the id after the job's name, .LINE.INDEX.ATTEMPT */
static struct job_row *row_of(struct job *job, const char *behind)
{
	unsigned line;
	unsigned index;

	if (sscanf(behind, ".%u.%u.", &line, &index) != 2) {
		return NULL;
	}
	for (size_t i = 0; i < job->count; i++) {
		if (job->rows[i].line == line && job->rows[i].index == index) {
			return &job->rows[i];
		}
	}
	return NULL;
}

int job_fail_line(const struct job *job, unsigned line, const char *hint, const char *format, ...)
{
	char at[32] = "";
	char text[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (line > 0) {
		snprintf(at, sizeof(at), ":%u", line);
	}
	return ctl_usage(job->ctl, hint, "%s%s: %s; nothing was sent", job->source, at, text);
}

/* The last attempt of each row. */
static int take_commands(struct job *job, const json_t *commands, bool back)
{
	size_t named = strlen(job->id) + (back ? strlen(JOB_BACK) : 0);
	size_t i;
	const json_t *c;

	json_array_foreach (commands, i, c) {
		struct job_row *row = row_of(job, value_string(c, "client_id", "") + named);
		const json_t **last = row == NULL ? NULL : back ? &row->back : &row->before;

		if (row == NULL || strcmp(value_string(row->parameter, "name", ""),
					  value_string(c, "parameter", "?")) != 0) {
			return job_fail_line(job, 0, BEGIN_ANOTHER,
					     "job %s belongs to another file: it has %.64s (%.63s)",
					     job->id, value_string(c, "parameter", "?"),
					     value_string(c, "client_id", "?"));
		}
		if (*last == NULL || job_attempt(c) > job_attempt(*last)) {
			*last = c;
		}
	}
	return CTL_DONE;
}

int job_read_past(struct job *job, bool plan)
{
	char back[JOB_ID_MAX + sizeof(JOB_BACK)];
	int code = job_read(job->ctl, job->id, &job->commands);

	if (code == CTL_DONE && json_array_size(job->commands) == 0) {
		return ctl_usage(
			job->ctl,
			"to begin a new job leave --job out: it gets its id then; fcmctl job "
			"list shows the last ones",
			"the journal has no job %s", job->id);
	}
	code = code == CTL_DONE ? take_commands(job, job->commands, false) : code;
	if (code == CTL_DONE && plan) {
		snprintf(back, sizeof(back), "%s" JOB_BACK, job->id);
		code = job_read(job->ctl, back, &job->back_commands);
		code = code == CTL_DONE ? take_commands(job, job->back_commands, true) : code;
	}
	return code;
}

bool job_goes_back(const struct job *job)
{
	return json_array_size(job->back_commands) > 0;
}

/* ------------------------------------------------------------------ the same file */

/* The value of the row as the journal has it: a switch is 0 or 1. NAN: unknown. */
static double wanted(const struct job_row *row)
{
	const json_t *then = value_at(row->would, "new");
	const char *end;
	double number;

	if (json_is_boolean(then)) {
		return json_is_true(then) ? 1.0 : 0.0;
	}
	if (json_is_number(then)) {
		return json_number_value(then);
	}
	if (strcmp(row->value, "on") == 0 || strcmp(row->value, "off") == 0) {
		return strcmp(row->value, "on") == 0 ? 1.0 : 0.0;
	}
	/* refused now, but not then */
	return number_parse(row->value, &number, &end) == 0 ? number : (double)NAN;
}

bool job_is_same(const struct job_row *row)
{
	double then = value_number(row->before, "new");

	return fabs(wanted(row) - then) <= 1e-9 * fmax(1.0, fabs(then));
}

int job_check_same(const struct job *job)
{
	for (size_t i = 0; i < job->count; i++) {
		const struct job_row *row = &job->rows[i];

		if (row->value == NULL || !job_stands(row) || job_is_same(row)) {
			continue;
		}
		return job_fail_line(job, row->line, BEGIN_ANOTHER,
				     "job %s belongs to another file: it set %.64s to %.10g "
				     "(command %lld), not to %.20s",
				     job->id, value_string(row->parameter, "name", "?"),
				     value_number(row->before, "new"),
				     value_integer(row->before, "command", 0), row->value);
	}
	return CTL_DONE;
}

/* ------------------------------------------------------------------ what was before */

/* Just before anything of the job was asked for. */
static double start_of(const struct job *job)
{
	double first = (double)INFINITY;
	size_t i;
	const json_t *c;

	json_array_foreach (job->commands, i, c) {
		first = fmin(first, value_number(c, "time"));
	}
	return first - 1e-3;
}

/* As the daemon has the value now: a switch is on or off, its history 0 or 1. */
static json_t *as_set(const struct job_row *row, const json_t *set)
{
	bool is_switch = strcmp(value_string(row->parameter, "type", ""), "bool") == 0;

	return is_switch && json_is_number(set) ? json_boolean(json_number_value(set) != 0.0)
						: json_incref((json_t *)(uintptr_t)set);
}

static int ask_values(struct job *job, json_t *names, double time)
{
	json_t *result = NULL;
	size_t i;
	const json_t *p;
	int code = ctl_ask(job->ctl, "param.at",
			   json_pack("{s:f,s:o}", "time", time, "names", names), &result);

	json_array_foreach (value_at(result, "parameters"), i, p) {
		json_object_set(job->values, value_string(p, "name", ""),
				json_object_get(p, "setpoint"));
	}
	json_decref(result);
	return code;
}

int job_read_was(struct job *job)
{
	double time = start_of(job);
	json_t *names = json_array();
	int code = CTL_DONE;

	json_decref(job->values);
	job->values = json_object();
	for (size_t i = 0; code == CTL_DONE && i < job->count; i++) {
		const struct job_row *row = &job->rows[i];

		if (row->before != NULL) {
			json_array_append(names, json_object_get(row->parameter, "name"));
		}
		if (json_array_size(names) == NAMES_AT_ONCE ||
		    (i + 1 == job->count && json_array_size(names) > 0)) {
			code = ask_values(job, names, time);
			names = json_array();
		}
	}
	json_decref(names);
	for (size_t i = 0; code == CTL_DONE && i < job->count; i++) {
		struct job_row *row = &job->rows[i];
		const char *name = value_string(row->parameter, "name", "");
		const json_t *set = row->before != NULL ? json_object_get(job->values, name) : NULL;

		if (set != NULL && !json_is_null(set)) {
			json_object_set_new(job->values, name, as_set(row, set));
			row->was = json_object_get(job->values, name);
		}
	}
	return code;
}
