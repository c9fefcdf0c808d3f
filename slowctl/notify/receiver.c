// SPDX-License-Identifier: GPL-2.0-or-later
/* See receiver.h. */
#include "slowctl/notify/receiver.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 600u
#define DAY_MIN	   1440
#define PER_HOUR   20
#define AFTER_MAX  (24 * 60) /* min */

/* ------------------------------------------------------------------ the file */

struct reading {
	struct receivers *receivers;
	const char *path;
	struct sc_error *error;
	char text[160]; /* why the line is wrong */
};

static int wrong(struct reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int wrong(struct reading *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->text, sizeof(r->text), format, args);
	va_end(args);
	return 0; /* of libinih: stop */
}

static struct receiver *receiver_of(struct reading *r, const char *section)
{
	static const char word[] = "receiver ";
	const char *name = section + strlen(word);
	struct receivers *all = r->receivers;

	if (strncmp(section, word, strlen(word)) != 0 || !*name || strlen(name) >= RECEIVER_NAME) {
		wrong(r, "a section is [receiver NAME], not [%.40s]", section);
		return NULL;
	}
	for (unsigned i = 0; i < all->count; i++) {
		if (strcmp(all->receiver[i].name, name) == 0) {
			return &all->receiver[i];
		}
	}
	if (all->count == RECEIVERS_MAX) {
		wrong(r, "more than %u receivers", RECEIVERS_MAX);
		return NULL;
	}
	all->receiver[all->count] = (struct receiver){.per_hour = PER_HOUR, .cleared = true};
	snprintf(all->receiver[all->count].name, RECEIVER_NAME, "%s", name);
	return &all->receiver[all->count++];
}

static int take_target(struct reading *r, struct receiver *to, enum receiver_kind kind,
		       const char *value)
{
	if (to->target[0]) {
		return wrong(r, "[receiver %s] has one of program, mail and webhook", to->name);
	}
	if (strlen(value) >= sizeof(to->target) || strpbrk(value, "\"\\\n")) {
		return wrong(r, "too long, or with \" or \\ in it");
	}
	if (kind == RECEIVER_PROGRAM ? *value != '/'
	    : kind == RECEIVER_MAIL
		    ? !strchr(value, '@') || strpbrk(value, " \t,")
		    : strncmp(value, "http://", 7) != 0 && strncmp(value, "https://", 8) != 0) {
		return wrong(r, "not %s",
			     kind == RECEIVER_PROGRAM ? "the whole path of a program"
			     : kind == RECEIVER_MAIL  ? "the address of one person"
						      : "an http or https address");
	}
	to->kind = kind;
	strcpy(to->target, value);
	return 1;
}

static bool take_number(const char *value, unsigned low, unsigned high, unsigned *ret)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	if (!isdigit((unsigned char)*value) || *end || n < low || n > high) {
		return false;
	}
	*ret = (unsigned)n;
	return true;
}

static bool take_switch(const char *value, bool *ret)
{
	*ret = strcmp(value, "yes") == 0;
	return *ret || strcmp(value, "no") == 0;
}

/* "22:00-06:30" */
static bool take_quiet(const char *value, struct receiver *to)
{
	unsigned from_h, from_m, to_h, to_m;
	char end;

	if (sscanf(value, "%2u:%2u-%2u:%2u%c", &from_h, &from_m, &to_h, &to_m, &end) != 4 ||
	    from_h > 23 || to_h > 23 || from_m > 59 || to_m > 59) {
		return false;
	}
	to->quiet_from = (int)(from_h * 60 + from_m);
	to->quiet_to = (int)(to_h * 60 + to_m);
	return true;
}

static bool take_objects(const char *value, struct receiver *to)
{
	char text[sizeof(to->object)];
	char *rest = text, *word;

	snprintf(text, sizeof(text), "%s", value);
	while ((word = strsep(&rest, " \t,")) != NULL) {
		if (!*word) {
			continue;
		}
		if (to->objects == RECEIVER_OBJECTS || strlen(word) >= sizeof(to->object[0])) {
			return false;
		}
		strcpy(to->object[to->objects++], word);
	}
	return to->objects > 0;
}

