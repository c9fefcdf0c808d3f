/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Beacons in the world: every flash that the truth calls a hit is a hit in the data, in the 5 ns in which
 * its light arrives by an independent calculation; the others are none, each for its reason. The sea is
 * the same with and without.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "driver/emu/floor/geometry.h"
#include "tests/unit/driver/emu/world/world_rig.h"

#define HZ	 50
#define OUTCOMES (TRUTH_AWAY + 1)
#define SETTLED	 200u /* frames: links are locked */
#define IN_FIFO	 80u  /* frames: the last hits may not have left */

static void flashing(struct world_config *c)
{
	c->beacons_hz = HZ;
	c->rate_hz = 2000;
}

static void flashing_seven(struct world_config *c)
{
	flashing(c);
	c->seed = 7;
}

static void dark(struct world_config *c)
{
	c->rate_hz = 2000;
}

static void flashing_full(struct world_config *c)
{
	c->beacons_hz = HZ;
	c->load = WORLD_FULL;
}

static void narrow(struct world_config *c)
{
	c->beacons_hz = HZ;
	c->fifo_bytes = 8192;
}

static struct rig *run(void (*change)(struct world_config *config), const char *scenario,
		       unsigned steps)
{
	struct rig *r = rig_create(change, scenario);

	for (unsigned link = 0; link < RIG_LINKS; link++) {
		r->links[link].keep_hits = true;
	}
	rig_run(r, steps);
	return r;
}

/* Light at modules, by outcome; and what of it has a hit at its time. */
struct tally {
	unsigned all, of[OUTCOMES], found[OUTCOMES];
};

static int by_time(const void *key, const void *hit)
{
	const uint64_t time = *(const uint64_t *)key, other = ((const struct rig_hit *)hit)->time;

	return time < other ? -1 : time > other;
}

static const struct rig_hit *find_hit(const struct rig_module *m, uint64_t time)
{
	return m->hit_count == 0
		       ? NULL
		       : bsearch(&time, m->hits, m->hit_count, sizeof(m->hits[0]), by_time);
}

/* Time of the hit of the light that arrives at a module in a frame. */
static uint64_t time_of(const struct truth_record *t, const struct truth_light *light,
			unsigned module)
{
	const int64_t ps = (light->flash_tai_ns - t->tai_ns) * 1000 + light->travel_ps[module] +
			   light->spread_ps[module];

	assert_in_range(ps + 1000, 0, 125001000); /* a fibre's delay is rounded to 1 ns */
	return t->floor_frame * 25000 + (uint64_t)(ps > 0 ? ps / 5000 : 0);
}

static void check_way(unsigned floor, unsigned module, const struct truth_light *light)
{
	const double d =
		geometry_distance_m(geometry_led(1, light->led), geometry_module(1, floor, module));

	assert_true(fabs(light->travel_ps[module] - d * 1.38 / 0.299792458 * 1000) <= 1);
}

/* The frame begins when its downstream frame, which gave it its number, has come down the fibre. */
static void check_frame(const struct rig *r, unsigned link, const struct truth_record *t)
{
	static const int64_t delay_ns[RIG_LINKS] = {392002, 424828, 457172, 490004};
	const int64_t label_ns =
		r->config.tai_start_ns + ((int64_t)t->floor_frame - RIG_COUNT) * 125000;

	assert_in_range(t->tai_ns - label_ns, delay_ns[link] - 1, delay_ns[link] + 1);
}

/* All light of records [from, until) of a link against its hits. */
static struct tally check_link(struct rig *r, unsigned link, unsigned from, unsigned until)
{
	const struct rig_link *l = &r->links[link];
	struct tally tally = {0};
	struct truth_head head;
	uint32_t n, lights;
	struct truth_record *t = rig_truth(r, link, &n, &head);
	struct truth_light *light = rig_light(r, link, &lights);

