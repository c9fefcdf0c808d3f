/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command line of nanet3-perf. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/perf/loopback.h"

#define PERF_SIZE_MAX ((uint64_t)64 << 20)

enum perf_format { PERF_TEXT, PERF_JSON, PERF_CSV };

struct nanet3;
struct perf_options;
struct results;

struct perf_command {
	const char *name;
	int (*measure)(const struct perf_options *o, struct nanet3 *b,
		       struct results *r); /* measure.h */
	bool sized, drawn;		   /* takes --size and --sizes; --gnuplot */
};

struct perf_options {
	const struct perf_command *command;
	char where[128];	/* for nanet3_open() */
	bool modes[PERF_MODES]; /* measured, in turn */
	uint64_t size_low,
		size_high; /* packet sizes: powers of two times the low one; 0: not given */
	uint64_t count;	   /* puts, buffers, batches; 0: not given */
	uint64_t seed;
	unsigned link;
	enum perf_format format;
	const char *gnuplot; /* NULL: none */
};

/* 0, 1 when help or version was asked for and printed, or -EINVAL and *ret_error says why. */
int perf_options_parse(int argc, char **argv, struct perf_options *ret_options, char *ret_error,
		       size_t error_size);
