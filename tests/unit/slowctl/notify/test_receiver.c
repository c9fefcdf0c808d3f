/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is told of what, and when, in virtual time; the configuration with every mistake. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "slowctl/notify/receiver.h"

#define NOON	1795003200.0 /* 12:00 UTC */
#define STARTED (NOON - 1000.0)

static struct receivers read_text(const char *text, int wanted, struct sc_error *error)
{
	char path[] = "/tmp/test_receiver.XXXXXX";
	struct receivers all;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(receivers_read(path, &all, error), wanted);
	unlink(path);
	return all;
}

static void test_a_file(void **state)
{
	struct sc_error error = {0};
	struct receivers all = read_text("[receiver shift]\nprogram = /bin/bell\n"
					 "[receiver expert]\nmail = a@b.org\nlevel = warning\n"
					 "objects = link* board\nafter_min = 15\n"
					 "quiet = 22:00-06:30\nper_hour = 6\ncleared = no\n"
					 "[receiver chat]\nwebhook = https://x.org/y?z=1\n",
					 0, &error);
	const struct receiver *r = &all.receiver[1];

	assert_int_equal(all.count, 3);
	assert_string_equal(all.receiver[0].target, "/bin/bell");
	assert_int_equal(all.receiver[0].per_hour, 20);
	assert_true(all.receiver[0].cleared && !all.receiver[0].warnings);
	assert_int_equal(r->kind, RECEIVER_MAIL);
	assert_true(r->warnings && !r->cleared);
	assert_int_equal(r->objects, 2);
	assert_string_equal(r->object[1], "board");
	assert_int_equal(r->after_s, 900);
	assert_int_equal(r->quiet_from, 22 * 60);
	assert_int_equal(r->quiet_to, 6 * 60 + 30);
	assert_int_equal(r->per_hour, 6);
	assert_int_equal(all.receiver[2].kind, RECEIVER_WEBHOOK);
}

/* Each is refused with its line. */
static void test_mistakes(void **state)
{
	static const struct {
		const char *text, *words;
	} files[] = {
		{"", "names no receiver"},
		{"[receiver a]\n", "no receiver"},
		{"program = /x\n", "line 1: a section is"},
		{"[other]\nx = 1\n", "line 2: a section is"},
		{"[receiver a]\nlevel = red\n", "no program, mail or webhook"},
		{"[receiver a]\nprogram = bell\n", "line 2: not the whole path"},
		{"[receiver a]\nmail = nobody\n", "line 2: not the address"},
		{"[receiver a]\nmail = a@b, c@d\n", "line 2: not the address"},
		{"[receiver a]\nwebhook = ftp://x\n", "line 2: not an http"},
		{"[receiver a]\nwebhook = http://x/\"y\n", "line 2: too long, or"},
		{"[receiver a]\nprogram = /x\nmail = a@b\n", "line 3: [receiver a] has one of"},
		{"[receiver a]\nprogram = /x\nlevel = high\n", "line 3: level = high is invalid"},
		{"[receiver a]\nprogram = /x\nquiet = 25:00-01:00\n", "line 3: quiet"},
		{"[receiver a]\nprogram = /x\nquiet = 22-6\n", "line 3: quiet"},
		{"[receiver a]\nprogram = /x\nafter_min = -1\n", "line 3: after_min"},
		{"[receiver a]\nprogram = /x\nafter_min = 1441\n", "line 3: after_min"},
		{"[receiver a]\nprogram = /x\nper_hour = 0\n", "line 3: per_hour"},
		{"[receiver a]\nprogram = /x\nobjects =\n", "line 3: objects"},
		{"[receiver a]\nprogram = /x\ncleared = maybe\n", "line 3: cleared"},
		{"[receiver a]\nprogram = /x\ncolour = red\n", "line 3: there is no key"},
	};

	for (size_t n = 0; n < sizeof(files) / sizeof(files[0]); n++) {
		struct sc_error error = {0};

		read_text(files[n].text, -EINVAL, &error);
		if (!strstr(error.message, files[n].words)) {
			fail_msg("\"%s\": %s", files[n].text, error.message);
		}
		assert_true(*error.hint);
	}
	assert_int_equal(receivers_read("/nonexistent", &(struct receivers){0}, NULL), -ENOENT);
}

static struct notify_incident incident(bool red)
{
	return (struct notify_incident){
		.number = 7, .red = red, .active = true, .object = "link2", .since = NOON};
}

static void expect(const struct receiver *r, const struct notify_told *told,
		   const struct notify_incident *i, double now, enum notice wanted)
{
	assert_string_equal(notice_name(receiver_due(r, told, i, STARTED, now)),
			    notice_name(wanted));
}

