/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl report: a shift on a page. It asks what other commands ask, of one time, and puts the answers together: for
 * people, for programs, and as one HTML file (report_html.c). Without the daemon it is made from the database.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/client.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/fcmctl/watch/report.h"
#include "slowctl/fcmctl/watch/screens.h"

#define SHIFT_S	    28800.0
#define ROWS_MOST   1000
#define EVENTS_MOST 5000
#define MINUTES_S   86400.0 /* a longer time is shown by hour */

/* --- the questions --- */

struct span {
	double since, until;
};

static json_t *of_span(const struct span *s, int limit)
{
	return json_pack("{s:f,s:f,s:i}", "since", s->since, "until", s->until, "limit", limit);
}

/* For operations that have no `until`. */
static json_t *since(const struct span *s, int limit)
{
	return json_pack("{s:f,s:i}", "since", s->since, "limit", limit);
}

/* The answer's member; null when there is none. Its rows begin before the end of the time. */
static json_t *ask(struct ctl *ctl, const struct span *s, const char *op, json_t *args,
		   const char *member, const char *time)
{
	json_t *answer = NULL, *rows, *kept = json_array();
	size_t i;
	json_t *row;

	if (ctl_ask(ctl, op, args, &answer) != CTL_DONE) {
		json_decref(kept);
		return json_null();
	}
	rows = json_object_get(answer, member);
	json_array_foreach (rows, i, row) {
		if (time == NULL || value_number(row, time) < s->until) {
			json_array_append(kept, row);
		}
	}
	json_decref(answer);
	return kept;
}

/* All of the answer. */
static json_t *ask_all(struct ctl *ctl, const char *op, json_t *args)
{
	json_t *answer = NULL;

	return ctl_ask(ctl, op, args, &answer) == CTL_DONE ? answer : json_null();
}

static json_t *phases_of(struct ctl *ctl, const struct span *s)
{
	json_t *phases = json_array();

	for (int link = 0; link < 4; link++) {
		json_t *args = since(s, ROWS_MOST);
		json_t *answer;

		json_object_set_new(args, "link", json_integer(link));
		answer = ask_all(ctl, "phase.history", args);
		json_array_append_new(phases,
				      json_pack("{s:i,s:O?,s:O?,s:O?}", "link", link, "reference",
						json_object_get(answer, "reference"), "events",
						json_object_get(answer, "events"), "rows",
						json_object_get(answer, "rows")));
		json_decref(answer);
	}
	return phases;
}

/* Rows by minute or hour, for the picture. */
static json_t *losses_by_time(struct ctl *ctl, const struct span *s)
{
	json_t *args = of_span(s, 4 * 1500);

	json_object_set_new(args, "by_s",
			    json_integer(s->until - s->since > MINUTES_S ? 3600 : 60));
	return ask(ctl, s, "ledger.show", args, "links", NULL);
}

static bool has_code(const json_t *event, const char *const *codes)
{
	for (; *codes != NULL; codes++) {
		if (strcmp(value_string(event, "code", ""), *codes) == 0) {
			return true;
		}
	}
	return false;
}

/* Events of these codes, oldest first. */
static json_t *events_of(const json_t *events, const char *const *codes)
{
	json_t *kept = json_array();
	size_t i;
	json_t *event;

	json_array_foreach (events, i, event) {
		if (has_code(event, codes)) {
			json_array_insert(kept, 0, event);
		}
	}
	return kept;
}

/* --- sums --- */

static double sum(const json_t *rows, const char *path, bool (*counts)(const json_t *row))
{
	double all = 0;
	size_t i;
	const json_t *row;

	json_array_foreach (rows, i, row) {
		double n = value_number(row, path);

		all += isfinite(n) && (counts == NULL || counts(row)) ? n : 0;
	}
	return all;
}

static bool of_link(const json_t *hop)
{
	return !json_is_string(value_at(hop, "group"));
}

static bool of_group(const json_t *hop)
{
	return !of_link(hop);
}

