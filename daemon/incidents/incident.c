// SPDX-License-Identifier: GPL-2.0-or-later
/* Causes and what they explain. See incident.h. */
#include "daemon/incidents/incident.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct incidents {
	struct incident_part part[INCIDENT_PARTS_MAX]; /* kind NULL: free */
	struct incident incident[INCIDENTS_MAX];       /* number 0: free */
	const struct incident *list[INCIDENTS_MAX];    /* as incidents_list() gave it last */
	unsigned numbers;
	uint64_t start_until_ns;
	struct incident_before before[INCIDENTS_MAX]; /* number 0: free */
	/* Of each incident by link, not yet taken. */
	struct {
		uint8_t modules;
		uint64_t dark_ns, hits;
	} dark[INCIDENTS_MAX][PARAM_LINKS];
	/* Observations without room: in the last tick, in this one. */
	struct {
		unsigned count;
		bool red;
	} left_out, missing;
};

/* Fundamental ones first: where several explain, the first row does. */
const struct incident_row incident_rows[] = {
	{"board-gone",
	 RELATED_ALWAYS,
	 {"board-back", "board-stalled", "link-dark", "link-unaligned", "link-silent", "link-loss",
	  "floor-mute", "phase-silent", "stale", "clock-no-time", "clock-acquiring",
	  "clock-holdover", "clock-fault", "consumer-lag", "downlink-errors"}},
	{"board-back",
	 RELATED_ALWAYS,
	 {"link-dark", "link-unaligned", "link-silent", "link-loss", "phase-silent", "stale",
	  "floor-mute", "clock-no-time", "clock-acquiring", "clock-holdover", "clock-relabelled"}},
	{"board-stalled",
	 RELATED_ALWAYS,
	 {"link-silent", "link-loss", "phase-silent", "consumer-lag", "floor-mute", "stale"}},
	{"machine-late",
	 RELATED_ALWAYS,
	 {"link-silent", "floor-mute", "stale", "ring-fill", "link-loss", "consumer-none",
	  "consumer-lag", "consumer-dropping", "store-lag", "record-let-go",
	  "feed-reader-dropped"}},
	{"capture-stuck",
	 RELATED_ALWAYS,
	 {"link-silent", "ring-fill", "link-loss", "consumer-lag", "floor-mute"}},
	{"publisher-stuck",
	 RELATED_ALWAYS,
	 {"consumer-none", "consumer-lag", "consumer-dropping", "ring-fill", "link-loss",
	  "feed-reader-dropped"}},
	{"fcm-booted",
	 RELATED_LINK,
	 {"link-dark", "link-unaligned", "link-silent", "link-loss", "byte-slip", "floor-mute",
	  "phase-silent", "stale", "hv-low", "hv-off", "downlink-errors", "command-unknown",
	  "limit"}},
	{"link-dark",
	 RELATED_LINK,
	 {"link-unaligned", "link-silent", "link-loss", "floor-mute", "phase-silent", "stale",
	  "downlink-errors", "command-unknown"}},
	{"floor-identity",
	 RELATED_LINK,
	 {"link-dark", "link-unaligned", "link-silent", "link-loss", "floor-mute", "phase-silent",
	  "stale", "command-unknown"}},
	{"byte-slip", RELATED_LINK, {"link-unaligned", "link-loss", "phase-silent"}},
	{"link-unaligned", RELATED_LINK, {"link-loss", "phase-silent", "floor-mute", "stale"}},
	{"link-silent", RELATED_LINK, {"link-loss", "phase-silent", "floor-mute", "stale"}},
	{"downlink-errors", RELATED_LINK, {"floor-mute", "stale", "command-unknown"}},
	{"floor-mute", RELATED_LINK, {"stale", "command-unknown"}},
	{"phase-silent", RELATED_ITSELF, {"stale"}},
	{"hv-silenced", RELATED_LINK, {"hv-low", "hv-off"}},
	{"hv-trip", RELATED_MODULE, {"limit"}},
	{"disk-hangs",
	 RELATED_ALWAYS,
	 {"store-failing", "store-lag", "store-keep", "store-lost", "emergency-rows",
	  "emergency-full", "record-stopped", "record-let-go"}},
	{"disk-low",
	 RELATED_ALWAYS,
	 {"store-failing", "store-lag", "store-keep", "store-lost", "emergency-rows",
	  "emergency-full", "record-stopped"}},
	{"store-failing",
	 RELATED_ALWAYS,
	 {"store-lag", "store-keep", "store-lost", "emergency-rows", "emergency-full"}},
	{"clock-no-time",
	 RELATED_ALWAYS,
	 {"clock-acquiring", "clock-relabelled", "clock-system", "leap-mismatch"}},
	{"clock-holdover",
	 RELATED_ALWAYS,
	 {"clock-no-time", "clock-acquiring", "clock-fault", "clock-relabelled", "clock-system"}},
	{"clock-fault", RELATED_ALWAYS, {"clock-relabelled", "clock-system", "leap-mismatch"}},
	{"feed-reader-dropped", RELATED_GROUP, {"consumer-none", "consumer-dropping"}},
	{"consumer-none", RELATED_GROUP, {"consumer-dropping"}},
	{"consumer-lag", RELATED_GROUP, {"consumer-dropping"}},
	{"ring-fill", RELATED_LINK, {"link-loss"}},
	{0},
};

