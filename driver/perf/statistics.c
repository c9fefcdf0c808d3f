/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Percentiles and histograms of samples: see statistics.h. */
#include "driver/perf/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int samples_create(struct samples *s, size_t room)
{
	*s = (struct samples){.ns = calloc(room, sizeof(*s->ns)), .room = room};
	return s->ns != NULL ? 0 : -ENOMEM;
}

void samples_destroy(struct samples *s)
{
	free(s->ns);
	*s = (struct samples){0};
}

void samples_add(struct samples *s, uint64_t ns)
{
	if (s->count < s->room) {
		s->ns[s->count++] = ns;
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t samples_quantile(const struct samples *s, double q)
{
	/* A share times a count that should be whole may come out a hair above it. */
	double rank = ceil(q * (double)s->count - 1e-9);

	if (s->count == 0) {
		return 0;
	}
	if (rank < 1) {
		return s->ns[0];
	}
	return s->ns[rank > (double)s->count ? s->count - 1 : (size_t)rank - 1];
}

struct summary samples_summary(struct samples *s)
{
	struct summary r = {.count = s->count};
	double sum = 0;

	if (s->count == 0) {
		return r;
	}
	qsort(s->ns, s->count, sizeof(*s->ns), compare);
	for (size_t i = 0; i < s->count; i++) {
		sum += (double)s->ns[i];
	}
	r.min = s->ns[0];
	r.max = s->ns[s->count - 1];
	r.p10 = samples_quantile(s, 0.10);
	r.p50 = samples_quantile(s, 0.50);
	r.p99 = samples_quantile(s, 0.99);
	r.mean = sum / (double)s->count;
	return r;
}

/* ---------------------------------------------------------------- histogram */

static unsigned bin_of(uint64_t ns)
{
	unsigned octave;

	if (ns < 4) {
		return (unsigned)ns;
	}
	octave = 63 - (unsigned)__builtin_clzll(ns);
	return 4 * (octave - 1) + (unsigned)(ns >> (octave - 2) & 3);
}

/* The smallest value of a bin; its upper end is the next one's. */
static uint64_t bin_low(unsigned bin)
{
	if (bin < 4) {
		return bin;
	}
	if (bin >= HISTOGRAM_BINS) {
		return UINT64_MAX;
	}
	return (uint64_t)(4 + bin % 4) << (bin / 4 - 1);
}

unsigned samples_histogram(const struct samples *s, struct bin ret_bins[HISTOGRAM_BINS])
{
	size_t counts[HISTOGRAM_BINS] = {0};
	unsigned first = HISTOGRAM_BINS, last = 0, n = 0;

	for (size_t i = 0; i < s->count; i++) {
		unsigned bin = bin_of(s->ns[i]);

		counts[bin]++;
		first = bin < first ? bin : first;
		last = bin > last ? bin : last;
	}
	for (unsigned i = first; i < HISTOGRAM_BINS && i <= last; i++) {
		ret_bins[n++] = (struct bin){bin_low(i), bin_low(i + 1), counts[i]};
	}
	return n;
}
