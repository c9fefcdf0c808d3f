// SPDX-License-Identifier: GPL-2.0-or-later
/* Alarms as operators see them: awaited after a restart, raised, latched; acknowledged, paused. A table in memory. */
#include "slowctl/alarm/alarm.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/param/param.h"

struct alarms {
	struct alarm alarm[ALARMS_MAX];
};

const char *alarm_state_name(enum alarm_state state)
{
	static const char *const names[] = {"over", "awaited", "raised", "latched"};

	return names[state];
}

const char *alarm_change_name(enum alarm_change change)
{
	static const char *const names[] = {"same", "began",	    "worse",  "eased",	 "held",
					    "over", "acknowledged", "paused", "resumed", "expired"};

	return names[change];
}

struct alarms *alarms_create(void)
{
	return calloc(1, sizeof(struct alarms));
}

void alarms_destroy(struct alarms *a)
{
	free(a);
}

/* ------------------------------------------------------------------ finding */

static struct alarm *find(struct alarms *a, const char *object, const char *code)
{
	for (unsigned n = 0; n < ALARMS_MAX; n++) {
		struct alarm *e = &a->alarm[n];

		if (e->used && strcmp(e->object, object) == 0 && strcmp(e->code, code) == 0) {
			return e;
		}
	}
	return NULL;
}

static struct alarm *find_or_make(struct alarms *a, const char *object, const char *code)
{
	struct alarm *e = find(a, object, code);

	for (unsigned n = 0; n < ALARMS_MAX && !e; n++) {
		if (!a->alarm[n].used) {
			e = &a->alarm[n];
			*e = (struct alarm){.used = true};
			snprintf(e->object, sizeof(e->object), "%s", object);
			snprintf(e->code, sizeof(e->code), "%s", code);
		}
	}
	return e;
}

const struct alarm *alarms_find(const struct alarms *a, const char *object, const char *code)
{
	return find((struct alarms *)(uintptr_t)a, object, code);
}

bool alarm_is_active(const struct alarm *alarm)
{
	return alarm->state == ALARM_RAISED || alarm->state == ALARM_LATCHED;
}

bool alarm_is_paused(const struct alarm *alarm)
{
	return alarm->paused_until_ns && alarm->level <= alarm->paused_level;
}

const struct alarm *alarms_next(const struct alarms *a, const struct alarm *after)
{
	for (unsigned n = after ? (unsigned)(after - a->alarm) + 1 : 0; n < ALARMS_MAX; n++) {
		const struct alarm *e = &a->alarm[n];

		if (e->used && (alarm_is_active(e) || e->paused_until_ns)) {
			return e;
		}
	}
	return NULL;
}

/* ------------------------------------------------------------------ names */

const char *alarm_name(const struct alarm *alarm, char *buf, size_t size)
{
	snprintf(buf, size, "%s/%s", alarm->object, alarm->code);
	return buf;
}

bool alarm_name_means(const char *name, const struct alarm *alarm)
{
	const char *slash = strrchr(name, '/');
	char object[2 * ALARM_OBJECT_BYTES];

	if (slash && strcmp(slash + 1, alarm->code) != 0) {
		return false;
	}
	if ((size_t)snprintf(object, sizeof(object), "%.*s",
			     slash ? (int)(slash - name) : (int)sizeof(object),
			     name) >= sizeof(object)) {
		return false;
	}
	return strcmp(object, alarm->object) == 0 || param_name_matches(object, alarm->object);
}

int alarm_name_split(const char *name, char object[ALARM_OBJECT_BYTES], char code[ALARM_CODE_BYTES])
{
	const char *slash = strrchr(name, '/');
	size_t length = slash ? (size_t)(slash - name) : 0;

	if (length == 0 || length >= ALARM_OBJECT_BYTES || strlen(slash + 1) >= ALARM_CODE_BYTES ||
	    !islower((unsigned char)slash[1])) {
		return -EINVAL;
	}
	for (const char *c = name; *c; c++) {
		bool in_code = c > slash;

		if (in_code ? !islower((unsigned char)*c) && *c != '-'
			    : c < slash && (!isprint((unsigned char)*c) || strchr("*?[]", *c))) {
			return -EINVAL;
		}
	}
	memcpy(object, name, length);
	object[length] = '\0';
	strcpy(code, slash + 1);
	return 0;
}

