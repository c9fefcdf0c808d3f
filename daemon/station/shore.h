/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shore's own parameters (link2.phase, clock.state, disk.free ...). */
#ifndef DAEMON_STATION_SHORE_H
#define DAEMON_STATION_SHORE_H

struct station;

void shore_second(struct station *s);

#endif
