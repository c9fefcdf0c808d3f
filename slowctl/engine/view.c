/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What others ask the command engine: a command, how many are open, when a floor answered last, the quality of a
 * value; and when engine_tick() is due. Changes nothing.
 */
#include "slowctl/engine/private.h"

/* ------------------------------------------------------------------ views */

static bool has_id(const struct command *c, const void *id)
{
	return c->id == *(const uint64_t *)id && !c->rejected;
}

bool engine_command(const struct engine *e, uint64_t id, struct engine_command_view *ret_view)
{
	const struct command *c = engine_find(e, has_id, &id);

	if (!c) {
		return false;
	}
	*ret_view = (struct engine_command_view){
		.id = c->id,
		.parameter = c->param->name,
		.action = c->action,
		.ended = c->ended,
		.new_value = c->new_value,
		.readback = c->readback,
		.sequence = c->sequence,
		.attempts = c->attempts,
		.state = c->state,
		.detail = c->detail,
		.time_ns = c->time_ns,
		.changed_ns = c->changed_ns,
		.boot = c->boot,
		.row = c->row,
		.who = journal_who(c),
	};
	return true;
}

bool engine_progress(const struct engine *e, uint64_t id, struct engine_out *ret_out)
{
	const struct command *c = engine_find(e, has_id, &id);

	if (!c || !(c->journaled || c->ended) || (c->ended && c->announce_by)) {
		return false;
	}
	ret_out->type = ENGINE_PROGRESS;
	command_say(c, c->untaken ? NOT_TAKEN : "", ret_out);
	return true;
}

uint64_t engine_last_set(const struct engine *e, const struct param *p)
{
	const struct command *c;
	uint64_t id = 0;

	TAILQ_FOREACH (c, &e->links[p->link].open, next) {
		id = c->param == p && !c->action ? c->id : id;
	}
	return id;
}

uint64_t engine_last_reply_ns(const struct engine *e, unsigned link)
{
	return e->links[link].last_reply_ns;
}

unsigned engine_open_count(const struct engine *e)
{
	return e->open_count;
}

/* ------------------------------------------------------------------ when */

static void earlier(uint64_t *due, uint64_t when)
{
	if (when < *due) {
		*due = when;
	}
}

static void link_due(const struct engine *e, const struct link *l, uint64_t *due)
{
	const struct command *c;

	TAILQ_FOREACH (c, &l->open, next) {
		if (journal_due(c)) {
			earlier(due, journal_due(c));
		} else if (c->flying) {
			earlier(due, c->deadline);
		} else if (c->after_failed) {
			earlier(due, 0);
		} else if (c->after) {
			continue;
		} else if (link_usable(l) && waits_for_number(l, c)) {
			earlier(due,
				l->asked_since ? l->asked_since + STRANDED_NS + MS : UINT64_MAX);
		} else if (c->want != WANT_NOTHING && link_usable(l) && window_free(l, c) &&
			   e->of_param[c->param->number].writer == c) {
			earlier(due, c->not_before);
		}
	}
	if (link_usable(l) && sequences_wait(l)) {
		earlier(due, l->number_again);
	}
	for (unsigned i = 0; i < POLL_SLOTS; i++) {
		if (l->polls[i].param) {
			earlier(due, l->polls[i].deadline);
		}
	}
	if (l->reserve_cookie && !l->unreserved) {
		earlier(due, l->reserve_by);
	}
	if (l->reserve_again && link_wants_sequences(e, l)) {
		earlier(due, l->reserve_again);
	}
}

/* The next poll of a floor that can be asked. */
static void poll_time(const struct engine *e, const struct link *l, uint64_t *due)
{
	uint64_t next = UINT64_MAX;

	if (!e->config.poll || !link_usable(l) || l->polls_flying == POLL_SLOTS) {
		return;
	}
	for (unsigned i = l->first_param; i < l->first_param + l->params; i++) {
		const struct param *p = params_at(e->params, i);

		if (p->kind->source == PARAM_POLLED && p->kind->access != PARAM_ACTION &&
		    p->kind->poll_s > 0 && !p->polling) {
			earlier(&next, p->next_poll_ns);
		}
	}
	earlier(due, next > l->poll_pause ? next : l->poll_pause);
}

uint64_t engine_next_due(const struct engine *e)
{
	const struct command *c;
	uint64_t due = UINT64_MAX;

	for (const struct link *l = e->links; l < e->links + PARAM_LINKS; l++) {
		if (l->configured) {
			link_due(e, l, &due);
			poll_time(e, l, &due);
			if (l->open_count > 0 && !link_usable(l)) { /* 0: now, to see it is down */
				earlier(&due, l->down_since ? l->down_since + STRANDED_NS + MS : 0);
			}
		}
	}
	TAILQ_FOREACH (c, &e->ending, next) {
		if (c->announce_by) {
			earlier(&due, c->announce_by);
		}
	}
	return due;
}

double engine_mute_s(const struct engine *e, const struct param *p, struct engine_now now)
{
	return p->link >= 0 ? link_mute_s(&e->links[p->link], now) : (double)NAN;
}

enum param_quality engine_quality(const struct engine *e, const struct param *p,
				  struct engine_now now)
{
	enum param_quality quality = param_quality(p, now.mono_ns);
	bool unheard = p->kind->source == PARAM_POLLED && !isnan(engine_mute_s(e, p, now));

	return quality == PARAM_GOOD && unheard ? PARAM_STALE : quality;
}
