// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The clock's inputs: gpsd's reports, the board's PPS and count with the host's own clock, the floors'
 * time words. Each is checked (all of it comes from outside), turned into a label "count N
 * begins at TAI T" and put on its source's line; clock_evaluate() draws the conclusions.
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/time/clock_private.h"

#define FRAMES		 TDM_FRAMES_PER_SECOND
#define SYSTEM_PPS_REACH 350000000ll /* the system clock must be so near a PPS's second */
#define PPS_SLACK_NS	 500000000ll
#define CARRY_SLACK_NS	 250000000ll
#define CARRY_REACH_NS	 (1000 * CLOCK_SECOND_NS) /* CLOCK_MONOTONIC is right to 250 us/s at least */
#define OWN_TIME_LATE	 80 /* counts: the registers are read one after the other, count first */

/* A label that agrees with the running one has one agreement already; as long as that is locked, one is
 * enough (a single wrong report between good ones shall not end it). */
static uint32_t credit(const struct clock *c, int64_t offset)
{
	if (!clock_has_label(c) || offset != clock_label_offset(c)) {
		return 0;
	}
	return c->label.state == CLOCK_LOCKED ? c->config.confirm : 1;
}

/* ------------------------------------------------------------------ gpsd */

static void reject(struct clock *c, enum clock_reject why, int64_t utc_s, double by_s)
{
	c->view.rejects++;
	c->reject = why;
	c->reject_ns = c->now_ns;
	c->reject_utc_s = utc_s;
	c->reject_by_s = by_s;
}

/* How far `utc_ns` is from the synchronised system clock, s; 0 when that cannot or shall not be said. */
static double far_by_s(const struct clock *c, int64_t utc_ns)
{
	double by;

	if (!c->config.far_s || !c->view.system_synced ||
	    !clock_within(c->board_ns, CLOCK_BOARD_FRESH_NS, c->now_ns)) {
		return 0;
	}
	by = (double)(utc_ns - c->realtime_ns) / 1e9 - (double)(c->now_ns - c->board_ns) / 1e9;
	return fabs(by) > c->config.far_s ? by : 0;
}

/* Whether a UTC second may be: the label's own second always is. */
static bool believable(struct clock *c, int64_t utc_s, int64_t offset)
{
	double by;

	if (clock_has_label(c) && offset == clock_label_offset(c)) {
		return true;
	}
	if (utc_s < c->config.floor_utc_s) {
		reject(c, CLOCK_REJECT_EARLY, utc_s, 0);
		return false;
	}
	by = far_by_s(c, utc_s * CLOCK_SECOND_NS);
	if (by != 0) {
		reject(c, CLOCK_REJECT_FAR, utc_s, by);
		return false;
	}
	return true;
}

/*
 * TAI of a POSIX second that gpsd names. 23:59:60 and the midnight after it share one number: the one
 * that agrees with the running label is meant; without label, neither (false).
 */
static bool tai_of_gps(const struct clock *c, int64_t utc_s, uint64_t count, int64_t *ret_tai_ns)
{
	int64_t tai_s = utc_s + clock_tai_utc_at(&c->config.leaps, utc_s);

	*ret_tai_ns = tai_s * CLOCK_SECOND_NS;
	if (c->config.leaps.leap_tai_ns != INT64_MAX &&
	    *ret_tai_ns == c->config.leaps.leap_tai_ns + CLOCK_SECOND_NS) {
		if (!clock_has_label(c)) {
			return false;
		}
		if (clock_offset_of(count, c->config.leaps.leap_tai_ns) == clock_label_offset(c)) {
			*ret_tai_ns = c->config.leaps.leap_tai_ns;
		}
	}
	return true;
}

/* Whether a UTC second is less than `reach_s` from the next leap second. */
static bool near_leap(const struct clock *c, int64_t utc_s, int64_t reach_s)
{
	int64_t leap_s = clock_leap_utc_s(&c->config.leaps);

	return leap_s != INT64_MAX && llabs(utc_s - leap_s) < reach_s;
}

/* GPS-UTC is TAI-UTC less 19 s. Receivers change it at their leisure near a leap: no news there. */
static void cross_check_leap(struct clock *c, const struct clock_gps *gps)
{
	int64_t utc_s = gps->utc_ns / CLOCK_SECOND_NS;

	c->gps_leap_mismatch = gps->leapseconds && !near_leap(c, utc_s, 3600) &&
			       gps->leapseconds != clock_tai_utc_at(&c->config.leaps, utc_s) - 19;
}

