/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libfcmdata against a ROUTER (or PUB) of the test's own, which plays the daemon, well or badly. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <zmq.h>

#include "daemon/consumer/fcmdata.h"
#include "tdm/frame.h"

#define PATIENCE_MS 10000
#define BLOCK	    80u
#define RESENT	    FCM_BLOCK_RESENT

struct rig {
	void *context, *socket;
	char endpoint[64];
	uint8_t id[64];
	int id_bytes;
	struct fcmdata *h;
};
static struct rig rig;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- ZeroMQ, where a signal comes between two of its calls ---- */

static struct {
	bool on, now; /* every second call of the consumer's ends so */
	unsigned times;
} interrupts;

static bool is_interrupted(const void *socket)
{
	interrupts.now = interrupts.on && socket != rig.socket && !interrupts.now;
	interrupts.times += interrupts.now;
	errno = interrupts.now ? EINTR : errno;
	return interrupts.now;
}

int zmq_msg_recv(zmq_msg_t *part, void *socket, int flags)
{
	int (*real)(zmq_msg_t *, void *, int);

	*(void **)&real = dlsym(RTLD_NEXT, "zmq_msg_recv");
	return is_interrupted(socket) ? -1 : real(part, socket, flags);
}

int zmq_send(void *socket, const void *bytes, size_t length, int flags)
{
	int (*real)(void *, const void *, size_t, int);

	*(void **)&real = dlsym(RTLD_NEXT, "zmq_send");
	return is_interrupted(socket) ? -1 : real(socket, bytes, length, flags);
}

/* ---- the daemon's part ---- */

static void daemon_starts(int type)
{
	size_t size = sizeof(rig.endpoint);
	const int linger = 0;

	rig.socket = zmq_socket(rig.context, type);
	assert_non_null(rig.socket);
	zmq_setsockopt(rig.socket, ZMQ_LINGER, &linger, sizeof(linger));
	assert_int_equal(zmq_bind(rig.socket, rig.endpoint), 0);
	assert_int_equal(zmq_getsockopt(rig.socket, ZMQ_LAST_ENDPOINT, rig.endpoint, &size), 0);
}

static void daemon_dies(void)
{
	zmq_close(rig.socket);
}

static int set_up_as(int type)
{
	memset(&rig, 0, sizeof(rig));
	interrupts.on = false;
	strcpy(rig.endpoint, "tcp://127.0.0.1:*");
	rig.context = zmq_ctx_new();
	daemon_starts(type);
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	return set_up_as(ZMQ_ROUTER);
}

static int set_up_monitor(void **state)
{
	(void)state;
	return set_up_as(ZMQ_PUB);
}

static int tear_down(void **state)
{
	(void)state;
	fcmdata_close(rig.h);
	zmq_close(rig.socket);
	zmq_ctx_term(rig.context);
	return 0;
}

static void say(const void *const part[], const size_t bytes[], unsigned parts)
{
	if (rig.id_bytes > 0) {
		assert_int_equal(zmq_send(rig.socket, rig.id, (size_t)rig.id_bytes, ZMQ_SNDMORE),
				 rig.id_bytes);
	}
	for (unsigned i = 0; i < parts; i++) {
		assert_true(zmq_send(rig.socket, part[i], bytes[i],
				     i + 1 < parts ? ZMQ_SNDMORE : 0) >= 0);
	}
}

static void say_words(const char *verb, const char *body)
{
	const void *part[] = {verb, body};
	const size_t bytes[] = {strlen(verb), body ? strlen(body) : 0};

	say(part, bytes, body ? 2 : 1);
}

static void welcome(void)
{
	say_words("WELCOME", "{\"protocol\":1,\"board\":0,\"group\":\"trigger\","
			     "\"streams\":[\"pmt\"],\"policy\":\"drop-oldest\"}");
}

