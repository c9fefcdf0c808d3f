/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The truth file: what the floors really sent, one binary record per link and step, for comparing
 * with what arrived. Little-endian, a head of 128 bytes, then records of record_bytes: 128, more in a
 * later version (schemas/VERSIONS.md); reserved bytes are 0. Where the sea has beacons, a record has 224
 * bytes: struct truth_light follows struct truth_record.
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

/* What became of light at a module, or of sound at a hydrophone. */
enum truth_outcome {
	TRUTH_NOTHING, /* none arrived in this frame */
	TRUTH_HIT, /* a hit, in the module's FIFO: it leaves in a later frame, and is lost with that */
	TRUTH_DIM,  /* too few photo-electrons for the threshold, or none */
	TRUTH_OFF,  /* no power or no HV */
	TRUTH_BUSY, /* another pulse was being digitised: the light is part of that */
	TRUTH_FULL, /* no room in the FIFO */
	TRUTH_AWAY, /* the FCM boots */
};

/*
 * Light of an LED beacon's flash and sound of a pinger that arrives in the floor's frame. A flash whose
 * light comes around the end of a frame is in two records, each with its own modules. A hit's time is
 * that of its light: it is in the 5 ns in which the light arrives, at
 * flash_tai_ns + (travel_ps + spread_ps) / 1000 of true time.
 */
struct truth_light {
	int64_t flash_tai_ns; /* when the LED flashed; 0: no flash, and the fields of light are 0 */
	int64_t ping_tai_ns;  /* when the pinger sounded; 0: no ping begins here */
	uint32_t travel_ps[6]; /* module's distance / group velocity; 0: in another frame */
	int16_t spread_ps[6];  /* what of the LED's pulse and the PMT makes it later */
	uint16_t electrons[6]; /* photo-electrons; 65535: or more */
	uint8_t light[6];      /* enum truth_outcome, by module */
	uint8_t led;
	uint8_t pinger;
	uint8_t sound[2]; /* enum truth_outcome, by hydrophone; TRUTH_HIT: it is in the samples */
	uint8_t reserved[6];
	uint32_t sound_ns[2]; /* hydrophone's distance / speed of sound; 0: in another frame */
	uint64_t reserved2;
};
_Static_assert(sizeof(struct truth_head) == 128, "truth head");
_Static_assert(sizeof(struct truth_record) == 128, "truth record");
_Static_assert(sizeof(struct truth_light) == 96, "truth light");
