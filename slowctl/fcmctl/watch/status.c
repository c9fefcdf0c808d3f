/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl status: is everything well, and if not, what to do. The same screen is what `top` refreshes. However much is wrong,
 * it has CTL_SCREEN_LINES lines of CTL_SCREEN_COLUMNS: the worst incidents come first, and what is left out is counted.
 * A text is cut there, a command is not: one that is too long, by the path of the station, has a line of its own, which
 * counts as the rows that it takes. Every value has its age; an unknown value is shown as "-", never as a good value.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "slowctl/fcmctl/core/client.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/fcmctl/watch/screens.h"

#define GROUPS_SHOWN   3u /* with room; one at least */
#define INCIDENT_LINES 5u /* that come before the others of them */

static void render_word(struct writer *w, const json_t *incidents)
{
	const char *word = value_string(incidents, "word", "?");

	writer_text(w, value_style(word), "%s  ", word);
	writer_cut_line(w, "%s", value_string(incidents, "headline", ""));
}

static void render_head(struct writer *w, const json_t *s)
{
	char text[240];

	writer_cut_line(
		w, "%s",
		value_fill(s,
			   *value_string(s, "name", "") != '\0'
				   ? "board {board} ({name}), version {version|?}, up "
				     "{uptime_s:age}, {time:time} UTC"
				   : "board {board}, version {version|?}, up {uptime_s:age}, "
				     "{time:time} UTC",
			   text, sizeof(text)));
}

/* The name of a line of the screen, and its text. */
static void begin_line(struct writer *w, const char *name)
{
	writer_text(w, WRITER_DIM, "%-10s", name);
}

/* To the end of the line: on the screen it is cut there, in full it is broken. */
static void put_end(struct writer *w, bool full, const char *text)
{
	if (full) {
		writer_paragraph(w, 10, WRITER_PLAIN, "%s", text);
	} else {
		writer_cut_line(w, "%s", text);
	}
}

static void put_line(struct writer *w, bool full, const char *name, const json_t *object,
		     const char *text)
{
	char buf[512];

	begin_line(w, name);
	put_end(w, full, value_fill(object, text, buf, sizeof(buf)));
}

/* The text, then the command "command list" as it can be typed; its words alone where that has no room. */
static void put_command(struct writer *w, const char *text, const json_t *s, const char *words)
{
	const char *typed = value_string(value_at(s, "typed"), words, words);
	bool fits = strlen(text) + strlen(typed) <= writer_room(w);

	writer_line(w, WRITER_PLAIN, "%s%s", text, fits ? typed : words);
}

/* --- what is the same on the screen and in full --- */

static void render_clock(struct writer *w, const json_t *clock, bool full)
{
	const char *state = value_string(clock, "state", "?");
	char words[96];
	char inputs[160];
	char text[256];

	begin_line(w, "clock");
	writer_text(w, value_style(state), "%s", state);
	value_fill(clock,
		   json_is_integer(value_at(clock, "uncertainty_ns"))
			   ? ", +-{uncertainty_ns} ns; gpsd {gpsd.age_s:age} ago, PPS "
			     "{pps.age_s:age} ago"
			   : "; gpsd {gpsd.age_s:age} ago, PPS {pps.age_s:age} ago",
		   inputs, sizeof(inputs));
	snprintf(text, sizeof(text), "%s%s", ctl_clock_words(clock, full, words, sizeof(words)),
		 inputs);
	put_end(w, full, text);
}

static void render_run(struct writer *w, const json_t *run, bool full)
{
	put_line(w, full, "run", run,
		 value_integer(run, "number", 0) == 0 ? "none (data flow as run 0)"
						      : "{number} since {since:time} UTC  {note|}");
}

