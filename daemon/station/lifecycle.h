/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's start and stop as events; the state of earlier daemons, from the database to the modules that continue
 * it. */
#pragma once

#include <stdbool.h>

struct control_request;
struct station;

void lifecycle_takeover(struct station *s, unsigned link, bool taken_over);
void lifecycle_second(struct station *s);
void lifecycle_stop(struct station *s);

/* Take over the state that the database has, once it is open; while it cannot be opened, log that. */
void station_restore(struct station *s);
/* Whether a command that must be journaled can be accepted. False: refused, answered. */
bool restore_done(struct station *s, struct control_request *rq, const char *what);
