/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl history: what one parameter was, as a plot, a table, CSV or JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/plot.h"
#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"

#define ROWS_OF_TABLE 60u
#define ROWS_OF_ALL   10000u /* the most of one answer */

/* Some rows are of many samples. */
static bool any_sums(const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		if (json_is_integer(value_at(row, "span_s"))) {
			return true;
		}
	}
	return false;
}

static void mean_cell(struct writer *w, const json_t *row)
{
	char text[64];

	writer_cell(w, WRITER_PLAIN, "%s",
		    value_fill(row,
			       !json_is_integer(value_at(row, "span_s")) ? "-"
			       : value_integer(row, "span_s", 0) > 60
				       ? "the mean of {samples|0}, an hour"
				       : "the mean of {samples|0}, a minute",
			       text, sizeof(text)));
}

/* What was valid when --since began is the first row, with its own time. Each row has the parameter's words. A new
 * reference. */
static json_t *rows_of(const json_t *result)
{
	json_t *rows = json_deep_copy(json_object_get(result, "rows"));
	json_t *words = json_object_get(result, "words");
	json_t *before = json_object_get(result, "before");
	json_t *row;
	size_t i;

	if (json_is_object(before)) {
		json_array_insert_new(rows, 0, json_copy(before));
	}
	json_array_foreach (rows, i, row) {
		json_object_set(row, "words", words);
	}
	return rows;
}

static void render_table(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {{"time (UTC)", "{time:ms}"},
						      {">value", "{value:word}"},
						      {">set to", "{setpoint:word}"},
						      {0}};
	static const struct value_column mean_columns[] = {{"time (UTC)", "{time:ms}"},
							   {">value", "{value:word}"},
							   {">set to", "{setpoint:word}"},
							   {">least", "{min}"},
							   {">greatest", "{max}"},
							   {"value is", .cell = mean_cell},
							   {0}};
	json_t *rows = rows_of(result);
	const char *unit = value_string(result, "unit", "");

	writer_heading(w, "%s%s%s", value_string(result, "name", "?"), *unit != '\0' ? " in " : "",
		       unit);
	value_table(w, rows, any_sums(rows) ? mean_columns : columns,
		    json_is_false(value_at(result, "kept"))
			    ? "no history of it is kept: fcmctl get shows its value"
			    : "no samples in this time");
	if (json_is_object(value_at(result, "before"))) {
		writer_line(w, WRITER_DIM,
			    "the first was recorded before --since, and was valid then");
	}
	json_decref(rows);
}

static void word_cell(struct writer *w, const json_t *row)
{
	const json_t *words = value_at(row, "words");
	char word[64] = "";

	if (json_array_size(words) > 0) {
		value_word(value_at(row, "value"), words, word, sizeof(word));
	}
	writer_cell(w, WRITER_PLAIN, "%s", word);
}

static void add_for_programs(json_t *all, const json_t *result)
{
	json_t *rows = rows_of(result);
	size_t i;
	json_t *row;

	json_array_foreach (rows, i, row) {
		json_object_set(row, "name", json_object_get(result, "name"));
		json_object_set(row, "unit", json_object_get(result, "unit"));
	}
	json_array_extend(all, rows);
	json_decref(rows);
}

static void render_csv(struct writer *w, const json_t *rows)
{
	static const struct value_column columns[] = {{"time (UTC)", "{time:ms}"},
						      {"name", "{name}"},
						      {"value", "{value}"},
						      {"unit", "{unit}"},
						      {"word", NULL, .cell = word_cell},
						      {"set to", "{setpoint}"},
						      {"until (UTC)", "{until:ms}"},
						      {"min", "{min}"},
						      {"max", "{max}"},
						      {"samples", "{samples}"},
						      {0}};

	value_table(w, rows, columns, "");
}

/* ------------------------------------------------------------------ the command */

static struct plot_frame frame_of(const struct ctl_args *args)
{
	struct plot_frame frame = {
		.from = ctl_number(args, CTL_SINCE, NAN),
		.to = ctl_number(args, CTL_TO, ctl_now()),
		.utf8 = ctl_speaks_utf8(),
	};

