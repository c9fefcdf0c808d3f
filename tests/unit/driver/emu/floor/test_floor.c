/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A floor as slow control sees it: registers, sequence rules, answers and their delay, HV that ramps
 * and trips, boots; and the emulator's own record of what was executed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tdm/registers.h"
#include "tests/unit/driver/emu/world/world_rig.h"

#define FCM WORD_MODULE_FCM

static struct rig *settled(const char *scenario)
{
	struct rig *r = rig_create(NULL, scenario);

	rig_run(r, 120);
	return r;
}

static void answers_take_eight_frames(void **state)
{
	static const unsigned delay[RIG_LINKS] = {8, 8, 9, 9};
	struct rig *r = settled(NULL);

	for (unsigned link = 0; link < RIG_LINKS; link++) {
		const uint64_t count = RIG_COUNT + r->step;
		struct rig_reply reply;

		rig_send(r, link, WORD_READ, FCM, REG_FCM_BOOT_COUNT, 0, 77);
		assert_true(rig_reply(r, link, &reply));
		assert_int_equal(reply.count, count + delay[link]);
		assert_int_equal(reply.word.op, WORD_READ | WORD_REPLY);
		assert_int_equal(reply.word.sequence, 77);
		assert_int_equal(reply.word.boot, (uint16_t)reply.word.value);
		assert_int_equal(reply.word.boot, (uint16_t)r->links[link].telemetry.boot_count);
	}
	rig_destroy(r);
}

struct word_case {
	uint8_t op, module, reg;
	int32_t value;
	int status;
};

static void statuses(void **state)
{
	static const struct word_case cases[] = {
		{WORD_READ, 0, REG_OM_POWER, 0, WORD_OK},
		{WORD_READ, 5, REG_OM_POWER_CYCLES, 0, WORD_OK},
		{WORD_READ, 5, REG_OM_POWER_CYCLES + 1, 0, WORD_BAD_REG},
		{WORD_READ, 0, 0, 0, WORD_BAD_REG},
		{WORD_READ, 6, REG_HYDRO_RMS, 0, WORD_OK},
		{WORD_READ, 7, REG_HYDRO_RMS + 1, 0, WORD_BAD_REG},
		{WORD_READ, 8, 1, 0, WORD_BAD_REG},
		{WORD_READ, 14, 1, 0, WORD_BAD_REG},
		{WORD_READ, FCM, REG_FCM_RX_POWER, 0, WORD_OK},
		{WORD_READ, FCM, REG_FCM_SILENCED_AGO, 0, WORD_OK},
		{WORD_READ, FCM, REG_FCM_SILENCED_AGO + 1, 0, WORD_BAD_REG},
		{WORD_READ, 200, 1, 0, WORD_BAD_REG},
		{WORD_WRITE, 1, REG_OM_HV_SET, 14500, WORD_OK},
		{WORD_WRITE, 1, REG_OM_HV_SET, REG_OM_HV_SET_MAX + 1, WORD_BAD_VALUE},
		{WORD_WRITE, 1, REG_OM_HV_SET, -1, WORD_BAD_VALUE},
		{WORD_WRITE, 1, REG_OM_HV, 1, WORD_READ_ONLY},
		{WORD_WRITE, 1, REG_OM_RATE, 1, WORD_READ_ONLY},
		{WORD_WRITE, 1, 99, 1, WORD_BAD_REG},
		{WORD_WRITE, 1, REG_OM_THRESHOLD, 0, WORD_BAD_VALUE},
		{WORD_WRITE, 1, REG_OM_THRESHOLD, 500, WORD_OK},
		{WORD_WRITE, 1, REG_OM_RAMP, 9, WORD_BAD_VALUE},
		{WORD_WRITE, 1, REG_OM_POWER, 2, WORD_BAD_VALUE},
		{WORD_WRITE, 6, REG_HYDRO_GAIN, 601, WORD_BAD_VALUE},
		{WORD_WRITE, 6, REG_HYDRO_GAIN, 300, WORD_OK},
		{WORD_WRITE, 6, REG_HYDRO_RMS, 1, WORD_READ_ONLY},
		{WORD_WRITE, 7, REG_HYDRO_POWER, 0, WORD_OK},
		{WORD_WRITE, 7, REG_HYDRO_GAIN, 300, WORD_REFUSED},
		{WORD_WRITE, FCM, REG_FCM_UPTIME, 1, WORD_READ_ONLY},
		{WORD_WRITE, FCM, 99, 1, WORD_BAD_REG},
		{WORD_WRITE, 9, 1, 1, WORD_BAD_REG},
		{WORD_ACTION, 2, REG_OM_ACTION_RESET, 0, WORD_OK},
		{WORD_ACTION, 2, REG_OM_ACTION_CLEAR_TRIP, 0, WORD_OK},
		{WORD_ACTION, 2, 0, 0, WORD_BAD_REG},
		{WORD_ACTION, 2, 4, 0, WORD_BAD_REG},
		{WORD_ACTION, 6, 1, 0, WORD_BAD_REG},
		{WORD_ACTION, FCM, REG_FCM_ACTION_POWER_CYCLE, 8, WORD_BAD_VALUE},
		{WORD_ACTION, FCM, REG_FCM_ACTION_POWER_CYCLE, -1, WORD_BAD_VALUE},
		{WORD_ACTION, FCM, REG_FCM_ACTION_POWER_CYCLE, 4, WORD_OK},
		{WORD_ACTION, FCM, 9, 4, WORD_BAD_REG},
		{WORD_QUERY, FCM, 0, 4711, WORD_UNKNOWN},
		{WORD_QUERY, FCM, 0, 0, WORD_OK}, /* the largest of the above */
	};
	struct rig *r = settled(NULL);

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct word_case *c = &cases[i];
		const int status = rig_ask(r, 0, c->op, c->module, c->reg, c->value, 100 + i, NULL);

		if (status != c->status) {
			fail_msg("case %u: status %d, not %d", i, status, c->status);
		}
	}
	rig_destroy(r);
}

