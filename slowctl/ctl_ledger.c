/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl ledger: the account of every frame. Does it balance, and what was lost where? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/ctl.h"
#include "slowctl/ctl_time.h"
#include "slowctl/ctl_value.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A daemon of before says nothing of it. */
static bool is_incomplete(const json_t *result)
{
	return json_array_size(value_at(result, "missing")) > 0;
}

static void cell_balanced(struct writer *w, const json_t *row)
{
	bool yes = value_true(row, "balanced");

	writer_cell(w, yes ? WRITER_GOOD : WRITER_BAD, "%s", yes ? "yes" : "NO");
}

static void cell_losses(struct writer *w, const json_t *object, const struct value_names *names)
{
	char text[160];
	long long lost = value_losses(object, names, NULL, text, sizeof(text));

	writer_cell(w, lost > 0 ? WRITER_WARN : WRITER_PLAIN, "%lld", lost);
	writer_cell(w, WRITER_PLAIN, "%s", text);
}

/* Without label there is only the system clock's time of it. */
static void cell_begun(struct writer *w, const json_t *object)
{
	const json_t *begun = value_at(object, "begun");
	char text[48];

	writer_cell(w, WRITER_PLAIN, "%s%s", value_text(begun, VALUE_TIME_MS, text, sizeof(text)),
		    json_is_number(begun) && json_is_null(value_at(object, "tai"))
			    ? " by system clock"
			    : "");
}

/* `what`: ">second" of rows, which have a time too (the first column), ">seconds" of sums. */
static bool begin_rows(struct writer *w, const char *const columns[], size_t count,
		       const char *what)
{
	bool timed = strcmp(what, ">second") == 0;

	writer_table(w, columns + !timed, count - !timed);
	return timed;
}

static void render_link_rows(struct writer *w, const json_t *rows, const char *what)
{
	const char *const columns[] = {"begun (UTC)", ">link",	   "floor",   what,
				       ">cells",      ">good",	   ">lost",   "what",
				       ">partial",    ">restarts", "balanced"};
	bool timed = begin_rows(w, columns, COUNT(columns), what);
	size_t i;
	const json_t *row;

	json_array_foreach (rows, i, row) {
		char floor[48];

		if (timed) {
			cell_begun(w, row);
		}
		value_cell(w, row, "link", VALUE_COUNT);
		writer_cell(w, WRITER_PLAIN, "%s", value_floor(row, floor, sizeof(floor)));
		value_cell(w, row, what + 1, VALUE_COUNT);
		value_cell(w, row, "cells", VALUE_COUNT);
		value_cell(w, row, "good", VALUE_COUNT);
		cell_losses(w, row, &value_link_losses);
		value_cell(w, row, "partial", VALUE_PLAIN);
		value_cell(w, row, "restarts", VALUE_COUNT);
		cell_balanced(w, row);
	}
	writer_table_end(w, "no frames in this time");
}

static void render_stream_rows(struct writer *w, const json_t *rows, const char *what)
{
	const char *const columns[] = {"begun (UTC)", ">link",	  "stream",	   "group",
				       what,	      ">offered", ">acknowledged", ">in flight",
				       ">dropped",    "why",	  "balanced"};
	bool timed = begin_rows(w, columns, COUNT(columns), what);
	size_t i;
	const json_t *row;

	json_array_foreach (rows, i, row) {
		if (timed) {
			cell_begun(w, row);
		}
		value_cell(w, row, "link", VALUE_COUNT);
		value_cell(w, row, "stream", VALUE_PLAIN);
		value_cell(w, row, "group", VALUE_PLAIN);
		value_cell(w, row, what + 1, VALUE_COUNT);
		value_cell(w, row, "offered", VALUE_COUNT);
		value_cell(w, row, "acknowledged", VALUE_COUNT);
		value_cell(w, row, "in_flight", VALUE_COUNT);
		cell_losses(w, value_at(row, "dropped"), &value_drops);
		cell_balanced(w, row);
	}
	writer_table_end(w, "no group was offered anything in this time");
}

static void render_losses(struct writer *w, const json_t *losses)
{
	static const char *const columns[] = {"begun (UTC)", "what",	  ">link",	  "floor",
					      "stream",	     "group",	  ">first frame", ">last",
					      ">frames",     ">DMA epoch"};
	size_t i;
	const json_t *loss;

	writer_table(w, columns, COUNT(columns));
	json_array_foreach (losses, i, loss) {
		long long first = value_integer(loss, "first", 0);
		long long frames = value_integer(loss, "frames", 0);
		char floor[48];

		cell_begun(w, loss);
		writer_cell(w, WRITER_WARN, "%s", value_string(loss, "code", "?"));
		value_cell(w, loss, "link", VALUE_COUNT);
		writer_cell(w, WRITER_PLAIN, "%s", value_floor(loss, floor, sizeof(floor)));
		value_cell(w, loss, "stream", VALUE_PLAIN);
		value_cell(w, loss, "group", VALUE_PLAIN);
		writer_cell(w, WRITER_PLAIN, "%lld", first);
		writer_cell(w, WRITER_PLAIN, "%lld",
			    value_integer(loss, "last", first + frames - 1));
		writer_cell(w, WRITER_PLAIN, "%lld", frames);
		value_cell(w, loss, "dma_epoch", VALUE_COUNT);
	}
	writer_table_end(w, "none");
}

