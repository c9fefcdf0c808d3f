/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libfcmdata with a daemon that behaves well or badly: membership, blocks, what is refused. */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <zmq.h>

#include "tests/unit/daemon/consumer/fcmdata_rig.h"

static void test_blocks_are_acknowledged(void **state)
{
	const struct fcmdata_block *b[8];
	char body[1024];
	unsigned acked;
	int bytes;

	rig_open_member();
	for (uint64_t n = 0; n < 8; n++) {
		rig_say_block(n, 0, FCMDATA_GOOD);
	}
	for (uint64_t n = 0; n < 8; n++) {
		b[n] = rig_receive(n);
	}
	assert_int_equal(rig_stats().state, FCMDATA_MEMBER);
	for (unsigned n = 0; n < 3; n++) {
		assert_int_equal(fcmdata_ack(rig.h, &b[n]->key), 0);
		assert_int_equal(fcmdata_ack(rig.h, &b[n]->key), 0); /* harmless */
	}
	rig_expect_acks(0, 3); /* by the next receive */
	for (unsigned n = 7; n >= 3; n--) {
		fcmdata_release(rig.h, b[n]);
		b[n] = NULL;
	}
	fcmdata_release(rig.h, NULL);
	assert_int_equal(rig_stats().acknowledged, 3);
	rig_expect("ALIVE", body, &bytes);
	assert_int_equal(fcmdata_ack(rig.h, &b[0]->key), 0); /* not owed */
	assert_int_equal(fcmdata_flush(rig.h), 0);
	for (uint64_t n = 10; n < 40; n++) { /* a gap of 2, which is certain: inside a slice */
		const struct fcmdata_block *c;

		rig_say_block(n, 0, FCMDATA_GOOD);
		c = rig_receive(n);
		assert_int_equal(c->gap_frames, n == 10 ? 2 * BLOCK : 0);
		assert_int_equal(fcmdata_ack(rig.h, &c->key), 0);
		fcmdata_release(rig.h, c);
	}
	assert_int_equal(fcmdata_flush(rig.h), 0);
	assert_int_equal(rig_stats().acknowledged, 33);
	assert_int_equal(rig_stats().blocks, 38);
	assert_int_equal(rig_stats().gap_lost, 2 * BLOCK);
	assert_int_equal(
		fcmdata_ack(rig.h,
			    &(struct fcm_ack){.sequence = 5ull << 40 | 3, .tower = 1, .floor = 2}),
		0);
	fcmdata_close(rig.h); /* with blocks in hand, and one acknowledged but not said */
	rig.h = NULL;
	for (acked = 0; !rig_hear_bye(&acked);) {
	}
	assert_int_equal(acked, 31);
}

/* The daemon took the member for dead: HELLO again, once, and what comes again is known. Answers to what
 * was said before the HELLO are not listened to. */
static void test_unknown_member(void **state)
{
	const struct fcmdata_block *b;
	char body[1024];
	int bytes;

	rig_open_member();
	rig_say_block(0, 0, FCMDATA_GOOD);
	rig_say_block(1, 0, FCMDATA_GOOD);
	b = rig_receive(0);
	assert_int_equal(fcmdata_ack(rig.h, &b->key), 0);
	fcmdata_release(rig.h, b);
	fcmdata_release(rig.h, rig_receive(1));
	rig_expect_acks(0, 1);
	for (unsigned i = 0; i < 5; i++) {
		rig_say_words("ERROR", "{\"error\":\"unknown-member\",\"hint\":\"say HELLO\"}");
	}
	rig_expect_hello();
	assert_false(rig_hear("HELLO", body, &bytes, 300));
	assert_int_equal(rig_stats().state, FCMDATA_ASKED);
	assert_int_equal(rig_stats().hellos, 2);
	rig_welcome();
	rig_say_block(0, RESENT, FCMDATA_GOOD);
	rig_say_block(1, RESENT, FCMDATA_GOOD);
	b = rig_receive(0);
	assert_true(b->repeat);
	assert_int_equal(fcmdata_ack(rig.h, &b->key), 0);
	fcmdata_release(rig.h, b);
	b = rig_receive(1);
	assert_true(b->again && !b->repeat);
	assert_int_equal(fcmdata_ack(rig.h, &b->key), 0);
	fcmdata_release(rig.h, b);
	rig_expect_acks(0, 2);
	assert_int_equal(rig_stats().repeats, 1);
	assert_int_equal(rig_stats().agains, 1);
	assert_int_equal(rig_stats().connections, 1);
	rig_say_words("ERROR", "{\"error\":\"too-slow\",\"hint\":\"say HELLO\"}");
	rig_expect_hello();
	assert_int_equal(rig_stats().too_slow, 1);
}

