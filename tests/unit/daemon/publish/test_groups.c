/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The groups of reserved consumers: scripts of events with what must come out of each. Random
 * events: test_groups_random.c.
 */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "driver/nanet3.h"
#include "tests/unit/rig/dies.h"
#include "tests/unit/daemon/publish/groups_rig.h"

#define HOLD_BLOCKS 5u
#define DEAD_MS	    3000u

static const struct groups_config config = {
	.groups = 2,
	.group = {{.name = "trigger",
		   .streams = 1u << FCM_PMT,
		   .hold_frames = HOLD_BLOCKS * BLOCK_FRAMES},
		  {.name = "acoustics",
		   .streams = 1u << FCM_PMT | 1u << FCM_HYDROPHONE,
		   .hold_frames = HOLD_BLOCKS * BLOCK_FRAMES}},
	.dead_ns = DEAD_MS * 1000000ull,
};

static void test_delivery(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 8", ""},
		{"hello X acoustics 8", ""},
		{"offer 0.0", "A:0.0 X:0.0"},
		{"ack A 0.0", ""},
		{"ack X 0.0", "=0.0/acked,acked"},
		{"offer 0.1h", "X:0.1h"},
		{"ack A 0.1h", ""}, /* never sent to it */
		{"ack X 0.1h", "=0.1h/-,acked"},
		{"ack X 0.1h", ""}, /* repeated */
		{"offer 0.2*", "X:0.2"},
		{"ack X 0.2", "=0.2/acked,acked"},
		{NULL},
	};

	groups_script(&config, steps);
}

static void test_nobody_there_waits_then_pays(void **state)
{
	static const struct groups_step steps[] = {
		{"hello X acoustics 100", ""},
		{"offer 0.0", "X:0.0"},
		{"ack X 0.0", ""},
		{"offer 0.1", "X:0.1"},
		{"ack X 0.1", ""},
		{"offer 0.2", "X:0.2"},
		{"offer 0.3", "X:0.3"},
		{"offer 0.4", "X:0.4"},
		{"offer 0.5", "=0.0/nobody,acked X:0.5"},
		{"offer 1.0", "X:1.0"}, /* another link has its own share */
		{"hello A trigger 3", "A:0.1 A:1.0 A:0.2"},
		{"ack A 0.1", "=0.1/acked,acked A:0.3"},
		{NULL},
	};

	groups_script(&config, steps);
}

static void test_slow_member(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 2", ""},
		{"offer 0.0*", ""},
		{"offer 0.1*", ""},
		{"shutdown", "=0.0/acked,shutdown =0.1/acked,shutdown"},
		{"offer 0.2", "A:0.2"},
		{"offer 0.3", "A:0.3"},
		{"offer 0.4", ""}, /* out of credit */
		{"offer 0.5", ""},
		{"offer 0.6", ""},
		/* The oldest is dropped though A has it; A gets nothing for it. Nobody is in
		 * acoustics. */
		{"offer 0.7", "=0.2/slow,nobody"},
		{"offer 0.8", "=0.3/slow,nobody"},
		{"ack A 0.2", "A:0.4"}, /* late: no delivery, but the credit is free again */
		{"ack A 0.2", ""},
		{"ack A 0.4", "A:0.5"},
		{"leave A", ""},
		{"offer 0.9", "=0.4/acked,nobody"},
		{"offer 0.10", "=0.5/nobody,nobody"},
		{NULL},
	};

	groups_script(&config, steps);
}

static void test_slices_stay_together(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 4", ""},
		{"hello B trigger 4", ""},
		{"hello X acoustics 100", ""},
		{"offer 0.0", "A:0.0 X:0.0"},
		{"offer 1.0", "A:1.0 X:1.0"},
		{"offer 0.2", "B:0.2 X:0.2"}, /* next slice: more free credit */
		{"offer 1.1", "A:1.1 X:1.1"},
		{"offer 0.1", "A:0.1 X:0.1"},
		{"offer 2.0", "X:2.0"}, /* A is out of credit: the slice waits for it */
		{"offer 1.2", "B:1.2 X:1.2"},
		{"ack A 0.0", "A:2.0"},
		/* All of slice 0 acknowledged: a late floor's block still goes to A. */
		{"ack A 1.0", ""},
		{"ack A 1.1", ""},
		{"ack A 0.1", ""},
		{"ack A 2.0", ""},
		{"offer 3.0", "A:3.0 X:3.0"},
		{NULL},
	};

	groups_script(&config, steps);
}

