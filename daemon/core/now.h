/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks of the host: one for ages and time-outs, one for times in files, one for the processor
 * time of a thread. */
#ifndef DAEMON_CORE_NOW_H
#define DAEMON_CORE_NOW_H

#include <stdint.h>
#include <time.h>

static inline uint64_t now_mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t now_thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* UTC since 1970. */
static inline int64_t now_utc_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