/* What an earlier life of this consumer had processed is a repeat, too. */
static void test_remembered(void **state)
{
	const struct fcm_ack had = {.sequence = 5ull << 40 | 7, .tower = 1, .floor = 2};
	const struct fcmdata_block *b;

	rig_open_member();
	assert_int_equal(fcmdata_remember(rig.h, &had), 0);
	rig_say_block(7, RESENT, FCMDATA_GOOD);
	rig_say_block(8, 0, FCMDATA_GOOD);
	b = rig_receive(7);
	assert_true(b->repeat);
	assert_int_equal(fcmdata_ack(rig.h, &b->key), 0);
	assert_false(rig_receive(8)->repeat);
	rig_expect_acks(7, 1);
	assert_int_equal(rig_stats().gaps, 0);
}

/* The daemon is killed and comes back: HELLO, and nothing that was meant for the old one. */
static void test_daemon_comes_back(void **state)
{
	const struct fcmdata_block *b;
	char body[1024];
	int bytes;

	rig_open_member();
	rig_say_block(0, 0, FCMDATA_GOOD);
	rig_say_block(1, 0, FCMDATA_GOOD);
	b = rig_receive(0);
	fcmdata_release(rig.h, rig_receive(1));
	rig_daemon_dies();
	rig_wait_disconnected();
	assert_int_equal(fcmdata_ack(rig.h, &b->key), 0);
	assert_int_equal(fcmdata_flush(rig.h), -ENOTCONN);
	assert_int_equal(fcmdata_alive(rig.h), 0);
	rig_daemon_starts(ZMQ_ROUTER);
	rig_expect_hello(); /* the first word: rig_hear() knows no other */
	rig_welcome();
	assert_false(rig_hear("ACK", body, &bytes, 300)); /* of what the new one has not sent */
	rig_say_block(0, RESENT, FCMDATA_GOOD);
	fcmdata_release(rig.h, b);
	b = rig_receive(0);
	assert_true(b->repeat);
	assert_int_equal(fcmdata_ack(rig.h, &b->key), 0);
	rig_expect_acks(0, 1);
	assert_int_equal(rig_stats().connections, 2);
	assert_int_equal(rig_stats().welcomes, 2);
}

/* libzmq loses memory of a message that is half in, unless the BYE has left before. */
static void test_closed_in_the_middle_of_a_message(void **state)
{
	static const uint8_t large[60000];
	const void *part[] = {"BLOCK", large, large, large};
	const size_t bytes[] = {5, 160, 320, sizeof(large)};
	const struct fcmdata_block *b;
	size_t memory = 0;

	for (unsigned round = 0; round < 30; round++) {
		memory = round == 10 ? mallinfo2().uordblks : memory;
		rig_open_member();
		for (uint64_t n = 0; n < 100; n++) {
			rig_say(part, bytes, 4);
		}
		rig_daemon_dies();
		assert_int_equal(fcmdata_receive(rig.h, (int)round % 4, &b), 0);
		fcmdata_close(rig.h);
		rig.h = NULL;
		strcpy(rig.endpoint, "tcp://127.0.0.1:*");
		rig_daemon_starts(ZMQ_ROUTER);
	}
	assert_in_range(mallinfo2().uordblks, 0, memory + 50000);
}

/* Two HELLOs have two WELCOMEs: between them others may have had the slice's rest, and what was handed
 * out before the second is awaited by nobody. */
