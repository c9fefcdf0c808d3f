/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Incidents (incidents/incident.h) on their way out: as JSON, to the clients that watch; and what operators have done about
 * them (slowctl/alarm/alarm.h), to the database and to the events. Main thread.
 */
#pragma once

#include <jansson.h>

struct alarm;
struct control_request;
struct station;
struct store_past;

/* Take over what operators had done about observations when the previous daemon ended, but not over what they have done
 * since. */
void incident_actions_restore(struct station *s, const struct store_past *past);
/* Ends the requests of clients that watch. */
void incident_actions_stop(struct station *s);
/* Store and report what has changed. After each change by an operator, and 10 times a second. */
void incident_actions_drain(struct station *s);
/* Once a second: a sign of life to those who watch. */
void incident_actions_second(struct station *s);

/* The client of `rq` gets all incidents, then each change, until it closes. */
void incident_actions_watch(struct station *s, struct control_request *rq);

/* The objects of schemas/control.md; new references. */
json_t *incident_actions_list(struct station *s);	  /* Incidents */
json_t *incident_actions_name(const struct alarm *alarm); /* Dealt */
