/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parameter dictionary and its parameters: the shipped file, errors with file and line, names,
 * patterns, values and limits.
 */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "slowctl/param/param.h"
#include "tdm/registers.h"

#define DICTIONARY "schemas/parameters.conf"
#define S	   1000000000ull

static const struct param_floor one_tower[] = {{0, 1, 1}, {1, 1, 2}, {2, 1, 3}, {3, 1, 4}};
static const struct param_floor two_towers[] = {{0, 1, 3}, {2, 2, 3}};

static struct params *load(const struct param_floor *floors, unsigned count)
{
	struct sc_error error = {0};
	struct params *p = NULL;
	int r = params_load(DICTIONARY, floors, count, &p, &error);

	if (r < 0) {
		fail_msg("%s", error.message);
	}
	return p;
}

static struct param *get(struct params *p, const char *name)
{
	struct param *found = NULL;

	assert_int_equal(params_find(p, name, &found, NULL), 0);
	return found;
}

static void test_shipped(void **state)
{
	struct params *p = load(one_tower, 4);
	struct param *hv = get(p, "floor3.om2.hv");

	assert_string_equal(hv->name, "tower1.floor3.om2.hv");
	assert_ptr_equal(hv, get(p, "tower1.floor3.om2.hv"));
	assert_int_equal(hv->link, 2);
	assert_int_equal(hv->module, 2);
	assert_int_equal(hv->kind->reg, 2);
	assert_int_equal(hv->kind->readback_reg, 3);
	assert_int_equal(get(p, "floor1.hydrophone1.gain")->module, 7);
	assert_int_equal(get(p, "floor1.fcm.reset")->module, 15);
	assert_int_equal(get(p, "link3.phase")->link, 3);
	assert_int_equal(get(p, "clock.state")->link, -1);
	assert_string_equal(params_sibling(p, hv, "ramp")->name, "tower1.floor3.om2.ramp");
	assert_null(params_sibling(p, hv, "nothing"));
	params_destroy(p);
	params_destroy(NULL);
}

/* Every register and action of a floor is somebody's; FCM's power cycle of a module is the module's own. */
static void test_complete(void **state)
{
	static const struct {
		const char *object;
		unsigned registers, actions;
	} floor[] = {{"om", REG_OM_POWER_CYCLES, REG_OM_ACTION_POWER_CYCLE},
		     {"hydrophone", REG_HYDRO_RMS, 0},
		     {"fcm", REG_FCM_SILENCED_AGO, REG_FCM_ACTION_RESET}};
	struct params *p = load(one_tower, 4);

	for (size_t i = 0; i < sizeof(floor) / sizeof(floor[0]); i++) {
		uint32_t registers = 0, actions = 0;

		for (unsigned n = 0; n < params_count(p); n++) {
			const struct param_kind *k = params_at(p, n)->kind;

			if (strcmp(k->object_name, floor[i].object) != 0) {
				continue;
			}
			*(k->access == PARAM_ACTION ? &actions : &registers) |= 1u << k->reg;
			registers |= 1u << k->readback_reg;
			assert_true(k->access == PARAM_ACTION || k->stale_s > 0);
		}
		assert_int_equal(registers, (2u << floor[i].registers) - 2);
		assert_int_equal(actions, (2u << floor[i].actions) - 2);
	}
	params_destroy(p);
}