/* Only while one is going on: what it costs, and how long it can. On the screen its name makes room for that. */
static void render_recording(struct writer *w, const json_t *recording, bool full)
{
	const char *name = value_string(recording, "name", "-");
	bool lost = value_integer(recording, "let_go_frames", 0) > 0;
	char rest[200], lasts[48], text[300];
	size_t used, room;

	if (!value_true(recording, "active")) {
		return;
	}
	begin_line(w, "recording");
	if (lost) {
		writer_text(w, WRITER_WARN, "! ");
	}
	snprintf(rest, sizeof(rest), ", %.1f GB%s, room for %s more",
		 value_number(recording, "bytes") / 1e9, full ? " by now" : "",
		 value_text(value_at(recording, "lasts_s"), VALUE_AGE, lasts, sizeof(lasts)));
	used = strlen(rest);
	if (lost) {
		value_fill(recording, "; {let_go_frames} cells let go", rest + used,
			   sizeof(rest) - used);
	}
	room = full ? strlen(name) : MAX(8, writer_room(w) - MIN(writer_room(w), strlen(rest)));
	snprintf(text, sizeof(text), "%.*s%s", (int)writer_cut(name, room), name,
		 writer_cut(name, room) < strlen(name) ? "..." : "");
	if (full) {
		used = strlen(text);
		value_fill(recording, " since {since:time} UTC", text + used, sizeof(text) - used);
	}
	value_append(text, sizeof(text), "%s", rest);
	put_end(w, full, text);
}

/* "tripped: tower1.floor3.om[25], ...", of a list that is not empty: a floor's modules are one pattern, which can be typed. */
static void append_modules(const json_t *modules, const char *state, char *text, size_t size)
{
	const json_t *names = value_at(modules, state);
	size_t count = json_array_size(names);

	for (size_t i = 0, end; i < count; i = end) {
		const char *name = json_string_value(json_array_get(names, i));
		size_t stem = strlen(name) - 1; /* all but the module's digit */

		for (end = i + 1;
		     end < count &&
		     strncmp(json_string_value(json_array_get(names, end)), name, stem) == 0;) {
			end++;
		}
		value_append(text, size, "%s%s%s%.*s", i > 0 ? ", " : "; ", i > 0 ? "" : state,
			     i > 0 ? "" : ": ", (int)stem, name);
		value_append(text, size, end > i + 1 ? "[" : "");
		for (size_t n = i; n < end; n++) {
			value_append(text, size, "%s",
				     json_string_value(json_array_get(names, n)) + stem);
		}
		value_append(text, size, end > i + 1 ? "]" : "");
	}
}

/* Those that see nothing are in sight, also where somebody meant it. */
static void render_modules(struct writer *w, const json_t *modules, bool full)
{
	static const char *const states[] = {"tripped", "off", "low", "unknown"};
	long long count = value_integer(modules, "count", 0), on = value_integer(modules, "on", 0);
	bool all_unknown;
	char text[1200];

	all_unknown =
		count > 0 && (long long)json_array_size(value_at(modules, "unknown")) == count;
	value_fill(modules, all_unknown ? "all {count} unknown" : "{on}/{count} on", text,
		   sizeof(text));
	for (size_t n = 0; !all_unknown && n < sizeof(states) / sizeof(states[0]); n++) {
		append_modules(modules, states[n], text, sizeof(text));
	}
	begin_line(w, "modules");
	if (on < count) {
		writer_text(w, WRITER_WARN, "! ");
	}
	put_end(w, full, text);
}

/* Commands under way are worth a line, and those about which nobody knows. */
static void render_commands(struct writer *w, const json_t *s)
{
	char text[96];

	if (value_integer(s, "commands.open", 0) > 0 ||
	    value_integer(s, "commands.unknown", 0) > 0) {
		begin_line(w, "commands");
		put_command(w,
			    value_fill(s, "{commands.open} open, {commands.unknown} unknown: ",
				       text, sizeof(text)),
			    s, "command list");
	}
}

/* The links, each with its phase in it. A new reference. */
static json_t *links_with_phase(const json_t *s)
{
	json_t *links = json_deep_copy(value_at(s, "links"));
	json_t *link;
	const json_t *phase;
	size_t i, n;

	json_array_foreach (links, i, link) {
		json_array_foreach (value_at(s, "phases"), n, phase) {
			if (value_integer(phase, "link", -1) == value_integer(link, "link", -1)) {
				json_object_set(link, "phase", (json_t *)(uintptr_t)phase);
			}
		}
	}
	return links;
}

static void render_links(struct writer *w, const json_t *s)
{
	static const struct value_column columns[] = {
		{">link", "{link}"},
		{"state", "{state}", VALUE_BY_WORD},
		{"floor", "{:floor}"},
		{">frames/s", "{frames_per_s:rate}"},
		{"?>hits/s", "{hits_per_s:rate}"},
		{"?>bytes/s", "{bytes_per_s:rate}"},
		{">lost/min", "{lost_last_minute:count}", VALUE_WARN},
		{"?>ring", "{ring.used}/{ring.depth}"},
		{"?>last", "{age_s:age}"},
		{"?>phase ps", "{phase.phase_ps:ps}"},
		{">moved ps", "{phase.difference_ps:+ps}"},
		{"re-lock", "{phase.last.verdict}", VALUE_BY_WORD},
		{0}};
	json_t *links = links_with_phase(s);

	value_table(w, links, columns, "no links");
	json_decref(links);
}

