/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The measurements, one a command. Both modes of waiting are measured in turn, in one run, so that what
 * else the machine does meets both.
 *
 *   latency.c      one put at a time: from the call to the event that it has arrived
 *   bandwidth.c    many puts in flight, several for a doorbell
 *   sizes.c        what these two have in common
 *   receive.c      data of a link: from the board's hand-over to the reader
 *   translation.c  what the board's address translation takes
 *   check.c        the self-test on a board
 */
#ifndef PERF_MEASURE_H
#define PERF_MEASURE_H

#include <stdbool.h>

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

/* sizes.c: one_size() for each power of two of the range, or of the one that was asked for, in bytes; both
 * buffers have room for the largest. */
struct sizes {
	uint64_t low, high;
	int (*one_size)(const struct perf_options *o, struct loopback *l, uint64_t size,
			struct results *r);
};
int measure_sizes(const struct perf_options *o, struct nanet3 *b, struct results *r,
		  const struct sizes *sizes);

/* latency.c: what receive.c tells in the same way. Sorts the samples. */
extern const struct table latency_figures, latency_histogram;
int latency_tell(struct results *r, enum perf_mode mode, uint64_t size, struct samples *samples);

#endif
