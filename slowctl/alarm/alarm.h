/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What operators do about alarms: acknowledge, pause. An alarm is an active reason: an object and a
 * code ("tower1.floor3/hv-trip"). Others find out whether it is active; these are its states for
 * operators:
 *
 *              raise                over
 *   (nothing) ------> RAISED ----------------> over (reported, then forgotten; kept while it is paused)
 *                      ^  |  over, latch, not acknowledged
 *                raise |  v
 *                    LATCHED ---- acknowledge ----> over
 *
 *   AWAITED       after a restart: it was active when the previous daemon ended. It is raised again within
 *                 ALARM_AWAITED_NS, or over.
 *   acknowledged  by an operator; it stays active. An added part, a higher level, or a new beginning after it has
 *                 cleared is not acknowledged.
 *   paused        it does not count until a time, at most 24 h ahead, for a reason. A pause of a warning does not
 *                 cover it as an alarm; a pause of an inactive reason covers both.
 *
 * Pure: the caller passes the time, nothing is written. The caller takes changes by
 * alarms_changed() and gives them to the database and to clients that watch. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slowctl/param/error.h"
#include "slowctl/param/param.h"

#define ALARMS_MAX	   256u
#define ALARMS_AHEAD_MAX   64u /* paused ones that are not active: the room is for active ones */
#define ALARM_PAUSE_MAX_S  86400.0
#define ALARM_AWAITED_NS   120000000000ull /* after a restart an alarm is back by then, or over */
#define ALARM_OBJECT_BYTES 64u
#define ALARM_CODE_BYTES   32u
#define ALARM_TEXT_BYTES   400u /* of what is the matter, and of what to do */

enum alarm_state {
	ALARM_OVER,    /* not active; kept for its pause only */
	ALARM_AWAITED, /* was active when the previous daemon ended */
	ALARM_RAISED,
	ALARM_LATCHED, /* has cleared, and is not acknowledged */
};
const char *alarm_state_name(enum alarm_state state); /* "over", "awaited", "raised", "latched" */

enum alarm_change {
	ALARM_SAME,
	ALARM_BEGAN,
	ALARM_WORSE, /* a part or a level that was not there before */
	ALARM_EASED, /* from alarm to warning */
	ALARM_HELD,  /* over, and latched */
	ALARM_ENDED,
	ALARM_ACKNOWLEDGED,
	ALARM_PAUSED,
	ALARM_RESUMED,
	ALARM_EXPIRED, /* its pause has come to its end */
};
const char *alarm_change_name(enum alarm_change change); /* "began", "worse", ... */

/* Who did it, from where, with which note. */
struct alarm_hand {
	char who[64], origin[80], text[128];
	int64_t utc_ns;
};

struct alarm {
	char object[ALARM_OBJECT_BYTES], code[ALARM_CODE_BYTES];
	enum alarm_state state;
	enum limits_level level, highest; /* now (of what is over: last), since it began */
	bool latch;
	uint32_t parts;
	uint32_t count;	  /* times it began, since it was last forgotten */
	int64_t since_ns; /* UTC of its beginning */
	int64_t over_ns;  /* UTC; LATCHED: when it was over */
	char text[ALARM_TEXT_BYTES], action[ALARM_TEXT_BYTES];

	bool acknowledged;
	struct alarm_hand ack;
	int64_t paused_until_ns; /* UTC; 0: not paused */
	enum limits_level paused_level;
	struct alarm_hand pause;

	enum alarm_change change; /* last, and not yet taken */
	/* Inside. */
	bool used, stored;
	uint64_t awaited_until_ns, pause_ends_ns; /* CLOCK_MONOTONIC */
};

struct alarms;
struct alarms *alarms_create(void); /* NULL: out of memory */
void alarms_destroy(struct alarms *a);

/* --- what is active --- */

struct alarm_sight {
	const char *object, *code, *text, *action;
	enum limits_level level; /* WARNING or ALARM */
	bool latch;
	uint32_t parts; /* of the object, its own numbers */
};
/* It is active; called repeatedly while it is. NULL: no room, then it is active but not
 * remembered. */
const struct alarm *alarms_see(struct alarms *a, const struct alarm_sight *sight,
			       struct engine_now now);
/* It is not active any more. */
void alarms_over(struct alarms *a, const char *object, const char *code, struct engine_now now);
/* Call from time to time: pauses end, awaited alarms clear. */
void alarms_tick(struct alarms *a, struct engine_now now);

/* --- what operators do --- */

/* -ENOENT: it is not active. -EALREADY: it was acknowledged before. */
int alarms_acknowledge(struct alarms *a, const char *object, const char *code,
		       const struct alarm_hand *hand, struct sc_error *error);
/* It does not count for `seconds` (above 0, at most 24 h); of one that is paused: from now on. It need not
 * be active. -EINVAL: no reason, no such time, no such name. -ENOSPC: too many alarms. */
int alarms_pause(struct alarms *a, const char *object, const char *code, double seconds,
		 const struct alarm_hand *hand, struct engine_now now, struct sc_error *error);
/* -ENOENT: it is not paused. */
int alarms_resume(struct alarms *a, const char *object, const char *code,
		  const struct alarm_hand *hand, struct sc_error *error);

/* --- the list --- */

/* NULL: none. */
const struct alarm *alarms_find(const struct alarms *a, const char *object, const char *code);
/* The next behind `after` (NULL: the first) that is active or paused; NULL: no more. */
const struct alarm *alarms_next(const struct alarms *a, const struct alarm *after);
/* Whether its pause covers the level it has now. */
bool alarm_is_paused(const struct alarm *alarm);
/* Whether it is active, for operators: RAISED or LATCHED. */
bool alarm_is_active(const struct alarm *alarm);
/* "OBJECT/CODE", as people name it. Returns buf. */
const char *alarm_name(const struct alarm *alarm, char *buf, size_t size);
/*
 * Whether a name typed by an operator means this alarm: OBJECT/CODE or OBJECT alone, the object a pattern as
 * of params_match() ("floor3", "floor*.om2.temperature", "link[01]"), or in full ("group trigger").
 */
bool alarm_name_means(const char *name, const struct alarm *alarm);
/* Splits "OBJECT/CODE"; the object need not exist. -EINVAL */
int alarm_name_split(const char *name, char object[ALARM_OBJECT_BYTES],
		     char code[ALARM_CODE_BYTES]);

/* --- changes, and what is to be remembered --- */

/* One that has changed; its `change` says how. NULL: none. To be followed by alarms_taken(), which forgets one
 * that is over and not paused. */
struct alarm *alarms_changed(struct alarms *a);
void alarms_taken(struct alarm *alarm);
/* Whether it must be kept across a restart: acknowledged, paused, latching. */
bool alarm_lasts(const struct alarm *alarm);
/* From the database: only before anything else. One that was active is awaited, or LATCHED if it
 * latches. */
void alarms_recover(struct alarms *a, const struct alarm *alarm, struct engine_now now);