const char *incident_state_name(enum incident_state state)
{
	static const char *const names[] = {"active", "acknowledged", "paused", "cleared"};

	return names[state];
}

struct incidents *incidents_create(void)
{
	return calloc(1, sizeof(struct incidents));
}

void incidents_destroy(struct incidents *s)
{
	free(s);
}

/* ------------------------------------------------------------------ what explains what */

/* Whether it has one of an object's sort that the other has, too. */
static bool related(enum incident_relation by, const struct alarm_object *a,
		    const struct alarm_object *b)
{
	switch (by) {
	case RELATED_LINK:
		return a->link >= 0 && a->link == b->link;
	case RELATED_ITSELF:
		return a->of == b->of && a->link >= 0 && a->link == b->link;
	case RELATED_MODULE:
		return a->link >= 0 && a->link == b->link && (a->modules & b->modules);
	case RELATED_GROUP:
		return a->group >= 0 && a->group == b->group;
	default:
		return true;
	}
}

static bool has_effect(const struct incident_row *row, const char *code)
{
	for (const char *const *e = row->effects; *e; e++) {
		if (strcmp(*e, code) == 0) {
			return true;
		}
	}
	return false;
}

static const struct incident_row *row_of(const struct incident_part *q,
					 const struct incident_part *p)
{
	for (const struct incident_row *row = incident_rows; row->cause; row++) {
		if (strcmp(row->cause, q->kind->code) == 0 && has_effect(row, p->kind->code) &&
		    related(row->related, &q->is, &p->is)) {
			return row;
		}
	}
	return NULL;
}

/* It began while the cause was there. */
static bool in_time(const struct incident_part *cause, const struct incident_part *p)
{
	uint64_t end = cause->ended_ns ? cause->ended_ns : cause->over_ns;

	return cause->since_ns <= p->since_ns + INCIDENT_NEAR_NS &&
	       (!end || p->since_ns <= end + INCIDENT_NEAR_NS);
}

/* What was no more than the daemon's start, and has ended, is no company; nor is what our command costs another link. */
static bool together(const struct incident_part *a, const struct incident_part *b)
{
	return a->kind == b->kind && !(a->of->of_start && a->over_ns) &&
	       a->expected == b->expected && !(a->expected && strcmp(a->object, b->object) != 0) &&
	       a->since_ns <= b->since_ns + INCIDENT_NEAR_NS &&
	       b->since_ns <= a->since_ns + INCIDENT_NEAR_NS;
}

/* The row by which `q` explains `p`; NULL: it does not. */
static const struct incident_row *explains(const struct incident_part *q,
					   const struct incident_part *p)
{
	return q->kind && p->kind && q != p && in_time(q, p) ? row_of(q, p) : NULL;
}

static bool same(const struct incident_part *a, const struct incident_part *b)
{
	return a->kind == b->kind && a->loss == b->loss && strcmp(a->object, b->object) == 0;
}

