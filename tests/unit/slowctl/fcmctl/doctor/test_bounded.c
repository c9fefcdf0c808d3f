/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of slowctl/fcmctl/doctor/bounded.c. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "slowctl/fcmctl/doctor/bounded.h"

static json_t *answer(const void *context)
{
	return json_string(context);
}

static json_t *hang(const void *context)
{
	for (;;) {
		pause();
	}
	return NULL;
}

static json_t *work_long(const void *context)
{
	for (unsigned n = 0; n < 8; n++) {
		usleep(100000);
		bounded_alive();
	}
	return json_true();
}

static json_t *die(const void *context)
{
	raise(SIGKILL);
	return NULL;
}

static json_t *large(const void *context)
{
	size_t bytes = 8u << 20;
	char *text = calloc(1, bytes + 1);

	return json_string(text != NULL ? memset(text, 'x', bytes) : "");
}

static json_t *garbage(const void *context)
{
	return NULL;
}

static void jobs(void **state)
{
	struct bounded all[] = {
		{.work = answer, .context = "one", .limit_s = 30.0},
		{.work = hang, .limit_s = 0.3},
		{.work = work_long, .limit_s = 10.0},
		{.work = die, .limit_s = 30.0},
		{.work = large, .limit_s = 30.0},
		{.work = garbage, .limit_s = 30.0},
		{.work = answer, .context = "two", .limit_s = 30.0},
	};

	bounded_run(all, 7);
	assert_string_equal(json_string_value(all[0].result), "one");
	assert_true(all[1].late);
	assert_null(all[1].result);
	assert_true(json_is_true(all[2].result));
	for (unsigned n = 3; n < 6; n++) {
		assert_false(all[n].late);
		assert_null(all[n].result);
	}
	assert_string_equal(json_string_value(all[6].result), "two");
	json_decref(all[0].result);
	json_decref(all[2].result);
	json_decref(all[6].result);
}

static void programs(void **state)
{
	static const char *const both[] = {"sh", "-c", "echo out; echo bad >&2; exit 3", NULL};
	static const char *const much[] = {"sh", "-c", "yes | head -c 1000000", NULL};
	static const char *const none[] = {"/no/such/program", NULL};
	static const char *const waits[] = {"sleep", "60", NULL};
	char out[16], bad[16];
	struct program_text to = {.text = out, .size = sizeof(out)};
	struct program_text from = {.text = bad, .size = sizeof(bad)};

	assert_int_equal(bounded_program(both, 30.0, &to, &from), 3);
	assert_string_equal(out, "out\n");
	assert_string_equal(bad, "bad\n");
	to.used = 0;
	assert_int_equal(bounded_program(much, 30.0, &to, NULL), 0);
	assert_int_equal(strlen(out), sizeof(out) - 1);
	assert_int_equal(bounded_program(none, 30.0, NULL, NULL), -ENOENT);
	assert_int_equal(bounded_program(waits, 0.2, NULL, NULL), -ETIMEDOUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs),
		cmocka_unit_test(programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
