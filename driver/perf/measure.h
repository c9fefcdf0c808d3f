/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The measurements of nanet3-perf, one for each command: latency.c and bandwidth.c (both over sizes.c), receive.c,
 * translation.c, check.c. Both modes of waiting are measured in turn, in one run, so that other load of the
 * machine affects both.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "driver/perf/options.h"
#include "driver/perf/statistics.h"
#include "driver/perf/table.h"

struct results {
	struct table figures, histogram; /* histogram: latency only */
	bool unsound; /* it ran, but the board failed the test, or the figures are not what they should be */
	char note[1024]; /* then: why; after an error: at what */
};

/* 0 or -errno. */
int measure_latency(const struct perf_options *o, struct nanet3 *b, struct results *r);
int measure_bandwidth(const struct perf_options *o, struct nanet3 *b, struct results *r);
int measure_receive(const struct perf_options *o, struct nanet3 *b, struct results *r);
int measure_translation(const struct perf_options *o, struct nanet3 *b, struct results *r);
int measure_check(const struct perf_options *o, struct nanet3 *b, struct results *r);

/* Samples of both modes; -ENOMEM: samples_free() all the same. */
int samples_make(struct samples samples[PERF_MODES], size_t room);
void samples_free(struct samples samples[PERF_MODES]);
/* The modes that are measured. */
#define for_each_mode(o, m)                                                                        \
	for (enum perf_mode m = PERF_INTERRUPT; (m) < PERF_MODES; (m)++)                           \
		if ((o)->modes[m])

/* sizes.c: one_size() for each power of two of the range, or of the one that was asked for, in bytes; both
 * buffers have room for the largest. */
typedef int (*one_size_fn)(const struct perf_options *o, struct loopback *l, uint64_t size,
			   struct results *r);
int measure_sizes(const struct perf_options *o, struct nanet3 *b, struct results *r, uint64_t low,
		  uint64_t high, one_size_fn one_size);

/* latency.c: what receive.c reports in the same way. Sorts the samples. */
extern const struct table latency_figures, latency_histogram;
int latency_report(struct results *r, enum perf_mode mode, uint64_t size, struct samples *samples);

/* report.c: the results as text, as JSON or as CSV. 0 or -errno. */
int report_write(FILE *f, const struct perf_options *o, const struct nanet3_info *info,
		 const struct results *r);
/* Data and script in one; it draws `name`.svg. A self-test has nothing to draw: -EINVAL. */
int report_gnuplot(FILE *f, const char *name, const struct perf_options *o,
		   const struct nanet3_info *info, const struct results *r);
