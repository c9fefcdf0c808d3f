// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The operations on incidents: by number, for all observations of one; or by name, OBJECT/CODE, or OBJECT alone for all
 * of it. A name that matches nothing active is an error, so that a typing mistake is noticed. Only a pause may name what is
 * not active yet, and then in full.
 */
#include "daemon/ops/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/alarms/judge.h"
#include "daemon/incidents/reason_kinds.h"
#include "daemon/core/text.h"
#include "daemon/station/incident_actions.h"
#include "daemon/station/view.h"

#define REASON_MAX (sizeof(((struct alarm_hand *)NULL)->text) - 1)

static struct alarm_hand hand_of(struct control_request *rq, const json_t *args)
{
	const struct control_peer *peer = control_peer(rq);
	struct alarm_hand hand = {.utc_ns = now_utc_ns()};

	snprintf(hand.who, sizeof(hand.who), "%s", peer->who);
	snprintf(hand.origin, sizeof(hand.origin), "%s", peer->origin);
	snprintf(hand.text, sizeof(hand.text), "%s", arg_words(args, "reason"));
	return hand;
}

static void op_list(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;

	control_answer(rq, incident_actions_list(ops->station));
}

static void op_watch(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;

	incident_actions_watch(ops->station, rq);
}

/* --- which ones --- */

enum wanted { NEW_ONES, STANDING_ONES, PAUSED_ONES };

static bool is_wanted(const struct alarm *alarm, enum wanted wanted)
{
	switch (wanted) {
	case NEW_ONES:
		return alarm_is_active(alarm) && !alarm->acknowledged;
	case STANDING_ONES:
		return alarm_is_active(alarm);
	default:
		return alarm->paused_until_ns != 0;
	}
}

struct chosen {
	const struct alarm *alarm[ALARMS_MAX];
	unsigned count;
};

static bool is_chosen(const struct chosen *c, const struct alarm *alarm)
{
	for (unsigned n = 0; n < c->count; n++) {
		if (c->alarm[n] == alarm) {
			return true;
		}
	}
	return false;
}

/* The incident of that number, as typed; NULL: it is no number, or there is none. */
static const struct incident *numbered(struct ops *ops, const char *name)
{
	size_t count;
	const struct incident *const *list = incidents_list(judge_incidents(ops->judge), &count);
	char *end;
	unsigned long number = strtoul(name, &end, 10);

	for (size_t n = 0; *name && !*end && n < count; n++) {
		if (list[n]->number == number) {
			return list[n];
		}
	}
	return NULL;
}

/* It is one of its observations. */
static bool is_of(struct ops *ops, const struct incident *i, const struct alarm *alarm)
{
	const struct incident_part *p = NULL;

	while ((p = incidents_part(judge_incidents(ops->judge), i, p))) {
		if (!p->over_ns && strcmp(p->kind->code, alarm->code) == 0 &&
		    strcmp(p->object, alarm->object) == 0) {
			return true;
		}
	}
	return false;
}

/* How many the number or name means. */
static unsigned choose(struct ops *ops, const char *name, enum wanted wanted, struct chosen *c)
{
	const struct incident *i = numbered(ops, name);
	const struct alarm *e = NULL;
	unsigned found = 0;

	while ((e = alarms_next(judge_alarms(ops->judge), e))) {
		if (!is_wanted(e, wanted) || !(i ? is_of(ops, i, e) : alarm_name_means(name, e))) {
			continue;
		}
		found++;
		if (!is_chosen(c, e)) {
			c->alarm[c->count++] = e;
		}
	}
	return found;
}

/* Say why nothing was found. */
static void refuse_name(struct ops *ops, struct control_request *rq, const char *name,
			enum wanted wanted)
{
	static const char list[] = "fcmctl incident list shows numbers and names; a name is "
				   "OBJECT/CODE, or OBJECT for all of it";
	struct chosen c = {.count = 0};

	if (wanted == NEW_ONES && choose(ops, name, STANDING_ONES, &c) > 0) {
		control_fail(rq, "refused", "nothing more to do", NULL,
			     "%s/%s was acknowledged by %s", c.alarm[0]->object, c.alarm[0]->code,
			     c.alarm[0]->ack.who);
		return;
	}
	control_fail(rq, "usage", list, NULL, "no incident \"%.80s\" %s", name,
		     wanted == PAUSED_ONES ? "is paused" : "is active");
}

