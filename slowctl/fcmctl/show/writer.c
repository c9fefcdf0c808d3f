/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer: see writer.h. The text back end ends in a sink (a FILE with ANSI colours, or the
 * full-screen view), the JSON back end in a FILE. Cells of a table are kept until its end.
 */
#include "slowctl/fcmctl/show/writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cell {
	char *text;
	enum writer_style style;
};

struct writer {
	bool json;
	bool indent;
	bool colour;
	bool failed;
	size_t width;
	FILE *file;
	struct writer_sink sink;
	const char *const *columns;
	size_t column_count;
	struct cell *cells;
	size_t cell_count;
	size_t cell_room;
};

static const char *const ansi[] = {
	[WRITER_PLAIN] = "",	    [WRITER_BOLD] = "\033[1m",	 [WRITER_GOOD] = "\033[32m",
	[WRITER_WARN] = "\033[33m", [WRITER_BAD] = "\033[1;31m", [WRITER_DIM] = "\033[2m",
};

bool writer_wants_colour(FILE *file)
{
	const char *no_colour = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (no_colour != NULL && *no_colour != '\0') {
		return false;
	}
	return isatty(fileno(file)) && term != NULL && strcmp(term, "dumb") != 0;
}

static void file_text(void *context, enum writer_style style, const char *text, size_t bytes)
{
	struct writer *w = context;
	bool painted = w->colour && style != WRITER_PLAIN && text[0] != '\n';

	if ((painted && fputs(ansi[style], w->file) == EOF) ||
	    fwrite(text, 1, bytes, w->file) != bytes ||
	    (painted && fputs("\033[0m", w->file) == EOF)) {
		w->failed = true;
	}
}

struct writer *writer_create_text(FILE *file, bool colour)
{
	struct writer *w = calloc(1, sizeof(*w));

	if (w != NULL) {
		w->file = file;
		w->colour = colour;
		w->sink = (struct writer_sink){.text = file_text, .context = w};
	}
	return w;
}

struct writer *writer_create_sink(const struct writer_sink *sink)
{
	struct writer *w = calloc(1, sizeof(*w));

	if (w != NULL) {
		w->sink = *sink;
	}
	return w;
}

struct writer *writer_create_json(FILE *file, bool indent)
{
	struct writer *w = calloc(1, sizeof(*w));

	if (w != NULL) {
		w->file = file;
		w->json = true;
		w->indent = indent;
	}
	return w;
}

static void drop_cells(struct writer *w)
{
	for (size_t i = 0; i < w->cell_count; i++) {
		free(w->cells[i].text);
	}
	w->cell_count = 0;
}

void writer_destroy(struct writer *w)
{
	if (w == NULL) {
		return;
	}
	drop_cells(w);
	free(w->cells);
	free(w);
}

bool writer_is_json(const struct writer *w)
{
	return w->json;
}

int writer_flush(struct writer *w)
{
	if (w->file != NULL && fflush(w->file) != 0) {
		w->failed = true;
	}
	return w->failed ? -EIO : 0;
}

