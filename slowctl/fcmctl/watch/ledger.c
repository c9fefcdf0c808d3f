/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl ledger: the account of every frame. Does it balance, and what was lost where? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"

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

/* The board's second of a row, first and last of one of more; of sums how many. */
static void cell_second(struct writer *w, const json_t *row, const char *what)
{
	long long seconds = value_integer(row, "seconds", 1);
	long long second = value_integer(row, "second", 0);

	if (strcmp(what, "second") == 0 && seconds > 1) {
		writer_cell(w, WRITER_PLAIN, "%lld-%lld", second, second + seconds - 1);
	} else {
		value_cell(w, row, what, VALUE_COUNT);
	}
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
		cell_second(w, row, what + 1);
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
		cell_second(w, row, what + 1);
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

/* A row of a link whose cells have not one verdict each, or of a group whose frames have not one outcome. */
static void render_off(struct writer *w, const json_t *row)
{
	const char *group = value_string(row, "group", NULL);
	long long off = value_integer(row, "off", 0);
	char text[48];

	writer_text(w, WRITER_BAD, "  here");
	if (group != NULL) {
		writer_text(w, WRITER_PLAIN, "  group %s, stream %s of link %lld", group,
			    value_string(row, "stream", "?"), value_integer(row, "link", -1));
	} else {
		writer_text(w, WRITER_PLAIN, "  link %lld (%s)", value_integer(row, "link", -1),
			    value_floor(row, text, sizeof(text)));
	}
	writer_text(w, WRITER_PLAIN, ", board's second %lld, %s", value_integer(row, "second", 0),
		    value_text(value_at(row, "begun"), VALUE_TIME, text, sizeof(text)));
	if (off != 0) {
		writer_text(w, WRITER_PLAIN, ": %lld frames %s", off < 0 ? -off : off,
			    off > 0 ? "of which nobody knows what became of them"
				    : "more than there were");
	} else if (group != NULL && value_integer(row, "in_flight", 0) > 0) {
		writer_text(w, WRITER_PLAIN, ": closed with frames in flight");
	}
	writer_newline(w);
}

#define OFF_SHOWN 8u

static void render_unbalance(struct writer *w, const json_t *result)
{
	const json_t *rows = value_at(result, "unbalanced");
	size_t i;
	const json_t *row;

	writer_text(w, WRITER_BAD, "DOES NOT BALANCE");
	writer_text(w, WRITER_PLAIN,
		    "  frames are missing from the account: keep the database, tell the "
		    "maintainer");
	json_array_foreach (rows, i, row) {
		if (i == 0) {
			writer_newline(w);
		}
		if (i < OFF_SHOWN) {
			render_off(w, row);
		}
	}
	if (i > OFF_SHOWN) {
		writer_text(w, WRITER_PLAIN, "  and %zu rows more", i - OFF_SHOWN);
	}
	if (i == 0 || i > OFF_SHOWN) {
		writer_newline(w);
	}
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
		render_unbalance(w, result);
		render_missing(w, result);
		return;
	}
	writer_newline(w);
	render_missing(w, result);
}

/* Of what is old only sums are kept. */
static void render_span(struct writer *w, const json_t *result)
{
	long long span = 1;
	size_t i;
	const json_t *total;

	json_array_foreach (value_at(result, "totals.links"), i, total) {
		long long of = value_integer(total, "span", 1);

		span = of > span ? of : span;
	}
	if (span > 1) {
		writer_text(w, WRITER_DIM,
			    "  the oldest of it is kept by the %s: whole %ss of UTC count",
			    span > 60 ? "hour" : "minute", span > 60 ? "hour" : "minute");
		writer_newline(w);
	}
}

/* Several losses with good frames between them: from the first to the last is not how long it was lost. */
static bool is_apart(const json_t *hop)
{
	long long range = value_integer(hop, "last", 0) + 1 - value_integer(hop, "first", 0);

	return value_integer(hop, "losses", 1) > 1 && value_integer(hop, "frames", 0) != range;
}

