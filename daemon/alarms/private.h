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

#define OWN_NS	       2000000000ull /* a command of ours shows at the board by then */
#define START_GRACE_NS 3000000000ull /* after our start nothing is called silent */

struct judge {
	struct judge_ops ops;
	const struct judge_view *v; /* of this look */

	struct debounce debounce;
	struct alarms *alarms;
	struct incidents *incidents;
	struct judge_reason *list;
	size_t count, room;
	unsigned red;

	uint64_t back_told_ns;	/* the board_back_ns that an event has told of */
	uint64_t stalled_at_ns; /* the last time that the board's DMA was seen stalled; 0: never */
	struct loss_episodes lost[NANET3_LINKS],
		dropped[GROUPS_MAX];		      /* by enum tdm_loss, enum outcome */
	struct overflow_floor overflow[NANET3_LINKS]; /* hits lost in the modules */
	struct member_events members;
	struct told_count namesakes, readers_refused, readers_dropped[NANET3_LINKS];
	uint64_t disconnected[GROUPS_MAX]; /* members, as far as told */
};

/* ---- judge_base.c ---- */
/* What is true now. */
void observe(struct judge *j, const struct observation *o, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, with nothing but an advice. */
#define reasons_add(j, is_red, reason, whose, todo, ...)                                           \
	observe(j,                                                                                 \
		&(struct observation){                                                             \
			.red = is_red, .code = reason, .object = whose, .advice = todo},           \
		__VA_ARGS__)
/* A warning of what happened until that moment: it is shown longer, but soon causes nothing any more. */
#define reasons_add_at(j, reason, whose, at_ns, lasted_ns, todo, ...)                              \
	observe(j,                                                                                 \
		&(struct observation){.code = reason,                                              \
				      .object = whose,                                             \
				      .advice = todo,                                              \
				      .since_ns = (at_ns) - (lasted_ns),                           \
				      .past = (j)->v->now_ns > (at_ns) + INCIDENT_NEAR_NS},        \
		__VA_ARGS__)
/* To the incidents, with what operators have done about its alarm; NULL: it has none. */
void judge_explain(struct judge *j, struct observation o, const struct alarm *alarm);
/* Into the list, as people see it. `since_ns`: UTC, of one without an alarm. */
void judge_list(struct judge *j, const struct observation *o, const char *object, int64_t since_ns,
		const struct alarm *alarm);
void judge_put_event(struct judge *j, const char *severity, const char *code,
		     struct alarm_object object, const char *text, const char *action);
/* The same, into the system log, too, under the subject `log`. */
void judge_log_event(struct judge *j, const char *severity, const char *code,
		     struct alarm_object object, const char *text, const char *action,
		     const char *log);
struct engine_now judge_now(const struct judge *j);
bool judge_fresh_start(const struct judge *j);
/* Until the capture thread has caught up, what is known of links and floors may be older than it looks. */
bool judge_just_late(const struct judge *j);
/* The last group is the TriDAS feed, if there is one: its readers are told of by floor and address. */
bool judge_is_feed(const struct judge *j, unsigned group);
double judge_seconds_since(const struct judge *j, uint64_t then_ns);

/* ---- reasons_board.c ---- */
void reasons_board(struct judge *j);
void reasons_machine(struct judge *j);
void reasons_doors(struct judge *j);
void reasons_store(struct judge *j);
void reasons_recorder(struct judge *j);
/* A board that hands over nothing is one reason, not one a link. */
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
/* The modules' counters of lost hits are read. */
void floors_look(struct judge *j);
/* Of a floor's reason that is not seen any more: why nobody can tell; NULL: it is over. */
const char *floor_unseen(const struct judge *j, const struct debounce_reason *e);
/* A floor whose link has gone dark while it was mute: that is over when it has answered. */
bool floor_still_mute(const struct judge *j, const struct debounce_reason *e);
/* The end of hits-lost of a floor: how many, in which time, where. */
void floor_hits_over(const struct judge *j, unsigned link, char *text, size_t size);
