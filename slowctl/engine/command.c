/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of a command: its states, each written to the journal and announced to its client; what
 * replies, silence and boots of the FCM mean for it. Nothing here sends: link_pump() sends what a
 * command wants next.
 *
 * The rule behind all of it: a word of a command is repeated only when the FCM itself, in the boot in
 * which the word was sent first, has said that it never executed it. Everything else ends in evidence
 * (outcome, set value, counter) or in UNKNOWN with an alarm.
 */
#include "slowctl/engine/private.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tdm/registers.h"

#define READ_PAUSE_MIN (10 * MS)
#define READ_PAUSE_MAX (200 * MS)
#define RAMP_UNKNOWN_S 60.0 /* allowed for a ramp with unknown rate */
#define OUTCOME_MARGIN 16u  /* words in flight, retries: the FCM may remember less than we count */
#define BUSY_TRIES     10u  /* an FCM that is busy is given what makes safe so often again ... */
#define BUSY_PAUSE     (300 * MS) /* ... after so long */

#define HINT_MUTE "Look at the link and the floor: fcmctl link list. The daemon goes on asking."
#define HINT_WAITS                                                                                 \
	"Look at the link and the floor: fcmctl link list. It is sent when they are back."
#define HINT_SILENT                                                                                \
	"Send it again when the floor answers: fcmctl get shows whether its values are renewed."

/* What waited for its end may go, or will be ended by rules_follow(), as what was to stop it. */
static void release_followers(struct link *l, const struct command *c)
{
	struct command *d;

	TAILQ_FOREACH (d, &l->open, next) {
		if (d->after == c->id) {
			bool look = d->urgent && c->refused == WORD_REFUSED;

			d->after = 0;
			d->look_first = look ? c->id : 0;
			d->after_failed = c->state == COMMAND_DONE || look ? 0 : c->id;
			d->after_state = c->state;
		} else if (d->stops == c->id && !d->holds) {
			d->after_failed = c->id;
			d->after_state = c->state;
		}
	}
}

void command_say(const struct command *c, const char *note, struct engine_out *o)
{
	o->progress.id = c->id;
	o->progress.state = c->state;
	o->progress.final = c->ended;
	o->progress.alarm = c->alarm;
	o->progress.readback = c->readback;
	o->progress.numbered = c->journaled && !c->unwritten;
	snprintf(o->progress.repeats, sizeof(o->progress.repeats), "%s",
		 c->repeat && c->client_id ? c->client_id : "");
	snprintf(o->progress.text, sizeof(o->progress.text), "%s%s", c->detail, note);
	snprintf(o->progress.hint, sizeof(o->progress.hint), "%s", c->hint);
}

/* Announce its state to its client. `note` is added to the text; NULL: nothing. */
void command_announce(struct engine *e, struct command *c, const char *note)
{
	command_say(c, note ? note : "", engine_out(e, ENGINE_PROGRESS));
}

void command_move(struct engine *e, struct command *c, enum command_state state, const char *format,
		  ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->detail, sizeof(c->detail), format, args);
	va_end(args);
	c->state = state;
	c->changed_ns = e->now.utc_ns;
	journal_transition(e, c, 0, 0);
	command_announce(e, c, NULL);
}

void command_emergency(struct engine *e, struct command *c, const char *why)
{
	if (!c->emergency) {
		journal_put_emergency(e, c->row);
	}
	c->emergency = true;
	c->journaled = true;
	c->want = WANT_COMMAND;
	command_move(e, c, COMMAND_QUEUED, "to be sent before it is in the database: %s", why);
}

/* The parameter is free for the next open command on it. */
static void unlock(struct engine *e, struct command *c)
{
	struct command *d;

	if (e->of_param[c->param->number].writer != c) {
		return;
	}
	e->of_param[c->param->number].writer = NULL;
	TAILQ_FOREACH (d, &engine_link_of(e, c)->open, next) {
		if (d->param == c->param) {
			e->of_param[c->param->number].writer = d;
			return;
		}
	}
}

void command_land(struct engine *e, struct command *c)
{
	struct link *l = engine_link_of(e, c);
	unsigned words = (c->flying ? 1u : 0u) + (c->behind_sequence ? 1u : 0u);

	c->flying = false;
	c->behind_sequence = 0;
	l->flights -= words;
	l->urgent_flights -= c->urgent ? words : 0;
}

