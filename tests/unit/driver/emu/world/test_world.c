/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The world's data: what leaves the floors is legal, ordered, equal to the truth and the same for the
 * same seed; rates follow load, HV and threshold; numbers follow the downstream frames.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tdm/registers.h"
#include "tests/unit/driver/emu/world/world_rig.h"

static void quiet(struct world_config *c)
{
	c->load = WORLD_QUIET;
}

static void full(struct world_config *c)
{
	c->load = WORLD_FULL;
}

static void cold(struct world_config *c)
{
	c->cold = true;
}

static void seven(struct world_config *c)
{
	c->seed = 7;
}

static void swapped(struct world_config *c)
{
	c->floors[1] = 3;
	c->floors[2] = 2;
}

static void truth_equals_what_came(void **state)
{
	struct rig *r = rig_create(NULL, NULL);
	uint64_t fates[TDM_LOSSES] = {0};

	rig_run(r, 9000);
	for (unsigned link = 0; link < RIG_LINKS; link++) {
		/* 10 ms for the lock, 3 frames of the deframer's */
		assert_int_equal(rig_compare(r, link, fates), 9000 - 80 - 3);
		assert_true(r->links[link].fragments > 0);
		assert_true(r->links[link].wide_hits > 0);
		assert_int_equal(r->links[link].fifo_full_slots, 0);
	}
	assert_int_equal(fates[TDM_LOSS_LINK_DOWN], 4 * 80);
	assert_int_equal(fates[TDM_LOSS_ALIGNMENT], 4 * 3);
	rig_destroy(r);
}

static double mbps(const struct rig *r, unsigned link)
{
	/* with header, tail, samples, slot headers, replies' count, telemetry */
	const double fixed = 32 + 8 + 2 * 104 + 6 * 8 + 8 + 64;

	return ((double)r->links[link].slot_bytes / (double)r->links[link].good + fixed) * 8000 *
	       8 / 1e6;
}

static void loads(void **state)
{
	static const struct {
		void (*change)(struct world_config *c);
		double low, high;
	} cases[] = {{NULL, 290, 315}, {quiet, 145, 165}, {full, 610, 612}};

	for (unsigned i = 0; i < 3; i++) {
		struct rig *r = rig_create(cases[i].change, NULL);

		rig_run(r, 4000);
		for (unsigned link = 0; link < RIG_LINKS; link++) {
			assert_in_range((unsigned)mbps(r, link), (unsigned)cases[i].low,
					(unsigned)cases[i].high);
			rig_compare(r, link, NULL);
		}
		rig_destroy(r);
	}
}

static void numbers_follow_the_shore(void **state)
{
	struct rig *r = rig_create(NULL, NULL);
	static const unsigned delay[RIG_LINKS] = {7, 7, 8, 8};
	struct truth_head head;
	struct truth_record *t;
	uint32_t n;

	rig_run(r, 2000);
	for (unsigned link = 0; link < RIG_LINKS; link++) {
		const struct rig_link *l = &r->links[link];

		assert_int_equal(l->header.tower, 1);
		assert_int_equal(l->header.floor, link + 1);
		assert_int_equal((l->header_count - l->header.time.frame) % 8000, delay[link]);
		assert_int_equal(l->header.echo, l->header_count - RIG_COUNT - delay[link]);
		assert_int_equal(l->fibre.rtt_frames, delay[link] - 1);
		assert_int_equal(l->header.time.quality, TDM_TIME_LOCKED);
	}
	t = rig_truth(r, 2, &n, &head);
	assert_int_equal(head.magic, TRUTH_MAGIC);
	assert_int_equal(head.links, 4);
	assert_int_equal(head.tai_start_ns, r->config.tai_start_ns);
	assert_int_equal(t[1000].count, RIG_COUNT + 1000);
	assert_int_equal(t[1000].floor_frame, RIG_COUNT + 1000 - 8);
	free(t);
	rig_destroy(r);
}

/* The light of a frame is later than its label by the fibre's delay down, warm or cold. */
static void truth_says_when_the_light_was(void **state)
{
	static const char faults[] = "at 0.05 link 3 phase-step 2000\n";
	static const unsigned frames[RIG_LINKS] = {7, 7, 8, 8};
	static const uint32_t delay_ns[RIG_LINKS] = {392002, 424828, 457172, 490004};
	struct rig *r = rig_create(NULL, faults);

	rig_run(r, 2000);
	for (unsigned link = 0; link < RIG_LINKS; link++) {
		assert_int_equal(world_delay_ns(r->world, link), delay_ns[link] + (link == 3));
	}
	for (unsigned link = 0; link < RIG_LINKS; link++) {
		struct truth_head head;
		uint32_t n;
		struct truth_record *t = rig_truth(r, link, &n, &head);
		int64_t left_ns = head.tai_start_ns + (200 - (int64_t)frames[link]) * 125000;

		assert_int_equal(head.version, 2);
		assert_int_equal(t[200].floor_frame, RIG_COUNT + 200 - frames[link]);
		assert_int_equal(t[200].tai_ns, left_ns + delay_ns[link]);
		assert_int_equal(t[1200].tai_ns,
				 left_ns + delay_ns[link] + (link == 3 ? 1 : 0) + 125000000);
		free(t);
	}
	rig_destroy(r);
}

