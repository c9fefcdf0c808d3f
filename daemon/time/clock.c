// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The clock's state machine: see clock.h for the states, clock_private.h for the idea of lines. Inputs
 * (clock_inputs.c) draw lines; after each, clock_evaluate() looks at all of them once and decides label,
 * source and state.
 *
 * Who may do what to the running label:
 *   a source as good as the label's own, confirmed      agrees: confirm it; else relabel, new epoch
 *   a worse source                                      confirm an adopted one; label when there is none
 *   a PPS that moved the count                          carry the second over it, new epoch
 *   a restart of the board's counter; uncertainty over the limit   void it
 * gpsd contradicting, or naming an impossible date, is FAULT: the label stays, the flag says so. gpsd
 * overrules a label that it gave itself (to a predecessor, too) only when it keeps to the new one for long,
 * and none at all that the synchronised system clock sides with, nor while its own count of leap seconds
 * is not the table's. Without a label, the synchronised system clock's veto keeps gpsd from giving one.
 */
#include "daemon/time/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/time/clock_private.h"

#define FRAMES		  TDM_FRAMES_PER_SECOND
#define CORRECT_FACTOR	  10u  /* labels, x confirm, that it takes to overrule one that gpsd gave */
#define SYSTEM_NS	  10e6 /* uncertainty of a synchronised system clock, without PPS */
#define LEAP_SETTLED_NS	  (60 * CLOCK_SECOND_NS)
#define PROVISIONAL_NS	  1e9
#define SYSTEM_DIFFERS_NS 3000000000ull /* less is a host held up, or a leap second being stepped */
#define HOLDOVER_NEWS_NS  1000000000ull /* uncertainty alone is news once a second */

/* Uncertainty of the running label now, ns. */
static double clock_uncertainty_ns(const struct clock *c)
{
	double grown = 0;

	if (c->label.state != CLOCK_LOCKED && c->now_ns > c->confirmed_ns) {
		grown = c->config.holdover_ppb * 1e-9 * (double)(c->now_ns - c->confirmed_ns);
	}
	return c->base_ns + grown + (c->provisional ? PROVISIONAL_NS : 0);
}

/* ------------------------------------------------------------------ label */

void clock_reset_tracks(struct clock *c)
{
	clock_track_reset(&c->gpsd);
	clock_track_reset(&c->floors);
	clock_track_reset(&c->system);
}

void clock_void(struct clock *c, const char *why)
{
	if (clock_has_label(c)) {
		c->view.voids++;
	}
	c->label.anchor_count = 0;
	c->label.anchor_tai_ns = INT64_MIN;
	c->label.source = LABEL_NONE;
	c->adopted = false;
	c->unlabelled_ns = c->now_ns;
	c->void_reason = why;
	c->view.gps_minus_board_ns = INT64_MIN;
	c->view.system_minus_label_ns = INT64_MIN;
	c->system_differs_ns = 0;
	c->system_sides_ns = 0;
	c->contradictions = 0;
}

static void confirm_label(struct clock *c, enum label_source source, uint64_t when_ns,
			  double uncertainty_ns)
{
	c->label.source = (uint8_t)source;
	c->confirmed_ns = when_ns;
	c->base_ns = uncertainty_ns;
	c->adopted = false;
	c->open_to_all = false;
	c->provisional = false;
}

/* A label that ran is about to be replaced by "`count` begins at `tai_ns`". */
static void note_relabelling(struct clock *c, uint64_t count, int64_t tai_ns)
{
	int64_t by_ns = clock_offset_of(count, tai_ns) - clock_label_offset(c);
	int leap;

	c->view.relabels++;
	c->view.relabelled = (struct clock_relabelling){
		.when_ns = c->now_ns,
		.by_ns = by_ns,
		.utc_ns = label_utc_ns(&c->label, tai_ns, &leap),
		.epoch = c->label.time_epoch + 1,
	};
}

void clock_restore_relabelling(struct clock *c, const struct clock_relabelling *r)
{
	c->view.relabelled = *r;
}

/* A new label: a new time epoch. */
void clock_relabel(struct clock *c, enum label_source source, uint64_t count, int64_t tai_ns,
		   double uncertainty_ns)
{
	c->label.time_epoch++;
	c->label.anchor_count = count;
	c->label.anchor_tai_ns = tai_ns;
	c->contradictions = 0;
	c->system_sides_ns = 0;
	c->void_reason = "";
	confirm_label(c, source, c->now_ns, uncertainty_ns);
}

