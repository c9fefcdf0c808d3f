// SPDX-License-Identifier: GPL-2.0-or-later
/* The clock in virtual time: a scripted GPS receiver, board and floors. See clock_rig.h. */
#include "tests/unit/daemon/time/clock_rig.h"

#include <string.h>
#include <time.h>

static int64_t leap_utc_s(const struct world *w)
{
	return w->config.leaps.leap_tai_ns == INT64_MAX
		       ? INT64_MAX
		       : w->config.leaps.leap_tai_ns / S - w->config.leaps.tai_utc_s;
}

/* POSIX time of a TAI second as a receiver gives it: 23:59:60 is the number of the next midnight. */
static int64_t posix_of(const struct world *w, int64_t tai_s)
{
	int64_t leap_s = w->config.leaps.leap_tai_ns / S;

	if (w->config.leaps.leap_tai_ns != INT64_MAX && tai_s > leap_s) {
		return tai_s - w->config.leaps.tai_utc_s - 1;
	}
	return tai_s - w->config.leaps.tai_utc_s;
}

uint64_t count_now(const struct world *w)
{
	return w->count0 + (uint64_t)((w->tai_ns - w->tai0_ns + w->hole_ns) / 125000);
}

void setup_at(struct world *w, int64_t utc_s, int64_t leap_at_utc_s)
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
		.system_tolerance_ms = 500,
		.system_clock = true,
		.leaps = {37, leap_at_utc_s ? (leap_at_utc_s + 37) * S : INT64_MAX, utc_s + 86400},
	};
	w->tai_ns = w->tai0_ns = (utc_s + 37) * S;
	w->clock = clock_create(&w->config);
	assert_non_null(w->clock);
	clock_gpsd(w->clock, true, w->mono_ns);
}

void setup(struct world *w)
{
	setup_at(w, START_UTC_S, 0);
}

void teardown(struct world *w)
{
	clock_destroy(w->clock);
}

struct clock_view view(const struct world *w)
{
	struct clock_view v;

	clock_get_view(w->clock, &v);
	return v;
}

int64_t tai_by_label(const struct world *w)
{
	struct clock_view v = view(w);

	return label_tai_ns(&v.label, count_now(w));
}

void tell_tpv(struct world *w, int64_t tai_s)
{
	struct clock_gps g = {
		.mode = w->fix ? 3 : 1,
		.has_time = true,
		.utc_ns = (posix_of(w, tai_s) + w->gps_error_s) * S + w->gps_fraction_ns,
		.ept_s = 0.005,
		.leapseconds = w->leapseconds,
		.satellites_used = w->fix ? 9 : 0,
	};

	clock_tpv(w->clock, &g, w->mono_ns);
}

void tell_words(struct world *w)
{
	int64_t tai_s = w->tai_ns / S, leap = leap_utc_s(w);
	uint64_t count = count_now(w), base = count - count % 8000;

	for (unsigned floor = 0; floor < 4; floor++) {
		int64_t utc = posix_of(w, tai_s) + (floor < w->bad_floors ? 100 : 0);
		bool in_leap = w->config.leaps.leap_tai_ns == tai_s * S;
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
void run(struct world *w, unsigned tenths)
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
void run_until(struct world *w, enum clock_state state, unsigned tenths)
{
	for (unsigned i = 0; i < tenths && view(w).label.state != state; i++) {
		run(w, 1);
	}
	if (view(w).label.state != state) {
		print_message("%s: %s\n", clock_state_name(view(w).label.state), view(w).reason);
	}
	assert_int_equal(view(w).label.state, state);
}

void assert_words(const struct world *w, const char *reason, const char *action)
{
	struct clock_view v = view(w);

	if (!strstr(v.reason, reason) || !strstr(v.action, action)) {
		print_message("reason: %s\naction: %s\n", v.reason, v.action);
	}
	assert_non_null(strstr(v.reason, reason));
	assert_non_null(strstr(v.action, action));
}
