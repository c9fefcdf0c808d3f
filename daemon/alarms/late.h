/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a regular tick came late: this process did not get the CPU, the board did not answer, or the main thread was busy.
 * Only the first is the machine's fault. No I/O.
 */
#pragma once

#include <stdint.h>

#define LATE_NS 500000000ull /* less is not late */

enum late { LATE_NOT, LATE_MACHINE, LATE_BOARD, LATE_BUSY };

/* Sums at a tick; all zero: there was no tick yet. */
struct late_tick {
	uint64_t mono_ns;  /* CLOCK_MONOTONIC */
	uint64_t cpu_ns;   /* CPU time of this thread */
	uint64_t board_ns; /* time spent waiting for the board's answers */
};

/* When it last happened; 0: never. */
struct lateness {
	uint64_t ns, at_ns;  /* the machine did not run us: how long, when */
	uint64_t held_at_ns; /* the board or other work blocked us */
};

/* *ret_ns: how much of the delay has that cause; untouched with LATE_NOT. */
static inline enum late late_judge(const struct late_tick *before, const struct late_tick *now,
				   uint64_t *ret_ns)
{
	uint64_t all = now->mono_ns - before->mono_ns;
	uint64_t cpu = now->cpu_ns - before->cpu_ns, board = now->board_ns - before->board_ns;
	uint64_t machine = all > cpu + board ? all - cpu - board : 0;

	if (!before->mono_ns || all <= LATE_NS) {
		return LATE_NOT;
	}
	if (machine > LATE_NS) {
		*ret_ns = machine;
		return LATE_MACHINE;
	}
	*ret_ns = board > cpu ? board : cpu;
	return board > cpu ? LATE_BOARD : LATE_BUSY;
}
