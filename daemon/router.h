/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the ROUTER sends to members of groups: words, and blocks that are not copied. A block's message
 * points into its payload and holds a reference (block_hold), dropped by ZeroMQ's free hook on whatever
 * thread. Never blocks. Belongs to the publisher thread.
 */
#ifndef DAEMON_ROUTER_H
#define DAEMON_ROUTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/block.h"

struct peer {
	uint8_t id[255]; /* ZeroMQ's routing id */
	uint8_t id_bytes;
	uint64_t last_sent_ns;
};

/* `verb` and perhaps a body. -EHOSTUNREACH: the peer is gone; -EAGAIN: its pipe is full. Only the first
 * part can fail so: it finds the pipe. */
int router_words(void *router, const struct peer *peer, const char *verb, const char *body,
		 size_t length);
/* It is no member: why, and what to do. */
void router_error(void *router, const struct peer *to, const char *error, const char *hint);
/* A block; `resent`: it is flagged so. Errors as of words, and -ENOMEM. */
int router_block(void *router, const struct peer *peer, struct block *b, bool resent);

#endif
