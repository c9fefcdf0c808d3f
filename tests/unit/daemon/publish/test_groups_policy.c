/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a group's policy does when it falls behind: which blocks are dropped, to the block and by which
 * name, who is sent away, what the others get, and what the status says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/daemon/publish/groups_rig.h"

#define S_NS 1000000000ull

/* One group; hold and limit in blocks of a link, budget in blocks of BLOCK_MEMORY. */
static struct groups_config one_group(enum fcm_policy policy, unsigned hold, unsigned limit,
				      unsigned budget)
{
	return (struct groups_config){
		.groups = 1,
		.group = {{.name = "trigger",
			   .streams = 1u << FCM_PMT,
			   .hold_frames = (uint64_t)hold * BLOCK_FRAMES,
			   .policy = policy,
			   .limit_frames = (uint64_t)limit * BLOCK_FRAMES,
			   .budget_bytes = (uint64_t)budget * BLOCK_MEMORY}},
		.dead_ns = 3 * S_NS,
	};
}

static void run(enum fcm_policy policy, unsigned hold, unsigned limit, unsigned budget,
		const struct groups_step *steps)
{
	const struct groups_config config = one_group(policy, hold, limit, budget);

	groups_script(&config, steps);
}

/* ---- the ring ---- */

static void test_drop_newest(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 2", ""},
		{"offer 0.0", "A:0.0"},
		{"offer 0.1", "A:0.1"},
		{"offer 0.2", ""},
		{"offer 0.3", ""},
		{"offer 0.4", "=0.4/slow,-"},
		{"offer 1.0", ""}, /* another link has its own share */
		{"offer 0.5", "=0.5/slow,-"},
		/* The ring is in danger: what A has is dropped too, else nothing could be released. */
		{"offer 0.6", "=0.0/slow,- =0.6/slow,-"},
		{"ack A 0.1", "=0.1/acked,- A:1.0"},
		{"ack A 0.0", "A:0.2"}, /* late: only its credit is free again */
		{"ack A 1.0", "=1.0/acked,- A:0.3"},
		{"offer 0.7", "=0.7/slow,-"}, /* 0.2 still holds back all that was dropped */
		{"ack A 0.2", "=0.2/acked,-"},
		{"ack A 0.3", "=0.3/acked,-"},
		{"offer 0.8", "A:0.8"}, /* worked off */
		{"leave A", ""},
		{"offer 0.9", ""},
		{"offer 0.10", ""},
		{"offer 0.11", ""},
		{"offer 0.12", "=0.12/nobody,-"},
		{NULL},
	};

	run(FCM_DROP_NEWEST, 4, 6, 0, steps);
}

static void test_wait(void **state)
{
	static const struct groups_step steps[] = {
		{"offer 0.0", ""},
		{"offer 0.1", ""},
		{"offer 0.2", ""},
		{"offer 0.3", ""},
		{"offer 0.4", ""},
		{"offer 0.5", ""},
		{"offer 0.6", "=0.0/nobody,-"},
		{"hello A trigger 1", "A:0.1"},
		{"offer 0.7", "=0.1/slow,-"},
		{"offer 0.8", "=0.2/slow,-"},
		{"ack A 0.1", "A:0.3"},
		{"ack A 0.3", "=0.3/acked,- A:0.4"},
		{"offer 0.9", ""},
		{NULL},
	};

	run(FCM_WAIT, 4, 6, 0, steps);
}

