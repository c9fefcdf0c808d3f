// SPDX-License-Identifier: GPL-2.0-or-later
/* Limits of the clock that fall between two ticks of a script, and what a single report does at once. */
#include "tests/unit/daemon/time/clock_rig.h"

static void set_up_again(struct world *w)
{
	clock_destroy(w->clock);
	w->clock = clock_create(&w->config);
	assert_non_null(w->clock);
	clock_gpsd(w->clock, w->gpsd, w->mono_ns);
}

/* A tenth of a second goes by; nothing is reported. */
static void pass(struct world *w)
{
	w->tai_ns += S / 10;
	w->mono_ns += (uint64_t)S / 10;
}

/* ------------------------------------------------------------------ when */

/* Without a label a worse source waits twice the silence for gpsd, and three times for both. */
static void a_worse_source_labels_after_its_wait_and_not_before(void **state)
{
	struct world w;

	setup(&w);
	w.gpsd = false;
	w.floors = true;
	run(&w, 60);
	assert_int_equal(view(&w).label.source, LABEL_NONE);
	run(&w, 1);
	assert_int_equal(view(&w).label.source, LABEL_FLOORS);
	teardown(&w);

	setup(&w);
	w.gpsd = false;
	w.system_synced = true;
	run(&w, 90);
	assert_int_equal(view(&w).label.source, LABEL_NONE);
	run(&w, 1);
	assert_int_equal(view(&w).label.source, LABEL_SYSTEM);
	teardown(&w);
}

static void an_announced_leap_second_is_the_rule_a_minute_after_it(void **state)
{
	const int64_t midnight = (START_UTC_S / 86400 + 1) * 86400;
	struct world w;

	setup_at(&w, midnight - 10, midnight);
	while (w.tai_ns < w.config.leaps.leap_tai_ns + 60 * S) {
		run(&w, 1);
	}
	assert_int_equal(view(&w).label.leap, 1);
	assert_int_equal(view(&w).label.tai_utc_s, 37);
	pass(&w);
	clock_board(w.clock, count_now(&w), w.tai_ns - 38 * S, false, w.mono_ns);
	assert_int_equal(view(&w).label.leap, 0);
	assert_int_equal(view(&w).label.tai_utc_s, 38);
	teardown(&w);
}

static void a_table_holds_to_the_end_of_its_last_second(void **state)
{
	struct world w;

	setup(&w);
	w.config.leaps.expires_utc_s = START_UTC_S + 5;
	set_up_again(&w);
	run(&w, 59);
	assert_false(view(&w).leap_table_expired);
	run(&w, 1);
	assert_true(view(&w).leap_table_expired);
	teardown(&w);
}

/* ------------------------------------------------------------------ how near */

static void the_system_clock_labels_from_the_earliest_date_on(void **state)
{
	struct world w;

	setup(&w);
	w.config.floor_utc_s = START_UTC_S + 5;
	w.gpsd = false;
	w.system_synced = true;
	set_up_again(&w);
	run(&w, 49);
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	run(&w, 1);
	assert_int_equal(view(&w).label.state, CLOCK_ACQUIRING);
	teardown(&w);
}

/* With a PPS it must be nearer than 350 ms to a second to name it. */
static void at_350_ms_from_the_pps_the_system_clock_names_no_second(void **state)
{
	struct world w;

	setup(&w);
	w.gpsd = false;
	w.system_synced = true;
	w.system_error_ns = 350000000;
	run(&w, 300);
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	w.system_error_ns--;
	run_until(&w, CLOCK_LOCKED, 60);
	teardown(&w);
}

/* Without, the label's second is meant up to three quarters of one. */
static void at_750_ms_the_system_clock_means_another_second(void **state)
{
	struct world w;

	setup(&w);
	w.gpsd = false;
	w.pps = false;
	w.system_synced = true;
	run(&w, 200);
	assert_int_equal(view(&w).label.source, LABEL_SYSTEM);
	w.system_error_ns = 749999999;
	run(&w, 100);
	assert_int_equal(view(&w).label.time_epoch, 1);
	w.system_error_ns++;
	run(&w, 100);
	assert_int_equal(view(&w).label.time_epoch, 2);
	teardown(&w);
}

/* When the PPS has gone, the one that was seen says nothing of the seconds after it. */
static void without_its_pps_the_system_clock_means_the_labels_second(void **state)
{
	struct world w;

	setup(&w);
	w.gpsd = false;
	w.system_synced = true;
	run_until(&w, CLOCK_LOCKED, 200);
	w.pps = false;
	w.system_error_ns = 600000000; /* no second of a PPS */
	run(&w, 200);
	assert_int_equal(view(&w).label.source, LABEL_SYSTEM);
	assert_int_equal(view(&w).label.time_epoch, 1);
	assert_int_equal(view(&w).voids, 0);
	teardown(&w);
}

/* ------------------------------------------------------------------ at once */

