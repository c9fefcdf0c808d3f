/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The silence timer of a floor (tdm/registers.h): off by default; which words keep it from firing; what it does to
 * the modules, and to nothing else; the state when words arrive again. Model time: a frame is 125 us.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "driver/emu/floor/floor.h"
#include "tdm/registers.h"

#define FCM	WORD_MODULE_FCM
#define NOMINAL REG_OM_HV_NOMINAL
#define MIN_S	REG_FCM_SILENCE_S_MIN

struct shore {
	struct pulse_tables *pulses;
	struct hydrophone_tables *sound;
	struct floor *floor;
	struct floor_down down;
	unsigned place;
	uint32_t sequence;
	uint64_t steps;
	uint8_t frame[TDM_FRAME_BYTES];
};

static int set_up(void **state)
{
	struct shore *s = calloc(1, sizeof(*s));
	struct floor_config config = {.tower = 1, .floor = 3, .fifo_bytes = 1 << 16, .seed = 1};

	assert_non_null(s);
	s->pulses = pulse_tables_create();
	s->sound = hydrophone_tables_create();
	assert_non_null(s->pulses);
	assert_non_null(s->sound);
	s->floor = floor_create(&config, s->pulses, s->sound);
	assert_non_null(s->floor);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct shore *s = *state;

	floor_destroy(s->floor);
	free(s->pulses);
	free(s->sound);
	free(s);
	return 0;
}

/* A frame period: posted words go down, else an empty frame. */
static void step(struct shore *s)
{
	struct truth_record truth = {0};

	if (s->steps++ % 8 == 0) {
		floor_slow(s->floor);
	}
	s->down.lit = s->down.good = true;
	floor_frame(s->floor, &s->down, s->frame, &truth);
	memset(&s->down, 0, sizeof(s->down));
	s->place = 0;
}

static void silent(struct shore *s, double seconds)
{
	for (uint64_t until = s->steps + (uint64_t)(seconds * 8000); s->steps < until;) {
		step(s);
	}
}

static void post_bytes(struct shore *s, const uint8_t bytes[TDM_WORD_BYTES])
{
	memcpy(s->down.bytes + TDM_OFF_REQUESTS + s->place++ * TDM_WORD_BYTES, bytes,
	       TDM_WORD_BYTES);
}

static void post(struct shore *s, const struct word *w)
{
	uint8_t bytes[TDM_WORD_BYTES];

	word_pack(w, bytes);
	post_bytes(s, bytes);
}

/* The reply's status, its value through ret_value; -1: no answer within ten frames. */
static int ask(struct shore *s, uint8_t op, uint8_t module, uint8_t reg, int32_t value,
	       int32_t *ret_value)
{
	const struct word w = {
		.op = op, .module = module, .reg = reg, .value = value, .sequence = ++s->sequence};

	post(s, &w);
	for (unsigned n = 0; n < 10; n++) {
		const uint8_t *words;
		struct word r;

		step(s);
		for (int i = 0, count = tdm_replies_get(s->frame, &words); i < count; i++) {
			assert_int_equal(word_unpack(words + i * (int)TDM_WORD_BYTES, &r), 0);
			if (r.sequence == w.sequence) {
				*(ret_value ? ret_value : &value) = r.value;
				return r.status;
			}
		}
	}
	return -1;
}

static int write_reg(struct shore *s, unsigned module, unsigned reg, int32_t value)
{
	return ask(s, WORD_WRITE, (uint8_t)module, (uint8_t)reg, value, NULL);
}

static int32_t read_reg(struct shore *s, unsigned module, unsigned reg)
{
	int32_t value = -1;

	assert_int_equal(ask(s, WORD_READ, (uint8_t)module, (uint8_t)reg, 0, &value), WORD_OK);
	return value;
}

static void arm(struct shore *s)
{
	assert_int_equal(write_reg(s, FCM, REG_FCM_SILENCE_S, MIN_S), WORD_OK);
	assert_int_equal(write_reg(s, FCM, REG_FCM_SILENCE, 1), WORD_OK);
}

/* The HV is up as set; the timer has not fired. */
static void assert_up(struct shore *s)
{
	for (unsigned m = 0; m < TDM_MODULES; m++) {
		assert_int_equal(read_reg(s, m, REG_OM_HV_SET), NOMINAL);
		assert_in_range(read_reg(s, m, REG_OM_HV), NOMINAL - 30, NOMINAL + 30);
	}
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED), 0);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED_AGO), 0);
}