static void render_groups(struct writer *w, const json_t *s)
{
	static const struct value_column columns[] = {{"group", "{group}"},
						      {">members", "{members}"},
						      {"?>offered", "{offered}"},
						      {">acknowledged", "{acknowledged}"},
						      {"?>in flight", "{in_flight}"},
						      {"?>waiting", "{waiting}"},
						      {">dropped", "{dropped:lost}", VALUE_WARN},
						      {">oldest", "{oldest_s:age}"},
						      {0}};

	value_table(w, value_at(s, "groups"), columns,
		    "no groups of reserved consumers are configured");
}

/* So many, or all where a line about the others would take no less. */
static void render_some_groups(struct writer *w, const json_t *s)
{
	json_t *all = json_deep_copy(value_at(s, "groups")), *some = json_object();
	size_t count = json_array_size(all);
	size_t shown = (size_t)value_integer(s, "shown", GROUPS_SHOWN);
	char text[48];

	while (count > shown + 1 && json_array_size(all) > shown) {
		json_array_remove(all, shown);
	}
	shown = json_array_size(all);
	json_object_set_new(some, "groups", all);
	render_groups(w, some);
	if (count > shown) {
		snprintf(text, sizeof(text), "%zu more: ", count - shown);
		put_command(w, text, s, "consumer list");
	}
	json_decref(some);
}

/* --- the screen --- */

static void render_body(struct writer *w, const json_t *s)
{
	writer_newline(w);
	render_clock(w, value_at(s, "clock"), false);
	render_modules(w, value_at(s, "modules"), false);
	render_run(w, value_at(s, "run"), false);
	render_commands(w, s);
	render_recording(w, value_at(s, "recording"), false);
	writer_newline(w);
	render_links(w, s);
	writer_newline(w);
	render_some_groups(w, s);
}

/* What has room: lines of incidents, and of advice to the first ones. */
struct share {
	size_t shown, advised;
};

/* What to do about the worst comes before the second, and about an active incident before the cleared ones. */
static struct share share_lines(size_t active, size_t count, size_t lines)
{
	size_t first = MIN(active, lines);
	size_t advised = MIN(first, MAX(lines - first, lines > 1));

	return (struct share){MIN(count, lines - advised), advised};
}

/* The first active incident whose advice has no room in a line; NULL: none. */
static const json_t *first_too_long(const struct writer *w, const json_t *list, size_t active)
{
	for (size_t i = 0; i < active; i++) {
		const json_t *incident = json_array_get(list, i);

		if (*ctl_incident_advice(w, incident) == '\0' &&
		    *value_string(incident, "show", "") != '\0') {
			return incident;
		}
	}
	return NULL;
}

/* In so many lines: active ones, worst first, then cleared ones; how many have no room; and once the command that is
 * too long for a line. */
static void render_incidents(struct writer *w, const json_t *s, size_t lines)
{
	const json_t *list = value_at(s, "incidents.list"), *too_long;
	size_t count = json_array_size(list), active = 0, wide = writer_room(w), rows;
	const char *show;
	struct share share;
	char more[48];

	while (active < count && !ctl_incident_has_cleared(json_array_get(list, active))) {
		active++;
	}
	too_long = first_too_long(w, list, active);
	show = value_string(too_long, "show", "");
	rows = (strlen(CTL_ADVICE_INDENT) + strlen(show) + wide - 1) / wide;
	if (too_long != NULL && lines > rows) {
		lines -= rows;
	} else {
		show = "";
	}
	share = share_lines(active, count, lines);
	if (share.shown < count && lines > 0) {
		share = share_lines(active, count, lines - 1);
	}
	for (size_t i = 0; i < share.shown; i++) {
		ctl_incident_lines(w, json_array_get(list, i), i < share.advised);
	}
	if (share.shown < count && lines > 0) {
		snprintf(more, sizeof(more), "     %zu more: ", count - share.shown);
		put_command(w, more, s, "incident list");
	}
	if (*show != '\0') {
		writer_line(w, WRITER_PLAIN, CTL_ADVICE_INDENT "%s", show);
	}
}