static void test_disconnect_with_others(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 2", ""},
		{"hello B trigger 2", ""},
		{"offer 0.0", "A:0.0"},
		{"offer 0.1", "A:0.1"},
		{"offer 0.2", "B:0.2"},
		{"offer 0.3", "B:0.3"},
		{"ack B 0.2", "=0.2/acked,-"},
		{"ack B 0.3", "=0.3/acked,-"},
		/* A holds the ring back by more than the share: what it had goes to B. */
		{"offer 0.4", "-A B:0.0! B:0.1!"},
		{"ack A 0.0", ""}, /* it is no member: not counted as delivered */
		{"offer 0.5", ""}, /* B has as long again to take over ... */
		{"ack B 0.0", "=0.0/acked,- B:0.4"},
		/* ... but the ring's limit holds: */
		{"offer 0.6", ""},
		{"offer 0.7", "=0.1/slow,-"},
		{"hello A trigger 2", "A:0.6 A:0.7"}, /* 0.5 is of B's slice, and B owes two */
		{NULL},
	};

	run(FCM_DISCONNECT, 4, 6, 0, steps);
}

static void test_disconnect_one_after_the_other(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 2", ""},
		{"hello B trigger 2", ""},
		{"offer 0.0", "A:0.0"},
		{"offer 0.1", "A:0.1"},
		{"offer 0.2", "B:0.2"},
		{"offer 0.3", "B:0.3"},
		{"offer 0.4", "-A"}, /* B owes two: it gets nothing yet */
		{"offer 0.5", ""},
		{"offer 0.6", "=0.0/slow,-"}, /* the limit */
		{"offer 0.7", "=0.1/slow,-"},
		/* B has had its time. Nobody is left: what it has is dropped, what waits is kept for
		 * whoever comes. */
		{"offer 0.8", "=0.2/slow,- =0.3/slow,- -B"},
		{"offer 0.9", "=0.4/nobody,- =0.5/nobody,-"},
		{"hello C trigger 3", "C:0.6 C:0.7 C:0.8"},
		{"ack C 0.6", "=0.6/acked,- C:0.9"},
		{NULL},
	};

	run(FCM_DISCONNECT, 4, 6, 0, steps);
}

/* Who has just come finds a backlog that is not its own doing. */
static void test_newcomer_is_spared(void **state)
{
	static const struct groups_step steps[] = {
		{"offer 0.0", ""},
		{"offer 0.1", ""},
		{"offer 0.2", ""},
		{"offer 0.3", ""},
		{"offer 0.4", "=0.0/nobody,-"},
		{"hello A trigger 1", "A:0.1"},
		{"offer 0.5", ""},
		{"ack A 0.1", "=0.1/acked,- A:0.2"},
		{"offer 0.6", ""},
		{"offer 0.7", ""},
		{"offer 0.8",
		 "=0.2/slow,- -A"}, /* as many as the share have come: no more excuse */
		{NULL},
	};

	run(FCM_DISCONNECT, 4, 7, 0, steps);
}

/* The block that has waited longest is nobody's: whoever owes most is in its way. */
static void test_who_is_in_the_way(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 2", ""},
		{"hello B trigger 1", ""},
		{"offer 1.0", "A:1.0"},
		{"offer 1.1", "A:1.1"},
		{"offer 1.2", "B:1.2"},
		{"offer 0.4", ""},
		{"offer 0.5", ""},
		{"offer 0.6", ""},
		{"offer 0.7", ""},
		{"offer 0.8", "-A"},
		{"ack B 1.2", "=1.2/acked,- B:1.0!"},
		{NULL},
	};

	run(FCM_DISCONNECT, 4, 6, 0, steps);
}

/* It waits for a member that has its slice, and for no other, however much that one owes. */
static void test_who_has_the_slice_is_in_the_way(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 1", ""},
		{"offer 1.0", "A:1.0"},
		{"offer 0.0", ""},
		{"hello B trigger 9", ""},
		{"offer 0.2", "B:0.2"},
		{"offer 0.3", "B:0.3"},
		{"offer 0.4", "B:0.4"},
		{"offer 0.5", "-A B:0.5 B:1.0! B:0.0"},
		{NULL},
	};

	run(FCM_DISCONNECT, 4, 9, 0, steps);
}

