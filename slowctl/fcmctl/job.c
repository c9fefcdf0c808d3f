/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl job: what became of plans and batches, from the journal. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "slowctl/fcmctl/jobs/job.h"
#include "slowctl/fcmctl/show/value.h"

/* "405 DONE, 1 REFUSED" of {STATE: commands}, in the order of a command's life. */
static const char *states_text(const json_t *states, char *buf, size_t size)
{
	static const char *const order[] = {"QUEUED",  "SENT",	 "ACKED",     "DONE",
					    "REFUSED", "FAILED", "CANCELLED", "UNKNOWN"};
	*buf = '\0';
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		long long count = value_integer(states, order[i], 0);

		if (count > 0) {
			value_append(buf, size, "%s%lld %s", *buf != '\0' ? ", " : "", count,
				     order[i]);
		}
	}
	value_append(buf, size, "%s", *buf != '\0' ? "" : "-");
	return buf;
}

/* ------------------------------------------------------------------ list */

static void became_cell(struct writer *w, const json_t *job)
{
	bool done = value_integer(job, "states.DONE", 0) == value_integer(job, "commands", 0);
	bool back = value_integer(job, "back", 0) > 0;
	char text[160];

	writer_cell(w, done && !back ? WRITER_GOOD : WRITER_WARN, "%s%s",
		    states_text(value_at(job, "states"), text, sizeof(text)),
		    back ? ", rolled back" : "");
}

static void render_list(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {{"job", "{job}"},
						      {"?begun (UTC)", "{time:time}"},
						      {"who", "{who}"},
						      {"?>commands", "{commands:count}"},
						      {"became", .cell = became_cell},
						      {"reason", "{reason}"},
						      {0}};

	value_table(w, value_at(result, "jobs"), columns,
		    "no jobs: fcmctl batch and fcmctl apply make them");
}

/* ------------------------------------------------------------------ show */

/* A command of a job. */
struct shown {
	uint64_t row; /* in the order of the rows: of the roll-back, line, index */
	unsigned line, index, attempt;
	bool back;
	json_t *command;
};

static int compare(const void *a, const void *b)
{
	const struct shown *x = a;
	const struct shown *y = b;

	if (x->row != y->row) {
		return x->row < y->row ? -1 : 1;
	}
	return x->attempt < y->attempt ? -1 : x->attempt > y->attempt;
}

/* The commands that are rows of a file, of job or roll-back, in order; *ret_count of them. */
static struct shown *sort(json_t *const commands[2], size_t named, size_t *ret_count)
{
	size_t most = json_array_size(commands[0]) + json_array_size(commands[1]);
	struct shown *all = ctl_memory(NULL, calloc(most + 1, sizeof(*all)));
	size_t count = 0;

	for (unsigned back = 0; back < 2; back++) {
		size_t i;
		json_t *c;

		json_array_foreach (commands[back], i, c) {
			const char *id = value_string(c, "client_id", "") + named +
					 (back ? strlen(JOB_BACK) : 0);
			struct shown row = {.back = back != 0, .command = c};

			if (sscanf(id, ".%u.%u.%u", &row.line, &row.index, &row.attempt) == 3) {
				row.row = (uint64_t)back << 63 | (uint64_t)row.line << 31 |
					  (row.index & 0x7fffffffu);
				all[count++] = row;
			}
		}
	}
	qsort(all, count, sizeof(*all), compare);
	*ret_count = count;
	return all;
}

static json_t *row_json(const struct shown *row)
{
	json_t *json = json_copy(row->command);

	json_object_update_new(json, json_pack("{s:I,s:I,s:I,s:b}", "line", (json_int_t)row->line,
					       "index", (json_int_t)row->index, "attempt",
					       (json_int_t)row->attempt, "roll_back", row->back));
	return json;
}

/* {job, states, back: states of the roll-back, rows}: `state` NULL: all rows. */
static json_t *job_json(const char *id, json_t *const commands[2], const char *state)
{
	json_t *states[2] = {json_object(), json_object()};
	json_t *rows = json_array();
	size_t count;
	struct shown *all = sort(commands, strlen(id), &count);

	for (size_t i = 0; i < count; i++) {
		const char *became = value_string(all[i].command, "state", "?");
		json_t *counts = states[all[i].back];

		if (i + 1 < count && all[i].row == all[i + 1].row) {
			continue; /* an attempt behind it counts */
		}
		json_object_set_new(counts, became,
				    json_integer(value_integer(counts, became, 0) + 1));
		if (state == NULL || strcasecmp(state, became) == 0 ||
		    (strcasecmp(state, "open") == 0 && !job_is_over(all[i].command))) {
			json_array_append_new(rows, row_json(&all[i]));
		}
	}
	free(all);
	return json_pack("{s:s,s:o,s:o,s:o}", "job", id, "states", states[0], "back", states[1],
			 "rows", rows);
}

