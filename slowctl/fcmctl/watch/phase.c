/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl phase: did the phase of every link stay where it was? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/histogram.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/param/plural.h"

static void render_reference(struct writer *w, const json_t *p)
{
	char a[48];
	char b[48];

	if (!json_is_object(value_at(p, "reference"))) {
		writer_pair(w, "reference", WRITER_WARN, "none yet");
		return;
	}
	writer_pair(w, "reference", WRITER_PLAIN, "%s ps, made %s UTC",
		    value_text(value_at(p, "reference.phase_ps"), VALUE_PS, a, sizeof(a)),
		    value_text(value_at(p, "reference.time"), VALUE_TIME, b, sizeof(b)));
	writer_pair(w, "its round trip", WRITER_PLAIN, "%lld frames, %lld bytes, %lld bits",
		    value_integer(p, "reference.rtt_frames", 0),
		    value_integer(p, "reference.rtt_bytes", 0),
		    value_integer(p, "reference.rtt_bits", 0));
	writer_pair(w, "moved", WRITER_PLAIN, "%s ps from the reference",
		    value_text(value_at(p, "difference_ps"), VALUE_PS_SIGNED, a, sizeof(a)));
}

static void render_verdicts(struct writer *w, const json_t *p)
{
	const char *verdict = value_string(p, "last.verdict", "none");
	long long slip = value_integer(p, "last.slip", 0);
	long long passes = value_integer(p, "passes", 0);
	long long slips = value_integer(p, "slips", 0);
	long long jumps = value_integer(p, "jumps", 0);
	char a[48] = "";
	char b[48];
	char c[48];

	if (slip != 0) {
		snprintf(a, sizeof(a), " by %lld x 1.25 ns", slip);
	}
	writer_pair(w, "last verdict", value_style(verdict), "%s%s, %s ps, %s ago", verdict, a,
		    value_text(value_at(p, "last.difference_ps"), VALUE_PS_SIGNED, b, sizeof(b)),
		    value_text(value_at(p, "last.age_s"), VALUE_AGE, c, sizeof(c)));
	/* Not judged are locks that made the reference or had too few samples; a step inside one is. */
	writer_pair(w, "locks", WRITER_PLAIN,
		    "%lld; judged %lld: %lld passed, %lld slipped, %lld jumped; %lld drifts",
		    value_integer(p, "relocks", 0), passes + slips + jumps, passes, slips, jumps,
		    value_integer(p, "drifts", 0));
}

static void render_phase(struct writer *w, const json_t *p)
{
	char a[48];
	char b[48];
	char c[48];

	writer_heading(w, "Link %lld%s", value_integer(p, "link", -1),
		       value_true(p, "locked") ? "" : "  NOT LOCKED");
	writer_pair(w, "phase now", WRITER_PLAIN, "%s ps",
		    value_text(value_at(p, "phase_ps"), VALUE_PS, a, sizeof(a)));
	writer_pair(w, "last sample", WRITER_PLAIN, "%s ago",
		    value_text(value_at(p, "age_s"), VALUE_AGE, a, sizeof(a)));
	writer_pair(w, "last 10 min", WRITER_PLAIN,
		    "mean %s ps, sigma %s, peak to peak %s (%lld samples)",
		    value_text(value_at(p, "mean_ps"), VALUE_PS, a, sizeof(a)),
		    value_text(value_at(p, "sigma_ps"), VALUE_PS, b, sizeof(b)),
		    value_text(value_at(p, "peak_to_peak_ps"), VALUE_PS, c, sizeof(c)),
		    value_integer(p, "samples", 0));
	if (json_is_number(value_at(p, "slope_ps_per_s"))) {
		writer_pair(w, "slope", WRITER_PLAIN, "%+.3f ps/s in the last minute of this lock",
			    value_number(p, "slope_ps_per_s"));
	}
	writer_pair(w, "round trip", WRITER_PLAIN, "%lld frames, %lld bytes, %lld bits",
		    value_integer(p, "round_trip.frames", 0),
		    value_integer(p, "round_trip.bytes", 0),
		    value_integer(p, "round_trip.bits", 0));
	render_reference(w, p);
	render_verdicts(w, p);
	writer_pair(w, "TDEV 1/10/100 s", WRITER_PLAIN, "%s / %s / %s ps",
		    value_text(value_at(p, "tdev_ps.1"), VALUE_PS, a, sizeof(a)),
		    value_text(value_at(p, "tdev_ps.10"), VALUE_PS, b, sizeof(b)),
		    value_text(value_at(p, "tdev_ps.100"), VALUE_PS, c, sizeof(c)));
	writer_pair(w, "MTIE 1/10/100 s", WRITER_PLAIN, "%s / %s / %s ps",
		    value_text(value_at(p, "mtie_ps.1"), VALUE_PS, a, sizeof(a)),
		    value_text(value_at(p, "mtie_ps.10"), VALUE_PS, b, sizeof(b)),
		    value_text(value_at(p, "mtie_ps.100"), VALUE_PS, c, sizeof(c)));
}

