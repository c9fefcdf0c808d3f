/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of the station at one moment: the input of the judge. Filled by station/view.c, in tests by judge_rig.c. What
 * it points to belongs to the caller, and does not change during judge_tick(). Times are CLOCK_MONOTONIC in ns unless a
 * comment says otherwise.
 */
#pragma once

#include "daemon/alarms/late.h"
#include "daemon/alarms/silence.h"
#include "daemon/data/boots.h"
#include "daemon/phase/phase.h"
#include "daemon/publish/publisher.h"
#include "daemon/disk/disk.h"
#include "daemon/disk/emergency.h"
#include "daemon/store/store.h"
#include "daemon/time/clock.h"
#include "slowctl/engine/engine.h"
#include "slowctl/param/param.h"

#define LOSS_WINDOW_S	 60u		  /* the "last minute" in texts about losses and drops */
#define LINK_SILENT_NS	 1000000000ull	  /* locked, but no good frame for this time */
#define RELABEL_SHOWN_NS 3600000000000ull /* a relabelling of time is shown for one hour */

/* The first one that applies, in this order. */
/* Unknown: there is no board to ask. */
enum link_state { LINK_OFF, LINK_DARK, LINK_ALIGNING, LINK_SILENT, LINK_UP, LINK_UNKNOWN };

/* Values of an optical module; NULL: it has no such parameter. */
struct judge_module {
	const struct param *hv, *power, *trip, *lost;
};

struct judge_link {
	bool enabled;
	enum link_state state;
	bool signal;			  /* light */
	uint8_t tower, floor;		  /* configured */
	uint8_t named_tower, named_floor; /* in the floor's frames; 0xff: unknown */
	bool other_floor;		  /* another floor than configured is on the fibre */
	uint64_t last_good_ns;
	uint32_t offset; /* byte of the board's cells at which frames begin; 0 is right */
	unsigned slips;	 /* times that such an offset was found since the start */
	struct phase_view phase;
	uint64_t cells[TDM_LOSSES]; /* by verdict, since the ring was started */
	uint64_t lost[TDM_LOSSES];  /* the same, in the last minute */
	bool accounted;		    /* judge_account() was called for this ring */
	uint64_t restarted_ns;	    /* when the ring was restarted; 0: never since our start */
	uint64_t downlink; /* our frames that the floor received damaged in the last minute */
	uint64_t ring_used, ring_depth;
	const struct boots_floor *boot; /* of the floor on the fibre; NULL: unknown */
	const char *own; /* our last command that interrupted the link: "reset by ann" */
	uint64_t own_ns; /* the time of that command; 0: none */

	const struct judge_module *module; /* PARAM_OM_COUNT */
	struct silence_view silence;
	uint64_t last_reply_ns; /* of the floor's slow control; 0: never */
};

struct judge_board {
	bool present, stalled;
	uint64_t gone_ns, back_ns; /* when it last disappeared, came back; 0: never */
	uint64_t restarted_ns;	   /* when its counts restarted; 0: never since our start */
};

/* The configured values that texts and limits need. */
struct judge_config {
	const char *device, *database, *leap_file, *feed_address;
	const char *reserved_endpoint, *monitor_endpoint;
	bool data_open; /* data leave this machine without keys */
	double drift_ps;
};

/* The recorder: what has gone wrong. */
struct judge_recorder {
	const char *failed; /* why the disk has ended a recording; NULL: it has not */
	const char *failed_action;
	bool let_go; /* it was too slow in the last minutes */
	uint64_t let_go_cells;
	bool several_links;
	char name[80];
};

/* What fcm-notify has reported of itself. */
struct judge_notices {
	uint64_t reported_ns; /* the last time; 0: never */
	char failing[300];    /* receivers that cannot be reached, and why; "": none */
	unsigned waiting;     /* notices */
};

struct judge_view {
	uint64_t now_ns;
	int64_t utc_ns; /* the same moment */
	uint64_t started_ns;
	struct judge_config config;

	struct judge_board board;
	struct lateness late;
	uint64_t capture_tick_ns, reports_lost;

	struct judge_link link[NANET3_LINKS];
	struct clock_view clock;
	int leaps_error; /* negative errno of the last reading of the leap table; 0: none */
	const struct publisher_status *publisher;
	uint64_t dropped[GROUPS_MAX][OUTCOMES]; /* frames in the last minute */
	const char *closed_doors;		/* sockets that cannot be opened; "": none */

	struct store_status store;
	struct disk_status disk;
	struct emergency_status emergency;
	struct judge_recorder recorder;
	struct judge_notices notices;
	const struct engine_reason *engine_reason; /* `engine_reasons` of them */
	size_t engine_reasons;
};
