/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups of reserved consumers: the state machine of groups.h on the structures of groups_private.h.
 *
 * Every event costs a constant time (members and groups are few), but for a member's leaving, which
 * costs what it held.
 */
#include "daemon/publish/groups.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/publish/groups_private.h"

struct groups *groups_create(const struct groups_config *config)
{
	struct groups *g = calloc(1, sizeof(*g));

	if (!g) {
		return NULL;
	}
	assert(config->groups <= GROUPS_MAX);
	g->count = config->groups;
	g->dead_ns = config->dead_ns;
	TAILQ_INIT(&g->settled);
	TAILQ_INIT(&g->free);
	for (unsigned i = 0; i < g->count; i++) {
		struct group *group = &g->group[i];

		group->config = config->group[i];
		TAILQ_INIT(&group->unassigned);
		TAILQ_INIT(&group->busy);
		TAILQ_INIT(&group->idle);
		for (unsigned k = 0; k < LANES; k++) {
			TAILQ_INIT(&group->lane[k].held);
		}
	}
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		TAILQ_INIT(&g->member[i].flights);
		TAILQ_INIT(&g->member[i].ready);
	}
	return g;
}

void groups_destroy(struct groups *g)
{
	struct tracked *t;
	struct slice *s;

	if (!g) {
		return;
	}
	while ((t = TAILQ_FIRST(&g->free))) {
		TAILQ_REMOVE(&g->free, t, next);
		free(t);
	}
	for (unsigned i = 0; i < BLOCK_BUCKETS; i++) {
		while ((t = LIST_FIRST(&g->chain[i]))) {
			LIST_REMOVE(t, chain);
			free(t);
		}
	}
	for (unsigned i = 0; i < g->count; i++) {
		for (unsigned k = 0; k < SLICE_BUCKETS; k++) {
			while ((s = LIST_FIRST(&g->group[i].slices[k]))) {
				LIST_REMOVE(s, chain);
				free(s);
			}
		}
	}
	free(g);
}

/* ---- tracked blocks ---- */

/* There is no memory to keep the block's account. */
static void drop_untracked(struct groups *g, struct block *b)
{
	memset(b->outcome, OUTCOME_NOT_OFFERED, sizeof(b->outcome));
	for (unsigned i = 0; i < g->count; i++) {
		struct group *group = &g->group[i];

		if (!(group->config.streams & 1u << b->header.stream)) {
			continue;
		}
		if (b->already[i]) {
			b->outcome[i] = OUTCOME_ACKED;
			continue;
		}
		b->outcome[i] = OUTCOME_DROP_POOL;
		group->counts.offered++;
		group_count_drop(g, group, b, OUTCOME_DROP_POOL);
	}
}

int groups_offer(struct groups *g, struct block *b)
{
	const struct fcm_block_header *h = &b->header;
	struct slice *slice[GROUPS_MAX] = {NULL};
	struct tracked *t;

	assert(h->link < NANET3_LINKS && h->stream < FCM_STREAMS);
	for (unsigned i = 0; i < g->count; i++) {
		if (g->group[i].config.streams & 1u << h->stream && !b->already[i]) {
			slice[i] = slice_get(g, &g->group[i], slice_key(h));
			if (!slice[i]) {
				goto no_memory;
			}
		}
	}
	t = tracked_new(g, b);
	if (!t) {
		goto no_memory;
	}
	b->publisher = t;
	g->held++;
	memset(b->outcome, OUTCOME_NOT_OFFERED, sizeof(b->outcome));
	t->open = 1; /* ours, until all groups have it */
	for (unsigned i = 0; i < g->count; i++) {
		struct group *group = &g->group[i];
		struct entry *e = &t->entry[i];
		struct lane *lane;

		if (!slice[i]) {
			b->outcome[i] = group->config.streams & 1u << h->stream
						? OUTCOME_ACKED
						: OUTCOME_NOT_OFFERED;
			continue;
		}
		*e = (struct entry){.of = t, .slice = slice[i]};
		lane = lane_of(group, e);
		e->position = lane->position;
		lane->position += h->frames;
		group->counts.offered++;
		t->open++;
		TAILQ_INSERT_TAIL(&lane->held, e, held);
		entry_wait(g, e, false);
		groups_judge(g, group, e);
	}
	if (--t->open == 0) {
		TAILQ_INSERT_TAIL(&g->settled, t, next);
	}
	return 0;

no_memory:
	drop_untracked(g, b);
	return -ENOMEM;
}

