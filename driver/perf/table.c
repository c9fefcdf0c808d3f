/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of results: see table.h. */
#include "driver/perf/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static unsigned columns(const struct table *t)
{
	unsigned n = 0;

	while (n < TABLE_COLUMNS && t->columns[n].name != NULL) {
		n++;
	}
	return n;
}

int table_add(struct table *t, ...)
{
	struct cell *row;
	va_list ap;

	if ((t->count & (t->count - 1)) == 0) { /* grows by doubling */
		void *rows =
			realloc(t->rows, (t->count == 0 ? 1 : 2 * t->count) * sizeof(*t->rows));

		if (rows == NULL) {
			return -ENOMEM;
		}
		t->rows = rows;
	}
	row = t->rows[t->count++];
	va_start(ap, t);
	for (unsigned c = 0; c < columns(t); c++) {
		if (t->columns[c].digits < 0) {
			row[c].word = va_arg(ap, const char *);
		} else {
			row[c].number = va_arg(ap, double);
		}
	}
	va_end(ap);
	return 0;
}

void table_fini(struct table *t)
{
	free(t->rows);
	t->rows = NULL;
	t->count = 0;
}

void table_cell(FILE *f, const struct column *column, const struct cell *cell, int width)
{
	if (column->digits < 0) {
		fprintf(f, "%*s", width, cell->word);
	} else {
		fprintf(f, "%*.*f", width, column->digits, cell->number);
	}
}

void table_lines(FILE *f, const struct table *t, int width, const char *between)
{
	unsigned n = columns(t);

	for (unsigned c = 0; c < n; c++) {
		fprintf(f, "%s%*s", c > 0 ? between : "", width, t->columns[c].name);
	}
	fputc('\n', f);
	for (size_t r = 0; r < t->count; r++) {
		for (unsigned c = 0; c < n; c++) {
			fputs(c > 0 ? between : "", f);
			table_cell(f, &t->columns[c], &t->rows[r][c], width);
		}
		fputc('\n', f);
	}
}

void print_json_string(FILE *f, const char *text)
{
	fputc('"', f);
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\') {
			fprintf(f, "\\%c", c);
		} else if (c < 0x20 || c >= 0x7f) {
			fprintf(f, "\\u%04x", c);
		} else {
			fputc(c, f);
		}
	}
	fputc('"', f);
}

void table_json(FILE *f, const struct table *t)
{
	unsigned n = columns(t);

	fputc('[', f);
	for (size_t r = 0; r < t->count; r++) {
		fprintf(f, "%s\n  {", r > 0 ? "," : "");
		for (unsigned c = 0; c < n; c++) {
			fprintf(f, "%s\"%s\": ", c > 0 ? ", " : "", t->columns[c].name);
			if (t->columns[c].digits < 0) {
				print_json_string(f, t->rows[r][c].word);
			} else {
				table_cell(f, &t->columns[c], &t->rows[r][c], 0);
			}
		}
		fputc('}', f);
	}
	fprintf(f, "%s]", t->count > 0 ? "\n" : "");
}
