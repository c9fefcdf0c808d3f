/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A count that is told of by events, and somebody outside may raise as he likes: told once a minute. */
#ifndef DAEMON_CORE_TOLD_H
#define DAEMON_CORE_TOLD_H

#include <stdint.h>

struct told_count {
	uint64_t count, at_ns; /* as it was last told; 0: never */
};

/* By how much `count` is more than was told last, if it may be told now (CLOCK_MONOTONIC); else 0. */
uint64_t told_news(struct told_count *t, uint64_t count, uint64_t now_ns);

#endif
