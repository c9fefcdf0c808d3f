// SPDX-License-Identifier: GPL-2.0-or-later
/* A link's phase that drifts, and locks that come back whole bits off from where it had drifted to. Virtual time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/daemon/phase/phase_rig.h"

static void drift(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 20);
	run(&l, 600);
	assert_int_equal(l.judgements, 1);
	l.drift_ps_per_s = 0.5; /* not certain */
	run(&l, 5500);
	assert_int_equal(l.judgements, 1);
	run(&l, 800);
	assert_int_equal(l.judgements, 2);
	assert_int_equal(l.judgement.verdict, PHASE_DRIFT);
	assert_near(l.judgement.difference_ps, 300, 20);
	run(&l, 500); /* told once */
	assert_int_equal(l.judgements, 2);
	assert_int_equal(view(&l).drifts, 1);
	l.drift_ps_per_s = -0.5; /* back past the reference, and out at the other side */
	run(&l, 14000);
	assert_int_equal(view(&l).drifts, 2);
	assert_true(l.judgement.difference_ps < 0);
	assert_int_equal(view(&l).jumps + view(&l).slips, 0);
	teardown(&l);

	/* Fast, but still no step. */
	setup(&l, 6 * FRAME_PS + 5000, 20);
	run(&l, 100);
	for (unsigned i = 0; i < 10; i++) { /* the sea does not start at once either */
		l.drift_ps_per_s += 5;
		run(&l, 10);
	}
	run(&l, 100);
	assert_int_equal(l.judgement.verdict, PHASE_DRIFT);
	assert_int_equal(view(&l).jumps + view(&l).slips, 0);
	teardown(&l);
}

/* After long calm a drift is told as it is now, not as the mean of ten minutes is. */
static void drift_as_it_is_now(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 20);
	run(&l, 6000);
	assert_near(view(&l).farthest_ps, 0, 0);
	l.drift_ps_per_s = 6;
	run(&l, 600);
	assert_int_equal(view(&l).last.verdict, PHASE_DRIFT);
	assert_near(view(&l).slope_ps_per_s, 6, 0.3);
	assert_near(view(&l).second_ps, 5000 + 6 * 59.5, 30);
	assert_true(view(&l).mean_ps < 5100);
	run(&l, 600);
	assert_near(view(&l).farthest_ps, 6 * 119, 30);
	l.drift_ps_per_s = -6; /* on its way back it is known how far it was */
	run(&l, 600);
	assert_near(view(&l).difference_ps, 6 * 61, 30);
	assert_near(view(&l).farthest_ps, 6 * 119, 30);
	run(&l, 600);
	assert_near(view(&l).farthest_ps, 0, 0);
	teardown(&l);
}

/* A drift whose slope is certain is told before it is out, once, and only when it would be out soon. */
static void a_drift_is_reported_by_its_slope(void **state)
{
	static const struct {
		double ps_per_s, told_s;
	} cases[] = {{8, 21}, {-9, 19}, {12, 17}, {4, 56}, {3, 84}, {2.6, 100}, {-2, 138}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct link l;

		setup(&l, 6 * FRAME_PS + 5000, 20);
		run(&l, 600);
		l.drift_ps_per_s = cases[i].ps_per_s;
		run(&l, 90); /* still within what a re-lock may be off */
		assert_false(view(&l).drifting);
		run(&l, (unsigned)(10 * cases[i].told_s) - 90);
		assert_true(view(&l).drifting);
		assert_int_equal(l.judgement.verdict, PHASE_DRIFT);
		assert_true(fabs(l.judgement.difference_ps) < 280);
		assert_near(view(&l).moved_ps, cases[i].ps_per_s * (cases[i].told_s - 1.5), 25);
		run(&l, 400);
		assert_near(view(&l).drift_ps_per_s, cases[i].ps_per_s, 1);
		assert_int_equal(view(&l).drifts, 1);
		assert_int_equal(view(&l).jumps + view(&l).slips, 0);
		teardown(&l);
	}
}

