/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl get, set, action, history: everything with a value and an age. Writes are sent by ctl_send.c.
 */
#include <stdio.h>
#include <string.h>

#include "slowctl/ctl.h"
#include "slowctl/ctl_send.h"
#include "slowctl/ctl_value.h"

static void limits_text(const json_t *p, char *buf, size_t size)
{
	char low[24];
	char high[24];

	if (!json_is_object(value_at(p, "limits"))) {
		snprintf(buf, size, "-");
		return;
	}
	value_text(value_at(p, "limits.low"), VALUE_PLAIN, low, sizeof(low));
	value_text(value_at(p, "limits.high"), VALUE_PLAIN, high, sizeof(high));
	snprintf(buf, size, "%s..%s", json_is_number(value_at(p, "limits.low")) ? low : "",
		 json_is_number(value_at(p, "limits.high")) ? high : "");
}

/* As it is typed: a switch is on or off. */
static void value_or_switch_cell(struct writer *w, const json_t *p, const char *key)
{
	const json_t *value = value_at(p, key);

	if (json_is_boolean(value)) {
		writer_cell(w, WRITER_PLAIN, "%s", json_is_true(value) ? "on" : "off");
	} else {
		value_cell(w, p, key, VALUE_PLAIN);
	}
}

static void render_parameters(struct writer *w, const json_t *result)
{
	static const char *const columns[] = {"parameter", ">value",  "unit",	">set to",
					      ">age",	   "quality", "limits", "access"};
	size_t i;
	const json_t *p;

	writer_table(w, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach (value_at(result, "parameters"), i, p) {
		const char *quality = value_string(p, "quality", "?");
		bool action = strcmp(value_string(p, "access", ""), "action") == 0;
		char limits[64];

		limits_text(p, limits, sizeof(limits));
		value_cell(w, p, "name", VALUE_PLAIN);
		value_or_switch_cell(w, p, "value");
		value_cell(w, p, "unit", VALUE_PLAIN);
		value_or_switch_cell(w, p, "setpoint");
		value_cell(w, p, "age_s", VALUE_AGE);
		if (action) {
			writer_cell(w, WRITER_PLAIN, "-");
		} else {
			writer_cell(w, value_style(quality), "%s", quality);
		}
		writer_cell(w, WRITER_PLAIN, "%s", limits);
		writer_cell(w, WRITER_PLAIN, "%s%s", value_string(p, "access", "-"),
			    strcmp(value_string(p, "danger", ""), "dangerous") == 0 ? " dangerous"
										    : "");
	}
	writer_table_end(w, "no parameters");
	if (json_array_size(value_at(result, "parameters")) == 1) {
		p = json_array_get(value_at(result, "parameters"), 0);
		writer_text(w, WRITER_DIM, "%s", value_string(p, "description", ""));
		writer_newline(w);
	}
}

static void render_history(struct writer *w, const json_t *result)
{
	static const char *const columns[] = {"time (UTC)", ">value", ">set to"};
	size_t i;
	const json_t *row;
	const json_t *words = value_at(result, "words");
	const char *unit = value_string(result, "unit", "");

	writer_heading(w, "%s%s%s", value_string(result, "name", "?"), *unit != '\0' ? " in " : "",
		       unit);
	writer_table(w, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach (value_at(result, "rows"), i, row) {
		value_cell(w, row, "time", VALUE_TIME_MS);
		value_word_cell(w, row, "value", words);
		value_word_cell(w, row, "setpoint", words);
	}
	writer_table_end(w, json_is_false(value_at(result, "kept"))
				    ? "no history of it is kept: fcmctl get shows its value"
				    : "no samples in this time");
}

static int get_run(struct ctl *ctl, const struct ctl_args *args)
{
	json_t *names;

	if (args->words == 0) {
		return ctl_show(ctl, "param.list", NULL, render_parameters);
	}
	names = json_array();
	for (int i = 0; i < args->words; i++) {
		json_array_append_new(names, json_string(args->word[i]));
	}
	return ctl_show(ctl, "param.get", json_pack("{s:o}", "names", names), render_parameters);
}

static int history_run(struct ctl *ctl, const struct ctl_args *args)
{
	json_t *filter;

	if (strpbrk(args->word[0], "*?[") != NULL) {
		return ctl_fail(ctl, CTL_USAGE, "usage",
				"fcmctl get takes patterns, and lists the names",
				"history takes one name, no pattern such as '%s'", args->word[0]);
	}
	filter = ctl_filter(args, 60);
	json_object_set_new(filter, "name", json_string(args->word[0]));
	return ctl_show(ctl, "param.history", filter, render_history);
}

static int set_run(struct ctl *ctl, const struct ctl_args *args)
{
	return ctl_send(ctl, args, "param.set", json_pack("{s:s}", "value", args->word[1]));
}

static int action_run(struct ctl *ctl, const struct ctl_args *args)
{
	return ctl_send(ctl, args, "param.action", json_object());
}

#define COMMAND_OPTIONS                                                                            \
	(CTL_BIT(CTL_REASON) | CTL_BIT(CTL_YES) | CTL_BIT(CTL_NO_WAIT) | CTL_BIT(CTL_CLIENT_ID))

const struct ctl_command ctl_param_commands[] = {
	{
		.verb = "get",
		.arguments = "[PATTERN...]",
		.summary = "values, with their ages",
		.help = "Parameters that match the patterns (all of them without one): value, set "
			"point, age and\nquality (good, stale, never, bad). The tower may be left "
			"out "
			"where it is unambiguous. In a\npattern, * stays between dots; quote it "
			"from "
			"the shell.\n\n"
			"  fcmctl get floor3.om2.hv\n  fcmctl get 'floor*.om*.hv' link2\n"
			"  fcmctl get clock.state",
		.max_words = 64,
		.run = get_run,
	},
	{
		.verb = "set",
		.arguments = "NAME|PATTERN VALUE",
		.summary = "set a parameter; done when the read-back agrees",
		.help = "Journaled, sent, acknowledged, and done only when the value read back is "
			"inside its\ntolerance: HV ramps, so it may take a while. Ctrl-C does not "
			"stop "
			"the command, only the\nwaiting. Exit 0 done, 1 refused or failed, 3 "
			"outcome "
			"unknown.\nA pattern with * (quoted from the shell) is as many commands: "
			"all sent, then waited for;\na line each, a summary, and the worst exit "
			"status.\n\n"
			"  fcmctl set floor3.om2.hv 1450 --reason 'gain matching'\n"
			"  id=$(fcmctl set floor3.om2.hv 1450 --no-wait); fcmctl command show $id",
		.options = COMMAND_OPTIONS | CTL_BIT(CTL_FORCE),
		.min_words = 2,
		.max_words = 2,
		.run = set_run,
	},
	{
		.verb = "action",
		.arguments = "NAME|PATTERN",
		.summary = "do something: clear a trip, reset, power cycle",
		.help = "Actions are parameters too (fcmctl get lists them with access 'action'). "
			"One "
			"is done when\nthe counter that proves it has moved. What is dangerous "
			"asks "
			"first, or needs --yes. A\npattern is as many commands, as with set; it "
			"asks once.\n\n"
			"  fcmctl action floor3.om2.clear_trip\n"
			"  fcmctl action 'floor3.*.clear_trip'\n"
			"  fcmctl action floor3.fcm.reset --yes --reason 'mute since 02:10'",
		.options = COMMAND_OPTIONS,
		.min_words = 1,
		.max_words = 1,
		.run = action_run,
	},
	{
		.verb = "history",
		.arguments = "NAME",
		.summary = "what a parameter was",
		.help = "The newest 60 samples of the history. Answers while the daemon is away, "
			"too.\n\n"
			"  fcmctl history floor3.om2.hv --since 2h --limit 500",
		.options = CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_LIMIT),
		.min_words = 1,
		.max_words = 1,
		.run = history_run,
	},
	{0},
};
