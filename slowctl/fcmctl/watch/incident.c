/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl incident: list, show, acknowledge, pause, resume, watch; and the lines about incidents in `status`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>

#include "slowctl/fcmctl/core/client.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/fcmctl/watch/screens.h"

#define SILENT_S  20.0 /* the daemon gives a sign of life every 5 s */
#define PAST_MOST 1000u

/* --- words --- */

/* "840 frames, 12 k hits, 36 module-s dark"; "-": nothing. `brief`: rounded. Returns buf. */
static const char *cost_words(const json_t *cost, bool brief, char *buf, size_t size)
{
	static const struct {
		const char *name, *text, *brief;
	} costs[] = {
		{"frames", "{frames:count} frames", "{frames:rate} frames"},
		{"dropped", "{dropped:count} frames dropped", "{dropped:rate} dropped"},
		{"hits", "{hits:rate} hits", "{hits:rate} hits"},
		{"dark_s", "{dark_s:rate} module-s dark", "{dark_s:rate} mod-s dark"},
	};
	char part[80];

	*buf = '\0';
	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
		if (value_number(cost, costs[i].name) > 0) {
			value_append(buf, size, "%s%s", *buf != '\0' ? ", " : "",
				     value_fill(cost, brief ? costs[i].brief : costs[i].text, part,
						sizeof(part)));
		}
	}
	if (*buf == '\0') {
		value_append(buf, size, "-");
	}
	return buf;
}

static const char *cost_text(const json_t *cost, char *buf, size_t size)
{
	return cost_words(cost, false, buf, size);
}

/* "acknowledged by anna: ...; paused until ... by ...: ...", "" without either. Returns buf. */
static const char *dealt_text(const json_t *incident, char *buf, size_t size)
{
	char seen[240] = "", paused[320] = "";

	if (json_is_object(value_at(incident, "acknowledged"))) {
		value_fill(incident,
			   *value_string(incident, "acknowledged.text", "") != '\0'
				   ? "acknowledged by {acknowledged.who|?}: {acknowledged.text}"
				   : "acknowledged by {acknowledged.who|?}",
			   seen, sizeof(seen));
	}
	if (json_is_object(value_at(incident, "paused"))) {
		value_fill(incident,
			   strcmp(value_string(incident, "paused.covers", ""), "red") == 0
				   ? "paused until {paused.until:time} UTC by {paused.who|?}: "
				     "{paused.text|}"
				   : "paused as a warning until {paused.until:time} UTC by "
				     "{paused.who|?}: {paused.text|}",
			   paused, sizeof(paused));
	}
	snprintf(buf, size, "%s%s%s", seen, *seen != '\0' && *paused != '\0' ? "; " : "", paused);
	return buf;
}

/* Red, warning; of what does not count (now): its state. */
static const char *state_word(const json_t *incident)
{
	const char *state = value_string(incident, "state", "active");

	return strcmp(state, "active") == 0	    ? value_string(incident, "severity", "red")
	       : strcmp(state, "acknowledged") == 0 ? "seen"
						    : state;
}

static enum writer_style state_style(const json_t *incident)
{
	const char *state = value_string(incident, "state", "active");
	bool counts = strcmp(state, "active") == 0 || strcmp(state, "acknowledged") == 0;

	return counts ? value_style(value_string(incident, "severity", "red")) : WRITER_DIM;
}

/* --- in status --- */

bool ctl_incident_has_cleared(const json_t *incident)
{
	return strcmp(value_string(incident, "state", ""), "cleared") == 0;
}

/* What is typed is never cut: "fcmctl incident show 7" in its place. */
const char *ctl_incident_advice(const struct writer *w, const json_t *incident)
{
	const char *advice = value_string(incident, "typed", "");
	size_t room = writer_room(w) - strlen(CTL_ADVICE_INDENT);

	if (*advice != '\0' && strlen(advice) > room) {
		advice = value_string(incident, "show", "");
	}
	return strlen(advice) <= room ? advice : "";
}

