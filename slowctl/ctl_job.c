/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs: see ctl_job.h. From a file to requests, and what is told when it does not come to its end. */
#include "slowctl/ctl_job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "slowctl/ctl_send.h"
#include "slowctl/ctl_value.h"
#include "slowctl/param.h"

#define NAMES_SHOWN 5u

const char *job_doing(const struct job_row *row, char *buf, size_t size)
{
	snprintf(buf, size, "%s %s%s%s", row->value != NULL ? "set" : "action",
		 value_string(row->parameter, "name", "?"), row->value != NULL ? " " : "",
		 row->value != NULL ? row->value : "");
	return buf;
}

/* ------------------------------------------------------------------ names */

/* As it may be typed: in full, or without its tower. */
static bool is_named(const char *full, const char *name)
{
	const char *dot = strncmp(full, "tower", 5) == 0 ? strchr(full, '.') : NULL;

	return strcmp(full, name) == 0 || (dot != NULL && strcmp(dot + 1, name) == 0);
}

static int fail_line(const struct job *job, unsigned line, const char *hint, const char *text)
{
	char at[32] = "";

	if (line > 0) {
		snprintf(at, sizeof(at), ":%u", line);
	}
	return ctl_fail(job->ctl, CTL_USAGE, "usage", hint, "%s%s: %s; nothing was sent",
			job->source, at, text);
}

/* The daemon says what is wrong with the name, and what is near. */
static int fail_name(const struct job *job, const struct job_line *line)
{
	char doing[300];
	char text[160];
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
	snprintf(text, sizeof(text), "'%.80s' %s", line->name,
		 line->value != NULL ? "cannot be set" : "is no action");
	return fail_line(job, line->line, "fcmctl get lists the names with their access", text);
}

static int add_row(struct job *job, size_t *room, const struct job_row *row)
{
	struct job_row *rows = job->rows;

	if (job->count == *room) {
		*room = *room > 0 ? 2 * *room : 256;
		rows = realloc(rows, *room * sizeof(*rows));
		if (rows == NULL) {
			return ctl_fail(job->ctl, CTL_NOT, "internal", "", "out of memory");
		}
		job->rows = rows;
	}
	job->rows[job->count++] = *row;
	return CTL_DONE;
}

/* In a plan each parameter has one value: that of its own line, else that of the pattern. */
static int add_once(struct job *job, size_t *room, const struct job_row *row)
{
	char text[200];

	for (size_t i = 0; i < job->count; i++) {
		struct job_row *other = &job->rows[i];

		if (other->parameter != row->parameter) {
			continue;
		}
		if (other->by_pattern == row->by_pattern) {
			snprintf(text, sizeof(text), "%s is in line %u already",
				 value_string(row->parameter, "name", "?"), other->line);
			return fail_line(job, row->line,
					 "one value each; a line of its own overrides a pattern",
					 text);
		}
		if (other->by_pattern) {
			*other = *row;
		}
		return CTL_DONE;
	}
	return add_row(job, room, row);
}

static int add_line(struct job *job, size_t *room, const struct job_line *line, bool once)
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
		code = once ? add_once(job, room, &row) : add_row(job, room, &row);
		if (code != CTL_DONE) {
			return code;
		}
		row.index++;
	}
	return row.parameter != NULL ? CTL_DONE : fail_name(job, line);
}

static int find_names(struct job *job, bool once)
{
	json_t *result = NULL;
	size_t room = 0;
	int err = ctl_connect(job->ctl);
	int code = err != 0 ? ctl_away_fail(job->ctl, err, true)
			    : ctl_ask(job->ctl, "param.list", NULL, &result);

	if (code == CTL_DONE) {
		job->parameters = json_incref(json_object_get(result, "parameters"));
	}
	json_decref(result);
	for (size_t i = 0; code == CTL_DONE && i < job->file.count; i++) {
		code = add_line(job, &room, &job->file.lines[i], once);
	}
	return code;
}

/* ------------------------------------------------------------------ earlier runs */

