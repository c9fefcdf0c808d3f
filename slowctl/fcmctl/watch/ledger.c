/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl ledger: the account of every frame. Does it balance, and what was lost where? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/fcmctl/watch/screens.h"

/* A daemon of before says nothing of it. */
static bool is_incomplete(const json_t *result)
{
	return json_array_size(value_at(result, "missing")) > 0;
}

/* Rows have a time and the board's second, first and last of a row of more; sums how many seconds. */
static void render_link_rows(struct writer *w, const json_t *rows, bool timed)
{
	static const struct value_column timed_columns[] = {
		{"begun (UTC)", "{:begun}"},
		{">second", "{:seconds}"},
		{">link", "{link}"},
		{"floor", "{:floor}"},
		{">cells", "{cells}"},
		{">good", "{good}"},
		{"?>partial", "{partial}"},
		{"?>restarts", "{restarts}"},
		{"balanced", "{balanced}", VALUE_BY_WORD},
		{"lost", "{:losses}", VALUE_WARN},
		{0}};
	static const struct value_column columns[] = {{">seconds", "{seconds}"},
						      {">link", "{link}"},
						      {"floor", "{:floor}"},
						      {">cells", "{cells}"},
						      {">good", "{good}"},
						      {"?>partial", "{partial}"},
						      {"?>restarts", "{restarts}"},
						      {"balanced", "{balanced}", VALUE_BY_WORD},
						      {">lost", "{:lost}", VALUE_WARN},
						      {"what", "{:losses}"},
						      {0}};

	value_table(w, rows, timed ? timed_columns : columns, "no frames in this time");
}

static void render_stream_rows(struct writer *w, const json_t *rows, bool timed)
{
	static const struct value_column timed_columns[] = {
		{"begun (UTC)", "{:begun}"},
		{"?>second", "{:seconds}"},
		{">link", "{link}"},
		{">offered", "{offered}"},
		{">acknowledged", "{acknowledged}"},
		{"?>in flight", "{in_flight}"},
		{"?balanced", "{balanced}", VALUE_BY_WORD},
		{"dropped", "{dropped:losses}", VALUE_WARN},
		{"for", "{group}/{stream}"},
		{0}};
	static const struct value_column columns[] = {{">seconds", "{seconds}"},
						      {">link", "{link}"},
						      {"stream", "{stream}"},
						      {"group", "{group}"},
						      {">offered", "{offered}"},
						      {">acknowledged", "{acknowledged}"},
						      {">in flight", "{in_flight}"},
						      {"balanced", "{balanced}", VALUE_BY_WORD},
						      {"dropped", "{dropped:losses}", VALUE_WARN},
						      {0}};

	value_table(w, rows, timed ? timed_columns : columns,
		    "no group was offered anything in this time");
}

/* With for whom (a group's stream; of a link's losses all) and the last frame. A new reference. */
static json_t *with_receiver(const json_t *losses)
{
	json_t *copy = json_deep_copy(losses);
	json_t *loss;
	size_t i;

	json_array_foreach (copy, i, loss) {
		bool group = *value_string(loss, "group", "") != '\0';
		char text[96];

		value_fill(loss, group ? "{group}/{stream}" : "all", text, sizeof(text));
		json_object_set_new(loss, "for", json_string(text));
		if (!json_is_number(value_at(loss, "last"))) {
			json_object_set_new(loss, "last",
					    json_integer(value_integer(loss, "first", 0) +
							 value_integer(loss, "frames", 0) - 1));
		}
	}
	return copy;
}

static void render_losses(struct writer *w, const json_t *losses)
{
	static const struct value_column columns[] = {{"begun (UTC)", "{:begun}"},
						      {"what", "{code}", VALUE_WARN},
						      {">link", "{link}"},
						      {"floor", "{:floor}"},
						      {">first", "{first}"},
						      {">last", "{last}"},
						      {">frames", "{frames}"},
						      {"?>DMA epoch", "{dma_epoch}"},
						      {"for", "{for}"},
						      {0}};
	json_t *rows = with_receiver(losses);

	value_table(w, rows, columns, "none");
	json_decref(rows);
}

/* When nothing was accounted for, oldest first. */
static void render_missing(struct writer *w, const json_t *result)
{
	size_t i;
	const json_t *gap;
	char span[48];

	json_array_foreach (value_at(result, "missing"), i, gap) {
		writer_text(w, WRITER_WARN, "  missing");
		value_say(w, WRITER_PLAIN, gap, "  {begun:time} to {ended:time}");
		writer_text(w, WRITER_PLAIN, " (%s)",
			    ctl_span_text(value_number(gap, "ended") - value_number(gap, "begun"),
					  span, sizeof(span)));
		value_line(w, WRITER_PLAIN, gap, ", link {links}");
	}
	if (is_incomplete(result)) {
		writer_line(w, WRITER_DIM,
			    "  (no row: the daemon was not running, or the board was gone)");
	}
	if (json_is_number(value_at(result, "begins"))) {
		value_line(w, WRITER_DIM, result, "  the ledger begins at {begins:time}");
	}
}

