/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A parameter's history as a plot: see plot.h. */
#include "slowctl/fcmctl/show/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/fcmctl/show/time.h"
#include "slowctl/fcmctl/show/value.h"

#define ROWS	  12u
#define LABEL	  12u /* columns left of the axis */
#define STANDS_S  900.0
#define DOTS_MAX  (2 * PLOT_WIDTH_MAX)
#define LEVELS	  (4 * ROWS)
#define WORDS_MAX ROWS

/* What is known of a column of dots. */
struct column {
	bool known;
	double low, high;
};

struct plot {
	const json_t *rows, *words;
	double from, to;
	unsigned cells, across, down; /* width in cells; dots a cell */
	unsigned lines;
	double low, high; /* of the axis */
	bool utf8;
	struct column column[DOTS_MAX];
};

static double number_or(const json_t *row, const char *key, double otherwise)
{
	double number = value_number(row, key);

	return isfinite(number) ? number : otherwise;
}

static double low_of(const json_t *row)
{
	return number_or(row, "min", value_number(row, "value"));
}

static double high_of(const json_t *row)
{
	return number_or(row, "max", value_number(row, "value"));
}

/* How long the row's value stands: to the next one, or as long as it is believed. */
static double stands_until(const struct plot *p, size_t n)
{
	const json_t *row = json_array_get(p->rows, n);
	double end = number_or(row, "until", value_number(row, "time")) + STANDS_S;
	double next = n + 1 < json_array_size(p->rows)
			      ? value_number(json_array_get(p->rows, n + 1), "time")
			      : p->to;

	return fmin(fmin(end, next), p->to);
}

static void mark(struct plot *p, double begin, double end, double low, double high)
{
	double last_dot = p->cells * p->across - 1.0;
	double per_s = (last_dot + 1.0) / (p->to - p->from);
	double first = fmin(fmax(floor((begin - p->from) * per_s), 0.0), last_dot);
	double last = fmin(fmax(floor((end - p->from) * per_s), first), last_dot);

	if (begin > p->to || end < p->from) {
		return;
	}
	for (unsigned x = (unsigned)first; x <= (unsigned)last; x++) {
		struct column *c = &p->column[x];

		c->low = c->known ? fmin(c->low, low) : low;
		c->high = c->known ? fmax(c->high, high) : high;
		c->known = true;
	}
}

static void mark_all(struct plot *p)
{
	const json_t *row;
	size_t n;

	json_array_foreach (p->rows, n, row) {
		if (isfinite(value_number(row, "value"))) {
			mark(p, value_number(row, "time"), stands_until(p, n), low_of(row),
			     high_of(row));
		}
	}
}

/* The axis: round the values, never of no height; of words one line each. */
static void set_axis(struct plot *p)
{
	double low = INFINITY;
	double high = -INFINITY;

	for (unsigned x = 0; x < p->cells * p->across; x++) {
		if (p->column[x].known) {
			low = fmin(low, p->column[x].low);
			high = fmax(high, p->column[x].high);
		}
	}
	if (!(low <= high)) {
		low = high = 0.0;
	}
	p->lines = ROWS;
	if (json_array_size(p->words) > 0 && high - low < WORDS_MAX && low >= 0.0) {
		p->lines = (unsigned)(high - low) + 1;
		p->across = p->down = 1;
		p->low = low - 0.5;
		p->high = high + 0.5;
		return;
	}
	if (high - low < fmax(fabs(high), fabs(low)) * 1e-6 || high - low < 1e-9) {
		double around = fmax(fabs(high) * 0.01, 0.5);

		low -= around;
		high += around;
	}
	p->low = low;
	p->high = high;
}

static unsigned level_of(const struct plot *p, double value)
{
	unsigned levels = p->lines * p->down;
	double level = floor((value - p->low) / (p->high - p->low) * levels);

	return level < 0 ? 0 : level >= levels ? levels - 1 : (unsigned)level;
}

static bool dot(const struct plot *p, unsigned x, unsigned level)
{
	const struct column *c = &p->column[x];

	return c->known && level >= level_of(p, c->low) && level <= level_of(p, c->high);
}

