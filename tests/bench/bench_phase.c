/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How well steps of a link's phase are distinguished from noise and from the start of a drift: bench-phase [MONTHS].
 *
 * Samples are 10 a second, whole picoseconds, with white noise of 20 ps rms, looked at as phase.c does: three times a second,
 * the last 30 s. A step or a drift begins at a random moment. Printed are the part of the steps that is found within
 * 5 s; the part of drifts whose begin is taken for a step; and false steps in MONTHS of noise alone.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/phase/private.h"

#define RATE	     10u /* a second */
#define NOISE_PS     20.0
#define EVERY	     3u	  /* samples between two looks */
#define LEAST_PS     20.0 /* a fifth of the usual tolerance */
#define TRIALS	     2000u
#define BEFORE	     600u
#define AFTER	     400u
#define MONTH	     (30.0 * 86400 * RATE) /* samples */
#define NOISE_LENGTH 36000u

static uint64_t state = 0x9e3779b97f4a7c15ull;

/* xorshift64 */
static double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / 9007199254740992.0;
}

static double noise(void)
{
	double r = sqrt(-2 * log(1 - uniform()));

	return NOISE_PS * r * cos(2 * M_PI * uniform());
}

static bool look(const struct phase_sample *samples, unsigned count)
{
	unsigned n = count < PHASE_STEP_SAMPLES ? count : PHASE_STEP_SAMPLES;
	struct phase_step step;

	return count % EVERY == 0 && phase_step(samples + count - n, n, LEAST_PS, &step);
}

/* Samples until a step is found after `step_ps` and a drift of `ps_per_s` have begun; AFTER: none is. */
static unsigned trial(double step_ps, double ps_per_s)
{
	static struct phase_sample samples[BEFORE + EVERY + AFTER];
	unsigned begin = BEFORE + (unsigned)(uniform() * EVERY);

	for (unsigned i = 0; i < begin + AFTER; i++) {
		double since = i < begin ? 0 : (double)(i - begin) / RATE;

		samples[i].s = (double)i / RATE;
		samples[i].x = floor((i < begin ? 0 : step_ps) + since * ps_per_s + noise());
		if (i >= begin && look(samples, i + 1)) {
			return i - begin;
		}
	}
	return AFTER;
}

static double found_within(double step_ps, double ps_per_s, unsigned samples)
{
	unsigned found = 0;

	for (unsigned i = 0; i < TRIALS; i++) {
		found += trial(step_ps, ps_per_s) < samples;
	}
	return (double)found / TRIALS;
}

static unsigned false_steps(double months)
{
	static struct phase_sample samples[NOISE_LENGTH];
	double left = months * MONTH;
	unsigned found = 0;

	for (; left > 0; left -= NOISE_LENGTH) {
		for (unsigned i = 0; i < NOISE_LENGTH; i++) {
			samples[i] =
				(struct phase_sample){.s = (double)i / RATE, .x = floor(noise())};
			found += look(samples, i + 1);
		}
	}
	return found;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		double step_ps, ps_per_s;
		unsigned within;
		const char *goal;
	} figures[] = {
		{"phase_step_of_30_ps", 30, 0, 50, "-"},
		{"phase_step_of_50_ps", 50, 0, 50, "0.95/0.98"},
		{"phase_step_of_100_ps", 100, 0, 50, "0.99/1.0"},
		{"phase_drift_of_3_ps_s_as_step", 0, 3, AFTER, "0.02/0.005"},
		{"phase_drift_of_9_ps_s_as_step", 0, 9, AFTER, "0.02/0.005"},
		{"phase_drift_of_50_ps_s_as_step", 0, 50, AFTER, "0.02/0.005"},
	};
	double months = argc > 1 ? atof(argv[1]) : 1;

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		printf("bench %s %.4f ratio goal %s\n", figures[i].name,
		       found_within(figures[i].step_ps, figures[i].ps_per_s, figures[i].within),
		       figures[i].goal);
	}
	printf("bench phase_false_steps_a_month %.4f count goal 1/0.1\n",
	       false_steps(months) / months);
	printf("# phase: %u trials each, %.0f ps rms, %.2f months of a link\n", TRIALS, NOISE_PS,
	       months);
	return 0;
}