static void label_by_gps(struct clock *c, int64_t utc_s)
{
	int64_t tai_ns, offset;
	bool running;

	if (!tai_of_gps(c, utc_s, c->pps_count, &tai_ns)) {
		return;
	}
	offset = clock_offset_of(c->pps_count, tai_ns);
	if (!believable(c, utc_s, offset)) {
		return;
	}
	c->last_label_ns = c->now_ns;
	c->reject = CLOCK_REJECT_NONE;
	running = clock_has_label(c) && offset == clock_label_offset(c);
	c->view.gps_minus_board_ns =
		clock_has_label(c) ? offset - clock_label_offset(c) : INT64_MIN;
	if (running) {
		c->contradictions = 0;
	} else if (c->view.gps_minus_board_ns == -CLOCK_SECOND_NS &&
		   c->label.source == LABEL_GPSD && !c->gps_leap_mismatch) {
		/* More likely gpsd was held up than the board counts a second too many. */
		c->view.rejects++;
		c->view.lates++;
		c->late_ns = c->now_ns;
	} else if (clock_has_label(c) &&
		   (c->label.source == LABEL_GPSD || clock_denies(c, offset))) {
		c->view.rejects++;
		c->contradictions++;
		c->contradiction_ns = c->now_ns;
	}
	clock_track_put(c, &c->gpsd, c->pps_count, offset, credit(c, offset));
}

void clock_gpsd(struct clock *c, bool connected, uint64_t now_ns)
{
	clock_at(c, now_ns);
	if (connected && !c->view.gps_connected) {
		c->connected_ns = c->now_ns;
	}
	c->view.gps_connected = connected;
	if (!connected) {
		c->view.gps_fix = false;
		c->view.satellites_used = -1;
	}
	clock_evaluate(c);
}

void clock_tpv(struct clock *c, const struct clock_gps *gps, uint64_t now_ns)
{
	clock_at(c, now_ns);
	c->view.gps_connected = true;
	c->view.last_gps_ns = c->now_ns;
	c->view.gps_fix = gps->mode >= 2;
	c->view.satellites_used = gps->satellites_used;
	if (c->view.gps_fix) {
		c->last_fix_ns = c->now_ns;
	}
	if (c->view.gps_fix && gps->has_time) {
		/* Fractions of a second name no second; up to 1 ms is a receiver's rounding. */
		int64_t utc_s = (gps->utc_ns + 1000000) / CLOCK_SECOND_NS;

		cross_check_leap(c, gps);
		if (gps->utc_ns > 0 && llabs(gps->utc_ns - utc_s * CLOCK_SECOND_NS) <= 1000000) {
			c->last_whole_ns = c->now_ns;
			if (!c->emulated && c->pps_seen &&
			    clock_within(c->view.last_pps_ns, CLOCK_PPS_REACH_NS, now_ns)) {
				label_by_gps(c, utc_s);
			}
		}
	}
	clock_evaluate(c);
}

/* ------------------------------------------------------------------ the board */

/* Which TAI second began at the PPS of `count`, by the label before the count was moved. False when that
 * is unknown: too long ago, or too much between two seconds. */
static bool carry_second(const struct clock *c, uint64_t count, uint64_t pps_ns,
			 int64_t *ret_tai_ns)
{
	uint64_t then_count = c->pps_count, then_ns = c->view.last_pps_ns;
	int64_t tai_ns, rest;

	if (c->board_seen && c->board_count < count && c->board_ns > then_ns) {
		then_count = c->board_count;
		then_ns = c->board_ns;
	}
	if (pps_ns < then_ns || pps_ns - then_ns > (uint64_t)CARRY_REACH_NS) {
		return false;
	}
	tai_ns = label_tai_ns(&c->label, then_count) + (int64_t)(pps_ns - then_ns);
	*ret_tai_ns = (tai_ns + CLOCK_SECOND_NS / 2) / CLOCK_SECOND_NS * CLOCK_SECOND_NS;
	rest = tai_ns - *ret_tai_ns;
	return llabs(rest) < CARRY_SLACK_NS;
}

