// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parameters: values, and the sets and actions that are given to the engine. Who may set what is decided here, what may
 * be set by the engine.
 */
#include "daemon/ops/private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/station/network_say.h"

struct match {
	struct ops *ops;
	json_t *found;
	json_t *(*item)(struct ops *ops, const struct param *p);
	bool *seen; /* by the parameter's number */
};

static void list_param(void *context, struct param *p)
{
	struct match *m = context;

	json_array_append_new(m->found, status_param(m->ops, p));
}

static void op_param_list(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	const char *pattern = arg_text(args, "pattern");
	struct match m = {.ops = ops, .found = json_array()};

	params_match(ops->params, pattern ? pattern : "*", list_param, &m);
	control_answer(rq, json_pack("{s:o}", "parameters", m.found));
}

static void match_once(void *context, struct param *p)
{
	struct match *m = context;
	json_t *item = m->seen[p->number] ? NULL : m->item(m->ops, p);

	m->seen[p->number] = true;
	if (item) {
		json_array_append_new(m->found, item);
	}
}

json_t *match_patterns(struct ops *ops, struct control_request *rq, json_t *patterns,
		       json_t *(*item)(struct ops *ops, const struct param *p))
{
	struct match m = {.ops = ops, .item = item};
	struct sc_error error = {0};
	struct param *p;
	json_t *pattern;
	size_t n;

	m.found = json_array();
	m.seen = calloc(params_count(ops->params) + 1, sizeof(*m.seen));
	if (!m.seen) {
		control_fail(rq, "internal", "try again", NULL, "out of memory");
		json_decref(m.found);
		return NULL;
	}
	json_array_foreach (patterns, n, pattern) {
		const char *text = json_string_value(pattern);

		if (params_match(ops->params, text, match_once, &m) == 0) {
			params_find(ops->params, text, &p, &error);
			control_fail_error(rq, "usage", &error, NULL);
			json_decref(m.found);
			m.found = NULL;
			break;
		}
	}
	free(m.seen);
	return m.found;
}

static void op_param_get(struct control_request *rq, json_t *args, void *context)
{
	json_t *found = match_patterns(context, rq, json_object_get(args, "names"), status_param);

	if (found) {
		control_answer(rq, json_pack("{s:o}", "parameters", found));
	}
}

static const char *code_of(int r)
{
	return r == -ENOENT || r == -ENOTUNIQ || r == -EINVAL || r == -E2BIG ? "usage" : "refused";
}

void refuse_command(struct control_request *rq, int r, const struct sc_error *error, uint64_t id)
{
	control_fail_error(rq, code_of(r), error, id ? command_number(id) : NULL);
}

/* The value asked for, as text or number. 0 or a negative errno with `error` filled. */
static int value_arg(const struct param *p, json_t *args, double *ret_value, struct sc_error *error)
{
	json_t *value = json_object_get(args, "value");

	if (json_is_string(value)) {
		return param_parse(p, json_string_value(value), ret_value, error);
	}
	*ret_value = json_number_value(value);
	return 0;
}

struct engine_request request_of(const struct control_request *rq, const json_t *args)
{
	const struct control_peer *peer = control_peer(rq);

	return (struct engine_request){
		.parameter = arg_text(args, "name"),
		.action = strcmp(control_op(rq)->name, "param.action") == 0,
		.value = NAN,
		.force = arg_true(args, "force"),
		.who = peer->who,
		.origin = peer->origin,
		.reason = arg_text(args, "reason"),
		.uid = peer->uid,
		.pid = peer->pid,
		.client_id = arg_text(args, "client_id"),
	};
}

#define REFUSED_A_SECOND 0.2
#define REFUSED_BURST	 100

bool station_refused(void *context, struct control_request *rq, const char *op, json_t *args,
		     const struct sc_error *error)
{
	struct ops *ops = context;
	bool set = strcmp(op, "param.set") == 0;
	struct engine_request request = request_of(rq, args);
	struct param *p;
	uint64_t id;

	network_note_refused(ops->station, control_peer(rq)->origin, error->message);
	log_event(LOG_WARNING, "control", LOG_NO_LINK, LOG_ID_REFUSED, "refused to %s: %s",
		  control_peer(rq)->origin, error->message);
	if (control_is_dry(args)) {
		return false; /* nothing was tried */
	}
	/* At a limited rate, so that refusals do not fill the disk; an event says how many there were. */
	if ((!set && !request.action) || !request.parameter ||
	    params_find(ops->params, request.parameter, &p, NULL) < 0 ||
	    !bucket_take(&ops->refused_rows, REFUSED_A_SECOND, REFUSED_BURST, now_mono_ns())) {
		return false;
	}
	if (set && json_object_get(args, "value")) { /* what is missing is found after the role */
		value_arg(p, args, &request.value, NULL);
	}
	if (engine_refuse(ops->engine, &request, error->message, station_now(), &id) < 0) {
		return false;
	}
	waiters_refused(ops, id, rq, "refused", error);
	return true;
}

