/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why slow control is not well: mute floors, stale values, values beyond their limits; and, until a later command on
 * the same parameter is done, commands with unknown outcome and commands of a `safe` that the end of a daemon cut off.
 */
#include "slowctl/engine/private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NEVER_NS (20 * SECOND) /* a usable floor's polled value should be there by then */

/* ------------------------------------------------------------------ what stays to be done */

static void note_unknown(struct undone *u, uint64_t id, const char *detail, const char *hint)
{
	if (id > u->unknown && id > u->done) {
		u->unknown = id;
		snprintf(u->detail, sizeof(u->detail), "%s", detail);
		snprintf(u->hint, sizeof(u->hint), "%s", hint);
	}
}

static void note_cut(struct undone *u, uint64_t id, uint64_t job)
{
	if (id > u->cut && id > u->done) {
		u->cut = id;
		u->cut_job = job;
	}
}

void engine_note_end(struct engine *e, const struct command *c)
{
	struct undone *u = &e->of_param[c->param->number].undone;

	if (c->state == COMMAND_DONE) {
		u->done = c->id > u->done ? c->id : u->done;
		u->unknown = u->unknown > u->done ? u->unknown : 0;
		u->cut = u->cut > u->done ? u->cut : 0;
		return;
	}
	if (c->state == COMMAND_UNKNOWN) {
		note_unknown(u, c->id, c->detail, c->hint);
	}
	if (c->job && c->recovered) {
		note_cut(u, c->id, c->job);
	}
}

int engine_recover_undone(struct engine *e, const struct engine_journal *j)
{
	struct param *p = NULL;

	if (params_find(e->params, j->parameter, &p, NULL) < 0) {
		return -ENOENT;
	}
	if (strcmp(j->state, command_state_name(COMMAND_UNKNOWN)) == 0) {
		note_unknown(&e->of_param[p->number].undone, j->id, j->detail, HINT_LOOK);
	}
	if (j->cut && j->job) {
		note_cut(&e->of_param[p->number].undone, j->id, j->job);
	}
	return 0;
}

/* ------------------------------------------------------------------ reasons */

/* A text of `reason`. */
#define SAY(field, ...) snprintf(reason.field, sizeof(reason.field), __VA_ARGS__)

struct reasons {
	struct engine *e;
	void (*fn)(void *context, const struct engine_reason *reason);
	void *context;
	unsigned count;
};

/* `action` NULL: it is said already. */
static void give(struct reasons *r, struct engine_reason reason, const char *object,
		 const char *action)
{
	SAY(object, "%s", object);
	if (action) {
		SAY(action, "%s", action);
	}
	r->count++;
	if (r->fn) {
		r->fn(r->context, &reason);
	}
}

static void unknown_reason(struct reasons *r, const struct param *p, uint64_t id,
			   const char *detail, const char *hint)
{
	struct engine_reason reason = {
		.code = "command-unknown", .red = true, .param = p, .link = p->link};

	SAY(text, "command %llu: %.280s", (unsigned long long)id, detail);
	give(r, reason, p->name, hint);
}

/* Open ones, and those that ended so and that no later one has made good. */
static void unknown_commands(struct reasons *r)
{
	const struct engine *e = r->e;
	const struct command *c = NULL;

	while ((c = engine_next_open(e, c))) {
		if (c->alarm) {
			unknown_reason(r, c->param, c->id, c->detail, c->hint);
		}
	}
	for (unsigned i = 0; i < params_count(e->params); i++) {
		const struct undone *u = &e->of_param[i].undone;

		if (u->unknown) {
			unknown_reason(r, params_at(e->params, i), u->unknown, u->detail, u->hint);
		}
	}
}

/* What a daemon before us was to make safe, and had not. */
static void safe_cut(struct reasons *r)
{
	struct engine_reason reason = {.code = "safe-cut", .red = true, .link = -1};
	const struct engine *e = r->e;
	const struct undone *first = NULL;
	const char *name = "";
	unsigned count = 0;

	for (unsigned i = 0; i < params_count(e->params); i++) {
		const struct undone *u = &e->of_param[i].undone;

		count += u->cut != 0;
		if (u->cut && (!first || u->cut < first->cut)) {
			first = u;
			name = params_at(e->params, i)->name;
		}
	}
	if (!first) {
		return;
	}
	SAY(text,
	    "safe %llu was cut off by the daemon's end: %u of its commands were not done, %s among "
	    "them",
	    (unsigned long long)first->cut_job, count, name);
	give(r, reason, "safe",
	     "If it is still wanted: fcmctl safe. If not, set what it left undone as you want it: "
	     "fcmctl command list shows it.");
}

