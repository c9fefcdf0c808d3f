/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making and showing a plan: see plan.h. */
#include "slowctl/fcmctl/jobs/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"

/* ------------------------------------------------------------------ values */

void plan_line(struct writer *w, const json_t *parameter)
{
	const json_t *set = value_at(parameter, "setpoint");

	if (strcmp(value_string(parameter, "access", "rw"), "rw") != 0) {
		return;
	}
	if (set == NULL || json_is_null(set)) {
		value_say(w, WRITER_DIM, parameter, "# {name|?}: set value unknown");
	} else {
		value_say(w, WRITER_PLAIN, parameter, "{name|?} = {setpoint:typed}{unit:behind}");
	}
	writer_newline(w);
}

const json_t *plan_now(const struct job_row *row)
{
	const json_t *of = row->would != NULL ? row->would : row->parameter;
	const json_t *set = value_at(of, "setpoint");

	return set == NULL || json_is_null(set) ? value_at(of, "value") : set;
}

/* ------------------------------------------------------------------ order */

static int compare_rows(const void *a, const void *b)
{
	const struct job_row *x = a;
	const struct job_row *y = b;

	if (x->step != y->step) {
		return x->step < y->step ? -1 : 1;
	}
	if (x->line != y->line) {
		return x->line < y->line ? -1 : 1;
	}
	return x->index < y->index ? -1 : x->index > y->index;
}

void plan_sort(struct job_row *rows, size_t count)
{
	qsort(rows, count, sizeof(*rows), compare_rows);
}

/* "tower1.floor3.om2.": whose parameter it is */
static size_t object_length(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot != NULL ? (size_t)(dot - name) + 1 : strlen(name);
}

static bool changes_something(const struct job_row *row)
{
	return row->refusal == NULL && !value_true(row->would, "unchanged");
}

/* What it needs to be on is switched before it: an FCM that was off may have forgotten it. */
static bool is_set_again(const struct job_row *rows, size_t at)
{
	const char *needs = value_string(rows[at].would, "needs", "");

	for (size_t i = 0; *needs != '\0' && i < at; i++) {
		if (rows[i].step < rows[at].step && changes_something(&rows[i]) &&
		    strcmp(value_string(rows[i].parameter, "name", ""), needs) == 0) {
			return true;
		}
	}
	return false;
}

static bool works_on_its_object(const struct job_row *before, const struct job_row *row)
{
	const char *name = value_string(row->parameter, "name", "");
	const char *other = value_string(before->parameter, "name", "");

	return before->step < row->step && changes_something(before) &&
	       object_length(other) == object_length(name) &&
	       strncmp(other, name, object_length(name)) == 0;
}

enum plan_fate plan_fate(const struct job_row *rows, size_t at)
{
	const struct job_row *row = &rows[at];
	bool again = is_set_again(rows, at);

	if (value_true(row->would, "unchanged") && !again) {
		return PLAN_UNCHANGED; /* it need not be possible now */
	}
	if (row->refusal == NULL) {
		return PLAN_CHANGE;
	}
	for (size_t i = 0; row->would != NULL && i < at; i++) {
		if (works_on_its_object(&rows[i], row)) {
			return PLAN_LATER;
		}
	}
	return PLAN_IMPOSSIBLE;
}

/* ------------------------------------------------------------------ making */

int plan_make(struct job *job, struct plan *ret_plan)
{
	int code = job_ask(job, false);

	*ret_plan = (struct plan){.job = job};
	code = code == CTL_DONE ? job_check_same(job) : code;
	if (code != CTL_DONE) {
		return code;
	}
	for (size_t i = 0; i < job->count; i++) {
		struct job_row *row = &job->rows[i];

		row->step = row->would != NULL ? value_number(row->would, "step") : 0.0;
	}
	plan_sort(job->rows, job->count);
	for (size_t i = 0; i < job->count; i++) {
		ret_plan->of[plan_fate(job->rows, i)]++;
	}
	return CTL_DONE;
}

/* ------------------------------------------------------------------ showing */

/* Why it would be refused. What every refusal of a set says is no news of a plan, and apply may yet send it. */
static const char *why_refused(const struct job_row *row, char *buf, size_t size)
{
	static const char sent[] = "; nothing was sent";
	size_t length;

	snprintf(buf, size, "%s", value_string(row->refusal, "message", "refused"));
	length = strlen(buf);
	if (length >= sizeof(sent) && strcmp(buf + length - (sizeof(sent) - 1), sent) == 0) {
		buf[length - (sizeof(sent) - 1)] = '\0';
	}
	return buf;
}

static bool is_mute(const struct job_row *row)
{
	return json_is_number(value_at(row->would, "mute_s"));
}

/* It is set so already, but its last reading is old: it may differ. */
static const char *last_read(const struct job_row *row, char *buf, size_t size)
{
	const json_t *age = value_at(row->would, "age_s");
	char span[32];

	if (age == NULL || json_is_null(age)) {
		snprintf(buf, size, "already set, but its read-back is unknown");
	} else {
		snprintf(buf, size, "already set, last read %s ago%s",
			 ctl_span_text(json_number_value(age), span, sizeof(span)),
			 is_mute(row) ? ": the floor does not answer" : "");
	}
	return buf;
}