/* Block `n`, 4 bytes of `n` behind its status. `damage`: what is wrong with it. */
static void say_block(uint64_t n, uint32_t flags, enum fcmdata_damage damage)
{
	uint8_t payload[BLOCK + 4] = {0};
	struct fcm_block_header h = {
		.magic = FCM_BLOCK_MAGIC,
		.version = FCM_BLOCK_VERSION,
		.header_bytes = sizeof(h),
		.tower = 1,
		.floor = 2,
		.flags = flags,
		.dma_epoch = 5,
		.frames = BLOCK,
		.first_frame = n * BLOCK,
		.sequence = 5ull << 40 | n,
		.payload_bytes = sizeof(payload),
	};
	const void *part[] = {"BLOCK", "pmt.T01.F02", &h, payload};
	const size_t bytes[] = {5, 11, sizeof(h), sizeof(payload)};
	unsigned without_verb = rig.id_bytes == 0;

	memcpy(payload + BLOCK, &n, 4);
	h.payload_crc = tdm_crc32c(payload, sizeof(payload)) ^ (damage == FCMDATA_PAYLOAD_CRC);
	h.stream = damage == FCMDATA_MALFORMED ? 9 : 0;
	h.header_crc = tdm_crc32c(&h, 252) ^ (damage == FCMDATA_HEADER_CRC);
	say(part + without_verb, bytes + without_verb, 4 - without_verb);
}

/* What the consumer has said, ALIVEs left out unless wanted; its words go to `body`. Meanwhile the
 * consumer lives, and gets no block. False: nothing for `patience_ms`. */
static bool hear(const char *verb, char *body, int *ret_bytes, int patience_ms)
{
	int64_t end = now_ms() + patience_ms;
	char word[16];

	while (now_ms() < end) {
		const struct fcmdata_block *b;
		int n, more;
		size_t size = sizeof(more);

		if (rig.h) {
			assert_true(fcmdata_receive(rig.h, 5, &b) <= 0);
		}
		n = zmq_recv(rig.socket, rig.id, sizeof(rig.id), ZMQ_DONTWAIT);
		if (n < 0) {
			continue;
		}
		rig.id_bytes = n;
		n = zmq_recv(rig.socket, word, sizeof(word) - 1, 0);
		assert_in_range(n, 1, sizeof(word) - 1);
		word[n] = '\0';
		zmq_getsockopt(rig.socket, ZMQ_RCVMORE, &more, &size);
		*ret_bytes = more ? zmq_recv(rig.socket, body, 1023, 0) : 0;
		assert_in_range(*ret_bytes, 0, 1023);
		body[*ret_bytes] = '\0';
		if (strcmp(word, "ALIVE") == 0 && strcmp(verb, "ALIVE") != 0) {
			continue;
		}
		assert_string_equal(word, verb);
		return true;
	}
	return false;
}

static void expect(const char *verb, char *body, int *ret_bytes)
{
	assert_true(hear(verb, body, ret_bytes, PATIENCE_MS));
}

static void expect_hello(void)
{
	char body[1024];
	int bytes;

	expect("HELLO", body, &bytes);
	assert_string_equal(
		body, "{\"protocol\":1,\"name\":\"t-1\",\"group\":\"trigger\",\"credit\":16}");
}

/* Acknowledgements of blocks `n`.., in as many messages as a slow machine makes of them. */
static void expect_acks(uint64_t n, unsigned count)
{
	char body[1024];
	struct fcm_ack ack;
	int bytes;

	while (count > 0) {
		expect("ACK", body, &bytes);
		assert_int_equal((size_t)bytes % sizeof(ack), 0);
		assert_in_range((size_t)bytes / sizeof(ack), 1, count);
		for (int at = 0; at < bytes; at += (int)sizeof(ack), n++, count--) {
			memcpy(&ack, body + at, sizeof(ack));
			assert_true(ack.sequence == (5ull << 40 | n));
			assert_int_equal(ack.floor, 2);
		}
	}
}

/* ---- the consumer's part ---- */

static void open_member(void)
{
	const struct fcmdata_config config = {
		.endpoint = rig.endpoint, .name = "t-1", .group = "trigger", .credit = 16};

	assert_int_equal(fcmdata_open(&config, &rig.h), 0);
	expect_hello();
	welcome();
}

static struct fcmdata_stats stats(void)
{
	struct fcmdata_stats s;

