/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ROUTER or PUB socket that plays the daemon to libfcmdata, well or badly. See fcmdata_rig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/daemon/consumer/fcmdata_rig.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#include "tdm/frame.h"

struct rig rig;
struct rig_interrupts interrupts;

int64_t rig_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- ZeroMQ, where a signal comes between two of its calls ---- */

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

void rig_daemon_starts(int type)
{
	size_t size = sizeof(rig.endpoint);
	const int linger = 0;

	rig.socket = zmq_socket(rig.context, type);
	assert_non_null(rig.socket);
	zmq_setsockopt(rig.socket, ZMQ_LINGER, &linger, sizeof(linger));
	assert_int_equal(zmq_bind(rig.socket, rig.endpoint), 0);
	assert_int_equal(zmq_getsockopt(rig.socket, ZMQ_LAST_ENDPOINT, rig.endpoint, &size), 0);
}

void rig_daemon_dies(void)
{
	zmq_close(rig.socket);
}

static int set_up_as(int type)
{
	memset(&rig, 0, sizeof(rig));
	interrupts.on = false;
	strcpy(rig.endpoint, "tcp://127.0.0.1:*");
	rig.context = zmq_ctx_new();
	rig_daemon_starts(type);
	return 0;
}

int rig_set_up(void **state)
{
	return set_up_as(ZMQ_ROUTER);
}

int rig_set_up_monitor(void **state)
{
	return set_up_as(ZMQ_PUB);
}

int rig_tear_down(void **state)
{
	fcmdata_close(rig.h);
	zmq_close(rig.socket);
	zmq_ctx_term(rig.context);
	return 0;
}

void rig_say(const void *const part[], const size_t bytes[], unsigned parts)
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

void rig_say_words(const char *verb, const char *body)
{
	const void *part[] = {verb, body};
	const size_t bytes[] = {strlen(verb), body ? strlen(body) : 0};

	rig_say(part, bytes, body ? 2 : 1);
}

void rig_welcome(void)
{
	rig_say_words("WELCOME", "{\"protocol\":1,\"board\":0,\"group\":\"trigger\","
				 "\"streams\":[\"pmt\"],\"policy\":\"drop-oldest\"}");
}

void rig_say_block(uint64_t n, uint32_t flags, enum fcmdata_damage damage)
{
	uint8_t payload[BLOCK + 4] = {0};
	struct fcm_block_header h = {
		.magic = FCM_BLOCK_MAGIC,
		.version = damage == FCMDATA_VERSION ? 2 : FCM_BLOCK_VERSION,
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
	rig_say(part + without_verb, bytes + without_verb, 4 - without_verb);
}

bool rig_hear(const char *verb, char *body, int *ret_bytes, int patience_ms)
{
	int64_t end = rig_now_ms() + patience_ms;
	char word[16];

	while (rig_now_ms() < end) {
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

void rig_expect(const char *verb, char *body, int *ret_bytes)
{
	assert_true(rig_hear(verb, body, ret_bytes, PATIENCE_MS));
}

void rig_expect_hello(void)
{
	char body[1024];
	int bytes;

	rig_expect("HELLO", body, &bytes);
	assert_string_equal(
		body, "{\"protocol\":1,\"name\":\"t-1\",\"group\":\"trigger\",\"credit\":16}");
}

void rig_expect_acks(uint64_t n, unsigned count)
{
	char body[1024];
	struct fcm_ack ack;
	int bytes;

	while (count > 0) {
		rig_expect("ACK", body, &bytes);
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

void rig_open_asking(void)
{
	const struct fcmdata_config config = {
		.endpoint = rig.endpoint, .name = "t-1", .group = "trigger", .credit = 16};

	assert_int_equal(fcmdata_open(&config, &rig.h), 0);
	rig_expect_hello();
}

void rig_open_member(void)
{
	rig_open_asking();
	rig_welcome();
}

struct fcmdata_stats rig_stats(void)
{
	struct fcmdata_stats s;

	fcmdata_get_stats(rig.h, &s);
	return s;
}

void rig_wait_disconnected(void)
{
	const struct fcmdata_block *b;
	int64_t end = rig_now_ms() + PATIENCE_MS;

	while (rig_stats().state != FCMDATA_CONNECTING && rig_now_ms() < end) {
		assert_int_equal(fcmdata_receive(rig.h, 20, &b), 0);
	}
	assert_int_equal(rig_stats().state, FCMDATA_CONNECTING);
}

const struct fcmdata_block *rig_receive(uint64_t n)
{
	const struct fcmdata_block *b = NULL;
	uint32_t said;

	assert_int_equal(fcmdata_receive(rig.h, PATIENCE_MS, &b), 1);
	assert_true(b->header.sequence == (5ull << 40 | n));
	memcpy(&said, b->payload + BLOCK, 4);
	assert_int_equal(said, n);
	return b;
}

bool rig_hear_bye(unsigned *acked)
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