/* The dictionary agrees with the registers of the silence timer; other values are refused. */
static void test_silence_timer(void **state)
{
	struct params *p = load(one_tower, 4);
	const struct param *timer = get(p, "floor3.fcm.silence_timer");
	const struct param *limit = get(p, "floor3.fcm.silence_time");
	const struct param *fired = get(p, "floor3.fcm.silenced");
	double shortest = INFINITY;

	assert_int_equal(timer->kind->reg, REG_FCM_SILENCE);
	assert_true(timer->kind->safest == 1 && timer->kind->danger == PARAM_CAREFUL);
	assert_int_equal(limit->kind->reg, REG_FCM_SILENCE_S);
	assert_true(limit->kind->hard_min == REG_FCM_SILENCE_S_MIN);
	assert_true(limit->kind->hard_max == REG_FCM_SILENCE_S_MAX);
	assert_true(isnan(limit->kind->safest) && limit->kind->danger == PARAM_CAREFUL);
	assert_int_equal(fired->kind->reg, REG_FCM_SILENCED);
	assert_int_equal(param_check_set(limit, REG_FCM_SILENCE_S_MIN - 1, true, NULL), -ERANGE);
	assert_int_equal(param_check_set(limit, 0, true, NULL), -ERANGE);
	assert_int_equal(param_check_set(limit, 30.5, true, NULL), -EINVAL);
	assert_int_equal(param_check_set(limit, REG_FCM_SILENCE_S_MIN, false, NULL), 0);
	assert_int_equal(param_check_set(timer, 2, true, NULL), -ERANGE);
	assert_int_equal(param_check_set(fired, 0, true, NULL), -EACCES);
	/* The shortest polling period keeps it from firing, with a margin. */
	for (unsigned n = 0; n < params_count(p); n++) {
		const struct param_kind *k = params_at(p, n)->kind;

		if (k->source == PARAM_POLLED && k->poll_s > 0) {
			shortest = fmin(shortest, k->poll_s);
		}
		assert_true(!k->optional || strncmp(k->name, "silence", 7) == 0);
	}
	assert_true(shortest <= REG_FCM_SILENCE_S_MIN / 10.0);
	params_destroy(p);
}

static void test_names(void **state)
{
	struct params *p = load(two_towers, 2);
	struct param *found = NULL;
	struct sc_error error = {0};

	assert_int_equal(params_find(p, "floor3.om2.hv", &found, &error), -ENOTUNIQ);
	assert_non_null(strstr(error.message, "tower2.floor3.om2.hv"));
	assert_int_equal(get(p, "tower2.floor3.om2.hv")->tower, 2);
	assert_int_equal(params_find(p, "tower1.floor3.om2.vh", &found, &error), -ENOENT);
	assert_non_null(strstr(error.hint, "tower1.floor3.om2.hv"));
	assert_int_equal(params_find(p, "floor9.om2.hv", &found, &error), -ENOENT);
	assert_string_equal(error.hint, "The floors here: tower1.floor3 tower2.floor3");
	assert_int_equal(params_find(p, "tower1.floor3.om7.hv", &found, &error), -ENOENT);
	assert_null(strstr(error.hint, "mean")); /* another module is no slip */
	assert_int_equal(params_find(p, "*.trip", &found, &error), -ENOENT);
	assert_non_null(strstr(error.hint, "between dots"));
	assert_int_equal(params_find(p, "", &found, &error), -ENOENT);
	assert_int_equal(
		params_find(
			p,
			"a.very.long.name.that.is.longer.than.any.name.there.may.ever.be.in.here",
			&found, &error),
		-ENOENT);
	assert_null(found);
	params_destroy(p);
}

static void test_patterns(void **state)
{
	static const struct {
		const char *pattern;
		unsigned matches;
	} cases[] = {
		{"floor*.om[0-5].hv", 24},
		{"floor3.om2.hv", 1},
		{"tower1.floor3.om2.hv", 1},
		{"tower1.floor[12].om0.hv", 2},
		{"floor*.hv", 0}, /* a star stays between dots */
		{"link*.phase", 4},
		{"clock.state", 1},
		{"clock", 4}, /* all below it */
		{"floor9.om2.hv", 0},
		{"om2.hv", 0},
		{"a/b", 0},
		{"", 0},
	};
	struct params *p = load(one_tower, 4);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned n = params_match(p, cases[i].pattern, NULL, NULL);

		if (n != cases[i].matches) {
			fail_msg("%s: %u matches, not %u", cases[i].pattern, n, cases[i].matches);
		}
	}
	assert_int_equal(params_match(p, "*", NULL, NULL), params_count(p));
	assert_true(params_match(p, "floor3.om2", NULL, NULL) >= 10);
	params_destroy(p);
}

/* The rules of the C library, which knows no parts. */
static bool library_matches(const char *pattern, const char *name)
{
	char glob[2 * PARAM_NAME_MAX], path[PARAM_NAME_MAX];

	snprintf(glob, sizeof(glob), "%s", pattern);
	snprintf(path, sizeof(path), "%s", name);
	for (char *c = glob; (c = strchr(c, '.'));) {
		*c = '/';
	}
	for (char *c = path; (c = strchr(c, '.'));) {
		*c = '/';
	}
	return fnmatch(glob, path, FNM_PATHNAME | FNM_LEADING_DIR) == 0 ||
	       (strncmp(name, "tower", 5) == 0 &&
		fnmatch(glob, strchr(path, '/') + 1, FNM_PATHNAME | FNM_LEADING_DIR) == 0);
}

