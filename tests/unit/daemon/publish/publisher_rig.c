/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The publisher with two groups and consumers on loopback TCP; the test plays capture. See publisher_rig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/daemon/publish/publisher_rig.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "tdm/frame.h"

int64_t rig_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void start(struct rig *r, const struct publisher_config *config, uint32_t queue_size)
{
	memset(r, 0, sizeof(*r));
	r->pool = block_pool_create(64u << 20);
	assert_non_null(r->pool);
	assert_int_equal(queue_init(&r->blocks, sizeof(struct block *), 64, 1), 0);
	assert_int_equal(queue_init(&r->settled, sizeof(struct block *), queue_size, 0), 0);
	assert_int_equal(publisher_start(config, &r->blocks, &r->settled, &r->p), 0);
	r->context = zmq_ctx_new();
}

static struct publisher_config config_of(uint64_t hold_blocks, enum fcm_policy policy,
					 uint64_t budget_bytes)
{
	return (struct publisher_config){
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
}

void rig_start_policy(struct rig *r, uint64_t hold_blocks, uint32_t queue_size,
		      enum fcm_policy policy, uint64_t budget_bytes)
{
	const struct publisher_config config = config_of(hold_blocks, policy, budget_bytes);

	start(r, &config, queue_size);
}

void rig_start_keys(struct rig *r, const char *secret, const struct access_list *access)
{
	struct publisher_config config = config_of(100, FCM_DROP_OLDEST, 0);

	config.secret = secret;
	config.access = access;
	start(r, &config, 64);
}

void rig_start(struct rig *r, uint64_t hold_blocks, uint32_t queue_size)
{
	rig_start_policy(r, hold_blocks, queue_size, FCM_DROP_OLDEST, 0);
}

void rig_take_back(struct rig *r)
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

void rig_finish(struct rig *r)
{
	publisher_stop(r->p);
	rig_take_back(r);
	assert_int_equal(r->back, r->offered);
	zmq_ctx_term(r->context);
	publisher_destroy(r->p);
	assert_int_equal(block_pool_in_use(r->pool), 0);
	block_pool_destroy(r->pool);
	queue_fini(&r->blocks);
	queue_fini(&r->settled);
}

void rig_offer(struct rig *r, enum fcm_stream stream)
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

void rig_set_number(void *socket, int option, int value)
{
	assert_int_equal(zmq_setsockopt(socket, option, &value, sizeof(value)), 0);
}

void *rig_dealer(void *context, const char *endpoint)
{
	void *s = zmq_socket(context, ZMQ_DEALER);

	assert_non_null(s);
	rig_set_number(s, ZMQ_LINGER, 0);
	rig_set_number(s, ZMQ_RCVTIMEO, PATIENCE_MS);
	assert_int_equal(zmq_connect(s, endpoint), 0);
	return s;
}

void rig_say(void *s, const char *verb, const void *body, size_t length)
{
	assert_true(zmq_send(s, verb, strlen(verb), body ? ZMQ_SNDMORE : 0) >= 0);
	if (body) {
		assert_true(zmq_send(s, body, length, 0) >= 0);
	}
}

void rig_say_hello(void *s, const char *name, const char *group, unsigned credit)
{
	char text[160];
	int n = snprintf(text, sizeof(text),
			 "{\"protocol\":1,\"name\":\"%s\",\"group\":\"%s\",\"credit\":%u}", name,
			 group, credit);

	rig_say(s, "HELLO", text, (size_t)n);
}

int rig_receive_part(void *s, void *to, size_t size)
{
	int n = zmq_recv(s, to, size, 0);

	if (n >= 0 && (size_t)n < size) {
		((char *)to)[n] = '\0';
	}
	return n;
}

bool rig_receive(void *s, struct got *g)
{
	static uint8_t payload[PAYLOAD + 1];

	do {
		memset(g, 0, sizeof(*g));
		if (rig_receive_part(s, g->verb, sizeof(g->verb)) < 0) {
			return false;
		}
	} while (strcmp(g->verb, "ALIVE") == 0);
	assert_true(rig_receive_part(s, g->text, sizeof(g->text)) >= 0);
	if (strcmp(g->verb, "BLOCK") == 0) {
		assert_int_equal(zmq_recv(s, &g->header, sizeof(g->header), 0), 256);
		assert_int_equal(zmq_recv(s, payload, sizeof(payload), 0), PAYLOAD);
		assert_int_equal(tdm_crc32c(&g->header, 252), g->header.header_crc);
		g->payload_right = tdm_crc32c(payload, PAYLOAD) == g->header.payload_crc;
		assert_true(g->payload_right);
	}
	return true;
}

void rig_expect(void *s, const char *verb, const char *text)
{
	struct got g;

	assert_true(rig_receive(s, &g));
	assert_string_equal(g.verb, verb);
	assert_non_null(strstr(g.text, text));
}

uint64_t rig_expect_block(void *s, bool resent)
{
	struct got g;

	assert_true(rig_receive(s, &g));
	assert_string_equal(g.verb, "BLOCK");
	assert_int_equal((g.header.flags & FCM_BLOCK_RESENT) != 0, resent);
	return g.header.sequence;
}

void rig_ack(void *s, enum fcm_stream stream, uint64_t sequence)
{
	struct fcm_ack a = {
		.sequence = sequence, .stream = (uint8_t)stream, .link = 1, .tower = 1, .floor = 2};

	rig_say(s, "ACK", &a, sizeof(a));
}

void rig_wait_back(struct rig *r, unsigned count)
{
	int64_t end = rig_now_ms() + PATIENCE_MS;

	while (r->back < count && rig_now_ms() < end) {
		rig_take_back(r);
		usleep(1000);
	}
	assert_int_equal(r->back, count);
}