	fcmdata_get_stats(rig.h, &s);
	return s;
}

/* No block comes, until the connection's end is noticed. */
static void wait_disconnected(void)
{
	const struct fcmdata_block *b;
	int64_t end = now_ms() + PATIENCE_MS;

	while (stats().state != FCMDATA_CONNECTING && now_ms() < end) {
		assert_int_equal(fcmdata_receive(rig.h, 20, &b), 0);
	}
	assert_int_equal(stats().state, FCMDATA_CONNECTING);
}

static const struct fcmdata_block *receive(uint64_t n)
{
	const struct fcmdata_block *b = NULL;
	uint32_t said;

	assert_int_equal(fcmdata_receive(rig.h, PATIENCE_MS, &b), 1);
	assert_true(b->header.sequence == (5ull << 40 | n));
	memcpy(&said, b->payload + BLOCK, 4);
	assert_int_equal(said, n);
	return b;
}

/* The next word of one who has closed; *acked counts. */
static bool hear_bye(unsigned *acked)
{
	char id[64], word[16] = "", body[1024];
	int n;

	assert_true(zmq_recv(rig.socket, id, sizeof(id), 0) > 0);
	assert_true(zmq_recv(rig.socket, word, sizeof(word) - 1, 0) > 0);
	if (strcmp(word, "ACK") == 0) {
		n = zmq_recv(rig.socket, body, sizeof(body), 0);
		*acked += (unsigned)n / (unsigned)sizeof(struct fcm_ack);
	}
	return strcmp(word, "BYE") == 0;
}

