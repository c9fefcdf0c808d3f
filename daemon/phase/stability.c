// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TDEV and MTIE in linear time: sums over n samples from running sums, extremes of a sliding window
 * from a queue of candidates.
 */
#include "daemon/phase/private.h"

#include <math.h>
#include <stdlib.h>

struct phase_series {
	uint32_t capacity, count;
	double first_s, last_s;
	double origin; /* the first x: all are kept relative to it, so that sums keep their digits */
	double *x;
	double *sum;	      /* sum[i] = x[0] + ... + x[i - 1] */
	uint32_t *low, *high; /* candidates for the window's minimum and maximum */
};

struct phase_series *phase_series_create(uint32_t capacity)
{
	struct phase_series *s = calloc(1, sizeof(*s));

	if (!s) {
		return NULL;
	}
	s->capacity = capacity;
	s->x = calloc(capacity, sizeof(*s->x));
	s->sum = calloc(capacity + 1, sizeof(*s->sum));
	s->low = calloc(capacity, sizeof(*s->low));
	s->high = calloc(capacity, sizeof(*s->high));
	if (!s->x || !s->sum || !s->low || !s->high) {
		phase_series_destroy(s);
		return NULL;
	}
	return s;
}

void phase_series_destroy(struct phase_series *s)
{
	if (!s) {
		return;
	}
	free(s->x);
	free(s->sum);
	free(s->low);
	free(s->high);
	free(s);
}

void phase_series_clear(struct phase_series *s)
{
	s->count = 0;
}

void phase_series_add(struct phase_series *s, const struct phase_sample *sample)
{
	if (s->count == s->capacity) {
		return;
	}
	if (!s->count) {
		s->first_s = sample->s;
		s->origin = sample->x;
	}
	s->last_s = sample->s;
	s->x[s->count++] = sample->x - s->origin;
}

/* Samples in tau; 0 when that cannot be said. */
static uint32_t samples_in(const struct phase_series *s, double tau_s)
{
	double n;

	if (s->count < 2 || s->last_s <= s->first_s) {
		return 0;
	}
	n = round(tau_s * (s->count - 1) / (s->last_s - s->first_s));
	return n >= 1 && n < s->count ? (uint32_t)n : 0;
}

double phase_tdev(struct phase_series *s, double tau_s)
{
	uint32_t n = samples_in(s, tau_s), terms;
	double squares = 0;

	if (!n || s->count < 3 * n) {
		return (double)NAN;
	}
	s->sum[0] = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		s->sum[i + 1] = s->sum[i] + s->x[i];
	}
	terms = s->count - 3 * n + 1;
	for (uint32_t j = 0; j < terms; j++) {
		double inner =
			s->sum[j + 3 * n] - 3 * s->sum[j + 2 * n] + 3 * s->sum[j + n] - s->sum[j];

		squares += inner * inner;
	}
	return sqrt(squares / (6.0 * n * n * terms));
}

double phase_mtie(struct phase_series *s, double tau_s)
{
	uint32_t n = samples_in(s, tau_s);
	uint32_t low_head = 0, low_tail = 0, high_head = 0, high_tail = 0;
	double most = 0;

	if (!n) {
		return (double)NAN;
	}
	for (uint32_t i = 0; i < s->count; i++) {
		double x = s->x[i], span;

		while (low_tail > low_head && s->x[s->low[low_tail - 1]] >= x) {
			low_tail--;
		}
		while (high_tail > high_head && s->x[s->high[high_tail - 1]] <= x) {
			high_tail--;
		}
		s->low[low_tail++] = i;
		s->high[high_tail++] = i;
		if (s->low[low_head] + n < i) {
			low_head++;
		}
		if (s->high[high_head] + n < i) {
			high_head++;
		}
		span = s->x[s->high[high_head]] - s->x[s->low[low_head]];
		most = i >= n ? fmax(most, span) : most;
	}
	return most;
}