void groups_shutdown(struct groups *g)
{
	struct entry *e;

	for (unsigned i = 0; i < g->count; i++) {
		while ((e = groups_oldest(&g->group[i]))) {
			groups_drop_entry(g, e, OUTCOME_DROP_SHUTDOWN);
		}
	}
}

uint64_t groups_held(const struct groups *g)
{
	return g->held;
}

/* ---- members ---- */

void groups_leave(struct groups *g, unsigned member)
{
	member_end(g, member, MEMBER_LEFT);
}

/* The row for a new member: that of its own name, a free one, the one dead for longest. */
static struct member *member_row(struct groups *g, const char *name)
{
	struct member *row = NULL;

	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		struct member *m = &g->member[i];

		if (m->used && strcmp(m->status.name, name) == 0) {
			return m;
		}
	}
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		struct member *m = &g->member[i];

		if (!m->used) {
			return m;
		}
		if (m->status.state != MEMBER_ALIVE &&
		    (!row || m->status.last_seen_ns < row->status.last_seen_ns)) {
			row = m;
		}
	}
	return row;
}

int groups_hello(struct groups *g, const char *name, const char *group, uint32_t credit,
		 uint64_t now_ns, unsigned *ret_member)
{
	unsigned index = 0;
	struct member *m;

	if (!name[0] || strlen(name) >= sizeof(m->status.name) || credit == 0 ||
	    credit > GROUPS_CREDIT_MAX) {
		return -EINVAL;
	}
	while (index < g->count && strcmp(g->group[index].config.name, group) != 0) {
		index++;
	}
	if (index == g->count) {
		return -ENOENT;
	}
	m = member_row(g, name);
	if (!m) {
		return -EUSERS;
	}
	groups_leave(g, (unsigned)(m - g->member));
	if (strcmp(m->status.name, name) != 0) {
		m->status.delivered = m->status.delivered_bytes = m->status.redelivered = 0;
		memcpy(m->status.name, name, strlen(name) + 1);
	}
	g->to_expel -= m->to_expel;
	m->used = true;
	m->status.state = MEMBER_ALIVE;
	m->blocked = m->to_expel = false;
	m->rate = (struct rate){0};
	m->group = (uint8_t)index;
	m->status.credit = credit;
	m->assigned = g->turns++;
	m->status.last_seen_ns = now_ns;
	g->group[index].counts.members++;
	groups_spare(&g->group[index]);
	*ret_member = (unsigned)(m - g->member);
	return 0;
}

void groups_seen(struct groups *g, unsigned member, uint64_t now_ns)
{
	g->member[member].status.last_seen_ns = now_ns;
}

bool groups_alive(const struct groups *g, unsigned member)
{
	return member < MEMBERS_MAX && g->member[member].status.state == MEMBER_ALIVE;
}

const char *groups_member_name(const struct groups *g, unsigned member)
{
	return g->member[member].status.name;
}

const struct group_config *groups_config_of(const struct groups *g, unsigned member)
{
	return &g->group[g->member[member].group].config;
}

static struct entry *find_flight(struct groups *g, unsigned member, const struct fcm_ack *ack)
{
	struct tracked *t;

	for (t = LIST_FIRST(tracked_chain(g, ack)); t; t = LIST_NEXT(t, chain)) {
		struct entry *e = &t->entry[g->member[member].group];

		if (key_equal(&t->key, ack) && (e->state == FLIGHT || e->state == ZOMBIE) &&
		    e->member == member) {
			return e;
		}
	}
	return NULL;
}

enum groups_ack_result groups_ack(struct groups *g, unsigned member, const struct fcm_ack *ack)
{
	struct member *m = &g->member[member];
	struct entry *e = groups_alive(g, member) ? find_flight(g, member, ack) : NULL;

	if (!e) {
		g->unknown_acks++;
		return GROUPS_ACK_UNKNOWN;
	}
	if (e->state == ZOMBIE) {
		entry_land(g, e);
		tracked_release(g, e->of);
		g->late_acks++;
		return GROUPS_ACK_LATE;
	}
	entry_land(g, e);
	m->status.delivered++;
	m->status.delivered_bytes += e->of->block->header.payload_bytes;
	entry_group(g, e)->counts.acked++;
	entry_group(g, e)->counts.acked_bytes += e->of->block->header.payload_bytes;
	entry_settle(g, e, OUTCOME_ACKED);
	return GROUPS_ACKED;
}

