/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What nanet3-perf measures puts with: two buffers registered with the board, and puts that copy from one to the
 * other. There are two ways to wait for a put's completion: asleep until the driver wakes the program (interrupt), or
 * in a loop on the event queue that is mapped into the program (polling, no system call). Errors are negative errno.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "driver/lib/libnanet3.h"
#include "driver/now.h"

enum perf_mode { PERF_INTERRUPT, PERF_POLLING, PERF_MODES };

struct loopback {
	struct nanet3 *board;
	uint8_t *source, *destination; /* page-aligned */
	size_t bytes;		       /* of each */
	uint32_t source_id, destination_id;
	uint64_t cookie; /* of the last put */
};

const char *perf_mode_name(enum perf_mode mode);

/* `board` stays the caller's. */
int loopback_create(struct nanet3 *board, size_t bytes, struct loopback *ret_loopback);
void loopback_destroy(struct loopback *l);

/* Post a put; its cookie is l->cookie, one more than the last. */
int loopback_put(struct loopback *l, uint64_t from, uint64_t to, uint64_t length, uint32_t flags);
/* Wait for the next put to arrive, whichever. -EIO when the board could not translate its address and
 * `fault_expected` is false; -ETIMEDOUT after two seconds. */
int loopback_arrival(struct loopback *l, enum perf_mode mode, bool fault_expected,
		     uint64_t *ret_cookie);
/* The same for the last put of all. */
int loopback_settle(struct loopback *l, enum perf_mode mode, bool fault_expected);
/* A put and its arrival. */
int loopback_move(struct loopback *l, enum perf_mode mode, uint64_t from, uint64_t to,
		  uint64_t length);