/* One cell as UTF-8, "" when it is empty. Braille: U+2800 and a bit a dot, left column first. */
static const char *cell_text(const struct plot *p, unsigned cell, unsigned line, char text[4])
{
	static const unsigned char bit[2][4] = {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}};
	unsigned bottom = (p->lines - 1 - line) * p->down;
	unsigned bits = 0;

	for (unsigned x = 0; x < p->across; x++) {
		for (unsigned y = 0; y < p->down; y++) {
			if (dot(p, cell * p->across + x, bottom + y)) {
				bits |= p->across == 1 ? 1u : bit[x][y];
			}
		}
	}
	if (bits == 0) {
		return "";
	}
	if (p->across == 1) {
		return "*";
	}
	snprintf(text, 4, "%c%c%c", 0xe2, 0xa0 + (int)(bits >> 6), 0x80 + (int)(bits & 0x3f));
	return text;
}

static void label(struct writer *w, const struct plot *p, unsigned line)
{
	double middle = p->high - (line + 0.5) * (p->high - p->low) / p->lines;
	json_t *value = NULL;
	char text[64] = "";

	if (json_array_size(p->words) > 0 && p->across == 1 && p->lines <= WORDS_MAX &&
	    p->high - p->low == p->lines) {
		value = json_real(round(middle));
		value_word(value, p->words, text, sizeof(text));
	} else if (line == 0 || line == p->lines / 2 || line == p->lines - 1) {
		snprintf(text, sizeof(text), "%.6g",
			 line == 0		? p->high
			 : line == p->lines - 1 ? p->low
						: middle);
	}
	json_decref(value);
	writer_text(w, WRITER_DIM, "%*.*s %c", (int)LABEL, (int)LABEL, text,
		    line == 0 || *text != '\0' ? '+' : '|');
}

/* Whether one of the limits runs through this line. */
static bool is_limit(const struct plot *p, const json_t *limits, unsigned line)
{
	static const char *const keys[] = {"low", "high"};

	for (size_t i = 0; i < 2; i++) {
		double limit = value_number(limits, keys[i]);

		if (limit >= p->low && limit <= p->high &&
		    level_of(p, limit) / p->down == p->lines - 1 - line) {
			return true;
		}
	}
	return false;
}

static void draw_line(struct writer *w, const struct plot *p, const json_t *limits, unsigned line)
{
	const char *empty = is_limit(p, limits, line) ? "-" : " ";
	char text[PLOT_WIDTH_MAX * 3 + 1] = "";
	char cell[4];
	size_t used = 0;

	label(w, p, line);
	for (unsigned x = 0; x < p->cells; x++) {
		const char *drawn = cell_text(p, x, line, cell);

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s",
					 *drawn != '\0' ? drawn : empty);
	}
	while (used > 0 && text[used - 1] == ' ') {
		text[--used] = '\0';
	}
	if (used > 0) {
		writer_text(w, WRITER_PLAIN, "%s", text);
	}
	writer_newline(w);
}

/* The axis is drawn under what is known, and left open under a gap. */
static void draw_axis(struct writer *w, const struct plot *p)
{
	char line[PLOT_WIDTH_MAX + 1];
	char from[32];
	char to[32];
	int right;

	for (unsigned x = 0; x < p->cells; x++) {
		bool known = false;

		for (unsigned i = 0; i < p->across; i++) {
			known = known || p->column[x * p->across + i].known;
		}
		line[x] = known ? '-' : ' ';
	}
	line[p->cells] = '\0';
	writer_line(w, WRITER_DIM, "%*s+%s+", (int)LABEL + 1, "", line);
	ctl_time_text(p->from, 0, from, sizeof(from));
	ctl_time_text(p->to, 0, to, sizeof(to));
	right = (int)p->cells - (int)strlen(from);
	writer_line(w, WRITER_DIM, "%*s%s%*s", (int)LABEL + 2, "", from,
		    right > (int)strlen(to) ? right : (int)strlen(to) + 2, to);
}

