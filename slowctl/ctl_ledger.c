/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl ledger: the account of every frame. Does it balance, and what was lost where? */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "slowctl/ctl.h"
#include "slowctl/ctl_time.h"
#include "slowctl/ctl_value.h"

static const char *const loss_names[] = {"link-down", "board-fifo", "ring-full",
					 "crc",	      "alignment",  "time-fault"};
static const char *const drop_names[] = {"no-member", "slow", "shutdown", "pool"};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void cell_balanced(struct writer *w, const json_t *row)
{
	bool yes = value_true(row, "balanced");

	writer_cell(w, yes ? WRITER_GOOD : WRITER_BAD, "%s", yes ? "yes" : "NO");
}

/* A count that should be 0. */
static void cell_loss(struct writer *w, const json_t *row, const char *path)
{
	enum writer_style style = value_integer(row, path, 0) > 0 ? WRITER_WARN : WRITER_PLAIN;

	value_cell_styled(w, style, row, path, VALUE_COUNT);
}

static void render_link_rows(struct writer *w, const json_t *rows, const char *what)
{
	static const char *const columns[] = {
		">link",       "floor",	      ">second",    ">cells",  ">good",
		">link-down",  ">board-fifo", ">ring-full", ">crc",    ">alignment",
		">time-fault", ">partial",    ">restarts",  "balanced"};
	const char *names[COUNT(columns)];
	size_t i;
	const json_t *row;

	memcpy(names, columns, sizeof(names));
	names[2] = what;
	writer_table(w, names, COUNT(names));
	json_array_foreach (rows, i, row) {
		char floor[48];
		char path[64];

		value_cell(w, row, "link", VALUE_COUNT);
		writer_cell(w, WRITER_PLAIN, "%s", value_floor(row, floor, sizeof(floor)));
		value_cell(w, row, what + 1, VALUE_COUNT);
		value_cell(w, row, "cells", VALUE_COUNT);
		value_cell(w, row, "good", VALUE_COUNT);
		for (size_t n = 0; n < COUNT(loss_names); n++) {
			snprintf(path, sizeof(path), "%s", loss_names[n]);
			cell_loss(w, row, path);
		}
		value_cell(w, row, "partial", VALUE_PLAIN);
		value_cell(w, row, "restarts", VALUE_COUNT);
		cell_balanced(w, row);
	}
	writer_table_end(w, "no frames in this time");
}

static void render_stream_rows(struct writer *w, const json_t *rows, const char *what)
{
	static const char *const columns[] = {
		">link",      "stream",	    "group", ">second",	  ">offered", ">acknowledged",
		">in flight", ">no-member", ">slow", ">shutdown", ">pool",    "balanced"};
	const char *names[COUNT(columns)];
	size_t i;
	const json_t *row;

	memcpy(names, columns, sizeof(names));
	names[3] = what;
	writer_table(w, names, COUNT(names));
	json_array_foreach (rows, i, row) {
		char path[64];

		value_cell(w, row, "link", VALUE_COUNT);
		value_cell(w, row, "stream", VALUE_PLAIN);
		value_cell(w, row, "group", VALUE_PLAIN);
		value_cell(w, row, what + 1, VALUE_COUNT);
		value_cell(w, row, "offered", VALUE_COUNT);
		value_cell(w, row, "acknowledged", VALUE_COUNT);
		value_cell(w, row, "in_flight", VALUE_COUNT);
		for (size_t n = 0; n < COUNT(drop_names); n++) {
			snprintf(path, sizeof(path), "dropped.%s", drop_names[n]);
			cell_loss(w, row, path);
		}
		cell_balanced(w, row);
	}
	writer_table_end(w, "no group was offered anything in this time");
}