/* One that comes again while its incident goes on is the same one. */
static bool is_again(const struct incident_part *q, const struct incident_part *p)
{
	return q->over_ns && !q->of->over_ns && same(q, p);
}

/* One of the causes of its incident. */
static bool is_cause(const struct incident_part *q)
{
	return q->kind && q->of && q->of->cause->kind == q->kind;
}

/* An incident of the previous daemon with this cause, that nothing has taken up yet. */
static struct incident_before *before_of(struct incidents *s, const struct incident_part *p)
{
	for (struct incident_before *b = s->before; b < s->before + INCIDENTS_MAX; b++) {
		if (b->number && strcmp(b->code, p->kind->code) == 0 &&
		    strcmp(b->object, p->object) == 0) {
			return b;
		}
	}
	return NULL;
}

/* What explains it best: by the first row, else one of its own code; but two that were apart before a restart, and are seen
 * together after it, stay apart. NULL: nothing. */
static const struct incident_part *explained_by(struct incidents *s, const struct incident_part *p)
{
	bool apart = before_of(s, p) != NULL;
	const struct incident_row *best = NULL;
	const struct incident_part *by = NULL;

	for (const struct incident_part *q = s->part; q < s->part + INCIDENT_PARTS_MAX; q++) {
		const struct incident_row *row = q->of ? explains(q, p) : NULL;

		if (row && (!best || row < best)) {
			best = row;
			by = q;
		} else if (q != p && !best && !by && !apart && is_cause(q) &&
			   (together(q, p) || is_again(q, p))) {
			by = q;
		}
	}
	return by;
}

/* ------------------------------------------------------------------ room */

/* The part of an incident after `after`. See incidents_part(). */
static struct incident_part *next_part(struct incidents *s, const struct incident *i,
				       const struct incident_part *after)
{
	return (struct incident_part *)incidents_part(s, i, after);
}

static void forget(struct incidents *s, struct incident *i)
{
	struct incident_part *p = NULL;

	while ((p = next_part(s, i, p))) {
		p->kind = NULL;
	}
	memset(s->dark[i - s->incident], 0, sizeof(s->dark[0]));
	i->used = false;
}

/* The one that was cleared first is forgotten; false: none is cleared. */
static bool make_room(struct incidents *s)
{
	struct incident *oldest = NULL;

	for (struct incident *i = s->incident; i < s->incident + INCIDENTS_MAX; i++) {
		if (i->used && i->over_ns && (!oldest || i->over_ns < oldest->over_ns)) {
			oldest = i;
		}
	}
	if (oldest) {
		forget(s, oldest);
	}
	return oldest != NULL;
}

static struct incident_part *new_part(struct incidents *s)
{
	do {
		for (unsigned n = 0; n < INCIDENT_PARTS_MAX; n++) {
			if (!s->part[n].kind) {
				return &s->part[n];
			}
		}
	} while (make_room(s));
	return NULL;
}

static struct incident *new_incident(struct incidents *s)
{
	do {
		for (unsigned n = 0; n < INCIDENTS_MAX; n++) {
			if (!s->incident[n].used) {
				return &s->incident[n];
			}
		}
	} while (make_room(s));
	return NULL;
}

/* ------------------------------------------------------------------ observations */

static struct incident_part *find(struct incidents *s, const char *code, const char *object,
				  const char *loss)
{
	for (struct incident_part *p = s->part; p < s->part + INCIDENT_PARTS_MAX; p++) {
		if (p->kind && !p->over_ns && strcmp(p->kind->code, code) == 0 &&
		    strcmp(p->object, object) == 0 && p->loss == loss) {
			return p;
		}
	}
	return NULL;
}

static struct incident_part *begin(struct incidents *s, const struct observation *o,
				   const char *object)
{
	const struct reason_kind *kind = reason_kind(o->code);
	struct incident_part *p = kind ? new_part(s) : NULL;

	if (!p) {
		return NULL;
	}
	*p = (struct incident_part){.kind = kind,
				    .loss = o->loss,
				    .expected = o->expected,
				    .is = o->object,
				    .first_ns = o->since_ns,
				    .since_ns = o->since_ns,
				    .dark_from_ns = o->since_ns};
	snprintf(p->object, sizeof(p->object), "%s", object);
	return p;
}

