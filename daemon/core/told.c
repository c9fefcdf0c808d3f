/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See told.h. */
#include "daemon/core/told.h"

#define AGAIN_NS 60000000000ull

uint64_t told_news(struct told_count *t, uint64_t count, uint64_t now_ns)
{
	uint64_t more = count - t->count;

	if (more == 0 || (t->at_ns && now_ns - t->at_ns < AGAIN_NS)) {
		return 0;
	}
	t->count = count;
	t->at_ns = now_ns;
	return more;
}