/* Something was done to this module: its other values may have changed. */
static void refresh_module(struct engine *e, const struct command *c)
{
	struct link *l = engine_link_of(e, c);

	for (unsigned i = l->first_param; i < l->first_param + l->params; i++) {
		struct param *p = params_at(e->params, i);

		if (p->module == c->param->module && p->next_poll_ns > e->now.mono_ns) {
			p->next_poll_ns = e->now.mono_ns;
			e->of_param[p->number].next_setting_ns = e->now.mono_ns;
		}
	}
}

void command_end(struct engine *e, struct command *c, enum command_state state, const char *hint,
		 const char *format, ...)
{
	struct link *l = engine_link_of(e, c);
	va_list args;

	va_start(args, format);
	vsnprintf(c->detail, sizeof(c->detail), format, args);
	va_end(args);
	if (c->emergency && c->attempts > 0) {
		size_t used = strlen(c->detail);

		snprintf(c->detail + used, sizeof(c->detail) - used,
			 "; sent before it was journaled");
	}
	snprintf(c->hint, sizeof(c->hint), "%s", hint);
	command_land(e, c);
	c->state = state;
	c->ended = true;
	c->alarm = state == COMMAND_UNKNOWN;
	c->changed_ns = e->now.utc_ns;
	c->want = WANT_NOTHING;
	c->end_cookie = engine_cookie(e);
	if (!c->unwritten) {
		journal_transition(e, c, ENGINE_STORE_URGENT | ENGINE_STORE_ANSWER, c->end_cookie);
	}
	TAILQ_REMOVE(&l->open, c, next);
	l->open_count--;
	e->open_count--;
	e->urgent_count -= c->urgent;
	l->urgent_count -= c->urgent;
	engine_note_end(e, c);
	release_followers(l, c);
	unlock(e, c);
	if (c->attempts > 0 || c->recovered) {
		refresh_module(e, c);
	}
	if (c->unwritten || c->emergency) { /* no row of its end, or it is written already */
		command_announce(e, c, NULL);
		if (c->unwritten) { /* its client id may be used again */
			free(c->client_id);
			c->client_id = NULL;
		}
		engine_retire(e, c);
	} else {
		c->announce_by = e->now.mono_ns + END_WAIT;
		TAILQ_INSERT_TAIL(&e->ending, c, next);
	}
}

/* ------------------------------------------------------------------ acknowledged */

static bool proof_is_boot_count(const struct command *c)
{
	return c->param->module == WORD_MODULE_FCM &&
	       c->param->kind->readback_reg == (int)REG_FCM_BOOT_COUNT;
}

/* The rate parameter of its value; NULL: it does not ramp. */
static struct param *ramp_of(struct engine *e, const struct command *c)
{
	return c->action ? NULL : sibling(e, c->param, c->param->kind->settle_by);
}

static bool rate_known(const struct param *ramp)
{
	return ramp && ramp->has_value && ramp->value > 0;
}

/* Time from the acknowledgement to a right read-back: the settle time, plus the ramp if there is
 * one. Computed from what is known now: rate and value may have been read only since. */
static double settle_time_s(struct engine *e, const struct command *c)
{
	const struct param *ramp = ramp_of(e, c);
	double settle_s = c->param->kind->settle_s;

	if (!ramp) {
		return settle_s;
	}
	if (!rate_known(ramp) || isnan(c->ramp_from)) {
		return settle_s + RAMP_UNKNOWN_S;
	}
	return settle_s + 1.1 * fabs(c->new_value - c->ramp_from) / ramp->value;
}

/* A ramp is under way as long as the value comes nearer, at least at the slowest rate. */
static bool moves(struct engine *e, const struct command *c)
{
	const struct param_kind *k = c->param->kind;
	const struct param *ramp = ramp_of(e, c);
	double slowest = ramp ? ramp->kind->hard_min : 0;
	double still_s = k->settle_s + (slowest > 0 ? 2 * k->tolerance / slowest : 0);

	return ramp && (double)(e->now.mono_ns - c->moved_ns) / 1e9 < still_s;
}

/* The read-back should be right by now, and does not come nearer. */
static bool overdue(struct engine *e, const struct command *c)
{
	return (double)(e->now.mono_ns - c->acked_ns) / 1e9 >= settle_time_s(e, c) && !moves(e, c);
}