static void parameter_cell(struct writer *w, const json_t *row)
{
	writer_cell(w, WRITER_PLAIN, "%s%s", value_true(row, "roll_back") ? "back: " : "",
		    value_string(row, "parameter", "?"));
}

static void value_to_cell(struct writer *w, const json_t *row)
{
	bool action = strcmp(value_string(row, "op", ""), "action") == 0;
	char text[96];

	writer_cell(w, WRITER_PLAIN, "%s",
		    action ? "-" : value_fill(row, "{new:word}{unit:behind}", text, sizeof(text)));
}

static void state_cell(struct writer *w, const json_t *row)
{
	const char *state = value_string(row, "state", "?");
	long long attempt = value_integer(row, "attempt", 1);
	bool open = value_true(row, "unattended");
	char again[32] = "";

	if (attempt > 1) {
		snprintf(again, sizeof(again), ", attempt %lld", attempt);
	}
	writer_cell(w, open ? WRITER_WARN : value_style(state), "%s%s%s", state,
		    open ? ", open" : "", again);
}

static void render_show(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {{">line", "{line:count}"},
						      {"parameter", .cell = parameter_cell},
						      {">value", .cell = value_to_cell},
						      {"state", .cell = state_cell},
						      {">command", "{command:count}"},
						      {"detail", "{detail}"},
						      {0}};
	const json_t *back = value_at(result, "back");
	char text[160];

	value_table(w, value_at(result, "rows"), columns, "no such rows");
	writer_text(w, WRITER_PLAIN, "%s",
		    states_text(value_at(result, "states"), text, sizeof(text)));
	if (json_object_size(back) > 0) {
		writer_text(w, WRITER_WARN, "; rolled back: %s",
			    states_text(back, text, sizeof(text)));
	}
	writer_newline(w);
}

static int show_run(struct ctl *ctl, const struct ctl_args *args)
{
	const char *id = args->word[0];
	json_t *commands[2] = {NULL, NULL};
	char back[JOB_ID_MAX + sizeof(JOB_BACK)];
	json_t *result;
	int code;

	if (strlen(id) > JOB_ID_MAX) {
		return ctl_usage(ctl, "fcmctl job list shows them",
				 "'%.40s' is not the name of a job", id);
	}
	snprintf(back, sizeof(back), "%s" JOB_BACK, id);
	code = ctl_check_state(ctl, args);
	code = code == CTL_DONE ? job_read(ctl, id, &commands[0]) : code;
	code = code == CTL_DONE ? job_read(ctl, back, &commands[1]) : code;
	if (code == CTL_DONE && json_array_size(commands[0]) == 0) {
		code = ctl_usage(ctl, "fcmctl job list shows the last ones",
				 "the journal has no job %s", id);
	}
	if (code == CTL_DONE) {
		result = job_json(id, commands, args->text[CTL_STATE]);
		writer_result(ctl->out, result, render_show);
		json_decref(result);
	}
	json_decref(commands[0]);
	json_decref(commands[1]);
	return code;
}

const struct ctl_command ctl_job_commands[] = {
	{"job", "list", "", "the last batches and applied plans",
	 .help = "The newest 20 jobs (batch, apply, snapshot restore): who, why, and the\n"
		 "states of their commands. Also works while the daemon is not running.\n\n"
		 "  fcmctl job list",
	 .options = CTL_BIT(CTL_LIMIT), .op = "job.list", .render = render_list, .limit = 20},
	{"job", "show", "JOB", "what the rows of one became",
	 .help = "One row for each line of the file (for a pattern: for each name), with\n"
		 "its last attempt in the journal; then the rows of the roll-back. A\n"
		 "command that was never sent is not in the journal. Also works while\n"
		 "the daemon is not running.\n\n"
		 "  fcmctl job show 20261122T074512-3fa29c01 --state FAILED",
	 .options = CTL_BIT(CTL_STATE), .run = show_run},
	{0},
};
