/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The least that a demultiplexer of these frames can do with the libraries that this one has: of every
 * frame isa-l's CRC-32C, of every slot the one copy of what is valid, of every hit its place. No header
 * is looked at, no order, no time, no half hit, and what was made carries no checksum. Its time over
 * memcpy's is a bound on what this machine lets anybody reach.
 */
#pragma once

#include "tests/bench/sea_frames.h"

#define LEAST_HITS    4096u /* places that are kept */
#define LEAST_BUFFERS 8u

struct least {
	const struct sea_frames *set;
	unsigned turn;		   /* buffers of a link in one go, at most LEAST_BUFFERS */
	uint8_t *to;		   /* a block of frames */
	uint32_t hits[LEAST_HITS]; /* where the last ones begin, in their slot */
	uint64_t bad, found;	   /* wrong checksums; hits */
};

/* All frames of the set once. */
void least_lap(struct least *l);
