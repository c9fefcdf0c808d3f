/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Real time, for libnanet3 and the programs of this folder. */
#ifndef NANET3_NOW_H
#define NANET3_NOW_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in ns. */
static inline uint64_t nanet3_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