/* ------------------------------------------------------------------ evaluation */

/* 0 is the best. A model's own labels are worth nothing once real time is asked for. */
static unsigned rank(const struct clock *c, enum label_source source)
{
	switch (source) {
	case LABEL_EMULATOR:
		return c->emulated ? 0 : 8;
	case LABEL_GPSD:
		return 1;
	case LABEL_FLOORS:
		return 2;
	case LABEL_SYSTEM:
		return 3;
	default:
		return 9;
	}
}

/* Without a label, better sources get their time before a worse one may speak: about as long as gpsd
 * needs to connect and confirm. */
static bool may_label(const struct clock *c, enum label_source source)
{
	uint64_t silence = clock_silence_ns(c), waited = c->now_ns - c->unlabelled_ns;
	bool gpsd_coming = clock_track_best(c, &c->gpsd, 0);
	bool floors_coming = clock_track_best(c, &c->floors, 0);

	switch (source) {
	case LABEL_FLOORS:
		return !c->floors_spent && waited > (gpsd_coming ? 4 : 2) * silence;
	case LABEL_SYSTEM:
		return waited > (gpsd_coming || floors_coming ? 5 : 3) * silence;
	default:
		return true;
	}
}

static double source_uncertainty(const struct clock *c, enum label_source source)
{
	if (source == LABEL_SYSTEM && !clock_heard(c, c->view.last_pps_ns)) {
		/* The count runs freely: its second may begin anywhere in the system clock's. */
		return SYSTEM_NS + (c->view.system_minus_label_ns == INT64_MIN
					    ? (double)CLOCK_SECOND_NS / 2
					    : fabs((double)c->view.system_minus_label_ns));
	}
	return c->config.receiver_ns;
}

static void follow_line(struct clock *c, enum label_source source, const struct clock_line *line)
{
	double uncertainty = source_uncertainty(c, source);
	int64_t tai_ns = line->offset + (int64_t)line->count * TDM_FRAME_NS;

	c->source_good = source != LABEL_FLOORS || c->word_quality >= TDM_TIME_LOCKED;
	if (clock_has_label(c) && line->offset == clock_label_offset(c)) {
		/* A floor without receiver repeats what it was sent: that confirms nothing. */
		if (c->source_good) {
			confirm_label(c, source, line->seen_ns, uncertainty);
		}
		return;
	}
	if (clock_has_label(c)) {
		note_relabelling(c, line->count, tai_ns);
		if (c->view.system_minus_label_ns != INT64_MIN) {
			c->view.system_minus_label_ns -= c->view.relabelled.by_ns;
		}
	}
	clock_relabel(c, source, line->count, tai_ns, uncertainty);
}

/* `line` of `source` takes effect if the source may label now. True: worse sources may not. (Floors
 * without receiver confirm nothing, so a worse one may.) */
static bool consider(struct clock *c, enum label_source source, const struct clock_line *line)
{
	if (!line) {
		return false;
	}
	if (!clock_has_label(c)) {
		if (!may_label(c, source)) {
			return false;
		}
	} else if (rank(c, source) > rank(c, c->label.source) &&
		   !(c->open_to_all && line->offset == clock_label_offset(c) &&
		     may_label(c, source))) {
		return false;
	}
	follow_line(c, source, line);
	return c->source_good;
}

/* gpsd's line, when it may speak. Against a label of its own it has to keep to it for long: the board has
 * counted without a flaw since, so gpsd is as likely wrong now as it was then. One that it gave to a
 * predecessor, who was sure of it, is as good. */
static const struct clock_line *gpsd_line(const struct clock *c)
{
	const struct clock_line *line = clock_track_best(c, &c->gpsd, c->config.confirm);

	if (!line || clock_denies(c, line->offset)) {
		return NULL;
	}
	if (clock_has_label(c) && c->label.source == LABEL_GPSD &&
	    (!c->adopted || c->open_to_all) && !c->provisional &&
	    line->offset != clock_label_offset(c) &&
	    line->agree < CORRECT_FACTOR * c->config.confirm) {
		return NULL;
	}
	return line;
}

