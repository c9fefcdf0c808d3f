/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operations of the control protocol, for the main loop. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "daemon/core/limit.h"
#include "daemon/station/parts.h"

struct control_op;
struct control_request;
struct publisher_status;
struct sc_error;
struct station;
struct station_ops;

/* What the operations read and act on, and their own state; the context of each handler. Main thread. */
struct ops {
	/* set by main.c, when all of them exist */
	struct station *station; /* for the functions of station/ */
	const struct config *config;
	int64_t started_utc_ns;
	uint64_t started_ns;
	const struct station_link *link; /* NANET3_LINKS of them */
	const struct station_run *run;
	const struct records *records;
	struct notices *notices;
	const struct capture_status *capture_status;
	const struct publisher_status *publisher_status;
	const char *public_key; /* for consumers; "": data are not encrypted */
	const bool *has_roles;	/* of users of the control socket; a reload may change it */
	struct watch *watch;
	struct clock *clock;
	struct params *params;
	struct engine *engine;
	struct store *store;
	struct judge *judge;
	struct recorder *recorder;
	struct publisher *publisher;
	struct dispatch *dispatch;
	struct control *control;
	struct network *network; /* NULL: not configured */

	/* their own */
	struct waiter *waiters;
	struct safing *safings; /* under way */
	struct serial_session *serials;
	struct snapshots *snapshots; /* the one that is being saved or removed, or was last */
	struct relock *relock[NANET3_LINKS]; /* who waits for lock and verdict; NULL: nobody */
	struct bucket refused_rows;	     /* refused commands in the journal */
};

int ops_start(struct ops *ops);				   /* before anything is served */
extern const struct station_ops ops_handlers;		   /* with `ops` as their context */
extern const struct control_op *const station_op_tables[]; /* ends with NULL */
/* A request that its peer's role does not allow, into the journal: control_refused_fn of the dispatch. */
bool station_refused(void *context, struct control_request *rq, const char *op, json_t *args,
		     const struct sc_error *error);
void ops_tick(struct ops *ops);	    /* 10 times a second */
void waiters_tick(struct ops *ops); /* every 10 ms */
/* One line for systemctl status. */
void status_line(struct ops *ops, char *text, size_t size);
