/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A counter that peers can raise at any rate: its growth is reported at most once a minute. */
#ifndef DAEMON_CORE_TOLD_H
#define DAEMON_CORE_TOLD_H

#include <stdint.h>

#define TOLD_AGAIN_NS 60000000000ull

struct told_count {
	uint64_t count, at_ns; /* as last reported; 0: never */
};

/* By how much `count` has grown since the last report, if a report is allowed at `now_ns` (CLOCK_MONOTONIC); else 0. */
static inline uint64_t told_news(struct told_count *t, uint64_t count, uint64_t now_ns)
{
	uint64_t more = count - t->count;

	if (more == 0 || (t->at_ns && now_ns - t->at_ns < TOLD_AGAIN_NS)) {
		return 0;
	}
	t->count = count;
	t->at_ns = now_ns;
	return more;
}

#endif