/* Its text; of a cause, or of what is left after it, also what operators have done. */
static void say(struct incident_part *p, const struct observation *o)
{
	struct incident *i = p->of;

	if (o->text && p->times > 1) {
		snprintf(p->text, sizeof(p->text), "%s (comes and goes: %u times)", o->text,
			 p->times);
	} else if (o->text) {
		snprintf(p->text, sizeof(p->text), "%s", o->text);
	}
	if (o->text) {
		snprintf(p->action, sizeof(p->action), "%s", o->action);
	}
	p->red = o->red;
	p->paused = o->paused;
	p->expected = o->expected;
	p->acknowledged = o->acknowledged != NULL;
	if (i->cause == p && o->own &&
	    o->since_ns <= p->since_ns + INCIDENT_NEAR_NS) { /* not a later reply to it */
		snprintf(i->own, sizeof(i->own), "%s", o->own);
	}
	if (i->cause == p || i->cause->over_ns) {
		i->acknowledged =
			o->acknowledged ? *o->acknowledged : (struct alarm_hand){.who = ""};
	}
}

/* The incident that it belongs to, as far as is known now. False: no room. */
static bool open_incident(struct incidents *s, struct incident_part *p)
{
	const struct incident_part *by = explained_by(s, p);

	p->of = by ? by->of : new_incident(s);
	if (p->of && !by) {
		*p->of = (struct incident){.used = true, .cause = p, .since_ns = p->since_ns};
	}
	return p->of != NULL;
}

/* Never shrinks: what cannot be observed now keeps the cost that it had. */
static void grow(uint64_t *sum, uint64_t *before, uint64_t now)
{
	if (now > *before) {
		*sum += now - *before;
		*before = now;
	}
}

static void count(struct incidents *s, struct incident_part *p, const struct observed *much)
{
	uint64_t hits = p->cost.hits, frames = p->cost.frames;

	grow(&p->cost.frames, &p->much.frames, much->frames);
	p->grew_ns = p->cost.frames > frames ? p->seen_ns : p->grew_ns;
	grow(&p->cost.dropped, &p->much.dropped, much->dropped);
	grow(&p->cost.hits, &p->much.hits, much->hits);
	if (p->is.link >= 0) {
		s->dark[p->of - s->incident][p->is.link].hits += p->cost.hits - hits;
	}
	memcpy(p->much.dark, much->dark, sizeof(p->much.dark));
}

/* It comes and goes, and has gone. */
static bool is_quiet(const struct incident_part *p)
{
	return p->times && p->ended_ns && !p->held;
}

static void come_again(struct incident_part *p, const struct observation *o, uint64_t now_ns)
{
	p->times++;
	p->since_ns = o->since_ns;
	p->dark_from_ns = now_ns;
	p->much = (struct observed){0};
	p->placed = false;
}

void incidents_see(struct incidents *s, const struct observation *o, uint64_t now_ns)
{
	char object[ALARM_OBJECT_BYTES];
	struct incident_part *p;

	object_name(&o->object, object, sizeof(object));
	p = find(s, o->code, object, o->loss);
	p = p ? p : begin(s, o, object);
	if (p && !p->of && !open_incident(s, p)) {
		p->kind = NULL;
		p = NULL;
	}
	if (!p) {
		s->missing.count++;
		s->missing.red |= o->red && !o->paused;
		return;
	}
	if (is_quiet(p)) {
		come_again(p, o, now_ns);
	}
	p->seen_ns = now_ns;
	p->is = o->object;
	p->is.name = NULL; /* the caller's; `object` has it */
	p->held = false;
	p->ended_ns = 0;
	say(p, o);
	count(s, p, &o->much);
}

