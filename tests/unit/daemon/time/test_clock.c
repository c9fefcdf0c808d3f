// SPDX-License-Identifier: GPL-2.0-or-later
/* The clock with gpsd and the board: lock, holdover, faults, moved counts, restarts. In virtual time. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/daemon/time/clock_rig.h"

#include <stdlib.h>
#include <string.h>

static void cold_start(void **state)
{
	struct world w;

	setup(&w);
	w.gpsd = false;
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	run(&w, 20);
	assert_words(&w, "just answered", "wait");
	run(&w, 20);
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	assert_words(&w, "receiver is silent", "gpsmon");
	w.gpsd = true;
	run_until(&w, CLOCK_ACQUIRING, 12);
	assert_int_equal(view(&w).label.anchor_tai_ns, INT64_MIN);
	assert_int_equal(view(&w).label.uncertainty_ns, UINT32_MAX);
	/* One label and three that agree with it. */
	run(&w, 29);
	assert_int_equal(view(&w).label.state, CLOCK_ACQUIRING);
	run(&w, 1);
	assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	assert_int_equal(view(&w).label.source, LABEL_GPSD);
	assert_int_equal(view(&w).label.time_epoch, 1);
	assert_int_equal(view(&w).label.uncertainty_ns, 50);
	run(&w, 600);
	assert_int_equal(view(&w).label.time_epoch, 1);
	assert_int_equal(view(&w).relabels, 0);
	assert_int_equal(view(&w).rejects, 0);
	assert_int_equal(view(&w).gps_minus_board_ns, 0);
	assert_true(w.checked > 600);
	assert_true(w.takes < 8); /* steady: no news */
	assert_string_equal(view(&w).action, "");
	teardown(&w);
}

static void silent_receiver_and_return(void **state)
{
	struct world w;
	uint32_t before;

	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	w.receiver = false;
	run_until(&w, CLOCK_HOLDOVER, 45);
	assert_words(&w, "receiver is silent", "serial cable");
	assert_int_equal(view(&w).label.source, LABEL_GPSD);
	run(&w, 10000); /* 1000 s at 0.29 ppb: 290 ns */
	before = view(&w).label.uncertainty_ns;
	assert_in_range(before, 50 + 285, 50 + 295);
	assert_false(view(&w).gps_fix);
	w.receiver = true;
	run_until(&w, CLOCK_LOCKED, 45);
	assert_int_equal(view(&w).label.time_epoch, 1);
	assert_int_equal(view(&w).label.uncertainty_ns, 50);
	teardown(&w);
}

static void gpsd_gone(void **state)
{
	struct world w;

	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	w.gpsd = false;
	clock_gpsd(w.clock, false, w.mono_ns);
	run_until(&w, CLOCK_HOLDOVER, 45);
	assert_words(&w, "gpsd does not answer", "start gpsd");
	teardown(&w);
}

static void void_fix(void **state)
{
	struct world w;

	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	w.fix = false;
	run_until(&w, CLOCK_HOLDOVER, 45);
	run(&w, 10);
	assert_words(&w, "no fix", "antenna");
	w.fix = true;
	run_until(&w, CLOCK_LOCKED, 45);
	assert_int_equal(view(&w).label.time_epoch, 1);
	teardown(&w);
}

static void pps_lost(void **state)
{
	struct world w;

	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	w.pps = false;
	run_until(&w, CLOCK_HOLDOVER, 45);
	assert_words(&w, "no PPS", "PPS cable");
	assert_int_equal(view(&w).label.source, LABEL_GPSD);
	/* It comes back where the count expects it: n x 8000 later. */
	run(&w, 200);
	w.pps = true;
	run_until(&w, CLOCK_LOCKED, 60);
	assert_int_equal(view(&w).label.time_epoch, 1);
	assert_int_equal(view(&w).relabels, 0);
	teardown(&w);
}

