/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The groups and members as the status shows them, and their rates. Settles nothing; see groups_private.h. */
#include <string.h>

#include "daemon/publish/groups_private.h"

static void group_status(const struct group *group, uint64_t now_ns, struct group_status *ret)
{
	const struct entry *oldest = groups_oldest(group);

	*ret = group->counts;
	memcpy(ret->name, group->config.name, sizeof(ret->name));
	ret->streams = group->config.streams;
	ret->policy = group->config.policy;
	ret->held_bytes = ret->in_flight_bytes + ret->waiting_bytes + group->owed_bytes;
	ret->budget_bytes = group->config.budget_bytes;
	ret->blocks_per_s = group->rate.blocks_per_s;
	ret->bytes_per_s = group->rate.bytes_per_s;
	ret->oldest_ns = oldest && oldest->of->block->monotonic_ns < now_ns
				 ? now_ns - oldest->of->block->monotonic_ns
				 : 0;
}

/* It got them in the order of slices, not of age. */
static uint64_t oldest_flight_ns(const struct member *m, uint64_t now_ns)
{
	uint64_t oldest = now_ns;
	const struct entry *e;

	TAILQ_FOREACH (e, &m->flights, next) {
		if (e->state == FLIGHT && e->of->block->monotonic_ns < oldest) {
			oldest = e->of->block->monotonic_ns;
		}
	}
	return now_ns - oldest;
}

const char *member_state_name(enum member_state state)
{
	static const char *const names[MEMBER_STATES] = {
		[MEMBER_LEFT] = "left",
		[MEMBER_ALIVE] = "alive",
		[MEMBER_SILENT] = "silent",
		[MEMBER_TOO_SLOW] = "too-slow",
	};

	return (unsigned)state < MEMBER_STATES ? names[state] : "unknown";
}

void groups_get_status(const struct groups *g, uint64_t now_ns, struct publisher_status *ret_status)
{
	ret_status->groups = g->count;
	ret_status->members = 0;
	ret_status->late_acks = g->late_acks;
	ret_status->unknown_acks = g->unknown_acks;
	for (unsigned i = 0; i < g->count; i++) {
		group_status(&g->group[i], now_ns, &ret_status->group[i]);
	}
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		const struct member *m = &g->member[i];
		struct member_status *s;

		if (!m->used) {
			continue;
		}
		s = &ret_status->member[ret_status->members++];
		*s = m->status;
		s->oldest_ns = oldest_flight_ns(m, now_ns);
		s->blocks_per_s = m->rate.blocks_per_s;
		s->bytes_per_s = m->rate.bytes_per_s;
		memcpy(s->group, g->group[m->group].config.name, sizeof(s->group));
	}
}

void groups_measure(struct groups *g, uint64_t now_ns)
{
	for (unsigned i = 0; i < g->count; i++) {
		struct group *group = &g->group[i];

		rate_step(&group->rate, group->counts.acked, group->counts.acked_bytes, now_ns);
	}
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		struct member *m = &g->member[i];

		if (m->status.state == MEMBER_ALIVE) {
			rate_step(&m->rate, m->status.delivered, m->status.delivered_bytes, now_ns);
		}
	}
}
