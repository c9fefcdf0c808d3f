/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl log: the logbook of the shift. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/value.h"

#define REMARK_BYTES 400u /* of the daemon's */

static void render_done(struct writer *w, const json_t *result)
{
	value_line(w, WRITER_PLAIN, result, "{time:time}  {object}: {text}");
}

/* From a pipe: all of it, its line ends as blanks. -EMSGSIZE */
static size_t read_remark(char *text, size_t size)
{
	size_t used = fread(text, 1, size - 1, stdin);

	text[used] = '\0';
	for (size_t n = 0; n < used; n++) {
		text[n] = text[n] == '\n' || text[n] == '\t' || text[n] == '\r' ? ' ' : text[n];
	}
	while (used > 0 && text[used - 1] == ' ') {
		text[--used] = '\0';
	}
	return used;
}

static int log_run(struct ctl *ctl, const struct ctl_args *args)
{
	char text[REMARK_BYTES + 2];
	const char *remark = args->words > 0 ? args->word[0] : text;

	if (args->words == 0 && isatty(STDIN_FILENO)) {
		return ctl_usage(ctl, "fcmctl log 'floor 3 is noisy since the storm'",
				 "what shall be written?");
	}
	if (args->words == 0 && read_remark(text, sizeof(text)) == 0) {
		return ctl_usage(ctl, "echo TEXT | fcmctl log", "nothing came from the pipe");
	}
	if (strlen(remark) > REMARK_BYTES) {
		return ctl_usage(ctl, "in several remarks", "a remark has at most %u bytes",
				 REMARK_BYTES);
	}
	json_t *what = json_pack("{s:s}", "text", remark);

	if (ctl_given(args, CTL_OBJECT)) {
		json_object_set_new(what, "object", json_string(args->text[CTL_OBJECT]));
	}
	if (ctl_given(args, CTL_INCIDENT)) {
		json_object_set_new(what, "incident",
				    json_integer((json_int_t)args->number[CTL_INCIDENT]));
	}
	if (ctl_given(args, CTL_SUMMARY)) {
		json_object_set_new(what, "summary", json_true());
	}
	return ctl_run_row(ctl, args, what);
}

const struct ctl_command ctl_log_commands[] = {
	{
		.verb = "log",
		.arguments = "[TEXT]",
		.summary = "write a remark into the logbook",
		.help = "A remark of the shift: fcmctl event list and report show it with your "
			"name. Without TEXT it is\nread from a pipe. --summary: the shift in a "
			"sentence; a report begins with the last one of its\ntime.\n\n"
			"  fcmctl log 'storm since midnight' --object floor3\n"
			"  fcmctl log 'fibre was re-plugged by the harbour crew' --incident 12\n"
			"  fcmctl log --summary 'quiet night, one trip of floor 2'",
		.options = CTL_BIT(CTL_OBJECT) | CTL_BIT(CTL_INCIDENT) | CTL_BIT(CTL_SUMMARY) |
			   CTL_BIT(CTL_DRY_RUN),
		.run = log_run,
		.op = "log.add",
		.look = "event list",
		.render = render_done,
	},
	{0},
};
