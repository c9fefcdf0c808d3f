/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl link: the four fibres. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/value.h"

static void render_list(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {{">link", "{link:count}"},
						      {"?name", "{name}"},
						      {"state", "{state}", VALUE_BY_WORD},
						      {"floor", "{:floor}"},
						      {"expected", "{expected:floor}"},
						      {">frames/s", "{frames_per_s:rate}"},
						      {">last frame", "{age_s:age}"},
						      {">rx uW", "{rx_power_uw}"},
						      {"?>good", "{cells.good}"},
						      {"?>code errors", "{code_errors}"},
						      {"?>lost locks", "{lost_locks}"},
						      {"?>ring", "{ring.used}/{ring.depth}"},
						      {">lost", "{cells:lost}", VALUE_WARN},
						      {"what", "{cells:losses}"},
						      {0}};

	value_table(w, value_at(result, "links"), columns, "no links");
}

/* Every member of an object that is a plain value. */
static void render_object(struct writer *w, const char *heading, const json_t *object)
{
	const char *name;
	json_t *value;

	if (json_object_size(object) > 0) {
		writer_newline(w);
		writer_heading(w, "%s", heading);
	}
	json_object_foreach ((json_t *)(uintptr_t)object, name, value) {
		if (!json_is_object(value) && !json_is_array(value)) {
			value_pair(w, name, WRITER_PLAIN, value, "{}");
		}
	}
}

static void render_state(struct writer *w, const json_t *link)
{
	const char *state = value_string(link, "state", "?");
	long long offset = value_integer(link, "offset_bytes", 0);
	char aligned[32] = "aligned";

	if (offset != 0) {
		snprintf(aligned, sizeof(aligned), "aligned at byte %lld", offset);
	}
	writer_pair(w, "state", value_style(state), "%s%s%s, %s", state,
		    value_true(link, "signal") ? ", light" : ", no light",
		    value_true(link, "locked") ? ", locked" : ", not locked",
		    value_true(link, "aligned") ? aligned : "not aligned");
}

static void render_show(struct writer *w, const json_t *link)
{
	static const struct {
		const char *name, *text;
	} pairs[] = {
		{"floor", "{:floor}"},
		{"expected", "{expected:floor}"},
		{"last frame", "{age_s:age} ago"},
		{"frames/s", "{frames_per_s:rate}"},
		{"bytes/s", "{bytes_per_s:rate}"},
		{"hits/s", "{hits_per_s:rate}"},
		{"rx power uW", "{rx_power_uw}"},
		{"code errors", "{code_errors}"},
		{"downlink errors", "{downlink_errors}"},
		{"lost locks", "{lost_locks}"},
		{"alignments", "{aligns}"},
		{"ring", "{ring.used} of {ring.depth} buffers"},
	};

	writer_heading(w, "Link %lld  %s", value_integer(link, "link", -1),
		       value_string(link, "name", ""));
	render_state(w, link);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		value_pair(w, pairs[i].name, WRITER_PLAIN, link, pairs[i].text);
	}
	value_pair(w, "DMA epoch", WRITER_PLAIN, link,
		   value_true(link, "taken_over") ? "{dma_epoch}, taken over from a predecessor"
						  : "{dma_epoch}");
	value_pair(w, "item faults", WRITER_PLAIN, link, "{item_faults}");
	render_object(w, "Frames since the daemon started", value_at(link, "cells"));
	render_object(w, "Registers of the board", value_at(link, "registers"));
	render_object(w, "Telemetry of the floor", value_at(link, "floor_telemetry"));
}

static void render_relock(struct writer *w, const json_t *result)
{
	const char *verdict = value_string(result, "verdict", "?");
	long long slip = value_integer(result, "slip", 0);

	value_say(w, WRITER_PLAIN, result, "link {link} locked and judged in {took_s:age}: ");
	writer_text(w, value_style(verdict), "%s", verdict);
	if (slip != 0) {
		writer_text(w, value_style(verdict), " by %lld x 1.25 ns", slip);
	}
	value_line(w, WRITER_PLAIN, result,
		   ", {difference_ps:+ps} ps from the reference (mean {mean_ps:ps} ps)");
}

/* Reset and align: wait for lock and verdict. All but a pass, or a first reference, is not well: exit 1. */
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
	int link;
	int code = ctl_link_number(ctl, args->word[0], &link);

	if (code != CTL_DONE) {
		return code;
	}
	snprintf(op, sizeof(op), "link.%s", args->command->verb);
	snprintf(doing, sizeof(doing), "link %s %d", args->command->verb, link);
	request.args = json_pack("{s:i}", "link", link);
	code = ctl_change(ctl, args, &request, render_relock, &result);
	if (result != NULL) {
		const char *verdict = value_string(result, "verdict", "");

		code = strcmp(verdict, "PASS") == 0 || strcmp(verdict, "first") == 0 ? CTL_DONE
										     : CTL_NOT;
	}
	json_decref(result);
	return code;
}

const struct ctl_command ctl_link_commands[] = {
	{"link", "list", "", "the links, one a line",
	 .help = "State, the floor that answers and the one expected, rates, losses since the "
		 "daemon\nstarted, receiver power and errors of each link.\n\nStates: up (good "
		 "frames come), aligning, silent (locked, but no good frame), dark\n(no light), "
		 "unknown (no board to ask), off (not configured).",
	 .op = "link.list", .render = render_list},
	{"link", "show", "LINK", "all about one link",
	 .help = "State, losses by name, the board's registers and the floor's telemetry.\n\n  "
		 "fcmctl link show 2",
	 .op = "link.show", .member = "link", .render = render_show},
	{"link", "reset", "LINK", "reset a link's transceiver; wait for the verdict",
	 .help = "Resets the transceiver, waits for lock, alignment and the verdict on the "
		 "phase.\nUntil it is back, frames of this link are lost, and counted by name; the "
		 "other links\ndo not notice.\n\nPASS: the phase is where it was. SLIP n: it moved "
		 "by n x 1.25 ns; reset again. JUMP: it\nmoved otherwise; fcmctl phase show, then "
		 "repair, or phase accept. DRIFT:\nit is back where it had drifted to.\nExit 0 "
		 "PASS, 1 anything else.",
	 .options = CTL_BIT(CTL_REASON) | CTL_BIT(CTL_DRY_RUN), .run = relock_run},
	{"link", "align", "LINK", "align a link's words again; wait for the verdict",
	 .help = "As link reset, but only the search for the word border is done again. The "
		 "milder\nremedy after a SLIP.",
	 .options = CTL_BIT(CTL_REASON) | CTL_BIT(CTL_DRY_RUN), .run = relock_run},
	{0},
};
