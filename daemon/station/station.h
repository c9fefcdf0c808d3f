/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The station: all parts of one daemon, as the main thread sees them. The state machines (clock, phase, engine, ledger)
 * do not know each other; here they meet. Each source of the room has its header and writes its own part of the struct;
 * the others read it. README.md says what ops/ may write.
 */
#pragma once

#include "daemon/capture/capture.h"
#include "daemon/config/config.h"
#include "daemon/core/queue.h"
#include "daemon/data/boots.h"
#include "daemon/data/tap.h"
#include "daemon/publish/publisher.h"
#include "daemon/station/keys.h"
#include "daemon/station/lifecycle.h"
#include "daemon/station/links.h"
#include "daemon/station/network_say.h"
#include "daemon/station/records.h"
#include "daemon/station/runs.h"
#include "daemon/station/timing.h"

struct engine_out;
struct phase_judgement;
struct store_done;

/* What the operations (ops/) want to hear; set by ops_start(). */
struct station_ops {
	void (*progress)(struct station *s, const struct engine_out *out);
	/* Not of a drift. */
	void (*judged)(struct station *s, unsigned link, const struct phase_judgement *j);
	void (*stored)(struct station *s, const struct store_done *done); /* rows of snapshots */
	void (*stop)(struct station *s); /* while clients can still be answered */
};

struct station {
	struct config config;
	const char *config_path;
	const char *const *overrides; /* --set, ends with NULL */
	struct event_base *base;
	bool stopping;
	uint64_t started_ns;
	int64_t started_utc_ns;
	bool served;	    /* the main loop has run: the end is an event */
	bool misconfigured; /* why the start has failed */

	/* the way of the data */
	struct queue blocks, settled, commands, reports;
	struct capture *capture;
	struct capture_status capture_status;
	struct feed *feed; /* NULL: not configured */
	struct tap tap;
	struct recorder *recorder;
	struct records records;
	struct publisher *publisher;
	struct publisher_status publisher_status;
	const char *group_names[GROUPS_MAX];

	/* links.c, reports.c */
	struct watch *watch;
	struct station_board board;
	struct station_link link[NANET3_LINKS];
	struct station_lateness late;
	unsigned loss_second; /* place in loss_at and drop_at */
	uint64_t drop_at[LOSS_WINDOW_S + 1][GROUPS_MAX][OUTCOMES]; /* frames, a snapshot a second */
	struct boots boots;
	uint64_t losses_saved
		[NANET3_LINKS]; /* cookies of the newest losses in the database; 0: told */

	struct clock *clock;
	struct timing timing;
	struct station_run run;
	struct lifecycle life;

	/* detector.c, lifecycle.c */
	struct params *params;
	struct engine *engine;
	struct emergency *emergency;
	uint64_t emergency_copied; /* its generation that was last offered to the disk */
	struct disk *disk;
	struct store *store;
	struct questions *questions; /* to the database */
	bool restored;		     /* what the database knows is known here */
	bool journal_away;	     /* told: it cannot be opened */

	/* control */
	struct dispatch *desk;
	struct control *control;
	struct network *network;	  /* NULL: not configured */
	struct access_list access_list;	  /* empty where no door asks for keys */
	char public_key[ACCESS_KEY_TEXT]; /* ours, where data ask for keys */
	struct access_news access;
	bool has_roles;	   /* of users of the control socket; else all are experts */
	bool control_lost; /* somebody has removed its socket, and it cannot be made anew */
	char doors_told[DOORS_TEXT]; /* what cannot listen, as the log has it */

	/* view.c, alarm_hands.c */
	struct judge *judge;
	struct view *view;
	struct alarm_watcher *alarm_watchers;
	uint64_t alarms_alive_ns; /* when those who watch were last told that we live */

	/* of ops/ */
	struct station_ops ops;
	struct waiter *waiters;
	struct safing *safings; /* under way */
	struct serial_session *serials;
	struct snapshots *snapshots; /* the one that is being saved or removed, or was last */
};
