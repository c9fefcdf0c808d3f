/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The station: all parts of one daemon, as the main thread sees them. The state machines (clock, phase, engine, ledger)
 * do not know each other; here they meet. Each source of the room writes its own part and reads the others. Only this
 * room and main.c, which makes and ends the parts, include this; ops/ has the pointers that it needs (parts.h, ops.h).
 */
#pragma once

#include <event2/event.h>

#include "daemon/alarms/late.h"
#include "daemon/capture/capture.h"
#include "daemon/config/config.h"
#include "tdm/blocks/label.h"
#include "daemon/core/limit.h"
#include "daemon/core/queue.h"
#include "daemon/core/worker.h"
#include "daemon/data/boots.h"
#include "daemon/data/tap.h"
#include "daemon/publish/publisher.h"
#include "daemon/station/parts.h"
#include "slowctl/access/access.h"

struct station;

/* A source of the main loop's events; `event` NULL: none. It stays where it is while it is
 * followed. */
struct station_event {
	struct event *event;
	void (*run)(struct station *s);
	struct station *station;
};

/* The reading of the table of leap seconds, on the thread of questions.h. */
struct station_leaps {
	struct work work;
	struct station *station;
	const char *path;
	bool asked; /* the rest is the thread's */
	int result;
	struct leap_table table;
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

struct lifecycle {
	unsigned taken, restarted; /* links whose ring was taken over, restarted */
	bool said, crashed;	   /* crashed: the daemon before us did not stop normally */
};

/* Refused connections and requests. */
struct access_news {
	struct reported_count control, reserved, monitors; /* connections */
	struct reported_count requests, strangers;
	char origin[80], text[320]; /* of the last request that its peer's role did not allow */
};

#define DOORS_TEXT 400 /* bytes */

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

	/* the path of the data */
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
	struct judge_board board;
	struct station_event board_event; /* of its descriptor: another one each generation */
	unsigned board_generation;
	struct station_link link[NANET3_LINKS];
	struct late_tick tick;
	struct lateness late;
	unsigned loss_second; /* place in loss_at and drop_at */
	uint64_t drop_at[LOSS_WINDOW_S + 1][GROUPS_MAX][OUTCOMES]; /* frames, a snapshot a second */
	struct boots boots;
	uint64_t losses_saved
		[NANET3_LINKS]; /* cookies of the newest losses in the database; 0: reported */

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
	struct notices notices;
	struct store *store;
	struct questions *questions; /* to the database */
	bool restored;		     /* what the database knows is known here */
	bool journal_away;	     /* it cannot be opened, and this has been logged */

	/* control */
	struct dispatch *dispatch;
	struct control *control;
	struct network *network;	  /* NULL: not configured */
	struct access_list access_list;	  /* empty where no door asks for keys */
	char public_key[ACCESS_KEY_TEXT]; /* ours, where data ask for keys */
	struct access_news access;
	bool has_roles;	   /* of users of the control socket; else all are experts */
	bool control_lost; /* somebody has removed its socket, and it cannot be made again */
	char doors_logged[DOORS_TEXT]; /* what cannot listen, as the log has it */

	/* view.c, incident_actions.c */
	struct judge *judge;
	struct view *view;
	struct incident_watcher *incident_watchers;
	struct incident_reported *reported; /* INCIDENTS_MAX of them: as watchers know them */
	uint64_t incidents_alive_ns;	    /* the last sign of life to clients that watch */

	const struct station_ops *ops; /* NULL: not yet */
	struct ops *ops_context;
};