/* --- ramps --- */

/*
 * A ramp: a set of what the FCM ramps by itself (the HV, by the module's own ramp register), with the rate set first when
 * one is given. The steps are the FCM's, so it continues as commanded when the shore is gone.
 */

/* It has that rate already. */
static bool is_rate(const struct param *ramp, double rate)
{
	return param_quality(ramp, now_mono_ns()) == PARAM_GOOD &&
	       fabs(ramp->value - rate) <= ramp->kind->tolerance;
}

/* The rate to set before `request`, an allowed set of `p`: *ret_first is a set of *ret_ramp (NULL: no rate to set) with the
 * requester and force of `request`. 0; -EINVAL: `p` does not ramp. */
static int ramp_rate(struct ops *ops, const struct param *p, double rate,
		     const struct engine_request *request, struct param **ret_ramp,
		     struct engine_request *ret_first, struct sc_error *error)
{
	struct param *ramp = params_sibling(ops->params, p, p->kind->settle_by);
	uint64_t id;

	*ret_ramp = NULL;
	if (!ramp) {
		return sc_fail(error, -EINVAL, "no-ramp", "Set it without a rate.",
			       "%s does not ramp: it is there at once", p->name);
	}
	if (rate == 0 || is_rate(ramp, rate) ||
	    engine_check(ops->engine, request, station_now(), &id, NULL) != 0) {
		return 0; /* a repeat, or what will be refused: no rate for that */
	}
	*ret_ramp = ramp;
	*ret_first = *request;
	ret_first->parameter = ramp->name;
	ret_first->value = rate;
	ret_first->client_id = NULL;
	return 0;
}

/* Dry run of it, added to `would`, the result of dry_run() for the set behind it. Errors as of engine_check(). */
static int ramp_try(struct ops *ops, const struct param *ramp, const struct engine_request *first,
		    json_t *would, struct sc_error *error)
{
	uint64_t id;
	char to[32];
	int r = engine_check(ops->engine, first, station_now(), &id, error);

	if (r < 0) {
		return r;
	}
	json_object_set_new(would, "rate", json_real(first->value));
	json_object_set_new(
		would, "text",
		json_sprintf("%s; before that %s to %s %s, where it stays",
			     json_string_value(json_object_get(would, "text")), ramp->name,
			     param_format(ramp, first->value, to, sizeof(to)), ramp->kind->unit));
	return 0;
}

/* --- sets and actions --- */

/* A param.set or param.action: the request, and the rate that is set before it. */
struct asked {
	struct engine_request request, rate;
	struct param *p, *ramp; /* ramp NULL: no rate to set */
};

/*
 * The role needed beyond that of the operation, for each request separately. A set that makes safer
 * needs no more: where the role does not allow `force`, it is sent without. False: refused,
 * answered.
 */
static bool may_submit(struct ops *ops, struct control_request *rq, json_t *args,
		       struct engine_request *request, const struct param *p)
{
	char what[PARAM_NAME_MAX + 32];

	if (!request->action && engine_safer(ops->engine, p, request->value, station_now())) {
		request->force = request->force && control_peer(rq)->role >= ACCESS_EXPERT;
		return true;
	}
	if (p->kind->danger == PARAM_DANGEROUS) {
		snprintf(what, sizeof(what), "%s is dangerous", p->name);
		return control_may(rq, args, ACCESS_EXPERT, what);
	}
	return !request->force ||
	       control_may(rq, args, ACCESS_EXPERT, "force, beyond the soft limits");
}

/* Read the request, find the parameter, check the role. False: refused, answered. */
static bool read_asked(struct ops *ops, struct control_request *rq, json_t *args, struct asked *ret)
{
	double rate = arg_number(args, "rate", -1); /* an action has none */
	struct engine_request *q = &ret->request;
	struct sc_error error = {0};
	int r;

	*ret = (struct asked){.request = request_of(rq, args)};
	r = params_find(ops->params, q->parameter, &ret->p, &error);
	if (r == 0 && !q->action) {
		r = value_arg(ret->p, args, &q->value, &error);
	}
	if (r == 0 && !may_submit(ops, rq, args, q, ret->p)) {
		return false;
	}
	if (r == 0 && rate >= 0) {
		r = ramp_rate(ops, ret->p, rate, q, &ret->ramp, &ret->rate, &error);
	}
	if (r < 0) {
		refuse_command(rq, r, &error, 0);
		return false;
	}
	return !ret->ramp || may_submit(ops, rq, args, &ret->rate, ret->ramp);
}

