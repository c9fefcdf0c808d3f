/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where things are in the emulated sea, and how fast light and sound are there. OURS, not the
 * experiment's: published are the six modules and two hydrophones of a floor and the 20 m between
 * floors (SOURCES.md); everything else is a plausible choice.
 *
 * Positions are in metres: x to the east, y to the north, z upwards from the sea bed. Every tower has
 * beacons of its own, at the same places around it.
 *
 *   a floor's bar, seen from the side:      h0            h1     hydrophones, 0.3 m above it
 *                                            =============       -5 .. +5 m, towards its heading
 *                                           0      2      4      look sideways
 *                                           1      3      5      look down, 0.5 m below
 */
#pragma once

#define GEOMETRY_LEDS	 4u /* LED beacons of a tower */
#define GEOMETRY_PINGERS 4u /* its acoustic beacons */

#define GEOMETRY_DEPTH_M 3500.0 /* of the sea bed */

/* Blue light, 470 nm: group index 1.38, absorption length 60 m. */
#define GEOMETRY_LIGHT_M_PER_NS (0.299792458 / 1.38)
#define GEOMETRY_ABSORPTION_M	60.0
/* Of sound at this depth. */
#define GEOMETRY_SOUND_M_PER_S 1545.0

struct position {
	double x, y, z;
};

/* Foot of a tower: they stand 180 m apart, four in a row; tower 1 is at the origin. */
struct position geometry_tower(unsigned tower);
/* Middle of a floor's bar. */
struct position geometry_floor(unsigned tower, unsigned floor);
/* Where the bar points: degrees from north to east, not reduced to a turn. The ropes let it swing by
 * 1.5 degrees, which the compass shows and positions do not contain. */
double geometry_heading_deg(unsigned floor);

struct position geometry_module(unsigned tower, unsigned floor, unsigned module);
struct position geometry_hydrophone(unsigned tower, unsigned floor, unsigned hydrophone);
struct position geometry_led(unsigned tower, unsigned led);
struct position geometry_pinger(unsigned tower, unsigned pinger);

double geometry_distance_m(struct position a, struct position b);