static void test_blocks_are_acknowledged(void **state)
{
	const struct fcmdata_block *b[8];
	char body[1024];
	unsigned acked;
	int bytes;

	(void)state;
	open_member();
	for (uint64_t n = 0; n < 8; n++) {
		say_block(n, 0, FCMDATA_GOOD);
	}
	for (uint64_t n = 0; n < 8; n++) {
		b[n] = receive(n);
	}
	assert_int_equal(stats().state, FCMDATA_MEMBER);
	for (unsigned n = 0; n < 3; n++) {
		assert_int_equal(fcmdata_ack(rig.h, &b[n]->key), 0);
		assert_int_equal(fcmdata_ack(rig.h, &b[n]->key), 0); /* harmless */
	}
	expect_acks(0, 3); /* by the next receive */
	for (unsigned n = 7; n >= 3; n--) {
		fcmdata_release(rig.h, b[n]);
		b[n] = NULL;
	}
	fcmdata_release(rig.h, NULL);
	assert_int_equal(stats().acknowledged, 3);
	expect("ALIVE", body, &bytes);
	assert_int_equal(fcmdata_ack(rig.h, &b[0]->key), 0); /* not owed */
	assert_int_equal(fcmdata_flush(rig.h), 0);
	for (uint64_t n = 10; n < 40; n++) { /* a gap of 2, which is certain: inside a slice */
		const struct fcmdata_block *c;

		say_block(n, 0, FCMDATA_GOOD);
		c = receive(n);
		assert_int_equal(c->gap_frames, n == 10 ? 2 * BLOCK : 0);
		assert_int_equal(fcmdata_ack(rig.h, &c->key), 0);
		fcmdata_release(rig.h, c);
	}
	assert_int_equal(fcmdata_flush(rig.h), 0);
	assert_int_equal(stats().acknowledged, 33);
	assert_int_equal(stats().blocks, 38);
	assert_int_equal(stats().gap_lost, 2 * BLOCK);
	assert_int_equal(
		fcmdata_ack(rig.h,
			    &(struct fcm_ack){.sequence = 5ull << 40 | 3, .tower = 1, .floor = 2}),
		0);
	fcmdata_close(rig.h); /* with blocks in hand, and one acknowledged but not said */
	rig.h = NULL;
	for (acked = 0; !hear_bye(&acked);) {
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

	(void)state;
	open_member();
	say_block(0, 0, FCMDATA_GOOD);
	say_block(1, 0, FCMDATA_GOOD);
	b = receive(0);
	assert_int_equal(fcmdata_ack(rig.h, &b->key), 0);
	fcmdata_release(rig.h, b);
	fcmdata_release(rig.h, receive(1));
	expect_acks(0, 1);
	for (unsigned i = 0; i < 5; i++) {
		say_words("ERROR", "{\"error\":\"unknown-member\",\"hint\":\"say HELLO\"}");
	}
	expect_hello();
	assert_false(hear("HELLO", body, &bytes, 300));
	assert_int_equal(stats().state, FCMDATA_ASKED);
	assert_int_equal(stats().hellos, 2);
	welcome();
	say_block(0, RESENT, FCMDATA_GOOD);
	say_block(1, RESENT, FCMDATA_GOOD);
	b = receive(0);
	assert_true(b->repeat);
	assert_int_equal(fcmdata_ack(rig.h, &b->key), 0);
	fcmdata_release(rig.h, b);
	b = receive(1);
	assert_true(b->again && !b->repeat);
	assert_int_equal(fcmdata_ack(rig.h, &b->key), 0);
	fcmdata_release(rig.h, b);
	expect_acks(0, 2);
	assert_int_equal(stats().repeats, 1);
	assert_int_equal(stats().agains, 1);
	assert_int_equal(stats().connections, 1);
	say_words("ERROR", "{\"error\":\"too-slow\",\"hint\":\"say HELLO\"}");
	expect_hello();
	assert_int_equal(stats().too_slow, 1);
}

/* What an earlier life of this consumer had processed is a repeat, too. */
static void test_remembered(void **state)
{
	const struct fcm_ack had = {.sequence = 5ull << 40 | 7, .tower = 1, .floor = 2};
	const struct fcmdata_block *b;

	(void)state;
	open_member();
	assert_int_equal(fcmdata_remember(rig.h, &had), 0);
	say_block(7, RESENT, FCMDATA_GOOD);
	say_block(8, 0, FCMDATA_GOOD);
	b = receive(7);
	assert_true(b->repeat);
	assert_int_equal(fcmdata_ack(rig.h, &b->key), 0);
	assert_false(receive(8)->repeat);
	expect_acks(7, 1);
	assert_int_equal(stats().gaps, 0);
}

/* The daemon is killed and comes back: HELLO, and nothing that was meant for the old one. */
static void test_daemon_comes_back(void **state)
{
	const struct fcmdata_block *b;
	char body[1024];
	int bytes;

	(void)state;
	open_member();
	say_block(0, 0, FCMDATA_GOOD);
	say_block(1, 0, FCMDATA_GOOD);
	b = receive(0);
	fcmdata_release(rig.h, receive(1));
	daemon_dies();
	wait_disconnected();
	assert_int_equal(fcmdata_ack(rig.h, &b->key), 0);
	assert_int_equal(fcmdata_flush(rig.h), -ENOTCONN);
	assert_int_equal(fcmdata_alive(rig.h), 0);
	daemon_starts(ZMQ_ROUTER);
	expect_hello(); /* the first word: hear() knows no other */
	welcome();
	assert_false(hear("ACK", body, &bytes, 300)); /* of what the new one has not sent */
	say_block(0, RESENT, FCMDATA_GOOD);
	fcmdata_release(rig.h, b);
	b = receive(0);
	assert_true(b->repeat);
	assert_int_equal(fcmdata_ack(rig.h, &b->key), 0);
	expect_acks(0, 1);
	assert_int_equal(stats().connections, 2);
	assert_int_equal(stats().welcomes, 2);
}

/* The next word of the consumer, which only computes and keeps its duty by fcmdata_alive(). */
static void next_word(char word[16])
{
	int64_t end = now_ms() + PATIENCE_MS;
	char rest[1024];
	int n, more = 1;
	size_t size = sizeof(more);

	while ((rig.id_bytes = zmq_recv(rig.socket, rig.id, sizeof(rig.id), ZMQ_DONTWAIT)) < 0) {
		assert_true(now_ms() < end);
		assert_int_equal(fcmdata_alive(rig.h), 0);
		usleep(5000);
	}
	n = zmq_recv(rig.socket, word, 15, 0);
	assert_in_range(n, 1, 15);
	word[n] = '\0';
	zmq_getsockopt(rig.socket, ZMQ_RCVMORE, &more, &size);
	if (more) {
		assert_true(zmq_recv(rig.socket, rest, sizeof(rest), 0) >= 0);
	}
}

/* The daemon comes back while the consumer computes: one HELLO, and it lives from there on, however long
 * it does not read its WELCOME. A second HELLO would begin anew, and send all blocks once more. */
static void test_duty_without_receiving(void **state)
{
	char word[16];

	(void)state;
	open_member();
	fcmdata_alive(rig.h);
	daemon_dies();
	wait_disconnected();
	daemon_starts(ZMQ_ROUTER);
	next_word(word);
	assert_string_equal(word, "HELLO");
	welcome();
	for (uint64_t n = 0; n < 4; n++) {
		say_block(n, 0, FCMDATA_GOOD);
	}
	for (unsigned i = 0; i < 13; i++) { /* 3.25 s: longer than an answer is waited for */
		next_word(word);
		assert_string_equal(word, "ALIVE");
	}
	assert_int_equal(stats().hellos, 2);
	for (uint64_t n = 0; n < 4; n++) {
		fcmdata_release(rig.h, receive(n));
	}
	assert_int_equal(stats().state, FCMDATA_MEMBER);
}

/* Two HELLOs have two WELCOMEs: between them others may have had the slice's rest, and what was handed
 * out before the second is awaited by nobody. */
static void test_two_welcomes(void **state)
{
	const struct fcmdata_block *b[2];
	char body[1024];
	int bytes;

	(void)state;
	open_member();
	say_block(0, 0, FCMDATA_GOOD);
	say_block(1, 0, FCMDATA_GOOD);
	b[0] = receive(0);
	b[1] = receive(1);
	welcome();
	say_block(5, 0, FCMDATA_GOOD);
	fcmdata_release(rig.h, receive(5));
	assert_int_equal(stats().welcomes, 2);
	assert_int_equal(stats().gap_frames, 3 * BLOCK);
	assert_int_equal(stats().gap_lost, 0);
	assert_int_equal(fcmdata_ack(rig.h, &b[1]->key), 0);
	assert_int_equal(fcmdata_flush(rig.h), 0);
	assert_false(hear("ACK", body, &bytes, 300));
	assert_int_equal(stats().acknowledged, 0);
	say_block(7, 0, FCMDATA_GOOD); /* in one membership again */
	fcmdata_release(rig.h, receive(7));
	assert_int_equal(stats().gap_lost, BLOCK);
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
		{"{\"error\":\"replaced\"}", "replaced"},
		{"{\"error\":7,\"hint\":[]}", "no reason given"},
		{"{", "no reason given"},
		{"", "no reason given"},
		{"[]", "no reason given"},
	};
	const struct fcmdata_block *b;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pollfd p = {.events = POLLIN};

		open_member();
		assert_null(fcmdata_refusal(rig.h));
		say_words("ERROR", cases[i].body);
		assert_int_equal(fcmdata_receive(rig.h, PATIENCE_MS, &b), -ECONNREFUSED);
		assert_string_equal(fcmdata_refusal(rig.h), cases[i].said);
		assert_int_equal(stats().state, FCMDATA_REFUSED);
		p.fd = fcmdata_fd(rig.h);
		assert_int_equal(poll(&p, 1, 0), 1);
		assert_int_equal(fcmdata_receive(rig.h, 0, &b), -ECONNREFUSED);
		assert_int_equal(fcmdata_alive(rig.h), -ECONNREFUSED);
		fcmdata_close(rig.h);
		rig.h = NULL;
	}
}

