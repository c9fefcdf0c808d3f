// SPDX-License-Identifier: GPL-2.0-or-later
/* See words.h. */
#include "slowctl/notify/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/text.h"

static const char *text_of(const json_t *j, const char *key)
{
	const char *text = json_string_value(json_object_get(j, key));

	return text ? text : "";
}

static double number_of(const json_t *j, const char *key)
{
	return json_number_value(json_object_get(j, key));
}

json_t *notice_make(enum notice kind, const json_t *incident, double now)
{
	static const char *const copied[] = {"severity", "number", "object", "code", "text",
					     "action",	 "since",  "until",  "cost"};
	json_t *notice = json_pack("{s:s,s:f}", "kind", notice_name(kind), "time", now);

	for (size_t i = 0; incident && i < sizeof(copied) / sizeof(copied[0]); i++) {
		json_t *value = json_object_get(incident, copied[i]);

		if (value) {
			json_object_set(notice, copied[i], value);
		}
	}
	return notice;
}

/* "red", "warning", "cleared", "test". */
static const char *level_of(const json_t *notice)
{
	const char *kind = text_of(notice, "kind");

	return strcmp(kind, "test") == 0 || strcmp(kind, "cleared") == 0
		       ? kind
		       : text_of(notice, "severity");
}

static unsigned rank(const char *level)
{
	static const char *const ranks[] = {"test", "cleared", "warning", "red"};
	unsigned n = 0;

	while (n < 3 && strcmp(ranks[n], level) != 0) {
		n++;
	}
	return n;
}

/* Control characters of a foreign text would end a header, or drive a terminal. */
static void one_line(char *text)
{
	text_whole(text);
	for (; *text; text++) {
		*text = (unsigned char)*text < ' ' || *text == 127 ? ' ' : *text;
	}
}

static void subject_of(const json_t *notice, char *text, size_t size)
{
	if (strcmp(text_of(notice, "kind"), "test") == 0) {
		snprintf(text, size, "a test of the notices");
		return;
	}
	snprintf(text, size, "%s %s/%s: %s", level_of(notice), text_of(notice, "object"),
		 text_of(notice, "code"), text_of(notice, "text"));
	one_line(text);
}

static void cost_of(const json_t *notice, char *text, size_t size)
{
	const json_t *cost = json_object_get(notice, "cost");

	*text = '\0';
	if (number_of(cost, "frames") > 0) {
		text_list(text, size, "%.0f frames", number_of(cost, "frames"));
	}
	if (number_of(cost, "dropped") > 0) {
		text_list(text, size, "%.0f frames dropped", number_of(cost, "dropped"));
	}
	if (number_of(cost, "hits") > 0) {
		text_list(text, size, "%.0f hits", number_of(cost, "hits"));
	}
	if (number_of(cost, "dark_s") > 0) {
		text_list(text, size, "%.0f module-s dark", number_of(cost, "dark_s"));
	}
}

static void put_notice(FILE *out, const json_t *notice)
{
	char line[1000], when[32], cost[160];

	subject_of(notice, line, sizeof(line));
	fprintf(out, "%s\n", line);
	if (!json_object_get(notice, "number")) {
		return;
	}
	text_utc(when, sizeof(when), (int64_t)(number_of(notice, "since") * 1e9));
	fprintf(out, "  incident %.0f, since %s UTC", number_of(notice, "number"), when);
	if (number_of(notice, "until") > 0) {
		text_utc(when, sizeof(when), (int64_t)(number_of(notice, "until") * 1e9));
		fprintf(out, ", until %s UTC", when);
	}
	cost_of(notice, cost, sizeof(cost));
	fprintf(out, "%s%s\n", *cost ? "; cost: " : "", cost);
	if (*text_of(notice, "action") && strcmp(text_of(notice, "kind"), "cleared") != 0) {
		snprintf(line, sizeof(line), "%s", text_of(notice, "action"));
		one_line(line);
		fprintf(out, "  -> %s\n", line);
	}
}

static char *body_of(const char *station, const json_t *notices, unsigned count, unsigned dropped)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out) {
		return NULL;
	}
	for (unsigned n = 0; n < count; n++) {
		put_notice(out, json_array_get(notices, n));
	}
	if (dropped) {
		fprintf(out, "(%u notices before these were dropped: too many waited)\n", dropped);
	}
	fprintf(out, "\nstation %s; fcmctl status has what is wrong now\n", station);
	return fclose(out) == 0 ? text : NULL;
}

int notify_words(const char *station, const json_t *notices, unsigned count, unsigned dropped,
		 struct notify_words *w)
{
	const json_t *worst = json_array_get(notices, 0);
	json_t *all = json_array();
	char subject[150];

	*w = (struct notify_words){0};
	for (unsigned n = 0; n < count; n++) {
		json_t *notice = json_array_get(notices, n);

		if (rank(level_of(notice)) > rank(level_of(worst))) {
			worst = notice;
		}
		json_array_append(all, notice);
	}
	subject_of(worst, subject, sizeof(subject));
	snprintf(w->level, sizeof(w->level), "%s", level_of(worst));
	snprintf(w->subject, sizeof(w->subject), "[%s] %s", station, subject);
	if (count > 1) {
		text_add(w->subject, sizeof(w->subject), " (+%u)", count - 1);
	}
	one_line(w->subject);
	w->body = body_of(station, notices, count, dropped);
	all = json_pack("{s:s,s:s,s:s,s:s,s:i,s:o}", "station", station, "level", w->level,
			"subject", w->subject, "text", w->body ? w->body : "", "dropped",
			(int)dropped, "notices", all);
	w->json = all ? json_dumps(all, JSON_COMPACT) : NULL;
	json_decref(all);
	if (!w->body || !w->json) {
		notify_words_free(w);
		return -ENOMEM;
	}
	return 0;
}

void notify_words_free(struct notify_words *w)
{
	free(w->body);
	free(w->json);
	*w = (struct notify_words){0};
}