/* ------------------------------------------------------------------ what is active */

/* Nobody has seen how bad it was: a latching one stays that bad until somebody has. */
static enum limits_level held_level(const struct alarm *e, enum limits_level level)
{
	bool held = e->latch && !e->acknowledged && e->state != ALARM_OVER;

	return held && e->highest > level ? e->highest : level;
}

static void begin(struct alarm *e, enum limits_level level, struct engine_now now)
{
	e->state = ALARM_RAISED;
	e->since_ns = now.utc_ns;
	e->over_ns = 0;
	e->count++;
	e->highest = level;
	e->acknowledged = false;
	e->change = ALARM_BEGAN;
}

/* It goes on; what was acknowledged is what was there then. */
static void go_on(struct alarm *e, enum limits_level level, uint32_t parts)
{
	if (level > e->level || (parts & ~e->parts)) {
		e->acknowledged = false;
		e->change = ALARM_WORSE;
	} else if (level < e->level) {
		e->change = ALARM_EASED;
	}
}

/* Never cut inside a UTF-8 character: half of one is no JSON. */
static void copy_text(char *place, size_t size, const char *text)
{
	size_t length = strlen(text);

	if (length >= size) {
		length = size - 1;
		while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) {
			length--;
		}
	}
	memcpy(place, text, length);
	place[length] = '\0';
}

const struct alarm *alarms_see(struct alarms *a, const struct alarm_sight *sight,
			       struct engine_now now)
{
	struct alarm *e = find_or_make(a, sight->object, sight->code);
	enum limits_level level;

	if (!e) {
		return NULL;
	}
	level = held_level(e, sight->level);
	switch (e->state) {
	case ALARM_RAISED:
		go_on(e, level, sight->parts);
		break;
	case ALARM_AWAITED:
		e->state = ALARM_RAISED;
		e->change = ALARM_BEGAN;
		go_on(e, level, sight->parts);
		break;
	default:
		begin(e, level, now);
		break;
	}
	e->level = level;
	e->highest = level > e->highest ? level : e->highest;
	e->parts = sight->parts;
	e->latch = sight->latch;
	copy_text(e->text, sizeof(e->text), sight->text);
	copy_text(e->action, sizeof(e->action), sight->action);
	return e;
}

static void end(struct alarm *e, struct engine_now now, enum alarm_change change)
{
	e->state = ALARM_OVER;
	e->over_ns = now.utc_ns;
	e->parts = 0;
	e->acknowledged = false;
	e->change = change;
}

void alarms_over(struct alarms *a, const char *object, const char *code, struct engine_now now)
{
	struct alarm *e = find(a, object, code);

	if (!e || e->state != ALARM_RAISED) {
		return;
	}
	if (!e->latch || e->acknowledged) {
		end(e, now, ALARM_ENDED);
		return;
	}
	e->state = ALARM_LATCHED;
	e->level = e->highest;
	e->over_ns = now.utc_ns;
	e->change = ALARM_HELD;
}

void alarms_tick(struct alarms *a, struct engine_now now)
{
	for (unsigned n = 0; n < ALARMS_MAX; n++) {
		struct alarm *e = &a->alarm[n];

		if (!e->used) {
			continue;
		}
		if (e->state == ALARM_AWAITED && now.mono_ns >= e->awaited_until_ns) {
			end(e, now, ALARM_ENDED);
		}
		if (e->paused_until_ns && now.mono_ns >= e->pause_ends_ns) {
			e->paused_until_ns = 0;
			e->change = ALARM_EXPIRED;
		}
	}
}

/* ------------------------------------------------------------------ what operators do */

int alarms_acknowledge(struct alarms *a, const char *object, const char *code,
		       const struct alarm_hand *hand, struct sc_error *error)
{
	struct alarm *e = find(a, object, code);

	if (!e || !alarm_is_active(e)) {
		return sc_fail(error, -ENOENT, "no-such-alarm",
			       "fcmctl incident list shows what does", "%s/%s does not stand",
			       object, code);
	}
	if (e->acknowledged) {
		return sc_fail(error, -EALREADY, "acknowledged", "nothing is left to do",
			       "%s/%s was acknowledged by %s", object, code, e->ack.who);
	}
	e->acknowledged = true;
	e->ack = *hand;
	e->change = ALARM_ACKNOWLEDGED;
	if (e->state == ALARM_LATCHED) {
		e->state = ALARM_OVER;
		e->acknowledged = false;
		e->parts = 0;
	}
	return 0;
}

