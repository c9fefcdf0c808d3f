// SPDX-License-Identifier: GPL-2.0-or-later
/* Each rule of the clock at its limit: how near, how long, how often; and the text for the
 * operator. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "daemon/time/clock_private.h"
#include "tests/unit/daemon/time/clock_rig.h"

#define MIDNIGHT ((START_UTC_S / 86400 + 1) * 86400)

/* The same world with a clock of w->config as it is now. */
static void set_up_again(struct world *w)
{
	clock_destroy(w->clock);
	w->clock = clock_create(&w->config);
	assert_non_null(w->clock);
	clock_gpsd(w->clock, w->gpsd, w->mono_ns);
}

static void assert_silent_about(const struct world *w, const char *words)
{
	struct clock_view v = view(w);

	assert_null(strstr(v.reason, words));
}

static struct label good_label(const struct world *w)
{
	return (struct label){.time_epoch = 7,
			      .source = LABEL_GPSD,
			      .state = CLOCK_LOCKED,
			      .uncertainty_ns = 50,
			      .tai_utc_s = 37,
			      .leap_tai_ns = INT64_MAX,
			      .anchor_count = w->count0 - 8000,
			      .anchor_tai_ns = w->tai0_ns - S};
}

/* ------------------------------------------------------------------ states and events */

static void a_fresh_clock_has_words_and_its_leap_second(void **state)
{
	struct world w;

	for (unsigned leap = 0; leap < 2; leap++) {
		setup_at(&w, START_UTC_S, leap ? MIDNIGHT : 0);
		clock_destroy(w.clock);
		w.clock = clock_create(&w.config);
		assert_true(view(&w).reason[0]);
		assert_int_equal(view(&w).label.leap, leap);
		teardown(&w);
	}
}

static void a_state_is_as_old_as_its_first_moment(void **state)
{
	struct world w;
	struct label label;
	uint64_t since;
	uint8_t before;

	setup(&w);
	since = w.mono_ns;
	before = view(&w).label.state;
	for (unsigned i = 0; i < 200; i++) {
		w.receiver = i < 100;
		run(&w, 1);
		since = view(&w).label.state == before ? since : w.mono_ns;
		before = view(&w).label.state;
		assert_int_equal(view(&w).state_since_ns, since);
	}
	assert_int_equal(before, CLOCK_HOLDOVER);
	teardown(&w);

	setup(&w);
	clock_destroy(w.clock);
	w.clock = clock_create(&w.config);
	label = good_label(&w);
	clock_adopt(w.clock, &label, w.mono_ns);
	assert_int_equal(view(&w).state_since_ns, w.mono_ns);
	teardown(&w);
}