static void counts_on_in_the_dark(void **state)
{
	struct rig *r = rig_create(NULL, NULL);

	rig_run(r, 1000);
	r->downstream = false;
	rig_run(r, 9000);
	assert_int_equal((r->links[0].header_count - r->links[0].header.time.frame) % 8000, 7);
	assert_int_equal(r->links[0].header.time.quality, TDM_TIME_LABELLED);
	assert_false(r->links[0].header.time.lock & TDM_LOCK_UPLINK);
	assert_int_equal(r->links[0].telemetry.rx_power_nw, 0);
	r->downstream = true;
	rig_run(r, 1000);
	assert_int_equal(r->links[0].header.time.quality, TDM_TIME_LOCKED);
	assert_true(r->links[0].header.time.lock & TDM_LOCK_UPLINK);
	for (unsigned link = 0; link < RIG_LINKS; link++) {
		assert_int_equal(rig_compare(r, link, NULL), 11000 - 83);
	}
	rig_destroy(r);
}

static void same_seed_same_sea(void **state)
{
	static const char faults[] = "at 0.05 link 1 crc 5\nat 0.06 link 1 unalign 33\n"
				     "at 0.07 link 1 fcm-boot\nat 0.05 link 1 burst 2e6 0.05\n";
	struct rig *a = rig_create(NULL, NULL);
	struct rig *b = rig_create(NULL, NULL);
	struct rig *c = rig_create(NULL, faults);
	struct rig *d = rig_create(seven, NULL);
	struct rig *all[] = {a, b, c, d};

	for (unsigned i = 0; i < 4; i++) {
		if (all[i] != a) { /* asking for values changes no data */
			rig_send(all[i], 0, WORD_READ, 2, REG_OM_HV, 0, 9);
			rig_send(all[i], 0, WORD_READ, 6, REG_HYDRO_TEMPERATURE, 0, 10);
		}
		rig_run(all[i], 2000);
	}
	for (unsigned link = 0; link < RIG_LINKS; link++) {
		if (link != 0) { /* its replies differ */
			assert_int_equal(a->links[link].cells_hash, b->links[link].cells_hash);
		}
		if (link != 1) {
			assert_int_equal(b->links[link].cells_hash, c->links[link].cells_hash);
		}
		assert_int_not_equal(b->links[link].cells_hash, d->links[link].cells_hash);
	}
	assert_int_not_equal(b->links[1].cells_hash, c->links[1].cells_hash);
	for (uint32_t i = 0; i < a->links[0].got_count; i++) {
		assert_memory_equal(a->links[0].got[i].hit_hash, b->links[0].got[i].hit_hash,
				    sizeof(a->links[0].got[i].hit_hash));
	}
	for (unsigned i = 0; i < 4; i++) {
		rig_destroy(all[i]);
	}
}

static void cold_floors_are_dark(void **state)
{
	struct rig *r = rig_create(cold, NULL);
	int32_t value;

	rig_run(r, 1000);
	assert_int_equal(r->links[0].slot_bytes, 0);
	assert_int_equal(r->links[0].telemetry.power_mask, 0);
	assert_int_equal(r->links[0].header.slot_valid & 0xff, 0);
	assert_int_equal(rig_ask(r, 0, WORD_WRITE, 3, REG_OM_HV_SET, 14000, 1, NULL), WORD_REFUSED);
	assert_int_equal(rig_ask(r, 0, WORD_WRITE, 3, REG_OM_POWER, 1, 2, NULL), WORD_OK);
	assert_int_equal(rig_ask(r, 0, WORD_WRITE, 3, REG_OM_RAMP, 5000, 3, NULL), WORD_OK);
	assert_int_equal(rig_ask(r, 0, WORD_WRITE, 3, REG_OM_HV_SET, 14000, 4, NULL), WORD_OK);
	rig_seconds(r, 4.2);
	assert_int_equal(rig_ask(r, 0, WORD_READ, 3, REG_OM_HV, 0, 5, &value), WORD_OK);
	assert_in_range(value, 13980, 14020);
	assert_true(r->links[0].slot_bytes > 100000);
	assert_int_equal(r->links[0].telemetry.power_mask, 1u << 3);
	assert_true(r->links[0].header.slot_valid & TDM_VALID_MODULE(3));
	rig_compare(r, 0, NULL);
	rig_destroy(r);
}

static void swapped_floors_say_so(void **state)
{
	struct rig *r = rig_create(swapped, NULL);

	rig_run(r, 200);
	assert_int_equal(r->links[1].header.floor, 3);
	assert_int_equal(r->links[2].header.floor, 2);
	rig_destroy(r);
}

static void bad_configurations(void **state)
{
	struct world_config c;
	struct world *w = NULL;
	char error[256];

	world_config_default(&c);
	c.tai_start_ns = 1;
	assert_int_equal(world_create(&c, &w, error, sizeof(error)), -EINVAL);
	c.tai_start_ns = 125000;
	c.floors[1] = c.floors[0];
	assert_int_equal(world_create(&c, &w, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "two links"));
	c.floors[1] = 9;
	c.truth_path = "/nonexistent/truth";
	assert_int_equal(world_create(&c, &w, error, sizeof(error)), -ENOENT);
	assert_string_equal(error, "/nonexistent/truth: No such file or directory");
	c.truth_path = NULL;
	c.scenario_path = "/nonexistent/x.scn";
	assert_int_equal(world_create(&c, &w, error, sizeof(error)), -ENOENT);
	assert_null(w);
	assert_int_equal(world_destroy(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(truth_equals_what_came),
		cmocka_unit_test(loads),
		cmocka_unit_test(numbers_follow_the_shore),
		cmocka_unit_test(truth_says_when_the_light_was),
		cmocka_unit_test(counts_on_in_the_dark),
		cmocka_unit_test(same_seed_same_sea),
		cmocka_unit_test(cold_floors_are_dark),
		cmocka_unit_test(swapped_floors_say_so),
		cmocka_unit_test(bad_configurations),
	};

	return cmocka_run_group_tests_name("world", tests, NULL, NULL);
}
