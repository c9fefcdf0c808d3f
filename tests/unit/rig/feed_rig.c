/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A TriDAS feed on loopback: the test is the publisher and the readers. See feed_rig.h. */
#include <setjmp.h>
#include <stdarg.h>

#include "tests/unit/rig/feed_rig.h"

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tdm/hit.h"

#define PREFIX 64u /* status and index of a payload: never sent */

int64_t feed_rig_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void feed_rig_start(struct feed_rig *r, uint64_t budget_bytes, uint64_t hold_blocks)
{
	const struct feed_config config = {
		.address = "127.0.0.1",
		.links = 0x7, /* link 3 has none */
		.budget_bytes = budget_bytes,
		.hold_frames = hold_blocks * FEED_RIG_FRAMES,
	};
	struct feed_status s;
	uint16_t port;

	memset(r, 0, sizeof(*r));
	r->pool = block_pool_create(256u << 20);
	assert_non_null(r->pool);
	assert_int_equal(feed_start(&config, &r->feed, &port), 0);
	feed_get_status(r->feed, &s);
	memcpy(r->port, s.port, sizeof(r->port));
	assert_true(r->port[0] && r->port[1] && r->port[2] && !r->port[3]);
}

void feed_rig_back(struct feed_rig *r, struct block *b, enum outcome outcome)
{
	assert_false(r->block[b->order].returned);
	r->block[b->order].returned = true;
	r->block[b->order].outcome = outcome;
	r->back++;
	block_put(b);
}

void feed_rig_take(struct feed_rig *r)
{
	enum outcome outcome;
	struct block *b;

	if (r->hands_off) {
		return;
	}
	feed_hush(r->feed);
	while ((b = feed_take(r->feed, &outcome))) {
		feed_rig_back(r, b, outcome);
	}
}

void feed_rig_finish(struct feed_rig *r)
{
	feed_stop(r->feed);
	feed_rig_take(r);
	assert_int_equal(r->back, r->offered);
	feed_destroy(r->feed);
	assert_int_equal(block_pool_in_use(r->pool), 0);
	block_pool_destroy(r->pool);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		free(r->stream[link]);
	}
}

void feed_rig_wait_back(struct feed_rig *r, unsigned count)
{
	int64_t end = feed_rig_now_ms() + FEED_RIG_PATIENCE_MS;

	while (r->back < count && feed_rig_now_ms() < end) {
		feed_rig_take(r);
		usleep(500);
	}
	assert_int_equal(r->back, count);
}

uint64_t feed_rig_count(const struct feed_rig *r, enum outcome outcome)
{
	uint64_t count = 0;

	for (unsigned n = 0; n < r->offered; n++) {
		count += r->block[n].returned && r->block[n].outcome == outcome;
	}
	return count;
}

/* A hit of 16 to 88 bytes, no two alike. Returns its length. */
static size_t put_hit(uint8_t *to, uint32_t number, unsigned module)
{
	struct hit h = {
		.pmt = (uint8_t)module,
		.efcm = 3,
		.tower = 1,
		.t5ns = (uint16_t)(number % 25000),
		.frame = (uint16_t)(number % 8000),
		.second = number % 86400,
		.charge = number & 0x3fffff,
		.samples = (uint8_t)(number * 7 % 37),
	};

	hit_pack(&h, to);
	for (unsigned i = 0; i < h.samples * 2u; i++) {
		to[HIT_HEADER_BYTES + i] = (uint8_t)(number * 31 + i);
	}
	return hit_bytes(to);
}

static void fill(struct block *b, uint32_t number, size_t bytes)
{
	struct fcm_block_header *h = &b->header;
	size_t at = PREFIX;

	memset(b->payload, 0xee, PREFIX);
	for (unsigned module = 0; module < 6; module++) {
		size_t until = PREFIX + bytes * (module + 1) / 6;

		h->channel_offset[module] = (uint32_t)at;
		while (at < until) {
			at += put_hit(b->payload + at, number * 1000003u + h->items++, module);
		}
	}
	h->channel_offset[6] = (uint32_t)at;
	h->payload_bytes = (uint32_t)at;
}

static void expect_later(struct feed_rig *r, unsigned link, const uint8_t *bytes, size_t length)
{
	if (r->length[link] + length > r->room[link]) {
		r->room[link] = 2 * (r->length[link] + length);
		r->stream[link] = realloc(r->stream[link], r->room[link]);
		assert_non_null(r->stream[link]);
	}
	memcpy(r->stream[link] + r->length[link], bytes, length);
	r->length[link] += length;
}

struct block *feed_rig_block(struct feed_rig *r, unsigned link, size_t bytes, uint32_t flags)
{
	struct block *b = block_get(r->pool, PREFIX + bytes + 6 * HIT_MAX_BYTES);
	unsigned n = r->offered++;

	assert_true(n < FEED_RIG_BLOCKS);
	assert_non_null(b);
	b->header = (struct fcm_block_header){
		.stream = FCM_PMT,
		.link = (uint8_t)link,
		.channels = 6,
		.tower = 1,
		.floor = 3,
		.flags = flags,
		.frames = FEED_RIG_FRAMES,
		.first_frame = (uint64_t)n * FEED_RIG_FRAMES,
	};
	b->order = n;
	b->monotonic_ns = 1000 + n;
	fill(b, n, bytes);
	r->block[n].link = (uint8_t)link;
	r->block[n].hits = b->header.items;
	r->block[n].begin = r->length[link];
	if (!(flags & FCM_BLOCK_NO_TIME)) {
		expect_later(r, link, b->payload + PREFIX, b->header.payload_bytes - PREFIX);
	}
	r->block[n].end = r->length[link];
	return b;
}

unsigned feed_rig_offer(struct feed_rig *r, unsigned link, size_t bytes, uint32_t flags)
{
	struct block *b = feed_rig_block(r, link, bytes, flags);
	unsigned n = (unsigned)b->order; /* it may be gone as soon as it is offered */

	assert_true(feed_offer(r->feed, b));
	feed_wake(r->feed);
	return n;
}

static int connect_to(const struct feed_rig *r, unsigned link, int receive_bytes)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(r->port[link]),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct timeval patience = {FEED_RIG_PATIENCE_MS / 1000, 0};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (receive_bytes) {
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
	}
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

void feed_rig_flash(struct feed_rig *r, unsigned link)
{
	close(connect_to(r, link, 0));
}

int feed_rig_connect(struct feed_rig *r, unsigned link, int receive_bytes)
{
	struct feed_status before, s;
	int fd;

	feed_get_status(r->feed, &before);
	fd = connect_to(r, link, receive_bytes);
	FEED_RIG_WAIT(r, s, s.connects + s.refused > before.connects + before.refused);
	return fd;
}

size_t feed_rig_read(int fd, uint8_t *to, size_t length)
{
	size_t at = 0;

	while (at < length) {
		ssize_t n = recv(fd, to + at, length - at, 0);

		if (n <= 0) {
			break;
		}
		at += (size_t)n;
	}
	return at;
}

void feed_rig_expect(struct feed_rig *r, unsigned link, int fd, size_t begin, size_t end)
{
	uint8_t *got = malloc(end - begin + 1);

	assert_non_null(got);
	assert_int_equal(feed_rig_read(fd, got, end - begin), end - begin);
	assert_memory_equal(got, r->stream[link] + begin, end - begin);
	free(got);
}
