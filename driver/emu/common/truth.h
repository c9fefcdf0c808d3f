/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The truth file: what the floors really sent, one binary record per link and step, for comparing
 * with what arrived. Little-endian, a head of 128 bytes, then records of record_bytes: 128, more in a
 * later version (schemas/VERSIONS.md); reserved bytes are 0.
 *
 * A hit belongs to the frame it *starts* in. Hash = XXH3_64bits over the bytes of all hits that start
 * in that frame for that module, whole (their tails in the next frame included), in order, with
 * Seconds, Days and Years cleared as the FCM sends them; 0 when there is none. Sample hash =
 * XXH3_64bits over the 96 bytes of a hydrophone's samples.
 */
#pragma once

#include <stdint.h>

#define TRUTH_MAGIC   0x48545552u /* "RUTH" */
#define TRUTH_VERSION 2u

struct truth_head {
	uint32_t magic, version, record_bytes, links;
	uint64_t seed;
	int64_t tai_start_ns; /* TAI since 1970 of step 0 */
	uint8_t reserved[96];
};

/* flags */
#define TRUTH_CORRUPTED 0x1u /* bytes were damaged on the fibre: the CRC will be wrong */
#define TRUTH_UNALIGNED 0x2u /* alignment was destroyed here */
#define TRUTH_TIME	0x4u /* the frame's number was falsified */
#define TRUTH_FIFO_FULL 0x8u /* whole hits were lost in the FCM's FIFO in this frame */
#define TRUTH_BOOTED	0x10u

struct truth_record {
	uint64_t count;	      /* board count of the cell the frame begins in */
	uint64_t floor_frame; /* the floor's own frame on the board's count line */
	int64_t tai_ns;	      /* TAI since 1970 of the light at the start of the floor's frame: when
			       * the downstream frame that began it left the shore, plus the fibre's
			       * delay down when its frame arrives. No correction by the shore */
	uint8_t link, tower, floor;
	uint8_t fate; /* enum tdm_loss the world expects: GOOD, or why it cannot arrive */
	uint16_t flags;
	uint16_t hits_lost; /* hits lost in FIFOs, all modules */
	uint16_t hits[6];   /* that start in this frame */
	uint8_t reserved[4];
	uint64_t hit_hash[6];
	uint64_t sample_hash[2];
	uint64_t reserved2[2];
};
_Static_assert(sizeof(struct truth_head) == 128, "truth head");
_Static_assert(sizeof(struct truth_record) == 128, "truth record");