static unsigned executed_lines(const struct rig *r, unsigned floor, unsigned sequence)
{
	FILE *f = fopen(r->executed_path, "r");
	char line[128];
	unsigned n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		unsigned got_floor, got_sequence;

		if (sscanf(line, "%*f %u %u", &got_floor, &got_sequence) == 2) {
			n += got_floor == floor && got_sequence == sequence;
		}
	}
	fclose(f);
	return n;
}

static void once_and_only_once(void **state)
{
	struct rig *r = settled(NULL);
	struct rig_reply reply;
	int32_t value;

	assert_int_equal(rig_ask(r, 2, WORD_WRITE, 2, REG_OM_HV_SET, 14500, 5, &value), WORD_OK);
	assert_int_equal(value, 14500);
	/* the same again, even with another value: nothing happens, the old outcome is told */
	assert_int_equal(rig_ask(r, 2, WORD_WRITE, 2, REG_OM_HV_SET, 13000, 5, &value),
			 WORD_DUPLICATE);
	assert_int_equal(value, 14500);
	assert_int_equal(rig_ask(r, 2, WORD_READ, 2, REG_OM_HV_SET, 0, 6, &value), WORD_OK);
	assert_int_equal(value, 14500);
	/* two in one frame */
	rig_send(r, 2, WORD_ACTION, 1, REG_OM_ACTION_RESET, 0, 7);
	rig_send(r, 2, WORD_ACTION, 1, REG_OM_ACTION_RESET, 0, 7);
	assert_true(rig_reply(r, 2, &reply));
	assert_int_equal(reply.word.status, WORD_OK);
	assert_int_equal(reply.word.value, 1);
	assert_true(rig_reply(r, 2, &reply));
	assert_int_equal(reply.word.status, WORD_DUPLICATE);
	assert_int_equal(reply.word.value, 1);
	assert_int_equal(executed_lines(r, 3, 5), 1);
	assert_int_equal(executed_lines(r, 3, 6), 0);
	assert_int_equal(executed_lines(r, 3, 7), 1);
	assert_int_equal(r->links[2].telemetry.executed, 2);
	rig_destroy(r);
}

