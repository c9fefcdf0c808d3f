/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See run_state.h. */
#include "daemon/capture/run_state.h"

#include <errno.h>

void run_state_init(struct run_state *s, const struct run_ops *ops, void *context)
{
	*s = (struct run_state){.ops = ops, .context = context};
}

/* ------------------------------------------------------------------------------------ the client */

static void answer(struct run_state *s, enum run_answer how, uint32_t run, uint64_t slice,
		   int error)
{
	if (s->asked) {
		s->asked = false;
		s->ops->answer(s->context, how, run, slice, error);
	}
}

static void ask(struct run_state *s, enum run_step step, uint32_t wanted, uint64_t now_ns)
{
	s->step = step;
	s->wanted = wanted;
	s->asked = true;
	s->deadline_ns = now_ns + RUN_ANSWER_NS;
}

bool run_state_ending(const struct run_state *s)
{
	return s->step == RUN_SAVING || (s->step == RUN_BORDER && s->wanted == 0);
}

/* The number that a request is about. */
static uint32_t subject(const struct run_state *s)
{
	return s->wanted ? s->wanted : s->number;
}

/* ------------------------------------------------------------------------------------ the journal */

static void saved(struct run_state *s, struct run_owed *o)
{
	if (s->step == RUN_SAVING && o->change == s->awaited.change) {
		s->step = RUN_AT_REST;
		answer(s, RUN_DONE, s->awaited.ended, s->awaited.slice_id, 0);
	}
	if (o->change == 0 || s->ops->command(s->context, CAPTURE_RUN_SAVED, o->change) == 0) {
		o->step = OWED_NONE;
	}
}

static void put(struct run_state *s, struct run_owed *o)
{
	int r;

	o->cookie = ++s->cookies;
	r = o->run ? s->ops->put_slice(s->context, o->run, o->slice, o->exact, o->cookie)
		   : s->ops->put_end(s->context, o->ended, o->slice, o->cookie);
	o->step = r == 0 ? OWED_PUT : OWED_TO_PUT;
}

static void pay(struct run_state *s)
{
	for (unsigned i = 0; i < RUN_OWED; i++) {
		if (s->owed[i].step == OWED_TO_PUT) {
			put(s, &s->owed[i]);
		} else if (s->owed[i].step == OWED_WRITTEN) {
			saved(s, &s->owed[i]);
		}
	}
	if (s->journal_unsent &&
	    s->ops->command(s->context, s->ending ? CAPTURE_RUN_ENDING : CAPTURE_RUN_JOURNAL,
			    s->open) == 0) {
		s->journal_unsent = false;
	}
}

/* The entry of this change, or a new one. There are as many as in a link's page, so there is always
 * one. */
static struct run_owed *place_of(struct run_state *s, uint32_t change)
{
	struct run_owed *place = &s->owed[0];

	for (unsigned i = 0; i < RUN_OWED; i++) {
		struct run_owed *o = &s->owed[i];

		if (o->step != OWED_NONE && o->change == change && change > 0) {
			return o;
		}
		if (place->step != OWED_NONE &&
		    (o->step == OWED_NONE || o->cookie < place->cookie)) {
			place = o;
		}
	}
	*place = (struct run_owed){.change = change};
	return place;
}

static void owe(struct run_state *s, const struct capture_run *e)
{
	struct run_owed *o = place_of(s, e->change);

	o->run = e->run;
	o->ended = e->ended;
	o->slice = e->slice_id ? e->slice_id : o->slice;
	o->exact = !e->resumed;
	/* The begin of a run is in the journal already, except its slice. */
	o->step = (o->run ? o->slice != 0 : o->ended != 0) ? OWED_TO_PUT : OWED_WRITTEN;
	pay(s);
}

void run_state_written(struct run_state *s, uint64_t cookie, int result)
{
	for (unsigned i = 0; i < RUN_OWED; i++) {
		struct run_owed *o = &s->owed[i];

		if (o->step != OWED_PUT || o->cookie != cookie) {
			continue;
		}
		if (result == 0 || result == -EEXIST || result == -EINVAL) {
			o->step = OWED_WRITTEN;
			saved(s, o);
		} else {
			o->step = OWED_TO_PUT; /* at the next tick */
		}
	}
}

/* ------------------------------------------------------------------------------------ requests */

/* The journal's run goes to capture first. */
static bool may_command(struct run_state *s)
{
	pay(s);
	return !s->journal_unsent;
}

/* A begin row is not tried again: it would overtake an end that waits for the disk. */
static bool owes_end(const struct run_state *s)
{
	for (unsigned i = 0; i < RUN_OWED; i++) {
		const struct run_owed *o = &s->owed[i];

		if ((o->step == OWED_TO_PUT || o->step == OWED_PUT) && !o->run) {
			return true;
		}
	}
	return false;
}

void run_state_start(struct run_state *s, uint64_t now_ns)
{
	int r;

	ask(s, RUN_JOURNALING, s->last + 1, now_ns);
	r = may_command(s) && !owes_end(s) ? s->ops->put_begin(s->context, s->wanted) : -EBUSY;
	if (r < 0) {
		run_state_journaled(s, r);
	}
}