static void note_number(void *context, struct param *param)
{
	bool *found = context;

	found[param->number] = true;
}

static void test_patterns_as_the_library(void **state)
{
	static const char *const words[] = {"floor", "1",     "2",	"*",	"*",	  "?",
					    "[0-2]", "[!12]", "[^a-o]", "[]x]", "[ho]",	  ".",
					    ".",     ".",     "om",	"hv",	"tower1", "link",
					    "phase", "fcm",   "e",	"r",	"-"};
	struct params *p = load(one_tower, 4);
	bool *found = calloc(params_count(p), sizeof(*found));
	unsigned matched = 0;

	assert_non_null(found);
	srandom(1);
	for (unsigned round = 0; round < 3000; round++) {
		char pattern[PARAM_NAME_MAX] = "";

		for (long n = random() % 7; n >= 0; n--) {
			strcat(pattern,
			       words[(size_t)random() % (sizeof(words) / sizeof(words[0]))]);
		}
		memset(found, 0, params_count(p) * sizeof(*found));
		params_match(p, pattern, note_number, found);
		for (unsigned i = 0; i < params_count(p); i++) {
			const char *name = params_at(p, i)->name;
			bool wanted = library_matches(pattern, name);

			matched += wanted;
			if (found[i] != wanted || param_name_matches(pattern, name) != wanted) {
				fail_msg("'%s' and %s: %d, %d", pattern, name, found[i],
					 param_name_matches(pattern, name));
			}
		}
	}
	assert_true(matched > 10000);
	free(found);
	params_destroy(p);
}

/* Numbers are decimal and complete: text that could be read as another number is refused. */
static void test_numbers_are_decimal(void **state)
{
	static const struct {
		const char *text;
		double value; /* NaN: refused */
	} cases[] = {
		{"1450", 1450},
		{"1450.5", 1450.5},
		{"0001450", 1450},
		{"1450.", 1450},
		{".5", 0.5},
		{"+12.25", 12.25},
		{"-3", -3},
		{"1.45e3", 1450},
		{"1450V", 1450},
		{"1450 V", 1450},
		{" 1450", 1450},
		{"0", 0},
		{"0x5aa", NAN},
		{"0X5AA V", NAN},
		{"0x1.8p3", NAN},
		{"1p3", NAN},
		{"nan", NAN},
		{"NAN(1)", NAN},
		{"inf", NAN},
		{"-infinity", NAN},
		{"1e999", NAN},
		{"1e-999", NAN},
		{"", NAN},
		{" ", NAN},
		{"+", NAN},
		{"-", NAN},
		{".", NAN},
		{"e3", NAN},
		{"1e", NAN},
		{"14,5", NAN},
		{"1.450,5", NAN},
		{"1 450", NAN},
		{"1450 V x", NAN},
		{"1450 1450", NAN},
		{"1.2.3", NAN},
		{"--5", NAN},
		{"1450\n", NAN},
		{"0b101", NAN},
		{"1'450", NAN},
		{"1_450", NAN},
		{"\xd9\xa1\xd9\xa2", NAN},
		{"1450 v", NAN},
	};
	struct params *p = load(one_tower, 4);
	struct param *hv = get(p, "floor3.om2.hv");
	struct sc_error comma = {0};

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct sc_error error = {0};
		double v = 77;
		int r = param_parse(hv, cases[n].text, &v, &error);

		if (isnan(cases[n].value) ? r != -EINVAL || v != 77 || !error.hint[0]
					  : r != 0 || v != cases[n].value) {
			fail_msg("'%s': %d, %g", cases[n].text, r, v);
		}
	}
	assert_int_equal(param_parse(hv, "14,5", &(double){0}, &comma), -EINVAL);
	assert_string_equal(comma.code, "not-a-value"); /* no other unit */
	assert_int_equal(param_parse(get(p, "floor3.om2.power"), "0x1", &(double){0}, NULL),
			 -EINVAL);
	params_destroy(p);
}

