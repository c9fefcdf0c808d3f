/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The publisher against real consumers over loopback TCP: DEALERs of this process, and of a child that
 * is killed. The test plays capture: it makes blocks, and takes them back settled.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "daemon/hello.h"
#include "daemon/monitors.h"
#include "daemon/publisher.h"
#include "tdm/frame.h"

#define PAYLOAD	     100000u
#define BLOCK_FRAMES 80u
#define PATIENCE_MS  5000
#define BLOCKS_MAX   4096u

struct rig {
	struct block_pool *pool;
	struct queue blocks, settled;
	struct publisher *p;
	unsigned offered, back;
	uint8_t outcome[BLOCKS_MAX][GROUPS_MAX];
	void *context;
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void start_policy(struct rig *r, uint64_t hold_blocks, uint32_t queue_size,
			 enum fcm_policy policy, uint64_t budget_bytes)
{
	const struct publisher_config config = {
		.board = 3,
		.reserved_endpoint = "tcp://127.0.0.1:*",
		.monitor_endpoint = "tcp://127.0.0.1:*",
		.groups = 2,
		.group = {{.name = "trigger",
			   .streams = 1u << FCM_PMT,
			   .hold_frames = hold_blocks * BLOCK_FRAMES,
			   .policy = policy,
			   .budget_bytes = budget_bytes},
			  {.name = "acoustic",
			   .streams = 1u << FCM_HYDROPHONE,
			   .hold_frames = hold_blocks * BLOCK_FRAMES,
			   .policy = policy}},
		.monitor_hwm = 16,
		.dead_ms = 1000,
	};

