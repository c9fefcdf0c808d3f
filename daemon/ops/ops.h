/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operations of the control protocol, for the main loop. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct control_op;
struct control_request;
struct sc_error;
struct station;

int ops_start(struct station *s);			   /* before anything is served */
extern const struct control_op *const station_op_tables[]; /* ends with NULL */
/* A request that its peer's role does not allow, into the journal: control_refused_fn of the desk. */
bool station_refused(void *context, struct control_request *rq, const char *op, json_t *args,
		     const struct sc_error *error);
void ops_tick(struct station *s);     /* 10 times a second */
void waiters_tick(struct station *s); /* every 10 ms */
/* One line for systemctl status. */
void status_line(struct station *s, char *text, size_t size);
