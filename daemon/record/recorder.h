/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder: a thread that writes what the tap shows it to disk, the recording that somebody asked for and
 * the black boxes of links in trouble.
 *
 *   capture --tap--> recorder --> segments
 *              main --orders--> --events--> main
 *
 * Nobody waits for it: capture goes on without what it could not write in time (a LET_GO record says
 * which cells), main asks and is told later. It reads straight from the rings; what it cannot prove
 * to have been its own while it was read is not recorded.
 *
 * A recording goes on until it is stopped, its time is over, or the disk refuses; not ended by a restart
 * of the daemon, in order or not: its directory knows, and the ring has kept what was not written.
 *
 * Its cells are those that the driver had taken when its time was over, or the order to stop it was given: it
 * ends when these are written. What the disk has not taken some seconds later, or when the daemon ends
 * before, is let go, and named like all that is.
 *
 * A black box is `blackbox_s` seconds of a link's cells, from the oldest that the ring still held for us
 * when a loss began (or, if none did, when the alarm came). It is written at the first loss and forgotten
 * again if no alarm of the link follows within BOX_WAIT_NS.
 */
#ifndef DAEMON_RECORD_RECORDER_H
#define DAEMON_RECORD_RECORDER_H

#include "daemon/record/dir.h"

#define BOX_HOURLY 6u /* black boxes a link and hour */

struct recorder_config {
	struct record_place place;
	unsigned links;		 /* that there are: bit mask */
	uint64_t min_free_bytes; /* on the disk, or nothing is recorded */
	unsigned blackbox_s;	 /* 0: none */
	unsigned blackbox_keep;	 /* black boxes that are kept */
};

enum recorder_event_type {
	RECORDER_STARTED = 1,	/* an order was carried out */
	RECORDER_REFUSED = 2,	/* it was not */
	RECORDER_STOPPED = 3,	/* by an order, or its time is over */
	RECORDER_FAILED = 4,	/* by the disk */
	RECORDER_RESUMED = 5,	/* after a restart of the daemon */
	RECORDER_BLACK_BOX = 6, /* one was kept */
};

struct recorder_event {
	uint8_t type;
	uint8_t link;	/* BLACK_BOX */
	bool no_room;	/* REFUSED, FAILED: less than min_free is free */
	bool resumed;	/* not begun by this daemon: the counts are not all */
	uint32_t order; /* that it answers; 0: nobody asked */
	int error; /* REFUSED, FAILED: negative errno; REFUSED -EALREADY: one is going on, -EBUSY: none is */
	char trouble[RECORD_TROUBLE]; /* the same as a text, as in recording.json */
	struct record_spec spec;
	struct segment_counts counts;
};

struct recorder_status {
	bool active;
	struct record_spec spec;
	struct segment_counts counts;
	double bytes_per_s;
	uint64_t free_bytes; /* beyond min_free */
	uint64_t box_refused, box_failed;
	unsigned boxes; /* since the start */
};

struct recorder;

/* `tap`: initialised, before capture starts. All links are held for it until it has found out which
 * recording goes on. -ENOMEM, errno of a thread. */
int recorder_start(const struct recorder_config *config, struct tap *tap,
		   struct recorder **ret_recorder);
/* The capture thread has ended, the rings are mapped still: take what is waiting, within `grace_ms`. What
 * is not taken stays in the ring. The thread has ended then. */
void recorder_finish(struct recorder *r, unsigned grace_ms);
void recorder_destroy(struct recorder *r); /* NULL is fine */

/* Orders; -EAGAIN: too many. What becomes of one comes as an event with its number, which is not 0; of the
 * last, as one that nobody asked for. */
int recorder_order_start(struct recorder *r, uint32_t number, const struct record_spec *spec);
int recorder_order_stop(struct recorder *r, uint32_t number, const char *who);
/* An alarm of the link fired; `spec`: alarm, its text and time; `registers`: text. */
int recorder_order_freeze(struct recorder *r, unsigned link, const struct record_spec *spec,
			  const char *registers);

/* A descriptor that is readable when events wait. */
int recorder_fd(const struct recorder *r);
/* 1: *ret_event, 0: none. */
int recorder_next_event(struct recorder *r, struct recorder_event *ret_event);
void recorder_get_status(struct recorder *r, struct recorder_status *ret_status);

#endif