/* It has stopped before it was out: nothing to tell any more, wherever that was. */
static void a_drift_that_stops_in_time_is_over(void **state)
{
	static const unsigned stops[] = {200, 230, 260};

	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
		struct link l;

		setup(&l, 6 * FRAME_PS + 5000, 20);
		run(&l, 600);
		l.drift_ps_per_s = 9;
		run(&l, stops[i]);
		assert_true(view(&l).drifting);
		l.drift_ps_per_s = 0;
		run(&l, 100);
		assert_true(view(&l).drifting);
		run(&l, 1300);
		assert_false(view(&l).drifting);
		assert_int_equal(view(&l).last.verdict, PHASE_FIRST);
		teardown(&l);
	}
}

/* A slow wave that stays within the limit, and a phase that wanders beside it. */
static void what_comes_back_by_itself_is_no_drift(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 10);
	run(&l, 100);
	for (unsigned i = 0; i < 9000; i++) {
		l.drift_ps_per_s = 195 * 2 * M_PI / 300 * cos(2 * M_PI * i / 3000);
		run(&l, 1);
	}
	assert_int_equal(view(&l).drifts, 0);
	teardown(&l);
}

/* A lock that came back displaced drifts from there, and keeps its own verdict. */
static void a_displaced_lock_drifts_too(void **state)
{
	static const struct {
		double off_ps, ps_per_s;
		enum phase_verdict verdict;
	} cases[] = {{3 * 1250.0, 9, PHASE_SLIP}, {-400, -9, PHASE_JUMP}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double ps_per_s = cases[i].ps_per_s;
		struct link l;

		setup(&l, 6 * FRAME_PS + 5000, 20);
		run(&l, 100);
		relock(&l);
		l.total_ps += cases[i].off_ps;
		run(&l, 600);
		assert_false(view(&l).drifting);
		l.drift_ps_per_s = ps_per_s;
		run(&l, 220);
		assert_true(view(&l).drifting);
		assert_near(view(&l).moved_ps, ps_per_s * 20.5, 30);
		assert_int_equal(l.judgement.verdict, PHASE_DRIFT);
		assert_near(l.judgement.difference_ps, cases[i].off_ps + ps_per_s * 17, 50);
		assert_int_equal(view(&l).last.verdict, cases[i].verdict);
		teardown(&l);
	}
}

/* A cold floor came back displaced, and warms up again. */
static void what_comes_home_does_not_drift(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 20);
	run(&l, 100);
	relock(&l);
	l.total_ps += 400;
	run(&l, 100);
	assert_int_equal(view(&l).last.verdict, PHASE_JUMP);
	l.drift_ps_per_s = -5;
	run(&l, 800);
	l.drift_ps_per_s = 0;
	run(&l, 600);
	assert_int_equal(view(&l).drifts, 0);
	l.drift_ps_per_s = -5; /* and beyond */
	run(&l, 400);
	assert_int_equal(view(&l).drifts, 1);
	l.drift_ps_per_s = 5;
	run(&l, 400);
	l.drift_ps_per_s = 0;
	run(&l, 1300);
	assert_false(view(&l).drifting);
	teardown(&l);
}

/* The phase drifts on while the link is dark, and after the slip; and slips once more. */
static void a_slip_while_it_drifts(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 20);
	run(&l, 100);
	l.drift_ps_per_s = 12;
	run(&l, 400);
	l.dark = true;
	run(&l, 200); /* 240 ps */
	relock(&l);
	l.total_ps += 2 * 1250;
	run(&l, 20);
	assert_int_equal(view(&l).last.verdict, PHASE_SLIP);
	assert_int_equal(view(&l).last.slip, 2);
	assert_false(view(&l).drifting);
	run(&l, 180);
	assert_true(view(&l).drifting);
	assert_near(view(&l).moved_ps, 12 * 18.5, 40);
	assert_int_equal(view(&l).last.verdict, PHASE_SLIP);
	relock(&l);
	l.total_ps -= 3 * 1250;
	run(&l, 20);
	assert_int_equal(view(&l).last.slip, -1);
	assert_int_equal(view(&l).jumps, 0);
	teardown(&l);
}

