/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The publisher: the thread that owns the ZeroMQ data sockets. It takes blocks from capture, offers
 * each to every group of reserved consumers that takes its stream, and keeps it until the group has
 * acknowledged it or the group's policy dropped it. It copies the block to the monitors and returns
 * it settled. groups.h has the limits of a group. A dead or slow consumer affects no other.
 */
#pragma once

#include "daemon/core/queue.h"
#include "daemon/publish/status.h"
#include "slowctl/access/access.h"

struct publisher_config {
	unsigned board;
	const char *reserved_endpoint; /* ROUTER bind: "tcp://127.0.0.1:5710" */
	const char *monitor_endpoint;  /* XPUB bind; empty: none */
	uint8_t groups;
	struct group_config group[GROUPS_MAX];
	struct feed *feed;    /* NULL: none; else the group behind those, stopped with us */
	uint32_t monitor_hwm; /* messages */
	uint32_t dead_ms;     /* silence after which a member is dead: 3000 */
	/* NULL: none is asked for a key. Else the server's secret (Z85), and `access` says whose keys open what */
	const char *secret;
	const struct access_list *access;
};

struct publisher;

/* Bind and start the thread. `blocks` has an eventfd. -EINVAL: bad endpoint; one that another program has is tried
 * again each second (door_status.closed). A NULL in `blocks` means that capture found the pool
 * empty: the oldest blocks are dropped (DROP_POOL). */
int publisher_start(const struct publisher_config *config, struct queue *blocks,
		    struct queue *settled, struct publisher **ret_publisher);
/* End the thread, at once, and terminate the ZeroMQ context. Call it after capture_stop(), which
 * waits for acknowledgements: blocks that are not settled by now are not charged. Their frames are
 * still in the ring, beyond the cursor, and the next daemon sends them again; a ring that is not
 * taken over within the linger time is lost, and charged as SHUTDOWN when the next one begins. The
 * blocks are in `settled`, as far as it has room, or here for publisher_destroy(). */
void publisher_stop(struct publisher *p);
/* After publisher_stop() (called here if it was not) and after the end of capture: returns blocks
 * that were not settled, including the rest of `blocks`, to their pool. */
void publisher_destroy(struct publisher *p);
/* A new list of keys, from any thread: members whose key is gone are disconnected. When a monitor's
 * key is gone, all monitors have to connect again, because libzmq does not tell which connection
 * belongs to which key. */
void publisher_allow(struct publisher *p, const struct access_list *access);
void publisher_get_status(struct publisher *p,
			  struct publisher_status *ret_status); /* any thread */
/* Where it is bound, a wildcard port resolved. The monitors' is "" when there is none. */
const char *publisher_reserved_endpoint(const struct publisher *p);
const char *publisher_monitor_endpoint(const struct publisher *p);
