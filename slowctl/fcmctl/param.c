/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl get, set, ramp, action: parameters, each with a value and an age. jobs/send.c sends what is set; past.c has
 * the values of a past time.
 */
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/commands.h"
#include "slowctl/fcmctl/jobs/plan.h"
#include "slowctl/fcmctl/show/value.h"

static void limits_cell(struct writer *w, const json_t *p)
{
	char text[64];

	writer_cell(w, WRITER_PLAIN, "%s",
		    json_is_object(value_at(p, "limits"))
			    ? value_fill(p, "{limits.low|}..{limits.high|}", text, sizeof(text))
			    : "-");
}

/* An action has no value. */
static void quality_cell(struct writer *w, const json_t *p)
{
	const char *quality = strcmp(value_string(p, "access", ""), "action") == 0
				      ? "-"
				      : value_string(p, "quality", "?");

	writer_cell(w, value_style(quality), "%s", quality);
}

static void access_cell(struct writer *w, const json_t *p)
{
	bool dangerous = strcmp(value_string(p, "danger", ""), "dangerous") == 0;

	writer_cell(w, WRITER_PLAIN, "%s%s", value_string(p, "access", "-"),
		    dangerous ? " dangerous" : "");
}

static void render_parameters(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {{"parameter", "{name}"},
						      {">value", "{value:typed}"},
						      {"unit", "{unit}"},
						      {">set to", "{setpoint:typed}"},
						      {">age", "{age_s:age}"},
						      {"quality", .cell = quality_cell},
						      {"limits", .cell = limits_cell},
						      {"access", .cell = access_cell},
						      {0}};
	const json_t *parameters = value_at(result, "parameters");

	value_table(w, parameters, columns, "no parameters");
	if (json_array_size(parameters) == 1) {
		writer_line(w, WRITER_DIM, "%s",
			    value_string(json_array_get(parameters, 0), "description", ""));
	}
}

static void render_lines(struct writer *w, const json_t *result)
{
	size_t i;
	const json_t *p;

	json_array_foreach (value_at(result, "parameters"), i, p) {
		plan_line(w, p);
	}
}

static int get_run(struct ctl *ctl, const struct ctl_args *args)
{
	writer_render_fn render = ctl_given(args, CTL_PLAN) ? render_lines : render_parameters;

	if (ctl_given(args, CTL_AT)) {
		return ctl_get_at(ctl, args);
	}
	if (args->words == 0) {
		return ctl_show(ctl, "param.list", NULL, render);
	}
	return ctl_show(ctl, "param.get", ctl_names(args), render);
}

static int set_run(struct ctl *ctl, const struct ctl_args *args)
{
	return ctl_send(ctl, args, "param.set", json_pack("{s:s}", "value", args->word[1]));
}

/* A set, with the rate before it; 0: as it is. */
static int ramp_run(struct ctl *ctl, const struct ctl_args *args)
{
	return ctl_send(ctl, args, "param.set",
			json_pack("{s:s,s:f}", "value", args->word[1], "rate",
				  ctl_number(args, CTL_RATE, 0.0)));
}

static int action_run(struct ctl *ctl, const struct ctl_args *args)
{
	return ctl_send(ctl, args, "param.action", json_object());
}

#define COMMAND_OPTIONS                                                                            \
	(CTL_BIT(CTL_REASON) | CTL_BIT(CTL_YES) | CTL_BIT(CTL_NO_WAIT) | CTL_BIT(CTL_CLIENT_ID) |  \
	 CTL_BIT(CTL_FORCE) | CTL_BIT(CTL_DRY_RUN))

const struct ctl_command ctl_param_commands[] = {
	{NULL, "get", "[PATTERN...]", "values, with their ages",
	 .help = "The parameters that match the patterns (without a pattern: all):\n"
		 "value, set value, age and quality (good, stale, never, bad). The tower\n"
		 "may be left out where the name is unambiguous. In a pattern, * does\n"
		 "not cross a dot; quote it for the shell.\n"
		 "--at: the values at that time, how old they were then, and who had set\n"
		 "them; 'unknown' when nothing was recorded before. This also works\n"
		 "while the daemon is not running.\n"
		 "--plan: the set values as a file for plan and apply.\n\n"
		 "  fcmctl get floor3.om2.hv\n"
		 "  fcmctl get 'floor*.om*.hv' link2\n"
		 "  fcmctl get clock.state\n"
		 "  fcmctl get floor3.om2.hv --at 2026-11-01T02:00",
	 .options = CTL_BIT(CTL_AT) | CTL_BIT(CTL_PLAN), .run = get_run},
	{NULL, "set", "NAME|PATTERN VALUE", "set a parameter; done when the read-back agrees",
	 .help = "The command is recorded in the journal, sent, and acknowledged. It is\n"
		 "done when the value read back is within its tolerance; high voltage\n"
		 "ramps, so this may take a while. Ctrl-C ends the waiting, not the\n"
		 "command. Exit 0 done, 1 refused or failed, 3 outcome unknown.\n"
		 "A pattern with * (quote it for the shell) sets all matching parameters\n"
		 "side by side: one line each as it ends, a summary, and the worst exit\n"
		 "status. fcmctl shows the changes of more than one parameter and asks,\n"
		 "unless they are harmless or you give --yes.\n"
		 "--dry-run: the daemon checks all and says what it would do. Nothing is\n"
		 "sent.\n\n"
		 "  fcmctl set floor3.om2.hv 1450 --reason 'gain matching'\n"
		 "  id=$(fcmctl set floor3.om2.hv 1450 --no-wait); fcmctl command show $id",
	 .options = COMMAND_OPTIONS, .run = set_run},
	{NULL, "ramp", "NAME|PATTERN VALUE", "take a high voltage there at a rate, with progress",
	 .help = "Sets a parameter that ramps. The module ramps by itself at its own\n"
		 "rate.\n"
		 "--rate sets that rate first, by a command of its own, and it stays so.\n"
		 "The ramp continues when the connection to the shore is lost. On a\n"
		 "terminal: progress and the time left. A trip ends the command as\n"
		 "FAILED. Ctrl-C ends the waiting only; fcmctl command cancel stops the\n"
		 "ramp where it is. Exit 0 done, 1 refused, failed or stopped, 3 outcome\n"
		 "unknown.\n\n"
		 "  fcmctl ramp floor3.om2.hv 1450 --rate 20\n"
		 "  fcmctl ramp 'floor3.om*.hv' 1450",
	 .options = COMMAND_OPTIONS | CTL_BIT(CTL_RATE), .run = ramp_run},
	{NULL, "action", "NAME|PATTERN", "do something: clear a trip, reset, power cycle",
	 .help = "Actions are parameters too: fcmctl get lists them with access\n"
		 "'action'. An action is done when the counter that proves it has moved.\n"
		 "A dangerous action asks first, or needs --yes. A pattern does all\n"
		 "matching actions and asks once, as with set.\n\n"
		 "  fcmctl action floor3.om2.clear_trip\n"
		 "  fcmctl action 'floor3.*.clear_trip'\n"
		 "  fcmctl action floor3.fcm.reset --yes --reason 'mute since 02:10'",
	 .options = COMMAND_OPTIONS, .run = action_run},
	{0},
};
