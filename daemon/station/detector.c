// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The command engine's hands: its rows to the store, its words to the board, its progress to the clients
 * that wait. Nothing is decided here.
 *
 *   client --submit--> engine --row--> store --stored--> engine --word--> board --left--> engine
 *                        ^                                                  floor --reply--'
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/station/station.h"

struct waiter {
	struct waiter *next;
	uint64_t id;
	struct control_request *rq;
	uint64_t told_ns; /* monotonic: its last word */
	bool to_end;
	struct refused *refused; /* waits for the number of this refusal; NULL: for a command */
};

struct refused {
	const char *code; /* "usage", "refused" */
	struct sc_error error;
};

#define WORD_NS	   5000000000ull /* a client takes a long silence for ours */
#define WORDS_TICK 16u		 /* of thousands that wait not all at once */

static struct engine_now now_both(void)
{
	return (struct engine_now){now_mono_ns(), now_utc_ns()};
}

/* What the site has otherwise; said, as who wonders about a limit has to find it. */
static int override(struct station *s, struct sc_error *error)
{
	const char *path = s->config.slowctl.site_dictionary;
	unsigned sections = 0;
	int r = params_override(s->params, path, &sections, error);

	if (r == 0) {
		log_event(LOG_NOTICE, "parameters", LOG_NO_LINK, LOG_ID_CONFIG,
			  "%s: %u sections go before the dictionary", path, sections);
	}
	return r;
}

int detector_load(struct station *s, struct sc_error *error)
{
	struct param_floor floors[NANET3_LINKS];
	unsigned n = 0;
	int r;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		const struct config_link *c = &s->config.link[link];

		if (c->enabled) {
			floors[n++] = (struct param_floor){(uint8_t)link, c->tower, c->floor};
		}
	}
	r = params_load(s->config.slowctl.dictionary, floors, n, &s->params, error);
	if (r == 0 && s->config.slowctl.site_dictionary[0]) {
		r = override(s, error);
	}
	return r;
}

/* The database is of one instance only; its directory need not be. */
static void copy_path(const struct station *s, char *path, size_t size)
{
	snprintf(path, size, "%s.emergency", s->config.store.database);
}

int detector_disk(struct station *s, struct sc_error *error)
{
	char copy[CONFIG_STRING + 32];
	int r;

	copy_path(s, copy, sizeof(copy));
	r = disk_start(s->config.store.database, copy, &s->disk);
	return r ? sc_fail(error, r, "memory", "", "%s", strerror(-r)) : 0;
}

/* Read first: what a previous daemon has sent without the database, and the numbers it has used. */
static int emergency_start(struct station *s, struct sc_error *error)
{
	char copy[CONFIG_STRING + 32];
	int r;

	copy_path(s, copy, sizeof(copy));
	r = emergency_open(s->config.store.emergency, disk_has_answered(s->disk, 0) ? copy : NULL,
			   &s->emergency, error);
	if (r < 0) {
		return sc_fail(error, r, "memory", "", "out of memory");
	}
	if (r > 0) {
		log_event(LOG_WARNING, "store", LOG_NO_LINK, LOG_ID_STORE, "%s. %s", error->message,
			  error->hint);
	}
	s->emergency_copied = UINT64_MAX; /* the disk is asked by reading the copy: there is one */
	engine_marks(s->engine, emergency_marks(s->emergency));
	r = emergency_recover(s->emergency, s->engine, now_both());
	return r ? sc_fail(error, r, "memory", "", "%s", strerror(-r)) : 0;
}

int detector_start(struct station *s, struct sc_error *error)
{
	struct engine_config config;

	engine_config_default(&config);
	config.poll = s->config.slowctl.poll;
	config.timeout_ms = s->config.slowctl.reply_timeout_ms;
	config.journal = s->config.store.database;
	s->engine = engine_create(s->params, &config);
	if (!s->engine) {
		return sc_fail(error, -ENOMEM, "memory", "", "out of memory");
	}
	return emergency_start(s, error);
}

/* The number is given out when the journal has it. */
static void waiter_refused(struct waiter *w, bool numbered)
{
	const struct sc_error *error = &w->refused->error;

	control_fail_error(w->rq, w->refused->code, error,
			   numbered ? json_pack("{s:I}", "command", (json_int_t)w->id) : NULL);
	free(w->refused);
	free(w);
}

