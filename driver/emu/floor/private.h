/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside a floor: shared by floor.c (frames, sensors), control.c (slow-control words) and arrivals.c
 * (what of the beacons arrives). */
#pragma once

#include "driver/emu/floor/floor.h"
#include "driver/emu/floor/pmt.h"
#include "driver/emu/floor/sea.h"
#include "tdm/registers.h"

#define OUTCOMES 256u /* remembered, WRITE and ACTION */
#define REPLIES	 64u  /* waiting for a frame */

struct outcome {
	uint32_t sequence; /* 0: empty */
	int32_t value;
	uint8_t status, module, reg;
};

struct control {
	struct outcome outcomes[OUTCOMES];
	uint32_t outcome_next;
	uint8_t replies[REPLIES][TDM_WORD_BYTES];
	uint32_t reply_count;
	uint32_t executed, rejected;
	uint8_t held[TDM_WORD_BYTES]; /* until the next reply has been put before it */
	bool holds;
};

/* The silence timer of tdm/registers.h. */
struct silence {
	bool on;
	int32_t limit_s;
	uint64_t frames; /* since the last valid word */
	int32_t fired;
	uint64_t fired_frames; /* since it fired last */
};

struct serial_port {
	uint8_t bytes[TDM_SERIAL_BYTES];
	uint8_t length, channel;
	uint16_t sequence;
};

struct floor {
	struct floor_config config;
	struct pmt *pmts[TDM_MODULES];
	struct hydrophone hydrophones[TDM_HYDROPHONES];
	struct sea sea;
	struct beacon_view view;
	struct truth_light light; /* of the current frame */
	struct control control;
	struct silence silence;
	struct rng rng; /* sensors */
	struct rng fault_rng;

	/* counting */
	uint32_t sequence;    /* of the next frame since boot */
	struct tdm_time time; /* of the current frame */
	uint32_t echo;
	uint16_t parity;
	uint8_t crc_errors, code_errors;
	uint32_t timing_sequence; /* last timing command obeyed */
	bool timing_seen, aligned_again;

	/* boots */
	uint32_t boot_count;
	uint64_t uptime_frames;
	uint32_t boot_in; /* frames until a commanded boot; 0 = none */
	uint32_t away;	  /* frames until the boot is over */

	/* sensors */
	uint32_t slow_ms;
	double temperature_mc, temperature_target_mc;
	struct tdm_telemetry telemetry;
	struct serial_port serial;
	uint32_t rx_power_nw;
	struct floor_faults faults;
};

/* Light of a beacon's flash that arrives in a frame, by module. */
struct arrivals {
	bool lit[TDM_MODULES]; /* whether there is any; else `light` is not valid */
	struct beacon_light light[TDM_MODULES];
};

/* What of the beacons arrives in the frame that begins at this TAI: light to be digitised, sound for the
 * hydrophones, and both in f->light. */
void arrivals_look(struct floor *f, int64_t tai_ns, struct arrivals *ret_arrivals);

/* Take the requests of a received frame; replies wait for the next upstream frame. */
void control_receive(struct floor *f, const uint8_t *down);
/* Put the waiting replies into the upstream frame. */
void control_send(struct floor *f, uint8_t *frame);
/* A frame period has passed, with or without requests: advance the silence timer. */
void control_frame(struct floor *f);
/* Boot: outcomes and waiting replies are forgotten, the silence timer is off. Also how a floor begins. */
void control_boot(struct floor *f);
uint32_t floor_power_mask(const struct floor *f);

/* Of a fault ordered so many times: whether this is one of them. */
static inline bool take_one(uint32_t *count)
{
	const bool taken = *count > 0;

	*count -= taken;
	return taken;
}
