/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is told of what: the receivers of the configuration, and the rule that decides. Pure but for reading the file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "slowctl/param/error.h"

#define RECEIVERS_MAX	 16u
#define RECEIVER_OBJECTS 16u
#define RECEIVER_NAME	 32u

enum receiver_kind { RECEIVER_PROGRAM, RECEIVER_MAIL, RECEIVER_WEBHOOK };

struct receiver {
	char name[RECEIVER_NAME];
	enum receiver_kind kind;
	char target[400];		   /* path of the program, address, URL */
	bool warnings;			   /* also these; else red ones only */
	char object[RECEIVER_OBJECTS][64]; /* patterns; none: all */
	unsigned objects;
	unsigned after_s;	  /* only what nobody has acknowledged for so long */
	int quiet_from, quiet_to; /* minutes of the UTC day; equal: never quiet */
	unsigned per_hour;	  /* deliveries */
	bool cleared;		  /* also the end of what was told */
};

struct receivers {
	unsigned count;
	struct receiver receiver[RECEIVERS_MAX];
};

/* -ENOENT, -EINVAL, ... and *error with file and line. */
int receivers_read(const char *path, struct receivers *ret_receivers, struct sc_error *error);

/* One incident, as far as a rule asks. Times: UTC s. */
struct notify_incident {
	uint32_t number;
	bool red, active, acknowledged, paused;
	bool own; /* our own command did it */
	const char *object;
	double since, until; /* until: of one that is not active */
};

/* What a receiver has been told of an incident. */
struct notify_told {
	uint32_t number;
	double since; /* a new database begins with number 1 again */
	bool red, cleared;
	bool passed; /* nothing: it was not to be told while it was active */
};

enum notice { NOTICE_NONE, NOTICE_PASSED, NOTICE_BEGAN, NOTICE_WORSE, NOTICE_CLEARED, NOTICE_TEST };

/*
 * What is due now. `told` NULL: nothing was. `started`: when we began to watch, for ever: what had ended before is old.
 * In quiet times only red ones begin. One that is over before it could be told is told as it is, unless it had to be
 * unacknowledged for some time. NOTICE_PASSED: it is active, but paused, or it is a quiet time: when it ends so, it is not told.
 */
enum notice receiver_due(const struct receiver *r, const struct notify_told *told,
			 const struct notify_incident *i, double started, double now);
/* "began", ... */
const char *notice_name(enum notice n);
