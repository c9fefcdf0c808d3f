/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An optical module: one photomultiplier with its high voltage, discriminator and digitiser, and its
 * FIFO in the FCM. Hits come out of it as a byte stream; commands go in as registers
 * (tdm/registers.h).
 *
 * Two time scales: pmt_slow() every millisecond moves HV and temperature and decides the hit rate;
 * pmt_generate() and pmt_drain() run once a frame.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/emu/common/truth.h"

struct beacon_light;
struct floor_config;
struct pulse_tables;
struct pmt;

/* A module of the floor. NULL when out of memory or the FIFO is absurd. The tables must outlive the module. */
struct pmt *pmt_create(const struct floor_config *config, unsigned module,
		       const struct pulse_tables *tables);
void pmt_destroy(struct pmt *p);

/* A millisecond passes; `light` is the sea's brightness at this module (1 = quiet), `water_mc` its
 * temperature in m-degree C. */
void pmt_slow(struct pmt *p, double light, int32_t water_mc);

/* The hits born in frame `frame` (0..7999) go into the FIFO: the sea's, and that of the light of a flash
 * (NULL: there is none). Returns what became of the flash, an enum truth_outcome. */
uint8_t pmt_generate(struct pmt *p, unsigned frame, const struct beacon_light *light);

/* What of this module a frame carries: fills the module's slot in `cell`. */
struct pmt_share {
	uint16_t hits;	/* that start in this frame */
	uint16_t lost;	/* in the FIFO since the last frame */
	uint16_t bytes; /* of the slot in use */
	uint64_t hash;	/* XXH3 of those hits, 0 when none or not wanted */
};
void pmt_drain(struct pmt *p, uint8_t *cell, bool hash, struct pmt_share *ret_share);
bool pmt_powered(const struct pmt *p);

/* Registers and actions: enum word_status; *value in and out as tdm/registers.h says. */
int pmt_read(struct pmt *p, unsigned reg, int32_t *ret_value);
int pmt_write(struct pmt *p, unsigned reg, int32_t *value);
int pmt_action(struct pmt *p, unsigned action, int32_t *ret_value);
/* Off for 0.2 s, then on as before; the counter that will prove it. */
int pmt_power_cycle(struct pmt *p, int32_t *ret_value);

/* The set value becomes 0, and the HV ramps down. Returns whether it was above. */
bool pmt_ramp_down(struct pmt *p);

/* Scenario and FCM. */
void pmt_trip(struct pmt *p);
void pmt_age(struct pmt *p); /* its counters are near their wrap */
void pmt_boot(
	struct pmt *p); /* of the FCM: FIFO and counters are gone, power and set values stay */
