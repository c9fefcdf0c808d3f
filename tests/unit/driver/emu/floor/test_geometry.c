/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Positions against numbers that another program computed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/emu/floor/geometry.h"

#define NEAR_M 1e-6

static void assert_at(struct position p, double x, double y, double z)
{
	if (fabs(p.x - x) > NEAR_M || fabs(p.y - y) > NEAR_M || fabs(p.z - z) > NEAR_M) {
		fail_msg("(%f, %f, %f), not (%f, %f, %f)", p.x, p.y, p.z, x, y, z);
	}
}

static void known_places(void **state)
{
	assert_at(geometry_tower(1), 0, 0, 0);
	assert_at(geometry_tower(4), 540, 0, 0);
	assert_at(geometry_tower(6), 180, 180, 0);
	assert_at(geometry_floor(1, 0), 0, 0, 20);
	assert_at(geometry_floor(6, 14), 180, 180, 300);
	assert_at(geometry_module(1, 1, 0), -2.925414806, -2.727993440, 40);
	assert_at(geometry_module(1, 2, 5), 3.990256201, -0.279025895, 59.5);
	assert_at(geometry_module(6, 3, 2), 180, 180, 80);
	assert_at(geometry_module(1, 4, 4), -0.556692404, -3.961072275, 100);
	assert_at(geometry_hydrophone(1, 1, 0), -3.656768508, -3.409991800, 40.3);
	assert_at(geometry_hydrophone(1, 4, 1), -0.695865505, -4.951340344, 100.3);
	assert_at(geometry_led(1, 0), 12, 5, 2);
	assert_at(geometry_led(6, 3), 182, 180, 230);
	assert_at(geometry_pinger(1, 2), -310, -30, 2);
}

static void distances(void **state)
{
	const struct position a = {1, 2, 3}, b = {4, 6, 15};

	assert_true(geometry_distance_m(a, b) == 13);
	assert_true(geometry_distance_m(b, a) == 13);
	assert_true(geometry_distance_m(a, a) == 0);
	assert_true(fabs(geometry_distance_m(geometry_led(1, 0), geometry_module(1, 1, 0)) -
			 41.551051608) < NEAR_M);
	assert_true(fabs(geometry_distance_m(geometry_led(2, 3), geometry_module(2, 4, 0)) -
			 130.068340615) < NEAR_M);
	assert_true(fabs(GEOMETRY_LIGHT_M_PER_NS - 0.217240912) < 1e-9);
}

/* Every tower has its beacons at the same places around it. */
static void towers_are_alike(void **state)
{
	for (unsigned tower = 2; tower < 128; tower++) {
		for (unsigned i = 0; i < GEOMETRY_LEDS; i++) {
			const double d = geometry_distance_m(geometry_led(tower, i),
							     geometry_module(tower, 3, 5));
			const double first =
				geometry_distance_m(geometry_led(1, i), geometry_module(1, 3, 5));

			assert_true(fabs(d - first) < NEAR_M);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_places),
		cmocka_unit_test(distances),
		cmocka_unit_test(towers_are_alike),
	};

	return cmocka_run_group_tests_name("geometry", tests, NULL, NULL);
}
