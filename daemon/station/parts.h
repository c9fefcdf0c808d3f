/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of the station that the operations read, and the results that they are given. */
#pragma once

#include "daemon/alarms/rates.h"
#include "daemon/alarms/view.h"
#include "daemon/capture/capture.h"
#include "daemon/capture/run_state.h"
#include "daemon/config/config.h"
#include "daemon/record/recorder.h"

struct control_request;
struct engine_out;
struct ops;
struct phase_judgement;
struct store_done;

/* --- links.c, reports.c --- */

/* Few generations of a link are unsettled at a time; one that is so many older than the last has lost its session. */
#define STATION_SESSIONS 32u

struct station_link {
	bool enabled;
	struct phase *phase;
	uint64_t phase_put_ns;		 /* heard_ns of the phase in the parameters */
	char own[80];			 /* our last command that interrupted it: "reset by ann" */
	uint64_t own_ns;		 /* ... and when */
	struct capture_link_status data; /* as capture reported it last */
	struct rates rates;
	struct rates_now per_s;
	uint64_t loss_at[LOSS_WINDOW_S + 1][TDM_LOSSES]; /* cells by verdict, a snapshot a second */
	uint64_t downlink_at[LOSS_WINDOW_S + 1];
	uint64_t restarted_ns; /* the ring was restarted after our start; 0: it was not */
	bool accounted;
	/* Of the store, for ledger rows: of the last generations of the link. */
	uint32_t session[STATION_SESSIONS];
	struct tdm_telemetry telemetry;
	uint64_t telemetry_ns;		  /* 0: none yet */
	uint8_t named_tower, named_floor; /* in the floor's frames; 0xff: unknown */
	unsigned slips; /* times that frames were found off the board's grid, since the start */
	uint32_t last_status;
};

/* --- ops/notify.c --- */

struct notices {
	struct judge_notices report;
	char receivers[600];  /* their names: "shift, expert" */
	int64_t test, tested; /* tests of the receivers: the newest that was asked for, and done */
};

/* --- runs.c --- */

struct station_run {
	struct run_state state;
	char note[160];
	int64_t begun_ns;
	struct control_request *rq; /* waits for run_state's answer ... */
	bool begins;		    /* ... to run.start; else to run.stop */
};

/* --- records.c --- */

struct records {
	char directory[CONFIG_STRING + 16];
	struct control_request *rq; /* waits for an order to be carried out */
	uint32_t order;		    /* its number; the last one's that was given */
	char who[128];		    /* who gave it, and from where */
	bool failed; /* the disk has stopped a recording, and nobody has acknowledged it */
	char failed_text[600];
	struct recorder_event failure;
	uint64_t let_go, let_go_ns; /* cells, at the last look; when there were more */
	uint64_t boxes_unasked;	    /* black boxes for which the recorder took no order */
};

/* --- ops/ --- */

/* Results for the operations (../ops/), with their own context. */
struct station_ops {
	void (*progress)(struct ops *ops, const struct engine_out *out);
	/* Not of a drift. */
	void (*judged)(struct ops *ops, unsigned link, const struct phase_judgement *j);
	void (*stored)(struct ops *ops, const struct store_done *done); /* rows of snapshots */
	void (*stop)(struct ops *ops); /* while clients can still be answered */
};
