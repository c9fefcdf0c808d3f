// SPDX-License-Identifier: GPL-2.0-or-later
/* See book.h. */
#include "slowctl/notify/book.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/core/log.h"
#include "daemon/core/now.h"

#define SAME_S 3600.0 /* an incident of the daemon may turn out to have begun earlier */

struct page {
	char name[RECEIVER_NAME];
	json_t *notices; /* array */
	unsigned dropped, told_count;
	unsigned sending,
		sending_dropped; /* notices on their way, and how many dropped ones they tell */
	struct notify_told told[BOOK_TOLD]; /* the oldest first */
};

struct book {
	char path[4096];
	double started;
	bool changed;
	unsigned count;
	struct page page[RECEIVERS_MAX];
};

/* ------------------------------------------------------------------ the file */

static void page_read(struct page *p, const json_t *json)
{
	const json_t *notices = json_object_get(json, "notices");
	const json_t *told = json_object_get(json, "told");
	size_t i;
	const json_t *item;

	if (json_is_array(notices) && json_array_size(notices) <= BOOK_WAITING) {
		json_array_extend(p->notices, (json_t *)(uintptr_t)notices);
	}
	p->dropped = (unsigned)json_integer_value(json_object_get(json, "dropped"));
	json_array_foreach (told, i, item) {
		if (p->told_count < BOOK_TOLD) {
			p->told[p->told_count++] = (struct notify_told){
				.number = (uint32_t)json_integer_value(
					json_object_get(item, "number")),
				.since = json_number_value(json_object_get(item, "since")),
				.red = json_is_true(json_object_get(item, "red")),
				.passed = json_is_true(json_object_get(item, "passed")),
				.cleared = json_is_true(json_object_get(item, "cleared")),
			};
		}
	}
}

static json_t *page_json(const struct page *p)
{
	json_t *told = json_array();

	for (unsigned i = 0; i < p->told_count; i++) {
		const struct notify_told *t = &p->told[i];

		json_array_append_new(told, json_pack("{s:I,s:f,s:b,s:b,s:b}", "number",
						      (json_int_t)t->number, "since", t->since,
						      "red", t->red, "cleared", t->cleared,
						      "passed", t->passed));
	}
	return json_pack("{s:O,s:I,s:o}", "notices", p->notices, "dropped", (json_int_t)p->dropped,
			 "told", told);
}

struct book *book_open(const char *path, const struct receivers *receivers)
{
	struct book *b = calloc(1, sizeof(*b));
	json_t *json = json_load_file(path, 0, NULL);
	char damaged[4200];

	if (!b) {
		json_decref(json);
		return NULL;
	}
	snprintf(b->path, sizeof(b->path), "%s", path);
	b->started = json_number_value(json_object_get(json, "started"));
	b->count = receivers->count;
	for (unsigned r = 0; r < b->count; r++) {
		struct page *p = &b->page[r];

		snprintf(p->name, sizeof(p->name), "%s", receivers->receiver[r].name);
		p->notices = json_array();
		page_read(p, json_object_get(json_object_get(json, "receivers"), p->name));
	}
	if (!json && access(path, F_OK) == 0) {
		snprintf(damaged, sizeof(damaged), "%s.damaged", path);
		log_warning("notify", "%s is damaged: begun again; %s", path,
			    rename(path, damaged) == 0 ? "the old one is kept beside it"
						       : "it cannot be renamed");
	}
	if (b->started <= 0.0) {
		b->started = (double)now_utc_ns() / 1e9;
		b->changed = true;
	}
	json_decref(json);
	return b;
}

/* Atomic: after a power cut it is the old one or the new one. */
static int write_file(const char *path, const char *text)
{
	char fresh[4200];
	FILE *f;
	int r = 0;

	snprintf(fresh, sizeof(fresh), "%s.new", path);
	f = fopen(fresh, "we");
	if (!f) {
		return -errno;
	}
	if (fputs(text, f) < 0 || fflush(f) != 0 || fsync(fileno(f)) < 0) {
		r = -errno;
	}
	if (fclose(f) != 0 && r == 0) {
		r = -errno;
	}
	return r == 0 && rename(fresh, path) < 0 ? -errno : r;
}

