/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl command: the journal of slow-control commands. */
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/jobs/many.h"
#include "slowctl/fcmctl/show/value.h"

/* Below what is read while the daemon is not running. */
static void explain_unattended(struct writer *w)
{
	writer_newline(w);
	writer_paragraph(w, 0, WRITER_WARN,
			 "open: the daemon is not running, so the outcome is unknown. When it runs "
			 "again it asks the "
			 "floor and settles the command; it never sends it again.");
}

static void render_list(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {{">command", "{command}"},
						      {"time (UTC)", "{time:time}"},
						      {"who", "{who}"},
						      {"parameter", "{parameter}"},
						      {"?>old", "{old:word}"},
						      {">new", "{new:word}"},
						      {"state", "{state|?}{open|}", VALUE_BY_WORD},
						      {"detail", "{detail}"},
						      {0}};
	json_t *commands = json_deep_copy(value_at(result, "commands"));
	bool unattended = false;
	size_t i;
	json_t *c;

	json_array_foreach (commands, i, c) {
		if (value_true(c, "unattended")) {
			json_object_set_new(c, "open", json_string(", open"));
			unattended = true;
		}
	}
	value_table(w, commands, columns, "no commands");
	if (unattended) {
		explain_unattended(w);
	}
	json_decref(commands);
}

static void render_show(struct writer *w, const json_t *c)
{
	static const struct value_column columns[] = {{"time (UTC)", "{time:ms}"},
						      {"state", "{state|?}", VALUE_BY_WORD},
						      {">frame", "{frame:count}"},
						      {"detail", "{detail}"},
						      {0}};
	bool open = value_true(c, "unattended");
	enum writer_style style = open ? WRITER_WARN : value_style(value_string(c, "state", "?"));

	writer_heading(w, "Command %lld: %s %s", value_integer(c, "command", 0),
		       value_string(c, "op", "?"), value_string(c, "parameter", "?"));
	value_pair(w, "state", style, c, open ? "{state|?}, open" : "{state|?}");
	if (*value_string(c, "detail", "") != '\0') {
		value_pair(w, "detail", WRITER_PLAIN, c, "{detail}");
	}
	value_pair(w, "value", WRITER_PLAIN, c, "{old:word} -> {new:word}{unit:behind}");
	value_pair(w, "who", WRITER_PLAIN, c, "{who|?} (uid {uid}, pid {pid}), from {origin|?}");
	value_pair(w, "reason", WRITER_PLAIN, c, "{reason}");
	value_pair(w, "floor", WRITER_PLAIN, c, "{:floor} on link {link}");
	value_pair(w, "word", WRITER_PLAIN, c, "sequence {sequence}, attempts {attempts}");
	writer_newline(w);
	value_table(w, value_at(c, "transitions"), columns, "no transitions");
	if (open) {
		explain_unattended(w);
	}
}

static void render_cancel(struct writer *w, const json_t *result)
{
	if (json_is_string(value_at(result, "state"))) { /* the command that holds the value */
		writer_text(w, WRITER_PLAIN, "stopped on its way: ");
		ctl_outcome(w, result);
		return;
	}
	writer_line(w, WRITER_PLAIN, "command %lld is cancelled: it was not sent",
		    value_integer(result, "command", 0));
}

static int cancel_run(struct ctl *ctl, const struct ctl_args *args)
{
	char doing[64];
	char look[64];
	struct ctl_request request = {.op = "command.cancel", .doing = doing, .look = look};
	json_int_t command = 0;
	int code = ctl_command_number(ctl, args->word[0], &command);

	if (code != CTL_DONE) {
		return code;
	}
	snprintf(doing, sizeof(doing), "command cancel %lld", (long long)command);
	snprintf(look, sizeof(look), "command show %lld", (long long)command);
	request.args = json_pack("{s:I}", "command", command);
	return ctl_change(ctl, args, &request, render_cancel, NULL);
}

const struct ctl_command ctl_journal_commands[] = {
	{"command", "list", "", "who set what, and what became of it",
	 .help = "The newest 20 commands, newest first. Also answers while the daemon is "
		 "not running.\n\nStates: QUEUED, SENT, ACKED (executed, the value is not "
		 "there yet), DONE, REFUSED, FAILED,\nCANCELLED; UNKNOWN: no answer, it is "
		 "being settled.\n\n  fcmctl command list --state UNKNOWN\n  fcmctl command "
		 "list --floor 3 --limit 100",
	 .options = CTL_BIT(CTL_LIMIT) | CTL_BIT(CTL_STATE) | CTL_BIT(CTL_FLOOR) |
		    CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_TO),
	 .op = "command.list", .render = render_list, .limit = 20},
	{"command", "show", "COMMAND", "one command with every transition",
	 .help = "Who, from where, why, old and new value, and each state with its time and "
		 "the frame in\nwhich the word left. Also answers while the daemon is not "
		 "running.",
	 .op = "command.show", .member = "command", .render = render_show},
	{"command", "cancel", "COMMAND", "take back a command that waits, or stop a ramp",
	 .help = "A command that still waits (QUEUED) is taken back. A high voltage on its "
		 "way (ACKED) is\nstopped where it is, by a command of its own, whose end "
		 "is waited for; the first is then\nCANCELLED and says where. What else has "
		 "left cannot be taken back.",
	 .options = CTL_BIT(CTL_DRY_RUN), .run = cancel_run},
	{0},
};
