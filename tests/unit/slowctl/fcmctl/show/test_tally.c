/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values counted one by one, folded into bins, shown as a table with bars. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "slowctl/fcmctl/show/bars.h"
#include "slowctl/fcmctl/show/tally.h"

/* ---- counting ---- */

/* Each of [low, high], `times` times; folded. */
static struct tally_fold fold_range(uint32_t low, uint32_t high, unsigned times)
{
	struct tally_fold f;
	struct tally t;

	assert_int_equal(tally_init(&t, 1u << 22), 0);
	for (uint32_t v = low; v <= high; v++) {
		for (unsigned i = 0; i < times; i++) {
			tally_add(&t, v);
		}
	}
	tally_fold(&t, &f);
	tally_fini(&t);
	return f;
}

static uint64_t sum_of(const struct tally_fold *f)
{
	uint64_t sum = f->below + f->above;

	for (unsigned i = 0; i < f->bins; i++) {
		sum += f->count[i];
	}
	return sum;
}

static void test_folds(void **state)
{
	static const struct {
		uint32_t low, high;
		uint32_t first, width;
		unsigned bins;
	} cases[] = {
		{7, 7, 7, 1, 1}, /* one value */
		{3, 18, 3, 1, 16},
		{3, 19, 2, 2, 9}, /* one more: two a bin, from a whole multiple */
		{0, 31, 0, 2, 16},
		{0, 32, 0, 5, 7},
		{95, 174, 95, 5, 16},
		{1000, 1159, 1000, 10, 16},
		{4194300, 4194303, 4194300, 1, 4}, /* up to the limit */
		{0, 99, 0, 10, 10},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tally_fold f = fold_range(cases[i].low, cases[i].high, 1);

		if (f.first != cases[i].first || f.width != cases[i].width ||
		    f.bins != cases[i].bins) {
			fail_msg("case %zu: %u bins of %u from %u", i, f.bins, f.width, f.first);
		}
		assert_int_equal(f.below + f.above, 0);
		assert_int_equal(sum_of(&f), cases[i].high - cases[i].low + 1);
	}
}

/* What is far from the rest does not make the bins wide: it is counted outside. */
static void test_outside(void **state)
{
	struct tally_fold f;
	struct tally t;

	assert_int_equal(tally_init(&t, 1u << 22), 0);
	for (unsigned i = 0; i < 1000; i++) {
		tally_add(&t, 500 + i % 10);
	}
	for (unsigned i = 0; i < 4; i++) {
		tally_add(&t, 3);
		tally_add(&t, 9000000000); /* beyond the limit: the last value */
	}
	tally_fold(&t, &f);
	assert_int_equal(f.first, 500);
	assert_int_equal(f.width, 1);
	assert_int_equal(f.bins, 10);
	assert_int_equal(f.below, 4);
	assert_int_equal(f.above, 4);
	assert_int_equal(sum_of(&f), 1008);
	assert_int_equal(t.least, 3);
	assert_int_equal(t.greatest, (1u << 22) - 1);
	assert_int_equal(tally_median(&t), 504);
	tally_fini(&t);
}

/* Saturated hits, one in 25, leave the others in sight. */
static void test_tail(void **state)
{
	struct tally_fold f;
	struct tally t;

	assert_int_equal(tally_init(&t, 1u << 22), 0);
	for (unsigned i = 0; i < 1000; i++) {
		tally_add(&t, 1000 + i % 100);
	}
	for (unsigned i = 0; i < 40; i++) {
		tally_add(&t, 13409);
	}
	tally_fold(&t, &f);
	assert_int_equal(f.first, 1000);
	assert_int_equal(f.width, 10); /* to 1099, the last before 1093 + 3 x 83 */
	assert_int_equal(f.bins, 10);
	assert_int_equal(f.above, 40);
	assert_int_equal(f.below, 0);
	assert_int_equal(f.count[4], 100);
	tally_fini(&t);

	assert_int_equal(tally_init(&t, 1u << 22), 0);
	for (unsigned i = 0; i < 1000; i++) {
		tally_add(&t, 100000 + i % 100);
	}
	for (unsigned i = 0; i < 40; i++) {
		tally_add(&t, 5);
	}
	tally_fold(&t, &f);
	assert_int_equal(f.below, 40);
	assert_int_equal(f.above, 0);
	assert_int_equal(f.width, 10);
	assert_int_equal(f.first, 100000);
	assert_int_equal(f.count[f.bins - 1], 100);
	tally_fini(&t);
}