static void test_death_and_redelivery(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 3", ""},
		{"hello B trigger 2", ""},
		{"offer 0.0", "A:0.0"},
		{"offer 0.1", "A:0.1"},
		{"offer 0.2", "B:0.2"},
		{"offer 1.0", "A:1.0"},
		{"ack A 0.1", ""},
		{"offer 1.1", "A:1.1"},
		/* 0.0, 1.0, 1.1 were A's, in this order; B has credit for one. */
		{"leave A", "B:0.0!"},
		{"ack B 0.2", "B:1.0!"},
		{"offer 0.3", ""}, /* B's own younger slice waits for credit */
		{"ack A 1.1", ""}, /* from a dead member: not counted as delivered */
		{"ack B 0.0", "B:1.1!"},
		{"ack B 1.1", "B:0.3"},
		{"hello X acoustics 9", "X:0.0 X:0.1 X:1.0 X:1.1 X:0.2 X:0.3"},
		{"ack X 1.1", "=1.1/acked,acked"},
		{NULL},
	};

	groups_script(&config, steps);
}

static void test_silence_is_death(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 3", ""},
		{"hello B trigger 3", ""},
		{"offer 0.0", "A:0.0"},
		{"alive B 2000", ""},
		{"tick 3000", ""},
		{"tick 3001", "B:0.0!"},
		{"hello A trigger 3", ""},
		{"offer 0.2", "A:0.2"},
		{"hello A trigger 3", "A:0.2!"}, /* a new connection of the same name */
		{NULL},
	};

	groups_script(&config, steps);
}

static void test_full_pipe(void **state)
{
	static const struct groups_step steps[] = {
		{"hello A trigger 3", ""}, {"full A", ""}, {"offer 0.0", ""}, {"offer 0.1", ""},
		{"tick 1", "A:0.0 A:0.1"}, {NULL},
	};

	groups_script(&config, steps);
}

static void test_pool_empty(void **state)
{
	static const struct groups_step steps[] = {
		{"pool", ""},
		{"hello A trigger 1", ""},
		{"offer 1.3", "A:1.3"},
		{"offer 0.1", ""},
		{"offer 0.2", ""},
		{"pool",
		 "=0.2/pool,pool =0.1/pool,pool"}, /* of one moment, and 1.3 of the second group */
		{"pool", ""},			   /* what A has gives no memory back */
		{"alive A 1000", ""},
		{"tick 1000", ""},
		{"pool", ""}, /* nor later: without a limit it may keep the block */
		{"ack A 1.3", "=1.3/acked,pool"},
		{"offer 0.4", "A:0.4"},
		{NULL},
	};

	groups_script(&config, steps);
}

/* What is on its way to a member gives no memory back, but the ring: when it has been there for longer than
 * the group may hold of the ring at most, and nothing is offered that would have it judged. */
static void test_pool_empty_ring(void **state)
{
	struct groups_config limited = config;
	static const struct groups_step steps[] = {
		{"hello A trigger 1", ""},
		{"offer 0.0", "A:0.0"},
		{"alive A 800", ""},
		{"tick 800", ""},
		{"pool", ""},
		{"tick 801", ""},
		{"pool", "=0.0/pool,pool"},
		{NULL},
	};

	limited.group[0].limit_frames = 8 * BLOCK_FRAMES; /* 0.8 s */
	groups_script(&limited, steps);
}

/* The blocks of one moment pay, those of the next have time to. */
static void test_pool_empty_moment(void **state)
{
	struct groups *g = groups_rig_make(&config);
	struct groups_action a;
	unsigned settled = 0;

	for (unsigned i = 0; i < 5; i++) {
		struct block *b = groups_rig_block(0, i, FCM_PMT);

		b->monotonic_ns = 1000000000u + i * 5000000u;
		assert_int_equal(groups_offer(g, b), 0);
	}
	assert_int_equal(groups_pool_oldest_ns(g), 1000000000u);
	groups_pool_empty(g);
	while (groups_next(g, &a)) {
		assert_int_equal(a.type, GROUPS_SETTLED);
		free(a.block);
		settled++;
	}
	assert_int_equal(settled, 2);
	assert_int_equal(groups_pool_oldest_ns(g), 1010000000u); /* 10 ms later is another moment */
	groups_shutdown(g);
	while (groups_next(g, &a)) {
		free(a.block);
	}
	assert_true(groups_pool_oldest_ns(g) == UINT64_MAX);
	groups_destroy(g);
}

