/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What operators have done about alarms (slowctl/alarm/alarm.h), and what else has changed of them: to the
 * database, to the events, to the clients that watch. Main thread.
 */
#ifndef DAEMON_ALARMS_ALARMS_SAY_H
#define DAEMON_ALARMS_ALARMS_SAY_H

#include "daemon/station/station.h"

int alarms_say_start(struct station *s);
/* What lasts of those before; what operators have done about ours since counts more. */
void alarms_say_restore(struct station *s, const struct store_past *past);
/* Those who watch are told the end. */
void alarms_say_stop(struct station *s);
/* Carry on what has changed; after each change by an operator, else 10 times a second. */
void alarms_say_drain(struct station *s);
/* Once a second: a sign of life to those who watch. */
void alarms_say_second(struct station *s);

/* The client of `rq` is told all there is, then each change, until it closes. */
void alarms_say_watch(struct station *s, struct control_request *rq);

/* The object Alarm of schemas/control.md; a new reference. */
json_t *alarms_say_json(const struct alarm *alarm);
/* Those that stand or are paused: red ones that count, others that stand, paused ones; each oldest first. */
json_t *alarms_say_list(struct station *s);
/* Adds to a reason of status (an object) how it was dealt with. `alarm` NULL: nobody can. */
void alarms_say_reason(json_t *reason, const struct alarm *alarm);

#endif
