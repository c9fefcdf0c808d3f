// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs: passes requests of clients, reports of capture and answers of the store to run_state.h, and carries out what
 * that asks for: rows, commands to capture, events, answers.
 */
#include "daemon/station/runs.h"

#include <string.h>

#include "daemon/control/control.h"
#include "daemon/core/log.h"
#include "daemon/core/now.h"
#include "daemon/station/base.h"
#include "daemon/station/station.h"
#include "daemon/store/store.h"

#define ANSWER_S (int)(RUN_ANSWER_NS / 1000000000u)

/* --- struct run_ops --- */

static int put_begin(void *context, uint32_t run)
{
	struct station *s = context;

	return store_put_run_begin(s->store, run, s->run.note, control_peer(s->run.rq)->who,
				   s->run.begun_ns);
}

static int put_plan(void *context, uint32_t run, uint32_t ended, uint64_t slice)
{
	struct station *s = context;

	return run ? store_put_run_slice(s->store, run, slice, false, 0)
		   : store_put_run_end(s->store, ended, 0, slice, 0);
}

static int put_slice(void *context, uint32_t run, uint64_t slice, bool exact, uint64_t cookie)
{
	struct station *s = context;

	return store_put_run_slice(s->store, run, slice, exact, cookie);
}

static int put_end(void *context, uint32_t run, uint64_t slice, uint64_t cookie)
{
	struct station *s = context;

	return store_put_run_end(s->store, run, now_utc_ns(), slice, cookie);
}

static int command(void *context, enum capture_command_type type, uint32_t number)
{
	struct capture_command c = {.type = (uint8_t)type};

	if (type == CAPTURE_RUN_SAVED) {
		c.number = number;
	} else {
		c.run = number;
	}
	return station_order(context, &c);
}

static const char *slice_text(const struct capture_run *e, char *text, size_t size)
{
	if (e->slice_id) {
		snprintf(text, size, "at slice %llu", (unsigned long long)e->slice_id);
	} else {
		snprintf(text, size, "at an unknown slice: %s",
			 e->bordered ? "there is no time" : "with the next data, a ring begins");
	}
	return text;
}

static void on_effect(void *context, const struct capture_run *e)
{
	struct station *s = context;
	const char *doing = !e->run ? "ended" : e->resumed ? "continues" : "began";
	char text[96], object[24], at[64];

	engine_run(s->engine, e->run);
	snprintf(object, sizeof(object), "run %u", e->run ? e->run : e->ended);
	snprintf(text, sizeof(text), "%s %s", doing, slice_text(e, at, sizeof(at)));
	log_event(LOG_NOTICE, "run", LOG_NO_LINK, LOG_ID_RUN, "%s %s", object, text);
	if (!e->resumed && (e->run || e->ended)) {
		store_put_event(s->store, "info", "run", object, text, "", now_utc_ns());
	}
}

/* --- answers --- */

static void answer_not_begun(struct station *s, struct control_request *rq, uint32_t run,
			     const char *why)
{
	control_fail(rq, "refused", "fcmctl status", NULL,
		     "run %u has not begun: it could not be journaled in %s: %s", run,
		     s->config.store.database, why);
}

static void on_answer(void *context, enum run_answer how, uint32_t run, uint64_t slice, int error)
{
	struct station *s = context;
	struct control_request *rq = s->run.rq;
	bool begins = s->run.begins;

	s->run.rq = NULL;
	switch (how) {
	case RUN_DONE:
		control_answer(rq,
			       json_pack("{s:I,s:o}", "run", (json_int_t)run,
					 begins ? "from_slice" : "to_slice",
					 slice ? json_integer((json_int_t)slice) : json_null()));
		break;
	case RUN_NOT_JOURNALED:
		answer_not_begun(s, rq, run, strerror(-error));
		break;
	case RUN_JOURNAL_SLOW:
		answer_not_begun(s, rq, run, "the disk does not answer");
		break;
	case RUN_BUSY:
		control_fail(rq, "refused", "try again", NULL, "run %u has not %s: capture is busy",
			     run, begins ? "begun" : "ended");
		break;
	case RUN_NO_DATA:
		control_fail(rq, "unknown", "fcmctl status; fcmctl run show", NULL,
			     "run %u has not %s within %d s because no data come. It does with the "
			     "next data",
			     run, begins ? "begun" : "ended", ANSWER_S);
		break;
	case RUN_END_UNSAVED:
		control_fail(rq, "unknown", "fcmctl status; fcmctl run show", NULL,
			     "run %u has ended, but the database %s does not store it. If the "
			     "daemon is restarted before it does, the run continues",
			     run, s->config.store.database);
		break;
	case RUN_INTERRUPTED:
		control_fail(rq, "unknown", "fcmctl run show, when the daemon is back", NULL,
			     "the daemon was stopped while run %u was %s", run,
			     begins ? "beginning" : "ending");
		break;
	}
}

