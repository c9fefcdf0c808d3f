/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rate of acknowledged blocks, over the last second. No I/O. */
#pragma once

#include <stdint.h>

struct rate {
	uint64_t since_ns, blocks, bytes; /* as they stood then; since 0: not yet */
	double blocks_per_s, bytes_per_s;
};

/* As often as one likes. `blocks`, `bytes`: sums that only grow. */
static inline void rate_step(struct rate *r, uint64_t blocks, uint64_t bytes, uint64_t now_ns)
{
	double seconds = (double)(now_ns - r->since_ns) / 1e9;

	if (r->since_ns && seconds < 1) {
		return;
	}
	if (r->since_ns) {
		r->blocks_per_s = (double)(blocks - r->blocks) / seconds;
		r->bytes_per_s = (double)(bytes - r->bytes) / seconds;
	}
	r->since_ns = now_ns;
	r->blocks = blocks;
	r->bytes = bytes;
}
