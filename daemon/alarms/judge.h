/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The judge: what is wrong with the station, since when, why, and what to do. A state machine without I/O: a view of
 * the station goes in (view.h); reasons, events and requests for black boxes come out.
 *
 *   view --judge_tick()--> observations (what is true of which object) --debounce--> alarms (slowctl/alarm)
 *                                |                                        \--> incidents (one cause, what it explains)
 *                                \--> ops: events of reasons that become active or clear; a black box of a link
 */
#pragma once

#include "daemon/alarms/incident.h"
#include "daemon/alarms/view.h"
#include "slowctl/alarm/alarm.h"

struct judge_event {
	const char *severity; /* "info", "warning", "alarm" */
	const char *code, *object, *text, *action;
	const char *log; /* subject in the system log; NULL: not logged */
	int link;	 /* for the log; -1: none */
};

struct judge_ops {
	/* Into the database's events. */
	void (*event)(void *context, const struct judge_event *event);
	/* An alarm of a link has become active: keep the data from before it. */
	void (*box)(void *context, unsigned link, const char *code, const char *text);
	void *context;
};

/* An observation, as status shows it. `alarm`: what operators have done about it; NULL: the table of alarms is full. Valid
 * until the next call of the judge. */
struct judge_reason {
	bool red;
	char code[ALARM_CODE_BYTES], object[ALARM_OBJECT_BYTES];
	char text[ALARM_TEXT_BYTES + 80];
	char action[ALARM_TEXT_BYTES];
	int64_t since_ns; /* UTC */
	const struct alarm *alarm;
	unsigned number; /* in the order of observation */
};

struct judge;
/* NULL: no memory. */
struct judge *judge_create(const struct judge_ops *ops);
void judge_destroy(struct judge *j);
/* One evaluation. To be called at least 10 times a second. */
void judge_tick(struct judge *j, const struct judge_view *view);
/* The reasons of the last tick: red ones first, paused ones last, then the oldest. *ret_red: how many are red and not
 * paused. */
const struct judge_reason *judge_reasons(const struct judge *j, size_t *ret_count,
					 unsigned *ret_red);
struct alarms *judge_alarms(struct judge *j);
/* The incidents after the last tick. */
struct incidents *judge_incidents(struct judge *j);
/* It was reported, and has not cleared. */
bool judge_has_reported(const struct judge *j, const char *code, const char *object);

/* From the ledger: a span of lost frames of a link, or of frames dropped for a group; see loss_episodes_span(). */
void judge_lost(struct judge *j, unsigned link, uint32_t dma_epoch, uint64_t first, uint64_t next);
void judge_dropped(struct judge *j, unsigned group, uint64_t first, uint64_t next);
/* Counting of a link's ring starts: what `cells` holds already is no loss, nor are spans before `count` of this DMA epoch.
 * `restarted`: the ring was restarted after the daemon; an open episode continues until it ends. */
void judge_account(struct judge *j, unsigned link, const uint64_t cells[TDM_LOSSES],
		   uint32_t dma_epoch, uint64_t count, bool restarted);
