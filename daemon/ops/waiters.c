// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The clients that wait for a command: its progress, and its end or its row in the journal as the answer.
 */
#include "daemon/ops/private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/station/questions.h"

/* A client that waits for a command's end. */
struct waiter {
	struct waiter *next;
	uint64_t id;
	struct control_request *rq;
	uint64_t last_ns; /* monotonic: its last word */
	bool to_end;
	const char *
		refused; /* waits for the number of a refusal: "usage", "refused"; NULL: for a command */
	struct sc_error error[]; /* of that refusal */
};

#define WORD_NS	   5000000000ull /* progress is repeated after this time, as a sign of life */
#define WORDS_TICK 16u		 /* repeated in a tick at most, of thousands that wait */

/* --- who waits --- */

/* The number is given out when the journal has it. */
static void waiter_refused(struct waiter *w, bool numbered)
{
	control_fail_error(w->rq, w->refused, w->error, numbered ? command_number(w->id) : NULL);
	free(w);
}

void waiters_wait(struct ops *ops, uint64_t id, struct control_request *rq, bool to_end)
{
	struct waiter *w = calloc(1, sizeof(*w));

	if (!w) {
		control_fail(rq, "internal", "fcmctl command list shows how it ended",
			     command_number(id), "out of memory");
		return;
	}
	*w = (struct waiter){.next = ops->waiters,
			     .id = id,
			     .rq = rq,
			     .last_ns = now_mono_ns(),
			     .to_end = to_end};
	ops->waiters = w;
}

void waiters_refused(struct ops *ops, uint64_t id, struct control_request *rq, const char *code,
		     const struct sc_error *error)
{
	struct waiter *w = id ? calloc(1, sizeof(*w) + sizeof(*error)) : NULL;

	if (!w) {
		control_fail_error(rq, code, error, NULL);
		return;
	}
	*w = (struct waiter){.next = ops->waiters, .id = id, .rq = rq, .refused = code};
	*w->error = *error;
	ops->waiters = w;
}

void waiters_stop(struct ops *ops)
{
	struct waiter *w;

	while ((w = ops->waiters)) {
		ops->waiters = w->next;
		if (w->refused) {
			waiter_refused(w, false);
			continue;
		}
		control_fail(w->rq, "unknown", "fcmctl command list shows how it ended",
			     command_number(w->id),
			     "the daemon was stopped while command %llu was under way",
			     (unsigned long long)w->id);
		free(w);
	}
}

/* --- a command, from memory: for one that a previous daemon began only its present state --- */

static json_t *row_value_json(const struct row *row, unsigned n)
{
	const struct row_value *v = &row->values[n];

	switch (v->type) {
	case ROW_INT:
		return json_integer(v->i);
	case ROW_REAL:
		return json_real(v->d);
	case ROW_TEXT:
		return json_string(row->arena + v->text);
	default:
		return json_null();
	}
}

static json_t *words_json(const struct param_kind *k)
{
	json_t *words;

	if (!param_enum_name(k, 0)) {
		return json_null();
	}
	words = json_array();
	for (unsigned value = 0; param_enum_name(k, value); value++) {
		json_array_append_new(words, json_string(param_enum_name(k, value)));
	}
	return words;
}

/* Fields of its first row, by column (schemas/rows.h). */
static const struct {
	const char *key;
	unsigned place;
} row_fields[] = {{"client_id", 1}, {"who", 3},	 {"uid", 4},   {"pid", 5},    {"origin", 6},
		  {"reason", 7},    {"link", 8}, {"tower", 9}, {"floor", 10}, {"parameter", 11},
		  {"op", 12},	    {"old", 13}, {"new", 14},  {"unit", 15}};