/* The writer's width is that of the screen, no more; returns what it was. */
static size_t as_screen(struct writer *w)
{
	size_t wide = writer_room(w);

	if (wide > CTL_SCREEN_COLUMNS) {
		writer_set_width(w, CTL_SCREEN_COLUMNS);
	}
	return wide;
}

/* Rows of the page with "shown" of what it has a list of, as much as there is room for in `lines`: `most`, or less. */
static size_t fit(const struct writer *w, json_t *page, writer_render_fn render, unsigned most,
		  size_t lines)
{
	size_t rows = 0;

	for (unsigned shown = most; shown > 0 && (shown == most || rows > lines); shown--) {
		json_object_set_new(page, "shown", json_integer(shown));
		rows = writer_count_rows(w, page, render);
	}
	return rows;
}

void ctl_status_render(struct writer *w, const json_t *s)
{
	size_t lines = (size_t)value_integer(s, "lines", CTL_SCREEN_LINES), wide = as_screen(w);
	size_t wanted = MIN(INCIDENT_LINES, 2 * json_array_size(value_at(s, "incidents.list")));
	json_t *page = json_copy((json_t *)(uintptr_t)s);
	size_t body;

	render_word(w, value_at(s, "incidents"));
	render_head(w, s);
	body = 2 + fit(w, page, render_body, GROUPS_SHOWN, lines - MIN(lines, 2 + wanted));
	render_incidents(w, s, lines > body ? lines - body : 0);
	render_body(w, page);
	writer_set_width(w, wide);
	json_decref(page);
}

/* --- in full --- */

static void render_store(struct writer *w, const json_t *s)
{
	const char *state = value_string(s, "store.state", "?");
	bool ok = strcmp(state, "ok") == 0 || strcmp(state, "well") == 0;
	char text[160];

	begin_line(w, "inside");
	writer_text(w, ok ? WRITER_PLAIN : WRITER_BAD, "store %s", state);
	writer_paragraph(
		w, 10, WRITER_PLAIN, "%s",
		value_fill(
			s,
			json_is_null(value_at(s, "store.read_age_s"))
				? ", {store.queued} rows queued, lag {store.lag_s:age}; capture's "
				  "last tick {capture.tick_age_s:age} ago"
				: ", {store.queued} rows queued, lag {store.lag_s:age}, all of it "
				  "read {store.read_age_s:age} ago; capture's last tick "
				  "{capture.tick_age_s:age} ago",
			text, sizeof(text)));
	put_line(w, true, "commands", s, "{commands.open} open, {commands.unknown} unknown");
}

/* Where the data are, control on the network where it is there, and as whom the daemon knows us, and so what we may. */
static void render_access(struct writer *w, const json_t *s)
{
	const struct {
		const char *name, *of, *text;
	} lines[] = {
		{"data", "data",
		 *value_string(s, "data.public_key", "") != '\0'
			 ? "consumers at {data.reserved|?}, monitors at {data.monitors|no "
			   "address}; "
			   "encrypted, its key {data.public_key}"
			 : "consumers at {data.reserved|?}, monitors at {data.monitors|no "
			   "address}"},
		{"network", "control.network",
		 "control at {control.network.endpoint|?}: {control.network.keys} keys, "
		 "{control.network.connections} connected; refused: {control.network.refused} "
		 "connections, {control.refused_role} requests by role, "
		 "{control.network.refused_rate} by rate; {control.network.bad_messages} bad "
		 "messages"},
		{"you", "you",
		 value_true(s, "control.roles")
			 ? "{you.who|?}, {you.role|?}"
			 : "{you.who|?}, {you.role|?} as all who may use the control socket (no "
			   "expert_group, no reader_group)"},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (json_is_object(value_at(s, lines[i].of))) {
			put_line(w, true, lines[i].name, s, lines[i].text);
		}
	}
}

