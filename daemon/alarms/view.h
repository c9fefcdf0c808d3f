/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the judge is shown: everything that it needs to say what is wrong, as it is at one moment. Filled by
 * station/view.c; in a test by the test. Times are CLOCK_MONOTONIC ns unless said otherwise.
 */
#pragma once

#include "daemon/config/config.h"
#include "daemon/data/boots.h"
#include "daemon/phase/phase.h"
#include "daemon/publish/publisher.h"
#include "daemon/disk/disk.h"
#include "daemon/disk/emergency.h"
#include "daemon/store/store.h"
#include "daemon/time/clock.h"
#include "slowctl/engine/engine.h"
#include "slowctl/param/param.h"

#define LOSS_WINDOW_S	 60u		  /* "the last minute" of losses and drops */
#define LINK_SILENT_NS	 1000000000ull	  /* locked, but no good frame for so long */
#define RELABEL_SHOWN_NS 3600000000000ull /* so that the next shift sees a relabelling of time */

/* Each implies that it is not one of those before. */
enum link_state { LINK_OFF, LINK_DARK, LINK_ALIGNING, LINK_SILENT, LINK_UP };

struct judge_link {
	bool enabled;
	enum link_state state;
	bool signal;			  /* light */
	uint8_t tower, floor;		  /* configured */
	uint8_t named_tower, named_floor; /* what the floor calls itself; 0xff: nothing yet */
	bool other_floor;		  /* it calls itself another one than configured */
	uint64_t last_good_ns;
	uint32_t offset; /* frames begin at this byte of the board's cells; 0: as they should */
	unsigned slips;	 /* such offsets found since the start */
	struct phase_view phase;
	uint64_t cells[TDM_LOSSES]; /* by verdict, since the ring began */
	uint64_t lost[TDM_LOSSES];  /* the same, of the last minute */
	bool accounted;		    /* the ring's account has begun */
	uint64_t restarted_ns;	    /* the ring began later than the daemon; 0: it did not */
	uint64_t downlink; /* our frames that the floor received damaged, of the last minute */
	uint64_t ring_used, ring_depth;
	const struct boots_floor *boot; /* of the floor that names itself; NULL: not known */
	const char *own; /* the last command of ours that cut it: "reset by ann" ... */
	uint64_t own_ns; /* ... and when; 0: none */
};

/* The recorder, as far as it is a reason. */
struct judge_recorder {
	const char *failed, *failed_action; /* the disk has ended a recording, what to do; NULL */
	bool let_go;			    /* it did not keep up, lately */
	uint64_t let_go_cells;
	bool several_links;
	char name[80];
};

struct judge_view {
	uint64_t now_ns;
	int64_t utc_ns; /* the same moment */
	uint64_t started_ns;
	const struct config *config;

	bool board_present, board_stalled;
	uint64_t board_gone_ns, board_back_ns; /* last seen to go, to come back; 0: never */
	uint64_t counts_restarted_ns; /* the board counts anew since then; 0: since our start */
	uint64_t capture_tick_ns, reports_lost;
	uint64_t late_ns,
		late_at_ns;  /* the last time the machine did not let us run: how long, when */
	uint64_t held_at_ns; /* the last time the board or other work held the main thread */

	struct judge_link link[NANET3_LINKS];
	struct clock_view clock;
	int leaps_error; /* of the last reading of the leap table; 0: well */
	const struct publisher_status *publisher;
	uint64_t dropped[GROUPS_MAX][OUTCOMES]; /* frames of the last minute */
	const char *closed_doors;		/* sockets that cannot be opened; "": none */

	struct store_status store;
	struct disk_status disk;
	struct emergency_status emergency;
	struct judge_recorder recorder;
	struct engine *engine;
	struct params *params;
};