/* It stopped in the dark, with the floor's power; or a lock of seconds, too short for a slope, was between. */
static void a_slip_after_it_drifted(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 20);
	run(&l, 100);
	l.drift_ps_per_s = 12;
	run(&l, 300);
	l.drift_ps_per_s = 0;
	l.dark = true;
	run(&l, 1200);
	relock(&l);
	l.total_ps += 1250;
	run(&l, 20);
	assert_int_equal(view(&l).last.slip, 1);
	teardown(&l);

	setup(&l, 6 * FRAME_PS + 5000, 20);
	run(&l, 100);
	l.drift_ps_per_s = 5;
	run(&l, 600);
	relock(&l);
	run(&l, 70);
	assert_int_equal(view(&l).last.verdict, PHASE_DRIFT);
	l.dark = true;
	run(&l, 400);
	relock(&l);
	l.total_ps += 1250;
	run(&l, 20);
	assert_int_equal(view(&l).last.slip, 1);
	teardown(&l);
}

/* Whatever else the lock is off: a reset that takes its whole bits away is no slip. */
static void a_slip_that_is_cured(void **state)
{
	static const struct {
		double dark_ps, step_ps; /* that come with it: in the dark, and after it */
		double cured_ps;
	} cases[] = {{180, 0, 180}, {0, 400, 400}, {150, 30, 180}, {400, 0, 400}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct link l;

		setup(&l, 6 * FRAME_PS + 5000, 5);
		run(&l, 600);
		relock(&l);
		l.total_ps += 1250 + cases[i].dark_ps;
		run(&l, 400);
		l.total_ps += cases[i].step_ps;
		run(&l, 400);
		relock(&l);
		l.total_ps -= 1250;
		for (unsigned again = 0; again < 3; again++) {
			run(&l, 200);
			assert_int_equal(view(&l).last.verdict, PHASE_JUMP);
			assert_near(view(&l).last.difference_ps, cases[i].cured_ps, 10);
			relock(&l);
		}
		teardown(&l);
	}
}

/* No jump: the phase had come there before. What comes elsewhere is one. */
static void a_lock_comes_back_where_it_had_drifted(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 15);
	run(&l, 600);
	l.drift_ps_per_s = 9;
	run(&l, 600);
	l.drift_ps_per_s = 0;
	run(&l, 100);
	assert_int_equal(view(&l).last.verdict, PHASE_DRIFT);
	for (unsigned again = 0; again < 3; again++) {
		relock(&l);
		run(&l, 100);
		assert_int_equal(view(&l).last.verdict, PHASE_DRIFT);
		assert_near(view(&l).last.difference_ps, 540, 20);
		assert_true(view(&l).last.drifted);
		assert_int_equal(view(&l).jumps, 0);
		assert_int_equal(view(&l).drifts, 2 + again);
	}
	l.total_ps += 50; /* a step that is tolerated */
	run(&l, 100);
	assert_true(view(&l).last.step_ps != 0);
	assert_true(view(&l).last.drifted);
	l.total_ps -= 50;
	run(&l, 100);
	relock(&l);
	l.total_ps += 300;
	run(&l, 100);
	assert_int_equal(view(&l).last.verdict, PHASE_JUMP);
	assert_false(view(&l).last.drifted);
	relock(&l); /* and stays one */
	run(&l, 100);
	assert_int_equal(view(&l).last.verdict, PHASE_JUMP);
	assert_false(view(&l).last.drifted);
	relock(&l);
	l.total_ps -= 840;
	run(&l, 100);
	assert_int_equal(view(&l).last.verdict, PHASE_PASS);
	assert_false(view(&l).last.drifted);
	teardown(&l);
}

