/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to daemon/publish: the publisher's thread and sockets (publisher.c), the messages that consumers send
 * (members.c), and the CURVE keys of consumers and monitors (keys.c).
 */
#pragma once

#include <pthread.h>

#include "daemon/publish/groups.h"
#include "daemon/core/queue.h"
#include "daemon/publish/monitors.h"
#include "daemon/publish/router.h"
#include "daemon/net/zap.h"

#define PUBLISHER_INCOMING_MAX (4096u * sizeof(struct fcm_ack)) /* bytes of an ACK */

struct publisher {
	unsigned board;
	uint32_t dead_ms;
	struct queue *blocks, *settled;
	char reserved_endpoint[256], monitor_endpoint[256];
	int wake_fd; /* publisher_stop() rings it */
	void *context;
	pthread_t thread;
	bool started, stopped;
	_Atomic bool stopping, allowed; /* a new list was set */

	/* The thread's own. */
	void *router;
	struct door *door;
	struct zap *zap;	   /* NULL: none is asked for a key */
	struct access_list access; /* whose keys open what */
	struct monitors *monitors; /* NULL: none */
	struct groups *groups;
	struct router_loans loans;
	unsigned reserved_groups;
	struct feed *feed; /* its thread's; NULL: none. Its group is the one behind the reserved */
	struct {
		uint64_t blocks, frames;
	} feed_full;		       /* that its queue had no place for */
	struct peer peer[MEMBERS_MAX]; /* by member number */
	struct block_list returned;
	uint64_t now_ns, next_tick_ns, next_second_ns, next_status_ns;
	struct publisher_status counters; /* the next status */
	uint64_t bad_messages;
	uint64_t stray_acks; /* messages of them, from peers that are no members */

	pthread_mutex_t lock;
	struct publisher_status status; /* under lock */
	struct access_list access_next; /* likewise, of publisher_allow() */
};

/* members.c: handle one message of the ROUTER. False: there is none. */
bool publisher_receive(struct publisher *p);

/* keys.c: zap_judge_fn of the consumers' and of the monitors' socket. */
const char *publisher_keys_judge_consumer(void *context, const char *address, const char *key);
const char *publisher_keys_judge_monitor(void *context, const char *address, const char *key);
/* Answer handshakes; take a new list. */
void publisher_keys_serve(struct publisher *p);
/* Whether its key is a consumer's; if not, it gets an ERROR and is disconnected. */
bool publisher_keys_admit(struct publisher *p, const struct peer *from);
/* NULL: the key allows this member; else the owner of the key, as text. */
const char *publisher_keys_forbid(const struct publisher *p, const char *key, const char *name,
				  const char *group, char *text, size_t size);
