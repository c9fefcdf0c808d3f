/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The judge: what is wrong with the station, since when, why, and what to do. A state machine without I/O: a view of
 * the station goes in (view.h); incidents, events and requests for black boxes come out.
 *
 *   view --judge_tick()--> observations (what is true of which object)
 *          |--debounce--> what operators have done about each (slowctl/alarm)
 *          |                \--> incidents (one cause, what it explains)
 *          \--> ops: events of reasons that become active or clear; a black box of a link
 */
#pragma once

#include "daemon/incidents/incident.h"
#include "daemon/alarms/view.h"
#include "slowctl/alarm/alarm.h"

struct judge_event {
	const char *severity; /* "info", "warning", "red" */
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

/* What an optical module sees, by its power, trip and high voltage as last read. */
enum judge_module_state {
	JUDGE_MODULE_ON,
	JUDGE_MODULE_LOW, /* powered, and its high voltage far below what is set */
	JUDGE_MODULE_OFF, /* without power, or its high voltage is set to 0 */
	JUDGE_MODULE_TRIPPED,
	JUDGE_MODULE_UNKNOWN, /* never read, or stale */
	JUDGE_MODULES,
};
enum judge_module_state judge_module(const struct judge_module *m, uint64_t now_ns);

struct judge;
/* NULL: no memory. */
struct judge *judge_create(const struct judge_ops *ops);
void judge_destroy(struct judge *j);
/* One evaluation. To be called at least 10 times a second. */
void judge_tick(struct judge *j, const struct judge_view *view);
/* What operators have done about each observation. */
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
