/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl clock: which second is it, and how well is it known? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/show/value.h"
#include "slowctl/fcmctl/watch/screens.h"

static void render_relabelled(struct writer *w, const json_t *relabelled)
{
	long long epoch = value_integer(relabelled, "time_epoch", 0);
	char text[48];

	if (json_is_object(relabelled)) {
		writer_pair(w, "relabelled", WRITER_WARN,
			    "by %+.3f s at %s UTC (the new time), time epoch %lld -> %lld",
			    value_number(relabelled, "by_s"),
			    value_fill(relabelled, "{utc:time}", text, sizeof(text)), epoch - 1,
			    epoch);
	}
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

const char *ctl_clock_words(const json_t *clock, bool since, char *buffer, size_t size)
{
	bool locked = strcmp(value_string(clock, "state", "?"), "locked") == 0;
	bool none = strcmp(value_string(clock, "source", "none"), "none") == 0;

	return value_fill(clock,
			  none	   ? ", no source yet"
			  : locked ? " by {source}"
			  : since  ? " since {since:time} UTC, last by {source}"
				   : ", last by {source}",
			  buffer, size);
}

static void render_show(struct writer *w, const json_t *c)
{
	const char *state = value_string(c, "state", "?");
	bool locked = strcmp(state, "locked") == 0;
	bool connected = value_true(c, "gpsd.connected");
	bool expired = value_true(c, "leap.table_expired");
	bool mismatch = value_true(c, "leap.mismatch");
	char gpsd[96];

	value_pair(w, "state", value_style(state), c, "{state} since {since:time} UTC");
	value_pair(w, "because", WRITER_PLAIN, c, "{reason}");
	if (*value_string(c, "action", "") != '\0') {
		value_pair(w, "do", WRITER_WARN, c, "{action}");
	}
	value_pair(w, locked ? "source" : "last source", WRITER_PLAIN, c, "{source}");
	value_pair(w, "uncertainty", WRITER_PLAIN, c, "{uncertainty_ns:count} ns");
	value_pair(w, "UTC of the board", WRITER_PLAIN, c, "{utc:ms}");
	value_pair(w, "TAI - UTC", WRITER_PLAIN, c, "{tai_utc_s:count} s");
	value_pair(w, "time epoch", WRITER_PLAIN, c,
		   "{time_epoch} ({relabels} relabellings, {rejects} labels rejected)");
	render_relabelled(w, value_at(c, "relabelled"));
	writer_pair(
		w, "gpsd", connected ? WRITER_PLAIN : WRITER_BAD, "%s, %s, %s",
		connected ? "connected" : "not connected",
		value_true(c, "gpsd.fix") ? "fix" : "no fix",
		value_fill(c,
			   "{gpsd.satellites:count} satellites, last message {gpsd.age_s:age} ago",
			   gpsd, sizeof(gpsd)));
	value_pair(w, "PPS", WRITER_PLAIN, c, "number {pps.number}, {pps.age_s:age} ago");
	writer_pair(w, "leap second", expired || mismatch ? WRITER_WARN : WRITER_PLAIN, "%s%s%s",
		    value_true(c, "leap.announced") ? "one is announced" : "none is announced",
		    expired ? ", the table has expired" : "",
		    mismatch ? ", gpsd says another TAI - UTC" : "");
	render_system(w, c);
}

static void render_history(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {{"time (UTC)", "{time:ms}"},
						      {"state", "{state}", VALUE_BY_WORD},
						      {"source", "{source}"},
						      {">+- ns", "{uncertainty_ns:count}"},
						      {">time epoch", "{time_epoch:count}"},
						      {"reason", "{reason}"},
						      {0}};

	value_table(w, value_at(result, "events"), columns, "no changes of the clock in this time");
}

const struct ctl_command ctl_clock_commands[] = {
	{"clock", "show", "", "GPS, label of the seconds, uncertainty",
	 .help = "States: no-time (blocks carry no time), acquiring, locked, holdover (the source "
		 "is\nsilent; the uncertainty grows), fault (a jump or a contradiction).\nMissing "
		 "time never stops the data. relabelled: the running time was replaced by "
		 "another;\nit is for you to find out which was right.",
	 .op = "clock.show", .render = render_show},
	{"clock", "history", "", "changes of the clock's state",
	 .help = "Newest first, by the system clock; relabellings among them.\nAlso answers while "
		 "the daemon is not running.",
	 .options = CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_TO) | CTL_BIT(CTL_LIMIT),
	 .op = "clock.history", .render = render_history, .limit = 40},
	{0},
};