static void never_a_pps(void **state)
{
	struct world w;

	setup(&w);
	w.pps = false;
	w.config.system_clock = false;
	run(&w, 100);
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	assert_words(&w, "no PPS", "PPS cable");
	teardown(&w);
}

static void holdover_too_long(void **state)
{
	struct world w;

	setup(&w);
	clock_destroy(w.clock);
	w.config.holdover_ppb = 1000; /* 1 us a second */
	w.clock = clock_create(&w.config);
	run_until(&w, CLOCK_LOCKED, 60);
	w.receiver = false;
	run_until(&w, CLOCK_HOLDOVER, 45);
	run_until(&w, CLOCK_NO_TIME, 700);
	assert_int_equal(view(&w).label.anchor_tai_ns, INT64_MIN);
	assert_int_equal(view(&w).label.uncertainty_ns, UINT32_MAX);
	assert_int_equal(view(&w).voids, 1);
	assert_words(&w, "too uncertain", "serial cable");
	w.receiver = true;
	run_until(&w, CLOCK_LOCKED, 60);
	assert_int_equal(view(&w).label.time_epoch, 2);
	teardown(&w);
}

static void weeks_1024(void **state)
{
	struct world w;

	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	w.gps_error_s = -1024ll * 7 * 86400;
	run_until(&w, CLOCK_FAULT, 12);
	assert_words(&w, "1024 weeks", "receiver");
	assert_int_equal(view(&w).label.time_epoch, 1);
	assert_int_equal(tai_by_label(&w), w.tai_ns);
	run(&w, 300);
	assert_int_equal(view(&w).label.state, CLOCK_FAULT);
	assert_true(view(&w).rejects >= 30);
	w.gps_error_s = 0;
	run_until(&w, CLOCK_LOCKED, 60);
	assert_int_equal(view(&w).label.time_epoch, 1);
	teardown(&w);

	/* At a cold start, with nothing else to go by. */
	setup(&w);
	w.gps_error_s = -1024ll * 7 * 86400;
	run(&w, 100);
	assert_int_equal(view(&w).label.state, CLOCK_FAULT);
	assert_int_equal(view(&w).label.anchor_tai_ns, INT64_MIN);
	teardown(&w);

	/* Into the future: only the system clock knows. */
	setup(&w);
	w.gps_error_s = 1024ll * 7 * 86400;
	w.system_synced = true;
	run(&w, 30);
	assert_int_equal(view(&w).label.state, CLOCK_FAULT);
	assert_words(&w, "ahead of the synchronised system clock", "far_s");
	w.gps_error_s = 0;
	run_until(&w, CLOCK_LOCKED, 60);
	teardown(&w);
}

/* gpsd changes its mind: after `confirm` consistent labels it is believed, with a new time epoch. */
static void correction(void **state)
{
	struct world w;

	setup(&w);
	w.gps_error_s = 5;
	w.expect_wrong = true;
	run_until(&w, CLOCK_LOCKED, 60);
	w.gps_error_s = 0;
	run_until(&w, CLOCK_FAULT, 30);
	assert_words(&w, "another second", "relabelled");
	assert_words(&w, "it is 5 s behind the time in use", "30 by default");
	assert_words(&w, "the system clock is not synchronised and proves nothing", "receiver");
	assert_int_equal(view(&w).relabelled.when_ns, 0);
	/* The label was gpsd's own: it takes 30 labels to overrule it. */
	run(&w, 250);
	assert_int_equal(view(&w).label.state, CLOCK_FAULT);
	assert_int_equal(view(&w).label.time_epoch, 1);
	run_until(&w, CLOCK_LOCKED, 60);
	w.expect_wrong = false;
	assert_int_equal(view(&w).label.time_epoch, 2);
	assert_int_equal(view(&w).relabelled.by_ns, -5 * S);
	assert_int_equal(view(&w).relabelled.epoch, 2);
	assert_true(w.mono_ns - view(&w).relabelled.when_ns < (uint64_t)S);
	assert_true(llabs(view(&w).relabelled.utc_ns + 37 * S - w.tai_ns) <= 2 * S);
	run(&w, 50);
	/* A single wrong report is counted, and is no fault. */
	w.gps_error_s = 7;
	run(&w, 10);
	w.gps_error_s = 0;
	for (unsigned i = 0; i < 60; i++) {
		run(&w, 1);
		assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	}
	assert_int_equal(view(&w).label.time_epoch, 2);
	teardown(&w);
}

