/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debouncing of reasons. Each pair of code and object has an entry: since when it is true, whether it was reported, when
 * it clears. A reason with a hold time becomes active when it has been true for that time, and clears when it has been
 * false for that time. So a short flicker is no reason. No I/O.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/incidents/observation.h"

#define DEBOUNCE_MAX 256u

struct debounce_reason {
	char code[32], object[64];
	struct alarm_object of;		     /* `name` points into this entry */
	uint64_t since_ns, seen_ns, hold_ns; /* CLOCK_MONOTONIC; since 0: free */
	uint32_t parts;			     /* of the object, as last seen */
	uint32_t reported_parts;
	bool reported;
};

struct debounce {
	struct debounce_reason reason[DEBOUNCE_MAX];
};

/* It is true now. NULL: the table is full; then it is shown, but without its start time. */
struct debounce_reason *debounce_see(struct debounce *t, const char *code, const char *object,
				     uint64_t hold_ns, uint32_t parts, uint64_t now_ns);
/* It has been true for its hold time. */
bool debounce_is_active(const struct debounce_reason *e);
/* Whether it is to be reported now: once when it becomes active, and again when it has a new part. */
bool debounce_report(struct debounce_reason *e);
/* It was reported, and has not cleared. */
bool debounce_is_reported(const struct debounce *t, const char *code, const char *object);
/* The next entry after `after` (NULL: the first) that has cleared; NULL: no more. The caller calls debounce_forget(), or
 * keeps it as active. */
struct debounce_reason *debounce_next_cleared(struct debounce *t,
					      const struct debounce_reason *after, uint64_t now_ns);
void debounce_forget(struct debounce_reason *e);
