// SPDX-License-Identifier: GPL-2.0-or-later
/* The phase of a link: statistics against known series, verdicts against scripted locks. Seeded. */
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/daemon/phase/phase_rig.h"

/* ------------------------------------------------------------------ statistics */

static void steady(void **state)
{
	struct link l;
	struct phase_view v;
	uint64_t bins = 0;

	setup(&l, 6 * FRAME_PS + 4321 * 12500.0 + 5000, 20);
	run(&l, 6000);
	v = view(&l);
	assert_true(v.locked && v.valid);
	assert_int_equal(v.samples, 6000);
	assert_near(v.mean_ps, 5000, 1.5);
	assert_near(v.sigma_ps, 20, 1);
	assert_true(v.peak_to_peak_ps > 110 && v.peak_to_peak_ps < 200);
	assert_near(v.slope_ps_per_s, 0, 0.3);
	assert_near(v.difference_ps, 0, 30);
	assert_int_equal(l.judgements, 1);
	assert_int_equal(l.judgement.verdict, PHASE_FIRST);
	assert_int_equal(v.reference.rtt_frames, 6);
	assert_int_equal(v.reference.rtt_bytes, 4321);
	assert_near(v.reference.phase_ps, 5000, 30);
	assert_true(l.rows >= 598);
	assert_int_equal(l.row.samples, 10);
	assert_near(l.row.mean_ps, 5000, 25);
	assert_true(l.row.min_ps < 0 && l.row.max_ps > 0);
	assert_int_equal(l.row.rtt_bytes, 4321);
	for (unsigned i = 0; i < PHASE_BINS; i++) {
		bins += phase_histogram(l.phase)[i];
	}
	assert_int_equal(bins, 6000);
	assert_true(phase_histogram(l.phase)[500] > 900); /* the fullest: 10 of 20 x 2.5 ps */
	teardown(&l);
}

/* The same around the wrap: nothing may show it but the raw numbers. */
static void around_the_wrap(void **state)
{
	for (unsigned tear = 0; tear < 2; tear++) {
		struct link l;
		struct phase_view v;

		setup(&l, 7 * FRAME_PS + 100 * 12500.0, 20);
		l.tear = tear;
		run(&l, 3000);
		v = view(&l);
		assert_true(v.mean_ps < 5 || v.mean_ps > 12495);
		assert_near(v.sigma_ps, 20, 1);
		assert_true(v.peak_to_peak_ps < 200);
		assert_int_equal(l.judgements, 1);
		assert_near(fabs(v.difference_ps), 0, 30);
		for (unsigned i = 0; i < 20; i++) {
			relock(&l);
			run(&l, 20);
			assert_int_equal(l.judgement.verdict, PHASE_PASS);
		}
		assert_int_equal(view(&l).passes, 20);
		assert_int_equal(view(&l).relocks, 21);
		teardown(&l);
	}
}

static void slope(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 12000, 10);
	l.drift_ps_per_s = 3; /* over the wrap */
	run(&l, 3000);
	assert_near(view(&l).slope_ps_per_s, 3, 0.15);
	/* 900 ps in 300 s, less half of the mean's 2 s */
	assert_near(view(&l).difference_ps, 3 * 299, 15);
	teardown(&l);
}

/* White phase noise of sigma: TDEV(n tau0) = sigma / sqrt(n). MTIE does not shrink with tau. */
static void stability(void **state)
{
	struct link l;
	struct phase_view v;

	setup(&l, 6 * FRAME_PS + 6000, 100);
	run(&l, 50);
	assert_true(isnan(view(&l).tdev_ps[1]));
	run(&l, 5950);
	v = view(&l);
	assert_near(v.tdev_ps[0], 100 / sqrt(10), 3);
	assert_near(v.tdev_ps[1], 100 / sqrt(100), 2.5);
	assert_near(v.tdev_ps[2], 100 / sqrt(1000), 2.5);
	assert_true(v.mtie_ps[0] > 400 && v.mtie_ps[0] < 900);
	assert_true(v.mtie_ps[1] >= v.mtie_ps[0] && v.mtie_ps[2] >= v.mtie_ps[1]);
	assert_true(v.mtie_ps[2] <= v.peak_to_peak_ps);
	teardown(&l);

	/* A pure slope: TDEV is nothing, MTIE is slope x tau. */
	setup(&l, 6 * FRAME_PS + 100, 0);
	l.drift_ps_per_s = 20;
	run(&l, 4000);
	v = view(&l);
	assert_near(v.tdev_ps[1], 0, 0.5); /* the registers count whole ps */
	assert_near(v.mtie_ps[0], 20, 1);
	assert_near(v.mtie_ps[1], 200, 2);
	assert_near(v.mtie_ps[2], 2000, 3);
	teardown(&l);
}

