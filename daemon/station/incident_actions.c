// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports what has changed of incidents. See incident_actions.h. */
#include "daemon/station/incident_actions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/alarms/judge.h"
#include "daemon/control/control.h"
#include "daemon/control/json.h"
#include "daemon/core/log.h"
#include "daemon/core/text.h"
#include "daemon/station/base.h"
#include "daemon/station/station.h"
#include "daemon/store/store.h"

#define WATCHES_MAX	8u /* of one user or key */
#define SIGN_OF_LIFE_NS 5000000000ull

struct incident_watcher {
	struct incident_watcher *next;
	struct control_request *rq;
};

#define WRITE_NS 10000000000ull /* while an incident goes on its row is written so often */

/* An incident, as those who watch and the database know it. */
struct incident_reported {
	unsigned number; /* 0: a free place */
	enum incident_state state;
	bool red, held, logged;
	const struct reason_kind *kind; /* of its cause */
	struct incident_cost cost;	/* as written */
	uint64_t written_ns;
};

/* --- as JSON --- */

static json_t *hand_json(const struct alarm_hand *hand)
{
	return *hand->who ? json_pack("{s:s,s:s,s:s,s:o}", "who", hand->who, "origin", hand->origin,
				      "text", hand->text, "time", json_time(hand->utc_ns))
			  : json_null();
}

static json_t *pause_json(const struct alarm *alarm)
{
	json_t *j;

	if (!alarm || !alarm->paused_until_ns) {
		return json_null();
	}
	j = hand_json(&alarm->pause);
	json_object_set_new(j, "until", json_time(alarm->paused_until_ns));
	json_object_set_new(j, "covers",
			    json_string(alarm->paused_level == LEVEL_ALARM ? "red" : "warning"));
	return j;
}

json_t *incident_actions_name(const struct alarm *alarm)
{
	char name[ALARM_OBJECT_BYTES + ALARM_CODE_BYTES];

	return json_pack("{s:s,s:b,s:o,s:o}", "name", alarm_name(alarm, name, sizeof(name)),
			 "active", alarm_is_active(alarm), "acknowledged",
			 alarm->acknowledged ? hand_json(&alarm->ack) : json_null(), "paused",
			 pause_json(alarm));
}

static const struct alarm *alarm_of(struct station *s, const struct incident_part *p)
{
	return alarms_find(judge_alarms(s->judge), p->object, p->kind->code);
}

static const char *severity(bool red)
{
	return red ? "red" : "warning";
}

static json_t *part_json(struct station *s, const struct incident_part *p)
{
	const struct alarm *alarm = p->over_ns ? NULL : alarm_of(s, p);

	return json_pack("{s:s,s:s,s:s?,s:s,s:s,s:s,s:o,s:o,s:b,s:i,s:o,s:o,s:I,s:I,s:I}", "code",
			 p->kind->code, "object", p->object, "loss", p->loss, "severity",
			 severity(p->red), "text", p->text, "action", p->action, "since",
			 json_time_of(p->first_ns), "until", json_time_of(p->over_ns), "held",
			 p->held && !p->over_ns, "count", alarm ? (int)alarm->count : 1,
			 "acknowledged",
			 alarm && alarm->acknowledged ? hand_json(&alarm->ack) : json_null(),
			 "paused", pause_json(alarm), "frames", (json_int_t)p->cost.frames,
			 "dropped", (json_int_t)p->cost.dropped, "hits", (json_int_t)p->cost.hits);
}

static json_t *parts_json(struct station *s, const struct incident *i)
{
	const struct incidents *all = judge_incidents(s->judge);
	const struct incident_part *p = NULL;
	json_t *list = json_array();

	while ((p = incidents_part(all, i, p))) {
		json_array_append_new(list, part_json(s, p));
	}
	return list;
}

