/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer: the one way from a result to the operator. Two back ends: text (headings, tables, pairs; in colour
 * on a terminal) and JSON (the daemon's result as it came). A command hands over the result and a function that
 * renders it as text; it never asks which back end is there.
 *
 * Text of others (notes, reasons, names) goes through the writer too: control characters become '?',
 * and so do those that change the direction of the text (U+202E), so that no run note can drive
 * the terminal. In JSON they are escaped.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum writer_style { WRITER_PLAIN, WRITER_BOLD, WRITER_GOOD, WRITER_WARN, WRITER_BAD, WRITER_DIM };

struct writer;

/* Whether `file` should get colours: a terminal, NO_COLOR unset or empty, TERM not "dumb". */
bool writer_wants_colour(FILE *file);

/* `file` stays the caller's. NULL when out of memory. */
struct writer *writer_create_text(FILE *file, bool colour);
/* One JSON value a result; `indent` for a person's eyes. */
struct writer *writer_create_json(FILE *file, bool indent);
/* Only tables, as CSV (RFC 4180): for programs that want no JSON. Cells are to be as value_plain() makes them. */
struct writer *writer_create_csv(FILE *file);
void writer_destroy(struct writer *w);
/* -EIO when something could not be written (disk full, reader gone). */
int writer_flush(struct writer *w);

/* The whole answer of a command. JSON: `result` with "v":2 in front; text: render(w, result). */
typedef void (*writer_render_fn)(struct writer *w, const json_t *result);
void writer_result(struct writer *w, const json_t *result, writer_render_fn render);

/* The text back end's words. All are silent on JSON. */
void writer_text(struct writer *w, enum writer_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The next words of a sentence: where the screen ends it goes on in the next line. */
void writer_phrase(struct writer *w, enum writer_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void writer_newline(struct writer *w);
/* Text to the end of the line, which is not broken. */
void writer_line(struct writer *w, enum writer_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Bytes of the text that fit into so many cells; if it is cut, with room for "..." behind. */
size_t writer_cut(const char *text, size_t cells);
/* Text to the end of the line; what does not fit the screen is cut, and ends with "...". */
void writer_cut_line(struct writer *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "name            value", aligned for a list of them. */
void writer_pair(struct writer *w, const char *name, enum writer_style style, const char *format,
		 ...) __attribute__((format(printf, 4, 5)));

/* Text to the end of the line; where the screen ends it is broken at a blank and goes on behind `indent` blanks. A
 * command in it is not broken: one that is longer than the screen has a line of its own, and goes on beyond it. */
void writer_paragraph(struct writer *w, size_t indent, enum writer_style style, const char *format,
		      ...) __attribute__((format(printf, 4, 5)));
#define writer_heading(w, ...) writer_paragraph(w, 0, WRITER_BOLD, __VA_ARGS__)
/* Columns of the screen: those of the terminal that the file is, else 100; never less than 40. */
void writer_set_width(struct writer *w, size_t width);
/* Cells that are left in the line. */
size_t writer_room(const struct writer *w);
/* Lines of a text; rows of the screen that render(w, result) would take, more than one for a line that is too long. */
size_t writer_lines_of(const char *page);
size_t writer_count_rows(const struct writer *w, const json_t *result, writer_render_fn render);

/* A table: begin, cells row by row (as many as columns), end. A column name that begins with '>' is right-aligned. Where the
 * table would be wider than the screen, one with '?' is left out; the last one is broken over several lines, or, with
 * '+', is below its row. An empty table prints `empty` instead. */
#define WRITER_COLUMNS_MAX 16u
void writer_table(struct writer *w, const char *const *columns, size_t count);
void writer_cell(struct writer *w, enum writer_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The last cell of a row, and below the row what to do: each command of it on a line of its own, never broken. */
void writer_advised_cell(struct writer *w, const char *advice, const char *text);
/* "fcmctl a; then fcmctl b" after "  -> ": each command has a line of its own. */
void writer_advice(struct writer *w, const char *advice);
void writer_table_end(struct writer *w, const char *empty);

/* Of all tables only these columns, "no.,cause" by their headings: "since (UTC)" is since, "set to" is set_to. A table that
 * has none of them is not printed. Borrowed. */
void writer_choose(struct writer *w, const char *columns);
struct writer_choice {
	const char *wanted; /* NULL: all */
	unsigned found;	    /* bits: the n-th wanted one is a column of a table so far */
	char there[400];    /* names of all columns so far */
};
/* NULL: nothing was chosen. */
const struct writer_choice *writer_choice(const struct writer *w);
/* A wanted name that no table has had; "": none. Returns buf. */
const char *writer_choice_missed(const struct writer_choice *choice, char *buf, size_t size);