/* Floors whose silence timer is `timer`: "tower1.floor1 (120 s), tower1.floor2 (60 s)"; returns how many. */
static size_t timers_text(const json_t *floors, const char *timer, char *text, size_t size)
{
	size_t count = 0, i;
	const json_t *floor;

	*text = '\0';
	json_array_foreach (floors, i, floor) {
		bool timed = strcmp(timer, "on") == 0 && value_integer(floor, "time_s", -1) >= 0;
		char name[64];

		if (strcmp(value_string(floor, "timer", ""), timer) == 0) {
			value_fill(floor, timed ? "{:floor} ({time_s} s)" : "{:floor}", name,
				   sizeof(name));
			value_append(text, size, "%s%s", count++ > 0 ? ", " : "", name);
		}
	}
	return count;
}

/* What happens to the HV of a floor when the shore sends nothing any more. */
static void render_silence(struct writer *w, const json_t *floors)
{
	static const struct {
		const char *timer, *words;
		bool stays; /* the HV stays up */
	} kinds[] = {{"on", "on: ", false},
		     {"off", "off: ", true},
		     {"none", "not in the FCM: ", true},
		     {"unknown", "unknown: ", false}};
	bool stays = false;
	char text[800] = "";

	if (json_array_size(floors) == 0) {
		return;
	}
	for (size_t n = 0; n < sizeof(kinds) / sizeof(kinds[0]); n++) {
		char names[320];
		size_t count = timers_text(floors, kinds[n].timer, names, sizeof(names));
		bool all = count == json_array_size(floors) && n > 0;

		if (count > 0) {
			value_append(text, sizeof(text), "%s%s%s", *text != '\0' ? "; " : "timer ",
				     kinds[n].words, all ? "all floors" : names);
			stays = stays || kinds[n].stays;
		}
	}
	begin_line(w, "silence");
	writer_paragraph(w, 10, WRITER_PLAIN, "%s%s", text,
			 stays ? "; without it the HV stays as it is when the shore falls silent"
			       : "");
}

void ctl_status_render_all(struct writer *w, const json_t *s)
{
	const json_t *list = value_at(s, "incidents.list"), *incident;
	size_t i;

	render_word(w, value_at(s, "incidents"));
	render_head(w, s);
	json_array_foreach (list, i, incident) {
		writer_newline(w);
		ctl_incident_render(w, incident);
	}
	writer_newline(w);
	render_clock(w, value_at(s, "clock"), true);
	render_modules(w, value_at(s, "modules"), true);
	render_run(w, value_at(s, "run"), true);
	render_recording(w, value_at(s, "recording"), true);
	render_store(w, s);
	render_access(w, s);
	render_silence(w, value_at(s, "silence"));
	writer_newline(w);
	render_links(w, s);
	writer_newline(w);
	render_groups(w, s);
}

/* --- without the daemon --- */

#define HOPS_SHOWN 8u

static void render_known_hops(struct writer *w, const json_t *hops, size_t shown)
{
	size_t count = json_array_size(hops);
	char text[512] = "", some[64] = "";

	if (count > shown) {
		snprintf(some, sizeof(some), " (%zu of %zu)", shown, count);
	}
	begin_line(w, "lost");
	writer_line(w, WRITER_PLAIN, "%s%s%s",
		    count > 0		  ? "in the 10 minutes before, frames"
		    : json_is_array(hops) ? "nothing in the 10 minutes before"
					  : "-",
		    some, count > 0 ? ":" : "");
	for (size_t i = 0; i < count && i < shown; i++) {
		const json_t *hop = json_array_get(hops, i);
		bool group = json_is_string(value_at(hop, "group"));
		char one[128];

		value_fill(hop,
			   group ? "{frames} {code|?} of link {link} for group {group}"
				 : "{frames} {code|?} of link {link}",
			   one, sizeof(one));
		value_append(text, sizeof(text), "%s%s", i > 0 ? ", " : "", one);
	}
	if (count > 0) {
		writer_paragraph(w, 10, WRITER_WARN, "%s", text);
	}
}

/* As it was, with its time: nothing of it is to be taken for now. */
static void render_known(struct writer *w, const json_t *s)
{
	const json_t *known = value_at(s, "known"), *state;
	long long open = value_integer(known, "open", -1);
	char when[40], text[320] = "", one[64];
	size_t i;

	writer_newline(w);
	writer_heading(w, "Last known, at %s UTC",
		       value_text(value_at(known, "time"), VALUE_TIME, when, sizeof(when)));
	if (json_is_object(value_at(known, "run"))) {
		render_run(w, value_at(known, "run"), false);
	}
	json_array_foreach (value_at(known, "states"), i, state) {
		value_append(text, sizeof(text), "%s%s", i > 0 ? ", " : "",
			     value_fill(state, "{name|?} {state|?}", one, sizeof(one)));
	}
	begin_line(w, "state");
	put_end(w, true, *text != '\0' ? text : "-");
	if (open != 0) {
		begin_line(w, "commands");
		if (open > 0) {
			writer_text(w, WRITER_WARN, "%lld left open", open);
			put_command(w, ": ", s, "command list --state open");
		} else {
			writer_line(w, WRITER_PLAIN, "-");
		}
	}
	render_known_hops(w, value_at(known, "hops"),
			  (size_t)value_integer(s, "shown", HOPS_SHOWN));
}

