/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of the command engine: which request is accepted, and what waits for what. Limits, link
 * and interlocks are asked before anything is journaled as a command or sent. What makes things
 * safer passes every interlock, is taken when all is full, and does not wait for what it undoes.
 */
#include "slowctl/engine/private.h"

#include <errno.h>
#include <math.h>

/* What the parameter itself says to the request. What makes safer passes the soft limits. */
static int check_param(struct engine *e, const struct engine_request *q, const struct param *p,
		       struct sc_error *error)
{
	if (!p->floor) {
		return sc_fail(error, -EACCES, "read-only",
			       "It is the shore's own: it can be read.", "%s cannot be set",
			       p->name);
	}
	if (!q->action) {
		return param_check_set(p, q->value, q->force || rules_safer(e, p, q->value), error);
	}
	if (p->kind->access != PARAM_ACTION) {
		return sc_fail(error, -EINVAL, "no-action",
			       p->kind->access == PARAM_RW ? "It takes a value: set it."
							   : "It can be read only.",
			       "%s is no action", p->name);
	}
	return 0;
}

/* Whether the link can carry anything to the floor the parameter belongs to. */
static int check_link(const struct link *l, const struct param *p, struct sc_error *error)
{
	if (!l->locked) {
		return sc_fail(error, -ENOLINK, "not-locked",
			       "Look at the fibre and the floor's power: fcmctl link list; try "
			       "again when it is up.",
			       "%s: link %u is not locked; nothing was sent", p->name, l->number);
	}
	if (l->named_floor == 0xff) {
		return sc_fail(error, -ENOLINK, "not-identified",
			       "Wait for its first good frames: fcmctl link list.",
			       "%s: the floor on link %u has not said who it is; nothing was sent",
			       p->name, l->number);
	}
	if (!link_usable(l)) {
		return sc_fail(error, -EXDEV, "swapped",
			       "Put the fibres right, or correct the configuration ([links]).",
			       "%s: link %u ends at tower %u floor %u; nothing was sent", p->name,
			       l->number, l->named_tower, l->named_floor);
	}
	return 0;
}

static int check_after(const struct link *l, const struct engine_request *q, const struct param *p,
		       struct sc_error *error)
{
	const struct command *c;

	TAILQ_FOREACH (c, &l->open, next) {
		if (c->id == q->after) {
			return 0;
		}
	}
	return q->after == 0 ? 0
			     : sc_fail(error, -ECANCELED, "after",
				       "See what became of that one: fcmctl command list.",
				       "%s: command %llu, which it was to wait for, is not open; "
				       "nothing was sent",
				       p->name, (unsigned long long)q->after);
}

/* Urgent ones have as much room again. */
static int check_room(const struct engine *e, const struct link *l, bool urgent,
		      struct sc_error *error)
{
	unsigned open = urgent ? e->urgent_count : e->open_count - e->urgent_count;

	if (open >= e->config.commands_max) {
		return sc_fail(error, -EAGAIN, "too-many",
			       "Wait for some to end: fcmctl command list.",
			       "%u commands are open already", open);
	}
	if (l->next_sequence > UINT32_MAX) {
		return sc_fail(error, -EOVERFLOW, "sequences",
			       "Tell the maintainer: this floor needs a new numbering.",
			       "tower %u floor %u: all sequence numbers are used up", l->tower,
			       l->floor);
	}
	return 0;
}

/* ------------------------------------------------------------------ interlocks */

/* An open set of it that makes it 0 (off); NULL: there is none. */
static const struct command *being_switched_off(const struct link *l, const struct param *p)
{
	const struct command *c;

	TAILQ_FOREACH (c, &l->open, next) {
		if (c->param == p && !c->action && c->raw == 0) {
			return c;
		}
	}
	return NULL;
}

bool rules_safer(struct engine *e, const struct param *p, double value)
{
	double safest = p->kind->safest, way = fabs(value - safest);
	const struct command *c;

	if (isnan(safest) || way == 0) {
		return !isnan(safest);
	}
	if (!param_setpoint_good(p, e->now.mono_ns)) {
		/* A value from before a boot, or an old one, is not evidence: read it. */
		e->of_param[p->number].next_setting_ns = 0;
		return false;
	}
	TAILQ_FOREACH (c, &e->links[p->link].open, next) { /* all that it is to become */
		if (c->param == p && !c->action && way >= fabs(c->new_value - safest)) {
			return false;
		}
	}
	return way < fabs(p->setpoint - safest);
}

