/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The groups and members as the status shows them. Looks, changes nothing; see groups_private.h. */
#include <string.h>

#include "daemon/groups_private.h"

static void group_status(const struct group *group, uint64_t now_ns,
			 struct publisher_group_status *ret)
{
	uint64_t oldest = now_ns;

	for (unsigned k = 0; k < NANET3_LINKS * FCM_STREAMS; k++) {
		const struct entry *e = TAILQ_FIRST(&group->held[k / FCM_STREAMS][k % FCM_STREAMS]);

		if (e && e->of->block->monotonic_ns < oldest) {
			oldest = e->of->block->monotonic_ns;
		}
	}
	memcpy(ret->name, group->config.name, sizeof(ret->name));
	ret->streams = group->config.streams;
	ret->members = group->alive;
	ret->offered = group->offered;
	ret->acked = group->acked;
	ret->in_flight = group->in_flight;
	ret->waiting = group->waiting;
	memcpy(ret->dropped, group->dropped, sizeof(ret->dropped));
	memcpy(ret->dropped_frames, group->dropped_frames, sizeof(ret->dropped_frames));
	ret->oldest_ns = now_ns - oldest;
	ret->last_drop_tower = group->last_drop.tower;
	ret->last_drop_floor = group->last_drop.floor;
	ret->last_drop_stream = group->last_drop.stream;
	ret->last_drop_outcome = group->last_drop_outcome;
	ret->last_drop_first_frame = group->last_drop_first_frame;
	ret->last_drop_frames = group->last_drop_frames;
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
		struct publisher_member_status *s;

		if (!m->used) {
			continue;
		}
		s = &ret_status->member[ret_status->members++];
		*s = (struct publisher_member_status){
			.alive = m->alive,
			.credit = m->credit,
			.in_flight = m->owing,
			.delivered = m->delivered,
			.delivered_bytes = m->delivered_bytes,
			.redelivered = m->redelivered,
			.last_seen_ns = m->last_seen_ns,
		};
		memcpy(s->name, m->name, sizeof(s->name));
		memcpy(s->group, g->group[m->group].config.name, sizeof(s->group));
	}
}