	memset(r, 0, sizeof(*r));
	r->pool = block_pool_create(64u << 20);
	assert_non_null(r->pool);
	assert_int_equal(queue_init(&r->blocks, sizeof(struct block *), 64, 1), 0);
	assert_int_equal(queue_init(&r->settled, sizeof(struct block *), queue_size, 0), 0);
	assert_int_equal(publisher_start(&config, &r->blocks, &r->settled, &r->p), 0);
	r->context = zmq_ctx_new();
}

static void start(struct rig *r, uint64_t hold_blocks, uint32_t queue_size)
{
	start_policy(r, hold_blocks, queue_size, FCM_DROP_OLDEST, 0);
}

/* What capture does with settled blocks. */
static void take_back(struct rig *r)
{
	struct block **place;

	while ((place = queue_peek(&r->settled))) {
		struct block *b = *place;

		queue_release(&r->settled);
		memcpy(r->outcome[b->order], b->outcome, sizeof(b->outcome));
		r->back++;
		block_put(b);
	}
}

static void finish(struct rig *r)
{
	publisher_stop(r->p);
	take_back(r);
	assert_int_equal(r->back, r->offered);
	zmq_ctx_term(r->context);
	publisher_destroy(r->p);
	assert_int_equal(block_pool_in_use(r->pool), 0);
	block_pool_destroy(r->pool);
	queue_fini(&r->blocks);
	queue_fini(&r->settled);
}

static void offer(struct rig *r, enum fcm_stream stream)
{
	struct block *b = block_get(r->pool, PAYLOAD);
	struct block **place = queue_reserve(&r->blocks);
	unsigned n = r->offered++;

	assert_non_null(b);
	assert_non_null(place);
	memset(b->payload, (int)n, PAYLOAD);
	b->header = (struct fcm_block_header){
		.magic = FCM_BLOCK_MAGIC,
		.version = FCM_BLOCK_VERSION,
		.header_bytes = sizeof(b->header),
		.stream = (uint8_t)stream,
		.link = 1,
		.tower = 1,
		.floor = 2,
		.frames = BLOCK_FRAMES,
		.first_frame = (uint64_t)n * BLOCK_FRAMES,
		.sequence = 5ull << 40 | n,
		.slice_id = n / 20,
		.payload_bytes = PAYLOAD,
		.payload_crc = tdm_crc32c(b->payload, PAYLOAD),
	};
	b->header.header_crc =
		tdm_crc32c(&b->header, offsetof(struct fcm_block_header, header_crc));
	memset(b->already, 0, sizeof(b->already));
	memset(b->outcome, 0xee, sizeof(b->outcome));
	b->order = n;
	b->monotonic_ns = 1;
	*place = b;
	queue_commit(&r->blocks);
	queue_wake(&r->blocks);
}

/* ---- a consumer's end ---- */

static void set_number(void *socket, int option, int value)
{
	assert_int_equal(zmq_setsockopt(socket, option, &value, sizeof(value)), 0);
}

static void *dealer(void *context, const char *endpoint)
{
	void *s = zmq_socket(context, ZMQ_DEALER);

	assert_non_null(s);
	set_number(s, ZMQ_LINGER, 0);
	set_number(s, ZMQ_RCVTIMEO, PATIENCE_MS);
	assert_int_equal(zmq_connect(s, endpoint), 0);
	return s;
}

static void say(void *s, const char *verb, const void *body, size_t length)
{
	assert_true(zmq_send(s, verb, strlen(verb), body ? ZMQ_SNDMORE : 0) >= 0);
	if (body) {
		assert_true(zmq_send(s, body, length, 0) >= 0);
	}
}

static void say_hello(void *s, const char *name, const char *group, unsigned credit)
{
	char text[160];
	int n = snprintf(text, sizeof(text),
			 "{\"protocol\":1,\"name\":\"%s\",\"group\":\"%s\",\"credit\":%u}", name,
			 group, credit);

	say(s, "HELLO", text, (size_t)n);
}

struct got {
	char verb[16];
	char text[600]; /* of WELCOME, ERROR: the JSON; of BLOCK: the topic */
	struct fcm_block_header header;
	bool payload_right;
};

static int receive_part(void *s, void *to, size_t size)
{
	int n = zmq_recv(s, to, size, 0);

	if (n >= 0 && (size_t)n < size) {
		((char *)to)[n] = '\0';
	}
	return n;
}

/* The next message that is not ALIVE; false: none within the socket's patience. */
static bool receive(void *s, struct got *g)
{
	static uint8_t payload[PAYLOAD + 1];

	do {
		memset(g, 0, sizeof(*g));
		if (receive_part(s, g->verb, sizeof(g->verb)) < 0) {
			return false;
		}
	} while (strcmp(g->verb, "ALIVE") == 0);
	assert_true(receive_part(s, g->text, sizeof(g->text)) >= 0);
	if (strcmp(g->verb, "BLOCK") == 0) {
		assert_int_equal(zmq_recv(s, &g->header, sizeof(g->header), 0), 256);
		assert_int_equal(zmq_recv(s, payload, sizeof(payload), 0), PAYLOAD);
		assert_int_equal(tdm_crc32c(&g->header, 252), g->header.header_crc);
		g->payload_right = tdm_crc32c(payload, PAYLOAD) == g->header.payload_crc;
		assert_true(g->payload_right);
	}
	return true;
}

static void expect(void *s, const char *verb, const char *text)
{
	struct got g;

	assert_true(receive(s, &g));
	assert_string_equal(g.verb, verb);
	assert_non_null(strstr(g.text, text));
}

static uint64_t expect_block(void *s, bool resent)
{
	struct got g;

	assert_true(receive(s, &g));
	assert_string_equal(g.verb, "BLOCK");
	assert_int_equal((g.header.flags & FCM_BLOCK_RESENT) != 0, resent);
	return g.header.sequence;
}

static void ack(void *s, enum fcm_stream stream, uint64_t sequence)
{
	struct fcm_ack a = {
		.sequence = sequence, .stream = (uint8_t)stream, .link = 1, .tower = 1, .floor = 2};

	say(s, "ACK", &a, sizeof(a));
}

static void wait_back(struct rig *r, unsigned count)
{
	int64_t end = now_ms() + PATIENCE_MS;

	while (r->back < count && now_ms() < end) {
		take_back(r);
		usleep(1000);
	}
	assert_int_equal(r->back, count);
}

/* Wait until the status agrees; it is renewed ten times a second. */
#define WAIT_STATUS(r, s, condition)                                                               \
	do {                                                                                       \
		int64_t end_ = now_ms() + PATIENCE_MS;                                             \
		do {                                                                               \
			usleep(10000);                                                             \
			publisher_get_status((r)->p, &(s));                                        \
		} while (!(condition) && now_ms() < end_);                                         \
		assert_true(condition);                                                            \
	} while (0)

/* ---- tests ---- */

static void test_hello_block_ack(void **state)
{
	struct publisher_status s;
	static struct rig r;
	struct got g;
	void *d;

	(void)state;
	start(&r, 100, 64);
	d = dealer(r.context, publisher_reserved_endpoint(r.p));
	offer(&r, FCM_PMT);	   /* before anybody is there: waits */
	offer(&r, FCM_INSTRUMENT); /* nobody's: comes back at once */
	wait_back(&r, 1);
	assert_int_equal(r.outcome[1][0], OUTCOME_NOT_OFFERED);
	say_hello(d, "trigger-1", "trigger", 4);
	expect(d, "WELCOME", "\"streams\":[\"pmt\"]");
	assert_true(receive(d, &g));
	assert_string_equal(g.text, "pmt.T01.F02");
	assert_int_equal(g.header.sequence, 5ull << 40);
	assert_int_equal(g.header.flags, 0);
	ack(d, FCM_PMT, g.header.sequence);
	wait_back(&r, 2);
	assert_int_equal(r.outcome[0][0], OUTCOME_ACKED);
	assert_int_equal(r.outcome[0][1], OUTCOME_NOT_OFFERED);
	ack(d, FCM_PMT, g.header.sequence);
	WAIT_STATUS(&r, s, s.unknown_acks == 1);
	assert_int_equal(s.members, 1);
	assert_int_equal(s.member[0].delivered, 1);
	assert_int_equal(s.member[0].delivered_bytes, PAYLOAD);
	assert_int_equal(s.group[0].acked, 1);
	assert_int_equal(s.blocks, 2);
	say(d, "BYE", NULL, 0);
	WAIT_STATUS(&r, s, s.member[0].state == MEMBER_LEFT);
	zmq_close(d);
	finish(&r);
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

	(void)state;
	start(&r, 100, 64);
	d = dealer(r.context, publisher_reserved_endpoint(r.p));
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		say(d, "HELLO", cases[i].hello, strlen(cases[i].hello));
		expect(d, "ERROR", cases[i].error);
	}
	WAIT_STATUS(&r, s, s.refused_hellos == sizeof(cases) / sizeof(cases[0]));
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "m%u", i);
		other[i] = dealer(r.context, publisher_reserved_endpoint(r.p));
		say_hello(other[i], name, "trigger", 1);
		expect(other[i], "WELCOME", "trigger");
		say(d, "ALIVE", NULL, 0); /* from nobody: harmless */
		expect(d, "ERROR", "unknown-member");
	}
	say_hello(d, "one-more", "trigger", 1);
	expect(d, "ERROR", "too-many-members");
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		zmq_close(other[i]);
	}
	zmq_close(d);
	finish(&r);
}

