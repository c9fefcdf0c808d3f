/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of a time, their percentiles and histogram. All times in ns. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct samples {
	uint64_t *ns;
	size_t count, room;
};

struct summary {
	size_t count;
	uint64_t min, max, p10, p50, p99;
	double mean;
};

/* Histogram bins: four to an octave, equally wide within it; below 4 ns one a ns. */
#define HISTOGRAM_BINS 252u
struct bin {
	uint64_t low, high; /* [low, high) */
	size_t count;
};

/* Room for so many; -ENOMEM. */
int samples_create(struct samples *s, size_t room);
void samples_destroy(struct samples *s);
/* More than there is room for are not taken. */
void samples_add(struct samples *s, uint64_t ns);

/* Sorts the samples. Percentiles are by nearest rank: the smallest sample that at least the share of
 * all do not exceed. All 0 without samples. */
struct summary samples_summary(struct samples *s);
/* The share 0 < q <= 1 of sorted samples; 0 without any. */
uint64_t samples_quantile(const struct samples *s, double q);
/* Bins from the first to the last that holds any sample; how many. */
unsigned samples_histogram(const struct samples *s, struct bin ret_bins[HISTOGRAM_BINS]);
