/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words: which one leaves next on a link; answers, and missing answers; polling. Urgent commands go
 * first, then the others, each up to a window of their own, oldest first and one at a time on a
 * parameter; polling takes places that are left, so that all replies of a round fit in one upstream
 * frame. See private.h.
 */
#include "slowctl/engine/private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ABSENT_NS      (60 * SECOND) /* interval of reads of a register that an FCM lacks */
#define HINT_CLIENT_ID "Give every new command a client id of its own."

/* ------------------------------------------------------------------ sending */

/* The command's own word. Its boot is that in which it was sent first. */
static void own_word(struct engine *e, struct link *l, struct command *c, struct word *w)
{
	w->op = c->action ? WORD_ACTION : WORD_WRITE;
	w->reg = (uint8_t)c->param->kind->reg;
	w->value = c->action ? 0 : c->raw;
	w->sequence = c->sequence;
	if (c->attempts == 0) {
		c->boot = l->boot;
	}
	c->attempts++;
	c->sent_writes = ++l->sent_writes;
	c->sent_ns = e->now.mono_ns;
	c->later = 0;
	c->left = false;
}

static void begin_flight(struct engine *e, struct command *c, enum purpose purpose,
			 uint32_t sequence, uint64_t cookie)
{
	struct link *l = engine_link_of(e, c);

	c->flight = purpose;
	c->want = WANT_NOTHING;
	c->flying = true;
	c->flight_sequence = sequence;
	c->flight_cookie = cookie;
	c->deadline = e->now.mono_ns + e->config.timeout_ms * MS;
	l->flights++;
	l->urgent_flights += c->urgent;
}

static void send_command(struct engine *e, struct link *l, struct command *c)
{
	const struct param_kind *k = c->param->kind;
	struct word w = {.module = c->param->module};

	if (c->want == WANT_COMMAND && c->attempts > 0 && (uint16_t)l->boot != (uint16_t)c->boot) {
		c->want = WANT_QUERY; /* booted since the FCM denied it: ask again, do not repeat */
	}
	if (c->want == WANT_COMMAND && c->look_first) {
		c->want = WANT_LOOK;
	}
	if (c->want == WANT_COMMAND) {
		own_word(e, l, c, &w);
	} else {
		w.sequence = sequence_for_read(e, l, false);
		if (w.sequence == 0) {
			c->not_before = e->now.mono_ns + 100 * MS;
			return;
		}
		w.op = c->want == WANT_QUERY ? WORD_QUERY : WORD_READ;
		w.reg = (uint8_t)(c->want == WANT_READBACK || c->want == WANT_LOOK ? k->readback_reg
										   : k->reg);
		w.value = c->want == WANT_QUERY ? (int32_t)c->sequence : 0;
		l->queries += c->want == WANT_QUERY;
	}
	begin_flight(e, c, c->want, w.sequence, link_send(e, l, &w));
	c->fresh = c->flight == WANT_COMMAND && !c->action;
	l->fresh |= c->fresh;
}

static bool command_ready(struct engine *e, const struct command *c)
{
	return c->want != WANT_NOTHING && !c->flying && c->journaled && !c->after &&
	       !c->after_failed && past(e, c->not_before) &&
	       !waits_for_number(engine_link_of(e, c), c) &&
	       e->of_param[c->param->number].writer == c;
}

static struct poll *free_slot(struct link *l)
{
	if (l->polls_flying + l->flights >= WINDOW) {
		return NULL;
	}
	for (struct poll *slot = l->polls; slot < l->polls + POLL_SLOTS; slot++) {
		if (!slot->param) {
			return slot;
		}
	}
	return NULL;
}

/* The most overdue value of the floor: *ret_setting when it is the set value's register. */
static struct param *poll_due(struct engine *e, struct link *l, bool *ret_setting)
{
	struct param *due = NULL;
	uint64_t oldest = UINT64_MAX;