void incidents_hold(struct incidents *s, const struct observation *o, uint64_t now_ns)
{
	char object[ALARM_OBJECT_BYTES];
	struct incident_part *p;
	uint64_t ended_ns;

	object_name(&o->object, object, sizeof(object));
	p = find(s, o->code, object, o->loss);
	ended_ns = p && p->held ? p->ended_ns : now_ns;
	incidents_see(s, o, now_ns);
	p = p ? p : find(s, o->code, object, o->loss);
	if (p) {
		p->held = true;
		p->ended_ns = ended_ns;
		memset(p->much.dark, 0, sizeof(p->much.dark)); /* it costs nothing more */
	}
}

/* ------------------------------------------------------------------ to which incident it belongs */

static bool explained_in_own_incident(const struct incidents *s, const struct incident_part *p)
{
	const struct incident_part *q = NULL;

	while ((q = incidents_part(s, p->of, q))) {
		if (explains(q, p)) {
			return true;
		}
	}
	return false;
}

static void add_cost(struct incident_cost *sum, const struct incident_cost *cost)
{
	sum->frames += cost->frames;
	sum->dropped += cost->dropped;
	sum->hits += cost->hits;
}

/* What is not yet taken of its account goes to another one's. */
static void join_dark(struct incidents *s, const struct incident *from, const struct incident *to)
{
	for (unsigned link = 0; link < PARAM_LINKS; link++) {
		s->dark[to - s->incident][link].modules |=
			s->dark[from - s->incident][link].modules;
		s->dark[to - s->incident][link].dark_ns +=
			s->dark[from - s->incident][link].dark_ns;
		s->dark[to - s->incident][link].hits += s->dark[from - s->incident][link].hits;
	}
	memset(s->dark[from - s->incident], 0, sizeof(s->dark[0]));
}

/* All that is left of an incident goes to another one. */
static void join(struct incidents *s, struct incident *from, struct incident *to)
{
	struct incident_part *p = NULL;

	while ((p = next_part(s, from, p))) {
		p->of = to;
	}
	to->cost.dark_ns += from->cost.dark_ns;
	add_cost(&to->before, &from->before);
	join_dark(s, from, to);
	/* The number by which people know it. */
	if (from->number && (!to->number || from->number < to->number)) {
		to->number = from->number;
	}
	if (!*to->own) {
		memcpy(to->own, from->own, sizeof(to->own));
	}
	from->used = false;
}

/* Another of the same code is the cause of what is left; without one nothing is left. */
static void leave(struct incidents *s, struct incident_part *p, struct incident *to)
{
	const struct incident_part *other = NULL;
	struct incident *from = p->of;

	p->of = to;
	if (from->cause != p) {
		return;
	}
	while ((other = incidents_part(s, from, other))) {
		if (other->kind == p->kind) {
			from->cause = other;
			return;
		}
	}
	join(s, from, to);
}

/* It was noticed later than what it explains. Ends, as rows have no circle. */
static void take_over(struct incidents *s, const struct incident_part *p)
{
	for (struct incident_part *q = s->part; q < s->part + INCIDENT_PARTS_MAX; q++) {
		if (explains(p, q) && q->of != p->of && !explained_in_own_incident(s, q)) {
			leave(s, q, p->of);
			take_over(s, q);
		}
	}
}

/* Its earlier occurrences in the incident become part of it. */
static void fold(struct incidents *s, struct incident_part *p)
{
	struct incident_part *q = NULL;

	while ((q = next_part(s, p->of, q))) {
		if (q != p && q->over_ns && same(q, p)) {
			add_cost(&p->cost, &q->cost);
			p->first_ns = q->first_ns;
			p->of->cause = p->of->cause == q ? p : p->of->cause;
			q->kind = NULL;
		}
	}
}

static void place(struct incidents *s, struct incident_part *p)
{
	const struct incident_part *by = explained_by(s, p);

	p->placed = true;
	if (by && by->of != p->of) {
		leave(s, p, by->of);
	}
	take_over(s, p);
	fold(s, p);
}

/* ------------------------------------------------------------------ a tick */

/* Cleared incidents with the same cause, of the last time. */
static unsigned recent(const struct incidents *s, const struct incident_part *p, uint64_t now_ns)
{
	unsigned n = 0;

	for (const struct incident *i = s->incident; i < s->incident + INCIDENTS_MAX; i++) {
		n += i->used && i->over_ns && !i->of_start && !i->cause->expected &&
		     now_ns - i->over_ns < INCIDENT_FLAP_NS && same(i->cause, p);
	}
	return n;
}

