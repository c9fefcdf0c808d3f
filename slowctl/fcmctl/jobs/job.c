/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs: see job.h. From a file to requests, and the report of a run that has stopped early. */
#include "slowctl/fcmctl/jobs/job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "slowctl/fcmctl/show/value.h"
#include "slowctl/param/param.h"

#define NAMES_SHOWN 5u
#define ROWS_MORE   256u /* room for so many at once */

const char *job_doing(const struct job_row *row, char *buf, size_t size)
{
	snprintf(buf, size, "%s %s%s%s", row->value != NULL ? "set" : "action",
		 value_string(row->parameter, "name", "?"), row->value != NULL ? " " : "",
		 row->value != NULL ? row->value : "");
	return buf;
}

/* ------------------------------------------------------------------ names */

/* Whether `name` names the parameter `full`: in full, or without its tower. */
static bool is_named(const char *full, const char *name)
{
	const char *dot = strncmp(full, "tower", 5) == 0 ? strchr(full, '.') : NULL;

	return strcmp(full, name) == 0 || (dot != NULL && strcmp(dot + 1, name) == 0);
}

/* Lets the daemon say what is wrong with the name, and which names are similar. */
static int fail_name(const struct job *job, const struct job_line *line)
{
	char doing[300];
	json_t *result = NULL;
	struct ctl_request request = {
		.op = "param.get",
		.args = json_pack("{s:[s]}", "names", line->name),
		.doing = doing,
	};
	int code;

	snprintf(doing, sizeof(doing), "%.200s:%u", job->source, line->line);
	code = ctl_request(job->ctl, &request, &result);
	json_decref(result);
	if (code != CTL_DONE) {
		return code;
	}
	return job_fail_line(job, line->line, "fcmctl get lists the names with their access",
			     "'%.80s' %s", line->name,
			     line->value != NULL ? "cannot be set" : "is no action");
}

static int add_row(struct job *job, const struct job_row *row)
{
	if (job->count % ROWS_MORE == 0) {
		job->rows = ctl_memory(
			job->ctl, reallocarray(job->rows, job->count + ROWS_MORE, sizeof(*row)));
	}
	job->rows[job->count++] = *row;
	return CTL_DONE;
}

/* In a plan each parameter has one value: of its own line, else of the pattern. */
static int add_once(struct job *job, const struct job_row *row)
{
	for (size_t i = 0; i < job->count; i++) {
		struct job_row *other = &job->rows[i];

		if (other->parameter != row->parameter) {
			continue;
		}
		if (other->by_pattern == row->by_pattern) {
			return job_fail_line(
				job, row->line,
				"one value for each; a line with the full name overrides a pattern",
				"%s is in line %u already",
				value_string(row->parameter, "name", "?"), other->line);
		}
		if (other->by_pattern) {
			*other = *row;
		}
		return CTL_DONE;
	}
	return add_row(job, row);
}

static int add_line(struct job *job, const struct job_line *line, bool once)
{
	bool pattern = strpbrk(line->name, "*?[") != NULL;
	const char *access = line->value != NULL ? "rw" : "action";
	struct job_row row = {
		.line = line->line,
		.step = line->step,
		.by_pattern = pattern,
		.value = line->value,
		.attempt = 1,
	};
	size_t i;
	const json_t *p;

	json_array_foreach (job->parameters, i, p) {
		const char *name = value_string(p, "name", "");
		int code;

		if (strcmp(value_string(p, "access", ""), access) != 0 ||
		    !(pattern ? param_name_matches(line->name, name)
			      : is_named(name, line->name))) {
			continue;
		}
		if (row.parameter != NULL && !pattern) {
			return fail_name(job, line); /* in two towers */
		}
		row.parameter = p;
		code = (once ? add_once : add_row)(job, &row);
		if (code != CTL_DONE) {
			return code;
		}
		row.index++;
	}
	return row.parameter != NULL ? CTL_DONE : fail_name(job, line);
}

/* Of `op`; they have the parameters of the job. */
static int ask_parameters(struct job *job, const char *op, json_t *args)
{
	json_t *result = NULL;
	int err = ctl_connect(job->ctl);
	int code;

	if (err != 0) {
		json_decref(args);
		return ctl_away_fail(job->ctl, err, true);
	}
	code = ctl_ask(job->ctl, op, args, &result);
	job->parameters = json_incref(json_object_get(result, "parameters"));
	json_decref(result);
	return code;
}