void detector_stop(struct station *s)
{
	struct waiter *w;

	if (s->ops.stop) {
		s->ops.stop(s); /* while clients can still be answered */
	}
	while ((w = s->waiters)) {
		s->waiters = w->next;
		if (w->refused) {
			waiter_refused(w, false);
			continue;
		}
		control_fail(w->rq, "unknown", "fcmctl command list tells how it ended",
			     json_pack("{s:I}", "command", (json_int_t)w->id),
			     "the daemon was stopped while command %llu was under way",
			     (unsigned long long)w->id);
		free(w);
	}
	engine_destroy(s->engine);
	s->engine = NULL;
	if (disk_stop(s->disk)) { /* else it ends with the process */
		emergency_close(s->emergency);
	}
	params_destroy(s->params);
	s->params = NULL;
}

void detector_wait(struct station *s, uint64_t id, struct control_request *rq, bool to_end)
{
	struct waiter *w = calloc(1, sizeof(*w));

	if (!w) {
		control_fail(rq, "internal", "fcmctl command list tells how it ended",
			     json_pack("{s:I}", "command", (json_int_t)id), "out of memory");
		return;
	}
	*w = (struct waiter){
		.next = s->waiters, .id = id, .rq = rq, .told_ns = now_mono_ns(), .to_end = to_end};
	s->waiters = w;
}

void detector_refused(struct station *s, uint64_t id, struct control_request *rq, const char *code,
		      const struct sc_error *error)
{
	struct waiter *w = id ? calloc(1, sizeof(*w)) : NULL;
	struct refused *f = w ? calloc(1, sizeof(*f)) : NULL;

	if (!f) {
		control_fail_error(rq, code, error, NULL);
		free(w);
		return;
	}
	*f = (struct refused){.code = code, .error = *error};
	*w = (struct waiter){.next = s->waiters, .id = id, .rq = rq, .refused = f};
	s->waiters = w;
}

static bool state_bad(enum command_state state)
{
	return state == COMMAND_REFUSED || state == COMMAND_FAILED || state == COMMAND_CANCELLED ||
	       state == COMMAND_UNKNOWN;
}

/* The end of a command; `command` is its state as JSON (ownership is taken). */
static void answer_end(struct control_request *rq, enum command_state state, json_t *command,
		       const char *text, const char *hint)
{
	json_t *id = json_object_get(command, "command"), *extra;

	if (!state_bad(state)) {
		control_answer(rq, command);
		return;
	}
	extra = json_pack("{s:O,s:O}", "command", id, "is", command);
	json_decref(command);
	control_fail(rq,
		     state == COMMAND_UNKNOWN  ? "unknown"
		     : state == COMMAND_FAILED ? "failed"
					       : "refused",
		     hint, extra, "%s", text);
}

/* How a command ended, for a question of which the answer takes longer. */
struct end {
	enum command_state state;
	char text[320], hint[240];
};

static void tell_end(struct question *n, int r, json_t *answer, const struct sc_error *error)
{
	struct station *s = n->station;
	const struct end *e = n->context;
	struct engine_command_view v;

	(void)error;
	if (r < 0) {
		answer = engine_command(s->engine, n->command, &v)
				 ? command_json(s, &v)
				 : json_pack("{s:I}", "command", (json_int_t)n->command);
	}
	answer_end(n->rq, e->state, answer, e->text, e->hint);
}

static int ask_now(struct query *q, const struct question *n, json_t **ret_json)
{
	return query_command_now(q, n->command, ret_json);
}

/* From memory, so that an end needs no disk. The journal knows more of a command that a previous
 * daemon began, if it answers. */
static void tell_known(struct station *s, struct control_request *rq, uint64_t id,
		       enum command_state state, const struct engine_out *o)
{
	struct engine_command_view v;
	struct end *e;

