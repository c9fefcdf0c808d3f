/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpsd, PPS and system clock to the clock; its labels to capture, its states to the log and the store. */
#pragma once

#include "daemon/core/label.h"
#include "daemon/core/worker.h"
#include "daemon/station/base.h"

struct station;
struct store_past;

/* The reading of the table of leap seconds, on the thread of questions.h. */
struct station_leaps {
	struct work work;
	struct station *station;
	const char *path;
	bool asked; /* the rest is the thread's */
	int result;
	int32_t tai_utc_s;
	int64_t leap_tai_ns, expires_utc_s;
};

struct timing {
	struct gps *gps;
	struct station_event event; /* of gpsd's descriptor */
	uint64_t tried_ns, leaps_read_ns;
	struct station_leaps leaps;
	int leaps_error; /* of the last reading of the leap table; 0: well */
	enum clock_state logged_state;
	uint32_t logged_epoch;
	uint64_t kept_relabel_ns; /* of the relabelling that the database has; 0: none */
	int32_t kept_tai_utc_s;	  /* as the database has it */
	struct label label;	  /* not yet taken by capture's queue */
	bool label_waits;
};

int timing_start(struct station *s);
void timing_stop(struct station *s);
void timing_tick(struct station *s); /* 10 times a second */
void timing_second(struct station *s);
void timing_restore(struct station *s, const struct store_past *past);
void timing_leaps(struct station *s); /* read the table of leap seconds again */