int job_open_typed(struct ctl *ctl, const struct ctl_args *args, const char *source, const char *op,
		   json_t *typed, struct job *ret_job)
{
	const char *access = strcmp(op, "param.action") == 0 ? "action" : "rw";
	struct job_row row = {.value = value_string(typed, "value", NULL), .attempt = 1};
	size_t i;
	int code;

	*ret_job = (struct job){.ctl = ctl, .args = args, .source = source, .typed = typed};
	code = ask_parameters(ret_job, "param.get", json_pack("{s:[s]}", "names", args->word[0]));
	json_array_foreach (ret_job->parameters, i, row.parameter) {
		if (strcmp(value_string(row.parameter, "access", ""), access) == 0) {
			add_row(ret_job, &row);
		}
	}
	if (code == CTL_DONE && ret_job->count == 0) {
		return ctl_usage(ctl, "fcmctl get lists them with their access",
				 "nothing that matches '%s' %s", args->word[0],
				 *access == 'a' ? "is an action" : "can be set");
	}
	return code;
}

static int find_names(struct job *job, bool once)
{
	int code = ask_parameters(job, "param.list", NULL);

	for (size_t i = 0; code == CTL_DONE && i < job->file.count; i++) {
		code = add_line(job, &job->file.lines[i], once);
	}
	return code;
}

/* ------------------------------------------------------------------ opening */

static bool id_ok(const char *id)
{
	static const char legal[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	return *id != '\0' && strlen(id) <= JOB_ID_MAX && strspn(id, legal) == strlen(id);
}

static uint64_t random_number(void)
{
	uint64_t random = 0;

	/* Never fails for 8 bytes once the kernel is up. */
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
		random = 0;
	}
	return random;
}

static int name_job(struct job *job)
{
	const char *given = job->args->text[CTL_JOB];
	time_t now = (time_t)ctl_now();
	struct tm tm;
	size_t used;

	if (given != NULL && !id_ok(given)) {
		return ctl_usage(
			job->ctl,
			"a name that fcmctl has shown: letters, digits, - and _, at most 30",
			"'%.40s' is not the name of a job", given);
	}
	if (given != NULL && job_is_back(given)) {
		return ctl_usage(job->ctl, "continue it by the job's own name, and --roll-back",
				 "%s is the roll-back of a job", given);
	}
	job->goes_on = given != NULL;
	if (given != NULL) {
		snprintf(job->id, sizeof(job->id), "%s", given);
		return CTL_DONE;
	}
	gmtime_r(&now, &tm);
	used = strftime(job->id, sizeof(job->id), "%Y%m%dT%H%M%S", &tm);
	snprintf(job->id + used, sizeof(job->id) - used, "-%08" PRIx64,
		 random_number() & 0xffffffffu);
	return CTL_DONE;
}

static int open_job(struct job *job, char *text, size_t length, bool plan)
{
	struct ctl_fault fault = {.line = 0};
	int err = job_file_parse(text, length, plan, &job->file, &fault);
	int code;

	if (err == -ENOMEM) {
		return ctl_fail(job->ctl, CTL_NOT, "internal", "", "out of memory");
	}
	if (err != 0) {
		return job_fail_line(job, fault.line, fault.hint, "%s", fault.text);
	}
	if (job->file.count == 0) {
		return job_fail_line(
			job, 0, plan ? "NAME = VALUE, one a line" : "set NAME VALUE, one a line",
			"it is empty");
	}
	code = name_job(job);
	code = code == CTL_DONE ? find_names(job, plan) : code;
	return code == CTL_DONE && job->goes_on ? job_read_past(job, plan) : code;
}

static void begin(struct job *job, struct ctl *ctl, const struct ctl_args *args, const char *source)
{
	*job = (struct job){.ctl = ctl, .args = args};
	job->source = strcmp(source, "-") == 0 ? "standard input" : source;
}

static int open_file(struct ctl *ctl, const struct ctl_args *args, bool plan, struct job *ret_job)
{
	char *text = NULL;
	size_t length = 0;
	int err;

	begin(ret_job, ctl, args, args->word[0]);
	err = job_file_read(args->word[0], &text, &length);
	return err == 0 ? open_job(ret_job, text, length, plan)
			: ctl_usage(ctl, err == -EFBIG ? "at most 16 MiB: make it several" : "",
				    "%s: %s", ret_job->source, strerror(-err));
}

int job_open_batch(struct ctl *ctl, const struct ctl_args *args, struct job *ret_job)
{
	int code = open_file(ctl, args, false, ret_job);

	if (code != CTL_DONE || !ret_job->goes_on || ctl_given(args, CTL_DRY_RUN)) {
		return code;
	}
	code = job_ask(ret_job, true);
	return code == CTL_DONE ? job_check_same(ret_job) : code;
}

int job_open_plan(struct ctl *ctl, const struct ctl_args *args, struct job *ret_job)
{
	return open_file(ctl, args, true, ret_job);
}

