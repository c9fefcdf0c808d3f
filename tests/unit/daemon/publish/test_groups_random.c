/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The groups of reserved consumers: random events against the invariants of groups.h, for each policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/daemon/publish/groups_rig.h"

#define RANDOM_BLOCKS  4000u
#define RANDOM_MEMBERS 6u
#define HOLD_FRAMES    (5u * BLOCK_FRAMES)
#define LIMIT_FRAMES   (8u * BLOCK_FRAMES)
#define BUDGET	       20000u /* bytes */
#define MEMORY_MAX     1500u  /* of a block */
#define LOOK	       64u    /* events between two looks at what is held */

struct random_block {
	struct block *b;
	bool settled;
	int with[2];   /* member that has it, -1 */
	bool acked[2]; /* we acknowledged while it was with the member */
	bool sent[2];
	uint64_t position[2]; /* frames offered before it to the group, on its link and stream */
};
struct random_world {
	struct groups *g;
	enum fcm_policy policy;
	uint64_t position[2][4][FCM_STREAMS];
	unsigned expelled, events;
	uint64_t rng, now;
	struct random_block block[RANDOM_BLOCKS];
	unsigned offered, settled;
	unsigned next[4]; /* per link */
	uint32_t credit[MEMBERS_MAX];
	int slice_member[2][RANDOM_BLOCKS];
};

static unsigned draw(struct random_world *w, unsigned n)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return (unsigned)(w->rng >> 20) % n;
}

static unsigned group_index(struct random_world *w, unsigned member)
{
	return strcmp(groups_config_of(w->g, member)->name, "trigger") != 0;
}

static void check_sent(struct random_world *w, const struct groups_action *a)
{
	unsigned group = group_index(w, a->member), slice = (unsigned)a->block->header.slice_id;
	struct random_block *r = &w->block[a->block->monotonic_ns];
	int *owner = &w->slice_member[group][slice];

	assert_ptr_equal(r->b, a->block);
	assert_false(r->settled);
	assert_int_equal(r->with[group], -1);
	assert_int_equal(a->resent, r->sent[group]);
	assert_true(groups_alive(w->g, a->member));
	/* All of a slice to one member, while it lives. */
	assert_true(*owner < 0 || *owner == (int)a->member);
	if (draw(w, 20) == 0) {
		groups_unsent(w->g, a);
		return;
	}
	*owner = (int)a->member;
	r->with[group] = (int)a->member;
	r->sent[group] = true;
}

static void check_settled(struct random_world *w, struct block *b)
{
	struct random_block *r = &w->block[b->monotonic_ns];

	assert_ptr_equal(r->b, b);
	assert_false(r->settled);
	r->settled = true;
	w->settled++;
	for (unsigned group = 0; group < 2; group++) {
		bool wanted = group == 1 || b->header.stream == FCM_PMT;

		if (!wanted) {
			assert_int_equal(b->outcome[group], OUTCOME_NOT_OFFERED);
		} else if (r->acked[group] || b->already[group]) {
			assert_int_equal(b->outcome[group], OUTCOME_ACKED);
		} else {
			assert_in_range(b->outcome[group], OUTCOME_DROP_NO_MEMBER, OUTCOMES - 1);
		}
	}
}

static void forget_member(struct random_world *w, unsigned member)
{
	unsigned group = group_index(w, member);

	for (unsigned i = 0; i < w->offered; i++) {
		struct random_block *r = &w->block[i];

		r->with[group] = r->with[group] == (int)member ? -1 : r->with[group];
		w->slice_member[group][i] =
			w->slice_member[group][i] == (int)member ? -1 : w->slice_member[group][i];
	}
}