	for (unsigned i = l->first_param; i < l->first_param + l->params; i++) {
		struct param *p = params_at(e->params, i);
		const struct param_kind *k = p->kind;
		uint64_t setting = e->of_param[i].next_setting_ns;

		if (k->source != PARAM_POLLED || k->access == PARAM_ACTION || k->poll_s <= 0 ||
		    p->polling || (e->of_param[i].writer && e->of_param[i].writer->flying)) {
			continue;
		}
		if (past(e, p->next_poll_ns) && p->next_poll_ns < oldest) {
			oldest = p->next_poll_ns;
			due = p;
			*ret_setting = false;
		}
		if (k->access == PARAM_RW && k->reg != k->readback_reg && past(e, setting) &&
		    setting < oldest) {
			oldest = setting;
			due = p;
			*ret_setting = true;
		}
	}
	return due;
}

static void poll_end(struct link *l, struct poll *slot)
{
	slot->param->polling = false;
	slot->param = NULL;
	l->polls_flying--;
}

static void send_poll(struct engine *e, struct link *l, struct poll *slot, struct param *p,
		      bool setting)
{
	const struct param_kind *k = p->kind;
	struct word w = {.op = WORD_READ, .module = p->module};
	uint64_t next = e->now.mono_ns + (uint64_t)(k->poll_s * 1e9);

	w.sequence = sequence_for_read(e, l, true);
	if (w.sequence == 0) {
		l->poll_pause = e->now.mono_ns + SECOND;
		return;
	}
	w.reg = (uint8_t)(setting ? k->reg : k->readback_reg);
	if (setting) {
		e->of_param[p->number].next_setting_ns = next;
	} else {
		p->next_poll_ns = next;
	}
	p->polling = true;
	*slot = (struct poll){.param = p,
			      .setting = setting,
			      .sequence = w.sequence,
			      .deadline = e->now.mono_ns + e->config.timeout_ms * MS};
	slot->cookie = link_send(e, l, &w);
	l->polls_flying++;
	if (l->silent >= MUTE_TIMEOUTS) {
		l->poll_pause = e->now.mono_ns + SECOND;
	}
}

static void pump_polls(struct engine *e, struct link *l)
{
	struct poll *slot;

	if (!e->config.poll) {
		return;
	}
	while (past(e, l->poll_pause) && (slot = free_slot(l))) {
		bool setting = false;
		struct param *p = poll_due(e, l, &setting);

		if (!p) {
			return;
		}
		send_poll(e, l, slot, p, setting);
	}
}

static void pump_commands(struct engine *e, struct link *l, bool urgent)
{
	struct command *c, *after;

	TAILQ_FOREACH_SAFE (c, &l->open, next, after) {
		if (c->urgent == urgent && !window_free(l, c)) {
			return;
		}
		if (c->urgent == urgent && command_ready(e, c) && rules_still(e, c) &&
		    sequence_free(e, l, c)) {
			send_command(e, l, c);
		}
	}
}

/* What makes safer waits for no other command on its parameter (rules_make_way()). Returns buf. */
static const char *journaled_text(struct engine *e, const struct command *c, char *buf, size_t size)
{
	double mute_s = link_mute_s(engine_link_of(e, c), e->now);
	const struct command *writer = e->of_param[c->param->number].writer;
	uint64_t before = c->after ? c->after : writer && writer != c ? writer->id : 0;

	if (before && (c->after || !c->urgent)) {
		snprintf(buf, size, "journaled; waits for command %llu",
			 (unsigned long long)before);
	} else if (!isnan(mute_s)) {
		snprintf(buf, size,
			 "journaled; to be sent, though the floor has not answered for %.0f s",
			 mute_s);
	} else {
		snprintf(buf, size, "journaled; to be sent");
	}
	return buf;
}

