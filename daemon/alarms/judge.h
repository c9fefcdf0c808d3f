/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The judge: what is wrong with the station, since when, why, and what to do. A state machine without I/O: a view of
 * everything goes in (view.h), reasons, events and orders for black boxes come out.
 *
 *   view --judge_tick()--> observations (what is true of which object) --debounce--> alarms (slowctl/alarm)
 *                                |                                        \--> incidents (one cause, what it explains)
 *                                \--> ops: an event begins, is over; a black box for this link
 */
#pragma once

#include "daemon/alarms/incident.h"
#include "daemon/alarms/view.h"
#include "slowctl/alarm/alarm.h"

struct judge_event {
	const char *severity; /* "info", "warning", "alarm" */
	const char *code, *object, *text, *action;
	const char *log; /* it goes to the system log, too, under this subject; NULL: it does not */
	int link;	 /* of the log; -1: none */
};

struct judge_ops {
	/* Into the database's events. */
	void (*event)(void *context, const struct judge_event *event);
	/* An alarm of a link has begun: keep what was before it. */
	void (*box)(void *context, unsigned link, const char *code, const char *text);
	void *context;
};

/* An observation, as status shows it. `alarm`: what operators have done about it; NULL: there was no room for it. Good until
 * the next call of the judge. */
struct judge_reason {
	bool red;
	char code[ALARM_CODE_BYTES], object[ALARM_OBJECT_BYTES];
	char text[ALARM_TEXT_BYTES + 80];
	char action[ALARM_TEXT_BYTES];
	int64_t since_ns; /* UTC */
	const struct alarm *alarm;
	unsigned number; /* in the order of the look */
};

struct judge;
/* NULL: no memory. */
struct judge *judge_create(const struct judge_ops *ops);
void judge_destroy(struct judge *j);
/* Look: events that are due, what begins and what is over. At least 10 times a second. */
void judge_tick(struct judge *j, const struct judge_view *view);
/* The reasons of the last look, and how many of them are red and count: red ones first, paused ones last, then the
 * oldest. */
const struct judge_reason *judge_reasons(const struct judge *j, size_t *ret_count,
					 unsigned *ret_red);
struct alarms *judge_alarms(struct judge *j);
/* The same as causes and what they explain, of the last look. */
struct incidents *judge_incidents(struct judge *j);
/* Its beginning was told, and it is not over. */
bool judge_told(const struct judge *j, const char *code, const char *object);

/* Of the ledger: a run of lost frames of a link, of frames dropped for a group; see loss_episodes.h. */
void judge_lost(struct judge *j, unsigned link, uint32_t dma_epoch, uint64_t first, uint64_t next);
void judge_dropped(struct judge *j, unsigned group, uint64_t first, uint64_t next);
/* The account of a link's ring begins: what `cells` has is no loss, nor are spans before `count` of this DMA epoch.
 * `restarted`: the ring began later than the daemon, and an episode that is going on ends by itself. */
void judge_account(struct judge *j, unsigned link, const uint64_t cells[TDM_LOSSES],
		   uint32_t dma_epoch, uint64_t count, bool restarted);
