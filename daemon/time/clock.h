/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock: which second the board's counts belong to, and how uncertain that is. A state machine without I/O. The
 * board counts; gpsd tells which UTC second each PPS began, and the receiver's health. Calls with `now_ns`
 * take the monotonic time of the input's arrival.
 *
 *   board PPS (count) + gpsd TPV (UTC second) --> label: "board count N begins at TAI T"
 *
 *   NO_TIME --a source labels--> ACQUIRING --n labels agree--> LOCKED --source silent--> HOLDOVER
 *      ^                            ^                             | jump, contradiction       |
 *      '--holdover too uncertain----'----------- FAULT <----------'-----<---------------------'
 *
 * Sources in order: gpsd, the floors' time word, the synchronised system clock. A worse one labels
 * only when there is no label. gpsd replaces its own label when it repeats another second for 10 x
 * confirm labels; until then the state is FAULT and the label stays. A relabelling (first lock,
 * jump, correction) begins a new time epoch; re-confirmation does not. The previous daemon's label
 * (owner page) is taken over as HOLDOVER until a source confirms it, then LOCKED in the same time
 * epoch.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tdm/blocks/label.h"
#include "tdm/frame.h"

/* What a leap-seconds.list says about now. */
struct leap_table {
	int32_t tai_utc_s;     /* TAI-UTC */
	int64_t leap_tai_ns;   /* next leap second, INT64_MAX: none announced */
	int64_t expires_utc_s; /* 0: unknown. A warning only */
};

struct clock_config {
	uint32_t silence_ms;  /* time after which gpsd counts as silent (3000) */
	uint32_t confirm;     /* labels that must agree before LOCKED (3) */
	double holdover_ppb;  /* drift of the oscillator while in holdover */
	uint32_t receiver_ns; /* uncertainty of the receiver's second (50) */
	uint32_t fault_ns;    /* uncertainty above which holdover ends in NO_TIME */
	int64_t floor_utc_s;  /* no date before this is believed (1024-week jumps) */
	uint32_t far_s;	      /* nor a new label so far from the synchronised system clock; 0 = do
				   * not compare */
	uint32_t system_tolerance_ms; /* the synchronised system clock may be so far from the label
				       * without a report; 0 = do not compare */
	bool system_clock;	      /* may the system clock label when nothing else does? */
	struct leap_table leaps;
};

/* The contents of a TPV, and of the reports that came with it. */
struct clock_gps {
	uint8_t mode; /* 0 unknown, 1 no fix, 2 2D, 3 3D */
	bool has_time;
	int64_t utc_ns;	     /* of the fix: the second it labels */
	double ept_s;	     /* NaN: unknown */
	int32_t leapseconds; /* GPS-UTC as gpsd says; 0 = unknown: a cross-check only */
	int satellites_used; /* -1 unknown */
};

/* The last replacement of a running label: not the first label, nor one that was carried over a
 * moved count. */
struct clock_relabelling {
	uint64_t when_ns; /* monotonic, 0 never */
	int64_t by_ns;	  /* new time minus old */
	int64_t utc_ns;	  /* by the new label */
	uint32_t epoch;	  /* the new one; before it, epoch - 1 */
};

struct clock_view {
	struct label label; /* what blocks carry now */
	bool gps_connected; /* gpsd answers */
	bool gps_fix;
	int satellites_used;
	uint64_t last_gps_ns, last_pps_ns; /* monotonic, 0 never */
	uint64_t pps_number;
	uint64_t state_since_ns;
	uint64_t relabels;	       /* labels that replaced another */
	uint64_t rejects;	       /* labels not taken: date below the floor, contradiction */
	int64_t gps_minus_board_ns;    /* last label against the running one; INT64_MIN unknown */
	int64_t system_minus_label_ns; /* the host's clock against ours; INT64_MIN unknown */
	bool system_synced;
	bool system_disagrees; /* it is synchronised, and for seconds further off than tolerated */
	struct clock_relabelling relabelled;
	const char *reason; /* why this state: one sentence for the operator */
	const char *action; /* what to do; "" when well */
	bool leap_table_expired, leap_mismatch;
	uint64_t voids; /* labels discarded: board's count restarted, holdover too uncertain */
	uint64_t lates; /* of the rejects: gpsd's report came more than a second after its PPS */
};

struct clock;
struct clock *clock_create(const struct clock_config *config);
void clock_destroy(struct clock *c);

/* The previous daemon's label. Call before any other input. */
void clock_adopt(struct clock *c, const struct label *label, uint64_t now_ns);
/* The previous daemon's last relabelling, which is still reported; its `when_ns` may be before the
 * boot. */
void clock_restore_relabelling(struct clock *c, const struct clock_relabelling *r);
void clock_gpsd(struct clock *c, bool connected, uint64_t now_ns);
void clock_tpv(struct clock *c, const struct clock_gps *gps, uint64_t now_ns);
/* The board's count that a PPS began; `number`: of the PPS since the board's start. */
void clock_pps(struct clock *c, uint64_t count, uint64_t number, uint64_t now_ns);
/* The board's count, read just now (for the system clock as source, and for holdover without PPS). */
void clock_board(struct clock *c, uint64_t count, int64_t realtime_ns, bool realtime_synced,
		 uint64_t now_ns);
/* A floor's time word: frame `floor_frame` (on the board's count line) carries this label. */
void clock_time_word(struct clock *c, const struct tdm_time *time, uint64_t floor_frame,
		     uint64_t now_ns);
/* There is no board: no count, no PPS. The receiver is not at fault. */
void clock_board_gone(struct clock *c, bool gone);
/* The emulator with --speed or --play labels its own time: only clock_own_time() labels. */
void clock_emulated(struct clock *c, bool own_labels);
/* Its board's time of day: the second that `count` lies in carries this label. It needs no confirmation. */
void clock_own_time(struct clock *c, const struct tdm_time *time, uint64_t count, uint64_t now_ns);
/* Another table of leap seconds was read. A change of TAI-UTC itself (the old table was wrong)
 * relabels; an announcement does not. */
void clock_leap(struct clock *c, const struct leap_table *table);
/* At least 4 times a second. */
void clock_tick(struct clock *c, uint64_t now_ns);

/* True when the label to use has changed since the last call (then it is in *ret_label). */
bool clock_take_label(struct clock *c, struct label *ret_label);
void clock_get_view(const struct clock *c, struct clock_view *ret_view);
/* For the operator, one line each: "locked by gpsd", "acquiring, no source yet"; the effect of the
 * last relabelling; the difference of the system clock. */
void clock_words(const struct label *label, char *text, size_t size);
void clock_relabelled_words(const struct clock_relabelling *r, char *text, size_t size);
void clock_system_words(const struct clock_view *v, char *text, size_t size);
const char *clock_state_name(enum clock_state state); /* "no-time", ... */
const char *
label_source_name(enum label_source source); /* "none", "gpsd", "floors", "system", "emulator" */

/* What the file says about `utc_s` (Unix). -ENOENT and other errors of open(2), -EBADMSG when it is
 * not such a table or does not reach back to `utc_s`, -ENOTSUP when the next leap removes a second.
 * The result is untouched on failure. */
int leap_table_read(const char *path, int64_t utc_s, struct leap_table *ret_table);
