/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Beacons: when they flash and sound (numbers of another program), how light and sound come to a floor,
 * and that the light near the border of a frame comes once. A floor in true time hears a ping where
 * distance and speed of sound say.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "driver/emu/floor/beacon.h"
#include "driver/emu/floor/floor.h"
#include "tdm/le.h"

#define START_NS 1780000037000000000LL /* a whole second in 2026 */
#define FRAME_NS 125000LL
#define SEED	 7u

static void step(struct beacons *b, unsigned frame)
{
	beacons_step(b, START_NS + frame * FRAME_NS, START_NS + (frame + 1) * FRAME_NS);
}

static void flashes_in_turn(void **state)
{
	static const int64_t wanted[] = {49002, 5002504, 10078839, 15001987, 20002562};
	struct beacons b;
	unsigned n = 0;

	beacons_init(&b, 50);
	for (unsigned frame = 0; frame < 8000; frame++) {
		const uint64_t before = b.flash_count;

		step(&b, frame);
		if (b.flash_count > before) {
			const struct flash *f = &b.flashes[before % BEACON_FLASHES];
			const int64_t late_ns = f->tai_ns - (START_NS + n * 5000000LL);

			assert_int_equal(b.flash_count, before + 1);
			assert_in_range(late_ns, 0, FRAME_NS - 1);
			assert_int_equal(f->led, n % 4);
			assert_int_equal(f->number, 356000007400u + n);
			assert_in_range(f->tai_ns, START_NS + frame * FRAME_NS,
					START_NS + (frame + 1) * FRAME_NS - 1);
			assert_true(n >= 5 || f->tai_ns == START_NS + wanted[n]);
			n++;
		}
	}
	assert_int_equal(n, 200);
}

static void pings_in_turn(void **state)
{
	struct beacons b;

	beacons_init(&b, 1);
	for (unsigned frame = 0; frame < 24000; frame++) {
		step(&b, frame);
		assert_int_equal(b.ping_count, frame / 8000 + 1);
	}
	assert_int_equal(b.pings[0].tai_ns, START_NS + 2000000000);
	assert_int_equal(b.pings[0].pinger, 1780000039 % 4);
	assert_int_equal(b.pings[1].tai_ns, START_NS + 1000000000);
}

/* Turns pass while they are off: what comes afterwards is what would have come anyway. */
static void off_and_on(void **state)
{
	struct beacons a, b;

	beacons_init(&a, 50);
	beacons_init(&b, 50);
	for (unsigned frame = 0; frame < 8000; frame++) {
		b.on = frame >= 4000 && frame < 7990;
		step(&a, frame);
		step(&b, frame);
	}
	assert_int_equal(a.flash_count, 200);
	assert_int_equal(b.flash_count, 100);
	assert_int_equal(a.ping_count, 1);
	assert_int_equal(b.ping_count, 0);
	for (unsigned i = 0; i < BEACON_FLASHES; i++) {
		assert_int_equal(a.flashes[i].tai_ns, b.flashes[i].tai_ns);
	}
}

static void ways(void **state)
{
	struct beacons b;
	struct beacon_view v;

	beacons_init(&b, 50);
	beacon_view_init(&v, &b, SEED, 1, 1);
	assert_int_equal(v.light_ps[0][0], 191267);
	assert_int_equal(v.light_ps[2][0], 507013);
	assert_int_equal(v.light_ps[3][0], 874989);
	assert_true(fabs(v.electrons[0][0] - 46.0282868772698) < 1e-6);
	assert_true(fabs(v.electrons[3][0] - 0.18500667394928266) < 1e-9);
	assert_int_equal(v.sound_ns[0][0], 198597686);
	assert_int_equal(v.sound_ns[3][0], 189802525);
}

struct sums {
	uint64_t lights, electrons[GEOMETRY_LEDS], flashes[GEOMETRY_LEDS];
	double spread, spread_2;
};

/* Look at every frame of some seconds; the frame's start moves by some ns as a fibre's delay does. */
static void look(struct sums *s, uint64_t seed, unsigned module)
{
	struct beacon_window w;
	struct beacon_view v;
	struct beacons b;

	memset(s, 0, sizeof(*s));
	beacons_init(&b, 100);
	beacon_view_init(&v, &b, seed, 1, 1);
	for (unsigned frame = 0; frame < 160000; frame++) {
		const int64_t start_ns = START_NS + frame * FRAME_NS - 800000 + frame % 7;
		const struct flash *flash;
		struct beacon_light light;
		int64_t arrival_ps;

		step(&b, frame);
		beacon_view_frame(&v, start_ns, &w);
		flash = beacon_flash(&v, &w);
		if (!flash || !beacon_light(&v, flash, module, &w, &light)) {
			continue;
		}
		arrival_ps = (flash->tai_ns - start_ns) * 1000 + light.travel_ps + light.spread_ps;
		/* A frame that joins one that began earlier may begin or end some ns late. */
		assert_true(arrival_ps >= -7000 && arrival_ps < FRAME_NS * 1000);
		assert_int_equal(light.tick, arrival_ps > 0 ? arrival_ps / 5000 : 0);
		assert_int_equal(light.travel_ps, v.light_ps[flash->led][module]);
		s->lights++;
		s->flashes[flash->led]++;
		s->electrons[flash->led] += light.electrons;
		s->spread += light.spread_ps;
		s->spread_2 += (double)light.spread_ps * light.spread_ps;
	}
}

