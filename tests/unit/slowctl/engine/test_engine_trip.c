/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands to a module whose HV has tripped: how they end, and what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/slowctl/engine/engine_rig.h"

static struct rig *polled_rig(void)
{
	struct rig *r = rig_create(1);

	r->config.poll = true;
	rig_crash(r); /* begin anew with polling */
	rig_run(r, 3000);
	return r;
}

/* A tripped module takes a lower value and stays off: done when the FCM holds it. The clear says where the
 * HV goes. */
static void test_set_while_tripped(void **state)
{
	struct rig *r = polled_rig();
	uint64_t lower, higher, clear;

	r->floors[0].trip[3] = 1;
	rig_run(r, 3000); /* polled */
	rig_set(r, "floor1.om3.hv", 1300, &lower);
	rig_until_end(r, lower, 2000);
	rig_expect(r, lower, "QUEUED SENT ACKED DONE", 1);
	assert_non_null(strstr(r->commands[lower].detail, "the FCM holds 1300.0 V"));
	assert_non_null(
		strstr(r->commands[lower].detail, "off until tower1.floor1.om3.trip is cleared"));
	assert_int_equal(r->floors[0].hv_set[3], 13000);
	assert_int_equal(r->floors[0].hv[3], 0);
	rig_set(r, "floor1.om3.hv", 1400, &higher);
	rig_until_end(r, higher, 2000);
	rig_expect(r, higher, "QUEUED SENT REFUSED", 0);
	assert_non_null(strstr(r->commands[higher].detail, "while tower1.floor1.om3.trip is on"));
	rig_action(r, "floor1.om3.clear_trip", &clear);
	rig_until_end(r, clear, 2000);
	rig_expect(r, clear, "QUEUED SENT ACKED DONE", 1);
	assert_non_null(strstr(r->commands[clear].detail, "om3.hv now goes to 1300.0 V, within"));
	rig_run(r, 20000);
	assert_int_equal(r->floors[0].hv[3], 13000);
	rig_action(r, "floor1.om3.clear_trip", &clear); /* nothing to do */
	rig_until_end(r, clear, 2000);
	assert_null(strstr(r->commands[clear].detail, "goes to"));
	rig_destroy(r);
}

/* The FCM says yes, but its register holds something else. */
static void test_set_while_tripped_not_held(void **state)
{
	struct rig *r = polled_rig();
	uint64_t id;

	r->floors[0].trip[3] = 1;
	rig_run(r, 3000);
	rig_set(r, "floor1.om3.hv", 1300, &id);
	while (!strstr(r->commands[id].states, "ACKED")) {
		rig_run(r, 1);
	}
	r->floors[0].hv_set[3] = 12000;
	rig_until_end(r, id, 2000);
	rig_expect(r, id, "QUEUED SENT ACKED FAILED", 1);
	assert_non_null(strstr(r->commands[id].detail, "holds 1200.0 V, not 1300.0 V"));
	rig_destroy(r);
}

/* It trips on the way up: failed, and at once. */
static void test_trips_on_the_way(void **state)
{
	struct rig *r = polled_rig();
	uint64_t id;

	rig_set(r, "floor1.om3.hv", 1700, &id);
	rig_run(r, 500);
	r->floors[0].trip[3] = 1;
	rig_until_end(r, id, 2500);
	rig_expect(r, id, "QUEUED SENT ACKED FAILED", 1);
	assert_non_null(strstr(r->commands[id].detail, "tower1.floor1.om3.trip is on"));
	rig_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_while_tripped),
		cmocka_unit_test(test_set_while_tripped_not_held),
		cmocka_unit_test(test_trips_on_the_way),
	};

	return cmocka_run_group_tests_name("engine, tripped", tests, NULL, NULL);
}
