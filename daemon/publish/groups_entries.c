/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of groups: blocks, their entries in each group, slices, and what becomes of them when a
 * member ends.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/publish/groups_private.h"

#define SLICE_VOID  (1ull << 63) /* key of a slice without time: counted from the board's frames */
#define SLICES_IDLE 64u		 /* remembered per group: 13 s */

static uint64_t mix(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15ull;
	return x ^ x >> 29;
}

struct tracked_chain *tracked_chain(struct groups *g, const struct fcm_ack *key)
{
	uint64_t floor = (uint64_t)key->stream << 24 | (uint64_t)key->link << 16 |
			 (uint64_t)key->tower << 8 | key->floor;

	return &g->chain[mix(key->sequence ^ mix(floor + 1)) >> 20 & (BLOCK_BUCKETS - 1)];
}

static struct fcm_ack key_of(const struct block *b)
{
	return (struct fcm_ack){
		.sequence = b->header.sequence,
		.stream = b->header.stream,
		.link = b->header.link,
		.tower = b->header.tower,
		.floor = b->header.floor,
	};
}

bool key_equal(const struct fcm_ack *a, const struct fcm_ack *b)
{
	return a->sequence == b->sequence && a->stream == b->stream && a->link == b->link &&
	       a->tower == b->tower && a->floor == b->floor;
}

struct tracked *tracked_new(struct groups *g, struct block *b)
{
	struct tracked *t = TAILQ_FIRST(&g->free);

	if (t) {
		TAILQ_REMOVE(&g->free, t, next);
	} else if (!(t = malloc(sizeof(*t)))) {
		return NULL;
	}
	memset(t, 0, sizeof(*t));
	t->block = b;
	t->bytes = block_cost(b);
	t->key = key_of(b);
	LIST_INSERT_HEAD(tracked_chain(g, &t->key), t, chain);
	return t;
}

void tracked_release(struct groups *g, struct tracked *t)
{
	if (t->block || t->zombies > 0) {
		return;
	}
	LIST_REMOVE(t, chain);
	TAILQ_INSERT_HEAD(&g->free, t, next);
}

/* ---- slices ---- */

uint64_t slice_key(const struct fcm_block_header *h)
{
	return h->flags & FCM_BLOCK_NO_TIME ? SLICE_VOID | h->first_frame / FCM_SLICE_FRAMES
					    : h->slice_id;
}

static struct slice_list *slice_home(struct groups *g, struct group *group, struct slice *s)
{
	if (!TAILQ_EMPTY(&s->waiting)) {
		return s->member == NOBODY ? &group->unassigned : &g->member[s->member].ready;
	}
	return s->in_flight > 0 ? &group->busy : &group->idle;
}

static void insert_by_age(struct slice_list *list, struct slice *s)
{
	struct slice *behind = TAILQ_LAST(list, slice_list);

	while (behind && behind->number > s->number) {
		behind = TAILQ_PREV(behind, slice_list, next);
	}
	if (behind) {
		TAILQ_INSERT_AFTER(list, behind, s, next);
	} else {
		TAILQ_INSERT_HEAD(list, s, next);
	}
}

void slice_place(struct groups *g, struct group *group, struct slice *s)
{
	struct slice_list *home = slice_home(g, group, s);

	if (home == s->list) {
		return;
	}
	if (s->list) {
		TAILQ_REMOVE(s->list, s, next);
		group->idle_slices -= s->list == &group->idle;
	}
	s->list = home;
	if (home != &group->idle) {
		insert_by_age(home, s);
		return;
	}
	TAILQ_INSERT_TAIL(home, s, next);
	if (++group->idle_slices > SLICES_IDLE) {
		s = TAILQ_FIRST(home);
		TAILQ_REMOVE(home, s, next);
		LIST_REMOVE(s, chain);
		group->idle_slices--;
		free(s);
	}
}

struct slice *slice_get(struct groups *g, struct group *group, uint64_t key)
{
	struct slice_chain *chain = &group->slices[mix(key) >> 20 & (SLICE_BUCKETS - 1)];
	struct slice *s;

	for (s = LIST_FIRST(chain); s; s = LIST_NEXT(s, chain)) {
		if (s->key == key) {
			return s;
		}
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		return NULL;
	}
	s->key = key;
	s->number = g->slices_made++;
	s->member = NOBODY;
	TAILQ_INIT(&s->waiting);
	LIST_INSERT_HEAD(chain, s, chain);
	return s;
}

/* ---- entries ---- */

struct group *entry_group(struct groups *g, const struct entry *e)
{
	return &g->group[e - e->of->entry];
}

void entry_wait(struct groups *g, struct entry *e, bool at_head)
{
	struct group *group = entry_group(g, e);

	e->state = WAITING;
	e->member = NOBODY;
	group->counts.waiting++;
	group->counts.waiting_bytes += e->of->bytes;
	if (at_head) {
		TAILQ_INSERT_HEAD(&e->slice->waiting, e, next);
	} else {
		TAILQ_INSERT_TAIL(&e->slice->waiting, e, next);
	}
	slice_place(g, group, e->slice);
}

