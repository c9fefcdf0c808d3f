// SPDX-License-Identifier: GPL-2.0-or-later
/* The silence timers of the floors. See silence.h. */
#include "daemon/alarms/silence.h"

#include <stdio.h>
#include <string.h>

#include "daemon/core/text.h"

const char *silence_timer_name(enum silence_timer timer)
{
	static const char *const names[] = {"unknown", "none", "off", "on"};

	return names[timer];
}

static const struct param *find(struct params *p, unsigned link, const char *section)
{
	for (unsigned n = 0; n < params_count(p); n++) {
		const struct param *q = params_at(p, n);

		if (q->link == (int)link && strcmp(q->kind->section, section) == 0) {
			return q;
		}
	}
	return NULL;
}

static enum silence_timer timer_of(const struct param *p, uint64_t mono_ns)
{
	switch (p ? param_quality(p, mono_ns) : PARAM_NEVER) {
	case PARAM_GOOD:
		return p->value != 0 ? SILENCE_ON : SILENCE_OFF;
	case PARAM_BAD:
		return SILENCE_NONE;
	default:
		return SILENCE_UNKNOWN;
	}
}

void silence_get(struct params *p, unsigned link, uint64_t mono_ns, struct silence_view *ret_view)
{
	const struct param *limit = find(p, link, "fcm.silence_time");
	const struct param *fired = find(p, link, "fcm.silenced");
	const struct param *ago = find(p, link, "fcm.silenced_ago");

	*ret_view = (struct silence_view){
		.timer = timer_of(find(p, link, "fcm.silence_timer"), mono_ns),
		.time_s = -1,
	};
	if (limit && param_quality(limit, mono_ns) == PARAM_GOOD) {
		ret_view->time_s = (int32_t)limit->value;
	}
	if (fired && fired->has_value && fired->value > 0) {
		ret_view->fired = (uint32_t)fired->value;
	}
	/* 0 may have been read before it fired. */
	if (ret_view->fired && ago && ago->has_value && ago->value > 0) {
		ret_view->fired_ns = ago->time_ns - (int64_t)(ago->value * 1e9);
	}
}

const char silence_advice[] =
	"find out why the shore was silent: fcmctl event list; then, if light and modules allow "
	"it: fcmctl set 'floorN.om*.hv' VOLTS, or apply a plan; then fcmctl set "
	"floorN.fcm.silence_timer on (or off), which ends this";

void silence_say(const struct silence_view *v, char *text, size_t size)
{
	char date[32], when[40] = "", times[40] = "";

	if (v->fired_ns) {
		snprintf(when, sizeof(when), " at %s UTC",
			 text_utc(date, sizeof(date), v->fired_ns));
	}
	if (v->fired > 1) {
		snprintf(times, sizeof(times), " (%u times by now)", v->fired);
	}
	snprintf(text, size,
		 "the FCM received no word from the shore, and its silence timer ramped the high "
		 "voltage of its modules down%s%s; their set values are 0 until they are set again",
		 when, times);
}
