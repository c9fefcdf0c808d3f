// SPDX-License-Identifier: GPL-2.0-or-later
/* The phase in words: see phase.h. */
#include <math.h>
#include <stdio.h>

#include "daemon/phase/phase.h"

#define SAME_PS 50.0 /* less than any jump: difference_ps is up to a second newer */
#define AT_REST 0.05 /* ps/s: what "%+.1f" shows as 0 */

/* How fast it moves now; NaN: unknown, or it is not one speed. */
static double speed(const struct phase_view *v)
{
	return !v->valid		  ? (double)NAN
	       : isnan(v->drift_ps_per_s) ? v->slope_ps_per_s
					  : v->drift_ps_per_s;
}

const char *phase_say_drift(const struct phase_view *v, double tolerated_ps, char *text,
			    size_t size)
{
	bool of_reference = (v->last.verdict == PHASE_DRIFT && !v->last.drifted) ||
			    fabs(v->difference_ps - v->moved_ps) < SAME_PS;
	const char *from = of_reference		  ? "the reference"
			   : v->last.step_ps != 0 ? "where it stepped to"
						  : "where the last lock came back";
	double ps_per_s = speed(v),
	       left_s = (copysign(tolerated_ps, v->moved_ps) - v->moved_ps) / ps_per_s;
	int n = snprintf(text, size, "the phase drifts: %.0f ps from %s", v->moved_ps, from);

	if (v->farthest_ps <= tolerated_ps && left_s > 0) {
		snprintf(text + n, size - (size_t)n,
			 ", %+.1f ps/s: in %.0f s it is out of the %.0f that are tolerated",
			 ps_per_s, left_s, tolerated_ps);
		return text;
	}
	if (v->farthest_ps > fabs(v->moved_ps) + tolerated_ps / 3) {
		n += snprintf(text + n, size - (size_t)n, ", it was %.0f", v->farthest_ps);
	}
	n += snprintf(text + n, size - (size_t)n, " (%.0f are tolerated)", tolerated_ps);
	if (fabs(ps_per_s) >= AT_REST) {
		snprintf(text + n, size - (size_t)n, ", now %+.1f ps/s", ps_per_s);
	} else if (v->valid) {
		snprintf(text + n, size - (size_t)n, ", and does not move now");
	}
	return text;
}
