/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command engine: create, recover from the journal, requests, outputs. What
 * becomes of a command is in command.c, the words in words.c. See engine.h.
 */
#include "slowctl/engine/private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void engine_config_default(struct engine_config *ret_config)
{
	*ret_config = (struct engine_config){
		.timeout_ms = 300,
		.commands_max = 4096,
		.sequence_block = 65536,
		.poll = true,
		.journal = "the database",
	};
}

/* ------------------------------------------------------------------ life */

/* Which links have a floor, and where its parameters are in the table. */
static void find_floors(struct engine *e)
{
	for (unsigned i = 0; i < params_count(e->params); i++) {
		const struct param *p = params_at(e->params, i);
		struct link *l;

		if (!p->floor) {
			continue;
		}
		l = &e->links[p->link];
		if (!l->configured) {
			l->configured = true;
			l->tower = p->tower;
			l->floor = p->floor;
			l->first_param = i;
		}
		l->params = i - l->first_param + 1;
	}
}

struct engine *engine_create(struct params *params, const struct engine_config *config)
{
	struct engine *e = calloc(1, sizeof(*e));
	struct of_param *of_param = calloc(params_count(params) + 1, sizeof(*of_param));

	if (!e || !of_param) {
		free(e);
		free(of_param);
		return NULL;
	}
	e->of_param = of_param;
	e->params = params;
	e->config = *config;
	e->marks = &e->own_marks;
	STAILQ_INIT(&e->outputs);
	TAILQ_INIT(&e->recent);
	TAILQ_INIT(&e->ending);
	for (struct link *l = e->links; l < e->links + PARAM_LINKS; l++) {
		l->number = (uint8_t)(l - e->links);
		l->named_tower = l->named_floor = 0xff;
		l->next_sequence = 1;
		l->boot = ENGINE_BOOT_UNKNOWN;
		TAILQ_INIT(&l->open);
	}
	find_floors(e);
	return e;
}

static void list_free(struct command_list *list)
{
	struct command *c;

	while ((c = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, c, next);
		engine_free_command(c);
	}
}

void engine_destroy(struct engine *e)
{
	struct output *o;

	if (!e) {
		return;
	}
	for (unsigned i = 0; i < PARAM_LINKS; i++) {
		list_free(&e->links[i].open);
	}
	list_free(&e->recent);
	list_free(&e->ending);
	while ((o = STAILQ_FIRST(&e->outputs))) {
		STAILQ_REMOVE_HEAD(&e->outputs, next);
		free(o);
	}
	free(e->current);
	free(e->of_param);
	free(e);
}

/* ------------------------------------------------------------------ outputs */

bool engine_next(struct engine *e, const struct engine_out **ret_out)
{
	struct output *o = STAILQ_FIRST(&e->outputs), *behind;

	free(e->current);
	e->current = o;
	if (!o) {
		return false;
	}
	STAILQ_REMOVE_HEAD(&e->outputs, next);
	if (STAILQ_EMPTY(&e->outputs)) {
		words_behind(e);
	}
	behind = STAILQ_FIRST(&e->outputs);
	if (o->out.type == ENGINE_SEND) {
		o->out.send.more = behind && behind->out.type == ENGINE_SEND;
	}
	*ret_out = &o->out;
	return true;
}

void engine_shore(struct engine *e, struct param *p, double value, struct engine_now now)
{
	e->now = now;
	param_put(p, value, now.utc_ns, now.mono_ns);
	if (!p->bad) {
		engine_value(e, p);
	}
}

/* ------------------------------------------------------------------ recovery */

void engine_journal_lost(struct engine *e, int result)
{
	e->journal_lost = true;
	e->journal_error = result;
	for (unsigned i = 0; i < PARAM_LINKS; i++) {
		e->links[i].unreserved = true;
	}
}

/* This file may lack the reservations. */
void engine_journal_found(struct engine *e)
{
	e->journal_lost = false;
	e->journal_error = 0;
	for (struct link *l = e->links; l < e->links + PARAM_LINKS; l++) {
		l->unreserved = false;
		l->reserved_until = l->reserve_again = 0;
	}
}

static void open_add(struct engine *e, struct command *c)
{
	struct link *l = engine_link_of(e, c);

	TAILQ_INSERT_TAIL(&l->open, c, next);
	l->open_count++;
	e->open_count++;
	e->urgent_count += c->urgent;
	l->urgent_count += c->urgent;
	if (!e->of_param[c->param->number].writer) {
		e->of_param[c->param->number].writer = c;
	}
}