static void values_beyond_limits(struct reasons *r)
{
	const struct engine *e = r->e;

	for (unsigned i = 0; i < params_count(e->params); i++) {
		const struct param *p = params_at(e->params, i);
		enum limits_level level = param_level(p, e->now.mono_ns);
		struct engine_reason reason = {.code = "limit", .param = p, .link = p->link};

		if (level == LEVEL_NORMAL) {
			continue;
		}
		reason.red = level == LEVEL_ALARM;
		reason.latch = p->kind->latch;
		reason.unknown_s = param_quality(p, e->now.mono_ns) == PARAM_GOOD
					   ? 0
					   : param_age_s(p, e->now.mono_ns);
		param_level_text(p, level, e->now.mono_ns, reason.text, sizeof(reason.text));
		give(r, reason, p->name, p->kind->on_alarm);
	}
}

/* Too old, or never read. A bad value of a floor also becomes stale, unless its FCM may lack the
 * register; a bad value of the shore means that there is none. */
static bool is_stale(const struct engine *e, const struct param *p, uint64_t never_since)
{
	const struct param_kind *k = p->kind;
	enum param_quality q = param_quality(p, e->now.mono_ns);

	if (q == PARAM_BAD && k->optional) {
		return false;
	}
	if (q == PARAM_STALE || q == PARAM_GOOD || !never_since || k->stale_s <= 0) {
		return q == PARAM_STALE;
	}
	return p->has_value ? param_age_s(p, e->now.mono_ns) > k->stale_s
			    : k->poll_s > 0 && e->now.mono_ns - never_since > NEVER_NS;
}

/* Stale and missing values of a stretch of the table that belong to the link, or to none (-1), as one reason. */
static void stale_values(const struct engine *e, unsigned first, unsigned count,
			 uint64_t never_since, int link, const char *object, struct reasons *r)
{
	struct engine_reason reason = {
		.code = "stale", .link = link, .of_link = link >= 0 && never_since == 0};
	const struct param *worst = NULL;
	unsigned stale = 0;
	double age = 0;

	for (unsigned i = first; i < first + count; i++) {
		const struct param *p = params_at(e->params, i);

		if (p->link != link || !is_stale(e, p, never_since)) {
			continue;
		}
		stale++;
		if (!worst || param_age_s(p, e->now.mono_ns) > age) {
			worst = p;
			age = param_age_s(p, e->now.mono_ns);
		}
	}
	if (stale == 0) {
		return;
	}
	if (age < 0) {
		SAY(text, "%u value%s never come: %s%s", stale, stale == 1 ? " has" : "s have",
		    worst->name, stale > 1 ? " and others" : "");
	} else {
		SAY(text, "%u value%s stale; %s is %.0f s old", stale, stale == 1 ? " is" : "s are",
		    worst->name, age);
	}
	SAY(action, "Do not trust them; fcmctl get %s shows how old one is.", worst->name);
	give(r, reason, object, NULL);
}

/* `object`: the floor's name. */
static void link_reasons(const struct engine *e, const struct link *l, const char *object,
			 struct reasons *r)
{
	struct engine_reason reason = {.red = true, .link = (int)l->number};

	if (!isnan(link_mute_s(l, e->now))) {
		reason.code = "floor-mute";
		SAY(text,
		    "the FCM of tower %u floor %u does not answer slow control, though link %u is "
		    "locked",
		    l->tower, l->floor, l->number);
		SAY(action,
		    "See what still comes of it: fcmctl link show %u; wait half a minute for a "
		    "boot to end; if data come and it stays mute: fcmctl link reset %u; then tell "
		    "the "
		    "detector expert.",
		    l->number, l->number);
		give(r, reason, object, NULL);
	}
	if (l->configured && l->next_sequence > UINT32_MAX - UINT32_MAX / 10) {
		reason.code = "sequences";
		reason.red = l->next_sequence > UINT32_MAX;
		SAY(text, "tower %u floor %u: nine tenths of all sequence numbers are used up",
		    l->tower, l->floor);
		give(r, reason, object, "Tell the maintainer.");
	}
}

unsigned engine_reasons(struct engine *e, struct engine_now now,
			void (*fn)(void *context, const struct engine_reason *reason),
			void *context)
{
	struct reasons r = {.e = e, .fn = fn, .context = context};
	unsigned shore = 0;
	char object[PARAM_NAME_MAX];

	e->now = now;
	unknown_commands(&r);
	safe_cut(&r);
	for (struct link *l = e->links; l < e->links + PARAM_LINKS; l++) {
		snprintf(object, sizeof(object), "tower%u.floor%u", l->tower, l->floor);
		link_reasons(e, l, object, &r);
		if (e->config.poll && link_usable(l) && l->silent < MUTE_TIMEOUTS) {
			stale_values(e, l->first_param, l->params, l->usable_since, l->number,
				     object, &r);
		}
		shore += l->params;
	}
	for (unsigned link = 0; link < PARAM_LINKS; link++) {
		snprintf(object, sizeof(object), "link%u", link);
		stale_values(e, shore, params_count(e->params) - shore, 0, (int)link, object, &r);
	}
	stale_values(e, shore, params_count(e->params) - shore, 0, -1, "shore", &r);
	values_beyond_limits(&r);
	return r.count;
}
