/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See tally.h. */
#include "slowctl/fcmctl/show/tally.h"

#include <errno.h>
#include <stdlib.h>

#define OUTSIDE 200u /* one in so many entries, at either end */
#define TENTH	10u
#define REACH	3u /* beyond the lowest and the highest tenth, in distances of the two */

int tally_init(struct tally *t, uint32_t values)
{
	*t = (struct tally){.values = values, .least = UINT32_MAX};
	t->count = calloc(values, sizeof(*t->count));
	return t->count != NULL ? 0 : -ENOMEM;
}

void tally_fini(struct tally *t)
{
	free(t->count);
	t->count = NULL;
}

void tally_add(struct tally *t, uint64_t value)
{
	uint32_t v = value < t->values ? (uint32_t)value : t->values - 1;

	t->count[v]++;
	t->entries++;
	t->sum += v;
	t->least = v < t->least ? v : t->least;
	t->greatest = v > t->greatest ? v : t->greatest;
}

/* The least value with more than `below` entries up to it; there are more than that. */
static uint32_t value_after(const struct tally *t, uint64_t below)
{
	uint32_t v = t->least;

	for (uint64_t sum = t->count[v]; sum <= below; sum += t->count[v]) {
		v++;
	}
	return v;
}

uint32_t tally_median(const struct tally *t)
{
	return t->entries > 0 ? value_after(t, (t->entries - 1) / 2) : 0;
}

/* The least width of bins that are few enough for [low, high]. */
static uint32_t width_of(uint32_t low, uint32_t high)
{
	static const uint32_t steps[] = {1, 2, 5};
	uint32_t ten = 1;

	for (unsigned i = 0;; i++) {
		uint32_t width = steps[i % 3] * ten;

		if (high / width - low / width < TALLY_BINS) {
			return width;
		}
		ten *= i % 3 == 2 ? 10 : 1;
	}
}

/* The range of the bins: without a far tail, which would leave one bin for all the others. */
static void range_of(const struct tally *t, uint32_t *ret_low, uint32_t *ret_high)
{
	uint64_t last = t->entries - 1;
	uint32_t low = value_after(t, t->entries / OUTSIDE);
	uint32_t high = value_after(t, last - t->entries / OUTSIDE);
	uint32_t tenth = value_after(t, t->entries / TENTH);
	uint32_t ninth = value_after(t, last - t->entries / TENTH);
	uint32_t reach = REACH * (ninth - tenth);

	while (reach > 0 && (low + reach < tenth || t->count[low] == 0)) {
		low++;
	}
	while (reach > 0 && (high > ninth + reach || t->count[high] == 0)) {
		high--;
	}
	*ret_low = low;
	*ret_high = high;
}

void tally_fold(const struct tally *t, struct tally_fold *ret_fold)
{
	struct tally_fold f = {0};
	uint32_t low, high;

	if (t->entries == 0) {
		*ret_fold = f;
		return;
	}
	range_of(t, &low, &high);
	f.width = width_of(low, high);
	f.first = low / f.width * f.width;
	f.bins = high / f.width - low / f.width + 1;
	for (uint32_t v = t->least; v <= t->greatest; v++) {
		uint32_t bin = (v - f.first) / f.width;

		if (v < f.first) {
			f.below += t->count[v];
		} else if (bin >= f.bins) {
			f.above += t->count[v];
		} else {
			f.count[bin] += t->count[v];
		}
	}
	*ret_fold = f;
}
