/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the engine records: rows of commands, their transitions, refusals; and the numbers it uses. Everything goes to
 * the database, with one exception: a command that makes safer waits for it no longer than JOURNAL_WAIT. Then its rows
 * go into the emergency journal (ENGINE_EMERGENCY), from which the daemon brings them into the database later.
 * See private.h.
 */
#include "slowctl/engine/private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DETAIL_MAX sizeof(((struct command *)0)->detail)

/* A row of a command is never cut: its last text is the state. */
static_assert(ROW_CLIENT_ID_MAX + ROW_WHO_MAX + ROW_ORIGIN_MAX + ROW_REASON_MAX + PARAM_NAME_MAX +
			      sizeof("action") + sizeof(((struct param_kind *)0)->unit) +
			      sizeof("CANCELLED") + DETAIL_MAX + 4 <=
		      ROW_ARENA,
	      "the arena holds all texts of a command");

/* ------------------------------------------------------------------ numbers */

void engine_recover_sequence(struct engine *e, uint8_t tower, uint8_t floor,
			     uint32_t reserved_until)
{
	for (struct link *l = e->links; l < e->links + PARAM_LINKS; l++) {
		if (l->configured && l->tower == tower && l->floor == floor &&
		    l->next_sequence <= reserved_until) {
			l->next_sequence = (uint64_t)reserved_until + 1;
		}
	}
}

void engine_marks(struct engine *e, struct engine_marks *marks)
{
	if (marks->last_id < e->marks->last_id) {
		marks->last_id = e->marks->last_id;
	}
	for (unsigned i = 0; i < PARAM_LINKS; i++) {
		engine_recover_sequence(e, marks->floor[i].tower, marks->floor[i].floor,
					marks->floor[i].sequence);
	}
	for (unsigned i = 0; i < PARAM_LINKS; i++) {
		const struct link *l = &e->links[i];

		marks->floor[i].tower = l->tower;
		marks->floor[i].floor = l->floor;
		marks->floor[i].sequence = (uint32_t)(l->next_sequence - 1);
	}
	e->ids_known = e->ids_known || (marks->last_id > 0 && !marks->last_id_old);
	e->marks = marks;
}

void journal_used_id(struct engine *e, uint64_t id)
{
	uint64_t *last = id >= ENGINE_OWN_IDS ? &e->marks->last_own_id : &e->marks->last_id;

	if (id > *last) {
		*last = id;
	}
}

void engine_recover_id(struct engine *e, uint64_t last_id)
{
	journal_used_id(e, last_id);
	if (last_id < ENGINE_OWN_IDS) {
		e->ids_known = true;
		e->marks->last_id_old = false;
	}
}

/* While the journal has never been read: numbers of a range that no journal uses. */
static uint64_t next_own_id(const struct engine *e, struct engine_now now)
{
	uint64_t begin = ENGINE_OWN_IDS + (uint64_t)(now.utc_ns / 1000000000) * 1000;

	return begin > e->marks->last_own_id ? begin : e->marks->last_own_id + 1;
}

uint64_t engine_next_id(const struct engine *e, struct engine_now now)
{
	return e->ids_known || !e->journal_lost ? e->marks->last_id + 1 : next_own_id(e, now);
}

uint64_t journal_new_id(struct engine *e)
{
	uint64_t id = engine_next_id(e, e->now);

	if (id >= ENGINE_OWN_IDS) {
		e->marks->last_own_id = id;
	} else {
		e->marks->last_id = id;
	}
	return id;
}

uint32_t journal_new_sequence(struct engine *e, struct link *l)
{
	uint32_t sequence = (uint32_t)l->next_sequence++;

	e->marks->floor[l->number].sequence = sequence;
	return sequence;
}

/* ------------------------------------------------------------------ rows */