/* No floor can be asked for an open command whose parameter is no longer configured. */
static void orphan_end(struct engine *e, const struct engine_journal *j)
{
	row_make(engine_store(e, ENGINE_STORE_URGENT, 0), ROW_TRANSITION, ROW_VI(j->id),
		 ROW_VI(e->now.utc_ns), ROW_VT(command_state_name(COMMAND_UNKNOWN)), ROW_VNULL,
		 ROW_VT("its parameter is no longer configured: the outcome cannot be asked for"),
		 ROW_VI(j->sequence), ROW_VI_IF(j->boot != ENGINE_BOOT_UNKNOWN, j->boot),
		 ROW_VI(j->attempts), ROW_VI(e->now.utc_ns));
}

static void recover_ended(struct engine *e, struct command *c, const struct engine_journal *j)
{
	c->ended = c->journaled = true;
	if (command_state_parse(j->state, &c->state) < 0) {
		c->state = COMMAND_UNKNOWN;
	}
	snprintf(c->detail, sizeof(c->detail), "%s", j->detail);
	c->changed_ns = j->time_ns;
	engine_retire(e, c);
}

/* It was in effect once, as a daemon before this one knew, or one before that. */
static bool was_acked(const struct engine_journal *j)
{
	static const char *const says[] = {ENGINE_TAKEN_UP " ACKED", WAS_IN_EFFECT, ACKED_ONLY,
					   FORGOTTEN_HELD};
	bool acked = strcmp(j->state, command_state_name(COMMAND_ACKED)) == 0;

	for (unsigned i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
		acked = acked || strstr(j->detail, says[i]) != NULL;
	}
	return acked;
}

int engine_recover_command(struct engine *e, const struct engine_journal *j, struct engine_now now)
{
	struct engine_command_view view;
	struct param *p = NULL;
	struct command *c;
	struct link *l;

	e->now = now;
	if (j->emergency) {
		journal_used_id(e, j->id);
	} else {
		engine_recover_id(e, j->id);
	}
	if (j->undone) {
		return engine_recover_undone(e, j);
	}
	if (engine_command(e, j->id, &view)) {
		return 0;
	}
	if (params_find(e->params, j->parameter, &p, NULL) < 0 || !p->floor) {
		if (!j->ended) {
			orphan_end(e, j);
		}
		return -ENOENT;
	}
	l = &e->links[p->link];
	if (j->sequence >= l->next_sequence) {
		l->next_sequence = (uint64_t)j->sequence + 1;
	}
	c = engine_new_command(p, j->client_id);
	if (!c) {
		return -ENOMEM;
	}
	c->id = j->id;
	c->action = j->action;
	c->new_value = j->new_value;
	c->raw = isnan(j->new_value) ? 0 : param_to_raw(p->kind, j->new_value);
	c->sequence = j->sequence;
	c->boot = j->boot;
	c->attempts = j->attempts;
	c->time_ns = j->time_ns;
	if (j->ended) {
		recover_ended(e, c, j);
		return 0;
	}
	c->recovered = c->journaled = true;
	c->emergency = j->emergency;
	c->later = j->later;
	c->job = j->job;
	c->want = WANT_QUERY;
	c->urgent = !c->action && rules_safer(e, p, c->new_value);
	c->was_acked = was_acked(j);
	open_add(e, c);
	command_move(e, c, COMMAND_UNKNOWN, ENGINE_TAKEN_UP " %.16s; asking the FCM",
		     c->was_acked ? command_state_name(COMMAND_ACKED) : j->state);
	return 0;
}

/* ------------------------------------------------------------------ requests */

static bool has_client_id(const struct command *c, const void *client_id)
{
	return c->client_id && strcmp(c->client_id, client_id) == 0;
}

/* 1: a repeat of *ret_id; 0: new; negative: the id was given to something else. */
static int check_repeat(struct engine *e, const struct engine_request *q, const struct param *p,
			uint64_t *ret_id, struct sc_error *error)
{
	const struct command *c;

	if (!q->client_id || !q->client_id[0]) {
		return 0;
	}
	if (strlen(q->client_id) > 63) {
		return sc_fail(error, -EINVAL, "client-id", "Use at most 63 bytes.",
			       "the client id is too long");
	}
	c = engine_find(e, has_client_id, q->client_id);
	if (!c) {
		return 0;
	}
	if (c->param != p || c->action != q->action ||
	    (!q->action && c->raw != param_to_raw(p->kind, q->value))) {
		return sc_fail(error, -EINVAL, "client-id",
			       "Give every new command a client id of its own.",
			       "client id %s belongs to command %llu, which is another one",
			       q->client_id, (unsigned long long)c->id);
	}
	*ret_id = c->id;
	return 1;
}

