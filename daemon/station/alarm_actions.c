// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports what has changed of alarms. See alarm_actions.h. */
#include "daemon/station/alarm_actions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/alarms/judge.h"
#include "daemon/control/control.h"
#include "daemon/control/json.h"
#include "daemon/core/log.h"
#include "daemon/core/text.h"
#include "daemon/station/base.h"
#include "daemon/station/station.h"
#include "daemon/store/store.h"

#define WATCHES_MAX	8u /* of one user or key */
#define SIGN_OF_LIFE_NS 5000000000ull

struct alarm_watcher {
	struct alarm_watcher *next;
	struct control_request *rq;
};

/* --- as JSON --- */

static json_t *hand_json(const struct alarm_hand *hand)
{
	return json_pack("{s:s,s:s,s:s,s:o}", "who", hand->who, "origin", hand->origin, "text",
			 hand->text, "time", json_time(hand->utc_ns));
}

static json_t *pause_json(const struct alarm *alarm)
{
	json_t *j;

	if (!alarm->paused_until_ns) {
		return json_null();
	}
	j = hand_json(&alarm->pause);
	json_object_set_new(j, "until", json_time(alarm->paused_until_ns));
	json_object_set_new(j, "covers",
			    json_string(alarm->paused_level == LEVEL_ALARM ? "red" : "warning"));
	return j;
}

/* How it was dealt with; the same in status and in alarm.list. */
static json_t *dealt_json(const struct alarm *alarm)
{
	char name[ALARM_OBJECT_BYTES + ALARM_CODE_BYTES];

	return json_pack(
		"{s:s,s:s,s:i,s:s,s:b,s:o,s:o,s:o}", "name", alarm_name(alarm, name, sizeof(name)),
		"standing", alarm_state_name(alarm->state), "count", (int)alarm->count, "highest",
		alarm->highest == LEVEL_ALARM ? "red" : "warning", "new",
		alarm_is_active(alarm) && !alarm->acknowledged && !alarm_is_paused(alarm), "over",
		alarm->state == ALARM_LATCHED ? json_time(alarm->over_ns) : json_null(),
		"acknowledged", alarm->acknowledged ? hand_json(&alarm->ack) : json_null(),
		"paused", pause_json(alarm));
}

json_t *alarm_actions_json(const struct alarm *alarm)
{
	const char *active = alarm->level == LEVEL_ALARM ? "red" : "warning";
	json_t *j =
		json_pack("{s:s,s:s,s:s,s:s,s:s,s:o}", "severity",
			  alarm_is_active(alarm) ? active : "info", "code", alarm->code, "object",
			  alarm->object, "text", alarm->text, "action", alarm->action, "since",
			  alarm_is_active(alarm) ? json_time(alarm->since_ns) : json_null());

	json_object_update_new(j, dealt_json(alarm));
	return j;
}

void alarm_actions_reason(json_t *reason, const struct alarm *alarm)
{
	if (alarm) {
		json_object_update_new(reason, dealt_json(alarm));
	}
}

/* 0: red, 1: a warning, 2: paused, 3: not active. */
static unsigned rank(const struct alarm *alarm)
{
	if (!alarm_is_active(alarm)) {
		return 3;
	}
	return alarm_is_paused(alarm) ? 2 : alarm->level != LEVEL_ALARM;
}

static int by_rank(const void *a, const void *b)
{
	const struct alarm *x = *(const struct alarm *const *)a;
	const struct alarm *y = *(const struct alarm *const *)b;
	int ranks = (int)rank(x) - (int)rank(y);

	return ranks ? ranks : (x->since_ns > y->since_ns) - (x->since_ns < y->since_ns);
}

json_t *alarm_actions_list(struct station *s)
{
	const struct alarm *all[ALARMS_MAX] = {NULL}, *e = NULL;
	json_t *list = json_array();
	unsigned count = 0;

	while ((e = alarms_next(judge_alarms(s->judge), e))) {
		all[count++] = e;
	}
	qsort(all, count, sizeof(all[0]), by_rank);
	for (unsigned n = 0; n < count; n++) {
		json_array_append_new(list, alarm_actions_json(all[n]));
	}
	return list;
}

/* --- what has changed --- */

static void keep(struct station *s, struct alarm *alarm)
{
	if (alarm_lasts(alarm)) {
		alarm->stored = true;
		store_put_alarm(s->store, alarm);
	} else if (alarm->stored) {
		alarm->stored = false;
		store_put_alarm_forget(s->store, alarm);
	}
}

/* An event of its own: one of the alarm's code would be read as its end. */
static void put_event(struct station *s, const struct alarm *alarm, const char *code,
		      const char *text)
{
	char name[ALARM_OBJECT_BYTES + ALARM_CODE_BYTES];

	alarm_name(alarm, name, sizeof(name));
	store_put_event(s->store, "info", code, name, text, "", now_utc_ns());
	log_event(LOG_NOTICE, "alarm", LOG_NO_LINK, LOG_ID_ALARM, "%s: %s", name, text);
}