void journal_command_row(struct engine *e, struct row *r, const struct engine_request *q,
			 const struct command *c)
{
	const struct param *p = c->param;

	row_make(r, ROW_COMMAND, ROW_VI(c->id), ROW_VT(c->client_id), ROW_VI(e->now.utc_ns),
		 ROW_VT(q->who ? q->who : "unknown"), ROW_VI_IF(q->uid >= 0, q->uid),
		 ROW_VI_IF(q->pid >= 0, q->pid), ROW_VT(q->origin), ROW_VT(q->reason),
		 ROW_VI_IF(p->link >= 0, p->link), ROW_VI(p->tower), ROW_VI(p->floor),
		 ROW_VT(p->name), ROW_VT(q->action ? "action" : "set"),
		 ROW_VR(p->has_value ? p->value : (double)NAN), ROW_VR(c->new_value),
		 ROW_VT(p->kind->unit), ROW_VI_IF(c->sequence != 0, c->sequence),
		 ROW_VI_IF(c->boot != ENGINE_BOOT_UNKNOWN, c->boot),
		 ROW_VT(command_state_name(c->state)), ROW_VT(c->ended ? c->detail : NULL),
		 ROW_VI_IF(c->ended, e->now.utc_ns));
}

const char *journal_who(const struct command *c)
{
	return c->row ? c->row->arena + c->row->values[3].text : "";
}

/* A copy of minimal size. */
static struct row *row_keep(const struct row *row)
{
	size_t bytes = offsetof(struct row, arena) + row->used;
	struct row *copy = malloc(bytes);

	if (copy) {
		memcpy(copy, row, bytes);
	}
	return copy;
}

void journal_put_emergency(struct engine *e, const struct row *row)
{
	struct engine_out *o = engine_out(e, ENGINE_EMERGENCY);

	memcpy(&o->store.row, row, offsetof(struct row, arena) + row->used);
}

/* Decides, once, which journal gets it. */
int journal_begin(struct engine *e, struct command *c, const struct row *row)
{
	uint64_t lost = e->lost_outputs;

	c->submitted_ns = e->now.mono_ns;
	c->row = row_keep(row);
	if (!c->row) {
		return -ENOMEM;
	}
	if (e->journal_lost) {
		return 0; /* its row is written with the first transition: journal_emergency() */
	}
	c->row_cookie = engine_cookie(e);
	*engine_store(e, STORE_BEFORE_USE, c->row_cookie) = *row;
	return e->lost_outputs == lost ? 0 : -ENOMEM;
}

void journal_transition(struct engine *e, struct command *c, unsigned flags, uint64_t cookie)
{
	struct engine_out *o = engine_out(e, c->emergency ? ENGINE_EMERGENCY : ENGINE_STORE);

	o->store.flags = flags;
	o->cookie = cookie;
	row_make(&o->store.row, ROW_TRANSITION, ROW_VI(c->id), ROW_VI(e->now.utc_ns),
		 ROW_VT(command_state_name(c->state)), ROW_VI_IF(c->frame != UINT64_MAX, c->frame),
		 ROW_VT(c->detail), ROW_VI(c->sequence),
		 ROW_VI_IF(c->boot != ENGINE_BOOT_UNKNOWN, c->boot), ROW_VI(c->attempts),
		 ROW_VI_IF(c->ended, e->now.utc_ns));
	c->frame = UINT64_MAX;
}

/* ------------------------------------------------------------------ the emergency journal */

uint64_t journal_due(const struct command *c)
{
	return never_late(c) && !c->journaled && c->row ? c->submitted_ns + JOURNAL_WAIT : 0;
}

/* ------------------------------------------------------------------ refusals */

void journal_refusal(struct engine *e, const struct engine_request *q, struct param *p,
		     const struct sc_error *error, uint64_t *ret_id)
{
	struct command *c = e->journal_lost ? NULL : engine_new_command(p, NULL);

	*ret_id = 0;
	if (!c) {
		return; /* without a journal there are no numbers */
	}
	*ret_id = c->id = journal_new_id(e);
	if (q->client_id && q->client_id[0] &&
	    asprintf(&c->client_id, "%.63s!%llu", q->client_id, (unsigned long long)c->id) < 0) {
		c->client_id = NULL;
	}
	c->action = q->action;
	c->new_value = q->action ? NAN : q->value;
	c->state = COMMAND_REFUSED;
	c->ended = c->journaled = c->rejected = true;
	c->end_cookie = engine_cookie(e);
	c->announce_by = e->now.mono_ns + END_WAIT;
	snprintf(c->detail, sizeof(c->detail), "%s", error->message);
	snprintf(c->hint, sizeof(c->hint), "%s", error->hint);
	TAILQ_INSERT_TAIL(&e->ending, c, next);
	journal_command_row(
		e, engine_store(e, ENGINE_STORE_URGENT | ENGINE_STORE_ANSWER, c->end_cookie), q, c);
}