/* What was there before a slip is there after its cure: a drift as a drift, a jump as a jump. */
static void a_slip_between(void **state)
{
	for (unsigned jumps = 0; jumps < 2; jumps++) {
		enum phase_verdict expected = jumps ? PHASE_JUMP : PHASE_DRIFT;
		struct link l;

		setup(&l, 6 * FRAME_PS + 5000, 15);
		run(&l, 600);
		if (jumps) {
			relock(&l);
			l.total_ps += 500;
		} else {
			l.drift_ps_per_s = 9;
			run(&l, 556);
			l.drift_ps_per_s = 0;
		}
		run(&l, 100);
		assert_int_equal(view(&l).last.verdict, expected);
		relock(&l);
		l.total_ps += 1250;
		run(&l, 100);
		assert_int_equal(view(&l).last.verdict, PHASE_SLIP);
		assert_false(view(&l).last.drifted);
		for (unsigned again = 0; again < 2; again++) {
			relock(&l);
			l.total_ps -= again ? 0 : 1250;
			run(&l, 100);
			assert_int_equal(view(&l).last.verdict, expected);
		}
		relock(&l);
		l.total_ps -= 500; /* home */
		run(&l, 100);
		assert_int_equal(view(&l).last.verdict, PHASE_PASS);
		l.drift_ps_per_s = -9;
		run(&l, 556);
		l.drift_ps_per_s = 0;
		relock(&l);
		run(&l, 100);
		assert_int_equal(view(&l).last.verdict,
				 PHASE_DRIFT); /* what was at home once has not jumped */
		teardown(&l);
	}
}

/* The next daemon, that knows what the last one did. */
static void start_again(struct link *l, enum phase_verdict verdict, double difference_ps)
{
	struct phase_past past = {.set = true,
				  .row = l->row,
				  .of_lock = {.verdict = verdict, .difference_ps = difference_ps}};
	struct phase_reference reference = view(l).reference;

	phase_destroy(l->phase);
	l->phase = phase_create(
		&(struct phase_config){.tolerance_ps = 100, .drift_ps = 300, .relock_samples = 5});
	assert_non_null(l->phase);
	phase_set_reference(l->phase, &reference);
	phase_resume(l->phase, &past);
}

/* A lock that the next daemon finds where the phase had drifted to has not jumped; one that had jumped before, has. */
static void drifted_before_the_daemon_started(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 12400, 15); /* the drift passes the border of a byte */
	run(&l, 600);
	l.drift_ps_per_s = 9;
	run(&l, 600);
	l.drift_ps_per_s = 0;
	run(&l, 100);
	start_again(&l, PHASE_PASS, 0);
	run(&l, 100);
	assert_int_equal(view(&l).last.verdict, PHASE_DRIFT);
	assert_true(view(&l).last.drifted);
	assert_near(view(&l).last.difference_ps, 540, 20);
	start_again(&l, PHASE_PASS, 530); /* of a small step there */
	run(&l, 100);
	assert_int_equal(view(&l).last.verdict, PHASE_DRIFT);
	start_again(&l, PHASE_JUMP, 500);
	run(&l, 100);
	assert_int_equal(view(&l).last.verdict, PHASE_JUMP);
	start_again(&l, PHASE_PASS, 0);
	l.total_ps += 1250; /* while there was no daemon */
	run(&l, 100);
	assert_int_equal(view(&l).last.verdict, PHASE_SLIP);
	assert_int_equal(view(&l).last.slip, 1);
	start_again(&l, PHASE_PASS, 0);
	l.total_ps += 400;
	run(&l, 100);
	assert_int_equal(view(&l).last.verdict, PHASE_JUMP);
	teardown(&l);
}

/* A step that stays displaces each lock, also one of seconds; whole bits from there are a slip. */
static void a_slip_of_what_has_jumped(void **state)
{
	static const unsigned lengths[] = {6, 30, 70, 300};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct link l;

		setup(&l, 6 * FRAME_PS + 5000, 15);
		run(&l, 600);
		l.total_ps += 400;
		run(&l, 100);
		assert_int_equal(view(&l).last.verdict, PHASE_JUMP);
		relock(&l);
		run(&l, lengths[i]);
		assert_int_equal(view(&l).last.verdict, PHASE_JUMP);
		relock(&l);
		l.total_ps -= 4 * 1250;
		run(&l, 300);
		assert_int_equal(view(&l).last.verdict, PHASE_SLIP);
		assert_int_equal(view(&l).last.slip, -4);
		assert_int_equal(view(&l).drifts, 0);
		teardown(&l);
	}
}