static void test_few(void **state)
{
	struct tally_fold f;
	struct tally t;

	assert_int_equal(tally_init(&t, 64), 0);
	tally_fold(&t, &f);
	assert_int_equal(f.bins, 0);
	assert_int_equal(tally_median(&t), 0);
	tally_add(&t, 63);
	tally_fold(&t, &f);
	assert_int_equal(f.bins, 1);
	assert_int_equal(f.first, 63);
	assert_int_equal(tally_median(&t), 63);
	tally_add(&t, 0);
	assert_int_equal(tally_median(&t), 0); /* half of two does not exceed it */
	tally_fini(&t);
	tally_fini(&t);
}

/* ---- the table ---- */

static char shown[8192];

static const char *table(const struct bars *bars, const char *bins, double width, int below,
			 int above, bool csv)
{
	FILE *file = fmemopen(shown, sizeof(shown), "w");
	struct writer *w = csv ? writer_create_csv(file) : writer_create_text(file, false);
	json_t *array = json_loads(bins, 0, NULL);

	assert_non_null(array);
	bars_table(w, bars, array, width, below, above);
	assert_int_equal(writer_flush(w), 0);
	writer_destroy(w);
	fclose(file);
	json_decref(array);
	return shown;
}

static void test_blocks(void **state)
{
	static const struct bars bars = {.unit = "kHz", .counted = "blocks", .utf8 = true};

	assert_string_equal(table(&bars, "[[0.1,400],[0.2,205],[0.3,0],[0.4,1]]", 0.1, 0, 0, false),
			    "from kHz  blocks      %  bar\n"
			    "     0.1     400  66.01  "
			    "████████████████████████████████████████\n"
			    "     0.2     205  33.83  ████████████████████▌\n"
			    "     0.3       0   0.00  \n"
			    "     0.4       1   0.17  ▏\n");
}

/* Without UTF-8; what is outside has numbers, but no bar. */
static void test_hashes(void **state)
{
	static const struct bars bars = {.unit = "", .counted = "hits"};

	assert_string_equal(table(&bars, "[[20,4000],[40,2000],[60,10],[80,0]]", 20, 7, 9, false),
			    "         from  hits      %  bar\n"
			    "     below 20     7   0.12  \n"
			    "           20  4000  66.38  ########################################\n"
			    "           40  2000  33.19  ####################\n"
			    "           60    10   0.17  .\n"
			    "           80     0   0.00  \n"
			    "100 and above     9   0.15  \n");
}

static void test_csv(void **state)
{
	static const struct bars bars = {.unit = "ns", .counted = "pulses", .numbers_only = true};

	assert_string_equal(table(&bars, "[[5,3],[10,1]]", 5, 0, 1, true),
			    "from_ns,pulses,%\n5,3,60.00\n10,1,20.00\n15 and above,1,20.00\n");
	assert_string_equal(table(&bars, "[]", 0, 0, 0, false), "no values\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folds),  cmocka_unit_test(test_outside),
		cmocka_unit_test(test_tail),   cmocka_unit_test(test_few),
		cmocka_unit_test(test_blocks), cmocka_unit_test(test_hashes),
		cmocka_unit_test(test_csv),
	};

	return cmocka_run_group_tests_name("tally and bars", tests, NULL, NULL);
}
