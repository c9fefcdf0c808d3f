/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl clock: which second is it, and how well is it known? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/value.h"

static void render_relabelled(struct writer *w, const json_t *relabelled)
{
	long long epoch = value_integer(relabelled, "time_epoch", 0);
	char utc[48];

	if (!json_is_object(relabelled)) {
		return;
	}
	writer_pair(w, "relabelled", WRITER_WARN,
		    "by %+.3f s at %s UTC (the new time), time epoch %lld -> %lld",
		    value_number(relabelled, "by_s"),
		    value_text(value_at(relabelled, "utc"), VALUE_TIME, utc, sizeof(utc)),
		    epoch - 1, epoch);
}

/* It proves something only when it is synchronised; even then one of the two may be wrong. */
static void render_system(struct writer *w, const json_t *c)
{
	double ahead_s = value_number(c, "system_offset_s");
	bool synchronised = value_true(c, "system_synchronised");
	bool disagrees = value_true(c, "system_disagrees");
	char off[64] = "no label to compare it with";

	if (json_is_number(value_at(c, "system_offset_s"))) {
		snprintf(off, sizeof(off), "%.6f s %s the time in use", fabs(ahead_s),
			 ahead_s < 0 ? "behind" : "ahead of");
	}
	writer_pair(w, "system clock", disagrees ? WRITER_WARN : WRITER_PLAIN, "%s, %s%s",
		    synchronised ? "synchronised" : "not synchronised (proves nothing)", off,
		    disagrees ? ": one of the two is wrong, neither is proven right" : "");
}

const char *ctl_clock_words(const json_t *clock, char *buffer, size_t size)
{
	const char *state = value_string(clock, "state", "?");
	const char *source = value_string(clock, "source", "none");
	char since[48];

	value_text(value_at(clock, "since"), VALUE_TIME, since, sizeof(since));
	if (strcmp(source, "none") == 0) {
		snprintf(buffer, size, ", no source yet");
	} else if (strcmp(state, "locked") == 0) {
		snprintf(buffer, size, " by %s", source);
	} else {
		snprintf(buffer, size, " since %s UTC, last by %s", since, source);
	}
	return buffer;
}

static void render_show(struct writer *w, const json_t *c)
{
	const char *state = value_string(c, "state", "?");
	bool expired = value_true(c, "leap.table_expired");
	bool mismatch = value_true(c, "leap.mismatch");
	char a[48];
	char b[48];

	writer_pair(w, "state", value_style(state), "%s since %s UTC", state,
		    value_text(value_at(c, "since"), VALUE_TIME, a, sizeof(a)));
	writer_pair(w, "because", WRITER_PLAIN, "%s", value_string(c, "reason", "-"));
	if (*value_string(c, "action", "") != '\0') {
		writer_pair(w, "do", WRITER_WARN, "%s", value_string(c, "action", ""));
	}
	writer_pair(w, strcmp(state, "locked") == 0 ? "source" : "last source", WRITER_PLAIN, "%s",
		    value_string(c, "source", "-"));
	writer_pair(w, "uncertainty", WRITER_PLAIN, "%s ns",
		    value_text(value_at(c, "uncertainty_ns"), VALUE_COUNT, a, sizeof(a)));
	writer_pair(w, "UTC of the board", WRITER_PLAIN, "%s",
		    value_text(value_at(c, "utc"), VALUE_TIME_MS, a, sizeof(a)));
	writer_pair(w, "TAI - UTC", WRITER_PLAIN, "%s s",
		    value_text(value_at(c, "tai_utc_s"), VALUE_COUNT, a, sizeof(a)));
	writer_pair(w, "time epoch", WRITER_PLAIN, "%lld (%lld relabellings, %lld labels rejected)",
		    value_integer(c, "time_epoch", 0), value_integer(c, "relabels", 0),
		    value_integer(c, "rejects", 0));
	render_relabelled(w, value_at(c, "relabelled"));
	writer_pair(w, "gpsd", value_true(c, "gpsd.connected") ? WRITER_PLAIN : WRITER_BAD,
		    "%s, %s, %s satellites, last word %s ago",
		    value_true(c, "gpsd.connected") ? "connected" : "not connected",
		    value_true(c, "gpsd.fix") ? "fix" : "no fix",
		    value_text(value_at(c, "gpsd.satellites"), VALUE_COUNT, a, sizeof(a)),
		    value_text(value_at(c, "gpsd.age_s"), VALUE_AGE, b, sizeof(b)));
	writer_pair(w, "PPS", WRITER_PLAIN, "number %lld, %s ago",
		    value_integer(c, "pps.number", 0),
		    value_text(value_at(c, "pps.age_s"), VALUE_AGE, a, sizeof(a)));
	writer_pair(w, "leap second", expired || mismatch ? WRITER_WARN : WRITER_PLAIN, "%s%s%s",
		    value_true(c, "leap.announced") ? "one is announced" : "none is announced",
		    expired ? ", the table has expired" : "",
		    mismatch ? ", gpsd says another TAI - UTC" : "");
	render_system(w, c);
}

static void render_history(struct writer *w, const json_t *result)
{
	static const char *const columns[] = {"time (UTC)", "state",	   "source",
					      ">+- ns",	    ">time epoch", "reason"};
	size_t i;
	const json_t *e;

	writer_table(w, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach (value_at(result, "events"), i, e) {
		const char *state = value_string(e, "state", "?");

		value_cell(w, e, "time", VALUE_TIME_MS);
		writer_cell(w, value_style(state), "%s", state);
		value_cell(w, e, "source", VALUE_PLAIN);
		value_cell(w, e, "uncertainty_ns", VALUE_COUNT);
		value_cell(w, e, "time_epoch", VALUE_COUNT);
		value_cell(w, e, "reason", VALUE_PLAIN);
	}
	writer_table_end(w, "no changes of the clock in this time");
}

static int show_run(struct ctl *ctl, const struct ctl_args *args)
{
	(void)args;
	return ctl_show(ctl, "clock.show", NULL, render_show);
}

static int history_run(struct ctl *ctl, const struct ctl_args *args)
{
	return ctl_show(ctl, "clock.history", ctl_filter(args, 40), render_history);
}

const struct ctl_command ctl_clock_commands[] = {
	{
		.noun = "clock",
		.verb = "show",
		.arguments = "",
		.summary = "GPS, label of the seconds, uncertainty",
		.help = "States: no-time (blocks carry no time), acquiring, locked, holdover (the "
			"source is\nsilent; the uncertainty grows), fault (a jump or a "
			"contradiction).\n"
			"Missing time never stops the data. relabelled: the running time was "
			"replaced by another;\nit is for you to find out which was right.",
		.run = show_run,
	},
	{
		.noun = "clock",
		.verb = "history",
		.arguments = "",
		.summary = "changes of the clock's state",
		.help = "Newest first, by the system clock; relabellings among them.\nAnswers "
			"while "
			"the daemon is away, too.",
		.options = CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_LIMIT),
		.run = history_run,
	},
	{0},
};