/* Memory stays within the budget, and who is against the policy is counted. */
static void check_memory(struct random_world *w, const struct publisher_status *s)
{
	for (unsigned i = 0; i < s->groups; i++) {
		const struct group_status *g = &s->group[i];
		uint64_t dropped =
			g->dropped[OUTCOME_DROP_SLOW] + g->dropped[OUTCOME_DROP_NO_MEMBER];
		uint64_t owed = BUDGET / 4 * 3 + (RANDOM_MEMBERS + 1) * MEMORY_MAX;
		uint64_t most = BUDGET + MEMORY_MAX > owed ? BUDGET + MEMORY_MAX : owed;

		assert_true(g->held_bytes <= most);
		assert_true(g->in_flight_bytes + g->waiting_bytes <= g->held_bytes);
		assert_true(g->in_flight > 0 || g->in_flight_bytes == 0);
		assert_true(g->waiting > 0 || g->waiting_bytes == 0);
		assert_int_equal(g->policy, w->policy);
		assert_true(w->policy == FCM_DROP_OLDEST ? g->beyond == 0 : g->beyond <= dropped);
		assert_true(w->policy != FCM_WAIT || g->beyond == dropped);
	}
	assert_int_equal(s->group[0].disconnected + s->group[1].disconnected, w->expelled);
}

/* No block that a group has not settled holds the ring back beyond the limit, but the newest. */
static void check_ring(struct random_world *w)
{
	uint64_t most = w->policy == FCM_DROP_OLDEST ? HOLD_FRAMES : LIMIT_FRAMES;

	for (unsigned n = 0; n < w->offered; n++) {
		const struct random_block *r = &w->block[n];
		const struct fcm_block_header *h = &r->b->header;

		for (unsigned group = 0; group < 2; group++) {
			uint64_t newest = w->position[group][h->link][h->stream];
			bool wanted = (group == 1 || h->stream == FCM_PMT) && !r->b->already[group];

			if (wanted && !r->settled && r->b->outcome[group] == OUTCOME_NOT_OFFERED) {
				assert_true(newest - r->position[group] <= most);
			}
		}
	}
}

static void drain(struct random_world *w)
{
	struct publisher_status s = {0};
	struct groups_action a;

	while (groups_next(w->g, &a)) {
		if (a.type == GROUPS_SEND) {
			check_sent(w, &a);
		} else if (a.type == GROUPS_EXPEL) {
			assert_int_equal(w->policy, FCM_DISCONNECT);
			assert_false(groups_alive(w->g, a.member));
			forget_member(w, a.member);
			w->expelled++;
		} else {
			check_settled(w, a.block);
		}
	}
	groups_get_status(w->g, w->now, &s);
	check_memory(w, &s);
	if (w->events++ % LOOK == 0) {
		check_ring(w);
	}
	for (unsigned i = 0; i < s.members; i++) {
		assert_true(s.member[i].state != MEMBER_ALIVE ||
			    s.member[i].in_flight <= s.member[i].credit);
		assert_true(s.member[i].state == MEMBER_ALIVE || s.member[i].in_flight == 0);
	}
	for (unsigned i = 0; i < s.groups; i++) {
		uint64_t sum = s.group[i].acked + s.group[i].in_flight + s.group[i].waiting;

		for (unsigned k = 0; k < OUTCOMES; k++) {
			sum += s.group[i].dropped[k];
		}
		assert_int_equal(sum, s.group[i].offered);
	}
	assert_int_equal(groups_held(w->g), w->offered - w->settled);
}

static void random_offer(struct random_world *w)
{
	unsigned link = draw(w, 4), n = w->offered;
	unsigned stream = draw(w, 3) == 0 ? FCM_HYDROPHONE : FCM_PMT;
	struct random_block *r;

	/* Links may be apart by what a slice is remembered, not more. */
	for (unsigned other = 0; other < 4; other++) {
		link = w->next[other] + 8 < w->next[link] ? other : link;
	}
	if (n == RANDOM_BLOCKS) {
		return;
	}
	r = &w->block[n];
	r->b = groups_rig_block(link, w->next[link]++, stream);
	r->b->monotonic_ns = n;
	r->b->already[1] = draw(w, 30) == 0;
	r->b->capacity = draw(w, MEMORY_MAX - (unsigned)sizeof(*r->b));
	r->with[0] = r->with[1] = -1;
	for (unsigned group = 0; group < 2; group++) {
		bool wanted = (group == 1 || stream == FCM_PMT) && !r->b->already[group];

		r->position[group] = w->position[group][link][stream];
		w->position[group][link][stream] += wanted ? BLOCK_FRAMES : 0;
	}
	w->offered++;
	assert_int_equal(groups_offer(w->g, r->b), 0);
}

