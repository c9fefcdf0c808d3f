/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fibre pair from the shore to one floor, 80 to 100 km: delay, attenuation, phase. It carries the
 * downstream frames; the upstream ones need no store, because a floor is run at the step at which
 * its frame arrives on shore (see world.c).
 *
 *   round trip = whole frames x 125 us + bytes x 12.5 ns + phase
 *
 * The phase drifts with the water's temperature (33 ps per km and K, both ways; SOURCES.md), wanders a little
 * and jitters by 20 ps rms a measurement.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/emu/floor/floor.h"
#include "driver/emu/common/rng.h"
#include "driver/emu/world/world.h"

#define FIBRE_RING 16u

struct fibre {
	struct rng rng;
	struct floor *floor; /* at its end; not owned */
	double length_km;
	bool plugged;
	int64_t base_ps; /* round trip at rest, without slips */
	double phase_ps; /* slow part on top: temperature, drift, wander */
	double wander_ps, drift_ps, drift_ps_per_s;
	double power_nw; /* at the far end */
	uint32_t slow_ms;
	uint32_t down_bad; /* downstream frames still to be damaged */
	struct {
		uint64_t step;
		bool used;
		struct floor_down down;
	} ring[FIBRE_RING];
};

void fibre_init(struct fibre *f, uint64_t seed, unsigned index, double length_km);
void fibre_slow(struct fibre *f); /* a millisecond */

/* Cell borders from a downstream frame's departure to the arrival of the answer's frame: the round
 * trip, rounded up to the receiver's grid. */
unsigned fibre_delay(const struct fibre *f);
/* The way down alone, with the slow part of the phase. */
int64_t fibre_down_ns(const struct fibre *f);
/* A downstream frame leaves at `step`; NULL: no light. */
void fibre_send(struct fibre *f, uint64_t step, const uint8_t *frame);
/* What the floor receives of the frame that left at `step`. */
const struct floor_down *fibre_received(const struct fibre *f, uint64_t step);
/* Everything under way is lost. */
void fibre_cut(struct fibre *f);

/* One measurement of phase and round trip, with `slip_bits` of misalignment, into ret_fibre. */
void fibre_measure(struct fibre *f, unsigned slip_bits, struct world_fibre *ret_fibre);
