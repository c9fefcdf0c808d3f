// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What operators do about alarms, in virtual time: what is new, what stays, what comes again; acknowledged,
 * paused and latched ones over their ends and over a restart.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "slowctl/alarm/alarm.h"

#define S   1000000000ull
#define UTC 1795000000000000000ll

static struct alarms *a;
static uint64_t at_s;
static const struct alarm_hand eva = {.who = "eva", .origin = "local", .text = "seen it"};

static struct engine_now now(void)
{
	return (struct engine_now){(1000 + at_s) * S, UTC + (int64_t)(at_s * S)};
}

static int begin(void **state)
{
	a = alarms_create();
	at_s = 0;
	return a ? 0 : -1;
}

static int finish(void **state)
{
	alarms_destroy(a);
	return 0;
}

static const struct alarm *see_parts(enum limits_level level, bool latch, uint32_t parts)
{
	struct alarm_sight sight = {"tower1.floor3", "hv-trip", "tripped", "clear it",
				    level,	     latch,	parts};

	return alarms_see(a, &sight, now());
}

static const struct alarm *see(enum limits_level level, bool latch)
{
	return see_parts(level, latch, 0);
}

static void over(void)
{
	alarms_over(a, "tower1.floor3", "hv-trip", now());
}

static int acknowledge(void)
{
	return alarms_acknowledge(a, "tower1.floor3", "hv-trip", &eva, NULL);
}

static int pause_for(double seconds)
{
	return alarms_pause(a, "tower1.floor3", "hv-trip", seconds, &eva, now(), NULL);
}

static const struct alarm *it(void)
{
	return alarms_find(a, "tower1.floor3", "hv-trip");
}

/* How the one alarm has changed since this was asked last. */
static enum alarm_change changed(void)
{
	struct alarm *e = alarms_changed(a);
	enum alarm_change change = e ? e->change : ALARM_SAME;

	if (e) {
		alarms_taken(e);
	}
	assert_null(alarms_changed(a));
	return change;
}

static void test_life(void **state)
{
	assert_int_equal(acknowledge(), -ENOENT);
	assert_int_equal(see(LEVEL_ALARM, false)->state, ALARM_RAISED);
	assert_int_equal(changed(), ALARM_BEGAN);
	see(LEVEL_ALARM, false);
	assert_int_equal(changed(), ALARM_SAME);
	at_s = 10;
	assert_int_equal(acknowledge(), 0);
	assert_int_equal(changed(), ALARM_ACKNOWLEDGED);
	assert_int_equal(acknowledge(), -EALREADY);
	assert_true(see(LEVEL_ALARM, false)->acknowledged);
	assert_int_equal(changed(), ALARM_SAME);
	assert_true(alarm_is_active(it())); /* acknowledged is not over */
	over();
	assert_int_equal(changed(), ALARM_ENDED);
	assert_null(it());
	/* What comes again is new. */
	assert_false(see(LEVEL_ALARM, false)->acknowledged);
	assert_int_equal(changed(), ALARM_BEGAN);
	assert_true(it()->since_ns == now().utc_ns);
}

/* More of the same is new: another module, a higher level. */
static void test_worse(void **state)
{
	see_parts(LEVEL_WARNING, false, 1);
	acknowledge();
	changed();
	see_parts(LEVEL_WARNING, false, 3);
	assert_int_equal(changed(), ALARM_WORSE);
	assert_false(it()->acknowledged);
	acknowledge();
	see_parts(LEVEL_WARNING, false, 2);
	assert_true(it()->acknowledged);
	see_parts(LEVEL_WARNING, false, 3); /* the first module again */
	assert_false(it()->acknowledged);
	acknowledge();
	see_parts(LEVEL_ALARM, false, 3);
	assert_int_equal(changed(), ALARM_WORSE);
	assert_false(it()->acknowledged);
	acknowledge();
	see_parts(LEVEL_WARNING, false, 3);
	assert_int_equal(changed(), ALARM_EASED);
	assert_true(it()->acknowledged);
	assert_int_equal(it()->highest, LEVEL_ALARM);
}

static void test_latch(void **state)
{
	see(LEVEL_ALARM, true);
	changed();
	see(LEVEL_WARNING, true);
	assert_int_equal(it()->level, LEVEL_ALARM); /* nobody has seen it yet */
	over();
	assert_int_equal(changed(), ALARM_HELD);
	assert_int_equal(it()->state, ALARM_LATCHED);
	assert_true(alarm_is_active(it()));
	/* It comes again while it is held: new, and as bad as it was. */
	see(LEVEL_WARNING, true);
	assert_int_equal(changed(), ALARM_BEGAN);
	assert_int_equal(it()->level, LEVEL_ALARM);
	assert_int_equal(it()->count, 2);
	over();
	changed();
	assert_int_equal(acknowledge(), 0);
	assert_int_equal(changed(), ALARM_ACKNOWLEDGED);
	assert_null(it());
	/* Acknowledged while it stands: over when it is. */
	see(LEVEL_ALARM, true);
	acknowledge();
	see(LEVEL_WARNING, true);
	assert_int_equal(it()->level, LEVEL_WARNING);
	over();
	assert_int_equal(changed(), ALARM_ENDED);
	assert_null(it());
}