static void test_two_welcomes(void **state)
{
	const struct fcmdata_block *b[2];
	char body[1024];
	int bytes;

	rig_open_member();
	rig_say_block(0, 0, FCMDATA_GOOD);
	rig_say_block(1, 0, FCMDATA_GOOD);
	b[0] = rig_receive(0);
	b[1] = rig_receive(1);
	rig_welcome();
	rig_say_block(5, 0, FCMDATA_GOOD);
	fcmdata_release(rig.h, rig_receive(5));
	assert_int_equal(rig_stats().welcomes, 2);
	assert_int_equal(rig_stats().gap_frames, 3 * BLOCK);
	assert_int_equal(rig_stats().gap_lost, 0);
	assert_int_equal(fcmdata_ack(rig.h, &b[1]->key), 0);
	assert_int_equal(fcmdata_flush(rig.h), 0);
	assert_false(rig_hear("ACK", body, &bytes, 300));
	assert_int_equal(rig_stats().acknowledged, 0);
	rig_say_block(7, 0, FCMDATA_GOOD); /* in one membership again */
	fcmdata_release(rig.h, rig_receive(7));
	assert_int_equal(rig_stats().gap_lost, BLOCK);
	fcmdata_release(rig.h, b[0]);
	fcmdata_release(rig.h, b[1]);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *body, *said;
	} cases[] = {
		{"{\"error\":\"no-such-group\",\"hint\":\"groups: a b\"}",
		 "no-such-group: groups: a b"},
		{"{\"error\":\"no-room\"}", "no-room"},
		{"{\"error\":7,\"hint\":[]}", "no reason given"},
		{"{", "no reason given"},
		{"", "no reason given"},
		{"[]", "no reason given"},
	};
	const struct fcmdata_block *b;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pollfd p = {.events = POLLIN};

		rig_open_member();
		assert_null(fcmdata_refusal(rig.h));
		rig_say_words("ERROR", cases[i].body);
		assert_int_equal(fcmdata_receive(rig.h, PATIENCE_MS, &b), -ECONNREFUSED);
		assert_string_equal(fcmdata_refusal(rig.h), cases[i].said);
		assert_int_equal(rig_stats().state, FCMDATA_REFUSED);
		p.fd = fcmdata_fd(rig.h);
		assert_int_equal(poll(&p, 1, 0), 1);
		assert_int_equal(fcmdata_receive(rig.h, 0, &b), -ECONNREFUSED);
		assert_int_equal(fcmdata_alive(rig.h), -ECONNREFUSED);
		fcmdata_close(rig.h);
		rig.h = NULL;
	}
}

/* The name may be our own, of a connection whose end nobody has seen: asked again until it is free ... */
static void test_name_taken_for_a_while(void **state)
{
	rig_open_asking();
	for (unsigned n = 0; n < 3; n++) {
		rig_say_words("ERROR", "{\"error\":\"name-taken\",\"retry_ms\":60000}");
		rig_expect_hello();
		assert_int_equal(rig_stats().state, FCMDATA_ASKED);
	}
	rig_welcome();
	rig_say_block(0, 0, FCMDATA_GOOD);
	fcmdata_release(rig.h, rig_receive(0));
	assert_int_equal(rig_stats().state, FCMDATA_MEMBER);
	assert_null(fcmdata_refusal(rig.h));
}

/* ... or until it must be another's. */
static void test_name_taken_for_good(void **state)
{
	const struct fcmdata_block *b;
	int64_t end = rig_now_ms() + PATIENCE_MS;
	int r = 0;

	rig_open_asking();
	while (r == 0 && rig_now_ms() < end) {
		rig_say_words("ERROR",
			      "{\"error\":\"name-taken\",\"hint\":\"t-1 at 127.0.0.1:7\"}");
		r = fcmdata_receive(rig.h, 100, &b);
	}
	assert_int_equal(r, -ECONNREFUSED);
	assert_string_equal(fcmdata_refusal(rig.h), "name-taken: t-1 at 127.0.0.1:7");
	assert_in_range(rig_stats().hellos, 2, 100);
}

/* What is none of the protocol, and blocks that are none: counted, never handed out, the good ones are.
 * Damaged ones are asked for again. */
static void test_bad_messages(void **state)
{
	static const char *const one[] = {"x", "BLOCK", "HELLO", "WELCOME", "ERROR", ""};
	const void *many[300];
	size_t bytes[300];

	rig_open_member();
	for (unsigned i = 0; i < sizeof(one) / sizeof(one[0]); i++) {
		rig_say_words(one[i], NULL);
	}
	rig_say_words("BLOCK", "x");
	for (unsigned i = 0; i < 300; i++) {
		many[i] = "BLOCK";
		bytes[i] = 5;
	}
	rig_say(many, bytes, 300);
	rig_say_words("ALIVE", NULL);
	rig_say_block(0, 0, FCMDATA_PAYLOAD_CRC);
	rig_say_block(1, 0, FCMDATA_HEADER_CRC);
	rig_say_block(2, 0, FCMDATA_MALFORMED);
	rig_say(many, bytes, 4);
	rig_say_block(3, 0, FCMDATA_GOOD);
	fcmdata_release(rig.h, rig_receive(3));
	assert_int_equal(rig_stats().strangers, 8);
	assert_int_equal(rig_stats().payload_crcs, 1);
	assert_int_equal(rig_stats().header_crcs, 1);
	assert_int_equal(rig_stats().malformed, 2);
	assert_int_equal(rig_stats().blocks, 1);
	rig_expect_hello();
	rig_welcome();
	rig_say_block(0, RESENT, FCMDATA_GOOD);
	fcmdata_release(rig.h, rig_receive(0));
	assert_int_equal(rig_stats().agains, 0);
}

