/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of users, looked up on a thread of its own. The name service is this file's: it hangs for as long as it is
 * told to. Real time: the limits of time are what is tested, from below.
 */
#include <errno.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "daemon/control/user_names.h"
#include "daemon/core/now.h"

#define PATIENCE_NS 20000000000ull

static _Atomic bool hangs;
static _Atomic unsigned asked;
static struct event_base *base;
static struct names *names;
static unsigned told;

/* In the place of the C library's: users 1000 to 1099 have names. */
int getpwuid_r(uid_t uid, struct passwd *pw, char *room, size_t size, struct passwd **ret)
{
	asked++;
	while (hangs) {
		usleep(1000);
	}
	*ret = NULL;
	if (uid >= 1000 && uid < 1100) {
		snprintf(room, size, "user%u", uid);
		*pw = (struct passwd){.pw_name = room, .pw_uid = uid};
		*ret = pw;
	}
	return 0;
}

static void on_known(void *context)
{
	assert_ptr_equal(context, &told);
	told++;
}

static int begin(void **state)
{
	hangs = false;
	asked = told = 0;
	base = event_base_new();
	assert_int_equal(names_open(base, on_known, &told, &names), 0);
	return 0;
}

static int end(void **state)
{
	hangs = false;
	names_close(names);
	event_base_free(base);
	return 0;
}

/* As its callers do: until it is known, or not waited for any more. */
static const char *name_of(uint32_t uid)
{
	static char text[64];
	uint64_t end_ns = now_mono_ns() + PATIENCE_NS;

	while (!names_get(names, uid, text, sizeof(text))) {
		unsigned before = told;

		while (told == before) {
			assert_true(now_mono_ns() < end_ns);
			event_base_loop(base, EVLOOP_ONCE);
		}
	}
	return text;
}

static void test_names(void **state)
{
	char text[64];

	assert_false(names_get(names, 1000, text, sizeof(text)));
	assert_string_equal(name_of(1000), "user1000");
	assert_string_equal(name_of(7), "uid 7");
	assert_int_equal(asked, 2);
	for (unsigned n = 0; n < 10; n++) { /* they are kept */
		assert_true(names_get(names, 1000, text, sizeof(text)));
		assert_string_equal(text, "user1000");
		assert_true(names_get(names, 7, text, sizeof(text)));
		assert_string_equal(text, "uid 7");
	}
	assert_int_equal(asked, 2);
	for (uint32_t uid = 1000; uid < 1100; uid++) { /* more than are kept */
		char wanted[16];

		snprintf(wanted, sizeof(wanted), "user%u", uid);
		assert_string_equal(name_of(uid), wanted);
	}
}

/* Numbers stand for names for as long as it hangs, after a moment the first time, at once from then on. */
static void test_name_service_hangs(void **state)
{
	uint64_t begin_ns = now_mono_ns();
	char text[64];

	assert_string_equal(name_of(1001), "user1001");
	hangs = true;
	assert_string_equal(name_of(1000), "uid 1000");
	assert_true(now_mono_ns() - begin_ns >= NAMES_WAIT_MS * 1000000ull);
	assert_true(names_get(names, 1000, text, sizeof(text)));
	assert_string_equal(text, "uid 1000");
	assert_string_equal(name_of(1002), "uid 1002");
	assert_string_equal(name_of(1001), "user1001");
	for (uint32_t uid = 2000; uid < 2100; uid++) { /* a crowd of others */
		names_get(names, uid, text, sizeof(text));
	}
	assert_string_equal(name_of(3000), "uid 3000");
	hangs = false;
	begin_ns = now_mono_ns();
	while (strcmp(name_of(1000), "user1000") != 0) {
		assert_true(now_mono_ns() - begin_ns < PATIENCE_NS);
		event_base_loop(base, EVLOOP_NONBLOCK);
		usleep(1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, begin, end),
		cmocka_unit_test_setup_teardown(test_name_service_hangs, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
