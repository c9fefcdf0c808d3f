/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sea: see sea.h. Depths of 3500 m keep 13.5 degrees within some millikelvin. */
#include "driver/emu/floor/sea.h"

#include <math.h>
#include <string.h>

#define STEP_MS	       10 /* the slow light moves this often */
#define WANDER_TAU_S   5.0
#define WANDER_SIGMA   0.03
#define FLASHES_HZ     0.05 /* one in 20 s */
#define FLASH_MAX      0.4  /* natural flashes stay below what the fibre carries */
#define FLASH_TAU_S    0.3
#define WATER_MC       13500.0
#define WATER_SWING_MC 3.0
#define WATER_PERIOD_S 1800.0

void sea_init(struct sea *s, uint64_t seed, unsigned floor)
{
	memset(s, 0, sizeof(*s));
	rng_seed(&s->rng, seed, RNG_SEA, floor, 0);
	for (unsigned m = 0; m < TDM_MODULES; m++) {
		s->weight[m] = 0.2 + 0.8 * rng_unit(&s->rng);
	}
	s->temperature_mc = (int32_t)WATER_MC;
}

static void move_light(struct sea *s)
{
	const double dt = STEP_MS * 1e-3;

	s->wander += -s->wander * dt / WANDER_TAU_S +
		     WANDER_SIGMA * sqrt(2 * dt / WANDER_TAU_S) * rng_normal(&s->rng);
	s->flash *= exp(-dt / FLASH_TAU_S);
	if (rng_unit(&s->rng) < FLASHES_HZ * dt) {
		s->flash = FLASH_MAX * rng_unit(&s->rng);
		for (unsigned m = 0; m < TDM_MODULES; m++) {
			s->weight[m] = 0.2 + 0.8 * rng_unit(&s->rng);
		}
	}
}

void sea_slow(struct sea *s)
{
	s->ms++;
	if (s->ms % STEP_MS == 0) {
		move_light(s);
		s->temperature_mc = (int32_t)lround(
			WATER_MC + WATER_SWING_MC * sin(2 * M_PI * s->ms * 1e-3 / WATER_PERIOD_S));
	}
	if (s->storm_ms > 0 && --s->storm_ms == 0) {
		s->storm = 0;
	}
}

double sea_light(const struct sea *s, unsigned module)
{
	return fmax(1 + s->wander + s->flash * s->weight[module] + s->storm, 0);
}

void sea_storm(struct sea *s, double light, uint32_t ms)
{
	s->storm = light;
	s->storm_ms = ms;
}
