/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The doors of the data with keys: who is let in, as whom, and what a new list changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "tests/unit/rig/checked_locks.h"
#include "tests/unit/daemon/publish/publisher_rig.h"

struct pair {
	char public[ACCESS_KEY_TEXT], secret[ACCESS_KEY_TEXT];
};

static struct pair server, one, other, wall;
static struct access_list list;
static struct rig r;

static void allow(const char *name, enum access_door door, const char *group, const struct pair *p)
{
	struct access_key *k = &list.key[list.count++];

	*k = (struct access_key){.right = {.door = door}};
	snprintf(k->name, sizeof(k->name), "%s", name);
	snprintf(k->right.group, sizeof(k->right.group), "%s", group);
	memcpy(k->key, p->public, sizeof(k->key));
}

static int begin(void **state)
{
	zmq_curve_keypair(server.public, server.secret);
	zmq_curve_keypair(one.public, one.secret);
	zmq_curve_keypair(other.public, other.secret);
	zmq_curve_keypair(wall.public, wall.secret);
	list.count = 0;
	allow("t-1", ACCESS_CONSUMER, "trigger", &one);
	allow("a-1", ACCESS_CONSUMER, "acoustic", &other);
	allow("wall", ACCESS_MONITOR, "", &wall);
	rig_start_keys(&r, server.secret, &list);
	return 0;
}

static int end(void **state)
{
	rig_finish(&r);
	return 0;
}

/* A socket with these keys; its routing id, if it is to have one that is known. */
static void *client(int type, const struct pair *p, const char *id)
{
	void *s = zmq_socket(r.context, type);

	rig_set_number(s, ZMQ_LINGER, 0);
	rig_set_number(s, ZMQ_RCVTIMEO, PATIENCE_MS);
	if (id) {
		assert_int_equal(zmq_setsockopt(s, ZMQ_ROUTING_ID, id, strlen(id)), 0);
	}
	if (p) {
		zmq_setsockopt(s, ZMQ_CURVE_SERVERKEY, server.public, ACCESS_KEY_TEXT);
		zmq_setsockopt(s, ZMQ_CURVE_PUBLICKEY, p->public, ACCESS_KEY_TEXT);
		zmq_setsockopt(s, ZMQ_CURVE_SECRETKEY, p->secret, ACCESS_KEY_TEXT);
	}
	if (type == ZMQ_SUB) {
		zmq_setsockopt(s, ZMQ_SUBSCRIBE, "", 0);
	}
	assert_int_equal(zmq_connect(s, type == ZMQ_SUB ? publisher_monitor_endpoint(r.p)
							: publisher_reserved_endpoint(r.p)),
			 0);
	return s;
}

static void *member(const struct pair *p, const char *name, const char *group, const char *id)
{
	void *s = client(ZMQ_DEALER, p, id);

	rig_say_hello(s, name, group, 64);
	return s;
}

/* A key is its name's in its group. */
static void test_names(void **state)
{
	static const struct {
		const char *name, *group;
	} wrong[] = {{"t-2", "trigger"}, {"t-1", "acoustic"}, {"a-1", "acoustic"}};
	struct publisher_status status;
	void *s;

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		s = member(&one, wrong[i].name, wrong[i].group, NULL);
		rig_expect(s, "ERROR", "not-your-name");
		zmq_close(s);
	}
	s = member(&one, "t-1", "trigger", NULL);
	rig_expect(s, "WELCOME", "trigger");
	rig_offer(&r, FCM_PMT);
	rig_ack(s, FCM_PMT, rig_expect_block(s, false));
	rig_wait_back(&r, 1);
	assert_int_equal(r.outcome[0][0], OUTCOME_ACKED);
	WAIT_STATUS(&r, status, status.hellos == 1 && status.refused_hellos == 3);
	zmq_close(s);
}

/* Whose key is none of this door's is refused before he has said a word, and told with what his key begins. */
static void test_doors(void **state)
{
	struct publisher_status status;
	void *s[4] = {member(&wall, "t-1", "trigger", NULL), client(ZMQ_SUB, &one, NULL),
		      member(NULL, "t-1", "trigger", NULL), client(ZMQ_SUB, &wall, NULL)};
	struct got g;

	WAIT_STATUS(&r, status,
		    status.door.refused >= 2 && status.monitor_door.refused >= 1 &&
			    status.monitor_door.admitted == 1);
	assert_int_equal(status.door.admitted, 0);
	assert_memory_equal(status.monitor_door.last.key, one.public, 8);
	assert_string_equal(status.monitor_door.last.address, "127.0.0.1");
	assert_non_null(strstr(status.monitor_door.last.why, "no monitor's"));
	rig_set_number(s[0], ZMQ_RCVTIMEO, 100);
	assert_false(rig_receive(s[0], &g));
	/* A subscription takes a moment. */
	do {
		rig_offer(&r, FCM_HYDROPHONE);
		usleep(20000);
		rig_take_back(&r);
		publisher_get_status(r.p, &status);
	} while (!status.monitor_blocks && r.offered < 200);
	assert_int_equal(zmq_recv(s[3], g.text, 17, 0), 18); /* the topic */
	for (unsigned i = 0; i < 4; i++) {
		zmq_close(s[i]);
	}
}