/* Off by more than half a bit is not off by a bit: what it does then is counted from there. */
static void a_jump_of_more_than_half_a_bit(void **state)
{
	static const int slips[] = {1, 2, -4};

	for (size_t i = 0; i < sizeof(slips) / sizeof(slips[0]); i++) {
		struct link l;

		setup(&l, 6 * FRAME_PS + 900 * 12500.0 + 5000, 10);
		run(&l, 300);
		relock(&l);
		l.total_ps += 700;
		run(&l, 300);
		assert_int_equal(view(&l).last.verdict, PHASE_JUMP);
		relock(&l);
		run(&l, 300);
		assert_int_equal(view(&l).last.verdict, PHASE_JUMP);
		assert_int_equal(view(&l).last.slip, 0);
		relock(&l);
		l.total_ps += slips[i] * 1250;
		run(&l, 20);
		assert_int_equal(view(&l).last.verdict, PHASE_SLIP);
		assert_in_range(abs(view(&l).last.slip - slips[i]), 0, 1);
		relock(&l);
		l.total_ps -= slips[i] * 1250;
		run(&l, 300);
		assert_int_equal(view(&l).last.verdict, PHASE_JUMP);
		l.drift_ps_per_s = -1; /* home */
		run(&l, 6500);
		assert_int_equal(view(&l).drifts, 0);
		l.drift_ps_per_s = 5; /* and away, from where it came back */
		run(&l, 2200);
		assert_int_equal(view(&l).drifts, 1);
		teardown(&l);
	}
}

/* Each lock comes back right, or bits off, or has moved otherwise in the dark: none of these ends as a slip that is none. */
static void bits_in_doubt(void **state)
{
	enum phase_verdict J = PHASE_JUMP, S = PHASE_SLIP;
	const struct {
		int at_ps[7]; /* 0: no more */
		enum phase_verdict verdict[7];
		int slip[7];
	} cases[] = {
		{{1250, 180, -1070, 180, 180}, {S, J, S, J, J}, {1, 0, -1}},
		{{1650, 2900, 1650, 400, 400}, {J, S, J, J, J}, {0, 1}},
		{{1430, 2860, 360, 360}, {J, J, J, J}, {0}},
		{{1430, 2860, 1610, 360, 360}, {J, J, J, J, J}, {0}},
		{{400, 900, 1400, 150, 150}, {J, J, J, J, J}, {0}},
		{{2000, 750, 2000, -500}, {J, J, J, J}, {0}},
		{{615, 1865, 615}, {J, S, J}, {0, 1}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct link l;

		setup(&l, 6 * FRAME_PS + 900 * 12500.0 + 5000, 0);
		run(&l, 100);
		for (unsigned n = 0; n < 7 && cases[i].at_ps[n]; n++) {
			relock(&l);
			l.total_ps = 6 * FRAME_PS + 900 * 12500.0 + 5000 + cases[i].at_ps[n];
			run(&l, 100);
			assert_int_equal(l.judgement.verdict, cases[i].verdict[n]);
			assert_int_equal(l.judgement.slip, cases[i].slip[n]);
		}
		teardown(&l);
	}
}

/* Four locks, each a bit further or back or not, and 180 ps or none beside it: what is no bit off is never a slip. */
static void no_bit_off_is_no_slip(void **state)
{
	const double start = 6 * FRAME_PS + 900 * 12500.0 + 5000;

	for (unsigned sequence = 0; sequence < 9 * 9 * 9 * 9; sequence++) {
		int bits = 0, rest_ps = 0;
		struct link l;

		setup(&l, start, 0);
		run(&l, 5);
		for (unsigned n = 0, rest = sequence; n < 4; n++, rest /= 9) {
			bits += (int)(rest % 3) - 1;
			rest_ps += ((int)(rest / 3 % 3) - 1) * 180;
			relock(&l);
			l.total_ps = start + bits * 1250 + rest_ps;
			run(&l, 5);
			assert_false(bits == 0 && l.judgement.verdict == PHASE_SLIP);
			assert_int_equal(l.judgement.verdict == PHASE_SLIP, l.judgement.slip != 0);
		}
		teardown(&l);
	}
}

/* Slowly, without a slope that is certain, or to a place near home: it comes home all the same. */
static void what_comes_home_slowly(void **state)
{
	static const struct {
		double off_ps, ps_per_s;
		unsigned samples;
	} cases[] = {{700, -1, 7000}, {450, -4, 1400}, {800, -4, 1000}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct link l;

		setup(&l, 6 * FRAME_PS + 5000, 20);
		run(&l, 100);
		relock(&l);
		l.total_ps += cases[i].off_ps;
		run(&l, 100);
		l.drift_ps_per_s = cases[i].ps_per_s;
		run(&l, cases[i].samples);
		l.drift_ps_per_s = 0;
		run(&l, 600);
		assert_int_equal(view(&l).drifts, 0);
		teardown(&l);
	}
}

/* A step within the tolerance changes no verdict, wherever the lock has drifted to. */
static void a_small_step_of_what_has_drifted(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 5);
	run(&l, 100);
	l.drift_ps_per_s = 10;
	run(&l, 1220);
	l.drift_ps_per_s = 0;
	run(&l, 300);
	l.total_ps += 40;
	run(&l, 200);
	assert_int_equal(view(&l).slips + view(&l).jumps, 0);
	assert_int_equal(view(&l).passes, 1);
	teardown(&l);
}