/* What is none of the protocol, and blocks that are none: counted, never handed out, the good ones are.
 * Damaged ones are asked for again. */
static void test_bad_messages(void **state)
{
	static const char *const one[] = {"x", "BLOCK", "HELLO", "WELCOME", "ERROR", ""};
	const void *many[300];
	size_t bytes[300];

	(void)state;
	open_member();
	for (unsigned i = 0; i < sizeof(one) / sizeof(one[0]); i++) {
		say_words(one[i], NULL);
	}
	say_words("BLOCK", "x");
	for (unsigned i = 0; i < 300; i++) {
		many[i] = "BLOCK";
		bytes[i] = 5;
	}
	say(many, bytes, 300);
	say_words("ALIVE", NULL);
	say_block(0, 0, FCMDATA_PAYLOAD_CRC);
	say_block(1, 0, FCMDATA_HEADER_CRC);
	say_block(2, 0, FCMDATA_MALFORMED);
	say(many, bytes, 4);
	say_block(3, 0, FCMDATA_GOOD);
	fcmdata_release(rig.h, receive(3));
	assert_int_equal(stats().strangers, 8);
	assert_int_equal(stats().payload_crcs, 1);
	assert_int_equal(stats().header_crcs, 1);
	assert_int_equal(stats().malformed, 2);
	assert_int_equal(stats().blocks, 1);
	expect_hello();
	welcome();
	say_block(0, RESENT, FCMDATA_GOOD);
	fcmdata_release(rig.h, receive(0));
	assert_int_equal(stats().agains, 0);
}