static const struct run_ops run_ops = {
	.put_begin = put_begin,
	.put_plan = put_plan,
	.put_slice = put_slice,
	.put_end = put_end,
	.command = command,
	.effect = on_effect,
	.answer = on_answer,
};

void runs_begin(struct station *s)
{
	run_state_init(&s->run.state, &run_ops, s);
}

void runs_end(struct station *s)
{
	run_state_close(&s->run.state);
}

/* --- requests --- */

/* The present step, for a refusal. */
static const char *step_text(const struct run_state *r, char *text, size_t size)
{
	if (run_state_ending(r)) {
		snprintf(text, size, "run %u is ending, at the next slice border",
			 r->step == RUN_SAVING ? r->awaited.ended : r->number);
	} else if (r->step == RUN_JOURNALING) {
		snprintf(text, size, "run %u waits for the journal", r->wanted);
	} else if (r->step == RUN_BORDER) {
		snprintf(text, size, "run %u is beginning, at the next slice border", r->wanted);
	} else if (r->number) {
		snprintf(text, size, "run %u is under way", r->number);
	} else {
		snprintf(text, size, "no run is under way");
	}
	return text;
}

static bool refuse(struct station *s, struct control_request *rq, const char *hint)
{
	char text[80];

	control_fail(rq, "refused", hint, NULL, "%s", step_text(&s->run.state, text, sizeof(text)));
	return false;
}

bool runs_may_start(struct station *s, struct control_request *rq)
{
	const struct run_state *r = &s->run.state;

	if (r->step == RUN_AT_REST && r->number == 0) {
		return true;
	}
	return refuse(s, rq, r->step == RUN_AT_REST ? "fcmctl run stop" : "fcmctl run show");
}

bool runs_may_stop(struct station *s, struct control_request *rq)
{
	const struct run_state *r = &s->run.state;

	if ((r->step == RUN_AT_REST && r->number) || (run_state_ending(r) && !r->asked)) {
		return true;
	}
	return refuse(s, rq, "fcmctl run show");
}

void runs_start(struct station *s, const char *note, struct control_request *rq)
{
	s->run.rq = rq;
	s->run.begins = true;
	snprintf(s->run.note, sizeof(s->run.note), "%s", note);
	s->run.begun_ns = now_utc_ns();
	run_state_start(&s->run.state, now_mono_ns());
}

void runs_stop(struct station *s, struct control_request *rq)
{
	s->run.rq = rq;
	s->run.begins = false;
	run_state_stop(&s->run.state, now_mono_ns());
}

/* --- capture, store, clock --- */

/* Keeps a begin that is already known: runs that a predecessor began are reported, too. */
void runs_timed(struct station *s, const struct capture_report *r)
{
	log_event(LOG_NOTICE, "run", LOG_NO_LINK, LOG_ID_RUN,
		  "run %u: data with a time from slice %llu on", r->run.run,
		  (unsigned long long)r->run.slice_id);
	store_put_run_slice(s->store, r->run.run, r->run.slice_id, false, 0);
}

void runs_restore(struct station *s, const struct store_past *past)
{
	if (!s->restored) {
		s->run.begun_ns = past->run.begun_ns;
		snprintf(s->run.note, sizeof(s->run.note), "%s",
			 past->run.open ? past->run.note : "");
	}
	run_state_restore(&s->run.state, past->run.last_number, past->run.open, past->run.ending);
	engine_run(s->engine, s->run.state.number);
}

void runs_tick(struct station *s)
{
	run_state_tick(&s->run.state, now_mono_ns());
}
