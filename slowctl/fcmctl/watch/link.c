/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl link: the four fibres. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/value.h"

static void render_list(struct writer *w, const json_t *result)
{
	static const char *const columns[] = {
		">link", "name",  "state", "floor",  "expected",     ">frames/s",   ">last frame",
		">good", ">lost", "what",  ">rx uW", ">code errors", ">lost locks", ">ring"};
	size_t i;
	const json_t *link;

	writer_table(w, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach (value_at(result, "links"), i, link) {
		const char *state = value_string(link, "state", "?");
		const json_t *cells = value_at(link, "cells");
		char names[128];
		char floor[48];
		long long lost =
			value_losses(cells, &value_link_losses, NULL, names, sizeof(names));

		value_cell(w, link, "link", VALUE_COUNT);
		value_cell(w, link, "name", VALUE_PLAIN);
		writer_cell(w, value_style(state), "%s", state);
		writer_cell(w, WRITER_PLAIN, "%s", value_floor(link, floor, sizeof(floor)));
		writer_cell(w, WRITER_PLAIN, "%s",
			    value_floor(value_at(link, "expected"), floor, sizeof(floor)));
		value_cell(w, link, "frames_per_s", VALUE_RATE);
		value_cell(w, link, "age_s", VALUE_AGE);
		value_cell(w, cells, "good", VALUE_COUNT);
		writer_cell(w, lost > 0 ? WRITER_WARN : WRITER_PLAIN, "%lld", lost);
		writer_cell(w, WRITER_PLAIN, "%s", names);
		value_cell(w, link, "rx_power_uw", VALUE_PLAIN);
		value_cell(w, link, "code_errors", VALUE_COUNT);
		value_cell(w, link, "lost_locks", VALUE_COUNT);
		writer_cell(w, WRITER_PLAIN, "%lld/%lld", value_integer(link, "ring.used", 0),
			    value_integer(link, "ring.depth", 0));
	}
	writer_table_end(w, "no links");
}

/* Every member of an object that is a plain value. */
static void render_members(struct writer *w, const json_t *object)
{
	const char *name;
	json_t *value;
	char text[256];

	json_object_foreach ((json_t *)(uintptr_t)object, name, value) {
		if (!json_is_object(value) && !json_is_array(value)) {
			writer_pair(w, name, WRITER_PLAIN, "%s",
				    value_text(value, VALUE_PLAIN, text, sizeof(text)));
		}
	}
}

static void render_show(struct writer *w, const json_t *link)
{
	const char *state = value_string(link, "state", "?");
	long long offset = value_integer(link, "offset_bytes", 0);
	char text[64], aligned[32] = "aligned";

	if (offset != 0) {
		snprintf(aligned, sizeof(aligned), "aligned at byte %lld", offset);
	}
	writer_heading(w, "Link %lld  %s", value_integer(link, "link", -1),
		       value_string(link, "name", ""));
	writer_pair(w, "state", value_style(state), "%s%s%s, %s", state,
		    value_true(link, "signal") ? ", light" : ", no light",
		    value_true(link, "locked") ? ", locked" : ", not locked",
		    value_true(link, "aligned") ? aligned : "not aligned");
	writer_pair(w, "floor", WRITER_PLAIN, "%s", value_floor(link, text, sizeof(text)));
	writer_pair(w, "expected", WRITER_PLAIN, "%s",
		    value_floor(value_at(link, "expected"), text, sizeof(text)));
	writer_pair(w, "last frame", WRITER_PLAIN, "%s ago",
		    value_text(value_at(link, "age_s"), VALUE_AGE, text, sizeof(text)));
	writer_pair(w, "frames/s", WRITER_PLAIN, "%s",
		    value_text(value_at(link, "frames_per_s"), VALUE_RATE, text, sizeof(text)));
	writer_pair(w, "bytes/s", WRITER_PLAIN, "%s",
		    value_text(value_at(link, "bytes_per_s"), VALUE_RATE, text, sizeof(text)));
	writer_pair(w, "hits/s", WRITER_PLAIN, "%s",
		    value_text(value_at(link, "hits_per_s"), VALUE_RATE, text, sizeof(text)));
	writer_pair(w, "rx power uW", WRITER_PLAIN, "%s",
		    value_text(value_at(link, "rx_power_uw"), VALUE_PLAIN, text, sizeof(text)));
	writer_pair(w, "code errors", WRITER_PLAIN, "%lld", value_integer(link, "code_errors", 0));
	writer_pair(w, "downlink errors", WRITER_PLAIN, "%lld",
		    value_integer(link, "downlink_errors", 0));
	writer_pair(w, "lost locks", WRITER_PLAIN, "%lld", value_integer(link, "lost_locks", 0));
	writer_pair(w, "alignments", WRITER_PLAIN, "%lld", value_integer(link, "aligns", 0));
	writer_pair(w, "ring", WRITER_PLAIN, "%lld of %lld buffers",
		    value_integer(link, "ring.used", 0), value_integer(link, "ring.depth", 0));
	writer_pair(w, "DMA epoch", WRITER_PLAIN, "%lld%s", value_integer(link, "dma_epoch", 0),
		    value_true(link, "taken_over") ? ", taken over from a predecessor" : "");
	writer_pair(w, "item faults", WRITER_PLAIN, "%lld", value_integer(link, "item_faults", 0));
	writer_newline(w);
	writer_heading(w, "Frames since the daemon started");
	render_members(w, value_at(link, "cells"));
	if (json_object_size(value_at(link, "registers")) > 0) {
		writer_newline(w);
		writer_heading(w, "Registers of the board");
		render_members(w, value_at(link, "registers"));
	}
	if (json_object_size(value_at(link, "floor_telemetry")) > 0) {
		writer_newline(w);
		writer_heading(w, "Telemetry of the floor");
		render_members(w, value_at(link, "floor_telemetry"));
	}
}

static void render_relock(struct writer *w, const json_t *result)
{
	const char *verdict = value_string(result, "verdict", "?");
	long long slip = value_integer(result, "slip", 0);
	char took[32];
	char moved[32];
	char mean[32];

	writer_text(w, WRITER_PLAIN,
		    "link %lld locked and judged in %s: ", value_integer(result, "link", -1),
		    value_text(value_at(result, "took_s"), VALUE_AGE, took, sizeof(took)));
	writer_text(w, value_style(verdict), "%s", verdict);
	if (slip != 0) {
		writer_text(w, value_style(verdict), " by %lld x 1.25 ns", slip);
	}
	writer_text(w, WRITER_PLAIN, ", %s ps from the reference (mean %s ps)",
		    value_text(value_at(result, "difference_ps"), VALUE_PS_SIGNED, moved,
			       sizeof(moved)),
		    value_text(value_at(result, "mean_ps"), VALUE_PS, mean, sizeof(mean)));
	writer_newline(w);
}

static int list_run(struct ctl *ctl, const struct ctl_args *args)
{
	(void)args;
	return ctl_show(ctl, "link.list", NULL, render_list);
}

static int show_run(struct ctl *ctl, const struct ctl_args *args)
{
	int link;
	int code = ctl_link_number(ctl, args->word[0], &link);

	return code != CTL_DONE
		       ? code
		       : ctl_show(ctl, "link.show", json_pack("{s:i}", "link", link), render_show);
}

/* Reset and align: wait for lock and verdict. A slip or jump is not well: exit 1. */
static int relock_run(struct ctl *ctl, const struct ctl_args *args)
{
	char doing[32];
	char op[32];
	struct ctl_request request = {
		.op = op,
		.doing = doing,
		.timeout_s = 15.0,
		.look = "phase show",
	};
	json_t *result = NULL;
	const char *verdict;
	int link;
	int code = ctl_link_number(ctl, args->word[0], &link);

	if (code != CTL_DONE) {
		return code;
	}
	snprintf(op, sizeof(op), "link.%s", args->command->verb);
	snprintf(doing, sizeof(doing), "link %s %d", args->command->verb, link);
	request.args = json_pack("{s:i}", "link", link);
	if (ctl_given(args, CTL_REASON)) {
		json_object_set_new(request.args, "reason", json_string(args->text[CTL_REASON]));
	}
	ctl_put_dry(args, request.args);
	code = ctl_request(ctl, &request, &result);
	if (code == CTL_DONE && !ctl_told_would(ctl, result)) {
		writer_result(ctl->out, result, render_relock);
		verdict = value_string(result, "verdict", "");
		code = strcmp(verdict, "PASS") == 0 || strcmp(verdict, "first") == 0 ? CTL_DONE
										     : CTL_NOT;
	}
	json_decref(result);
	return code;
}

const struct ctl_command ctl_link_commands[] = {
	{
		.noun = "link",
		.verb = "list",
		.arguments = "",
		.summary = "the links, one a line",
		.help = "State, the floor that answers and the one expected, rates, losses since "
			"the "
			"daemon\nstarted, receiver power and errors of each link.\n\n"
			"States: up (good frames come), aligning, silent (locked, but no good "
			"frame), "
			"dark\n(no light), off (not configured).",
		.run = list_run,
	},
	{
		.noun = "link",
		.verb = "show",
		.arguments = "LINK",
		.summary = "all about one link",
		.help = "State, losses by name, the board's registers and the floor's "
			"telemetry.\n\n"
			"  fcmctl link show 2",
		.min_words = 1,
		.max_words = 1,
		.run = show_run,
	},
	{
		.noun = "link",
		.verb = "reset",
		.arguments = "LINK",
		.summary = "reset a link's transceiver; wait for the verdict",
		.help = "Resets the transceiver, waits for lock, alignment and the verdict on the "
			"phase.\nUntil it is back, frames of this link are lost, and counted by "
			"name; "
			"the other links\ndo not notice.\n\n"
			"PASS: the phase is where it was. SLIP n: it moved by n x 1.25 ns; reset "
			"again. "
			"JUMP: it\nmoved otherwise; fcmctl phase show, then repair, or phase "
			"accept.\n"
			"Exit 0 PASS, 1 anything else.",
		.options = CTL_BIT(CTL_REASON) | CTL_BIT(CTL_DRY_RUN),
		.min_words = 1,
		.max_words = 1,
		.run = relock_run,
	},
	{
		.noun = "link",
		.verb = "align",
		.arguments = "LINK",
		.summary = "align a link's words anew; wait for the verdict",
		.help = "As link reset, but only the search for the word border is done again. The "
			"milder\nremedy after a SLIP.",
		.options = CTL_BIT(CTL_REASON) | CTL_BIT(CTL_DRY_RUN),
		.min_words = 1,
		.max_words = 1,
		.run = relock_run,
	},
	{0},
};
