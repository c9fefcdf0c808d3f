/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The histogram of a link's phase as lines of a terminal: the bins of 10 ps on their circle of 12 500 ps,
 * cut open where it is empty for longest, and so many bins a line that all lines fit. No I/O.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "slowctl/fcmctl/show/writer.h"

#define HISTOGRAM_WRAP_PS   12500
#define HISTOGRAM_LINES_MAX 25

struct histogram {
	uint64_t samples;
	unsigned lines, line_ps; /* none without samples */
	unsigned
		first_ps; /* where the first line begins, 0..12499; the others follow round the circle */
	uint64_t count[HISTOGRAM_LINES_MAX];
};

/* Of the daemon's {bin_ps, bins:[[from_ps, count], ..]}; what makes no sense in it is left out. At most 16
 * lines, or, when no step up to 250 ps will do, 25 of 500 ps. */
void histogram_fold(const json_t *json, struct histogram *ret_histogram);
/* The line that a phase falls into; -1: none. NaN is none. */
int histogram_line(const struct histogram *h, double phase_ps);
/* At most 79 columns. Marks the lines of mean_ps and reference_ps (NaN: there is none). */
void histogram_render(struct writer *w, const struct histogram *h, double mean_ps,
		      double reference_ps);
