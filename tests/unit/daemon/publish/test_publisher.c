/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The publisher and its consumers' words: HELLO, blocks, ACK, what is refused; monitors. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zmq.h>

#include "daemon/publish/hello.h"
#include "daemon/publish/monitors.h"
#include "tests/unit/daemon/publish/publisher_rig.h"
#include "tests/unit/rig/zmtp_rig.h"

static void test_hello_block_ack(void **state)
{
	struct publisher_status s;
	static struct rig r;
	struct got g;
	void *d;

	rig_start(&r, 100, 64);
	d = rig_dealer(r.context, publisher_reserved_endpoint(r.p));
	rig_offer(&r, FCM_PMT);	       /* before anybody is there: waits */
	rig_offer(&r, FCM_INSTRUMENT); /* nobody's: comes back at once */
	rig_wait_back(&r, 1);
	assert_int_equal(r.outcome[1][0], OUTCOME_NOT_OFFERED);
	rig_say_hello(d, "trigger-1", "trigger", 4);
	rig_expect(d, "WELCOME", "\"streams\":[\"pmt\"]");
	assert_true(rig_receive(d, &g));
	assert_string_equal(g.text, "pmt.T01.F02");
	assert_int_equal(g.header.sequence, 5ull << 40);
	assert_int_equal(g.header.flags, 0);
	rig_ack(d, FCM_PMT, g.header.sequence);
	rig_wait_back(&r, 2);
	assert_int_equal(r.outcome[0][0], OUTCOME_ACKED);
	assert_int_equal(r.outcome[0][1], OUTCOME_NOT_OFFERED);
	rig_ack(d, FCM_PMT, g.header.sequence);
	WAIT_STATUS(&r, s, s.unknown_acks == 1);
	assert_int_equal(s.members, 1);
	assert_int_equal(s.member[0].delivered, 1);
	assert_int_equal(s.member[0].delivered_bytes, PAYLOAD);
	assert_int_equal(s.group[0].acked, 1);
	assert_int_equal(s.blocks, 2);
	rig_say(d, "BYE", NULL, 0);
	WAIT_STATUS(&r, s, s.member[0].state == MEMBER_LEFT);
	zmq_close(d);
	rig_finish(&r);
}

/* ERROR says that the sender is no member: then it is none, and what it had is for others. */
static void test_a_refused_hello_ends_the_membership(void **state)
{
	struct publisher_status s;
	static struct rig r;
	void *d, *other;

	rig_start(&r, 100, 64);
	d = rig_dealer(r.context, publisher_reserved_endpoint(r.p));
	other = rig_dealer(r.context, publisher_reserved_endpoint(r.p));
	rig_say_hello(d, "trigger-1", "trigger", 4);
	rig_expect(d, "WELCOME", "trigger");
	rig_offer(&r, FCM_PMT);
	rig_expect_block(d, false);
	rig_say(d, "HELLO", "[]", 2);
	rig_expect(d, "ERROR", "bad-hello");
	WAIT_STATUS(&r, s, s.group[0].members == 0);
	rig_say_hello(other, "trigger-2", "trigger", 4);
	rig_expect(other, "WELCOME", "trigger");
	rig_ack(other, FCM_PMT, rig_expect_block(other, true));
	rig_wait_back(&r, 1);
	assert_int_equal(r.outcome[0][0], OUTCOME_ACKED);
	zmq_close(d);
	zmq_close(other);
	rig_finish(&r);
}

