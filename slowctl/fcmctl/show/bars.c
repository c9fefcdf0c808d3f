/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See bars.h. */
#include "slowctl/fcmctl/show/bars.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct row {
	const char *before, *after; /* "below ", "" */
	double from;
	long long count;
};

struct scale {
	long long all, most; /* entries; of the fullest bin */
};

/* Eighths of a cell: U+2588 is whole, U+258F an eighth. What is there but too little for one has an eighth. */
static void blocks(double cells, char *text)
{
	unsigned eighths = (unsigned)lround(cells * 8);

	eighths = eighths > 0 ? eighths : 1;
	for (; eighths >= 8; eighths -= 8, text += 3) {
		memcpy(text, "\xe2\x96\x88", 3);
	}
	if (eighths > 0) {
		memcpy(text, "\xe2\x96", 2);
		text[2] = (char)(0x90 - eighths);
		text += 3;
	}
	*text = '\0';
}

/* '#' a cell; what is there but too little for one is a '.' */
static void hashes(double cells, char *text)
{
	size_t length = (size_t)lround(cells);

	memset(text, '#', length);
	text[length] = '\0';
	if (length == 0) {
		memcpy(text, ".", 2);
	}
}

static void bar(const struct bars *bars, double share, char text[3 * BARS_CELLS + 1])
{
	*text = '\0';
	if (share > 0 && bars->utf8) {
		blocks(share * BARS_CELLS, text);
	} else if (share > 0) {
		hashes(share * BARS_CELLS, text);
	}
}

static void put_row(struct writer *w, const struct bars *bars, const struct row *row,
		    const struct scale *scale)
{
	char text[3 * BARS_CELLS + 1] = "";
	bool inside = *row->before == '\0' && *row->after == '\0';

	writer_cell(w, inside ? WRITER_PLAIN : WRITER_DIM, "%s%.10g%s", row->before, row->from,
		    row->after);
	writer_cell(w, WRITER_PLAIN, "%lld", row->count);
	writer_cell(w, WRITER_PLAIN, "%.2f", 100.0 * (double)row->count / (double)scale->all);
	if (bars->numbers_only) {
		return;
	}
	if (inside) {
		bar(bars, (double)row->count / (double)scale->most, text);
	}
	writer_cell(w, WRITER_PLAIN, "%s", text);
}

static struct scale scale_of(const json_t *bins, long long outside)
{
	struct scale s = {.all = outside, .most = 1};
	const json_t *bin;
	size_t i;

	json_array_foreach (bins, i, bin) {
		long long count = json_integer_value(json_array_get(bin, 1));

		s.all += count;
		s.most = count > s.most ? count : s.most;
	}
	s.all = s.all > 0 ? s.all : 1;
	return s;
}

static double from_of(const json_t *bins, size_t i)
{
	return json_number_value(json_array_get(json_array_get(bins, i), 0));
}

void bars_table(struct writer *w, const struct bars *bars, const json_t *bins, double width,
		long long below, long long above)
{
	size_t count = json_array_size(bins), i;
	struct scale scale = scale_of(bins, below + above);
	char from[48], counted[48];
	const char *const columns[] = {from, counted, ">%", "bar"};
	const json_t *bin;

	snprintf(from, sizeof(from), ">from%s%s", *bars->unit != '\0' ? " " : "", bars->unit);
	snprintf(counted, sizeof(counted), ">%s", bars->counted);
	writer_table(w, columns, bars->numbers_only ? 3 : 4);
	if (below > 0) {
		put_row(w, bars, &(struct row){"below ", "", from_of(bins, 0), below}, &scale);
	}
	json_array_foreach (bins, i, bin) {
		put_row(w, bars,
			&(struct row){"", "", from_of(bins, i),
				      json_integer_value(json_array_get(bin, 1))},
			&scale);
	}
	if (above > 0) {
		put_row(w, bars,
			&(struct row){"", " and above", from_of(bins, count - 1) + width, above},
			&scale);
	}
	writer_table_end(w, "no values");
}