/* All names of "names" before anything is done. False: refused, answered. */
static bool choose_all(struct ops *ops, struct control_request *rq, json_t *args,
		       enum wanted wanted, struct chosen *c)
{
	json_t *names = json_object_get(args, "names"), *name;
	size_t n;

	json_array_foreach (names, n, name) {
		const char *text = json_string_value(name);

		if (choose(ops, text, wanted, c) == 0) {
			refuse_name(ops, rq, text, wanted);
			return false;
		}
	}
	return true;
}

static void answer(struct ops *ops, struct control_request *rq, const struct chosen *c)
{
	json_t *list = json_array();

	for (unsigned n = 0; n < c->count; n++) {
		json_array_append_new(list, incident_actions_name(c->alarm[n]));
	}
	view_judge(ops->station); /* status shows what was done */
	control_answer(rq, json_pack("{s:o}", "observations", list));
}

/* Answered if it is only asked: "would acknowledge link2/link-dark, floor3/hv-trip". */
static bool dry(struct control_request *rq, const json_t *args, const char *doing,
		const struct chosen *c)
{
	char names[400] = "";

	for (unsigned n = 0; n < c->count; n++) {
		text_list(names, sizeof(names), "%s/%s", c->alarm[n]->object, c->alarm[n]->code);
	}
	return control_dry(rq, args, "would %s %s", doing, names);
}

/* What is done to observations by their names. */
struct deed {
	enum wanted wanted;
	const char *doing;
	int (*act)(struct alarms *alarms, const char *object, const char *code,
		   const struct alarm_hand *hand, struct sc_error *error);
};

static void op_deed(struct control_request *rq, json_t *args, void *context)
{
	const struct deed *deed = control_op(rq)->data;
	struct alarm_hand hand = hand_of(rq, args);
	struct ops *ops = context;
	struct chosen c = {.count = 0};

	if (!choose_all(ops, rq, args, deed->wanted, &c) || dry(rq, args, deed->doing, &c)) {
		return;
	}
	for (unsigned n = 0; n < c.count; n++) {
		deed->act(judge_alarms(ops->judge), c.alarm[n]->object, c.alarm[n]->code, &hand,
			  NULL);
	}
	answer(ops, rq, &c);
}

static const struct deed acknowledging = {NEW_ONES, "acknowledge", alarms_acknowledge};
static const struct deed resuming = {PAUSED_ONES, "end the pause of", alarms_resume};

/* --- pauses --- */

static bool is_group(const struct ops *ops, const char *object)
{
	for (unsigned n = 0; n < ops->publisher_status->groups; n++) {
		if (strncmp(object, "group ", 6) == 0 &&
		    strcmp(ops->publisher_status->group[n].name, object + 6) == 0) {
			return true;
		}
	}
	return false;
}

static void note_param(void *context, struct param *p)
{
	*(struct param **)context = p;
}

/* A parameter, or what parameters are of, with its tower. False: there is no such thing. */
static bool complete_part(struct ops *ops, char *object, size_t size, enum reason_of *ret_of)
{
	struct param *p = NULL;
	size_t length = strlen(object);
	const char *at;
	unsigned dots = 0;

	params_match(ops->params, object, note_param, &p);
	if (!p) {
		return false;
	}
	at = strncmp(p->name, object, length) == 0 ? p->name : strchr(p->name, '.') + 1;
	if (strncmp(at, object, length) != 0 || (at[length] && at[length] != '.')) {
		return false; /* written differently: each object has one name */
	}
	length += (size_t)(at - p->name);
	snprintf(object, size, "%.*s", (int)length, p->name);
	for (const char *c = object; *c; c++) {
		dots += *c == '.';
	}
	*ret_of = !p->name[length]	      ? OF_VALUE
		  : p->tower && dots == 1     ? OF_FLOOR
		  : !p->tower && p->link >= 0 ? OF_LINK
					      : OF_NOTHING;
	return true;
}

/* The object of a name in full, and of what sort it is. False: there is no such thing. */
static bool complete_object(struct ops *ops, char object[ALARM_OBJECT_BYTES],
			    enum reason_of *ret_of)
{
	static const char feed[] = "feed ";
	size_t before = sizeof(feed) - 1;

	if (reason_thing(object)) {
		*ret_of = OF_THING;
		return true;
	}
	if (is_group(ops, object)) {
		*ret_of = OF_GROUP;
		return true;
	}
	if (strncmp(object, feed, before) == 0) {
		bool found =
			complete_part(ops, object + before, ALARM_OBJECT_BYTES - before, ret_of);

		found = found && *ret_of == OF_FLOOR;
		*ret_of = OF_FEED;
		return found;
	}
	return complete_part(ops, object, ALARM_OBJECT_BYTES, ret_of);
}