static json_t *incident_json(struct station *s, const struct incident *i)
{
	const struct incident_part *cause = i->cause;
	bool active = i->state != INCIDENT_CLEARED;

	return json_pack(
		"{s:i,s:s,s:s,s:s,s:s,s:s,s:s,s:o,s:o,s:o,s:b,s:o,s:o,s:o,s:{s:I,s:I,s:I,s:f}}",
		"number", (int)i->number, "state", incident_state_name(i->state), "severity",
		severity(i->red), "code", cause->kind->code, "object", cause->object, "text",
		cause->text, "action", active ? cause->action : "", "since",
		i->begun_ns ? json_time(i->begun_ns) : json_time_of(i->since_ns), "until",
		json_time_of(i->over_ns), "own", *i->own ? json_string(i->own) : json_null(),
		"held", i->held, "acknowledged", hand_json(&i->acknowledged), "paused",
		active ? pause_json(alarm_of(s, cause)) : json_null(), "observations",
		parts_json(s, i), "cost", "frames", (json_int_t)i->cost.frames, "dropped",
		(json_int_t)i->cost.dropped, "hits", (json_int_t)i->cost.hits, "dark_s",
		(double)i->cost.dark_ns / 1e9);
}

/* Of what is not active now. */
static json_t *pauses_json(struct station *s)
{
	const struct alarm *e = NULL;
	json_t *list = json_array();

	while ((e = alarms_next(judge_alarms(s->judge), e))) {
		if (e->paused_until_ns && !alarm_is_active(e)) {
			json_array_append_new(list, incident_actions_name(e));
		}
	}
	return list;
}

json_t *incident_actions_list(struct station *s)
{
	struct incidents *all = judge_incidents(s->judge);
	char headline[ALARM_TEXT_BYTES + 240];
	json_t *list = json_array();
	size_t count;
	const struct incident *const *i = incidents_list(all, &count);

	for (size_t n = 0; n < count; n++) {
		json_array_append_new(list, incident_json(s, i[n]));
	}
	return json_pack("{s:s,s:s,s:i,s:o,s:o}", "word", incidents_word(all), "headline",
			 incidents_headline(all, headline, sizeof(headline)), "left_out",
			 (int)incidents_left_out(all), "list", list, "pauses", pauses_json(s));
}

/* --- what operators have done --- */

static void keep(struct station *s, struct alarm *alarm)
{
	if (alarm_lasts(alarm)) {
		alarm->stored = true;
		store_put_observation(s->store, alarm);
	} else if (alarm->stored) {
		alarm->stored = false;
		store_put_observation_forget(s->store, alarm);
	}
}

/* An event of its own: one of the observation's code would be read as its end. */
static void put_event(struct station *s, const struct alarm *alarm, const char *code,
		      const char *text)
{
	char name[ALARM_OBJECT_BYTES + ALARM_CODE_BYTES];

	alarm_name(alarm, name, sizeof(name));
	store_put_event(s->store, "info", code, name, text, "", now_utc_ns());
	log_event(LOG_NOTICE, "incident", LOG_NO_LINK, LOG_ID_ALARM, "%s: %s", name, text);
}

/* The judge reports that it becomes active and clears. */
static void say_event(struct station *s, const struct alarm *alarm)
{
	const struct alarm_hand *ack = &alarm->ack, *pause = &alarm->pause;
	char text[400], until[32];

	switch (alarm->change) {
	case ALARM_ACKNOWLEDGED:
		snprintf(text, sizeof(text), "acknowledged by %s (%s)%s%s", ack->who, ack->origin,
			 ack->text[0] ? ": " : "", ack->text);
		put_event(s, alarm, "incident-acknowledged", text);
		break;
	case ALARM_PAUSED:
		snprintf(text, sizeof(text), "paused until %s UTC by %s (%s)%s: %s",
			 text_utc(until, sizeof(until), alarm->paused_until_ns), pause->who,
			 pause->origin, alarm->paused_level == LEVEL_ALARM ? "" : ", as a warning",
			 pause->text);
		put_event(s, alarm, "incident-paused", text);
		break;
	case ALARM_RESUMED:
		snprintf(text, sizeof(text), "no longer paused, by %s (%s)", pause->who,
			 pause->origin);
		put_event(s, alarm, "incident-resumed", text);
		break;
	case ALARM_EXPIRED:
		snprintf(text, sizeof(text), "the pause by %s has expired: %s", pause->who,
			 pause->text);
		put_event(s, alarm, "incident-resumed", text);
		break;
	default:
		break;
	}
}