/* The floor answers again: send the commands that make safer and were kept for that. */
static void release_held(struct engine *e, struct link *l)
{
	struct command *c;

	if (!l->holds_back || !l->numbered) {
		return;
	}
	l->holds_back = false;
	TAILQ_FOREACH (c, &l->open, next) {
		if (c->alarm && unsent(c) && !c->look_first) {
			char text[120];

			c->alarm = false;
			c->hint[0] = 0;
			command_move(e, c, COMMAND_QUEUED, "%s",
				     journaled_text(e, c, text, sizeof(text)));
		}
	}
}

void link_pump(struct engine *e, struct link *l)
{
	sequences_reserve(e, l);
	rules_follow(e, l);
	if (!link_usable(l)) {
		return;
	}
	sequences_ask(e, l);
	rules_make_way(e, l);
	release_held(e, l);
	pump_commands(e, l, true);
	pump_commands(e, l, false);
	pump_polls(e, l);
}

static void link_behind(struct engine *e, struct link *l)
{
	struct command *c;

	TAILQ_FOREACH (c, &l->open, next) {
		struct word w = {.op = WORD_READ, .module = c->param->module};
		bool follow = c->fresh && c->flying && c->flight == WANT_COMMAND;

		c->fresh = false;
		w.sequence = follow && window_free(l, c) ? sequence_for_read(e, l, false) : 0;
		if (w.sequence == 0) {
			continue;
		}
		w.reg = (uint8_t)c->param->kind->readback_reg;
		c->behind_sequence = w.sequence;
		c->behind_cookie = link_send(e, l, &w);
		l->flights++;
		l->urgent_flights += c->urgent;
	}
}

/*
 * The FCM executes in the order in which words leave: a READ behind the word of a set shows what became of it,
 * and both answers come in one trip. Only in places that commands leave: a word that waits for one is of more use.
 */
void words_behind(struct engine *e)
{
	for (struct link *l = e->links; l < e->links + PARAM_LINKS; l++) {
		if (l->fresh) {
			l->fresh = false;
			link_behind(e, l);
		}
	}
}

/* ------------------------------------------------------------------ replies */

/* The known set values may be wrong now: they are read again. */
static void forget_setpoints(struct engine *e, const struct link *l)
{
	for (unsigned i = l->first_param; i < l->first_param + l->params; i++) {
		struct param *p = params_at(e->params, i);

		if (p->has_setpoint) {
			p->has_setpoint = false;
			p->next_poll_ns = e->now.mono_ns;
			e->of_param[i].next_setting_ns = e->now.mono_ns;
		}
	}
}

static void link_booted(struct engine *e, struct link *l, uint32_t boot)
{
	struct command *c, *after;

	l->boots++;
	l->boot = boot;
	forget_setpoints(e, l);
	TAILQ_FOREACH_SAFE (c, &l->open, next, after) {
		command_booted(e, c);
	}
}

/* The low 16 bits of a reply move the boot count forward only: an older one was late. */
static void note_boot(struct engine *e, struct link *l, uint16_t boot)
{
	uint16_t moved = (uint16_t)(boot - (uint16_t)l->boot);

	if (l->boot == ENGINE_BOOT_UNKNOWN) {
		l->boot = boot;
	} else if (moved > 0 && moved < 0x8000u) {
		link_booted(e, l, (uint32_t)l->boot + moved);
	}
}

static struct command *find_flight(struct link *l, uint32_t sequence)
{
	struct command *c;

	TAILQ_FOREACH (c, &l->open, next) {
		if ((c->flying && c->flight_sequence == sequence) || c->sequence == sequence ||
		    (c->behind_sequence && c->behind_sequence == sequence)) {
			return c;
		}
	}
	return NULL;
}

/* A reply to the command's own word, perhaps to an earlier sending of it, perhaps late: it is proof in
 * any case, unless the command has gone beyond it. */