static void registers_have_limits_and_boot_values(void **state)
{
	static const struct {
		uint8_t reg;
		int32_t value;
		int status;
	} writes[] = {
		{REG_FCM_SILENCE, 2, WORD_BAD_VALUE},
		{REG_FCM_SILENCE, -1, WORD_BAD_VALUE},
		{REG_FCM_SILENCE_S, REG_FCM_SILENCE_S_MIN - 1, WORD_BAD_VALUE},
		{REG_FCM_SILENCE_S, REG_FCM_SILENCE_S_MAX + 1, WORD_BAD_VALUE},
		{REG_FCM_SILENCE_S, 0, WORD_BAD_VALUE},
		{REG_FCM_SILENCED, 0, WORD_READ_ONLY},
		{REG_FCM_SILENCED_AGO, 0, WORD_READ_ONLY},
		{REG_FCM_SILENCED_AGO + 1, 0, WORD_BAD_REG},
		{REG_FCM_SILENCE, 1, WORD_OK},
		{REG_FCM_SILENCE_S, REG_FCM_SILENCE_S_MIN, WORD_OK},
		{REG_FCM_SILENCE_S, REG_FCM_SILENCE_S_MAX, WORD_OK},
	};
	struct shore *s = *state;

	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCE), 0);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCE_S), REG_FCM_SILENCE_S_DEFAULT);
	for (unsigned i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
		if (write_reg(s, FCM, writes[i].reg, writes[i].value) != writes[i].status) {
			fail_msg("write %u", i);
		}
	}
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCE), 1);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCE_S), REG_FCM_SILENCE_S_MAX);
}

/* A silent shore without the timer: the HV stays where it was. */
static void off_by_default_the_hv_stays(void **state)
{
	struct shore *s = *state;

	assert_int_equal(write_reg(s, FCM, REG_FCM_SILENCE_S, MIN_S), WORD_OK);
	silent(s, 2.5 * MIN_S);
	assert_up(s);
	arm(s);
	assert_int_equal(write_reg(s, FCM, REG_FCM_SILENCE, 0), WORD_OK);
	silent(s, 2.5 * MIN_S);
	assert_up(s);
}

/* Each of these words restarts the timer, whatever its outcome. */
static void any_valid_word_keeps_it_alive(void **state)
{
	static const struct word words[] = {
		{.op = WORD_READ, .module = 2, .reg = REG_OM_TRIP},
		{.op = WORD_READ, .module = 200, .reg = 9},
		{.op = WORD_QUERY, .module = FCM, .value = 0},
		{.op = WORD_WRITE, .module = 2, .reg = REG_OM_THRESHOLD, .value = 12},
		{.op = WORD_WRITE, .module = 2, .reg = REG_OM_THRESHOLD, .value = -1},
		{.op = WORD_ACTION, .module = 2, .reg = 99},
	};
	struct shore *s = *state;

	arm(s);
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct word w = words[i];

		silent(s, MIN_S - 0.5);
		w.sequence = ++s->sequence;
		post(s, &w);
	}
	silent(s, MIN_S - 0.5);
	assert_up(s);
}

/* Invalid words, all the time: the timer fires as if nothing was sent. */
static void what_is_no_valid_word_does_not_keep_it_alive(void **state)
{
	static const struct word bad[] = {
		{.op = WORD_WRITE,
		 .module = 2,
		 .reg = REG_OM_THRESHOLD,
		 .value = 12},						      /* sequence 0 */
		{.op = WORD_ACTION, .module = 2, .reg = REG_OM_ACTION_RESET}, /* likewise */
		{.op = 0x55, .sequence = 7},
		{.op = WORD_READ | WORD_REPLY, .sequence = 7},
	};
	struct shore *s = *state;

	arm(s);
	for (unsigned n = 0; n < MIN_S; n++) {
		uint8_t bytes[TDM_WORD_BYTES];
		struct word w = {.op = WORD_READ, .module = 2, .reg = 1, .sequence = 8000 + n};

		for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			post(s, &bad[i]);
		}
		word_pack(&w, bytes);
		bytes[n % TDM_WORD_BYTES ? n % TDM_WORD_BYTES : 1] ^= 0x10;
		post_bytes(s, bytes);
		silent(s, 1);
	}
	silent(s, 0.1);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED), 1);
	assert_int_equal(read_reg(s, 2, REG_OM_HV_SET), 0);
}

static void it_fires_after_its_time_and_ramps_at_each_modules_own_rate(void **state)
{
	struct shore *s = *state;

	assert_int_equal(write_reg(s, 4, REG_OM_RAMP, 500), WORD_OK); /* 50 V/s; others 100 V/s */
	arm(s);
	silent(s, MIN_S - 0.1);
	assert_up(s);
	silent(s, MIN_S + 4); /* the write restarted the timer: it fires, then 4 s of the ramp */
	assert_in_range(read_reg(s, 0, REG_OM_HV), 9900, 10100);
	assert_in_range(read_reg(s, 4, REG_OM_HV), 11950, 12050);
	for (unsigned m = 0; m < TDM_MODULES; m++) {
		assert_int_equal(read_reg(s, m, REG_OM_HV_SET), 0);
		assert_int_equal(read_reg(s, m, REG_OM_POWER), 1);
		assert_int_equal(read_reg(s, m, REG_OM_THRESHOLD), 10);
		assert_int_equal(read_reg(s, m, REG_OM_RAMP), m == 4 ? 500 : 1000);
	}
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED), 1);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED_AGO), 4);
	silent(s, 10.5); /* the words of this test do not stop the ramp */
	assert_int_equal(read_reg(s, 0, REG_OM_HV), 0);
	assert_in_range(read_reg(s, 4, REG_OM_HV), 6600, 6800);
	assert_int_equal(read_reg(s, 6, REG_HYDRO_POWER), 1);
	assert_int_equal(read_reg(s, 6, REG_HYDRO_GAIN), 200);
}

