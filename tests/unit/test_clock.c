// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The clock in virtual time: a receiver, a board and floors of a few lines each, driven by scripts.
 *
 * The world runs in ticks of 100 ms. Its truth is TAI; the board counts it exactly but for what a script
 * does to it. Whatever happens, a label that claims to be LOCKED must be right: every tick checks it.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/clock.h"

#define S	     1000000000ll
#define START_UTC_S  1795194000ll /* 2026-11-20 */
#define EARLIEST_UTC 1767225600ll /* 2026-01-01 */

struct world {
	struct clock *clock;
	struct clock_config config;
	int64_t tai_ns;	  /* now */
	int64_t hole_ns;  /* counts skipped x 125 us */
	uint64_t mono_ns; /* now */
	uint64_t count0;  /* board count at start */
	int64_t tai0_ns;
	uint64_t pps_number;
	/* what works */
	bool pps, gpsd, receiver, fix, floors, system_synced;
	uint8_t word_quality;
	uint8_t word_leap;
	unsigned bad_floors; /* of four: how many tell another second */
	int64_t gps_error_s;
	int64_t gps_fraction_ns;
	int64_t tpv_delay_ns;
	int64_t system_error_ns;
	int32_t leapseconds;
	unsigned checked;
	bool expect_wrong; /* the script lies to the clock: LOCKED cannot be right */
	struct label taken;
	unsigned takes;
};

static int64_t leap_utc_s(const struct world *w)
{
	return w->config.leap_tai_ns == INT64_MAX ? INT64_MAX
						  : w->config.leap_tai_ns / S - w->config.tai_utc_s;
}

/* POSIX time of a TAI second as a receiver gives it: 23:59:60 is the number of the next midnight. */
static int64_t posix_of(const struct world *w, int64_t tai_s)
{
	int64_t leap_s = w->config.leap_tai_ns / S;

	if (w->config.leap_tai_ns != INT64_MAX && tai_s > leap_s) {
		return tai_s - w->config.tai_utc_s - 1;
	}
	return tai_s - w->config.tai_utc_s;
}

static uint64_t count_now(const struct world *w)
{
	return w->count0 + (uint64_t)((w->tai_ns - w->tai0_ns + w->hole_ns) / 125000);
}

static void setup_at(struct world *w, int64_t utc_s, int64_t leap_at_utc_s)
{
	*w = (struct world){
		.mono_ns = 1000 * S + 1,
		.count0 = 8000 * 5,
		.pps = true,
		.gpsd = true,
		.receiver = true,
		.fix = true,
		.word_quality = TDM_TIME_LOCKED,
		.tpv_delay_ns = 300000000,
	};
	w->config = (struct clock_config){
		.silence_ms = 3000,
		.confirm = 3,
		.holdover_ppb = 0.29,
		.receiver_ns = 50,
		.fault_ns = 62500,
		.floor_utc_s = EARLIEST_UTC,
		.far_s = 10,
		.system_clock = true,
		.tai_utc_s = 37,
		.leap_tai_ns = leap_at_utc_s ? (leap_at_utc_s + 37) * S : INT64_MAX,
		.leap_expires_utc_s = utc_s + 86400,
	};
	w->tai_ns = w->tai0_ns = (utc_s + 37) * S;
	w->clock = clock_create(&w->config);
	assert_non_null(w->clock);
	clock_gpsd(w->clock, true, w->mono_ns);
}

static void setup(struct world *w)
{
	setup_at(w, START_UTC_S, 0);
}

static void teardown(struct world *w)
{
	clock_destroy(w->clock);
}

static struct clock_view view(const struct world *w)
{
	struct clock_view v;

	clock_get_view(w->clock, &v);
	return v;
}

static int64_t tai_by_label(const struct world *w)
{
	struct clock_view v = view(w);

	return label_tai_ns(&v.label, count_now(w));
}

static void tell_tpv(struct world *w, int64_t tai_s)
{
	struct clock_gps g = {
		.mode = w->fix ? 3 : 1,
		.has_time = true,
		.utc_ns = (posix_of(w, tai_s) + w->gps_error_s) * S + w->gps_fraction_ns,
		.ept_s = 0.005,
		.leapseconds = w->leapseconds,
		.satellites_used = w->fix ? 9 : 0,
		.toff_ns = INT64_MIN,
	};

	clock_tpv(w->clock, &g, w->mono_ns);
}