/* It needs a sibling that is on: known to be, now, and to stay so. */
static int check_needs(struct engine *e, const struct param *p, struct sc_error *error)
{
	struct param *q = sibling(e, p, p->kind->needs);
	const struct command *off = q ? being_switched_off(&e->links[p->link], q) : NULL;
	enum param_quality quality = q ? param_quality(q, e->now.mono_ns) : PARAM_NEVER;
	char hint[200];

	if (!q) {
		return 0;
	}
	if (off) {
		snprintf(hint, sizeof(hint), "Wait for its end: fcmctl command show %llu.",
			 (unsigned long long)off->id);
		return sc_fail(error, -EPERM, "interlock", hint,
			       "%s needs %s, which command %llu switches off; nothing was sent",
			       p->name, q->name, (unsigned long long)off->id);
	}
	if (quality != PARAM_GOOD) {
		q->next_poll_ns = e->now.mono_ns;
		return sc_fail(error, -EPERM, "interlock",
			       "Try again in a moment; if it stays so, look at the floor: fcmctl "
			       "link list. With --force it is sent all the same.",
			       "%s needs %s, and whether that is on is unknown (%s); nothing was "
			       "sent",
			       p->name, q->name, param_quality_names[quality]);
	}
	if (q->value == 0) {
		snprintf(hint, sizeof(hint), "Switch it on first: fcmctl set %s on.", q->name);
		return sc_fail(error, -EPERM, "interlock", hint,
			       "%s needs %s, which is off; nothing was sent", p->name, q->name);
	}
	return 0;
}

/* Its module is being made safe: no action, and nothing less safe, not even with force. */
static int check_safing(const struct link *l, const struct engine_request *q, const struct param *p,
			struct sc_error *error)
{
	const struct command *c;
	char hint[200];

	TAILQ_FOREACH (c, &l->open, next) {
		if (c->job && c->param->module == p->module &&
		    (q->action || !isnan(p->kind->safest))) {
			snprintf(hint, sizeof(hint), "Wait for its end: fcmctl command show %llu.",
				 (unsigned long long)c->id);
			return sc_fail(error, -EPERM, "interlock", hint,
				       "%s: safe %llu takes the module down (command %llu is "
				       "open); nothing was sent",
				       p->name, (unsigned long long)c->job,
				       (unsigned long long)c->id);
		}
	}
	return 0;
}

static int check_run(const struct engine *e, const struct param *p, struct sc_error *error)
{
	if (!e->run || p->kind->danger != PARAM_DANGEROUS) {
		return 0;
	}
	return sc_fail(error, -EPERM, "interlock",
		       "Wait for its end (fcmctl run stop), or repeat it with --force if "
		       "it cannot wait.",
		       "%s is dangerous, and run %u is under way; nothing was sent", p->name,
		       e->run);
}

static int check_interlocks(struct engine *e, const struct engine_request *q, const struct param *p,
			    struct sc_error *error)
{
	int r;

	if (!q->action && rules_safer(e, p, q->value)) {
		return 0;
	}
	r = check_safing(&e->links[p->link], q, p, error);
	if (r < 0 || q->force) {
		return r;
	}
	r = check_run(e, p, error);
	return r == 0 && p->kind->needs[0] ? check_needs(e, p, error) : r;
}

/* ------------------------------------------------------------------ all together */

int rules_check(struct engine *e, const struct engine_request *q, const struct param *p,
		struct sc_error *error)
{
	int r = check_param(e, q, p, error);
	const struct link *l = r ? NULL : &e->links[p->link];

	r = r ? r : check_link(l, p, error);
	r = r ? r : check_interlocks(e, q, p, error);
	r = r ? r : check_after(l, q, p, error);
	return r ? r : check_room(e, l, !q->action && rules_safer(e, p, q->value), error);
}

