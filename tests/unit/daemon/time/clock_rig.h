/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock in virtual time: a receiver, a board and floors of a few lines each, driven by scripts.
 *
 * The world runs in ticks of 100 ms. Its truth is TAI; the board counts it exactly but for what a script
 * does to it. Whatever happens, a label that claims to be LOCKED must be right: every tick checks it.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/time/clock.h"

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

/* A world at START_UTC_S with everything well and nothing told yet; at another time, with a leap second
 * before `leap_at_utc_s` (0: none). */
void setup(struct world *w);
void setup_at(struct world *w, int64_t utc_s, int64_t leap_at_utc_s);
void teardown(struct world *w);

/* Tenths of a second go by; every one is checked: a label that claims to be LOCKED is right. */
void run(struct world *w, unsigned tenths);
/* Until the state is reached, at most `tenths`. */
void run_until(struct world *w, enum clock_state state, unsigned tenths);
/* By hand. */
void tell_tpv(struct world *w, int64_t tai_s);
void tell_words(struct world *w);

struct clock_view view(const struct world *w);
uint64_t count_now(const struct world *w);
int64_t tai_by_label(const struct world *w);
void assert_words(const struct world *w, const char *reason, const char *action);