static size_t count(const json_t *rows, bool (*counts)(const json_t *row))
{
	size_t n = 0, i;
	const json_t *row;

	json_array_foreach (rows, i, row) {
		n += counts(row);
	}
	return n;
}

static bool is_red(const json_t *incident)
{
	return strcmp(value_string(incident, "severity", ""), "red") == 0;
}

static bool is_active(const json_t *incident)
{
	return strcmp(value_string(incident, "state", ""), "active") == 0;
}

static bool is_open(const json_t *command)
{
	return json_is_null(value_at(command, "ended"));
}

static bool has_failed(const json_t *command)
{
	return !is_open(command) && strcmp(value_string(command, "state", ""), "DONE") != 0;
}

static json_t *only(const json_t *rows, bool (*wanted)(const json_t *row))
{
	json_t *kept = json_array();
	size_t i;
	json_t *row;

	json_array_foreach (rows, i, row) {
		if (wanted(row)) {
			json_array_append(kept, row);
		}
	}
	return kept;
}

static json_t *sums_of(const json_t *r)
{
	const json_t *incidents = value_at(r, "incidents"), *commands = value_at(r, "commands");

	return json_pack("{s:I,s:I,s:I,s:f,s:f,s:o,s:o,s:I,s:I,s:I}", "incidents",
			 (json_int_t)json_array_size(incidents), "red",
			 (json_int_t)count(incidents, is_red), "active",
			 (json_int_t)count(incidents, is_active), "frames",
			 sum(value_at(r, "hops"), "frames", of_link), "dropped",
			 sum(value_at(r, "hops"), "frames", of_group), "hits",
			 json_real(value_number(r, "dark.hits")), "dark_s",
			 json_real(value_number(r, "dark.dark_s")), "commands",
			 (json_int_t)json_array_size(commands), "failed",
			 (json_int_t)count(commands, has_failed), "open",
			 (json_int_t)count(commands, is_open));
}

static void add_ledger(json_t *r, json_t *ledger)
{
	static const char *const members[] = {"hops", "missing", "missing_s", "balanced"};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		json_t *value = json_object_get(ledger, members[i]);

		json_object_set_new(r, members[i],
				    value != NULL ? json_incref(value) : json_null());
	}
	json_decref(ledger);
}

/* With remarks in their own list; the last summary begins the report. */
static void add_events(json_t *r, json_t *events)
{
	static const char *const remarks[] = {"remark", "summary", NULL},
				 *const summaries[] = {"summary", NULL},
				 *const relocks[] = {"reset", "align", NULL},
				 *const restarts[] = {"daemon-start", "daemon-stop", NULL};
	json_t *said = events_of(events, summaries);
	size_t last = json_array_size(said);
	json_t *summary = last > 0 ? json_object_get(json_array_get(said, last - 1), "text") : NULL;

	json_object_set_new(r, "summary", summary != NULL ? json_incref(summary) : json_null());
	json_object_set_new(r, "remarks", events_of(events, remarks));
	json_object_set_new(r, "relocks", events_of(events, relocks));
	json_object_set_new(r, "restarts", events_of(events, restarts));
	json_decref(said);
	json_decref(events);
}

static json_t *make(struct ctl *ctl, const struct span *s, bool pictures)
{
	json_t *r = json_pack("{s:i,s:f,s:f,s:f}", "board", (int)ctl->station.board, "since",
			      s->since, "until", s->until, "made", ctl_now());

	json_object_set_new(
		r, "incidents",
		ask(ctl, s, "incident.history", of_span(s, ROWS_MOST), "incidents", NULL));
	add_ledger(r, ask_all(ctl, "ledger.show", of_span(s, 1)));
	json_object_set_new(r, "dark", ask_all(ctl, "dark.show", of_span(s, ROWS_MOST)));
	json_object_set_new(r, "commands",
			    ask(ctl, s, "command.list", since(s, ROWS_MOST), "commands", "time"));
	json_object_set_new(r, "phases", phases_of(ctl, s));
	json_object_set_new(r, "clock",
			    ask(ctl, s, "clock.history", since(s, ROWS_MOST), "events", "time"));
	json_object_set_new(
		r, "runs",
		ask(ctl, s, "run.show", json_pack("{s:i}", "limit", 20), "runs", "begun"));
	add_events(r, ask(ctl, s, "event.list", since(s, EVENTS_MOST), "events", "time"));
	if (pictures) {
		json_object_set_new(r, "losses", losses_by_time(ctl, s));
	}
	json_object_set_new(r, "sums", sums_of(r));
	return r;
}