static void random_ack(struct random_world *w)
{
	unsigned back = draw(w, 40), member = draw(w, RANDOM_MEMBERS);
	unsigned n = w->offered > back ? w->offered - 1 - back : 0;
	const struct fcm_block_header *h;
	struct random_block *r;
	enum groups_ack_result result;
	struct fcm_ack ack;
	unsigned group;

	if (w->offered == 0 || !groups_alive(w->g, member)) {
		return;
	}
	r = &w->block[n];
	h = &r->b->header;
	group = group_index(w, member);
	ack = groups_rig_ack(h->link, (unsigned)(h->sequence & 0xffff), h->stream);
	result = groups_ack(w->g, member, &ack);
	if (r->with[group] != (int)member) {
		assert_int_equal(result, GROUPS_ACK_UNKNOWN);
		return;
	}
	r->with[group] = -1;
	assert_true(result == GROUPS_ACKED || result == GROUPS_ACK_LATE);
	r->acked[group] |= result == GROUPS_ACKED;
}

static void random_event(struct random_world *w)
{
	unsigned member = draw(w, RANDOM_MEMBERS), what = draw(w, 100), got;
	char name[16];

	w->now++;
	if (what < 38) {
		random_offer(w);
	} else if (what < 90) {
		random_ack(w);
	} else if (what < 94) {
		snprintf(name, sizeof(name), "M%u", member);
		if (groups_alive(w->g, member)) {
			forget_member(w, member);
		}
		assert_int_equal(groups_hello(w->g, name, draw(w, 2) ? "trigger" : "acoustics",
					      1 + draw(w, 12), w->now, &got),
				 0);
	} else if (what < 96) {
		if (groups_alive(w->g, member)) {
			forget_member(w, member);
			groups_leave(w->g, member);
		}
	} else if (what < 97) {
		groups_pool_empty(w->g);
	} else {
		groups_tick(w->g, w->now);
	}
	drain(w);
}

static void run_random(enum fcm_policy policy, uint64_t seed, unsigned *expelled)
{
	const struct group_config common = {
		.hold_frames = HOLD_FRAMES,
		.policy = policy,
		.limit_frames = LIMIT_FRAMES,
		.budget_bytes = BUDGET,
	};
	struct groups_config config = {.groups = 2, .group = {common, common}, .dead_ns = 3000};
	struct random_world *w = calloc(1, sizeof(*w));
	unsigned got;

	assert_non_null(w);
	strcpy(config.group[0].name, "trigger");
	config.group[0].streams = 1u << FCM_PMT;
	strcpy(config.group[1].name, "acoustics");
	config.group[1].streams = 1u << FCM_PMT | 1u << FCM_HYDROPHONE;
	w->g = groups_rig_make(&config);
	w->policy = policy;
	w->rng = seed * 0x9e3779b97f4a7c15ull;
	memset(w->slice_member, 0xff, sizeof(w->slice_member));
	for (unsigned i = 0; i < RANDOM_MEMBERS; i++) { /* rows are numbered in this order */
		char name[16];

		snprintf(name, sizeof(name), "M%u", i);
		assert_int_equal(groups_hello(w->g, name, "trigger", 4, 0, &got), 0);
		assert_int_equal(got, i);
	}
	while (w->offered < RANDOM_BLOCKS) {
		random_event(w);
	}
	groups_shutdown(w->g);
	drain(w);
	assert_int_equal(w->settled, RANDOM_BLOCKS);
	for (unsigned i = 0; i < RANDOM_BLOCKS; i++) {
		free(w->block[i].b);
	}
	groups_destroy(w->g);
	*expelled += w->expelled;
	free(w);
}

static void run_policy(enum fcm_policy policy)
{
	unsigned expelled = 0;

	for (uint64_t seed = 1; seed <= 6; seed++) {
		run_random(policy, seed, &expelled);
	}
	assert_true(policy != FCM_DISCONNECT || expelled > 0);
}

static void test_drop_oldest(void **state)
{
	run_policy(FCM_DROP_OLDEST);
}

static void test_drop_newest(void **state)
{
	run_policy(FCM_DROP_NEWEST);
}

static void test_disconnect(void **state)
{
	run_policy(FCM_DISCONNECT);
}

static void test_wait(void **state)
{
	run_policy(FCM_WAIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drop_oldest),
		cmocka_unit_test(test_drop_newest),
		cmocka_unit_test(test_disconnect),
		cmocka_unit_test(test_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
