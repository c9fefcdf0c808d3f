/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes results: as text, as JSON, as CSV, and as a file that gnuplot draws. */
#pragma once

#include <stdio.h>

#include "driver/perf/measure.h"

/* 0 or -errno. */
int report_write(FILE *f, const struct perf_options *o, const struct nanet3_info *info,
		 const struct results *r);
/* Data and script in one; it draws `name`.svg. A self-test has nothing to draw: -EINVAL. */
int report_gnuplot(FILE *f, const char *name, const struct perf_options *o,
		   const struct nanet3_info *info, const struct results *r);
