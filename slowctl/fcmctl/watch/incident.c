/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl incident: list, show; one cause, what it explains, what it has cost. */
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/show/value.h"
#include "slowctl/fcmctl/watch/screens.h"

/* "840 frames, 12 k hits, 36 s dark"; "-": nothing. Returns buf. */
static const char *cost_text(const json_t *cost, char *buf, size_t size)
{
	static const struct {
		const char *name, *text;
	} costs[] = {
		{"frames", "{frames:count} frames"},
		{"dropped", "{dropped:count} frames of a group"},
		{"hits", "{hits:rate} hits"},
		{"dark_s", "{dark_s:age} of dark modules"},
	};
	char part[80];

	*buf = '\0';
	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
		if (value_number(cost, costs[i].name) > 0) {
			value_append(buf, size, "%s%s", *buf != '\0' ? ", " : "",
				     value_fill(cost, costs[i].text, part, sizeof(part)));
		}
	}
	if (*buf == '\0') {
		value_append(buf, size, "-");
	}
	return buf;
}

static void cost_cell(struct writer *w, const json_t *row)
{
	const json_t *cost = value_at(row, "cost");
	char text[200];

	writer_cell(w, WRITER_PLAIN, "%s",
		    cost_text(cost != NULL ? cost : row, text, sizeof(text)));
}

static void render_list(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {{">no.", "{number:count}"},
						      {"state", "{state}"},
						      {"severity", "{severity}", VALUE_BY_WORD},
						      {"since (UTC)", "{since:time}"},
						      {"?cost", NULL, .cell = cost_cell},
						      {"cause", "{object}/{code}: {text}"},
						      {0}};
	const json_t *incidents = value_at(result, "incidents");

	value_line(w, value_style(value_string(incidents, "word", "")), incidents,
		   "{word}  {headline}");
	value_table(w, value_at(incidents, "list"), columns,
		    "no incident now, or in the last 10 minutes");
	if (value_integer(incidents, "left_out", 0) > 0) {
		value_line(w, WRITER_WARN, incidents, "{left_out} more observations had no room");
	}
}

static void render_show(struct writer *w, const json_t *incident)
{
	static const struct value_column columns[] = {{"since (UTC)", "{since:time}"},
						      {"until (UTC)", "{until:time}"},
						      {"object/code", "{object}/{code}"},
						      {"cost", NULL, .cell = cost_cell},
						      {0}};
	char text[200];

	value_say(w, WRITER_BOLD, incident, "Incident {number}  ");
	writer_text(w, value_style(value_string(incident, "severity", "")), "%s",
		    value_string(incident, "severity", "?"));
	value_line(w, WRITER_PLAIN, incident, ", {state}");
	writer_paragraph(w, 2, WRITER_PLAIN, "%s/%s: %s", value_string(incident, "object", "?"),
			 value_string(incident, "code", "?"), value_string(incident, "text", ""));
	if (*value_string(incident, "action", "") != '\0') {
		writer_paragraph(w, 2, WRITER_PLAIN, "-> %s", value_string(incident, "action", ""));
	}
	value_pair(w, "since", WRITER_PLAIN, incident, "{since:time} UTC");
	value_pair(w, "until", WRITER_PLAIN, incident, "{until:time}");
	writer_pair(w, "cost", WRITER_PLAIN, "%s",
		    cost_text(value_at(incident, "cost"), text, sizeof(text)));
	value_pair(w, "by our command", WRITER_PLAIN, incident, "{own}");
	value_pair(w, "acknowledged", WRITER_PLAIN, incident, "{acknowledged}");
	writer_newline(w);
	writer_heading(w, "What it explains");
	value_table(w, value_at(incident, "observations"), columns, "nothing else");
}

/* By its number, or by the name of its cause: then the first on the list. NULL: there is none. */
static const json_t *find(const json_t *incidents, const char *word)
{
	size_t i;
	const json_t *incident;

	json_array_foreach (incidents, i, incident) {
		char number[32], name[200];

		if (strcmp(word, value_fill(incident, "{number:count}", number, sizeof(number))) ==
			    0 ||
		    strcmp(word, value_fill(incident, "{object}/{code}", name, sizeof(name))) ==
			    0) {
			return incident;
		}
	}
	return NULL;
}

static int show_run(struct ctl *ctl, const struct ctl_args *args)
{
	json_t *status = NULL;
	int code = ctl_ask(ctl, "status", NULL, &status);
	const json_t *incident = find(value_at(status, "incidents.list"), args->word[0]);

	if (incident != NULL) {
		writer_result(ctl->out, incident, render_show);
	} else if (code == CTL_DONE) {
		code = ctl_fail(ctl, CTL_NOT, "not-found",
				"fcmctl incident list; older ones: fcmctl event list",
				"no incident `%s' is active, or was in the last 10 minutes",
				args->word[0]);
	}
	json_decref(status);
	return code;
}

const struct ctl_command ctl_incident_commands[] = {
	{"incident", "list", "", "one line a cause: what is wrong, since when, its cost",
	 .help = "An incident is one cause with all that it explains: a fibre without light, and\n"
		 "the lost frames, the mute floor and the old values that come with it. Listed "
		 "are\n"
		 "those that are active, and those of the last 10 minutes.",
	 .op = "status", .render = render_list},
	{"incident", "show", "INCIDENT", "all about one: what to do, cost, what it explains",
	 .help = "Its cause, what to do, since when, what it has cost, the command of ours that\n"
		 "caused it, who has acknowledged it, and each observation that it explains.\n"
		 "INCIDENT is its number, or the name of its cause.\n\n"
		 "  fcmctl incident show 3\n"
		 "  fcmctl incident show link2/link-dark",
	 .run = show_run},
	{0},
};