void ctl_incident_lines(struct writer *w, const json_t *incident, bool advice)
{
	char cost[200], when[64], text[600];
	size_t room, used;

	value_say(w, WRITER_PLAIN, incident, "{number:4} ");
	writer_text(w, state_style(incident), "%-8s", state_word(incident));
	value_text(value_at(incident, ctl_incident_has_cleared(incident) ? "until" : "since"),
		   VALUE_TIME, when, sizeof(when));
	writer_text(w, WRITER_DIM, "%s ", strlen(when) > 11 ? when + 11 : when);
	cost_words(value_at(incident, "cost"), true, cost, sizeof(cost));
	used = strcmp(cost, "-") == 0 ? 0 : strlen(cost) + 2;
	room = writer_room(w);
	/* Its name comes before what it has cost, and that before the rest of its text. */
	value_fill(incident, "{object}/{code}...", text, sizeof(text));
	room -= MIN(used, room - MIN(strlen(text), room / 2));
	value_fill(incident, "{object}/{code}: {text}", text, sizeof(text));
	if (used == 0) {
		writer_cut_line(w, "%s", text);
	} else {
		writer_text(w, WRITER_PLAIN, "%.*s%s", (int)writer_cut(text, room), text,
			    writer_cut(text, room) < strlen(text) ? "..." : "");
		writer_cut_line(w, "; %s", cost);
	}
	if (advice && *ctl_incident_advice(w, incident) != '\0') {
		writer_line(w, WRITER_PLAIN, CTL_ADVICE_INDENT "%s",
			    ctl_incident_advice(w, incident));
	}
}

/* Adds `typed`: what to do, as it is typed here. */
static void add_typed(const struct ctl *ctl, json_t *row)
{
	char typed[PATH_MAX];

	ctl_typed(ctl, value_string(row, "action", ""), typed, sizeof(typed));
	json_object_set_new(row, "typed", json_string(typed));
}

void ctl_incident_type(const struct ctl *ctl, json_t *incidents)
{
	char typed[PATH_MAX], show[64];
	size_t i, n;
	json_t *incident, *part;

	json_array_foreach (value_at(incidents, "list"), i, incident) {
		add_typed(ctl, incident);
		snprintf(show, sizeof(show), "fcmctl incident show %lld",
			 value_integer(incident, "number", 0));
		json_object_set_new(incident, "show",
				    json_string(ctl_typed(ctl, show, typed, sizeof(typed))));
		json_array_foreach (value_at(incident, "observations"), n, part) {
			add_typed(ctl, part);
		}
	}
}

/* --- list --- */

static void cost_cell(struct writer *w, const json_t *row)
{
	const json_t *cost = value_at(row, "cost");
	char text[200];

	writer_cell(w, WRITER_PLAIN, "%s",
		    cost_text(cost != NULL ? cost : row, text, sizeof(text)));
}

static void state_cell(struct writer *w, const json_t *row)
{
	writer_cell(w, state_style(row), "%s%s", state_word(row),
		    value_true(row, "held") ? " (over)" : "");
}

static void cause_cell(struct writer *w, const json_t *row)
{
	char dealt[600];

	dealt_text(row, dealt, sizeof(dealt));
	writer_cell(w, WRITER_PLAIN, "%s/%s: %s%s%s%s", value_string(row, "object", "?"),
		    value_string(row, "code", "?"), value_string(row, "text", ""),
		    *dealt != '\0' ? " (" : "", dealt, *dealt != '\0' ? ")" : "");
}

/* "by reset by ann; acknowledged by bert: known". */
static void hands_cell(struct writer *w, const json_t *row)
{
	char own[120] = "", seen[300] = "";

	if (json_is_string(value_at(row, "own"))) {
		value_fill(row, "{own}", own, sizeof(own));
	}
	if (json_is_string(value_at(row, "acknowledged_by"))) {
		value_fill(row,
			   json_is_string(value_at(row, "acknowledged_text"))
				   ? "seen by {acknowledged_by}: {acknowledged_text}"
				   : "seen by {acknowledged_by}",
			   seen, sizeof(seen));
	}
	writer_cell(w, WRITER_PLAIN, "%s%s%s", own, *own != '\0' && *seen != '\0' ? "; " : "",
		    *own != '\0' || *seen != '\0' ? seen : "-");
}

void ctl_incident_past_render(struct writer *w, const json_t *incidents)
{
	static const struct value_column columns[] = {{">no.", "{number:count}"},
						      {"severity", "{severity}", VALUE_BY_WORD},
						      {"since (UTC)", "{since:time}"},
						      {"?cost", NULL, .cell = cost_cell},
						      {"?until (UTC)", "{until:time|active}"},
						      {"?by", NULL, .cell = hands_cell},
						      {"+cause", "{object}/{code}: {text}"},
						      {0}};

	value_table(w, incidents, columns, "no incident in that time");
}