static void uncertainty_grows_in_holdover_only_and_is_news_once_a_second(void **state)
{
	struct world w;

	setup(&w);
	w.config.holdover_ppb = 1000; /* 1 us a second */
	set_up_again(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	assert_in_range(w.takes, 2, 7);
	for (unsigned i = 0; i < 50; i++) {
		run(&w, 1);
		assert_int_equal(view(&w).label.uncertainty_ns, 50);
	}
	w.receiver = false;
	run_until(&w, CLOCK_HOLDOVER, 45);
	w.takes = 0;
	run(&w, 100);
	assert_int_equal(w.takes, 10);
	teardown(&w);
}

/* ------------------------------------------------------------------ tables of leap seconds */

/* Whatever source labelled: lines from the old table do not bring the old label back. */
static void another_table_moves_every_source_by_its_second(void **state)
{
	static const uint8_t sources[] = {LABEL_GPSD, LABEL_FLOORS, LABEL_SYSTEM};

	for (unsigned i = 0; i < sizeof(sources); i++) {
		struct world w;

		setup(&w);
		w.gpsd = sources[i] == LABEL_GPSD;
		w.floors = sources[i] == LABEL_FLOORS;
		w.system_synced = sources[i] == LABEL_SYSTEM;
		run_until(&w, CLOCK_LOCKED, 200);
		run(&w, 600);
		assert_int_equal(view(&w).label.source, sources[i]);
		w.expect_wrong = true;
		clock_leap(w.clock, &(struct leap_table){38, INT64_MAX, 0});
		clock_tick(w.clock, w.mono_ns);
		assert_int_equal(view(&w).label.time_epoch, 2);
		assert_int_equal(view(&w).relabels, 1);
		assert_int_equal(tai_by_label(&w), w.tai_ns + S);
		assert_int_equal(view(&w).relabelled.by_ns, S);
		assert_int_equal(view(&w).relabelled.utc_ns, w.tai_ns - 37 * S); /* UTC stays */
		teardown(&w);
	}
}

static void a_table_announces_at_once_and_labels_nothing(void **state)
{
	struct world w;

	setup(&w);
	w.gpsd = false;
	run(&w, 20);
	clock_leap(w.clock, &(struct leap_table){38, (MIDNIGHT + 38) * S, 0});
	assert_int_equal(view(&w).label.leap_tai_ns, (MIDNIGHT + 38) * S);
	assert_int_equal(view(&w).label.leap, 1);
	assert_int_equal(view(&w).label.tai_utc_s, 38);
	assert_int_equal(view(&w).label.anchor_tai_ns, INT64_MIN);
	assert_int_equal(view(&w).label.time_epoch, 0);
	assert_int_equal(view(&w).relabels, 0);
	teardown(&w);
}

/* An hour on either side of a leap second a receiver may say what it likes. */
static void gpsd_leap_seconds_are_compared_an_hour_from_the_leap(void **state)
{
	static const struct {
		int64_t after_s;
		int32_t says;
		bool mismatch;
	} table[] = {
		{-3601, 17, true}, {-3601, 18, false}, {-3600, 17, true}, {-3599, 17, false},
		{3599, 17, false}, {3600, 18, true},   {3600, 19, false},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct world w;

		setup_at(&w, MIDNIGHT - 4000, MIDNIGHT);
		clock_tpv(w.clock,
			  &(struct clock_gps){.mode = 2,
					      .has_time = true,
					      .utc_ns = (MIDNIGHT + table[i].after_s) * S,
					      .leapseconds = table[i].says},
			  w.mono_ns);
		assert_int_equal(view(&w).leap_mismatch, table[i].mismatch);
		assert_true(view(&w).gps_fix); /* 2D is one */
		teardown(&w);
	}
}

/* 23:59:60 and midnight have one number: as a first label neither is taken. */
static void a_second_with_two_meanings_is_no_first_label(void **state)
{
	struct world w;

	setup_at(&w, MIDNIGHT, MIDNIGHT);
	run(&w, 19);
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	run_until(&w, CLOCK_ACQUIRING, 10);
	run_until(&w, CLOCK_LOCKED, 60);
	teardown(&w);
}

static void floors_alone_count_through_a_leap_second(void **state)
{
	struct world w;

	setup_at(&w, MIDNIGHT - 20, MIDNIGHT);
	w.gpsd = false;
	w.floors = true;
	run_until(&w, CLOCK_LOCKED, 120);
	for (unsigned i = 0; i < 300; i++) {
		run(&w, 1);
		assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	}
	assert_int_equal(view(&w).label.time_epoch, 1);
	assert_int_equal(view(&w).rejects, 0);
	teardown(&w);
}

static void floors_announce_a_leap_second_on_its_day_only(void **state)
{
	static const struct {
		int64_t before_s;
		uint8_t leap;
		bool announced, mismatch;
	} table[] = {
		{20, 1, true, false},	 {20, 0, true, true},	 {20, 2, true, true},
		{86420, 0, true, false}, {86420, 1, true, true}, {20, 1, false, true},
		{20, 0, false, false},	 {20, 2, false, true},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int64_t utc_s = MIDNIGHT - table[i].before_s;
		time_t t = (time_t)utc_s;
		struct world w;
		struct tm tm;

		setup_at(&w, utc_s, table[i].announced ? MIDNIGHT : 0);
		gmtime_r(&t, &tm);
		clock_time_word(w.clock,
				&(struct tdm_time){.frame = 40,
						   .second = (uint32_t)(utc_s % 86400),
						   .day = (uint16_t)tm.tm_yday,
						   .year = (uint8_t)(tm.tm_year - 100),
						   .quality = TDM_TIME_LOCKED,
						   .leap = table[i].leap},
				w.count0 + 40, w.mono_ns);
		assert_int_equal(view(&w).leap_mismatch, table[i].mismatch);
		teardown(&w);
	}
}

static void floors_name_every_year_right(void **state)
{
	/* 1 March of 2027, 2028 (a leap year), 2029 and 2100 (none) */
	static const int64_t days[] = {1803859200, 1835481600, 1867017600, 4107542400};

	for (unsigned i = 0; i < 4; i++) {
		struct world w;

		setup_at(&w, days[i], 0);
		w.gpsd = false;
		w.floors = true;
		run_until(&w, CLOCK_LOCKED, 120); /* right, as every tick checks */
		assert_int_equal(view(&w).label.source, LABEL_FLOORS);
		teardown(&w);
	}
}

static void the_system_clock_is_not_asked_around_a_leap_second(void **state)
{
	struct world w;

	setup_at(&w, MIDNIGHT - 10, MIDNIGHT);
	w.gpsd = false;
	w.system_synced = true;
	run(&w, 20);
	assert_int_equal(view(&w).label.state, CLOCK_ACQUIRING);
	teardown(&w);

	setup_at(&w, MIDNIGHT - 2, MIDNIGHT);
	w.gpsd = false;
	w.system_synced = true;
	for (unsigned i = 0; i < 59; i++) { /* to the last tenth of 0:00:02 */
		run(&w, 1);
		assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	}
	run(&w, 1);
	assert_int_equal(view(&w).label.state, CLOCK_ACQUIRING);
	teardown(&w);
}

/* ------------------------------------------------------------------ sources that may label */

static void floors_without_receiver_are_spent_until_they_have_one(void **state)
{
	struct world w;

	setup(&w);
	w.config.holdover_ppb = 1000; /* spent after a minute */
	set_up_again(&w);
	w.gpsd = false;
	w.floors = true;
	run_until(&w, CLOCK_LOCKED, 120);
	w.word_quality = TDM_TIME_LABELLED;
	run_until(&w, CLOCK_HOLDOVER, 60);
	run_until(&w, CLOCK_ACQUIRING, 700);
	assert_int_equal(view(&w).voids, 1);
	run(&w, 300);
	assert_int_equal(view(&w).label.state, CLOCK_ACQUIRING);
	w.word_quality = TDM_TIME_LOCKED;
	run_until(&w, CLOCK_LOCKED, 60);
	assert_int_equal(view(&w).label.source, LABEL_FLOORS);
	/* Once more; then the system clock labels. */
	w.word_quality = TDM_TIME_LABELLED;
	run_until(&w, CLOCK_HOLDOVER, 60);
	run_until(&w, CLOCK_ACQUIRING, 700);
	w.system_synced = true;
	run_until(&w, CLOCK_LOCKED, 300);
	assert_int_equal(view(&w).label.source, LABEL_SYSTEM);
	teardown(&w);

	/* Only the holdover of gpsd's label is used up: the floors still have their own. */
	setup(&w);
	w.config.holdover_ppb = 1000;
	set_up_again(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	w.gpsd = false;
	run_until(&w, CLOCK_HOLDOVER, 45);
	run_until(&w, CLOCK_NO_TIME, 700);
	w.floors = true;
	w.word_quality = TDM_TIME_LABELLED;
	run_until(&w, CLOCK_HOLDOVER, 120);
	assert_int_equal(view(&w).label.source, LABEL_FLOORS);
	teardown(&w);
}

/* A predecessor was sure of gpsd's label: a source that agrees may confirm it, one that disagrees
 * may not. */
static void a_good_label_is_confirmed_by_whoever_agrees(void **state)
{
	struct label label;
	struct world w;

	setup(&w);
	w.gpsd = false;
	w.floors = true;
	label = good_label(&w);
	set_up_again(&w);
	clock_adopt(w.clock, &label, w.mono_ns);
	run_until(&w, CLOCK_LOCKED, 200);
	assert_int_equal(view(&w).label.source, LABEL_FLOORS);
	assert_int_equal(view(&w).label.time_epoch, 7);
	teardown(&w);

	setup(&w);
	w.gpsd = false;
	w.floors = true;
	w.bad_floors = 4;
	w.system_synced = true;
	set_up_again(&w);
	clock_adopt(w.clock, &label, w.mono_ns);
	run_until(&w, CLOCK_LOCKED, 200);
	assert_int_equal(view(&w).label.source, LABEL_SYSTEM);
	assert_int_equal(view(&w).label.time_epoch, 7);
	teardown(&w);

	setup(&w);
	w.gpsd = false;
	w.floors = true;
	label.state = CLOCK_HOLDOVER;
	set_up_again(&w);
	clock_adopt(w.clock, &label, w.mono_ns);
	run(&w, 200);
	assert_int_equal(view(&w).label.state, CLOCK_HOLDOVER);
	assert_int_equal(view(&w).label.source, LABEL_GPSD);
	teardown(&w);
}

static void any_known_source_is_adopted_and_no_other(void **state)
{
	static const uint8_t sources[] = {LABEL_GPSD, LABEL_FLOORS, LABEL_SYSTEM, LABEL_EMULATOR};

	for (unsigned i = 0; i <= sizeof(sources); i++) {
		struct label label;
		struct world w;

		setup(&w);
		label = good_label(&w);
		label.source = i < sizeof(sources) ? sources[i] : LABEL_EMULATOR + 1;
		clock_adopt(w.clock, &label, w.mono_ns);
		assert_int_equal(view(&w).label.source, i < sizeof(sources) ? sources[i] : 0);
		teardown(&w);
	}
}

/* gpsd replaces a worse source's label when gpsd has been confirmed, not at its first report. */
static void a_first_report_relabels_nothing(void **state)
{
	struct world w;

	setup(&w);
	w.gpsd = false;
	w.floors = true;
	w.bad_floors = 4;
	w.expect_wrong = true;
	run_until(&w, CLOCK_LOCKED, 90);
	while (w.tai_ns % S) {
		run(&w, 1);
	}
	w.gpsd = true;
	run(&w, 29); /* three reports */
	assert_int_equal(view(&w).label.time_epoch, 1);
	run(&w, 10);
	assert_int_equal(view(&w).label.time_epoch, 2);
	teardown(&w);
}

/* The second contradiction is FAULT; ten times `confirm` agreements among themselves relabel. */
static void gpsd_overrules_itself_when_it_keeps_to_it_for_long(void **state)
{
	struct world w;

	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	while (w.tai_ns % S) {
		run(&w, 1);
	}
	w.gps_error_s = 3;
	run(&w, 3);
	assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	run(&w, 10);
	assert_int_equal(view(&w).label.state, CLOCK_FAULT);
	w.expect_wrong = true;
	run(&w, 289); /* the first and 29 that agree with it */
	assert_int_equal(view(&w).label.time_epoch, 1);
	run(&w, 1);
	assert_int_equal(view(&w).label.time_epoch, 2);
	teardown(&w);
}

static void the_earliest_date_itself_is_believed(void **state)
{
	struct world w;

	setup(&w);
	w.config.floor_utc_s = START_UTC_S + 5;
	set_up_again(&w);
	run(&w, 46);
	assert_int_equal(view(&w).rejects, 4);
	run(&w, 10);
	assert_int_equal(view(&w).rejects, 4);
	teardown(&w);

	setup(&w);
	w.config.floor_utc_s = START_UTC_S + 5;
	w.gpsd = false;
	w.floors = true;
	set_up_again(&w);
	run(&w, 46); /* four floors: seconds 0 to 4 */
	assert_int_equal(view(&w).rejects, 20);
	run(&w, 10);
	assert_int_equal(view(&w).rejects, 20);
	teardown(&w);
}

/* ------------------------------------------------------------------ the system clock's distance */

static void the_system_clock_disagrees_beyond_its_tolerance_for_three_seconds(void **state)
{
	struct world w;

	setup(&w);
	w.system_synced = true;
	run_until(&w, CLOCK_LOCKED, 60);
	w.system_error_ns = 500000000;
	run(&w, 60);
	assert_false(view(&w).system_disagrees);
	w.system_error_ns++;
	run(&w, 30);
	assert_false(view(&w).system_disagrees);
	run(&w, 1);
	assert_true(view(&w).system_disagrees);
	teardown(&w);
}

static void at_its_tolerance_the_system_clock_sides_with_a_second(void **state)
{
	struct world w;

	setup(&w);
	w.system_synced = true;
	w.system_error_ns = 500000000;
	run_until(&w, CLOCK_LOCKED, 60); /* gpsd's first label is accepted */
	w.gps_error_s = 1;
	run(&w, 40);
	assert_words(&w, "within its tolerance of both", "");
	w.gps_error_s = 3;
	run(&w, 600);
	assert_int_equal(view(&w).label.time_epoch, 1);
	assert_words(&w, "sides with the time in use", "third clock");
	teardown(&w);
}

/* With a PPS it names the nearest second if that is near, else none. */
static void a_system_clock_between_two_seconds_labels_none(void **state)
{
	struct world w;

	setup(&w);
	w.gpsd = false;
	w.system_synced = true;
	w.system_error_ns = 360000000;
	run(&w, 300);
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	w.system_error_ns = 340000000;
	run_until(&w, CLOCK_LOCKED, 60);
	teardown(&w);
}

/* ------------------------------------------------------------------ moved counts */

/* The board has counted `cells` more than the elapsed time; its PPS comes `late_ns` after the
 * second. */
static void move_count(struct world *w, int64_t cells, int64_t after_s, int64_t late_ns)
{
	while (w->tai_ns % S) {
		run(w, 1);
	}
	w->tai_ns += after_s * S;
	w->mono_ns += (uint64_t)(after_s * S + late_ns);
	w->hole_ns += cells * 125000;
	clock_pps(w->clock, count_now(w), ++w->pps_number, w->mono_ns);
}

/* Judged by the elapsed time, while that is good to a quarter of a second. */
static void the_second_is_carried_over_a_moved_count(void **state)
{
	static const struct {
		int64_t after_s, late_ns;
		bool carried;
	} table[] = {
		{1, 0, true},	{5, 0, true},	 {5, 249999999, true}, {5, 250000000, false},
		{999, 0, true}, {1000, 0, true}, {1001, 0, false},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct world w;

		setup(&w);
		run_until(&w, CLOCK_LOCKED, 60);
		run(&w, 300);
		move_count(&w, 16000, table[i].after_s, table[i].late_ns);
		clock_tick(w.clock, w.mono_ns);
		assert_int_equal(view(&w).voids, !table[i].carried);
		if (table[i].carried) {
			assert_int_equal(view(&w).label.time_epoch, 2);
			assert_int_equal(view(&w).label.state, CLOCK_ACQUIRING);
			assert_int_equal(tai_by_label(&w), w.tai_ns);
		}
		teardown(&w);
	}
}

static void floors_confirm_what_was_carried(void **state)
{
	struct world w;

	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	w.gpsd = false;
	w.floors = true;
	move_count(&w, 16000, 1, 0);
	assert_int_equal(view(&w).label.state, CLOCK_ACQUIRING);
	run_until(&w, CLOCK_LOCKED, 200);
	assert_int_equal(view(&w).label.source, LABEL_FLOORS);
	assert_int_equal(view(&w).label.time_epoch, 2);
	teardown(&w);
}

/* A PPS too few and half a second: still the host's delay. */
static void half_a_second_is_no_moved_count(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		struct world w;

		setup(&w);
		run_until(&w, CLOCK_LOCKED, 60);
		move_count(&w, 8000, 1, S / 2 - (int64_t)i);
		assert_int_equal(view(&w).label.time_epoch + view(&w).voids, 1 + i);
		teardown(&w);
	}
}

static void a_pps_that_counts_anew_voids_at_once(void **state)
{
	struct world w;

	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	clock_pps(w.clock, 8000, ++w.pps_number, w.mono_ns);
	assert_int_equal(view(&w).voids, 1);
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	teardown(&w);
}

/* ------------------------------------------------------------------ gpsd's own reports */

static void gpsd_that_goes_is_seen_at_once(void **state)
{
	struct world w;

	setup(&w);
	w.pps = false;
	run(&w, 30);
	assert_true(view(&w).gps_fix);
	clock_gpsd(w.clock, false, w.mono_ns);
	assert_false(view(&w).gps_fix);
	assert_int_equal(view(&w).satellites_used, -1);
	assert_words(&w, "gpsd does not answer", "");
	teardown(&w);
}

static void an_answer_is_new_once(void **state)
{
	struct world w;

	setup(&w);
	w.receiver = false;
	for (unsigned i = 0; i < 5; i++) {
		run(&w, 10);
		clock_gpsd(w.clock, true, w.mono_ns);
	}
	assert_words(&w, "receiver is silent", "");
	teardown(&w);
}

static void a_millisecond_is_a_receivers_rounding(void **state)
{
	for (int64_t fraction = -1000001; fraction <= 1000001; fraction++) {
		struct world w;

		setup(&w);
		w.gps_fraction_ns = fraction;
		run(&w, 25);
		assert_int_equal(view(&w).label.state,
				 llabs(fraction) <= 1000000 ? CLOCK_ACQUIRING : CLOCK_NO_TIME);
		teardown(&w);
		fraction = fraction == -1000000 ? 999999 : fraction;
	}
}

/* ------------------------------------------------------------------ texts */

static void words_name_what_is_so_and_nothing_else(void **state)
{
	struct world w;

	setup(&w);
	w.config.system_clock = false;
	w.receiver = false;
	set_up_again(&w);
	run(&w, 40);
	assert_words(&w, "receiver is silent", "");
	assert_silent_about(&w, "system clock");
	teardown(&w);

	setup(&w);
	w.gps_error_s = -1024ll * 7 * 86400;
	run(&w, 20);
	assert_words(&w, "2007-04-06 17:00:01 UTC", "");
	teardown(&w);

	setup(&w);
	w.gpsd = false;
	w.floors = true;
	run_until(&w, CLOCK_LOCKED, 120);
	w.floors = false;
	run_until(&w, CLOCK_HOLDOVER, 60);
	assert_words(&w, "time goes on by the board's count", "");
	teardown(&w);

	setup(&w);
	w.gpsd = false;
	w.system_synced = true;
	run_until(&w, CLOCK_LOCKED, 200);
	w.system_synced = false;
	run_until(&w, CLOCK_HOLDOVER, 60);
	assert_words(&w, "time by the system clock", "");
	teardown(&w);
}

static void the_emulators_lines_say_nothing_of_real_time(void **state)
{
	const time_t utc_s = START_UTC_S;
	struct tdm_time time = {.quality = TDM_TIME_LOCKED, .second = START_UTC_S % 86400};
	struct world w;
	struct tm tm;

	setup(&w);
	gmtime_r(&utc_s, &tm);
	time.day = (uint16_t)tm.tm_yday;
	time.year = (uint8_t)(tm.tm_year - 100);
	clock_emulated(w.clock, true);
	assert_words(&w, "time words are not there", "wait until links are aligned");
	clock_own_time(w.clock, &time, count_now(&w), w.mono_ns);
	assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	assert_words(&w, "gpsd is not asked", "");
	clock_emulated(w.clock, false);
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	assert_words(&w, "the emulator changed its pace", "");
	teardown(&w);
}

/* ------------------------------------------------------------------ lines */

/* A clock for which a line is silent after 3 s. */
static struct clock at(uint64_t now_ns)
{
	return (struct clock){.config = {.silence_ms = 3000}, .now_ns = now_ns};
}

static void put(struct clock_track *t, uint64_t count, int64_t offset, uint64_t now_ns)
{
	struct clock c = at(now_ns);

	clock_track_put(&c, t, count, offset, 0);
}

static const struct clock_line *best(const struct clock_track *t, uint32_t confirm, uint64_t now_ns)
{
	struct clock c = at(now_ns);

	return clock_track_best(&c, t, confirm);
}

static void of_equal_lines_the_one_that_was_there_speaks(void **state)
{
	struct clock_track t = {.lines = CLOCK_LINES};

	put(&t, 8000, 1, 1);
	put(&t, 16000, 1, 2);
	put(&t, 16000, 2, 3);
	assert_int_equal(best(&t, 0, 3)->offset, 1);
	put(&t, 24000, 2, 4);
	assert_int_equal(best(&t, 0, 4)->offset, 2);
}

static void a_second_that_is_named_again_confirms_nothing(void **state)
{
	struct clock_track t = {.lines = 1};

	put(&t, 8000, 1, 1);
	put(&t, 8000, 1, 2);
	assert_null(best(&t, 1, 2));
	put(&t, 16000, 1, 3);
	assert_int_equal(best(&t, 1, 3)->agree, 1);
}

/* However old a line is, 16 labels off it end it: then it restarts. */
static void no_line_outlives_sixteen_labels_beside_it(void **state)
{
	struct clock_track t = {.lines = CLOCK_LINES};

	for (unsigned i = 1; i <= 100; i++) {
		put(&t, i * 8000, 1, i);
	}
	for (unsigned i = 101; i <= 116; i++) {
		put(&t, i * 8000, 2, i);
	}
	put(&t, 117 * 8000, 1, 117);
	for (unsigned i = 118; i <= 140; i++) {
		put(&t, i * 8000, 1, i);
	}
	assert_int_equal(best(&t, 0, 140)->offset, 1);
	assert_int_equal(best(&t, 0, 140)->agree, 140 - 117);
}

static void a_track_of_one_line_knows_no_second(void **state)
{
	struct clock_track t = {.lines = 1};

	t.line[1] = (struct clock_line){.offset = 5, .weight = 9, .count = 1, .seen_ns = 1};
	assert_null(best(&t, 0, 1));
	put(&t, 8000, 5, 1);
	assert_int_equal(t.line[0].offset, 5);
	put(&t, 8000, 6, 1);
	assert_int_equal(t.line[0].offset, 6);
	assert_int_equal(t.line[1].weight, 9);
}

/* ------------------------------------------------------------------ the table's file */

static int read_table(const char *text, struct leap_table *ret_table)
{
	char path[] = "/tmp/test_clock_rules.XXXXXX";
	int fd = mkstemp(path), r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	r = leap_table_read(path, START_UTC_S, ret_table);
	unlink(path);
	return r;
}

static void tables_are_read_up_to_their_limits(void **state)
{
	static const struct {
		const char *text;
		int result;
		int32_t tai_utc_s;
	} cases[] = {
		{"#@ 2208988800\n2208988800 10\n", 0, 10}, /* 1970 itself */
		{"#@ 2208988799\n2208988800 10\n", -EBADMSG, 0},
		{"2208988799 10\n", -EBADMSG, 0},
		{"2208988800 9\n", -EBADMSG, 0},
		{"2208988800 1000\n", 0, 1000},
		{"2208988800 1001\n", -EBADMSG, 0},
		{"2208988800 10\n2208988800 11\n", -EBADMSG, 0}, /* one second, two offsets */
	};
	struct leap_table table = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(read_table(cases[i].text, &table), cases[i].result);
		if (cases[i].result == 0) {
			assert_int_equal(table.tai_utc_s, cases[i].tai_utc_s);
		}
	}
}

