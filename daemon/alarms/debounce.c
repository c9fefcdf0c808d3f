// SPDX-License-Identifier: GPL-2.0-or-later
/* Debouncing of reasons. See debounce.h. */
#include "daemon/alarms/debounce.h"

#include <stdio.h>
#include <string.h>

static bool is(const struct debounce_reason *e, const char *code, const char *object)
{
	return e->since_ns && strcmp(e->code, code) == 0 && strcmp(e->object, object) == 0;
}

struct debounce_reason *debounce_see(struct debounce *t, const char *code, const char *object,
				     uint64_t hold_ns, uint32_t parts, uint64_t now_ns)
{
	struct debounce_reason *e = NULL, *k = t->reason;

	while (k < t->reason + DEBOUNCE_MAX && !is(k, code, object)) {
		e = e || k->since_ns ? e : k; /* the first that is free */
		k++;
	}
	e = k < t->reason + DEBOUNCE_MAX ? k : e;
	if (!e) {
		return NULL;
	}
	/* One that was not active yet when it disappeared starts again. */
	if (!e->since_ns || (!debounce_is_active(e) && now_ns - e->seen_ns > e->hold_ns / 2)) {
		memset(e, 0, sizeof(*e));
		snprintf(e->code, sizeof(e->code), "%s", code);
		snprintf(e->object, sizeof(e->object), "%s", object);
		e->since_ns = now_ns;
	}
	e->hold_ns = hold_ns;
	e->seen_ns = now_ns;
	e->parts = parts;
	e->reported_parts &= parts; /* a part that comes back is reported again */
	return e;
}

bool debounce_is_active(const struct debounce_reason *e)
{
	return e->seen_ns - e->since_ns >= e->hold_ns;
}

bool debounce_report(struct debounce_reason *e)
{
	bool due = debounce_is_active(e) && (!e->reported || (e->parts & ~e->reported_parts));

	if (due) {
		e->reported = true;
		e->reported_parts = e->parts;
	}
	return due;
}

bool debounce_is_reported(const struct debounce *t, const char *code, const char *object)
{
	for (const struct debounce_reason *e = t->reason; e < t->reason + DEBOUNCE_MAX; e++) {
		if (is(e, code, object)) {
			return e->reported;
		}
	}
	return false;
}

struct debounce_reason *debounce_next_cleared(struct debounce *t,
					      const struct debounce_reason *after, uint64_t now_ns)
{
	struct debounce_reason *e = after ? &t->reason[after - t->reason + 1] : t->reason;

	for (; e < t->reason + DEBOUNCE_MAX; e++) {
		if (e->since_ns && e->seen_ns != now_ns && now_ns - e->seen_ns >= e->hold_ns) {
			return e;
		}
	}
	return NULL;
}

void debounce_forget(struct debounce_reason *e)
{
	e->since_ns = 0;
}