/* When nothing was accounted for, oldest first. */
static void render_missing(struct writer *w, const json_t *result)
{
	size_t i;
	const json_t *gap;
	char a[48];
	char b[48];
	char c[48];

	json_array_foreach (value_at(result, "missing"), i, gap) {
		double span = value_number(gap, "ended") - value_number(gap, "begun");
		size_t n;
		const json_t *link;

		writer_text(w, WRITER_WARN, "  missing");
		writer_text(w, WRITER_PLAIN, "  %s to %s (%s), link",
			    value_text(value_at(gap, "begun"), VALUE_TIME, a, sizeof(a)),
			    value_text(value_at(gap, "ended"), VALUE_TIME, b, sizeof(b)),
			    ctl_span_text(span, c, sizeof(c)));
		json_array_foreach (value_at(gap, "links"), n, link) {
			writer_text(w, WRITER_PLAIN, "%s%lld", n > 0 ? "," : " ",
				    (long long)json_integer_value(link));
		}
		writer_text(w, WRITER_PLAIN, ": no row; the daemon or the board was away");
		writer_newline(w);
	}
	if (json_is_number(value_at(result, "begins"))) {
		writer_text(w, WRITER_DIM, "  the ledger begins at %s",
			    value_text(value_at(result, "begins"), VALUE_TIME, a, sizeof(a)));
		writer_newline(w);
	}
}

static void render_incomplete(struct writer *w, const json_t *result)
{
	char span[48];

	writer_text(w, WRITER_BAD, "INCOMPLETE");
	writer_text(w, WRITER_PLAIN,
		    "  what is in the ledger balances, but of %s of this time nothing is in it",
		    ctl_span_text(value_number(result, "missing_s"), span, sizeof(span)));
}

static void render_verdict(struct writer *w, const json_t *result)
{
	if (json_array_size(value_at(result, "links")) == 0) {
		writer_text(w, WRITER_BAD, "EMPTY");
		writer_text(w, WRITER_PLAIN, "  nothing is accounted for in this time");
	} else if (value_true(result, "balanced") && is_incomplete(result)) {
		render_incomplete(w, result);
	} else if (value_true(result, "balanced")) {
		writer_text(w, WRITER_GOOD, "BALANCED");
		writer_text(w, WRITER_PLAIN, "  every frame is accounted for");
	} else {
		writer_text(w, WRITER_BAD, "DOES NOT BALANCE");
		writer_text(w, WRITER_PLAIN,
			    "  frames are missing from the account: keep the database, tell the "
			    "maintainer");
	}
	writer_newline(w);
	render_missing(w, result);
}

/* Rows of both kinds in one list: those of a group's stream name the group. */
static void render_unbalanced(struct writer *w, const json_t *rows)
{
	json_t *kind[2] = {json_array(), json_array()};
	size_t i;
	json_t *row;

	json_array_foreach (rows, i, row) {
		json_array_append(kind[json_object_get(row, "group") != NULL], row);
	}
	writer_newline(w);
	writer_heading(w, "Rows that do not balance: %zu", json_array_size(rows));
	if (json_array_size(kind[0]) > 0) {
		render_link_rows(w, kind[0], ">second");
	}
	if (json_array_size(kind[1]) > 0) {
		render_stream_rows(w, kind[1], ">second");
	}
	json_decref(kind[0]);
	json_decref(kind[1]);
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
	writer_heading(w, "Consumers: frames of blocks (lost ones inside too): offered = "
			  "acknowledged + in flight + dropped by name");
	render_stream_rows(w, value_at(totals != NULL ? totals : result, "streams"), what);
	writer_newline(w);
	writer_heading(
		w,
		"Losses by name and frame range, timed by their label as the data are (frames of a "
		"link's losses: the board's count)");
	render_losses(w, value_at(result, "losses"));
	if (json_array_size(unbalanced) > 0) {
		render_unbalanced(w, unbalanced);
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
		json_object_set_new(filter, "since", json_real(ctl_now() - 600.0));
	}
	code = ctl_ask(ctl, "ledger.show", filter, &result);
	if (code == CTL_DONE) {
		writer_result(ctl->out, result,
			      ctl_given(args, CTL_ROWS) ? render_rows : render_sums);
		code = value_true(result, "balanced") &&
				       json_array_size(value_at(result, "links")) > 0 &&
				       !is_incomplete(result)
			       ? CTL_DONE
			       : CTL_NOT;
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
			"frame range. --rows shows second by second, with time.\nAnswers while the "
			"daemon is "
			"away, "
			"too. Exit 0 it balances, 1 it does not, or has no rows of a part of the "
			"time.\n\n"
			"link-down     no light or no lock        crc         damaged frame\n"
			"board-fifo    the board overflowed       alignment   no frame border "
			"found\n"
			"ring-full     the daemon was too late    time-fault  the frame's number "
			"was wrong\n"
			"no-member     no consumer in the group   slow        consumers too slow\n"
			"shutdown      not taken before the stop  pool        no memory for "
			"blocks\n"
			"no-time       without a label: withheld by the TriDAS feed\n\n"
			"  fcmctl ledger show --since 02:00 --link 2",
		.options = CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_LINK) | CTL_BIT(CTL_LIMIT) |
			   CTL_BIT(CTL_ROWS),
		.run = show_run,
	},
	{0},
};