static void test_malformed(void **state)
{
	static const char big[300000];
	struct publisher_status s;
	static struct rig r;
	void *d;

	(void)state;
	start(&r, 100, 64);
	d = dealer(r.context, publisher_reserved_endpoint(r.p));
	say(d, "ALIVE", NULL, 0);
	expect(d, "ERROR", "unknown-member");
	ack(d, FCM_PMT, 1);
	expect(d, "ERROR", "unknown-member");
	say_hello(d, "a", "trigger", 1);
	expect(d, "WELCOME", "trigger");
	say(d, "ALIVE", NULL, 0);
	say(d, "", NULL, 0);
	say(d, "hello", "x", 1);
	say(d, "HELLO", NULL, 0);
	say(d, "ALIVE", "x", 1);
	say(d, "ACK", NULL, 0);
	say(d, "ACK", "0123456789", 10);
	say(d, "ACK", "", 0);
	say(d, "ACK", big, 5000 * 16); /* more than 4096 of them */
	for (unsigned i = 0; i < 9; i++) {
		assert_true(zmq_send(d, "ACK", 3, ZMQ_SNDMORE) >= 0); /* ten parts */
	}
	assert_true(zmq_send(d, "ACK", 3, 0) >= 0);
	WAIT_STATUS(&r, s, s.bad_messages == 9);
	assert_int_equal(s.member[0].state, MEMBER_ALIVE);
	say(d, "ACK", big, sizeof(big)); /* ZeroMQ itself cuts the connection */
	WAIT_STATUS(&r, s, s.member[0].state == MEMBER_LEFT);
	/* It comes back by itself; the daemon does not know it any more. */
	say(d, "ALIVE", NULL, 0);
	expect(d, "ERROR", "unknown-member");
	zmq_close(d);
	finish(&r);
}