static void tell_words(struct world *w)
{
	int64_t tai_s = w->tai_ns / S, leap = leap_utc_s(w);
	uint64_t count = count_now(w), base = count - count % 8000;

	for (unsigned floor = 0; floor < 4; floor++) {
		int64_t utc = posix_of(w, tai_s) + (floor < w->bad_floors ? 100 : 0);
		bool in_leap = w->config.leap_tai_ns == tai_s * S;
		int64_t day_s = in_leap ? utc - 1 : utc;
		time_t t = (time_t)day_s;
		struct tm tm;

		gmtime_r(&t, &tm);
		clock_time_word(w->clock,
				&(struct tdm_time){
					.frame = 40,
					.second = in_leap ? 86400 : (uint32_t)(day_s % 86400),
					.day = (uint16_t)tm.tm_yday,
					.year = (uint8_t)(tm.tm_year - 100),
					.quality = w->word_quality,
					.leap = (leap - 1) / 86400 == day_s / 86400,
				},
				base + 40, w->mono_ns);
	}
}

/* The one rule that holds in every script. */
static void check_label(struct world *w)
{
	struct clock_view v = view(w);
	uint64_t count = count_now(w);

	if (v.label.state == CLOCK_LOCKED && !w->expect_wrong) {
		assert_int_equal(label_tai_ns(&v.label, count), w->tai_ns);
		assert_true(v.label.uncertainty_ns < UINT32_MAX);
		w->checked++;
	}
	assert_true(v.label.anchor_tai_ns == INT64_MIN || v.label.anchor_count % 8000 == 0);
	assert_true((v.label.anchor_tai_ns == INT64_MIN) == (v.label.source == LABEL_NONE));
	assert_true(v.label.state == CLOCK_LOCKED || v.action[0] ||
		    v.label.state == CLOCK_HOLDOVER);
	assert_true(v.reason[0]);
	if (clock_take_label(w->clock, &w->taken)) {
		w->takes++;
	}
	assert_int_equal(w->taken.time_epoch, v.label.time_epoch);
	assert_int_equal(w->taken.anchor_tai_ns, v.label.anchor_tai_ns);
	assert_int_equal(w->taken.state, v.label.state);
}

/* Tenths of a second. */
static void run(struct world *w, unsigned tenths)
{
	for (unsigned i = 0; i < tenths; i++) {
		int64_t in_second;

		w->tai_ns += S / 10;
		w->mono_ns += (uint64_t)S / 10;
		in_second = w->tai_ns % S;
		if (in_second == 0 && w->pps) {
			clock_pps(w->clock, count_now(w), ++w->pps_number, w->mono_ns);
		}
		if (in_second == w->tpv_delay_ns % S && w->gpsd && w->receiver) {
			tell_tpv(w, (w->tai_ns - w->tpv_delay_ns) / S);
		}
		if (in_second == S / 5 && w->floors) {
			tell_words(w);
		}
		clock_board(w->clock, count_now(w),
			    posix_of(w, w->tai_ns / S) * S + in_second + w->system_error_ns,
			    w->system_synced, w->mono_ns);
		clock_tick(w->clock, w->mono_ns);
		check_label(w);
	}
}

/* Runs until the state is reached, at most `tenths`. */
static void run_until(struct world *w, enum clock_state state, unsigned tenths)
{
	for (unsigned i = 0; i < tenths && view(w).label.state != state; i++) {
		run(w, 1);
	}
	if (view(w).label.state != state) {
		print_message("%s: %s\n", clock_state_name(view(w).label.state), view(w).reason);
	}
	assert_int_equal(view(w).label.state, state);
}

static void assert_words(const struct world *w, const char *reason, const char *action)
{
	struct clock_view v = view(w);

	if (!strstr(v.reason, reason) || !strstr(v.action, action)) {
		print_message("reason: %s\naction: %s\n", v.reason, v.action);
	}
	assert_non_null(strstr(v.reason, reason));
	assert_non_null(strstr(v.action, action));
}

/* ------------------------------------------------------------------ scripts */

