// SPDX-License-Identifier: GPL-2.0-or-later
/* The phase's limits, to the sample and the picosecond. */
#include "tests/unit/daemon/phase/phase_rig.h"

/* A mean over a time has the samples at both its ends. */
static void a_mean_of_a_second_has_the_sample_a_second_ago(void **state)
{
	struct link l;

	setup(&l, 0, 0);
	for (unsigned i = 0; i < 10; i++) {
		tell(&l, 5000 + 10 * i, 10 * TENTH);
	}
	assert_near(view(&l).second_ps, 5085, 0.001);
	teardown(&l);
}

static void a_lock_of_five_seconds_is_old_enough_to_drift(void **state)
{
	struct link l;
	unsigned told;

	setup(&l, 0, 0);
	for (told = 0; view(&l).drifts == 0; told++) {
		assert_true(told < 20);
		tell(&l, 5000 + 200 * told, 10 * TENTH);
	}
	assert_int_equal(told, 8); /* the second of the sixth, at 5 s, has ended, and one more */
	assert_int_equal(view(&l).jumps + view(&l).slips, 0);
	teardown(&l);
}

/* Within the tolerance it is told of, and passes. */
static void a_step_is_at_least_a_fifth_of_the_tolerance(void **state)
{
	static const struct {
		double step_ps;
		enum phase_verdict verdict;
	} cases[] = {{19, PHASE_NONE}, {20, PHASE_PASS}, {100, PHASE_PASS}, {101, PHASE_JUMP}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool found = cases[i].verdict != PHASE_NONE;
		struct link l;

		setup(&l, 6 * FRAME_PS + 25000, 0);
		run(&l, 100);
		l.total_ps += cases[i].step_ps;
		run(&l, 50);
		assert_int_equal(l.judgements, 1 + found);
		if (found) {
			assert_int_equal(l.judgement.verdict, cases[i].verdict);
			assert_near(l.judgement.step_ps, cases[i].step_ps, 0.001);
		}
		teardown(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mean_of_a_second_has_the_sample_a_second_ago),
		cmocka_unit_test(a_lock_of_five_seconds_is_old_enough_to_drift),
		cmocka_unit_test(a_step_is_at_least_a_fifth_of_the_tolerance),
	};

	return cmocka_run_group_tests_name("phase limits", tests, NULL, NULL);
}