static void test_pause(void **state)
{
	struct alarm_hand mute = eva;

	mute.text[0] = '\0';
	assert_int_equal(alarms_pause(a, "link2", "link-dark", 60, &mute, now(), NULL), -EINVAL);
	assert_int_equal(pause_for(0), -EINVAL);
	assert_int_equal(pause_for(86401), -EINVAL);
	assert_int_equal(pause_for(__builtin_nan("")), -EINVAL);
	assert_null(it());
	/* Before it stands, of all levels; it is kept when it is over, to its end. */
	assert_int_equal(pause_for(86400), 0);
	assert_int_equal(changed(), ALARM_PAUSED);
	assert_int_equal(it()->state, ALARM_OVER);
	assert_ptr_equal(alarms_next(a, NULL), it());
	assert_true(alarm_is_paused(see(LEVEL_ALARM, false)));
	changed();
	over();
	changed();
	assert_non_null(it());
	at_s = 86399;
	alarms_tick(a, now());
	assert_int_equal(changed(), ALARM_SAME);
	at_s = 86400;
	alarms_tick(a, now());
	assert_int_equal(changed(), ALARM_EXPIRED);
	assert_null(it());
	/* A warning's pause does not hide the alarm that it becomes. */
	see(LEVEL_WARNING, false);
	pause_for(60);
	assert_true(alarm_is_paused(it()));
	assert_false(alarm_is_paused(see(LEVEL_ALARM, false)));
	pause_for(60);
	assert_true(alarm_is_paused(it()));
	changed();
	assert_int_equal(alarms_resume(a, "tower1.floor3", "hv-trip", &eva, NULL), 0);
	assert_int_equal(changed(), ALARM_RESUMED);
	assert_int_equal(alarms_resume(a, "tower1.floor3", "hv-trip", &eva, NULL), -ENOENT);
	assert_true(alarm_is_active(it()));
}

/* Pauses of what does not stand leave room for what does; one name has one place. */
static void test_room_ahead(void **state)
{
	struct alarm_sight sight = {"tower1.floor3", "hv-trip", "tripped", "clear it",
				    LEVEL_ALARM,     false,	0};
	struct sc_error error = {0};
	char object[32];

	for (unsigned n = 0; n < 2 * ALARMS_AHEAD_MAX; n++) {
		snprintf(object, sizeof(object), "tower1.floor%u", n / 2);
		assert_int_equal(alarms_pause(a, object, "hits-lost", 60, &eva, now(), NULL), 0);
	}
	assert_int_equal(pause_for(60), -ENOSPC);
	assert_int_equal(alarms_pause(a, "tower1.floor99", "hits-lost", 60, &eva, now(), &error),
			 -ENOSPC);
	assert_non_null(strstr(error.message, "no room"));
	assert_non_null(strstr(error.hint, "fcmctl incident list"));
	for (unsigned n = 100; n < 100 + ALARMS_MAX - ALARMS_AHEAD_MAX; n++) {
		snprintf(object, sizeof(object), "tower1.floor%u", n);
		sight.object = object;
		assert_non_null(alarms_see(a, &sight, now()));
		assert_int_equal(alarms_pause(a, object, "hv-trip", 60, &eva, now(), NULL), 0);
	}
}

/* A daemon ends and another begins with what lasts. */
static void restart(void)
{
	struct alarm kept = *it();

	assert_true(alarm_lasts(&kept));
	alarms_destroy(a);
	a = alarms_create();
	alarms_recover(a, &kept, now());
	assert_int_equal(changed(), ALARM_SAME);
}

static void test_restart(void **state)
{
	/* Acknowledged, and back: still acknowledged, since when it was. */
	see_parts(LEVEL_ALARM, false, 1);
	assert_false(alarm_lasts(it()));
	acknowledge();
	at_s = 10;
	restart();
	assert_null(alarms_next(a, NULL)); /* nobody has seen it yet */
	assert_true(see_parts(LEVEL_ALARM, false, 1)->acknowledged);
	assert_int_equal(changed(), ALARM_BEGAN); /* for those who watch */
	assert_true(it()->since_ns == UTC);
	/* Back with more: new. */
	restart();
	assert_false(see_parts(LEVEL_ALARM, false, 3)->acknowledged);
	/* Not back: over, and then it is new. */
	acknowledge();
	changed();
	restart();
	at_s += ALARM_AWAITED_NS / S;
	alarms_tick(a, now());
	assert_int_equal(changed(), ALARM_ENDED);
	assert_null(it());
}

static void test_restart_latched(void **state)
{
	see(LEVEL_ALARM, true);
	restart();
	assert_int_equal(it()->state, ALARM_LATCHED);
	assert_string_equal(it()->text, "tripped");
	at_s += 3600;
	alarms_tick(a, now());
	assert_int_equal(it()->state, ALARM_LATCHED);
	assert_int_equal(acknowledge(), 0);
	changed();
	assert_null(it());
}