/* Whether the count was moved between two PPS: seconds counted are neither the PPS seen nor the time
 * that went by. (PPS seen decide first: a host that is late by seconds delays what it reports.) */
static bool count_moved(const struct clock *c, uint64_t count, uint64_t number, uint64_t now_ns)
{
	uint64_t seconds = (count - c->pps_count) / FRAMES;
	int64_t elapsed = (int64_t)(now_ns - c->view.last_pps_ns);

	if (seconds == (uint32_t)(number - c->view.pps_number)) {
		return false;
	}
	return llabs(elapsed - (int64_t)seconds * CLOCK_SECOND_NS) > PPS_SLACK_NS;
}

static void board_restarted(struct clock *c)
{
	clock_void(c, "the board's counter restarted");
	clock_reset_tracks(c);
	c->pps_seen = false;
	c->board_seen = false;
	c->view.last_pps_ns = 0;
}

static void count_was_moved(struct clock *c, uint64_t count, uint64_t now_ns)
{
	enum label_source source = c->label.source;
	int64_t tai_ns;

	clock_reset_tracks(c);
	if (!clock_has_label(c)) {
		return;
	}
	if (carry_second(c, count, now_ns, &tai_ns)) {
		clock_relabel(c, source, count, tai_ns, c->base_ns);
		c->provisional = true;
		c->open_to_all = true;
	} else {
		clock_void(c, "a PPS moved the board's count");
	}
}

void clock_pps(struct clock *c, uint64_t count, uint64_t number, uint64_t now_ns)
{
	clock_at(c, now_ns);
	if (count % FRAMES || count == 0) {
		c->view.rejects++; /* not of a board that keeps the contract */
		return;
	}
	if (c->pps_seen && count == c->pps_count) {
		return;
	}
	if (c->pps_seen && count < c->pps_count) {
		board_restarted(c);
	} else if (c->pps_seen && !c->emulated && count_moved(c, count, number, now_ns)) {
		count_was_moved(c, count, now_ns);
	}
	c->pps_seen = true;
	c->pps_count = count;
	c->view.pps_number = number;
	c->view.last_pps_ns = now_ns;
	clock_evaluate(c);
}

/* The second of UTC that the system clock gives to the board's second: with a PPS the nearest, if it is
 * near; without, the one the label has, unless that is clearly another. False: unknown. */
static bool second_by_system(const struct clock *c, uint64_t base_count, int64_t utc_ns,
			     int64_t *ret_utc_s)
{
	int64_t utc_s = (utc_ns + CLOCK_SECOND_NS / 2) / CLOCK_SECOND_NS;
	int leap;

	if (c->pps_seen && base_count == c->pps_count) {
		*ret_utc_s = utc_s;
		return llabs(utc_ns - utc_s * CLOCK_SECOND_NS) < SYSTEM_PPS_REACH;
	}
	if (clock_has_label(c)) {
		int64_t by_label =
			label_utc_ns(&c->label, label_tai_ns(&c->label, base_count), &leap);

		if (llabs(utc_ns - by_label) < CLOCK_SECOND_NS * 3 / 4) {
			utc_s = by_label / CLOCK_SECOND_NS;
		}
	}
	*ret_utc_s = utc_s;
	return true;
}

static void label_by_system(struct clock *c)
{
	uint64_t base_count = c->board_count - c->board_count % FRAMES;
	int64_t utc_ns = c->realtime_ns - (int64_t)(c->board_count % FRAMES) * TDM_FRAME_NS;
	int64_t utc_s, offset;

	/* At a PPS's second the count restarts there, wherever its own second began. */
	if (!second_by_system(c, base_count, utc_ns, &utc_s) || utc_s < c->config.floor_utc_s) {
		return;
	}
	/* Around a leap second the system clock's second is anybody's guess. */
	if (near_leap(c, utc_s, 3)) {
		return;
	}
	offset = clock_offset_of(base_count, (utc_s + clock_tai_utc_at(&c->config.leaps, utc_s)) *
						     CLOCK_SECOND_NS);
	clock_track_put(c, &c->system, base_count, offset, credit(c, offset));
}

