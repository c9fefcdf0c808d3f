/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client of gpsd, through libgps: connects, watches, reads, connects again. Its descriptor is
 * in the main thread's event loop, and it never blocks that thread. It does not judge times: the
 * clock does.
 */
#pragma once

#include "daemon/time/clock.h"

struct gps;

/* `host` and `port` as in gps_open(3); the name of the host outlives the client. Does not
 * connect yet. */
struct gps *gps_create(const char *host, const char *port);
void gps_destroy(struct gps *g);
/* Try to connect and WATCH (JSON, pps). 0 or -errno; call again after a pause. It never waits
 * longer than some 40 ms: -EINPROGRESS means that the next call continues. */
int gps_connect(struct gps *g);
/* -1 when not connected. */
int gps_fd(const struct gps *g);
/* Readable: take all that is there. Calls back once per report with a TPV time or mode.
 * -EPIPE: gpsd is gone (disconnected now). */
int gps_read_reports(struct gps *g, void (*on_tpv)(void *context, const struct clock_gps *gps),
		     void *context);

/* One report of gpsd, as a line without its end (it is changed). True and *ret_gps for a TPV. For
 * gps_read_reports(), and tests. */
bool gps_take_line(struct gps *g, char *line, struct clock_gps *ret_gps);
