/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a photomultiplier's pulse looks like when it is digitised: amplitude spectrum, waiting times
 * and ready-made hits. All tables, made once and shared by every module, so that a hit costs one
 * random number and one short copy.
 *
 * Numbers are OURS, chosen to be plausible for a 10-inch PMT read at 200 MHz: one photo-electron is
 * 30 mV at nominal HV (sigma 35 %), 2 mV a count, pedestal 8 counts, 40 samples a pulse.
 */
#pragma once

#include <stdint.h>

#include "driver/emu/common/rng.h"
#include "tdm/hit.h"

#define PULSE_QUANTILES 4096u
#define PULSE_PE_MV	30.0 /* one photo-electron at nominal HV */
#define PULSE_FRAGMENTS 4u
#define PULSE_BYTES	(PULSE_FRAGMENTS * HIT_MAX_BYTES)
/* A pulse's own start is when its light comes: the time in its first hit. Samples begin earlier. */
#define PULSE_PRE_SAMPLES 8u

/* A pulse as one or more hits, complete but for the identity and the time of each. */
struct pulse {
	uint16_t bytes; /* of all fragments */
	uint16_t ticks; /* 5 ns; the module is dead that long */
	uint8_t fragments;
	uint16_t offset[PULSE_FRAGMENTS]; /* of each hit in data */
	uint16_t tick[PULSE_FRAGMENTS];	  /* start of each after the pulse's own start */
	uint8_t data[PULSE_BYTES] __attribute__((aligned(16)));
};

struct pulse_tables;

/* free() them. NULL when out of memory. */
struct pulse_tables *pulse_tables_create(void);

/* The first quantile (0..PULSE_QUANTILES) whose amplitude passes `threshold_mv` at `gain` (1 =
 * nominal): the share of light pulses that become hits is 1 - q / PULSE_QUANTILES. */
uint32_t pulse_first_quantile(const struct pulse_tables *t, double gain, double threshold_mv);
/* log2(gain) in the steps that pulse_pick() wants. */
int pulse_gain_steps(double gain);
/* The pulse of a quantile; `variant` is any number. */
const struct pulse *pulse_pick(const struct pulse_tables *t, uint32_t quantile, int gain_steps,
			       uint32_t variant);
/* The pulse of an amplitude, up to 8 V: larger ones are cut by the converter all the same. */
const struct pulse *pulse_of(const struct pulse_tables *t, double amplitude_mv, uint32_t variant);
/* Mean bytes of a pulse's hits at nominal gain and the given threshold. */
double pulse_mean_bytes(const struct pulse_tables *t, double threshold_mv);

/* An exponential waiting time of mean 1, from the top 36 bits of `bits`. */
float pulse_wait(const struct pulse_tables *t, uint64_t bits);