static void test_refused_hellos(void **state)
{
	static const struct {
		const char *hello, *error;
	} cases[] = {
		{"", "bad-hello"},
		{"nonsense", "bad-hello"},
		{"[1]", "bad-hello"},
		{"{\"protocol\":2,\"name\":\"a\",\"group\":\"trigger\",\"credit\":1}", "protocol"},
		{"{\"protocol\":1,\"group\":\"trigger\",\"credit\":1}", "name"},
		{"{\"protocol\":1,\"name\":\"a b\",\"group\":\"trigger\",\"credit\":1}", "name"},
		{"{\"protocol\":1,\"name\":\"a\",\"group\":\"trigger\",\"credit\":0}", "credit"},
		{"{\"protocol\":1,\"name\":\"a\",\"group\":\"trigger\",\"credit\":1025}", "credit"},
		{"{\"protocol\":1,\"name\":\"a\",\"group\":\"trigger\",\"credit\":1.5}", "credit"},
		{"{\"protocol\":1,\"name\":\"a\",\"name\":\"b\",\"group\":\"x\",\"credit\":1}",
		 "bad-hello"},
		{"{\"protocol\":1,\"name\":\"a\",\"group\":\"nosuch\",\"credit\":1}",
		 "trigger acoustic"},
	};
	struct publisher_status s;
	static struct rig r;
	void *d, *other[MEMBERS_MAX];

	rig_start(&r, 100, 64);
	d = rig_dealer(r.context, publisher_reserved_endpoint(r.p));
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rig_say(d, "HELLO", cases[i].hello, strlen(cases[i].hello));
		rig_expect(d, "ERROR", cases[i].error);
	}
	WAIT_STATUS(&r, s, s.refused_hellos == sizeof(cases) / sizeof(cases[0]));
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "m%u", i);
		other[i] = rig_dealer(r.context, publisher_reserved_endpoint(r.p));
		rig_say_hello(other[i], name, "trigger", 1);
		rig_expect(other[i], "WELCOME", "trigger");
		rig_say(d, "ALIVE", NULL, 0); /* from nobody: harmless */
		rig_expect(d, "ERROR", "unknown-member");
	}
	rig_say_hello(d, "one-more", "trigger", 1);
	rig_expect(d, "ERROR", "too-many-members");
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		zmq_close(other[i]);
	}
	zmq_close(d);
	rig_finish(&r);
}

static void test_malformed(void **state)
{
	static const char big[300000];
	struct publisher_status s;
	static struct rig r;
	void *d;

	rig_start(&r, 100, 64);
	d = rig_dealer(r.context, publisher_reserved_endpoint(r.p));
	rig_say(d, "ALIVE", NULL, 0);
	rig_expect(d, "ERROR", "unknown-member");
	rig_ack(d, FCM_PMT, 1);
	rig_expect(d, "ERROR", "unknown-member");
	rig_say_hello(d, "a", "trigger", 1);
	rig_expect(d, "WELCOME", "trigger");
	rig_say(d, "ALIVE", NULL, 0);
	rig_say(d, "", NULL, 0);
	rig_say(d, "hello", "x", 1);
	rig_say(d, "HELLO", NULL, 0);
	rig_say(d, "ALIVE", "x", 1);
	rig_say(d, "ACK", NULL, 0);
	rig_say(d, "ACK", "0123456789", 10);
	rig_say(d, "ACK", "", 0);
	rig_say(d, "ACK", big, 5000 * 16); /* more than 4096 of them */
	for (unsigned i = 0; i < 9; i++) {
		assert_true(zmq_send(d, "ACK", 3, ZMQ_SNDMORE) >= 0); /* ten parts */
	}
	assert_true(zmq_send(d, "ACK", 3, 0) >= 0);
	WAIT_STATUS(&r, s, s.bad_messages == 9);
	assert_int_equal(s.member[0].state, MEMBER_ALIVE);
	rig_say(d, "ACK", big, sizeof(big)); /* ZeroMQ itself cuts the connection */
	WAIT_STATUS(&r, s, s.member[0].state == MEMBER_LEFT);
	/* It comes back by itself; the daemon does not know it any more. */
	rig_say(d, "ALIVE", NULL, 0);
	rig_expect(d, "ERROR", "unknown-member");
	zmq_close(d);
	rig_finish(&r);
}