/* What this object can never have. */
static void refuse_code(struct control_request *rq, const char *object, enum reason_of of,
			const char *code)
{
	char codes[400], hint[sizeof(codes) + ALARM_OBJECT_BYTES + 40];

	reason_kinds_of(of, object, codes, sizeof(codes));
	if (*codes) {
		snprintf(hint, sizeof(hint), "%s may have: %s", object, codes);
	} else {
		snprintf(
			hint, sizeof(hint),
			"incidents are of floors, links, groups and single values: floor3/hv-trip, "
			"link2/link-dark, floor3.fcm.humidity/limit");
	}
	control_fail(rq, "usage", hint, NULL, "%s cannot have an incident \"%s\"", object, code);
}

/* One that is not active yet: its name has to be complete. */
static void pause_ahead(struct ops *ops, struct control_request *rq, const json_t *args,
			const char *name, double seconds, const struct alarm_hand *hand)
{
	char object[ALARM_OBJECT_BYTES], code[ALARM_CODE_BYTES];
	struct chosen c = {.count = 1};
	struct sc_error error = {0};
	enum reason_of of = OF_NOTHING;

	if (alarm_name_split(name, object, code) < 0) {
		control_fail(
			rq, "usage",
			"fcmctl incident list shows active incidents; name one that is not active "
			"in full: link2/link-dark",
			NULL, "no incident \"%.80s\" is active", name);
	} else if (!complete_object(ops, object, &of)) {
		control_fail(rq, "usage",
			     "objects are like floor3.fcm.humidity, floor3, link2, clock", NULL,
			     "there is no \"%.64s\"", object);
	} else if (!reason_kind(code) || !reason_kind_is_of(reason_kind(code), of, object)) {
		refuse_code(rq, object, of, code);
	} else if (control_dry(rq, args, "would pause %s/%s, which is not active", object, code)) {
		return;
	} else if (alarms_pause(judge_alarms(ops->judge), object, code, seconds, hand,
				station_now(), &error) < 0) {
		control_fail_error(rq, "refused", &error, NULL);
	} else {
		c.alarm[0] = alarms_find(judge_alarms(ops->judge), object, code);
		answer(ops, rq, &c);
	}
}

static void op_pause(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	double seconds = arg_number(args, "seconds", 0);
	const char *name = arg_text(args, "name");
	struct alarm_hand hand = hand_of(rq, args);
	struct chosen c = {.count = 0};

	if (choose(ops, name, STANDING_ONES, &c) == 0) {
		pause_ahead(ops, rq, args, name, seconds, &hand);
		return;
	}
	if (dry(rq, args, "pause", &c)) {
		return;
	}
	for (unsigned n = 0; n < c.count; n++) {
		alarms_pause(judge_alarms(ops->judge), c.alarm[n]->object, c.alarm[n]->code,
			     seconds, &hand, station_now(), NULL);
	}
	answer(ops, rq, &c);
}

#define NAMES                                                                                      \
	CONTROL_ARG("names", ARG_TEXTS, true, 1, 64,                                               \
		    .about = "fcmctl incident list shows numbers and names")

const struct control_op incident_ops[] = {
	{"incident.list", ACCESS_READER, op_list, "active, paused and just cleared incidents"},
	{"incident.ack", ACCESS_OPERATOR, op_deed, "acknowledge incidents",
	 CONTROL_ARGS(NAMES, REASON(false, REASON_MAX), DRY_RUN), .data = &acknowledging},
	{"incident.pause", ACCESS_OPERATOR, op_pause, "pause incidents",
	 CONTROL_ARGS({"name", ARG_TEXT, true,
		       .about = "a number, OBJECT/CODE, or OBJECT for all of it"},
		      {"seconds", ARG_NUMBER, true, 1, ALARM_PAUSE_MAX_S, .unit = "s",
		       .about = "for 1 s to 24 h, then repeat it"},
		      REASON(true, REASON_MAX), DRY_RUN)},
	{"incident.resume", ACCESS_OPERATOR, op_deed, "end pauses", CONTROL_ARGS(NAMES, DRY_RUN),
	 .data = &resuming},
	{"incident.watch", ACCESS_READER, op_watch, "get each change of an incident"},
	{0},
};