int job_open_text(struct ctl *ctl, const struct ctl_args *args, const char *source, char *text,
		  struct job *ret_job)
{
	begin(ret_job, ctl, args, source);
	return open_job(ret_job, text, strlen(text), true);
}

void job_close(struct job *job)
{
	for (size_t i = 0; i < job->count; i++) {
		json_decref(job->rows[i].would);
		json_decref(job->rows[i].refusal);
	}
	free(job->rows);
	json_decref(job->parameters);
	json_decref(job->typed);
	json_decref(job->commands);
	json_decref(job->back_commands);
	json_decref(job->values);
	job_file_free(&job->file);
	*job = (struct job){0};
}

/* ------------------------------------------------------------------ requests */

json_t *ctl_client_id(void)
{
	return json_sprintf("fcmctl-%ld-%016" PRIx64, (long)getpid(), random_number());
}

/* In a job by the row's place, so that the journal knows each; else a unique one. */
static json_t *client_id(const struct job *job, const struct job_row *row)
{
	return *job->id != '\0'
		       ? json_sprintf("%s.%u.%u.%u", job->id, row->line, row->index, row->attempt)
		       : ctl_client_id();
}

bool ctl_is_dangerous(const json_t *parameter)
{
	return strcmp(value_string(parameter, "danger", ""), "dangerous") == 0;
}

static json_t *request_args(const struct job *job, const struct job_row *row, bool dry, bool yes)
{
	const char *reason = job->args->text[CTL_REASON];
	json_t *what = job->typed != NULL ? json_copy(job->typed) : json_object();

	json_object_set(what, "name", json_object_get(row->parameter, "name"));
	if (row->value != NULL) {
		json_object_set_new(what, "value", json_string(row->value));
	}
	ctl_put_given(job->args, CTL_BIT(CTL_FORCE), what);
	if (ctl_is_dangerous(row->parameter) && yes) {
		json_object_set_new(what, "yes", json_true());
	}
	if (dry) {
		json_object_set_new(what, "dry_run", json_true());
		return what;
	}
	json_object_set_new(what, "client_id", client_id(job, row));
	if (reason != NULL || *job->id != '\0') {
		json_object_set_new(
			what, "reason",
			reason != NULL
				? json_string(reason)
				: json_sprintf("%s %.120s", job->args->command->verb, job->source));
	}
	return what;
}

/* The outcome of an earlier run, as an answer of this one. */
json_t *job_earlier_answer(const json_t *before)
{
	return json_pack("{s:s,s:o,s:s,s:o}", "code",
			 strcmp(value_string(before, "state", ""), "UNKNOWN") == 0 ? "unknown"
										   : "failed",
			 "message",
			 json_sprintf("an earlier run of this job: %s; it is not done again",
				      value_string(before, "detail", "")),
			 "hint", "check it, and send it as a single command if it is still needed",
			 "command", json_integer(value_integer(before, "command", 0)));
}

/* The state that an earlier run has left the row in. */
static void settle(struct job_row *row, struct many_row *r)
{
	r->state = job_settled(row->before, row->value == NULL, &row->attempt);
	r->open = r->state == MANY_WAITS && !job_is_over(row->before);
	r->command = value_integer(row->before, "command", 0);
	if (r->state == MANY_FAILED || r->state == MANY_UNKNOWN) {
		r->answer = job_earlier_answer(row->before);
	}
}

/* The last value in the file counts: a value is not set after a later one that an earlier run has sent for good. */
static void pass_overtaken(const struct job *job, struct many_row *rows)
{
	json_t *later = json_object(); /* by parameter: the line */

	for (size_t i = job->count; i-- > 0;) {
		struct job_row *row = &job->rows[i];
		const char *name = value_string(row->parameter, "name", "");
		json_int_t line = json_integer_value(json_object_get(later, name));

		if (row->value == NULL) {
			continue;
		}
		if (rows[i].state != MANY_WAITS || rows[i].open) {
			json_object_set_new(later, name, json_integer(row->line));
		} else if (line > 0) {
			rows[i].state = MANY_SKIPPED;
			row->overtaken = (unsigned)line;
		}
	}
	json_decref(later);
}

struct many_row *job_requests(const struct job *job, bool dry, bool yes)
{
	struct many_row *rows = ctl_memory(job->ctl, calloc(job->count + 1, sizeof(*rows)));

	for (size_t i = 0; i < job->count; i++) {
		struct job_row *row = &job->rows[i];

		if (row->before != NULL && !dry) {
			settle(row, &rows[i]);
		}
		rows[i].op = row->value != NULL ? "param.set" : "param.action";
		rows[i].args = request_args(job, row, dry, yes);
		rows[i].step = row->step;
		rows[i].item = row;
	}
	if (job->goes_on && !dry) {
		pass_overtaken(job, rows);
	}
	return rows;
}

