// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TDEV and MTIE in linear time: the inner sum of TDEV moves on by one sample a step, extremes of a sliding window come
 * from a queue of candidates.
 */
#include "daemon/phase/private.h"

#include <assert.h>
#include <math.h>

/* Samples in tau; 0 when that cannot be said. */
static uint32_t samples_in(const struct phase_sample *x, uint32_t count, double tau_s)
{
	double n;

	if (count < 2 || x[count - 1].s <= x[0].s) {
		return 0;
	}
	n = round(tau_s * (count - 1) / (x[count - 1].s - x[0].s));
	return n >= 1 && n < count ? (uint32_t)n : 0;
}

double phase_tdev(const struct phase_sample *x, uint32_t count, double tau_s)
{
	uint32_t n = samples_in(x, count, tau_s), terms;
	double squares = 0, inner = 0;

	if (!n || count < 3 * n) {
		return (double)NAN;
	}
	for (uint32_t i = 0; i < n; i++) {
		inner += (x[i + 2 * n].x - x[i + n].x) - (x[i + n].x - x[i].x);
	}
	terms = count - 3 * n + 1;
	for (uint32_t j = 0;; j++) {
		squares += inner * inner;
		if (j + 1 == terms) {
			return sqrt(squares / (6.0 * n * n * terms));
		}
		inner += (x[j + 3 * n].x - x[j].x) - 3 * (x[j + 2 * n].x - x[j + n].x);
	}
}

/* The end of a window's candidates for its smallest (sign 1) or largest (-1) x; the first is it. */
struct candidates {
	uint32_t head, tail, at[PHASE_SAMPLES_MAX];
};

/* Sample `i` enters the window, and what lies more than n before it leaves. Returns the extreme. */
static double slide(struct candidates *c, const struct phase_sample *x, uint32_t i, uint32_t n,
		    int sign)
{
	while (c->tail > c->head && sign * x[c->at[c->tail - 1]].x >= sign * x[i].x) {
		c->tail--;
	}
	c->at[c->tail++] = i;
	c->head += c->at[c->head] + n < i;
	return x[c->at[c->head]].x;
}

double phase_mtie(const struct phase_sample *x, uint32_t count, double tau_s)
{
	uint32_t n = samples_in(x, count, tau_s);
	struct candidates low = {.head = 0}, high = {.head = 0};
	double most = 0;

	assert(count <= PHASE_SAMPLES_MAX);
	if (!n) {
		return (double)NAN;
	}
	for (uint32_t i = 0; i < count; i++) {
		double span = -slide(&low, x, i, n, 1) + slide(&high, x, i, n, -1);

		most = i >= n ? fmax(most, span) : most;
	}
	return most;
}