static void choose_source(struct clock *c)
{
	const struct clock_line *floors = clock_track_best(c, &c->floors, c->config.confirm);

	if (c->emulated) { /* the line is its own: see clock_own_time() */
		consider(c, LABEL_EMULATOR, floors);
		return;
	}
	/* The floors' receiver may be the one that gpsd reads. */
	if (floors && !clock_has_label(c) && clock_denies(c, floors->offset)) {
		floors = NULL;
	}
	if (consider(c, LABEL_GPSD, gpsd_line(c)) || consider(c, LABEL_FLOORS, floors)) {
		return;
	}
	if (c->config.system_clock) {
		consider(c, LABEL_SYSTEM, clock_track_best(c, &c->system, c->config.confirm));
	}
}

static bool in_fault(const struct clock *c)
{
	return !c->emulated && ((c->reject != CLOCK_REJECT_NONE && clock_heard(c, c->reject_ns)) ||
				(c->contradictions >= 2 && clock_heard(c, c->contradiction_ns)));
}

static bool any_line(const struct clock *c)
{
	return clock_track_best(c, &c->gpsd, 0) || clock_track_best(c, &c->floors, 0) ||
	       (c->config.system_clock && clock_track_best(c, &c->system, 0));
}

static enum clock_state state_of(const struct clock *c)
{
	if (in_fault(c)) {
		return CLOCK_FAULT;
	}
	if (!clock_has_label(c)) {
		return any_line(c) ? CLOCK_ACQUIRING : CLOCK_NO_TIME;
	}
	if (c->provisional) {
		return CLOCK_ACQUIRING;
	}
	if (!c->adopted && c->source_good && clock_heard(c, c->confirmed_ns) &&
	    (c->emulated || clock_heard(c, c->view.last_pps_ns))) {
		return CLOCK_LOCKED;
	}
	return CLOCK_HOLDOVER;
}

/* Holdover that has become too uncertain. The system clock without PPS is uncertain by nature: it counts
 * from when it falls silent. */
static bool spent(const struct clock *c)
{
	return clock_has_label(c) && c->config.fault_ns && c->label.state != CLOCK_LOCKED &&
	       !c->provisional &&
	       !(c->label.source == LABEL_SYSTEM && clock_heard(c, c->confirmed_ns)) &&
	       clock_uncertainty_ns(c) > c->config.fault_ns;
}

static void set_uncertainty(struct clock *c)
{
	double ns = clock_uncertainty_ns(c);

	if (!clock_has_label(c)) {
		c->label.uncertainty_ns = UINT32_MAX;
	} else {
		c->label.uncertainty_ns = ns < UINT32_MAX - 1 ? (uint32_t)ns : UINT32_MAX - 1;
	}
}

/* A minute after a leap second what was announced is the rule. */
static void settle_leap(struct clock *c)
{
	int64_t tai_ns;

	if (c->config.leaps.leap_tai_ns == INT64_MAX || !clock_has_label(c) || !c->board_seen) {
		return;
	}
	tai_ns = label_tai_ns(&c->label, c->board_count);
	if (tai_ns > c->config.leaps.leap_tai_ns + LEAP_SETTLED_NS) {
		c->config.leaps.tai_utc_s++;
		c->config.leaps.leap_tai_ns = INT64_MAX;
	}
}

void clock_evaluate(struct clock *c)
{
	enum clock_state before = c->label.state;

	choose_source(c);
	c->label.state = (uint8_t)state_of(c);
	if (spent(c)) {
		c->floors_spent = c->label.source == LABEL_FLOORS;
		clock_void(c, "holdover became too uncertain");
		c->label.state = (uint8_t)state_of(c);
	}
	settle_leap(c);
	c->label.tai_utc_s = c->config.leaps.tai_utc_s;
	c->label.leap_tai_ns = c->config.leaps.leap_tai_ns;
	c->label.leap = c->config.leaps.leap_tai_ns != INT64_MAX;
	set_uncertainty(c);
	if (c->label.state != before || !c->view.state_since_ns) {
		c->view.state_since_ns = c->now_ns;
	}
	clock_say(c);
}

void clock_at(struct clock *c, uint64_t now_ns)
{
	if (!c->created_ns) {
		c->created_ns = now_ns;
		c->unlabelled_ns = now_ns;
	}
	if (now_ns > c->now_ns) {
		c->now_ns = now_ns;
	}
}

/* ------------------------------------------------------------------ the rest */

struct clock *clock_create(const struct clock_config *config)
{
	struct clock *c = calloc(1, sizeof(*c));