/* It was not seen, and goes on: it comes and goes. */
static bool goes_on(const struct incidents *s, struct incident_part *p, uint64_t now_ns)
{
	if (is_quiet(p)) {
		return now_ns - p->ended_ns < INCIDENT_QUIET_NS;
	}
	if (p->held || p->expected || p->of->cause != p ||
	    (!p->times && recent(s, p, now_ns) < INCIDENT_FLAPS)) {
		return false;
	}
	p->times = p->times ? p->times : 1;
	p->ended_ns = now_ns;
	memset(p->much.dark, 0, sizeof(p->much.dark)); /* it costs nothing while it is quiet */
	return true;
}

static void end_unseen(struct incidents *s, uint64_t now_ns)
{
	for (struct incident_part *p = s->part; p < s->part + INCIDENT_PARTS_MAX; p++) {
		if (p->kind && !p->over_ns && p->seen_ns != now_ns && !goes_on(s, p, now_ns)) {
			p->over_ns = is_quiet(p) ? p->ended_ns : now_ns;
		}
	}
}

/* It started under a previous daemon: its number and its cost are taken over. */
static bool take_up(struct incidents *s, struct incident *i)
{
	struct incident_before *b = before_of(s, i->cause);

	if (!b) {
		return false;
	}
	i->number = b->number;
	i->begun_ns = b->since_ns;
	i->was_red |= b->red;
	add_cost(&i->before, &b->cost);
	add_cost(&i->cost, &b->cost);
	i->cost.dark_ns += b->cost.dark_ns;
	if (!*i->own) {
		memcpy(i->own, b->own, sizeof(i->own));
	}
	b->number = 0;
	return true;
}

/* Something is wrong as long as it is true. */
static bool is_wrong(const struct incident_part *p)
{
	return !p->over_ns && !p->expected;
}

/* It does not count: it is paused, or its cause is, and that pause covers this severity. */
static bool is_covered(const struct incident_part *p)
{
	const struct incident_part *cause = p->of->cause;

	return p->paused || (cause->paused && (cause->red || !p->red));
}

static enum incident_state state_of(bool acknowledged, bool active, bool counts)
{
	if (!active) {
		return INCIDENT_CLEARED;
	}
	if (!counts) {
		return INCIDENT_PAUSED;
	}
	return acknowledged ? INCIDENT_ACKNOWLEDGED : INCIDENT_ACTIVE;
}

/* Of several causes of one code the first may end before the others: then another one becomes the cause. */
static void pass_on(struct incidents *s, struct incident *i)
{
	const struct incident_part *p = NULL;

	while (i->cause->over_ns && (p = incidents_part(s, i, p))) {
		if (p->kind == i->cause->kind && !p->over_ns) {
			i->cause = p;
		}
	}
}

/* When the last of its observations ended. */
static uint64_t last_over(const struct incidents *s, const struct incident *i)
{
	const struct incident_part *p = NULL;
	uint64_t last = 0;

	while ((p = incidents_part(s, i, p))) {
		uint64_t over_ns = p->expected ? p->grew_ns : p->over_ns;

		last = over_ns > last ? over_ns : last;
	}
	return last;
}

/* Its new state. True: it is to be forgotten. */
static bool settle(struct incidents *s, struct incident *i, uint64_t now_ns)
{
	const struct incident_part *p = NULL;
	bool active = false, open = false, counts = false, red = false, acknowledged = true;

	pass_on(s, i);
	i->before.dark_ns = i->cost.dark_ns;
	i->cost = i->before;
	i->parts = 0;
	i->held = true;
	while ((p = incidents_part(s, i, p))) {
		i->parts++;
		active |= is_wrong(p);
		open |= !p->over_ns;
		counts |= is_wrong(p) && !is_covered(p);
		acknowledged &= p->over_ns || p->acknowledged ||
				(p->kind != i->cause->kind && !i->cause->over_ns);
		red |= !p->over_ns && p->red;
		i->was_red |= p->red;
		i->held &= p->over_ns || p->held;
		i->since_ns = p->first_ns < i->since_ns ? p->first_ns : i->since_ns;
		add_cost(&i->cost, &p->cost);
	}
	i->held &= active;
	i->red = active ? red : i->was_red;
	if (!i->number && !take_up(s, i)) {
		i->number = ++s->numbers;
	}
	i->over_ns = active ? 0 : open || !i->over_ns ? last_over(s, i) : i->over_ns;
	i->state = state_of(acknowledged && *i->acknowledged.who, active, counts);
	i->of_start = !i->begun_ns && i->since_ns < s->start_until_ns &&
		      (active ? now_ns : i->over_ns) - i->since_ns < INCIDENT_START_NS;
	return !open && now_ns - i->over_ns >= (i->of_start ? INCIDENT_BRIEF_NS : INCIDENT_KEPT_NS);
}

