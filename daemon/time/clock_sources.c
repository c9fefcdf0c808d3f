// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The clock's sources: their lines, which of the labels agree with each other, and which line is
 * the best; the synchronised system clock: which label it confirms, and its veto.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/time/clock_private.h"

#define WEIGHT_MAX	 16u
#define SYSTEM_SECOND_NS 500000000ll   /* nearer it names a second, however strict the tolerance */
#define SYSTEM_SIDES_NS	 3000000000ull /* one reading that a busy host delayed changes no side */

/* --- lines --- */

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

/* --- the system clock --- */

int64_t clock_side_ns(const struct clock *c)
{
	int64_t tolerance_ns = c->config.system_tolerance_ms * 1000000ll;

	return tolerance_ns > SYSTEM_SECOND_NS ? tolerance_ns : SYSTEM_SECOND_NS;
}

void clock_note_side(struct clock *c)
{
	if (c->view.system_synced && c->config.system_tolerance_ms && !c->emulated &&
	    clock_has_label(c) && llabs(c->view.system_minus_label_ns) <= clock_side_ns(c)) {
		c->system_sides_ns = c->now_ns;
	}
}

int64_t clock_line_minus_system(const struct clock *c, int64_t offset)
{
	int64_t tai_ns = offset + (int64_t)c->board_count * TDM_FRAME_NS;
	int leap;

	return label_utc_ns(&c->label, tai_ns, &leap) - c->realtime_ns;
}

enum clock_denial clock_denies(const struct clock *c, int64_t offset)
{
	if (!clock_has_label(c)) {
		return c->view.system_synced && c->config.system_tolerance_ms &&
				       clock_within(c->board_ns, CLOCK_BOARD_FRESH_NS, c->now_ns) &&
				       llabs(clock_line_minus_system(c, offset)) > clock_side_ns(c)
			       ? CLOCK_DENIED_BY_SYSTEM
			       : CLOCK_NOT_DENIED;
	}
	if (offset == clock_label_offset(c)) {
		return CLOCK_NOT_DENIED;
	}
	if (c->gps_leap_mismatch) {
		return CLOCK_DENIED_BY_LEAPS;
	}
	/* Nearer to the label than this, the system clock cannot distinguish the two. */
	return clock_within(c->system_sides_ns, SYSTEM_SIDES_NS, c->now_ns) &&
			       llabs(offset - clock_label_offset(c)) >= 2 * clock_side_ns(c)
		       ? CLOCK_DENIED_BY_SYSTEM
		       : CLOCK_NOT_DENIED;
}