static void test_values(void **state)
{
	struct params *p = load(one_tower, 4);
	struct param *hv = get(p, "floor3.om2.hv"), *power = get(p, "floor3.om2.power");
	struct param *clock = get(p, "clock.state"), *trips = get(p, "floor3.om2.trips");
	struct sc_error error = {0};
	char text[32];
	double v = -1;

	assert_int_equal(param_parse(hv, "1450", &v, &error), 0);
	assert_true(v == 1450);
	assert_int_equal(param_parse(hv, "1450.5 V", &v, &error), 0);
	assert_int_equal(param_parse(hv, "1450mV", &v, &error), -EINVAL);
	assert_non_null(strstr(error.hint, "V"));
	assert_int_equal(param_parse(hv, "nan", &v, &error), -EINVAL);
	assert_int_equal(param_parse(hv, "1e999", &v, &error), -EINVAL);
	assert_int_equal(param_parse(hv, "", &v, &error), -EINVAL);
	assert_int_equal(param_parse(power, "OFF", &v, &error), 0);
	assert_true(v == 0);
	assert_int_equal(param_parse(power, "0.5", &v, &error), -EINVAL);
	assert_int_equal(param_parse(clock, "holdover", &v, &error), 0);
	assert_true(v == 3);

	assert_int_equal(param_check_set(hv, 1450, false, &error), 0);
	assert_int_equal(param_check_set(hv, 1900, false, &error), -ERANGE);
	assert_non_null(strstr(error.message, "soft limits 0.0..1800.0 V"));
	assert_int_equal(param_check_set(hv, 1900, true, &error), 0);
	assert_int_equal(param_check_set(hv, 2001, true, &error), -ERANGE);
	assert_int_equal(param_check_set(hv, NAN, true, &error), -EINVAL);
	assert_int_equal(param_check_set(hv, 1450.05, true, &error),
			 0); /* its read-back says 1450.1 */
	assert_int_equal(param_check_set(get(p, "floor3.om2.threshold"), 10.5, true, &error),
			 -EINVAL);
	assert_non_null(strstr(error.message, "steps of 1 mV"));
	assert_int_equal(param_check_set(get(p, "floor3.om2.threshold"), 10, false, &error), 0);
	assert_int_equal(param_check_set(power, 2, true, &error), -ERANGE);
	assert_int_equal(param_check_set(clock, 1, true, &error), -EACCES);
	assert_int_equal(param_check_set(get(p, "floor3.om2.reset"), 1, true, &error), -EACCES);

	assert_int_equal(param_to_raw(hv->kind, 1450), 14500);
	assert_int_equal(param_to_raw(hv->kind, 1e30), INT32_MAX);
	assert_int_equal(param_to_raw(hv->kind, -1e30), INT32_MIN);
	assert_true(param_from_raw(hv->kind, 14503) == 1450.3);
	assert_true(param_from_raw(hv->kind, -5) == -0.5);
	/* A counter goes on through 2^31, and wraps to 0. */
	assert_true(param_from_raw(trips->kind, INT32_MAX) == 2147483647.0);
	assert_true(param_from_raw(trips->kind, INT32_MIN) == 2147483648.0);
	assert_true(param_from_raw(trips->kind, -1) == 4294967295.0);
	assert_true(param_from_raw(trips->kind, 0) == 0);
	assert_string_equal(param_format(trips, 4294967295.0, text, sizeof(text)), "4294967295");
	assert_string_equal(param_format(hv, 1450, text, sizeof(text)), "1450.0");
	assert_string_equal(param_format(power, 1, text, sizeof(text)), "on");
	assert_string_equal(param_format(clock, 2, text, sizeof(text)), "locked");
	assert_string_equal(param_format(clock, 77, text, sizeof(text)), "77");
	assert_string_equal(param_format(hv, NAN, text, sizeof(text)), "-");
	assert_string_equal(param_text(hv, 1450, text, sizeof(text)), "1450.0 V");
	assert_string_equal(param_text(power, 0, text, sizeof(text)), "off");
	assert_string_equal(param_text(hv, NAN, text, sizeof(text)), "-");
	params_destroy(p);
}

