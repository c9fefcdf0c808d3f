/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of reasons: code, object, and how each is reported. runbook.md says what to do about each. No I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* What a reason's object is. */
enum reason_of {
	OF_NOTHING = 0x00,
	OF_THING = 0x01, /* the one that is named in `thing` */
	OF_LINK = 0x02,	 /* "link2" */
	OF_FLOOR = 0x04, /* "tower1.floor3" */
	OF_GROUP = 0x08, /* "group trigger" */
	OF_FEED = 0x10,	 /* "feed tower1.floor3" */
	OF_VALUE = 0x20, /* "tower1.floor3.fcm.humidity" */
	OF_EPOCH = 0x40, /* "time epoch 3": unknown in advance */
};

/* Which modules see nothing while a reason is true. */
enum reason_dark { DARK_NONE, DARK_ALL /* of the object's link, else of all links */, DARK_PARTS };

struct reason_kind {
	const char *code;
	unsigned of;	   /* enum reason_of, several */
	const char *thing; /* OF_THING: its name */
	uint64_t hold_ns;  /* it must be true for so long before it is active; 0: at once */
	bool quiet;	   /* the file that observes it writes its events itself */
	bool board;	   /* only the board can show whether it has cleared */
	bool outlives;	   /* it may be active before our start: an event then, too */
	bool stays;	   /* shown as long as it is observed, though it has ended */
	enum reason_dark dark;
};

extern const struct reason_kind reason_kinds[]; /* ends with code NULL */

/* NULL: there is no such code. */
const struct reason_kind *reason_kind(const char *code);
/* Whether a reason of this code may have an object of this sort; `thing`: its name. */
bool reason_kind_is_of(const struct reason_kind *k, enum reason_of of, const char *thing);
/* The codes that such an object may have: "hv-trip, hv-low, hits-lost"; "" none. Returns buf. */
const char *reason_kinds_of(enum reason_of of, const char *thing, char *buf, size_t size);
/* Whether there is a thing of this name. */
bool reason_thing(const char *name);
/* The table as fcm-server --reasons prints it: a new reference. */
json_t *reason_kinds_json(void);
