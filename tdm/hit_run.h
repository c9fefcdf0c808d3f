/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fast walk over all hits of a slot, or of two slots in parallel, as long as no hit is faulty: the
 * same as hit.h does hit by hit. It determines half of the cost of demultiplexing
 * (tests/bench/README.md).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hit_run {
	const uint8_t *from; /* the hits; HIT_HEADER_BYTES behind them may be read, too */
	uint8_t *copy;	     /* the same bytes, where headers are stamped */
	uint32_t bytes;
	/* What was found: */
	uint32_t hits; /* whole ones */
	uint32_t left; /* bytes behind the last whole one, which are part of one */
	uint32_t earliest,
		latest; /* FrameCounter << 16 | T5ns, as `born` of hit.h; with hits > 0 */
};

/*
 * Walk `n` runs, one or two, and stamp the headers in their copies with `stamp_bits`
 * (hit_walk_stamp_bits()). All hits must be hit_legal(), also one of which only the header is there.
 * False: one is not, or this processor has no AVX. Then headers in the copies may have been
 * stamped, and the results are invalid.
 */
bool hit_run(struct hit_run *runs, unsigned n, uint64_t stamp_bits);
