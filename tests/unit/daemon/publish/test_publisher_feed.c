/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The publisher with a feed beside its groups: a block comes back when both have settled it, with an outcome for each.
 * The feed counts as one more group, after the configured ones, and no HELLO joins it. Also: an empty pool,
 * and the publisher's stop. The test plays capture.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>
#include <zmq.h>

#include "daemon/publish/publisher.h"
#include "tests/unit/rig/feed_rig.h"

#define MEGA 1000000u
#define FEED 1u /* its group here */

static struct feed_rig R;
static struct queue blocks, settled;
static struct publisher *p;
static uint8_t of_group[FEED_RIG_BLOCKS];

/* `streams`: what the reserved group takes. */
static void start(unsigned streams, uint64_t hold_blocks)
{
	struct publisher_config config = {
		.reserved_endpoint = "tcp://127.0.0.1:*",
		.monitor_endpoint = "",
		.groups = 1,
		.group = {{.name = "trigger",
			   .streams = (uint8_t)streams,
			   .hold_frames = hold_blocks * FEED_RIG_FRAMES}},
		.monitor_hwm = 16,
		.dead_ms = 1000,
	};

	feed_rig_start(&R, 1000 * MEGA, 1000);
	config.feed = R.feed;
	R.hands_off = true;
	memset(&blocks, 0, sizeof(blocks));
	memset(&settled, 0, sizeof(settled));
	assert_int_equal(queue_init(&blocks, sizeof(struct block *), 64, 1), 0);
	assert_int_equal(queue_init(&settled, sizeof(struct block *), 64, 0), 0);
	assert_int_equal(publisher_start(&config, &blocks, &settled, &p), 0);
}

static void put(struct block *b)
{
	struct block **place = queue_reserve(&blocks);

	assert_non_null(place);
	*place = b;
	queue_commit(&blocks);
	queue_wake(&blocks);
}

static unsigned offer(enum fcm_stream stream, size_t bytes, bool already)
{
	struct block *b = feed_rig_block(&R, 1, bytes, 0);
	unsigned n = (unsigned)b->order;

	b->header.stream = (uint8_t)stream;
	b->header.sequence = n;
	memset(b->already, 0, sizeof(b->already));
	memset(b->outcome, 0xee, sizeof(b->outcome));
	b->already[FEED] = already;
	put(b);
	return n;
}

static void take_back(void)
{
	struct block **place;

	while ((place = queue_peek(&settled))) {
		struct block *b = *place;

		queue_release(&settled);
		of_group[b->order] = b->outcome[0];
		feed_rig_back(&R, b, (enum outcome)b->outcome[FEED]);
	}
}

static void wait_back(unsigned count)
{
	int64_t end = feed_rig_now_ms() + FEED_RIG_PATIENCE_MS;

	while (R.back < count && feed_rig_now_ms() < end) {
		take_back();
		usleep(500);
	}
	assert_int_equal(R.back, count);
}

static void finish(void)
{
	publisher_stop(p);
	take_back();
	publisher_destroy(p);
	R.hands_off = false;
	feed_rig_finish(&R);
	queue_fini(&blocks);
	queue_fini(&settled);
}

static int reader(int receive_bytes)
{
	int fd = feed_rig_connect(&R, 1, receive_bytes);
	struct feed_status s;

	FEED_RIG_WAIT(&R, s, s.readers > 0);
	return fd;
}

