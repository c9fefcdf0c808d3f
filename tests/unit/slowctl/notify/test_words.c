/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a receiver reads: of one notice, of many, of hostile texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "slowctl/notify/words.h"

static json_t *incident(int number, const char *severity, const char *text)
{
	return json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:f,s:{s:i,s:f}}", "number", number, "severity",
			 severity, "object", "link2", "code", "link-dark", "text", text, "action",
			 "fcmctl link show 2", "since", 1795003200.0, "cost", "frames", 400,
			 "dark_s", 3.0);
}

static void add(json_t *notices, enum notice kind, json_t *of)
{
	json_array_append_new(notices, notice_make(kind, of, 1795003260.0));
	json_decref(of);
}

static void test_one(void **state)
{
	json_t *notices = json_array();
	struct notify_words w;

	add(notices, NOTICE_BEGAN, incident(7, "red", "no light"));
	assert_int_equal(notify_words("tower 1", notices, 1, 0, &w), 0);
	assert_string_equal(w.subject, "[tower 1] red link2/link-dark: no light");
	assert_string_equal(w.level, "red");
	assert_string_equal(w.body,
			    "red link2/link-dark: no light\n"
			    "  incident 7, since 2026-11-18 12:00:00 UTC; cost: 400 frames, 3 "
			    "module-s dark\n"
			    "  -> fcmctl link show 2\n"
			    "\nstation tower 1; fcmctl status has what is wrong now\n");
	notify_words_free(&w);
	json_decref(notices);
}

/* The subject is the worst; what was dropped is said. */
static void test_many(void **state)
{
	json_t *notices = json_array(), *json;
	struct notify_words w;

	add(notices, NOTICE_CLEARED, incident(6, "red", "over"));
	add(notices, NOTICE_BEGAN, incident(7, "warning", "so so"));
	add(notices, NOTICE_WORSE, incident(8, "red", "bad"));
	json_array_append_new(notices, notice_make(NOTICE_TEST, NULL, 1795003260.0));
	assert_int_equal(notify_words("s", notices, 4, 12, &w), 0);
	assert_string_equal(w.subject, "[s] red link2/link-dark: bad (+3)");
	assert_non_null(strstr(w.body, "cleared link2/link-dark: over\n"));
	assert_non_null(strstr(w.body, "warning link2/link-dark: so so\n"));
	assert_non_null(strstr(w.body, "a test of the notices\n"));
	assert_non_null(strstr(w.body, "(12 notices before these were dropped"));
	json = json_loads(w.json, 0, NULL);
	assert_int_equal(json_array_size(json_object_get(json, "notices")), 4);
	assert_string_equal(json_string_value(json_object_get(json, "level")), "red");
	json_decref(json);
	notify_words_free(&w);
	assert_int_equal(notify_words("s", notices, 2, 0, &w), 0);
	assert_string_equal(w.level, "warning");
	notify_words_free(&w);
	json_decref(notices);
}

/* A text that an operator typed ends no header and drives no terminal. */
static void test_hostile(void **state)
{
	json_t *notices = json_array();
	struct notify_words w;

	add(notices, NOTICE_BEGAN, incident(7, "red", "x\nBcc: all@example.org\r\n\x1b[2J\n\n.\n"));
	assert_int_equal(notify_words("a\nb", notices, 1, 0, &w), 0);
	for (const char *c = w.subject; *c; c++) {
		assert_true((unsigned char)*c >= ' ');
	}
	assert_null(strstr(w.body, "\nBcc"));
	assert_null(strchr(w.body, 0x1b));
	notify_words_free(&w);
	json_decref(notices);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
