// SPDX-License-Identifier: GPL-2.0-or-later
/* A reason, an event, an advice: what all files of reasons use. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/alarms/private.h"
#include "daemon/alarms/reason_kinds.h"

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
	uint64_t at = j->v->late_at_ns > j->v->held_at_ns ? j->v->late_at_ns : j->v->held_at_ns;

	return at && j->v->now_ns - at < 3 * LINK_SILENT_NS;
}

double judge_seconds_since(const struct judge *j, uint64_t then_ns)
{
	return then_ns < j->v->now_ns ? (double)(j->v->now_ns - then_ns) / 1e9 : 0;
}

/* --- words --- */

bool judge_is_feed(const struct judge *j, unsigned group)
{
	return j->v->publisher->has_feed && group + 1 == j->v->publisher->groups;
}

const char *advise(struct advice *a, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(a->text, sizeof(a->text), format, ap);
	va_end(ap);
	return a->text;
}

void reasons_name_objects(const char *which, const char *advice, char *text, size_t size)
{
	static const char any[] = "floorN.";
	const char *quote = strchr(which, '[') ? "'" : "";
	size_t used = 0;

	*text = '\0';
	while (*advice && used < size) {
		const char *at = strstr(advice, any);
		size_t before = at ? (size_t)(at - advice) : strlen(advice);
		const char *rest;

		used += (size_t)snprintf(text + used, size - used, "%.*s", (int)before, advice);
		if (!at || used >= size) {
			return;
		}
		at += strlen(any);
		rest = at + strcspn(at, ". ;,:");
		advice = rest + strcspn(rest, " ;,:");
		used += (size_t)snprintf(text + used, size - used, "%s%s%.*s%s", quote, which,
					 (int)(advice - rest), rest, quote);
	}
}

/* --- events --- */

void judge_log_event(struct judge *j, const char *severity, const char *code, const char *object,
		     const char *text, const char *action, const char *log, int link)
{
	struct judge_event event = {.severity = severity,
				    .code = code,
				    .object = object,
				    .text = text,
				    .action = action,
				    .log = log,
				    .link = link};

	j->ops.event(j->ops.context, &event);
}

void judge_put_event(struct judge *j, const char *severity, const char *code, const char *object,
		     const char *text, const char *action)
{
	judge_log_event(j, severity, code, object, text, action, NULL, JUDGE_NO_LINK);
}

/* --- reasons --- */

static struct judge_reason *list_room(struct judge *j)
{
	if (j->count == j->room) {
		size_t room = j->room ? 2 * j->room : 64;
		struct judge_reason *list = realloc(j->list, room * sizeof(*list));

		if (!list) {
			return NULL;
		}
		j->list = list;
		j->room = room;
	}
	return &j->list[j->count++];
}

void judge_list(struct judge *j, const struct what *w, const char *text, const struct alarm *alarm,
		int64_t since_ns)
{
	bool red = alarm ? alarm->level == LEVEL_ALARM : w->red;
	struct judge_reason *r = list_room(j);

	j->red += red && !(alarm && alarm_is_paused(alarm));
	if (!r) {
		return; /* no memory: it counts, and is told by its event */
	}
	*r = (struct judge_reason){
		.red = red, .since_ns = alarm ? alarm->since_ns : since_ns, .alarm = alarm};
	snprintf(r->code, sizeof(r->code), "%s", w->code);
	snprintf(r->object, sizeof(r->object), "%s", w->object);
	snprintf(r->text, sizeof(r->text), "%s", text);
	snprintf(r->action, sizeof(r->action), "%s", w->action);
}

void reasons_add_parts(struct judge *j, const struct what *w, const char *text)
{
	const struct reason_kind *kind = reason_kind(w->code);
	struct debounce_reason *e = debounce_see(&j->debounce, w->code, w->object,
						 kind ? kind->hold_ns : 0, w->parts, j->v->now_ns);
	struct alarm_sight sight = {.object = w->object,
				    .code = w->code,
				    .text = text,
				    .action = w->action,
				    .level = w->red ? LEVEL_ALARM : LEVEL_WARNING,
				    .latch = w->latch,
				    .parts = w->parts};
	int64_t since_ns = j->v->utc_ns;
	bool told;

	if (e) {
		e->link = (int8_t)w->link;
		since_ns -= (int64_t)(j->v->now_ns - e->since_ns - e->hold_ns);
	}
	if (e && !debounce_begun(e)) {
		return;
	}
	/* Events caused by our own start are suppressed; what has outlived a daemon is none of them. */
	told = e && (!judge_fresh_start(j) || (kind && kind->outlives)) && debounce_tell(e);
	if (told && !(kind && kind->quiet)) {
		judge_put_event(j, w->red ? "alarm" : "warning", w->code, w->object, text,
				w->action);
	}
	/* A full ring is no matter of its link, nor is there time for a black box. */
	if (told && w->red && w->link >= 0 && strcmp(w->code, "ring-fill") != 0) {
		j->ops.box(j->ops.context, (unsigned)w->link, w->code, text);
	}
	judge_list(j, w, text, e ? alarms_see(j->alarms, &sight, judge_now(j)) : NULL, since_ns);
}

void reasons_add(struct judge *j, bool red, const char *code, const char *object,
		 const char *action, const char *format, ...)
{
	struct what w = {.red = red,
			 .code = code,
			 .object = object,
			 .action = action,
			 .link = JUDGE_NO_LINK};
	char text[ALARM_TEXT_BYTES];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	reasons_add_parts(j, &w, text);
}

void reasons_add_link(struct judge *j, bool red, const char *code, unsigned link,
		      const char *action, const char *format, ...)
{
	char object[16], text[ALARM_TEXT_BYTES];
	struct what w = {
		.red = red, .code = code, .object = object, .action = action, .link = (int)link};
	va_list ap;

	snprintf(object, sizeof(object), "link%u", link);
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	reasons_add_parts(j, &w, text);
}
