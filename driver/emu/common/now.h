/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Real time, for the hosts: model time is paced against it. */
#pragma once

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in ns. */
static inline uint64_t emu_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The board's delay(): too short for a sleep. */
static inline void emu_spin(void *context, uint32_t ns)
{
	const uint64_t until = emu_now_ns() + ns;

	while (emu_now_ns() < until) {
	}
}
