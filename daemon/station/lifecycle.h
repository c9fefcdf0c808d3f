/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our own start and stop as events; what a predecessor left open ended with it. */
#ifndef DAEMON_STATION_LIFECYCLE_H
#define DAEMON_STATION_LIFECYCLE_H

#include <stdbool.h>

struct station;
struct store_past;

struct lifecycle {
	unsigned taken, anew; /* links whose ring was taken over, begun anew */
	bool said, crashed;   /* crashed: the daemon before us did not end as told */
};

void lifecycle_restore(struct station *s, const struct store_past *past);
void lifecycle_takeover(struct station *s, unsigned link, bool taken_over);
void lifecycle_second(struct station *s);
void lifecycle_stop(struct station *s);

#endif