/* A share below a block: one is kept all the same. */
static void test_share_below_a_block(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 1", ""},     {"offer 0.0", "A:0.0"},
		{"offer 0.1", "=0.0/slow,-"},  {"ack A 0.0", "A:0.1"},
		{"ack A 0.1", "=0.1/acked,-"}, {NULL},
	};

	run(FCM_DROP_OLDEST, 0, 0, 0, steps);
}

/* ---- the memory ---- */

static void test_budget_drop_oldest(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 100", ""},
		{"offer 0.0", "A:0.0"},
		{"offer 0.1", "A:0.1"},
		{"offer 0.2", "A:0.2"},
		{"offer 0.3", "A:0.3"},
		{"offer 0.4", ""}, /* A owes half the budget */
		{"offer 1.0", ""},
		/* What A has keeps its memory: the oldest that waits is dropped, whatever link. Slice 0
		 * is older than slice 2. */
		{"offer 0.5", "=1.0/slow,-"},
		{"offer 0.6", "=0.4/slow,-"},
		{"offer 0.7", "=0.5/slow,-"},
		{"ack A 0.0", "=0.0/acked,- A:0.6"},
		{"leave A", ""},
		{"offer 0.8", ""},
		{"offer 0.9", "=0.1/nobody,-"},
		{NULL},
	};

	run(FCM_DROP_OLDEST, 100, 150, 8, steps);
}

static void test_budget_drop_newest(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 100", ""},
		{"offer 0.0", "A:0.0"},
		{"offer 0.1", "A:0.1"},
		{"offer 0.2", "A:0.2"},
		{"offer 0.3", "A:0.3"},
		{"offer 0.4", ""},
		{"offer 0.5", ""},
		{"offer 0.6", "=0.6/slow,-"},
		{"offer 1.0", "=1.0/slow,-"}, /* memory is one for all links */
		{"ack A 0.0", "=0.0/acked,- A:0.4"},
		{"offer 0.7", ""},
		{"offer 0.8", "=0.8/slow,-"},
		{NULL},
	};

	run(FCM_DROP_NEWEST, 100, 150, 8, steps);
}

static void test_budget_wait(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 3", ""},
		{"offer 0.0", "A:0.0"},
		{"offer 0.1", "A:0.1"},
		{"offer 0.2", "A:0.2"},
		{"offer 0.3", ""},
		{"offer 0.4", ""},
		{"offer 0.5", ""},
		{"offer 0.6", ""},
		{"offer 0.7", ""},
		{"offer 0.8", "=0.3/slow,-"}, /* all of it is used */
		{"ack A 0.1", "=0.1/acked,- A:0.4"},
		{NULL},
	};

	run(FCM_WAIT, 4, 150, 8, steps);
}

static void test_budget_disconnect(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 100", ""},
		{"hello B trigger 100", ""},
		{"offer 0.0", "A:0.0"}, /* each may owe its part of half the budget */
		{"offer 0.1", "A:0.1"},
		{"offer 0.2", "B:0.2"},
		{"offer 0.3", "B:0.3"},
		{"offer 1.0", ""},
		{"ack B 0.2", "=0.2/acked,-"},
		{"ack B 0.3", "=0.3/acked,-"},
		{"offer 1.1", ""},
		{"offer 1.2", "B:1.2"},
		{"offer 1.3", "B:1.3"},
		/* Three quarters are used; the oldest block is A's. B may owe the whole half now. */
		{"offer 1.4", "-A B:0.0! B:0.1!"},
		{"ack B 0.0", "=0.0/acked,- B:1.0"},
		{NULL},
	};

	run(FCM_DISCONNECT, 4, 150, 8, steps);
}

