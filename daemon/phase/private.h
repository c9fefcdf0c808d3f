/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures of samples in the order of their times, for phase.c: TDEV, MTIE, a step, a line. No I/O.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PHASE_SAMPLES_MAX 6000u /* 600 s at 10 Hz; at a higher rate the window is shorter */

struct phase_sample {
	double s; /* monotonic */
	double x; /* ps, without wraps */
};

/*
 * Time deviation over tau, ITU-T G.810 appendix II: with N samples tau0 apart and n = tau / tau0,
 *
 *   TDEV(tau) = sqrt( 1 / (6 n^2 (N - 3n + 1)) sum_j ( sum_{i=j}^{n+j-1} x(i+2n) - 2 x(i+n) + x(i) )^2 )
 *
 * White phase noise of sigma yields sigma / sqrt(n). tau0 is the mean distance of the samples. NaN when
 * fewer than 3n samples, or when tau is shorter than tau0.
 */
double phase_tdev(const struct phase_sample *samples, uint32_t count, double tau_s);

/*
 * Maximum time interval error over tau, ITU-T G.810: the largest peak-to-peak of x in any n + 1
 * consecutive samples. NaN when there are not so many. At most PHASE_SAMPLES_MAX samples.
 */
double phase_mtie(const struct phase_sample *samples, uint32_t count, double tau_s);

#define PHASE_STEP_SAMPLES 300u /* to look at: 30 s at 10 Hz */

struct phase_step {
	uint32_t first; /* sample after it */
	double ps;
};

/*
 * A step among samples that follow a line otherwise. Three models are fitted by least squares: a line, a line with a
 * step, a line with a bend (a drift that begins). With n samples the step's likelihood ratio against the line is
 *
 *   L = n ln(S_line / S_step)      S: sum of the squared residuals
 *
 * True when L > 45 for one of the last 100 samples, L exceeds that of every bend by 12, and the step is at least
 * `least_ps`. The noise need not be known, and a step does not add to it, wherever in a second it is. After a step the
 * samples spread as before, or little compared with it: a few outliers are no step. How many steps are found, and what is
 * taken for one: tests/bench/bench_phase.c.
 */
bool phase_step(const struct phase_sample *samples, uint32_t count, double least_ps,
		struct phase_step *ret_step);

/* Whether what is left beside the line is no more than the differences of neighbours say that the noise is. */
bool phase_is_line(const struct phase_sample *samples, uint32_t count);