static void test_refused(void **state)
{
	struct groups *g = groups_rig_make(&config);
	unsigned member;
	char name[64];

	assert_int_equal(groups_hello(g, "A", "nosuch", 1, 0, &member), -ENOENT);
	assert_int_equal(groups_hello(g, "", "trigger", 1, 0, &member), -EINVAL);
	assert_int_equal(groups_hello(g, "A", "trigger", 0, 0, &member), -EINVAL);
	assert_int_equal(groups_hello(g, "A", "trigger", GROUPS_CREDIT_MAX + 1, 0, &member),
			 -EINVAL);
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		snprintf(name, sizeof(name), "M%u", i);
		assert_int_equal(groups_hello(g, name, "trigger", 1, i, &member), 0);
	}
	assert_int_equal(groups_hello(g, "more", "trigger", 1, 99, &member), -EUSERS);
	groups_leave(g, 5);
	groups_leave(g, 3);
	assert_int_equal(groups_hello(g, "more", "trigger", 1, 99, &member), 0);
	assert_int_equal(member, 3); /* the one dead for longest */
	groups_destroy(g);
}

static void test_status(void **state)
{
	struct groups *g = groups_rig_make(&config);
	struct publisher_status s = {0};
	struct groups_action a;
	struct fcm_ack ack = groups_rig_ack(0, 0, FCM_PMT);
	unsigned member;

	assert_int_equal(groups_hello(g, "A", "trigger", 2, 0, &member), 0);
	for (unsigned i = 0; i < HOLD_BLOCKS + 2; i++) {
		assert_int_equal(groups_offer(g, groups_rig_block(0, i, FCM_PMT)), 0);
		while (groups_next(g, &a)) {
			if (a.type == GROUPS_SETTLED) {
				free(a.block);
			}
		}
	}
	groups_ack(g, member, &ack); /* late */
	ack = groups_rig_ack(0, 77, FCM_PMT);
	groups_ack(g, member, &ack);
	groups_get_status(g, 1000, &s);
	assert_int_equal(s.late_acks, 1);
	assert_int_equal(s.unknown_acks, 1);
	assert_int_equal(s.groups, 2);
	assert_int_equal(s.group[0].members, 1);
	assert_int_equal(s.group[0].offered, HOLD_BLOCKS + 2);
	assert_int_equal(s.group[0].dropped[OUTCOME_DROP_SLOW], 2);
	assert_int_equal(s.group[0].dropped_frames[OUTCOME_DROP_SLOW], 2 * BLOCK_FRAMES);
	assert_int_equal(s.group[1].dropped[OUTCOME_DROP_NO_MEMBER], 2);
	assert_int_equal(s.group[0].last_drop.floor, 1);
	assert_int_equal(s.group[0].last_drop.first_frame, BLOCK_FRAMES);
	assert_int_equal(s.group[0].oldest_ns, 1000 - 2);
	assert_int_equal(s.members, 1);
	assert_int_equal(s.member[0].in_flight, 1); /* one dropped, not yet acknowledged */
	groups_shutdown(g);
	while (groups_next(g, &a)) {
		free(a.block);
	}
	groups_destroy(g);
}

/* ---- memory of blocks and slices ---- */

static void settle_all(struct groups *g)
{
	struct groups_action a;

	while (groups_next(g, &a)) {
		if (a.type == GROUPS_SETTLED) {
			free(a.block);
		}
	}
}

enum ending { ACKED, ACKED_LATE, LEFT_LATE };

