/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Beacons: LEDs that flash and pingers that sound at exact times of TAI, at known places
 * (geometry.h), and what of that reaches a floor.
 *
 *   beacons_step(), once a step of the world --> what was emitted lately
 *   beacon_view, one a floor --> when and how strongly it arrives at each module and hydrophone
 *
 * The LEDs take turns. Each flash comes at a random moment, within a frame period of its turn, so that
 * light falls on all phases of a frame. The moments depend on the rate only: several emulators show the
 * same flashes. What a module sees of a flash depends on seed, flash, floor and module only. The pingers
 * take turns too, one at each second of TAI.
 *
 * Light arrives after distance / group velocity, later or earlier by BEACON_SPREAD_NS (sigma): 2 ns from
 * the LED's pulse, 1.5 ns from the transit time in the PMT. The mean number of photo-electrons falls with
 * the square of the distance and with absorption, the same for all directions; their number is a Poisson
 * variable. OURS; plausible figures.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/emu/floor/geometry.h"
#include "tdm/frame.h"

#define BEACON_SPREAD_NS 2.5
#define BEACON_HZ_MIN	 0.1
#define BEACON_HZ_MAX	 100.0 /* so flashes are 2 ms apart: a frame of a floor has light of one */
#define BEACON_FLASHES	 4u    /* remembered: floors are some frames behind the world */
#define BEACON_PINGS	 2u    /* sound is under way for less than a second */

struct flash {
	int64_t tai_ns;
	uint64_t number; /* since 1970, at this rate */
	uint8_t led;
};

struct ping {
	int64_t tai_ns;
	uint8_t pinger;
};

struct beacons {
	bool on;
	int64_t turn_ns; /* between the turns of two LEDs */
	struct flash next;
	/* The newest ones; the oldest is overwritten. */
	struct flash flashes[BEACON_FLASHES];
	struct ping pings[BEACON_PINGS];
	uint64_t flash_count, ping_count;
};

/* Beacons that are on; each LED flashes `hz` times a second, BEACON_HZ_MIN..BEACON_HZ_MAX. */
void beacons_init(struct beacons *b, double hz);
/* What is emitted in [from_ns, until_ns) of TAI; calls follow each other in time. While the beacons are
 * off, turns pass unused. */
void beacons_step(struct beacons *b, int64_t from_ns, int64_t until_ns);

/* The ways from the beacons of its tower to a floor. */
struct beacon_view {
	const struct beacons *beacons; /* NULL: there are none, and nothing else is valid */
	uint64_t seed;
	unsigned floor;	    /* tower x 64 + floor, the name in random numbers */
	int64_t seen_until; /* TAI ns: up to here light and sound have arrived */
	uint32_t light_ps[GEOMETRY_LEDS][TDM_MODULES];
	double electrons[GEOMETRY_LEDS][TDM_MODULES]; /* mean photo-electrons of a flash */
	uint32_t sound_ns[GEOMETRY_PINGERS][TDM_HYDROPHONES];
	double loudness[GEOMETRY_PINGERS][TDM_HYDROPHONES]; /* 1 at 300 m */
};

void beacon_view_init(struct beacon_view *v, const struct beacons *beacons, uint64_t seed,
		      unsigned tower, unsigned floor);

/* A frame of the floor, in true time. Windows of consecutive frames join without gap or overlap, also
 * when the fibre's delay moves by some ns between them. */
struct beacon_window {
	int64_t start_ns;	   /* TAI at the start of the frame: tick 0 */
	int64_t from_ns, until_ns; /* what arrives in [from, until) arrives in this frame */
};
void beacon_view_frame(struct beacon_view *v, int64_t start_ns, struct beacon_window *ret_window);

/* Light of a flash at a module. */
struct beacon_light {
	uint32_t tick;	    /* of 5 ns in the frame, when it arrives */
	uint32_t travel_ps; /* distance / group velocity */
	int32_t spread_ps;  /* arrival = flash + travel + spread */
	uint32_t electrons; /* photo-electrons */
	float charge;	    /* of them, in mean charges of one */
	uint32_t variant;   /* a random number, for the shape of the pulse */
};
/* The flash whose light may arrive in the window; NULL: none. */
const struct flash *beacon_flash(const struct beacon_view *v, const struct beacon_window *window);
/* Whether its light arrives at the module in the window. */
bool beacon_light(const struct beacon_view *v, const struct flash *flash, unsigned module,
		  const struct beacon_window *window, struct beacon_light *ret_light);

/* Sound of a ping at a hydrophone. */
struct beacon_sound {
	const struct ping *ping;
	uint32_t travel_ns;
	double since_ns; /* from its arrival to the start of the frame; negative: it arrives later */
	double loudness;
	bool arrives; /* in this window */
};
/* Whether a ping of `length_ns` is heard in the window; at most one is. */
bool beacon_sound(const struct beacon_view *v, unsigned hydrophone,
		  const struct beacon_window *window, int64_t length_ns,
		  struct beacon_sound *ret_sound);