/* The descriptor is readable whenever there is something to do, and only then. */
static void test_descriptor(void **state)
{
	struct pollfd p = {.events = POLLIN};
	const struct fcmdata_block *b;
	unsigned spins = 0, blocks = 0;
	int64_t end;

	(void)state;
	open_member();
	p.fd = fcmdata_fd(rig.h);
	assert_true(p.fd >= 0);
	assert_int_equal(fcmdata_fd(rig.h), p.fd);
	for (uint64_t n = 0; n < 12; n++) {
		say_block(n, 0, FCMDATA_GOOD);
	}
	while (blocks < 12) {
		int r;

		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		r = fcmdata_receive(rig.h, 0, &b); /* one a turn: the others must still be seen */
		assert_in_range(r, 0, 1);
		if (r == 1) {
			assert_int_equal(fcmdata_ack(rig.h, &b->key), 0);
			assert_int_equal(fcmdata_flush(rig.h), 0);
			fcmdata_release(rig.h, b);
			blocks++;
		}
	}
	end = now_ms() + 600;
	while (now_ms() < end) {
		if (poll(&p, 1, (int)(end - now_ms())) == 1) {
			assert_int_equal(fcmdata_receive(rig.h, 0, &b), 0);
			spins++;
		}
	}
	assert_in_range(spins, 1, 50); /* the duty's timer, no busy loop */
	say_block(12, 0, FCMDATA_GOOD);
	for (;;) { /* seen though other calls than receive look at the socket first */
		assert_int_equal(fcmdata_alive(rig.h), 0);
		if (poll(&p, 1, 100) == 1 && fcmdata_receive(rig.h, 0, &b) == 1) {
			break;
		}
	}
}

/* The loop of whoever gives blocks to workers: nothing comes while all credit is out, and what is done is
 * acknowledged between two polls. It leaves without a flush, and without waiting for a duty's time. */
static void test_descriptor_and_acknowledgements(void **state)
{
	struct pollfd p = {.events = POLLIN};
	struct fcm_ack key[16];
	const struct fcmdata_block *b;
	unsigned n = 0;

	(void)state;
	open_member();
	p.fd = fcmdata_fd(rig.h);
	for (uint64_t k = 0; k < 16; k++) {
		say_block(k, 0, FCMDATA_GOOD);
	}
	while (n < 16) {
		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		while (fcmdata_receive(rig.h, 0, &b) == 1) {
			key[n++] = b->key;
			fcmdata_release(rig.h, b);
		}
	}
	for (n = 0; n < 10; n++) { /* one by one: the loop is told */
		assert_int_equal(fcmdata_ack(rig.h, &key[n]), 0);
		assert_int_equal(poll(&p, 1, 0), 1);
		assert_int_equal(fcmdata_receive(rig.h, 0, &b), 0);
		assert_int_equal(stats().acknowledged, n + 1);
	}
	for (; n < 14; n++) { /* a quarter of the credit: at once */
		assert_int_equal(fcmdata_ack(rig.h, &key[n]), 0);
	}
	assert_int_equal(stats().acknowledged, 14);
	expect_acks(0, 14);
}

