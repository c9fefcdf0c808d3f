// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The lines of the time sources: which labels agree with each other, and which line is the best.
 */
#include <string.h>

#include "daemon/time/clock_private.h"

#define WEIGHT_MAX 16u

void clock_track_reset(struct clock_track *t)
{
	memset(t->line, 0, sizeof(t->line));
}

static struct clock_line *find(struct clock_track *t, int64_t offset)
{
	for (unsigned i = 0; i < t->lines; i++) {
		if (t->line[i].weight && t->line[i].offset == offset) {
			return &t->line[i];
		}
	}
	return NULL;
}

/* A place for a new line: a free one, or that of the weakest. */
static struct clock_line *place(struct clock_track *t)
{
	struct clock_line *weakest = &t->line[0];

	for (unsigned i = 1; i < t->lines; i++) {
		if (t->line[i].weight < weakest->weight) {
			weakest = &t->line[i];
		}
	}
	return weakest;
}

static void outvote(struct clock_track *t, const struct clock_line *by)
{
	for (unsigned i = 0; i < t->lines; i++) {
		if (&t->line[i] != by && t->line[i].weight) {
			t->line[i].weight--;
		}
	}
}

void clock_track_put(const struct clock *c, struct clock_track *t, uint64_t count, int64_t offset,
		     uint32_t credit)
{
	struct clock_line *l = find(t, offset);

	if (l && clock_heard(c, l->seen_ns)) {
		l->agree += count > l->count;
		l->count = count > l->count ? count : l->count;
		l->weight += l->weight < WEIGHT_MAX;
	} else {
		l = l ? l : place(t);
		*l = (struct clock_line){
			.offset = offset, .count = count, .weight = 1, .agree = credit};
	}
	l->seen_ns = c->now_ns;
	outvote(t, l);
}

const struct clock_line *clock_track_best(const struct clock *c, const struct clock_track *t,
					  uint32_t confirm)
{
	const struct clock_line *best = NULL;

	for (unsigned i = 0; i < t->lines; i++) {
		const struct clock_line *l = &t->line[i];

		if (l->weight && clock_heard(c, l->seen_ns) &&
		    (!best || l->weight > best->weight)) {
			best = l;
		}
	}
	return best && best->agree >= confirm ? best : NULL;
}
