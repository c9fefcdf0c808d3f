// SPDX-License-Identifier: GPL-2.0-or-later
/* The clock with other sources than gpsd, and with leap seconds. In virtual time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/daemon/time/clock_rig.h"

static void leap_second(void **state)
{
	const int64_t midnight = (START_UTC_S / 86400 + 1) * 86400;
	struct world w;
	int64_t last = 0;
	unsigned in_leap = 0, backward = 0;

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
		/* TAI does not step (every tick checks it); UTC's number repeats one second. */
		backward += utc_ns < last;
		last = utc_ns;
		assert_int_equal(v.label.time_epoch, 1);
		assert_int_equal(v.rejects, 0);
		assert_int_equal(v.label.state, CLOCK_LOCKED);
	}
	assert_int_equal(in_leap, 10);
	assert_int_equal(backward, 1);
	/* Settled: 38 s, nothing announced, the same UTC. */
	assert_int_equal(view(&w).label.tai_utc_s, 38);
	assert_int_equal(view(&w).label.leap_tai_ns, INT64_MAX);
	assert_int_equal(view(&w).label.leap, 0);
	assert_int_equal(last, w.tai_ns - 38 * S);
	teardown(&w);
}

static void leap_at_start_and_announced(void **state)
{
	const int64_t midnight = (START_UTC_S / 86400 + 1) * 86400;
	struct world w;

	setup_at(&w, midnight - 2, midnight);
	run_until(&w, CLOCK_LOCKED, 100);
	run(&w, 50);
	assert_int_equal(view(&w).label.time_epoch, 1);
	teardown(&w);

	setup_at(&w, midnight - 100, 0);
	run_until(&w, CLOCK_LOCKED, 60);
	w.config.leaps.leap_tai_ns = (midnight + 37) * S;
	clock_leap(w.clock, &(struct leap_table){37, w.config.leaps.leap_tai_ns, midnight + 86400});
	run(&w, 2000);
	assert_int_equal(view(&w).label.time_epoch, 1);
	assert_int_equal(view(&w).label.tai_utc_s, 38);
	assert_int_equal(view(&w).label.state, CLOCK_LOCKED);
	teardown(&w);

	/* A table that was wrong about the present relabels. */
	setup(&w);
	run_until(&w, CLOCK_LOCKED, 60);
	w.expect_wrong = true;
	clock_leap(w.clock, &(struct leap_table){38, INT64_MAX, 0});
	assert_int_equal(view(&w).label.time_epoch, 2);
	assert_int_equal(tai_by_label(&w), w.tai_ns + S);
	teardown(&w);
}

static void leap_cross_check(void **state)
{
	struct world w;

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

static void floors_as_source(void **state)
{
	struct world w;

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

static void system_without_pps(void **state)
{
	struct world w;

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

/* The board's time of day `frames` into the second at `tai_ns`, which begins at count_now(). */
static void own_time(struct world *w, int64_t tai_ns, unsigned frames)
{
	const time_t utc_s = (time_t)(tai_ns / S - w->config.leaps.tai_utc_s);
	struct tm tm;
	struct tdm_time time = {.quality = TDM_TIME_LOCKED};

	gmtime_r(&utc_s, &tm);
	time.second = (uint32_t)(tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec);
	time.day = (uint16_t)tm.tm_yday;
	time.year = (uint8_t)(tm.tm_year - 100);
	clock_own_time(w->clock, &time, count_now(w) + frames, w->mono_ns);
}

static void emulated(void **state)
{
	struct world w;
	struct clock_view v;

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
		assert_int_equal(view(&w).label.state, i == 0 ? CLOCK_NO_TIME : CLOCK_LOCKED);
		own_time(&w, w.tai_ns, 40);
		assert_int_equal(view(&w).label.state, CLOCK_LOCKED); /* at once */
	}
	v = view(&w);
	assert_int_equal(v.label.source, LABEL_EMULATOR);
	assert_int_equal(v.label.time_epoch, 1);
	assert_int_equal(label_tai_ns(&v.label, count_now(&w)), w.tai_ns);
	assert_words(&w, "emulator labels itself", "");
	/* Another label of its own is the label at once, too; what is no time of day is none. */
	own_time(&w, w.tai_ns + 9 * S, 7920); /* may be the next second's: not taken */
	own_time(&w, w.tai_ns + 7 * S, 7919);
	v = view(&w);
	assert_int_equal(v.label.state, CLOCK_LOCKED);
	assert_int_equal(v.label.time_epoch, 2);
	assert_int_equal(label_tai_ns(&v.label, count_now(&w)), w.tai_ns + 7 * S);
	clock_own_time(w.clock, &(struct tdm_time){.second = 90000, .quality = TDM_TIME_LOCKED},
		       count_now(&w), w.mono_ns);
	clock_own_time(w.clock, &(struct tdm_time){.second = 5}, count_now(&w), w.mono_ns);
	assert_int_equal(view(&w).label.time_epoch, 2);
	w.mono_ns += 4 * (uint64_t)S;
	clock_tick(w.clock, w.mono_ns);
	assert_int_equal(view(&w).label.state, CLOCK_HOLDOVER);
	teardown(&w);
}

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

	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct leap_table table = {-1, -1, -1};
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		fputs(cases[i].text, f);
		fclose(f);
		assert_int_equal(leap_table_read(path, cases[i].utc_s, &table), cases[i].result);
		assert_int_equal(table.tai_utc_s, cases[i].result ? -1 : cases[i].tai_utc_s);
		assert_int_equal(table.leap_tai_ns, cases[i].result ? -1 : cases[i].leap_tai_ns);
		assert_int_equal(table.expires_utc_s,
				 cases[i].result ? -1 : cases[i].expires_utc_s);
	}
	unlink(path);
	assert_int_equal(leap_table_read(path, 0, NULL), -ENOENT);
}

static void leap_table_of_tzdata(void **state)
{
	struct leap_table table;
	int r = leap_table_read("/usr/share/zoneinfo/leap-seconds.list", START_UTC_S, &table);

	if (r == -ENOENT) {
		skip();
	}
	assert_int_equal(r, 0);
	assert_int_equal(table.tai_utc_s, 37);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leap_second),	      cmocka_unit_test(leap_at_start_and_announced),
		cmocka_unit_test(leap_cross_check),   cmocka_unit_test(floors_as_source),
		cmocka_unit_test(floors_disagree),    cmocka_unit_test(floors_in_holdover),
		cmocka_unit_test(bad_words),	      cmocka_unit_test(system_as_source),
		cmocka_unit_test(system_without_pps), cmocka_unit_test(emulated),
		cmocka_unit_test(leap_table),	      cmocka_unit_test(leap_table_of_tzdata),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