/* A jump that gpsd keeps to: status has to say so, and where the system clock stands; without it, nothing. */
static void jump_told(void **state)
{
	struct world w;
	struct clock_view v;
	char words[200];

	setup(&w);
	w.system_synced = true;
	run_until(&w, CLOCK_LOCKED, 60);
	run(&w, 50);
	assert_false(view(&w).system_disagrees);
	w.gps_error_s = 2;
	w.expect_wrong = true;
	run_until(&w, CLOCK_FAULT, 30);
	assert_words(&w, "it is 2 s ahead of the time in use", "third clock");
	assert_words(&w, "the synchronised system clock sides with the time in use", "");
	assert_words(&w, "", "not relabelled while the system clock sides with it");
	assert_false(view(&w).system_disagrees);
	/* However long: the synchronised system clock outvotes gpsd, and is so far from nobody's side. */
	run(&w, 600);
	assert_int_equal(view(&w).label.state, CLOCK_FAULT);
	assert_int_equal(view(&w).label.time_epoch, 1);
	/* One reading that was delayed changes nothing, one that is not synchronised for long does. */
	w.system_error_ns = 700000000;
	run(&w, 2);
	w.system_error_ns = 0;
	run(&w, 10);
	assert_int_equal(view(&w).label.time_epoch, 1);
	w.system_synced = false;
	run_until(&w, CLOCK_LOCKED, 60);
	w.system_synced = true;
	run(&w, 2);
	assert_false(view(&w).system_disagrees);
	run(&w, 40);
	assert_true(view(&w).system_disagrees);
	v = view(&w);
	clock_system_words(&v, words, sizeof(words));
	assert_non_null(strstr(words, "2.000 s behind the time in use, labelled by gpsd"));
	assert_non_null(strstr(words, "neither is proven right"));
	clock_relabelled_words(&v.relabelled, words, sizeof(words));
	assert_non_null(strstr(words, "time relabelled by +2.000 s at 2026-11-20 "));
	assert_non_null(strstr(words, "time epoch 1 -> 2"));
	w.gps_error_s = 0;
	run_until(&w, CLOCK_FAULT, 30);
	assert_words(&w,
		     "2 s behind the time in use; the synchronised system clock sides with gpsd",
		     "");
	/* A system clock that is not synchronised proves nothing. */
	w.system_synced = false;
	run(&w, 2);
	assert_false(view(&w).system_disagrees);
	v = view(&w);
	clock_system_words(&v, words, sizeof(words));
	assert_non_null(strstr(words, "not synchronised and proves nothing, 2.000000 s behind"));
	teardown(&w);

	/* It sides with what it tolerates, in words and deeds; with both, it decides nothing. */
	for (unsigned n = 0; n < 2; n++) {
		setup(&w);
		clock_destroy(w.clock);
		w.config.system_tolerance_ms = 2000;
		w.clock = clock_create(&w.config);
		w.system_synced = true;
		w.system_error_ns = 1200000000;
		run_until(&w, CLOCK_LOCKED, 60);
		run(&w, 10);
		w.gps_error_s = n ? 2 : 7;
		run_until(&w, CLOCK_FAULT, 30);
		assert_words(&w, n ? "within its tolerance of both" : "sides with the time in use",
			     n ? "if gpsd keeps to it" : "not relabelled while");
		teardown(&w);
	}

	/* Half a second off is tolerated, a hair more for long is not; 0 switches it off. */
	for (unsigned n = 0; n < 3; n++) {
		setup(&w);
		clock_destroy(w.clock);
		w.config.system_tolerance_ms = n == 2 ? 0 : 500;
		w.clock = clock_create(&w.config);
		w.system_synced = true;
		run_until(&w, CLOCK_LOCKED, 60);
		w.system_error_ns = n == 0 ? -499000000 : -501000000;
		run(&w, 100);
		assert_int_equal(view(&w).system_disagrees, n == 1);
		assert_int_equal(view(&w).relabelled.when_ns, 0);
		teardown(&w);
	}
}

