/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks of the host: one for ages and time-outs, one for times in files, one for the processor
 * time of a thread. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t now_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline uint64_t now_mono_ns(void)
{
	return (uint64_t)now_of(CLOCK_MONOTONIC);
}

static inline uint64_t now_thread_cpu_ns(void)
{
	return (uint64_t)now_of(CLOCK_THREAD_CPUTIME_ID);
}

/* UTC since 1970. */
static inline int64_t now_utc_ns(void)
{
	return now_of(CLOCK_REALTIME);
}
