/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Incidents: one cause, the observations that it explains, its cost. A state machine without I/O. At each tick the caller
 * gives it all observations that are true, then calls incidents_tick().
 *
 *   a new observation    starts an incident, or becomes part of the one whose cause explains it
 *   ACTIVE               at least one of its observations is true
 *   ACKNOWLEDGED         active, and operators have acknowledged the cause, each observation of its code; or, when the
 *                        cause has ended, all that is left
 *   PAUSED               active, but all that is true of it is paused: it does not count. A pause of the cause covers
 *                        what the cause explains, up to the cause's severity
 *   CLEARED              none is true; kept for INCIDENT_KEPT_NS, then forgotten
 *
 * What always holds:
 *  - incident_rows[] says which code explains which codes, and how their objects must be related. Observations of one
 *    code that begin together also have one cause.
 *  - an old cause never explains a new loss: it explains only what begins while it is true. Both ends have a tolerance
 *    of INCIDENT_NEAR_NS, as some things are noticed late.
 *  - a cause that is noticed later than its effects takes them over.
 *  - each lost frame and hit is charged to one incident, a dark module to the incident that began first.
 *  - a number is given once, also by daemons before and after this one: incidents_recover().
 *  - what comes and goes is one incident: of the fourth with one cause within INCIDENT_FLAP_NS the cause goes on until
 *    it has been quiet for INCIDENT_QUIET_NS. While it is quiet it explains nothing and costs nothing.
 *  - memory is bounded: cleared incidents are forgotten first; observations without room are counted.
 */
#pragma once

#include "daemon/incidents/observation.h"
#include "slowctl/alarm/alarm.h"

#define INCIDENTS_MAX	   64u
#define INCIDENT_PARTS_MAX 384u
#define INCIDENT_NEAR_NS   2000000000ull
#define INCIDENT_KEPT_NS   600000000000ull
#define INCIDENT_START_NS  30000000000ull /* what the daemon's start causes has cleared by then */
#define INCIDENT_FLAP_NS   120000000000ull
#define INCIDENT_FLAPS	   3u /* cleared incidents with one cause in that time */
#define INCIDENT_QUIET_NS  60000000000ull
#define INCIDENT_BRIEF_NS  10000000000ull /* then it is kept for so long */

/* How the two objects are related. */
enum incident_relation {
	RELATED_ALWAYS,
	RELATED_LINK,	/* on the same link */
	RELATED_ITSELF, /* the same link, not its floor */
	RELATED_MODULE, /* of the same module */
	RELATED_GROUP,	/* of the same group of consumers */
};

struct incident_row {
	const char *cause;
	enum incident_relation related;
	const char *effects[18]; /* ends with NULL */
};
extern const struct incident_row incident_rows[]; /* ends with cause NULL */

struct incident_cost {
	uint64_t frames;  /* lost of links */
	uint64_t dropped; /* frames that a group of consumers did not get */
	uint64_t hits;	  /* lost in modules */
	uint64_t dark_ns; /* of all modules together */
};

enum incident_state {
	INCIDENT_ACTIVE,
	INCIDENT_ACKNOWLEDGED,
	INCIDENT_PAUSED,
	INCIDENT_CLEARED,
};
const char *incident_state_name(enum incident_state state);

/* An observation that belongs to an incident. */
struct incident_part {
	const struct reason_kind *kind;
	const char *loss; /* name of a loss; NULL: all losses */
	char object[ALARM_OBJECT_BYTES];
	char text[ALARM_TEXT_BYTES + 80], action[ALARM_TEXT_BYTES];
	bool red;  /* as last seen */
	bool held; /* it has ended, and is shown until it is acknowledged, or for its time */
	uint64_t first_ns, over_ns; /* CLOCK_MONOTONIC; over_ns 0: it is still true, or held */
	struct incident_cost cost;  /* without dark_ns */

