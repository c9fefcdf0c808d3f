// SPDX-License-Identifier: GPL-2.0-or-later
/* What a site has otherwise than the dictionary: of a kind, of one parameter, in files, with errors by line. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "slowctl/param/param.h"

#define DICTIONARY "schemas/parameters.conf"

static const struct param_floor floors[] = {{0, 1, 1}, {1, 1, 2}, {2, 1, 3}, {3, 1, 4}};

static struct params *load(void)
{
	struct params *p = NULL;

	assert_int_equal(params_load(DICTIONARY, floors, 4, &p, NULL), 0);
	return p;
}

static const struct param_kind *kind(struct params *p, const char *name)
{
	struct param *found = NULL;

	assert_int_equal(params_find(p, name, &found, NULL), 0);
	return found->kind;
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* One file, and what came of it. */
static struct params *site(const char *text, int wanted, struct sc_error *error)
{
	char path[] = "/tmp/fcm-site-XXXXXX";
	int fd = mkstemp(path);
	struct params *p = load();
	int r;

	assert_true(fd >= 0);
	close(fd);
	put(path, text);
	r = params_override(p, path, NULL, error);
	unlink(path);
	if (r != wanted) {
		fail_msg("%s: %d %s", text, r, error->message);
	}
	if (r < 0 && strncmp(error->message, path, strlen(path)) != 0) {
		fail_msg("does not name its file: %s", error->message);
	}
	return p;
}

static void test_changes(void **state)
{
	struct sc_error error = {0};
	struct params *p =
		site("[floor3.om2.temperature]\nwarn = 0..46\n"
		     "[om.hv]\nsoft = ..1500\ndanger = dangerous\n"
		     "[om.temperature]\nwarn = 0..42\nalarm = -5..52\npoll = 20\nlatch = yes\n"
		     "[tower1.floor1.om0.hv]\nsoft = 100..1200\n"
		     "[link2.round_trip]\nstale = 9\n"
		     "[clock.satellites]\nwarn = 4..\non_alarm = Look at the antenna.\n",
		     0, &error);
	const struct param_kind *k = kind(p, "floor3.om2.temperature");

	/* A parameter's own section goes before its kind's, wherever it stands; the rest is its kind's. */
	assert_true(k->limits.warn_max == 46 && k->limits.alarm_max == 52 && k->latch);
	assert_true(kind(p, "floor3.om1.temperature")->limits.warn_max == 42);
	assert_true(k->poll_s == 20 && k->stale_s == 60); /* made from what it is now */
	assert_string_equal(k->section, "om.temperature");
	assert_true(kind(p, "floor4.om5.hv")->soft_max == 1500);
	assert_true(kind(p, "floor4.om5.hv")->soft_min == 0); /* not said: the hardware's */
	assert_int_equal(kind(p, "floor4.om5.hv")->danger, PARAM_DANGEROUS);
	assert_true(kind(p, "floor1.om0.hv")->soft_min == 100);
	assert_true(kind(p, "floor1.om0.hv")->soft_max == 1200);
	assert_true(kind(p, "link2.round_trip")->stale_s == 9);
	assert_true(kind(p, "link1.round_trip")->stale_s == 5);
	assert_true(kind(p, "clock.satellites")->limits.warn_min == 4);
	params_destroy(p);
}

static void test_errors(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"[om.hv]\nsoft = 0..2500\n", ":1: [om.hv] soft limits lie outside"},
		{"\n[om.hv]\nrange = 0..2500\n", ":3: [om.hv] range is the hardware's"},
		{"[om.hv]\nregister = 9\n", ":2: [om.hv] register is the hardware's"},
		{"[om.hv]\nsoft = 0..0x5aa\n", ":2: [om.hv] soft = 0..0x5aa: wanted a range"},
		{"[floor3.om2.hv]\nsoft = high\n",
		 ":2: [floor3.om2.hv] soft = high: wanted a range"},
		{"[floor3.om2.hv]\nsofter = 1..2\n", ":2: [floor3.om2.hv] knows no key"},
		{"[floor3.om2.vh]\nsoft = 1..2\n", ":1: [floor3.om2.vh] is neither"},
		{"[floor9.om2.hv]\nsoft = 1..2\n", ":1: [floor9.om2.hv] is neither"},
		{"[om.volts]\nsoft = 1..2\n", ":1: [om.volts] is neither"},
		{"[floor*.om2.hv]\nsoft = 1..2\n", ":1: [floor*.om2.hv] is neither"},
		{"[om.hv]\nsoft = 1..2\nsoft = 1..3\n", ":3: [om.hv] has soft twice"},
		{"[om.hv]\nsoft = 1..2\n[om.ramp]\nsoft = 1..2\n[om.hv]\npoll = 1\n",
		 ":5: [om.hv] is a duplicate, first in line 1"},
		{"[om.temperature]\nwarn = 0..60\n",
		 ":1: [om.temperature] warn does not lie inside"},
		{"[floor1.om0.temperature]\nwarn = 0..60\n",
		 ":1: [floor1.om0.temperature] warn does"},
		{"[om.rate]\nwarn = ..1e6\n", ":1: [om.rate] has limits, but on_alarm"},
		{"[om.hv]\nrubbish\n", ":2: neither [section] nor key"},
		{"soft = 1..2\n", ":1: [] is neither"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sc_error error = {0};

		params_destroy(site(cases[i].text, -EINVAL, &error));
		if (!strstr(error.message, cases[i].message)) {
			fail_msg("case %zu: \"%s\", wanted \"%s\"", i, error.message,
				 cases[i].message);
		}
	}
}

/* In the order of their names; nothing else in the directory is looked at. */
static void test_directory(void **state)
{
	static const char *const names[] = {"20-b.conf", "10-a.conf", "30-c.conf.bak",
					    ".40-d.conf"};
	static const char *const texts[] = {
		"[om.hv]\nsoft = 0..1500\n[clock.satellites]\nhistory = 5\n",
		"[om.hv]\nsoft = 0..1400\npoll = 7\n[floor1.om0.hv]\nsoft = 0..1300\n", "rubbish",
		"rubbish"};
	char directory[] = "/tmp/fcm-site-XXXXXX", path[64];
	struct params *p = load();
	struct sc_error error = {0};
	unsigned count = 0;

	assert_non_null(mkdtemp(directory));
	assert_int_equal(params_override(p, directory, &count, &error), 0);
	assert_int_equal(count, 0); /* nothing in it yet */
	for (unsigned n = 0; n < 4; n++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[n]);
		put(path, texts[n]);
	}
	assert_int_equal(params_override(p, directory, &count, &error), 0);
	assert_int_equal(count, 4);
	assert_true(kind(p, "floor2.om0.hv")->soft_max == 1500);
	assert_true(kind(p, "floor2.om0.hv")->poll_s == 7);
	assert_true(kind(p, "floor1.om0.hv")->soft_max == 1300);
	assert_true(kind(p, "floor1.om0.hv")->poll_s == 7);
	params_destroy(p);
	p = load();
	snprintf(path, sizeof(path), "%s/20-b.conf", directory);
	put(path, "\n\n[om.hv]\ncolour = red\n");
	assert_int_equal(params_override(p, directory, NULL, &error), -EINVAL);
	assert_non_null(strstr(error.message, "20-b.conf:4: [om.hv] knows no key"));
	for (unsigned n = 0; n < 4; n++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[n]);
		unlink(path);
	}
	rmdir(directory);
	assert_int_equal(params_override(p, directory, NULL, &error), -ENOENT);
	assert_non_null(strstr(error.hint, "site_dictionary"));
	params_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