static void cold_start(void **state)
{
	struct world w;

	(void)state;
	setup(&w);
	w.gpsd = false;
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
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
	assert_int_equal(view(&w).relabels, 1);
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

	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	w.pps = false;
	run_until(&w, CLOCK_HOLDOVER, 45);
	run(&w, 10);
	assert_words(&w, "no PPS", "PPS cable");
	assert_int_equal(view(&w).label.source, LABEL_GPSD);
	/* It comes back where the count expects it: n x 8000 later. */
	run(&w, 200);
	w.pps = true;
	run_until(&w, CLOCK_LOCKED, 60);
	assert_int_equal(view(&w).label.time_epoch, 1);
	assert_int_equal(view(&w).relabels, 1);
	teardown(&w);
}

static void never_a_pps(void **state)
{
	struct world w;

	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
	setup(&w);
	w.gps_error_s = 5;
	w.expect_wrong = true;
	run_until(&w, CLOCK_LOCKED, 60);
	w.gps_error_s = 0;
	run_until(&w, CLOCK_FAULT, 30);
	assert_words(&w, "another second", "relabelled");
	run_until(&w, CLOCK_LOCKED, 40);
	w.expect_wrong = false;
	assert_int_equal(view(&w).label.time_epoch, 2);
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

/* A host under load: gpsd's reports pass the next PPS. They must not move the label by a second. */
static void late_reports(void **state)
{
	struct world w;

	(void)state;
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

	/* The first reports late: nothing is lost but a second's trust. */
	setup(&w);
	w.tpv_delay_ns = 1200000000;
	w.expect_wrong = true;
	run_until(&w, CLOCK_LOCKED, 60);
	w.tpv_delay_ns = 300000000;
	run(&w, 50);
	w.expect_wrong = false;
	run(&w, 10);
	assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	assert_int_equal(view(&w).label.time_epoch, 2);
	teardown(&w);
}

static void fractions(void **state)
{
	struct world w;

	(void)state;
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

static void leap_second(void **state)
{
	const int64_t midnight = (START_UTC_S / 86400 + 1) * 86400;
	struct world w;
	int64_t last = 0;
	unsigned in_leap = 0;

	(void)state;
	setup_at(&w, midnight - 20, midnight);
	w.floors = true;
	w.leapseconds = 18;
	run_until(&w, CLOCK_LOCKED, 60);
	assert_int_equal(view(&w).label.leap, 1);
	for (unsigned i = 0; i < 1200; i++) {
		struct clock_view v;
		int leap;
		int64_t utc_ns;

		run(&w, 1);
		v = view(&w);
		utc_ns = label_utc_ns(&v.label, label_tai_ns(&v.label, count_now(&w)), &leap);
		in_leap += (unsigned)leap;
		/* TAI does not step (every tick checks it); UTC stands still for one second. */
		assert_true(utc_ns >= last || utc_ns >= last - S);
		last = utc_ns;
		assert_int_equal(v.label.time_epoch, 1);
		assert_int_equal(v.rejects, 0);
		assert_int_equal(v.label.state, CLOCK_LOCKED);
	}
	assert_int_equal(in_leap, 10);
	/* Settled: 38 s, nothing announced, the same UTC. */
	assert_int_equal(view(&w).label.tai_utc_s, 38);
	assert_int_equal(view(&w).label.leap_tai_ns, INT64_MAX);
	assert_int_equal(view(&w).label.leap, 0);
	assert_int_equal(last, w.tai_ns - 38 * S);
	teardown(&w);
}

/* A start inside the minute of the leap second, and an announcement while running. */
static void leap_at_start_and_announced(void **state)
{
	const int64_t midnight = (START_UTC_S / 86400 + 1) * 86400;
	struct world w;

	(void)state;
	setup_at(&w, midnight - 2, midnight);
	run_until(&w, CLOCK_LOCKED, 100);
	run(&w, 50);
	assert_int_equal(view(&w).label.time_epoch, 1);
	teardown(&w);

	setup_at(&w, midnight - 100, 0);
	run_until(&w, CLOCK_LOCKED, 60);
	w.config.leap_tai_ns = (midnight + 37) * S;
	clock_leap(w.clock, 37, w.config.leap_tai_ns, midnight + 86400);
	run(&w, 2000);
	assert_int_equal(view(&w).label.time_epoch, 1);
	assert_int_equal(view(&w).label.tai_utc_s, 38);
	assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	teardown(&w);

	/* A table that was wrong about the present relabels. */
	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	w.expect_wrong = true;
	clock_leap(w.clock, 38, INT64_MAX, 0);
	assert_int_equal(view(&w).label.time_epoch, 2);
	assert_int_equal(tai_by_label(&w), w.tai_ns + S);
	teardown(&w);
}

static void leap_cross_check(void **state)
{
	struct world w;

	(void)state;
	setup(&w);
	w.leapseconds = 18;
	run_until(&w, CLOCK_LOCKED, 60);
	assert_false(view(&w).leap_mismatch);
	w.leapseconds = 17;
	run(&w, 20);
	assert_true(view(&w).leap_mismatch);
	assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	w.leapseconds = 0; /* plain NMEA: unknown */
	run(&w, 20);
	assert_false(view(&w).leap_mismatch);
	assert_false(view(&w).leap_table_expired);
	run(&w, 864000);
	assert_true(view(&w).leap_table_expired);
	assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	teardown(&w);
}

static void adopted_label(void **state)
{
	struct world w;
	struct label label = {.time_epoch = 7,
			      .source = LABEL_GPSD,
			      .state = CLOCK_LOCKED,
			      .uncertainty_ns = 50,
			      .tai_utc_s = 37,
			      .leap_tai_ns = INT64_MAX};

	(void)state;
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

	/* It was wrong: a new epoch. */
	setup(&w);
	label.anchor_tai_ns += 3 * S;
	clock_adopt(w.clock, &label, w.mono_ns);
	run_until(&w, CLOCK_LOCKED, 60);
	assert_int_equal(view(&w).label.time_epoch, 8);
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

	(void)state;
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

static void floors_as_source(void **state)
{
	struct world w;

	(void)state;
	setup(&w);
	w.gpsd = false;
	clock_gpsd(w.clock, false, w.mono_ns);
	w.floors = true;
	run(&w, 55); /* gpsd gets its time first */
	assert_int_equal(view(&w).label.state, CLOCK_ACQUIRING);
	run_until(&w, CLOCK_LOCKED, 30);
	assert_int_equal(view(&w).label.source, LABEL_FLOORS);
	assert_words(&w, "time words agree", "start gpsd");
	/* gpsd comes and agrees: the source is better, the time the same. */
	w.gpsd = true;
	clock_gpsd(w.clock, true, w.mono_ns);
	run(&w, 60);
	assert_int_equal(view(&w).label.source, LABEL_GPSD);
	assert_int_equal(view(&w).label.time_epoch, 1);
	/* It goes again: the label stays gpsd's, in holdover. */
	w.receiver = false;
	run_until(&w, CLOCK_HOLDOVER, 45);
	assert_int_equal(view(&w).label.source, LABEL_GPSD);
	teardown(&w);
}

static void floors_disagree(void **state)
{
	struct world w;

	(void)state;
	setup(&w);
	w.gpsd = false;
	w.floors = true;
	w.bad_floors = 1;
	run_until(&w, CLOCK_LOCKED, 90); /* three against one; right, as every tick checks */
	assert_int_equal(view(&w).label.source, LABEL_FLOORS);
	/* gpsd is better than any floor. */
	w.bad_floors = 4;
	w.gpsd = true;
	run(&w, 100);
	assert_int_equal(view(&w).label.source, LABEL_GPSD);
	assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	assert_int_equal(view(&w).label.time_epoch, 1);
	teardown(&w);

	/* The floors were wrong: relabelled. */
	setup(&w);
	w.gpsd = false;
	w.floors = true;
	w.bad_floors = 4;
	w.expect_wrong = true;
	run_until(&w, CLOCK_LOCKED, 90);
	w.gpsd = true;
	run(&w, 45);
	w.expect_wrong = false;
	run(&w, 20);
	assert_int_equal(view(&w).label.source, LABEL_GPSD);
	assert_int_equal(view(&w).label.time_epoch, 2);
	teardown(&w);
}

static void floors_in_holdover(void **state)
{
	struct world w;

	(void)state;
	setup(&w);
	w.gpsd = false;
	w.floors = true;
	w.word_quality = TDM_TIME_LABELLED;
	run(&w, 100);
	assert_int_equal(view(&w).label.state, CLOCK_HOLDOVER);
	assert_int_equal(view(&w).label.source, LABEL_FLOORS);
	assert_words(&w, "receiver without fix", "");
	w.word_quality = TDM_TIME_LOCKED;
	run(&w, 20);
	assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	assert_int_equal(view(&w).label.time_epoch, 1);
	w.word_quality = TDM_TIME_NONE;
	run(&w, 60);
	assert_int_equal(view(&w).label.state, CLOCK_HOLDOVER);
	teardown(&w);
}

static void bad_words(void **state)
{
	static const struct tdm_time bad[] = {
		{.frame = 40, .second = 86401, .day = 10, .year = 26, .quality = 2},
		{.frame = 40, .second = 10, .day = 400, .year = 26, .quality = 2},
		{.frame = 8000, .second = 10, .day = 10, .year = 26, .quality = 2},
		{.frame = 41, .second = 10, .day = 10, .year = 26, .quality = 2},
		{.frame = 40, .second = 10, .day = 10, .year = 6, .quality = 2},
	};
	struct world w;

	(void)state;
	setup(&w);
	w.receiver = false;
	for (unsigned i = 0; i < 100; i++) {
		for (unsigned j = 0; j < sizeof(bad) / sizeof(bad[0]); j++) {
			clock_time_word(w.clock, &bad[j], 80000 + 8000 * i + 40, w.mono_ns);
		}
		run(&w, 10);
	}
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	assert_int_equal(view(&w).rejects, 500);
	teardown(&w);
}

static void system_as_source(void **state)
{
	struct world w;

	(void)state;
	setup(&w);
	w.gpsd = false;
	clock_gpsd(w.clock, false, w.mono_ns);
	run(&w, 200);
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	assert_words(&w, "not synchronised", "start gpsd");
	w.system_synced = true;
	w.system_error_ns = 40000000;
	run_until(&w, CLOCK_LOCKED, 60);
	assert_int_equal(view(&w).label.source, LABEL_SYSTEM);
	run(&w, 1);
	assert_int_equal(view(&w).label.uncertainty_ns, 50); /* the PPS says when, it which */
	assert_int_equal(view(&w).system_minus_label_ns, 40000000);
	w.gpsd = true;
	clock_gpsd(w.clock, true, w.mono_ns);
	run(&w, 60);
	assert_int_equal(view(&w).label.source, LABEL_GPSD);
	assert_int_equal(view(&w).label.time_epoch, 1);
	teardown(&w);

	/* Not allowed. */
	setup(&w);
	clock_destroy(w.clock);
	w.config.system_clock = false;
	w.clock = clock_create(&w.config);
	w.gpsd = false;
	w.system_synced = true;
	run(&w, 300);
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	teardown(&w);
}

/* Without PPS the count's second begins anywhere: uncertain by up to half a second, and it says so. */
static void system_without_pps(void **state)
{
	struct world w;

	(void)state;
	setup(&w);
	w.gpsd = false;
	w.pps = false;
	w.system_synced = true;
	w.system_error_ns = 370000000;
	run(&w, 200);
	assert_int_equal(view(&w).label.state, CLOCK_HOLDOVER);
	assert_int_equal(view(&w).label.source, LABEL_SYSTEM);
	assert_in_range(view(&w).label.uncertainty_ns, 370000000, 400000000);
	w.system_error_ns = 560000000; /* past the half: not a new second yet */
	run(&w, 100);
	assert_int_equal(view(&w).label.time_epoch, 1);
	w.system_synced = false;
	run_until(&w, CLOCK_NO_TIME, 60);
	teardown(&w);
}

/* A PPS moved the count: back after holdover, a little behind the count's own second. */
static void moved_count(void **state)
{
	struct world w;

	(void)state;
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

	(void)state;
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

	(void)state;
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
static void emulated(void **state)
{
	struct world w;
	struct clock_view v;

	(void)state;
	setup(&w);
	clock_emulated(w.clock, true);
	w.expect_wrong = true;
	for (unsigned i = 0; i < 50; i++) {
		w.tai_ns += S;
		w.mono_ns += (uint64_t)S / 7;
		clock_pps(w.clock, count_now(&w), ++w.pps_number, w.mono_ns);
		tell_words(&w);
		tell_tpv(&w, START_UTC_S + i / 7);
		clock_tick(w.clock, w.mono_ns);
	}
	v = view(&w);
	assert_int_equal(v.label.state, CLOCK_LOCKED);
	assert_int_equal(v.label.source, LABEL_EMULATOR);
	assert_int_equal(v.label.time_epoch, 1);
	assert_int_equal(label_tai_ns(&v.label, count_now(&w)), w.tai_ns);
	assert_words(&w, "emulator labels itself", "");
	w.mono_ns += 4 * (uint64_t)S;
	clock_tick(w.clock, w.mono_ns);
	assert_int_equal(view(&w).label.state, CLOCK_HOLDOVER);
	teardown(&w);
}

/* ------------------------------------------------------------------ leap-seconds.list */

static void leap_table(void **state)
{
	static const struct {
		const char *text;
		int64_t utc_s;
		int result;
		int32_t tai_utc_s;
		int64_t leap_tai_ns, expires_utc_s;
	} cases[] = {
		{"# c\n#@ 4001702400\n3644697600\t36\t# x\n3692217600 37 # 2017\n", START_UTC_S, 0,
		 37, INT64_MAX, 4001702400 - 2208988800},
		{"3644697600\t36\n3692217600 37\n", 1483228799, 0, 36, (1483228800 + 36) * S, 0},
		{"3644697600\t36\n3692217600 37\n", 1483228800, 0, 37, INT64_MAX, 0},
		{"3644697600\t36\n3692217600 37\n", 1400000000, -EBADMSG, 0, 0, 0},
		{"3644697600\t36\n3692217600 35\n", 1483228799, -ENOTSUP, 0, 0, 0},
		{"3644697600\t36\n3692217600 39\n", START_UTC_S, -EBADMSG, 0, 0, 0},
		{"3692217600 37\n3644697600 36\n", START_UTC_S, -EBADMSG, 0, 0, 0},
		{"3692217600\n", START_UTC_S, -EBADMSG, 0, 0, 0},
		{"3692217600 37 38\n", START_UTC_S, -EBADMSG, 0, 0, 0},
		{"not a table\n", START_UTC_S, -EBADMSG, 0, 0, 0},
		{"#@ x\n3692217600 37\n", START_UTC_S, -EBADMSG, 0, 0, 0},
		{"", START_UTC_S, -EBADMSG, 0, 0, 0},
	};
	char path[] = "/tmp/test_clock.XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int32_t tai_utc_s = -1;
		int64_t leap = -1, expires = -1;
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		fputs(cases[i].text, f);
		fclose(f);
		assert_int_equal(leap_table_read(path, cases[i].utc_s, &tai_utc_s, &leap, &expires),
				 cases[i].result);
		assert_int_equal(tai_utc_s, cases[i].result ? -1 : cases[i].tai_utc_s);
		assert_int_equal(leap, cases[i].result ? -1 : cases[i].leap_tai_ns);
		assert_int_equal(expires, cases[i].result ? -1 : cases[i].expires_utc_s);
	}
	unlink(path);
	assert_int_equal(leap_table_read(path, 0, NULL, NULL, NULL), -ENOENT);
}

static void leap_table_of_tzdata(void **state)
{
	int32_t tai_utc_s;
	int64_t leap, expires;
	int r = leap_table_read("/usr/share/zoneinfo/leap-seconds.list", START_UTC_S, &tai_utc_s,
				&leap, &expires);

	(void)state;
	if (r == -ENOENT) {
		skip();
	}
	assert_int_equal(r, 0);
	assert_int_equal(tai_utc_s, 37);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cold_start),
		cmocka_unit_test(silent_receiver_and_return),
		cmocka_unit_test(gpsd_gone),
		cmocka_unit_test(void_fix),
		cmocka_unit_test(pps_lost),
		cmocka_unit_test(never_a_pps),
		cmocka_unit_test(holdover_too_long),
		cmocka_unit_test(weeks_1024),
		cmocka_unit_test(correction),
		cmocka_unit_test(late_reports),
		cmocka_unit_test(fractions),
		cmocka_unit_test(leap_second),
		cmocka_unit_test(leap_at_start_and_announced),
		cmocka_unit_test(leap_cross_check),
		cmocka_unit_test(adopted_label),
		cmocka_unit_test(adopted_holdover),
		cmocka_unit_test(floors_as_source),
		cmocka_unit_test(floors_disagree),
		cmocka_unit_test(floors_in_holdover),
		cmocka_unit_test(bad_words),
		cmocka_unit_test(system_as_source),
		cmocka_unit_test(system_without_pps),
		cmocka_unit_test(moved_count),
		cmocka_unit_test(host_is_late),
		cmocka_unit_test(board_boots),
		cmocka_unit_test(emulated),
		cmocka_unit_test(leap_table),
		cmocka_unit_test(leap_table_of_tzdata),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
