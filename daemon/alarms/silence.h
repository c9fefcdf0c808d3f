/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The silence timers of the floors (tdm/registers.h), from the values read: on or off, and fired or not. No I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slowctl/param/param.h"

enum silence_timer {
	SILENCE_UNKNOWN, /* never read, or stale */
	SILENCE_NONE,	 /* the FCM has no such register */
	SILENCE_OFF,
	SILENCE_ON,
};
const char *silence_timer_name(enum silence_timer timer); /* "unknown", "none", "off", "on" */

struct silence_view {
	enum silence_timer timer;
	int32_t time_s;	  /* silence after which it fires; -1: unknown */
	uint32_t fired;	  /* how often, as last read; kept while the floor does not answer */
	int64_t fired_ns; /* UTC when it fired last, to 1 s; 0: unknown */
};

/* The timer of the floor on this link at `mono_ns` (CLOCK_MONOTONIC). */
void silence_get(struct params *p, unsigned link, uint64_t mono_ns, struct silence_view *ret_view);

/* Text and advice of status for a timer that has fired; "floorN" stands for the floor. */
void silence_say(const struct silence_view *v, char *text, size_t size);
extern const char silence_advice[];
