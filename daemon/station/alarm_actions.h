/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What operators have done about alarms (slowctl/alarm/alarm.h), and what else has changed of them: to the
 * database, to the events, to the clients that watch. Main thread.
 */
#pragma once

#include <jansson.h>

struct alarm;
struct control_request;
struct station;
struct store_past;

/* Take over the alarms of a previous daemon, but not over those about which operators have done something since. */
void alarm_actions_restore(struct station *s, const struct store_past *past);
/* Ends the requests of clients that watch. */
void alarm_actions_stop(struct station *s);
/* Store and report what has changed. After each change by an operator, and 10 times a second. */
void alarm_actions_drain(struct station *s);
/* Once a second: a sign of life to those who watch. */
void alarm_actions_second(struct station *s);

/* The client of `rq` gets all alarms, then each change, until it closes. */
void alarm_actions_watch(struct station *s, struct control_request *rq);

/* The object Alarm of schemas/control.md; a new reference. */
json_t *alarm_actions_json(const struct alarm *alarm);
/* Active and paused alarms: red ones, warnings, paused ones, paused and inactive ones; the oldest first in each. */
json_t *alarm_actions_list(struct station *s);
/* Adds to a reason of status (an object) how it was dealt with. `alarm` NULL: nobody can. */
void alarm_actions_reason(json_t *reason, const struct alarm *alarm);