/* A signal may come between the parts of a message, in and out: it stays whole. */
static void test_signal_inside_a_message(void **state)
{
	const struct fcmdata_block *b;

	(void)state;
	open_member();
	say_block(0, 0, FCMDATA_GOOD);
	fcmdata_release(rig.h, receive(0));
	interrupts.on = true;
	for (uint64_t n = 1; n < 9; n++) {
		say_block(n, 0, FCMDATA_GOOD);
		b = receive(n);
		assert_int_equal(fcmdata_ack(rig.h, &b->key), 0);
		fcmdata_release(rig.h, b);
	}
	expect_acks(1, 8);
	interrupts.on = false;
	assert_true(interrupts.times > 32);
	assert_int_equal(stats().strangers, 0);
	assert_int_equal(stats().hellos, 1);
}

static void on_alarm(int number)
{
	(void)number;
}

static void test_signal(void **state)
{
	const struct itimerval soon = {.it_interval = {0, 30000}, .it_value = {0, 30000}},
			       never = {{0}};
	struct sigaction action = {.sa_handler = on_alarm};
	const struct fcmdata_block *b;

	(void)state;
	open_member();
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	assert_int_equal(fcmdata_receive(rig.h, -1, &b), -EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	say_block(0, 0, FCMDATA_GOOD);
	fcmdata_release(rig.h, receive(0));
}

static void test_monitor(void **state)
{
	static const char *const topics[] = {"pmt.", NULL};
	const struct fcmdata_config config = {
		.mode = FCMDATA_MONITOR, .endpoint = rig.endpoint, .topics = topics};
	const struct fcmdata_block *b = NULL;
	const void *part[] = {"pmt.", "x"};
	const size_t bytes[] = {4, 1};

	(void)state;
	assert_int_equal(fcmdata_open(&config, &rig.h), 0);
	for (uint64_t n = 0; b == NULL; n++) { /* until the subscription has arrived */
		say_block(n < 100 ? 10 : 0, 0, FCMDATA_GOOD);
		assert_in_range(fcmdata_receive(rig.h, 20, &b), 0, 1);
	}
	assert_int_equal(b->header.sequence & 0xff, 10);
	assert_int_equal(stats().state, FCMDATA_MEMBER);
	assert_int_equal(fcmdata_ack(rig.h, &b->key), -EINVAL);
	assert_int_equal(fcmdata_flush(rig.h), 0);
	say_block(50, 0, FCMDATA_PAYLOAD_CRC);
	say(part, bytes, 2);
	say_block(51, 0, FCMDATA_GOOD);
	b = receive(51);
	assert_int_equal(b->gap_first, 11 * BLOCK);
	assert_int_equal(b->gap_frames, 40 * BLOCK);
	assert_int_equal(b->gap_lost, 40 * BLOCK);
	say_block(51, RESENT, FCMDATA_GOOD);
	b = receive(51);
	assert_true(b->again && !b->repeat);
	assert_int_equal(stats().strangers, 1);
	assert_int_equal(stats().payload_crcs, 1);
	assert_int_equal(stats().hellos, 0);
	daemon_dies();
	wait_disconnected();
	daemon_starts(ZMQ_PUB);
	for (b = NULL; b == NULL;) {
		say_block(60, 0, FCMDATA_GOOD);
		assert_in_range(fcmdata_receive(rig.h, 20, &b), 0, 1);
	}
	assert_int_equal(b->gap_frames, 8 * BLOCK);
	assert_int_equal(stats().connections, 2);
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

	(void)state;
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
		cmocka_unit_test_setup_teardown(test_blocks_are_acknowledged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unknown_member, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_remembered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_daemon_comes_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_duty_without_receiving, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_two_welcomes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bad_messages, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_descriptor, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_descriptor_and_acknowledgements, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_signal_inside_a_message, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_signal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_monitor, set_up_monitor, tear_down),
		cmocka_unit_test_setup_teardown(test_bad_configurations, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