static void queries_tell_the_outcome(void **state)
{
	struct rig *r = settled(NULL);
	struct rig_reply reply;

	assert_int_equal(rig_ask(r, 0, WORD_WRITE, 4, REG_OM_HV_SET, 99999, 20, NULL),
			 WORD_BAD_VALUE);
	rig_send(r, 0, WORD_QUERY, 0, 0, 20, 21);
	assert_true(rig_reply(r, 0, &reply));
	assert_int_equal(reply.word.status, WORD_BAD_VALUE);
	assert_int_equal(reply.word.module, 4);
	assert_int_equal(reply.word.reg, REG_OM_HV_SET);
	assert_int_equal(reply.word.sequence, 21);
	/* 256 further ones push it out, 255 do not */
	for (unsigned i = 0; i < 255; i++) {
		assert_int_equal(rig_ask(r, 0, WORD_WRITE, 4, REG_OM_THRESHOLD, 20, 1000 + i, NULL),
				 WORD_OK);
	}
	assert_int_equal(rig_ask(r, 0, WORD_QUERY, 0, 0, 20, 22, NULL), WORD_BAD_VALUE);
	assert_int_equal(rig_ask(r, 0, WORD_WRITE, 4, REG_OM_THRESHOLD, 20, 2000, NULL), WORD_OK);
	assert_int_equal(rig_ask(r, 0, WORD_QUERY, 0, 0, 20, 23, NULL), WORD_UNKNOWN);
	rig_destroy(r);
}

static void queries_tell_the_largest_sequence(void **state)
{
	struct rig *r = settled(NULL);
	struct rig_reply reply;

	rig_ask(r, 0, WORD_WRITE, 4, REG_OM_THRESHOLD, 20, 4000000000u, NULL);
	rig_ask(r, 0, WORD_WRITE, 4, REG_OM_HV_SET, 99999, 4000000007u, NULL); /* refused: kept */
	rig_ask(r, 0, WORD_WRITE, 4, REG_OM_THRESHOLD, 20, 300, NULL);
	rig_ask(r, 0, WORD_READ, 4, REG_OM_THRESHOLD, 0, 4000000009u, NULL);
	rig_send(r, 0, WORD_QUERY, WORD_MODULE_FCM, 0, 0, 21);
	assert_true(rig_reply(r, 0, &reply));
	assert_int_equal(reply.word.status, WORD_OK);
	assert_int_equal((uint32_t)reply.word.value, 4000000007u);
	assert_int_equal(reply.word.sequence, 21);
	assert_int_equal(rig_ask(r, 1, WORD_QUERY, 0, 0, 0, 22, NULL), WORD_UNKNOWN);
	rig_destroy(r);
}

static void words_that_are_none(void **state)
{
	struct rig *r = settled(NULL);
	struct rig_reply reply;
	uint32_t rejected;

	rig_run(r, 800);
	rejected = r->links[0].telemetry.rejected;
	rig_send(r, 0, WORD_WRITE, 0, REG_OM_POWER, 0, 30);
	r->links[0].spoil = true;
	assert_false(rig_reply(r, 0, &reply));
	rig_send(r, 0, 0x55, 0, REG_OM_POWER, 0, 31);
	rig_send(r, 0, WORD_WRITE, 0, REG_OM_POWER, 0, 0); /* sequence 0 is not used */
	assert_false(rig_reply(r, 0, &reply));
	assert_int_equal(r->links[0].telemetry.rejected, rejected + 3);
	assert_int_equal(rig_ask(r, 0, WORD_READ, 0, REG_OM_POWER, 0, 32, &reply.word.value),
			 WORD_OK);
	assert_int_equal(reply.word.value, 1);
	rig_destroy(r);
}

static void many_words_at_once(void **state)
{
	struct rig *r = settled(NULL);
	struct rig_reply reply;

	for (unsigned i = 0; i < TDM_WORDS; i++) {
		rig_send(r, 3, WORD_READ, FCM, REG_FCM_SUPPLY, 0, 100 + i);
	}
	for (unsigned i = 0; i < TDM_WORDS; i++) {
		assert_true(rig_reply(r, 3, &reply));
		assert_int_equal(reply.word.sequence, 100 + i);
		assert_in_range(reply.word.value, 11900, 12100);
	}
	rig_destroy(r);
}

