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

#define SHIFT_S	  28800.0
#define MINUTES_S 86400.0 /* a longer time is shown by hour */
#define POINTS	  1500	  /* of a link in a picture */

/* --- the questions --- */

struct span {
	double since, until;
	json_t *cut; /* what has more rows than are shown: [{list, rows, text}] */
};

/* Rows of a time. More than `most` are not asked for: the last of them, or the first, are left out. */
struct list {
	const char *op, *member;
	const char *text; /* "the newest 1000 commands" */
	unsigned most;
	bool last_out;
};

static const struct list incidents_list = {"incident.history", "incidents", "incidents", 1000},
			 commands_list = {"command.list", "commands", "commands", 1000, true},
			 clock_list = {"clock.history", "events", "changes of the clock", 1000,
				       true},
			 runs_list = {"run.show", "runs", "runs", 1000, true},
			 events_list = {"event.list", "events", "events", 5000, true},
			 losses_list = {"ledger.show", "links", "rows of losses", 4 * POINTS},
			 causes_list = {"dark.show", "causes", "causes of dark time", 1000, true},
			 phase_list = {"phase.history", "rows", "points of a phase", POINTS},
			 verdicts_list = {"phase.history", "events", "verdicts on a phase", POINTS};

static json_t *of_span(const struct span *s, const struct list *list)
{
	return json_pack("{s:f,s:f,s:i}", "since", s->since, "until", s->until, "limit",
			 (int)list->most + 1);
}

/* The seconds of a row, for a picture. */
static int step(const struct span *s)
{
	double seconds = s->until - s->since;

	return seconds > MINUTES_S ? 3600 : seconds > POINTS ? 60 : 1;
}

/* One more than its most was asked for: where it came, there are more. */
static void cut(const struct span *s, const struct list *list, json_t *answer)
{
	json_t *rows = json_object_get(answer, list->member);
	char text[100];

	if (json_array_size(rows) <= list->most) {
		return;
	}
	json_array_remove(rows, list->last_out ? list->most : 0);
	snprintf(text, sizeof(text), "only the %s %u %s: a report of a shorter time has all",
		 list == &causes_list ? "largest" : "newest", list->most, list->text);
	json_array_append_new(s->cut, json_pack("{s:s,s:i,s:s}", "list", list->text, "rows",
						(int)list->most, "text", text));
}

/* All of the answer; null when there is none. */
static json_t *ask_all(struct ctl *ctl, const struct span *s, const struct list *list, json_t *args)
{
	json_t *answer = NULL;

	if (ctl_ask(ctl, list->op, args, &answer) != CTL_DONE) {
		return json_null();
	}
	cut(s, list, answer);
	return answer;
}

/* Its rows. */
static json_t *ask(struct ctl *ctl, const struct span *s, const struct list *list, json_t *args)
{
	json_t *answer = ask_all(ctl, s, list, args);
	json_t *rows = json_incref(json_object_get(answer, list->member));

	json_decref(answer);
	return rows != NULL ? rows : json_null();
}