/* --- as text --- */

static bool ends_in(const json_t *r, const json_t *run)
{
	return !(value_number(run, "ended") < value_number(r, "since"));
}

static void render_head(struct writer *w, const json_t *r)
{
	char span[48];

	value_say(w, WRITER_BOLD, r, "Report of board {board}, {since:time} to {until:time} UTC");
	writer_line(w, WRITER_BOLD, " (%s)",
		    ctl_span_text(value_number(r, "until") - value_number(r, "since"), span,
				  sizeof(span)));
	writer_paragraph(
		w, 2, WRITER_PLAIN, "%s",
		value_string(r, "summary", "no summary of the shift: fcmctl log --summary TEXT"));
	value_line(
		w, WRITER_PLAIN, value_at(r, "sums"),
		"incidents: {incidents}, {red} of them red, {active} still active; {frames:count} "
		"frames lost,");
	value_line(w, WRITER_PLAIN, value_at(r, "sums"),
		   "{dropped:count} dropped for groups; {dark_s:rate} module-seconds dark, "
		   "{hits:rate} hits lost in modules;");
	value_line(w, WRITER_PLAIN, value_at(r, "sums"),
		   "commands: {commands}, {failed} of them not done, {open} open");
}

static void begin(struct writer *w, const char *heading)
{
	writer_newline(w);
	writer_heading(w, "%s", heading);
}

static void render_phases(struct writer *w, const json_t *phases)
{
	static const struct value_column columns[] = {{"time (UTC)", "{time:time}"},
						      {"verdict", "{verdict}", VALUE_BY_WORD},
						      {">moved ps", "{difference_ps:+ps}"},
						      {"?who", "{who}"},
						      {"reason", "{reason}"},
						      {0}};
	size_t i;
	const json_t *phase;

	json_array_foreach (phases, i, phase) {
		if (json_array_size(value_at(phase, "events")) > 0) {
			value_line(w, WRITER_PLAIN, phase, "link {link}");
			value_table(w, value_at(phase, "events"), columns, "");
		}
	}
}

static void render_commands(struct writer *w, const json_t *commands)
{
	static const struct value_column columns[] = {
		{"time (UTC)", "{time:time}"}, {"who", "{who}"},
		{"parameter", "{parameter}"},  {"?>old", "{old:word}"},
		{">new", "{new:word}"},	       {"state", "{state|?}", VALUE_BY_WORD},
		{"reason", "{reason}"},	       {0}};

	value_table(w, commands, columns, "none");
}

static void render_events(struct writer *w, const json_t *events)
{
	static const struct value_column columns[] = {
		{"time (UTC)", "{time:time}"}, {"object", "{object}"}, {"text", "{text}"}, {0}};

	value_table(w, events, columns, "none");
}

static void render_clock(struct writer *w, const json_t *clock)
{
	static const struct value_column columns[] = {
		{"time (UTC)", "{time:time}"}, {"state", "{state}", VALUE_BY_WORD},
		{"source", "{source}"},	       {">+- ns", "{uncertainty_ns}"},
		{"reason", "{reason}"},	       {0}};

	value_table(w, clock, columns, "no change");
}