static void test_level_and_object(void **state)
{
	struct receiver red = {0}, all = {.warnings = true};
	struct receiver links = {.warnings = true, .objects = 2, .object = {"board", "link*"}};
	struct notify_incident i = incident(false);

	expect(&red, NULL, &i, NOON, NOTICE_NONE);
	expect(&all, NULL, &i, NOON, NOTICE_BEGAN);
	expect(&links, NULL, &i, NOON, NOTICE_BEGAN);
	i.object = "clock";
	expect(&links, NULL, &i, NOON, NOTICE_NONE);
	i = incident(true);
	expect(&red, NULL, &i, NOON, NOTICE_BEGAN);
	i.own = true; /* red is more than our command costs */
	expect(&red, NULL, &i, NOON, NOTICE_BEGAN);
	i.active = false;
	expect(&red, NULL, &i, NOON, NOTICE_NONE);
	i = incident(false);
	i.own = true;
	expect(&all, NULL, &i, NOON, NOTICE_NONE);
	i = incident(true);
	i.paused = true;
	expect(&red, NULL, &i, NOON, NOTICE_PASSED);
}

/* What was paused, or of a quiet time, is told when it goes on, and not when it has ended. */
static void test_what_was_passed(void **state)
{
	struct receiver r = {.warnings = true, .cleared = true};
	struct notify_told passed = {.number = 7, .passed = true};
	struct notify_incident i = incident(true);

	expect(&r, &passed, &i, NOON, NOTICE_BEGAN);
	i.paused = true;
	expect(&r, &passed, &i, NOON, NOTICE_NONE);
	i.active = i.paused = false;
	i.until = NOON + 10;
	expect(&r, &passed, &i, NOON + 10, NOTICE_NONE);
}

/* It had cleared, and is active under the same number. */
static void test_again(void **state)
{
	struct receiver r = {.cleared = true};
	struct notify_told told = {.number = 7, .red = true, .cleared = true};
	struct notify_incident i = incident(true);

	expect(&r, &told, &i, NOON, NOTICE_BEGAN);
}

/* Once when it begins, once when it becomes red, once when it is over. */
static void test_a_life(void **state)
{
	struct receiver r = {.warnings = true, .cleared = true};
	struct notify_told told = {.number = 7};
	struct notify_incident i = incident(false);

	expect(&r, NULL, &i, NOON, NOTICE_BEGAN);
	expect(&r, &told, &i, NOON, NOTICE_NONE);
	i.red = true;
	expect(&r, &told, &i, NOON, NOTICE_WORSE);
	told.red = true;
	expect(&r, &told, &i, NOON, NOTICE_NONE);
	i.active = false;
	i.until = NOON + 60;
	expect(&r, &told, &i, NOON + 60, NOTICE_CLEARED);
	r.cleared = false;
	expect(&r, &told, &i, NOON + 60, NOTICE_NONE);
	r.cleared = true;
	told.cleared = true;
	expect(&r, &told, &i, NOON + 60, NOTICE_NONE);
}

/* What was over before it could be told is told, but not what was over before we began. */
static void test_short_ones(void **state)
{
	struct receiver r = {0}, late = {.after_s = 60};
	struct notify_incident i = incident(true);

	i.active = false;
	i.until = NOON + 1;
	expect(&r, NULL, &i, NOON + 2, NOTICE_BEGAN);
	expect(&late, NULL, &i, NOON + 100, NOTICE_NONE);
	i.since = STARTED - 100;
	i.until = STARTED - 1;
	expect(&r, NULL, &i, NOON, NOTICE_NONE);
}

static void test_escalation(void **state)
{
	struct receiver r = {.after_s = 900};
	struct notify_incident i = incident(true);

	expect(&r, NULL, &i, NOON + 899, NOTICE_NONE);
	expect(&r, NULL, &i, NOON + 900, NOTICE_BEGAN);
	i.acknowledged = true;
	expect(&r, NULL, &i, NOON + 5000, NOTICE_NONE);
}

/* Over midnight and within a day; red ones are told at any time, the others when it ends. */
static void test_quiet(void **state)
{
	const double midnight = NOON + 12 * 3600;
	struct receiver night = {.warnings = true, .quiet_from = 22 * 60, .quiet_to = 6 * 60};
	struct receiver noon = {.warnings = true, .quiet_from = 11 * 60, .quiet_to = 13 * 60};
	struct notify_incident i = incident(false), red = incident(true);
	static const struct {
		double after_midnight_s;
		bool night, noon;
	} times[] = {
		{-2 * 3600 - 60, false, false}, {-2 * 3600, true, false}, {0, true, false},
		{6 * 3600 - 1, true, false},	{6 * 3600, false, false}, {11 * 3600, false, true},
		{13 * 3600, false, false}};

	for (size_t n = 0; n < sizeof(times) / sizeof(times[0]); n++) {
		double now = midnight + times[n].after_midnight_s;

		expect(&night, NULL, &i, now, times[n].night ? NOTICE_PASSED : NOTICE_BEGAN);
		expect(&noon, NULL, &i, now, times[n].noon ? NOTICE_PASSED : NOTICE_BEGAN);
		expect(&night, NULL, &red, now, NOTICE_BEGAN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_file),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_level_and_object),
		cmocka_unit_test(test_a_life),
		cmocka_unit_test(test_short_ones),
		cmocka_unit_test(test_escalation),
		cmocka_unit_test(test_quiet),
		cmocka_unit_test(test_what_was_passed),
		cmocka_unit_test(test_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