/* A lock that is off as before is told as before, however the rest has drifted since. */
static void off_as_before(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 900 * 12500.0 + 5000, 10);
	run(&l, 300);
	relock(&l);
	l.total_ps -= 1250;
	run(&l, 300);
	assert_int_equal(view(&l).last.slip, -1);
	l.drift_ps_per_s = 5;
	run(&l, 2900); /* 1450 ps */
	for (unsigned again = 0; again < 3; again++) {
		relock(&l);
		run(&l, 200);
		assert_int_equal(view(&l).last.verdict, PHASE_SLIP);
		assert_int_equal(view(&l).last.slip, -1);
		l.drift_ps_per_s = 0;
	}
	relock(&l);
	l.total_ps += 1250; /* cured */
	run(&l, 200);
	assert_int_equal(view(&l).last.verdict, PHASE_DRIFT);
	relock(&l);
	run(&l, 200);
	assert_int_equal(view(&l).last.verdict, PHASE_DRIFT);
	teardown(&l);
}

/* The drift would have led a bit away in the dark, and has not. */
static void no_slip_where_it_was(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 900 * 12500.0 + 5000, 10);
	run(&l, 300);
	l.drift_ps_per_s = 21;
	run(&l, 300);
	l.drift_ps_per_s = 0;
	l.dark = true;
	run(&l, 900);
	relock(&l);
	run(&l, 200);
	assert_int_equal(view(&l).last.verdict, PHASE_DRIFT);
	assert_int_equal(view(&l).slips, 0);
	teardown(&l);
}

/* What is out stays told, also while it rests; what is out when the reference comes is told without moving. */
static void out_at_rest(void **state)
{
	struct phase_reference late;
	struct link l, other;

	setup(&l, 6 * FRAME_PS + 5000, 0);
	setup(&other, 6 * FRAME_PS + 5000 - 1430, 0);
	run(&l, 100);
	run(&other, 100);
	assert_int_equal(phase_candidate(other.phase, 1, &late), 0);
	phase_set_reference(l.phase, &late);
	run(&l, 100);
	assert_true(view(&l).drifting);
	assert_near(view(&l).moved_ps, 1430, 2);
	relock(&l);
	l.total_ps -= 1250; /* a bit of it was a slip */
	for (unsigned again = 0; again < 3; again++) {
		run(&l, 100);
		assert_int_equal(view(&l).last.verdict, PHASE_DRIFT);
		assert_near(view(&l).last.difference_ps, 180, 2);
		relock(&l);
	}
	teardown(&other);
	teardown(&l);
}