static int32_t read_hv(struct rig *r, unsigned module)
{
	static uint32_t sequence = 50000;
	int32_t value;

	assert_int_equal(
		rig_ask(r, 1, WORD_READ, (uint8_t)module, REG_OM_HV, 0, sequence++, &value),
		WORD_OK);
	return value;
}

static void hv_ramps(void **state)
{
	struct rig *r = settled(NULL);

	assert_in_range(read_hv(r, 2), 13975, 14025);
	assert_int_equal(rig_ask(r, 1, WORD_WRITE, 2, REG_OM_HV_SET, 14500, 1, NULL), WORD_OK);
	rig_seconds(r, 0.25); /* 100 V/s: half-way */
	assert_in_range(read_hv(r, 2), 14220, 14300);
	rig_seconds(r, 0.3);
	assert_in_range(read_hv(r, 2), 14475, 14525);
	assert_int_equal(rig_ask(r, 1, WORD_WRITE, 2, REG_OM_RAMP, 5000, 2, NULL), WORD_OK);
	assert_int_equal(rig_ask(r, 1, WORD_WRITE, 2, REG_OM_HV_SET, 10000, 3, NULL), WORD_OK);
	rig_seconds(r, 1);
	assert_in_range(read_hv(r, 2), 9975, 10025);
	assert_in_range(read_hv(r, 3), 13975, 14025);
	rig_destroy(r);
}

static int32_t read_reg(struct rig *r, unsigned link, uint8_t module, uint8_t reg)
{
	static uint32_t sequence = 60000;
	int32_t value;

	assert_int_equal(rig_ask(r, link, WORD_READ, module, reg, 0, sequence++, &value), WORD_OK);
	return value;
}

static void rate_follows_hv_and_threshold(void **state)
{
	struct rig *r = settled(NULL);
	int32_t nominal;

	rig_seconds(r, 1.1);
	nominal = read_reg(r, 0, 0, REG_OM_RATE);
	assert_in_range(nominal, 95000, 125000);
	rig_ask(r, 0, WORD_WRITE, 0, REG_OM_THRESHOLD, 45, 1, NULL); /* 1.5 photo-electrons */
	rig_ask(r, 0, WORD_WRITE, 1, REG_OM_RAMP, 5000, 2, NULL);
	rig_ask(r, 0, WORD_WRITE, 1, REG_OM_HV_SET, 8000, 3, NULL);
	rig_ask(r, 0, WORD_WRITE, 2, REG_OM_POWER, 0, 4, NULL);
	rig_seconds(r, 3.2);
	assert_in_range(read_reg(r, 0, 0, REG_OM_RATE), nominal / 20, nominal / 4);
	assert_in_range(read_reg(r, 0, 1, REG_OM_RATE), 0, nominal / 50);
	assert_int_equal(read_reg(r, 0, 2, REG_OM_RATE), 0);
	assert_in_range(read_reg(r, 0, 3, REG_OM_RATE), nominal * 8 / 10, nominal * 14 / 10);
	rig_compare(r, 0, NULL);
	rig_destroy(r);
}

static void trips(void **state)
{
	struct rig *r = settled("at 0.1 link 1 hv-trip 4\n");

	rig_seconds(r, 0.1);
	assert_int_equal(read_reg(r, 1, 4, REG_OM_TRIP), 1);
	assert_int_equal(read_reg(r, 1, 4, REG_OM_TRIPS), 1);
	assert_int_equal(read_hv(r, 4), 0);
	/* A tripped module takes a lower value, never a higher one, and stays off. */
	assert_int_equal(rig_ask(r, 1, WORD_WRITE, 4, REG_OM_HV_SET, 14001, 5, NULL), WORD_REFUSED);
	assert_int_equal(rig_ask(r, 1, WORD_WRITE, 4, REG_OM_HV_SET, 13000, 1, NULL), WORD_OK);
	assert_int_equal(read_reg(r, 1, 4, REG_OM_HV_SET), 13000);
	rig_seconds(r, 0.2);
	assert_int_equal(read_hv(r, 4), 0);
	assert_int_equal(rig_ask(r, 1, WORD_ACTION, 4, REG_OM_ACTION_CLEAR_TRIP, 0, 2, NULL),
			 WORD_OK);
	assert_int_equal(rig_ask(r, 1, WORD_WRITE, 4, REG_OM_RAMP, 5000, 3, NULL), WORD_OK);
	rig_seconds(r, 3);
	assert_in_range(read_hv(r, 4), 12975, 13025);
	assert_int_equal(read_reg(r, 1, 4, REG_OM_TRIP), 0);
	assert_int_equal(read_reg(r, 1, 4, REG_OM_CLEARS), 1);
	/* and by itself, when far too high */
	assert_int_equal(rig_ask(r, 1, WORD_WRITE, 4, REG_OM_HV_SET, 20000, 4, NULL), WORD_OK);
	rig_seconds(r, 2.5);
	assert_int_equal(read_reg(r, 1, 4, REG_OM_TRIP), 1);
	rig_destroy(r);
}