/* A block larger than the whole budget is delivered all the same, one at a time. */
static void test_budget_below_a_block(void **state)
{
	static const struct groups_config tiny = {
		.groups = 1,
		.group = {{.name = "trigger",
			   .streams = 1u << FCM_PMT,
			   .hold_frames = 100 * BLOCK_FRAMES,
			   .budget_bytes = BLOCK_MEMORY / 2}},
	};
	static const struct groups_step steps[] = {
		{"hello A trigger 100", ""},	{"offer 0.0", "A:0.0"},
		{"offer 0.1", "=0.1/slow,-"},	{"ack A 0.0", "=0.0/acked,-"},
		{"offer 0.2", "A:0.2"},		{"leave A", ""},
		{"offer 0.3", "=0.2/nobody,-"}, {NULL},
	};

	groups_script(&tiny, steps);
}

static void test_budget_below_a_block_newest(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 100", ""},   {"large 0.0", "A:0.0"}, {"offer 0.1", "=0.1/slow,-"},
		{"ack A 0.0", "=0.0/acked,-"}, {"large 0.2", "A:0.2"}, {NULL},
	};

	run(FCM_DROP_NEWEST, 100, 150, 2, steps);
}

/* Members come, and each may owe its part; all together three quarters, or one block each. */
static void test_budget_shared_by_members(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 100", ""},
		{"offer 0.0", "A:0.0"},
		{"offer 0.1", "A:0.1"},
		{"offer 0.2", "A:0.2"},
		{"offer 0.3", "A:0.3"},
		{"offer 0.4", ""},
		{"offer 0.5", ""},
		{"offer 0.6", ""},
		{"offer 0.7", ""},
		{"hello B trigger 100", "B:0.4 B:0.5"},
		{"hello C trigger 100", "C:0.6"},
		{"ack A 0.0", "=0.0/acked,-"},
		{"ack A 0.1", "=0.1/acked,- C:0.7"},
		{NULL},
	};

	run(FCM_WAIT, 100, 150, 8, steps);
}

/* ---- the status ---- */

static void settle_all(struct groups *g)
{
	struct groups_action a;

	while (groups_next(g, &a)) {
		if (a.type == GROUPS_SETTLED) {
			free(a.block);
		}
	}
}

static void offer(struct groups *g, unsigned first, unsigned count)
{
	for (unsigned i = first; i < first + count; i++) {
		assert_int_equal(groups_offer(g, groups_rig_block(0, i, FCM_PMT)), 0);
		settle_all(g);
	}
}

