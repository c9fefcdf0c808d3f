/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Positions: see geometry.h. */
#include "driver/emu/floor/geometry.h"

#include <math.h>

#define TOWERS_APART_M	 180.0
#define TOWERS_IN_ROW	 4u
#define FLOOR_0_M	 20.0 /* above the sea bed */
#define FLOORS_APART_M	 20.0
#define HEADING_STEP_DEG 47.0 /* from a floor to the next */
#define BAR_END_M	 4.0
#define LOOKS_DOWN_M	 0.5
#define HYDROPHONE_END_M 5.0
#define HYDROPHONE_UP_M	 0.3
#define DEGREE		 (M_PI / 180)

/* Around a tower's foot. The first LED stands on the sea bed, the others hang at the tower between two
 * floors. The pingers surround it. */
static const struct position leds[GEOMETRY_LEDS] = {
	{12, 5, 2},
	{2, 0, 70},
	{2, 0, 150},
	{2, 0, 230},
};
static const struct position pingers[GEOMETRY_PINGERS] = {
	{300, 20, 3},
	{-40, 280, 6},
	{-310, -30, 2},
	{50, -290, 9},
};

static struct position moved(struct position p, struct position by)
{
	return (struct position){p.x + by.x, p.y + by.y, p.z + by.z};
}

struct position geometry_tower(unsigned tower)
{
	const unsigned n = tower > 0 ? tower - 1 : 0;
	const unsigned column = n % TOWERS_IN_ROW, row = n / TOWERS_IN_ROW;

	return (struct position){column * TOWERS_APART_M, row * TOWERS_APART_M, 0};
}

struct position geometry_floor(unsigned tower, unsigned floor)
{
	return moved(geometry_tower(tower),
		     (struct position){0, 0, FLOOR_0_M + FLOORS_APART_M * floor});
}

double geometry_heading_deg(unsigned floor)
{
	return HEADING_STEP_DEG * floor;
}

/* A place `along` metres from the middle of the bar, towards its heading. */
static struct position on_bar(unsigned tower, unsigned floor, double along, double up)
{
	const double heading = geometry_heading_deg(floor) * DEGREE;

	return moved(geometry_floor(tower, floor),
		     (struct position){along * sin(heading), along * cos(heading), up});
}

struct position geometry_module(unsigned tower, unsigned floor, unsigned module)
{
	const unsigned pair = module / 2;

	return on_bar(tower, floor, BAR_END_M * (pair - 1.0), module % 2 ? -LOOKS_DOWN_M : 0);
}

struct position geometry_hydrophone(unsigned tower, unsigned floor, unsigned hydrophone)
{
	return on_bar(tower, floor, hydrophone ? HYDROPHONE_END_M : -HYDROPHONE_END_M,
		      HYDROPHONE_UP_M);
}

struct position geometry_led(unsigned tower, unsigned led)
{
	return moved(geometry_tower(tower), leds[led]);
}

struct position geometry_pinger(unsigned tower, unsigned pinger)
{
	return moved(geometry_tower(tower), pingers[pinger]);
}

double geometry_distance_m(struct position a, struct position b)
{
	return sqrt((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) +
		    (a.z - b.z) * (a.z - b.z));
}
