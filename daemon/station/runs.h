/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs: requests, reports and rows to capture/run_state.h; its rows, commands, events and answers. */
#pragma once

#include <stdbool.h>

struct capture_report;
struct control_request;
struct station;
struct store_past;

void runs_begin(struct station *s);
void runs_end(struct station *s); /* answers the client that waits */
/* A run begins: journaled first, then at the next slice border; then `rq` is answered. */
void runs_start(struct station *s, const char *note, struct control_request *rq);
/* The run ends at the next slice border; `rq` is answered when it is journaled. */
void runs_stop(struct station *s, struct control_request *rq);
/* Whether a run may begin, or end, now. False: refused, answered. */
bool runs_may_start(struct station *s, struct control_request *rq);
bool runs_may_stop(struct station *s, struct control_request *rq);
/* CAPTURE_RUN_TIMED. */
void runs_timed(struct station *s, const struct capture_report *r);
/* The run of the journal goes on. */
void runs_restore(struct station *s, const struct store_past *past);
void runs_tick(struct station *s); /* every 100 ms */