/* Who lives keeps its name, its blocks and its acknowledgements; both are named. */
static void test_name_taken(void **state)
{
	struct publisher_status s;
	static struct rig r;
	void *d, *e;
	uint64_t sequence;

	rig_start(&r, 100, 64);
	d = rig_dealer(r.context, publisher_reserved_endpoint(r.p));
	e = rig_dealer(r.context, publisher_reserved_endpoint(r.p));
	rig_say_hello(d, "a", "trigger", 4);
	rig_expect(d, "WELCOME", "trigger");
	rig_offer(&r, FCM_PMT);
	sequence = rig_expect_block(d, false);
	rig_say_hello(e, "a", "trigger", 4);
	rig_expect(e, "ERROR", "name-taken");
	rig_ack(e, FCM_PMT, sequence); /* of a stranger */
	rig_expect(e, "ERROR", "unknown-member");
	WAIT_STATUS(&r, s, s.namesake.count == 1);
	assert_string_equal(s.namesake.name, "a");
	assert_string_equal(s.namesake.group, "trigger");
	assert_string_equal(s.namesake.member, s.member[0].address);
	assert_int_equal(strncmp(s.namesake.member, "127.0.0.1:", 10), 0);
	assert_int_equal(strncmp(s.namesake.refused, "127.0.0.1:", 10), 0);
	assert_string_not_equal(s.namesake.member, s.namesake.refused);
	assert_int_equal(s.refused_hellos, 1);
	rig_ack(d, FCM_PMT, sequence);
	rig_wait_back(&r, 1);
	assert_int_equal(r.outcome[0][0], OUTCOME_ACKED);
	WAIT_STATUS(&r, s, s.member[0].delivered == 1);
	zmq_close(d);
	zmq_close(e);
	rig_finish(&r);
}

/* Its connection has ended, though nobody has noticed a silence yet: whoever was killed is back at once. By plain TCP:
 * the kernel closes what a killed process had, before another can take its place; libzmq takes its time. */
static void test_name_free_at_once(void **state)
{
	static const char hello[] =
		"{\"protocol\":1,\"name\":\"a\",\"group\":\"trigger\",\"credit\":4}";
	struct publisher_status s;
	static struct rig r;
	uint16_t port;

	rig_start(&r, 100, 64);
	port = (uint16_t)atoi(strrchr(publisher_reserved_endpoint(r.p), ':') + 1);
	for (unsigned life = 1; life <= 20; life++) {
		int fd = zmtp_connect(port);

		zmtp_shake_hands(fd);
		zmtp_send(fd, ZMTP_MORE, "HELLO", 5);
		zmtp_send(fd, 0, hello, sizeof(hello) - 1);
		WAIT_STATUS(&r, s, s.hellos == life);
		assert_int_equal(s.member[0].state, MEMBER_ALIVE);
		close(fd); /* no BYE */
	}
	assert_int_equal(s.refused_hellos, 0);
	rig_finish(&r);
}

/* It stands still: after dead_ms the name is another's. */
static void test_name_free_after_silence(void **state)
{
	static struct rig r;
	struct got g = {.verb = ""};
	int64_t end = rig_now_ms() + 2 * PATIENCE_MS;
	unsigned refusals = 0;
	void *d, *e;

	rig_start(&r, 100, 64);
	d = rig_dealer(r.context, publisher_reserved_endpoint(r.p));
	e = rig_dealer(r.context, publisher_reserved_endpoint(r.p));
	rig_say_hello(d, "a", "trigger", 4);
	rig_expect(d, "WELCOME", "trigger");
	while (strcmp(g.verb, "WELCOME") != 0 && rig_now_ms() < end) {
		rig_say_hello(e, "a", "trigger", 4);
		assert_true(rig_receive(e, &g));
		if (strcmp(g.verb, "ERROR") == 0) {
			assert_non_null(strstr(g.text, "\"retry_ms\":1000"));
			refusals++;
			usleep(20000);
		}
	}
	assert_string_equal(g.verb, "WELCOME");
	assert_true(refusals > 0);
	zmq_close(d);
	zmq_close(e);
	rig_finish(&r);
}

/* Two connections that name the same routing id: the first one keeps it. */
static void test_routing_id_taken(void **state)
{
	static struct rig r;
	void *d[2];

	rig_start(&r, 100, 64);
	for (unsigned i = 0; i < 2; i++) {
		d[i] = zmq_socket(r.context, ZMQ_DEALER);
		assert_int_equal(zmq_setsockopt(d[i], ZMQ_ROUTING_ID, "me", 2), 0);
		assert_int_equal(zmq_connect(d[i], publisher_reserved_endpoint(r.p)), 0);
		if (i == 0) {
			rig_say_hello(d[0], "a", "trigger", 4);
			rig_expect(d[0], "WELCOME", "trigger");
		}
	}
	rig_say(d[1], "BYE", NULL, 0);
	usleep(300000); /* for it to be heard, if it is */
	rig_offer(&r, FCM_PMT);
	rig_ack(d[0], FCM_PMT, rig_expect_block(d[0], false));
	rig_wait_back(&r, 1);
	assert_int_equal(r.outcome[0][0], OUTCOME_ACKED);
	zmq_close(d[0]);
	zmq_close(d[1]);
	rig_finish(&r);
}