static const char *remark(const struct job_row *row, enum plan_fate fate, char *buf, size_t size)
{
	const json_t *set = value_at(row->would, "setpoint");
	char reads[64];
	char why[500];
	bool is_set_so = set != NULL && json_equal(set, value_at(row->would, "new"));
	bool needs_yes = value_true(row->would, "needs_yes");

	if (fate == PLAN_IMPOSSIBLE) {
		why_refused(row, buf, size);
	} else if (fate == PLAN_LATER) {
		snprintf(buf, size, "checked again when it is executed; now: %s",
			 why_refused(row, why, sizeof(why)));
	} else if (fate == PLAN_UNCHANGED) {
		snprintf(buf, size, "unchanged");
	} else if (!changes_something(row)) {
		snprintf(buf, size, "set again, because %s is switched first",
			 value_string(row->would, "needs", "?"));
	} else if (plan_now(row) == NULL || json_is_null(plan_now(row))) {
		snprintf(buf, size, "its present value is unknown");
	} else if (value_integer(row->would, "behind", 0) > 0) {
		snprintf(buf, size, "command %lld is still setting it",
			 value_integer(row->would, "behind", 0));
	} else if (is_set_so && strcmp(value_string(row->would, "quality", "good"), "good") != 0) {
		last_read(row, buf, size);
	} else if (is_set_so) {
		snprintf(buf, size, "already set, but reads %s",
			 value_text(value_at(row->would, "value"), VALUE_TYPED, reads,
				    sizeof(reads)));
	} else {
		snprintf(buf, size, "%s%s%s", needs_yes ? "needs yes" : "",
			 needs_yes && is_mute(row) ? "; " : "",
			 is_mute(row) ? "the floor does not answer" : "");
	}
	return buf;
}

static json_t *rows_json(const struct plan *plan, bool all)
{
	static const char *const fates[] = {"change", "later", "unchanged", "impossible"};
	json_t *rows = json_array();

	for (size_t i = 0; i < plan->job->count; i++) {
		const struct job_row *row = &plan->job->rows[i];
		enum plan_fate fate = plan_fate(plan->job->rows, i);
		const json_t *now = plan_now(row);
		const json_t *then = value_at(row->would, "new");
		char text[600];

		if (fate == PLAN_UNCHANGED && !all) {
			continue;
		}
		json_array_append_new(
			rows,
			json_pack("{s:i,s:s,s:O?,s:o,s:s,s:s,s:f,s:s,s:s,s:O?}", "line",
				  (int)row->line, "parameter",
				  value_string(row->parameter, "name", "?"), "now", now, "then",
				  then != NULL ? json_incref((json_t *)(uintptr_t)then)
					       : json_string(row->value),
				  "unit", value_string(row->parameter, "unit", ""), "danger",
				  value_string(row->parameter, "danger", ""), "step", row->step,
				  "fate", fates[fate], "remark",
				  remark(row, fate, text, sizeof(text)), "error", row->refusal));
	}
	return rows;
}

static void danger_cell(struct writer *w, const json_t *row)
{
	const char *danger = value_string(row, "danger", "");

	writer_cell(w, strcmp(danger, "dangerous") == 0 ? WRITER_WARN : WRITER_PLAIN, "%s", danger);
}

static void remark_cell(struct writer *w, const json_t *row)
{
	const char *fate = value_string(row, "fate", "");
	enum writer_style style = *fate == 'i'	 ? WRITER_BAD
				  : *fate == 'l' ? WRITER_WARN
				  : *fate == 'u' ? WRITER_DIM
						 : WRITER_PLAIN;

	writer_cell(w, style, "%s", value_string(row, "remark", ""));
}

static void render_plan(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {{"parameter", "{parameter|?}"},
						      {">now", "{now:typed}"},
						      {">then", "{then:typed}"},
						      {"unit", "{unit}"},
						      {"danger", .cell = danger_cell},
						      {"remark", .cell = remark_cell},
						      {0}};

	value_table(w, value_at(result, "rows"), columns, "nothing changes");
	value_say(w, WRITER_PLAIN, result, "{changes} to change, {unchanged} unchanged");
	if (value_integer(result, "impossible", 0) > 0) {
		value_say(w, WRITER_BAD, result, ", {impossible} cannot be done");
	}
	writer_newline(w);
}

void plan_show(const struct plan *plan, bool all)
{
	json_t *result = json_pack("{s:o,s:i,s:i,s:i}", "rows", rows_json(plan, all), "changes",
				   (int)(plan->of[PLAN_CHANGE] + plan->of[PLAN_LATER]), "unchanged",
				   (int)plan->of[PLAN_UNCHANGED], "impossible",
				   (int)plan->of[PLAN_IMPOSSIBLE]);

	writer_result(plan->job->ctl->out, result, render_plan);
	json_decref(result);
}