static int check_journal(struct engine *e, const struct param *p, struct sc_error *error)
{
	struct sc_trouble t = journal_trouble(e->journal_error);

	return !e->journal_lost ? 0
				: sc_fail(error, -EIO, "journal", t.action,
					  "%s: nothing was sent: the command journal in %s cannot "
					  "be read: %s",
					  p->name, e->config.journal, t.what);
}

/* A row with a cut text would be a different one. */
static int check_texts(const struct engine_request *q, struct sc_error *error)
{
	const struct {
		const char *what, *text;
		size_t room;
	} texts[] = {{"reason", q->reason, ROW_REASON_MAX},
		     {"who", q->who, ROW_WHO_MAX},
		     {"origin", q->origin, ROW_ORIGIN_MAX}};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t bytes = texts[i].text ? strlen(texts[i].text) : 0;

		if (bytes >= texts[i].room) {
			return sc_fail(error, -E2BIG, "too-long", "Make it shorter.",
				       "%s: %zu bytes, at most %zu; nothing was sent",
				       texts[i].what, bytes, texts[i].room - 1);
		}
	}
	return 0;
}

int engine_refuse(struct engine *e, const struct engine_request *q, const char *text,
		  struct engine_now now, uint64_t *ret_id)
{
	struct engine_request nobodys =
		*q; /* what another has done under the client id is no answer */
	struct sc_error error = {0};
	struct param *p;
	int r = params_find(e->params, q->parameter, &p, NULL);

	e->now = now;
	nobodys.client_id = NULL;
	r = r == 0 ? check_texts(q, &error) : r;
	snprintf(error.message, sizeof(error.message), "%s", text);
	if (r == 0) {
		journal_refusal(e, &nobodys, p, &error, ret_id);
	}
	return r;
}

/* `stops`: as in struct command. NULL: out of memory. */
static struct command *command_of(struct engine *e, const struct engine_request *q, struct param *p,
				  uint64_t stops)
{
	struct link *l = &e->links[p->link];
	struct command *c = engine_new_command(p, q->client_id);

	if (!c) {
		return NULL;
	}
	c->action = q->action;
	c->force = q->force;
	c->after = q->after;
	c->job = q->job;
	if (!q->action) {
		c->raw = param_to_raw(p->kind, q->value);
		c->new_value = param_from_raw(p->kind, c->raw);
		c->urgent = stops || rules_safer(e, p, c->new_value);
		c->stops = stops;
	}
	c->id = journal_new_id(e);
	c->sequence = journal_new_sequence(e, l);
	c->boot = l->boot;
	c->time_ns = c->changed_ns = e->now.utc_ns;
	snprintf(c->detail, sizeof(c->detail), "waiting for the journal");
	return c;
}

static int take(struct engine *e, const struct engine_request *q, struct param *p, uint64_t stops,
		uint64_t *ret_id, struct sc_error *error)
{
	struct command *c = command_of(e, q, p, stops);
	struct row row;

	if (c) {
		journal_command_row(e, &row, q, c);
	}
	if (!c || journal_begin(e, c, &row) < 0) {
		engine_free_command(c);
		return param_no_memory(error);
	}
	open_add(e, c);
	*ret_id = c->id;
	if (e->journal_lost) {
		command_emergency(e, c, journal_trouble(e->journal_error).what);
		link_pump(e, engine_link_of(e, c));
	}
	return 0;
}

/* The checks of a request before the rules; 1: a repeat of *ret_id. */
static int check_request(struct engine *e, const struct engine_request *q, struct param **ret_param,
			 uint64_t *ret_id, struct sc_error *error)
{
	int r = params_find(e->params, q->parameter, ret_param, error);

	*ret_id = 0;
	if (r == 0 && (q->action || !engine_safer(e, *ret_param, q->value, e->now))) {
		r = check_journal(e, *ret_param, error); /* what makes safer does not need it */
	}
	r = r ? r : check_texts(q, error);
	return r ? r : check_repeat(e, q, *ret_param, ret_id, error);
}

int engine_check(struct engine *e, const struct engine_request *q, struct engine_now now,
		 uint64_t *ret_id, struct sc_error *error)
{
	struct param *p = NULL;
	int r;

	e->now = now;
	r = check_request(e, q, &p, ret_id, error);
	return r ? r : rules_check(e, q, p, error);
}