static void test_both(void **state)
{
	struct publisher_status s;
	int fd;

	start(1u << FCM_PMT, 2);
	fd = reader(0);
	offer(FCM_HYDROPHONE, 1000, false); /* nobody's */
	wait_back(1);
	assert_int_equal(R.block[0].outcome, OUTCOME_NOT_OFFERED);
	offer(FCM_PMT, 5000, false);
	feed_rig_expect(&R, 1, fd, R.block[1].begin, R.block[1].end);
	usleep(50000);
	assert_int_equal(R.back, 1); /* the trigger's group holds it still */
	offer(FCM_PMT, 5000, true); /* written before the daemon was restarted: not a second time */
	offer(FCM_PMT, 5000, false);
	feed_rig_expect(&R, 1, fd, R.block[3].begin, R.block[3].end);
	offer(FCM_PMT, 5000, false);
	feed_rig_expect(&R, 1, fd, R.block[4].begin, R.block[4].end);
	wait_back(3);
	for (unsigned n = 1; n < 3; n++) {
		assert_int_equal(of_group[n], OUTCOME_DROP_NO_MEMBER);
		assert_int_equal(R.block[n].outcome, OUTCOME_ACKED);
	}
	for (int64_t end = feed_rig_now_ms() + FEED_RIG_PATIENCE_MS; feed_rig_now_ms() < end;) {
		publisher_get_status(p, &s);
		if (s.group[FEED].acked == 3) {
			break;
		}
		usleep(10000);
	}
	assert_true(s.has_feed);
	assert_int_equal(s.groups, 2);
	assert_string_equal(s.group[FEED].name, "tridas");
	assert_int_equal(s.group[FEED].streams, 1u << FCM_PMT);
	assert_int_equal(s.group[FEED].members, 1);
	assert_int_equal(s.group[FEED].offered, 3);
	assert_int_equal(s.group[FEED].acked, 3);
	assert_int_equal(s.group[FEED].in_flight, 0);
	finish();
	assert_int_equal(of_group[4], OUTCOME_DROP_SHUTDOWN);
	assert_int_equal(R.block[4].outcome, OUTCOME_ACKED);
	close(fd);
}

/* The feed is no group that one can join by HELLO. */
static void test_no_member(void **state)
{
	static const char hello[] =
		"{\"protocol\":1,\"name\":\"a\",\"group\":\"tridas\",\"credit\":4}";
	char verb[16] = "", text[600] = "";
	int patience = FEED_RIG_PATIENCE_MS, none = 0;
	void *context = zmq_ctx_new(), *d = zmq_socket(context, ZMQ_DEALER);

	start(1u << FCM_PMT, 2);
	zmq_setsockopt(d, ZMQ_RCVTIMEO, &patience, sizeof(patience));
	zmq_setsockopt(d, ZMQ_LINGER, &none, sizeof(none));
	assert_int_equal(zmq_connect(d, publisher_reserved_endpoint(p)), 0);
	zmq_send(d, "HELLO", 5, ZMQ_SNDMORE);
	zmq_send(d, hello, sizeof(hello) - 1, 0);
	assert_true(zmq_recv(d, verb, sizeof(verb) - 1, 0) > 0);
	assert_true(zmq_recv(d, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(verb, "ERROR");
	assert_non_null(strstr(text, "no-such-group"));
	assert_non_null(strstr(text, "trigger"));
	assert_null(strstr(text, "tridas"));
	zmq_close(d);
	zmq_ctx_term(context);
	finish();
}

/* Who holds the oldest block pays for an empty pool; the reserved group is not charged for the feed. */
static void test_pool_empty(void **state)
{
	struct feed_status s;
	int fd;

	start(1u << FCM_HYDROPHONE, 100);
	fd = reader(4096);
	for (unsigned i = 0; i < 5; i++) {
		offer(FCM_PMT, 3 * MEGA, false);
	}
	offer(FCM_HYDROPHONE, 1000, false); /* younger; waits for a member */
	FEED_RIG_WAIT(&R, s, s.group.in_flight == 5);
	put(NULL);
	wait_back(5);
	assert_int_equal(feed_rig_count(&R, OUTCOME_DROP_POOL), 5);
	assert_false(R.block[5].returned);
	put(NULL); /* the feed holds nothing any more */
	wait_back(6);
	assert_int_equal(of_group[5], OUTCOME_DROP_POOL);
	close(fd);
	finish();
}

static void test_stop(void **state)
{
	int fd;
	struct feed_status s;

	start(1u << FCM_PMT, 100);
	fd = reader(4096);
	for (unsigned i = 0; i < 5; i++) {
		offer(FCM_PMT, 3 * MEGA, false);
	}
	FEED_RIG_WAIT(&R, s, s.group.in_flight == 5);
	offer(FCM_PMT, 1000, false);
	finish();
	for (unsigned n = 0; n < 6; n++) {
		assert_int_equal(of_group[n], OUTCOME_DROP_SHUTDOWN);
		assert_int_equal(R.block[n].outcome, OUTCOME_DROP_SHUTDOWN);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_no_member),
		cmocka_unit_test(test_pool_empty),
		cmocka_unit_test(test_stop),
	};

	return cmocka_run_group_tests_name("publisher and feed", tests, NULL, NULL);
}
