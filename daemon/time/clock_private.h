/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the clock: its state and decisions (clock.c), its inputs (clock_inputs.c), its sources
 * (clock_sources.c) and the texts for the operator (clock_say.c). Besides them only test_clock_rules.c includes this.
 *
 * A source says "board count N begins at TAI T". With 125 000 ns a count that is a straight line,
 * known by one number: offset = T - N x 125 000. Two labels agree when their offsets are equal, to
 * the ns; so does a label with the running one. All anchors are counts that begin a second
 * (multiples of 8000) and whole TAI seconds.
 */
#pragma once

#include "daemon/time/clock.h"

#define CLOCK_SECOND_NS 1000000000ll
#define CLOCK_NO_OFFSET INT64_MIN
/* For so long the host's clock can be computed from its last reading. */
#define CLOCK_BOARD_FRESH_NS 2000000000ull
#define CLOCK_PPS_REACH_NS   900000000ull /* a TPV belongs to the PPS at most this long before it */

/* A line of a source, and how often it was confirmed. */
struct clock_line {
	int64_t offset;
	uint32_t agree;	 /* seconds that fell on it after the first */
	uint32_t weight; /* 0: unused. Grows with each label on it, shrinks with each beside it */
	uint64_t count;	 /* the last second on it */
	uint64_t seen_ns;
};

/* The lines of one source. gpsd and the system clock have one line: a label beside it starts
 * another. Floors have up to four: each keeps its line until the others have outvoted it. */
#define CLOCK_LINES 4u
struct clock_track {
	struct clock_line line[CLOCK_LINES];
	unsigned lines; /* 1 or CLOCK_LINES */
};

enum clock_reject { CLOCK_REJECT_NONE, CLOCK_REJECT_EARLY, CLOCK_REJECT_FAR };

struct clock {
	struct clock_config config;
	struct clock_view view; /* without what clock_get_view() computes */
	uint64_t now_ns;	/* the latest monotonic time seen */
	uint64_t created_ns;
	bool emulated;
	bool board_gone;

	struct label label; /* running; anchor_tai_ns INT64_MIN: none */
	bool adopted;	    /* the previous daemon's, no source has confirmed it yet */
	bool open_to_all;   /* it was good: a worse source than its own may confirm it as well */
	bool provisional;   /* carried over a moved count, not confirmed yet */
	bool source_good;   /* the source calls itself good (floors: LOCKED) */
	bool floors_spent;  /* floors without receiver have used up their holdover */
	uint64_t confirmed_ns;
	double base_ns;		/* uncertainty at confirmed_ns */
	uint64_t unlabelled_ns; /* since when there is no label */
	char reason[240];
	const char *holdover_by; /* what was last missing; NULL: nothing yet */
	const char *void_reason; /* why the last label was given up; "" when one runs */

	struct clock_track gpsd, floors, system;

	uint64_t connected_ns; /* since when gpsd answers */
	uint64_t last_fix_ns, last_whole_ns;
	uint64_t last_label_ns; /* one that met a PPS */
	enum clock_reject reject;
	uint64_t reject_ns;
	int64_t reject_utc_s;
	double reject_by_s;
	uint32_t contradictions; /* in a row */
	uint64_t contradiction_ns, late_ns;
	bool gps_leap_mismatch, word_leap_mismatch;

	uint8_t word_quality;

	bool pps_seen;
	uint64_t pps_count;

	bool board_seen;
	uint64_t board_count, board_ns;
	int64_t realtime_ns;	    /* at board_ns */
	uint64_t system_differs_ns; /* since when the synchronised one is too far off; 0: not */
	uint64_t system_sides_ns;   /* when it last named the label's second; 0: never */

	struct label taken; /* as clock_take_label() last gave it */
	bool ever_taken;
	uint64_t taken_ns;
};

static inline bool clock_has_label(const struct clock *c)
{
	return c->label.anchor_tai_ns != INT64_MIN;
}

static inline bool clock_within(uint64_t then_ns, uint64_t reach_ns, uint64_t now_ns)
{
	return then_ns && (now_ns < then_ns || now_ns - then_ns <= reach_ns);
}

static inline uint64_t clock_silence_ns(const struct clock *c)
{
	return c->config.silence_ms * 1000000ull;
}

/* An input that came at `then_ns` (0: never) is not silent yet. */
static inline bool clock_heard(const struct clock *c, uint64_t then_ns)
{
	return clock_within(then_ns, clock_silence_ns(c), c->now_ns);
}

/* The UTC second after the next leap second; INT64_MAX: none announced. */
static inline int64_t clock_leap_utc_s(const struct leap_table *t)
{
	return t->leap_tai_ns == INT64_MAX ? INT64_MAX
					   : t->leap_tai_ns / CLOCK_SECOND_NS - t->tai_utc_s;
}

/* TAI-UTC at a UTC second; the second after 23:59:60 has the new one. */
static inline int64_t clock_tai_utc_at(const struct leap_table *t, int64_t utc_s)
{
	return t->tai_utc_s + (utc_s >= clock_leap_utc_s(t));
}

static inline int64_t clock_offset_of(uint64_t count, int64_t tai_ns)
{
	return tai_ns - (int64_t)count * TDM_FRAME_NS;
}

static inline int64_t clock_label_offset(const struct clock *c)
{
	return clock_has_label(c) ? clock_offset_of(c->label.anchor_count, c->label.anchor_tai_ns)
				  : CLOCK_NO_OFFSET;
}

/* ---- clock_sources.c ---- */
void clock_track_reset(struct clock_track *t);
/* A label. `credit`: what a line that begins with it has in advance, because it agrees with the running label. A silent
 * line begins again. */
void clock_track_put(const struct clock *c, struct clock_track *t, uint64_t count, int64_t offset,
		     uint32_t credit);
/* The strongest line that is not silent and was confirmed `confirm` times; NULL. With confirm 0: any line at all. */
const struct clock_line *clock_track_best(const struct clock *c, const struct clock_track *t,
					  uint32_t confirm);
/* How far the system clock may be from a label that it confirms, ns. */
int64_t clock_side_ns(const struct clock *c);
/* Why `offset` does not become the label, however long gpsd repeats it. */
enum clock_denial { CLOCK_NOT_DENIED, CLOCK_DENIED_BY_SYSTEM, CLOCK_DENIED_BY_LEAPS };
enum clock_denial clock_denies(const struct clock *c, int64_t offset);
/* UTC by a line less the system clock, ns, at the last reading of the board's count. */
int64_t clock_line_minus_system(const struct clock *c, int64_t offset);
/* The system clock was read: finds whether it confirms the label. */
void clock_note_side(struct clock *c);

/* ---- clock.c ---- */
/* For the inputs. Every input begins with its time and ends with the evaluation. */
void clock_at(struct clock *c, uint64_t now_ns);
void clock_evaluate(struct clock *c);
void clock_reset_tracks(struct clock *c);
/* Discard the running label. `why` is a string literal. */
void clock_void(struct clock *c, const char *why);
/* A new label: a new time epoch. */
void clock_relabel(struct clock *c, enum label_source source, uint64_t count, int64_t tai_ns,
		   double uncertainty_ns);
/* Reason and action for the state c is in; clock_say.c. */
void clock_say(struct clock *c);