/* 0: red, 1: a warning, 2: acknowledged, 3: paused, 4: cleared. */
static unsigned rank(const struct incident *i)
{
	return i->state == INCIDENT_ACTIVE ? !i->red : 1 + (unsigned)i->state;
}

/* The newest first: a short list, and the headline, have the news. */
static int by_rank(const void *a, const void *b)
{
	const struct incident *x = *(const struct incident *const *)a;
	const struct incident *y = *(const struct incident *const *)b;
	int ranks = (int)rank(x) - (int)rank(y);
	int ages = (x->since_ns < y->since_ns) - (x->since_ns > y->since_ns);

	return ranks ? ranks : ages ? ages : (x->number > y->number) - (x->number < y->number);
}

/* A dark module is charged to the incident that began first. */
static void add_darkness(struct incidents *s, struct incident *i, uint8_t taken[PARAM_LINKS],
			 uint64_t now_ns)
{
	struct incident_part *p = NULL;

	while ((p = next_part(s, i, p))) {
		for (unsigned link = 0; !p->over_ns && link < PARAM_LINKS; link++) {
			unsigned dark = p->much.dark[link] & ~taken[link] & 0xffu;
			uint64_t ns =
				(unsigned)__builtin_popcount(dark) * (now_ns - p->dark_from_ns);

			i->cost.dark_ns += ns;
			s->dark[i - s->incident][link].dark_ns += ns;
			s->dark[i - s->incident][link].modules |= (uint8_t)dark;
			taken[link] |= (uint8_t)dark;
		}
		p->dark_from_ns = now_ns;
	}
}

/* The next incident by number; NULL: no more. */
static struct incident *next_incident(struct incidents *s, unsigned after)
{
	struct incident *next = NULL;

	for (struct incident *i = s->incident; i < s->incident + INCIDENTS_MAX; i++) {
		if (i->used && i->number > after && (!next || i->number < next->number)) {
			next = i;
		}
	}
	return next;
}

void incidents_start(struct incidents *s, uint64_t until_ns)
{
	s->start_until_ns = until_ns;
}

void incidents_tick(struct incidents *s, uint64_t now_ns)
{
	uint8_t taken[PARAM_LINKS] = {0};

	end_unseen(s, now_ns);
	for (unsigned n = 0; n < INCIDENT_PARTS_MAX; n++) {
		if (s->part[n].kind && !s->part[n].placed) {
			place(s, &s->part[n]);
		}
	}
	for (struct incident *i = s->incident; i < s->incident + INCIDENTS_MAX; i++) {
		if (i->used && settle(s, i, now_ns)) {
			forget(s, i);
		}
	}
	for (struct incident *i = NULL; (i = next_incident(s, i ? i->number : 0));) {
		add_darkness(s, i, taken, now_ns);
	}
	s->left_out = s->missing;
	memset(&s->missing, 0, sizeof(s->missing));
}

/* ------------------------------------------------------------------ before and after this daemon */

void incidents_recover(struct incidents *s, unsigned last_number,
		       const struct incident_before *before, size_t count)
{
	for (size_t n = 0; n < count && n < INCIDENTS_MAX; n++) {
		s->before[n] = before[n];
	}
	/* Numbers given before the last one was known. */
	s->numbers += last_number;
	for (struct incident *i = s->incident; i < s->incident + INCIDENTS_MAX; i++) {
		if (i->used && i->number && !take_up(s, i)) {
			i->number += last_number;
		}
	}
}

