/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The board and its links as the main thread sees them: registers ten times a second, phase and its verdicts, rates and
 * the losses of the last minute.
 */
#pragma once

#include "daemon/alarms/late.h"
#include "daemon/alarms/rates.h"
#include "daemon/alarms/view.h"
#include "daemon/capture/capture.h"
#include "daemon/station/base.h"

struct station;
struct store_past;

/* Few beginnings of a link wait to be settled; one so many older than the last has lost its session. */
#define STATION_SESSIONS 32u

struct station_link {
	bool enabled;
	struct phase *phase;
	uint64_t phase_put_ns;		 /* heard_ns of what the parameters have */
	struct relock *relock;		 /* of ops/: who waits for lock and verdict; NULL: nobody */
	char own[80];			 /* the last command of ours that cut it: "reset by ann" */
	uint64_t own_ns;		 /* ... and when */
	struct capture_link_status data; /* capture's last word */
	struct rates rates;
	struct rates_now per_s;
	uint64_t loss_at[LOSS_WINDOW_S + 1][TDM_LOSSES]; /* cells by verdict, a snapshot a second */
	uint64_t downlink_at[LOSS_WINDOW_S + 1];
	uint64_t anew_ns; /* the ring was begun anew, later than at our start; 0: not so */
	bool accounted;
	/* Of the store, for ledger rows: of the link's last beginnings, by capture_report.begun. */
	uint32_t session[STATION_SESSIONS];
	struct tdm_telemetry telemetry;
	uint64_t telemetry_ns;		  /* 0: none yet */
	uint8_t named_tower, named_floor; /* what the floor calls itself; 0xff: nothing yet */
	unsigned slips; /* frames were found off the board's grid, since the start */
	uint32_t last_status;
};

struct station_board {
	bool present;
	uint64_t gone_ns, back_ns;  /* when it was seen to go, to come back; 0: never */
	uint64_t restarted_ns;	    /* when a ring was begun anew, later than at our start */
	struct station_event event; /* of its descriptor, which changes with each generation */
	unsigned generation;
};

/* Why the tick came late. */
struct station_lateness {
	struct late_tick tick;
	uint64_t ns, at_ns;  /* the last time the machine did not let us run: how long, when */
	uint64_t held_at_ns; /* the last time the board or other work held this thread */
};

int links_start(struct station *s); /* phases, watch */
/* The references of the phase: the database's; where it has none, ours go there. */
void links_restore(struct station *s, const struct store_past *past);
void links_stop(struct station *s);
void links_tick(struct station *s);   /* 10 times a second */
void links_second(struct station *s); /* once a second: rates, loss window */
enum link_state links_state(const struct station *s, unsigned link);
const char *link_state_name(enum link_state state); /* "off", "dark", ... */
/* Another floor than configured names itself on the link. */
bool links_other_floor(const struct station *s, unsigned link);
/* The link's ring was begun anew, as the board counts anew: what is lost until its first good frame is its
 * beginning, as at our start. */
void links_ring_restarted(struct station *s, unsigned link);
/* Losses of a link by name within the last LOSS_WINDOW_S seconds; their sum. */
uint64_t links_recent_losses(const struct station *s, unsigned link, uint64_t ret[TDM_LOSSES]);
/* Where frames begin in the board's cells, bytes: 0, unless bytes slipped in while it held its lock. */
uint32_t links_offset(const struct station *s, unsigned link);
/* Frames to its floor that arrived damaged there, of the last minute. */
uint64_t links_recent_downlink(const struct station *s, unsigned link);