static void render_past(struct writer *w, const json_t *result)
{
	ctl_incident_past_render(w, value_at(result, "incidents"));
}

static void render_pauses(struct writer *w, const json_t *pauses)
{
	size_t i;
	const json_t *pause;
	char dealt[600];

	json_array_foreach (pauses, i, pause) {
		writer_paragraph(w, 9, WRITER_DIM, "%s, not active: %s",
				 value_string(pause, "name", "?"),
				 dealt_text(pause, dealt, sizeof(dealt)));
	}
}

static void render_list(struct writer *w, const json_t *incidents)
{
	static const struct value_column columns[] = {
		{">no.", "{number:count}"},	      {"state", NULL, .cell = state_cell},
		{"since (UTC)", "{since:time}"},      {"?cost", NULL, .cell = cost_cell},
		{"+cause", NULL, .cell = cause_cell}, {0}};

	value_say(w, value_style(value_string(incidents, "word", "")), incidents, "{word}  ");
	writer_paragraph(w, 2, WRITER_PLAIN, "%s", value_string(incidents, "headline", ""));
	value_table(w, value_at(incidents, "list"), columns,
		    "no incident now, or in the last 10 minutes");
	if (value_integer(incidents, "left_out", 0) > 0) {
		value_line(w, WRITER_WARN, incidents, "{left_out} more observations had no room");
	}
	render_pauses(w, value_at(incidents, "pauses"));
}

static int list_run(struct ctl *ctl, const struct ctl_args *args)
{
	static const char *const needs_since[] = {"--limit", "--to"};
	const enum ctl_option options[] = {CTL_LIMIT, CTL_TO};

	if (ctl_given(args, CTL_SINCE)) {
		return ctl_show(ctl, "incident.history", ctl_filter(args, PAST_MOST), render_past);
	}
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (ctl_given(args, options[i])) {
			return ctl_usage(ctl, "fcmctl incident list --since 8h",
					 "%s is for the past: it needs --since", needs_since[i]);
		}
	}
	return ctl_show(ctl, "incident.list", NULL, render_list);
}

/* --- show --- */

static void text_cell(struct writer *w, const json_t *row)
{
	const char *action = value_string(row, "typed", "");
	char dealt[600], text[1600];

	dealt_text(row, dealt, sizeof(dealt));
	snprintf(text, sizeof(text), "%s/%s: %s%s%s%s", value_string(row, "object", "?"),
		 value_string(row, "code", "?"), value_string(row, "text", ""),
		 *dealt != '\0' ? " (" : "", dealt, *dealt != '\0' ? ")" : "");
	writer_advised_cell(w, action, text);
}

/* What operators have written about it: fcmctl log --incident. */
static void render_remarks(struct writer *w, const json_t *remarks)
{
	size_t i;
	const json_t *remark;
	char text[600];

	json_array_foreach (remarks, i, remark) {
		value_fill(remark, "{time:time}  {text}", text, sizeof(text));
		writer_text(w, WRITER_PLAIN, "%-18s", i == 0 ? "remarks" : "");
		writer_paragraph(w, 18, WRITER_PLAIN, "%s", text);
	}
}

/* Nothing but its cause, in the same words. */
static bool explains_itself(const json_t *incident, const json_t *parts)
{
	static const char *const members[] = {"object", "code", "text"};
	const json_t *part = json_array_get(parts, 0);

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (strcmp(value_string(part, members[i], ""),
			   value_string(incident, members[i], "?")) != 0) {
			return false;
		}
	}
	return json_array_size(parts) == 1;
}

