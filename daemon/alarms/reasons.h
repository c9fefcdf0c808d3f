/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reasons why the station is not well. See reasons.c.
 */
#ifndef DAEMON_ALARMS_REASONS_H
#define DAEMON_ALARMS_REASONS_H

#include "daemon/station/station.h"

#define START_GRACE_NS	 3000000000ull	  /* after our start nothing is called silent */
#define RELABEL_SHOWN_NS 3600000000000ull /* so that the next shift sees a relabelling of time */
#define SILENT_NS	 1000000000ull	  /* locked, but no good frame for so long */

struct reasons {
	struct station *station;
	json_t *list; /* as in status: red ones first, then the oldest */
	unsigned red;
	uint64_t now_ns;
};

/* All that stands now. The caller's: list. */
struct reasons reasons_collect(struct station *s);

/* Until the capture thread has caught up, what we know of links and floors may be older than it looks. */
bool reasons_just_late(const struct station *s);

/* What is not well: `parts` of the object (bits), of which a new one is an event. */
struct what {
	bool red;
	bool latch; /* it stays until somebody has acknowledged it */
	const char *code, *object, *action;
	uint32_t parts;
};

void reasons_add_parts(struct reasons *r, const struct what *w, const char *text);
/* One that stands. `action`: what to do; "" only where text says it. */
void reasons_add(struct reasons *r, bool red, const char *code, const char *object,
		 const char *action, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* reasons_loss.c */
void reasons_link_loss(struct reasons *r, unsigned link, const char *object);
void reasons_drops(struct reasons *r, unsigned group, const char *object);
/* 10 times a second: the events of bursts of losses. */
void reasons_losses_tick(struct station *s);

/* feed_say.c: floors without a reader, readers that were dropped; `fresh`: it is too early for the first */
void reasons_feed(struct reasons *r, bool fresh);
void reasons_feed_tick(struct station *s);

/* doors_say.c: listening sockets that could not be opened */
void reasons_doors(struct reasons *r);

/* records.c */
void records_reasons(struct reasons *r);

/* reasons_floor.c: of the floors and the command engine */
void reasons_floors(struct reasons *r);
/* Of a floor's reason that is not seen any more: why nobody can tell; NULL: it is over. */
const char *reasons_floor_unseen(const struct station *s, const struct debounce_reason *e);
/* The dictionary's advice is for all ("floorN.omM.hv", "floorN.hydrophoneM.power"): say which ones these
 * are. `which` stands for the first two parts; a pattern is quoted for the shell. */
void reasons_name_objects(const char *which, const char *advice, char *text, size_t size);
void reasons_floors_tick(struct station *s); /* as often as values may come */
/* The end of hits-lost of a floor: how many, in which time, where. */
void reasons_hits_over(const struct station *s, const char *object, char *text, size_t size);

#endif