/* No advice for receiver or cable while it is the board that is not there. */
static void board_gone(void **state)
{
	struct world w;

	setup(&w);
	run_until(&w, CLOCK_LOCKED, 300);
	clock_board_gone(w.clock, true);
	w.pps = false;
	run_until(&w, CLOCK_HOLDOVER, 300);
	assert_words(&w, "the board is gone", "board-gone");
	assert_null(strstr(view(&w).action, "PPS cable"));
	clock_board_gone(w.clock, false);
	run(&w, 1);
	assert_words(&w, "no PPS", "PPS cable");
	teardown(&w);
}

/* Behind clock_words() it says why, and not again that there is none. */
static void no_time_says_why(void **state)
{
	struct world w;

	setup(&w);
	w.gpsd = w.pps = w.floors = w.system_synced = false;
	run(&w, 20);
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	assert_null(strstr(view(&w).reason, "no source"));
	teardown(&w);
}

static void words_of_states(void **state)
{
	static const struct {
		enum clock_state state;
		enum label_source source;
		const char *words;
	} cases[] = {
		{CLOCK_NO_TIME, LABEL_NONE, "no time, no source"},
		{CLOCK_ACQUIRING, LABEL_NONE, "acquiring, no source yet"},
		{CLOCK_ACQUIRING, LABEL_GPSD, "acquiring, last by gpsd"},
		{CLOCK_LOCKED, LABEL_GPSD, "locked by gpsd"},
		{CLOCK_LOCKED, LABEL_FLOORS, "locked by floors"},
		{CLOCK_HOLDOVER, LABEL_SYSTEM, "holdover, last by system"},
		{CLOCK_FAULT, LABEL_GPSD, "fault, last by gpsd"},
		{CLOCK_FAULT, LABEL_NONE, "fault, no source yet"},
	};

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct label label = {.state = (uint8_t)cases[n].state,
				      .source = (uint8_t)cases[n].source};
		char words[64];

		clock_words(&label, words, sizeof(words));
		assert_string_equal(words, cases[n].words);
	}
}

