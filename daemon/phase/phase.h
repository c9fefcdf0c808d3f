/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The phase of a link: one struct per link, a state machine without I/O. Samples in (10 Hz),
 * statistics, verdicts and rows out.
 *
 * Phase is in ps on a circle of 12 500 (the 12.5 ns word clock); means and differences are circular,
 * differences in -6250..6249. Total delay = frames x 125 us + bytes x 12.5 ns + bits x 1.25 ns + phase.
 *
 * A re-lock is judged against the link's reference on the total delay: |d| <= tolerance PASS;
 * within tolerance of n x 1250 ps (n != 0) SLIP n; else JUMP, or DRIFT where the last lock had drifted there.
 * Without reference: the first good mean becomes it (FIRST). Slow one-signed change of the mean away from the reference: DRIFT, reported when the mean is out of
 * drift_ps, or is out of the tolerance and by its slope will be out of drift_ps in 30 s. A displaced lock
 * (slipped, jumped) drifts from where it came back, unless it comes home. A step
 * inside a lock, of which the board knows nothing, begins a lock that is judged at once (and is not
 * counted as a re-lock). A new lock has no verdict until it is judged; the previous verdict does not apply to it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PHASE_WRAP_PS 12500
#define PHASE_UI_PS   1250
#define PHASE_BINS    1250 /* of the histogram */
#define PHASE_BIN_PS  (PHASE_WRAP_PS / PHASE_BINS)

struct phase_reading {
	uint32_t phase_ps; /* 0..12499 */
	uint8_t rtt_frames;
	uint16_t rtt_bytes;
	uint8_t rtt_bits;
	uint32_t aligns;       /* alignments gained since board boot: a new value = a re-lock */
	uint32_t measurements; /* the board's since the last align; 0: phase_ps says nothing yet */
	bool locked;
};

struct phase_reference {
	bool set;
	double phase_ps;
	uint8_t rtt_frames;
	uint16_t rtt_bytes;
	uint8_t rtt_bits;
	int64_t time_ns; /* UTC since 1970; 0 in one that the first lock made: the caller knows the time */
};

enum phase_verdict { PHASE_NONE, PHASE_FIRST, PHASE_PASS, PHASE_SLIP, PHASE_JUMP, PHASE_DRIFT };
const char *
phase_verdict_name(enum phase_verdict v); /* "none","first","PASS","SLIP","JUMP","DRIFT" */

struct phase_judgement {
	enum phase_verdict verdict;
	int slip;	      /* SLIP: n */
	double difference_ps; /* of the total delay against the reference, not wrapped */
	double mean_ps, sigma_ps;
	double step_ps; /* the step that it is about; 0: it is about a new lock, or a drift */
	bool drifted;	/* DRIFT: a new lock came back where the phase had drifted to */
	uint32_t samples;
	uint64_t time_ns; /* monotonic: of the last sample, or of the step */
};

/* One second of samples, for the history. */
struct phase_row {
	double mean_ps, sigma_ps, min_ps, max_ps; /* min and max relative to the mean */
	uint32_t samples;
	uint8_t rtt_frames;
	uint16_t rtt_bytes;
	uint8_t rtt_bits;
};

/* What the last daemon knew of a link. */
struct phase_past {
	bool set;
	struct phase_row row; /* its last second after that; without samples: none */
	struct phase_judgement
		of_lock; /* its last verdict that is no DRIFT: slip and difference_ps, too */
};

struct phase_config {
	double tolerance_ps;	 /* of PASS (100) */
	double drift_ps;	 /* mean may move so far from the reference before DRIFT (300) */
	uint32_t relock_samples; /* samples of a new lock before it is judged (5); 1..64 */
};

/* How long a lock may go without a measurement (the board makes ten a second), and without a verdict (the
 * most samples that can be asked for take 6.4 s). */
#define PHASE_SILENT_NS	  3000000000ull
#define PHASE_UNJUDGED_NS 10000000000ull

struct phase_view {
	bool locked, valid; /* valid: measured, and not silent */
	bool silent;	    /* locked, but no measurement for PHASE_SILENT_NS */
	bool unjudged;	    /* locked for PHASE_UNJUDGED_NS, but not judged */
	uint64_t lock_ns;   /* monotonic: begin of the lock, or of the step inside it */
	uint64_t heard_ns;  /* of the last measurement, or lock_ns when that is newer */
	struct phase_reference reference;
	struct phase_judgement
		last; /* verdict on this lock; DRIFT while it drifts, unless it is displaced */
	double mean_ps, sigma_ps, peak_to_peak_ps; /* since the last lock or 600 s */
	double slope_ps_per_s; /* least squares, since the last lock or 60 s; NaN where no line fits */
	double second_ps;      /* mean phase of the last second */
	double difference_ps; /* of the last 2 s' mean total delay against the reference */
	bool drifting;
	double moved_ps; /* of a drift: from the reference, or from where a displaced lock came back */
	double farthest_ps;    /* largest |moved_ps| of the current drift; 0: none */
	double drift_ps_per_s; /* slope of the last 20 s; NaN where it is not certain */
	uint32_t samples;
	uint64_t relocks, passes, slips, jumps, drifts;
	uint64_t last_sample_ns; /* monotonic, 0: never */
	struct phase_reading reading;
	/* TDEV and MTIE over 1, 10, 100 s, ps; NaN when there are too few samples. */
	double tdev_ps[3], mtie_ps[3];
};

/* "the phase drifts: 110 ps from the reference, +9.0 ps/s: ...". Returns text. */
const char *phase_say_drift(const struct phase_view *v, double tolerated_ps, char *text,
			    size_t size);

struct phase;
struct phase *phase_create(const struct phase_config *config);
void phase_destroy(struct phase *p);
void phase_set_reference(struct phase *p, const struct phase_reference *reference);
/* The next lock is judged as after what was: without a reference, or when one is judged, too late. */
void phase_resume(struct phase *p, const struct phase_past *past);
/* The mean of the last 10 s as a reference; -EAGAIN when not locked or too few samples. */
int phase_candidate(const struct phase *p, int64_t utc_ns, struct phase_reference *ret_reference);
/* Make it the reference. */
int phase_accept(struct phase *p, int64_t utc_ns, struct phase_reference *ret_reference);
void phase_sample(struct phase *p, const struct phase_reading *reading, uint64_t now_ns);
/* The board is gone: the next lock is a new one, even though the board restarts its count of
 * locks. */
void phase_lose(struct phase *p);
/* True: a verdict was reached since the last call (at most one). */
bool phase_take_judgement(struct phase *p, struct phase_judgement *ret_judgement);
/* A second is complete. */
bool phase_take_row(struct phase *p, struct phase_row *ret_row);
void phase_get_view(const struct phase *p, uint64_t now_ns, struct phase_view *ret_view);
/* PHASE_BINS counts of PHASE_BIN_PS each, the first from 0 ps on, since the last re-lock. */
const uint32_t *phase_histogram(const struct phase *p);