void run_state_journaled(struct run_state *s, int result)
{
	const struct capture_run given_up = {.ended = s->wanted};

	if (s->step != RUN_JOURNALING) {
		return;
	}
	if (result == 0 || result == -EEXIST) {
		s->last = s->wanted; /* now given out, or already was */
	}
	s->step = RUN_AT_REST;
	if (result < 0) {
		answer(s, RUN_NOT_JOURNALED, s->wanted, 0, result);
	} else if (!s->asked) {
		owe(s, &given_up); /* its client got the answer that it did not begin */
	} else if (s->ops->command(s->context, CAPTURE_RUN, s->wanted) < 0) {
		owe(s, &given_up);
		answer(s, RUN_BUSY, s->wanted, 0, 0);
	} else {
		s->step = RUN_BORDER;
	}
}

void run_state_stop(struct run_state *s, uint64_t now_ns)
{
	enum run_step step = s->step;

	ask(s, step == RUN_AT_REST ? RUN_BORDER : step, 0, now_ns);
	if (step == RUN_AT_REST &&
	    (!may_command(s) || s->ops->command(s->context, CAPTURE_RUN, 0) < 0)) {
		s->step = RUN_AT_REST;
		answer(s, RUN_BUSY, s->number, 0, 0);
	}
}

/* ------------------------------------------------------------------------------------ capture */

/* What the step BORDER waits for. */
static bool awaited(const struct run_state *s, const struct capture_run *e, uint32_t before)
{
	return s->step == RUN_BORDER && e->run == s->wanted && (s->wanted || e->ended == before);
}

/* An end is answered when it is saved. */
static void arrive(struct run_state *s, const struct capture_run *e, uint64_t now_ns)
{
	s->step = RUN_AT_REST;
	if (e->run) {
		answer(s, RUN_DONE, e->run, e->slice_id, 0);
	} else if (s->asked) {
		s->step = RUN_SAVING;
		s->awaited = *e;
		if (e->bordered && now_ns + RUN_SAVED_NS < s->deadline_ns) {
			s->deadline_ns = now_ns + RUN_SAVED_NS;
		}
	}
}

/* A page has a run that has ended: capture ends it at the next border. A run that is being started has not ended,
 * whatever numbers the rings have. */
static bool is_past(const struct run_state *s, uint32_t run)
{
	bool asked = s->step == RUN_BORDER && run == s->wanted;

	return run && !asked && (run <= s->ended || (run <= s->past && run != s->open));
}

/* A repeated report: of a ring that was taken over, or of a predecessor's earlier change. */
static bool is_old(const struct run_state *s, const struct capture_run *e)
{
	return e->change <= s->reported || is_past(s, e->run) ||
	       (e->run == 0 && s->number && e->ended != s->number);
}

/* A number that rings know is not given out, also where the journal does not have it: its file is another one. */
static void note_number(struct run_state *s, uint32_t run)
{
	s->last = run > s->last ? run : s->last;
}

void run_state_effect(struct run_state *s, const struct capture_report *r, uint64_t now_ns)
{
	const struct capture_run *effect = &r->run;
	uint32_t before = s->number;

	if (!is_old(s, effect)) { /* else it is only for the journal */
		s->reported = effect->change;
		s->number = effect->run;
		note_number(s, effect->run);
		note_number(s, effect->ended);
		s->ended = effect->ended > s->ended ? effect->ended : s->ended;
		s->ops->effect(s->context, effect);
		if (awaited(s, effect, before)) {
			arrive(s, effect, now_ns);
		}
	}
	owe(s, effect);
}

void run_state_carried(struct run_state *s, uint32_t run)
{
	note_number(s, run);
	if (!s->restored && s->reported == 0) {
		s->number = run;
	}
}

void run_state_plan(struct run_state *s, const struct capture_report *r)
{
	if (r->run.slice_id) {
		s->ops->put_plan(s->context, r->run.run, r->run.ended, r->run.slice_id);
	}
}

void run_state_restore(struct run_state *s, uint32_t last, bool open, bool ending)
{
	note_number(s, last);
	if (s->restored) {
		return; /* our own state is newer */
	}
	s->restored = true;
	s->open = open && last != s->ended ? last : 0; /* the row of its end may still be queued */
	s->ending = s->open && ending;
	s->past = last;
	if (s->open || s->reported == 0 || is_past(s, s->number)) {
		s->number = s->open;
	}
	s->journal_unsent = true;
	pay(s);
}

/* ------------------------------------------------------------------------------------ timeouts */

static void answer_late(struct run_state *s)
{
	switch (s->step) {
	case RUN_JOURNALING: /* the row may still be written: run_state_journaled() */
		answer(s, RUN_JOURNAL_SLOW, s->wanted, 0, 0);
		break;
	case RUN_BORDER:
		answer(s, RUN_NO_DATA, subject(s), 0, 0);
		break;
	case RUN_SAVING:
		s->step = RUN_AT_REST;
		answer(s, s->awaited.bordered ? RUN_DONE : RUN_END_UNSAVED, s->awaited.ended,
		       s->awaited.slice_id, 0);
		break;
	case RUN_AT_REST:
		break;
	}
}

void run_state_tick(struct run_state *s, uint64_t now_ns)
{
	pay(s);
	if (s->asked && now_ns >= s->deadline_ns) {
		answer_late(s);
	}
}

void run_state_close(struct run_state *s)
{
	if (s->step == RUN_SAVING) {
		answer_late(s);
	}
	answer(s, RUN_INTERRUPTED, subject(s), 0, 0);
}
