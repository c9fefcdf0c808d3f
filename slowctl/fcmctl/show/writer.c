/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer: see writer.h. Both back ends end in a FILE: text with ANSI colours, or JSON. libsmartcols lays
 * out the tables.
 */
#include "slowctl/fcmctl/show/writer.h"

#include <errno.h>
#include <libsmartcols.h>
#include <locale.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "slowctl/fcmctl/show/typed.h"

/* libsmartcols measures the whole table again for each range that it prints: 1.7 s for 1000 ranges. */
#define PRINTED_ROWS 300u
#define PAIR_COLUMN  18u /* where the values of pairs begin */
#define BELOW_ROOM   40u /* with less for its last column, a table has it below the rows */
#define BELOW_INDENT 4u
#define LAST_MIN                                                                                   \
	16u /* columns that the last one of a table is broken to at least; its longest word stays whole */

struct writer {
	bool json;
	bool csv;
	bool indent;
	bool colour;
	bool failed;
	size_t width;
	size_t column; /* of the line that is written now */
	FILE *file;
	struct libscols_table *table;
	struct libscols_line *row;
	size_t cell;			  /* of the row, the next one */
	size_t cells[WRITER_COLUMNS_MAX]; /* width of each column */
	bool spare[WRITER_COLUMNS_MAX];	  /* it can be left out */
	bool below;			  /* the last column can be below the rows, or is */
	size_t room;			  /* of the last column */
	size_t word;			  /* the longest in the last column */
	struct writer_choice choice;	  /* of columns, for all tables */
	bool shown[WRITER_COLUMNS_MAX];	  /* of this table, by the choice */
	size_t count;			  /* of columns of this table, the others, too */
	size_t tables;			  /* of CSV, so far */
};

/* Only tables are printed. */
static bool is_mute(const struct writer *w)
{
	return w->json || w->csv;
}

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

/* Columns of the terminal that the file is; of another file COLUMNS of the environment, or 100. */
static size_t file_width(FILE *file)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size = {0};
	int fd = fileno(file), wanted = columns != NULL ? atoi(columns) : 0;

	if (fd >= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
		return size.ws_col;
	}
	return wanted > 0 && wanted <= 10000 ? (size_t)wanted : 100;
}

static struct writer *create(const struct writer *of)
{
	struct writer *w = malloc(sizeof(*w));

	if (w != NULL) {
		*w = *of;
		writer_set_width(w, file_width(w->file));
	}
	return w;
}

static void free_advice(struct writer *w);

struct writer *writer_create_text(FILE *file, bool colour)
{
	return create(&(struct writer){.file = file, .colour = colour});
}

struct writer *writer_create_json(FILE *file, bool indent)
{
	return create(&(struct writer){.file = file, .json = true, .indent = indent});
}

struct writer *writer_create_csv(FILE *file)
{
	return create(&(struct writer){.file = file, .csv = true});
}

void writer_destroy(struct writer *w)
{
	if (w != NULL) {
		free_advice(w);
		scols_unref_table(w->table);
		free(w);
	}
}