/* The database opens late: its reference is where the link has slipped to. */
static void a_reference_that_comes_late(void **state)
{
	struct phase_reference late;
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 5);
	run(&l, 100);
	relock(&l);
	l.total_ps += 1250;
	run(&l, 200);
	assert_int_equal(view(&l).last.slip, 1);
	assert_int_equal(phase_candidate(l.phase, 1, &late), 0);
	phase_set_reference(l.phase, &late);
	assert_int_equal(view(&l).last.verdict, PHASE_PASS);
	run(&l, 600);
	assert_near(view(&l).difference_ps, 0, 5);
	assert_int_equal(view(&l).drifts, 0);
	relock(&l);
	run(&l, 20);
	assert_int_equal(view(&l).last.verdict, PHASE_PASS);
	teardown(&l);
}

static void said_of(const struct phase_view *v, const char *wanted)
{
	char text[200];

	assert_string_equal(phase_say_drift(v, 300, text, sizeof(text)), wanted);
}

static void said(const struct link *l, const char *wanted)
{
	struct phase_view v = view(l);

	said_of(&v, wanted);
}

static void a_drift_in_words(void **state)
{
	struct link l;

	setup(&l, 6 * FRAME_PS + 5000, 0);
	run(&l, 600);
	l.drift_ps_per_s = 10;
	run(&l, 212);
	said(&l, "the phase drifts: 199 ps from the reference, +10.0 ps/s: in 10 s it is out of "
		 "the 300 that are "
		 "tolerated");
	run(&l, 200);
	said(&l, "the phase drifts: 399 ps from the reference (300 are tolerated), now +10.0 ps/s");
	l.dark = true;
	run(&l, 10);
	said(&l, "the phase drifts: 399 ps from the reference (300 are tolerated)");
	teardown(&l);
	said_of(&(struct phase_view){.last.verdict = PHASE_DRIFT,
				     .valid = true,
				     .moved_ps = 190,
				     .farthest_ps = 645,
				     .drift_ps_per_s = NAN,
				     .slope_ps_per_s = -0.01},
		"the phase drifts: 190 ps from the reference, it was 645 (300 are tolerated), and "
		"does "
		"not move now");

	setup(&l, 6 * FRAME_PS + 5000, 0);
	run(&l, 600);
	l.total_ps -= 400;
	run(&l, 300);
	l.drift_ps_per_s = -10;
	run(&l, 500);
	said(&l, "the phase drifts: -479 ps from where it stepped to (300 are tolerated), now "
		 "-10.0 ps/s");
	said_of(&(struct phase_view){.moved_ps = -400,
				     .farthest_ps = 400,
				     .valid = true,
				     .drift_ps_per_s = NAN,
				     .slope_ps_per_s = NAN},
		"the phase drifts: -400 ps from where the last lock came back (300 are tolerated), "
		"and does not move now");
	teardown(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drift),
		cmocka_unit_test(drift_as_it_is_now),
		cmocka_unit_test(a_drift_is_reported_by_its_slope),
		cmocka_unit_test(a_drift_that_stops_in_time_is_over),
		cmocka_unit_test(what_comes_back_by_itself_is_no_drift),
		cmocka_unit_test(a_displaced_lock_drifts_too),
		cmocka_unit_test(what_comes_home_does_not_drift),
		cmocka_unit_test(a_slip_while_it_drifts),
		cmocka_unit_test(a_slip_after_it_drifted),
		cmocka_unit_test(a_slip_that_is_cured),
		cmocka_unit_test(a_lock_comes_back_where_it_had_drifted),
		cmocka_unit_test(a_slip_between),
		cmocka_unit_test(drifted_before_the_daemon_started),
		cmocka_unit_test(a_slip_of_what_has_jumped),
		cmocka_unit_test(a_jump_of_more_than_half_a_bit),
		cmocka_unit_test(bits_in_doubt),
		cmocka_unit_test(no_bit_off_is_no_slip),
		cmocka_unit_test(what_comes_home_slowly),
		cmocka_unit_test(a_small_step_of_what_has_drifted),
		cmocka_unit_test(off_as_before),
		cmocka_unit_test(no_slip_where_it_was),
		cmocka_unit_test(out_at_rest),
		cmocka_unit_test(a_reference_that_comes_late),
		cmocka_unit_test(a_drift_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
