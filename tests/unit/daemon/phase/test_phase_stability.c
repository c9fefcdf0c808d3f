// SPDX-License-Identifier: GPL-2.0-or-later
/* TDEV and MTIE against their definitions, written out: sums of sums, and every window. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "daemon/phase/private.h"

#define SAMPLES 200u
#define TAU0	0.25

static double x[SAMPLES];

static const struct phase_sample *series_of(uint32_t count, double origin)
{
	static struct phase_sample series[SAMPLES];

	for (uint32_t i = 0; i < count; i++) {
		series[i] = (struct phase_sample){1000 + i * TAU0, origin + x[i]};
	}
	return series;
}

static double tdev_by_definition(uint32_t count, uint32_t n)
{
	double squares = 0;
	uint32_t terms = 0;

	for (uint32_t j = 0; j + 3 * n <= count; j++) {
		double sum = 0;

		for (uint32_t i = j; i < j + n; i++) {
			sum += x[i + 2 * n] - 2 * x[i + n] + x[i];
		}
		squares += sum * sum;
		terms++;
	}
	return terms ? sqrt(squares / (6.0 * n * n * terms)) : (double)NAN;
}

static double mtie_by_definition(uint32_t count, uint32_t n)
{
	double most = (double)NAN;

	for (uint32_t j = 0; j + n < count; j++) {
		double low = x[j], high = x[j];

		for (uint32_t i = j; i <= j + n; i++) {
			low = fmin(low, x[i]);
			high = fmax(high, x[i]);
		}
		most = fmax(most, high - low);
	}
	return most;
}

static void assert_same(double is, double wanted)
{
	assert_int_equal(isnan(is), isnan(wanted));
	if (!isnan(wanted)) {
		assert_true(fabs(is - wanted) <= 1e-6 * (1 + fabs(wanted)));
	}
}

/* Whole steps, so that equal neighbours are common; far from 0, as phases are. */
static void both_are_what_they_are_defined_to_be(void **state)
{
	uint32_t dice = 1;

	for (uint32_t count = 0; count <= SAMPLES; count += count < 30 ? 1 : 17) {
		const struct phase_sample *s;

		for (uint32_t i = 0; i < count; i++) {
			dice = dice * 1664525 + 1013904223;
			x[i] = (i ? x[i - 1] : 0) + (int)(dice >> 28) % 5 - 2;
		}
		s = series_of(count, 1e6);
		for (uint32_t n = 1; n <= count + 1; n++) {
			assert_same(phase_tdev(s, count, n * TAU0), tdev_by_definition(count, n));
			assert_same(phase_mtie(s, count, n * TAU0), mtie_by_definition(count, n));
		}
		assert_true(isnan(phase_tdev(s, count, 0.4 * TAU0)));
		assert_true(isnan(phase_mtie(s, count, 0.4 * TAU0)));
	}
}

static void samples_of_one_moment_have_no_distance(void **state)
{
	const struct phase_sample moment[] = {{5, 0}, {5, 1}, {5, 2}, {5, 3}},
				  two[] = {{5, 1}, {6, 4}};

	assert_true(isnan(phase_mtie(moment, 4, 1)));
	assert_true(isnan(phase_mtie(two, 1, 1)));
	assert_same(phase_mtie(two, 2, 1), 3);
}

/* The most samples that a link keeps. */
static void a_full_series_has_its_place(void **state)
{
	static struct phase_sample full[PHASE_SAMPLES_MAX];

	for (uint32_t i = 0; i < PHASE_SAMPLES_MAX; i++) {
		full[i] = (struct phase_sample){i * TAU0, i};
	}
	assert_same(phase_mtie(full, PHASE_SAMPLES_MAX, TAU0), 1);
	assert_same(phase_mtie(full, PHASE_SAMPLES_MAX, 100 * TAU0), 100);
	assert_same(phase_tdev(full, PHASE_SAMPLES_MAX, 100 * TAU0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_are_what_they_are_defined_to_be),
		cmocka_unit_test(samples_of_one_moment_have_no_distance),
		cmocka_unit_test(a_full_series_has_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
