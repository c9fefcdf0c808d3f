/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl run: runs of physics. */
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/value.h"

/* "run 12 begins at slice 8975937616", `key` the slice's; `behind` is said behind it. */
static void render_border(struct writer *w, const json_t *result, const char *key, const char *verb,
			  const char *behind)
{
	long long run = value_integer(result, "run", 0);
	long long slice = value_integer(result, key, 0);

	if (slice > 0) {
		writer_text(w, WRITER_PLAIN, "run %lld %s at slice %lld%s", run, verb, slice,
			    behind);
	} else {
		writer_text(w, WRITER_WARN,
			    "run %lld %s at an unknown slice: there is no time, or no board%s", run,
			    verb, behind);
	}
}

static void render_start(struct writer *w, const json_t *result)
{
	render_border(w, result, "from_slice", "begins", "");
	if (value_integer(result, "from_slice", 0) <= 0) {
		writer_text(w, WRITER_WARN, "; run show has its first slice when there is");
	}
	writer_newline(w);
}

static void render_stop(struct writer *w, const json_t *result)
{
	render_border(w, result, "to_slice", "ends", "; data flow on as run 0");
	writer_newline(w);
}

static void render_show(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {{">run", "{number:count}"},
						      {"begun (UTC)", "{begun:time}"},
						      {"ended (UTC)", "{ended:time}"},
						      {">from slice", "{begun_slice:count}"},
						      {">to slice", "{ended_slice:count}"},
						      {"who", "{who}"},
						      {"note", "{note}"},
						      {0}};
	long long current = value_integer(result, "current", 0);

	if (current > 0) {
		writer_text(w, WRITER_GOOD, "run %lld is going on", current);
	} else {
		writer_text(w, WRITER_PLAIN, "no run is going on; data flow as run 0");
	}
	writer_newline(w);
	value_table(w, value_at(result, "runs"), columns, "no runs yet");
}

static int start_run(struct ctl *ctl, const struct ctl_args *args)
{
	const char *note = ctl_given(args, CTL_NOTE) ? args->text[CTL_NOTE]
			   : args->words > 0	     ? args->word[0]
						     : NULL;

	if (ctl_given(args, CTL_NOTE) && args->words > 0) {
		return ctl_usage(ctl, "say it once", "the note was given twice");
	}
	return ctl_run_row(ctl, args, json_pack("{s:s*}", "note", note));
}

const struct ctl_command ctl_run_commands[] = {
	{"run", "start", "[NOTE]", "begin a run at the next slice border",
	 .help = "The run gets the next number, which each block carries. It continues\n"
		 "when the daemon restarts.\n\n"
		 "  fcmctl run start 'physics, 4 floors'",
	 .options = CTL_BIT(CTL_NOTE) | CTL_BIT(CTL_DRY_RUN), .run = start_run, .op = "run.start",
	 .look = "run show", .timeout_s = 10.0, .render = render_start},
	{"run", "stop", "", "end the run at the next slice border",
	 .help = "Data continue as run 0.", .options = CTL_BIT(CTL_DRY_RUN), .op = "run.stop",
	 .look = "run show", .timeout_s = 10.0, .render = render_stop},
	{"run", "show", "", "the run going on, and the last ones",
	 .help = "Also works while the daemon is not running.",
	 .options = CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_TO) | CTL_BIT(CTL_LIMIT), .op = "run.show",
	 .render = render_show, .limit = 20},
	{0},
};