/* The clock may have been set between two daemons: a pause ends, at the latest after a day. */
static void test_restart_paused(void **state)
{
	pause_for(7200);
	changed();
	at_s = 3600;
	restart();
	at_s = 7199;
	alarms_tick(a, now());
	assert_int_equal(changed(), ALARM_SAME);
	at_s = 7200;
	alarms_tick(a, now());
	assert_int_equal(changed(), ALARM_EXPIRED);
	assert_null(it());
	at_s = 1000000;
	pause_for(7200);
	changed();
	at_s = 10; /* set back by eleven days */
	restart();
	at_s += 86400;
	alarms_tick(a, now());
	assert_int_equal(changed(), ALARM_EXPIRED);
}

static void test_names(void **state)
{
	static const struct {
		const char *name;
		bool means;
	} cases[] = {
		{"tower1.floor3/hv-trip", true},
		{"floor3/hv-trip", true},
		{"floor3", true},
		{"tower1.floor3", true},
		{"floor*", true},
		{"*/hv-trip", true},
		{"*", true},
		{"floor3/hv-low", false},
		{"floor4", false},
		{"floor3.om2", false},
		{"hv-trip", false},
		{"", false},
		{"/hv-trip", false},
		{"floor3/", false},
	};
	static const struct {
		const char *name;
		int result;
	} split[] = {
		{"tower1.floor3/hv-trip", 0},  {"group trigger/consumer-none", 0},
		{"floor3", -EINVAL},	       {"floor*/hv-trip", -EINVAL},
		{"/hv-trip", -EINVAL},	       {"floor3/", -EINVAL},
		{"floor3/HV", -EINVAL},	       {"floor3/-x", -EINVAL},
		{"floor\n3/hv-trip", -EINVAL},
	};
	char object[ALARM_OBJECT_BYTES], code[ALARM_CODE_BYTES], name[100];

	see(LEVEL_ALARM, false);
	for (unsigned n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		if (alarm_name_means(cases[n].name, it()) != cases[n].means) {
			fail_msg("%s", cases[n].name);
		}
	}
	assert_string_equal(alarm_name(it(), name, sizeof(name)), "tower1.floor3/hv-trip");
	for (unsigned n = 0; n < sizeof(split) / sizeof(split[0]); n++) {
		if (alarm_name_split(split[n].name, object, code) != split[n].result) {
			fail_msg("%s", split[n].name);
		}
	}
	assert_int_equal(alarm_name_split("group trigger/consumer-none", object, code), 0);
	assert_string_equal(object, "group trigger");
	assert_string_equal(code, "consumer-none");
	memset(name, 'x', sizeof(name));
	memcpy(name + 80, "/code", 6);
	assert_int_equal(alarm_name_split(name, object, code), -EINVAL);
}

/* What is longer than there is room for is cut between two characters. */
static void test_long_text(void **state)
{
	char text[1001] = "";
	struct alarm_sight sight = {"o", "c", text, text + 1, LEVEL_ALARM, false, 0};
	const struct alarm *e;

	for (int i = 0; i < 1000; i += 2) {
		memcpy(text + i, "\xc3\xa9", 2);
	}
	e = alarms_see(a, &sight, now());
	assert_int_equal(strlen(e->text), (sizeof(e->text) - 1) / 2 * 2);
	assert_int_equal(strlen(e->action) % 2, 1); /* begins with half of one */
}

/* More than there is room for: what stands without a memory is said so, nothing is overwritten. */
static void test_room(void **state)
{
	struct alarm_sight sight = {
		.code = "alarm", .text = "t", .action = "a", .level = LEVEL_ALARM};
	char object[32];
	unsigned stand = 0;

	for (unsigned n = 0; n < ALARMS_MAX + 10; n++) {
		snprintf(object, sizeof(object), "object%u", n);
		sight.object = object;
		assert_int_equal(alarms_see(a, &sight, now()) != NULL, n < ALARMS_MAX);
	}
	assert_int_equal(pause_for(60), -ENOSPC);
	for (const struct alarm *e = NULL; (e = alarms_next(a, e));) {
		stand++;
	}
	assert_int_equal(stand, ALARMS_MAX);
	alarms_over(a, "object7", "alarm", now());
	for (struct alarm *e; (e = alarms_changed(a));) {
		alarms_taken(e);
	}
	assert_int_equal(pause_for(60), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_life, begin, finish),
		cmocka_unit_test_setup_teardown(test_worse, begin, finish),
		cmocka_unit_test_setup_teardown(test_latch, begin, finish),
		cmocka_unit_test_setup_teardown(test_room_ahead, begin, finish),
		cmocka_unit_test_setup_teardown(test_pause, begin, finish),
		cmocka_unit_test_setup_teardown(test_restart, begin, finish),
		cmocka_unit_test_setup_teardown(test_restart_latched, begin, finish),
		cmocka_unit_test_setup_teardown(test_restart_paused, begin, finish),
		cmocka_unit_test_setup_teardown(test_names, begin, finish),
		cmocka_unit_test_setup_teardown(test_long_text, begin, finish),
		cmocka_unit_test_setup_teardown(test_room, begin, finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