/* A host under load: gpsd's reports pass the next PPS. They must not move the label by a second. */
static void late_reports(void **state)
{
	struct world w;

	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	w.tpv_delay_ns = 1200000000;
	run_until(&w, CLOCK_HOLDOVER, 45);
	run(&w, 100);
	assert_words(&w, "more than a second after", "load");
	assert_true(view(&w).lates > 5);
	assert_int_equal(view(&w).label.time_epoch, 1);
	assert_int_equal(tai_by_label(&w), w.tai_ns);
	w.tpv_delay_ns = 300000000;
	run_until(&w, CLOCK_LOCKED, 45);
	assert_int_equal(view(&w).label.time_epoch, 1);
	teardown(&w);

	/* But a label that was a second too high is put right in the end. */
	setup(&w);
	w.gps_error_s = 1;
	w.expect_wrong = true;
	run_until(&w, CLOCK_LOCKED, 60);
	w.gps_error_s = 0;
	run(&w, 320);
	w.expect_wrong = false;
	run(&w, 30);
	assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	assert_int_equal(view(&w).label.time_epoch, 2);
	teardown(&w);

	/* The first reports late, or a receiver with an old count of leap seconds, and a system clock that
	 * is synchronised: gpsd's is not the first label. */
	for (unsigned n = 0; n < 4; n++) {
		setup(&w);
		w.system_synced = true;
		clock_destroy(w.clock);
		w.config.system_clock = n % 2;
		w.clock = clock_create(&w.config);
		w.tpv_delay_ns = n < 2 ? 1200000000 : 300000000;
		w.gps_error_s = n < 2 ? 0 : 3;
		w.leapseconds = n < 2 ? 18 : 15;
		run(&w, 100);
		assert_int_equal(view(&w).label.state, CLOCK_ACQUIRING);
		assert_words(&w, n < 2 ? "gpsd is 1 s behind" : "gpsd is 3 s ahead of",
			     "system_tolerance_ms");
		/* The system clock labels, if it may; gpsd then stays in doubt. */
		run(&w, 300);
		assert_int_equal(view(&w).label.state, n % 2 ? CLOCK_FAULT : CLOCK_ACQUIRING);
		if (n % 2) {
			assert_int_equal(view(&w).label.source, LABEL_SYSTEM);
			assert_int_equal(tai_by_label(&w), w.tai_ns);
		}
		w.tpv_delay_ns = 300000000;
		w.gps_error_s = 0;
		w.leapseconds = 18;
		run_until(&w, CLOCK_LOCKED, 60);
		run(&w, 50);
		assert_int_equal(view(&w).label.source, LABEL_GPSD);
		assert_int_equal(view(&w).label.time_epoch, 1);
		teardown(&w);
	}

	/* A label that was kept in doubt becomes too uncertain: what is in doubt then is gpsd's, as a first
	 * one. */
	setup(&w);
	w.system_synced = true;
	clock_destroy(w.clock);
	w.config.system_clock = false;
	w.config.holdover_ppb = 10000;
	w.clock = clock_create(&w.config);
	run_until(&w, CLOCK_LOCKED, 60);
	w.gps_error_s = 2;
	run_until(&w, CLOCK_FAULT, 30);
	assert_int_equal(view(&w).voids, 0);
	while (view(&w).voids == 0) {
		run(&w, 1);
	}
	assert_int_equal(view(&w).label.state, CLOCK_ACQUIRING);
	run(&w, 20);
	assert_int_equal(view(&w).label.state, CLOCK_ACQUIRING);
	assert_words(&w, "gpsd is 2 s ahead of the synchronised", "system_tolerance_ms");
	w.gps_error_s = 0;
	run_until(&w, CLOCK_LOCKED, 60);
	teardown(&w);

	/* A label that runs: a second late for long does not move it against the system clock. */
	setup(&w);
	w.system_synced = true;
	run_until(&w, CLOCK_LOCKED, 60);
	w.tpv_delay_ns = 1200000000;
	run(&w, 600);
	assert_int_equal(view(&w).label.time_epoch, 1);
	assert_int_equal(tai_by_label(&w), w.tai_ns);
	teardown(&w);

	/* A receiver that restarts cold with an old count of leap seconds: they betray it. */
	setup(&w);
	w.leapseconds = 18;
	run_until(&w, CLOCK_LOCKED, 60);
	w.leapseconds = 17;
	w.gps_error_s = 1;
	run(&w, 600);
	assert_int_equal(view(&w).label.state, CLOCK_FAULT);
	assert_words(&w, "1 s ahead of", "almanac");
	assert_int_equal(view(&w).label.time_epoch, 1);
	w.leapseconds = 18;
	w.gps_error_s = 0;
	run_until(&w, CLOCK_LOCKED, 60);
	assert_int_equal(view(&w).label.time_epoch, 1);
	teardown(&w);

	/* The first reports late, and nobody to tell: nothing is lost but a second's trust. */
	setup(&w);
	w.tpv_delay_ns = 1200000000;
	w.expect_wrong = true;
	run_until(&w, CLOCK_LOCKED, 60);
	w.tpv_delay_ns = 300000000;
	run(&w, 330);
	w.expect_wrong = false;
	run(&w, 10);
	assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	assert_int_equal(view(&w).label.time_epoch, 2);
	teardown(&w);
}

