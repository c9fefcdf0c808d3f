/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl event: what happened. */
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"

void ctl_event_render(struct writer *w, const json_t *result)
{
	static const char *const columns[] = {"time (UTC)", "severity", "object", "code", "text"};
	size_t i;
	const json_t *e;

	writer_table(w, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach (value_at(result, "events"), i, e) {
		const char *severity = value_string(e, "severity", "?");
		const char *action = value_string(e, "action", "");

		value_cell(w, e, "time", VALUE_TIME_MS);
		writer_cell(w, value_style(severity), "%s", severity);
		value_cell(w, e, "object", VALUE_PLAIN);
		value_cell(w, e, "code", VALUE_PLAIN);
		writer_cell(w, WRITER_PLAIN, "%s%s%s", value_string(e, "text", ""),
			    *action != '\0' ? "  -> " : "", action);
	}
	writer_table_end(w, "no events");
}

/* That no event is newer has no meaning while nobody writes any. */
static void say_end(const struct ctl *ctl)
{
	char when[32];
	char span[32];
	double last;

	if (ctl_away_since(ctl, &last) == 0) {
		writer_text(ctl->out, WRITER_WARN,
			    "-- the daemon is away since %s UTC (%s); nothing later is known",
			    ctl_time_text(last, 0, when, sizeof(when)),
			    ctl_span_text(ctl_now() - last, span, sizeof(span)));
	} else {
		writer_text(ctl->out, WRITER_WARN, "-- the daemon is away; nothing later is known");
	}
	writer_newline(ctl->out);
}

static int list_run(struct ctl *ctl, const struct ctl_args *args)
{
	int code = ctl_show(ctl, "event.list", ctl_filter(args, 30), ctl_event_render);

	if (code == CTL_DONE && ctl->client == NULL) { /* the database has answered */
		say_end(ctl);
	}
	return code;
}

const struct ctl_command ctl_event_commands[] = {
	{
		.noun = "event",
		.verb = "list",
		.arguments = "",
		.summary = "what happened, newest first",
		.help = "Alarms, restarts, changes of state, each with what to do. The newest 30. "
			"Answers while\nthe daemon is away, too.",
		.options = CTL_BIT(CTL_LIMIT) | CTL_BIT(CTL_SINCE),
		.run = list_run,
	},
	{0},
};
