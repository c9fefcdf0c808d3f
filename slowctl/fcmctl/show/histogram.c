/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The histogram of a link's phase as text: see histogram.h. */
#include "slowctl/fcmctl/show/histogram.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BIN_PS	   10
#define BINS	   (HISTOGRAM_WRAP_PS / BIN_PS)
#define LINES_WELL 16
#define BAR	   40 /* columns of the fullest line */

static uint64_t read_bins(const json_t *json, uint64_t counts[BINS])
{
	const json_t *bins = json_object_get(json, "bins");
	uint64_t samples = 0;
	size_t n;
	const json_t *bin;

	if (json_integer_value(json_object_get(json, "bin_ps")) != BIN_PS) {
		return 0;
	}
	json_array_foreach (bins, n, bin) {
		bool number = json_is_integer(json_array_get(bin, 0));
		json_int_t from = json_integer_value(json_array_get(bin, 0));
		json_int_t count = json_integer_value(json_array_get(bin, 1));

		if (number && from >= 0 && from < HISTOGRAM_WRAP_PS && count > 0) {
			counts[from / BIN_PS] += (uint64_t)count;
			samples += (uint64_t)count;
		}
	}
	return samples;
}

/* The shortest arc with all bins that are not empty: behind the longest gap. */
static void find_arc(const uint64_t counts[BINS], unsigned *ret_first, unsigned *ret_bins)
{
	unsigned gap = 0;
	unsigned longest = 0;
	unsigned first = 0;

	/* Twice round, for a gap across 0. */
	for (unsigned i = 0; i < 2 * BINS; i++) {
		gap = counts[i % BINS] == 0 ? gap + 1 : 0;
		if (gap > longest) {
			longest = gap;
			first = (i + 1) % BINS;
		}
	}
	*ret_first = first;
	*ret_bins = BINS - longest;
}

void histogram_fold(const json_t *json, struct histogram *ret_histogram)
{
	static const unsigned steps[] = {1,  2,	 5,
					 10, 25, 50}; /* bins a line: divisors of the circle */
	uint64_t counts[BINS] = {0};
	struct histogram h = {.samples = read_bins(json, counts)};
	unsigned first;
	unsigned bins;
	unsigned step = 1;

	if (h.samples == 0) {
		*ret_histogram = h;
		return;
	}
	find_arc(counts, &first, &bins);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		step = steps[i];
		h.lines = (first % step + bins + step - 1) / step;
		if (h.lines <= LINES_WELL) {
			break;
		}
	}
	/* All round, first and last line may be the same. */
	h.lines = h.lines < BINS / step ? h.lines : BINS / step;
	h.line_ps = step * BIN_PS;
	h.first_ps = first / step * h.line_ps;
	for (unsigned i = 0; i < BINS; i++) {
		if (counts[i] > 0) {
			h.count[histogram_line(&h, i * BIN_PS)] += counts[i];
		}
	}
	*ret_histogram = h;
}

int histogram_line(const struct histogram *h, double phase_ps)
{
	unsigned line;

	if (h->lines == 0 || !(phase_ps >= 0.0 && phase_ps < HISTOGRAM_WRAP_PS)) {
		return -1;
	}
	line = ((unsigned)phase_ps + HISTOGRAM_WRAP_PS - h->first_ps) % HISTOGRAM_WRAP_PS /
	       h->line_ps;
	return line < h->lines ? (int)line : -1;
}

/* '#' in proportion; what is there but too little for one is a '.' */
static void bar_text(uint64_t count, uint64_t most, char bar[BAR + 1])
{
	size_t length = (size_t)lround((double)count / (double)most * BAR);

	if (length == 0 && count > 0) {
		bar[0] = '.';
		length = 1;
	} else {
		memset(bar, '#', length);
	}
	bar[length] = '\0';
}

void histogram_render(struct writer *w, const struct histogram *h, double mean_ps,
		      double reference_ps)
{
	int mean = histogram_line(h, mean_ps);
	int reference = histogram_line(h, reference_ps);
	uint64_t most = 1;

	for (unsigned i = 0; i < h->lines; i++) {
		most = h->count[i] > most ? h->count[i] : most;
	}
	for (int i = 0; i < (int)h->lines; i++) {
		unsigned from = (h->first_ps + (unsigned)i * h->line_ps) % HISTOGRAM_WRAP_PS;
		const char *mark = i == mean && i == reference ? "mean, reference"
				   : i == mean		       ? "mean"
				   : i == reference	       ? "reference"
							       : "";
		char bar[BAR + 1];

		bar_text(h->count[i], most, bar);
		writer_text(w, WRITER_PLAIN, "%5u ps %10llu", from,
			    (unsigned long long)h->count[i]);
		if (*mark != '\0') {
			writer_text(w, WRITER_PLAIN, "  %-*s  ", BAR, bar);
			writer_text(w, WRITER_DIM, "%s", mark);
		} else if (*bar != '\0') {
			writer_text(w, WRITER_PLAIN, "  %s", bar);
		}
		writer_newline(w);
	}
}