static void light_comes_once(void **state)
{
	const double means[GEOMETRY_LEDS] = {46.028, 102.501, 2.0882, 0.18501};
	struct sums s;

	look(&s, SEED, 0);
	/* 20 s of 400 flashes; the last frame is 0.8 ms behind. */
	assert_in_range(s.lights, 7998, 8000);
	for (unsigned led = 0; led < GEOMETRY_LEDS; led++) {
		const double mean = (double)s.electrons[led] / (double)s.flashes[led];
		const double error = sqrt(means[led] / (double)s.flashes[led]);

		assert_in_range(s.flashes[led], 1999, 2000);
		assert_true(fabs(mean - means[led]) < 4 * error);
	}
	assert_true(fabs(s.spread / (double)s.lights) < 4 * 2500 / sqrt(8000));
	assert_true(fabs(sqrt(s.spread_2 / (double)s.lights) - 2500) < 100);
}

static void light_is_the_seeds(void **state)
{
	struct sums a, b, c, d;

	look(&a, SEED, 2);
	look(&b, SEED, 2);
	look(&c, SEED + 1, 2);
	look(&d, SEED, 3);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(a.lights, c.lights);
	assert_true(a.spread != c.spread && a.spread != d.spread);
}

/* ---------------------------------------------------------------- sound */

#define PINGED	 2600u /* frames: 0.325 s, a ping is under way for 0.2 s */
#define SAMPLES	 (PINGED * TDM_SAMPLES)
#define PING	 960u
#define DELAY_NS 392002 /* of the floor's fibre */
#define BEHIND	 8	/* frames, the floor behind the world */

/* The samples of both hydrophones over the time in which a ping comes. */
static void record(int32_t samples[2][SAMPLES], struct truth_light ret_heard[2])
{
	struct pulse_tables *pulses = pulse_tables_create();
	struct hydrophone_tables *sound = hydrophone_tables_create();
	static uint8_t frame[TDM_FRAME_BYTES];
	struct beacons b;
	const struct floor_config config = {
		.tower = 1, .floor = 1, .fifo_bytes = 1 << 16, .seed = SEED, .beacons = &b};
	const struct floor_down dark = {0};
	struct floor *f;

	beacons_init(&b, 1);
	assert_non_null(pulses);
	assert_non_null(sound);
	f = floor_create(&config, pulses, sound);
	assert_non_null(f);
	for (unsigned i = 0; i < PINGED; i++) {
		struct truth_record truth = {.tai_ns = START_NS + DELAY_NS +
						       ((int64_t)i - BEHIND) * FRAME_NS};

		step(&b, i);
		floor_frame(f, &dark, frame, &truth);
		for (unsigned h = 0; h < 2; h++) {
			struct tdm_hydro_slot slot;

			tdm_hydro_slot_get(frame, h, &slot);
			for (unsigned k = 0; k < TDM_SAMPLES; k++) {
				samples[h][i * TDM_SAMPLES + k] =
					(int32_t)le32_get(slot.samples + 4 * k);
			}
			if (floor_light(f)->sound[h] != TRUTH_NOTHING) {
				ret_heard[h] = *floor_light(f);
			}
		}
	}
	floor_destroy(f);
	free(pulses);
	free(sound);
}

static double loudest(const int32_t *samples, unsigned count)
{
	double most = 0;

	for (unsigned i = 0; i < count; i++) {
		most = fmax(most, fabs((double)samples[i]));
	}
	return most;
}

static void a_ping_is_where_it_should_be(void **state)
{
	static int32_t samples[2][SAMPLES];
	struct truth_light heard[2] = {{0}};

	record(samples, heard);
	for (unsigned h = 0; h < 2; h++) {
		const unsigned pinger = 1780000037 % 4;
		const double d = geometry_distance_m(geometry_pinger(1, pinger),
						     geometry_hydrophone(1, 1, h));
		const double own_ns = d / GEOMETRY_SOUND_M_PER_S * 1e9;
		const double at = (own_ns - DELAY_NS + BEHIND * FRAME_NS) * 1e-9 * 192000;
		const unsigned first = (unsigned)ceil(at);
		double in_phase = 0, off_phase = 0;

		assert_true(h > 0 || fabs(own_ns - 186266739) < 1);
		assert_int_equal(heard[h].ping_tai_ns, START_NS);
		assert_int_equal(heard[h].pinger, pinger);
		assert_int_equal(heard[h].sound[h], TRUTH_HIT);
		assert_true(fabs(heard[h].sound_ns[h] - own_ns) <= 1);
		/* Before it there are noise and tones, from it on much more. */
		assert_true(loudest(samples[h], first) < 40000);
		assert_true(loudest(samples[h] + first + 120, 720) > 350000);
		for (unsigned i = 0; i < PING - 1; i++) {
			const double turn = (first + i - at) / 6;

			in_phase += samples[h][first + i] * sin(2 * M_PI * turn);
			off_phase += samples[h][first + i] * cos(2 * M_PI * turn);
		}
		/* Half a percent of a period of 31 us; the envelope excludes whole periods. */
		assert_true(in_phase > 0);
		assert_true(fabs(off_phase / in_phase) < 2 * M_PI * 0.005);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flashes_in_turn),
		cmocka_unit_test(pings_in_turn),
		cmocka_unit_test(off_and_on),
		cmocka_unit_test(ways),
		cmocka_unit_test(light_comes_once),
		cmocka_unit_test(light_is_the_seeds),
		cmocka_unit_test(a_ping_is_where_it_should_be),
	};

	return cmocka_run_group_tests_name("beacon", tests, NULL, NULL);
}
