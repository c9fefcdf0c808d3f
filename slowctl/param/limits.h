/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The limits of a value, at two levels: beyond the inner ones is a warning, beyond the outer ones
 * an alarm. A level begins when the value was beyond for `delay_s` and ends when it is back inside
 * by `hysteresis`, so a value that moves about its limit is reported once. A level does not end
 * while the value is unknown. Pure; the caller passes the time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum limits_level { LEVEL_NORMAL, LEVEL_WARNING, LEVEL_ALARM };

struct limits {
	double warn_min, warn_max, alarm_min, alarm_max; /* -/+INFINITY: none */
	double hysteresis;				 /* in the value's unit */
	double delay_s;
};

/* Of one value; begins as 0. */
struct limits_state {
	/* CLOCK_MONOTONIC since when it is beyond the limits of warning, of alarm; 0: it is not. */
	uint64_t beyond_ns[2];
	bool active[2]; /* the warning, the alarm */
	double worst;	/* the value farthest beyond, while one of beyond_ns is not 0 */
};

bool limits_given(const struct limits *l);
/* The contradiction in them, as text; NULL: none. */
const char *limits_fault(const struct limits *l);

/* The value was read at this time. */
void limits_see(const struct limits *l, struct limits_state *s, double value, uint64_t mono_ns);
/* The level at `mono_ns`: the time of the last reading, or now if the value cannot be read any more. */
enum limits_level limits_level(const struct limits *l, const struct limits_state *s,
			       uint64_t mono_ns);
/* The level whose limits this value is beyond. */
enum limits_level limits_beyond(const struct limits *l, double value);
/* The limit that was passed, of this level and this value. */
double limits_passed(const struct limits *l, enum limits_level level, double value);
