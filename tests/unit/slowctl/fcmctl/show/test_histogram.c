/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The phase's histogram as lines: where the circle is cut, how many bins a line, what a terminal shows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "slowctl/fcmctl/show/histogram.h"

static struct histogram fold(const char *bins)
{
	struct histogram h;
	json_t *array = json_loads(bins, 0, NULL);
	json_t *json = json_pack("{s:i,s:o}", "bin_ps", 10, "bins", array);

	assert_non_null(json);
	histogram_fold(json, &h);
	json_decref(json);
	return h;
}

static struct histogram fold_range(int first, int last, int step)
{
	struct histogram h;
	json_t *bins = json_array();
	json_t *json;

	for (int ps = first; ps <= last; ps += step) {
		json_array_append_new(bins, json_pack("[i,i]", ps % HISTOGRAM_WRAP_PS, 1));
	}
	json = json_pack("{s:i,s:o}", "bin_ps", 10, "bins", bins);
	histogram_fold(json, &h);
	json_decref(json);
	return h;
}

static void test_folds(void **state)
{
	static const struct {
		int first, last; /* ps, one sample a bin */
		unsigned lines, line_ps, first_ps;
	} cases[] = {
		{6210, 6210, 1, 10, 6210},     /* one bin */
		{6210, 6360, 16, 10, 6210},    /* as many lines as look well */
		{6210, 6370, 9, 20, 6200},     /* one more: two bins a line, whole steps */
		{0, 150, 16, 10, 0},	       /* from the cut on */
		{12340, 12490, 16, 10, 12340}, /* up to it */
		{12450, 12550, 11, 10, 12450}, /* across it */
		{12400, 12400 + 990, 10, 100, 12400},
		{100, 12500 + 80, 25, 500, 0}, /* all round but one bin: no line comes twice */
		{0, 12490, 25, 500, 0},	       /* all round */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct histogram h = fold_range(cases[i].first, cases[i].last, 10);
		uint64_t sum = 0;

		for (unsigned line = 0; line < h.lines; line++) {
			sum += h.count[line];
		}
		if (h.lines != cases[i].lines || h.line_ps != cases[i].line_ps ||
		    h.first_ps != cases[i].first_ps) {
			fail_msg("case %zu: %u lines of %u ps from %u", i, h.lines, h.line_ps,
				 h.first_ps);
		}
		assert_int_equal(sum, h.samples);
		assert_int_equal(sum, (cases[i].last - cases[i].first) / 10 + 1);
	}
}

/* The cut is in the longest gap, wherever that is. */
static void test_gaps(void **state)
{
	struct histogram h = fold("[[0,5],[6000,1],[12000,2]]");

	assert_int_equal(h.line_ps, 500);
	assert_int_equal(h.first_ps, 6000);
	assert_int_equal(h.lines, 14);
	assert_int_equal(h.count[0], 1);
	assert_int_equal(h.count[12], 2);
	assert_int_equal(h.count[13], 5);
	assert_int_equal(histogram_line(&h, 12499.9), 12);
	assert_int_equal(histogram_line(&h, 0), 13);
	assert_int_equal(histogram_line(&h, 499.9), 13);
	assert_int_equal(histogram_line(&h, 500), -1);
	assert_int_equal(histogram_line(&h, 12500), -1);
	assert_int_equal(histogram_line(&h, -1), -1);
	assert_int_equal(histogram_line(&h, (double)NAN), -1);
}

static void test_nonsense(void **state)
{
	static const char *const nonsense[] = {"[]", "[[12500,1]]", "[[-10,1]]",   "[[10,-1]]",
					       "{}", "[[10]]",	    "[[\"a\",1]]", "[7,null]"};
	json_t *other = json_pack("{s:i,s:[[i,i]]}", "bin_ps", 20, "bins", 10, 1);
	struct histogram h;

	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		h = fold(nonsense[i]);
		assert_int_equal(h.samples, 0);
		assert_int_equal(h.lines, 0);
		assert_int_equal(histogram_line(&h, 0), -1);
	}
	histogram_fold(other, &h); /* bins of another width */
	assert_int_equal(h.samples, 0);
	histogram_fold(NULL, &h);
	assert_int_equal(h.samples, 0);
	json_decref(other);
}

static void test_lines(void **state)
{
	static const char wanted[] =
		"12490 ps 4294967295  ########################################  mean, reference\n"
		"    0 ps          0\n"
		"   10 ps 2147483648  ####################\n"
		"   20 ps          1  .\n";
	struct histogram h = fold("[[12490,4294967295],[10,2147483648],[20,1]]");
	char text[1024] = "";
	FILE *file = fmemopen(text, sizeof(text), "w");
	struct writer *w = writer_create_text(file, false);

	histogram_render(w, &h, 12494.0, 12499.9);
	assert_int_equal(writer_flush(w), 0);
	writer_destroy(w);
	fclose(file);
	assert_string_equal(text, wanted);
	for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
		assert_true(strcspn(line, "\n") < 80);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folds),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
