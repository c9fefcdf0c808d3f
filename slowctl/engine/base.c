/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by all files of the engine: outputs, a link's state, values into the history, ended
 * commands.
 */
#include "slowctl/engine/private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MUTE_NS (5 * SECOND)

static const char *const state_names[] = {
	[COMMAND_QUEUED] = "QUEUED",	   [COMMAND_SENT] = "SENT",
	[COMMAND_ACKED] = "ACKED",	   [COMMAND_DONE] = "DONE",
	[COMMAND_REFUSED] = "REFUSED",	   [COMMAND_FAILED] = "FAILED",
	[COMMAND_CANCELLED] = "CANCELLED", [COMMAND_UNKNOWN] = "UNKNOWN",
};

const char *command_state_name(enum command_state state)
{
	return state_names[state];
}

int command_state_parse(const char *name, enum command_state *ret_state)
{
	for (unsigned i = 0; i < sizeof(state_names) / sizeof(state_names[0]); i++) {
		if (strcmp(state_names[i], name) == 0) {
			*ret_state = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* ------------------------------------------------------------------ outputs */

/* Never NULL: without memory the output is lost and counted. A lost word times out, a lost row is
 * never answered, so nothing happens that the journal does not know. */
struct engine_out *engine_out(struct engine *e, enum engine_out_type type)
{
	struct output *o = malloc(sizeof(*o));

	if (!o) {
		e->lost_outputs++;
		return &e->scrap;
	}
	o->out.type = type;
	o->out.cookie = 0;
	STAILQ_INSERT_TAIL(&e->outputs, o, next);
	return &o->out;
}

struct row *engine_store(struct engine *e, unsigned flags, uint64_t cookie)
{
	struct engine_out *o = engine_out(e, ENGINE_STORE);

	o->store.flags = flags;
	o->cookie = cookie;
	return &o->store.row;
}

uint64_t engine_cookie(struct engine *e)
{
	return COOKIE_MARK | ++e->last_cookie;
}

uint64_t link_send(struct engine *e, struct link *l, const struct word *w)
{
	struct engine_out *o = engine_out(e, ENGINE_SEND);

	o->cookie = engine_cookie(e);
	o->send.link = l->number;
	o->send.awaited = w->op != WORD_READ;
	word_pack(w, o->send.bytes);
	l->words++;
	return o->cookie;
}

/* ------------------------------------------------------------------ links and commands */

bool link_usable(const struct link *l)
{
	return l->configured && l->locked && l->named_tower == l->tower &&
	       l->named_floor == l->floor;
}

double link_mute_s(const struct link *l, struct engine_now now)
{
	uint64_t since = l->last_reply_ns > l->usable_since ? l->last_reply_ns : l->usable_since;
	bool mute = link_usable(l) && l->silent >= MUTE_TIMEOUTS && now.mono_ns - since > MUTE_NS;

	return mute ? (double)(now.mono_ns - since) / 1e9 : (double)NAN;
}

struct link *engine_link_of(struct engine *e, const struct command *c)
{
	return &e->links[c->param->link];
}

struct command *engine_new_command(struct param *p, const char *client_id)
{
	struct command *c = calloc(1, sizeof(*c));
	bool given = client_id && client_id[0];
	char *copy = given ? strdup(client_id) : NULL;

	if (!c || (given && !copy)) {
		free(c);
		free(copy);
		return NULL;
	}
	*c = (struct command){
		.param = p, .client_id = copy, .frame = UINT64_MAX, .boot = ENGINE_BOOT_UNKNOWN};
	c->new_value = c->readback = NAN;
	return c;
}

void engine_free_command(struct command *c)
{
	if (c) {
		free(c->client_id);
		free(c->row);
		free(c);
	}
}

struct command *engine_next_open(const struct engine *e, const struct command *c)
{
	struct command *found = c ? TAILQ_NEXT(c, next) : NULL;

	for (unsigned i = c ? (unsigned)c->param->link + 1 : 0; i < PARAM_LINKS && !found; i++) {
		found = TAILQ_FIRST(&e->links[i].open);
	}
	return found;
}

const struct command *engine_find(const struct engine *e,
				  bool (*is)(const struct command *c, const void *what),
				  const void *what)
{
	const struct command_list *const ended[] = {&e->ending, &e->recent};
	const struct command *c;

	for (unsigned i = 0; i < 2; i++) {
		TAILQ_FOREACH (c, ended[i], next) {
			if (is(c, what)) {
				return c;
			}
		}
	}
	for (c = engine_next_open(e, NULL); c && !is(c, what); c = engine_next_open(e, c)) {
		/* the next one */
	}
	return c;
}

/* Keep an ended command for its client id and for views; forget the oldest. */
void engine_retire(struct engine *e, struct command *c)
{
	TAILQ_INSERT_TAIL(&e->recent, c, next);
	if (++e->recent_count > RECENT) {
		struct command *oldest = TAILQ_FIRST(&e->recent);

		TAILQ_REMOVE(&e->recent, oldest, next);
		e->recent_count--;
		engine_free_command(oldest);
	}
}

/* ------------------------------------------------------------------ values */

/* Keep the new value in the history when that is due. */
void engine_value(struct engine *e, struct param *p)
{
	if (param_sample(p, e->now.mono_ns)) {
		row_make(engine_store(e, 0, 0), ROW_SAMPLE, ROW_VT(p->name), ROW_VI(p->time_ns),
			 ROW_VR(p->value), ROW_VR(p->sampled_setpoint));
	}
}
