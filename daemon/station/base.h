/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that several files of station/, ops/ and main.c share: callbacks of the event loop for file
 * descriptors, signals and timers; a command to the capture thread; the answer to a client's database query;
 * the set of enabled links; whether an error is the configuration's (then systemd does not restart the daemon).
 */
#pragma once

#include <event2/event.h>
#include <jansson.h>

#include "daemon/core/now.h"
#include "slowctl/engine/engine.h"

struct capture_command;
struct control_request;
struct station;
struct station_event; /* station.h */

/* Of the main thread's events: the board, the store, gpsd, the ticks and the watchdog come before clients,
 * which have libevent's default, the middle one. */
#define EVENTS_PRIORITIES 3
#define EVENTS_URGENT	  0

/* Call `run` before clients have their turn: when `fd` is readable (EV_READ), at the signal `fd`
 * (EV_SIGNAL), or each `every_ms` (fd -1). -ENOMEM. */
int station_follow(struct station *s, struct station_event *e, int fd, short what,
		   unsigned every_ms, void (*run)(struct station *s));
void station_unfollow(struct station_event *e); /* no effect if it is not followed */
static inline struct engine_now station_now(void)
{
	return (struct engine_now){now_mono_ns(), now_utc_ns()};
}

/* If `r` is an error that the configuration causes, the exit status tells systemd not to start us again. A file that
 * cannot be read now and a lack of memory or descriptors are other errors. Returns r. */
int station_blame_config(struct station *s, int r);
/* How long the stop waits for each part that has something to finish. */
#define GRACE_MS 3000u
/* To capture. -EAGAIN: its queue is full. */
int station_order(struct station *s, const struct capture_command *command);
/* Answers with `result` (taken over), or with the error that the query returned. */
void station_tell(struct control_request *rq, int r, json_t *result, const char *what);
/* The links that are enabled, one bit each. */
unsigned station_links(const struct station *s);
unsigned station_links_count(const struct station *s);
