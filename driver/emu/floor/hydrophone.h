/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hydrophone: 192 kHz, 24 bits, 24 samples a frame. It records noise, two steady tones (pumps of the
 * infrastructure, OURS) and the ping of an acoustic beacon every second, 5 ms at 32 kHz, each floor
 * at a delay of its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/emu/common/rng.h"

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
	uint32_t counter;	    /* samples since boot */
	double square_sum;	    /* of the running second */
	uint32_t square_frames;
	int32_t rms;
};

void hydrophone_init(struct hydrophone *h, const struct hydrophone_tables *tables, uint64_t seed,
		     unsigned floor, unsigned index, bool cold);
/* Fill the hydrophone's slot of `cell` for frame 0..7999 of a second. Returns the XXH3 of the 96
 * sample bytes, or 0 when not wanted. */
uint64_t hydrophone_frame(struct hydrophone *h, uint8_t *cell, unsigned frame, bool hash);
void hydrophone_slow(struct hydrophone *h); /* a millisecond */

int hydrophone_read(struct hydrophone *h, unsigned reg, int32_t water_mc, int32_t *ret_value);
int hydrophone_write(struct hydrophone *h, unsigned reg, int32_t *value);
int hydrophone_power_cycle(struct hydrophone *h);