/* ------------------------------------------------------------------ verdicts */

static void verdicts(void **state)
{
	static const struct {
		double move_ps;
		unsigned bits;
		enum phase_verdict verdict;
		int slip;
	} cases[] = {
		{0, 0, PHASE_PASS, 0},
		{60, 0, PHASE_PASS, 0},
		{-60, 0, PHASE_PASS, 0},
		{1250, 0, PHASE_SLIP, 1},
		{-1250, 0, PHASE_SLIP, -1},
		{-3 * 1250, 0, PHASE_SLIP, -3},
		{1280, 0, PHASE_SLIP, 1},
		{12500, 0, PHASE_SLIP, 10},
		{0, 4, PHASE_SLIP, 4},
		{500, 0, PHASE_JUMP, 0},
		{-640, 0, PHASE_JUMP, 0},
		{7000, 0, PHASE_JUMP, 0},
		{FRAME_PS, 0, PHASE_SLIP, 100000},
	};
	struct link l;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setup(&l, 6 * FRAME_PS + 800 * 12500.0 + 700, 15);
		run(&l, 50);
		relock(&l);
		l.total_ps += cases[i].move_ps;
		l.bits = cases[i].bits;
		run(&l, 4);
		assert_int_equal(l.judgements, 1); /* not before relock_samples */
		run(&l, 50);
		assert_int_equal(l.judgements, 2);
		assert_int_equal(l.judgement.verdict, cases[i].verdict);
		assert_int_equal(l.judgement.slip, cases[i].slip);
		assert_near(l.judgement.difference_ps, cases[i].move_ps + 1250.0 * cases[i].bits,
			    40);
		assert_int_equal(l.judgement.samples, 5);
		assert_true(l.judgement.mean_ps >= 0 && l.judgement.mean_ps < 12500);
		/* Back where it was: PASS again. */
		relock(&l);
		l.total_ps -= cases[i].move_ps;
		l.bits = 0;
		run(&l, 50);
		assert_int_equal(l.judgement.verdict, PHASE_PASS);
		teardown(&l);
	}
}

static void reference_is_kept(void **state)
{
	struct phase_reference r = {.set = true,
				    .phase_ps = 700,
				    .rtt_frames = 6,
				    .rtt_bytes = 800,
				    .time_ns = 1},
			       accepted;
	struct link l;

	setup(&l, 6 * FRAME_PS + 800 * 12500.0 + 700 + 2500, 15);
	phase_set_reference(l.phase, &r);
	assert_int_equal(phase_accept(l.phase, 7, &accepted), -EAGAIN);
	run(&l, 100);
	assert_int_equal(l.judgements, 1);
	assert_int_equal(l.judgement.verdict, PHASE_SLIP);
	assert_int_equal(l.judgement.slip, 2);
	assert_int_equal(phase_accept(l.phase, 77, &accepted), 0);
	assert_int_equal(accepted.time_ns, 77);
	assert_near(accepted.phase_ps, 3200, 15);
	assert_int_equal(accepted.rtt_bytes, 800);
	assert_true(accepted.set);
	assert_int_equal(view(&l).last.verdict, PHASE_FIRST);
	relock(&l);
	assert_int_equal(phase_accept(l.phase, 7, &accepted), -EAGAIN);
	run(&l, 20);
	assert_int_equal(l.judgement.verdict, PHASE_PASS);
	/* Bits that the board counts are part of the reference. */
	relock(&l);
	l.bits = 3;
	run(&l, 20);
	assert_int_equal(l.judgement.slip, 3);
	assert_int_equal(phase_accept(l.phase, 78, &accepted), 0);
	assert_int_equal(accepted.rtt_bits, 3);
	assert_near(accepted.phase_ps, 3200, 15);
	teardown(&l);
}

