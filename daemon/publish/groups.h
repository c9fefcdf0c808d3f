/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The groups of reserved consumers: which member gets which block, which acknowledgements are
 * outstanding, and which blocks are dropped when they take too long (groups_policy.c). A state
 * machine without I/O, clock or thread: the functions below are its inputs, groups_next() returns
 * the actions. The publisher thread owns it.
 *
 *   offered -> WAITING -> FLIGHT -> acknowledged
 *                 ^         |  \--> dropped (the member keeps owing its acknowledgement: a zombie)
 *                 '---------'
 *              member left or died
 *
 * Invariants
 * - A block has exactly one outcome per group, in block->outcome[], and is settled exactly once, when it
 *   has all of them.
 * - Inside a group a block is with one member at a time.
 * - All blocks of a slice go to one member, as long as it lives. New slices go to the live member with
 *   the most free credit, in turn when equal.
 * - A member has at most `credit` unacknowledged blocks, including those dropped meanwhile: messages for
 *   a stalled member cannot pile up.
 * - A group holds a link's ring back by at most limit_frames, and with drop-oldest by hold_frames:
 *   counted from the oldest block it has not settled to the newest offered, because these keep the ring's
 *   buffers; the newest block alone is always kept.
 * - The blocks that a group holds, or has not acknowledged, have at most budget_bytes, or one block more.
 *   The unacknowledged ones have at most 3/4 of it: no more are sent until some are acknowledged.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/publish/status.h"

#define GROUPS_CREDIT_MAX 1024u /* blocks */

struct groups;

struct groups_config {
	unsigned groups; /* 0..GROUPS_MAX */
	struct group_config group[GROUPS_MAX];
	uint64_t dead_ns; /* silence after which a member is dead */
};

enum groups_action_type {
	GROUPS_SEND = 1,    /* send `block` to `member`, flagged if `resent` */
	GROUPS_SETTLED = 2, /* `block` has all its outcomes: return it */
	GROUPS_EXPEL = 3,   /* `member` is not a member any more: send it ERROR too-slow */
};
struct groups_action {
	enum groups_action_type type;
	struct block *block;
	unsigned member, group; /* SEND: its number, and its group's */
	bool resent;		/* it may have been received before */
};

enum groups_ack_result {
	GROUPS_ACKED,
	GROUPS_ACK_LATE,    /* it was dropped meanwhile: counted, not delivered */
	GROUPS_ACK_UNKNOWN, /* repeated, or never sent to this member */
};

/* NULL when out of memory. */
struct groups *groups_create(const struct groups_config *config);
/* Blocks that are still held are forgotten; they stay the caller's. */
void groups_destroy(struct groups *g);

/*
 * A consumer asks to become a member of `group`. `*ret_member` (0..MEMBERS_MAX - 1) is its number
 * from now on. A live member of the same name starts again: its blocks go to others, or to itself.
 * -ENOENT: no such group. -EINVAL: name empty or too long, credit 0 or above GROUPS_CREDIT_MAX.
 * -EUSERS: MEMBERS_MAX live members are there.
 */
int groups_hello(struct groups *g, const char *name, const char *group, uint32_t credit,
		 uint64_t now_ns, unsigned *ret_member);
/* A sign of life. */
void groups_seen(struct groups *g, unsigned member, uint64_t now_ns);
enum groups_ack_result groups_ack(struct groups *g, unsigned member, const struct fcm_ack *ack);
/* It sent BYE or is dead: its blocks go to others. Its row stays for the status. */
void groups_leave(struct groups *g, unsigned member);
bool groups_alive(const struct groups *g, unsigned member);
const char *groups_member_name(const struct groups *g, unsigned member);

/* A new block. Its outcomes and its `publisher` pointer are ours until it is settled. -ENOMEM: no memory to
 * keep its account, so it is not taken; its outcomes are set, every group that takes it is charged DROP_POOL. */
int groups_offer(struct groups *g, struct block *b);
/* Time passes: members silent for dead_ns die. Blocked members (groups_unsent) may try again. */
void groups_tick(struct groups *g, uint64_t now_ns);
/*
 * Capture found the pool empty: drop the oldest blocks that no member has received yet, for all
 * groups that wait for them, because this frees memory. If there are none, blocks that have been on
 * their way for longer than limit_frames are dropped: this frees no memory, but the ring, which is
 * not checked while no block is offered.
 */
void groups_pool_empty(struct groups *g);
/* The oldest of what groups_pool_empty() would drop: its monotonic_ns (UINT64_MAX: nothing). */
uint64_t groups_pool_oldest_ns(struct groups *g);
/* The end: all blocks still held are dropped, as OUTCOME_DROP_SHUTDOWN. See publisher_stop(). */
void groups_shutdown(struct groups *g);

/* The next action; false: none. The caller carries it out before the next call of any function
 * here; for the groups it has already happened. */
bool groups_next(struct groups *g, struct groups_action *ret_action);
/* The GROUPS_SEND just handed out could not be carried out: the block waits again, as if it had not
 * been sent; the member gets nothing until its next acknowledgement or the next tick. */
void groups_unsent(struct groups *g, const struct groups_action *send);

/* Blocks that are not settled. */
uint64_t groups_held(const struct groups *g);
const struct group_config *groups_config_of(const struct groups *g, unsigned member);
/* Fill the groups' and members' part of the status and the acknowledgement counters. */
void groups_get_status(const struct groups *g, uint64_t now_ns,
		       struct publisher_status *ret_status);
