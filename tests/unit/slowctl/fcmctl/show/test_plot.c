/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plot of a history: what stands where, what is left open, what does not break it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "slowctl/fcmctl/show/plot.h"

#define T 1795000000.0 /* 2026-11-18 11:06:40 UTC */

static char shown[32768];

/* rows: "[[seconds behind T, value], ..]" */
static const char *plot(const char *rows, const char *more, double from, double to, bool utf8)
{
	FILE *file = fmemopen(shown, sizeof(shown), "w");
	struct writer *w = writer_create_text(file, false);
	json_t *array = json_loads(rows, 0, NULL), *list = json_array(), *pair;
	json_t *result = json_loads(more, 0, NULL);
	struct plot_frame frame = {T + from, T + to, utf8};
	size_t n;

	assert_non_null(array);
	assert_non_null(result);
	json_array_foreach (array, n, pair) {
		json_array_append_new(list,
				      json_pack("{s:f,s:O,s:n}", "time",
						T + json_number_value(json_array_get(pair, 0)),
						"value", json_array_get(pair, 1), "setpoint"));
	}
	json_object_set_new(result, "rows", list);
	writer_set_width(w, 55); /* 40 cells */
	plot_history(w, result, &frame);
	writer_destroy(w);
	fclose(file);
	json_decref(array);
	json_decref(result);
	return shown;
}

static void lines_are(const char *text, const char *const *wanted)
{
	const char *all = text;

	for (; *wanted != NULL; wanted++) {
		size_t length = strcspn(text, "\n");

		if (strlen(*wanted) != length || strncmp(text, *wanted, length) != 0) {
			fail_msg("wanted\n%s\nin\n%s", *wanted, all);
		}
		text += length + (text[length] == '\n');
	}
	assert_string_equal(text, "");
}

#define HV "{\"name\":\"a.hv\",\"unit\":\"V\",\"words\":null,\"limits\":{\"low\":0,\"high\":1450}}"

/* 4000 s: a cell is 100 s. A value stands until the next sample; behind 900 s nobody knows. */
static void test_gaps(void **state)
{
	static const char *const wanted[] = {
		"a.hv in V",
		"        1460 +                              **********",
		"             |----------------------------------------",
		"             |",
		"             |",
		"             |",
		"             |",
		"      1427.5 +",
		"             |",
		"             |",
		"             |          **********",
		"             |",
		"        1400 +**********",
		"             +--------------------          ----------+",
		"              2026-11-18 11:06:40  2026-11-18 12:13:20",
		"least             1400 V at 2026-11-18 11:06:40 UTC",
		"greatest          1460 V at 2026-11-18 11:56:40 UTC",
		"last              1460 V at 2026-11-18 11:56:40 UTC",
		"limits            0 to 1450 V",
		"unknown           21 min 40 s in 3 pieces",
		NULL,
	};

	lines_are(plot("[[0,1400],[1000,1410],[3000,1460]]", HV, 0, 4000, false), wanted);
}

/* A state is a line of its own, with its word. */
static void test_words(void **state)
{
	static const char *const wanted[] = {
		"link2.state",
		"          up +                    *         **********",
		"    aligning +                    *",
		"        dark +**********          **********",
		"             +----------          --------------------+",
		"              2026-11-18 11:06:40  2026-11-18 12:13:20",
		"last              up at 2026-11-18 11:56:40 UTC",
		"unknown           20 min 50 s in 3 pieces",
		NULL,
	};

	lines_are(plot("[[0,2],[2000,4],[2050,2],[3000,4]]",
		       "{\"name\":\"link2.state\",\"unit\":\"\",\"words\":[\"off\",\"silent\","
		       "\"dark\","
		       "\"aligning\",\"up\"]}",
		       0, 4000, true),
		  wanted);
}

/* Two dots across and four down a cell: a ramp from corner to corner. */
static void test_braille(void **state)
{
	static const char *const parts[] = {
		"         400 +                                       \xe2\xa0\x88\n",
		"           0 +\xe2\xa3\x80\xe2\xa3\x80",
		"greatest          400 V",
	};

	plot("[[0,0],[1000,100],[2000,200],[3000,300],[4000,400]]",
	     "{\"name\":\"a\",\"unit\":\"V\",\"words\":null}", 0, 4000, true);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strstr(shown, parts[i]) == NULL) {
			fail_msg("no %s in\n%s", parts[i], shown);
		}
	}
	assert_null(strchr(shown, '*'));
}

/* What is no plot is said, what is nonsense breaks nothing. */
static void test_little(void **state)
{
	static const char *const rows[] = {
		"[[0,5]]",
		"[[0,5],[0,5]]",
		"[[5000,5]]",		  /* behind the end */
		"[[-5000,5]]",		  /* long before */
		"[[3000,1],[1000,2]]",	  /* backwards */
		"[[0,null],[1000,2]]",	  /* nothing was read */
		"[[0,1e308],[1,-1e308]]", /* more than a double's range apart */
		"[[0,0],[1,0]]",
	};

	assert_string_equal(plot("[]", HV, 0, 4000, false), "a.hv in V\nno samples in this time\n");
	assert_string_equal(plot("[]", "{\"name\":\"a\",\"kept\":false}", 0, 4000, false),
			    "a\nno history of it is kept: fcmctl get shows its value\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int utf8 = 0; utf8 < 2; utf8++) {
			plot(rows[i], HV, 0, 4000, utf8);
			assert_non_null(strstr(shown, "last "));
			plot(rows[i], HV, 0, -4000, utf8);
			assert_non_null(strstr(shown, "last "));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_braille),
		cmocka_unit_test(test_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
