// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The daemon's own beginning and end among the station's events, and what a predecessor left open there:
 * its alarms ended with it; what still stands begins anew.
 */
#include "daemon/station/lifecycle.h"

#include <stdio.h>
#include <string.h>

#include "daemon/alarms/judge.h"
#include "daemon/core/now.h"
#include "daemon/station/base.h"
#include "daemon/station/station.h"
#include "daemon/store/store.h"

#define TAKEOVER_NS 5000000000ull /* after our start all rings have told what became of them */

void lifecycle_restore(struct station *s, const struct store_past *past)
{
	s->life.crashed = past->crashed;
	for (unsigned n = 0; n < past->event_count; n++) {
		const struct store_event *e = &past->events[n];

		if (!judge_told(s->judge, e->code, e->object)) {
			store_put_event(s->store, "info", e->code, e->object,
					"ended with the daemon", "", s->started_utc_ns);
		}
	}
}

void lifecycle_takeover(struct station *s, unsigned link, bool taken_over)
{
	s->life.taken |= (unsigned)taken_over << link;
	s->life.anew |= (unsigned)!taken_over << link;
}

/* "; rings taken over: links 0, 2" */
static void list_links(const char *what, unsigned links, char *text, size_t size)
{
	size_t used = strlen(text);
	const char *before = "";

	if (!links || used >= size) {
		return;
	}
	used += (size_t)snprintf(text + used, size - used, "; %s: links", what);
	for (unsigned link = 0; link < NANET3_LINKS && used < size; link++) {
		if (links & 1u << link) {
			used += (size_t)snprintf(text + used, size - used, "%s %u", before, link);
			before = ",";
		}
	}
}

void lifecycle_second(struct station *s)
{
	char text[240];

	if (!s->restored || s->life.said ||
	    ((s->life.taken | s->life.anew) != station_links(s) &&
	     now_mono_ns() - s->started_ns < TAKEOVER_NS)) {
		return;
	}
	s->life.said = true;
	snprintf(text, sizeof(text), "fcm-server " FCM_VERSION " began%s",
		 s->life.crashed ? "; the one before it was ended from outside, or crashed" : "");
	list_links("rings taken over", s->life.taken, text, sizeof(text));
	list_links("rings begun anew", s->life.anew & ~s->life.taken, text, sizeof(text));
	store_put_event(s->store, "info", "daemon-start", "daemon", text, "", s->started_utc_ns);
}

void lifecycle_stop(struct station *s)
{
	store_put_event(s->store, "info", "daemon-stop", "daemon",
			"fcm-server " FCM_VERSION " ended as told", "", now_utc_ns());
}