/* To topics that there are not. */
static void set_prefixes(void *sub, unsigned which, int option, unsigned count)
{
	for (unsigned n = 0; n < count; n++) {
		char prefix[24];
		int length = snprintf(prefix, sizeof(prefix), "nothing.%u.%u", which, n);

		assert_int_equal(zmq_setsockopt(sub, option, prefix, (size_t)length), 0);
	}
}

static void test_monitor(void **state)
{
	char topic[64];
	struct fcm_block_header header;
	static uint8_t payload[PAYLOAD];
	struct publisher_status s;
	static struct rig r;
	void *sub;

	rig_start(&r, 2, 64);
	rig_offer(&r, FCM_PMT); /* no monitor: no copy is made */
	WAIT_STATUS(&r, s, s.blocks == 1);
	assert_int_equal(s.monitor_blocks, 0);
	sub = zmq_socket(r.context, ZMQ_SUB);
	rig_set_number(sub, ZMQ_LINGER, 0);
	rig_set_number(sub, ZMQ_RCVTIMEO, PATIENCE_MS);
	assert_int_equal(zmq_setsockopt(sub, ZMQ_SUBSCRIBE, "pmt.", 4), 0);
	assert_int_equal(zmq_connect(sub, publisher_monitor_endpoint(r.p)), 0);
	usleep(200000); /* the subscription is on its way */
	rig_offer(&r, FCM_HYDROPHONE);
	rig_offer(&r, FCM_PMT);
	assert_int_equal(rig_receive_part(sub, topic, sizeof(topic)), 11);
	assert_string_equal(topic, "pmt.T01.F02");
	assert_int_equal(zmq_recv(sub, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(zmq_recv(sub, payload, sizeof(payload), 0), PAYLOAD);
	assert_int_equal(header.sequence, 5ull << 40 | 2);
	assert_int_equal(tdm_crc32c(payload, PAYLOAD), header.payload_crc);
	WAIT_STATUS(&r, s, s.monitor_blocks == 1);
	zmq_close(sub);
	rig_finish(&r);
}

static void *monitor_of(struct rig *r)
{
	void *sub = zmq_socket(r->context, ZMQ_SUB);

	rig_set_number(sub, ZMQ_LINGER, 0);
	assert_int_equal(zmq_connect(sub, publisher_monitor_endpoint(r->p)), 0);
	return sub;
}

static uint64_t copied(struct rig *r)
{
	struct publisher_status s;

	WAIT_STATUS(r, s, s.blocks == r->offered);
	return s.monitor_blocks;
}

/* More prefixes, of all monitors, than are remembered: all is copied, until they are gone. */
static void test_many_prefixes(void **state)
{
	struct publisher_status s;
	static struct rig r;
	uint64_t before;
	void *sub[2];

	rig_start(&r, 2, 64);
	for (unsigned i = 0; i < 2; i++) {
		sub[i] = monitor_of(&r);
		set_prefixes(sub[i], i, ZMQ_SUBSCRIBE, MONITORS_TOPICS);
	}
	do {
		rig_offer(&r, FCM_PMT);
		usleep(10000);
		publisher_get_status(r.p, &s);
		rig_take_back(&r);
	} while (s.monitor_blocks == 0 && r.offered < 1000);
	assert_true(s.monitor_blocks > 0);
	for (unsigned i = 0; i < 2; i++) {
		set_prefixes(sub[i], i, ZMQ_UNSUBSCRIBE, MONITORS_TOPICS);
	}
	usleep(200000); /* they are on their way */
	before = copied(&r);
	rig_offer(&r, FCM_PMT);
	rig_offer(&r, FCM_PMT);
	assert_int_equal(copied(&r), before);
	WAIT_STATUS(&r, s, true);
	assert_int_equal(s.monitor_door.greedy, 0);
	zmq_close(sub[0]);
	zmq_close(sub[1]);
	rig_finish(&r);
}

/* A monitor that says more than any need to, or a word longer than any topic, is cut off; the others go on. */
static void test_greedy_monitors(void **state)
{
	static const char huge[100000] = "";
	struct publisher_status s;
	static struct rig r;
	char topic[64];
	void *sub[3];

	rig_start(&r, 100, 64);
	for (unsigned i = 0; i < 3; i++) {
		sub[i] = monitor_of(&r);
	}
	rig_set_number(sub[0], ZMQ_RCVTIMEO, PATIENCE_MS);
	assert_int_equal(zmq_setsockopt(sub[0], ZMQ_SUBSCRIBE, "pmt.", 4), 0);
	WAIT_STATUS(&r, s, s.monitor_door.admitted == 3);
	set_prefixes(sub[1], 1, ZMQ_SUBSCRIBE, MONITORS_TOPICS); /* as many as may be wanted */
	set_prefixes(sub[1], 1, ZMQ_UNSUBSCRIBE, MONITORS_TOPICS);
	WAIT_STATUS(&r, s, s.blocks == r.offered);
	usleep(100000);
	publisher_get_status(r.p, &s);
	assert_int_equal(s.monitor_door.greedy, 0);
	for (unsigned i = 0; i < 20; i++) {
		set_prefixes(sub[1], 2 + i, ZMQ_SUBSCRIBE, 100);
	}
	WAIT_STATUS(&r, s, s.monitor_door.greedy == 1);
	assert_int_equal(zmq_setsockopt(sub[2], ZMQ_SUBSCRIBE, huge, sizeof(huge)), 0);
	WAIT_STATUS(&r, s, s.monitor_door.ended >= 2);
	zmq_close(sub[1]);
	zmq_close(sub[2]);
	rig_offer(&r, FCM_PMT);
	assert_int_equal(rig_receive_part(sub[0], topic, sizeof(topic)), 11);
	zmq_close(sub[0]);
	rig_finish(&r);
}

static int closed(struct publisher *p)
{
	struct publisher_status s;

	publisher_get_status(p, &s);
	return s.door.closed;
}

static void test_bad_endpoints(void **state)
{
	struct publisher_config config = {.reserved_endpoint = "tcp://127.0.0.1:*", .groups = 1};
	struct queue q, own; /* a queue has one thread at each end */
	struct publisher *p, *second;
	char where[64];

	assert_int_equal(queue_init(&q, sizeof(struct block *), 4, 1), 0);
	assert_int_equal(queue_init(&own, sizeof(struct block *), 4, 1), 0);
	assert_int_equal(publisher_start(&config, &q, &q, &p), 0);
	snprintf(where, sizeof(where), "%s", publisher_reserved_endpoint(p));
	config.reserved_endpoint = where;
	assert_int_equal(publisher_start(&config, &own, &own, &second), 0);
	assert_int_equal(closed(second),
			 -EADDRINUSE); /* from its start on, and no longer than that lasts */
	publisher_destroy(p);
	for (int64_t until = rig_now_ms() + PATIENCE_MS; closed(second) && rig_now_ms() < until;) {
		usleep(10000);
	}
	assert_int_equal(closed(second), 0);
	p = second;
	config.reserved_endpoint = "tcp://nonsense";
	assert_int_equal(publisher_start(&config, &q, &q, &second), -EINVAL);
	config.reserved_endpoint = "tcp://127.0.0.1:*";
	config.monitor_endpoint = "nonsense";
	assert_int_equal(publisher_start(&config, &q, &q, &second), -EINVAL);
	publisher_destroy(p);
	publisher_destroy(NULL);
	queue_fini(&own);
	queue_fini(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hello_block_ack),
		cmocka_unit_test(test_a_refused_hello_ends_the_membership),
		cmocka_unit_test(test_refused_hellos),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_name_taken),
		cmocka_unit_test(test_name_free_at_once),
		cmocka_unit_test(test_name_free_after_silence),
		cmocka_unit_test(test_routing_id_taken),
		cmocka_unit_test(test_monitor),
		cmocka_unit_test(test_many_prefixes),
		cmocka_unit_test(test_greedy_monitors),
		cmocka_unit_test(test_bad_endpoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
