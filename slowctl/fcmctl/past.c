/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters at a past time, from the history: fcmctl get --at shows them and who had set them, diff compares two
 * times. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/commands.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"

static void put_value(struct writer *w, const json_t *at, const json_t *words)
{
	const char *quality = value_string(at, "quality", "never");
	char buf[128];

	if (strcmp(quality, "never") == 0) {
		writer_cell(w, WRITER_DIM, "unknown");
	} else {
		writer_cell(w, strcmp(quality, "good") == 0 ? WRITER_PLAIN : value_style(quality),
			    "%s", value_word(value_at(at, "value"), words, buf, sizeof(buf)));
	}
}

static void value_then_cell(struct writer *w, const json_t *p)
{
	put_value(w, p, value_at(p, "words"));
}

static void from_cell(struct writer *w, const json_t *p)
{
	put_value(w, value_at(p, "from"), value_at(p, "words"));
}

static void to_cell(struct writer *w, const json_t *p)
{
	put_value(w, value_at(p, "to"), value_at(p, "words"));
}

static bool by_fcm(const json_t *at)
{
	return strcmp(value_string(at, "set_by", ""), "fcm") == 0;
}

static void author_cell(struct writer *w, const json_t *at)
{
	const json_t *author = value_at(at, "author");
	const char *state = value_string(author, "state", "?");
	long long open = value_integer(at, "open", 0);
	char text[256];
	char when[32];

	if (by_fcm(at)) {
		snprintf(text, sizeof(text), "the FCM, not by a command");
	} else if (!json_is_object(author)) {
		snprintf(text, sizeof(text), "-");
	} else {
		snprintf(text, sizeof(text), "%s %s (command %lld%s%s)",
			 value_string(author, "who", "?"),
			 ctl_time_text(value_number(author, "executed"), 0, when, sizeof(when)),
			 value_integer(author, "command", 0), strcmp(state, "DONE") == 0 ? "" : " ",
			 strcmp(state, "DONE") == 0 ? "" : state);
	}
	if (open > 0 && !json_is_object(author) && !by_fcm(at)) {
		snprintf(text, sizeof(text), "command %lld under way", open);
	} else if (open > 0 && open != value_integer(author, "command", 0)) {
		value_append(text, sizeof(text), ", command %lld under way", open);
	}
	writer_cell(w, WRITER_PLAIN, "%s", text);
}

/* Old samples are rolled up. */
static void say_mean(struct writer *w, const json_t *sum)
{
	value_say(w, WRITER_DIM, sum,
		  value_integer(sum, "span_s", 0) > 60
			  ? "the mean of {samples|0} samples of that hour, from {min} to {max}"
			  : "the mean of {samples|0} samples of that minute, from {min} to {max}");
	writer_newline(w);
}

static void render_at(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {{"parameter", "{name}"},
						      {">value", .cell = value_then_cell},
						      {"unit", "{unit}"},
						      {">set to", "{setpoint:word}"},
						      {">age then", "{age_s:age}"},
						      {"quality", "{quality|never}", VALUE_BY_WORD},
						      {"set by", .cell = author_cell},
						      {0}};
	const json_t *parameters = value_at(result, "parameters");
	const json_t *first = json_array_get(parameters, 0);
	char when[32];

	writer_heading(w, "As it was at %s UTC",
		       ctl_time_text(value_number(result, "time"), 0, when, sizeof(when)));
	value_table(w, parameters, columns, "no parameters");
	if (json_array_size(parameters) == 1 && json_is_object(value_at(first, "mean_of"))) {
		say_mean(w, value_at(first, "mean_of"));
	}
	if (json_array_size(parameters) == 1 && *value_string(first, "author.reason", "") != '\0') {
		writer_line(w, WRITER_DIM, "%s", value_string(first, "author.reason", ""));
	}
}

/* Who set it between the two times. */
static void between_cell(struct writer *w, const json_t *p)
{
	bool same = value_integer(p, "from.author.command", 0) ==
			    value_integer(p, "to.author.command", 0) &&
		    (!by_fcm(value_at(p, "to")) || by_fcm(value_at(p, "from")));

	if (same) {
		writer_cell(w, WRITER_DIM, "no command");
	} else {
		author_cell(w, value_at(p, "to"));
	}
}

static void render_diff(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {{"parameter", "{name}"},
						      {"unit", "{unit}"},
						      {">set first", "{from.setpoint:word}"},
						      {">set then", "{to.setpoint:word}"},
						      {">value first", .cell = from_cell},
						      {">value then", .cell = to_cell},
						      {"set by", .cell = between_cell},
						      {0}};
	const json_t *differences = value_at(result, "differences");
	char text[96];

	writer_heading(w, "%s",
		       value_fill(result, "First {from:time} UTC, then {to:time} UTC", text,
				  sizeof(text)));
	value_table(w, differences, columns,
		    value_fill(result, "nothing differs, of {compared} parameters", text,
			       sizeof(text)));
	if (json_array_size(differences) > 0) {
		writer_line(w, WRITER_DIM, "%zu of %lld parameters differ",
			    json_array_size(differences), value_integer(result, "compared", 0));
	}
}

int ctl_get_at(struct ctl *ctl, const struct ctl_args *args)
{
	json_t *asked = ctl_names(args);

	json_object_set_new(asked, "time", json_real(args->number[CTL_AT]));
	return ctl_show(ctl, "param.at", asked, render_at);
}

static int diff_run(struct ctl *ctl, const struct ctl_args *args)
{
	double from = args->number[CTL_AT];
	double to = ctl_number(args, CTL_AT_AGAIN, ctl_now());
	json_t *asked;

	if (!ctl_given(args, CTL_AT)) {
		return ctl_usage(ctl, "fcmctl diff --at 02:00 --at 03:00; one --at: until now",
				 "'diff' needs a time to begin with");
	}
	asked = ctl_names(args);
	json_object_set_new(asked, "from", json_real(fmin(from, to)));
	json_object_set_new(asked, "to", json_real(fmax(from, to)));
	return ctl_show(ctl, "param.diff", asked, render_diff);
}

const struct ctl_command ctl_past_commands[] = {
	{NULL, "diff", "[PATTERN...]", "what differs between two times",
	 .help = "Compares parameters at two times (with one --at: at that time and\n"
		 "now): set values that differ, values that differ by more than the\n"
		 "dictionary's deadband, and who set them in between. 'unknown':\n"
		 "nothing was recorded before that time. Also works while the daemon is\n"
		 "not running.\n\n"
		 "  fcmctl diff --at 2026-11-01T02:00 --at 2026-11-01T03:00\n"
		 "  fcmctl diff 'floor3.om*.hv' --at yesterday",
	 .options = CTL_BIT(CTL_AT) | CTL_BIT(CTL_AT_AGAIN), .run = diff_run},
	{0},
};