void ctl_incident_render(struct writer *w, const json_t *incident)
{
	static const struct value_column columns[] = {
		{"since (UTC)", "{since:time}"},
		{"until (UTC)", "{until:time}"},
		{"?cost", NULL, .cell = cost_cell},
		{"+what it explains", NULL, .cell = text_cell},
		{0}};
	const json_t *parts = value_at(incident, "observations");
	char text[600];

	value_say(w, WRITER_BOLD, incident, "Incident {number}  ");
	writer_text(w, value_style(value_string(incident, "severity", "")), "%s",
		    value_string(incident, "severity", "?"));
	value_line(w, WRITER_PLAIN, incident,
		   value_true(incident, "held") ? ", over, waits to be acknowledged" : ", {state}");
	writer_paragraph(w, 2, WRITER_PLAIN, "%s/%s: %s", value_string(incident, "object", "?"),
			 value_string(incident, "code", "?"), value_string(incident, "text", ""));
	writer_advice(w, value_string(incident, "typed", ""));
	value_pair(w, "since", WRITER_PLAIN, incident, "{since:time} UTC");
	value_pair(w, "until", WRITER_PLAIN, incident, "{until:time}");
	writer_pair(w, "cost", WRITER_PLAIN, "%s",
		    cost_text(value_at(incident, "cost"), text, sizeof(text)));
	value_pair(w, "by our command", WRITER_PLAIN, incident, "{own}");
	dealt_text(incident, text, sizeof(text));
	writer_pair(w, "operators", WRITER_PLAIN, "%s", *text != '\0' ? text : "-");
	render_remarks(w, value_at(incident, "remarks"));
	if (explains_itself(incident, parts)) {
		writer_pair(w, "observations", WRITER_PLAIN, "1, its cause");
		return;
	}
	if (json_is_integer(parts)) { /* of the past */
		value_pair(w, "observations", WRITER_PLAIN, incident,
			   "{observations:count}, with its cause");
		return;
	}
	value_table(w, parts, columns, "nothing");
}

/* "tower1.floor3/hv-off", or without the tower. */
static bool is_name(const char *name, const char *word)
{
	const char *dot = strchr(name, '.');

	return strcmp(name, word) == 0 || (dot != NULL && strcmp(dot + 1, word) == 0);
}

/* By its number, or by the name of its cause: then the first on the list. NULL: there is none. */
static json_t *find(const json_t *incidents, const char *word)
{
	size_t i;
	json_t *incident;

	json_array_foreach (incidents, i, incident) {
		char number[32], name[200];

		value_fill(incident, "{number:count}", number, sizeof(number));
		value_fill(incident, "{object}/{code}", name, sizeof(name));
		if (strcmp(word, number) == 0 || is_name(name, word)) {
			return incident;
		}
	}
	return NULL;
}

/* With the remarks about it. */
static void show_one(struct ctl *ctl, json_t *incident)
{
	json_t *about = NULL;
	json_t *args = json_pack("{s:I,s:f}", "incident", value_integer(incident, "number", 0),
				 "since", value_number(incident, "since"));

	if (ctl_ask(ctl, "event.list", args, &about) == CTL_DONE) {
		json_object_set(incident, "remarks", json_object_get(about, "events"));
	}
	writer_result(ctl->out, incident, ctl_incident_render);
	json_decref(about);
}

/* One that the database has, also while the daemon is not running. */
static int show_past(struct ctl *ctl, long long number)
{
	json_t *past = NULL;
	int code = ctl_ask(ctl, "incident.history", json_pack("{s:I}", "incident", number), &past);
	json_t *incident = json_array_get(value_at(past, "incidents"), 0);

	if (incident != NULL && !ctl->json) {
		add_typed(ctl, incident);
		if (json_is_string(value_at(incident, "acknowledged_by"))) {
			json_object_set_new(incident, "acknowledged",
					    json_pack("{s:O,s:O}", "who",
						      value_at(incident, "acknowledged_by"), "text",
						      value_at(incident, "acknowledged_text")));
		}
	}
	if (incident != NULL) {
		show_one(ctl, incident);
	} else if (code == CTL_DONE) {
		code = ctl_fail(ctl, CTL_NOT, "not-found", "fcmctl incident list --since 1d",
				"there is no incident %lld, or it is part of another one", number);
	}
	json_decref(past);
	return code;
}

static int show_run(struct ctl *ctl, const struct ctl_args *args)
{
	const char *word = args->word[0];
	long long number = word[strspn(word, "0123456789")] == '\0' ? strtoll(word, NULL, 10) : 0;
	json_t *incidents = NULL;
	json_t *incident;
	int code = CTL_DONE;

	if (number > 0) {
		ctl_call_quietly(ctl, "incident.list", NULL, &incidents);
	} else {
		code = ctl_ask(ctl, "incident.list", NULL, &incidents);
	}
	if (!ctl->json) {
		ctl_incident_type(ctl, incidents);
	}
	incident = find(value_at(incidents, "list"), word);
	if (incident != NULL) {
		show_one(ctl, incident);
	} else if (number > 0) {
		code = show_past(ctl, number);
	} else if (code == CTL_DONE) {
		code = ctl_fail(ctl, CTL_NOT, "not-found",
				"fcmctl incident list; older ones: fcmctl incident list --since 1d",
				"no incident `%s' is active, or was in the last 10 minutes", word);
	}
	json_decref(incidents);
	return code;
}