/* The host's distance is one from the label: it moves with it, before the host is looked at again. */
static void the_system_clocks_distance_moves_with_the_label(void **state)
{
	struct world w;

	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	w.receiver = false; /* told by hand, between two looks at the host's clock */
	w.gps_error_s = 1;
	w.expect_wrong = true;
	for (unsigned i = 0; i < 40 && view(&w).label.time_epoch == 1; i++) {
		run(&w, 10);
		assert_int_equal(view(&w).system_minus_label_ns, 0);
		tell_tpv(&w, w.tai_ns / S);
	}
	assert_int_equal(view(&w).label.time_epoch, 2);
	assert_int_equal(view(&w).relabelled.by_ns, S);
	assert_int_equal(view(&w).system_minus_label_ns, -S);
	teardown(&w);
}

/* Without a report of the host's clock there is no distance, whatever becomes of the label. */
static void a_distance_that_is_unknown_stays_unknown(void **state)
{
	struct world w;

	setup(&w);
	for (unsigned i = 0; i < 60 && view(&w).label.time_epoch < 2; i++) {
		w.tai_ns += S;
		w.mono_ns += (uint64_t)S;
		clock_pps(w.clock, count_now(&w), ++w.pps_number, w.mono_ns);
		w.gps_error_s = i < 5 ? 0 : 7;
		tell_tpv(&w, w.tai_ns / S);
		assert_true(view(&w).system_minus_label_ns == INT64_MIN);
	}
	assert_int_equal(view(&w).label.time_epoch, 2);
	teardown(&w);
}

static void a_pps_is_of_its_own_time(void **state)
{
	struct world w;

	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	w.mono_ns += 1000;
	clock_pps(w.clock, 8000, ++w.pps_number, w.mono_ns); /* the board counts from 0 again */
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	assert_int_equal(view(&w).state_since_ns, w.mono_ns);
	teardown(&w);
}

static void what_a_source_says_has_its_effect_at_once(void **state)
{
	struct world w;

	setup(&w);
	pass(&w);
	assert_int_equal(view(&w).label.state, CLOCK_NO_TIME);
	tell_words(&w);
	assert_int_equal(view(&w).label.state, CLOCK_ACQUIRING);
	teardown(&w);

	setup(&w);
	pass(&w);
	clock_board(w.clock, count_now(&w), w.tai_ns - 37 * S, true, w.mono_ns);
	assert_int_equal(view(&w).label.state, CLOCK_ACQUIRING);
	teardown(&w);
}

/* Two looks at the board within a frame see one count. */
static void a_count_that_stands_is_no_other_board(void **state)
{
	struct world w;

	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	clock_board(w.clock, count_now(&w), w.tai_ns - 37 * S, false, w.mono_ns + 1000);
	assert_int_equal(view(&w).voids, 0);
	assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	teardown(&w);
}

/* ------------------------------------------------------------------ the floors */

static void the_word_of_the_boards_first_second_counts(void **state)
{
	struct world w;

	setup(&w);
	pass(&w);
	w.hole_ns = -5 * S - S / 10;
	assert_int_equal(count_now(&w), 0);
	tell_words(&w); /* frame 40 of the second that begins at 0 */
	assert_int_equal(view(&w).rejects, 0);
	assert_int_equal(view(&w).label.state, CLOCK_ACQUIRING);
	teardown(&w);
}

/* 23:59:60 names a second of its own: the first word that a daemon hears may be that. */
static void a_word_of_a_leap_second_labels_it_right(void **state)
{
	const int64_t midnight = (START_UTC_S / 86400 + 1) * 86400;
	struct world w;

	setup_at(&w, midnight - 10, midnight);
	w.config.confirm = 0;
	w.gpsd = false;
	set_up_again(&w);
	run(&w, 100);
	assert_int_equal(w.tai_ns, w.config.leaps.leap_tai_ns);
	assert_int_equal(view(&w).label.source, LABEL_NONE);
	w.floors = true;
	run(&w, 2);
	assert_int_equal(view(&w).label.source, LABEL_FLOORS);
	assert_int_equal(tai_by_label(&w), w.tai_ns);
	teardown(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worse_source_labels_after_its_wait_and_not_before),
		cmocka_unit_test(an_announced_leap_second_is_the_rule_a_minute_after_it),
		cmocka_unit_test(a_table_holds_to_the_end_of_its_last_second),
		cmocka_unit_test(the_system_clock_labels_from_the_earliest_date_on),
		cmocka_unit_test(at_350_ms_from_the_pps_the_system_clock_names_no_second),
		cmocka_unit_test(at_750_ms_the_system_clock_means_another_second),
		cmocka_unit_test(without_its_pps_the_system_clock_means_the_labels_second),
		cmocka_unit_test(the_system_clocks_distance_moves_with_the_label),
		cmocka_unit_test(a_distance_that_is_unknown_stays_unknown),
		cmocka_unit_test(a_pps_is_of_its_own_time),
		cmocka_unit_test(what_a_source_says_has_its_effect_at_once),
		cmocka_unit_test(a_count_that_stands_is_no_other_board),
		cmocka_unit_test(the_word_of_the_boards_first_second_counts),
		cmocka_unit_test(a_word_of_a_leap_second_labels_it_right),
	};

	return cmocka_run_group_tests_name("clock limits", tests, NULL, NULL);
}