/* Each place where frames were lost, the worst first. */
static void render_hops(struct writer *w, const json_t *hops)
{
	static const char *const columns[] = {"at",
					      "what",
					      ">link",
					      "floor",
					      "stream",
					      "group",
					      ">frames",
					      ">losses",
					      ">first",
					      ">last",
					      "first begun (UTC)",
					      "last ended (UTC)"};
	size_t i;
	const json_t *hop;

	if (json_array_size(hops) == 0) {
		return;
	}
	writer_heading(w, "Where frames were lost");
	writer_table(w, columns, COUNT(columns));
	json_array_foreach (hops, i, hop) {
		char floor[48];

		value_cell(w, hop, "hop", VALUE_PLAIN);
		writer_cell(w, WRITER_WARN, "%s", value_string(hop, "code", "?"));
		value_cell(w, hop, "link", VALUE_COUNT);
		writer_cell(w, WRITER_PLAIN, "%s", value_floor(hop, floor, sizeof(floor)));
		value_cell(w, hop, "stream", VALUE_PLAIN);
		value_cell(w, hop, "group", VALUE_PLAIN);
		value_cell(w, hop, "frames", VALUE_COUNT);
		writer_cell(w, WRITER_PLAIN, "%lld%s", value_integer(hop, "losses", 1),
			    is_apart(hop) ? " apart" : "");
		value_cell(w, hop, "first", VALUE_COUNT);
		value_cell(w, hop, "last", VALUE_COUNT);
		cell_begun(w, hop);
		value_cell(w, hop, "ended", VALUE_TIME_MS);
	}
	writer_table_end(w, "none");
	writer_newline(w);
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
	render_span(w, result);
	writer_newline(w);
	render_hops(w, value_at(result, "hops"));
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

static const struct {
	const char *name;
	int seconds;
} spans[] = {{"second", 1}, {"minute", 60}, {"hour", 3600}};

/* The question in `filter`; CTL_USAGE when the options contradict each other. */
static int make_question(struct ctl *ctl, const struct ctl_args *args, json_t *filter)
{
	double to = ctl_given(args, CTL_TO) ? args->number[CTL_TO] : ctl_now();
	double from = ctl_given(args, CTL_SINCE) ? args->number[CTL_SINCE] : to - 600.0;

	if (from >= to) { /* without --since it is before */
		bool both = ctl_given(args, CTL_TO);

		return ctl_fail(ctl, CTL_USAGE, "usage", "say 02:00, 1h or 2026-11-01T02:00 (UTC)",
				"--since %s %s%s", args->text[CTL_SINCE],
				both ? "is not before --to " : "has not come yet",
				both ? args->text[CTL_TO] : "");
	}
	json_object_set_new(filter, "since", json_real(from));
	if (ctl_given(args, CTL_TO)) {
		json_object_set_new(filter, "until", json_real(to));
	}
	if (!ctl_given(args, CTL_BY)) {
		return CTL_DONE;
	}
	for (size_t i = 0; i < COUNT(spans); i++) {
		if (strcmp(args->text[CTL_BY], spans[i].name) == 0) {
			json_object_set_new(filter, "by_s", json_integer(spans[i].seconds));
			return CTL_DONE;
		}
	}
	return ctl_fail(ctl, CTL_USAGE, "usage", "second, minute or hour",
			"there are no rows by '%.40s'", args->text[CTL_BY]);
}

static int show_run(struct ctl *ctl, const struct ctl_args *args)
{
	json_t *filter = ctl_filter(args, 0);
	json_t *result = NULL;
	int code = make_question(ctl, args, filter);
	bool rows = ctl_given(args, CTL_ROWS) || ctl_given(args, CTL_BY);

	if (code != CTL_DONE) {
		json_decref(filter);
		return code;
	}
	code = ctl_ask(ctl, "ledger.show", filter, &result);
	if (code == CTL_DONE) {
		writer_result(ctl->out, result, rows ? render_rows : render_sums);
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
		.help = "Of the last 10 minutes, or since TIME up to --to TIME: where frames were "
			"lost; per link\nthe cells (8000 a second), good and lost by name; per "
			"link, stream and group the frames\noffered, acknowledged, in flight and "
			"dropped by name; then each loss with floor and frame\nrange. --rows shows "
			"second by second, with time, --by minute or hour longer spans.\nAnswers "
			"while the daemon is away, too. Exit 0 it balances, 1 it does not, or has "
			"no rows\nof a part of the time.\n\n"
			"link-down     no light or no lock        crc         damaged frame\n"
			"board-fifo    the board overflowed       alignment   no frame border "
			"found\n"
			"ring-full     the daemon was too late    time-fault  the frame's number "
			"was wrong\n"
			"no-member     no consumer in the group   slow        consumers too slow\n"
			"shutdown      in flight when the rings were given up\n"
			"pool          no memory for blocks\n"
			"no-time       without a label: withheld by the TriDAS feed\n\n"
			"  fcmctl ledger show --since 02:00 --link 2",
		.options = CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_LINK) | CTL_BIT(CTL_LIMIT) |
			   CTL_BIT(CTL_ROWS) | CTL_BIT(CTL_TO) | CTL_BIT(CTL_BY),
		.run = show_run,
	},
	{0},
};