static void own_reply(struct engine *e, struct link *l, struct command *c, const struct word *w)
{
	bool beyond = c->state == COMMAND_ACKED || is_read_back(c) || unsent(c);
	uint32_t behind = c->behind_sequence;

	if (beyond || (w->status == WORD_DUPLICATE && c->flying && c->flight != WANT_COMMAND)) {
		l->strays++;
		return;
	}
	command_land(e, c);
	if (c->state == COMMAND_QUEUED) { /* its TX completion is late, it has left nevertheless */
		command_move(e, c, COMMAND_SENT, "sent, attempt %u", c->attempts);
	}
	command_outcome(e, c, w, "acknowledged; waiting for the read-back");
	if (behind && c->want == WANT_READBACK) { /* what went behind its word is its read-back */
		begin_flight(e, c, WANT_READBACK, behind, c->behind_cookie);
	}
}

/* What went behind its word is answered before that, or failed to leave: its value is read again later. */
static void behind_lost(struct link *l, struct command *c)
{
	c->behind_sequence = 0;
	l->flights--;
	l->urgent_flights -= c->urgent;
}

static void command_reply(struct engine *e, struct link *l, struct command *c, const struct word *w)
{
	uint8_t op = w->op & (uint8_t)~WORD_REPLY;

	if (op == (c->action ? WORD_ACTION : WORD_WRITE) && w->sequence == c->sequence) {
		own_reply(e, l, c, w);
		return;
	}
	if (w->sequence == c->behind_sequence) {
		behind_lost(l, c);
		return;
	}
	if (!c->flying || w->sequence != c->flight_sequence ||
	    op != (c->flight == WANT_QUERY ? WORD_QUERY : WORD_READ)) {
		l->strays++;
		return;
	}
	command_land(e, c);
	switch (c->flight) {
	case WANT_QUERY:
		command_query_reply(e, c, w);
		break;
	case WANT_SETTING:
		command_setting_reply(e, c, w);
		break;
	case WANT_READBACK:
		command_readback(e, c, w);
		break;
	case WANT_LOOK:
		command_look_reply(e, c, w);
		break;
	default:
		break;
	}
}

static void poll_reply(struct engine *e, struct link *l, struct poll *slot, const struct word *w)
{
	struct param *p = slot->param;
	bool of_now = w->boot == (uint16_t)l->boot; /* else late: its set values are gone */

	poll_end(l, slot);
	if (w->status != WORD_OK) {
		param_put_bad(p);
		if (p->kind->optional) { /* the register is missing: the FCM counts refused reads */
			p->next_poll_ns = e->now.mono_ns + ABSENT_NS;
		}
		return;
	}
	if (slot->setting && !of_now) {
		return;
	}
	if (slot->setting) {
		param_put_setpoint(p, param_from_raw(p->kind, w->value), e->now.mono_ns);
		if (p->setpoint != p->sampled_setpoint) {
			p->next_poll_ns = e->now.mono_ns; /* into the history, with the value */
		}
		return;
	}
	param_put_raw(p, w->value, e->now.utc_ns, e->now.mono_ns);
	if (of_now && p->kind->access == PARAM_RW && p->kind->reg == p->kind->readback_reg) {
		param_put_setpoint(p, p->value, e->now.mono_ns);
	}
	engine_value(e, p);
}

static struct poll *find_poll(struct link *l, uint32_t sequence)
{
	for (struct poll *slot = l->polls; slot < l->polls + POLL_SLOTS; slot++) {
		if (slot->param && slot->sequence == sequence) {
			return slot;
		}
	}
	return NULL;
}

static void one_reply(struct engine *e, struct link *l, const struct word *w)
{
	struct poll *slot;
	struct command *c;

	if (!(w->op & WORD_REPLY)) {
		l->strays++;
		return;
	}
	l->replies++;
	/* It may have received nothing either, and its silence timer may have fired. */
	if (!isnan(link_mute_s(l, e->now))) {
		forget_setpoints(e, l);
	}
	l->silent = 0;
	l->last_reply_ns = e->now.mono_ns;
	note_boot(e, l, w->boot);
	if (sequences_reply(l, w)) {
		return;
	}
	slot = find_poll(l, w->sequence);
	if (slot && w->op == (WORD_READ | WORD_REPLY)) {
		poll_reply(e, l, slot, w);
		return;
	}
	c = find_flight(l, w->sequence);
	if (c) {
		command_reply(e, l, c, w);
	} else {
		l->strays++; /* late, doubled, or of a predecessor */
	}
}

