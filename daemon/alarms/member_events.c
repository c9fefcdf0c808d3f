/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of members of groups. See member_events.h. */
#include "daemon/alarms/member_events.h"

#include <stdio.h>
#include <string.h>

#include "daemon/core/text.h"

#define MINUTE_NS 60000000000ull

/* The change of a member; NULL: none that is an event. A row with another name is a new member. */
static const char *what_of(const struct member_status *then, const struct member_status *now)
{
	bool same = strcmp(then->name, now->name) == 0 && strcmp(then->group, now->group) == 0;
	bool was = same && then->state == MEMBER_ALIVE;

	if (now->state == MEMBER_ALIVE) {
		return was ? NULL : same ? "is back" : "is there";
	}
	if (was && now->state == MEMBER_SILENT) {
		return "is gone: it has given no sign of life";
	}
	return was && now->state == MEMBER_LEFT
		       ? "is gone: it has left, or its connection has ended"
		       : NULL;
}

static bool may_report(struct member_events *c, uint64_t now_ns)
{
	uint64_t *oldest = &c->reported_ns[c->reported % MEMBER_EVENTS_A_MINUTE];

	if (*oldest && now_ns - *oldest < MINUTE_NS) {
		c->left_out++;
		return false;
	}
	*oldest = now_ns;
	c->reported++;
	return true;
}

bool member_events_next(struct member_events *c, const struct publisher_status *now, bool quiet,
			uint64_t now_ns, struct member_event *ret_event)
{
	for (unsigned n = 0; n < now->members; n++) {
		const struct member_status *m = &now->member[n];
		const char *what = what_of(&c->seen[n], m);

		c->seen[n] = *m;
		if (!what || (quiet && m->state == MEMBER_ALIVE) || !may_report(c, now_ns)) {
			continue;
		}
		memcpy(ret_event->group, m->group, sizeof(ret_event->group));
		snprintf(ret_event->text, sizeof(ret_event->text), "member %s %s", m->name, what);
		if (c->left_out) {
			text_add(ret_event->text, sizeof(ret_event->text),
				 "; %llu more came or went before",
				 (unsigned long long)c->left_out);
			c->left_out = 0;
		}
		return true;
	}
	return false;
}

bool member_events_silent(const struct publisher_status *now, const char *group, uint64_t now_ns,
			  int64_t utc_ns, char *text, size_t size)
{
	const struct member_status *last = NULL;
	char since[32];

	for (unsigned n = 0; n < now->members; n++) {
		const struct member_status *m = &now->member[n];

		if (strcmp(m->group, group) == 0 &&
		    (!last || m->last_seen_ns > last->last_seen_ns)) {
			last = m;
		}
	}
	if (!last || last->state != MEMBER_SILENT) {
		return false;
	}
	text_utc(since, sizeof(since), utc_ns - (int64_t)(now_ns - last->last_seen_ns));
	snprintf(text, size, "%s has been silent since %s UTC", last->name, since);
	return true;
}
