/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which values of a parameter belong in its history. Pure; time is given. */
#include "slowctl/param/param.h"

#include <math.h>

#define HEARTBEAT_S 600.0 /* an unchanged value is sampled this often */
#define AHEAD	    8.0	  /* changes that may be kept faster than the dictionary's `history` */

/*
 * A change is kept when it comes, else a dip of ten seconds would be a minute in the history, or not
 * at all. What changes all the time (noise, a deadband too small) must not fill the disk: each kept sample
 * costs a credit, a credit is earned every `history`, and AHEAD of them can be saved up. A value that passes its
 * limits, or is well again, is kept without one: their delay and hysteresis make that rare.
 */
static double sample_credit(const struct param *p, double age_s)
{
	if (!p->sampled_mono_ns) {
		return AHEAD;
	}
	return fmin(AHEAD, p->sample_credit + age_s / p->kind->history_s);
}

static bool sample_due(const struct param *p, double age_s, enum limits_level level)
{
	const struct param_kind *k = p->kind;
	double setpoint = p->has_setpoint ? p->setpoint : NAN;
	bool moved;

	if (!p->sampled || level != p->sampled_level) {
		return true;
	}
	moved = fabs(p->value - p->sampled_value) > k->deadband ||
		(setpoint != p->sampled_setpoint &&
		 !(isnan(setpoint) && isnan(p->sampled_setpoint)));
	if (moved && (k->type == PARAM_BOOL || k->type == PARAM_ENUM)) {
		return true; /* changes of state are rare and every one matters */
	}
	return (moved && sample_credit(p, age_s) >= 1) || age_s >= fmax(HEARTBEAT_S, k->history_s);
}

bool param_sample(struct param *p, uint64_t mono_ns)
{
	double age_s = (double)(mono_ns - p->sampled_mono_ns) / 1e9;
	enum limits_level level = param_level(p, mono_ns);

	if (p->kind->history_s <= 0 || !p->has_value || !sample_due(p, age_s, level)) {
		return false;
	}
	p->sample_credit = fmax(0, sample_credit(p, age_s) - 1);
	p->sampled = true;
	p->sampled_mono_ns = mono_ns;
	p->sampled_value = p->value;
	p->sampled_level = level;
	p->sampled_setpoint = p->has_setpoint ? p->setpoint : (double)NAN;
	return true;
}