static void expect_refusal(const char *wanted)
{
	const struct fcmdata_block *b;
	int r;

	do {
		r = fcmdata_receive(rig.h, PATIENCE_MS, &b);
	} while (r == 0);
	assert_int_equal(r, -ECONNREFUSED);
	assert_string_equal(fcmdata_refusal(rig.h), wanted);
}

/* Nothing that is asked for again would make it readable. */
static void test_next_version(void **state)
{
	rig_open_member();
	rig_say_block(0, 0, FCMDATA_VERSION);
	expect_refusal("version: the daemon sends data of version 2, this library reads 1: "
		       "install the daemon's libfcmdata");
}

static void test_next_protocol(void **state)
{
	rig_open_asking();
	rig_say_words("WELCOME", "{\"protocol\":2,\"board\":0}");
	expect_refusal("version: the daemon speaks protocol 2, this library reads 1: "
		       "install the daemon's libfcmdata");
}

/* Members that this version does not know are passed over. */
static void test_grown_welcome(void **state)
{
	rig_open_asking();
	rig_say_words("WELCOME", "{\"capabilities\":[\"x\"],\"protocol\":1,\"y\":{\"z\":[]}}");
	rig_say_block(0, 0, FCMDATA_GOOD);
	fcmdata_release(rig.h, rig_receive(0));
	assert_int_equal(rig_stats().state, FCMDATA_MEMBER);
}

/* It is called as the daemon binds it. */
static void test_monitor_of_next_version(void **state)
{
	char everywhere[64];
	const struct fcmdata_config config = {.mode = FCMDATA_MONITOR, .endpoint = everywhere};
	const struct fcmdata_block *b;
	int64_t end = rig_now_ms() + PATIENCE_MS;
	int r = 0;

	snprintf(everywhere, sizeof(everywhere), "tcp://*%s", strrchr(rig.endpoint, ':'));
	assert_int_equal(fcmdata_open(&config, &rig.h), 0);
	while (r == 0 && rig_now_ms() < end) { /* until the subscription is there */
		rig_say_block(0, 0, FCMDATA_VERSION);
		r = fcmdata_receive(rig.h, 20, &b);
	}
	assert_int_equal(r, -ECONNREFUSED);
	assert_non_null(strstr(fcmdata_refusal(rig.h), "data of version 2"));
}

static void test_monitor(void **state)
{
	static const char *const topics[] = {"pmt.", NULL};
	const struct fcmdata_config config = {
		.mode = FCMDATA_MONITOR, .endpoint = rig.endpoint, .topics = topics};
	const struct fcmdata_block *b = NULL;
	const void *part[] = {"pmt.", "x"};
	const size_t bytes[] = {4, 1};

	assert_int_equal(fcmdata_open(&config, &rig.h), 0);
	for (uint64_t n = 0; b == NULL; n++) { /* until the subscription has arrived */
		rig_say_block(n < 100 ? 10 : 0, 0, FCMDATA_GOOD);
		assert_in_range(fcmdata_receive(rig.h, 20, &b), 0, 1);
	}
	assert_int_equal(b->header.sequence & 0xff, 10);
	assert_int_equal(rig_stats().state, FCMDATA_MEMBER);
	assert_int_equal(fcmdata_ack(rig.h, &b->key), -EINVAL);
	assert_int_equal(fcmdata_flush(rig.h), 0);
	rig_say_block(50, 0, FCMDATA_PAYLOAD_CRC);
	rig_say(part, bytes, 2);
	rig_say_block(51, 0, FCMDATA_GOOD);
	b = rig_receive(51);
	assert_int_equal(b->gap_first, 11 * BLOCK);
	assert_int_equal(b->gap_frames, 40 * BLOCK);
	assert_int_equal(b->gap_lost, 40 * BLOCK);
	rig_say_block(51, RESENT, FCMDATA_GOOD);
	b = rig_receive(51);
	assert_true(b->again && !b->repeat);
	assert_int_equal(rig_stats().strangers, 1);
	assert_int_equal(rig_stats().payload_crcs, 1);
	assert_int_equal(rig_stats().hellos, 0);
	rig_daemon_dies();
	rig_wait_disconnected();
	rig_daemon_starts(ZMQ_PUB);
	for (b = NULL; b == NULL;) {
		rig_say_block(60, 0, FCMDATA_GOOD);
		assert_in_range(fcmdata_receive(rig.h, 20, &b), 0, 1);
	}
	assert_int_equal(b->gap_frames, 8 * BLOCK);
	assert_int_equal(rig_stats().connections, 2);
}

