/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the publisher share with those who configure it and show it: the configuration of
 * a group, and the status.
 */
#pragma once

#include "daemon/data/block.h"
#include "daemon/feed/feed.h"
#include "daemon/net/door.h"

#define MEMBERS_MAX	 16u
#define PEER_ADDRESS_MAX 64u /* with its 0 */

struct group_config {
	char name[32];
	uint8_t streams;      /* bit mask of enum fcm_stream */
	uint64_t hold_frames; /* its share of a link's ring: beyond, its policy applies */
	enum fcm_policy policy;
	/* of a link's ring: beyond, the oldest are dropped whatever the policy; 0: none */
	uint64_t limit_frames;
	/* memory of blocks for it: its policy applies from 3/4, and beyond all of it the oldest are
	 * dropped; 0: none */
	uint64_t budget_bytes;
};

enum member_state {
	MEMBER_LEFT, /* sent BYE, or its connection ended */
	MEMBER_ALIVE,
	MEMBER_SILENT,	 /* no sign of life */
	MEMBER_TOO_SLOW, /* policy disconnect */
	MEMBER_STATES
};
/* "left", "alive", "silent", "too-slow". */
const char *member_state_name(enum member_state state);

struct member_status {
	char name[48];
	char group[32];
	char address[PEER_ADDRESS_MAX]; /* where its last HELLO came from: "127.0.0.1:43210" */
	enum member_state state;
	uint32_t credit, in_flight; /* blocks; dropped ones that it still owes among them */
	uint64_t in_flight_bytes;   /* memory of them */
	uint64_t oldest_ns;	    /* age of the oldest block it has and that counts; 0: none */
	uint64_t delivered, delivered_bytes; /* acknowledged blocks, payload */
	double blocks_per_s, bytes_per_s;    /* of them, over the last second */
	uint64_t redelivered;		     /* blocks that it got from a dead member */
	uint64_t last_seen_ns;		     /* CLOCK_MONOTONIC */
};
/* The last HELLO that was refused because a member of that name lives. */
struct publisher_namesake {
	uint64_t count; /* of all of them */
	char name[48];
	char group[32];
	char member[PEER_ADDRESS_MAX], refused[PEER_ADDRESS_MAX];
};
struct publisher_status {
	uint64_t
		at_ns; /* CLOCK_MONOTONIC: the publisher's thread ran, some 100 ms ago. The watchdog looks at it */
	uint64_t blocks, monitor_blocks;
	uint64_t bad_messages;		 /* from consumers: malformed, unknown, too large */
	uint64_t hellos, refused_hellos; /* the first: of those that became members */
	struct publisher_namesake namesake;
	struct door_status door, monitor_door; /* the second: zeros without monitors */
	uint64_t late_acks;    /* of blocks that had been dropped meanwhile: not delivered */
	uint64_t unknown_acks; /* repeated, or of blocks that the member does not hold */
	unsigned members;
	unsigned groups;
	struct group_status group[GROUPS_MAX];
	struct member_status member[MEMBERS_MAX];
	bool has_feed; /* it is the last of the groups */
	struct feed_status feed;
};
