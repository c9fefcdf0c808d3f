/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The monitors: whoever subscribed at the XPUB gets a copy of the blocks it asked for, best effort. A
 * copy in full, so that a monitor that stands still holds no memory of the pool; made only when somebody
 * subscribed to the topic. Belongs to the publisher thread.
 */
#ifndef DAEMON_MONITORS_H
#define DAEMON_MONITORS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/block.h"
#include "daemon/door.h"

#define SUBSCRIPTIONS                                                                              \
	64u /* of all monitors that are looked for; and of one, before it is cut off */
#define SUBSCRIPTION_MAX 32u /* bytes; longer than any topic */
#define SUBSCRIBE_MAX	 512 /* bytes of a message of theirs, a handshake's among them */

struct subscription {
	char prefix[SUBSCRIPTION_MAX];
	uint8_t length;
};

struct monitors {
	void *xpub;	   /* the owner opens and closes it; NULL: no monitors */
	struct door *door; /* its, likewise */
	struct subscription subscription[SUBSCRIPTIONS];
	unsigned subscriptions;
	unsigned unlisted; /* subscriptions beyond those: while there are any, all is copied */
	uint64_t blocks, dropped, bad_messages;
	uint64_t greedy; /* cut off: too many topics, or too long */
};

/* Never blocks; what does not fit a monitor's high-water mark ZeroMQ drops for it, untold. */
void monitors_copy(struct monitors *m, const struct block *b);
/* Take in subscriptions. */
void monitors_serve(struct monitors *m, uint64_t now_ns);

#endif