static void render_histogram(struct writer *w, const json_t *p)
{
	struct histogram h;

	histogram_fold(value_at(p, "histogram"), &h);
	writer_newline(w);
	if (h.samples == 0) {
		writer_text(w, WRITER_DIM, "no histogram: no samples since the last lock");
		writer_newline(w);
		return;
	}
	writer_heading(w, "%llu samples since the last lock, %u ps a line",
		       (unsigned long long)h.samples, h.line_ps);
	histogram_render(w, &h, value_number(p, "mean_ps"), value_number(p, "reference.phase_ps"));
}

static void render_show(struct writer *w, const json_t *result)
{
	const json_t *phases = value_at(result, "phases");
	size_t i;
	const json_t *phase;

	json_array_foreach (phases, i, phase) {
		if (i > 0) {
			writer_newline(w);
		}
		render_phase(w, phase);
	}
	if (json_array_size(phases) == 1) {
		render_histogram(w, json_array_get(phases, 0));
	}
}

static void render_events(struct writer *w, const json_t *events)
{
	static const char *const columns[] = {"time (UTC)", "verdict", ">slip", ">moved ps",
					      ">mean ps",   "who",     "reason"};
	size_t i;
	const json_t *e;

	writer_table(w, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach (events, i, e) {
		const char *verdict = value_string(e, "verdict", "?");

		value_cell(w, e, "time", VALUE_TIME);
		writer_cell(w, value_style(verdict), "%s", verdict);
		value_cell(w, e, "slip", VALUE_COUNT);
		value_cell(w, e, "difference_ps", VALUE_PS_SIGNED);
		value_cell(w, e, "mean_ps", VALUE_PS);
		value_cell(w, e, "who", VALUE_PLAIN);
		value_cell(w, e, "reason", VALUE_PLAIN);
	}
	writer_table_end(w, "no verdicts in this time");
}

static void render_rows(struct writer *w, const json_t *rows)
{
	static const char *const columns[] = {"time (UTC)", ">mean ps", ">sigma ps",
					      ">min ps",    ">max ps",	">samples"};
	size_t i;
	const json_t *row;

	writer_table(w, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach (rows, i, row) {
		value_cell(w, row, "time", VALUE_TIME);
		value_cell(w, row, "mean_ps", VALUE_PS);
		value_cell(w, row, "sigma_ps", VALUE_PS);
		value_cell(w, row, "min_ps", VALUE_PS_SIGNED);
		value_cell(w, row, "max_ps", VALUE_PS_SIGNED);
		value_cell(w, row, "samples", VALUE_COUNT);
	}
	writer_table_end(w, "no samples in this time");
}

static void render_history(struct writer *w, const json_t *result)
{
	writer_heading(w, "Link %lld: verdicts", value_integer(result, "link", -1));
	render_events(w, value_at(result, "events"));
	writer_newline(w);
	writer_heading(w, "Seconds (min and max against the mean)");
	render_rows(w, value_at(result, "rows"));
}

static void render_accept(struct writer *w, const json_t *result)
{
	char phase[32];

	writer_text(w, WRITER_PLAIN,
		    "link %lld: the reference is now %s ps, %lld frames, %lld bytes, %lld bits",
		    value_integer(result, "link", -1),
		    value_text(value_at(result, "phase_ps"), VALUE_PS, phase, sizeof(phase)),
		    value_integer(result, "rtt_frames", 0), value_integer(result, "rtt_bytes", 0),
		    value_integer(result, "rtt_bits", 0));
	writer_newline(w);
}

static void render_trials(struct writer *w, const json_t *trials)
{
	static const char *const columns[] = {">trial", "time (UTC)", "verdict",
					      ">slip",	">moved ps",  ">mean ps"};
	size_t i;
	const json_t *t;

	writer_table(w, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach (trials, i, t) {
		const char *verdict = value_string(t, "verdict", "?");

		value_cell(w, t, "trial", VALUE_COUNT);
		value_cell(w, t, "time", VALUE_TIME);
		writer_cell(w, value_style(verdict), "%s", verdict);
		value_cell(w, t, "slip", VALUE_COUNT);
		value_cell(w, t, "difference_ps", VALUE_PS_SIGNED);
		value_cell(w, t, "mean_ps", VALUE_PS);
	}
	writer_table_end(w, "no trials");
}

/* A trial without a lock in time has no verdict of the phase: it counts as failed. */
static bool soak_is_well(const json_t *result)
{
	return value_integer(result, "slips", 0) == 0 && value_integer(result, "jumps", 0) == 0 &&
	       value_integer(result, "failed", 0) == 0;
}

static void render_soak(struct writer *w, const json_t *result)
{
	size_t trials = json_array_size(value_at(result, "trials"));
	bool well = soak_is_well(result);
	char a[32];
	char b[32];

	writer_heading(w, "Phase soak of link %lld", value_integer(result, "link", -1));
	render_trials(w, value_at(result, "trials"));
	writer_newline(w);
	writer_text(w, well ? WRITER_GOOD : WRITER_BAD,
		    "%zu trial%s: %lld passed, %lld slipped, %lld jumped, %lld failed", trials,
		    plural(trials), value_integer(result, "passes", 0),
		    value_integer(result, "slips", 0), value_integer(result, "jumps", 0),
		    value_integer(result, "failed", 0));
	writer_newline(w);
	writer_text(
		w, WRITER_PLAIN, "moved %s ps on average, sigma %s ps",
		value_text(value_at(result, "mean_difference_ps"), VALUE_PS_SIGNED, a, sizeof(a)),
		value_text(value_at(result, "sigma_ps"), VALUE_PS, b, sizeof(b)));
	writer_newline(w);
	if (json_is_number(value_at(result, "slip_probability_95"))) {
		writer_text(w, WRITER_PLAIN, "probability of a slip: below %.2g (95 %% confidence)",
			    value_number(result, "slip_probability_95"));
		writer_newline(w);
	}
}

static int show_run(struct ctl *ctl, const struct ctl_args *args)
{
	json_t *filter = json_object();
	int link;
	int code = CTL_DONE;

	if (args->words > 0) {
		code = ctl_link_number(ctl, args->word[0], &link);
		json_object_set_new(filter, "link", json_integer(link));
	}
	if (code != CTL_DONE) {
		json_decref(filter);
		return code;
	}
	return ctl_show(ctl, "phase.show", filter, render_show);
}

static int history_run(struct ctl *ctl, const struct ctl_args *args)
{
	json_t *filter;
	int link;
	int code = ctl_link_number(ctl, args->word[0], &link);

	if (code != CTL_DONE) {
		return code;
	}
	filter = ctl_filter(args, 60);
	json_object_set_new(filter, "link", json_integer(link));
	return ctl_show(ctl, "phase.history", filter, render_history);
}

static int accept_run(struct ctl *ctl, const struct ctl_args *args)
{
	struct ctl_request request = {
		.op = "phase.accept", .doing = "phase accept", .look = "phase show"};
	json_t *result = NULL;
	int link;
	int code = ctl_link_number(ctl, args->word[0], &link);

	if (code != CTL_DONE) {
		return code;
	}
	if (!ctl_given(args, CTL_REASON)) {
		return ctl_fail(ctl, CTL_USAGE, "usage",
				"say why the new phase is right: --reason 'fibre re-plugged'",
				"phase accept needs --reason");
	}
	request.args = json_pack("{s:i,s:s}", "link", link, "reason", args->text[CTL_REASON]);
	ctl_put_dry(args, request.args);
	code = ctl_request(ctl, &request, &result);
	if (code == CTL_DONE && !ctl_told_would(ctl, result)) {
		writer_result(ctl->out, result, render_accept);
	}
	json_decref(result);
	return code;
}

static void soak_progress(void *context, const json_t *p)
{
	const struct ctl *ctl = context;
	char moved[32];

	if (ctl->terminal) {
		ctl_remark("trial %lld of %lld: %s, %s ps", value_integer(p, "trial", 0),
			   value_integer(p, "of", 0), value_string(p, "verdict", "?"),
			   value_text(value_at(p, "difference_ps"), VALUE_PS_SIGNED, moved,
				      sizeof(moved)));
	}
}

static int soak_run(struct ctl *ctl, const struct ctl_args *args)
{
	double interval = ctl_given(args, CTL_INTERVAL) ? args->number[CTL_INTERVAL] : 10.0;
	int trials = ctl_given(args, CTL_TRIALS) ? (int)args->number[CTL_TRIALS] : 20;
	const char *with = ctl_given(args, CTL_WITH) ? args->text[CTL_WITH] : "reset";
	struct ctl_request request = {
		.op = "phase.soak",
		.doing = "phase soak",
		.look = "phase history LINK shows the verdicts so far",
		.ends_with_us = true,
		.timeout_s = interval + 30.0,
		.progress = soak_progress,
		.context = ctl,
	};
	json_t *result = NULL;
	int link;
	int code = ctl_link_number(ctl, args->word[0], &link);

	if (code != CTL_DONE) {
		return code;
	}
	if (strcmp(with, "reset") != 0 && strcmp(with, "align") != 0) {
		return ctl_fail(ctl, CTL_USAGE, "usage", "--with reset or --with align",
				"--with '%.40s' will not do", with);
	}
	request.args = json_pack("{s:i,s:i,s:f,s:s}", "link", link, "trials", trials, "interval_s",
				 interval, "command", with);
	ctl_put_dry(args, request.args);
	code = ctl_request(ctl, &request, &result);
	if (code == CTL_DONE && !ctl_told_would(ctl, result)) {
		writer_result(ctl->out, result, render_soak);
		code = soak_is_well(result) ? CTL_DONE : CTL_NOT;
	}
	json_decref(result);
	return code;
}

const struct ctl_command ctl_phase_commands[] = {
	{
		.noun = "phase",
		.verb = "show",
		.arguments = "[LINK]",
		.summary = "phase of the links against their references",
		.help = "Mean (circular, 0 to 12500 ps) and spread of the last 10 minutes of this "
			"lock, slope of\nthe last minute, round trip, the reference and the last "
			"verdict; TDEV and MTIE over 1, 10\nand 100 s. Of one LINK also the "
			"histogram of all samples since the last lock.\n\n"
			"  fcmctl phase show 2",
		.max_words = 1,
		.run = show_run,
	},
	{
		.noun = "phase",
		.verb = "history",
		.arguments = "LINK",
		.summary = "verdicts and seconds of a link's phase",
		.help = "The verdicts on re-locks (with who and why for an accepted reference), "
			"and one "
			"row a\nsecond, the newest 60 of each. Answers while the daemon is away, "
			"too.\n\n"
			"  fcmctl phase history 2 --since 1h --limit 3600",
		.options = CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_LIMIT),
		.min_words = 1,
		.max_words = 1,
		.run = history_run,
	},
	{
		.noun = "phase",
		.verb = "accept",
		.arguments = "LINK --reason TEXT",
		.summary = "make the present phase the reference",
		.help = "Later re-locks are judged against it. Kept in the journal with who and "
			"why. Do "
			"this only\nwhen the new phase is known to be right (fibre exchanged, "
			"floor "
			"replaced): it ends the\ncomparison with all earlier data.",
		.options = CTL_BIT(CTL_REASON) | CTL_BIT(CTL_DRY_RUN),
		.min_words = 1,
		.max_words = 1,
		.run = accept_run,
	},
	{
		.noun = "phase",
		.verb = "soak",
		.arguments = "LINK",
		.summary = "reset and align many times: does the phase stay?",
		.help = "A trial: reset the link, wait for lock and verdict. Data of this link are "
			"lost "
			"meanwhile,\nand counted. Prints a report; Ctrl-C ends it.\nExit 0 when "
			"all trials "
			"passed, 1 otherwise.\n\n"
			"  fcmctl phase soak 2                           20 trials, one every 10 "
			"s\n"
			"  fcmctl phase soak 2 --trials 4320 > soak.txt  the 12 hours' test",
		.options = CTL_BIT(CTL_TRIALS) | CTL_BIT(CTL_INTERVAL) | CTL_BIT(CTL_WITH) |
			   CTL_BIT(CTL_DRY_RUN),
		.min_words = 1,
		.max_words = 1,
		.run = soak_run,
	},
	{0},
};