void entry_fly(struct groups *g, struct entry *e, uint8_t member)
{
	struct group *group = entry_group(g, e);

	TAILQ_REMOVE(&e->slice->waiting, e, next);
	group->counts.waiting--;
	group->counts.waiting_bytes -= e->of->bytes;
	group->counts.in_flight++;
	group->counts.in_flight_bytes += e->of->bytes;
	e->slice->in_flight++;
	slice_place(g, group, e->slice);
	e->state = FLIGHT;
	e->member = member;
	TAILQ_INSERT_TAIL(&g->member[member].flights, e, next);
	g->member[member].status.in_flight++;
	g->member[member].status.in_flight_bytes += e->of->bytes;
}

void entry_land(struct groups *g, struct entry *e)
{
	struct member *m = &g->member[e->member];
	struct group *group = entry_group(g, e);

	TAILQ_REMOVE(&m->flights, e, next);
	m->status.in_flight--;
	m->status.in_flight_bytes -= e->of->bytes;
	m->blocked = false;
	if (e->state == ZOMBIE) {
		group->owed_bytes -= e->of->bytes;
		e->of->zombies--;
		e->state = DONE;
	} else {
		group->counts.in_flight--;
		group->counts.in_flight_bytes -= e->of->bytes;
		e->slice->in_flight--;
	}
}

void entry_settle(struct groups *g, struct entry *e, enum outcome outcome)
{
	struct group *group = entry_group(g, e);
	struct tracked *t = e->of;

	TAILQ_REMOVE(&lane_of(group, e)->held, e, held);
	t->block->outcome[group - g->group] = (uint8_t)outcome;
	if (e->state != ZOMBIE) {
		e->state = DONE;
	}
	slice_place(g, group, e->slice);
	e->slice = NULL;
	if (--t->open == 0) {
		TAILQ_INSERT_TAIL(&g->settled, t, next);
	}
}

void group_count_drop(const struct groups *g, struct group *group, const struct block *b,
		      enum outcome outcome)
{
	const struct fcm_block_header *h = &b->header;

	group->counts.dropped[outcome]++;
	group->counts.dropped_frames[outcome] += h->frames;
	group->counts.last_drop = block_drop(h, outcome, g->now_ns);
}

void groups_drop_entry(struct groups *g, struct entry *e, enum outcome outcome)
{
	struct group *group = entry_group(g, e);

	if (e->state == WAITING) {
		TAILQ_REMOVE(&e->slice->waiting, e, next);
		group->counts.waiting--;
		group->counts.waiting_bytes -= e->of->bytes;
	} else {
		/* The member has it still, and owes for it. */
		group->counts.in_flight--;
		group->counts.in_flight_bytes -= e->of->bytes;
		group->owed_bytes += e->of->bytes;
		e->slice->in_flight--;
		e->state = ZOMBIE;
		e->of->zombies++;
	}
	group_count_drop(g, group, e->of->block, outcome);
	entry_settle(g, e, outcome);
}

/* The slices it had are anybody's again. */
static void abandon_slices(struct groups *g, struct group *group, unsigned member)
{
	struct member *m = &g->member[member];
	struct slice_list *quiet[] = {&group->busy, &group->idle};
	struct slice *s;

	while ((s = TAILQ_FIRST(&m->ready))) {
		s->member = NOBODY;
		slice_place(g, group, s);
	}
	for (unsigned i = 0; i < 2; i++) {
		for (s = TAILQ_FIRST(quiet[i]); s; s = TAILQ_NEXT(s, next)) {
			s->member = s->member == member ? NOBODY : s->member;
		}
	}
}

void member_end(struct groups *g, unsigned member, enum member_state why)
{
	struct member *m = &g->member[member];
	struct entry *e;

	if (m->status.state != MEMBER_ALIVE) {
		return;
	}
	m->status.state = why;
	m->rate = (struct rate){0};
	g->group[m->group].counts.members--;
	abandon_slices(g, &g->group[m->group], member);
	/* From the last sent to the first, each to the head of its slice: in order again. */
	while ((e = TAILQ_LAST(&m->flights, entry_list))) {
		bool zombie = e->state == ZOMBIE;

		entry_land(g, e);
		if (zombie) {
			tracked_release(g, e->of);
		} else {
			entry_wait(g, e, true);
		}
	}
}

void groups_expel(struct groups *g, struct member *m)
{
	struct entry *e;

	if (g->group[m->group].counts.members == 1) {
		TAILQ_FOREACH (e, &m->flights, next) {
			if (e->state == FLIGHT) {
				groups_drop_entry(g, e, OUTCOME_DROP_SLOW);
			}
		}
	}
	member_end(g, (unsigned)(m - g->member), MEMBER_TOO_SLOW);
	m->to_expel = true;
	g->to_expel++;
}