	return frame;
}

static int usage_of(struct ctl *ctl, const struct ctl_args *args)
{
	for (int i = 0; i < args->words; i++) {
		if (strpbrk(args->word[i], "*?[") != NULL) {
			return ctl_usage(ctl, "fcmctl get takes patterns, and lists the names",
					 "history takes names, not a pattern such as '%s'",
					 args->word[i]);
		}
	}
	if (ctl_given(args, CTL_CSV) + ctl_given(args, CTL_PLOT) + ctl_given(args, CTL_ROWS) +
		    ctl->json >
	    1) {
		return ctl_usage(ctl, "leave the others out",
				 "use only one of --csv, --plot, --rows, --json");
	}
	return CTL_DONE;
}

/* The question about one of the names. */
static json_t *question(const struct ctl_args *args, const char *name, unsigned limit)
{
	json_t *filter = ctl_filter(args, limit);

	json_object_set_new(filter, "name", json_string(name));
	return filter;
}

/* A remark, not a line among the rows. */
static void remark_limit(const struct ctl_args *args, const json_t *result, unsigned limit)
{
	limit = (unsigned)ctl_number(args, CTL_LIMIT, limit);
	if (json_array_size(value_at(result, "rows")) == limit &&
	    !json_is_object(value_at(result, "before"))) {
		ctl_remark("these are the newest %u samples: --limit shows more, --since fewer",
			   limit);
	}
}

static void plot_one(struct ctl *ctl, const struct ctl_args *args, json_t *result)
{
	struct plot_frame frame = frame_of(args);

	json_object_set_new(result, "rows", rows_of(result));
	plot_history(ctl->out, result, &frame);
}

static int history_run(struct ctl *ctl, const struct ctl_args *args)
{
	bool plot =
		ctl_given(args, CTL_PLOT) ||
		(!ctl->csv && !ctl->json && !ctl_given(args, CTL_ROWS) && isatty(STDOUT_FILENO));
	bool all = ctl->csv || (plot && ctl_given(args, CTL_SINCE));
	unsigned limit = all ? ROWS_OF_ALL : ROWS_OF_TABLE;
	json_t *rows = json_array();
	int code = usage_of(ctl, args);

	for (int i = 0; code == CTL_DONE && i < args->words; i++) {
		json_t *result = NULL;

		if (!ctl->csv && !plot) {
			code = ctl_show(ctl, "param.history", question(args, args->word[i], limit),
					render_table);
			continue;
		}
		code = ctl_ask(ctl, "param.history", question(args, args->word[i], limit), &result);
		if (code == CTL_DONE && ctl->csv) {
			add_for_programs(rows, result);
		} else if (code == CTL_DONE) {
			plot_one(ctl, args, result);
		}
		writer_flush(ctl->out);
		if (code == CTL_DONE) {
			remark_limit(args, result, limit);
		}
		json_decref(result);
	}
	if (code == CTL_DONE && ctl->csv) {
		render_csv(ctl->out, rows);
	}
	json_decref(rows);
	return code;
}

const struct ctl_command ctl_history_commands[] = {
	{
		.verb = "history",
		.arguments = "NAME...",
		.summary = "what parameters were: a plot, a table, CSV",
		.help = "On a terminal a plot of the newest 60 samples, or of all --since; what is "
			"not known is left\nopen. Elsewhere, or with --rows, a table of them. "
			"--csv and --json are for programs. Old samples\nare rolled up: the value "
			"is their mean, with the least and the greatest. Also answers while\nthe "
			"daemon is not running.\n\n  fcmctl history floor3.om2.hv --since 1d\n  "
			"fcmctl history floor3.om2.hv floor3.om2.rate --since 2026-11-01 --to "
			"2026-11-02 --csv > om2.csv",
		.options = CTL_BIT(CTL_SINCE) | CTL_BIT(CTL_TO) | CTL_BIT(CTL_LIMIT) |
			   CTL_BIT(CTL_PLOT) | CTL_BIT(CTL_ROWS),
		.run = history_run,
	},
	{0},
};