/* A row of a link whose cells have not one verdict each, or of a group whose frames have not one outcome. */
static void render_off(struct writer *w, const json_t *row)
{
	bool group = json_is_string(value_at(row, "group"));
	long long off = value_integer(row, "off", 0);

	writer_text(w, WRITER_BAD, "  here");
	value_say(w, WRITER_PLAIN, row,
		  group ? "  group {group}, stream {stream} of link {link}"
			: "  link {link} ({:floor})");
	value_say(w, WRITER_PLAIN, row, ", board's second {second}, {begun:time}");
	if (off != 0) {
		writer_text(w, WRITER_PLAIN, ": %lld frames %s", off < 0 ? -off : off,
			    off > 0 ? "with unknown outcome" : "too many");
	} else if (group && value_integer(row, "in_flight", 0) > 0) {
		writer_text(w, WRITER_PLAIN, ": closed with frames in flight");
	}
	writer_newline(w);
}

#define OFF_SHOWN 8u

static void render_unbalance(struct writer *w, const json_t *rows)
{
	size_t i;
	const json_t *row;

	writer_text(w, WRITER_BAD, "DOES NOT BALANCE");
	writer_line(w, WRITER_PLAIN,
		    "  frames are missing from the account: keep the database, tell the "
		    "maintainer");
	json_array_foreach (rows, i, row) {
		if (i < OFF_SHOWN) {
			render_off(w, row);
		}
	}
	if (i > OFF_SHOWN) {
		writer_line(w, WRITER_PLAIN, "  and %zu rows more", i - OFF_SHOWN);
	}
}

static void render_verdict(struct writer *w, const json_t *result)
{
	if (json_array_size(value_at(result, "links")) == 0) {
		writer_text(w, WRITER_BAD, "EMPTY");
		writer_line(w, WRITER_PLAIN, "  nothing is accounted for in this time");
	} else if (!value_true(result, "balanced")) {
		render_unbalance(w, value_at(result, "unbalanced"));
	} else if (is_incomplete(result)) {
		writer_text(w, WRITER_BAD, "INCOMPLETE");
		value_line(w, WRITER_PLAIN, result,
			   "  the ledger balances, but has no rows for {missing_s:age} of this "
			   "time");
	} else {
		writer_text(w, WRITER_GOOD, "BALANCED");
		writer_line(w, WRITER_PLAIN, "  every frame is accounted for");
	}
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
		const char *unit = span > 60 ? "hour" : "minute";

		writer_line(w, WRITER_DIM,
			    "  the oldest part is kept by the %s: whole %ss of UTC are shown", unit,
			    unit);
	}
}

/* Several losses with good frames between them: from the first to the last is not how long it was lost. */
static bool is_apart(const json_t *hop)
{
	long long range = value_integer(hop, "last", 0) + 1 - value_integer(hop, "first", 0);

	return value_integer(hop, "losses", 1) > 1 && value_integer(hop, "frames", 0) != range;
}

/* Each place where frames were lost, the worst first. */
void ctl_hops_render(struct writer *w, const json_t *hops)
{
	static const struct value_column columns[] = {{"what", "{code}", VALUE_WARN},
						      {">link", "{link}"},
						      {"floor", "{:floor}"},
						      {">frames", "{frames}"},
						      {">losses", "{losses}{apart|}"},
						      {"?>first", "{first}"},
						      {"?>last", "{last}"},
						      {"first begun (UTC)", "{:begun}"},
						      {"?last ended (UTC)", "{ended:ms}"},
						      {"for", "{for}"},
						      {0}};
	json_t *rows = with_receiver(hops);
	json_t *hop;
	size_t i;

	if (json_array_size(hops) > 0) {
		json_array_foreach (rows, i, hop) {
			json_object_set_new(hop, "apart",
					    json_string(is_apart(hop) ? " apart" : ""));
		}
		writer_heading(w, "Where frames were lost");
		value_table(w, rows, columns, "none");
		writer_newline(w);
	}
	json_decref(rows);
}

/* Whether one of the objects has no label: its time is the system clock's. */
static bool any_unlabelled(const json_t *rows)
{
	size_t i;
	const json_t *row;

	json_array_foreach (rows, i, row) {
		if (json_is_number(value_at(row, "begun")) && json_is_null(value_at(row, "tai"))) {
			return true;
		}
	}
	return false;
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
		render_link_rows(w, kind[0], true);
	}
	if (json_array_size(kind[1]) > 0) {
		render_stream_rows(w, kind[1], true);
	}
	json_decref(kind[0]);
	json_decref(kind[1]);
}