static void test_status(void **state)
{
	const struct groups_config config = one_group(FCM_DISCONNECT, 4, 6, 100);
	struct groups *g = groups_rig_make(&config);
	struct publisher_status s = {0};
	struct fcm_ack ack;
	unsigned member;

	groups_tick(g, 10 * S_NS);
	assert_int_equal(groups_hello(g, "A", "trigger", 4, 10 * S_NS, &member), 0);
	groups_tick(g, 11 * S_NS);
	offer(g, 0, 4);
	for (unsigned i = 0; i < 2; i++) {
		ack = groups_rig_ack(0, i, FCM_PMT);
		assert_int_equal(groups_ack(g, member, &ack), GROUPS_ACKED);
	}
	settle_all(g);
	groups_tick(g, 13 * S_NS);
	groups_get_status(g, 13 * S_NS, &s);
	assert_int_equal(s.group[0].policy, FCM_DISCONNECT);
	assert_int_equal(s.group[0].acked_bytes, 200);
	assert_int_equal(s.group[0].held_bytes, 2 * BLOCK_MEMORY);
	assert_int_equal(s.group[0].in_flight_bytes, 2 * BLOCK_MEMORY);
	assert_int_equal(s.group[0].budget_bytes, 100 * BLOCK_MEMORY);
	assert_true(s.group[0].blocks_per_s == 1 && s.group[0].bytes_per_s == 100);
	assert_int_equal(s.member[0].state, MEMBER_ALIVE);
	assert_true(s.member[0].blocks_per_s == 1 && s.member[0].bytes_per_s == 100);
	assert_int_equal(s.member[0].in_flight_bytes, 2 * BLOCK_MEMORY);
	assert_int_equal(s.member[0].oldest_ns, 13 * S_NS - 2);
	offer(g, 4, 3); /* 2 holds back five */
	groups_get_status(g, 13 * S_NS, &s);
	assert_int_equal(s.member[0].state, MEMBER_TOO_SLOW);
	assert_int_equal(s.member[0].oldest_ns, 0);
	assert_int_equal(s.member[0].in_flight_bytes, 0);
	assert_true(s.member[0].bytes_per_s == 0);
	assert_int_equal(s.group[0].disconnected, 1);
	assert_int_equal(s.group[0].beyond, 0);
	assert_int_equal(s.group[0].members, 0);
	assert_int_equal(s.group[0].dropped[OUTCOME_DROP_SLOW], 4);
	assert_int_equal(s.group[0].last_drop.first_frame, 5 * BLOCK_FRAMES);
	assert_int_equal(s.group[0].last_drop.at_ns, 13 * S_NS);
	assert_int_equal(s.group[0].held_bytes, BLOCK_MEMORY);
	assert_int_equal(groups_hello(g, "A", "trigger", 1, 13 * S_NS, &member), 0);
	groups_leave(g, member);
	groups_get_status(g, 13 * S_NS, &s);
	assert_int_equal(s.member[0].state, MEMBER_LEFT);
	assert_int_equal(groups_hello(g, "A", "trigger", 1, 13 * S_NS, &member), 0);
	groups_tick(g, 17 * S_NS);
	groups_get_status(g, 17 * S_NS, &s);
	assert_int_equal(s.member[0].state, MEMBER_SILENT);
	groups_shutdown(g);
	settle_all(g);
	groups_destroy(g);
}

/* It has said HELLO again before it could be told: it is not told any more. */
static void test_back_before_told(void **state)
{
	const struct groups_config config = one_group(FCM_DISCONNECT, 4, 6, 0);
	struct groups *g = groups_rig_make(&config);
	struct groups_action a;
	unsigned member, told = 0;

	assert_int_equal(groups_hello(g, "A", "trigger", 1, 0, &member), 0);
	offer(g, 0, 4);
	assert_int_equal(groups_offer(g, groups_rig_block(0, 4, FCM_PMT)), 0);
	assert_false(groups_alive(g, member));
	assert_int_equal(groups_hello(g, "A", "trigger", 1, 0, &member), 0);
	groups_shutdown(g);
	while (groups_next(g, &a)) {
		told += a.type == GROUPS_EXPEL;
		if (a.type == GROUPS_SETTLED) {
			free(a.block);
		}
	}
	assert_int_equal(told, 0);
	assert_true(groups_alive(g, member));
	groups_destroy(g);
}

static void test_names(void **state)
{
	assert_string_equal(member_state_name(MEMBER_TOO_SLOW), "too-slow");
	assert_string_equal(member_state_name(MEMBER_STATES), "unknown");
	assert_string_equal(fcm_policy_name(FCM_WAIT), "wait");
	assert_string_equal(fcm_policy_name(FCM_POLICIES), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drop_newest),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_disconnect_with_others),
		cmocka_unit_test(test_disconnect_one_after_the_other),
		cmocka_unit_test(test_newcomer_is_spared),
		cmocka_unit_test(test_who_is_in_the_way),
		cmocka_unit_test(test_who_has_the_slice_is_in_the_way),
		cmocka_unit_test(test_share_below_a_block),
		cmocka_unit_test(test_budget_drop_oldest),
		cmocka_unit_test(test_budget_drop_newest),
		cmocka_unit_test(test_budget_wait),
		cmocka_unit_test(test_budget_disconnect),
		cmocka_unit_test(test_budget_below_a_block),
		cmocka_unit_test(test_budget_below_a_block_newest),
		cmocka_unit_test(test_budget_shared_by_members),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_back_before_told),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