void groups_tick(struct groups *g, uint64_t now_ns)
{
	g->now_ns = now_ns;
	groups_measure(g, now_ns);
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		struct member *m = &g->member[i];

		m->blocked = false;
		if (groups_alive(g, i) && now_ns > m->status.last_seen_ns &&
		    now_ns - m->status.last_seen_ns > g->dead_ns) {
			member_end(g, i, MEMBER_SILENT);
		}
	}
}

/* ---- what to do next ---- */

/* What is on its way to members keeps its memory whatever is dropped: all of them may owe 3/4 of the
 * group's budget, each its part of the half. */
static bool owes_too_much(const struct group *group, const struct member *m)
{
	uint64_t budget = group->config.budget_bytes;

	return budget && (m->status.in_flight_bytes >= budget / 2 / group->counts.members ||
			  group->counts.in_flight_bytes + group->owed_bytes >= budget / 4 * 3);
}

static uint32_t free_credit(const struct groups *g, const struct member *m)
{
	return m->status.state != MEMBER_ALIVE || m->blocked ||
			       m->status.in_flight >= m->status.credit ||
			       (m->status.in_flight > 0 && owes_too_much(&g->group[m->group], m))
		       ? 0
		       : m->status.credit - m->status.in_flight;
}

/* Give the group's oldest unassigned slice to the member with the most free credit. */
static struct member *assign_slice(struct groups *g, struct group *group)
{
	struct slice *s = TAILQ_FIRST(&group->unassigned);
	struct member *best = NULL;

	for (unsigned i = 0; s && i < MEMBERS_MAX; i++) {
		struct member *m = &g->member[i];
		uint32_t credit = &g->group[m->group] == group ? free_credit(g, m) : 0;

		if (credit > 0 &&
		    (!best || credit > free_credit(g, best) ||
		     (credit == free_credit(g, best) && m->assigned < best->assigned))) {
			best = m;
		}
	}
	if (best) {
		s->member = (uint8_t)(best - g->member);
		best->assigned = g->turns++;
		slice_place(g, group, s);
	}
	return best;
}

/* A member that has credit and a block waiting for it. */
static struct member *sendable(struct groups *g)
{
	struct member *m = NULL;

	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		m = &g->member[i];
		if (!TAILQ_EMPTY(&m->ready) && free_credit(g, m) > 0) {
			return m;
		}
	}
	m = NULL;
	for (unsigned i = 0; i < g->count && !m; i++) {
		m = assign_slice(g, &g->group[i]);
	}
	return m;
}

static void next_expelled(struct groups *g, struct groups_action *ret_action)
{
	unsigned i = 0;

	while (!g->member[i].to_expel) {
		i++;
	}
	g->member[i].to_expel = false;
	g->to_expel--;
	*ret_action = (struct groups_action){.type = GROUPS_EXPEL, .member = i};
}

bool groups_next(struct groups *g, struct groups_action *ret_action)
{
	struct tracked *t = TAILQ_FIRST(&g->settled);
	struct member *m;
	struct entry *e;

	if (t) {
		TAILQ_REMOVE(&g->settled, t, next);
		*ret_action = (struct groups_action){.type = GROUPS_SETTLED, .block = t->block};
		t->block->publisher = NULL;
		t->block = NULL;
		g->held--;
		tracked_release(g, t);
		return true;
	}
	if (g->to_expel > 0) {
		next_expelled(g, ret_action);
		return true;
	}
	m = sendable(g);
	if (!m) {
		return false;
	}
	e = TAILQ_FIRST(&TAILQ_FIRST(&m->ready)->waiting);
	*ret_action = (struct groups_action){
		.type = GROUPS_SEND,
		.block = e->of->block,
		.member = (unsigned)(m - g->member),
		.group = m->group,
		.resent = e->sent,
	};
	entry_fly(g, e, (uint8_t)ret_action->member);
	m->status.redelivered += e->sent;
	e->sent = true;
	return true;
}

void groups_unsent(struct groups *g, const struct groups_action *send)
{
	struct member *m = &g->member[send->member];
	struct tracked *t = send->block->publisher;
	struct entry *e = &t->entry[m->group];

	assert(e->state == FLIGHT && e->member == send->member);
	entry_land(g, e);
	m->status.redelivered -= send->resent;
	e->sent = send->resent;
	entry_wait(g, e, true);
	m->blocked = true;
}
