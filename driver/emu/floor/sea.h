/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sea around one floor: its light and its temperature. The light is a factor on each module's rate; 1 is a quiet
 * sea (decays of 40K, and the dark counts of the module itself). It wanders by some per cent. Bioluminescence adds
 * short flashes, which some modules see more of than others; a scenario may add a storm of flashes.
 */
#pragma once

#include <stdint.h>

#include "driver/emu/common/rng.h"
#include "tdm/frame.h"

struct sea {
	struct rng rng;
	double wander;		    /* of the quiet light, around 0 */
	double flash;		    /* light on top, decaying */
	double weight[TDM_MODULES]; /* how much of a flash each module sees */
	double storm;		    /* ordered light, 0 = none */
	uint32_t storm_ms;
	uint32_t ms;
	int32_t temperature_mc;
};

void sea_init(struct sea *s, uint64_t seed, unsigned floor);
/* A millisecond passes. */
void sea_slow(struct sea *s);
/* Brightness at a module. */
double sea_light(const struct sea *s, unsigned module);
/* A burst of `light` times the quiet rate for `ms`. */
void sea_storm(struct sea *s, double light, uint32_t ms);
