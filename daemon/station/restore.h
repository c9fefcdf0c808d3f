/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the database knows of the daemons before us, for everything that goes on with it. */
#ifndef DAEMON_STATION_RESTORE_H
#define DAEMON_STATION_RESTORE_H

#include <stdbool.h>

struct control_request;
struct station;

/* Go on with what the database knows, when it has been opened; where it is away, say so. */
void station_restore(struct station *s);
/* Whether an order that the journal must know of can be taken; else it is refused, answered. */
bool restore_done(struct station *s, struct control_request *rq, const char *what);

#endif