/* Who has the routing id of a member that is gone, and a good key of his own, acknowledges nothing for it. */
static void test_routing_id(void **state)
{
	struct publisher_status status;
	struct got g;
	uint64_t sequence;
	void *s = member(&one, "t-1", "trigger", "known"), *thief, *back;

	rig_expect(s, "WELCOME", "trigger");
	rig_offer(&r, FCM_PMT);
	sequence = rig_expect_block(s, false);
	zmq_close(s);
	thief = client(ZMQ_DEALER, &other, "known");
	/* The router ignores a connection whose routing id it still holds for the old one. */
	for (int64_t end = rig_now_ms() + PATIENCE_MS;;
	     thief = client(ZMQ_DEALER, &other, "known")) {
		rig_set_number(thief, ZMQ_RCVTIMEO, 500);
		rig_ack(thief, FCM_PMT, sequence);
		if (rig_receive(thief, &g)) {
			break;
		}
		zmq_close(thief);
		assert_true(rig_now_ms() < end);
	}
	assert_string_equal(g.verb, "ERROR");
	assert_non_null(strstr(g.text, "unknown-member"));
	back = member(&one, "t-1", "trigger", NULL);
	rig_expect(back, "WELCOME", "trigger");
	assert_int_equal(rig_expect_block(back, true), sequence);
	publisher_get_status(r.p, &status);
	assert_int_equal(status.group[0].acked, 0);
	rig_ack(back, FCM_PMT, sequence);
	rig_wait_back(&r, 1);
	zmq_close(thief);
	zmq_close(back);
}

/* The end of its connection is a member's end: nobody waits for consumer_dead_ms. */
static void test_left(void **state)
{
	struct publisher_status status;
	void *s = member(&one, "t-1", "trigger", NULL);

	rig_expect(s, "WELCOME", "trigger");
	zmq_close(s);
	WAIT_STATUS(&r, status, status.members == 1 && status.member[0].state == MEMBER_LEFT);
}

/* A new list: a second key of the same consumer comes in; whose key is gone is gone, and told why. */
static void test_new_list(void **state)
{
	struct publisher_status status;
	struct pair next;
	void *old = member(&one, "t-1", "trigger", NULL),
	     *a = member(&other, "a-1", "acoustic", NULL), *m = client(ZMQ_SUB, &wall, NULL), *s;

	rig_expect(old, "WELCOME", "trigger");
	rig_expect(a, "WELCOME", "acoustic");
	WAIT_STATUS(&r, status, status.monitor_door.admitted == 1);
	zmq_curve_keypair(next.public, next.secret);
	allow("t-1", ACCESS_CONSUMER, "trigger", &next);
	publisher_allow(r.p, &list);
	s = member(&next, "t-1", "trigger", NULL);
	rig_expect(s, "ERROR", "name-taken"); /* two keys, one member */
	memcpy(list.key[0].key, next.public, sizeof(next.public));
	list.count = 3;
	list.key[3] =
		list.key[2]; /* what lies behind the end is no key, and no monitor's that is lost */
	memcpy(list.key[3].key, server.public, sizeof(server.public));
	publisher_allow(r.p, &list);
	rig_expect(old, "ERROR", "key-refused");
	publisher_allow(r.p, &list);
	rig_say_hello(s, "t-1", "trigger", 64);
	rig_expect(s, "WELCOME", "trigger");
	rig_say_hello(old, "t-1", "trigger", 64); /* cut off: what it is told may not arrive */
	WAIT_STATUS(&r, status, status.bad_messages == 1);
	assert_int_equal(status.refused_hellos,
			 1); /* the second key's: this one was not looked at */
	assert_int_equal(status.hellos, 3);
	assert_int_equal(status.monitor_door.ended, 0);
	list.count = 2; /* no monitor any more */
	publisher_allow(r.p, &list);
	WAIT_STATUS(&r, status, status.monitor_door.ended >= 1 && status.monitor_door.refused >= 1);
	assert_int_equal(status.monitor_door.admitted, 1);
	WAIT_STATUS(&r, status, status.door.ended >= 1);
	rig_offer(&r, FCM_HYDROPHONE);
	rig_ack(a, FCM_HYDROPHONE, rig_expect_block(a, false)); /* he was not asked again */
	rig_wait_back(&r, 1);
	zmq_close(old);
	zmq_close(s);
	zmq_close(a);
	zmq_close(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, begin, end),
		cmocka_unit_test_setup_teardown(test_doors, begin, end),
		cmocka_unit_test_setup_teardown(test_routing_id, begin, end),
		cmocka_unit_test_setup_teardown(test_left, begin, end),
		cmocka_unit_test_setup_teardown(test_new_list, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