/* Another open command on the parameter that makes it safer than the stop at `value`. */
static const struct command *safer_than_stop(const struct link *l, const struct command *ramp,
					     double value)
{
	double safest = ramp->param->kind->safest;
	const struct command *c;

	TAILQ_FOREACH (c, &l->open, next) {
		if (c != ramp && c->param == ramp->param && !c->action &&
		    (c->urgent || fabs(c->new_value - safest) < fabs(value - safest))) {
			return c;
		}
	}
	return NULL;
}

int rules_check_stop(struct engine *e, const struct command *ramp, double value,
		     struct sc_error *error)
{
	const struct link *l = &e->links[ramp->param->link];
	const struct command *c = safer_than_stop(l, ramp, value);
	char hint[120];
	int r;

	if (c) {
		snprintf(hint, sizeof(hint),
			 "Look at that one: fcmctl command show %llu; it can be cancelled, too.",
			 (unsigned long long)c->id);
		return sc_fail(error, -EBUSY, "safer", hint,
			       "command %llu is not stopped: command %llu, which %s, takes over; "
			       "nothing was sent",
			       (unsigned long long)ramp->id, (unsigned long long)c->id,
			       c->stops ? "holds the value where it is" : "makes it safer");
	}
	r = check_link(l, ramp->param, error);
	return r ? r : check_room(e, l, true, error);
}

/* ------------------------------------------------------------------ what waits */

/* Meanwhile a run has begun, or its module is being made safe, or is known to be off. That polling has fallen behind
 * the queue it waited in is no reason. */
static int check_still(struct engine *e, const struct command *c, struct sc_error *error)
{
	const struct engine_request q = {.action = c->action, .value = c->new_value};
	const struct param *p = c->param;
	const struct param *power = sibling(e, p, p->kind->needs);
	int r = check_safing(&e->links[p->link], &q, p, error);

	if (r < 0 || c->force) {
		return r;
	}
	r = check_run(e, p, error);
	if (r == 0 && power && param_quality(power, e->now.mono_ns) == PARAM_GOOD) {
		r = check_needs(e, p, error);
	}
	return r;
}

/* The `safe` that was asked for after it, of its module; 0: none. Whether that is done or not, it would undo it. */
static uint64_t made_safe_since(const struct engine *e, const struct command *c)
{
	const struct command_list *const lists[] = {&e->links[c->param->link].open, &e->ending,
						    &e->recent};
	const struct command *d;

	for (unsigned n = 0; n < 3 && (c->action || !isnan(c->param->kind->safest)); n++) {
		TAILQ_FOREACH (d, lists[n], next) {
			if (d->job && d->submitted_ns >= c->submitted_ns &&
			    d->param->link == c->param->link &&
			    d->param->module == c->param->module) {
				return d->job;
			}
		}
	}
	return 0;
}

bool rules_still(struct engine *e, struct command *c)
{
	struct sc_error error = {0};
	uint64_t safe;

	if (c->urgent || c->recovered || c->want != WANT_COMMAND) {
		return true;
	}
	if (c->attempts == 0 && check_still(e, c, &error) < 0) {
		command_end(e, c, COMMAND_REFUSED, error.hint, "%s", error.message);
		return false;
	}
	safe = made_safe_since(e, c);
	if (safe) {
		command_end(e, c, COMMAND_CANCELLED, "Do it again if it is still wanted.",
			    "not executed, and not sent again: safe %llu takes the module down",
			    (unsigned long long)safe);
	}
	return !safe;
}

void rules_follow(struct engine *e, struct link *l)
{
	struct command *c, *after;

	TAILQ_FOREACH_SAFE (c, &l->open, next, after) {
		if (c->after_failed && c->journaled && c->stops) {
			command_end(e, c, COMMAND_CANCELLED, "",
				    "not sent: command %llu, which it was to stop, has ended %s",
				    (unsigned long long)c->after_failed,
				    command_state_name(c->after_state));
		} else if (c->after_failed && c->journaled) {
			command_end(e, c, COMMAND_CANCELLED,
				    "See what became of that one; then send it again if it is "
				    "still wanted.",
				    "not sent: command %llu before it ended %s",
				    (unsigned long long)c->after_failed,
				    command_state_name(c->after_state));
		}
	}
}

/* ------------------------------------------------------------------ what gives way */