void engine_reply(struct engine *e, unsigned link, const struct word *word, struct engine_now now)
{
	struct link *l = &e->links[link < PARAM_LINKS ? link : 0];

	e->now = now;
	if (link >= PARAM_LINKS || !l->configured) {
		return;
	}
	if (!link_usable(l)) {
		l->strays++; /* of another floor, or not yet known of which */
		return;
	}
	one_reply(e, l, word);
	link_pump(e, l);
}

/* ------------------------------------------------------------------ what happened to a word sent */

static struct command *find_sent(struct engine *e, uint64_t cookie)
{
	struct command *c = NULL;

	while ((c = engine_next_open(e, c)) && !(c->flying && c->flight_cookie == cookie) &&
	       !(c->behind_sequence && c->behind_cookie == cookie)) {
		/* the next one */
	}
	return c;
}

void engine_sent(struct engine *e, uint64_t cookie, uint64_t frame, struct engine_now now)
{
	struct command *c = find_sent(e, cookie);

	e->now = now;
	if (!c || c->flight_cookie != cookie || c->flight != WANT_COMMAND || c->left) {
		return;
	}
	c->left = true;
	c->deadline = now.mono_ns + e->config.timeout_ms * MS; /* it left only now */
	c->frame = frame;
	command_move(e, c, COMMAND_SENT, "sent, attempt %u", c->attempts);
}

static void poll_not_sent(struct engine *e, struct link *l, uint64_t cookie)
{
	for (struct poll *slot = l->polls; slot < l->polls + POLL_SLOTS; slot++) {
		if (slot->param && slot->cookie == cookie) {
			l->send_failures++;
			slot->param->next_poll_ns = e->now.mono_ns;
			poll_end(l, slot);
			l->poll_pause = e->now.mono_ns + 50 * MS;
		}
	}
}

void engine_send_failed(struct engine *e, uint64_t cookie, int result, struct engine_now now)
{
	struct command *c = find_sent(e, cookie);

	e->now = now;
	if (c) {
		engine_link_of(e, c)->send_failures++;
		if (c->behind_sequence && c->behind_cookie == cookie) {
			behind_lost(engine_link_of(e, c), c);
		} else {
			command_not_sent(e, c, result);
		}
		return;
	}
	for (struct link *l = e->links; l < e->links + PARAM_LINKS; l++) {
		if (!sequences_not_sent(e, l, cookie)) {
			poll_not_sent(e, l, cookie);
		}
	}
}

/* ------------------------------------------------------------------ the store's answers */

/* Announce an end: the journal has taken it, or has not in time. */
static void end_announce(struct engine *e, struct command *c, bool taken)
{
	if (!c->announce_by) {
		return; /* announced already */
	}
	c->announce_by = 0;
	c->untaken = !taken && !c->rejected;
	c->unwritten |= c->rejected && !taken; /* then the answer has no number */
	command_announce(e, c, taken || c->rejected ? NULL : NOT_TAKEN);
}

static void end_remove(struct engine *e, struct command *c)
{
	TAILQ_REMOVE(&e->ending, c, next);
	if (c->rejected && !c->repeat) {
		engine_free_command(c);
		return;
	}
	if (c->rejected) { /* whoever asked wants to know what it was; the client id is another's */
		free(c->client_id);
		c->client_id = NULL;
		c->rejected = false;
	}
	engine_retire(e, c);
}

/*
 * What was refused at once has the client id of an earlier command, that only the journal has: that one's
 * outcome is the answer, and not that nothing was sent.
 */
static void asked_before(struct command *c)
{
	const struct param_kind *k = c->param->kind;
	char *number = c->client_id ? strrchr(c->client_id, '!') : NULL;

	if (!number) {
		return;
	}
	*number = '\0';
	c->repeat = true;
	c->new_value = c->action ? NAN : param_from_raw(k, param_to_raw(k, c->new_value));
	snprintf(c->hint, sizeof(c->hint), "%s", HINT_CLIENT_ID);
}