/* The judge reports that it becomes active and clears. */
static void say_event(struct station *s, const struct alarm *alarm)
{
	const struct alarm_hand *ack = &alarm->ack, *pause = &alarm->pause;
	char text[400], until[32];

	switch (alarm->change) {
	case ALARM_ACKNOWLEDGED:
		snprintf(text, sizeof(text), "acknowledged by %s (%s)%s%s", ack->who, ack->origin,
			 ack->text[0] ? ": " : "", ack->text);
		put_event(s, alarm, "alarm-acknowledged", text);
		break;
	case ALARM_PAUSED:
		snprintf(text, sizeof(text), "paused until %s UTC by %s (%s)%s: %s",
			 text_utc(until, sizeof(until), alarm->paused_until_ns), pause->who,
			 pause->origin, alarm->paused_level == LEVEL_ALARM ? "" : ", as a warning",
			 pause->text);
		put_event(s, alarm, "alarm-paused", text);
		break;
	case ALARM_RESUMED:
		snprintf(text, sizeof(text), "no longer paused, by %s (%s)", pause->who,
			 pause->origin);
		put_event(s, alarm, "alarm-resumed", text);
		break;
	case ALARM_EXPIRED:
		snprintf(text, sizeof(text), "the pause by %s has expired: %s", pause->who,
			 pause->text);
		put_event(s, alarm, "alarm-resumed", text);
		break;
	default:
		break;
	}
}

static void forget_gone(struct station *s)
{
	struct alarm_watcher **at = &s->alarm_watchers, *w;

	while ((w = *at)) {
		if (control_alive(w->rq)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		control_answer(w->rq, NULL);
		free(w);
	}
}

static void tell_watchers(struct station *s, json_t *progress)
{
	forget_gone(s);
	for (struct alarm_watcher *w = s->alarm_watchers; w; w = w->next) {
		control_progress(w->rq, json_incref(progress));
	}
	json_decref(progress);
}

void alarm_actions_drain(struct station *s)
{
	struct alarm *e;

	while ((e = alarms_changed(judge_alarms(s->judge)))) {
		say_event(s, e);
		keep(s, e);
		if (s->alarm_watchers) {
			tell_watchers(s, json_pack("{s:s,s:o,s:o}", "change",
						   alarm_change_name(e->change), "time",
						   json_time(now_utc_ns()), "alarm",
						   alarm_actions_json(e)));
		}
		alarms_taken(e);
	}
}

/* --- those who watch --- */

void alarm_actions_watch(struct station *s, struct control_request *rq)
{
	struct alarm_watcher *w;
	unsigned watches = 0;

	forget_gone(s);
	for (w = s->alarm_watchers; w; w = w->next) {
		watches += control_same_peer(w->rq, rq);
	}
	w = watches < WATCHES_MAX ? calloc(1, sizeof(*w)) : NULL;
	if (!w) {
		control_fail(rq, "refused", "one that watches may tell the others; end one",
			     control_detail(DETAIL_WATCHES),
			     "%s watches the alarms %u times already, which is all that one user "
			     "or key may",
			     control_peer(rq)->who, watches);
		return;
	}
	*w = (struct alarm_watcher){.next = s->alarm_watchers, .rq = rq};
	s->alarm_watchers = w;
	control_subscribe(rq);
	control_progress(rq, json_pack("{s:s,s:o,s:o}", "change", "snapshot", "time",
				       json_time(now_utc_ns()), "alarms", alarm_actions_list(s)));
}

void alarm_actions_second(struct station *s)
{
	uint64_t now = now_mono_ns();

	if (now - s->alarms_alive_ns < SIGN_OF_LIFE_NS) {
		return;
	}
	s->alarms_alive_ns = now;
	tell_watchers(s,
		      json_pack("{s:s,s:o}", "change", "alive", "time", json_time(now_utc_ns())));
}

void alarm_actions_restore(struct station *s, const struct store_past *past)
{
	struct engine_now now = station_now();

	for (size_t n = 0; n < past->alarm_count; n++) {
		const struct alarm *old = &past->alarms[n];
		const struct alarm *ours =
			alarms_find(judge_alarms(s->judge), old->object, old->code);

		if (!ours || !(ours->acknowledged || ours->paused_until_ns)) {
			/* If it is active, it is observed again at once. */
			alarms_recover(judge_alarms(s->judge), old, now);
		}
	}
}

void alarm_actions_stop(struct station *s)
{
	struct alarm_watcher *w;

	while ((w = s->alarm_watchers)) {
		s->alarm_watchers = w->next;
		control_fail(w->rq, "unknown", "watch again when it is back", NULL,
			     "the daemon was stopped");
		free(w);
	}
}
