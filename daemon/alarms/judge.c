// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One evaluation: all files of reasons, then what has cleared or is latched. Missing data are red. A
 * command in an advice can be typed as it is: test_advice reads them from these files.
 */
#include <stdio.h>
#include <stdlib.h>

#include "daemon/alarms/private.h"
#include "daemon/incidents/reason_kinds.h"

struct judge *judge_create(const struct judge_ops *ops)
{
	struct judge *j = calloc(1, sizeof(*j));

	if (!j) {
		return NULL;
	}
	j->ops = *ops;
	j->alarms = alarms_create();
	j->incidents = incidents_create();
	if (!j->alarms || !j->incidents) {
		judge_destroy(j);
		return NULL;
	}
	return j;
}

void judge_destroy(struct judge *j)
{
	if (!j) {
		return;
	}
	alarms_destroy(j->alarms);
	incidents_destroy(j->incidents);
	free(j);
}

/* ------------------------------------------------------------------ cleared reasons */

/* A reason that can no longer be observed has not cleared. Why its state is unknown; NULL: it has cleared. */
static const char *why_unknown(const struct judge *j, const struct debounce_reason *e)
{
	const struct reason_kind *k = reason_kind(e->code);

	if (floor_still_mute(j, e)) {
		return "it cannot be asked";
	}
	if (k && k->board && !j->v->board.present) {
		return "the board is gone";
	}
	if (strncmp(e->code, "phase-", 6) == 0 && j->v->link[e->of.link].other_floor) {
		return "another floor is on its fibre";
	}
	if (strncmp(e->code, "phase-", 6) == 0 &&
	    j->v->link[e->of.link].phase.last.verdict == PHASE_NONE) {
		return "no new lock is judged";
	}
	return floor_unknown(j, e);
}

/* As last observed. */
static void keep_unknown(struct judge *j, const struct debounce_reason *e, const char *why)
{
	const struct alarm *a = alarms_find(j->alarms, e->object, e->code);
	struct observation o = {
		.code = e->code, .object = e->of, .parts = e->parts, .since_ns = e->since_ns};
	char text[sizeof(a->text) + 80];

	if (a && a->state == ALARM_RAISED) {
		snprintf(text, sizeof(text), "%s (unknown for %.0f s: %s)", a->text,
			 judge_seconds_since(j, e->seen_ns), why);
		o.text = judge_seconds_since(j, e->seen_ns) < 1 ? a->text : text;
		o.action = a->action;
		judge_explain(j, o, a);
	}
}

static void report_cleared(struct judge *j, const struct debounce_reason *e)
{
	bool gone = strcmp(e->code, "consumer-lag") == 0 &&
		    j->v->publisher->group[e->of.group].members == 0;
	char text[256];

	snprintf(text, sizeof(text), "is over, after %.1f s%s",
		 (double)(e->seen_ns - e->since_ns) / 1e9,
		 gone ? ": the consumer is gone, not caught up" : "");
	if (strcmp(e->code, "hits-lost") == 0) {
		floor_hits_cleared(j, (unsigned)e->of.link, text, sizeof(text));
	}
	judge_put_event(j, "info", e->code, object_thing(e->object), text, "", NULL);
}

static void clear_reasons(struct judge *j)
{
	struct debounce_reason *e = NULL;

	while ((e = debounce_next_cleared(&j->debounce, e, j->v->now_ns))) {
		const struct reason_kind *kind = reason_kind(e->code);
		const char *why = why_unknown(j, e);

		if (why) {
			keep_unknown(j, e, why);
			continue;
		}
		if (e->reported && !(kind && kind->quiet) &&
		    !incidents_come_and_go(j->incidents, e->code, e->object)) {
			report_cleared(j, e);
		}
		alarms_over(j->alarms, e->object, e->code, judge_now(j));
		debounce_forget(e);
	}
}

/* Cleared, but not acknowledged. */
static void keep_latched(struct judge *j)
{
	const struct alarm *a = NULL;
	char text[sizeof(a->text) + 80];

	while ((a = alarms_next(j->alarms, a))) {
		struct observation o = {.code = a->code,
					.object = object_thing(a->object),
					.red = a->level == LEVEL_ALARM,
					.paused = alarm_is_paused(a),
					.text = text,
					.action = a->action,
					.since_ns = j->v->now_ns};

		if (a->state != ALARM_LATCHED) {
			continue;
		}
		snprintf(text, sizeof(text),
			 "is over for %.0f s, and waits to be acknowledged; it was: %s",
			 (double)(j->v->utc_ns - a->over_ns) / 1e9, a->text);
		incidents_hold(j->incidents, &o, j->v->now_ns);
	}
}

/* ------------------------------------------------------------------ a tick */

static void collect(struct judge *j)
{
	reasons_board(j);
	reasons_machine(j);
	for (unsigned link = 0; j->v->board.present && link < NANET3_LINKS; link++) {
		if (j->v->link[link].enabled) {
			reasons_link(j, link);
		}
	}
	reasons_clock(j);
	reasons_groups(j);
	reasons_doors(j);
	reasons_store(j);
	reasons_recorder(j);
	reasons_floors(j);
	clear_reasons(j);
	keep_latched(j);
	incidents_start(j->incidents, j->v->started_ns + START_GRACE_NS);
	incidents_tick(j->incidents, j->v->now_ns);
}

static void note_own(struct judge *j)
{
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		const struct judge_link *l = &j->v->link[link];
		struct judge_own *own = &j->own[link];
		bool first = l->own_ns > own->last_ns + RELOCK_NS;

		if (l->own_ns == own->last_ns) {
			continue;
		}
		if (first) {
			own->first_ns = l->own_ns;
		}
		if (first ||
		    judge_has_own(own->text, l->own)) { /* of a row of one command the last */
			own->text[0] = '\0';
		}
		judge_add_own(own->text, l->own,
			      j->v->utc_ns - (int64_t)(j->v->now_ns - l->own_ns));
		own->last_ns = l->own_ns;
	}
}

void judge_tick(struct judge *j, const struct judge_view *view)
{
	j->v = view;
	note_own(j);
	events_lost(j);
	events_dropped(j);
	events_members(j);
	events_feed(j);
	floors_look(j);
	collect(j);
	j->v = NULL;
}

struct alarms *judge_alarms(struct judge *j)
{
	return j->alarms;
}

struct incidents *judge_incidents(struct judge *j)
{
	return j->incidents;
}

bool judge_has_reported(const struct judge *j, const char *code, const char *object)
{
	return debounce_is_reported(&j->debounce, code, object);
}

/* ------------------------------------------------------------------ from the ledger */

void judge_lost(struct judge *j, unsigned link, uint32_t dma_epoch, uint64_t first, uint64_t next)
{
	loss_episodes_span(&j->lost[link], dma_epoch, first, next);
}

void judge_dropped(struct judge *j, unsigned group, uint64_t first, uint64_t next)
{
	loss_episodes_span(&j->dropped[group], 0, first, next); /* of all links */
}

void judge_account(struct judge *j, unsigned link, const uint64_t cells[TDM_LOSSES],
		   uint32_t dma_epoch, uint64_t count, bool restarted)
{
	uint64_t counts[LOSS_EPISODES_NAMES] = {0};

	memcpy(counts, cells, TDM_LOSSES * sizeof(*cells));
	counts[TDM_GOOD] = 0;
	loss_episodes_start(&j->lost[link], counts, dma_epoch, count, restarted);
}
