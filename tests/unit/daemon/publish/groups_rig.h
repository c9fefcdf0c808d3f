/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks, and scripts of events with what must come out of each, for the tests of the groups. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "daemon/publish/groups.h"

#define BLOCK_FRAMES 800u  /* two blocks a slice */
#define BLOCK_MEMORY 1000u /* bytes, as a group's budget counts them */
#define LARGE_MEMORY 3500u

/* Bytes that are allocated, of anything in this program. */
size_t groups_rig_memory(void);
struct groups *groups_rig_make(const struct groups_config *config);
/* The index-th block of a link and stream; the caller frees it. */
struct block *groups_rig_block(unsigned link, unsigned index, unsigned stream);
struct fcm_ack groups_rig_ack(unsigned link, unsigned index, unsigned stream);

/*
 * Events: "hello NAME GROUP CREDIT", "leave NAME", "offer L.N" (L.Nh: hydrophone; L.N*: the first group
 * had acknowledged it before), "ack NAME L.N", "tick MS", "alive NAME MS", "pool", "shutdown", "full NAME"
 * (the next send to it fails), "large L.N" (a block of LARGE_MEMORY).
 * Expected: "NAME:L.N" sent, "NAME:L.N!" sent again, "-NAME" told that it is too slow, "=L.N/FIRST,SECOND"
 * settled, with the outcome of the first and the second group.
 */
struct groups_step {
	const char *event, *expected;
};
/* Steps up to one without event; then everything is shut down and must come back. */
void groups_script(const struct groups_config *config, const struct groups_step *steps);