/* The character at `p`, of UTF-8 up to U+FFFF, as far as needed here; 0: none, or another one. */
static unsigned character(const unsigned char *p, size_t *ret_bytes)
{
	*ret_bytes = 1;
	if (p[0] < 0x80) {
		return p[0];
	}
	if ((p[0] & 0xe0) == 0xc0 && (p[1] & 0xc0) == 0x80) {
		*ret_bytes = 2;
		return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
	}
	if ((p[0] & 0xf0) == 0xe0 && (p[1] & 0xc0) == 0x80 && (p[2] & 0xc0) == 0x80) {
		*ret_bytes = 3;
		return (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
	}
	return 0;
}

/* What a terminal obeys: DEL, C1 controls, and what sets the direction of the text around it. C0 aside. */
static bool is_control(unsigned c)
{
	return (c >= 0x7f && c <= 0x9f) || c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* JSON text: jansson has escaped only what the standard asks for, C0. The rest is in strings, too. */
static void put_json(struct writer *w, const char *json)
{
	const unsigned char *p = (const unsigned char *)json, *begun = p;
	size_t bytes;

	for (; *p != '\0'; p += bytes) {
		unsigned c = character(p, &bytes);

		if (is_control(c)) {
			fwrite(begun, 1, (size_t)(p - begun), w->file);
			fprintf(w->file, "\\u%04X", c);
			begun = p + bytes;
		}
	}
	fwrite(begun, 1, (size_t)(p - begun), w->file);
	fputc('\n', w->file);
}

static void result_json(struct writer *w, const json_t *result)
{
	/* 16 digits: microseconds of today's UTC survive, 0.1 stays 0.1. */
	size_t flags = JSON_REAL_PRECISION(16) | (w->indent ? JSON_INDENT(2) : 0);
	json_t *whole = json_pack("{s:i}", "v", 1);
	char *text = NULL;

	if (whole != NULL && json_object_update_missing(whole, (json_t *)(uintptr_t)result) == 0) {
		text = json_dumps(whole, flags);
	}
	if (text != NULL) {
		put_json(w, text);
	}
	if (text == NULL || fflush(w->file) != 0 || ferror(w->file)) {
		w->failed = true;
	}
	free(text);
	json_decref(whole);
}

void writer_result(struct writer *w, const json_t *result, writer_render_fn render)
{
	if (w->json) {
		result_json(w, result);
	} else {
		render(w, result);
	}
}

/* Each byte of a control becomes '?'. In place. */
static void make_harmless(char *text)
{
	unsigned char *p = (unsigned char *)text;
	size_t bytes;

	for (; *p != '\0'; p += bytes) {
		unsigned c = character(p, &bytes);

		if (*p < 0x20 || is_control(c)) {
			memset(p, '?', bytes);
		}
	}
}

__attribute__((format(printf, 2, 0))) static char *format_text(struct writer *w, const char *format,
							       va_list ap)
{
	char *text = NULL;

	if (vasprintf(&text, format, ap) < 0) {
		w->failed = true;
		return NULL;
	}
	make_harmless(text);
	return text;
}

static void put(struct writer *w, enum writer_style style, const char *text)
{
	if (*text != '\0') {
		w->sink.text(w->sink.context, style, text, strlen(text));
	}
}

static void put_blanks(struct writer *w, size_t count)
{
	static const char blanks[] = "                                ";

	while (count > 0) {
		size_t piece = count < sizeof(blanks) - 1 ? count : sizeof(blanks) - 1;

		w->sink.text(w->sink.context, WRITER_PLAIN, blanks, piece);
		count -= piece;
	}
}

void writer_text(struct writer *w, enum writer_style style, const char *format, ...)
{
	va_list ap;
	char *text;

	if (w->json) {
		return;
	}
	va_start(ap, format);
	text = format_text(w, format, ap);
	va_end(ap);
	if (text != NULL) {
		put(w, style, text);
	}
	free(text);
}

void writer_newline(struct writer *w)
{
	if (!w->json) {
		put(w, WRITER_PLAIN, "\n");
	}
}

void writer_heading(struct writer *w, const char *format, ...)
{
	va_list ap;
	char *text;

	if (w->json) {
		return;
	}
	va_start(ap, format);
	text = format_text(w, format, ap);
	va_end(ap);
	if (text != NULL) {
		put(w, WRITER_BOLD, text);
		put(w, WRITER_PLAIN, "\n");
	}
	free(text);
}

void writer_pair(struct writer *w, const char *name, enum writer_style style, const char *format,
		 ...)
{
	size_t width = strlen(name);
	va_list ap;
	char *text;

	if (w->json) {
		return;
	}
	va_start(ap, format);
	text = format_text(w, format, ap);
	va_end(ap);
	put(w, WRITER_DIM, name);
	put_blanks(w, width < 17 ? 18 - width : 1);
	if (text != NULL) {
		put(w, style, text);
	}
	put(w, WRITER_PLAIN, "\n");
	free(text);
}

void writer_set_width(struct writer *w, size_t width)
{
	w->width = width < 40 ? 40 : width;
}

/* Bytes of the longest piece of `text` that fits into `room` cells and ends at a blank; a longer word
 * stays whole. */
static size_t line_bytes(const char *text, size_t room)
{
	size_t cells = 0;
	size_t end = 0;
	size_t i;

	for (i = 0; text[i] != '\0'; i++) {
		if (text[i] == ' ') {
			if (end != 0 && cells > room) {
				return end;
			}
			end = i;
		}
		cells += ((unsigned char)text[i] & 0xc0) != 0x80;
	}
	return cells > room && end != 0 ? end : i;
}

void writer_paragraph(struct writer *w, size_t indent, enum writer_style style, const char *format,
		      ...)
{
	size_t width = w->width > 0 ? w->width : 100;
	va_list ap;
	char *text;

	if (w->json) {
		return;
	}
	va_start(ap, format);
	text = format_text(w, format, ap);
	va_end(ap);
	for (const char *p = text; p != NULL && *p != '\0';) {
		size_t bytes = line_bytes(p, width > indent + 20 ? width - indent : 20);

		put_blanks(w, indent);
		w->sink.text(w->sink.context, style, p, bytes);
		put(w, WRITER_PLAIN, "\n");
		p += bytes;
		p += strspn(p, " ");
	}
	free(text);
}

/* Number of character cells of UTF-8 text. */
static size_t writer_width(const char *text)
{
	size_t width = 0;

	for (; *text != '\0'; text++) {
		width += ((unsigned char)*text & 0xc0) != 0x80;
	}
	return width;
}

void writer_table(struct writer *w, const char *const *columns, size_t count)
{
	drop_cells(w);
	w->columns = columns;
	w->column_count = count < WRITER_COLUMNS_MAX ? count : WRITER_COLUMNS_MAX;
}

static bool cell_reserve(struct writer *w)
{
	size_t room = w->cell_room == 0 ? 64 : w->cell_room * 2;
	struct cell *cells;

	if (w->cell_count < w->cell_room) {
		return true;
	}
	cells = reallocarray(w->cells, room, sizeof(*cells));
	if (cells == NULL) {
		w->failed = true;
		return false;
	}
	w->cells = cells;
	w->cell_room = room;
	return true;
}

void writer_cell(struct writer *w, enum writer_style style, const char *format, ...)
{
	va_list ap;
	char *text;

	if (w->json || !cell_reserve(w)) {
		return;
	}
	va_start(ap, format);
	text = format_text(w, format, ap);
	va_end(ap);
	if (text != NULL) {
		w->cells[w->cell_count++] = (struct cell){.text = text, .style = style};
	}
}

static void put_row(struct writer *w, const struct cell *row, size_t count, const size_t *width)
{
	for (size_t c = 0; c < count; c++) {
		bool right = w->columns[c][0] == '>';
		size_t pad = width[c] - writer_width(row[c].text);

		put_blanks(w, (c > 0 ? 2 : 0) + (right ? pad : 0));
		put(w, row[c].style, row[c].text);
		if (!right && c + 1 < count) {
			put_blanks(w, pad);
		}
	}
	put(w, WRITER_PLAIN, "\n");
}

static const char *column_name(const struct writer *w, size_t column)
{
	return w->columns[column] + (w->columns[column][0] == '>');
}

void writer_table_end(struct writer *w, const char *empty)
{
	size_t width[WRITER_COLUMNS_MAX];
	struct cell head[WRITER_COLUMNS_MAX];

	if (w->json || w->column_count == 0) {
		return;
	}
	if (w->cell_count < w->column_count) {
		put(w, WRITER_DIM, empty);
		put(w, WRITER_PLAIN, "\n");
		drop_cells(w);
		return;
	}
	for (size_t c = 0; c < w->column_count; c++) {
		head[c] = (struct cell){.text = (char *)(uintptr_t)column_name(w, c),
					.style = WRITER_DIM};
		width[c] = writer_width(head[c].text);
	}
	for (size_t i = 0; i < w->cell_count; i++) {
		size_t cell = writer_width(w->cells[i].text);

		if (cell > width[i % w->column_count]) {
			width[i % w->column_count] = cell;
		}
	}
	put_row(w, head, w->column_count, width);
	for (size_t i = 0; i + w->column_count <= w->cell_count; i += w->column_count) {
		put_row(w, w->cells + i, w->column_count, width);
	}
	drop_cells(w);
}