unsigned incidents_take_ended(struct incidents *s)
{
	for (struct incident_before *b = s->before; b < s->before + INCIDENTS_MAX; b++) {
		unsigned number = b->number;

		if (number) {
			b->number = 0;
			return number;
		}
	}
	return 0;
}

bool incidents_take_dark(struct incidents *s, struct incident_dark *ret_dark)
{
	for (unsigned n = 0; n < INCIDENTS_MAX * PARAM_LINKS; n++) {
		const struct incident *i = &s->incident[n / PARAM_LINKS];
		unsigned link = n % PARAM_LINKS;
		uint64_t ms = s->dark[n / PARAM_LINKS][link].dark_ns / 1000000;

		if (i->used && i->number && !i->of_start &&
		    (ms || s->dark[n / PARAM_LINKS][link].hits)) {
			*ret_dark = (struct incident_dark){
				.number = i->number,
				.link = link,
				.modules = s->dark[n / PARAM_LINKS][link].modules,
				.dark_ms = ms,
				.hits = s->dark[n / PARAM_LINKS][link].hits};
			s->dark[n / PARAM_LINKS][link].modules = 0;
			s->dark[n / PARAM_LINKS][link].hits = 0;
			s->dark[n / PARAM_LINKS][link].dark_ns -= ms * 1000000;
			return true;
		}
	}
	return false;
}

/* ------------------------------------------------------------------ to be read */

const struct incident *const *incidents_list(struct incidents *s, size_t *ret_count)
{
	*ret_count = 0;
	for (unsigned n = 0; n < INCIDENTS_MAX; n++) {
		if (s->incident[n].used) {
			s->list[(*ret_count)++] = &s->incident[n];
		}
	}
	qsort(s->list, *ret_count, sizeof(s->list[0]), by_rank);
	return s->list;
}

const struct incident_part *incidents_part(const struct incidents *s, const struct incident *i,
					   const struct incident_part *after)
{
	for (unsigned n = after ? (unsigned)(after - s->part) + 1 : 0; n < INCIDENT_PARTS_MAX;
	     n++) {
		if (s->part[n].kind && s->part[n].of == i) {
			return &s->part[n];
		}
	}
	return NULL;
}

bool incidents_come_and_go(const struct incidents *s, const char *code, const char *object)
{
	for (const struct incident_part *p = s->part; p < s->part + INCIDENT_PARTS_MAX; p++) {
		if (p->kind && p->of && p->of->cause->times && !p->of->over_ns &&
		    strcmp(p->kind->code, code) == 0 && strcmp(p->object, object) == 0) {
			return true;
		}
	}
	return false;
}

unsigned incidents_left_out(const struct incidents *s)
{
	return s->left_out.count;
}

const char *incidents_word(const struct incidents *s)
{
	bool red = s->left_out.red, any = s->left_out.count > 0;

	for (const struct incident_part *p = s->part; p < s->part + INCIDENT_PARTS_MAX; p++) {
		if (p->kind && is_wrong(p) && !is_covered(p)) {
			any = true;
			red |= p->red;
		}
	}
	return red ? "RED" : any ? "ATTENTION" : "WELL";
}

const char *incidents_headline(struct incidents *s, char *text, size_t size)
{
	size_t count, n = 0;
	const struct incident *const *list = incidents_list(s, &count), *i;

	while (n < count && (!list[n]->red || list[n]->state > INCIDENT_ACKNOWLEDGED)) {
		n++; /* the word is red for an acknowledged one, too */
	}
	i = n < count ? list[n] : count ? *list : NULL;
	if (!i || i->state == INCIDENT_CLEARED) {
		snprintf(text, size,
			 s->left_out.count ? "more is wrong than there is room for"
					   : "nothing is wrong");
		return text;
	}
	snprintf(text, size, i->parts > 1 ? "%s/%s: %s (explains %u more)" : "%s/%s: %s",
		 i->cause->object, i->cause->kind->code, i->cause->text, i->parts - 1);
	return text;
}