/* The board realigned without ever showing us an unlocked sample. */
static void quick_relock(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 15);
	run(&l, 50);
	l.aligns++;
	l.total_ps -= 1250;
	run(&l, 10);
	assert_int_equal(l.judgement.verdict, PHASE_SLIP);
	assert_int_equal(l.judgement.slip, -1);
	assert_int_equal(view(&l).relocks, 2);
	assert_int_equal(view(&l).slips, 1);
	teardown(&l);
}

static void step_inside_a_lock(void **state)
{
	static const struct {
		double step_ps;
		enum phase_verdict verdict;
	} cases[] = {
		{400, PHASE_JUMP},
		{-2000, PHASE_JUMP},
		{1250, PHASE_SLIP},
		{-12500, PHASE_SLIP},
		{5 * 12500.0 + 600, PHASE_JUMP},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct link l;

		setup(&l, 6 * FRAME_PS + 900 * 12500.0 + 5000, 15);
		run(&l, 100);
		l.total_ps += cases[i].step_ps;
		run(&l, 40);
		assert_int_equal(l.judgement.verdict, cases[i].verdict);
		assert_near(l.judgement.difference_ps, cases[i].step_ps, 40);
		assert_int_equal(view(&l).relocks, 1);
		assert_int_equal(l.judgements, 2);
		teardown(&l);
	}
}

static void dark_and_nonsense(void **state)
{
	struct phase_reading bad = {.phase_ps = 12500, .locked = true, .aligns = 1};
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 20);
	l.dark = true;
	run(&l, 100);
	assert_int_equal(l.judgements + l.rows, 0);
	assert_false(view(&l).locked);
	assert_false(view(&l).valid);
	assert_int_equal(view(&l).last_sample_ns, 0);
	l.dark = false;
	run(&l, 100);
	phase_sample(l.phase, &bad, l.now_ns);
	bad.phase_ps = bad.aligns = bad.measurements = UINT32_MAX;
	phase_sample(l.phase, &bad, l.now_ns);
	run(&l, 100);
	assert_int_equal(l.judgements, 1);
	assert_int_equal(view(&l).relocks, 1);
	phase_destroy(NULL);
	teardown(&l);
}

/* A board that is gone and comes back locks anew: that is judged, also when it has counted as far as before. */
static void board_anew(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 20);
	run(&l, 100);
	phase_lose(l.phase);
	assert_false(view(&l).locked);
	l.measurements = 0;
	l.total_ps += 1250;
	l.bits = 1;
	run(&l, 100);
	assert_int_equal(l.judgements, 2);
	assert_int_equal(l.judgement.verdict, PHASE_SLIP);
	assert_int_equal(view(&l).relocks, 2);
	teardown(&l);
}

/* A board that has not measured since its lock, or stands still, shows an old phase: none of it counts. */
static void not_measured(void **state)
{
	struct phase_reading old = {.locked = true, .aligns = 1};
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 20);
	for (unsigned i = 0; i < 4; i++) {
		phase_sample(l.phase, &old, l.now_ns);
		l.now_ns += TENTH;
	}
	assert_true(view(&l).locked);
	assert_int_equal(view(&l).last_sample_ns, 0);
	run(&l, 20);
	assert_int_equal(l.judgement.verdict, PHASE_FIRST);
	assert_float_equal(view(&l).reference.phase_ps, 5000, 60);

	old = view(&l).reading;
	old.phase_ps = 9000;
	for (unsigned i = 0; i < 40; i++) {
		phase_sample(l.phase, &old, l.now_ns);
		l.now_ns += TENTH;
	}
	run(&l, 40);
	assert_int_equal(l.judgements, 1);
	assert_int_equal(view(&l).samples, 60);
	assert_float_equal(view(&l).mean_ps, 5000, 30);
	teardown(&l);
}

static void wait(struct link *l, double seconds, struct phase_reading reading)
{
	for (unsigned i = 0; i < lround(seconds * 10); i++) {
		phase_sample(l->phase, &reading, l->now_ns);
		l->now_ns += TENTH;
	}
}

