// SPDX-License-Identifier: GPL-2.0-or-later
/* An observation, an event, words: what all files of reasons use. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/alarms/private.h"
#include "daemon/core/text.h"
#include "daemon/incidents/reason_kinds.h"

/* --- time --- */

struct engine_now judge_now(const struct judge *j)
{
	return (struct engine_now){j->v->now_ns, j->v->utc_ns};
}

bool judge_fresh_start(const struct judge *j)
{
	return j->v->now_ns - j->v->started_ns < START_GRACE_NS;
}

bool judge_just_late(const struct judge *j)
{
	uint64_t at =
		j->v->late.at_ns > j->v->late.held_at_ns ? j->v->late.at_ns : j->v->late.held_at_ns;

	return at && j->v->now_ns - at < 3 * LINK_SILENT_NS;
}

double judge_seconds_since(const struct judge *j, uint64_t then_ns)
{
	return then_ns < j->v->now_ns ? (double)(j->v->now_ns - then_ns) / 1e9 : 0;
}

bool judge_is_feed(const struct judge *j, unsigned group)
{
	return j->v->publisher->has_feed && group + 1 == j->v->publisher->groups;
}

/* --- events --- */

void judge_put_event(struct judge *j, const char *severity, const char *code,
		     struct alarm_object object, const char *text, const char *action,
		     const char *log)
{
	char name[ALARM_OBJECT_BYTES];
	struct judge_event event = {.severity = severity,
				    .code = code,
				    .object = object_name(&object, name, sizeof(name)),
				    .text = text,
				    .action = action,
				    .log = log,
				    .link = object.link};

	j->ops.event(j->ops.context, &event);
}

/* --- observations --- */

/* The modules that see nothing while it is true. */
static void add_dark(const struct judge *j, const struct reason_kind *kind, struct observation *o)
{
	uint8_t modules = (uint8_t)(kind->dark == DARK_ALL ? (1u << PARAM_OM_COUNT) - 1 : o->parts);

	for (unsigned link = 0; kind->dark && link < NANET3_LINKS; link++) {
		if (j->v->link[link].enabled &&
		    (o->object.link < 0 || o->object.link == (int)link)) {
			o->much.dark[link] |= modules;
		}
	}
}

bool judge_has_own(const char *text, const char *did)
{
	char cut[60], named[sizeof(cut) + sizeof(" at ")];

	snprintf(cut, sizeof(cut), "%s", did);
	text_whole(cut);
	snprintf(named, sizeof(named), "%s at ", cut);
	return strstr(text, named) != NULL;
}

void judge_add_own(char *text, const char *did, int64_t utc_ns)
{
	char date[32], cut[60];

	snprintf(cut, sizeof(cut), "%s", did);
	text_whole(cut);
	text_utc(date, sizeof(date), utc_ns);
	text_list(text, OWN_BYTES, "%s at %s", cut, date + strlen("2026-11-22 "));
	text_whole(text);
}

const char *judge_own_command(const struct judge *j, unsigned link, uint64_t since_ns)
{
	const struct judge_own *own = &j->own[link];
	bool near = own->first_ns <= since_ns + OWN_NS && since_ns <= own->last_ns + OWN_NS;

	return own->last_ns && near ? own->text : NULL;
}

void judge_explain(struct judge *j, struct observation o, const struct alarm *alarm)
{
	const struct reason_kind *kind = reason_kind(o.code);

	if (kind) {
		add_dark(j, kind, &o);
	}
	if (o.object.link >= 0 && !o.own) {
		o.own = judge_own_command(j, (unsigned)o.object.link, o.since_ns);
	}
	if (alarm) {
		o.red = alarm->level == LEVEL_ALARM;
		o.paused = alarm_is_paused(alarm);
		o.acknowledged = alarm->acknowledged ? &alarm->ack : NULL;
	}
	if (o.past) {
		incidents_hold(j->incidents, &o, j->v->now_ns);
	} else {
		incidents_see(j->incidents, &o, j->v->now_ns);
	}
}

/* It is active: reported if that is new, then passed to alarms and incidents. */
static void observed(struct judge *j, struct observation *o, struct debounce_reason *e,
		     const char *object)
{
	const struct reason_kind *kind = reason_kind(o->code);
	struct alarm_sight sight = {.object = object,
				    .code = o->code,
				    .text = o->text,
				    .action = o->action,
				    .level = o->red ? LEVEL_ALARM : LEVEL_WARNING,
				    .latch = o->latch,
				    .parts = o->parts};
	const struct alarm *alarm;
	bool report;

	/* Events caused by our own start are suppressed, except of kinds that outlive the daemon. */
	report = e && (!judge_fresh_start(j) || (kind && kind->outlives)) && debounce_report(e);
	if (report && !(kind && kind->quiet) &&
	    !incidents_come_and_go(j->incidents, o->code, object)) {
		judge_put_event(j, o->red ? "red" : "warning", o->code, o->object, o->text,
				o->action, NULL);
	}
	/* A full ring is not caused by its link, and a black box would take too long. */
	if (report && o->red && o->object.of == OF_LINK && strcmp(o->code, "ring-fill") != 0) {
		j->ops.box(j->ops.context, (unsigned)o->object.link, o->code, o->text);
	}
	alarm = e ? alarms_see(j->alarms, &sight, judge_now(j)) : NULL;
	if (!o->past || (kind && kind->stays)) {
		o->since_ns = o->since_ns ? o->since_ns : e ? e->since_ns : j->v->now_ns;
		judge_explain(j, *o, alarm);
	}
}

void observe(struct judge *j, const struct observation *o, const char *format, ...)
{
	const struct reason_kind *kind = reason_kind(o->code);
	char object[ALARM_OBJECT_BYTES], text[ALARM_TEXT_BYTES], action[ALARM_TEXT_BYTES];
	struct observation shown = *o;
	struct debounce_reason *e;
	va_list ap;

	e = debounce_see(&j->debounce, o->code, object_name(&o->object, object, sizeof(object)),
			 kind ? kind->hold_ns : 0, o->parts, j->v->now_ns);
	if (e) {
		e->of = o->object;
		/* The caller's name may be temporary. `object` ends with it. */
		if (o->object.name) {
			e->of.name = e->object + strlen(e->object) - strlen(o->object.name);
		}
		if (!debounce_is_active(e)) {
			return;
		}
	}
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	observation_advice(o, action, sizeof(action));
	shown.text = text;
	shown.action = action;
	observed(j, &shown, e, object);
}