static void power(void **state)
{
	struct rig *r = settled(NULL);

	assert_int_equal(rig_ask(r, 1, WORD_ACTION, 5, REG_OM_ACTION_POWER_CYCLE, 0, 1, NULL),
			 WORD_OK);
	assert_int_equal(read_reg(r, 1, 5, REG_OM_POWER), 0);
	assert_int_equal(read_reg(r, 1, 5, REG_OM_HV), 0);
	assert_int_equal(read_reg(r, 1, 5, REG_OM_POWER_CYCLES), 0);
	rig_seconds(r, 0.3);
	assert_int_equal(read_reg(r, 1, 5, REG_OM_POWER), 1);
	assert_int_equal(read_reg(r, 1, 5, REG_OM_POWER_CYCLES), 1);
	assert_int_equal(read_reg(r, 1, 5, REG_OM_HV_SET), 14000);
	assert_in_range(read_reg(r, 1, 5, REG_OM_HV), 20, 300);
	/* switched off and on by hand the set value is gone */
	assert_int_equal(rig_ask(r, 1, WORD_WRITE, 5, REG_OM_POWER, 0, 2, NULL), WORD_OK);
	assert_int_equal(rig_ask(r, 1, WORD_WRITE, 5, REG_OM_POWER, 1, 3, NULL), WORD_OK);
	assert_int_equal(read_reg(r, 1, 5, REG_OM_HV_SET), 0);
	rig_destroy(r);
}

static void boots(void **state)
{
	struct rig *r = settled(NULL);
	const uint32_t before = r->links[1].telemetry.boot_count;
	int32_t value;

	assert_int_equal(rig_ask(r, 1, WORD_WRITE, 0, REG_OM_HV_SET, 14100, 8, NULL), WORD_OK);
	assert_int_equal(rig_ask(r, 1, WORD_ACTION, FCM, REG_FCM_ACTION_RESET, 0, 9, &value),
			 WORD_OK);
	assert_int_equal(value, before + 1);
	rig_run(r, 40);
	assert_false(r->links[1].fibre.signal);
	assert_true(r->links[0].fibre.signal);
	rig_seconds(r, 0.6);
	assert_true(r->links[1].fibre.signal);
	assert_int_equal(read_reg(r, 1, FCM, REG_FCM_BOOT_COUNT), before + 1);
	assert_int_equal(read_reg(r, 1, FCM, REG_FCM_UPTIME), 0);
	assert_int_equal(read_reg(r, 1, FCM, REG_FCM_EXECUTED), 0);
	assert_int_equal(read_reg(r, 1, 0, REG_OM_HV_SET), 14100);
	assert_true(r->links[1].header.flags & TDM_FLAG_BOOTED);
	/* it has forgotten what it did */
	assert_int_equal(rig_ask(r, 1, WORD_QUERY, 0, 0, 8, 10, NULL), WORD_UNKNOWN);
	assert_int_equal(rig_ask(r, 1, WORD_QUERY, 0, 0, 0, 11, NULL), WORD_UNKNOWN);
	rig_seconds(r, 1);
	assert_false(r->links[1].header.flags & TDM_FLAG_BOOTED);
	rig_compare(r, 1, NULL);
	rig_destroy(r);
}