static void test_bad_configurations(void **state)
{
	static const char *const long_topic[] = {
		"pmt.T01.F02.pmt.T01.F02.pmt.T01.F02.pmt.T01.F02.pmt.T01.F02.pmt.T01.F02", NULL};
	const struct fcmdata_config cases[] = {
		{.name = "a", .group = "b"},
		{.endpoint = "tcp://127.0.0.1:1", .group = "b"},
		{.endpoint = "tcp://127.0.0.1:1", .name = "a"},
		{.endpoint = "tcp://127.0.0.1:1", .name = "", .group = "b"},
		{.endpoint = "tcp://127.0.0.1:1", .name = "a\"", .group = "b"},
		{.endpoint = "tcp://127.0.0.1:1", .name = "a", .group = "b b"},
		{.endpoint = "tcp://127.0.0.1:1",
		 .name = "123456789012345678901234567890123456789012345678",
		 .group = "b"},
		{.endpoint = "tcp://127.0.0.1:1", .name = "a", .group = "b", .credit = 1025},
		{.endpoint = "tcp://127.0.0.1:1", .name = "a", .group = "b", .reserved = {0, 0, 1}},
		{.endpoint = "tcp://127.0.0.1:1",
		 .name = "a",
		 .group = "b",
		 .mode = (enum fcmdata_mode)2},
		{.endpoint = "nonsense", .name = "a", .group = "b"},
		{.endpoint = "tcp://127.0.0.1:1", .mode = FCMDATA_MONITOR, .topics = long_topic},
	};
	struct fcmdata *h = (struct fcmdata *)&rig;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (fcmdata_open(&cases[i], &h) != -EINVAL) {
			fail_msg("configuration %u is taken", i);
		}
	}
	assert_ptr_equal(h, &rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_blocks_are_acknowledged, rig_set_up,
						rig_tear_down),
		cmocka_unit_test_setup_teardown(test_unknown_member, rig_set_up, rig_tear_down),
		cmocka_unit_test_setup_teardown(test_remembered, rig_set_up, rig_tear_down),
		cmocka_unit_test_setup_teardown(test_daemon_comes_back, rig_set_up, rig_tear_down),
		cmocka_unit_test_setup_teardown(test_closed_in_the_middle_of_a_message, rig_set_up,
						rig_tear_down),
		cmocka_unit_test_setup_teardown(test_two_welcomes, rig_set_up, rig_tear_down),
		cmocka_unit_test_setup_teardown(test_refusals, rig_set_up, rig_tear_down),
		cmocka_unit_test_setup_teardown(test_name_taken_for_a_while, rig_set_up,
						rig_tear_down),
		cmocka_unit_test_setup_teardown(test_name_taken_for_good, rig_set_up,
						rig_tear_down),
		cmocka_unit_test_setup_teardown(test_bad_messages, rig_set_up, rig_tear_down),
		cmocka_unit_test_setup_teardown(test_next_version, rig_set_up, rig_tear_down),
		cmocka_unit_test_setup_teardown(test_next_protocol, rig_set_up, rig_tear_down),
		cmocka_unit_test_setup_teardown(test_grown_welcome, rig_set_up, rig_tear_down),
		cmocka_unit_test_setup_teardown(test_monitor_of_next_version, rig_set_up_monitor,
						rig_tear_down),
		cmocka_unit_test_setup_teardown(test_monitor, rig_set_up_monitor, rig_tear_down),
		cmocka_unit_test_setup_teardown(test_bad_configurations, rig_set_up, rig_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
