/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lives of reasons: since when each stands, whether its beginning was told, when it is over. Known by
 * code and object. A reason with a hold has to be seen for so long before it begins, and to be away for
 * so long before it is over: what comes for a tenth of a second and goes again is none. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/alarms/observation.h"

#define DEBOUNCE_MAX 256u

struct debounce_reason {
	char code[32], object[64];
	struct alarm_object of;		     /* the object, as its caller knows it */
	uint64_t since_ns, seen_ns, hold_ns; /* CLOCK_MONOTONIC; since 0: free */
	uint32_t parts;			     /* of the object, as seen last; its own numbers */
	uint32_t told_parts;
	bool told;
};

struct debounce {
	struct debounce_reason reason[DEBOUNCE_MAX];
};

/* It is seen now. NULL: no room, then it stands without a memory. */
struct debounce_reason *debounce_see(struct debounce *t, const char *code, const char *object,
				     uint64_t hold_ns, uint32_t parts, uint64_t now_ns);
/* It has held long enough. */
bool debounce_begun(const struct debounce_reason *e);
/* True once: at its beginning, and when a part is new. */
bool debounce_tell(struct debounce_reason *e);
/* It has been told, and is not over. */
bool debounce_told(const struct debounce *t, const char *code, const char *object);
/* One that is over, behind `after` (NULL: the first); NULL: no more. The caller forgets it, or keeps it. */
struct debounce_reason *debounce_over(struct debounce *t, const struct debounce_reason *after,
				      uint64_t now_ns);
void debounce_forget(struct debounce_reason *e);
