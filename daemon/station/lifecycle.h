/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our own start and stop as events; what the database knows of the daemons before us, for all
 * that goes on with it. */
#pragma once

#include <stdbool.h>

struct control_request;
struct station;

void lifecycle_takeover(struct station *s, unsigned link, bool taken_over);
void lifecycle_second(struct station *s);
void lifecycle_stop(struct station *s);

/* Go on with what the database knows, when it has been opened; where it is away, say so. */
void station_restore(struct station *s);
/* Whether an order that the journal must know of can be taken; else it is refused, answered. */
bool restore_done(struct station *s, struct control_request *rq, const char *what);