/* The board stops measuring in a lock: what it measured last is no phase of now. */
static void silent(void **state)
{
	struct phase_reading old;
	struct phase_view v;
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 20);
	run(&l, 50);
	old = view(&l).reading;
	wait(&l, 2.5, old);
	assert_true(view(&l).valid);
	assert_false(view(&l).silent);
	wait(&l, 1, old);
	v = view(&l);
	assert_true(v.locked && v.silent);
	assert_false(v.valid || v.unjudged);
	run(&l, 1);
	assert_true(view(&l).valid);
	/* What it hands out is no phase: that is no measurement either, and no reading. */
	old.phase_ps = PHASE_WRAP_PS;
	old.measurements = l.measurements;
	for (unsigned i = 0; i < 40; i++) {
		old.measurements++;
		wait(&l, 0.1, old);
	}
	assert_true(view(&l).silent);
	assert_true(view(&l).reading.phase_ps < PHASE_WRAP_PS);
	old.locked = false; /* a link that is dark is not silent */
	wait(&l, 0.1, old);
	assert_false(view(&l).locked || view(&l).silent);
	teardown(&l);
}

/* A new lock without measurements: the verdict of the one before is not its own. */
static void silent_relock(void **state)
{
	struct phase_reading none = {.locked = true, .aligns = 2};
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 20);
	run(&l, 50);
	relock(&l);
	run(&l, 50);
	assert_int_equal(view(&l).last.verdict, PHASE_PASS);
	none.aligns = ++l.aligns;
	wait(&l, 1, none);
	assert_int_equal(view(&l).last.verdict, PHASE_NONE);
	assert_false(view(&l).silent);
	wait(&l, 2.5, none);
	assert_true(view(&l).silent);
	assert_false(view(&l).unjudged);
	/* Now and then one: heard of, but never judged. */
	for (unsigned i = 0; i < 4; i++) {
		none.measurements++;
		wait(&l, 2, none);
	}
	assert_false(view(&l).silent);
	assert_true(view(&l).unjudged);
	l.measurements = 4;
	run(&l, 1);
	assert_false(view(&l).unjudged);
	assert_int_equal(l.judgements, 3);
	teardown(&l);
}

static void drift_ends(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 20);
	run(&l, 100);
	l.drift_ps_per_s = 5;
	run(&l, 800);
	assert_int_equal(view(&l).last.verdict, PHASE_DRIFT);
	l.drift_ps_per_s = -5;
	run(&l, 400); /* 200 ps: less than the limit, not yet half of it */
	assert_int_equal(view(&l).last.verdict, PHASE_DRIFT);
	run(&l, 300);
	assert_int_equal(view(&l).last.verdict, PHASE_FIRST); /* as the lock was judged */
	assert_int_equal(view(&l).drifts, 1);
	teardown(&l);
}