static bool end_stored(struct engine *e, uint64_t cookie, int result)
{
	struct command *c;

	TAILQ_FOREACH (c, &e->ending, next) {
		if (c->end_cookie == cookie) {
			if (c->rejected && result == -EEXIST) {
				asked_before(c);
			}
			c->untaken = c->untaken && result < 0;
			end_announce(e, c, result >= 0);
			end_remove(e, c);
			return true;
		}
	}
	return false;
}

/* A client does not wait for a disk that does not answer. Commands stay until the journal answers, rejected ones not. */
static void tick_ending(struct engine *e)
{
	struct command *c, *after;

	TAILQ_FOREACH_SAFE (c, &e->ending, next, after) {
		if (past(e, c->announce_by)) {
			end_announce(e, c, false);
			if (c->rejected) {
				end_remove(e, c);
			}
		}
	}
}

static void not_journaled(struct engine *e, struct command *c, int result)
{
	struct sc_trouble t = journal_trouble(result);
	char hint[sizeof(c->hint)];

	snprintf(hint, sizeof(hint), "%s Then send it again.", t.action);
	command_end(e, c, COMMAND_REFUSED, hint,
		    "nothing was sent: it could not be journaled in %s: %s", e->config.journal,
		    t.what);
}

/* Its client id is that of an earlier command that is only in the journal: it was never a command
 * itself. */
static void used_before(struct engine *e, struct command *c)
{
	c->repeat = true;
	command_end(e, c, COMMAND_REFUSED, HINT_CLIENT_ID,
		    "nothing was sent: this client id was used before");
}

static void command_stored(struct engine *e, struct link *l, struct command *c, int result)
{
	c->journaled = true;
	c->unwritten = result < 0 && !c->busy && (!never_late(c) || result == -EEXIST);
	if (result == -EEXIST) {
		used_before(e, c);
	} else if (result < 0 && never_late(c)) {
		command_emergency(e, c, journal_trouble(result).what);
	} else if (result < 0) {
		not_journaled(e, c, result);
	} else if (e->now.mono_ns - c->submitted_ns > JOURNAL_LIMIT && !never_late(c)) {
		command_end(e, c, COMMAND_FAILED, HINT_AGAIN,
			    "not sent: the journal took %.1f s to take it",
			    (double)(e->now.mono_ns - c->submitted_ns) / 1e9);
	} else {
		c->want = WANT_COMMAND;
		if (!c->busy) {
			c->not_before = e->now.mono_ns;
			journaled_text(e, c, c->detail, sizeof(c->detail));
		}
		command_announce(e, c, NULL);
	}
	link_pump(e, l);
}

void engine_stored(struct engine *e, uint64_t cookie, int result, struct engine_now now)
{
	struct command *c = NULL;
	struct link *reserved;

	e->now = now;
	if (cookie == 0) { /* none of ours: 0 is what waits for nothing */
		return;
	}
	reserved = sequences_stored(e, cookie, result);
	if (reserved) {
		link_pump(e, reserved);
		return;
	}
	if (end_stored(e, cookie, result)) {
		return;
	}
	while ((c = engine_next_open(e, c))) {
		if (c->row_cookie == cookie && !c->journaled) {
			command_stored(e, engine_link_of(e, c), c, result);
			return;
		}
	}
}

/* ------------------------------------------------------------------ links */

static void note_usable(struct engine *e, struct link *l)
{
	if (!link_usable(l)) {
		if (l->usable_since) {
			forget_setpoints(e, l);
		}
		l->usable_since = 0;
		sequences_forget(l);
		l->down_since = l->down_since ? l->down_since : e->now.mono_ns;
	} else if (!l->usable_since) {
		l->usable_since = e->now.mono_ns;
		l->down_since = 0;
		l->silent = 0;
		l->poll_pause = 0;
	}
}

