/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of members of groups: joined, gone and why, back. They come from comparing two successive states of the
 * publisher; a member that comes and goes between them is not seen. At most MEMBER_EVENTS_A_MINUTE events are made in a
 * minute; the next one says how many were left out. No I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/publish/publisher.h"

#define MEMBER_EVENTS_A_MINUTE 10u

struct member_events {
	struct member_status seen[MEMBERS_MAX];	      /* last state, row by row */
	uint64_t reported_ns[MEMBER_EVENTS_A_MINUTE]; /* CLOCK_MONOTONIC; 0: free */
	uint64_t reported, left_out;
};

struct member_event {
	char group[32];
	char text[160]; /* "member trigger-1 is gone: ..." */
};

/* The next change since the last state; false: there is no more. `quiet`: soon after our own start a member that joins was
 * there before, and is no event. A member that its group's policy has disconnected is no event here: see
 * consumer-disconnected. */
bool member_events_next(struct member_events *c, const struct publisher_status *now, bool quiet,
			uint64_t now_ns, struct member_event *ret_event);

/* For a group without a member: the last member, if it is silent and has not left:
 * "trigger-1 has been silent since 2026-11-22 18:36:54 UTC". False: there is none. `now_ns` (CLOCK_MONOTONIC) and
 * `utc_ns` are the same moment. */
bool member_events_silent(const struct publisher_status *now, const char *group, uint64_t now_ns,
			  int64_t utc_ns, char *text, size_t size);