/* --- to change --- */

static void render_done(struct writer *w, const json_t *result)
{
	size_t i;
	const json_t *part;

	json_array_foreach (value_at(result, "observations"), i, part) {
		char dealt[600];

		dealt_text(part, dealt, sizeof(dealt));
		writer_line(w, WRITER_PLAIN, "%s: %s%s", value_string(part, "name", "?"),
			    *dealt != '\0' ? dealt : "it counts again",
			    value_true(part, "active") ? "" : "; it is not active");
	}
}

static int pause_run(struct ctl *ctl, const struct ctl_args *args)
{
	if (!ctl_given(args, CTL_FOR) || !ctl_given(args, CTL_REASON)) {
		return ctl_usage(ctl, "fcmctl incident pause INCIDENT --for 2h --reason TEXT",
				 "a pause needs its end and a reason");
	}
	return ctl_run_row(
		ctl, args,
		json_pack("{s:s,s:f}", "name", args->word[0], "seconds", args->number[CTL_FOR]));
}

/* --- to watch --- */

static void render_change(struct writer *w, const json_t *news)
{
	const json_t *incident = value_at(news, "incident");
	const char *change = value_string(news, "change", "?");
	char text[600];

	if (strcmp(change, "snapshot") == 0) {
		render_list(w, value_at(news, "incidents"));
		return;
	}
	value_say(w, WRITER_DIM, news, "{time:time}  ");
	writer_text(w,
		    incident != NULL ? value_style(value_string(incident, "severity", "?"))
				     : WRITER_PLAIN,
		    "%-13s", change);
	if (incident == NULL) { /* joined */
		value_line(w, WRITER_PLAIN, news, "{number}: it is part of another incident");
		return;
	}
	value_say(w, WRITER_BOLD, incident, "{number} {object}/{code}");
	dealt_text(incident, text, sizeof(text));
	writer_paragraph(w, 11, WRITER_PLAIN, "  %s%s%s%s", value_string(incident, "text", ""),
			 *text != '\0' ? " (" : "", text, *text != '\0' ? ")" : "");
	if (strcmp(change, "over") == 0) {
		writer_paragraph(w, 11, WRITER_PLAIN, "it has cost: %s",
				 cost_text(value_at(incident, "cost"), text, sizeof(text)));
	} else if (strcmp(value_string(incident, "state", ""), "active") == 0 &&
		   *value_string(incident, "typed", "") != '\0') {
		writer_paragraph(w, 11, WRITER_PLAIN, "-> %s", value_string(incident, "typed", ""));
	}
}

/* Signs of life are for programs only. */
static void on_news(void *context, const json_t *news)
{
	struct ctl *ctl = context;
	json_t *incident = json_object_get(news, "incident");

	if (incident != NULL && !ctl->json) {
		add_typed(ctl, incident);
	}
	if (ctl->json || strcmp(value_string(news, "change", ""), "alive") != 0) {
		writer_result(ctl->out, (json_t *)(uintptr_t)news, render_change);
		writer_flush(ctl->out);
	}
}

