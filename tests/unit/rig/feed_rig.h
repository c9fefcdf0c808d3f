/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A feed on loopback, the publisher's side of it played by the test: blocks of hits that differ, what the
 * stream of a link must be, readers that are sockets of this process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/feed/feed.h"

#define FEED_RIG_BLOCKS 4096u
#define FEED_RIG_FRAMES 80u

struct feed_rig {
	struct block_pool *pool;
	struct feed *feed;
	uint16_t port[NANET3_LINKS];
	bool hands_off; /* a publisher takes what is settled */
	unsigned offered, back;
	struct {
		uint8_t link;
		bool returned;
		enum outcome outcome;
		size_t begin, end; /* in the stream of its link; nothing when withheld */
		uint32_t hits;
	} block[FEED_RIG_BLOCKS];
	uint8_t *stream[NANET3_LINKS];
	size_t length[NANET3_LINKS], room[NANET3_LINKS];
};

void feed_rig_start(struct feed_rig *r, uint64_t budget_bytes, uint64_t hold_blocks);
/* All must be back, and the pool's memory. */
void feed_rig_finish(struct feed_rig *r);
/* A block with about `bytes` of hits, not yet offered; its number is b->order. */
struct block *feed_rig_block(struct feed_rig *r, unsigned link, size_t bytes, uint32_t flags);
/* The same, offered. Returns its number. */
unsigned feed_rig_offer(struct feed_rig *r, unsigned link, size_t bytes, uint32_t flags);
/* It has come back. */
void feed_rig_back(struct feed_rig *r, struct block *b, enum outcome outcome);
void feed_rig_take(struct feed_rig *r);
void feed_rig_wait_back(struct feed_rig *r, unsigned count);
uint64_t feed_rig_count(const struct feed_rig *r, enum outcome outcome);

/* A reader; `receive_bytes`: its kernel's buffer, 0: as usual. Returns when the feed knows it. */
int feed_rig_connect(struct feed_rig *r, unsigned link, int receive_bytes);
/* Connect and be gone. */
void feed_rig_flash(struct feed_rig *r, unsigned link);
/* Read until `length` bytes are there, or the end; returns how many. */
size_t feed_rig_read(int fd, uint8_t *to, size_t length);
/* The next bytes are these and no others. */
void feed_rig_expect(struct feed_rig *r, unsigned link, int fd, size_t begin, size_t end);

#define FEED_RIG_PATIENCE_MS 10000
int64_t feed_rig_now_ms(void);
/* Wait until the status agrees. */
#define FEED_RIG_WAIT(r, s, condition)                                                             \
	do {                                                                                       \
		int64_t end_ = feed_rig_now_ms() + FEED_RIG_PATIENCE_MS;                           \
		do {                                                                               \
			usleep(5000);                                                              \
			feed_rig_take(r);                                                          \
			feed_get_status((r)->feed, &(s));                                          \
		} while (!(condition) && feed_rig_now_ms() < end_);                                \
		assert_true(condition);                                                            \
	} while (0)
