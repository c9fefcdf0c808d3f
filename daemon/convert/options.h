/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of fcm-convert. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	EXIT_DONE = 0,
	EXIT_MISSING = 1, /* done; data are missing or damaged in the input */
	EXIT_USAGE = 2,
	EXIT_REFUSED = 3, /* or nothing came: nothing was written */
	EXIT_FAILED = 4,  /* the output is complete up to a slice */
	EXIT_STOPPED = 5, /* likewise, by a signal */
};

/* A time as it was typed: of the input it may need to know when that begins. */
struct when {
	bool given, relative;
	int64_t ns; /* after the beginning; or TAI, or UTC since 1970 */
	bool utc;
};

struct options {
	const char *input, *output, *to;
	bool one_run, all_runs;
	uint32_t run;
	struct when from, until;
	unsigned links, streams; /* bit masks; streams 0: those of the kind of output */
	bool cells, resume, force, quiet;
	double seconds; /* live */
	double save_s;	/* between commits */
	unsigned threads;
	const char *station, *server_key, *key_file;
};

/* 0: go on; 1: it printed what was asked for; EXIT_USAGE: what is wrong was said. */
int options_parse(int argc, char **argv, struct options *ret_options);

/* For the tests. "+10", "tai:1764244800000000000", "2026-11-27T12:00:00.5". */
bool options_when(const char *text, struct when *ret_when);