/* Settled blocks without an owed acknowledgement take no memory, however they ended. */
static void test_settled_blocks_take_no_memory(void **state)
{
	for (unsigned ending = ACKED; ending <= LEFT_LATE; ending++) {
		struct groups *g = groups_rig_make(&config);
		size_t memory = 0;
		unsigned member;

		mallopt(M_PERTURB, 0xa5); /* nothing is cleared by chance */
		groups_hello(g, "A", "trigger", 2, 0, &member);
		for (unsigned i = 0; i < 1000; i++) {
			struct fcm_ack ack = groups_rig_ack(0, i, FCM_PMT);

			memory = i == 300 ? groups_rig_memory() : memory;
			assert_int_equal(groups_offer(g, groups_rig_block(0, i, FCM_PMT)), 0);
			settle_all(g);
			if (ending == ACKED) {
				assert_int_equal(groups_ack(g, member, &ack), GROUPS_ACKED);
			}
			groups_shutdown(g);
			settle_all(g);
			if (ending == ACKED_LATE) {
				assert_int_equal(groups_ack(g, member, &ack), GROUPS_ACK_LATE);
			} else if (ending == LEFT_LATE) {
				groups_leave(g, member);
				groups_hello(g, "A", "trigger", 2, 0, &member);
			}
		}
		assert_int_equal(groups_rig_memory(), memory);
		assert_int_equal(groups_held(g), 0);
		groups_destroy(g);
		mallopt(M_PERTURB, 0);
	}
}

/* The last 64 complete slices are remembered: blocks of a late floor go to the member that had the
 * rest. */
static void test_a_late_floor_finds_its_slices_member(void **state)
{
	for (unsigned others = 63; others <= 64; others++) {
		struct groups *g = groups_rig_make(&config);
		struct groups_action a;
		unsigned first, second;

		groups_hello(g, "A", "trigger", 4, 0, &first);
		for (unsigned slice = 0; slice <= others; slice++) {
			struct fcm_ack ack = groups_rig_ack(0, 2 * slice, FCM_PMT);
			struct block *b = groups_rig_block(0, 2 * slice, FCM_PMT);

			b->already[1] = 1;
			assert_int_equal(groups_offer(g, b), 0);
			assert_true(groups_next(g, &a));
			assert_int_equal(a.type, GROUPS_SEND);
			assert_int_equal(a.member, slice == 0 ? first : second);
			assert_int_equal(groups_ack(g, a.member, &ack), GROUPS_ACKED);
			settle_all(g);
			groups_hello(g, "B", "trigger", 100, 0, &second);
		}
		assert_int_equal(groups_offer(g, groups_rig_block(1, 0, FCM_PMT)), 0);
		assert_true(groups_next(g, &a));
		assert_int_equal(a.member, others == 63 ? first : second);
		groups_shutdown(g);
		settle_all(g);
		groups_destroy(g);
	}
}

static void test_limits_of_a_member(void **state)
{
	struct groups_config all = config;
	char name[49];
	struct groups *g;
	unsigned member;

	all.groups = GROUPS_MAX;
	g = groups_rig_make(&all);
	memset(name, 'x', sizeof(name));
	name[48] = '\0';
	assert_int_equal(groups_hello(g, name, "trigger", GROUPS_CREDIT_MAX, 0, &member), -EINVAL);
	name[47] = '\0';
	assert_int_equal(groups_hello(g, name, "trigger", GROUPS_CREDIT_MAX, 0, &member), 0);
	assert_string_equal(groups_member_name(g, member), name);
	for (unsigned i = 0; i < 3 * MEMBERS_MAX; i++) {
		assert_int_equal(groups_alive(g, i), i == member);
	}
	groups_destroy(g);
}

/* A block that could not be sent is the next to be sent and does not count as sent: the order is
 * kept. */
static void test_a_refused_block_is_the_next(void **state)
{
	static const struct groups_step steps[] = {
		{"offer 0.0", ""},	   {"offer 0.1", ""},	      {"full A", ""},
		{"hello A trigger 3", ""}, {"tick 1", "A:0.0 A:0.1"}, {NULL},
	};

	groups_script(&config, steps);
}

/* ---- the status ---- */

