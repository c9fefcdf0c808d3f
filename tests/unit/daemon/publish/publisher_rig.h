/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The publisher with two groups, and DEALERs that talk to it over loopback TCP. The test plays capture: it makes
 * blocks, and takes them back settled.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/publish/publisher.h"

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

struct got {
	char verb[16];
	char text[600]; /* of WELCOME, ERROR: the JSON; of BLOCK: the topic */
	struct fcm_block_header header;
	bool payload_right;
};

int64_t rig_now_ms(void);
void rig_start_policy(struct rig *r, uint64_t hold_blocks, uint32_t queue_size,
		      enum fcm_policy policy, uint64_t budget_bytes);
/* With keys: those of `access`, checked by a server with `secret`. */
void rig_start_keys(struct rig *r, const char *secret, const struct access_list *access);
void rig_start(struct rig *r, uint64_t hold_blocks, uint32_t queue_size);
/* What capture does with settled blocks. */
void rig_take_back(struct rig *r);
void rig_finish(struct rig *r);
void rig_offer(struct rig *r, enum fcm_stream stream);
void rig_set_number(void *socket, int option, int value);
void *rig_dealer(void *context, const char *endpoint);
void rig_say(void *s, const char *verb, const void *body, size_t length);
void rig_say_hello(void *s, const char *name, const char *group, unsigned credit);
int rig_receive_part(void *s, void *to, size_t size);
/* The next message that is not ALIVE; false: none within the socket's patience. */
bool rig_receive(void *s, struct got *g);
void rig_expect(void *s, const char *verb, const char *text);
uint64_t rig_expect_block(void *s, bool resent);
void rig_ack(void *s, enum fcm_stream stream, uint64_t sequence);
void rig_wait_back(struct rig *r, unsigned count);

/* Wait until the status agrees; it is renewed ten times a second. */
#define WAIT_STATUS(r, s, condition)                                                               \
	do {                                                                                       \
		int64_t end_ = rig_now_ms() + PATIENCE_MS;                                         \
		do {                                                                               \
			usleep(10000);                                                             \
			publisher_get_status((r)->p, &(s));                                        \
		} while (!(condition) && rig_now_ms() < end_);                                     \
		assert_true(condition);                                                            \
	} while (0)