	assert_int_equal(n, lights);
	for (uint32_t i = from; i < until && i < n; i++) {
		for (unsigned m = 0; m < 6; m++) {
			const uint8_t outcome = light[i].light[m];

			assert_true(outcome < OUTCOMES);
			if (outcome == TRUTH_NOTHING) {
				assert_int_equal(light[i].travel_ps[m], 0);
				continue;
			}
			if (outcome == TRUTH_HIT) {
				check_frame(r, link, &t[i]);
			}
			check_way(link + 1, m, &light[i]);
			tally.all++;
			tally.of[outcome]++;
			tally.found[outcome] +=
				find_hit(&l->modules[m], time_of(&t[i], &light[i], m)) != NULL;
		}
	}
	free(t);
	free(light);
	/* Of dim light and of busy modules the sea may have a hit at that very time. */
	assert_int_equal(tally.found[TRUTH_HIT], tally.of[TRUTH_HIT]);
	assert_int_equal(tally.found[TRUTH_OFF], 0);
	assert_int_equal(tally.found[TRUTH_FULL], 0);
	assert_int_equal(tally.found[TRUTH_AWAY], 0);
	return tally;
}

static void hits_come_with_the_light(void **state)
{
	struct rig *r = run(flashing, NULL, 8000);

	for (unsigned link = 0; link < RIG_LINKS; link++) {
		/* 4 x 50 a second, 0.965 s */
		const struct tally t = check_link(r, link, SETTLED, 8000 - IN_FIFO);

		assert_in_range(t.all, 192 * 6, 194 * 6);
		/* Two LEDs are near; the highest is hardly seen by floor 1. */
		assert_true(t.of[TRUTH_HIT] > t.all / 2);
		assert_true(t.of[TRUTH_DIM] > t.all / 20);
		assert_int_equal(t.found[TRUTH_DIM], 0);
		assert_in_range(t.of[TRUTH_BUSY], 0, t.all / 100);
		assert_int_equal(t.of[TRUTH_OFF] + t.of[TRUTH_FULL] + t.of[TRUTH_AWAY], 0);
		rig_compare(r, link, NULL);
	}
	rig_destroy(r);
}

/* Also where the sea fills every slot: its hits wait in the FIFO, and so do the flashes'. */
static void among_many_hits(void **state)
{
	struct rig *r = run(flashing_full, NULL, 2400);
	const struct tally t = check_link(r, 0, SETTLED, 2400 - IN_FIFO);

	assert_true(t.of[TRUTH_HIT] > 100);
	assert_true(t.of[TRUTH_BUSY] > 0);
	rig_compare(r, 0, NULL);
	rig_destroy(r);
}

/* Frames that straddle two cells have their records one step later, each with its own light. */
static void straddling_frames(void **state)
{
	struct rig *r = run(flashing, "at 0.05 link 1 unalign 3333\n", 4000);
	const struct tally t = check_link(r, 1, 500, 4000 - IN_FIFO);

	assert_in_range(t.all, 84 * 6, 87 * 6);
	assert_true(t.of[TRUTH_HIT] > t.all / 2);
	rig_compare(r, 1, NULL);
	rig_destroy(r);
}

static void near_is_bright(void **state)
{
	struct rig *r = run(flashing, NULL, 8000);
	double charge[GEOMETRY_LEDS] = {0};
	unsigned hits[GEOMETRY_LEDS] = {0};
	struct truth_head head;
	uint32_t n;
	struct truth_record *t = rig_truth(r, 0, &n, &head);
	struct truth_light *light = rig_light(r, 0, &n);

	for (uint32_t i = SETTLED; i < n - IN_FIFO; i++) {
		if (light[i].light[0] == TRUTH_HIT) {
			const struct rig_hit *hit =
				find_hit(&r->links[0].modules[0], time_of(&t[i], &light[i], 0));

			assert_non_null(hit);
			charge[light[i].led] += hit->charge;
			hits[light[i].led]++;
		}
	}
	/* 42, 31, 110 and 190 m: 46, 103, 2.1 and 0.2 photo-electrons */
	assert_in_range(hits[0], 45, 50);
	assert_in_range(hits[1], 45, 50);
	assert_in_range(hits[2], 35, 48);
	assert_in_range(hits[3], 1, 20);
	for (unsigned led = 0; led < GEOMETRY_LEDS; led++) {
		charge[led] /= hits[led];
	}
	assert_true(charge[1] > 1.7 * charge[0] && charge[1] < 3 * charge[0]);
	assert_true(charge[0] > 10 * charge[2]);
	assert_true(charge[2] > charge[3]);
	free(t);
	free(light);
	rig_destroy(r);
}