int writer_flush(struct writer *w)
{
	if (fflush(w->file) != 0) {
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
	const unsigned char *p = (const unsigned char *)json, *from = p;
	size_t bytes;

	for (; *p != '\0'; p += bytes) {
		unsigned c = character(p, &bytes);

		if (is_control(c)) {
			fwrite(from, 1, (size_t)(p - from), w->file);
			fprintf(w->file, "\\u%04X", c);
			from = p + bytes;
		}
	}
	fwrite(from, 1, (size_t)(p - from), w->file);
	fputc('\n', w->file);
}

static void result_json(struct writer *w, const json_t *result)
{
	/* 16 digits: microseconds of today's UTC survive, 0.1 stays 0.1. */
	size_t flags = JSON_REAL_PRECISION(16) | (w->indent ? JSON_INDENT(2) : 0);
	json_t *whole = json_pack("{s:i}", "v", 2);
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

/* Character cells of so many bytes of UTF-8 text. */
static size_t cells_of(const char *text, size_t bytes)
{
	size_t cells = 0;

	for (size_t i = 0; i < bytes; i++) {
		cells += ((unsigned char)text[i] & 0xc0) != 0x80;
	}
	return cells;
}

static void put(struct writer *w, enum writer_style style, const char *text, size_t bytes)
{
	bool painted = w->colour && style != WRITER_PLAIN && bytes > 0;

	if (fprintf(w->file, "%s%.*s%s", painted ? ansi[style] : "", (int)bytes, text,
		    painted ? "\033[0m" : "") < 0) {
		w->failed = true;
	}
	w->column = bytes > 0 && text[bytes - 1] == '\n' ? 0 : w->column + cells_of(text, bytes);
}

__attribute__((format(printf, 3, 0))) static void
put_text(struct writer *w, enum writer_style style, const char *format, va_list ap)
{
	char *text = is_mute(w) ? NULL : format_text(w, format, ap);

	if (text != NULL) {
		put(w, style, text, strlen(text));
	}
	free(text);
}

void writer_text(struct writer *w, enum writer_style style, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	put_text(w, style, format, ap);
	va_end(ap);
}

void writer_newline(struct writer *w)
{
	if (!is_mute(w)) {
		put(w, WRITER_PLAIN, "\n", 1);
	}
}

void writer_line(struct writer *w, enum writer_style style, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	put_text(w, style, format, ap);
	va_end(ap);
	writer_newline(w);
}

void writer_set_width(struct writer *w, size_t width)
{
	w->width = width < 40 ? 40 : width;
}

size_t writer_room(const struct writer *w)
{
	return w->width > w->column ? w->width - w->column : 0;
}

/* Bytes of the text that fill so many cells at most. */
static size_t bytes_of(const char *text, size_t cells)
{
	size_t n = 0;

	for (; text[n] != '\0'; n++) {
		if (((unsigned char)text[n] & 0xc0) != 0x80 && cells-- == 0) {
			break;
		}
	}
	return n;
}

size_t writer_cut(const char *text, size_t cells)
{
	size_t all = strlen(text);

	return bytes_of(text, cells) == all ? all : bytes_of(text, cells > 3 ? cells - 3 : 0);
}

void writer_cut_line(struct writer *w, const char *format, ...)
{
	size_t room = writer_room(w);
	char text[1600];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	writer_line(w, WRITER_PLAIN, "%.*s%s", (int)writer_cut(text, room), text,
		    writer_cut(text, room) < strlen(text) ? "..." : "");
}

size_t writer_lines_of(const char *page)
{
	size_t lines = 0;

	for (; (page = strchr(page, '\n')) != NULL; page++) {
		lines++;
	}
	return lines;
}

/* Rows of the screen that a page without colours takes: a line that is longer than the screen takes more than one. */
static size_t rows_of(const char *page, size_t width)
{
	size_t rows = 0;

	for (const char *end; (end = strchr(page, '\n')) != NULL; page = end + 1) {
		size_t cells = cells_of(page, (size_t)(end - page));

		rows += cells > width ? (cells + width - 1) / width : 1;
	}
	return rows;
}

size_t writer_count_rows(const struct writer *w, const json_t *result, writer_render_fn render)
{
	char *page = NULL;
	size_t size, rows = 0;
	FILE *memory = open_memstream(&page, &size);
	struct writer *trial = memory != NULL ? writer_create_text(memory, false) : NULL;

	if (trial != NULL) {
		writer_set_width(trial, w->width);
		render(trial, result);
	}
	writer_destroy(trial);
	if (memory != NULL && fclose(memory) == 0) {
		rows = rows_of(page, w->width);
	}
	free(page);
	return rows;
}

/* Bytes of the longest piece of `text` that fits into `room` cells and ends at a blank; a longer word stays whole, and so
 * does a command that can be copied. */
static size_t line_bytes(const char *text, size_t room)
{
	size_t cells = 0;
	size_t i = 0;

	while (text[i] != '\0') {
		size_t blanks = strspn(text + i, " ");
		size_t bytes = blanks + typed_bytes(text + i + blanks);

		cells += cells_of(text + i, bytes);
		if (cells > room && i > 0) {
			break;
		}
		i += bytes;
	}
	return i;
}

__attribute__((format(printf, 4, 0))) static void
paragraph(struct writer *w, size_t indent, enum writer_style style, const char *format, va_list ap)
{
	char *text = is_mute(w) ? NULL : format_text(w, format, ap);

	for (const char *p = text; p != NULL && *p != '\0';) {
		size_t bytes;

		if (w->column < indent) {
			writer_text(w, WRITER_PLAIN, "%*s", (int)(indent - w->column), "");
		}
		bytes = line_bytes(p, w->width > w->column + 20 ? w->width - w->column : 20);
		put(w, style, p, bytes);
		writer_newline(w);
		p += bytes + strspn(p + bytes, " ");
	}
	if (w->column > 0) {
		writer_newline(w);
	}
	free(text);
}

void writer_phrase(struct writer *w, enum writer_style style, const char *format, ...)
{
	va_list ap;
	char *text;

	va_start(ap, format);
	text = is_mute(w) ? NULL : format_text(w, format, ap);
	va_end(ap);
	for (const char *p = text; p != NULL && *p != '\0';) {
		/* One column stays free, for the comma of the next. */
		size_t room = w->width > w->column + 1 ? w->width - w->column - 1 : 0;
		size_t bytes = line_bytes(p, room);

		if (w->column == 0 || *p != ' ' || cells_of(p, bytes) <= room) {
			put(w, style, p, bytes);
			p += bytes;
		}
		if (*p != '\0') {
			writer_newline(w);
			p += strspn(p, " ");
		}
	}
	free(text);
}

void writer_pair(struct writer *w, const char *name, enum writer_style style, const char *format,
		 ...)
{
	va_list ap;

	writer_text(w, WRITER_DIM, "%s", name);
	writer_text(w, WRITER_PLAIN, " ");
	va_start(ap, format);
	paragraph(w, PAIR_COLUMN, style, format, ap);
	va_end(ap);
}

void writer_paragraph(struct writer *w, size_t indent, enum writer_style style, const char *format,
		      ...)
{
	va_list ap;

	va_start(ap, format);
	paragraph(w, indent, style, format, ap);
	va_end(ap);
}

/* ------------------------------------------------------------------ tables, by libsmartcols */

/* Out of memory costs the rest of the table, and the exit code says so. */
static void check(struct writer *w, int err)
{
	w->failed = w->failed || err != 0;
}

static size_t wrapped_width(const struct libscols_column *column, const char *text, void *context)
{
	const struct writer *w = context;
	size_t cells = cells_of(text, strlen(text));

	return cells < w->room ? cells : w->room;
}

/* Cuts the first line off the text: libsmartcols' own cut is in the middle of a word. */
static char *wrapped_next(const struct libscols_column *column, char *text, void *context)
{
	size_t bytes = text != NULL ? line_bytes(text, scols_column_get_width(column)) : 0;

	if (text == NULL || text[bytes] == '\0') {
		return NULL;
	}
	text[bytes] = '\0';
	return text + bytes + 1 + strspn(text + bytes + 1, " ");
}

static const char *paint(const struct writer *w, enum writer_style style)
{
	return w->colour && style != WRITER_PLAIN ? ansi[style] : NULL;
}

/* ---- which columns, and their names for programs: "since (UTC)" is since, "set to" is set_to ---- */

/* Of a heading: as writer_table() describes them. */
static size_t marks_of(const char *heading)
{
	return *heading == '+' ? 1 : strspn(heading, "?>");
}

static void name_of(const char *heading, char *buf, size_t size)
{
	const char *end;

	heading += marks_of(heading);
	end = strstr(heading, " (UTC)");
	snprintf(buf, size, "%.*s", (int)(end != NULL ? end - heading : (long)strlen(heading)),
		 heading);
	for (char *c = buf; *c != '\0'; c++) {
		*c = *c == ' ' ? '_' : *c;
	}
}

void writer_choose(struct writer *w, const char *columns)
{
	w->choice = (struct writer_choice){.wanted = columns};
}

const struct writer_choice *writer_choice(const struct writer *w)
{
	return w->choice.wanted != NULL ? &w->choice : NULL;
}

/* The next of "no.,cause", its length; 0: no more. */
static size_t next_wanted(const char **wanted)
{
	*wanted += **wanted == ',';
	return strcspn(*wanted, ",");
}

/* Its bit among the wanted ones; 0: it is not there. Without a choice all are wanted. */
static unsigned wanted_bit(const char *wanted, const char *name)
{
	unsigned bit = 1;
	size_t bytes;

	if (wanted == NULL) {
		return 1;
	}
	for (; (bytes = next_wanted(&wanted)) > 0 && bit != 0; wanted += bytes, bit <<= 1) {
		if (bytes == strlen(name) && strncasecmp(wanted, name, bytes) == 0) {
			return bit;
		}
	}
	return 0;
}

const char *writer_choice_missed(const struct writer_choice *choice, char *buf, size_t size)
{
	const char *wanted = choice->wanted;
	unsigned bit = 1;
	size_t bytes;

	*buf = '\0';
	for (; (bytes = next_wanted(&wanted)) > 0 && bit != 0; wanted += bytes, bit <<= 1) {
		if ((choice->found & bit) == 0) {
			snprintf(buf, size, "%.*s", (int)bytes, wanted);
			break;
		}
	}
	return buf;
}

/* Whether one of the names in the list, separated by commas, is `name`. */
static bool is_listed(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *p = strstr(list, name); p != NULL; p = strstr(p + 1, name)) {
		if ((p == list || p[-1] == ',') && (p[length] == ',' || p[length] == '\0')) {
			return true;
		}
	}
	return false;
}

static void choose(struct writer *w, const char *const *columns, size_t count)
{
	struct writer_choice *choice = &w->choice;
	size_t used = strlen(choice->there);
	char name[64];

	w->count = count < WRITER_COLUMNS_MAX ? count : WRITER_COLUMNS_MAX;
	w->cell = w->count; /* the next cell begins a row */
	for (size_t c = 0; c < w->count; c++) {
		name_of(columns[c], name, sizeof(name));
		w->shown[c] = wanted_bit(choice->wanted, name) != 0;
		choice->found |= wanted_bit(choice->wanted, name);
		if (used + 1 < sizeof(choice->there) && !is_listed(choice->there, name)) {
			snprintf(choice->there + used, sizeof(choice->there) - used, "%s%s",
				 used > 0 ? "," : "", name);
			used += strlen(choice->there + used);
		}
	}
}

/* ---- as CSV (RFC 4180): a table a paragraph, its first line the names ---- */

static void csv_field(struct writer *w, const char *text, bool first)
{
	bool quoted = strpbrk(text, ",\"\r\n") != NULL;

	fputs(first ? "" : ",", w->file);
	fputs(quoted ? "\"" : "", w->file);
	for (const char *c = text; *c != '\0'; c++) {
		fputs(*c == '"' ? "\"" : "", w->file);
		fputc(*c, w->file);
	}
	fputs(quoted ? "\"" : "", w->file);
}

static bool is_first(const struct writer *w, size_t cell)
{
	for (size_t c = 0; c < cell; c++) {
		if (w->shown[c]) {
			return false;
		}
	}
	return true;
}

static void csv_header(struct writer *w, const char *const *columns)
{
	char name[64];

	if (is_first(w, w->count)) {
		return; /* it has none of the columns that are wanted */
	}
	fputs(w->tables++ > 0 ? "\n" : "", w->file);
	for (size_t c = 0; c < w->count; c++) {
		name_of(columns[c], name, sizeof(name));
		if (w->shown[c]) {
			csv_field(w, name, is_first(w, c));
		}
	}
	fputc('\n', w->file);
}

/* An unknown value is empty. Alone in its row it is in quotes: an empty line ends a table. */
static void csv_cell(struct writer *w, const char *text)
{
	size_t shown = 0;

	w->cell = w->cell == w->count ? 0 : w->cell;
	for (size_t c = 0; c < w->count; c++) {
		shown += w->shown[c];
	}
	text = strcmp(text, "-") == 0 ? "" : text;
	if (w->shown[w->cell] && shown == 1 && *text == '\0') {
		fputs("\"\"", w->file);
	} else if (w->shown[w->cell]) {
		csv_field(w, text, is_first(w, w->cell));
	}
	if (++w->cell == w->count && !is_first(w, w->count)) {
		fputc('\n', w->file);
	}
}

/* ---- for people ---- */

void writer_table(struct writer *w, const char *const *columns, size_t count)
{
	free_advice(w);
	scols_unref_table(w->table);
	w->row = NULL;
	w->word = 0;
	w->below = false;
	choose(w, columns, count);
	w->table = is_mute(w) ? NULL : scols_new_table();
	for (size_t c = 0; w->table != NULL && c < w->count; c++) {
		const char *name = columns[c] + marks_of(columns[c]);
		bool right = memchr(columns[c], '>', (size_t)(name - columns[c])) != NULL;
		bool wraps = !right && c + 1 == count;
		int flags = right ? SCOLS_FL_RIGHT : wraps ? SCOLS_FL_WRAP : 0;
		struct libscols_column *column = scols_table_new_column(w->table, name, 0, flags);

		w->cells[c] = strlen(name);
		w->spare[c] = columns[c][0] == '?' && w->choice.wanted == NULL;
		w->below = columns[c][0] == '+';
		check(w, column == NULL || scols_cell_set_color(scols_column_get_header(column),
								paint(w, WRITER_DIM)) != 0);
		if (wraps && column != NULL) {
			scols_column_set_wrapfunc(column, wrapped_width, wrapped_next, w);
		}
		if (!w->shown[c] && column != NULL) {
			scols_column_set_flags(column, SCOLS_FL_HIDDEN);
		}
	}
	check(w, !is_mute(w) && w->table == NULL);
	if (w->csv) {
		csv_header(w, columns);
	}
}

static void longest_word(struct writer *w, const char *text)
{
	for (const char *p = text; p != NULL && *p != '\0'; p += strspn(p, " ")) {
		size_t bytes = strcspn(p, " ");
		size_t cells = cells_of(p, bytes);

		w->word = cells > w->word ? cells : w->word;
		p += bytes;
	}
}

void writer_cell(struct writer *w, enum writer_style style, const char *format, ...)
{
	va_list ap;
	char *text;
	size_t cells;

	if (w->csv) {
		va_start(ap, format);
		text = format_text(w, format, ap);
		va_end(ap);
		csv_cell(w, text != NULL ? text : "");
		free(text);
		return;
	}
	if (w->table == NULL) {
		return;
	}
	if (w->row == NULL || w->cell == scols_table_get_ncols(w->table)) {
		w->row = scols_table_new_line(w->table, NULL);
		w->cell = 0;
	}
	va_start(ap, format);
	text = format_text(w, format, ap);
	va_end(ap);
	cells = text != NULL ? cells_of(text, strlen(text)) : 0;
	w->cells[w->cell] = cells > w->cells[w->cell] ? cells : w->cells[w->cell];
	if (w->cell + 1 == scols_table_get_ncols(w->table)) {
		longest_word(w, text);
	}
	check(w, scols_line_refer_data(w->row, w->cell, text) != 0 ||
			 scols_cell_set_color(scols_line_get_cell(w->row, w->cell),
					      paint(w, style)) != 0);
	w->cell++;
}

void writer_advised_cell(struct writer *w, const char *advice, const char *text)
{
	char *note;

	if (w->csv && *advice != '\0') {
		writer_cell(w, WRITER_PLAIN, "%s  -> %s", text, advice);
		return;
	}
	writer_cell(w, WRITER_PLAIN, "%s", text);
	if (w->table != NULL && *advice != '\0' && w->shown[w->count - 1]) {
		note = strdup(advice);
		check(w, note == NULL || scols_line_set_userdata(w->row, note) != 0);
	}
}

/* What is between the commands is broken at blanks. */
void writer_advice(struct writer *w, const char *advice)
{
	const char *mark = "  -> ";

	for (const char *p = advice; *p != '\0'; mark = "     ") {
		size_t bytes = typed_command(p);
		size_t end = bytes;

		if (bytes > 0) {
			while (end > 0 && strchr(";:,.?", p[end - 1]) != NULL) {
				end--;
			}
			writer_line(w, WRITER_PLAIN, "%s%.*s", mark, (int)end, p);
		} else {
			do {
				bytes += strcspn(p + bytes, " ");
				end = bytes;
				bytes += strspn(p + bytes, " ");
			} while (p[bytes] != '\0' && typed_command(p + bytes) == 0);
			writer_text(w, WRITER_PLAIN, "%s", mark);
			writer_paragraph(w, strlen(mark), WRITER_PLAIN, "%.*s", (int)end, p);
		}
		p += bytes;
		p += strspn(p, "; ");
	}
}

/* Width of the visible columns, the last one as narrow as it can be. */
static size_t fixed_width(const struct writer *w, size_t count, size_t last)
{
	size_t used = last;

	for (size_t c = 0; c + 1 < count; c++) {
		used += scols_column_is_hidden(scols_table_get_column(w->table, c))
				? 0
				: w->cells[c] + 2;
	}
	return used;
}

static bool goes_below(const struct writer *w, size_t count)
{
	size_t last = w->cells[count - 1] < BELOW_ROOM ? w->cells[count - 1] : BELOW_ROOM;

	return w->below && w->shown[count - 1] && !is_first(w, count - 1) &&
	       scols_table_get_nlines(w->table) <= PRINTED_ROWS &&
	       fixed_width(w, count, last) > w->width;
}

/* Leaves out columns that can be, the last first, until the others fit. */
static void fit(struct writer *w)
{
	size_t count = scols_table_get_ncols(w->table);
	bool wraps = scols_column_is_wrap(scols_table_get_column(w->table, count - 1));
	size_t last = w->cells[count - 1];
	size_t word = w->word > LAST_MIN ? w->word : LAST_MIN;

	w->below = goes_below(w, count);
	if (w->below) {
		scols_column_set_flags(scols_table_get_column(w->table, count - 1),
				       SCOLS_FL_HIDDEN);
		last = 0;
		wraps = false;
	}
	if (wraps && last > word) {
		last = word;
	}
	for (size_t c = count - 1; c-- > 0 && fixed_width(w, count, last) > w->width;) {
		if (w->spare[c]) {
			scols_column_set_flags(scols_table_get_column(w->table, c),
					       SCOLS_FL_HIDDEN);
		}
	}
	if (wraps && last > LAST_MIN) {
		last = LAST_MIN;
	}
	w->room = last;
	if (fixed_width(w, count, last) < w->width) {
		w->room += w->width - fixed_width(w, count, last);
	}
}

/* The advice is in the row, after its text. */
static int print_in_rows(struct writer *w)
{
	int err = 0;

	for (size_t i = 0; i < scols_table_get_nlines(w->table) && err == 0; i++) {
		struct libscols_line *row = scols_table_get_line(w->table, i);
		struct libscols_cell *last = scols_line_get_cell(row, w->count - 1);
		const char *note = scols_line_get_userdata(row), *text = scols_cell_get_data(last);
		char *both = NULL;

		if (note != NULL) {
			err = asprintf(&both, "%s  -> %s", text != NULL ? text : "", note) < 0
				      ? -ENOMEM
				      : scols_cell_refer_data(last, both);
		}
	}
	return err != 0 ? err : scols_print_table(w->table);
}

/* What has no room in the row, and its advice, come between it and the next row. */
static void print_below(struct writer *w, struct libscols_line *row)
{
	const char *note = scols_line_get_userdata(row);
	const char *text = scols_cell_get_data(scols_line_get_cell(row, w->count - 1));

	if (w->below && text != NULL && *text != '\0') {
		writer_paragraph(w, BELOW_INDENT, WRITER_PLAIN, "%s", text);
	}
	writer_advice(w, note != NULL ? note : "");
}

static int print_rows(struct writer *w)
{
	size_t count = scols_table_get_nlines(w->table), from = 0;
	int err = 0;

	if (count > PRINTED_ROWS) {
		return print_in_rows(w);
	}
	for (size_t i = 0; i < count && err == 0; i++) {
		struct libscols_line *row = scols_table_get_line(w->table, i);

		if (w->below || scols_line_get_userdata(row) != NULL || i + 1 == count) {
			err = scols_table_print_range(w->table,
						      scols_table_get_line(w->table, from), row);
			/* libsmartcols ends every row but the last one of the table. */
			put(w, WRITER_PLAIN, "\n", i + 1 == count);
			print_below(w, row);
			from = i + 1;
		}
	}
	return err;
}

static void free_advice(struct writer *w)
{
	for (size_t i = 0; w->table != NULL && i < scols_table_get_nlines(w->table); i++) {
		struct libscols_line *row = scols_table_get_line(w->table, i);

		free(scols_line_get_userdata(row));
		scols_line_set_userdata(row, NULL);
	}
}

/* Widths are counted in UTF-8, whatever the locale. */
static int print_table(struct writer *w)
{
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
	locale_t before = uselocale(utf8);
	int err = print_rows(w);

	uselocale(before);
	if (utf8 != NULL) {
		freelocale(utf8);
	}
	return err;
}

void writer_table_end(struct writer *w, const char *empty)
{
	if (w->table == NULL) {
		return;
	}
	if (w->row == NULL) {
		writer_line(w, WRITER_DIM, "%s", empty);
		return;
	}
	if (is_first(w, w->count)) {
		return;
	}
	fit(w);
	scols_table_enable_colors(w->table, w->colour);
	scols_table_enable_noencoding(w->table, 1);
	scols_table_set_stream(w->table, w->file);
	scols_table_set_termforce(w->table, SCOLS_TERMFORCE_ALWAYS);
	scols_table_set_termwidth(w->table, w->width);
	check(w, scols_table_set_column_separator(w->table, "  ") || print_table(w));
}