static int watch_run(struct ctl *ctl, const struct ctl_args *args)
{
	const struct timespec pause = {.tv_sec = 1};
	double silent_s = ctl->timeout_s > 0.0 ? ctl->timeout_s : SILENT_S;
	json_t *answer = NULL;
	bool reported = false;
	int err = ctl_connect(ctl);
	int code = CTL_DONE;

	if (err != 0) {
		return ctl_away_fail(ctl, err, false);
	}
	ctl_catch_interrupt();
	while (!ctl_interrupted() && writer_flush(ctl->out) == 0) {
		err = ctl_connect(ctl);
		if (err == 0) {
			err = client_call(ctl->client, "incident.watch", NULL, silent_s, on_news,
					  ctl, ctl_interrupted, &answer);
			ctl_disconnect(ctl);
		}
		/* The daemon ended the watch: it stops, or it has too many watchers. */
		if (err == 0 && strcmp(value_string(answer, "error.code", ""), "unknown") != 0) {
			code = ctl_fail(ctl, CTL_NOT, value_string(answer, "error.code", "?"),
					value_string(answer, "error.hint", ""),
					"incident watch: %s",
					value_string(answer, "error.message", "?"));
			break;
		}
		json_decref(answer);
		answer = NULL;
		reported = reported && ctl_is_away(err);
		if (!reported && !ctl_interrupted()) {
			ctl_remark("the daemon is not running; waiting for it");
			reported = true;
		}
		nanosleep(&pause, NULL);
	}
	json_decref(answer);
	ctl_release_interrupt();
	return code;
}

const struct ctl_command ctl_incident_commands[] = {
	{"incident", "list", "", "one line a cause: what is wrong, since when, its cost",
	 .help = "An incident is one cause with all that it explains: a fibre without light, and\n"
		 "the lost frames, the mute floor and the old values that come with it. Listed "
		 "are\n"
		 "those that are active, and those of the last 10 minutes. Seen: acknowledged.\n"
		 "(over): it has ended, and waits to be acknowledged. With --since those of that\n"
		 "time, oldest first, also while the daemon is not running.\n\n"
		 "  fcmctl incident list --since 8h",
	 .options = CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_TO) | CTL_BIT(CTL_LIMIT), .run = list_run},
	{"incident", "show", "INCIDENT", "all about one: what to do, cost, what it explains",
	 .help = "Its cause, what to do, since when, what it has cost, the command of ours that\n"
		 "caused it, what operators have done and written about it, and each observation "
		 "that it\n"
		 "explains. INCIDENT is its number, or the name of its cause. One that has "
		 "cleared\n"
		 "is found by its number, also while the daemon is not running; of that the\n"
		 "database has only how many observations it explained.\n\n"
		 "  fcmctl incident show 3\n"
		 "  fcmctl incident show link2/link-dark",
	 .run = show_run},
	{"incident", "ack", "INCIDENT...", "acknowledge it: show that you have seen it",
	 .help = "The incident stays active, and status stays red; it is no longer new, and\n"
		 "shows who has acknowledged it. It becomes new again when its cause gets\n"
		 "worse, turns out to be another one, or returns. One that is over and waits\n"
		 "for this is removed. INCIDENT is a number, or OBJECT/CODE, or OBJECT for all\n"
		 "of it and below it; * does not cross a dot.\n"
		 "\n"
		 "  fcmctl incident ack 3 --reason 'clearing it at daylight'\n"
		 "  fcmctl incident ack floor3/hv-trip",
	 .options = CTL_BIT(CTL_REASON) | CTL_BIT(CTL_DRY_RUN), .op = "incident.ack",
	 .member = "names", .look = "incident list", .render = render_done},
	{"incident", "pause", "INCIDENT", "pause it for a while: --for SPAN --reason TEXT",
	 .help = "Until then it is listed, but does not count in status; nor does what it\n"
		 "explains. At most 24 h; the reason tells the others why. OBJECT/CODE may be\n"
		 "paused before it is active; then its name must be complete. A pause of a\n"
		 "warning does not cover it when it becomes red.\n"
		 "\n"
		 "  fcmctl incident pause link2/link-dark --for 2h --reason 'fibre is exchanged'",
	 .options = CTL_BIT(CTL_FOR) | CTL_BIT(CTL_REASON) | CTL_BIT(CTL_DRY_RUN), .run = pause_run,
	 .op = "incident.pause", .look = "incident list", .render = render_done},
	{"incident", "resume", "INCIDENT...", "end a pause before its time",
	 .help = "The incident counts in status again.", .options = CTL_BIT(CTL_DRY_RUN),
	 .op = "incident.resume", .member = "names", .look = "incident list",
	 .render = render_done},
	{"incident", "watch", "", "each change as it comes, until Ctrl-C",
	 .help = "Shows all incidents, then a line for each that began, became worse, turned\n"
		 "out to have another cause, cleared, was acknowledged or paused. Continues\n"
		 "after a restart of the daemon, with all incidents. With --json an object for\n"
		 "each line, and a sign of life every 5 s.",
	 .run = watch_run},
	{0},
};
