/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An observation: what is true of which object, since when, how much, what to do. Objects are structs; a name is written
 * for people, and never read back. An advice is a template; object_advice() fills it in when it is shown. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/alarms/reason_kinds.h"
#include "slowctl/param/param.h"

#define OBJECT_NONE (-1) /* no link, no group */

struct alarm_object {
	enum reason_of of;
	const char *name;     /* OF_THING, OF_GROUP, OF_VALUE: it outlives the observation */
	uint8_t tower, floor; /* OF_FLOOR, OF_FEED */
	int8_t link, group;   /* that it belongs to; OBJECT_NONE */
	uint8_t modules;      /* that it is about, bits; 0: none in particular */
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

/* How much, since it began. */
struct observed {
	uint64_t frames, dropped, hits;
	uint8_t dark[PARAM_LINKS]; /* modules that see nothing meanwhile, bits by link */
};

struct observation {
	const char *code; /* of reason_kinds */
	struct alarm_object object;
	bool red;
	bool latch;	   /* it stays until somebody has acknowledged it */
	bool past;	   /* it is shown for some time, though it does not go on */
	uint32_t parts;	   /* of the object, bits; a new one is an event */
	uint64_t since_ns; /* CLOCK_MONOTONIC; 0: since it was first seen */
	struct observed much;
	/* What to do: "LINK" stands for the link's number, "floorN" for the floor, "floorN.omM" for the modules or for what
	 * has the value, "%s" for `with`. "" only where the text says it. */
	const char *advice, *with;

	/* As shown, and what operators have done; set by the judge. */
	const char *loss; /* frames lost or dropped: how; a constant; NULL: of all */
	const char *text, *action;
	bool paused;
	const char *acknowledged; /* by whom; NULL: not yet */
	const char *own;	  /* the command of ours that did it, and whose; NULL */
};

/* The advice as people read it. */
void observation_advice(const struct observation *o, char *text, size_t size);
/* An advice for all ("floorN.omM.hv") for those that `which` stands for: "floor3.om2", or a pattern, which is quoted for the
 * shell. */
void advice_name_objects(const char *which, const char *advice, char *text, size_t size);
