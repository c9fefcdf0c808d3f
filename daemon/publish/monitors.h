/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The monitors: each subscriber of the XPUB gets a copy of the blocks that it asked for, best effort. A full copy, so
 * that a stalled monitor holds no memory of the pool; made only when there is a subscriber for the topic.
 *
 * libzmq keeps the topics of all monitors in a tree with a node per byte. The thread that uses the
 * socket builds and removes it, however long that takes. So the XPUB has a separate thread and a
 * separate ZeroMQ context. The publisher's thread, which never waits for this one, checks its
 * connections and how much they send.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/data/block.h"
#include "daemon/net/door.h"
#include "daemon/net/zap.h"

#define MONITORS_TOPICS	   64u /* of all monitors that are looked for; with more, all is copied */
#define MONITORS_TOPIC_MAX 32u /* bytes; longer than any topic */
#define MONITORS_WORDS	   (16u << 10) /* bytes of a monitor in its life: some hundred topics */

struct monitors;

struct monitors_config {
	const char *endpoint;
	int hwm;	    /* messages that wait for one monitor */
	const char *secret; /* NULL: none is asked for a key; else `judge` is asked about each */
	zap_judge_fn judge;
	void *context;
};

struct monitors_status {
	uint64_t blocks, dropped, bad_messages;
};

/* Bind and start the thread. -EINVAL: bad endpoint; -EADDRINUSE. */
int monitors_start(const struct monitors_config *config, struct monitors **ret_monitors);
/* Cuts all connections and ends the thread. NULL is fine. */
void monitors_stop(struct monitors *m);
struct door *monitors_door(struct monitors *m);

/* The following functions belong to the publisher's thread; none of them waits. */
void monitors_copy(struct monitors *m, const struct block *b);
/* Send the copies. */
void monitors_wake(struct monitors *m);
/* Answer handshakes, and check what each connection has sent: at least every DOOR_WATCH_NS;
 * `second`: once a second. */
void monitors_watch(struct monitors *m, bool second, uint64_t now_ns);
/* ZeroMQ sockets to wait for: at most two. */
unsigned monitors_wait_for(struct monitors *m, void *ret_sockets[2]);
void monitors_get_status(struct monitors *m, struct monitors_status *ret_status);
