/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl safe: the high voltage down, then the modules off.
 */
#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/jobs/many.h"
#include "slowctl/fcmctl/show/value.h"

#define SAFE_S 120.0 /* longest silence of the daemon: a ramp reports more often */

static void render(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {{"module", "{module}"},
						      {"state", "{state|?}", VALUE_BY_WORD},
						      {"outcome", "{text}"},
						      {0}};

	value_table(w, value_at(result, "rows"), columns, "no modules");
	writer_text(w, value_style(value_string(result, "state", "?")), "%s",
		    value_string(result, "text", ""));
	writer_line(w, WRITER_PLAIN, " (safe %lld)", value_integer(result, "safe", 0));
}

static void would_cell(struct writer *w, const json_t *row)
{
	writer_cell(w, value_true(row, "refused") ? WRITER_BAD : WRITER_PLAIN, "%s",
		    value_string(row, "text", "?"));
}

/* --dry-run */
static void render_plan(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {
		{"module", "{module}"}, {"would be done", .cell = would_cell}, {0}};

	value_table(w, value_at(result, "rows"), columns, "no modules");
	writer_line(w, WRITER_PLAIN, "%s", value_string(result, "text", ""));
}

/* --no-wait: the number alone, for a script. */
static void render_number(struct writer *w, const json_t *result)
{
	writer_line(w, WRITER_PLAIN, "%lld", value_integer(result, "safe", 0));
}

static int safe_run(struct ctl *ctl, const struct ctl_args *args)
{
	bool wait = !ctl_given(args, CTL_NO_WAIT);
	struct ctl_request request = {
		.op = "safe",
		.args = json_pack("{s:b}", "wait", wait),
		.timeout_s = SAFE_S,
		.doing = "safe",
		.look = "command list",
	};
	json_t *result = NULL;
	int code;

	if (args->words > 0) {
		json_object_set_new(request.args, "pattern", json_string(args->word[0]));
	}
	ctl_put_options(args, request.args);
	code = ctl_request(ctl, &request, &result);
	if (code == CTL_DONE && value_true(result, "dry_run")) {
		writer_result(ctl->out, result, render_plan);
	} else if (code == CTL_DONE) {
		writer_result(ctl->out, result, wait ? render : render_number);
		code = ctl_exit_of_state(value_string(result, "state", ""));
	}
	json_decref(result);
	return code;
}

const struct ctl_command ctl_safe_commands[] = {
	{NULL, "safe", "[PATTERN]", "make safe: high voltage down, then the modules off",
	 .help = "Lowers the high voltage of all modules, or of those that match the\n"
		 "pattern, to 0. When it reads as down, switches the power off. All\n"
		 "modules side by side. These commands go before all others, are\n"
		 "accepted when the queue is full, ignore interlocks, and end commands\n"
		 "that would raise the high voltage. Hydrophones stay on. A module whose\n"
		 "high voltage does not come down stays on; the list shows it. Ctrl-C\n"
		 "ends the waiting, not the work.\n"
		 "Exit 0 all down and off, 1 not all, 3 some unknown.\n\n"
		 "  fcmctl safe --yes --reason 'light in the dark room'\n"
		 "  fcmctl safe floor3\n"
		 "  fcmctl safe 'floor*.om[0-2]'",
	 .options = CTL_BIT(CTL_REASON) | CTL_BIT(CTL_YES) | CTL_BIT(CTL_NO_WAIT) |
		    CTL_BIT(CTL_DRY_RUN),
	 .run = safe_run},
	{0},
};