/* Whether the synchronised system clock contradicts the label. One that labels does not, by definition. */
static void compare_system(struct clock *c)
{
	int64_t tolerance_ns = c->config.system_tolerance_ms * 1000000ll;

	if (!c->view.system_synced || !tolerance_ns || c->emulated || !clock_has_label(c) ||
	    c->label.source == LABEL_SYSTEM ||
	    llabs(c->view.system_minus_label_ns) <= tolerance_ns) {
		c->system_differs_ns = 0;
	} else if (!c->system_differs_ns) {
		c->system_differs_ns = c->now_ns;
	}
}

void clock_board(struct clock *c, uint64_t count, int64_t realtime_ns, bool realtime_synced,
		 uint64_t now_ns)
{
	int leap;

	clock_at(c, now_ns);
	if (count == UINT64_MAX) {
		return; /* a board that is gone reads all ones */
	}
	if (c->board_seen && count < c->board_count) {
		board_restarted(c);
	}
	c->board_seen = true;
	c->board_count = count;
	c->board_ns = now_ns;
	c->realtime_ns = realtime_ns;
	c->view.system_synced = realtime_synced;
	c->view.system_minus_label_ns =
		clock_has_label(c)
			? realtime_ns -
				  label_utc_ns(&c->label, label_tai_ns(&c->label, count), &leap)
			: INT64_MIN;
	compare_system(c);
	clock_note_side(c);
	if (realtime_synced && !c->emulated) {
		label_by_system(c);
	}
	clock_evaluate(c);
}

/* ------------------------------------------------------------------ the floors */

/* TAI of the second that a time word names, and whether it announces a leap second as the table does. */
static int64_t tai_of_word(const struct clock *c, const struct tdm_time *t, int64_t *ret_utc_s,
			   bool *ret_leap_agrees)
{
	int64_t midnight = timegm(&(struct tm){.tm_year = 100 + t->year, .tm_mday = 1 + t->day});
	bool tonight = clock_leap_utc_s(&c->config.leaps) == midnight + 86400;

	*ret_utc_s = midnight + t->second;
	*ret_leap_agrees = (t->leap == 1) == tonight && t->leap != 2;
	if (t->second == 86400) {
		/* 23:59:60: the table's own second, or one it does not know of. */
		return (midnight + 86400 + c->config.leaps.tai_utc_s) * CLOCK_SECOND_NS;
	}
	return (*ret_utc_s + clock_tai_utc_at(&c->config.leaps, *ret_utc_s)) * CLOCK_SECOND_NS;
}

void clock_time_word(struct clock *c, const struct tdm_time *time, uint64_t floor_frame,
		     uint64_t now_ns)
{
	int64_t utc_s, tai_ns, offset;
	bool leap_agrees;

	clock_at(c, now_ns);
	if (!tdm_time_legal(time) || floor_frame < time->frame ||
	    (floor_frame - time->frame) % FRAMES) {
		c->view.rejects++;
		return;
	}
	c->word_quality = time->quality;
	if (time->quality == TDM_TIME_NONE || c->emulated) {
		return;
	}
	if (time->quality >= TDM_TIME_LOCKED) {
		c->floors_spent = false;
	}
	tai_ns = tai_of_word(c, time, &utc_s, &leap_agrees);
	offset = clock_offset_of(floor_frame - time->frame, tai_ns);
	c->word_leap_mismatch = !leap_agrees;
	if (offset != clock_label_offset(c) &&
	    (utc_s < c->config.floor_utc_s || far_by_s(c, utc_s * CLOCK_SECOND_NS) != 0)) {
		c->view.rejects++;
		return;
	}
	clock_track_put(c, &c->floors, floor_frame - time->frame, offset, credit(c, offset));
	clock_evaluate(c);
}

/* ------------------------------------------------------------------ the emulator's own */

void clock_own_time(struct clock *c, const struct tdm_time *time, uint64_t count, uint64_t now_ns)
{
	uint64_t second = count - count % FRAMES;
	int64_t utc_s, offset;
	bool leap_agrees;

	clock_at(c, now_ns);
	if (!c->emulated || !tdm_time_legal(time) || time->quality == TDM_TIME_NONE ||
	    count % FRAMES >= FRAMES - OWN_TIME_LATE) { /* the time may be the next second's */
		return;
	}
	offset = clock_offset_of(second, tai_of_word(c, time, &utc_s, &leap_agrees));
	clock_track_reset(&c->floors); /* its word is final */
	clock_track_put(c, &c->floors, second, offset, c->config.confirm);
	clock_evaluate(c);
}
