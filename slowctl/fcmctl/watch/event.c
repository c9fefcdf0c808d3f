/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl event: what happened. */
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/show/value.h"
#include "slowctl/fcmctl/watch/screens.h"

static void text_cell(struct writer *w, const json_t *row)
{
	writer_advised_cell(w, value_string(row, "typed", value_string(row, "action", "")),
			    value_string(row, "text", "-"));
}

void ctl_event_render(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {{"time (UTC)", "{time:ms}"},
						      {"severity", "{severity}", VALUE_BY_WORD},
						      {"object/code", "{object}/{code}"},
						      {"+text", NULL, .cell = text_cell},
						      {0}};

	value_table(w, value_at(result, "events"), columns, "no events");
}

static int list_run(struct ctl *ctl, const struct ctl_args *args)
{
	int code = ctl_show(ctl, "event.list", ctl_filter(args, 30), ctl_event_render);
	char since[96];

	/* The database has answered: that no event is newer has no meaning without a daemon that records them. */
	if (code == CTL_DONE && ctl->client == NULL) {
		writer_line(ctl->out, WRITER_WARN,
			    "-- the daemon is not running%s; nothing later is known",
			    ctl_away_since_text(ctl, since, sizeof(since)));
	}
	return code;
}

const struct ctl_command ctl_event_commands[] = {
	{"event", "list", "", "what happened, newest first",
	 .help = "Alarms, restarts, changes of state, each with what to do. The newest 30. "
		 "Also\nanswers while the daemon is not running.",
	 .options = CTL_BIT(CTL_LIMIT) | CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_TO), .run = list_run},
	{0},
};
