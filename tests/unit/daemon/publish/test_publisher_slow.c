/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The publisher when consumers are killed, silent or slow, and when nothing is free for a block. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <zmq.h>

#include "tests/unit/daemon/publish/publisher_rig.h"

/* A consumer process, made while this one has a single thread. It is told where by `endpoint`, and
 * acknowledges `acks` blocks, then holds what it gets until it is killed. It says so by a byte in `ready`
 * when it holds `hold` more. */
static pid_t fork_consumer(const char *name, unsigned acks, unsigned hold, int endpoint, int ready)
{
	char where[256] = "";
	pid_t pid = fork();
	struct got g;
	void *d;

	if (pid != 0) {
		assert_true(pid > 0);
		return pid;
	}
	if (read(endpoint, where, sizeof(where) - 1) <= 0) {
		_exit(1);
	}
	d = rig_dealer(zmq_ctx_new(), where);
	rig_say_hello(d, name, "trigger", acks + hold);
	while (rig_receive(d, &g)) {
		if (strcmp(g.verb, "BLOCK") != 0) {
			continue;
		}
		if (acks > 0) {
			rig_ack(d, FCM_PMT, g.header.sequence);
			acks--;
		} else if (--hold == 0 && write(ready, "", 1) == 1) {
			pause();
		}
	}
	_exit(1);
}

static void test_killed_consumer(void **state)
{
	const char *endpoint;
	char byte;
	bool seen[6] = {false};
	struct publisher_status s;
	static struct rig r;
	int ready[2], where[2];
	pid_t child;
	void *d;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(where), 0);
	child = fork_consumer("victim", 2, 4, where[0], ready[1]);
	rig_start(&r, 100, 64);
	endpoint = publisher_reserved_endpoint(r.p);
	assert_int_equal(write(where[1], endpoint, strlen(endpoint)), strlen(endpoint));
	WAIT_STATUS(&r, s, s.group[0].members == 1);
	for (unsigned i = 0; i < 6; i++) {
		rig_offer(&r, FCM_PMT);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	rig_wait_back(&r, 2);
	/* The slice is the victim's: the second member gets nothing of it while the victim lives. */
	d = rig_dealer(r.context, endpoint);
	rig_say_hello(d, "heir", "trigger", 10);
	rig_expect(d, "WELCOME", "trigger");
	WAIT_STATUS(&r, s, s.group[0].members == 2);
	assert_int_equal(s.group[0].in_flight, 4);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	for (unsigned i = 2; i < 6; i++) {
		uint64_t sequence = rig_expect_block(d, true);

		assert_int_equal(sequence, 5ull << 40 | i); /* in order */
		seen[i] = true;
		rig_ack(d, FCM_PMT, sequence);
	}
	rig_wait_back(&r, 6);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(r.outcome[i][0], OUTCOME_ACKED);
		assert_int_equal(seen[i], i >= 2);
	}
	WAIT_STATUS(&r, s, s.group[0].acked == 6);
	for (unsigned i = 0; i < s.members; i++) {
		bool heir = strcmp(s.member[i].name, "heir") == 0;

		assert_int_equal(s.member[i].state == MEMBER_ALIVE, heir);
		assert_int_equal(s.member[i].redelivered, heir ? 4 : 0);
		assert_int_equal(s.member[i].delivered, heir ? 4 : 2);
	}
	for (unsigned i = 0; i < 2; i++) {
		close(ready[i]);
		close(where[i]);
	}
	zmq_close(d);
	rig_finish(&r);
}

static void test_silent_consumer(void **state)
{
	struct publisher_status s;
	static struct rig r;
	void *d;

	rig_start(&r, 10, 64);
	d = rig_dealer(r.context, publisher_reserved_endpoint(r.p));
	rig_say_hello(d, "mute", "trigger", 3);
	rig_expect(d, "WELCOME", "trigger");
	for (unsigned i = 0; i < 13; i++) {
		rig_offer(&r, FCM_PMT);
	}
	/* Out of credit after 3, the group's share of the ring is 10 blocks. */
	rig_wait_back(&r, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(r.outcome[i][0], OUTCOME_DROP_SLOW);
	}
	WAIT_STATUS(&r, s,
		    s.members == 1 && s.member[0].state == MEMBER_SILENT); /* dead_ms of silence */
	rig_offer(&r, FCM_PMT);
	rig_wait_back(&r, 4);
	assert_int_equal(r.outcome[3][0], OUTCOME_DROP_NO_MEMBER);
	WAIT_STATUS(&r, s, s.group[0].dropped[OUTCOME_DROP_NO_MEMBER] == 1);
	assert_int_equal(s.group[0].dropped_frames[OUTCOME_DROP_SLOW], 3 * BLOCK_FRAMES);
	assert_int_equal(s.group[0].last_drop.first_frame, 3 * BLOCK_FRAMES);
	zmq_close(d);
	rig_finish(&r);
}

