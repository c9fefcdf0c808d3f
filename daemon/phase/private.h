/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stability of a series of samples, for phase.c: TDEV and MTIE. Pure; memory is taken at creation.
 */
#ifndef DAEMON_PHASE_PRIVATE_H
#define DAEMON_PHASE_PRIVATE_H

#include <stdint.h>

struct phase_sample {
	double s; /* monotonic */
	double x; /* ps, without wraps */
};

struct phase_series;
struct phase_series *phase_series_create(uint32_t capacity);
void phase_series_destroy(struct phase_series *s);
void phase_series_clear(struct phase_series *s);
void phase_series_add(struct phase_series *s, const struct phase_sample *sample);

/*
 * Time deviation over tau, ITU-T G.810 appendix II: with N samples tau0 apart and n = tau / tau0,
 *
 *   TDEV(tau) = sqrt( 1 / (6 n^2 (N - 3n + 1)) sum_j ( sum_{i=j}^{n+j-1} x(i+2n) - 2 x(i+n) + x(i) )^2 )
 *
 * White phase noise of sigma yields sigma / sqrt(n). tau0 is the mean distance of the samples. NaN when
 * fewer than 3n samples, or when tau is shorter than tau0.
 */
double phase_tdev(struct phase_series *s, double tau_s);

/*
 * Maximum time interval error over tau, ITU-T G.810: the largest peak-to-peak of x in any n + 1
 * consecutive samples. NaN when there are not so many.
 */
double phase_mtie(struct phase_series *s, double tau_s);

#endif
