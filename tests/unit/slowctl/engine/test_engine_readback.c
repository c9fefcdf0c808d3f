/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The READ that goes behind the word of a set: what it saves, and when its answer counts; how long a value may
 * take to get there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tdm/registers.h"
#include "tests/unit/slowctl/engine/engine_rig.h"

/* The READ of its value goes behind the word: one trip, both answers. */
static void test_one_trip(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	rig_run(r, 10);
	r->delay_us = 50000;
	rig_set(r, "floor1.om0.threshold", 12, &id);
	rig_run(r, 150);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	assert_int_equal(r->floors[0].reads, 1);
	/* Not of an action, whose counter moves later. */
	rig_action(r, "floor1.om0.reset", &id);
	rig_run(r, 150);
	assert_string_equal(r->commands[id].states, "QUEUED SENT ACKED");
	assert_int_equal(r->floors[0].reads, 1);
	rig_destroy(r);
}

/* What the READ says counts only behind the acknowledgement of the word that left before it. */
static void test_early_read(void **state)
{
	struct word early = {.op = WORD_READ | WORD_REPLY, .reg = REG_OM_THRESHOLD, .boot = 7};
	struct rig *r = rig_create(1);
	uint64_t id;

	rig_run(r, 10);
	r->delay_us = 50000;
	rig_set(r, "floor1.om0.threshold", 12, &id);
	rig_run(r, 30);
	early.sequence = r->commands[id].sequence + 1;
	early.value = 12;
	engine_reply(r->e, 0, &early, r->now);
	rig_drain(r);
	rig_run(r, 10);
	assert_string_equal(r->commands[id].states, "QUEUED SENT");
	rig_run(r, 300);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	assert_int_equal(r->floors[0].reads, 2); /* read anew */
	/* Of a word that was lost it says nothing either, nor of that word's repeat. */
	r->delay_us = 1000;
	r->floors[0].deaf = true;
	rig_set(r, "floor1.om0.threshold", 15, &id);
	rig_run(r, 400);
	assert_string_equal(r->commands[id].states, "QUEUED SENT UNKNOWN");
	early.sequence = r->commands[id].sequence + 1;
	early.value = 15;
	engine_reply(r->e, 0, &early, r->now);
	rig_drain(r);
	r->floors[0].deaf = false;
	rig_run(r, 10);
	assert_string_equal(r->commands[id].states, "QUEUED SENT UNKNOWN");
	rig_run(r, 800);
	rig_expect(r, id, "QUEUED SENT UNKNOWN UNKNOWN SENT ACKED DONE", 1);
	assert_int_equal(rig_inside(r, 0)->flights, 0);
	rig_destroy(r);
}

/* Places in the window are for words of commands that wait, then for what goes behind them. */
static void test_writes_first(void **state)
{
	struct rig *r = rig_create(1);
	char name[40];
	uint64_t id;

	rig_run(r, 10);
	r->delay_us = 50000;
	for (unsigned n = 0; n < 6; n++) {
		snprintf(name, sizeof(name), "floor1.om%u.threshold", n);
		assert_int_equal(rig_set(r, name, 12, &id), 0);
	}
	rig_run(r, 70);
	assert_int_equal(r->floors[0].writes, 6);
	assert_int_equal(r->floors[0].reads, WINDOW - 6);
	assert_int_equal(rig_inside(r, 0)->flights, WINDOW);
	rig_run(r, 300);
	assert_int_equal(rig_inside(r, 0)->flights, 0);
	assert_int_equal(rig_inside(r, 0)->open_count, 0);
	assert_int_equal(r->floors[0].writes, 6);
	assert_int_equal(r->floors[0].reads, 6);
	rig_destroy(r);
}

static struct param *find(struct rig *r, const char *name)
{
	struct param *p = NULL;

	assert_int_equal(params_find(r->params, name, &p, NULL), 0);
	return p;
}

/* A ramp of 140 s is followed to its end, whatever rate is known at its begin (0.1 V/s; 0:
 * none). */
static void slow_ramp(int32_t rate)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	r->floors[0].slow = 20;
	r->floors[0].ramp[2] = 100;
	if (rate) {
		param_put_raw(find(r, "floor1.om2.ramp"), rate, r->now.utc_ns, r->now.mono_ns);
	}
	rig_set(r, "floor1.om2.hv", 0, &id);
	rig_run(r, 130000);
	rig_expect(r, id, "QUEUED SENT ACKED", 1);
	rig_run(r, 20000);
	rig_expect(r, id, "QUEUED SENT ACKED DONE", 1);
	rig_destroy(r);
}

