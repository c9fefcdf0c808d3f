/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The main thread's side of the recorder: starts and stops it, passes on operators' requests, handles its events, and
 * has it keep a black box (last seconds of data, and registers) when a link's incident begins.
 */
#pragma once

#include <stdbool.h>

struct control_request;
struct judge_recorder;
struct record_spec;
struct station;

int records_start(struct station *s);  /* before capture */
void records_finish(void *station);    /* when capture's thread has ended */
void records_stop(struct station *s);  /* when nobody uses the tap any more */
void records_drain(struct station *s); /* its events */
/* One order at a time. True: refused, answered. */
bool records_busy(struct station *s, struct control_request *rq);
/* `rq` is answered when the recorder has carried it out. */
void records_order_start(struct station *s, struct control_request *rq,
			 const struct record_spec *spec);
void records_order_stop(struct station *s, struct control_request *rq);
/* An incident of a link has become active: keep a black box. */
void records_incident(void *station, unsigned link, const char *code, const char *text);
/* What of it is a reason. */
void records_view(struct station *s, struct judge_recorder *ret_view);