static void note_way(struct engine *e, struct command *c)
{
	const struct param *p = c->param;
	double left = fabs(c->new_value - p->value);

	c->ramp_from = isnan(c->ramp_from) ? p->value : c->ramp_from;
	if (isnan(c->nearest) || left < c->nearest - p->kind->tolerance) {
		c->nearest = left;
		c->moved_ns = e->now.mono_ns;
	}
}

/* The time limit depends on the rate: an unknown rate is read at once. */
static void look_at_rate(struct engine *e, const struct command *c)
{
	struct param *ramp = ramp_of(e, c);

	if (ramp && param_quality(ramp, e->now.mono_ns) != PARAM_GOOD) {
		ramp->next_poll_ns = 0; /* before everything else that is due */
	}
}

/* The one that keeps the output off, as read since `since_ns` (monotonic); NULL: none does. */
static struct param *kept_off_by(struct engine *e, const struct command *c, uint64_t since_ns)
{
	struct param *q = c->action ? NULL : sibling(e, c->param, c->param->kind->see);

	return q && q->has_value && q->value != 0 && q->mono_ns >= since_ns ? q : NULL;
}

/* What keeps it off is read again: it decides what the read-back can show. */
static void look_at_see(struct engine *e, struct command *c)
{
	const struct param_kind *k = c->param->kind;
	const struct param *p = c->action ? sibling(e, c->param, k->moves) : c->param;
	struct param *q = p ? sibling(e, p, p->kind->see) : NULL;

	c->acked_ns = e->now.mono_ns;
	c->was_off = kept_off_by(e, c, 0) != NULL;
	if (q && q->next_poll_ns > e->now.mono_ns) {
		q->next_poll_ns = e->now.mono_ns;
	}
}

/* It has left at least once, whatever a predecessor that was killed could still write down: who sees only the
 * journal must not take it for never sent. */
static void has_left(struct command *c)
{
	c->attempts = c->attempts > 0 ? c->attempts : 1;
}

/* Who sets it to what it is already has changed nothing. */
static void note_hand(const struct command *c)
{
	struct param_hand *by = &c->param->by;

	if (!by->who[0]) {
		snprintf(by->who, sizeof(by->who), "%s", journal_who(c));
		by->safe = c->job != 0;
		by->time_ns = c->time_ns;
	}
}

static void acked(struct engine *e, struct command *c, int32_t value, const char *how)
{
	struct param *p = c->param;

	has_left(c);
	look_at_see(e, c);
	look_at_rate(e, c);
	c->ramp_from = p->has_value ? p->value : NAN;
	c->nearest = NAN;
	c->moved_ns = e->now.mono_ns;
	if (c->action) {
		c->wanted_count = (uint32_t)value;
	} else {
		param_put_setpoint(p, param_from_raw(p->kind, value), e->now.mono_ns);
		note_hand(c);
	}
	c->alarm = false;
	c->hint[0] = 0;
	c->queries = 0;
	c->read_pause_ns = READ_PAUSE_MIN;
	want(e, c, WANT_READBACK);
	command_move(e, c, COMMAND_ACKED, "%s", how);
}

/* It continues under another sequence, which is journaled before use like any other. */
__attribute__((format(printf, 3, 4))) static void under_another(struct engine *e, struct command *c,
								const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->detail, sizeof(c->detail), format, args);
	va_end(args);
	c->busy++;
	c->sequence = journal_new_sequence(e, engine_link_of(e, c));
	c->attempts = 0;
	c->state = COMMAND_QUEUED;
	c->changed_ns = e->now.utc_ns;
	c->not_before = e->now.mono_ns;
	c->submitted_ns = e->now.mono_ns;
	c->row_cookie = engine_cookie(e);
	c->journaled = c->emergency; /* the emergency journal has it at once */
	c->want = c->emergency ? WANT_COMMAND : WANT_NOTHING;
	journal_transition(e, c, STORE_BEFORE_USE, c->row_cookie);
	command_announce(e, c, NULL);
}

static bool may_go_on(struct engine *e, const struct command *c)
{
	return !c->recovered && c->busy < BUSY_TRIES &&
	       engine_link_of(e, c)->next_sequence <= UINT32_MAX;
}

/* Making safe does not stop half way because an FCM was busy: the command is sent once more. False:
 * not any more. */
static bool once_more(struct engine *e, struct command *c)
{
	if (!c->job || !may_go_on(e, c)) {
		return false;
	}
	under_another(e, c, "the FCM was busy (sequence %u): not executed; once more, %u of %u",
		      c->sequence, c->busy + 1, BUSY_TRIES);
	c->not_before = e->now.mono_ns + BUSY_PAUSE;
	return true;
}