static void fractions(void **state)
{
	struct world w;

	setup(&w);
	w.config.system_clock = false;
	w.gps_fraction_ns = 400000000;
	run(&w, 100);
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	assert_words(&w, "no whole seconds", "once a second");
	w.gps_fraction_ns = -300000; /* a receiver's rounding */
	run_until(&w, CLOCK_LOCKED, 60);
	teardown(&w);
}

/* A start inside the minute of the leap second, and an announcement while running. */
static void adopted_label(void **state)
{
	struct world w;
	struct label label = {.time_epoch = 7,
			      .source = LABEL_GPSD,
			      .state = CLOCK_LOCKED,
			      .uncertainty_ns = 50,
			      .tai_utc_s = 37,
			      .leap_tai_ns = INT64_MAX};

	setup(&w);
	label.anchor_count = w.count0 - 8000;
	label.anchor_tai_ns = w.tai0_ns - S;
	clock_adopt(w.clock, &label, w.mono_ns);
	assert_int_equal(view(&w).label.state, CLOCK_HOLDOVER);
	assert_words(&w, "predecessor", "");
	run_until(&w, CLOCK_LOCKED, 60);
	assert_int_equal(view(&w).label.time_epoch, 7);
	assert_int_equal(view(&w).relabels, 0);
	assert_int_equal(view(&w).label.anchor_count, label.anchor_count);
	teardown(&w);

	/* It was wrong: a new epoch, but no sooner than for a label of its own. */
	setup(&w);
	label.anchor_tai_ns += 3 * S;
	clock_adopt(w.clock, &label, w.mono_ns);
	run(&w, 250);
	assert_int_equal(view(&w).label.state, CLOCK_FAULT);
	assert_int_equal(view(&w).label.time_epoch, 7);
	run_until(&w, CLOCK_LOCKED, 100);
	assert_int_equal(view(&w).label.time_epoch, 8);
	assert_int_equal(view(&w).relabels, 1);
	teardown(&w);

	/* The predecessor was in doubt itself: gpsd is believed at once. */
	setup(&w);
	label.state = CLOCK_HOLDOVER;
	clock_adopt(w.clock, &label, w.mono_ns);
	run_until(&w, CLOCK_LOCKED, 60);
	assert_int_equal(view(&w).label.time_epoch, 8);
	teardown(&w);

	/* It was right, and gpsd's first reports come late: the synchronised system clock tells. */
	setup(&w);
	label.state = CLOCK_LOCKED;
	label.anchor_tai_ns -= 3 * S;
	w.system_synced = true;
	w.tpv_delay_ns = 1200000000;
	clock_adopt(w.clock, &label, w.mono_ns);
	run(&w, 600);
	assert_int_equal(view(&w).label.time_epoch, 7);
	assert_int_equal(tai_by_label(&w), w.tai_ns);
	w.tpv_delay_ns = 300000000;
	run_until(&w, CLOCK_LOCKED, 60);
	assert_int_equal(view(&w).label.time_epoch, 7);
	teardown(&w);

	/* A predecessor without time hands on its epoch only. */
	setup(&w);
	label.anchor_tai_ns = INT64_MIN;
	label.source = LABEL_NONE;
	clock_adopt(w.clock, &label, w.mono_ns);
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	run_until(&w, CLOCK_LOCKED, 60);
	assert_int_equal(view(&w).label.time_epoch, 8);
	teardown(&w);
}

/* The adopted uncertainty goes on growing: a holdover is not forgotten by a restart. */
static void adopted_holdover(void **state)
{
	struct world w;
	struct label label = {.time_epoch = 2,
			      .source = LABEL_GPSD,
			      .state = CLOCK_HOLDOVER,
			      .uncertainty_ns = 5000,
			      .tai_utc_s = 37,
			      .leap_tai_ns = INT64_MAX};

	setup(&w);
	label.anchor_count = w.count0;
	label.anchor_tai_ns = w.tai0_ns;
	clock_adopt(w.clock, &label, w.mono_ns);
	w.receiver = false;
	w.floors = true;
	run(&w, 1000);
	assert_int_equal(view(&w).label.state, CLOCK_HOLDOVER);
	assert_int_equal(view(&w).label.source, LABEL_GPSD);
	assert_in_range(view(&w).label.uncertainty_ns, 5020, 5040);
	teardown(&w);
}

