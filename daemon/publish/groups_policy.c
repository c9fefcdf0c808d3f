/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is dropped when a group falls behind: the policies of schemas/fcm_data.h on the structures
 * of groups_private.h. Asked after every block offered, for its link and stream.
 *
 *   frames of the ring, from the oldest block not settled to the newest offered:
 *     0 ......... hold_frames: the policy applies ......... limit_frames: the oldest are dropped
 *   memory of the blocks held and owed:
 *     0 ......... 3/4 of budget_bytes: the policy applies .... all of it: the oldest are dropped
 *
 * For the ring's sake the oldest block is dropped wherever it is. For the memory's sake the oldest that
 * no member has: a message on its way keeps its memory until it is acknowledged, or its member is gone.
 */
#include "daemon/publish/groups_private.h"
#include "tdm/frame.h"

/* Of blocks that pay together when the pool is empty: more than a tick brings. */
#define MOMENT_NS 10000000ull

static uint64_t held_bytes(const struct group *group)
{
	return group->counts.waiting_bytes + group->counts.in_flight_bytes + group->owed_bytes;
}

/* The newest block alone is always kept. */
static bool frames_over(const struct lane *lane, uint64_t frames)
{
	const struct entry *e = TAILQ_FIRST(&lane->held);

	return e && TAILQ_NEXT(e, held) && lane->position - e->position > frames;
}

static bool bytes_over(const struct group *group, uint64_t bytes)
{
	return group->config.budget_bytes && held_bytes(group) > bytes;
}

static enum outcome reason(const struct group *group)
{
	return group->counts.members > 0 ? OUTCOME_DROP_SLOW : OUTCOME_DROP_NO_MEMBER;
}

/* The first block of the oldest slice that has some waiting. */
static struct entry *oldest_waiting(struct groups *g, struct group *group)
{
	struct slice *oldest = TAILQ_FIRST(&group->unassigned);

	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		struct member *m = &g->member[i];
		struct slice *s = TAILQ_FIRST(&m->ready);

		if (s && &g->group[m->group] == group && (!oldest || s->number < oldest->number)) {
			oldest = s;
		}
	}
	return oldest ? TAILQ_FIRST(&oldest->waiting) : NULL;
}

/* Drop from the oldest on. Returns how many blocks. */
static unsigned drop_oldest(struct groups *g, struct group *group, const struct lane *lane,
			    uint64_t frames, uint64_t bytes)
{
	unsigned dropped = 0;
	struct entry *e;

	while (frames_over(lane, frames)) {
		groups_drop_entry(g, TAILQ_FIRST(&lane->held), reason(group));
		dropped++;
	}
	while (bytes_over(group, bytes) && (e = oldest_waiting(g, group)) &&
	       held_bytes(group) > e->of->bytes) {
		groups_drop_entry(g, e, reason(group));
		dropped++;
	}
	return dropped;
}

/* The member that has the block, or is to get it; when it is unassigned, the one that owes most. NULL: none owes. */
static struct member *holder_of(struct groups *g, struct group *group, const struct entry *e)
{
	struct member *most = NULL;

	if (e->state == FLIGHT || e->slice->member != NOBODY) {
		return &g->member[e->state == FLIGHT ? e->member : e->slice->member];
	}
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		struct member *m = &g->member[i];

		if (m->status.state == MEMBER_ALIVE && &g->group[m->group] == group &&
		    m->status.in_flight > 0 &&
		    (!most || m->status.in_flight > most->status.in_flight)) {
			most = m;
		}
	}
	return most;
}

struct entry *groups_oldest(const struct group *group)
{
	struct entry *oldest = NULL;

	for (unsigned k = 0; k < LANES; k++) {
		struct entry *e = TAILQ_FIRST(&group->lane[k].held);

		if (e &&
		    (!oldest || e->of->block->monotonic_ns < oldest->of->block->monotonic_ns)) {
			oldest = e;
		}
	}
	return oldest;
}