/* Then it was not executed: the FCM executes a sequence once. A command that makes safer is sent
 * under another. */
void command_number_taken(struct engine *e, struct command *c)
{
	if (never_late(c) && may_go_on(e, c)) {
		under_another(e, c,
			      "the FCM has executed another command under its sequence %u; it is "
			      "sent under another",
			      c->sequence);
	} else if (unsent(c)) {
		command_end(e, c, COMMAND_FAILED, HINT_AGAIN,
			    "not sent: the FCM has executed another command under its sequence %u",
			    c->sequence);
	} else {
		command_end(e, c, COMMAND_UNKNOWN,
			    "Tell the maintainer: sequence numbers were used twice on this floor.",
			    "the FCM remembers another command under its sequence %u", c->sequence);
	}
}

void command_outcome(struct engine *e, struct command *c, const struct word *w, const char *how)
{
	const struct param *q;

	has_left(c);
	if (w->status == WORD_OK) {
		acked(e, c, w->value, how);
		return;
	}
	if (w->status == WORD_DUPLICATE) {
		/* It was executed (or refused) earlier; how it ended, only QUERY says. */
		engine_link_of(e, c)->duplicates++;
		want(e, c, WANT_QUERY);
		return;
	}
	if (w->status == WORD_BUSY && once_more(e, c)) {
		return;
	}
	c->refused = w->status;
	q = kept_off_by(e, c, 0);
	if (q && w->status == WORD_REFUSED) {
		command_end(e, c, COMMAND_REFUSED,
			    "It can only be lowered meanwhile; to raise it, clear that first.",
			    "refused by the FCM: not possible while %s is on", q->name);
	} else {
		command_end(e, c, COMMAND_REFUSED, fcm_trouble(w->status).action,
			    "refused by the FCM: %s", fcm_trouble(w->status).what);
	}
}

/* ------------------------------------------------------------------ settled by QUERY */

static bool same_boot(uint64_t a, uint64_t b)
{
	return a != ENGINE_BOOT_UNKNOWN && b != ENGINE_BOOT_UNKNOWN && (uint16_t)a == (uint16_t)b;
}

/* The FCM says it never executed the word, and it would remember if it had. */
static void never_executed(struct engine *e, struct command *c)
{
	if (c->recovered) {
		command_end(e, c, COMMAND_FAILED, HINT_AGAIN,
			    "not executed: the daemon stopped before its word reached the FCM");
	} else if (!never_late(c) && e->now.mono_ns - c->sent_ns > TOO_LATE) {
		command_end(e, c, COMMAND_FAILED, HINT_AGAIN,
			    "not executed: its word was lost, and the floor did not answer for "
			    "%.0f s",
			    (double)(e->now.mono_ns - c->sent_ns) / 1e9);
	} else if (c->attempts >= ATTEMPTS_MAX) {
		command_end(e, c, COMMAND_FAILED,
			    "Look at the link: fcmctl link list. Send it again.",
			    "not executed: sent %u times, it never reached the FCM", c->attempts);
	} else {
		engine_link_of(e, c)->retries++;
		want(e, c, WANT_COMMAND);
		command_move(e, c, c->state, "the FCM never got it (attempt %u): to be sent again",
			     c->attempts);
	}
}

/* The FCM has forgotten: what is left are the register's value and the boot count. */
static void forgotten(struct engine *e, struct command *c, uint16_t boot)
{
	if (!c->action) {
		want(e, c, WANT_SETTING);
	} else if (proof_is_boot_count(c) && c->boot != ENGINE_BOOT_UNKNOWN &&
		   !same_boot(c->boot, boot)) {
		command_end(e, c, COMMAND_DONE, "", "the FCM has booted since (%u, now %u)",
			    (uint16_t)c->boot, boot);
	} else {
		command_end(
			e, c, COMMAND_UNKNOWN,
			"Look at the module's values, and do it again only if that is harmless.",
			"no answer came, and the FCM %s: whether it was executed is unknown",
			same_boot(c->boot, boot) ? "no longer remembers" : "has booted since");
	}
}

/* The outcome that the FCM has under its sequence is that of another command. */
static bool is_of_another(const struct command *c, const struct word *w)
{
	return w->module != c->param->module || w->reg != (uint8_t)c->param->kind->reg ||
	       (!c->action && w->status == WORD_OK && w->value != c->raw);
}