/* A lock that comes back whole bits off, from where the phase had drifted to, is a slip; other than whole bits is not. */
static void a_slip_of_what_has_drifted(void **state)
{
	static const struct {
		double off_ps;
		enum phase_verdict verdict;
		int slip;
	} cases[] = {
		{7 * 1250.0, PHASE_SLIP, 7},
		{-1250, PHASE_SLIP, -1},
		{7 * 1250.0 + 400, PHASE_JUMP, 0},
		{0, PHASE_DRIFT, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct link l;

		setup(&l, 6 * FRAME_PS + 900 * 12500.0 + 5000, 15);
		run(&l, 100);
		l.drift_ps_per_s = 8;
		run(&l, 600);
		l.drift_ps_per_s = 0;
		run(&l, 50);
		assert_int_equal(view(&l).last.verdict, PHASE_DRIFT);
		l.aligns++;
		l.total_ps += cases[i].off_ps;
		run(&l, 10);
		assert_int_equal(l.judgement.verdict, cases[i].verdict);
		assert_int_equal(l.judgement.slip, cases[i].slip);
		assert_near(l.judgement.difference_ps, 480 + cases[i].off_ps, 40);
		teardown(&l);
	}
}

/* What was accepted is no drift any more: whole bits from where the phase had been are no slip then. */
static void an_accepted_drift_is_forgotten(void **state)
{
	struct phase_reference accepted;
	double before_ps;
	struct link l;

	setup(&l, 6 * FRAME_PS + 900 * 12500.0 + 5000, 0);
	run(&l, 100);
	l.drift_ps_per_s = 8;
	run(&l, 600);
	l.drift_ps_per_s = 0;
	run(&l, 100);
	before_ps = view(&l).difference_ps;
	assert_near(before_ps, 480, 40);
	assert_int_equal(phase_accept(l.phase, 7, &accepted), 0);
	l.aligns++;
	l.total_ps += 1250 + before_ps;
	run(&l, 6);
	assert_int_equal(l.judgement.verdict, PHASE_JUMP);
	teardown(&l);
}

/* ------------------------------------------------------------------ known numbers */

static void a_second_and_a_lock_are_summed_up_as_they_were(void **state)
{
	struct link l;

	setup(&l, 0, 0);
	for (unsigned i = 0; i < 10; i++) {
		tell(&l, 5000 + 10 * i, TENTH);
	}
	assert_int_equal(l.judgement.verdict, PHASE_FIRST);
	assert_int_equal(l.judgement.samples, 5);
	assert_near(l.judgement.mean_ps, 5020, 0.001);
	assert_near(l.judgement.sigma_ps, 10 * sqrt(2.5), 0.001);
	assert_int_equal(l.rows, 0);
	tell(&l, 5000, TENTH);
	assert_int_equal(l.rows, 1);
	assert_int_equal(l.row.samples, 10);
	assert_near(l.row.mean_ps, 5045, 0.001);
	assert_near(l.row.min_ps, -45, 0.001);
	assert_near(l.row.max_ps, 45, 0.001);
	assert_near(l.row.sigma_ps, 10 * sqrt(82.5 / 9), 0.001);
	assert_int_equal(l.row.rtt_frames, 6);
	/* The next lock leaves no sample of this one without a row, nor in the histogram. */
	l.aligns++;
	tell(&l, 5000, TENTH);
	assert_int_equal(l.rows, 2);
	assert_int_equal(l.row.samples, 1);
	assert_int_equal(phase_histogram(l.phase)[500], 0);
	for (unsigned i = 0; i < 4; i++) {
		tell(&l, 5000, TENTH);
	}
	assert_int_equal(phase_histogram(l.phase)[500], 5);
	teardown(&l);
}

static void a_locks_spread_is_about_its_mean(void **state)
{
	struct link l;

	setup(&l, 0, 0);
	for (unsigned i = 0; i < 5; i++) {
		tell(&l, 5000 + 10 * i * i, TENTH); /* 0 10 40 90 160, of mean 60 */
	}
	assert_near(l.judgement.mean_ps, 5060, 0.001);
	assert_near(l.judgement.sigma_ps, sqrt(17400.0 / 4), 0.001);
	teardown(&l);
}

static void the_window_is_ten_minutes(void **state)
{
	struct link l;

	setup(&l, 0, 0);
	for (unsigned i = 0; i < 700; i++) {
		tell(&l, i < 99 ? 5000 : 5050, 10 * TENTH); /* both ends are inside */
	}
	assert_int_equal(view(&l).samples, 601);
	assert_near(view(&l).peak_to_peak_ps, 0, 0);
	teardown(&l);
}

/* Bytes and phase are read at different moments: any of the first five may be a byte off. */
static void two_torn_readings_of_five_move_no_lock(void **state)
{
	for (unsigned a = 0; a < 5; a++) {
		for (unsigned b = 0; b < a; b++) {
			for (double byte = -PHASE_WRAP_PS; byte <= PHASE_WRAP_PS;
			     byte += 2 * PHASE_WRAP_PS) {
				struct link l;

				setup(&l, 0, 0);
				for (unsigned i = 0; i < 5; i++) {
					tell(&l, 25000 + i + (i == a || i == b ? byte : 0), TENTH);
				}
				assert_int_equal(view(&l).reference.rtt_bytes, 2);
				assert_near(view(&l).reference.phase_ps, 2, 0.001);
				teardown(&l);
			}
		}
	}
}

static void tolerance_is_meant_to_the_picosecond(void **state)
{
	static const struct {
		double move_ps;
		enum phase_verdict verdict;
	} cases[] = {
		{100, PHASE_PASS},   {101, PHASE_JUMP},	  {-100, PHASE_PASS}, {-101, PHASE_JUMP},
		{1149, PHASE_JUMP},  {1150, PHASE_SLIP},  {1350, PHASE_SLIP}, {1351, PHASE_JUMP},
		{-1350, PHASE_SLIP}, {-1351, PHASE_JUMP},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct link l;

		setup(&l, 6 * FRAME_PS + 25000, 0);
		run(&l, 10);
		relock(&l);
		l.total_ps += cases[i].move_ps;
		run(&l, 5);
		assert_int_equal(l.judgement.verdict, cases[i].verdict);
		assert_near(l.judgement.difference_ps, cases[i].move_ps, 0);
		teardown(&l);
	}
}

/* Noise does not accumulate in ten minutes: a step is still detected. */
static void a_step_after_long_noise_is_seen(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 15);
	run(&l, 6000);
	assert_int_equal(l.judgements, 1);
	l.total_ps += 400;
	run(&l, 40);
	assert_int_equal(l.judgement.verdict, PHASE_JUMP);
	teardown(&l);
}