static json_t *command_json(struct ops *ops, const struct engine_command_view *v)
{
	json_t *j = json_pack("{s:I,s:o,s:s,s:s,s:I,s:o}", "command", (json_int_t)v->id, "time",
			      json_time(v->time_ns), "state", command_state_name(v->state),
			      "detail", v->detail, "attempts", (json_int_t)v->attempts, "ended",
			      v->ended ? json_time(v->changed_ns) : json_null());
	struct param *p;

	json_object_set_new(j, "sequence", v->sequence ? json_integer(v->sequence) : json_null());
	json_object_set_new(j, "boot",
			    v->boot == ENGINE_BOOT_UNKNOWN ? json_null()
							   : json_integer((json_int_t)v->boot));
	for (unsigned n = 0; v->row && n < sizeof(row_fields) / sizeof(row_fields[0]); n++) {
		json_object_set_new(j, row_fields[n].key,
				    row_value_json(v->row, row_fields[n].place));
	}
	if (params_find(ops->params, v->parameter, &p, NULL) == 0) {
		json_object_set_new(j, "words", words_json(p->kind));
	}
	return j;
}

/* --- answers --- */

/* The end of a command; `command` is its state as JSON (ownership is taken). */
static void answer_end(struct control_request *rq, enum command_state state, json_t *command,
		       const char *text, const char *hint)
{
	static const char *const codes[COMMAND_UNKNOWN + 1] = {
		[COMMAND_REFUSED] = "refused",
		[COMMAND_FAILED] = "failed",
		[COMMAND_CANCELLED] = "refused",
		[COMMAND_UNKNOWN] = "unknown",
	};
	json_t *id = json_object_get(command, "command"), *extra;

	if (!codes[state]) {
		if (text && text[0]) { /* that the journal has not taken it, for one */
			json_object_set_new(command, "detail", json_string(text));
		}
		control_answer(rq, command);
		return;
	}
	extra = json_pack("{s:O,s:O}", "command", id, "is", command);
	json_decref(command);
	control_fail(rq, codes[state], hint, extra, "%s", text);
}

static void tell_end(struct question *n, int r, json_t *answer, const struct sc_error *error)
{
	struct ops *ops = n->asker;
	const struct engine_out *o = n->context;
	struct engine_command_view v;

	if (r < 0) {
		answer = engine_command(ops->engine, n->command, &v) ? command_json(ops, &v)
								     : command_number(n->command);
	}
	answer_end(n->rq, o->progress.state, answer, o->progress.text, o->progress.hint);
}

static int ask_now(struct query *q, const struct question *n, json_t **ret_json)
{
	return query_command_now(q, n->command, ret_json);
}

/* From memory, so that an end needs no disk. The journal knows more of a command that a previous
 * daemon began, if it answers. */
static void tell_known(struct ops *ops, struct control_request *rq, uint64_t id,
		       enum command_state state, const struct engine_out *o)
{
	struct engine_command_view v;
	struct engine_out *end;

	if (engine_command(ops->engine, id, &v) && v.row) {
		answer_end(rq, state, command_json(ops, &v), o->progress.text, o->progress.hint);
		return;
	}
	end = malloc(sizeof(*end));
	if (!end) {
		answer_end(rq, state, command_number(id), o->progress.text, o->progress.hint);
		return;
	}
	*end = *o;
	end->progress.state = state;
	questions_ask(ops->station, &(struct question){.asker = ops,
						       .rq = rq,
						       .what = "command",
						       .command = id,
						       .context = end,
						       .ask = ask_now,
						       .tell = tell_end});
}

/* A request with a client id that the journal has. */
struct repeat {
	char parameter[PARAM_NAME_MAX], client_id[64], hint[240];
	bool action;
	double new_value;
};

/* The answer is the command that the journal has under this client id, if it is the same
 * request. */
static void tell_repeat(struct question *n, int r, json_t *j, const struct sc_error *error)
{
	const struct repeat *p = n->context;
	enum command_state state;
	json_t *value;
	bool same;

	if (r < 0) {
		control_fail(
			n->rq, "refused", "ask again when the database answers: fcmctl status",
			control_detail(DETAIL_JOURNAL),
			"nothing was sent: this client id was used before, and the journal cannot "
			"be read now");
		return;
	}
	value = json_object_get(j, "new");
	same = strcmp(json_string_value(json_object_get(j, "parameter")), p->parameter) == 0 &&
	       strcmp(json_string_value(json_object_get(j, "op")), p->action ? "action" : "set") ==
		       0 &&
	       (p->action || json_real_value(value) == p->new_value);
	if (same &&
	    command_state_parse(json_string_value(json_object_get(j, "state")), &state) == 0) {
		answer_end(n->rq, state, j, json_string_value(json_object_get(j, "detail")), "");
		return;
	}
	control_fail(n->rq, "refused", p->hint, control_detail(DETAIL_CLIENT_ID),
		     "client id %s belongs to command %lld, which is another one; nothing was sent",
		     p->client_id, json_integer_value(json_object_get(j, "command")));
	json_decref(j);
}