static void slow_control_faults(void **state)
{
	struct rig *r = settled("at 0.05 link 0 mute\nat 0.1 link 0 unmute\n"
				"at 0.15 link 0 lose-replies 2\nat 0.2 link 0 duplicate-replies 1\n"
				"at 0.25 link 0 refuse 1\nat 0.3 link 0 lose-replies 100%\n"
				"at 0.4 link 0 lose-replies 0\n");
	struct rig_reply reply;
	int32_t value;

	rig_run(r, 400 - 120);
	assert_int_equal(rig_ask(r, 0, WORD_WRITE, 1, REG_OM_HV_SET, 14001, 1, NULL), -1);
	rig_run(r, 800 - 420);
	assert_int_equal(read_reg(r, 0, 1, REG_OM_HV_SET), 14000); /* mute: not executed */
	rig_run(r, (unsigned)(1200 - r->step));
	assert_int_equal(rig_ask(r, 0, WORD_WRITE, 1, REG_OM_HV_SET, 14002, 2, NULL), -1);
	assert_int_equal(rig_ask(r, 0, WORD_READ, 1, REG_OM_HV_SET, 0, 3, NULL), -1);
	/* lost reply: executed */
	assert_int_equal(rig_ask(r, 0, WORD_WRITE, 1, REG_OM_HV_SET, 14002, 2, &value),
			 WORD_DUPLICATE);
	assert_int_equal(read_reg(r, 0, 1, REG_OM_HV_SET), 14002);
	rig_run(r, (unsigned)(1600 - r->step));
	rig_send(r, 0, WORD_WRITE, 1, REG_OM_HV_SET, 14003, 4);
	assert_true(rig_reply(r, 0, &reply));
	assert_true(rig_reply(r, 0, &reply));
	assert_int_equal(reply.word.sequence, 4);
	assert_int_equal(reply.word.status, WORD_OK);
	rig_run(r, (unsigned)(2000 - r->step));
	assert_int_equal(rig_ask(r, 0, WORD_WRITE, 1, REG_OM_HV_SET, 14004, 5, NULL), WORD_REFUSED);
	assert_int_equal(rig_ask(r, 0, WORD_WRITE, 1, REG_OM_HV_SET, 14004, 6, NULL), WORD_OK);
	rig_run(r, (unsigned)(2400 - r->step));
	assert_int_equal(rig_ask(r, 0, WORD_READ, 1, REG_OM_HV_SET, 0, 7, NULL), -1);
	rig_run(r, (unsigned)(3200 - r->step));
	assert_int_equal(read_reg(r, 0, 1, REG_OM_HV_SET), 14004);
	assert_int_equal(executed_lines(r, 1, 1), 0);
	assert_int_equal(executed_lines(r, 1, 2), 1);
	rig_destroy(r);
}

/* Each changes places with the one behind it; what a boot finds held back is forgotten. */
static void replies_reordered(void **state)
{
	static const uint32_t order[] = {2, 1, 4, 3, 5};
	struct rig *r =
		settled("at 0.05 link 0 reorder-replies 2\nat 0.1 link 0 reorder-replies 1\n"
			"at 0.15 link 0 fcm-boot\n");
	struct rig_reply reply;

	rig_run(r, (unsigned)(420 - r->step));
	for (uint32_t sequence = 1; sequence <= 5; sequence++) {
		rig_send(r, 0, WORD_READ, 1, REG_OM_HV_SET, 0, sequence);
	}
	for (unsigned n = 0; n < 5; n++) {
		assert_true(rig_reply(r, 0, &reply));
		assert_int_equal(reply.word.sequence, order[n]);
	}
	rig_run(r, (unsigned)(820 - r->step));
	assert_int_equal(rig_ask(r, 0, WORD_WRITE, 1, REG_OM_HV_SET, 14001, 6, NULL), -1);
	rig_run(r, (unsigned)(1200 - r->step));
	rig_seconds(r, 0.7);
	assert_int_equal(rig_ask(r, 0, WORD_READ, 1, REG_OM_HV_SET, 0, 7, NULL), WORD_OK);
	assert_int_equal(executed_lines(r, 1, 6), 1);
	assert_false(rig_reply(r, 0, &reply));
	rig_destroy(r);
}

