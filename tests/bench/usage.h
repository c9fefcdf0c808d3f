/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the benchmark programs say about themselves: time, CPU time, latencies as JSON. */
#pragma once

#include <stdint.h>

#include "driver/perf/statistics.h"

/* CLOCK_MONOTONIC, the clock of the driver's stamps too. */
uint64_t bench_now_ns(void);
/* CPU time of this process so far, user and system, all threads. */
double bench_cpu_s(void);
/* To stdout, an object: n, and in us p50, p99, p999, max and the histogram [[below, samples], ...] by
 * octaves. Sorts the samples. */
void bench_print_latency(struct samples *s);