	/* Private to incident.c. */
	struct incident *of;
	struct alarm_object is;
	struct observed much; /* since since_ns, when it last became true */
	bool paused, acknowledged, placed, expected;
	uint64_t since_ns, seen_ns, dark_from_ns;
	uint64_t grew_ns;  /* when its cost in frames did */
	uint64_t ended_ns; /* of one that is held, or comes and goes; 0: it is true */
	unsigned times;	   /* that it has come; 0: it does not come and go */
};

struct incident {
	unsigned number; /* of two that turn out to be one the lower stays */
	enum incident_state state;
	bool red;  /* one of its true observations is red; CLEARED: one was */
	bool held; /* what is left of it has ended: held */
	bool of_start; /* it began with the daemon, less than INCIDENT_START_NS ago or long: no more than its start */
	const struct incident_part *cause;
	char own[80]; /* our command that caused it: "reset by ann at 22:15:37"; "": none */
	struct alarm_hand acknowledged; /* who "": it is not acknowledged */
	uint64_t since_ns, over_ns;	/* CLOCK_MONOTONIC; over_ns 0: not cleared */
	int64_t begun_ns; /* UTC, under a previous daemon; 0: under this one, at since_ns */
	struct incident_cost cost; /* also under previous daemons */
	unsigned parts;
	/* Private to incident.c. */
	bool used, was_red;
	struct incident_cost before; /* under previous daemons, without dark_ns */
};

/* One that had not ended when the previous daemon did. */
struct incident_before {
	unsigned number;
	char code[ALARM_CODE_BYTES], object[ALARM_OBJECT_BYTES], own[80];
	bool red;
	int64_t since_ns; /* UTC */
	struct incident_cost cost;
};

/* What modules of a link did not see since the last look, and which incident that was. */
struct incident_dark {
	unsigned number, link;
	uint8_t modules;
	uint64_t dark_ms, hits;
};

struct incidents;
struct incidents *incidents_create(void); /* NULL: out of memory */
void incidents_destroy(struct incidents *s);

/* The last number that was given, and what had not ended then: an incident with the same cause takes it up. */
void incidents_recover(struct incidents *s, unsigned last_number,
		       const struct incident_before *before, size_t count);
/* The number of one that nothing has taken up, each once; 0: no more. */
unsigned incidents_take_ended(struct incidents *s);

/* This observation is true at `now_ns`. */
void incidents_see(struct incidents *s, const struct observation *o, uint64_t now_ns);
/* This one has ended, but keeps its incident active while it is given. It explains nothing that begins later. */
void incidents_hold(struct incidents *s, const struct observation *o, uint64_t now_ns);
/* What begins until then may be no more than the daemon's own start. */
void incidents_start(struct incidents *s, uint64_t until_ns);
/* All observations that were not given at `now_ns` have ended. */
void incidents_tick(struct incidents *s, uint64_t now_ns);

/* All of them: red ones, warnings, acknowledged ones, cleared ones; the oldest first in each. Valid until the next call
 * of a function that changes the incidents, or of this one. */
const struct incident *const *incidents_list(struct incidents *s, size_t *ret_count);
/* The next of its observations after `after` (NULL: the first); NULL: no more. */
const struct incident_part *incidents_part(const struct incidents *s, const struct incident *i,
					   const struct incident_part *after);
/* Observations of the last tick for which there was no room. */
unsigned incidents_left_out(const struct incidents *s);

/* Whether it belongs to an incident that comes and goes. */
bool incidents_come_and_go(const struct incidents *s, const char *code, const char *object);

/* The state of the station, from all observations that are true and not paused: "RED", "ATTENTION", "WELL". */
const char *incidents_word(const struct incidents *s);
/* "link2/link-dark: no light (explains 2 more)". Returns text. */
const char *incidents_headline(struct incidents *s, char *text, size_t size);

/* The account of darkness since the last call, an entry a call; false: no more. What may be no more than the daemon's start
 * is kept until that is known. */
bool incidents_take_dark(struct incidents *s, struct incident_dark *ret_dark);
