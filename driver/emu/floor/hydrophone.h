/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hydrophone: 192 kHz, 24 bits, 24 samples a frame. It records noise, two steady tones (pumps of the
 * infrastructure, OURS) and a ping every second, 5 ms at 32 kHz. Where the sea has no beacons, each floor
 * hears it at a fixed delay behind the second of its own label. Else hydrophone_sound() says when.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/emu/common/rng.h"

#define HYDROPHONE_HZ	   192000.0
#define HYDROPHONE_PING_HZ 32000.0
#define HYDROPHONE_PING_NS 5000000LL
#define HYDROPHONE_NO_PING 1e12

struct hydrophone_tables;
/* Sine and noise, shared by all; free() them. NULL when out of memory. */
struct hydrophone_tables *hydrophone_tables_create(void);

struct hydrophone {
	const struct hydrophone_tables *tables;
	struct rng rng, slow_rng; /* sound, read-back */
	unsigned index;		  /* 0..1 on its floor */
	bool powered;
	unsigned cycle_ms; /* until power comes back */
	int32_t gain;	   /* 0.1 dB */
	int32_t tone[2];   /* amplitudes in sample counts at this gain */
	int32_t ping, noise;
	uint32_t phase[3], step[3]; /* 32-bit turns: two tones, the ping's carrier */
	uint32_t ping_delay;	    /* samples behind the second */
	bool beacons;		    /* then pings are: */
	double ping_since;	    /* samples from its arrival to the start of the frame */
	double ping_loudness;
	uint32_t counter;  /* samples since boot */
	double square_sum; /* of the running second */
	uint32_t square_frames;
	int32_t rms;
};

void hydrophone_init(struct hydrophone *h, const struct hydrophone_tables *tables, uint64_t seed,
		     unsigned floor, unsigned index, bool cold);
/* Fill the hydrophone's slot of `cell` for frame 0..7999 of a second. Returns the XXH3 of the 96
 * sample bytes, or 0 when not wanted. */
uint64_t hydrophone_frame(struct hydrophone *h, uint8_t *cell, unsigned frame, bool hash);
void hydrophone_slow(struct hydrophone *h); /* a millisecond */
/* Before each frame, where there are beacons: a ping arrived `since_samples` before its start (negative:
 * it arrives later; HYDROPHONE_NO_PING), of a loudness where 1 is that without beacons. */
void hydrophone_sound(struct hydrophone *h, double since_samples, double loudness);

int hydrophone_read(struct hydrophone *h, unsigned reg, int32_t water_mc, int32_t *ret_value);
int hydrophone_write(struct hydrophone *h, unsigned reg, int32_t *value);
int hydrophone_power_cycle(struct hydrophone *h);
