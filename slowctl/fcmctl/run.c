/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl run: runs of physics. */
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/value.h"

static void render_start(struct writer *w, const json_t *result)
{
	long long run = value_integer(result, "run", 0);
	long long slice = value_integer(result, "from_slice", 0);

	if (slice > 0) {
		writer_text(w, WRITER_PLAIN, "run %lld begins at slice %lld", run, slice);
	} else {
		writer_text(w, WRITER_WARN,
			    "run %lld begins at an unknown slice: there is no time, or no board; "
			    "run show has its first slice when there is",
			    run);
	}
	writer_newline(w);
}

static void render_stop(struct writer *w, const json_t *result)
{
	long long run = value_integer(result, "run", 0);
	long long slice = value_integer(result, "to_slice", 0);

	if (slice > 0) {
		writer_text(w, WRITER_PLAIN, "run %lld ends at slice %lld; data flow on as run 0",
			    run, slice);
	} else {
		writer_text(
			w, WRITER_WARN,
			"run %lld ends at an unknown slice: there is no time, or no board; data "
			"flow on as run 0",
			run);
	}
	writer_newline(w);
}

static void render_show(struct writer *w, const json_t *result)
{
	static const char *const columns[] = {
		">run", "begun (UTC)", "ended (UTC)", ">from slice", ">to slice", "who", "note"};
	long long current = value_integer(result, "current", 0);
	size_t i;
	const json_t *run;

	if (current > 0) {
		writer_text(w, WRITER_GOOD, "run %lld is going on", current);
	} else {
		writer_text(w, WRITER_PLAIN, "no run is going on; data flow as run 0");
	}
	writer_newline(w);
	writer_table(w, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach (value_at(result, "runs"), i, run) {
		value_cell(w, run, "number", VALUE_COUNT);
		value_cell(w, run, "begun", VALUE_TIME);
		value_cell(w, run, "ended", VALUE_TIME);
		value_cell(w, run, "begun_slice", VALUE_COUNT);
		value_cell(w, run, "ended_slice", VALUE_COUNT);
		value_cell(w, run, "who", VALUE_PLAIN);
		value_cell(w, run, "note", VALUE_PLAIN);
	}
	writer_table_end(w, "no runs yet");
}

static int change(struct ctl *ctl, const struct ctl_args *typed, const char *op, const char *doing,
		  json_t *args, writer_render_fn render)
{
	struct ctl_request request = {
		.op = op,
		.args = args,
		.doing = doing,
		.look = "run show",
		.timeout_s = 10.0,
	};
	json_t *result = NULL;
	int code;

	ctl_put_dry(typed, args);
	code = ctl_request(ctl, &request, &result);
	if (code == CTL_DONE && !ctl_told_would(ctl, result)) {
		writer_result(ctl->out, result, render);
	}
	json_decref(result);
	return code;
}

static int start_run(struct ctl *ctl, const struct ctl_args *args)
{
	const char *note = ctl_given(args, CTL_NOTE) ? args->text[CTL_NOTE]
			   : args->words > 0	     ? args->word[0]
						     : NULL;
	json_t *what = json_object();

	if (ctl_given(args, CTL_NOTE) && args->words > 0) {
		json_decref(what);
		return ctl_fail(ctl, CTL_USAGE, "usage", "say it once", "the note was given twice");
	}
	if (note != NULL) {
		json_object_set_new(what, "note", json_string(note));
	}
	return change(ctl, args, "run.start", "run start", what, render_start);
}

static int stop_run(struct ctl *ctl, const struct ctl_args *args)
{
	return change(ctl, args, "run.stop", "run stop", json_object(), render_stop);
}

static int show_run(struct ctl *ctl, const struct ctl_args *args)
{
	return ctl_show(ctl, "run.show", ctl_filter(args, 20), render_show);
}

const struct ctl_command ctl_run_commands[] = {
	{
		.noun = "run",
		.verb = "start",
		.arguments = "[NOTE]",
		.summary = "begin a run at the next slice border",
		.help = "The run gets the next number, which each block carries. It continues\n"
			"when the daemon restarts.\n\n"
			"  fcmctl run start 'physics, 4 floors'",
		.options = CTL_BIT(CTL_NOTE) | CTL_BIT(CTL_DRY_RUN),
		.max_words = 1,
		.run = start_run,
	},
	{
		.noun = "run",
		.verb = "stop",
		.arguments = "",
		.summary = "end the run at the next slice border",
		.help = "Data continue as run 0.",
		.options = CTL_BIT(CTL_DRY_RUN),
		.run = stop_run,
	},
	{
		.noun = "run",
		.verb = "show",
		.arguments = "",
		.summary = "the run going on, and the last ones",
		.help = "Also works while the daemon is not running.",
		.options = CTL_BIT(CTL_LIMIT),
		.run = show_run,
	},
	{0},
};
