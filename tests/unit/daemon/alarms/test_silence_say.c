/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of status about the silence timers of the floors, from the values read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/incidents/observation.h"
#include "daemon/alarms/silence.h"

#define S      1000000000ull
#define UTC    1795187523 /* 2026-11-20 15:12:03 */
#define UTC_NS (UTC * (int64_t)S)

static struct params *params;

static int set_up(void **state)
{
	static const struct param_floor floors[] = {{0, 1, 1}, {2, 1, 7}};
	struct sc_error error = {0};

	if (params_load("schemas/parameters.conf", floors, 2, &params, &error) < 0) {
		fail_msg("%s", error.message);
	}
	return 0;
}

static int tear_down(void **state)
{
	params_destroy(params);
	return 0;
}

static struct param *get(const char *name)
{
	struct param *p = NULL;

	assert_int_equal(params_find(params, name, &p, NULL), 0);
	return p;
}

/* At 100 s of the monotonic clock. */
static void read_as(const char *name, double value)
{
	param_put(get(name), value, UTC_NS, 100 * S);
}

static struct silence_view view_at(unsigned link, uint64_t mono_s)
{
	struct silence_view v;

	silence_get(params, link, mono_s * S, &v);
	return v;
}

static void it_says_whether_the_timer_is_on(void **state)
{
	assert_string_equal(silence_timer_name(view_at(2, 100).timer), "unknown");
	assert_int_equal(view_at(2, 100).time_s, -1);
	read_as("floor7.fcm.silence_timer", 0);
	assert_string_equal(silence_timer_name(view_at(2, 100).timer), "off");
	read_as("floor7.fcm.silence_timer", 1);
	read_as("floor7.fcm.silence_time", 90);
	assert_string_equal(silence_timer_name(view_at(2, 100).timer), "on");
	assert_int_equal(view_at(2, 100).time_s, 90);
	assert_int_equal(view_at(0, 100).timer, SILENCE_UNKNOWN); /* another floor */
	assert_int_equal(view_at(1, 100).timer, SILENCE_UNKNOWN); /* none at all */
	/* An old value is unknown; an FCM without the timer has none. */
	assert_int_equal(view_at(2, 1000).timer, SILENCE_UNKNOWN);
	assert_int_equal(view_at(2, 1000).time_s, -1);
	param_put_bad(get("floor7.fcm.silence_timer"));
	assert_string_equal(silence_timer_name(view_at(2, 100).timer), "none");
}

static void it_says_that_it_fired_when_and_what_to_do(void **state)
{
	const struct observation o = {.object = object_floor(1, 7, 2), .advice = silence_advice};
	char text[320], action[320];
	struct silence_view v;

	observation_advice(&o, action, sizeof(action));
	read_as("floor7.fcm.silenced", 0);
	read_as("floor7.fcm.silenced_ago", 0);
	assert_int_equal(view_at(2, 100).fired, 0);
	read_as("floor7.fcm.silenced", 1);
	v = view_at(2, 100);
	assert_int_equal(v.fired, 1);
	assert_true(v.fired_ns == 0); /* the 0 is from before */
	silence_say(&v, text, sizeof(text));
	assert_non_null(strstr(text, "ramped the high voltage of its modules down; "));
	read_as("floor7.fcm.silenced_ago", 63);
	v = view_at(2, 5000); /* also when the floor cannot be asked */
	assert_int_equal(v.fired, 1);
	assert_true(v.fired_ns == UTC_NS - 63 * (int64_t)S);
	silence_say(&v, text, sizeof(text));
	assert_non_null(strstr(text, "down at 2026-11-20 15:11:00 UTC; their set values are 0"));
	assert_non_null(strstr(action, "fcmctl set 'floor7.om*.hv' VOLTS"));
	assert_non_null(strstr(action, "fcmctl set floor7.fcm.silence_timer on"));
	assert_int_equal(view_at(0, 5000).fired, 0);
	read_as("floor7.fcm.silenced", 3);
	v = view_at(2, 100);
	silence_say(&v, text, sizeof(text));
	assert_non_null(strstr(text, "15:11:00 UTC (3 times by now); "));
	param_put_raw(get("floor7.fcm.silenced"), -1, UTC_NS, 100 * S); /* the largest count */
	assert_int_equal(view_at(2, 100).fired, UINT32_MAX);
	read_as("floor7.fcm.silenced", 0);
	v = view_at(2, 100);
	assert_true(v.fired == 0 && v.fired_ns == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_says_whether_the_timer_is_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(it_says_that_it_fired_when_and_what_to_do, set_up,
						tear_down),
	};

	return cmocka_run_group_tests_name("silence in status", tests, NULL, NULL);
}