void groups_spare(struct group *group)
{
	for (unsigned k = 0; k < LANES; k++) {
		struct lane *lane = &group->lane[k];

		lane->spared_until = lane->position + group->config.hold_frames;
	}
}

static void disconnect(struct groups *g, struct group *group, const struct lane *lane)
{
	struct entry *e = frames_over(lane, group->config.hold_frames) ? TAILQ_FIRST(&lane->held)
								       : groups_oldest(group);
	struct member *m = e ? holder_of(g, group, e) : NULL;

	if (!m || lane->position < lane->spared_until) {
		return;
	}
	group->counts.disconnected++;
	groups_expel(g, m);
	groups_spare(group);
}

static void apply_policy(struct groups *g, struct group *group, struct entry *newest,
			 enum fcm_policy policy)
{
	const struct lane *lane = lane_of(group, newest);
	uint64_t frames = group->config.hold_frames, bytes = group->config.budget_bytes / 4 * 3;

	if (policy == FCM_WAIT || (!frames_over(lane, frames) && !bytes_over(group, bytes))) {
		return;
	}
	switch (policy) {
	case FCM_DROP_NEWEST:
		if (held_bytes(group) > newest->of->bytes) {
			groups_drop_entry(g, newest, reason(group));
		}
		break;
	case FCM_DISCONNECT:
		disconnect(g, group, lane);
		break;
	default:
		drop_oldest(g, group, lane, frames, bytes);
		break;
	}
}

void groups_judge(struct groups *g, struct group *group, struct entry *newest)
{
	const struct group_config *c = &group->config;
	enum fcm_policy policy = c->policy;
	unsigned dropped;

	if (policy == FCM_DISCONNECT && group->counts.members == 0) {
		policy = FCM_DROP_OLDEST;
	}
	/* The limit first: while there is a newer one behind it, the oldest is not the newest. */
	dropped = drop_oldest(g, group, lane_of(group, newest),
			      c->limit_frames ? c->limit_frames : UINT64_MAX, c->budget_bytes);
	group->counts.beyond += policy == FCM_DROP_OLDEST ? 0 : dropped;
	if (newest->state == WAITING) {
		apply_policy(g, group, newest, policy);
	}
}

/* ---- the pool is empty ---- */

static bool older(const struct entry *e, const struct entry *than)
{
	return e && (!than || e->of->block->monotonic_ns < than->of->block->monotonic_ns);
}

/* On its way for longer than the ring lasts that the group may hold at most. */
static bool outlived_limit(const struct groups *g, const struct group *group, const struct entry *e)
{
	uint64_t limit_ns = group->config.limit_frames * TDM_FRAME_NS;

	return limit_ns && e->of->block->monotonic_ns + limit_ns < g->now_ns;
}

/* The entry that is dropped next when there is no memory. NULL: none. */
static struct entry *pool_payer(struct groups *g)
{
	struct entry *waiting = NULL, *flight = NULL;

	for (unsigned i = 0; i < g->count; i++) {
		struct group *group = &g->group[i];
		struct entry *e = oldest_waiting(g, group);

		waiting = older(e, waiting) ? e : waiting;
		e = groups_oldest(group);
		flight = older(e, flight) && outlived_limit(g, group, e) ? e : flight;
	}
	return waiting ? waiting : flight;
}

uint64_t groups_pool_oldest_ns(struct groups *g)
{
	const struct entry *e = pool_payer(g);

	return e ? e->of->block->monotonic_ns : UINT64_MAX;
}

void groups_pool_empty(struct groups *g)
{
	struct entry *e = pool_payer(g);
	uint64_t until = e ? e->of->block->monotonic_ns + MOMENT_NS : 0;
	uint8_t state = e ? e->state : DONE;

	for (; e && e->state == state && e->of->block->monotonic_ns < until; e = pool_payer(g)) {
		struct tracked *t = e->of;

		for (unsigned i = 0; i < g->count; i++) {
			if (t->entry[i].state == state) {
				groups_drop_entry(g, &t->entry[i], OUTCOME_DROP_POOL);
			}
		}
	}
}
