/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A floor: the floor control module (FCM) with its six optical modules, two hydrophones, compass and
 * an instrument, in its own region of the sea.
 *
 *   downstream frame --> time word, slow-control words --> control (control.c)
 *   modules' FIFOs, samples, replies, telemetry --> upstream frame, sealed
 *
 * It runs on the downstream clock: one floor_frame() per frame period of its own. Its frame number is
 * the one it receives; without light it continues to count by itself. So the label of its frame is that
 * of the shore when the downstream frame left, and the frame begins later, by the fibre's delay down. The
 * floor does not know this true time; what reaches it from beacons comes at true time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/emu/floor/beacon.h"
#include "driver/emu/floor/hydrophone.h"
#include "driver/emu/floor/pulse.h"
#include "driver/emu/common/truth.h"
#include "tdm/frame.h"
#include "tdm/word.h"

struct floor;

struct floor_config {
	uint8_t tower, floor;
	bool cold;	      /* modules begin without power */
	uint64_t wrap_frames; /* counters wrap after these, those of events with the next; 0: after
			       * days and years */
	bool full;	      /* all slots full */
	double quiet_rate_hz; /* per module */
	uint32_t fifo_bytes;
	bool hash; /* fill the hashes of truth records */
	uint64_t seed;
	const struct beacons *beacons; /* outlive the floor; NULL: the sea has none */
	/* A WRITE or ACTION was decided: `w` is the request, `status` and `value` its outcome. */
	void (*executed)(void *context, uint8_t floor, const struct word *w, int status,
			 int32_t value);
	void *context;
};

struct floor *floor_create(const struct floor_config *config, const struct pulse_tables *pulses,
			   const struct hydrophone_tables *sound);
void floor_destroy(struct floor *f);

/* As much of a downstream frame as a floor looks at. */
#define FLOOR_DOWN_BYTES 456u
struct floor_down {
	bool lit;  /* light, and words in it */
	bool good; /* whole frame with its CRC right: header and bytes below are good */
	uint32_t rx_power_nw;
	struct tdm_header header;
	uint8_t bytes[FLOOR_DOWN_BYTES];
};

/* A millisecond passes. */
void floor_slow(struct floor *f);

/*
 * A frame period: receive `down`, build and seal the upstream frame at `frame` (10 000 bytes).
 * Fills tower, floor, flags, hits, hits_lost and hashes of the truth record, the rest is the
 * caller's; where there are beacons its tai_ns is used: the true time of the frame's start. Returns the floor's own frame number, 0..7999; the one in the header may be false
 * (TRUTH_TIME). While the FCM is away (booting) nothing is built and floor_lit() is false.
 */
unsigned floor_frame(struct floor *f, const struct floor_down *down, uint8_t *frame,
		     struct truth_record *ret_truth);
/* What of the beacons' light and sound arrived in the last frame; zeros without beacons. */
const struct truth_light *floor_light(const struct floor *f);
/* Whether the FCM's laser is on. */
bool floor_lit(const struct floor *f);
/* The FCM has aligned its transmitter again since the last call (broadcast ALIGN). */
bool floor_take_align(struct floor *f);

/* What scenarios do to a floor. */
struct floor_faults {
	bool mute; /* takes no words */
	/* Of so many of the next: replies lost, sent twice, sent after the one behind; words refused;
	 * frames with a wrong number. */
	uint32_t lose, duplicate, reorder, refuse, time_faults;
	double lose_share; /* 0..1: of the replies, from now on */
};
struct floor_faults *floor_faults(struct floor *f); /* for writing */
void floor_boot(struct floor *f);
void floor_trip(struct floor *f, unsigned module);
void floor_storm(struct floor *f, double rate_hz, uint32_t ms);
void floor_temperature(struct floor *f, double celsius);
