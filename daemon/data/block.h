/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The block: the data of one floor and one stream for a fixed number of carrying frames, as one
 * message. The capture thread builds it from the link's ring (one copy of the valid bytes). The
 * publisher sends it without another copy. It returns to the pool when the last reference is gone.
 *
 *   pool -> capture fills -> [queue] -> publisher holds while a reserved consumer has not acknowledged
 *        -> settled -> [queue] -> capture charges the ledger, releases the ring's buffers
 *   every ZeroMQ message that carries it holds a reference; the last block_put() returns it
 *
 * block_put() may be called on any thread (ZeroMQ's free hook); everything else of a block belongs
 * to the thread that holds it. The pool outlives the ZeroMQ context.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "schemas/fcm_data.h"
#include "tdm/blocks/block.h"

#define GROUPS_MAX 4u /* groups of reserved consumers */

/* The outcome of a block for one group of reserved consumers. */
enum outcome {
	OUTCOME_NOT_OFFERED = 0, /* the group does not take this stream */
	OUTCOME_ACKED = 1,
	OUTCOME_DROP_NO_MEMBER = 2, /* no member was connected, or it left before it had it */
	OUTCOME_DROP_SLOW = 3,	    /* members there, too slow for the group's share of the ring */
	OUTCOME_DROP_SHUTDOWN = 4,  /* in flight at a stop, and its ring was not taken over */
	OUTCOME_DROP_POOL = 5,	    /* no block memory left: the oldest blocks that held it paid */
	OUTCOME_DROP_NO_TIME = 6,   /* without a label: the TriDAS feed withholds it */
	OUTCOMES = 7,
};
/* "not-offered", "acknowledged", "no-member", "slow", "shutdown", "pool", "no-time". */
const char *outcome_name(enum outcome outcome);

/* A dropped block, as the operator sees it. */
struct block_drop {
	uint8_t tower, floor, stream, outcome; /* outcome 0: none yet */
	uint64_t first_frame, frames;
	uint64_t at_ns; /* CLOCK_MONOTONIC */
};

static inline struct block_drop block_drop(const struct fcm_block_header *h, enum outcome outcome,
					   uint64_t now_ns)
{
	return (struct block_drop){h->tower,	   h->floor,  h->stream, (uint8_t)outcome,
				   h->first_frame, h->frames, now_ns};
}

/* Status of a group of reserved consumers, as the publisher shows it; the feed is one, too. */
struct group_status {
	char name[32];
	uint8_t streams;
	unsigned members; /* alive */
	enum fcm_policy policy;
	uint64_t offered, acked, in_flight, waiting; /* blocks */
	uint64_t acked_bytes;			     /* payload */
	uint64_t in_flight_bytes, waiting_bytes;     /* memory */
	uint64_t held_bytes, budget_bytes; /* memory: of both, and of dropped blocks still owed */
	double blocks_per_s, bytes_per_s;  /* acknowledged, over the last second */
	uint64_t dropped[OUTCOMES];	   /* blocks */
	uint64_t dropped_frames[OUTCOMES];
	uint64_t beyond;       /* blocks of them dropped at the limit, against the policy */
	uint64_t disconnected; /* members disconnected as too slow */
	uint64_t oldest_ns;    /* age of the oldest unsettled block */
	struct block_drop last_drop;
};

struct block_pool;

/* The block as a message to a member of a group: what ZeroMQ's free hook gets (router.h). */
struct block_loan {
	struct block *block;
	_Atomic uint64_t *bytes; /* of the group, counted down when the message is let go of */
};

STAILQ_HEAD(block_list, block);
struct block {
	struct fcm_block_header header; /* as it is sent */
	uint8_t *payload;
	size_t capacity;
	uint64_t order;	       /* of all blocks of this link, 0, 1, ...: settled in any order */
	uint64_t end_count;    /* board count behind the last cell it was made from */
	uint64_t monotonic_ns; /* when its last frame was handed over by the board */
	uint8_t already[GROUPS_MAX];  /* capture: group had acknowledged it before a restart */
	uint8_t outcome[GROUPS_MAX];  /* publisher: enum outcome, all set when settled */
	void *publisher;	      /* the publisher's own */
	STAILQ_ENTRY(block) returned; /* publisher: settled, on its way back */
	uint8_t holders;	      /* publisher: who has not settled it yet, groups and feed */
	struct block_loan loan[GROUPS_MAX]; /* publisher: set before the first message */
	struct block_pool *pool;
	_Atomic int references;
	_Atomic(struct block *) next_free;
};

/* `bytes`: the pool's whole budget; memory is touched when first used. NULL when out of memory. */
struct block_pool *block_pool_create(size_t bytes);
void block_pool_destroy(struct block_pool *p); /* all blocks must be back */
/* A block with room for `capacity` bytes and one reference; NULL when the budget is used up. One
 * thread (capture). */
struct block *block_get(struct block_pool *p, size_t capacity);
void block_hold(struct block *b);
void block_put(struct block *b); /* any thread */
size_t block_pool_in_use(const struct block_pool *p);
/* Memory of a block, as pool and budgets count it. */
static inline size_t block_cost(const struct block *b)
{
	return sizeof(*b) + b->capacity;
}