static void what_is_off_sees_nothing(void **state)
{
	struct rig *r = run(flashing,
			    "at 0.3 link 1 hv-trip 2\nat 0.25 link 2 fcm-boot\n"
			    "at 0.3 link 3 unplug 0.2\n",
			    8000);
	struct truth_light *light;
	struct tally t;
	uint32_t n;

	t = check_link(r, 1, 2402, 8000 - IN_FIFO);
	assert_in_range(t.of[TRUTH_OFF], 137, 139); /* 0.69 s of 200 a second, one module */
	t = check_link(r, 2, 2002, 2000 + 4000);
	assert_in_range(t.of[TRUTH_AWAY], 99 * 6, 101 * 6);
	assert_int_equal(t.of[TRUTH_AWAY], t.all);
	t = check_link(r, 2, 6200, 8000 - IN_FIFO);
	assert_true(t.of[TRUTH_HIT] > 100);
	assert_int_equal(t.of[TRUTH_AWAY], 0);
	/* An unplugged floor has its hits, and they are lost with the frames. */
	light = rig_light(r, 3, &n);
	for (uint32_t i = 2400; i < 4000; i++) {
		for (unsigned m = 0; m < 6; m++) {
			assert_int_not_equal(light[i].light[m], TRUTH_OFF);
			assert_int_not_equal(light[i].light[m], TRUTH_AWAY);
		}
	}
	free(light);
	rig_destroy(r);
}

static void a_full_fifo_takes_none(void **state)
{
	struct rig *r = run(narrow, "at 0.05 link 0 burst 4e5 0.3\n", 3000);
	const struct tally t = check_link(r, 0, 500, 2700);

	assert_true(t.of[TRUTH_FULL] > 50);
	assert_true(t.of[TRUTH_BUSY] > 5);
	rig_compare(r, 0, NULL);
	rig_destroy(r);
}

/* Pings begin in the frame in which their sound arrives, once at each hydrophone. */
static void pings_are_told(void **state)
{
	struct rig *r = run(flashing, NULL, 12000);

	for (unsigned link = 0; link < RIG_LINKS; link++) {
		struct truth_head head;
		uint32_t n;
		struct truth_record *t = rig_truth(r, link, &n, &head);
		struct truth_light *light = rig_light(r, link, &n);
		unsigned pings[2] = {0};

		for (uint32_t i = 0; i < n; i++) {
			for (unsigned h = 0; h < 2; h++) {
				const unsigned number = pings[h];
				const int64_t tai_ns =
					r->config.tai_start_ns + number * 1000000000LL;
				const unsigned pinger = (unsigned)(tai_ns / 1000000000 % 4);
				double d;

				if (light[i].sound[h] == TRUTH_NOTHING) {
					continue;
				}
				pings[h]++;
				d = geometry_distance_m(geometry_pinger(1, pinger),
							geometry_hydrophone(1, link + 1, h));
				assert_int_equal(light[i].sound[h], TRUTH_HIT);
				assert_int_equal(light[i].ping_tai_ns, tai_ns);
				assert_int_equal(light[i].pinger, pinger);
				assert_true(fabs(light[i].sound_ns[h] - d / 1545 * 1e9) <= 1);
				assert_in_range(tai_ns + light[i].sound_ns[h] + 1, t[i].tai_ns,
						t[i].tai_ns + 125001);
			}
		}
		assert_int_equal(pings[0], 2);
		assert_int_equal(pings[1], 2);
		free(t);
		free(light);
	}
	rig_destroy(r);
}