/* The accepted mean is over ten seconds, that of a drift over two; after acceptance there is no
 * drift. */
static void an_accepted_drift_is_cleared(void **state)
{
	struct phase_reference accepted;
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 0);
	run(&l, 300);
	l.drift_ps_per_s = 5;
	run(&l, 800);
	assert_int_equal(l.judgement.verdict, PHASE_DRIFT);
	assert_in_range(l.judgement.samples, 20, 21);
	assert_true(view(&l).farthest_ps > 300);
	assert_int_equal(phase_accept(l.phase, 7, &accepted), 0);
	assert_in_range(view(&l).last.samples, 100, 101);
	assert_near(view(&l).farthest_ps, 0, 0);
	teardown(&l);
}

static void another_reference_ends_a_drift(void **state)
{
	struct phase_reference reference;
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 0);
	run(&l, 300);
	l.drift_ps_per_s = 5;
	run(&l, 800);
	assert_true(view(&l).farthest_ps > 300);
	assert_int_equal(phase_candidate(l.phase, 7, &reference), 0);
	phase_set_reference(l.phase, &reference);
	assert_near(view(&l).farthest_ps, 0, 0);
	teardown(&l);
}

/* A register without a phase is no evidence about the lock; all ones in both mean that the board is
 * gone. */
static void a_lock_without_a_phase_is_a_lock(void **state)
{
	struct phase_reading r = {.phase_ps = UINT32_MAX, .aligns = UINT32_MAX, .locked = true};
	struct link l;

	setup(&l, 0, 0);
	phase_sample(l.phase, &r, l.now_ns);
	assert_false(view(&l).locked);
	r.aligns = 1;
	phase_sample(l.phase, &r, l.now_ns);
	assert_true(view(&l).locked);
	teardown(&l);
}

static void without_samples_there_is_no_stability(void **state)
{
	struct link l;

	setup(&l, 0, 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(isnan(view(&l).tdev_ps[i]));
		assert_true(isnan(view(&l).mtie_ps[i]));
	}
	teardown(&l);
}

static void a_link_gives_its_memory_back(void **state)
{
	size_t memory = 0;
	struct link l;

	for (unsigned i = 0; i < 20; i++) {
		memory = i == 10 ? mallinfo2().uordblks : memory;
		setup(&l, 0, 0);
		teardown(&l);
	}
	assert_int_equal(mallinfo2().uordblks, memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silent),
		cmocka_unit_test(silent_relock),
		cmocka_unit_test(drift_ends),
		cmocka_unit_test(a_slip_of_what_has_drifted),
		cmocka_unit_test(an_accepted_drift_is_forgotten),
		cmocka_unit_test(steady),
		cmocka_unit_test(around_the_wrap),
		cmocka_unit_test(slope),
		cmocka_unit_test(stability),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(reference_is_kept),
		cmocka_unit_test(quick_relock),
		cmocka_unit_test(step_inside_a_lock),
		cmocka_unit_test(dark_and_nonsense),
		cmocka_unit_test(board_anew),
		cmocka_unit_test(not_measured),
		cmocka_unit_test(a_second_and_a_lock_are_summed_up_as_they_were),
		cmocka_unit_test(the_window_is_ten_minutes),
		cmocka_unit_test(a_locks_spread_is_about_its_mean),
		cmocka_unit_test(two_torn_readings_of_five_move_no_lock),
		cmocka_unit_test(tolerance_is_meant_to_the_picosecond),
		cmocka_unit_test(a_step_after_long_noise_is_seen),
		cmocka_unit_test(an_accepted_drift_is_cleared),
		cmocka_unit_test(another_reference_ends_a_drift),
		cmocka_unit_test(a_lock_without_a_phase_is_a_lock),
		cmocka_unit_test(without_samples_there_is_no_stability),
		cmocka_unit_test(a_link_gives_its_memory_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
