/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What several sources of the room use: descriptors to follow, orders to capture, answers to questions. */
#ifndef DAEMON_STATION_BASE_H
#define DAEMON_STATION_BASE_H

#include <event2/event.h>
#include <jansson.h>

struct capture_command;
struct control_request;
struct station;

/* Of the main thread's events: the board, the store, gpsd, the ticks and the watchdog come before clients,
 * which have libevent's default, the middle one. */
#define EVENTS_PRIORITIES 3
#define EVENTS_URGENT	  0

/* Call `on_readable` with the station, before clients have their turn. NULL: no memory. */
struct event *station_follow(struct station *s, int fd,
			     void (*on_readable)(int fd, short what, void *station));
/* To capture. -EAGAIN: its queue is full. */
int station_order(struct station *s, const struct capture_command *command);
/* The answer to a question: `result` (taken over), or in words what the query returned. */
void station_tell(struct control_request *rq, int r, json_t *result, const char *what);
/* The links that are enabled, one bit each. */
unsigned station_links(const struct station *s);
unsigned station_links_count(const struct station *s);

#endif
