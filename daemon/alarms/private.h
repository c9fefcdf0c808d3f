/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside the judge. README.md lists the files; none calls one below it there. */
#pragma once

#include <string.h>

#include "daemon/alarms/debounce.h"
#include "daemon/alarms/judge.h"
#include "daemon/alarms/loss_episodes.h"
#include "daemon/alarms/member_events.h"
#include "daemon/alarms/overflow.h"
#include "daemon/core/limit.h"

#define OWN_NS	  2000000000ull /* our commands take effect at the board within this time */
#define RELOCK_NS 5000000000ull /* they interrupt a link no longer */
#define OWN_BYTES sizeof(((struct incident *)0)->own)
#define START_GRACE_NS                                                                             \
	3000000000ull /* no link or consumer is reported as silent so soon after our start */

struct judge {
	struct judge_ops ops;
	const struct judge_view *v; /* of this tick */

	struct debounce debounce;
	struct alarms *alarms;
	struct incidents *incidents;

	/* Of our commands to a link, each soon after the one before: the first, and the last. */
	struct judge_own {
		uint64_t first_ns, last_ns;
		char text[OWN_BYTES]; /* "align by ann at 22:15:35, reset by ann at 22:15:37" */
	} own[NANET3_LINKS];
	uint64_t no_light_ns[NANET3_LINKS]; /* when a link that is dark had no light */
	uint64_t back_reported_ns;	    /* the board.back_ns that was reported */
	uint64_t stalled_at_ns; /* when the board's DMA was last seen stalled; 0: never */
	struct loss_episodes lost[NANET3_LINKS],
		dropped[GROUPS_MAX];		      /* by enum tdm_loss, enum outcome */
	struct overflow_floor overflow[NANET3_LINKS]; /* hits lost in the modules */
	struct member_events members;
	struct reported_count namesakes, readers_refused, readers_dropped[NANET3_LINKS];
	uint64_t disconnected[GROUPS_MAX]; /* members, as last reported */
};

/* ---- judge_base.c ---- */
/* What is true now. */
void observe(struct judge *j, const struct observation *o, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, for the usual fields. */
#define reasons_add(j, is_red, reason, whose, todo, ...)                                           \
	observe(j,                                                                                 \
		&(struct observation){                                                             \
			.red = is_red, .code = reason, .object = whose, .advice = todo},           \
		__VA_ARGS__)
/* A warning about something that ended at `at_ns`: it is still shown, but after INCIDENT_NEAR_NS it explains nothing. */
#define reasons_add_at(j, reason, whose, at_ns, lasted_ns, todo, ...)                              \
	observe(j,                                                                                 \
		&(struct observation){.code = reason,                                              \
				      .object = whose,                                             \
				      .advice = todo,                                              \
				      .since_ns = (at_ns) - (lasted_ns),                           \
				      .past = (j)->v->now_ns > (at_ns) + INCIDENT_NEAR_NS},        \
		__VA_ARGS__)
/* Passes it to the incidents, with what operators have done about it (`alarm` NULL: nothing). */
void judge_explain(struct judge *j, struct observation o, const struct alarm *alarm);
/* Adds to the list `text` of OWN_BYTES what we did, "reset by ann", and when. */
void judge_add_own(char *text, const char *did, int64_t utc_ns);
bool judge_has_own(const char *text, const char *did);
/* Our command that caused what is true of the link since then, "reset by ann at 22:15:37"; NULL: none did. */
const char *judge_own_command(const struct judge *j, unsigned link, uint64_t since_ns);
/* `log`: also to the system log, with this subject; NULL: not. */
void judge_put_event(struct judge *j, const char *severity, const char *code,
		     struct alarm_object object, const char *text, const char *action,
		     const char *log);
struct engine_now judge_now(const struct judge *j);
bool judge_fresh_start(const struct judge *j);
/* This process was just blocked: the state of links and floors may be outdated until capture has caught up. */
bool judge_just_late(const struct judge *j);
/* The last group is the TriDAS feed, if there is one; its readers are shown by floor and address. */
bool judge_is_feed(const struct judge *j, unsigned group);
double judge_seconds_since(const struct judge *j, uint64_t then_ns);

/* ---- reasons_board.c ---- */
void reasons_board(struct judge *j);
void reasons_machine(struct judge *j);
void reasons_doors(struct judge *j);
void reasons_store(struct judge *j);
void reasons_recorder(struct judge *j);
/* A stalled board is one reason, not one for each link. */
bool board_just_stalled(const struct judge *j);

/* ---- reasons_clock.c ---- */
void reasons_clock(struct judge *j);

/* ---- reasons_loss.c ---- */
void reasons_link_loss(struct judge *j, unsigned link);
void reasons_drops(struct judge *j, unsigned group);
/* The events of episodes of losses. */
void events_lost(struct judge *j);
void events_dropped(struct judge *j);

/* ---- reasons_link.c ---- */
void reasons_link(struct judge *j, unsigned link);

/* ---- reasons_feed.c ---- */
void reasons_feed(struct judge *j);
void events_feed(struct judge *j);

/* ---- reasons_group.c ---- */
void reasons_groups(struct judge *j);
void events_members(struct judge *j);

/* ---- reasons_floor.c ---- */
void reasons_floors(struct judge *j);
/* Takes over the modules' counters of lost hits. */
void floors_look(struct judge *j);
/* For a floor's reason that is no longer observed: why its state is unknown; NULL: it has cleared. */
const char *floor_unknown(const struct judge *j, const struct debounce_reason *e);
/* A mute floor whose link went down is still mute until it has answered. */
bool floor_still_mute(const struct judge *j, const struct debounce_reason *e);
/* The text of a hits-lost that has cleared: how many, in which time, in which modules. */
void floor_hits_cleared(const struct judge *j, unsigned link, char *text, size_t size);
