// SPDX-License-Identifier: GPL-2.0-or-later
/* Steps of the phase inside a lock: what is found, how soon, and what is not taken for one. */
#include <math.h>

#include "tests/unit/daemon/phase/phase_rig.h"

#define SEEDS 20u
#define TOTAL (6 * FRAME_PS + 900 * 12500.0 + 5000)

/* A link whose second begins `tenth` samples before its step; noise of 20 ps rms. */
static void before_a_step(struct link *l, unsigned seed, unsigned tenth)
{
	setup(l, TOTAL, 20);
	l->random += 0x1234567ull * (seed + 1);
	run(l, 300 + tenth);
	assert_int_equal(l->judgements, 1);
}

/* Samples until it is judged; `limit`: it was not. */
static unsigned until_judged(struct link *l, unsigned limit)
{
	unsigned before = l->judgements, n = 0;

	while (l->judgements == before && n < limit) {
		run(l, 1);
		n++;
	}
	return n;
}

/* bench-phase has the power from many more: 98 % within 5 s. */
static void fifty_ps_in_five_seconds_at_any_phase_of_the_second(void **state)
{
	unsigned late = 0;

	for (unsigned tenth = 0; tenth < 10; tenth++) {
		for (unsigned seed = 0; seed < SEEDS; seed++) {
			struct link l;
			unsigned n;

			before_a_step(&l, seed, tenth);
			l.total_ps += 50;
			n = until_judged(&l, 100);
			assert_true(n < 100);
			late += n > 50;
			assert_int_equal(l.judgement.verdict, PHASE_PASS);
			assert_near(l.judgement.step_ps, 50, 25);
			assert_near((double)view(&l).lock_ns / 1e9 - 5, (300 + tenth) / 10.0, 1.1);
			teardown(&l);
		}
	}
	assert_true(late <= 6);
}

static void a_large_step_is_no_drift(void **state)
{
	static const double steps[] = {302, -302, 130, -700, 1000, -2000, 5600};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		for (unsigned tenth = 0; tenth < 10; tenth++) {
			struct link l;

			before_a_step(&l, tenth, tenth);
			l.total_ps += steps[i];
			assert_true(until_judged(&l, 100) <= 20);
			assert_int_equal(l.judgement.verdict, PHASE_JUMP);
			assert_near(l.judgement.step_ps, steps[i], 40);
			assert_near((double)view(&l).lock_ns / 1e9 - 5, (300 + tenth) / 10.0, 0.11);
			run(&l, 300);
			assert_int_equal(l.judgements, 2);
			assert_int_equal(view(&l).drifts, 0);
			teardown(&l);
		}
	}
}

/* The samples after the step are the new lock's: nothing of the old one is in its mean, spread and histogram. */
static void the_new_lock_begins_at_the_step(void **state)
{
	struct link l;
	unsigned n, in_histogram = 0;

	setup(&l, TOTAL, 0);
	run(&l, 304);
	l.total_ps += 400;
	n = until_judged(&l, 100);
	assert_int_equal(view(&l).samples, n);
	assert_near(view(&l).mean_ps, 5400, 0.001);
	assert_near(view(&l).peak_to_peak_ps, 0, 0.001);
	for (unsigned i = 0; i < PHASE_BINS; i++) {
		in_histogram += phase_histogram(l.phase)[i];
	}
	assert_int_equal(in_histogram, n);
	assert_int_equal(phase_histogram(l.phase)[540], n);
	teardown(&l);
}

/* Seconds stay whole in the history: the one with the step is two rows, and no sample is in none or in both. */
static void rows_have_each_sample_once(void **state)
{
	for (unsigned tenth = 0; tenth < 10; tenth++) {
		struct link l;
		unsigned rows = 0, samples = 0, in_rows = 0;

		setup(&l, TOTAL, 0);
		for (; rows < 34 + (tenth != 0); samples++) {
			unsigned before = l.rows;

			l.total_ps += samples == 300 + tenth ? 400 : 0;
			run(&l, 1);
			if (l.rows != before) {
				assert_int_equal(l.rows, before + 1);
				in_rows += l.row.samples;
				assert_true(l.row.max_ps - l.row.min_ps < 401);
				rows++;
			}
		}
		assert_in_range(in_rows, samples - 10, samples);
		teardown(&l);
	}
}

static void the_begin_of_a_drift_is_no_step(void **state)
{
	static const double drifts[] = {1, -3, 9, -20, 50};

	for (size_t i = 0; i < sizeof(drifts) / sizeof(drifts[0]); i++) {
		for (unsigned seed = 0; seed < SEEDS; seed++) {
			struct link l;

			before_a_step(&l, seed, seed % 10);
			l.drift_ps_per_s = drifts[i];
			run(&l, 350);
			assert_int_equal(view(&l).jumps + view(&l).passes, 0);
			assert_near(l.judgement.step_ps, 0, 0);
			teardown(&l);
		}
	}
}

/* Hours of white noise; bench-phase has months. */
static void noise_is_no_step(void **state)
{
	struct link l;

	setup(&l, TOTAL, 20);
	run(&l, 3 * 36000);
	assert_int_equal(l.judgements, 1);
	teardown(&l);
}

/* Wild samples. What stays for 0.8 s has stepped, and stepped back. */
static void an_outlier_is_no_step(void **state)
{
	for (unsigned n = 1; n <= 7; n++) {
		struct link l;

		before_a_step(&l, n, 3);
		l.total_ps += 600;
		run(&l, n);
		l.total_ps -= 600;
		run(&l, 300);
		assert_int_equal(l.judgements, 1);
		teardown(&l);
	}
}

/* A step within the tolerance, and a drift after it: the verdict on the drift is not about the step. */
static void a_drift_after_a_step_is_a_drift(void **state)
{
	struct link l;

	before_a_step(&l, 1, 0);
	l.total_ps += 60;
	until_judged(&l, 100);
	assert_int_equal(l.judgement.verdict, PHASE_PASS);
	assert_true(l.judgement.step_ps > 0);
	assert_int_equal(l.judgement.time_ns, view(&l).lock_ns);
	l.drift_ps_per_s = 9;
	assert_true(until_judged(&l, 600) < 600);
	assert_int_equal(l.judgement.verdict, PHASE_DRIFT);
	assert_near(l.judgement.step_ps, 0, 0);
	assert_int_equal(l.judgement.time_ns, l.now_ns - TENTH);
	teardown(&l);
}

static void no_slope_where_no_line_fits(void **state)
{
	struct link l;

	before_a_step(&l, 1, 0);
	assert_near(view(&l).slope_ps_per_s, 0, 0.5);
	l.drift_ps_per_s = 9;
	run(&l, 200); /* 40 s flat, 20 s of drift */
	assert_true(isnan(view(&l).slope_ps_per_s));
	run(&l, 400);
	assert_near(view(&l).slope_ps_per_s, 9, 0.3);
	teardown(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fifty_ps_in_five_seconds_at_any_phase_of_the_second),
		cmocka_unit_test(a_large_step_is_no_drift),
		cmocka_unit_test(the_new_lock_begins_at_the_step),
		cmocka_unit_test(rows_have_each_sample_once),
		cmocka_unit_test(the_begin_of_a_drift_is_no_step),
		cmocka_unit_test(noise_is_no_step),
		cmocka_unit_test(an_outlier_is_no_step),
		cmocka_unit_test(a_drift_after_a_step_is_a_drift),
		cmocka_unit_test(no_slope_where_no_line_fits),
	};

	return cmocka_run_group_tests_name("phase steps", tests, NULL, NULL);
}