enum many_state job_settled(const json_t *before, bool action, unsigned *ret_attempt)
{
	const char *state = value_string(before, "state", "");
	bool over = json_is_number(json_object_get(before, "ended"));
	const char *client_id = value_string(before, "client_id", "");
	const char *last = strrchr(client_id, '.');

	*ret_attempt = last != NULL ? (unsigned)strtoul(last + 1, NULL, 10) : 1;
	if (strcmp(state, "DONE") == 0) {
		return MANY_SKIPPED;
	}
	if (!over) {
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

/* Which row of the job a client id belongs to: JOB.LINE.INDEX.ATTEMPT */
static struct job_row *row_of(struct job *job, const char *client_id)
{
	unsigned line;
	unsigned index;

	if (sscanf(client_id + strlen(job->id), ".%u.%u.", &line, &index) != 2) {
		return NULL;
	}
	for (size_t i = 0; i < job->count; i++) {
		if (job->rows[i].line == line && job->rows[i].index == index) {
			return &job->rows[i];
		}
	}
	return NULL;
}

static unsigned attempt_of(const json_t *command)
{
	const char *last = strrchr(value_string(command, "client_id", ""), '.');

	return last != NULL ? (unsigned)strtoul(last + 1, NULL, 10) : 0;
}

static int take_history(struct job *job, const json_t *commands)
{
	char text[200];
	size_t i;
	json_t *c;

	json_array_foreach (commands, i, c) {
		struct job_row *row = row_of(job, value_string(c, "client_id", ""));

		if (row == NULL || strcmp(value_string(row->parameter, "name", ""),
					  value_string(c, "parameter", "?")) != 0) {
			snprintf(text, sizeof(text),
				 "job %s is of another file: it has %.64s (%.63s)", job->id,
				 value_string(c, "parameter", "?"),
				 value_string(c, "client_id", "?"));
			return fail_line(job, 0, "begin a new job: leave --job out", text);
		}
		if (row->before == NULL || attempt_of(c) > attempt_of(row->before)) {
			row->before = c;
		}
		json_array_append(job->commands, c);
	}
	return CTL_DONE;
}

static int read_history(struct job *job)
{
	char after[64] = "";
	bool more = true;
	int code = CTL_DONE;

	job->commands = json_array();
	while (code == CTL_DONE && more) {
		json_t *result = NULL;
		const json_t *commands;

		code = ctl_ask(job->ctl, "job.show",
			       json_pack("{s:s,s:s}", "job", job->id, "after", after), &result);
		commands = value_at(result, "commands");
		more = value_true(result, "more");
		if (code == CTL_DONE) {
			snprintf(after, sizeof(after), "%s",
				 value_string(
					 json_array_get(commands, json_array_size(commands) - 1),
					 "client_id", ""));
			code = take_history(job, commands);
		}
		json_decref(result);
	}
	if (code == CTL_DONE && json_array_size(job->commands) == 0) {
		return ctl_fail(job->ctl, CTL_USAGE, "usage",
				"fcmctl command list shows client ids, which begin with it",
				"the journal knows no command of a job %s", job->id);
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

static int name_job(struct job *job)
{
	const char *given = job->args->text[CTL_JOB];
	time_t now = (time_t)ctl_now();
	struct tm tm;
	size_t used;

	if (given != NULL && !id_ok(given)) {
		return ctl_fail(job->ctl, CTL_USAGE, "usage",
				"as it was told: letters, digits, - and _, at most 32",
				"'%.40s' is no job", given);
	}
	job->goes_on = given != NULL;
	if (given != NULL) {
		snprintf(job->id, sizeof(job->id), "%s", given);
		return CTL_DONE;
	}
	gmtime_r(&now, &tm);
	used = strftime(job->id, sizeof(job->id), "%Y%m%dT%H%M%S", &tm);
	snprintf(job->id + used, sizeof(job->id) - used, "-%08" PRIx64,
		 ctl_send_random() & 0xffffffffu);
	return CTL_DONE;
}

static int read_source(struct job *job, char **ret_text, size_t *ret_length)
{
	int err = job_file_read(job->args->word[0], ret_text, ret_length);

	if (err == 0) {
		return CTL_DONE;
	}
	return ctl_fail(job->ctl, CTL_USAGE, "usage",
			err == -EFBIG ? "at most 16 MiB: make it several" : "", "%s: %s",
			job->source, strerror(-err));
}

static int open_job(struct job *job, char *text, size_t length, bool plan)
{
	struct job_fault fault = {.line = 0};
	int err = plan ? job_file_plan(text, length, &job->file, &fault)
		       : job_file_batch(text, length, &job->file, &fault);
	int code;

	if (err == -ENOMEM) {
		return ctl_fail(job->ctl, CTL_NOT, "internal", "", "out of memory");
	}
	if (err != 0) {
		return fail_line(job, fault.line, fault.hint, fault.text);
	}
	if (job->file.count == 0) {
		return fail_line(job, 0,
				 plan ? "NAME = VALUE, one a line" : "set NAME VALUE, one a line",
				 "nothing is in it");
	}
	code = name_job(job);
	code = code == CTL_DONE ? find_names(job, plan) : code;
	return code == CTL_DONE && job->goes_on ? read_history(job) : code;
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
	int code;

	begin(ret_job, ctl, args, args->word[0]);
	code = read_source(ret_job, &text, &length);
	return code == CTL_DONE ? open_job(ret_job, text, length, plan) : code;
}

int job_open_batch(struct ctl *ctl, const struct ctl_args *args, struct job *ret_job)
{
	return open_file(ctl, args, false, ret_job);
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
	json_decref(job->commands);
	job_file_free(&job->file);
	*job = (struct job){0};
}

/* ------------------------------------------------------------------ requests */

static bool is_dangerous(const struct job_row *row)
{
	return strcmp(value_string(row->parameter, "danger", ""), "dangerous") == 0;
}

static json_t *request_args(const struct job *job, const struct job_row *row, bool dry, bool yes)
{
	const char *reason = job->args->text[CTL_REASON];
	json_t *what = json_pack("{s:s}", "name", value_string(row->parameter, "name", ""));
	char text[200];

	if (row->value != NULL) {
		json_object_set_new(what, "value", json_string(row->value));
	}
	if (ctl_given(job->args, CTL_FORCE)) {
		json_object_set_new(what, "force", json_true());
	}
	if (is_dangerous(row) && yes) {
		json_object_set_new(what, "yes", json_true());
	}
	if (dry) {
		json_object_set_new(what, "dry_run", json_true());
		return what;
	}
	snprintf(text, sizeof(text), "%s.%u.%u.%u", job->id, row->line, row->index, row->attempt);
	json_object_set_new(what, "client_id", json_string(text));
	snprintf(text, sizeof(text), "%s %.120s", job->args->command->verb, job->source);
	json_object_set_new(what, "reason", json_string(reason != NULL ? reason : text));
	return what;
}

/* What an earlier run came to, as an answer of this one. */
static json_t *earlier_answer(const json_t *before)
{
	return json_pack("{s:s,s:o,s:s,s:o}", "code",
			 strcmp(value_string(before, "state", ""), "UNKNOWN") == 0 ? "unknown"
										   : "failed",
			 "message",
			 json_sprintf("an earlier run of this job: %s; it is not done again",
				      value_string(before, "detail", "")),
			 "hint", "look at it, and do it by itself if it is still wanted", "command",
			 json_integer(value_integer(before, "command", 0)));
}

struct many_row *job_requests(const struct job *job, bool dry, bool yes)
{
	struct many_row *rows = calloc(job->count + 1, sizeof(*rows));

	for (size_t i = 0; rows != NULL && i < job->count; i++) {
		struct job_row *row = &job->rows[i];

		if (row->before != NULL && !dry) {
			rows[i].state = job_settled(row->before, row->value == NULL, &row->attempt);
			rows[i].command = value_integer(row->before, "command", 0);
			rows[i].answer =
				rows[i].state == MANY_FAILED || rows[i].state == MANY_UNKNOWN
					? earlier_answer(row->before)
					: NULL;
		}
		rows[i].op = row->value != NULL ? "param.set" : "param.action";
		rows[i].args = request_args(job, row, dry, yes);
		rows[i].step = row->step;
		rows[i].item = row;
	}
	return rows;
}

int job_ask_danger(const struct job *job, const struct many_row *rows, size_t count)
{
	size_t dangerous = 0;
	char line[16] = "";

	if (ctl_given(job->args, CTL_YES)) {
		return CTL_DONE;
	}
	for (size_t i = 0; i < count; i++) {
		const struct job_row *row = rows[i].item;

		if (rows[i].state != MANY_WAITS || !is_dangerous(row)) {
			continue;
		}
		if (dangerous++ < NAMES_SHOWN) {
			char doing[200];

			ctl_remark("dangerous: %s: %s", job_doing(row, doing, sizeof(doing)),
				   value_string(row->parameter, "description", ""));
		}
	}
	if (dangerous == 0) {
		return CTL_DONE;
	}
	if (dangerous > NAMES_SHOWN) {
		ctl_remark("and %zu more", dangerous - NAMES_SHOWN);
	}
	if (job->ctl->can_ask) {
		fprintf(stderr, "%s: type yes to go on with all: ", job->source);
		fflush(stderr);
		if (fgets(line, sizeof(line), stdin) == NULL) {
			fputc('\n', stderr);
		}
	}
	if (strcmp(line, "yes\n") == 0 || strcmp(line, "y\n") == 0) {
		return CTL_DONE;
	}
	return ctl_fail(job->ctl, CTL_NOT, "needs-yes", "repeat it with --yes",
			"%s: %zu of them are dangerous; nothing was sent", job->source, dangerous);
}

/* ------------------------------------------------------------------ ends */

static void tell_under_way(const struct many *m)
{
	size_t shown = 0;
	size_t under_way = 0;

	for (size_t i = 0; i < m->count; i++) {
		under_way += m->rows[i].state == MANY_SENT;
	}
	if (under_way == 0) {
		return;
	}
	ctl_remark("%zu under way go on in the daemon:", under_way);
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

void job_tell_end(const struct job *job, const struct many *m, enum many_end end)
{
	const char *pattern = job->args->words > 1 ? job->args->word[1] : NULL;
	size_t unsent = 0;

	if (end == MANY_ALL) {
		return;
	}
	for (size_t i = 0; i < m->count; i++) {
		unsent += m->rows[i].state == MANY_WAITS;
	}
	if (end == MANY_BROKEN && ctl_is_away(m->err) && unsent == m->count) {
		ctl_away_fail(job->ctl, m->err, true);
		return;
	}
	if (end != MANY_STOPPED) {
		ctl_remark("%s: %s", job->source,
			   end == MANY_INTERRUPTED ? "interrupted"
			   : m->err == -ETIMEDOUT  ? "no word from the daemon for two minutes"
			   : m->err == -ECONNRESET ? "the daemon went away"
						   : strerror(-m->err));
	}
	tell_under_way(m);
	ctl_remark("%zu were not sent", unsent);
	ctl_remark("to go on: fcmctl %s %s%s%s%s%s --job %s", job->ctl->doing, job->args->word[0],
		   pattern != NULL ? " '" : "", pattern != NULL ? pattern : "",
		   pattern != NULL ? "'" : "", ctl_given(job->args, CTL_YES) ? " --yes" : "",
		   job->id);
}

int job_exit(const struct many_row *rows, size_t count)
{
	int worst = CTL_DONE;

	for (size_t i = 0; i < count; i++) {
		int code = rows[i].state == MANY_DONE || rows[i].state == MANY_SKIPPED ? CTL_DONE
			   : rows[i].state == MANY_FAILED			       ? CTL_NOT
			   : rows[i].state == MANY_WAITS			       ? CTL_NOT
							 : CTL_UNKNOWN;

		worst = code > worst ? code : worst;
	}
	return worst;
}
