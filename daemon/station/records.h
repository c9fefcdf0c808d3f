/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder: orders to it, what it says, black boxes for alarms. */
#pragma once

#include "daemon/config/config.h"
#include "daemon/record/recorder.h"

struct control_request;
struct judge_recorder;
struct station;

struct records {
	char directory[CONFIG_STRING + 16];
	struct control_request *rq; /* waits for an order to be carried out */
	uint32_t order;		    /* its number; the last one's that was given */
	char who[128];		    /* who gave it, and from where */
	bool failed; /* the disk has stopped a recording, and nobody has said that he knows */
	char failed_text[600];
	struct recorder_event failure;
	uint64_t let_go, let_go_ns; /* cells, at the last look; when there were more */
	uint64_t boxes_unasked;	    /* black boxes for which the recorder took no order */
};

int records_start(struct station *s);  /* before capture */
void records_finish(void *station);    /* when capture's thread has ended */
void records_stop(struct station *s);  /* when nobody uses the tap any more */
void records_drain(struct station *s); /* what the recorder says */
/* One order at a time. True: refused, answered. */
bool records_busy(struct station *s, struct control_request *rq);
/* `rq` is answered when the recorder has carried it out. */
void records_order_start(struct station *s, struct control_request *rq,
			 const struct record_spec *spec);
void records_order_stop(struct station *s, struct control_request *rq);
/* An alarm of a link has begun: a black box. */
void records_alarm(void *station, unsigned link, const char *code, const char *text);
/* What of it is a reason. */
void records_view(struct station *s, struct judge_recorder *ret_view);
