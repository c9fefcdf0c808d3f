/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder: a thread that writes cells of the tap to disk, for the recording that an operator has started and for
 * the black boxes of links with losses.
 *
 *   capture --tap--> recorder --> segments
 *              main --orders--> --events--> main
 *
 * No thread waits for it: capture releases cells that it could not write in time (a LET_GO record says which), the main
 * thread gets its answers later. It reads directly from the rings; cells whose buffer was reused while it was read
 * are not recorded.
 *
 * A recording continues until it is stopped, its time has passed, or the disk refuses a write. A
 * restart of the daemon does not end it: its directory has no end, and the ring has kept the cells
 * that were not written.
 *
 * Its last cells are those that the driver had received when its time had passed, or when the order to stop came: it
 * ends when these are written. Cells that the disk has not taken some seconds later, or at the end of the daemon,
 * are let go, and a record says so.
 *
 * A black box is `blackbox_s` seconds of a link's cells, from the oldest that the ring still held when a loss began (or
 * when the incident came, without a loss). It is written at the first loss and removed if no incident of the link follows
 * within BOX_WAIT_NS.
 */
#pragma once

#include "daemon/record/dir.h"

#define BOX_HOURLY 6u /* black boxes per link and hour */

struct recorder_config {
	struct record_place place;
	unsigned links;		 /* that there are: bit mask */
	uint64_t min_free_bytes; /* on the disk, or nothing is recorded */
	unsigned blackbox_s;	 /* 0: none */
	unsigned blackbox_keep;	 /* black boxes that are kept */
};

enum recorder_event_type {
	RECORDER_STARTED = 1,	/* by an order */
	RECORDER_REFUSED = 2,	/* an order was not carried out */
	RECORDER_STOPPED = 3,	/* by an order, or its time has passed */
	RECORDER_FAILED = 4,	/* by the disk */
	RECORDER_RESUMED = 5,	/* after a restart of the daemon */
	RECORDER_BLACK_BOX = 6, /* one was kept */
};

struct recorder_event {
	uint8_t type;
	uint8_t link;	/* BLACK_BOX */
	bool no_room;	/* REFUSED, FAILED: less than min_free is free */
	bool resumed;	/* begun by an earlier daemon, whose counts are not included */
	uint32_t order; /* that it answers; 0: none */
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

/* `tap`: initialised, before capture starts. All links are held until the recorder knows which
 * recording to continue.
 * -ENOMEM, or negative errno of the thread. */
int recorder_start(const struct recorder_config *config, struct tap *tap,
		   struct recorder **ret_recorder);
/* After the end of the capture thread, while the rings are still mapped: takes the waiting entries,
 * within `grace_ms`, and ends the thread. What is not taken stays in the ring. */
void recorder_finish(struct recorder *r, unsigned grace_ms);
void recorder_destroy(struct recorder *r); /* NULL is accepted */

/* Orders; -EAGAIN: too many. The answer is an event with the order's number, which is not 0; that to _freeze() has the
 * number 0. */
int recorder_order_start(struct recorder *r, uint32_t number, const struct record_spec *spec);
int recorder_order_stop(struct recorder *r, uint32_t number, const char *who);
/* An incident of the link began; `spec`: its code, text and time; `registers`: text. */
int recorder_order_freeze(struct recorder *r, unsigned link, const struct record_spec *spec,
			  const char *registers);

/* A descriptor that is readable when events wait. */
int recorder_fd(const struct recorder *r);
/* 1: *ret_event, 0: none. */
int recorder_next_event(struct recorder *r, struct recorder_event *ret_event);
void recorder_get_status(struct recorder *r, struct recorder_status *ret_status);