void command_query_reply(struct engine *e, struct command *c, const struct word *w)
{
	uint64_t since = c->later + engine_link_of(e, c)->sent_writes - c->sent_writes;

	c->queries = 0;
	if (w->status != WORD_UNKNOWN) {
		if (unsent(c) || is_of_another(c, w)) {
			command_number_taken(e, c);
		} else {
			command_outcome(e, c, w,
					"executed, as QUERY reports; waiting for the read-back");
		}
	} else if (unsent(c)) {
		c->free = true;
		want(e, c, WANT_COMMAND);
	} else if (same_boot(c->boot, w->boot) && since < FCM_OUTCOMES - OUTCOME_MARGIN) {
		never_executed(e, c);
	} else {
		forgotten(e, c, w->boot);
	}
}

/* Text before the read-back: the evidence was the value held, not an outcome. */
static const char *basis(const struct command *c)
{
	return c->held ? FORGOTTEN_HELD "; " : "";
}

/* The FCM has the set value, and what keeps the output off does so still: that is all that can be done. */
static void held(struct engine *e, struct command *c)
{
	const struct param *q = kept_off_by(e, c, c->acked_ns);
	char v[32];

	if (!q) { /* cleared meanwhile: it is on its way */
		c->nearest = NAN;
		want(e, c, WANT_READBACK);
		return;
	}
	command_end(
		e, c, COMMAND_DONE, "",
		"%sthe FCM holds %s %s; the output stays off until %s is cleared, then goes there",
		c->held ? "the FCM had forgotten the outcome; " : "",
		param_format(c->param, c->new_value, v, sizeof(v)), c->param->kind->unit, q->name);
}

/* Somebody has set another value since, and the proof that this one had arrived was lost. */
#define HELD_BEFORE "read-back unknown: the value was in effect at a restart of the daemon"

void command_setting_reply(struct engine *e, struct command *c, const struct word *w)
{
	struct param *p = c->param;
	char is[64], want[64];

	if (w->status != WORD_OK) {
		command_end(e, c, COMMAND_UNKNOWN, HINT_LOOK,
			    "no answer came, the FCM has forgotten, and its set value cannot be "
			    "read: %s",
			    fcm_trouble(w->status).what);
	} else if (w->value == c->raw && c->acked_ns) {
		held(e, c);
	} else if (w->value == c->raw) {
		c->held = true;
		acked(e, c, w->value,
		      "the FCM has forgotten the outcome, but holds the value; waiting for the "
		      "read-back");
	} else {
		param_put_setpoint(p, param_from_raw(p->kind, w->value), e->now.mono_ns);
		command_end(e, c, COMMAND_FAILED, "Set it again if it is still wanted.",
			    "%s, and the FCM holds %s, not %s",
			    c->was_acked	      ? HELD_BEFORE
			    : c->acked_ns && !c->held ? "not in effect: acknowledged"
						      : "not in effect: no answer came",
			    param_text(p, p->setpoint, is, sizeof(is)),
			    param_text(p, c->new_value, want, sizeof(want)));
	}
}

/* ------------------------------------------------------------------ settled by read-back */

static void read_again(struct engine *e, struct command *c)
{
	c->want = WANT_READBACK;
	c->not_before = e->now.mono_ns + c->read_pause_ns;
	c->read_pause_ns =
		c->read_pause_ns * 2 < READ_PAUSE_MAX ? c->read_pause_ns * 2 : READ_PAUSE_MAX;
}

static void disagrees(struct engine *e, struct command *c)
{
	const struct param *p = c->param, *q = kept_off_by(e, c, 0);
	char is[64], want[64], tolerance[32], see[PARAM_NAME_MAX + 64] = "";

	if (q) {
		snprintf(see, sizeof(see), "; %s is on, the FCM keeps the set value", q->name);
	}
	command_end(e, c, COMMAND_FAILED, HINT_LOOK,
		    "%sread-back %s, wanted %s within %s after %.1f s%s", basis(c),
		    param_text(p, c->readback, is, sizeof(is)),
		    param_text(p, c->new_value, want, sizeof(want)),
		    param_format(p, p->kind->tolerance, tolerance, sizeof(tolerance)),
		    (double)(e->now.mono_ns - c->acked_ns) / 1e9, see);
}