static int ask_client(struct query *q, const struct question *n, json_t **ret_json)
{
	return query_client(q, ((const struct repeat *)n->context)->client_id, ret_json);
}

static void answer_repeat(struct ops *ops, struct control_request *rq, const struct engine_out *o)
{
	struct question n = {
		.asker = ops, .rq = rq, .what = "command", .ask = ask_client, .tell = tell_repeat};
	struct repeat *p = calloc(1, sizeof(*p));
	struct engine_command_view v;

	n.context = p;
	if (!p || !engine_command(ops->engine, o->progress.id, &v)) {
		tell_repeat(&n, -ENOENT, NULL, NULL);
		free(p);
		return;
	}
	snprintf(p->parameter, sizeof(p->parameter), "%s", v.parameter);
	p->action = v.action;
	p->new_value = v.new_value;
	snprintf(p->client_id, sizeof(p->client_id), "%s", o->progress.repeats);
	snprintf(p->hint, sizeof(p->hint), "%s", o->progress.hint);
	questions_ask(ops->station, &n);
}

static void waiter_end(struct ops *ops, struct waiter *w, const struct engine_out *o,
		       enum command_state state)
{
	if (w->refused && !o->progress.repeats[0]) {
		waiter_refused(w, o->progress.numbered);
		return;
	}
	if (o->progress.repeats[0]) {
		answer_repeat(ops, w->rq, o);
	} else if (!o->progress.numbered) { /* no such command: its number may be reused */
		control_fail(w->rq, "refused", o->progress.hint, NULL, "%s", o->progress.text);
	} else {
		tell_known(ops, w->rq, w->id, state, o);
	}
	free(w);
}

static void waiter_progress(struct waiter *w, enum command_state state, const char *text,
			    double readback)
{
	w->last_ns = now_mono_ns();
	control_progress(w->rq, json_pack("{s:I,s:s,s:s,s:o}", "command", (json_int_t)w->id,
					  "state", command_state_name(state), "text", text,
					  "readback", json_number_or_null(readback)));
}

/* What waits behind another makes no progress for as long as that takes. Its end is reported when it is journaled. */
void waiters_tick(struct ops *ops)
{
	uint64_t now = now_mono_ns();
	struct engine_command_view v;
	unsigned words = WORDS_TICK;

	for (struct waiter *w = ops->waiters; w && words > 0; w = w->next) {
		if (w->to_end && now >= w->last_ns + WORD_NS &&
		    engine_command(ops->engine, w->id, &v) && !v.ended) {
			waiter_progress(w, v.state, v.detail, v.readback);
			words--;
		}
	}
}

void waiters_progress(struct ops *ops, const struct engine_out *o)
{
	struct waiter **at = &ops->waiters;

	while (*at) {
		struct waiter *w = *at;

		if (w->id != o->progress.id) {
			at = &w->next;
			continue;
		}
		if (o->progress.final || o->progress.alarm || !w->to_end) {
			/* An alarm before the end: nobody can say now how it ends. The engine goes on. */
			enum command_state end = o->progress.final   ? o->progress.state
						 : o->progress.alarm ? COMMAND_UNKNOWN
								     : COMMAND_DONE;
			*at = w->next;
			waiter_end(ops, w, o, end);
			continue;
		}
		waiter_progress(w, o->progress.state, o->progress.text, o->progress.readback);
		at = &w->next;
	}
}

void waiters_repeat(struct ops *ops, uint64_t id)
{
	struct engine_out o;

	if (engine_progress(ops->engine, id, &o)) {
		waiters_progress(ops, &o);
	}
}