void engine_link(struct engine *e, unsigned link, bool locked, uint8_t tower, uint8_t floor,
		 struct engine_now now)
{
	struct link *l;
	struct command *c;
	bool was;

	e->now = now;
	if (link >= PARAM_LINKS) {
		return;
	}
	l = &e->links[link];
	was = link_usable(l);
	l->locked = locked;
	l->named_tower = tower;
	l->named_floor = floor;
	note_usable(e, l);
	if (!was && link_usable(l)) {
		TAILQ_FOREACH (c, &l->open, next) { /* what waited for it need not wait longer */
			if (c->want != WANT_NOTHING && c->not_before > now.mono_ns) {
				c->not_before = now.mono_ns;
			}
		}
	}
	link_pump(e, l);
}

void engine_boot(struct engine *e, unsigned link, uint32_t boot_count, struct engine_now now)
{
	struct link *l = usable_link(e, link);

	e->now = now;
	if (l && l->boot != ENGINE_BOOT_UNKNOWN && (uint16_t)l->boot != (uint16_t)boot_count) {
		link_booted(e, l, boot_count);
	} else if (l) {
		l->boot = boot_count;
	}
}

void engine_telemetry(struct engine *e, unsigned link, const struct tdm_telemetry *telemetry,
		      struct engine_now now)
{
	struct link *l = usable_link(e, link);

	e->now = now;
	for (unsigned i = l ? l->first_param : 0; l && i < l->first_param + l->params; i++) {
		struct param *p = params_at(e->params, i);

		if (p->kind->source == PARAM_TELEMETRY) {
			param_put_telemetry(p, telemetry, now.utc_ns, now.mono_ns);
			engine_value(e, p);
		}
	}
	engine_boot(e, link, telemetry->boot_count, now);
}

/* ------------------------------------------------------------------ time */

static void tick_polls(struct engine *e, struct link *l)
{
	for (struct poll *slot = l->polls; slot < l->polls + POLL_SLOTS; slot++) {
		if (slot->param && past(e, slot->deadline)) {
			if (l->silent >= MUTE_TIMEOUTS && !slot->setting) {
				slot->param->next_poll_ns = e->now.mono_ns; /* once it answers */
			}
			poll_end(l, slot);
			l->timeouts++;
			l->silent++;
		}
	}
}

/* What was requested while the floor did not answer is not sent when it answers again. */
static bool too_late(struct engine *e, const struct link *l, const struct command *c)
{
	uint64_t since = l->last_reply_ns > c->submitted_ns ? l->last_reply_ns : c->submitted_ns;

	return l->silent >= MUTE_TIMEOUTS && unsent(c) && !never_late(c) &&
	       e->now.mono_ns - since > TOO_LATE;
}

static void tick_commands(struct engine *e, struct link *l)
{
	struct command *c, *after;
	bool stranded =
		!link_usable(l) && l->down_since && e->now.mono_ns - l->down_since > STRANDED_NS;
	bool unheard = l->asked_since && e->now.mono_ns - l->asked_since > STRANDED_NS;

	TAILQ_FOREACH_SAFE (c, &l->open, next, after) {
		uint64_t journal_by = journal_due(c);

		if (journal_by && past(e, journal_by)) {
			command_emergency(e, c, "the database has not answered for 100 ms");
		} else if (c->flying && past(e, c->deadline)) {
			l->timeouts++;
			l->silent++;
			command_timeout(e, c);
		} else if ((stranded && !c->flying) || (unheard && waits_for_number(l, c)) ||
			   too_late(e, l, c)) {
			command_stranded(e, c);
		}
	}
}

void engine_tick(struct engine *e, struct engine_now now)
{
	e->now = now;
	for (struct link *l = e->links; l < e->links + PARAM_LINKS; l++) {
		if (!l->configured) {
			continue;
		}
		note_usable(e, l);
		tick_polls(e, l);
		tick_commands(e, l);
		link_pump(e, l);
	}
	tick_ending(e);
}
