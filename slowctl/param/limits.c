// SPDX-License-Identifier: GPL-2.0-or-later
/* The limits of a value. See limits.h. */
#include "slowctl/param/limits.h"

#include <math.h>
#include <stddef.h>

struct range {
	double low, high;
};

/* 0: of the warning, 1: of the alarm. */
static struct range range_of(const struct limits *l, unsigned n)
{
	return n == 0 ? (struct range){l->warn_min, l->warn_max}
		      : (struct range){l->alarm_min, l->alarm_max};
}

bool limits_given(const struct limits *l)
{
	return isfinite(l->warn_min) || isfinite(l->warn_max) || isfinite(l->alarm_min) ||
	       isfinite(l->alarm_max);
}

const char *limits_fault(const struct limits *l)
{
	if (!limits_given(l)) {
		return l->hysteresis > 0 || l->delay_s > 0
			       ? "hysteresis and delay belong to alarm or warn, and it has neither"
			       : NULL;
	}
	if ((isfinite(l->warn_min) && l->warn_min <= l->alarm_min) ||
	    (isfinite(l->warn_max) && l->warn_max >= l->alarm_max)) {
		return "warn does not lie inside alarm: the warning has to come first";
	}
	for (unsigned n = 0; n < 2; n++) {
		struct range r = range_of(l, n);

		if (r.low + l->hysteresis > r.high - l->hysteresis) {
			return "hysteresis leaves no room inside the limits: it would never be "
			       "over";
		}
	}
	return NULL;
}

/* How far it is beyond the innermost limit; negative: inside. */
static double excess(const struct limits *l, double value)
{
	return fmax(fmax(l->warn_min, l->alarm_min) - value,
		    value - fmin(l->warn_max, l->alarm_max));
}

void limits_see(const struct limits *l, struct limits_state *s, double value, uint64_t mono_ns)
{
	bool goes_on = s->beyond_ns[0] || s->beyond_ns[1];

	if (!goes_on || excess(l, value) > excess(l, s->worst)) {
		s->worst = value;
	}
	for (unsigned n = 0; n < 2; n++) {
		struct range r = range_of(l, n);
		double margin = s->active[n] ? l->hysteresis : 0;

		if (value >= r.low + margin && value <= r.high - margin) {
			s->beyond_ns[n] = 0;
			s->active[n] = false;
			continue;
		}
		s->beyond_ns[n] = s->beyond_ns[n] ? s->beyond_ns[n] : mono_ns;
		s->active[n] |= (double)(mono_ns - s->beyond_ns[n]) >= l->delay_s * 1e9;
	}
}

enum limits_level limits_level(const struct limits *l, const struct limits_state *s,
			       uint64_t mono_ns)
{
	for (unsigned n = 2; n-- > 0;) {
		if (s->active[n] ||
		    (s->beyond_ns[n] &&
		     (double)(int64_t)(mono_ns - s->beyond_ns[n]) >= l->delay_s * 1e9)) {
			return n == 1 ? LEVEL_ALARM : LEVEL_WARNING;
		}
	}
	return LEVEL_NORMAL;
}

enum limits_level limits_beyond(const struct limits *l, double value)
{
	return value < l->alarm_min || value > l->alarm_max ? LEVEL_ALARM
	       : value < l->warn_min || value > l->warn_max ? LEVEL_WARNING
							    : LEVEL_NORMAL;
}

double limits_passed(const struct limits *l, enum limits_level level, double value)
{
	struct range r = range_of(l, level == LEVEL_ALARM);

	/* Back inside by less than the hysteresis it is beyond none: the nearer one is meant. */
	return value - r.low < r.high - value ? r.low : r.high;
}