static void render_losses(struct writer *w, const json_t *losses)
{
	static const char *const columns[] = {"time (UTC)", "what",	 ">link",	 "floor",
					      "stream",	    "group",	 ">first frame", ">last",
					      ">frames",    ">DMA epoch"};
	size_t i;
	const json_t *loss;

	writer_table(w, columns, COUNT(columns));
	json_array_foreach (losses, i, loss) {
		long long first = value_integer(loss, "first", 0);
		long long frames = value_integer(loss, "frames", 0);
		char floor[48];

		value_cell(w, loss, "time", VALUE_TIME_MS);
		writer_cell(w, WRITER_WARN, "%s", value_string(loss, "code", "?"));
		value_cell(w, loss, "link", VALUE_COUNT);
		writer_cell(w, WRITER_PLAIN, "%s", value_floor(loss, floor, sizeof(floor)));
		writer_cell(w, WRITER_PLAIN, "%s", value_string(loss, "stream", ""));
		writer_cell(w, WRITER_PLAIN, "%s", value_string(loss, "group", ""));
		writer_cell(w, WRITER_PLAIN, "%lld", first);
		writer_cell(w, WRITER_PLAIN, "%lld", first + frames - 1);
		writer_cell(w, WRITER_PLAIN, "%lld", frames);
		value_cell(w, loss, "dma_epoch", VALUE_COUNT);
	}
	writer_table_end(w, "none");
}

static void render_verdict(struct writer *w, const json_t *result)
{
	if (value_true(result, "balanced")) {
		writer_text(w, WRITER_GOOD, "BALANCED");
		writer_text(w, WRITER_PLAIN, "  every frame is accounted for");
	} else {
		writer_text(w, WRITER_BAD, "DOES NOT BALANCE");
		writer_text(w, WRITER_PLAIN,
			    "  frames are missing from the account: keep the database, tell the "
			    "maintainer");
	}
	writer_newline(w);
}

static void render(struct writer *w, const json_t *result, bool rows)
{
	const json_t *totals = rows ? NULL : value_at(result, "totals");
	const json_t *unbalanced = value_at(result, "unbalanced");
	const char *what = totals != NULL ? ">seconds" : ">second";

	render_verdict(w, result);
	writer_newline(w);
	writer_heading(w, "Links: cells = good + lost by name");
	render_link_rows(w, value_at(totals != NULL ? totals : result, "links"), what);
	writer_newline(w);
	writer_heading(w, "Consumers: frames offered = acknowledged + in flight + dropped by name");
	render_stream_rows(w, value_at(totals != NULL ? totals : result, "streams"), what);
	writer_newline(w);
	writer_heading(w, "Losses by name and frame range");
	render_losses(w, value_at(result, "losses"));
	if (json_array_size(unbalanced) > 0) {
		writer_newline(w);
		writer_heading(w, "Rows that do not balance: %zu", json_array_size(unbalanced));
		render_link_rows(w, unbalanced, ">second");
	}
}

static void render_sums(struct writer *w, const json_t *result)
{
	render(w, result, false);
}

static void render_rows(struct writer *w, const json_t *result)
{
	render(w, result, true);
}

static int show_run(struct ctl *ctl, const struct ctl_args *args)
{
	json_t *filter = ctl_filter(args, 0);
	json_t *result = NULL;
	int code;

	if (!ctl_given(args, CTL_SINCE)) {
		json_object_set_new(filter, "since", json_real((double)time(NULL) - 600.0));
	}
	code = ctl_ask(ctl, "ledger.show", filter, &result);
	if (code == CTL_DONE) {
		writer_result(ctl->out, result,
			      ctl_given(args, CTL_ROWS) ? render_rows : render_sums);
		code = value_true(result, "balanced") ? CTL_DONE : CTL_NOT;
	}
	json_decref(result);
	return code;
}

const struct ctl_command ctl_ledger_commands[] = {
	{
		.noun = "ledger",
		.verb = "show",
		.arguments = "",
		.summary = "the account of every frame: what was lost, where",
		.help = "Of the last 10 minutes, or since TIME: per link the cells (8000 a "
			"second), "
			"good and lost\nby name; per link, stream and group the frames offered, "
			"acknowledged, in flight and dropped\nby name; then each loss with floor "
			"and "
			"frame range. --rows shows second by second.\nAnswers while the daemon is "
			"away, "
			"too. Exit 0 it balances, 1 it does not.\n\n"
			"link-down     no light or no lock        crc         damaged frame\n"
			"board-fifo    the board overflowed       alignment   no frame border "
			"found\n"
			"ring-full     the daemon was too late    time-fault  the frame's number "
			"was wrong\n"
			"no-member     no consumer in the group   slow        consumers too slow\n"
			"shutdown      not taken before the stop  pool        no memory for "
			"blocks\n\n"
			"  fcmctl ledger show --since 02:00 --link 2",
		.options = CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_LINK) | CTL_BIT(CTL_LIMIT) |
			   CTL_BIT(CTL_ROWS),
		.run = show_run,
	},
	{0},
};
