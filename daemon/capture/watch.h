/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The main thread's own look at the board, through a handle of its own: registers ten times a second,
 * control events (PPS, link changes, errors, words that have left), downstream words. Capture owns the
 * rings on another handle, and grants the links to this one (capture_grant()).
 *
 * When the board goes away, watch_poll() says -ENODEV until it is back, and tries to open it twice a
 * second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/phase/phase.h"
#include "driver/lib/libnanet3.h"
#include "tdm/frame.h"

struct watch_link {
	uint32_t status; /* NANET3_LSTAT_* */
	uint32_t rx_power_nw, tx_power_nw;
	uint32_t code_errors, lost_locks;
	uint32_t drop_fifo, drop_ring, drop_down, cells;
	struct phase_reading phase;
};

struct watch_board {
	uint32_t status; /* NANET3_STATUS_* */
	uint32_t boot_count;
	uint64_t count; /* the board's frame count, at read_ns */
	int32_t temperature_mc;
	struct tdm_time time; /* of day, from IRIG-B; quality TDM_TIME_NONE: none */
	uint64_t read_ns;     /* CLOCK_MONOTONIC of the last successful reading; 0: never */
};

struct watch_events {
	void (*on_event)(const struct nanet3_event *event, void *context);
	void *context;
};

struct watch;

/* `where` as for nanet3_open(). Does not need the board yet. */
int watch_create(const char *where, unsigned links, const struct watch_events *events,
		 struct watch **ret_watch);
void watch_destroy(struct watch *w);

/* Open if need be, then read all registers. 0, or why not (-ENODEV and the like). */
int watch_poll(struct watch *w, uint64_t now_ns);
/* Time spent waiting for the board's answers, all calls together. */
uint64_t watch_waited_ns(const struct watch *w);
/* Events wait on this descriptor; -1 while the board is away. It changes with every re-opening:
 * watch_generation() counts them. */
int watch_fd(const struct watch *w);
unsigned watch_generation(const struct watch *w);
/* Take all waiting events. */
void watch_dispatch(struct watch *w);

const struct watch_board *watch_board(const struct watch *w);
const struct watch_link *watch_link(const struct watch *w, unsigned link);
const struct nanet3_info *watch_info(const struct watch *w); /* NULL while away */

/* -ENODEV, -EAGAIN, -ENOLINK; see nanet3_send(). A link that is not granted to this handle is
 * -EAGAIN for 2 s, in which capture claims it again when a board is back; then -EPERM: another
 * program owns it. */
int watch_send(struct watch *w, const struct nanet3_tx *tx);
int watch_link_command(struct watch *w, unsigned link, uint32_t command);