static int on_line(void *context, const char *section, const char *key, const char *value)
{
	struct reading *r = context;
	struct receiver *to = receiver_of(r, section);
	unsigned minutes;
	bool good;

	if (!to) {
		return 0;
	}
	if (strcmp(key, "program") == 0) {
		return take_target(r, to, RECEIVER_PROGRAM, value);
	} else if (strcmp(key, "mail") == 0) {
		return take_target(r, to, RECEIVER_MAIL, value);
	} else if (strcmp(key, "webhook") == 0) {
		return take_target(r, to, RECEIVER_WEBHOOK, value);
	} else if (strcmp(key, "level") == 0) {
		to->warnings = strcmp(value, "warning") == 0;
		good = to->warnings || strcmp(value, "red") == 0;
	} else if (strcmp(key, "objects") == 0) {
		good = take_objects(value, to);
	} else if (strcmp(key, "after_min") == 0) {
		good = take_number(value, 0, AFTER_MAX, &minutes);
		to->after_s = good ? minutes * 60 : 0;
	} else if (strcmp(key, "quiet") == 0) {
		good = take_quiet(value, to);
	} else if (strcmp(key, "per_hour") == 0) {
		good = take_number(value, 1, 3600, &to->per_hour);
	} else if (strcmp(key, "cleared") == 0) {
		good = take_switch(value, &to->cleared);
	} else {
		return wrong(r, "there is no key %.40s", key);
	}
	return good ? 1 : wrong(r, "%.40s = %.60s is invalid", key, value);
}

int receivers_read(const char *path, struct receivers *all, struct sc_error *error)
{
	struct reading r = {.receivers = all, .path = path};
	int line;

	*all = (struct receivers){0};
	/* Library-wide settings of libinih; nobody else in the process uses it. */
	ini_max_line = LINE_BYTES;
	ini_use_stack = false;
	line = ini_parse(path, on_line, &r);
	if (line < 0) {
		return sc_fail(error, -ENOENT, "config", "fcm-notify(8) has an example",
			       "cannot read %.200s", path);
	}
	if (line > 0) {
		return sc_fail(error, -EINVAL, "config", "fcm-notify(8) lists sections and keys",
			       "%.120s, line %d: %s", path, line,
			       r.text[0] ? r.text : "neither [receiver NAME] nor key = value");
	}
	for (unsigned i = 0; i < all->count; i++) {
		if (!all->receiver[i].target[0]) {
			return sc_fail(error, -EINVAL, "config", "add one of these lines",
				       "%.120s: [receiver %s] has no program, mail or webhook",
				       path, all->receiver[i].name);
		}
	}
	return all->count ? 0
			  : sc_fail(error, -EINVAL, "config", "fcm-notify(8) has an example",
				    "%.200s names no receiver", path);
}

/* ------------------------------------------------------------------ the rule */

static bool is_quiet(const struct receiver *r, double now)
{
	int minute = (int)((int64_t)now / 60 % DAY_MIN);

	return r->quiet_from <= r->quiet_to ? minute >= r->quiet_from && minute < r->quiet_to
					    : minute >= r->quiet_from || minute < r->quiet_to;
}

static bool is_about(const struct receiver *r, const struct notify_incident *i)
{
	for (unsigned n = 0; n < r->objects; n++) {
		if (fnmatch(r->object[n], i->object, 0) == 0) {
			return true;
		}
	}
	return r->objects == 0;
}

static bool begins(const struct receiver *r, const struct notify_incident *i, double started,
		   double now)
{
	bool ours = i->own && !(i->active && i->red); /* red is more than a command of ours costs */

	if (ours || i->paused || !(i->red || r->warnings) || !is_about(r, i) ||
	    (is_quiet(r, now) && !i->red)) {
		return false;
	}
	if (r->after_s) {
		return i->active && !i->acknowledged && now - i->since >= r->after_s;
	}
	return i->active || i->until > started;
}

enum notice receiver_due(const struct receiver *r, const struct notify_told *told,
			 const struct notify_incident *i, double started, double now)
{
	/* One that has cleared and is active again begins again. */
	bool nothing = !told || (i->active && (told->cleared || told->passed));

	if (nothing && begins(r, i, started, now)) {
		return NOTICE_BEGAN;
	}
	if (nothing) {
		return !told && i->active && (i->paused || is_quiet(r, now)) ? NOTICE_PASSED
									     : NOTICE_NONE;
	}
	if (told->passed) {
		return NOTICE_NONE;
	}
	if (i->active && i->red && !told->red && !i->paused) {
		return NOTICE_WORSE;
	}
	return !i->active && !told->cleared && r->cleared ? NOTICE_CLEARED : NOTICE_NONE;
}

const char *notice_name(enum notice n)
{
	static const char *const names[] = {"none", "passed", "began", "worse", "cleared", "test"};

	return names[n];
}