int job_fail_dry(const struct job *job)
{
	return ctl_fail(job->ctl, CTL_UNKNOWN, "broken", "",
			"%s: the daemon did not say what it would do; nothing was sent",
			job->source);
}

int job_ask(struct job *job, bool only_past)
{
	struct many many = {
		.ctl = job->ctl,
		.rows = job_requests(job, true, ctl_given(job->args, CTL_YES)),
		.count = job->count,
	};
	enum many_end end;

	for (size_t i = 0; i < many.count; i++) {
		if (only_past && !job_stands(&job->rows[i])) {
			many.rows[i].state = MANY_SKIPPED;
		}
	}
	end = many_run(&many);
	for (size_t i = 0; end == MANY_ALL && i < many.count; i++) {
		struct job_row *row = many.rows[i].item;
		json_t *would = many.rows[i].answer;

		if (many.rows[i].state != MANY_DONE) {
			row->refusal = json_incref(would);
			would = json_object_get(would, "would");
		}
		row->would = json_incref(would);
	}
	many_rows_free(many.rows, many.count);
	return end == MANY_ALL ? CTL_DONE : job_fail_dry(job);
}

/* ------------------------------------------------------------------ ends */

/* `away`: the daemon has ended; when it is back it asks the floors what became of the commands. */
static void report_under_way(const struct many *m, size_t under_way, bool away)
{
	size_t shown = 0;

	if (under_way == 0) {
		return;
	}
	ctl_remark("%zu under way %s:", under_way,
		   away ? "are settled by the daemon when it is back, and never sent again"
			: "continue in the daemon");
	for (size_t i = 0; i < m->count && shown < NAMES_SHOWN; i++) {
		char doing[200];
		char command[32] = "";

		if (m->rows[i].state != MANY_SENT) {
			continue;
		}
		if (m->rows[i].command > 0) {
			snprintf(command, sizeof(command), " (command %lld)", m->rows[i].command);
		}
		ctl_remark("  %s%s", job_doing(m->rows[i].item, doing, sizeof(doing)), command);
		shown++;
	}
	if (under_way > shown) {
		ctl_remark("  and %zu more", under_way - shown);
	}
}

/* The command that continues the job, as it was typed. */
static const char *command_on(const struct job *job, char *buf, size_t size)
{
	buf[0] = '\0';
	ctl_append_typed(buf, size, job->ctl, job->args);
	if (!job->goes_on) {
		ctl_append_word(buf, size, "job", job->id);
	}
	return buf;
}

/* Whether it stopped at a row that an earlier run has left UNKNOWN. */
static bool stopped_before(const struct many *m)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct job_row *row = m->rows[i].item;

		if (m->rows[i].state == MANY_UNKNOWN && m->rows[i].id == 0 && row->before != NULL) {
			return m->stop_at_failure;
		}
	}
	return false;
}

void job_report_end(const struct job *job, const struct many *m, enum many_end end)
{
	char command[3 * PATH_MAX];
	char why[96];
	size_t of[MANY_STATES];

	if (end == MANY_ALL) {
		return;
	}
	many_count(m, of);
	if (end == MANY_BROKEN && ctl_is_away(m->err) && of[MANY_WAITS] == m->count) {
		ctl_away_fail(job->ctl, m->err, true);
		return;
	}
	if (end != MANY_STOPPED) {
		ctl_remark("%s: %s", job->source,
			   ctl_broken_text(m->err, m->patience_s, why, sizeof(why)));
	}
	report_under_way(m, of[MANY_SENT],
			 end == MANY_BROKEN && (m->err == -ECONNRESET || ctl_is_away(m->err)));
	if (of[MANY_WAITS] > 0) {
		ctl_remark("%zu %s not sent", of[MANY_WAITS], of[MANY_WAITS] == 1 ? "was" : "were");
	}
	if (*job->id == '\0') {
		return;
	}
	ctl_remark("to continue: %s%s", command_on(job, command, sizeof(command)),
		   stopped_before(m) ? "; it stops there again without --keep-going" : "");
}

int job_exit(const struct many *m, enum many_end end)
{
	size_t of[MANY_STATES];

	many_count(m, of);
	if (end == MANY_BROKEN || end == MANY_INTERRUPTED || of[MANY_SENT] + of[MANY_UNKNOWN] > 0) {
		return CTL_UNKNOWN;
	}
	return of[MANY_FAILED] + of[MANY_WAITS] > 0 ? CTL_NOT : CTL_DONE;
}
