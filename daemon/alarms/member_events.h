/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The members of groups as an operator is told of them: who has come, who is gone and why, who is back. From
 * one look at the publisher's members to the next; who comes and goes between two looks is not seen. At most
 * MEMBER_EVENTS_A_MINUTE are told in a minute, whatever a consumer does; what was left out is counted in the next.
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/publish/publisher.h"

#define MEMBER_EVENTS_A_MINUTE 10u

struct member_events {
	struct member_status seen[MEMBERS_MAX];	  /* at the last look, row by row */
	uint64_t told_ns[MEMBER_EVENTS_A_MINUTE]; /* CLOCK_MONOTONIC; 0: free */
	uint64_t told, left_out;
};

struct member_event {
	char group[32];
	char text[160]; /* "member trigger-1 is gone: ..." */
};

/* The next change since the last look; false: there is no more. `quiet`: it is taken for granted (after our
 * own start). One that its group's policy has sent away is told elsewhere, with what it means. */
bool member_events_next(struct member_events *c, const struct publisher_status *now, bool quiet,
			uint64_t now_ns, struct member_event *ret_coming);

/* Of a group without a member: who was there last, if it did not leave but gives no sign of life any more:
 * "trigger-1 has been silent since 2026-11-22 18:36:54 UTC". False: nobody like that. Now is `now_ns`
 * (CLOCK_MONOTONIC), which is `utc_ns`. */
bool member_events_silent(const struct publisher_status *now, const char *group, uint64_t now_ns,
			  int64_t utc_ns, char *text, size_t size);