static void render(struct writer *w, const json_t *result, bool rows)
{
	const json_t *of = rows ? result : value_at(result, "totals");
	const json_t *unbalanced = value_at(result, "unbalanced");

	render_verdict(w, result);
	render_span(w, result);
	writer_newline(w);
	ctl_hops_render(w, value_at(result, "hops"));
	writer_heading(w, "Links: cells = good + lost by name");
	render_link_rows(w, value_at(of, "links"), rows);
	writer_newline(w);
	writer_heading(w,
		       "Consumers, frames of blocks: offered = acknowledged + in flight + dropped");
	render_stream_rows(w, value_at(of, "streams"), rows);
	writer_newline(w);
	writer_heading(
		w, "Losses by name and range of frames (of a link's losses: the board's count)");
	render_losses(w, value_at(result, "losses"));
	if (json_array_size(unbalanced) > 0) {
		render_unbalanced(w, unbalanced);
	}
	if (any_unlabelled(value_at(result, "losses")) ||
	    any_unlabelled(value_at(result, "hops")) ||
	    (rows && any_unlabelled(value_at(result, "links")))) {
		writer_newline(w);
		writer_line(w, WRITER_DIM,
			    "* by the system clock: the board's second had no label");
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

/* The question in `filter`; CTL_USAGE when the options contradict each other. */
static int make_question(struct ctl *ctl, const struct ctl_args *args, json_t *filter)
{
	static const struct {
		const char *name;
		int seconds;
	} spans[] = {{"second", 1}, {"minute", 60}, {"hour", 3600}};
	double to = ctl_number(args, CTL_TO, ctl_now());
	double from = ctl_number(args, CTL_SINCE, to - 600.0);

	if (from >= to) { /* without --since it is before */
		return ctl_usage(ctl, "say 02:00, 1h or 2026-11-01T02:00 (UTC)",
				 "--since %s has not come yet", args->text[CTL_SINCE]);
	}
	json_object_set_new(filter, "since", json_real(from));
	if (!ctl_given(args, CTL_BY)) {
		return CTL_DONE;
	}
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		if (strcmp(args->text[CTL_BY], spans[i].name) == 0) {
			json_object_set_new(filter, "by_s", json_integer(spans[i].seconds));
			return CTL_DONE;
		}
	}
	return ctl_usage(ctl, "second, minute or hour", "there are no rows by '%.40s'",
			 args->text[CTL_BY]);
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

void ctl_dark_render(struct writer *w, const json_t *causes)
{
	static const struct value_column columns[] = {
		{">link", "{link}"},
		{"floor", "{:floor}"},
		{">module-s dark", "{dark_s:rate}", VALUE_WARN},
		{">hits lost", "{hits:rate}", VALUE_WARN},
		{">incident", "{incident:count}"},
		{"cause", "{object}/{code}"},
		{0}};

	value_table(w, causes, columns, "no module was dark, no hits were lost in them");
}

static void render_dark(struct writer *w, const json_t *result)
{
	value_line(w, WRITER_BOLD, result,
		   "{dark_s:rate} module-seconds dark, {hits:rate} hits lost in modules");
	ctl_dark_render(w, value_at(result, "causes"));
}

static int dark_run(struct ctl *ctl, const struct ctl_args *args)
{
	json_t *filter = ctl_filter(args, 0);
	int code = make_question(ctl, args, filter);

	if (code != CTL_DONE) {
		json_decref(filter);
		return code;
	}
	return ctl_show(ctl, "dark.show", filter, render_dark);
}

const struct ctl_command ctl_ledger_commands[] = {
	{"ledger", "show", "", "the account of every frame: what was lost, where",
	 .help = "Of the last 10 minutes, or since TIME up to --to TIME: where frames were lost; "
		 "per link\nthe cells (8000 a second), good and lost by name; per link, stream and "
		 "group the frames\noffered, acknowledged, in flight and dropped by name; then "
		 "each loss with floor and frame\nrange. --rows shows second by second, with time, "
		 "--by minute or hour longer spans.\nAlso answers while the daemon is not running. "
		 "Exit 0 it balances, 1 it does not, or has no rows\nof a part of the "
		 "time.\n\nlink-down     no light or no lock        crc         damaged "
		 "frame\nboard-fifo    board overflowed, or lost  alignment   no frame border "
		 "found\nring-full     the daemon was too late    time-fault  the frame's number "
		 "was wrong\nno-member     no consumer in the group   slow        consumers too "
		 "slow\nshutdown      in flight when the rings were given up\npool          no "
		 "memory for blocks\nno-time       without a label: withheld by the TriDAS "
		 "feed\n\n  fcmctl ledger show --since 02:00 --link 2",
	 .options = CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_LINK) | CTL_BIT(CTL_LIMIT) |
		    CTL_BIT(CTL_ROWS) | CTL_BIT(CTL_TO) | CTL_BIT(CTL_BY),
	 .run = show_run},
	{"ledger", "dark", "", "what the modules did not see, by cause",
	 .help = "Of the last 10 minutes, or since TIME up to --to TIME: the seconds in which "
		 "optical modules saw\nnothing (all modules together: two modules that are off "
		 "for a minute are 120), and the hits\nthat their full FIFOs lost; by link and "
		 "incident. A dark module is charged to one incident.\nAlso answers while the "
		 "daemon is not running.",
	 .options = CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_TO) | CTL_BIT(CTL_LIMIT), .run = dark_run},
	{0},
};