/* Without PPS the count's second begins anywhere: uncertain by up to half a second, and it says so. */
/* A PPS moved the count: back after holdover, a little behind the count's own second. */
static void moved_count(void **state)
{
	struct world w;

	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	w.pps = false;
	run(&w, 100);
	while (w.tai_ns % S != S - S / 10) {
		run(&w, 1);
	}
	/* The next PPS finds the count in frame 0 of the second that has just begun, and moves it to the
	 * next multiple of 8000. */
	w.hole_ns += S;
	w.pps = true;
	run(&w, 1);
	assert_int_equal(view(&w).label.state, CLOCK_ACQUIRING);
	assert_int_equal(view(&w).label.time_epoch, 2);
	assert_int_equal(tai_by_label(&w), w.tai_ns);
	assert_in_range(view(&w).label.uncertainty_ns, S, S + 1000);
	assert_words(&w, "moved the board's count", "wait");
	run_until(&w, CLOCK_LOCKED, 60);
	assert_int_equal(view(&w).label.time_epoch, 2);
	teardown(&w);
}

static void host_is_late(void **state)
{
	struct world w;
	uint64_t held;

	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	while (w.tai_ns % S != 0) {
		run(&w, 1);
	}
	/* 2.5 s of events arrive at once: PPS by PPS they are in order, only their times are not. */
	held = w.mono_ns;
	w.mono_ns = held + (uint64_t)(5 * S / 2);
	for (int i = 0; i < 2; i++) {
		w.tai_ns += S;
		clock_pps(w.clock, count_now(&w), ++w.pps_number, w.mono_ns);
	}
	w.tai_ns += S / 2;
	run(&w, 100);
	assert_int_equal(view(&w).label.time_epoch, 1);
	assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	teardown(&w);
}

static void board_boots(void **state)
{
	struct world w;

	setup(&w);
	run(&w, 1000);
	assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	w.count0 = 8000;
	w.tai0_ns = w.tai_ns / S * S;
	w.pps_number = 0;
	run(&w, 1);
	assert_int_not_equal(view(&w).label.state, CLOCK_LOCKED);
	assert_int_equal(view(&w).label.anchor_tai_ns, INT64_MIN);
	run_until(&w, CLOCK_LOCKED, 60);
	assert_int_equal(view(&w).label.time_epoch, 2);
	assert_int_equal(view(&w).voids, 1);
	/* A board that is gone reads all ones; that is not a count. */
	clock_board(w.clock, UINT64_MAX, 0, false, w.mono_ns);
	clock_pps(w.clock, 12345, 1, w.mono_ns);
	run(&w, 10);
	assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	teardown(&w);
}

/* --speed max: seconds fly by, the floors' words are all there is. */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cold_start),	     cmocka_unit_test(silent_receiver_and_return),
		cmocka_unit_test(gpsd_gone),	     cmocka_unit_test(void_fix),
		cmocka_unit_test(pps_lost),	     cmocka_unit_test(never_a_pps),
		cmocka_unit_test(holdover_too_long), cmocka_unit_test(weeks_1024),
		cmocka_unit_test(correction),	     cmocka_unit_test(late_reports),
		cmocka_unit_test(fractions),	     cmocka_unit_test(adopted_label),
		cmocka_unit_test(adopted_holdover),  cmocka_unit_test(moved_count),
		cmocka_unit_test(host_is_late),	     cmocka_unit_test(board_boots),
		cmocka_unit_test(jump_told),	     cmocka_unit_test(board_gone),
		cmocka_unit_test(jump_told),	     cmocka_unit_test(no_time_says_why),
		cmocka_unit_test(jump_told),	     cmocka_unit_test(words_of_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