/* --- what has changed --- */

static void forget_gone(struct station *s)
{
	struct incident_watcher **at = &s->incident_watchers, *w;

	while ((w = *at)) {
		if (control_alive(w->rq)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		control_answer(w->rq, NULL);
		free(w);
	}
}

static void notify_watchers(struct station *s, json_t *progress)
{
	forget_gone(s);
	for (struct incident_watcher *w = s->incident_watchers; w; w = w->next) {
		control_progress(w->rq, json_incref(progress));
	}
	json_decref(progress);
}

/* --- to the database --- */

static int64_t utc_of(uint64_t mono_ns)
{
	return now_utc_ns() - (int64_t)(now_mono_ns() - mono_ns);
}

static void write_row(struct station *s, const struct incident *i, struct incident_reported *then)
{
	struct store_incident row = {.number = i->number,
				     .red = i->red,
				     .since_ns = i->begun_ns ? i->begun_ns : utc_of(i->since_ns),
				     .until_ns = i->over_ns ? utc_of(i->over_ns) : 0,
				     .observations = i->parts,
				     .frames = i->cost.frames,
				     .dropped = i->cost.dropped,
				     .hits = i->cost.hits,
				     .dark_ms = i->cost.dark_ns / 1000000,
				     .ack = i->acknowledged};

	snprintf(row.code, sizeof(row.code), "%s", i->cause->kind->code);
	memcpy(row.object, i->cause->object, sizeof(row.object));
	memcpy(row.text, i->cause->text, sizeof(row.text));
	memcpy(row.action, i->cause->action, sizeof(row.action));
	memcpy(row.own, i->own, sizeof(row.own));
	store_put_incident(s->store, &row, i->over_ns ? 0 : STORE_COMES_AGAIN);
	then->cost = i->cost;
	then->written_ns = now_mono_ns();
}

/* It has no row yet, or its cost has changed since that was written. */
static bool is_due(const struct incident *i, const struct incident_reported *then)
{
	bool changed = memcmp(&i->cost, &then->cost, sizeof(i->cost)) != 0 &&
		       now_mono_ns() - then->written_ns >= WRITE_NS;

	return !i->of_start && (then->written_ns == 0 || changed);
}

/* --- to clients --- */

static struct incident_reported *reported_of(struct station *s, unsigned number)
{
	for (unsigned n = 0; n < INCIDENTS_MAX; n++) {
		if (s->reported[n].number == number) {
			return &s->reported[n];
		}
	}
	return NULL;
}

/* The most important thing that is different; NULL: nothing. */
static const char *change_of(const struct incident_reported *then, const struct incident *i)
{
	bool worse = i->red && !then->red;

	if (i->state == then->state && i->red == then->red && i->held == then->held &&
	    i->cause->kind == then->kind) {
		return NULL;
	}
	if (i->state == INCIDENT_CLEARED) {
		return "over";
	}
	if (i->state != then->state && then->state == INCIDENT_PAUSED) {
		return "resumed";
	}
	if (i->state != then->state) {
		return i->state == INCIDENT_ACTIVE ? "worse" : incident_state_name(i->state);
	}
	return worse			      ? "worse"
	       : i->held && !then->held	      ? "held"
	       : i->cause->kind != then->kind ? "refined"
					      : "eased";
}

/* In the journal; what may be no more than the daemon's start is not. */
static void log_change(struct incident_reported *then, const struct incident *i, const char *change)
{
	bool cleared = i->state == INCIDENT_CLEARED;

	change = then->logged ? change : cleared ? NULL : "began";
	if (change && !i->of_start) {
		then->logged = true;
		log_incident(cleared  ? LOG_NOTICE
			     : i->red ? LOG_ERR
				      : LOG_WARNING,
			     i->cause->object, i->cause->kind->code, i->number,
			     "incident %u %s: %s", i->number, cleared ? "cleared" : change,
			     i->cause->text);
	}
}

static void report(struct station *s, const struct incident *i)
{
	struct incident_reported *then = reported_of(s, i->number);
	const char *change = then ? change_of(then, i) : "began";

	then = then ? then : reported_of(s, 0);
	if (!then || (!change && !(s->restored && is_due(i, then)))) {
		return; /* `then` is never NULL: as many places as incidents */
	}
	if (!i->of_start && s->restored) { /* else its number may still change */
		write_row(s, i, then);
	}
	log_change(then, i, change);
	then->number = i->number;
	then->state = i->state;
	then->red = i->red;
	then->held = i->held;
	then->kind = i->cause->kind;
	if (change && s->incident_watchers) {
		notify_watchers(s, json_pack("{s:s,s:o,s:o}", "change", change, "time",
					     json_time(now_utc_ns()), "incident",
					     incident_json(s, i)));
	}
}

/* It was found to be part of another one, or was forgotten after it had cleared. */
static void report_gone(struct station *s, struct incident_reported *then,
			const struct incident *const *list, size_t count)
{
	for (size_t n = 0; n < count; n++) {
		if (list[n]->number == then->number) {
			return;
		}
	}
	if (then->state != INCIDENT_CLEARED) {
		if (s->restored) {
			store_put_incident_end(s->store, then->number, now_utc_ns(), true);
		}
		notify_watchers(s, json_pack("{s:s,s:o,s:i}", "change", "joined", "time",
					     json_time(now_utc_ns()), "number", (int)then->number));
	}
	*then = (struct incident_reported){.number = 0};
}

static void report_all(struct station *s)
{
	size_t count;
	const struct incident *const *list = incidents_list(judge_incidents(s->judge), &count);

	s->reported = s->reported ? s->reported : calloc(INCIDENTS_MAX, sizeof(*s->reported));
	if (!s->reported) {
		return;
	}
	for (unsigned n = 0; n < INCIDENTS_MAX; n++) {
		if (s->reported[n].number) {
			report_gone(s, &s->reported[n], list, count);
		}
	}
	for (size_t n = 0; n < count; n++) {
		report(s, list[n]);
	}
}

void incident_actions_drain(struct station *s)
{
	struct alarm *e;

	while ((e = alarms_changed(judge_alarms(s->judge)))) {
		say_event(s, e);
		keep(s, e);
		alarms_taken(e);
	}
	report_all(s);
}

/* --- those who watch --- */

void incident_actions_watch(struct station *s, struct control_request *rq)
{
	struct incident_watcher *w;
	unsigned watches = 0;

	forget_gone(s);
	for (w = s->incident_watchers; w; w = w->next) {
		watches += control_same_peer(w->rq, rq);
	}
	w = watches < WATCHES_MAX ? calloc(1, sizeof(*w)) : NULL;
	if (!w) {
		control_fail(rq, "refused", "one that watches may tell the others; end one",
			     control_detail(DETAIL_WATCHES),
			     "%s watches the incidents %u times already, which is all that one "
			     "user or key may",
			     control_peer(rq)->who, watches);
		return;
	}
	*w = (struct incident_watcher){.next = s->incident_watchers, .rq = rq};
	s->incident_watchers = w;
	control_subscribe(rq);
	control_progress(rq,
			 json_pack("{s:s,s:o,s:o}", "change", "snapshot", "time",
				   json_time(now_utc_ns()), "incidents", incident_actions_list(s)));
}

/* What modules did not see in the last second. */
static void write_dark(struct station *s, int64_t utc_ns)
{
	struct incident_dark d;

	while (s->restored && incidents_take_dark(judge_incidents(s->judge), &d)) {
		const struct config_link *c = &s->config.link[d.link];
		struct store_dark row = {.incident = d.number,
					 .link = (uint8_t)d.link,
					 .tower = c->tower,
					 .floor = c->floor,
					 .modules = d.modules,
					 .dark_ms = d.dark_ms,
					 .hits = d.hits};

		store_put_dark(s->store, utc_ns - utc_ns % 1000000000, &row);
	}
}

/* What was active when the previous daemon ended, and is not seen any more. */
static void end_unseen(struct station *s)
{
	unsigned number;

	while (s->restored && now_mono_ns() - s->started_ns > ALARM_AWAITED_NS &&
	       (number = incidents_take_ended(judge_incidents(s->judge)))) {
		store_put_incident_end(s->store, number, utc_of(s->started_ns), false);
	}
}

void incident_actions_second(struct station *s)
{
	uint64_t now = now_mono_ns();

	write_dark(s, now_utc_ns());
	end_unseen(s);
	if (now - s->incidents_alive_ns < SIGN_OF_LIFE_NS) {
		return;
	}
	s->incidents_alive_ns = now;
	notify_watchers(s,
			json_pack("{s:s,s:o}", "change", "alive", "time", json_time(now_utc_ns())));
}

static void recover_incidents(struct station *s, const struct store_past *past)
{
	struct incident_before *before = calloc(past->incident_count + 1, sizeof(*before));

	for (size_t n = 0; before && n < past->incident_count; n++) {
		const struct store_incident *old = &past->incidents[n];

		before[n] = (struct incident_before){.number = old->number,
						     .red = old->red,
						     .since_ns = old->since_ns,
						     .cost = {.frames = old->frames,
							      .dropped = old->dropped,
							      .hits = old->hits,
							      .dark_ns = old->dark_ms * 1000000}};
		memcpy(before[n].code, old->code, sizeof(old->code));
		memcpy(before[n].object, old->object, sizeof(old->object));
		memcpy(before[n].own, old->own, sizeof(old->own));
	}
	incidents_recover(judge_incidents(s->judge), past->last_incident, before,
			  before ? past->incident_count : 0);
	free(before);
}

void incident_actions_restore(struct station *s, const struct store_past *past)
{
	struct engine_now now = station_now();

	recover_incidents(s, past);
	if (s->reported) { /* by numbers that have changed */
		memset(s->reported, 0, INCIDENTS_MAX * sizeof(*s->reported));
	}
	for (size_t n = 0; n < past->observation_count; n++) {
		const struct alarm *old = &past->observations[n];
		const struct alarm *ours =
			alarms_find(judge_alarms(s->judge), old->object, old->code);

		if (!ours || !(ours->acknowledged || ours->paused_until_ns)) {
			/* If it is active, it is observed again at once. */
			alarms_recover(judge_alarms(s->judge), old, now);
		}
	}
}

void incident_actions_stop(struct station *s)
{
	struct incident_watcher *w;
	size_t count = 0;
	const struct incident *const *list =
		s->judge ? incidents_list(judge_incidents(s->judge), &count) : NULL;

	for (size_t n = 0; s->reported && s->restored && n < count; n++) {
		write_row(s, list[n], &s->reported[0]); /* what it has cost until now */
	}
	while ((w = s->incident_watchers)) {
		s->incident_watchers = w->next;
		control_fail(w->rq, "unknown", "watch again when it is back", NULL,
			     "the daemon was stopped");
		free(w);
	}
	free(s->reported);
	s->reported = NULL;
}
