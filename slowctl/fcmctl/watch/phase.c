/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl phase: did the phase of every link stay where it was? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/histogram.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/param/plural.h"

static void render_reference(struct writer *w, const json_t *p)
{
	if (!json_is_object(value_at(p, "reference"))) {
		writer_pair(w, "reference", WRITER_WARN, "none yet");
		return;
	}
	value_pair(w, "reference", WRITER_PLAIN, p,
		   "{reference.phase_ps:ps} ps, made {reference.time:time} UTC");
	value_pair(w, "its round trip", WRITER_PLAIN, p,
		   "{reference.rtt_frames} frames, {reference.rtt_bytes} bytes, "
		   "{reference.rtt_bits} bits");
	value_pair(w, "moved", WRITER_PLAIN, p, "{difference_ps:+ps} ps from the reference");
}

static void render_verdicts(struct writer *w, const json_t *p)
{
	const char *verdict = value_string(p, "last.verdict", "none");
	long long slip = value_integer(p, "last.slip", 0);
	char by[48] = "";
	char moved[96];

	if (slip != 0) {
		snprintf(by, sizeof(by), " by %lld x 1.25 ns", slip);
	}
	writer_pair(w, "last verdict", value_style(verdict), "%s%s, %s", verdict, by,
		    value_fill(p, "{last.difference_ps:+ps} ps, {last.age_s:age} ago", moved,
			       sizeof(moved)));
	if (json_is_number(value_at(p, "last.step_ps"))) {
		value_pair(w, "stepped", WRITER_WARN, p,
			   "{last.step_ps:+ps} ps at {since:time} UTC, without a new lock");
	}
	/* Locks that made the reference or had too few samples have none; a step inside one has. */
	value_pair(
		w, "locks", WRITER_PLAIN, p,
		"{relocks}; verdicts: {passes} PASS, {slips} SLIP, {jumps} JUMP, {drifts} DRIFT");
}

static void render_phase(struct writer *w, const json_t *p)
{
	writer_heading(w, "Link %lld%s", value_integer(p, "link", -1),
		       value_true(p, "locked") ? "" : "  NOT LOCKED TO ITS FLOOR");
	value_pair(w, "phase now", WRITER_PLAIN, p, "{phase_ps:ps} ps");
	value_pair(w, "last sample", WRITER_PLAIN, p, "{age_s:age} ago");
	value_pair(w, "last 10 min", WRITER_PLAIN, p,
		   "mean {mean_ps:ps} ps, sigma {sigma_ps:ps}, peak to peak {peak_to_peak_ps:ps} "
		   "({samples} samples)");
	if (json_is_number(value_at(p, "slope_ps_per_s"))) {
		writer_pair(w, "slope", WRITER_PLAIN, "%+.3f ps/s in the last minute of this lock",
			    value_number(p, "slope_ps_per_s"));
	} else {
		writer_pair(w, "slope", WRITER_PLAIN, "-");
	}
	value_pair(w, "round trip", WRITER_PLAIN, p,
		   "{round_trip.frames} frames, {round_trip.bytes} bytes, {round_trip.bits} bits");
	render_reference(w, p);
	render_verdicts(w, p);
	value_pair(w, "TDEV 1/10/100 s", WRITER_PLAIN, p,
		   "{tdev_ps.1:ps} / {tdev_ps.10:ps} / {tdev_ps.100:ps} ps");
	value_pair(w, "MTIE 1/10/100 s", WRITER_PLAIN, p,
		   "{mtie_ps.1:ps} / {mtie_ps.10:ps} / {mtie_ps.100:ps} ps");
}