/* At the acknowledgement neither value nor rate has been read. */
static void test_slow_ramp_of_unknown_rate(void **state)
{
	slow_ramp(0);
}

/* The value has not been read either, so the way is unknown. */
static void test_slow_ramp_from_unknown_value(void **state)
{
	slow_ramp(100);
}

/* The rate has changed since it was read last. */
static void test_slow_ramp_of_a_rate_of_before(void **state)
{
	slow_ramp(1000);
}

/* The values that decide the time limit are read at once. */
static void test_rate_is_read(void **state)
{
	struct rig *r = rig_create(1);
	struct param *ramp;
	uint64_t id;

	r->config.poll = true;
	rig_crash(r);
	rig_run(r, 2000);
	ramp = find(r, "floor1.om2.ramp");
	assert_true(ramp->has_value);
	ramp->has_value = false;
	ramp->next_poll_ns = UINT64_MAX;
	rig_set(r, "floor1.om2.hv", 1300, &id);
	rig_run(r, 20);
	assert_string_equal(r->commands[id].states, "QUEUED SENT ACKED");
	assert_true(ramp->has_value);
	rig_destroy(r);
}

/* It stops half way: no progress, so it ends FAILED in time. */
static void test_stuck_on_the_way(void **state)
{
	static const struct {
		int32_t rate;
		unsigned stops_ms, open_ms, failed_ms;
	} cases[] = {
		{100, 40000, 150000, 160000}, /* known: 140 s, and a tenth, and 3 s */
		{0, 40000, 60000, 70000},     /* a minute */
		{0, 80000, 81000, 90000},     /* it moved after that, too */
	};

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct rig *r = rig_create(1);
		uint64_t id;

		r->floors[0].slow = 20;
		if (cases[n].rate) {
			param_put_raw(find(r, "floor1.om2.ramp"), cases[n].rate, r->now.utc_ns,
				      r->now.mono_ns);
		}
		rig_set(r, "floor1.om2.hv", 0, &id);
		rig_run(r, cases[n].stops_ms);
		r->floors[0].slow = 2000000000;
		rig_run(r, cases[n].open_ms - cases[n].stops_ms);
		rig_expect(r, id, "QUEUED SENT ACKED", 1);
		rig_run(r, cases[n].failed_ms - cases[n].open_ms);
		rig_expect(r, id, "QUEUED SENT ACKED FAILED", 1);
		assert_non_null(strstr(r->commands[id].detail, "wanted 0.0 V"));
		rig_destroy(r);
	}
}

/* It was never executed: the FCM has booted and forgotten, and holds the value for another reason.
 * The final text names the evidence. */
static void forgotten(int32_t offset, const char *state, const char *text)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	rig_run(r, 10);
	r->floors[0].deaf = true;
	rig_set(r, "floor1.om2.hv", 1300, &id);
	rig_run(r, 1000);
	r->floors[0].hv_set[2] = r->floors[0].hv[2] = 13000;
	r->floors[0].hv_offset = offset;
	rig_boot(r, 0);
	r->floors[0].deaf = false;
	rig_run(r, 90000);
	assert_int_equal(rig_executed(r, id), 0);
	assert_string_equal(r->commands[id].state, state);
	if (strstr(r->commands[id].detail, text) != r->commands[id].detail) {
		fail_msg("'%s', wanted '%s'", r->commands[id].detail, text);
	}
	rig_destroy(r);
}

static void test_done_by_the_value_held(void **state)
{
	forgotten(0, "DONE",
		  "the FCM had forgotten the outcome and holds the value; read-back 1300.0 V");
	forgotten(100, "FAILED",
		  "the FCM had forgotten the outcome and holds the value; read-back 1310.0 V, "
		  "wanted 1300.0 V");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_trip),
		cmocka_unit_test(test_early_read),
		cmocka_unit_test(test_writes_first),
		cmocka_unit_test(test_slow_ramp_of_unknown_rate),
		cmocka_unit_test(test_slow_ramp_from_unknown_value),
		cmocka_unit_test(test_slow_ramp_of_a_rate_of_before),
		cmocka_unit_test(test_rate_is_read),
		cmocka_unit_test(test_stuck_on_the_way),
		cmocka_unit_test(test_done_by_the_value_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