static void test_rates_are_of_the_last_second(void **state)
{
	struct groups *g = groups_rig_make(&config);
	struct publisher_status s = {0};
	unsigned member;

	groups_hello(g, "A", "trigger", 100, 0, &member);
	for (unsigned i = 0; i < 60; i++) { /* ten blocks a second, then twenty */
		groups_seen(g, member, (i + 1) * 100000000ull);
		groups_tick(g, (i + 1) * 100000000ull);
		for (unsigned n = 0; n < (i < 30 ? 1 : 2); n++) {
			struct fcm_ack ack = groups_rig_ack(0, 2 * i + n, FCM_PMT);

			groups_offer(g, groups_rig_block(0, 2 * i + n, FCM_PMT));
			settle_all(g);
			groups_ack(g, member, &ack);
		}
	}
	s.group[2].blocks_per_s = 77; /* there are two groups: not touched */
	groups_get_status(g, 6000000000ull, &s);
	assert_int_equal(s.group[0].blocks_per_s, 20);
	assert_int_equal(s.group[0].bytes_per_s, 2000);
	assert_int_equal(s.member[0].blocks_per_s, 20);
	assert_int_equal(s.member[0].bytes_per_s, 2000);
	assert_string_equal(s.group[0].name, "trigger");
	assert_string_equal(s.member[0].name, "A");
	assert_string_equal(s.member[0].group, "trigger");
	assert_int_equal(s.group[2].blocks_per_s, 77);
	groups_shutdown(g);
	settle_all(g);
	groups_destroy(g);
}

static void test_redelivered_is_what_was_sent_again(void **state)
{
	struct groups *g = groups_rig_make(&config);
	struct publisher_status s = {0};
	struct groups_action a;
	unsigned first, second;

	groups_hello(g, "A", "trigger", 2, 0, &first);
	groups_offer(g, groups_rig_block(0, 0, FCM_PMT));
	settle_all(g);
	groups_leave(g, first);
	groups_hello(g, "B", "trigger", 2, 0, &second);
	assert_true(groups_next(g, &a));
	assert_true(a.resent);
	groups_get_status(g, 1, &s);
	assert_int_equal(s.member[second].redelivered, 1);
	groups_unsent(g, &a);
	groups_get_status(g, 1, &s);
	assert_int_equal(s.member[second].redelivered, 0);
	groups_shutdown(g);
	settle_all(g);
	groups_destroy(g);
}

static void too_many_groups(void *context)
{
	struct groups_config all = config;

	all.groups = GROUPS_MAX + 1;
	groups_create(&all);
}

static void block_of_no_link(void *g)
{
	groups_offer(g, groups_rig_block(NANET3_LINKS, 0, FCM_PMT));
}

static void block_of_no_stream(void *g)
{
	groups_offer(g, groups_rig_block(0, 0, FCM_STREAMS));
}

static void unsent_twice(void *g)
{
	struct groups_action a;

	while (groups_next(g, &a) && a.type != GROUPS_SEND) {
	}
	groups_unsent(g, &a);
	groups_unsent(g, &a);
}

static void test_what_cannot_be_is_our_bug(void **state)
{
	static void (*const calls[])(void *g) = {too_many_groups, block_of_no_link,
						 block_of_no_stream, unsent_twice};
	struct groups *g = groups_rig_make(&config);
	unsigned member;

	groups_hello(g, "A", "trigger", 2, 0, &member);
	groups_offer(g, groups_rig_block(0, 0, FCM_PMT));
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		assert_true(dies(calls[i], g));
	}
	groups_shutdown(g);
	settle_all(g);
	groups_destroy(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delivery),
		cmocka_unit_test(test_nobody_there_waits_then_pays),
		cmocka_unit_test(test_slow_member),
		cmocka_unit_test(test_slices_stay_together),
		cmocka_unit_test(test_death_and_redelivery),
		cmocka_unit_test(test_silence_is_death),
		cmocka_unit_test(test_full_pipe),
		cmocka_unit_test(test_pool_empty),
		cmocka_unit_test(test_pool_empty_ring),
		cmocka_unit_test(test_pool_empty_moment),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_settled_blocks_take_no_memory),
		cmocka_unit_test(test_a_late_floor_finds_its_slices_member),
		cmocka_unit_test(test_limits_of_a_member),
		cmocka_unit_test(test_a_refused_block_is_the_next),
		cmocka_unit_test(test_rates_are_of_the_last_second),
		cmocka_unit_test(test_redelivered_is_what_was_sent_again),
		cmocka_unit_test(test_what_cannot_be_is_our_bug),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