int book_keep(struct book *b)
{
	json_t *receivers, *all;
	char *text;
	int r;

	if (!b->changed) {
		return 0;
	}
	receivers = json_object();
	for (unsigned i = 0; i < b->count; i++) {
		json_object_set_new(receivers, b->page[i].name, page_json(&b->page[i]));
	}
	all = json_pack("{s:f,s:o}", "started", b->started, "receivers", receivers);
	text = all ? json_dumps(all, JSON_INDENT(1)) : NULL;
	r = text ? write_file(b->path, text) : -ENOMEM;
	free(text);
	json_decref(all);
	b->changed = r < 0;
	return r;
}

void book_close(struct book *b)
{
	if (!b) {
		return;
	}
	if (book_keep(b) < 0) {
		log_error("notify", "%s cannot be written: what waits is lost", b->path);
	}
	for (unsigned r = 0; r < b->count; r++) {
		json_decref(b->page[r].notices);
	}
	free(b);
}

double book_started(const struct book *b)
{
	return b->started;
}

/* ------------------------------------------------------------------ what was told */

static struct notify_told *find(struct page *p, const struct notify_incident *i)
{
	for (unsigned n = 0; n < p->told_count; n++) {
		if (p->told[n].number == i->number &&
		    fabs(p->told[n].since - i->since) < (i->number ? SAME_S : 1.0)) {
			return &p->told[n];
		}
	}
	return NULL;
}

const struct notify_told *book_told(const struct book *b, unsigned r,
				    const struct notify_incident *i)
{
	return find((struct page *)(uintptr_t)&b->page[r], i);
}

static struct notify_told *new_told(struct page *p, const struct notify_incident *i)
{
	if (p->told_count == BOOK_TOLD) { /* the oldest makes room */
		memmove(&p->told[0], &p->told[1], (BOOK_TOLD - 1) * sizeof(p->told[0]));
		p->told_count--;
	}
	p->told[p->told_count] = (struct notify_told){.number = i->number, .since = i->since};
	return &p->told[p->told_count++];
}

void book_add(struct book *b, unsigned r, const struct notify_incident *i, enum notice kind,
	      json_t *notice)
{
	struct page *p = &b->page[r];
	struct notify_told *told = i ? find(p, i) : NULL;

	if (i) {
		told = told ? told : new_told(p, i);
		told->red = i->red || (told->red && kind != NOTICE_BEGAN);
		told->cleared = !i->active;
		told->passed = false;
	}
	if (json_array_size(p->notices) == BOOK_WAITING) {
		json_array_remove(p->notices, p->sending);
		p->dropped++;
	}
	json_array_append_new(p->notices, notice);
	b->changed = true;
}

void book_pass(struct book *b, unsigned r, const struct notify_incident *i)
{
	struct page *p = &b->page[r];

	if (!find(p, i)) {
		new_told(p, i)->passed = true;
		b->changed = true;
	}
}

/* ------------------------------------------------------------------ what waits */

unsigned book_waiting(const struct book *b, unsigned r)
{
	return (unsigned)json_array_size(b->page[r].notices);
}

const json_t *book_notices(const struct book *b, unsigned r)
{
	return b->page[r].notices;
}

unsigned book_dropped(const struct book *b, unsigned r)
{
	return b->page[r].dropped;
}

void book_send(struct book *b, unsigned r, unsigned count)
{
	b->page[r].sending = count;
	b->page[r].sending_dropped = b->page[r].dropped;
}

void book_delivered(struct book *b, unsigned r)
{
	struct page *p = &b->page[r];

	for (; p->sending > 0; p->sending--) {
		json_array_remove(p->notices, 0);
	}
	p->dropped -= p->sending_dropped;
	b->changed = true;
}