static void test_quality(void **state)
{
	struct params *p = load(one_tower, 4);
	struct param *hv = get(p, "floor3.om2.hv"), *trip = get(p, "floor3.om2.trip");

	assert_int_equal(param_quality(hv, 5 * S), PARAM_NEVER);
	assert_true(param_age_s(hv, 5 * S) < 0);
	param_put_raw(hv, 14001, 77, 5 * S);
	assert_int_equal(param_quality(hv, 6 * S), PARAM_GOOD);
	assert_true(hv->value == 1400.1);
	assert_int_equal(param_quality(hv, 5 * S + 16 * S), PARAM_STALE); /* 3 x 5 s */
	param_put_bad(hv);
	assert_int_equal(param_quality(hv, 6 * S), PARAM_BAD);
	assert_true(hv->value == 1400.1);
	param_put(hv, NAN, 78, 7 * S);
	assert_int_equal(param_quality(hv, 7 * S), PARAM_BAD);
	assert_int_equal(param_level(trip, 7 * S), LEVEL_NORMAL);
	param_put_raw(trip, 1, 79, 7 * S);
	assert_int_equal(param_level(trip, 7 * S), LEVEL_ALARM);
	/* stale: nobody has seen that it is over */
	assert_int_equal(param_level(trip, 70 * S), LEVEL_ALARM);
	/* bad: nor can anybody */
	param_put_bad(trip);
	assert_int_equal(param_level(trip, 71 * S), LEVEL_ALARM);
	param_put_raw(trip, 0, 80, 72 * S);
	assert_int_equal(param_level(trip, 72 * S), LEVEL_NORMAL);
	params_destroy(p);
}

/* A value that changes all the time is kept once a minute, and when it passes its limits or is well again. */
static void test_history_of_limits(void **state)
{
	struct params *params = load(one_tower, 4);
	struct param *p =
		get(params, "floor1.fcm.temperature"); /* -5..40, 0..35 a warning; for 2 s */
	uint64_t now = S;
	unsigned kept = 0;

	for (unsigned n = 0; n < 40; n++, now += S) {
		param_put(p, 20 + n % 2, (int64_t)now, now);
		kept += param_sample(p, now);
	}
	assert_in_range(kept, 8, 9);
	for (unsigned n = 0; n < 3; n++, now += S) { /* not beyond for long enough */
		param_put(p, 45, (int64_t)now, now);
		assert_int_equal(param_sample(p, now), n == 2);
	}
	param_put(p, 20, (int64_t)now, now);
	assert_true(param_sample(p, now));
	assert_true(p->sampled_value == 20);
	now += S;
	param_put(p, 21, (int64_t)now, now);
	assert_false(param_sample(p, now));
	params_destroy(params);
}