static void render_away(struct writer *w, const json_t *s)
{
	const json_t *incident = json_array_get(value_at(s, "incidents.list"), 0);

	render_word(w, value_at(s, "incidents"));
	if (json_is_number(value_at(incident, "since"))) {
		value_line(w, WRITER_DIM, incident, "  since {since:time} UTC");
	}
	writer_paragraph(w, 2, WRITER_PLAIN, "%s", value_string(incident, "text", ""));
	writer_paragraph(w, 2, WRITER_PLAIN, "-> %s", value_string(incident, "action", ""));
	writer_paragraph(
		w, 2, WRITER_PLAIN,
		"The data are not read now. While the board runs, its ring holds about 2 s; if "
		"the daemon is back by then, nothing is lost. Later data are lost. The board "
		"counts them for its linger time (10 s by default); after that they are not "
		"counted, and ledger show shows that time as missing.");
	writer_paragraph(w, 2, WRITER_PLAIN,
			 "The high voltage of the floors stays as it is, unless a floor's "
			 "silence timer is on: history floorN.fcm.silence_timer.");
	if (json_is_object(value_at(s, "known"))) {
		writer_paragraph(w, 2, WRITER_PLAIN,
				 "From the database: event list, command list, history, "
				 "ledger show, run show.");
		render_known(w, s);
	}
}

void ctl_status_render_away(struct writer *w, const json_t *s)
{
	size_t lines = (size_t)value_integer(s, "lines", CTL_SCREEN_LINES), wide = as_screen(w);
	json_t *page = json_copy((json_t *)(uintptr_t)s);

	fit(w, page, render_away, HOPS_SHOWN, lines);
	render_away(w, page);
	writer_set_width(w, wide);
	json_decref(page);
}

json_t *ctl_status_away(struct ctl *ctl, int err)
{
	char reason[PATH_MAX + 256];
	char action[PATH_MAX];
	json_t *known = ctl_away_known(ctl);
	json_t *since = json_object_get(known, "time");
	json_t *incident = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:o}", "state", "active", "severity",
				     "red", "code", "daemon-away", "object", "daemon", "text",
				     ctl_away_reason(ctl, err, false, reason, sizeof(reason)),
				     "action", ctl_away_action(ctl, err, action, sizeof(action)),
				     "since", since != NULL ? json_incref(since) : json_null());

	return ctl_memory(ctl,
			  json_pack("{s:i,s:f,s:{s:s,s:s,s:[o]},s:o}", "board",
				    (int)ctl->station.board, "time", ctl_now(), "incidents", "word",
				    "RED", "headline", "the daemon does not answer", "list",
				    incident, "known", known != NULL ? known : json_null()));
}

/* --- for status and top --- */

void ctl_status_prepare(const struct ctl *ctl, json_t *status, size_t lines)
{
	static const char *const commands[] = {"incident list", "command list",
					       "command list --state open", "consumer list"};
	json_t *typed = json_object();
	char command[64], text[PATH_MAX];

	ctl_incident_type(ctl, json_object_get(status, "incidents"));
	for (size_t n = 0; n < sizeof(commands) / sizeof(commands[0]); n++) {
		snprintf(command, sizeof(command), "fcmctl %s", commands[n]);
		json_object_set_new(typed, commands[n],
				    json_string(ctl_typed(ctl, command, text, sizeof(text))));
	}
	json_object_set_new(status, "typed", typed);
	json_object_set_new(
		status, "lines",
		json_integer(lines < CTL_SCREEN_LINES ? (json_int_t)lines : CTL_SCREEN_LINES));
}

int ctl_status_exit(const json_t *status)
{
	return strcmp(value_string(status, "incidents.word", "RED"), "RED") == 0 ? CTL_NOT
										 : CTL_DONE;
}
