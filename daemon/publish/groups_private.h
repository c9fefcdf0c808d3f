/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the groups: their structs. groups_entries.c stores blocks and entries, groups_policy.c
 * decides what is dropped, groups.c assigns blocks to members, groups_status.c reports.
 *
 * Per block one `struct tracked` with an `entry` per group. An entry that is WAITING or FLIGHT is in
 * the group's held list of its link and stream, in the order offered: the head is what holds the ring
 * back. It also is in its slice's waiting list, or in the list of the member that has it.
 *
 * Per group and slice one `struct slice`, in exactly one list:
 *
 *   member->ready      assigned, blocks wait for the member's credit    } sorted by age
 *   group->unassigned  no member, blocks wait                           }
 *   group->busy        nothing waits, blocks are in flight
 *   group->idle        nothing held; remembered, so that a late floor's blocks find the same member
 */
#pragma once

#include <sys/queue.h>

#include "daemon/data/rate.h"
#include "daemon/publish/groups.h"
#include "driver/nanet3.h"

#define SLICE_BUCKETS 128u
#define BLOCK_BUCKETS 4096u
#define NOBODY	      UINT8_MAX

enum entry_state { NOT_OFFERED, WAITING, FLIGHT, ZOMBIE, DONE };

struct tracked;
struct slice;

struct entry {
	struct tracked *of;
	struct slice *slice;
	uint8_t state; /* enum entry_state */
	uint8_t member;
	bool sent;	   /* to anybody, ever */
	uint64_t position; /* frames offered on this link and stream before it */
	TAILQ_ENTRY(entry) held;
	TAILQ_ENTRY(entry) next; /* WAITING: the slice's; FLIGHT, ZOMBIE: the member's, as sent */
};
TAILQ_HEAD(entry_list, entry);

struct tracked {
	struct block *block; /* NULL once settled: then only zombies keep this */
	struct fcm_ack key;
	uint64_t bytes;	  /* of memory */
	unsigned open;	  /* entries WAITING or FLIGHT */
	unsigned zombies; /* entries ZOMBIE */
	LIST_ENTRY(tracked) chain;
	TAILQ_ENTRY(tracked) next; /* settled list, free list */
	struct entry entry[GROUPS_MAX];
};
LIST_HEAD(tracked_chain, tracked);
TAILQ_HEAD(tracked_list, tracked);

struct slice {
	uint64_t key;
	uint64_t number; /* age: of all slices ever made */
	uint8_t member;	 /* or NOBODY */
	unsigned in_flight;
	struct entry_list waiting;
	struct slice_list *list; /* the one it is in */
	TAILQ_ENTRY(slice) next;
	LIST_ENTRY(slice) chain;
};
TAILQ_HEAD(slice_list, slice);
LIST_HEAD(slice_chain, slice);

struct member {
	struct member_status status; /* what changes with events; the rest when asked */
	bool used;
	bool blocked;  /* its pipe was full */
	bool to_expel; /* ERROR too-slow is to be sent */
	uint8_t group;
	uint64_t assigned; /* when it last got a new slice: for taking turns */
	struct rate rate;
	struct entry_list flights;
	struct slice_list ready;
};

/* What a group holds of a stream of a link. */
struct lane {
	struct entry_list held;
	uint64_t position; /* frames offered */
	/* position up to which no member is disconnected: a new one has work to catch up on */
	uint64_t spared_until;
};
#define LANES (NANET3_LINKS * FCM_STREAMS)

struct group {
	struct group_config config;
	struct group_status counts; /* what changes with events; the rest when asked */
	uint64_t owed_bytes;	    /* memory of zombies */
	struct rate rate;
	struct lane lane[LANES];
	struct slice_list unassigned, busy, idle;
	unsigned idle_slices;
	struct slice_chain slices[SLICE_BUCKETS];
};

struct groups {
	unsigned count;
	uint64_t dead_ns;
	uint64_t now_ns; /* of the last tick */
	unsigned to_expel;
	uint64_t slices_made, turns, held;
	uint64_t late_acks, unknown_acks;
	struct group group[GROUPS_MAX];
	struct member member[MEMBERS_MAX];
	struct tracked_list settled, free;
	struct tracked_chain chain[BLOCK_BUCKETS];
};

static inline struct lane *lane_of(struct group *group, const struct entry *e)
{
	return &group->lane[e->of->key.link * FCM_STREAMS + e->of->key.stream];
}

/* ---- groups_entries.c ---- */
struct tracked_chain *tracked_chain(struct groups *g, const struct fcm_ack *key);
bool key_equal(const struct fcm_ack *a, const struct fcm_ack *b);
struct tracked *tracked_new(struct groups *g, struct block *b);
void tracked_release(struct groups *g, struct tracked *t);
uint64_t slice_key(const struct fcm_block_header *h);
/* Something about the slice has changed: move it to the right list. */
void slice_place(struct groups *g, struct group *group, struct slice *s);
struct slice *slice_get(struct groups *g, struct group *group, uint64_t key);
struct group *entry_group(struct groups *g, const struct entry *e);
void entry_wait(struct groups *g, struct entry *e, bool at_head);
void entry_fly(struct groups *g, struct entry *e, uint8_t member);
/* Take a FLIGHT or ZOMBIE off its member's account. */
void entry_land(struct groups *g, struct entry *e);
/* The group has finished with the block. The caller has taken the entry off all lists but
 * `held`. */
void entry_settle(struct groups *g, struct entry *e, enum outcome outcome);
void group_count_drop(const struct groups *g, struct group *group, const struct block *b,
		      enum outcome outcome);
void member_end(struct groups *g, unsigned member, enum member_state why);
/* A WAITING or FLIGHT entry is dropped. */
void groups_drop_entry(struct groups *g, struct entry *e, enum outcome outcome);
/* End the membership, with ERROR too-slow. If the group has no other member, what it had
 * is dropped, else it goes to the others. */
void groups_expel(struct groups *g, struct member *m);

/* groups_policy.c: a block was offered to the group: is it within its share? */
void groups_judge(struct groups *g, struct group *group, struct entry *newest);
/* groups_policy.c: the oldest block of the group that is not settled. NULL: none. */
struct entry *groups_oldest(const struct group *group);
/* groups_policy.c: no member is disconnected before hold_frames more have come. */
void groups_spare(struct group *group);

/* groups_status.c: how much is acknowledged a second; at each tick. */
void groups_measure(struct groups *g, uint64_t now_ns);