/* Every error names the file and the line. */
static void test_errors(void **state)
{
#define OM "[om.x]\ndescription = d\nregister = 1\n"
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", ":1: no parameters"},
		{"[om.x]\nregister = 1\n", ":1: [om.x] has no description"},
		{"[om.x]\ndescription = d\n", ":1: [om.x] has no register"},
		{OM "colour = red\n", ":4: [om.x] knows no key \"colour\""},
		{OM "register = 2\n", ":4: [om.x] has register twice"},
		{"[om.x]\nregister = 256\n", ":2: [om.x] register = 256: wanted"},
		{OM "scale = 0\n", ":4: [om.x] scale = 0: wanted"},
		{OM "range = 5..1\n", ":4: [om.x] range = 5..1: wanted"},
		{OM "order = 10\n", ":4: [om.x] order = 10: wanted"},
		{OM "order = -1 2\n", ":4: [om.x] order = -1 2: wanted"},
		{OM "order = 1 2 3\n", ":4: [om.x] order = 1 2 3: wanted"},
		{OM "poll = -1\n", ":4: [om.x] poll = -1: wanted"},
		{OM "type = colour\n", ":4: [om.x] type = colour: wanted"},
		{OM "type = enum\n", "values belong to type = enum"},
		{OM "access = rw\nsettle = 1\n", "needs its hardware's range"},
		{OM "access = rw\ntype = int\n", "needs a settle time"},
		{OM "access = rw\nrange = 0..1\nsettle = 1\nsoft = 0..2\n",
		 "outside the hardware's"},
		{OM "access = action\nsettle = 1\n", "the counter that proves it"},
		{OM "alarm = 0..1\n", "on_alarm does not say what to do"},
		{OM "settle_by = ramp\n", "settle_by names no kind"},
		{OM "powered_by = power\n", "powered_by: of what can be set"},
		{OM "source = daemon\n", "poll or telemetry on a floor"},
		{"[clock.x]\ndescription = d\n", "daemon on the shore"},
		{OM "[om.y]\ndescription = d\nregister = 2\n" OM, ":7: [om.x] is a duplicate"},
		{"[nodot]\nunit = V\n", ":1: [nodot] is not of the form"},
		{"[om.X!]\nunit = V\n", ":1: [om.X!]: small letters"},
		{"[om.x]\nrubbish\n", ":2: neither [section] nor key = value"},
		{"unit = V\n", "is not of the form"},
		{OM "alarm = ..5\n", ":1: [om.x] has limits, but on_alarm"},
		{OM "warn = ..5\n", ":1: [om.x] has limits, but on_alarm"},
		{OM "alarm = ..5\nwarn = ..5\non_alarm = a\n",
		 "[om.x] warn does not lie inside alarm"},
		{OM "alarm = 0..5\nwarn = -1..4\non_alarm = a\n", "warn does not lie inside alarm"},
		{OM "warn = 2..4\nhysteresis = 1.1\non_alarm = a\n", "hysteresis leaves no room"},
		{OM "hysteresis = 1\n", ":1: [om.x] hysteresis and delay belong"},
		{OM "delay = 1\n", ":1: [om.x] hysteresis and delay belong"},
		{OM "latch = yes\n", ":1: [om.x] latch belongs"},
		{OM "counter = yes\n", ":1: [om.x] a counter is an int"},
		{OM "optional = maybe\n", ":4: [om.x] optional = maybe: wanted yes or no"},
		{OM "source = telemetry\noptional = yes\n", "optional: of what is polled"},
		{OM "latch = maybe\n", ":4: [om.x] latch = maybe: wanted yes or no"},
		{OM "type = bool\nalarm = ..0\nhysteresis = 0.1\non_alarm = a\n",
		 "hysteresis is for numbers"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char path[] = "/tmp/fcm-param-XXXXXX";
		int fd = mkstemp(path);
		struct sc_error error = {0};
		struct params *p = NULL;
		int r;

		assert_true(fd >= 0);
		assert_int_equal(write(fd, cases[i].text, strlen(cases[i].text)),
				 (ssize_t)strlen(cases[i].text));
		close(fd);
		r = params_load(path, one_tower, 4, &p, &error);
		unlink(path);
		if (r != -EINVAL || !strstr(error.message, cases[i].message) ||
		    strncmp(error.message, path, strlen(path)) != 0) {
			fail_msg("case %zu: %d \"%s\", wanted \"%s\"", i, r, error.message,
				 cases[i].message);
		}
	}
}

static void test_bad_input(void **state)
{
	static const struct param_floor twice[] = {{0, 1, 1}, {0, 1, 2}};
	static const struct param_floor none[] = {{4, 1, 1}};
	struct sc_error error = {0};
	struct params *p = NULL;
	char path[] = "/tmp/fcm-param-XXXXXX", line[400];
	int fd = mkstemp(path);

	assert_int_equal(params_load("/nonexistent", one_tower, 4, &p, &error), -ENOENT);
	assert_int_equal(params_load(DICTIONARY, twice, 2, &p, &error), -EINVAL);
	assert_int_equal(params_load(DICTIONARY, none, 1, &p, &error), -EINVAL);
	memset(line, 'x', sizeof(line));
	assert_int_equal(write(fd, line, sizeof(line)), sizeof(line));
	close(fd);
	assert_int_equal(params_load(path, one_tower, 4, &p, &error), -EINVAL);
	assert_non_null(strstr(error.message, ":1: line is longer"));
	unlink(path);
	assert_null(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shipped),
		cmocka_unit_test(test_complete),
		cmocka_unit_test(test_silence_timer),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_patterns_as_the_library),
		cmocka_unit_test(test_numbers_are_decimal),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_quality),
		cmocka_unit_test(test_history_of_limits),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_bad_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