static void render_runs(struct writer *w, const json_t *r)
{
	static const struct value_column columns[] = {{">run", "{number:count}"},
						      {"begun (UTC)", "{begun:time}"},
						      {"ended (UTC)", "{ended:time}"},
						      {"note", "{note}"},
						      {0}};
	json_t *runs = json_array();
	size_t i;
	json_t *run;

	json_array_foreach (value_at(r, "runs"), i, run) {
		if (ends_in(r, run)) {
			json_array_append(runs, run);
		}
	}
	value_table(w, runs, columns, "none");
	json_decref(runs);
}

static void render_open(struct writer *w, const json_t *r)
{
	json_t *incidents = only(value_at(r, "incidents"), is_active);
	json_t *commands = only(value_at(r, "commands"), is_open);

	begin(w, "Open at the end");
	if (json_array_size(incidents) + json_array_size(commands) == 0) {
		writer_line(w, WRITER_GOOD, "nothing");
	}
	if (json_array_size(incidents) > 0) {
		ctl_incident_past_render(w, incidents);
	}
	if (json_array_size(commands) > 0) {
		render_commands(w, commands);
	}
	json_decref(incidents);
	json_decref(commands);
}

static void render(struct writer *w, const json_t *r)
{
	render_head(w, r);
	render_open(w, r);
	begin(w, "Incidents");
	ctl_incident_past_render(w, value_at(r, "incidents"));
	writer_newline(w);
	ctl_hops_render(w, value_at(r, "hops"));
	if (value_number(r, "missing_s") > 0) {
		value_line(w, WRITER_WARN, r,
			   "{missing_s:age} of that time have no account: fcmctl ledger show");
	}
	writer_heading(w, "What the modules did not see");
	ctl_dark_render(w, value_at(r, "dark.causes"));
	begin(w, "Logbook");
	render_events(w, value_at(r, "remarks"));
	begin(w, "Commands");
	render_commands(w, value_at(r, "commands"));
	begin(w, "Links that were reset or aligned");
	render_events(w, value_at(r, "relocks"));
	begin(w, "Verdicts on the phase");
	render_phases(w, value_at(r, "phases"));
	begin(w, "Clock");
	render_clock(w, value_at(r, "clock"));
	begin(w, "Runs");
	render_runs(w, r);
	begin(w, "Starts and ends of the daemon");
	render_events(w, value_at(r, "restarts"));
}

/* --- the command --- */

static int report_run(struct ctl *ctl, const struct ctl_args *args)
{
	struct span s = {.until = ctl_number(args, CTL_TO, ctl_now())};
	json_t *report;

	s.since = ctl_number(args, CTL_SINCE, s.until - SHIFT_S);
	if (s.since >= s.until) {
		return ctl_usage(ctl, "fcmctl report --since 8h",
				 "the report's beginning is not before its end");
	}
	if (ctl_given(args, CTL_HTML) && ctl->json) {
		return ctl_usage(ctl, "leave the other out", "use only one of --html, --json");
	}
	report = make(ctl, &s, ctl_given(args, CTL_HTML) || ctl->json);
	if (ctl_given(args, CTL_HTML)) {
		report_html(stdout, report);
	} else {
		writer_result(ctl->out, report, render);
	}
	json_decref(report);
	return CTL_DONE;
}

const struct ctl_command ctl_report_commands[] = {
	{
		.verb = "report",
		.arguments = "",
		.summary = "a shift on a page: what happened, what was lost, what is open",
		.help = "Of the last 8 hours, or since TIME up to --to TIME: the shift's summary "
			"(fcmctl log --summary),\nwhat is open, incidents with their cost and what "
			"was done, losses by name, dark time,\nremarks, commands, links reset or "
			"aligned, verdicts on the phase, the clock,\nruns. Also made while the "
			"daemon is not running.\n\n"
			"  fcmctl report --since 8h\n"
			"  fcmctl report --since 2026-11-01T06:00 --to 2026-11-01T14:00 --html > "
			"shift.html",
		.options = CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_TO) | CTL_BIT(CTL_HTML),
		.run = report_run,
	},
	{0},
};
