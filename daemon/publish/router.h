/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of the ROUTER to members of groups: protocol messages, and blocks without a copy. A
 * block's message points into its payload and holds a reference (block_hold), which ZeroMQ's free
 * hook drops on any thread. Never blocks. Belongs to the publisher thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zmq.h>

#include "daemon/publish/status.h"
#include "slowctl/access/access.h"

/*
 * Memory of the blocks that ZeroMQ still has in messages to members of a group, including former
 * members: a peer that sends HELLO repeatedly and reads nothing, or stalls with its connection
 * open, must not fill the pool. Counted down on any thread; outlives the context.
 */
struct router_loans {
	_Atomic uint64_t bytes[GROUPS_MAX];
	uint64_t most[GROUPS_MAX]; /* beyond, nothing is sent; 0: no limit */
};

struct peer {
	uint8_t id[DOOR_ID_MAX]; /* ZeroMQ's routing id */
	uint8_t id_bytes;
	char key[ACCESS_KEY_TEXT];	/* that it has proved to have; "" where none is asked for */
	int fd;				/* of its connection: libzmq's */
	char address[PEER_ADDRESS_MAX]; /* "ADDRESS:PORT" as of its HELLO */
	uint64_t last_sent_ns;
};

/* `verb` and perhaps a body. -EHOSTUNREACH: the peer is gone; -EAGAIN: its pipe is full. Only the first
 * part can fail so: it finds the pipe. */
int router_words(void *router, const struct peer *peer, const char *verb, const char *body,
		 size_t length);
/* The address of the sender of this message, as text: "127.0.0.1:43210". */
void router_address(zmq_msg_t *message, char text[PEER_ADDRESS_MAX]);
/* Send ERROR: it is not a member; why, and what to do. `retry_ms`: as hello_error(). */
void router_error(void *router, const struct peer *to, const char *error, const char *hint,
		  uint32_t retry_ms);
/* Before the first router_block() of it. */
void router_lend(struct router_loans *loans, struct block *b);
/* A block to a member of `group`; `resent`: it is flagged so. Errors as of words; -EAGAIN also when
 * the group has reached its limit; -ENOMEM. */
int router_block(void *router, const struct peer *peer, const struct router_loans *loans,
		 unsigned group, struct block *b, bool resent);
