/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An observation: what is true of which object, since when, how much, what to do. Objects are structs; their names are
 * for people only, and are never parsed. An advice is a template; observation_advice() fills it in. No I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/incidents/reason_kinds.h"
#include "slowctl/param/param.h"

struct alarm_hand;

#define OBJECT_NONE (-1) /* no link, no group */

struct alarm_object {
	enum reason_of of;
	const char *name;     /* OF_THING, OF_GROUP, OF_VALUE */
	uint8_t tower, floor; /* OF_FLOOR, OF_FEED */
	int8_t link, group;   /* it belongs to; OBJECT_NONE: to none */
	uint8_t modules;      /* affected, bits; 0: not specified */
	unsigned epoch;	      /* OF_EPOCH */
};

struct alarm_object object_thing(const char *name);
struct alarm_object object_link(unsigned link);
struct alarm_object object_floor(uint8_t tower, uint8_t floor, unsigned link);
struct alarm_object object_feed(uint8_t tower, uint8_t floor, unsigned link, unsigned group);
struct alarm_object object_group(unsigned group, const char *name);
struct alarm_object object_value(const struct param *p);
struct alarm_object object_epoch(unsigned epoch);
/* "link2", "tower1.floor3", "group trigger", "feed tower1.floor3". Returns buf. */
const char *object_name(const struct alarm_object *o, char *buf, size_t size);

/* How much, since it became true. */
struct observed {
	uint64_t frames, dropped, hits;
	uint8_t dark[PARAM_LINKS]; /* modules without data meanwhile, bits by link */
};

struct observation {
	const char *code; /* of reason_kinds */
	struct alarm_object object;
	bool red;
	bool latch;	   /* it stays until an operator has acknowledged it */
	bool past;	   /* it has ended, and is shown for some time */
	uint32_t parts;	   /* of the object, bits; a new bit is an event */
	uint64_t since_ns; /* CLOCK_MONOTONIC; 0: since it was first observed */
	struct observed much;
	/* What to do. "LINK" stands for the link's number, "floorN" for the floor, "floorN.omM" for the modules or for the
	 * owner of the value, "%s" for `with`. */
	const char *advice, *with;

	/* Set by the judge: as shown, and what operators have done. */
	const char *loss; /* name of a loss, a constant; NULL: all losses */
	bool expected;	  /* our command costs that much: it counts, and nothing is wrong */
	const char *text, *action;
	bool paused;
	const struct alarm_hand *acknowledged; /* NULL: not yet */
	const char *own; /* our command that caused it, and by whom; NULL: none */
};

/* Fills in its advice. */
void observation_advice(const struct observation *o, char *text, size_t size);
/* Replaces "floorN.omM" in an advice by `which`: "floor3.om2", or a pattern, which is quoted for the shell. */
void advice_name_objects(const char *which, const char *advice, char *text, size_t size);
