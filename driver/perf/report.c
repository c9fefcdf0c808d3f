/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes results as text, JSON, CSV or for gnuplot: see measure.h. */
#include "driver/perf/measure.h"

#include <errno.h>
#include <string.h>

#define BAR 50 /* characters of the longest bar */

static const char *kind_of(const struct nanet3_info *info)
{
	return info->emulated != 0 ? "emulated" : "board";
}

/* ---------------------------------------------------------------- text */

static double fullest(const struct table *t)
{
	double most = 1;

	for (size_t i = 0; i < t->count; i++) {
		most = t->rows[i][4].number > most ? t->rows[i][4].number : most;
	}
	return most;
}

/* With more sizes than one it would be pages. */
static bool one_size(const struct table *t)
{
	for (size_t i = 1; i < t->count; i++) {
		if (t->rows[i][0].number != t->rows[0][0].number) {
			return false;
		}
	}
	return true;
}

static void write_histogram(FILE *f, const struct table *t)
{
	double most = fullest(t);
	const char *mode = "";

	for (size_t i = 0; i < t->count; i++) {
		const struct cell *row = t->rows[i];
		int bar = (int)(row[4].number / most * BAR + 0.5);

		if (strcmp(mode, row[1].word) != 0) {
			mode = row[1].word;
			fprintf(f, "\n%s, us:\n", mode);
		}
		if (row[4].number > 0) {
			fprintf(f, "%10.2f .. %10.2f %8.0f %.*s\n", row[2].number, row[3].number,
				row[4].number, bar,
				"##################################################");
		}
	}
}

static void write_text(FILE *f, const struct perf_options *o, const struct nanet3_info *info,
		       const struct results *r)
{
	fprintf(f, "%s of %s (%s, serial %u) at %s\n", o->command->name, info->name, kind_of(info),
		info->serial, o->where);
	table_lines(f, &r->figures, 11, " ");
	if (r->histogram.count > 0 && one_size(&r->figures)) {
		write_histogram(f, &r->histogram);
	}
}

/* ---------------------------------------------------------------- JSON */

static void write_json(FILE *f, const struct perf_options *o, const struct nanet3_info *info,
		       const struct results *r)
{
	fprintf(f, "{\"program\": \"nanet3-perf\", \"version\": \"%s\",\n \"board\": {\"where\": ",
		FCM_VERSION);
	print_json_string(f, o->where);
	fputs(", \"name\": ", f);
	print_json_string(f, info->name);
	fprintf(f, ", \"serial\": %u, \"emulated\": %s},\n \"sound\": %s,\n \"%s\": ", info->serial,
		info->emulated != 0 ? "true" : "false", r->unsound ? "false" : "true",
		r->figures.name);
	table_json(f, &r->figures);
	if (r->histogram.name != NULL) {
		fprintf(f, ",\n \"%s\": ", r->histogram.name);
		table_json(f, &r->histogram);
	}
	fputs("}\n", f);
}

int report_write(FILE *f, const struct perf_options *o, const struct nanet3_info *info,
		 const struct results *r)
{
	switch (o->format) {
	case PERF_JSON:
		write_json(f, o, info, r);
		break;
	case PERF_CSV:
		table_lines(f, &r->figures, 0, ",");
		break;
	default:
		write_text(f, o, info, r);
		break;
	}
	return fflush(f) != 0 || ferror(f) ? -EIO : 0;
}

/* ---------------------------------------------------------------- gnuplot */

/* Inside of single quotes of gnuplot. */
static void quoted(FILE *f, const char *text)
{
	fputc('\'', f);
	for (; *text != '\0'; text++) {
		if (*text == '\'') {
			fputc('\'', f);
		}
		fputc((unsigned char)*text < 0x20 ? ' ' : *text, f);
	}
	fputc('\'', f);
}

/* Rows of one mode as a data block; `column` by column, words in double quotes. */
static void data_block(FILE *f, const struct table *t, enum perf_mode mode)
{
	fprintf(f, "$%s << EOD\n", perf_mode_name(mode));
	for (size_t i = 0; i < t->count; i++) {
		if (strcmp(t->rows[i][1].word, perf_mode_name(mode)) != 0) {
			continue;
		}
		for (unsigned c = 0; c < TABLE_COLUMNS && t->columns[c].name != NULL; c++) {
			const char *quote = t->columns[c].digits < 0 ? "\"" : "";

			fputs(quote, f);
			table_cell(f, &t->columns[c], &t->rows[i][c], 0);
			fprintf(f, "%s ", quote);
		}
		fputc('\n', f);
	}
	fputs("EOD\n", f);
}

struct figure {
	const char *table, *settings;
	struct {
		const char *using, *with, *title; /* NULL: no further curve of a mode */
	} curves[2];
};

/* Columns count from 1, in the order of the tables. */
static const struct figure drawn[] = {
	{"latency",
	 "set xlabel 'packet size (bytes)'\nset ylabel 'latency (us)'\nset logscale x 2\n"
	 "set yrange [0:*]\nset key top left\n",
	 {{"1:6", "linespoints", "p50"}, {"1:7", "lines dashtype 2", "p99"}}},
	{"bandwidth",
	 "set xlabel 'packet size (bytes)'\nset ylabel 'bandwidth (MB/s)'\nset logscale x 2\n"
	 "set yrange [0:*]\nset key top left\n",
	 {{"1:4", "linespoints", "median"}}},
	{"translation",
	 "set ylabel 'time a put (ns)'\nset yrange [0:*]\nset key top left\n"
	 "set style data histograms\nset style fill solid 0.5\n",
	 {{"4:xtic(1)", "histograms", "p50"}}},
};

static void plot(FILE *f, const struct figure *figure, const bool modes[PERF_MODES])
{
	const char *before = "plot ";

	for (int m = 0; m < PERF_MODES; m++) {
		for (int c = 0; c < 2 && modes[m] && figure->curves[c].using != NULL; c++) {
			const char *mode = perf_mode_name((enum perf_mode)m);

			fprintf(f, "%s$%s using %s with %s linecolor %d title '%s, %s'", before,
				mode, figure->curves[c].using, figure->curves[c].with, m + 1, mode,
				figure->curves[c].title);
			before = ", \\\n     ";
		}
	}
	fputc('\n', f);
}

int report_gnuplot(FILE *f, const char *name, const struct perf_options *o,
		   const struct nanet3_info *info, const struct results *r)
{
	const struct figure *figure = NULL;
	char text[256];

	for (size_t i = 0; i < sizeof(drawn) / sizeof(drawn[0]); i++) {
		if (strcmp(drawn[i].table, r->figures.name) == 0) {
			figure = &drawn[i];
		}
	}
	if (figure == NULL) {
		return -EINVAL;
	}
	fprintf(f, "# nanet3-perf %s; gnuplot draws it as SVG beside this file\n",
		o->command->name);
	for (int m = 0; m < PERF_MODES; m++) {
		if (o->modes[m]) {
			data_block(f, &r->figures, (enum perf_mode)m);
		}
	}
	fputs("set terminal svg size 800,560 background rgb 'white' noenhanced\nset output ", f);
	snprintf(text, sizeof(text), "%s.svg", name);
	quoted(f, text);
	snprintf(text, sizeof(text), "%s, loop-back: %s (%s)", o->command->name, info->name,
		 kind_of(info));
	fputs("\nset title ", f);
	quoted(f, text);
	fprintf(f, "\nset grid\n%s", figure->settings);
	plot(f, figure, o->modes);
	return fflush(f) != 0 || ferror(f) ? -EIO : 0;
}
