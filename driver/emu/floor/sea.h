/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The water around one emulated floor: its temperature, and the light at each optical module. Light is a
 * factor on the module's quiet rate (1 = 40K decays and dark counts). To it are added slow noise of some per
 * cent, short bioluminescence flashes (each module sees another part of a flash), and a burst that the
 * scenario orders (the same for all modules).
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
