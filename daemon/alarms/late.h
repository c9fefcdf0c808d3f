/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a regular tick came late: the machine did not let us run, the board kept us waiting for an answer,
 * or we were busy with something else. Only the first is the machine's doing. Pure.
 */
#pragma once

#include <stdint.h>

#define LATE_NS 500000000ull /* less is not worth a word */

enum late { LATE_NOT, LATE_MACHINE, LATE_BOARD, LATE_BUSY };

/* Sums as they stand at a tick; all zero: there was none yet. */
struct late_tick {
	uint64_t mono_ns;  /* CLOCK_MONOTONIC */
	uint64_t cpu_ns;   /* what this thread has used */
	uint64_t board_ns; /* what it has waited for the board's answers */
};

/* *ret_ns: of that cause; untouched by LATE_NOT. */
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