static void broadcast_timing(void **state)
{
	struct rig *r = settled(NULL);

	r->links[2].timing = (struct tdm_timing){.command = TDM_TIMING_ALIGN, .sequence = 4};
	rig_run(r, 10);
	assert_false(world_locked(r->world, 2));
	assert_true(world_locked(r->world, 1));
	rig_run(r, 40); /* the same command, still in every frame, is one command */
	assert_true(world_locked(r->world, 2));
	rig_destroy(r);
}

static void wraps_soon(struct world_config *c)
{
	c->wrap_s = 1.5;
}

/* --wrap: what counts events is at its largest, and 0 after the next; what counts at a rate gets there. */
static void counters_wrap(void **state)
{
	struct rig *r =
		rig_create(wraps_soon, "at 0.1 link 1 hv-trip 4\nat 0.2 link 1 down-crc 1\n");
	const struct tdm_telemetry *t = &r->links[1].telemetry;
	const struct tdm_header *h = &r->links[1].header;
	int32_t value;

	rig_run(r, 120);
	assert_int_equal(t->boot_count, UINT32_MAX);
	assert_int_equal(t->executed, UINT32_MAX);
	assert_int_equal(t->rejected, UINT32_MAX);
	assert_int_equal(h->crc_errors, UINT8_MAX);
	assert_true(h->sequence > INT32_MAX);
	for (uint8_t reg = REG_OM_TRIPS; reg <= REG_OM_RESETS; reg++) {
		assert_int_equal((uint32_t)read_reg(r, 1, 4, reg), UINT32_MAX);
	}
	assert_int_equal((uint32_t)read_reg(r, 1, 4, REG_OM_POWER_CYCLES), UINT32_MAX);
	rig_seconds(r, 0.2);
	assert_int_equal(read_reg(r, 1, 4, REG_OM_TRIPS), 0);
	assert_int_equal(h->crc_errors, 0);
	for (uint8_t action = 1; action <= REG_OM_ACTION_POWER_CYCLE; action++) {
		assert_int_equal(rig_ask(r, 1, WORD_ACTION, 4, action, 0, action, &value), WORD_OK);
		assert_int_equal(value, 0);
	}
	assert_int_equal(rig_ask(r, 1, WORD_ACTION, 4, 9, 0, 9, NULL), WORD_BAD_REG);
	rig_seconds(r, 0.3);
	for (uint8_t reg = REG_OM_TRIPS; reg <= REG_OM_RESETS; reg++) {
		assert_int_equal(read_reg(r, 1, 4, reg), 0);
	}
	assert_int_equal(read_reg(r, 1, 4, REG_OM_POWER_CYCLES), 0);
	assert_int_equal(t->executed, 2);
	assert_int_equal(t->rejected, 0);
	rig_seconds(r, 1);
	assert_true(h->sequence < 8000);
	assert_int_equal(rig_ask(r, 1, WORD_ACTION, FCM, REG_FCM_ACTION_RESET, 0, 10, &value),
			 WORD_OK);
	assert_int_equal(value, 0);
	rig_seconds(r, 0.7);
	assert_int_equal(t->boot_count, 0);
	assert_int_equal(read_reg(r, 1, FCM, REG_FCM_BOOT_COUNT), 0);
	assert_int_equal(r->links[0].telemetry.boot_count, UINT32_MAX);
	rig_compare(r, 1, NULL);
	rig_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_take_eight_frames),
		cmocka_unit_test(statuses),
		cmocka_unit_test(once_and_only_once),
		cmocka_unit_test(queries_tell_the_outcome),
		cmocka_unit_test(queries_tell_the_largest_sequence),
		cmocka_unit_test(words_that_are_none),
		cmocka_unit_test(many_words_at_once),
		cmocka_unit_test(hv_ramps),
		cmocka_unit_test(rate_follows_hv_and_threshold),
		cmocka_unit_test(trips),
		cmocka_unit_test(power),
		cmocka_unit_test(boots),
		cmocka_unit_test(counters_wrap),
		cmocka_unit_test(slow_control_faults),
		cmocka_unit_test(replies_reordered),
		cmocka_unit_test(broadcast_timing),
	};

	return cmocka_run_group_tests_name("floor", tests, NULL, NULL);
}
