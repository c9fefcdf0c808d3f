/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stability of samples in the order of their times, for phase.c: TDEV and MTIE. No I/O.
 */
#pragma once

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
