/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text format: escapes, numbers, what has no value, bounds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "slowctl/metrics/text.h"

static struct metrics_text *begin(enum metrics_type type, const char *help)
{
	struct metrics_text *t = metrics_text_new();

	assert_non_null(t);
	metrics_family(t, "m", type, help);
	return t;
}

static void check(struct metrics_text *t, const char *wanted)
{
	char *text = metrics_text_end(t);

	assert_string_equal(text, wanted);
	free(text);
}

static void help_is_escaped(void **state)
{
	struct metrics_text *t = begin(METRICS_GAUGE, "a\\b \"c\"\nd");

	metrics_sample(t, NULL, 1);
	check(t, "# HELP m a\\\\b \"c\"\\nd\n# TYPE m gauge\nm 1\n");
}

static void labels_are_escaped(void **state)
{
	struct metrics_text *t = begin(METRICS_COUNTER, "h");
	struct metrics_labels l = {0};

	metrics_label(&l, "a", "x\\y\"z\n}");
	metrics_label(&l, "b", "");
	metrics_label_number(&l, "c", -3);
	metrics_sample(t, &l, 1);
	check(t, "# HELP m h\n# TYPE m counter\nm{a=\"x\\\\y\\\"z\\n}\",b=\"\",c=\"-3\"} 1\n");
}

/* Cut at the border of a character, and no label in part. */
static void long_labels(void **state)
{
	struct metrics_labels l = {0};
	char text[3 * METRICS_VALUE_MAX], many[METRICS_VALUE_MAX];

	memset(text, 0, sizeof(text));
	for (size_t n = 0; n + 3 < sizeof(text); n += 2) {
		memcpy(text + n, "\xc3\xbc", 2);
	}
	metrics_label(&l, "k", text);
	assert_int_equal(strlen(l.text), strlen("k=\"\"") + 126);
	assert_memory_equal(l.text + strlen(l.text) - 3, "\xc3\xbc\"", 3);

	memset(many, '"', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	for (int n = 0; n < 10; n++) {
		metrics_label(&l, "q", many);
	}
	assert_true(strlen(l.text) < sizeof(l.text));
	assert_int_equal(l.text[strlen(l.text) - 1], '"');
}

static void numbers(void **state)
{
	struct metrics_text *t = begin(METRICS_GAUGE, "h");

	metrics_sample(t, NULL, 0.1);
	metrics_sample(t, NULL, -1e-12);
	metrics_sample(t, NULL, 1.0 / 3);
	metrics_sample(t, NULL, 9007199254740993.0);
	metrics_sample(t, NULL, INFINITY);
	metrics_sample(t, NULL, -INFINITY);
	check(t, "# HELP m h\n# TYPE m gauge\nm 0.1\nm -1e-12\nm 0.3333333333333333\n"
		 "m 9007199254740992\nm +Inf\nm -Inf\n");
}

/* A family of which nothing is known leaves nothing. */
static void no_value(void **state)
{
	struct metrics_text *t = begin(METRICS_GAUGE, "h");
	json_t *text = json_string("5"), *null = json_null();

	metrics_sample(t, NULL, NAN);
	metrics_json(t, NULL, NULL);
	metrics_json(t, NULL, null);
	metrics_json(t, NULL, text);
	json_decref(text);
	check(t, "");
}

static void json_numbers(void **state)
{
	struct metrics_text *t = begin(METRICS_GAUGE, "h");
	json_t *whole = json_integer(-7), *real = json_real(2.5);

	metrics_json(t, NULL, whole);
	metrics_json(t, NULL, real);
	metrics_json(t, NULL, json_true());
	metrics_json(t, NULL, json_false());
	json_decref(whole);
	json_decref(real);
	check(t, "# HELP m h\n# TYPE m gauge\nm -7\nm 2.5\nm 1\nm 0\n");
}

/* The daemon's counters have 64 bits without a sign; JSON's integers have one. */
static void counters_near_their_wrap(void **state)
{
	struct metrics_text *t = begin(METRICS_COUNTER, "h");
	json_t *last = json_integer(INT64_MAX), *beyond = json_integer(INT64_MIN),
	       *most = json_integer(-1), *first = json_integer(0);

	metrics_json(t, NULL, last);
	metrics_json(t, NULL, beyond);
	metrics_json(t, NULL, most);
	metrics_json(t, NULL, first);
	json_decref(last);
	json_decref(beyond);
	json_decref(most);
	json_decref(first);
	check(t, "# HELP m h\n# TYPE m counter\nm 9223372036854775807\nm 9223372036854775808\n"
		 "m 18446744073709551615\nm 0\n");
}

static void states(void **state)
{
	static const char *const words[] = {"up", "dark", NULL};
	struct metrics_text *t = begin(METRICS_GAUGE, "h");
	struct metrics_labels l = {0};

	metrics_label(&l, "link", "2");
	metrics_states(t, &l, words, "dark");
	metrics_states(t, NULL, words, "neither");
	check(t, "# HELP m h\n# TYPE m gauge\nm{link=\"2\",state=\"up\"} "
		 "0\nm{link=\"2\",state=\"dark\"} 1\n"
		 "m{state=\"up\"} 0\nm{state=\"dark\"} 0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(help_is_escaped),
		cmocka_unit_test(labels_are_escaped),
		cmocka_unit_test(long_labels),
		cmocka_unit_test(numbers),
		cmocka_unit_test(no_value),
		cmocka_unit_test(json_numbers),
		cmocka_unit_test(counters_near_their_wrap),
		cmocka_unit_test(states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