/* Whether one more that is not active may be paused. */
static bool room_ahead(const struct alarms *a)
{
	unsigned ahead = 0;

	for (unsigned n = 0; n < ALARMS_MAX; n++) {
		ahead += a->alarm[n].used && a->alarm[n].state == ALARM_OVER;
	}
	return ahead < ALARMS_AHEAD_MAX;
}

int alarms_pause(struct alarms *a, const char *object, const char *code, double seconds,
		 const struct alarm_hand *hand, struct engine_now now, struct sc_error *error)
{
	static const char room_hint[] =
		"fcmctl incident list shows them: resume what is not needed any more";
	struct alarm *e;

	if (!hand->text[0]) {
		return sc_fail(error, -EINVAL, "usage", "--reason \"pump is being exchanged\"",
			       "a pause needs a reason: others will ask");
	}
	if (!(seconds >= 1 && seconds <= ALARM_PAUSE_MAX_S)) {
		return sc_fail(error, -EINVAL, "usage", "--for 2h; at most 24h, then say it again",
			       "a pause is of 1 s to 24 h");
	}
	if (!find(a, object, code) && !room_ahead(a)) {
		return sc_fail(error, -ENOSPC, "too-many", room_hint,
			       "%u are paused that are not active: there is no room for more",
			       ALARMS_AHEAD_MAX);
	}
	e = find_or_make(a, object, code);
	if (!e) {
		return sc_fail(error, -ENOSPC, "too-many", room_hint,
			       "%u are active or paused: there is no room for more", ALARMS_MAX);
	}
	e->paused_until_ns = now.utc_ns + (int64_t)(seconds * 1e9);
	e->pause_ends_ns = now.mono_ns + (uint64_t)(seconds * 1e9);
	e->paused_level = alarm_is_active(e) ? e->level : LEVEL_ALARM;
	e->pause = *hand;
	e->change = ALARM_PAUSED;
	return 0;
}

int alarms_resume(struct alarms *a, const char *object, const char *code,
		  const struct alarm_hand *hand, struct sc_error *error)
{
	struct alarm *e = find(a, object, code);

	if (!e || !e->paused_until_ns) {
		return sc_fail(error, -ENOENT, "not-paused", "fcmctl incident list shows what is",
			       "%s/%s is not paused", object, code);
	}
	e->paused_until_ns = 0;
	e->pause = *hand;
	e->change = ALARM_RESUMED;
	return 0;
}

/* ------------------------------------------------------------------ changes, memory */

struct alarm *alarms_changed(struct alarms *a)
{
	for (unsigned n = 0; n < ALARMS_MAX; n++) {
		if (a->alarm[n].used && a->alarm[n].change != ALARM_SAME) {
			return &a->alarm[n];
		}
	}
	return NULL;
}

void alarms_taken(struct alarm *alarm)
{
	alarm->change = ALARM_SAME;
	if (alarm->state == ALARM_OVER && !alarm->paused_until_ns) {
		alarm->used = false;
	}
}

bool alarm_lasts(const struct alarm *alarm)
{
	return alarm->paused_until_ns ||
	       (alarm->state != ALARM_OVER && (alarm->acknowledged || alarm->latch));
}

void alarms_recover(struct alarms *a, const struct alarm *alarm, struct engine_now now)
{
	struct alarm *e = find_or_make(a, alarm->object, alarm->code);
	double left_s = (double)(alarm->paused_until_ns - now.utc_ns) / 1e9;

	if (!e) {
		return;
	}
	*e = *alarm;
	e->used = true;
	e->stored = true;
	e->change = ALARM_SAME;
	if (e->state != ALARM_OVER) {
		e->state = e->latch && !e->acknowledged ? ALARM_LATCHED : ALARM_AWAITED;
		e->awaited_until_ns = now.mono_ns + ALARM_AWAITED_NS;
	}
	if (e->paused_until_ns) { /* the clock may have been wrong, then or now */
		left_s = left_s < 0 ? 0 : left_s > ALARM_PAUSE_MAX_S ? ALARM_PAUSE_MAX_S : left_s;
		e->pause_ends_ns = now.mono_ns + (uint64_t)(left_s * 1e9);
	}
}