static void try_dry(struct ops *ops, struct control_request *rq, json_t *args,
		    const struct asked *a)
{
	struct sc_error error = {0};
	json_t *would = NULL;
	int r = dry_run(ops, &a->request, a->p, arg_true(args, "yes"), &would, &error);

	if (r == 0 && a->ramp) {
		r = ramp_try(ops, a->ramp, &a->rate, would, &error);
		json_decref(r < 0 ? would : NULL);
		would = r < 0 ? NULL : would;
	}
	if (r < 0 && would) {
		control_fail_error(rq, "refused", &error, json_pack("{s:o}", "would", would));
	} else if (r < 0) {
		refuse_command(rq, r, &error, 0);
	} else {
		control_answer(rq, would);
	}
}

/* False: dangerous and not confirmed, answered. */
static bool confirmed(struct control_request *rq, json_t *args, const struct param *p)
{
	if (!p || p->kind->danger != PARAM_DANGEROUS || arg_true(args, "yes")) {
		return true;
	}
	control_fail(rq, "needs-yes", "repeat it with --yes", NULL, "%s is dangerous: %s", p->name,
		     p->kind->description);
	return false;
}

static void op_submit(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	struct engine_now now = station_now();
	struct sc_error error = {0};
	struct asked a;
	uint64_t id = 0;
	int r = 0;

	if (!read_asked(ops, rq, args, &a)) {
		return;
	}
	if (control_is_dry(args)) {
		try_dry(ops, rq, args, &a);
		return;
	}
	if (!confirmed(rq, args, a.p) || !confirmed(rq, args, a.ramp)) {
		return;
	}
	if (a.ramp) {
		r = engine_submit(ops->engine, &a.rate, now, &id, &error);
		a.request.after = id;
	}
	r = r ? r : engine_submit(ops->engine, &a.request, now, &id, &error);
	if (r < 0) {
		waiters_refused(ops, id, rq, code_of(r), &error);
	} else {
		waiters_wait(ops, id, rq, !arg_false(args, "wait"));
	}
	if (r == 1) {
		waiters_repeat(ops, id);
	}
}

/* A command that was not sent is cancelled at once; a ramp is stopped by another command, which has an end of its own. */
static void op_command_cancel(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	uint64_t id = (uint64_t)arg_int(args, "command", 0), stop = 0;
	struct engine_request by = request_of(rq, args);
	struct sc_error error = {0};
	bool ramp;
	int r = engine_check_cancel(ops->engine, id, station_now(), &ramp, &error);

	if (r == 0 && control_dry(rq, args,
				  ramp ? "would stop command %llu where its value is now"
				       : "would take command %llu back: it has not left",
				  (unsigned long long)id)) {
		return;
	}
	r = r == 0 ? engine_cancel(ops->engine, id, &by, station_now(), &stop, &error) : r;
	if (r < 0) {
		refuse_command(rq, r, &error, id);
	} else if (stop) {
		waiters_wait(ops, stop, rq, true);
	} else {
		control_answer(rq, command_number(id));
	}
}

/* A parameter by name; the tower may be left out where there is one only. */
#define NAME CONTROL_ARG("name", ARG_TEXT, true, .about = "a parameter: floor3.om2.hv")
#define CLIENT_ID                                                                                  \
	CONTROL_ARG("client_id", ARG_TEXT, .max = 63,                                              \
		    .about = "a repeat with it is not sent again while the journal has the first")
#define FORCE                                                                                      \
	CONTROL_ARG("force", ARG_BOOL,                                                             \
		    .about = "allows values beyond the soft limits, ignores interlocks")

const struct control_op param_ops[] = {
	{"param.list", ACCESS_READER, op_param_list, "parameters: what they are, and their values",
	 CONTROL_ARGS({"pattern", ARG_TEXT, .about = "only those that match"})},
	{"param.get", ACCESS_READER, op_param_get, "parameters that match",
	 CONTROL_ARGS(PATTERNS(true)), .urgent = true},
	{"param.set", ACCESS_OPERATOR, op_submit, "set a parameter",
	 CONTROL_ARGS(NAME,
		      {"value", ARG_VALUE, true, .about = "a number, or as typed: 1450 V, on"},
		      REASON(false, 400), CLIENT_ID, WAIT, YES, FORCE, DRY_RUN,
		      {"rate", ARG_NUMBER, false, 0, -1,
		       .about = "set first, in its unit per second; 0: unchanged"})},
	{"param.action", ACCESS_OPERATOR, op_submit, "do an action",
	 CONTROL_ARGS(NAME, REASON(false, 400), CLIENT_ID, WAIT, YES, FORCE, DRY_RUN)},
	{"command.cancel", ACCESS_OPERATOR, op_command_cancel, "take a command back, stop a ramp",
	 CONTROL_ARGS({"command", ARG_INT, true, 1, 0, .about = "its number"}, DRY_RUN)},
	{0},
};