/* It waits for a database that may never answer; the urgent one waits no longer. */
static bool waits_for_journal(const struct command *c, const struct command *urgent)
{
	return !c->journaled && !never_late(c) && urgent->emergency;
}

/* Its word has not been executed, and never will be if it is not sent now. */
static bool not_sent(const struct command *c, const struct command *urgent)
{
	return !c->flying && !c->recovered && (c->journaled || waits_for_journal(c, urgent)) &&
	       (c->attempts == 0 || c->want == WANT_COMMAND);
}

static bool less_safe(const struct command *c, const struct command *than)
{
	double safest = than->param->kind->safest;

	return fabs(c->new_value - safest) > fabs(than->new_value - safest);
}

/* As safe as it is, it waits for another command, and the urgent one does not. (One of the daemon before us may turn out
 * never to have been sent, and is not sent then.) */
static bool waits_longer(const struct command *c, const struct command *urgent)
{
	return c->after && !urgent->after && !urgent->recovered && !less_safe(urgent, c);
}

/* It is before the urgent one for no good reason. What stops a ramp ends that ramp and what would go on from
 * there, never what makes it safer. */
static bool gives_way(const struct command *c, const struct command *urgent)
{
	if (urgent->stops) {
		return c->id == urgent->stops || (!c->urgent && !less_safe(urgent, c));
	}
	return less_safe(c, urgent) || waits_longer(c, urgent) || waits_for_journal(c, urgent);
}

/* It was executed, and its read-back is not right yet. */
static void end_on_its_way(struct engine *e, struct command *c, const struct command *urgent)
{
	unsigned long long id = (unsigned long long)urgent->id;
	char is[64], to[64];

	param_text(c->param, c->readback, is, sizeof(is));
	if (urgent->stops == c->id) {
		command_end(e, c, COMMAND_CANCELLED, "",
			    "stopped on its way: command %llu holds it at %s (read last: %s)", id,
			    param_text(c->param, urgent->new_value, to, sizeof(to)), is);
	} else {
		command_end(e, c, COMMAND_FAILED, "",
			    "%s, but command %llu, which %s, took over: read-back %s by then",
			    evidence(c), id, urgent->stops ? "stops a ramp" : "makes it safer",
			    isnan(c->readback) ? "unknown" : is);
	}
}

static void give_way(struct engine *e, struct command *c, struct command *urgent)
{
	const char *what = urgent->stops ? "holds the value where it is" : "makes it safer";
	unsigned long long id = (unsigned long long)urgent->id;

	urgent->holds = urgent->holds || urgent->stops == c->id;
	if (c->acked_ns) {
		end_on_its_way(e, c, urgent);
	} else if (c->attempts > 0) {
		command_end(e, c, COMMAND_CANCELLED, "",
			    "not executed, and not sent again: command %llu %s", id, what);
	} else {
		command_end(e, c, COMMAND_CANCELLED, "",
			    "cancelled by command %llu, which %s, before it was sent", id, what);
	}
}

/*
 * An older command on its parameter that is less safe is ended if it was not sent, or if it was executed and only
 * its read-back is waited for. One whose word is on its way is waited for: that is a round trip, or settled by
 * QUERY. Only the oldest can have been sent, so the others are looked at once.
 */
static void make_way(struct engine *e, struct link *l, struct command *urgent)
{
	struct command *c, *after;

	for (c = TAILQ_FIRST(&l->open); !urgent->way_made && c != urgent; c = after) {
		after = TAILQ_NEXT(c, next);
		if (c->param == urgent->param && gives_way(c, urgent) && not_sent(c, urgent)) {
			give_way(e, c, urgent);
		}
	}
	urgent->way_made = true;
	c = e->of_param[urgent->param->number].writer;
	if (c != urgent && gives_way(c, urgent) && (not_sent(c, urgent) || c->acked_ns)) {
		give_way(e, c, urgent);
	}
}

void rules_make_way(struct engine *e, struct link *l)
{
	struct command *c;

	if (l->urgent_count == 0) {
		return;
	}
	TAILQ_FOREACH (c, &l->open, next) {
		if (c->urgent && c->journaled && e->of_param[c->param->number].writer != c) {
			make_way(e, l, c); /* ends what is before it: our place stays */
		}
	}
}
