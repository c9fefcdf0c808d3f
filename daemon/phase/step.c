// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A step of the phase among samples that follow a line: private.h has the test. No I/O.
 *
 * r are the residuals of the line fitted to all samples, t their times about the mean. A further term u explains
 *
 *   gain(u) = (u.r)^2 / (u.u - (u.1)^2 / n - (u.t)^2 / t.t)
 *
 * of their squares; divided by n, the sums over all samples from a candidate to the last are all that is needed.
 */
#include <math.h>

#include "daemon/phase/private.h"

#define RESOLUTION_PS 1.0 /* of the board's register: no sample is better than that */
#define BEFORE	      20u /* samples before a step, at least */
#define AFTER	      8u  /* after it, at least */
#define AFTER_MAX     100u
#define CERTAIN	      45.0
#define NO_BEND	      12.0
#define LIKE_BEFORE   6.0
#define CLEAR	      16.0
#define LINE_SIGMAS   8.0

/* A line by least squares: x = at + slope * (s - middle). */
struct line {
	double middle, at, slope;
	double spread; /* t.t */
	double rest;   /* r.r */
};

static struct line fit(const struct phase_sample *samples, uint32_t n)
{
	struct line l = {0};
	double product = 0;

	for (uint32_t i = 0; i < n; i++) {
		l.middle += (samples[i].s - samples[0].s) / n;
		l.at += (samples[i].x - samples[0].x) / n;
	}
	l.middle += samples[0].s;
	l.at += samples[0].x;
	for (uint32_t i = 0; i < n; i++) {
		double t = samples[i].s - l.middle;

		l.spread += t * t;
		product += t * (samples[i].x - l.at);
	}
	l.slope = l.spread > 0 ? product / l.spread : 0;
	for (uint32_t i = 0; i < n; i++) {
		double r = samples[i].x - l.at - l.slope * (samples[i].s - l.middle);

		l.rest += r * r;
	}
	return l;
}

/* Of the samples from a candidate on. */
struct sums {
	double n, r, t, tt, tr, rr;
};

/* What a step before sample i explains, and how large it is. */
static double step_gain(const struct sums *s, const struct line *l, uint32_t n, double *ret_ps)
{
	double own = s->n - s->n * s->n / n - s->t * s->t / l->spread;

	*ret_ps = s->r / own;
	return s->r * s->r / own;
}

/* What a bend at the time `at` explains. */
static double bend_gain(const struct sums *s, const struct line *l, uint32_t n, double at)
{
	double sum = s->t - s->n * at, along = s->tt - at * s->t, with = s->tr - at * s->r;
	double own =
		s->tt - 2 * at * s->t + s->n * at * at - sum * sum / n - along * along / l->spread;

	return own > 0 ? with * with / own : 0;
}

/* A few outliers are no step: after a step the spread is as before, or small compared with it. `rest`: squares of all. */
static bool stays(const struct sums *after, uint32_t n, double rest, double step_ps)
{
	double squares = after->rr - after->r * after->r / after->n, spread = squares / after->n;

	return spread < LIKE_BEFORE * (rest - squares) / (n - after->n) ||
	       step_ps * step_ps > CLEAR * spread;
}

static double likelihood(uint32_t n, double rest, double gain)
{
	return n * log(rest / (rest - gain));
}

bool phase_is_line(const struct phase_sample *samples, uint32_t count)
{
	struct line l = fit(samples, count);
	double noise = count * RESOLUTION_PS * RESOLUTION_PS;

	for (uint32_t i = 1; i < count; i++) {
		double d = samples[i].x - samples[i - 1].x -
			   l.slope * (samples[i].s - samples[i - 1].s);

		noise += d * d / 2;
	}
	return l.rest <= noise * (1 + LINE_SIGMAS / sqrt(count));
}

bool phase_step(const struct phase_sample *samples, uint32_t count, double least_ps,
		struct phase_step *ret_step)
{
	double step = 0, bend = 0, least = count * RESOLUTION_PS * RESOLUTION_PS, whole;
	struct sums s = {0}, after = {0};
	struct line l;

	if (count < BEFORE + AFTER) {
		return false;
	}
	l = fit(samples, count);
	for (uint32_t i = count; i-- > 1;) {
		double t = samples[i].s - l.middle, r = samples[i].x - l.at - l.slope * t;

		s.n++;
		s.r += r;
		s.t += t;
		s.tt += t * t;
		s.tr += t * r;
		s.rr += r * r;
		if (s.n >= AFTER && s.n <= AFTER_MAX && i >= BEFORE) {
			double ps, gain = step_gain(&s, &l, count, &ps);

			if (gain > step) {
				step = gain;
				after = s;
				*ret_step = (struct phase_step){.first = i, .ps = ps};
			}
		}
		bend = fmax(bend, bend_gain(&s, &l, count, samples[i - 1].s - l.middle));
	}
	whole = l.rest + least;
	return likelihood(count, whole, step) > CERTAIN &&
	       likelihood(count, whole, step) > likelihood(count, whole, bend) + NO_BEND &&
	       fabs(ret_step->ps) >= least_ps && stays(&after, count, whole - step, ret_step->ps);
}