	if (!c) {
		return NULL;
	}
	c->config = *config;
	c->gpsd.lines = c->system.lines = 1;
	c->floors.lines = CLOCK_LINES;
	c->view.satellites_used = -1;
	c->void_reason = "";
	c->view.reason = c->reason;
	c->view.gps_minus_board_ns = c->view.system_minus_label_ns = INT64_MIN;
	c->label.anchor_tai_ns = INT64_MIN;
	clock_evaluate(c);
	return c;
}

void clock_destroy(struct clock *c)
{
	free(c);
}

void clock_adopt(struct clock *c, const struct label *label, uint64_t now_ns)
{
	clock_at(c, now_ns);
	c->label.time_epoch = label->time_epoch;
	if (label->anchor_tai_ns != INT64_MIN && label->source > LABEL_NONE &&
	    label->source <= LABEL_EMULATOR && label->anchor_count % FRAMES == 0 &&
	    label->anchor_tai_ns % CLOCK_SECOND_NS == 0) {
		c->label.source = label->source;
		c->label.anchor_count = label->anchor_count;
		c->label.anchor_tai_ns = label->anchor_tai_ns;
		c->adopted = true;
		c->open_to_all = label->state == CLOCK_LOCKED || label->state == CLOCK_ACQUIRING;
		c->confirmed_ns = now_ns;
		c->base_ns = label->uncertainty_ns == UINT32_MAX ? c->config.receiver_ns
								 : label->uncertainty_ns;
	}
	clock_evaluate(c);
}

void clock_board_gone(struct clock *c, bool gone)
{
	c->board_gone = gone;
}

void clock_emulated(struct clock *c, bool own_labels)
{
	if (c->emulated == own_labels) {
		return;
	}
	c->emulated = own_labels;
	if (!c->adopted) {
		clock_void(c, "the emulator changed its pace");
	}
	clock_reset_tracks(c);
	clock_evaluate(c);
}

void clock_leap(struct clock *c, const struct leap_table *table)
{
	struct leap_table old = c->config.leaps;
	int64_t utc_s, moved;
	int leap;

	c->config.leaps = *table;
	if (clock_has_label(c) && c->board_seen) {
		utc_s = label_utc_ns(&c->label, label_tai_ns(&c->label, c->board_count), &leap) /
			CLOCK_SECOND_NS;
		moved = clock_tai_utc_at(table, utc_s) - clock_tai_utc_at(&old, utc_s);
		if (moved) {
			int64_t tai_ns =
				label_tai_ns(&c->label, c->board_count) + moved * CLOCK_SECOND_NS;

			clock_reset_tracks(c);
			c->label.tai_utc_s = table->tai_utc_s;
			c->label.leap_tai_ns = table->leap_tai_ns;
			note_relabelling(c, c->board_count, tai_ns);
			clock_relabel(c, c->label.source, c->label.anchor_count,
				      c->label.anchor_tai_ns + moved * CLOCK_SECOND_NS, c->base_ns);
		}
	}
	clock_evaluate(c);
}

void clock_tick(struct clock *c, uint64_t now_ns)
{
	clock_at(c, now_ns);
	clock_evaluate(c);
}

bool clock_take_label(struct clock *c, struct label *ret_label)
{
	if (c->ever_taken && !label_differs(&c->label, &c->taken) &&
	    (c->label.uncertainty_ns == c->taken.uncertainty_ns ||
	     c->now_ns - c->taken_ns < HOLDOVER_NEWS_NS)) {
		return false;
	}
	c->taken = c->label;
	c->taken_ns = c->now_ns;
	c->ever_taken = true;
	*ret_label = c->label;
	return true;
}

void clock_get_view(const struct clock *c, struct clock_view *ret_view)
{
	int64_t utc_s = c->board_seen ? c->realtime_ns / CLOCK_SECOND_NS : 0;

	*ret_view = c->view;
	ret_view->label = c->label;
	ret_view->gps_fix = c->view.gps_fix && clock_heard(c, c->view.last_gps_ns);
	ret_view->system_disagrees =
		c->system_differs_ns && c->now_ns - c->system_differs_ns >= SYSTEM_DIFFERS_NS;
	ret_view->leap_table_expired =
		c->config.leaps.expires_utc_s && utc_s > c->config.leaps.expires_utc_s;
	ret_view->leap_mismatch = c->gps_leap_mismatch || c->word_leap_mismatch;
}