/* A tripped module has no HV now, but a set value to return to. */
static void clearing_a_trip_does_not_bring_the_hv_back(void **state)
{
	struct shore *s = *state;

	arm(s);
	floor_trip(s->floor, 1);
	silent(s, MIN_S + 1);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED), 1);
	assert_int_equal(ask(s, WORD_ACTION, 1, REG_OM_ACTION_CLEAR_TRIP, 0, NULL), WORD_OK);
	silent(s, 1);
	assert_int_equal(read_reg(s, 1, REG_OM_HV), 0);
	assert_int_equal(read_reg(s, 1, REG_OM_HV_SET), 0);
}

/* A floor that receives words, one that does not, and one without the timer. */
static void other_floors_are_not_touched(void **state)
{
	struct shore *s = *state, *heard, *off;

	assert_int_equal(set_up((void **)&heard), 0);
	assert_int_equal(set_up((void **)&off), 0);
	arm(s);
	arm(heard);
	for (unsigned n = 0; n < 3 * MIN_S; n++) {
		silent(s, 1);
		silent(off, 1);
		silent(heard, 1);
		assert_int_equal(read_reg(heard, 0, REG_OM_TRIP), 0);
	}
	assert_up(heard);
	assert_up(off);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED), 1);
	tear_down((void **)&heard);
	tear_down((void **)&off);
}

/* What an operator has to do afterwards: set the HV; write the timer, which acknowledges it. */
static void after_words_return_the_operator_sets_the_hv_and_the_timer(void **state)
{
	struct shore *s = *state;

	arm(s);
	silent(s, MIN_S + 16);
	silent(s, 3 * MIN_S); /* it fired once: there is nothing more to take down */
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED), 1);
	silent(s, 5);
	assert_int_equal(read_reg(s, 3, REG_OM_HV), 0); /* words alone bring nothing back */
	assert_int_equal(write_reg(s, 3, REG_OM_HV_SET, 12000), WORD_OK);
	silent(s, 12.5);
	assert_in_range(read_reg(s, 3, REG_OM_HV), 11970, 12030);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED), 1);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCE), 1); /* still on: it fires again */
	silent(s, MIN_S + 1);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED), 2);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED_AGO), 1);
	assert_int_equal(write_reg(s, FCM, REG_FCM_SILENCE, 2), WORD_BAD_VALUE);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED), 2);
	assert_int_equal(write_reg(s, FCM, REG_FCM_SILENCE, 1), WORD_OK);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED), 0);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED_AGO), 0);
}

/* As other registers of the FCM itself; the modules keep what they have. */
static void a_boot_switches_it_off(void **state)
{
	struct shore *s = *state;

	arm(s);
	assert_int_equal(ask(s, WORD_ACTION, FCM, REG_FCM_ACTION_RESET, 0, NULL), WORD_OK);
	silent(s, 1);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCE), 0);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCE_S), REG_FCM_SILENCE_S_DEFAULT);
	silent(s, 2 * MIN_S);
	assert_up(s);
	arm(s);
	silent(s, MIN_S + 1);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED), 1);
	floor_boot(s->floor);
	silent(s, 1);
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED), 0);
	assert_int_equal(read_reg(s, 0, REG_OM_HV_SET), 0);
}

/* A floor with a dark fibre receives no words either; nor does a muted one. */
static void silence_is_also_a_dark_fibre(void **state)
{
	struct shore *s = *state;
	struct truth_record truth = {0};
	const struct floor_down dark = {0};

	arm(s);
	for (unsigned n = 0; n < (MIN_S + 1) * 8000; n++) {
		if (n % 8 == 0) {
			floor_slow(s->floor);
		}
		floor_frame(s->floor, &dark, s->frame, &truth);
	}
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED), 1);
	assert_int_equal(write_reg(s, 0, REG_OM_HV_SET, NOMINAL), WORD_OK);
	floor_faults(s->floor)->mute = true;
	for (unsigned n = 0; n < MIN_S + 1; n++) {
		assert_int_equal(ask(s, WORD_READ, 0, REG_OM_HV, 0, NULL), -1);
		silent(s, 1);
	}
	floor_faults(s->floor)->mute = false;
	assert_int_equal(read_reg(s, FCM, REG_FCM_SILENCED), 2);
	assert_int_equal(read_reg(s, 0, REG_OM_HV_SET), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(registers_have_limits_and_boot_values),
		TEST(off_by_default_the_hv_stays),
		TEST(any_valid_word_keeps_it_alive),
		TEST(what_is_no_valid_word_does_not_keep_it_alive),
		TEST(it_fires_after_its_time_and_ramps_at_each_modules_own_rate),
		TEST(clearing_a_trip_does_not_bring_the_hv_back),
		TEST(other_floors_are_not_touched),
		TEST(after_words_return_the_operator_sets_the_hv_and_the_timer),
		TEST(a_boot_switches_it_off),
		TEST(silence_is_also_a_dark_fibre),
	};

	return cmocka_run_group_tests_name("silence", tests, NULL, NULL);
}
