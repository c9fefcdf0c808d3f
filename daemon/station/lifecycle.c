// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The daemon's start and stop as events, and the state of earlier daemons: from the database to the modules that
 * continue it. That is commands and their numbers, the run, the phase's references, the FCMs' boots, the clock's
 * relabelling, and events left open (alarms end with their daemon; those that are still active start again). It is
 * taken over at the start, or when the database can be opened; and again when another file has taken its place: then
 * what this daemon knows itself counts more than the file.
 */
#include "daemon/station/lifecycle.h"

#include <errno.h>
#include <string.h>

#include "daemon/alarms/judge.h"
#include "daemon/control/control.h"
#include "daemon/core/log.h"
#include "daemon/core/now.h"
#include "daemon/core/text.h"
#include "daemon/station/incident_actions.h"
#include "daemon/station/base.h"
#include "daemon/station/links.h"
#include "daemon/station/station.h"
#include "daemon/station/questions.h"
#include "daemon/station/runs.h"
#include "daemon/station/timing.h"
#include "daemon/store/store.h"

#define TAKEOVER_NS 5000000000ull /* after our start capture has reported each ring */

/* --- start and stop --- */

static void end_left_open(struct station *s, const struct store_past *past)
{
	s->life.crashed = past->crashed;
	for (unsigned n = 0; n < past->event_count; n++) {
		const struct store_event *e = &past->events[n];

		if (!judge_has_reported(s->judge, e->code, e->object)) {
			store_put_event(s->store, "info", e->code, e->object,
					"ended with the daemon", "", s->started_utc_ns);
		}
	}
}

void lifecycle_takeover(struct station *s, unsigned link, bool taken_over)
{
	s->life.taken |= (unsigned)taken_over << link;
	s->life.restarted |= (unsigned)!taken_over << link;
}

/* "; rings taken over: links 0, 2" */
static void list_links(const char *what, unsigned links, char *text, size_t size)
{
	char list[32];

	if (links) {
		text_add(text, size, "; %s: links %s", what,
			 text_bits(list, sizeof(list), "", links));
	}
}

void lifecycle_second(struct station *s)
{
	char text[240];

	if (!s->restored || s->life.said ||
	    ((s->life.taken | s->life.restarted) != station_links(s) &&
	     now_mono_ns() - s->started_ns < TAKEOVER_NS)) {
		return;
	}
	s->life.said = true;
	snprintf(text, sizeof(text), "fcm-server " FCM_VERSION " began%s",
		 s->life.crashed ? "; the one before it was ended from outside, or crashed" : "");
	list_links("rings taken over", s->life.taken, text, sizeof(text));
	list_links("rings restarted", s->life.restarted & ~s->life.taken, text, sizeof(text));
	store_put_event(s->store, "info", "daemon-start", "daemon", text, "", s->started_utc_ns);
}

void lifecycle_stop(struct station *s)
{
	store_put_event(s->store, "info", "daemon-stop", "daemon",
			"fcm-server " FCM_VERSION " stopped normally", "", now_utc_ns());
}

/* --- what the database knows --- */

/* Without the database the next number of a command is unknown. */
static void say_away(struct station *s)
{
	struct store_status v;

	store_get_status(s->store, &v);
	if (!v.away) {
		return;
	}
	engine_journal_lost(s->engine, v.last_error);
	if (!s->journal_away) {
		s->journal_away = true;
		questions_forget(s); /* it may read another file than what is written */
		log_event(LOG_ERR, "store", LOG_NO_LINK, LOG_ID_STORE,
			  "%s. %s Until then data flow and floors are read, but commands are "
			  "refused, except what makes safer",
			  v.last_error_text, v.last_error_hint);
	}
}

static void take(struct station *s, const struct store_past *past)
{
	struct engine_now now = station_now();

	engine_journal_found(s->engine);
	if (store_past_engine(past, s->engine, now) < 0) {
		engine_journal_lost(s->engine, -ENOMEM);
		return;
	}
	runs_restore(s, past);
	links_restore(s, past);
	if (!s->restored) {
		boots_read(&s->boots, past->boots);
		timing_restore(s, past);
		end_left_open(s, past);
		incident_actions_restore(s, past);
	}
	s->restored = true;
	questions_forget(s);
}

void station_restore(struct station *s)
{
	struct store_past *past = store_take_past(s->store);

	if (!past) {
		say_away(s);
		return;
	}
	if (s->journal_away) {
		s->journal_away = false;
		log_event(LOG_NOTICE, "store", LOG_NO_LINK, LOG_ID_STORE,
			  "the database %s is open: commands are taken again",
			  s->config.store.database);
	}
	take(s, past);
	store_past_free(past);
}

bool restore_done(struct station *s, struct control_request *rq, const char *what)
{
	struct store_status v;

	if (s->restored) {
		return true;
	}
	store_get_status(s->store, &v);
	control_fail(rq, "refused", v.last_error_hint, NULL, "%s goes into the journal: %s", what,
		     v.last_error_text);
	return false;
}