bool engine_safer(struct engine *e, const struct param *p, double value, struct engine_now now)
{
	e->now = now;
	return p->floor && p->kind->access == PARAM_RW && rules_safer(e, p, value);
}

void engine_run(struct engine *e, uint32_t number)
{
	e->run = number;
}

int engine_submit(struct engine *e, const struct engine_request *q, struct engine_now now,
		  uint64_t *ret_id, struct sc_error *error)
{
	struct sc_error own = {0};
	struct param *p = NULL;
	int r;

	e->now = now;
	error = error ? error : &own;
	r = check_request(e, q, &p, ret_id, error);
	if (r != 0) {
		return r;
	}
	r = rules_check(e, q, p, error);
	if (r < 0) {
		journal_refusal(e, q, p, error, ret_id);
	}
	return r < 0 ? r : take(e, q, p, 0, ret_id, error);
}

static struct command *find_open(const struct engine *e, uint64_t id)
{
	struct command *c = NULL;

	while ((c = engine_next_open(e, c)) && c->id != id) {
		/* the next one */
	}
	return c;
}

/* A set that was executed and whose value is on its way there. */
static bool on_its_way(const struct command *c)
{
	return c->acked_ns && !c->action && c->param->kind->settle_by[0] && !isnan(c->readback);
}

/* Where a ramp is now: what was read last, and how far it has gone since. */
static double ramp_now(struct engine *e, const struct command *c)
{
	const struct param *p = c->param;
	const struct param *ramp = params_sibling(e->params, p, p->kind->settle_by);
	double since_s = (double)(e->now.mono_ns - p->mono_ns) / 1e9;
	double further = ramp && ramp->has_value ? ramp->value * since_s : 0;

	if (c->new_value >= p->value) {
		return fmin(p->value + further, c->new_value);
	}
	return fmax(p->value - further, c->new_value);
}

/* The value where it is becomes the set value, by a command of its own. */
static int stop_ramp(struct engine *e, struct command *c, const struct engine_request *by,
		     uint64_t *ret_stop, struct sc_error *error)
{
	struct engine_request q = *by;
	char reason[80];

	snprintf(reason, sizeof(reason), "stops command %llu", (unsigned long long)c->id);
	q.parameter = c->param->name;
	q.action = false;
	q.value = ramp_now(e, c);
	q.reason = reason;
	q.client_id = NULL;
	q.after = q.job = 0;
	return take(e, &q, c->param, c->id, ret_stop, error);
}

int engine_check_cancel(struct engine *e, uint64_t id, struct engine_now now, bool *ret_ramp,
			struct sc_error *error)
{
	struct command *c = find_open(e, id);
	struct engine_command_view view;
	int r;

	e->now = now;
	*ret_ramp = false;
	if (!c && engine_command(e, id, &view)) {
		return sc_fail(error, -EALREADY, "ended", "", "command %llu has ended: %s",
			       (unsigned long long)id, command_state_name(view.state));
	}
	if (!c) {
		return sc_fail(error, -ENOENT, "no-such-command", "fcmctl command list shows them.",
			       "there is no open command %llu", (unsigned long long)id);
	}
	if (c->job) {
		return sc_fail(error, -EBUSY, "safe", "Wait for its end, then set what you want.",
			       "command %llu is part of safe %llu, which cannot be cancelled",
			       (unsigned long long)id, (unsigned long long)c->job);
	}
	if (on_its_way(c) && !c->stops) {
		*ret_ramp = true;
		r = check_journal(e, c->param, error);
		return r ? r : rules_check_stop(e, c, ramp_now(e, c), error);
	}
	if (c->attempts > 0 || c->flying || c->recovered) {
		return sc_fail(error, -EBUSY, "sent", "To undo it, set the old value.",
			       "command %llu has been sent and cannot be taken back",
			       (unsigned long long)id);
	}
	return 0;
}

int engine_cancel(struct engine *e, uint64_t id, const struct engine_request *by,
		  struct engine_now now, uint64_t *ret_stop, struct sc_error *error)
{
	struct command *c = find_open(e, id);
	bool ramp;
	int r = engine_check_cancel(e, id, now, &ramp, error);

	e->now = now;
	*ret_stop = 0;
	if (r < 0) {
		return r;
	}
	if (ramp) {
		return stop_ramp(e, c, by, ret_stop, error);
	}
	command_end(e, c, COMMAND_CANCELLED, "", "cancelled by %.60s before it was sent",
		    by->who ? by->who : "unknown");
	return 0;
}
