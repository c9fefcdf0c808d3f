/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The READ that goes behind the word of a set: what it saves, and when its answer counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tdm/registers.h"
#include "tests/unit/engine_rig.h"

/* The READ of its value goes behind the word: one trip, both answers. */
static void test_one_trip(void **state)
{
	struct rig *r = rig_create(1);
	uint64_t id;

	(void)state;
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
	struct engine_link_view v;
	uint64_t id;

	(void)state;
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
	engine_link_view(r->e, 0, &v);
	assert_int_equal(v.in_flight, 0);
	rig_destroy(r);
}

/* Places in the window are for words of commands that wait, then for what goes behind them. */
static void test_writes_first(void **state)
{
	struct rig *r = rig_create(1);
	struct engine_link_view v;
	char name[40];
	uint64_t id;

	(void)state;
	rig_run(r, 10);
	r->delay_us = 50000;
	for (unsigned n = 0; n < 6; n++) {
		snprintf(name, sizeof(name), "floor1.om%u.threshold", n);
		assert_int_equal(rig_set(r, name, 12, &id), 0);
	}
	rig_run(r, 70);
	assert_int_equal(r->floors[0].writes, 6);
	assert_int_equal(r->floors[0].reads, r->config.window - 6);
	engine_link_view(r->e, 0, &v);
	assert_int_equal(v.in_flight, r->config.window);
	rig_run(r, 300);
	engine_link_view(r->e, 0, &v);
	assert_int_equal(v.in_flight, 0);
	assert_int_equal(v.open, 0);
	assert_int_equal(r->floors[0].writes, 6);
	assert_int_equal(r->floors[0].reads, 6);
	rig_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_trip),
		cmocka_unit_test(test_early_read),
		cmocka_unit_test(test_writes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