/* ", 57 % of the way, about 6 s to go"; of what does not ramp nothing. Returns buf. */
static const char *ramp_text(struct engine *e, const struct command *c, char *buf, size_t size)
{
	const struct param *p = c->param, *ramp = ramp_of(e, c);
	double all = c->new_value - c->ramp_from, left = c->new_value - p->value;

	buf[0] = 0;
	if (!rate_known(ramp) || !(fabs(all) > p->kind->tolerance)) {
		return buf;
	}
	snprintf(buf, size, ", %.0f %% of the way, about %.0f s to go",
		 100 * fmin(fmax(1 - left / all, 0), 1), ceil(fabs(left) / ramp->value));
	return buf;
}

static void readback_value(struct engine *e, struct command *c, int32_t raw)
{
	struct param *p = c->param;
	char text[64], way[64];

	param_put_raw(p, raw, e->now.utc_ns, e->now.mono_ns);
	c->readback = p->value;
	note_way(e, c);
	if (p->kind->readback_reg == p->kind->reg) {
		param_put_setpoint(p, p->value, e->now.mono_ns);
	}
	if (fabs(p->value - c->new_value) <= p->kind->tolerance + 1e-9) {
		p->sampled = false; /* the new value belongs in the history at once */
		engine_value(e, p);
		command_end(e, c, COMMAND_DONE, "", "%sread-back %s", basis(c),
			    param_text(p, p->value, text, sizeof(text)));
		return;
	}
	engine_value(e, p);
	if (kept_off_by(e, c, c->acked_ns) && c->was_off) {
		want(e, c, WANT_SETTING);
	} else if (kept_off_by(e, c, c->acked_ns) || overdue(e, c)) {
		disagrees(e, c);
	} else {
		read_again(e, c);
		snprintf(c->detail, sizeof(c->detail), "read-back %s%s",
			 param_text(p, p->value, text, sizeof(text)),
			 ramp_text(e, c, way, sizeof(way)));
		command_announce(e, c, NULL);
	}
}

/* "; ...hv now goes to 1300.0 V, within 14 s": an action's end is not the end of what it began. */
static const char *moves_text(struct engine *e, const struct command *c, char *buf, size_t size)
{
	const struct param *p = sibling(e, c->param, c->param->kind->moves);
	const struct param *off = p ? sibling(e, p, p->kind->see) : NULL;
	const struct param *ramp = p ? sibling(e, p, p->kind->settle_by) : NULL;
	char to[32], within[32] = "";

	buf[0] = 0;
	if (!p || (p->has_value && p->has_setpoint && !(off && off->has_value && off->value != 0) &&
		   fabs(p->value - p->setpoint) <= p->kind->tolerance)) {
		return buf; /* it is there already */
	}
	if (!p->has_setpoint) {
		snprintf(buf, size, "; %s now goes to its set value", p->name);
		return buf;
	}
	if (rate_known(ramp)) {
		snprintf(within, sizeof(within), ", within %.0f s",
			 ceil(fabs(p->setpoint) / ramp->value + p->kind->settle_s));
	}
	snprintf(buf, size, "; %s now goes to %s %s%s", p->name,
		 param_format(p, p->setpoint, to, sizeof(to)), p->kind->unit, within);
	return buf;
}

static void readback_count(struct engine *e, struct command *c, uint32_t count)
{
	if ((int32_t)(count - c->wanted_count) >= 0) {
		char moves[PARAM_NAME_MAX + 96];

		command_end(e, c, COMMAND_DONE, "", "its counter stands at %u%s", count,
			    moves_text(e, c, moves, sizeof(moves)));
	} else if (overdue(e, c)) {
		command_end(e, c, COMMAND_FAILED,
			    "Look at the module's values; do it again if needed.",
			    "acknowledged, but its counter stands at %u, not %u, after %.1f s",
			    count, c->wanted_count, settle_time_s(e, c));
	} else {
		read_again(e, c);
	}
}

void command_readback(struct engine *e, struct command *c, const struct word *w)
{
	c->queries = 0;
	if (w->status != WORD_OK) {
		if (overdue(e, c)) {
			command_end(e, c, COMMAND_FAILED, HINT_LOOK,
				    "%s, but its read-back cannot be read: %s", evidence(c),
				    fcm_trouble(w->status).what);
		} else {
			read_again(e, c);
		}
	} else if (c->action) {
		readback_count(e, c, (uint32_t)w->value);
	} else {
		readback_value(e, c, w->value);
	}
}

