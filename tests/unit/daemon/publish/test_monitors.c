// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The monitors without the publisher: of which blocks copies are made, what is sent, what is counted, and what is left
 * of it. The test is the publisher's thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>
#include <zmq.h>

#include "daemon/publish/monitors.h"
#include "daemon/core/now.h"
#include "tests/unit/rig/checked_locks.h"
#include "tests/unit/rig/zmtp_rig.h"

#define PATIENCE_NS  5000000000ull
#define PAYLOAD	     5000u
#define LAST_TOWER   99 /* the test's own: its block says that those before it have been looked at */
#define BYTES_30     "thirty.bytes.and.two.digits..."
#define SECONDS_BACK 9 /* by then the door has judged a connection */

static struct monitors *m;
static void *context;
static void *last; /* SUB of the test's own block */
static void *sub;

static struct monitors_config config_of(const char *endpoint)
{
	return (struct monitors_config){.endpoint = endpoint, .hwm = 1000};
}

static void *subscriber(void)
{
	const int zero = 0, patience = (int)(PATIENCE_NS / 1000000);
	void *s = zmq_socket(context, ZMQ_SUB);

	zmq_setsockopt(s, ZMQ_LINGER, &zero, sizeof(zero));
	zmq_setsockopt(s, ZMQ_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(zmq_connect(s, door_endpoint(monitors_door(m))), 0);
	return s;
}

static void want(void *s, const char *prefix)
{
	assert_int_equal(zmq_setsockopt(s, ZMQ_SUBSCRIBE, prefix, strlen(prefix)), 0);
}

static void want_no_more(void *s, const char *prefix)
{
	assert_int_equal(zmq_setsockopt(s, ZMQ_UNSUBSCRIBE, prefix, strlen(prefix)), 0);
}

static uint64_t blocks(void)
{
	struct monitors_status v;

	monitors_get_status(m, &v);
	return v.blocks;
}

static struct door_status door(void)
{
	struct door_status v;

	door_get_status(monitors_door(m), &v);
	return v;
}

static void copy_of(enum fcm_stream stream, unsigned tower, unsigned floor, uint64_t sequence,
		    unsigned bytes)
{
	static uint8_t payload[PAYLOAD];
	struct block b = {.header = {.stream = (uint8_t)stream,
				     .tower = (uint8_t)tower,
				     .floor = (uint8_t)floor,
				     .sequence = sequence,
				     .payload_bytes = bytes},
			  .payload = payload};

	memset(payload, (int)sequence, PAYLOAD);
	monitors_copy(m, &b);
	memset(payload, 0xee, PAYLOAD); /* it was a copy */
}

static void copy(enum fcm_stream stream, unsigned tower, unsigned floor, uint64_t sequence)
{
	copy_of(stream, tower, floor, sequence, PAYLOAD);
}

/* The next block that `s` gets. */
static uint64_t receive(void *s, const char *topic)
{
	static uint8_t payload[PAYLOAD + 1];
	struct fcm_block_header header;
	char got[FCM_TOPIC_BYTES + 1];
	int n = zmq_recv(s, got, sizeof(got) - 1, 0);

	assert_true(n > 0);
	got[n] = '\0';
	assert_string_equal(got, topic);
	assert_int_equal(zmq_recv(s, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(zmq_recv(s, payload, sizeof(payload), 0), header.payload_bytes);
	for (unsigned i = 0; i < header.payload_bytes; i++) {
		assert_int_equal(payload[i], (uint8_t)header.sequence);
	}
	return header.sequence;
}

static bool gets_nothing(void *s)
{
	char byte;

	return zmq_recv(s, &byte, 1, ZMQ_DONTWAIT) < 0;
}

/* Whether copies of a block like this are made: three of them, and the test's own behind. A block is counted behind its
 * sending: of one before, and of the test's own, it may be now or later. */
static bool is_copied(enum fcm_stream stream, unsigned tower, unsigned floor)
{
	uint64_t before = blocks(), end_ns = now_mono_ns() + PATIENCE_NS;

	copy(stream, tower, floor, 1);
	copy(stream, tower, floor, 2);
	copy(stream, tower, floor, 3);
	copy(FCM_INSTRUMENT, LAST_TOWER, 1, 4);
	monitors_wake(m);
	assert_int_equal(receive(last, "instrument.T99.F01"), 4);
	while (blocks() == before) {
		assert_true(now_mono_ns() < end_ns);
	}
	return blocks() >= before + 3;
}

/* Until what `sub` has asked for so far has been heard. */
static void let_it_be_heard(void)
{
	static bool wanted;
	uint64_t end_ns = now_mono_ns() + PATIENCE_NS;

	wanted = !wanted;
	(wanted ? want : want_no_more)(sub, "instrument.T98.");
	while (is_copied(FCM_INSTRUMENT, LAST_TOWER - 1, 1) != wanted) {
		assert_true(now_mono_ns() < end_ns);
		usleep(1000);
	}
	while (!gets_nothing(sub)) {
		/* what it has got by that */
	}
	if (wanted) {
		let_it_be_heard();
	}
}

/* Of any block. */
static void wait_until_copied(bool copied)
{
	uint64_t end_ns = now_mono_ns() + PATIENCE_NS;

	while (is_copied(FCM_PMT, 50, 1) != copied) {
		assert_true(now_mono_ns() < end_ns);
		usleep(1000);
	}
	while (!gets_nothing(sub)) {
		/* what it has got by that */
	}
}

static void start(void)
{
	const struct monitors_config config = config_of("tcp://127.0.0.1:*");
	uint64_t end_ns = now_mono_ns() + PATIENCE_NS;

	assert_int_equal(monitors_start(&config, &m), 0);
	context = zmq_ctx_new();
	last = subscriber();
	sub = subscriber();
	want(last, "instrument.T99.");
	while (blocks() == 0) {
		copy(FCM_INSTRUMENT, LAST_TOWER, 1, 0);
		monitors_wake(m);
		usleep(1000);
		assert_true(now_mono_ns() < end_ns);
	}
	copy(FCM_INSTRUMENT, LAST_TOWER, 1, 1);
	monitors_wake(m);
	while (receive(last, "instrument.T99.F01") == 0) {
		/* one of those */
	}
}

static void stop(void)
{
	zmq_close(sub);
	zmq_close(last);
	zmq_ctx_term(context);
	monitors_stop(m);
	m = NULL;
}

static int begin(void **state)
{
	assert_null(m); /* else a start has failed: the others would only wait for the same */
	start();
	return 0;
}

static int end(void **state)
{
	stop();
	return 0;
}

/* --- of which blocks --- */

static void test_a_copy_is_made_of_what_is_wanted_only(void **state)
{
	assert_false(is_copied(FCM_PMT, 1, 2));
	want(sub, "pmt.T01.F02"); /* a whole topic */
	want(sub, "hydrophone.T03.");
	want(sub, "hydrophone.T04.F05x"); /* longer than the topic */
	want(sub, "hydrophone.T05.F0y");
	let_it_be_heard();
	assert_true(is_copied(FCM_PMT, 1, 2));
	assert_false(is_copied(FCM_PMT, 1, 3));
	assert_false(is_copied(FCM_PMT, 2, 2));
	assert_true(is_copied(FCM_HYDROPHONE, 3, 1));
	assert_true(is_copied(FCM_HYDROPHONE, 3, 18));
	assert_false(is_copied(FCM_HYDROPHONE, 4, 5));
	assert_false(is_copied(FCM_HYDROPHONE, 5, 1));
	want(sub, ""); /* all */
	wait_until_copied(true);
	assert_true(is_copied(FCM_INSTRUMENT, 7, 7));
	want_no_more(sub, "");
	wait_until_copied(false);
	assert_false(is_copied(FCM_INSTRUMENT, 7, 7));
	assert_true(is_copied(FCM_PMT, 1, 2));
}

/* One of two prefixes of the same length goes: the other holds, whichever came first. */
static void test_the_end_of_a_prefix_is_its_own(void **state)
{
	static const char *const prefix[] = {"pmt.T01.", "pmt.T02.", "pmt.T03."};

	for (unsigned gone = 0; gone < 3; gone++) {
		for (unsigned i = 0; i < 3; i++) {
			want(sub, prefix[i]);
		}
		let_it_be_heard();
		want_no_more(sub, prefix[gone]);
		let_it_be_heard();
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(is_copied(FCM_PMT, 1 + i, 1), i != gone);
		}
		for (unsigned i = 0; i < 3; i++) {
			if (i != gone) {
				want_no_more(sub, prefix[i]);
			}
		}
		let_it_be_heard();
		assert_false(is_copied(FCM_PMT, 1 + (gone + 1) % 3, 1));
	}
}

static void want_many(unsigned from, unsigned to, const char *format, bool more)
{
	for (unsigned n = from; n < to; n++) {
		char prefix[64];

		snprintf(prefix, sizeof(prefix), format, n % 10, n / 10);
		(more ? want : want_no_more)(sub, prefix);
	}
}

/* With the test's own there is room for one less. A prefix that no topic is as long as has no room. */
static void test_more_prefixes_than_are_listed(void **state)
{
	const unsigned room = MONITORS_TOPICS - 1;

	want_many(0, 90, "%ulonger-than-any-topic-may-become.%u", true); /* 36 bytes */
	let_it_be_heard();
	assert_false(is_copied(FCM_PMT, 50, 1));
	want_many(0, room - 1, BYTES_30 "%u%u", true); /* 32 bytes; let_it_be_heard() wants one */
	let_it_be_heard();
	assert_false(is_copied(FCM_PMT, 50, 1));
	want_many(room - 1, room, BYTES_30 "%u%u", true);
	want_many(room, room + 2, BYTES_30 "%u%u", true);
	wait_until_copied(true);
	want_many(room, room + 1, BYTES_30 "%u%u", false);
	want_many(room + 1, room + 2, BYTES_30 "%u%u", false);
	wait_until_copied(false);
	want_many(0, 1, BYTES_30 "%u%u", false);
	let_it_be_heard();
	want(sub, "pmt.T50.");
	let_it_be_heard();
	assert_true(is_copied(FCM_PMT, 50, 1)); /* in the place of one that has gone */
	assert_false(is_copied(FCM_PMT, 51, 1));
}

/* --- what is sent and counted --- */

static void test_what_is_sent_is_whole_and_in_order(void **state)
{
	want(sub, "pmt.");
	let_it_be_heard();
	for (unsigned n = 0; n < 100; n++) {
		copy(n % 2 ? FCM_PMT : FCM_HYDROPHONE, 1, 2, n);
	}
	monitors_wake(m);
	for (unsigned n = 1; n < 100; n += 2) {
		assert_int_equal(receive(sub, "pmt.T01.F02"), n);
	}
	copy(FCM_PMT, 1, 2, 200); /* without a call: it does not wait for one for ever */
	assert_int_equal(receive(sub, "pmt.T01.F02"), 200);
}

/* A block without data is a block. */
static void test_what_is_empty_is_sent(void **state)
{
	struct monitors_status v;

	want(sub, "pmt.");
	let_it_be_heard();
	copy_of(FCM_PMT, 1, 2, 7, 0);
	monitors_wake(m);
	assert_int_equal(receive(sub, "pmt.T01.F02"), 7);
	assert_true(is_copied(FCM_PMT, 1, 2)); /* that one is counted by now */
	monitors_get_status(m, &v);
	assert_int_equal(v.dropped, 0);
}

/* Its thread does not take them as fast as they come: what has no room is counted, and all else is sent. */
static void test_what_has_no_room_is_counted(void **state)
{
	uint64_t end_ns = now_mono_ns() + PATIENCE_NS, before, copies = 0;
	struct monitors_status v;

	do {
		before = blocks();
		usleep(20000); /* for what is sent and not counted yet */
	} while (blocks() != before);
	do {
		copy(FCM_INSTRUMENT, LAST_TOWER, 1, ++copies);
		monitors_get_status(m, &v);
		assert_true(now_mono_ns() < end_ns);
	} while (v.dropped == 0);
	assert_true(copies > 100);
	assert_int_equal(v.dropped, 1);
	monitors_wake(m);
	while (blocks() - before + v.dropped < copies) {
		assert_true(now_mono_ns() < end_ns);
	}
	monitors_get_status(m, &v);
	assert_int_equal(v.blocks - before + v.dropped, copies);
	assert_int_equal(v.bad_messages, 0);
}

static void wait_for_bad(uint64_t count)
{
	uint64_t end_ns = now_mono_ns() + PATIENCE_NS;
	struct monitors_status v;

	do {
		monitors_watch(m, false, now_mono_ns());
		monitors_get_status(m, &v);
		assert_true(now_mono_ns() < end_ns);
	} while (v.bad_messages < count);
	assert_int_equal(v.bad_messages, count);
}

static void test_what_is_no_topic_is_counted(void **state)
{
	uint16_t port =
		(uint16_t)strtoul(strrchr(door_endpoint(monitors_door(m)), ':') + 1, NULL, 10);
	int fd = zmtp_connect(port);

	zmtp_shake_hands_as(fd, "SUB");
	zmtp_send(fd, 0, "", 0);
	wait_for_bad(1);
	zmtp_send(fd, 0, "\x02pmt.", 5);
	wait_for_bad(2);
	zmtp_send(fd, 0, "\x01", 1); /* all topics, in the way of ZMTP 3.0 */
	zmtp_send(fd, 0, "\xff", 1);
	wait_for_bad(3);
	assert_true(is_copied(FCM_PMT, 1, 1));
	zmtp_send(fd, 0, "\x00", 1);
	zmtp_send(fd, 0, "\x05", 1);
	wait_for_bad(4);
	assert_false(is_copied(FCM_PMT, 1, 1));
	close(fd);
}

/* --- the thread --- */

/* Whoever copies calls it, and it need not look by itself. */
static void test_it_is_woken(void **state)
{
	uint64_t shortest_ns = UINT64_MAX;

	for (unsigned n = 0; n < 50; n++) {
		uint64_t begin_ns = now_mono_ns(), took_ns;

		copy(FCM_INSTRUMENT, LAST_TOWER, 1, n);
		monitors_wake(m);
		assert_int_equal(receive(last, "instrument.T99.F01"), n);
		took_ns = now_mono_ns() - begin_ns;
		shortest_ns = took_ns < shortest_ns ? took_ns : shortest_ns;
	}
	assert_true(shortest_ns < 50000000); /* half of what it sleeps between two looks */
}

static uint64_t used_us(void)
{
	struct rusage u;

	assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void test_it_sleeps_when_there_is_nothing(void **state)
{
	uint64_t before;

	assert_false(is_copied(FCM_PMT, 1, 1));
	usleep(50000);
	before = used_us();
	usleep(400000);
	assert_true(used_us() - before < 60000);
}

/* --- its door --- */

/* The seconds are counted by who calls: ten looks are no ten seconds. */
static void test_the_door_counts_seconds(void **state)
{
	uint16_t port =
		(uint16_t)strtoul(strrchr(door_endpoint(monitors_door(m)), ':') + 1, NULL, 10);
	uint64_t end_ns = now_mono_ns() + PATIENCE_NS;
	int fd = zmtp_connect(port); /* and says nothing */
	uint64_t refused = 0;

	while (door().accepted < 3 || door().admitted < 2) {
		monitors_watch(m, false, now_mono_ns());
		assert_true(now_mono_ns() < end_ns);
	}
	for (unsigned n = 0; n < 50; n++) {
		monitors_watch(m, false, now_mono_ns());
	}
	assert_int_equal(door().refused, 0);
	for (unsigned n = 0; n < 1000 && refused == 0;
	     n++) { /* while the thread has its socket, it is left out */
		monitors_watch(m, true, now_mono_ns());
		refused = door().refused;
		assert_true(n >= SECONDS_BACK - 1 || refused == 0);
		usleep(1000);
	}
	assert_int_equal(refused, 1);
	for (unsigned n = 0; n < 4; n++) { /* the thread has its socket back each time */
		monitors_watch(m, true, now_mono_ns());
		assert_false(is_copied(FCM_PMT, 1, 1));
	}
	close(fd);
}

/* Who says more than MONITORS_WORDS is cut at the next look. */
static void test_the_door_looks_each_time(void **state)
{
	static const uint8_t word[60] = {2}; /* no topic */
	uint16_t port =
		(uint16_t)strtoul(strrchr(door_endpoint(monitors_door(m)), ':') + 1, NULL, 10);
	uint64_t now = now_mono_ns() + PATIENCE_NS, count;
	int fd = zmtp_connect(port);

	zmtp_shake_hands_as(fd, "SUB");
	zmtp_send(fd, 0, word, sizeof(word));
	wait_for_bad(1);
	monitors_watch(m, false, now);
	for (count = 1; count * (sizeof(word) + 2) < MONITORS_WORDS; count++) {
		zmtp_send(fd, 0, word, sizeof(word));
	}
	do {
		struct monitors_status v;

		monitors_get_status(m, &v);
		if (v.bad_messages == count) {
			break;
		}
	} while (now_mono_ns() < now);
	monitors_watch(m, false, now + DOOR_WATCH_NS - 1);
	assert_int_equal(door().greedy, 0);
	monitors_watch(m, false, now + DOOR_WATCH_NS);
	assert_int_equal(door().greedy, 1);
	close(fd);
}

static const char *judge(void *unused, const char *address, const char *key)
{
	return "nobody";
}

static void test_what_is_waited_for(void **state)
{
	char public[ACCESS_KEY_TEXT], secret[ACCESS_KEY_TEXT];
	struct monitors_config config = config_of("tcp://127.0.0.1:*");
	struct monitors *locked = NULL;
	void *sockets[2] = {NULL, NULL};

	assert_int_equal(monitors_wait_for(m, sockets), 1);
	assert_ptr_equal(sockets[0], door_socket(monitors_door(m)));
	zmq_curve_keypair(public, secret);
	config.secret = secret;
	config.judge = judge;
	assert_int_equal(monitors_start(&config, &locked), 0);
	assert_int_equal(monitors_wait_for(locked, sockets), 2);
	assert_ptr_equal(sockets[0], door_socket(monitors_door(locked)));
	assert_non_null(sockets[1]);
	assert_ptr_not_equal(sockets[1], sockets[0]);
	monitors_stop(locked);
}

/* --- life --- */

static unsigned count_open(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 512; fd++) {
		count += fcntl(fd, F_GETFD) >= 0;
	}
	return count;
}

static void test_a_start_that_fails_leaves_nothing(void **state)
{
	static const char no_key[ACCESS_KEY_TEXT] = "no key";
	const struct monitors_config good = config_of("tcp://127.0.0.1:*");
	struct monitors_config bad[3] = {config_of("tcp://nonsense"), good, good};
	struct monitors *none = NULL;
	unsigned before = count_open();

	bad[1].hwm = -1;
	bad[2].secret = no_key;
	bad[2].judge = judge;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(monitors_start(&bad[i], &none), -EINVAL);
		assert_null(none);
		assert_int_equal(count_open(), before);
	}
	monitors_stop(NULL);
}

static void test_a_life_leaves_nothing(void **state)
{
	unsigned before = count_open();
	size_t memory = 0;

	for (unsigned i = 0; i < 60; i++) {
		memory = i == 10 ? mallinfo2().uordblks : memory;
		start();
		want_many(0, 40, "%ulonger-than-any-topic-may-become.%u", true);
		let_it_be_heard();
		stop();
		assert_int_equal(count_open(), before);
	}
	assert_in_range(mallinfo2().uordblks, 0, memory + 60000);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(test_##t, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_copy_is_made_of_what_is_wanted_only),
		TEST(the_end_of_a_prefix_is_its_own),
		TEST(more_prefixes_than_are_listed),
		TEST(what_is_sent_is_whole_and_in_order),
		TEST(what_is_empty_is_sent),
		TEST(what_has_no_room_is_counted),
		TEST(what_is_no_topic_is_counted),
		TEST(it_is_woken),
		TEST(it_sleeps_when_there_is_nothing),
		TEST(the_door_counts_seconds),
		TEST(the_door_looks_each_time),
		TEST(what_is_waited_for),
		TEST(a_start_that_fails_leaves_nothing),
		cmocka_unit_test(test_a_life_leaves_nothing),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