static json_t *phases_of(struct ctl *ctl, const struct span *s)
{
	json_t *phases = json_array();

	for (int link = 0; link < 4; link++) {
		json_t *args = of_span(s, &phase_list);
		json_t *answer;

		json_object_set_new(args, "link", json_integer(link));
		json_object_set_new(args, "by_s", json_integer(step(s)));
		answer = ask_all(ctl, s, &phase_list, args);
		cut(s, &verdicts_list, answer);
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
	json_t *args = of_span(s, &losses_list);

	json_object_set_new(args, "by_s", json_integer(step(s) > 60 ? 3600 : 60));
	return ask(ctl, s, &losses_list, args);
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

/* What had not ended by the end of the report: `end` is the member with its end. A new reference. */
static json_t *open_of(const json_t *rows, const char *end, double until)
{
	json_t *open = json_array();
	size_t i;
	json_t *row;

	json_array_foreach (rows, i, row) {
		if (!(value_number(row, end) < until)) {
			json_array_append(open, row);
		}
	}
	return open;
}

static bool has_failed(const json_t *command)
{
	return !json_is_null(value_at(command, "ended")) &&
	       strcmp(value_string(command, "state", ""), "DONE") != 0;
}

/* Also commands that are open since before it. */
static void add_open(json_t *r, struct ctl *ctl, const struct span *s)
{
	json_t *commands = open_of(value_at(r, "commands"), "ended", s->until);
	json_t *args = json_pack("{s:f,s:s,s:i}", "until", s->since, "state", "open", "limit",
				 (int)commands_list.most + 1);
	json_t *before = ask(ctl, s, &commands_list, args);

	json_array_extend(commands, before);
	json_decref(before);
	json_object_set_new(r, "open",
			    json_pack("{s:o,s:o}", "incidents",
				      open_of(value_at(r, "incidents"), "until", s->until),
				      "commands", commands));
}

static json_t *sums_of(const json_t *r)
{
	const json_t *incidents = value_at(r, "incidents"), *commands = value_at(r, "commands");
	const json_t *open = value_at(r, "open.commands"); /* some have failed later */

	return json_pack("{s:I,s:I,s:I,s:f,s:f,s:o,s:o,s:I,s:I,s:I}", "incidents",
			 (json_int_t)json_array_size(incidents), "red",
			 (json_int_t)count(incidents, is_red), "active",
			 (json_int_t)json_array_size(value_at(r, "open.incidents")), "frames",
			 sum(value_at(r, "hops"), "frames", of_link), "dropped",
			 sum(value_at(r, "hops"), "frames", of_group), "hits",
			 json_real(value_number(r, "dark.hits")), "dark_s",
			 json_real(value_number(r, "dark.dark_s")), "commands",
			 (json_int_t)json_array_size(commands), "failed",
			 (json_int_t)(count(commands, has_failed) - count(open, has_failed)),
			 "open", (json_int_t)json_array_size(open));
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

/* The number at the end of "... [incident 42]", as the daemon writes it; 0: it is about none. */
static long long incident_of(const json_t *remark)
{
	const char *text = value_string(remark, "text", "");
	const char *mark = strrchr(text, '[');
	long long number = 0;

	return mark != NULL && sscanf(mark, "[incident %lld]", &number) == 1 ? number : 0;
}

/* To each incident what was written about it: `written`. */
static void add_remarks(json_t *incidents, const json_t *remarks)
{
	size_t i, n;
	json_t *incident, *remark;

	json_array_foreach (incidents, i, incident) {
		json_t *about = json_array();

		json_array_foreach (remarks, n, remark) {
			if (incident_of(remark) == value_integer(incident, "number", -1)) {
				json_array_append(about, json_object_get(remark, "text"));
			}
		}
		json_object_set_new(incident, "written", about);
	}
}

/* With remarks in their own list; the last summary begins the report. */
static void add_events(json_t *r, json_t *events)
{
	static const char *const remarks[] = {"remark", "summary", NULL},
				 *const summaries[] = {"summary", NULL},
				 *const handled[] = {"incident-acknowledged", "incident-paused",
						     "incident-resumed", NULL},
				 *const relocks[] = {"reset", "align", NULL},
				 *const restarts[] = {"daemon-start", "daemon-stop", NULL};
	json_t *said = events_of(events, summaries);
	size_t last = json_array_size(said);
	json_t *summary = last > 0 ? json_object_get(json_array_get(said, last - 1), "text") : NULL;

	json_object_set_new(r, "summary", summary != NULL ? json_incref(summary) : json_null());
	json_object_set_new(r, "remarks", events_of(events, remarks));
	json_object_set_new(r, "handled", events_of(events, handled));
	json_object_set_new(r, "relocks", events_of(events, relocks));
	json_object_set_new(r, "restarts", events_of(events, restarts));
	json_decref(said);
	json_decref(events);
}

static json_t *make(struct ctl *ctl, const struct span *s, bool pictures)
{
	static const struct {
		const char *name;
		const struct list *list;
	} lists[] = {{"incidents", &incidents_list},
		     {"commands", &commands_list},
		     {"clock", &clock_list},
		     {"runs", &runs_list}};
	json_t *r = json_pack("{s:i,s:f,s:f,s:f,s:O}", "board", (int)ctl->station.board, "since",
			      s->since, "until", s->until, "made", ctl_now(), "cut", s->cut);
	json_t *of_sums = json_pack("{s:f,s:f,s:i}", "since", s->since, "until", s->until, "limit",
				    1); /* its rows are not shown, but its sums */

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		json_object_set_new(r, lists[i].name,
				    ask(ctl, s, lists[i].list, of_span(s, lists[i].list)));
	}
	add_ledger(r, ask_all(ctl, s, &losses_list, of_sums));
	json_object_set_new(r, "dark", ask_all(ctl, s, &causes_list, of_span(s, &causes_list)));
	json_object_set_new(r, "phases", phases_of(ctl, s));
	add_events(r, ask(ctl, s, &events_list, of_span(s, &events_list)));
	add_remarks(json_object_get(r, "incidents"), value_at(r, "remarks"));
	add_open(r, ctl, s);
	if (pictures) {
		json_object_set_new(r, "losses", losses_by_time(ctl, s));
	}
	json_object_set_new(r, "sums", sums_of(r));
	return r;
}

/* --- as text --- */

static void render_head(struct writer *w, const json_t *r)
{
	char span[48];
	size_t i;
	const json_t *cut;

	value_say(w, WRITER_BOLD, r, "Report of board {board}, {since:time} to {until:time} UTC");
	writer_line(w, WRITER_BOLD, " (%s)",
		    ctl_span_text(value_number(r, "until") - value_number(r, "since"), span,
				  sizeof(span)));
	writer_paragraph(
		w, 2, WRITER_PLAIN, "%s",
		value_string(r, "summary", "no summary of the shift: fcmctl log --summary TEXT"));
	value_line(w, WRITER_PLAIN, value_at(r, "sums"),
		   "incidents: {incidents}, {red} of them red, {active} active at the end; "
		   "{frames:count} frames lost,");
	value_line(w, WRITER_PLAIN, value_at(r, "sums"),
		   "{dropped:count} dropped for groups; {dark_s:rate} module-seconds dark, "
		   "{hits:rate} hits lost in modules;");
	value_line(w, WRITER_PLAIN, value_at(r, "sums"),
		   "commands: {commands}, {failed} of them not done, {open} open at the end");
	json_array_foreach (value_at(r, "cut"), i, cut) {
		value_line(w, WRITER_WARN, cut, "{text}");
	}
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

static void render_runs(struct writer *w, const json_t *runs)
{
	static const struct value_column columns[] = {{">run", "{number:count}"},
						      {"begun (UTC)", "{begun:time}"},
						      {"ended (UTC)", "{ended:time}"},
						      {"note", "{note}"},
						      {0}};

	value_table(w, runs, columns, "none");
}

static void render_open(struct writer *w, const json_t *r)
{
	static const struct value_column columns[] = {{"time (UTC)", "{time:time}"},
						      {"who", "{who}"},
						      {"parameter", "{parameter}"},
						      {">new", "{new:word}"},
						      {"ended (UTC)", "{ended:time|open}"},
						      {"state", "{state|?}", VALUE_BY_WORD},
						      {0}};
	static const struct value_column incident_columns[] = {
		{">no.", "{number:count}"},
		{"severity", "{severity}", VALUE_BY_WORD},
		{"since (UTC)", "{since:time}"},
		{"until (UTC)", "{until:time|active}"},
		{"+cause", "{object}/{code}: {text}"},
		{0}};
	const json_t *incidents = value_at(r, "open.incidents");
	const json_t *commands = value_at(r, "open.commands");

	begin(w, "Open at the end");
	if (json_array_size(incidents) + json_array_size(commands) == 0) {
		writer_line(w, WRITER_GOOD, "nothing");
	}
	if (json_array_size(incidents) > 0) {
		value_table(w, incidents, incident_columns, "");
	}
	if (json_array_size(commands) > 0) {
		value_table(w, commands, columns, "");
	}
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
	begin(w, "Acknowledged and paused");
	render_events(w, value_at(r, "handled"));
	begin(w, "Commands");
	render_commands(w, value_at(r, "commands"));
	begin(w, "Links that were reset or aligned");
	render_events(w, value_at(r, "relocks"));
	begin(w, "Verdicts on the phase");
	render_phases(w, value_at(r, "phases"));
	begin(w, "Clock");
	render_clock(w, value_at(r, "clock"));
	begin(w, "Runs");
	render_runs(w, value_at(r, "runs"));
	begin(w, "Starts and ends of the daemon");
	render_events(w, value_at(r, "restarts"));
}

/* --- the command --- */

static int report_run(struct ctl *ctl, const struct ctl_args *args)
{
	struct span s = {.until = ctl_number(args, CTL_TO, ctl_now())};
	json_t *report;

	s.since = ctl_number(args, CTL_SINCE, s.until - SHIFT_S);
	if (ctl_given(args, CTL_HTML) && ctl->json) {
		return ctl_usage(ctl, "leave the other out", "use only one of --html, --json");
	}
	s.cut = json_array();
	report = make(ctl, &s, ctl_given(args, CTL_HTML) || ctl->json);
	if (ctl_given(args, CTL_HTML)) {
		report_html(stdout, report);
	} else {
		writer_result(ctl->out, report, render);
	}
	json_decref(report);
	json_decref(s.cut);
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