	if (engine_command(s->engine, id, &v) && v.row) {
		answer_end(rq, state, command_json(s, &v), o->progress.text, o->progress.hint);
		return;
	}
	e = malloc(sizeof(*e));
	if (!e) {
		answer_end(rq, state, json_pack("{s:I}", "command", (json_int_t)id),
			   o->progress.text, o->progress.hint);
		return;
	}
	e->state = state;
	snprintf(e->text, sizeof(e->text), "%s", o->progress.text);
	snprintf(e->hint, sizeof(e->hint), "%s", o->progress.hint);
	questions_ask(s, &(struct question){.rq = rq,
					    .what = "command",
					    .command = id,
					    .context = e,
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

	(void)error;
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
		char text[320];

		snprintf(text, sizeof(text), "%s", json_string_value(json_object_get(j, "detail")));
		answer_end(n->rq, state, j, text, "");
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

static void answer_repeat(struct station *s, struct control_request *rq, const struct engine_out *o)
{
	struct question n = {.rq = rq, .what = "command", .ask = ask_client, .tell = tell_repeat};
	struct repeat *p = calloc(1, sizeof(*p));
	struct engine_command_view v;

	n.context = p;
	if (!p || !engine_command(s->engine, o->progress.id, &v)) {
		tell_repeat(&n, -ENOENT, NULL, NULL);
		free(p);
		return;
	}
	snprintf(p->parameter, sizeof(p->parameter), "%s", v.parameter);
	p->action = v.action;
	p->new_value = v.new_value;
	snprintf(p->client_id, sizeof(p->client_id), "%s", o->progress.repeats);
	snprintf(p->hint, sizeof(p->hint), "%s", o->progress.hint);
	questions_ask(s, &n);
}

static void waiter_end(struct station *s, struct waiter *w, const struct engine_out *o,
		       enum command_state state)
{
	if (w->refused) {
		waiter_refused(w, o->progress.numbered);
		return;
	}
	if (o->progress.repeats[0]) {
		answer_repeat(s, w->rq, o);
	} else if (!o->progress.numbered) { /* no such command: its number may be reused */
		control_fail(w->rq, "refused", o->progress.hint, NULL, "%s", o->progress.text);
	} else {
		tell_known(s, w->rq, w->id, state, o);
	}
	free(w);
}

static void waiter_progress(struct waiter *w, enum command_state state, const char *text,
			    double readback)
{
	w->told_ns = now_mono_ns();
	control_progress(w->rq, json_pack("{s:I,s:s,s:s,s:o}", "command", (json_int_t)w->id,
					  "state", command_state_name(state), "text", text,
					  "readback", json_number_or_null(readback)));
}

/* What waits behind another makes no progress for as long as that takes. Its end is told when it is journaled. */
static void tell_still(struct station *s, uint64_t now)
{
	struct engine_command_view v;
	unsigned words = WORDS_TICK;

	for (struct waiter *w = s->waiters; w && words > 0; w = w->next) {
		if (w->to_end && now >= w->told_ns + WORD_NS &&
		    engine_command(s->engine, w->id, &v) && !v.ended) {
			waiter_progress(w, v.state, v.detail, v.readback);
			words--;
		}
	}
}

static void tell_waiters(struct station *s, const struct engine_out *o)
{
	struct waiter **at = &s->waiters;

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
			waiter_end(s, w, o, end);
			continue;
		}
		waiter_progress(w, o->progress.state, o->progress.text, o->progress.readback);
		at = &w->next;
	}
}

static void on_progress(struct station *s, const struct engine_out *o)
{
	if (s->ops.progress) {
		s->ops.progress(s, o);
	}
	if (o->progress.alarm || o->progress.state == COMMAND_FAILED) {
		log_event(LOG_WARNING, "command", LOG_NO_LINK, LOG_ID_COMMAND,
			  "command %llu: %s: %s", (unsigned long long)o->progress.id,
			  command_state_name(o->progress.state), o->progress.text);
	}
	tell_waiters(s, o);
}

void detector_repeat(struct station *s, const struct engine_command_view *view)
{
	struct engine_out o = {.type = ENGINE_PROGRESS};

	if (!view->journaled || (view->ended && !view->told)) {
		return; /* the engine will say it */
	}
	o.progress.id = view->id;
	o.progress.state = view->state;
	o.progress.final = view->ended;
	o.progress.alarm = view->alarm;
	o.progress.readback = view->readback;
	o.progress.numbered = view->numbered;
	snprintf(o.progress.text, sizeof(o.progress.text), "%s", view->detail);
	snprintf(o.progress.hint, sizeof(o.progress.hint), "%s", view->hint);
	tell_waiters(s, &o);
}

static void on_store(struct station *s, const struct engine_out *o)
{
	unsigned flags = 0;
	uint64_t cookie = o->cookie;
	int r;

	flags |= o->store.flags & ENGINE_STORE_URGENT ? STORE_URGENT : 0;
	flags |= o->store.flags & ENGINE_STORE_ANSWER ? STORE_ANSWER : 0;
	flags |= o->store.flags & ENGINE_STORE_NOW_OR_NEVER ? STORE_NOW_OR_NEVER : 0;
	r = store_submit(s->store, &o->store.row, cookie, flags);
	if (r < 0 && flags & STORE_ANSWER) {
		engine_stored(s->engine, cookie, r, now_both());
	}
}

/* A command that makes safer is sent even when there is no room for its row. */
static void on_emergency(struct station *s, const struct engine_out *o)
{
	const struct row *row = &o->store.row;

	if (row->id == ROW_COMMAND) {
		log_event(LOG_WARNING, "command", LOG_NO_LINK, LOG_ID_COMMAND,
			  "command %lld is sent without the database; its row goes into the "
			  "emergency journal",
			  (long long)row->values[0].i);
	}
	if (emergency_put(s->emergency, row) < 0) {
		log_event(LOG_ERR, "command", LOG_NO_LINK, LOG_ID_COMMAND,
			  "the emergency journal is full: the outcome of command %lld is not "
			  "recorded",
			  (long long)row->values[0].i);
	}
}

static void on_send(struct station *s, const struct engine_out *o)
{
	struct nanet3_tx tx = {
		.link = (uint8_t)o->send.link,
		.kind = NANET3_TX_REQUEST,
		.flags = o->send.more ? NANET3_TX_MORE : 0,
		.cookie = o->cookie,
	};
	int r;

	memcpy(tx.bytes, o->send.bytes, TDM_WORD_BYTES);
	r = watch_send(s->watch, &tx);
	if (r < 0) {
		engine_send_failed(s->engine, tx.cookie, r, now_both());
	} else if (o->send.awaited) {
		capture_attend(s->capture);
	}
}

void detector_drain(struct station *s)
{
	const struct engine_out *o;

	while (engine_next(s->engine, &o)) {
		/* What we do with it may call the engine, which may then move its outputs. */
		struct engine_out out = *o;

		switch (out.type) {
		case ENGINE_STORE:
			on_store(s, &out);
			break;
		case ENGINE_EMERGENCY:
			on_emergency(s, &out);
			break;
		case ENGINE_SEND:
			on_send(s, &out);
			break;
		case ENGINE_PROGRESS:
			on_progress(s, &out);
			break;
		}
	}
}

/* The store's answers, by the row that they are for; what is not here is the engine's. */
typedef void (*stored_fn)(struct station *s, const struct store_done *done);

static void ledger_stored(struct station *s, const struct store_done *done)
{
	if (done->result == 0) {
		reports_saved(s, done->cookie);
	}
}

static void loss_stored(struct station *s, const struct store_done *done)
{
	if (done->result == 0) { /* the newest of each link */
		s->losses_saved[done->cookie >> 60 & (NANET3_LINKS - 1)] = done->cookie;
	}
}

static void run_begin_stored(struct station *s, const struct store_done *done)
{
	run_state_journaled(&s->run.state, done->result);
}

static void run_stored(struct station *s, const struct store_done *done)
{
	run_state_written(&s->run.state, done->cookie, done->result);
}

static void brought(struct station *s, const struct store_done *done)
{
	emergency_brought(s->emergency, done->cookie, done->result, now_both());
}

static void snapshot_stored(struct station *s, const struct store_done *done)
{
	if (s->ops.stored) {
		s->ops.stored(s, done);
	}
}

static const stored_fn stored_fns[ROW_IDS] = {
	[ROW_LEDGER_LINK] = ledger_stored,
	[ROW_LOSS] = loss_stored,
	[ROW_RUN_BEGIN] = run_begin_stored,
	[ROW_RUN_SLICE] = run_stored,
	[ROW_RUN_END] = run_stored,
	[ROW_COMMAND_BROUGHT] = brought,
	[ROW_TRANSITION_BROUGHT] = brought,
	[ROW_SNAPSHOT] = snapshot_stored,
	[ROW_SNAPSHOT_REMOVE] = snapshot_stored,
};

void detector_stored(struct station *s)
{
	struct store_done done;

	station_restore(s);
	while (store_take_done(s->store, &done)) {
		stored_fn fn = done.row < ROW_IDS ? stored_fns[done.row] : NULL;

		if (fn) {
			fn(s, &done);
		} else {
			engine_stored(s->engine, done.cookie, done.result, now_both());
		}
	}
	reports_losses_saved(s);
}

void detector_tick(struct station *s)
{
	uint64_t now = now_mono_ns();

	if (engine_next_due(s->engine) <= now) {
		engine_tick(s->engine, now_both());
	}
	tell_still(s, now);
	if (s->restored) { /* the rows of the file come first */
		emergency_bring(s->emergency, s->store, now_both());
	}
}

void detector_second(struct station *s)
{
	uint64_t generation = s->emergency_copied;
	struct disk_status disk;

	disk_get_status(s->disk, &disk);
	if ((emergency_changed(s->emergency, &generation) || disk.copy_error < 0) &&
	    disk_offer(s->disk, emergency_image(s->emergency), emergency_bytes())) {
		s->emergency_copied = generation;
	}
}