/* The same seed: the same light. Another seed: the same flashes, seen otherwise. */
static void the_seed_decides(void **state)
{
	struct rig *a = run(flashing, NULL, 4000);
	struct rig *b = run(flashing, NULL, 4000);
	struct rig *c = run(flashing_seven, NULL, 4000);

	for (unsigned link = 0; link < RIG_LINKS; link++) {
		uint32_t n, others;
		struct truth_light *x = rig_light(a, link, &n);
		struct truth_light *y = rig_light(b, link, &others);
		struct truth_light *z = rig_light(c, link, &others);
		unsigned same = 0, flashes = 0;

		assert_int_equal(a->links[link].cells_hash, b->links[link].cells_hash);
		assert_int_not_equal(a->links[link].cells_hash, c->links[link].cells_hash);
		assert_memory_equal(x, y, n * sizeof(*x));
		for (uint32_t i = 0; i < n; i++) {
			flashes += x[i].flash_tai_ns != 0;
			same += x[i].flash_tai_ns != 0 && x[i].flash_tai_ns == z[i].flash_tai_ns;
		}
		assert_in_range(flashes, 98, 104);
		assert_true(same >= flashes - 4); /* at a border the spread decides */
		assert_memory_not_equal(x, z, n * sizeof(*x));
		free(x);
		free(y);
		free(z);
	}
	rig_destroy(a);
	rig_destroy(b);
	rig_destroy(c);
}

/* Frames of a link whose hits are different. */
static unsigned differing(const struct rig *a, const struct rig *b, unsigned link)
{
	const struct rig_link *x = &a->links[link], *y = &b->links[link];
	unsigned n = 0;

	assert_int_equal(x->got_count, y->got_count);
	for (uint32_t i = 0; i < x->got_count; i++) {
		n += memcmp(x->got[i].hit_hash, y->got[i].hit_hash, sizeof(x->got[i].hit_hash)) !=
		     0;
	}
	return n;
}

/* Without beacons nothing is as if there were some; beacons that are off change no hit; those that are on
 * change frames with their light, and no others. */
static void the_sea_is_the_same(void **state)
{
	struct rig *without = run(dark, NULL, 4000);
	struct rig *off = run(flashing, "at 0 beacons off\n", 4000);
	struct rig *on = run(flashing, "at 0.25 beacons off\n", 4000);
	struct truth_head head;
	uint32_t n;

	for (unsigned link = 0; link < RIG_LINKS; link++) {
		const unsigned n_on = differing(without, on, link);
		struct truth_light *light = rig_light(off, link, &n);

		assert_int_equal(differing(without, off, link), 0);
		assert_in_range(n_on, 20, 4 * 52);
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(light[i].flash_tai_ns, 0);
			assert_int_equal(light[i].ping_tai_ns, 0);
		}
		free(light);
	}
	free(rig_truth(without, 0, &n, &head));
	assert_int_equal(head.record_bytes, 128);
	assert_int_equal(head.version, TRUTH_VERSION);
	free(rig_truth(off, 0, &n, &head));
	assert_int_equal(head.record_bytes, 224);
	assert_int_equal(head.version, TRUTH_VERSION);
	rig_destroy(without);
	rig_destroy(off);
	rig_destroy(on);
}

static void bad_configurations(void **state)
{
	struct world_config c;
	struct world *w = NULL;
	char error[256];
	struct rig *r;

	world_config_default(&c);
	assert_true(c.beacons_hz == 0);
	c.tai_start_ns = 125000;
	c.beacons_hz = 101;
	assert_int_equal(world_create(&c, &w, error, sizeof(error)), -EINVAL);
	assert_string_equal(error, "beacons do not flash at this rate");
	/* The scenario of a world with beacons, without them. */
	r = rig_create(flashing, "# none\nat 1 beacons on\n");
	c.beacons_hz = 0;
	c.scenario_path = r->scenario_path;
	assert_int_equal(world_create(&c, &w, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, ":2: 'beacons' needs --beacons"));
	assert_null(w);
	rig_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hits_come_with_the_light),
		cmocka_unit_test(among_many_hits),
		cmocka_unit_test(straddling_frames),
		cmocka_unit_test(near_is_bright),
		cmocka_unit_test(what_is_off_sees_nothing),
		cmocka_unit_test(a_full_fifo_takes_none),
		cmocka_unit_test(pings_are_told),
		cmocka_unit_test(the_seed_decides),
		cmocka_unit_test(the_sea_is_the_same),
		cmocka_unit_test(bad_configurations),
	};

	return cmocka_run_group_tests_name("light", tests, NULL, NULL);
}