/* The FCM refuses the HV of a module that is off. It refuses it for other reasons too, and then the power is not cut
 * under it. */
void command_look_reply(struct engine *e, struct command *c, const struct word *w)
{
	c->queries = 0;
	if (w->status == WORD_OK && w->value == c->raw) {
		want(e, c, WANT_COMMAND);
	} else {
		c->after_failed = c->look_first;
	}
	c->look_first = 0;
}

/* ------------------------------------------------------------------ silence, boots, dark links */

/* It has asked often enough for an operator to know. */
static void alarm_unknown(struct engine *e, struct command *c, const char *why)
{
	if (c->alarm) {
		return;
	}
	c->alarm = true;
	snprintf(c->hint, sizeof(c->hint), "%s", unsent(c) ? HINT_WAITS : HINT_MUTE);
	command_move(e, c, COMMAND_UNKNOWN, "%s: %s", why,
		     c->look_first ? "not sent yet: its value has to be read first"
		     : unsent(c)   ? "not sent yet: it is sent as soon as possible"
		     : c->held	   ? FORGOTTEN_HELD ", but its read-back is still unknown"
		     : c->acked_ns || c->flight == WANT_READBACK || c->want == WANT_READBACK
			     ? ACKED_ONLY
		     : c->was_acked ? WAS_IN_EFFECT
				    : "whether it was executed is still unknown");
}

void command_timeout(struct engine *e, struct command *c)
{
	command_land(e, c);
	want(e, c, c->flight);
	if (c->flight == WANT_COMMAND) {
		c->want = WANT_QUERY;
		command_move(e, c, COMMAND_UNKNOWN,
			     "no answer within %u ms (attempt %u); asking the FCM",
			     e->config.timeout_ms, c->attempts);
	} else if (c->flight == WANT_READBACK && !overdue(e, c)) {
		read_again(e, c);
	} else if (++c->queries >= QUERIES_MAX) {
		alarm_unknown(e, c, "the floor does not answer");
		c->not_before = e->now.mono_ns + ASK_AGAIN;
	}
}

/* Keep a command that makes safer for later; it is an alarm until then. */
void command_stranded(struct engine *e, struct command *c)
{
	struct link *l = engine_link_of(e, c);
	char why[64];

	snprintf(why, sizeof(why), "link %u %s", l->number,
		 link_usable(l) ? "is up, but its floor does not answer"
		 : l->locked	? "ends at another floor"
				: "is not locked");
	if (unsent(c) && !c->journaled) {
		return;
	}
	if (unsent(c) && !never_late(c)) {
		command_end(e, c, COMMAND_FAILED,
			    link_usable(l) ? HINT_SILENT
					   : "Send it again when the link is up: "
					     "fcmctl link list.",
			    "not sent: %s", why);
	} else {
		l->holds_back |= unsent(c);
		alarm_unknown(e, c, why);
	}
}

static const char *send_trouble(int result)
{
	return result == -ENOLINK  ? "the link is not locked"
	       : result == -ENODEV ? "the board is gone"
	       : result == -EPERM  ? "another program owns the link"
				   : strerror(-result);
}

/* The TX ring did not take its word: it has certainly not left. */
void command_not_sent(struct engine *e, struct command *c, int result)
{
	command_land(e, c);
	c->want = c->flight;
	c->not_before = e->now.mono_ns + (result == -EAGAIN ? 2 * MS : 50 * MS);
	c->attempts -= c->flight == WANT_COMMAND;
	if (c->flight != WANT_COMMAND || result == -EAGAIN) {
		return;
	}
	if (c->attempts > 0) {
		c->want = WANT_QUERY;
	} else if (never_late(c)) {
		alarm_unknown(e, c, send_trouble(result));
	} else {
		command_end(e, c, COMMAND_FAILED,
			    "Look at link and board: fcmctl link list; then send it again.",
			    "not sent: %s", send_trouble(result));
	}
}

/* A boot of the FCM resets its counters: an action that waited for one cannot be proved any more. */
void command_booted(struct engine *e, struct command *c)
{
	if (c->action && is_read_back(c) && !proof_is_boot_count(c)) {
		command_end(
			e, c, COMMAND_UNKNOWN,
			"Look at the module's values, and do it again only if that is harmless.",
			"acknowledged, but the FCM booted before its counter proved it");
	}
}