static void render_histogram(struct writer *w, const json_t *p)
{
	struct histogram h;

	histogram_fold(value_at(p, "histogram"), &h);
	writer_newline(w);
	if (h.samples == 0) {
		writer_line(w, WRITER_DIM, "no histogram: no samples since the last lock");
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

static const struct value_column event_columns[] = {
	{"time (UTC)", "{time:time}"}, {"verdict", "{verdict}", VALUE_BY_WORD},
	{">slip", "{slip:count}"},     {">moved ps", "{difference_ps:+ps}"},
	{">mean ps", "{mean_ps:ps}"},  {"who", "{who}"},
	{"reason", "{reason}"},	       {0}};

static const struct value_column second_columns[] = {{"time (UTC)", "{time:time}"},
						     {">mean ps", "{mean_ps:ps}"},
						     {">sigma ps", "{sigma_ps:ps}"},
						     {">min ps", "{min_ps:+ps}"},
						     {">max ps", "{max_ps:+ps}"},
						     {">samples", "{samples:count}"},
						     {0}};

static void render_history(struct writer *w, const json_t *result)
{
	writer_heading(w, "Link %lld: verdicts", value_integer(result, "link", -1));
	value_table(w, value_at(result, "events"), event_columns, "no verdicts in this time");
	writer_newline(w);
	writer_heading(w, "Seconds (min and max against the mean)");
	value_table(w, value_at(result, "rows"), second_columns, "no samples in this time");
}

static void render_accept(struct writer *w, const json_t *result)
{
	value_line(w, WRITER_PLAIN, result,
		   "link {link}: the reference is now {phase_ps:ps} ps, {rtt_frames} frames, "
		   "{rtt_bytes} bytes, {rtt_bits} bits");
}

static const struct value_column trial_columns[] = {{">trial", "{trial:count}"},
						    {"time (UTC)", "{time:time}"},
						    {"verdict", "{verdict}", VALUE_BY_WORD},
						    {">slip", "{slip:count}"},
						    {">moved ps", "{difference_ps:+ps}"},
						    {">mean ps", "{mean_ps:ps}"},
						    {0}};

/* A trial without a lock in time has no verdict of the phase: it counts as failed. */
static bool soak_is_well(const json_t *result)
{
	static const char *const bad[] = {"slips", "jumps", "drifts", "failed"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (value_integer(result, bad[i], 0) != 0) {
			return false;
		}
	}
	return true;
}

static void render_soak(struct writer *w, const json_t *result)
{
	size_t trials = json_array_size(value_at(result, "trials"));
	bool well = soak_is_well(result);

	writer_heading(w, "Phase soak of link %lld", value_integer(result, "link", -1));
	value_table(w, value_at(result, "trials"), trial_columns, "no trials");
	writer_newline(w);
	writer_line(
		w, well ? WRITER_GOOD : WRITER_BAD,
		"%zu trial%s: %lld passed, %lld slipped, %lld jumped, %lld drifted, %lld failed",
		trials, plural(trials), value_integer(result, "passes", 0),
		value_integer(result, "slips", 0), value_integer(result, "jumps", 0),
		value_integer(result, "drifts", 0), value_integer(result, "failed", 0));
	value_line(w, WRITER_PLAIN, result,
		   "moved {mean_difference_ps:+ps} ps on average, sigma {sigma_ps:ps} ps");
	if (json_is_number(value_at(result, "slip_probability_95"))) {
		writer_line(w, WRITER_PLAIN, "probability of a slip: below %.2g (95 %% confidence)",
			    value_number(result, "slip_probability_95"));
	}
}

static int accept_run(struct ctl *ctl, const struct ctl_args *args)
{
	return ctl_given(args, CTL_REASON)
		       ? ctl_run_plain(ctl, args)
		       : ctl_usage(ctl,
				   "say why the new phase is right: --reason 'fibre re-plugged'",
				   "phase accept needs --reason");
}

static void soak_progress(void *context, const json_t *p)
{
	const struct ctl *ctl = context;
	char text[160];

	if (ctl->terminal) {
		ctl_remark("%s",
			   value_fill(p, "trial {trial} of {of}: {verdict}, {difference_ps:+ps} ps",
				      text, sizeof(text)));
	}
}

static int soak_run(struct ctl *ctl, const struct ctl_args *args)
{
	double interval = ctl_number(args, CTL_INTERVAL, 10.0);
	int trials = (int)ctl_number(args, CTL_TRIALS, 20);
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
		return ctl_usage(ctl, "--with reset or --with align", "--with: '%.40s' is invalid",
				 with);
	}
	request.args = json_pack("{s:i,s:i,s:f,s:s}", "link", link, "trials", trials, "interval_s",
				 interval, "command", with);
	code = ctl_change(ctl, args, &request, render_soak, &result);
	if (result != NULL) {
		code = soak_is_well(result) ? CTL_DONE : CTL_NOT;
	}
	json_decref(result);
	return code;
}

const struct ctl_command ctl_phase_commands[] = {
	{"phase", "show", "[LINK]", "phase of the links against their references",
	 .help = "Mean (circular, 0 to 12500 ps) and spread of the last 10 minutes of this lock, "
		 "slope of\nthe last minute, round trip, the reference and the last verdict; TDEV "
		 "and MTIE over 1, 10\nand 100 s. Of one LINK also the histogram of all samples "
		 "since the last lock.\n\n  fcmctl phase show 2",
	 .op = "phase.show", .member = "link", .render = render_show},
	{"phase", "history", "LINK", "verdicts and seconds of a link's phase",
	 .help = "The verdicts on re-locks (with who and why for an accepted reference), and one "
		 "row a\nsecond, the newest 60 of each. Also answers while the daemon is not "
		 "running.\n\n  fcmctl phase history 2 --since 1h --limit 3600",
	 .options = CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_TO) | CTL_BIT(CTL_LIMIT),
	 .op = "phase.history", .member = "link", .render = render_history, .limit = 60},
	{"phase", "accept", "LINK --reason TEXT", "make the present phase the reference",
	 .help = "Later re-locks are judged against it. Kept in the journal with who and why. Do "
		 "this only\nwhen the new phase is known to be right (fibre exchanged, floor "
		 "replaced): it ends the\ncomparison with all earlier data.",
	 .options = CTL_BIT(CTL_REASON) | CTL_BIT(CTL_DRY_RUN), .run = accept_run,
	 .op = "phase.accept", .member = "link", .look = "phase show", .render = render_accept},
	{"phase", "soak", "LINK", "reset and align many times: does the phase stay?",
	 .help = "A trial: reset the link, wait for lock and verdict. Data of this link are lost "
		 "meanwhile,\nand counted. Prints a report; Ctrl-C ends it.\nExit 0 when all "
		 "trials passed, 1 otherwise.\n\n  fcmctl phase soak 2                           "
		 "20 trials, one every 10 s\n  fcmctl phase soak 2 --trials 4320 > soak.txt  the "
		 "12 hours' test",
	 .options = CTL_BIT(CTL_TRIALS) | CTL_BIT(CTL_INTERVAL) | CTL_BIT(CTL_WITH) |
		    CTL_BIT(CTL_DRY_RUN),
	 .run = soak_run},
	{0},
};