/* The rest of an overlong comment is not an entry, the next line is; an overlong entry is
 * refused. */
static void overlong_lines_are_comments_or_wrong(void **state)
{
	char text[1200];
	struct leap_table table;

	memset(text, ' ', 1000);
	text[0] = '#';
	strcpy(text + 600, "3692217600 36\n3692217600 37\n");
	assert_int_equal(read_table(text, &table), 0);
	assert_int_equal(table.tai_utc_s, 37);
	text[0] = ' ';
	assert_int_equal(read_table(text, &table), -EBADMSG);
}

static void a_table_read_again_and_again_leaves_no_file_open(void **state)
{
	struct rlimit was, few = {.rlim_cur = 32};
	struct leap_table table;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few.rlim_max = was.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (unsigned i = 0; i < 40; i++) {
		assert_int_equal(read_table("3692217600 37\n", &table), 0);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fresh_clock_has_words_and_its_leap_second),
		cmocka_unit_test(a_state_is_as_old_as_its_first_moment),
		cmocka_unit_test(uncertainty_grows_in_holdover_only_and_is_news_once_a_second),
		cmocka_unit_test(another_table_moves_every_source_by_its_second),
		cmocka_unit_test(a_table_announces_at_once_and_labels_nothing),
		cmocka_unit_test(gpsd_leap_seconds_are_compared_an_hour_from_the_leap),
		cmocka_unit_test(a_second_with_two_meanings_is_no_first_label),
		cmocka_unit_test(floors_alone_count_through_a_leap_second),
		cmocka_unit_test(floors_announce_a_leap_second_on_its_day_only),
		cmocka_unit_test(floors_name_every_year_right),
		cmocka_unit_test(the_system_clock_is_not_asked_around_a_leap_second),
		cmocka_unit_test(floors_without_receiver_are_spent_until_they_have_one),
		cmocka_unit_test(a_good_label_is_confirmed_by_whoever_agrees),
		cmocka_unit_test(any_known_source_is_adopted_and_no_other),
		cmocka_unit_test(a_first_report_relabels_nothing),
		cmocka_unit_test(gpsd_overrules_itself_when_it_keeps_to_it_for_long),
		cmocka_unit_test(the_earliest_date_itself_is_believed),
		cmocka_unit_test(the_system_clock_disagrees_beyond_its_tolerance_for_three_seconds),
		cmocka_unit_test(at_its_tolerance_the_system_clock_sides_with_a_second),
		cmocka_unit_test(a_system_clock_between_two_seconds_labels_none),
		cmocka_unit_test(the_second_is_carried_over_a_moved_count),
		cmocka_unit_test(floors_confirm_what_was_carried),
		cmocka_unit_test(half_a_second_is_no_moved_count),
		cmocka_unit_test(a_pps_that_counts_anew_voids_at_once),
		cmocka_unit_test(gpsd_that_goes_is_seen_at_once),
		cmocka_unit_test(an_answer_is_new_once),
		cmocka_unit_test(a_millisecond_is_a_receivers_rounding),
		cmocka_unit_test(words_name_what_is_so_and_nothing_else),
		cmocka_unit_test(the_emulators_lines_say_nothing_of_real_time),
		cmocka_unit_test(of_equal_lines_the_one_that_was_there_speaks),
		cmocka_unit_test(a_second_that_is_named_again_confirms_nothing),
		cmocka_unit_test(no_line_outlives_sixteen_labels_beside_it),
		cmocka_unit_test(a_track_of_one_line_knows_no_second),
		cmocka_unit_test(tables_are_read_up_to_their_limits),
		cmocka_unit_test(overlong_lines_are_comments_or_wrong),
		cmocka_unit_test(a_table_read_again_and_again_leaves_no_file_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