static void test_name_taken_over(void **state)
{
	static struct rig r;
	void *d, *e;

	(void)state;
	start(&r, 100, 64);
	d = dealer(r.context, publisher_reserved_endpoint(r.p));
	e = dealer(r.context, publisher_reserved_endpoint(r.p));
	say_hello(d, "a", "trigger", 4);
	expect(d, "WELCOME", "trigger");
	offer(&r, FCM_PMT);
	expect_block(d, false);
	say_hello(e, "a", "trigger", 4);
	expect(e, "WELCOME", "trigger");
	ack(e, FCM_PMT, expect_block(e, true));
	expect(d, "ERROR", "replaced");
	wait_back(&r, 1);
	assert_int_equal(r.outcome[0][0], OUTCOME_ACKED);
	zmq_close(d);
	zmq_close(e);
	finish(&r);
}

/* Who is refused has replaced nobody: the member of that name goes on. */
static void test_refused_namesake(void **state)
{
	struct publisher_status s;
	static struct rig r;
	void *d, *e;

	(void)state;
	start(&r, 100, 64);
	d = dealer(r.context, publisher_reserved_endpoint(r.p));
	e = dealer(r.context, publisher_reserved_endpoint(r.p));
	say_hello(d, "a", "trigger", 4);
	expect(d, "WELCOME", "trigger");
	say_hello(e, "a", "trigggger", 4);
	expect(e, "ERROR", "no-such-group");
	WAIT_STATUS(&r, s, s.refused_hellos == 1);
	offer(&r, FCM_PMT);
	ack(d, FCM_PMT, expect_block(d, false)); /* nothing was said to it before */
	wait_back(&r, 1);
	assert_int_equal(r.outcome[0][0], OUTCOME_ACKED);
	zmq_close(d);
	zmq_close(e);
	finish(&r);
}

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
	d = dealer(zmq_ctx_new(), where);
	say_hello(d, name, "trigger", acks + hold);
	while (receive(d, &g)) {
		if (strcmp(g.verb, "BLOCK") != 0) {
			continue;
		}
		if (acks > 0) {
			ack(d, FCM_PMT, g.header.sequence);
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

	(void)state;
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(where), 0);
	child = fork_consumer("victim", 2, 4, where[0], ready[1]);
	start(&r, 100, 64);
	endpoint = publisher_reserved_endpoint(r.p);
	assert_int_equal(write(where[1], endpoint, strlen(endpoint)), strlen(endpoint));
	WAIT_STATUS(&r, s, s.group[0].members == 1);
	for (unsigned i = 0; i < 6; i++) {
		offer(&r, FCM_PMT);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	wait_back(&r, 2);
	/* The slice is the victim's: the second member gets nothing of it while the victim lives. */
	d = dealer(r.context, endpoint);
	say_hello(d, "heir", "trigger", 10);
	expect(d, "WELCOME", "trigger");
	WAIT_STATUS(&r, s, s.group[0].members == 2);
	assert_int_equal(s.group[0].in_flight, 4);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	for (unsigned i = 2; i < 6; i++) {
		uint64_t sequence = expect_block(d, true);

		assert_int_equal(sequence, 5ull << 40 | i); /* in order */
		seen[i] = true;
		ack(d, FCM_PMT, sequence);
	}
	wait_back(&r, 6);
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
	finish(&r);
}

static void test_silent_consumer(void **state)
{
	struct publisher_status s;
	static struct rig r;
	void *d;

	(void)state;
	start(&r, 10, 64);
	d = dealer(r.context, publisher_reserved_endpoint(r.p));
	say_hello(d, "mute", "trigger", 3);
	expect(d, "WELCOME", "trigger");
	for (unsigned i = 0; i < 13; i++) {
		offer(&r, FCM_PMT);
	}
	/* Out of credit after 3, the group's share of the ring is 10 blocks. */
	wait_back(&r, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(r.outcome[i][0], OUTCOME_DROP_SLOW);
	}
	WAIT_STATUS(&r, s,
		    s.members == 1 && s.member[0].state == MEMBER_SILENT); /* dead_ms of silence */
	offer(&r, FCM_PMT);
	wait_back(&r, 4);
	assert_int_equal(r.outcome[3][0], OUTCOME_DROP_NO_MEMBER);
	WAIT_STATUS(&r, s, s.group[0].dropped[OUTCOME_DROP_NO_MEMBER] == 1);
	assert_int_equal(s.group[0].dropped_frames[OUTCOME_DROP_SLOW], 3 * BLOCK_FRAMES);
	assert_int_equal(s.group[0].last_drop_first_frame, 3 * BLOCK_FRAMES);
	zmq_close(d);
	finish(&r);
}

static void test_too_slow(void **state)
{
	struct publisher_status s;
	static struct rig r;
	void *d;

	(void)state;
	start_policy(&r, 4, 64, FCM_DISCONNECT, 0);
	d = dealer(r.context, publisher_reserved_endpoint(r.p));
	say_hello(d, "slow", "trigger", 2);
	expect(d, "WELCOME", "\"policy\":\"disconnect\"");
	for (unsigned i = 0; i < 5; i++) {
		offer(&r, FCM_PMT);
	}
	wait_back(&r, 2);
	assert_int_equal(expect_block(d, false), 5ull << 40);
	assert_int_equal(expect_block(d, false), 5ull << 40 | 1);
	expect(d, "ERROR", "too-slow");
	assert_int_equal(r.outcome[0][0], OUTCOME_DROP_SLOW);
	assert_int_equal(r.outcome[1][0], OUTCOME_DROP_SLOW);
	ack(d, FCM_PMT, 5ull << 40); /* nothing that it acknowledges counts any more */
	expect(d, "ERROR", "unknown-member");
	WAIT_STATUS(&r, s, s.unknown_acks == 1);
	assert_int_equal(s.member[0].state, MEMBER_TOO_SLOW);
	assert_int_equal(s.group[0].disconnected, 1);
	say_hello(d, "slow", "trigger", 2); /* begins anew with what has waited */
	expect(d, "WELCOME", "trigger");
	assert_int_equal(expect_block(d, false), 5ull << 40 | 2);
	zmq_close(d);
	finish(&r);
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

	(void)state;
	start_policy(&r, 20, 64, FCM_DROP_OLDEST, budget);
	d = zmq_socket(r.context, ZMQ_DEALER);
	set_number(d, ZMQ_LINGER, 0);
	set_number(d, ZMQ_RCVHWM, 1);
	set_number(d, ZMQ_RCVBUF, 16384);
	assert_int_equal(zmq_connect(d, publisher_reserved_endpoint(r.p)), 0);
	for (unsigned i = 0; i < 300; i++) { /* 30 MB */
		if (i % 20 == 0) {
			say_hello(d, "stuffed", "trigger", 1000);
		}
		offer(&r, FCM_PMT);
		usleep(2000);
		take_back(&r);
		in_use = block_pool_in_use(r.pool);
		most = in_use > most ? in_use : most;
	}
	assert_in_range(most, budget / 2, 2 * budget);
	zmq_close(d); /* what lay in its pipe is free */
	WAIT_STATUS(&r, s, s.group[0].members == 0);
	assert_in_range(block_pool_in_use(r.pool), 0, budget);
	d = dealer(r.context, publisher_reserved_endpoint(r.p));
	say_hello(d, "heir", "trigger", 1000);
	expect(d, "WELCOME", "trigger");
	assert_true(receive(d, &g));
	assert_string_equal(g.verb, "BLOCK");
	zmq_close(d);
	finish(&r);
}

/* To topics that there are not. */
static void set_prefixes(void *sub, int option, unsigned count)
{
	for (unsigned n = 0; n < count; n++) {
		char prefix[16];
		int length = snprintf(prefix, sizeof(prefix), "nothing.%u", n);

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

	(void)state;
	start(&r, 2, 64);
	offer(&r, FCM_PMT); /* nobody listens: no copy is made */
	sub = zmq_socket(r.context, ZMQ_SUB);
	set_number(sub, ZMQ_LINGER, 0);
	set_number(sub, ZMQ_RCVTIMEO, PATIENCE_MS);
	assert_int_equal(zmq_setsockopt(sub, ZMQ_SUBSCRIBE, "pmt.", 4), 0);
	assert_int_equal(zmq_connect(sub, publisher_monitor_endpoint(r.p)), 0);
	WAIT_STATUS(&r, s, s.blocks == 1);
	assert_int_equal(s.monitor_blocks, 0);
	usleep(200000); /* the subscription is on its way */
	offer(&r, FCM_HYDROPHONE);
	offer(&r, FCM_PMT);
	assert_int_equal(receive_part(sub, topic, sizeof(topic)), 11);
	assert_string_equal(topic, "pmt.T01.F02");
	assert_int_equal(zmq_recv(sub, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(zmq_recv(sub, payload, sizeof(payload), 0), PAYLOAD);
	assert_int_equal(header.sequence, 5ull << 40 | 2);
	assert_int_equal(tdm_crc32c(payload, PAYLOAD), header.payload_crc);
	WAIT_STATUS(&r, s, s.monitor_blocks == 1);
	zmq_close(sub);
	finish(&r);
}

/* More prefixes than are remembered: all is copied, until they are gone. */
static void test_many_prefixes(void **state)
{
	struct publisher_status s;
	static struct rig r;
	uint64_t copied;
	void *sub;

	(void)state;
	start(&r, 2, 64);
	sub = zmq_socket(r.context, ZMQ_SUB);
	set_number(sub, ZMQ_LINGER, 0);
	assert_int_equal(zmq_connect(sub, publisher_monitor_endpoint(r.p)), 0);
	set_prefixes(sub, ZMQ_SUBSCRIBE, SUBSCRIPTIONS + 1);
	do {
		offer(&r, FCM_PMT);
		usleep(10000);
		publisher_get_status(r.p, &s);
		take_back(&r);
	} while (s.monitor_blocks == 0 && r.offered < 1000);
	assert_true(s.monitor_blocks > 0);
	set_prefixes(sub, ZMQ_UNSUBSCRIBE, SUBSCRIPTIONS + 1);
	usleep(200000); /* they are on their way */
	WAIT_STATUS(&r, s, s.blocks == r.offered);
	copied = s.monitor_blocks;
	offer(&r, FCM_PMT);
	offer(&r, FCM_PMT);
	WAIT_STATUS(&r, s, s.blocks == r.offered);
	assert_int_equal(s.monitor_blocks, copied);
	zmq_close(sub);
	finish(&r);
}

/* The settled queue holds 4; nothing is lost while nobody drains it. */
static void test_full_settled_queue(void **state)
{
	static struct rig r;

	(void)state;
	start(&r, 100, 4);
	for (unsigned i = 0; i < 40; i++) {
		offer(&r, FCM_INSTRUMENT);
	}
	usleep(100000);
	assert_int_equal(r.back, 0);
	wait_back(&r, 40);
	finish(&r);
}

static void test_pool_empty(void **state)
{
	struct block **place;
	static struct rig r;

	(void)state;
	start(&r, 100, 64);
	offer(&r, FCM_PMT);
	offer(&r, FCM_PMT);
	place = queue_reserve(&r.blocks);
	*place = NULL;
	queue_commit(&r.blocks);
	queue_wake(&r.blocks);
	wait_back(&r, 2); /* nobody has them, and they came at the same moment */
	assert_int_equal(r.outcome[0][0], OUTCOME_DROP_POOL);
	assert_int_equal(r.outcome[1][0], OUTCOME_DROP_POOL);
	finish(&r);
}

static void test_stop_without_answer(void **state)
{
	static struct rig r;
	void *d;

	(void)state;
	start(&r, 100, 4);
	d = dealer(r.context, publisher_reserved_endpoint(r.p));
	say_hello(d, "a", "trigger", 2);
	expect(d, "WELCOME", "trigger");
	for (unsigned i = 0; i < 10; i++) {
		offer(&r, FCM_PMT);
	}
	expect_block(d, false);
	publisher_stop(r.p);
	take_back(&r);
	assert_int_equal(r.back, 4); /* all that the queue held: nobody drained it */
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(r.outcome[i][0], OUTCOME_DROP_SHUTDOWN);
	}
	zmq_close(d);
	r.offered = 4;
	finish(&r); /* the others go back to the pool */
}

static void test_bad_endpoints(void **state)
{
	struct publisher_config config = {.reserved_endpoint = "tcp://127.0.0.1:*", .groups = 1};
	struct queue q;
	struct publisher *p, *second;

	(void)state;
	assert_int_equal(queue_init(&q, sizeof(struct block *), 4, 1), 0);
	assert_int_equal(publisher_start(&config, &q, &q, &p), 0);
	config.reserved_endpoint = publisher_reserved_endpoint(p);
	assert_int_equal(publisher_start(&config, &q, &q, &second), -EADDRINUSE);
	config.reserved_endpoint = "tcp://nonsense";
	assert_int_equal(publisher_start(&config, &q, &q, &second), -EINVAL);
	config.reserved_endpoint = "tcp://127.0.0.1:*";
	config.monitor_endpoint = "nonsense";
	assert_int_equal(publisher_start(&config, &q, &q, &second), -EINVAL);
	publisher_destroy(p);
	publisher_destroy(NULL);
	queue_fini(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hello_block_ack),	 cmocka_unit_test(test_refused_hellos),
		cmocka_unit_test(test_malformed),	 cmocka_unit_test(test_name_taken_over),
		cmocka_unit_test(test_refused_namesake), cmocka_unit_test(test_killed_consumer),
		cmocka_unit_test(test_silent_consumer),	 cmocka_unit_test(test_too_slow),
		cmocka_unit_test(test_stuffed_pipe),	 cmocka_unit_test(test_monitor),
		cmocka_unit_test(test_many_prefixes),	 cmocka_unit_test(test_full_settled_queue),
		cmocka_unit_test(test_pool_empty),	 cmocka_unit_test(test_stop_without_answer),
		cmocka_unit_test(test_bad_endpoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
