// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the database knows of the daemons before us, carried to all that goes on with it: commands and their
 * numbers, the run, the phase's references, the FCMs' boots, the clock's relabelling, events left open. At the start; where the
 * database could not be opened then, when it can; and again when another file has taken its place: what this
 * daemon knows itself then comes before what the file says.
 */
#include "daemon/station/restore.h"

#include <errno.h>
#include <string.h>

#include "daemon/control/control.h"
#include "daemon/core/log.h"
#include "daemon/core/now.h"
#include "daemon/station/alarm_hands.h"
#include "daemon/station/lifecycle.h"
#include "daemon/station/links.h"
#include "daemon/station/questions.h"
#include "daemon/station/runs.h"
#include "daemon/station/station.h"
#include "daemon/station/timing.h"
#include "daemon/store/store.h"

/* It may read another file than what is written. */
static void forget_reader(struct station *s)
{
	questions_forget(s);
}

/* Not known at all, or not any more: the numbers of commands come from it. */
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
		forget_reader(s);
		log_event(LOG_ERR, "store", LOG_NO_LINK, LOG_ID_STORE,
			  "%s. %s Until then data flow and floors are read, but commands are "
			  "refused, except what makes safer",
			  v.last_error_text, v.last_error_hint);
	}
}

static void take(struct station *s, const struct store_past *past)
{
	struct engine_now now = {now_mono_ns(), now_utc_ns()};

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
		lifecycle_restore(s, past);
		alarm_hands_restore(s, past);
	}
	s->restored = true;
	forget_reader(s);
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
