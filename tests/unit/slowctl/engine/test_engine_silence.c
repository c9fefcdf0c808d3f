/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command engine and the silence timer of an FCM (tdm/registers.h): polling keeps the timer from firing under
 * all conditions; switching the timer on makes safer; an FCM without a timer is no problem; and when a floor
 * answers again after a while, its set values are read again.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tdm/registers.h"
#include "tests/unit/slowctl/engine/engine_rig.h"

#define TIMER "floor1.fcm.silence_timer"
#define LIMIT "floor1.fcm.silence_time"
#define HV    "floor1.om2.hv"

static struct param *get(struct rig *r, const char *name)
{
	struct param *p = NULL;

	assert_int_equal(params_find(r->params, name, &p, NULL), 0);
	return p;
}

/* Words of any kind that the floor receives. */
static uint64_t heard(const struct rig *r)
{
	return r->floors[0].reads + r->floors[0].writes + r->floors[0].queries;
}

/* In each tenth of the shortest time that can be set. */
static void assert_kept_alive(struct rig *r, unsigned seconds)
{
	const unsigned slice = REG_FCM_SILENCE_S_MIN * 1000 / 8; /* 2.5 s */

	for (unsigned ms = 0; ms < seconds * 1000; ms += slice) {
		const uint64_t before = heard(r);

		rig_run(r, slice);
		if (heard(r) == before) {
			fail_msg("no word between %u and %u ms", ms, ms + slice);
		}
	}
}

static struct rig *polling_rig(void)
{
	struct rig *r = rig_create(1);

	r->config.poll = true;
	rig_crash(r); /* another engine, with polling */
	rig_run(r, 3000);
	return r;
}

static void polling_keeps_the_timer_from_firing(void **state)
{
	struct rig *r = polling_rig();
	char name[40];
	uint64_t id;

	assert_kept_alive(r, 60);
	r->floors[0].mute = true; /* it receives words, its answers are lost */
	assert_kept_alive(r, 60);
	for (unsigned n = 0; n < 200; n++) { /* with commands that wait for its answer */
		snprintf(name, sizeof(name), "floor1.om%u.threshold", n % 6);
		assert_int_equal(rig_set(r, name, 12, &id), 0);
	}
	assert_kept_alive(r, 60);
	r->floors[0].mute = false;
	assert_kept_alive(r, 60);
	r->store_result = -28; /* the disk is full: sequences that are reserved are used */
	assert_kept_alive(r, 60);
	r->store_result = 0;
	rig_crash(r); /* the daemon is killed, and back */
	assert_kept_alive(r, 30);
	rig_destroy(r);
}

static void switching_it_on_makes_safer_switching_it_off_does_not(void **state)
{
	struct rig *r = polling_rig();

	assert_true(engine_safer(r->e, get(r, TIMER), 1, r->now));
	assert_false(engine_safer(r->e, get(r, TIMER), 0, r->now));
	for (unsigned s = 20; s <= 3600;
	     s += 1790) { /* neither early nor late is safer for the data and the HV */
		assert_false(engine_safer(r->e, get(r, LIMIT), s, r->now));
	}
	rig_destroy(r);
}

static unsigned reasons_count(struct rig *r)
{
	return engine_reasons(r->e, r->now, NULL, NULL);
}

static void an_fcm_without_the_timer_is_bad_and_no_reason(void **state)
{
	static const char *const names[] = {TIMER, LIMIT, "floor1.fcm.silenced",
					    "floor1.fcm.silenced_ago"};
	struct rig *r = rig_create(1);
	uint64_t id, before;

	r->config.poll = true;
	r->floors[0].no_timer = true;
	rig_crash(r);
	rig_run(r, 120000);
	for (unsigned n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		struct param *p = get(r, names[n]);

		assert_int_equal(param_quality(p, r->now.mono_ns), PARAM_BAD);
		assert_false(p->has_value);
	}
	assert_int_equal(reasons_count(r), 0);
	assert_int_equal(param_quality(get(r, "floor2.fcm.silence_timer"), r->now.mono_ns),
			 PARAM_GOOD);
	before = r->floors[0].rejected;
	rig_run(r, 60000); /* the FCM counts refused reads: it is read rarely */
	assert_in_range(r->floors[0].rejected - before, 4, 5);
	assert_int_equal(rig_set(r, TIMER, 1, &id), 0);
	rig_until_end(r, id, 2000);
	rig_expect(r, id, "QUEUED SENT REFUSED", 0);
	assert_non_null(strstr(r->commands[id].detail, "no such"));
	r->floors[0].no_timer = false; /* a newer FCM */
	rig_run(r, 61000);
	assert_int_equal(param_quality(get(r, TIMER), r->now.mono_ns), PARAM_GOOD);
	assert_int_equal(reasons_count(r), 0);
	rig_destroy(r);
}

/* Only optional registers are no reason: a refused read of another one is. */
static void other_values_that_are_refused_are_a_reason(void **state)
{
	struct rig *r = polling_rig();

	assert_int_equal(reasons_count(r), 0);
	r->floors[0].no_rate = true;
	rig_run(r, 60000);
	assert_int_equal(param_quality(get(r, "floor1.om0.rate"), r->now.mono_ns), PARAM_BAD);
	assert_int_equal(reasons_count(r), 1);
	rig_destroy(r);
}

/* The floor receives no words until its timer has fired: its HV is no longer as set before. */
static void after_a_mute_time_set_values_are_read_again(void **state)
{
	struct rig *r = polling_rig();

	assert_true(get(r, HV)->has_setpoint && get(r, HV)->setpoint == 1400);
	assert_true(engine_safer(r->e, get(r, HV), 1000, r->now));
	r->floors[0].deaf = true;
	rig_run(r, 30000);
	r->floors[0].hv_set[2] = 0;
	r->floors[0].deaf = false;
	for (unsigned n = 0; n < 3000 && !isnan(engine_mute_s(r->e, get(r, HV), r->now)); n++) {
		rig_run(r, 1);
	}
	assert_true(isnan(engine_mute_s(r->e, get(r, HV), r->now)));
	assert_false(engine_safer(r->e, get(r, HV), 1000, r->now)); /* it would raise the HV */
	rig_run(r, 2500);
	assert_true(get(r, HV)->has_setpoint && get(r, HV)->setpoint == 0);
	rig_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(polling_keeps_the_timer_from_firing),
		cmocka_unit_test(switching_it_on_makes_safer_switching_it_off_does_not),
		cmocka_unit_test(an_fcm_without_the_timer_is_bad_and_no_reason),
		cmocka_unit_test(other_values_that_are_refused_are_a_reason),
		cmocka_unit_test(after_a_mute_time_set_values_are_read_again),
	};

	return cmocka_run_group_tests_name("engine and silence timer", tests, NULL, NULL);
}