/* How long nothing was known within the plot, and in how many pieces. */
static double gaps_of(const struct plot *p, unsigned *ret_gaps)
{
	double end = p->from;
	double open_s = 0.0;
	unsigned gaps = 0;

	for (size_t n = 0; n <= json_array_size(p->rows); n++) {
		double next = n < json_array_size(p->rows)
				      ? value_number(json_array_get(p->rows, n), "time")
				      : p->to;

		if (next > end + 1.0) {
			open_s += next - end;
			gaps++;
		}
		if (n < json_array_size(p->rows)) {
			end = fmax(stands_until(p, n), end);
		}
	}
	*ret_gaps = gaps;
	return open_s;
}

static void say_value(struct writer *w, const char *what, const json_t *row, const char *key,
		      const json_t *result)
{
	const char *unit = value_string(result, "unit", "");
	char value[64];
	char when[32];

	value_word(value_at(row, value_at(row, key) != NULL ? key : "value"),
		   value_at(result, "words"), value, sizeof(value));
	writer_pair(w, what, WRITER_PLAIN, "%s%s%s at %s UTC", value, *unit != '\0' ? " " : "",
		    unit, ctl_time_text(value_number(row, "time"), 0, when, sizeof(when)));
}

static void say_extremes(struct writer *w, const struct plot *p, const json_t *result)
{
	const json_t *least = NULL;
	const json_t *greatest = NULL;
	const json_t *row;
	size_t n;

	json_array_foreach (p->rows, n, row) {
		least = least == NULL || low_of(row) < low_of(least) ? row : least;
		greatest = greatest == NULL || high_of(row) > high_of(greatest) ? row : greatest;
	}
	if (json_array_size(p->words) == 0) {
		say_value(w, "least", least, "min", result);
		say_value(w, "greatest", greatest, "max", result);
	}
	say_value(w, "last", json_array_get(p->rows, json_array_size(p->rows) - 1), "value",
		  result);
}

static void say_all(struct writer *w, const struct plot *p, const json_t *result)
{
	char span[32];
	unsigned gaps;
	double open_s = gaps_of(p, &gaps);

	say_extremes(w, p, result);
	if (json_is_object(value_at(result, "limits"))) {
		value_pair(w, "limits", WRITER_PLAIN, result,
			   "{limits.low} to {limits.high} {unit|}");
	}
	if (gaps > 0) {
		writer_pair(w, "unknown", WRITER_WARN, "%s in %u piece%s",
			    ctl_span_text(open_s, span, sizeof(span)), gaps, gaps > 1 ? "s" : "");
	}
}

void plot_history(struct writer *w, const json_t *result, const struct plot_frame *frame)
{
	const char *unit = value_string(result, "unit", "");
	struct plot *p = calloc(1, sizeof(*p));
	size_t width = writer_room(w);
	bool dots;

	writer_heading(w, "%s%s%s", value_string(result, "name", "?"), *unit != '\0' ? " in " : "",
		       unit);
	if (p == NULL || json_array_size(value_at(result, "rows")) == 0) {
		writer_line(w, WRITER_DIM, "%s",
			    json_is_false(value_at(result, "kept"))
				    ? "no history of it is kept: fcmctl get shows its value"
				    : "no samples in this time");
		free(p);
		return;
	}
	p->rows = value_at(result, "rows");
	p->words = value_at(result, "words");
	p->from = isfinite(frame->from) ? frame->from
					: value_number(json_array_get(p->rows, 0), "time");
	p->to = fmax(frame->to, p->from + 1.0);
	p->cells = (unsigned)(width < PLOT_WIDTH_MAX ? width : PLOT_WIDTH_MAX) - LABEL - 3;
	dots = frame->utf8 && json_array_size(p->words) == 0;
	p->across = dots ? 2 : 1;
	p->down = dots ? 4 : 1;
	mark_all(p);
	set_axis(p);
	for (unsigned line = 0; line < p->lines; line++) {
		draw_line(w, p, value_at(result, "limits"), line);
	}
	draw_axis(w, p);
	say_all(w, p, result);
	free(p);
}