static void test_too_slow(void **state)
{
	struct publisher_status s;
	static struct rig r;
	void *d;

	rig_start_policy(&r, 4, 64, FCM_DISCONNECT, 0);
	d = rig_dealer(r.context, publisher_reserved_endpoint(r.p));
	rig_say_hello(d, "slow", "trigger", 2);
	rig_expect(d, "WELCOME", "\"policy\":\"disconnect\"");
	for (unsigned i = 0; i < 5; i++) {
		rig_offer(&r, FCM_PMT);
	}
	rig_wait_back(&r, 2);
	assert_int_equal(rig_expect_block(d, false), 5ull << 40);
	assert_int_equal(rig_expect_block(d, false), 5ull << 40 | 1);
	rig_expect(d, "ERROR", "too-slow");
	assert_int_equal(r.outcome[0][0], OUTCOME_DROP_SLOW);
	assert_int_equal(r.outcome[1][0], OUTCOME_DROP_SLOW);
	rig_ack(d, FCM_PMT, 5ull << 40); /* nothing that it acknowledges counts any more */
	rig_expect(d, "ERROR", "unknown-member");
	WAIT_STATUS(&r, s, s.unknown_acks == 1);
	assert_int_equal(s.member[0].state, MEMBER_TOO_SLOW);
	assert_int_equal(s.group[0].disconnected, 1);
	rig_say_hello(d, "slow", "trigger", 2); /* begins anew with what has waited */
	rig_expect(d, "WELCOME", "trigger");
	assert_int_equal(rig_expect_block(d, false), 5ull << 40 | 2);
	zmq_close(d);
	rig_finish(&r);
}

/* It says HELLO again and again and reads nothing: what it was sent stays in its pipe, and it owes
 * nothing. The group's budget bounds that too. */
static void test_stuffed_pipe(void **state)
{
	const uint64_t budget = 4u << 20;
	struct publisher_status s;
	static struct rig r;
	size_t most = 0, in_use;
	struct got g;
	void *d;

	rig_start_policy(&r, 20, 64, FCM_DROP_OLDEST, budget);
	d = zmq_socket(r.context, ZMQ_DEALER);
	rig_set_number(d, ZMQ_LINGER, 0);
	rig_set_number(d, ZMQ_RCVHWM, 1);
	rig_set_number(d, ZMQ_RCVBUF, 16384);
	assert_int_equal(zmq_connect(d, publisher_reserved_endpoint(r.p)), 0);
	for (unsigned i = 0; i < 300; i++) { /* 30 MB */
		if (i % 20 == 0) {
			rig_say_hello(d, "stuffed", "trigger", 1000);
		}
		rig_offer(&r, FCM_PMT);
		usleep(2000);
		rig_take_back(&r);
		in_use = block_pool_in_use(r.pool);
		most = in_use > most ? in_use : most;
	}
	assert_in_range(most, budget / 2, 2 * budget);
	zmq_close(d); /* what lay in its pipe is free */
	WAIT_STATUS(&r, s, s.group[0].members == 0);
	assert_in_range(block_pool_in_use(r.pool), 0, budget);
	d = rig_dealer(r.context, publisher_reserved_endpoint(r.p));
	rig_say_hello(d, "heir", "trigger", 1000);
	rig_expect(d, "WELCOME", "trigger");
	assert_true(rig_receive(d, &g));
	assert_string_equal(g.verb, "BLOCK");
	zmq_close(d);
	rig_finish(&r);
}

/* The settled queue holds 4; nothing is lost while nobody drains it. */
static void test_full_settled_queue(void **state)
{
	static struct rig r;

	rig_start(&r, 100, 4);
	for (unsigned i = 0; i < 40; i++) {
		rig_offer(&r, FCM_INSTRUMENT);
	}
	usleep(100000);
	assert_int_equal(r.back, 0);
	rig_wait_back(&r, 40);
	rig_finish(&r);
}

static void test_pool_empty(void **state)
{
	struct block **place;
	static struct rig r;

	rig_start(&r, 100, 64);
	rig_offer(&r, FCM_PMT);
	rig_offer(&r, FCM_PMT);
	place = queue_reserve(&r.blocks);
	*place = NULL;
	queue_commit(&r.blocks);
	queue_wake(&r.blocks);
	rig_wait_back(&r, 2); /* nobody has them, and they came at the same moment */
	assert_int_equal(r.outcome[0][0], OUTCOME_DROP_POOL);
	assert_int_equal(r.outcome[1][0], OUTCOME_DROP_POOL);
	rig_finish(&r);
}

static void test_stop_without_answer(void **state)
{
	static struct rig r;
	void *d;

	rig_start(&r, 100, 4);
	d = rig_dealer(r.context, publisher_reserved_endpoint(r.p));
	rig_say_hello(d, "a", "trigger", 2);
	rig_expect(d, "WELCOME", "trigger");
	for (unsigned i = 0; i < 10; i++) {
		rig_offer(&r, FCM_PMT);
	}
	rig_expect_block(d, false);
	publisher_stop(r.p);
	rig_take_back(&r);
	assert_int_equal(r.back, 4); /* all that the queue held: nobody drained it */
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(r.outcome[i][0], OUTCOME_DROP_SHUTDOWN);
	}
	zmq_close(d);
	r.offered = 4;
	rig_finish(&r); /* the others go back to the pool */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_consumer),
		cmocka_unit_test(test_silent_consumer),
		cmocka_unit_test(test_too_slow),
		cmocka_unit_test(test_stuffed_pipe),
		cmocka_unit_test(test_full_settled_queue),
		cmocka_unit_test(test_pool_empty),
		cmocka_unit_test(test_stop_without_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
