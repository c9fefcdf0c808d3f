// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The operations of schemas/control.md, one function each, in the order of that page.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/station.h"

/* --- arguments --- */

static const char *text_arg(json_t *args, const char *key)
{
	return json_string_value(json_object_get(args, key));
}

static int64_t since_arg(json_t *args)
{
	double ns = json_number_value(json_object_get(args, "since")) * 1e9;

	return ns >= 9.2e18 ? INT64_MAX : ns <= 0 ? 0 : (int64_t)ns;
}

/* 0: there is none. */
static int64_t until_arg(json_t *args)
{
	double until = json_number_value(json_object_get(args, "until"));

	return until > 0 && until < 9e9 ? (int64_t)(until * 1e9) : 0;
}

/* More than ROWS_MAX is refused by station_ask(). */
#define ROWS_MAX 10000

static unsigned limit_arg(json_t *args)
{
	json_int_t n = json_integer_value(json_object_get(args, "limit"));

	return n < 0 || n > ROWS_MAX ? 0 : (unsigned)n;
}

/* The link asked for; QUERY_ALL when none is named. False: refused, answered. */
static bool link_arg(struct station *s, struct control_request *rq, json_t *args, bool must,
		     int *ret_link)
{
	json_t *j = json_object_get(args, "link");
	json_int_t link = json_is_integer(j) ? json_integer_value(j) : QUERY_ALL;

	if ((!j || json_is_null(j)) && !must) {
		*ret_link = QUERY_ALL;
		return true;
	}
	if (link < 0 || link >= (json_int_t)NANET3_LINKS) {
		control_fail(rq, "usage", "links are 0..3", NULL, "no such link");
		return false;
	}
	if (!s->link[link].enabled) {
		control_fail(rq, "usage", "give it a floor in [link] of the configuration", NULL,
			     "link %d is not configured", (int)link);
		return false;
	}
	*ret_link = (int)link;
	return true;
}

/* --- station --- */

static void op_info(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;

	(void)args;
	control_answer(
		rq, json_pack("{s:s,s:i,s:s,s:i,s:o,s:s,s:s,s:s,s:s}", "version", FCM_VERSION,
			      "board", (int)s->config.instance, "name", s->config.daemon.name,
			      "pid", (int)getpid(), "started", json_time(s->started_utc_ns),
			      "database", s->config.store.database, "monitor_endpoint",
			      s->config.data.monitor_endpoint, "reserved_endpoint",
			      s->config.data.reserved_endpoint, "device", s->config.board.device));
}

static void op_status(struct control_request *rq, json_t *args, void *context)
{
	(void)args;
	control_answer(rq, status_json(context));
}

/* --- links --- */

static void op_link_list(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	json_t *links = json_array();

	(void)args;
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (s->link[link].enabled) {
			json_array_append_new(links, status_link(s, link));
		}
	}
	control_answer(rq, json_pack("{s:o}", "links", links));
}

static json_t *registers_json(const struct watch_link *w)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "status",
			 (json_int_t)w->status, "rx_power_nw", (json_int_t)w->rx_power_nw,
			 "tx_power_nw", (json_int_t)w->tx_power_nw, "phase_ps",
			 (json_int_t)w->phase.phase_ps, "aligns", (json_int_t)w->phase.aligns,
			 "code_errors", (json_int_t)w->code_errors, "lost_locks",
			 (json_int_t)w->lost_locks, "drop_fifo", (json_int_t)w->drop_fifo,
			 "drop_ring", (json_int_t)w->drop_ring, "drop_down",
			 (json_int_t)w->drop_down, "cells", (json_int_t)w->cells);
}

static json_t *telemetry_json(const struct station_link *l)
{
	const struct tdm_telemetry *t = &l->telemetry;

	if (!l->telemetry_ns) {
		return json_null();
	}
	return json_pack("{s:o,s:I,s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:I,s:I,s:I}", "age_s",
			 json_age(l->telemetry_ns), "boot_count", (json_int_t)t->boot_count,
			 "uptime_s", (json_int_t)t->uptime_s, "temperature_c",
			 t->temperature_mc / 1e3, "humidity_percent", t->humidity_ppm / 1e4,
			 "supply_v", t->supply_mv / 1e3, "current_a", t->current_ma / 1e3,
			 "heading_deg", t->heading_mdeg / 1e3, "pitch_deg", t->pitch_mdeg / 1e3,
			 "roll_deg", t->roll_mdeg / 1e3, "power_mask", (json_int_t)t->power_mask,
			 "executed", (json_int_t)t->executed, "rejected", (json_int_t)t->rejected);
}

static void op_link_show(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	json_t *j;
	int link;

	if (!link_arg(s, rq, args, true, &link)) {
		return;
	}
	j = status_link(s, (unsigned)link);
	json_object_set_new(j, "registers", registers_json(watch_link(s->watch, (unsigned)link)));
	json_object_set_new(j, "floor_telemetry", telemetry_json(&s->link[link]));
	control_answer(rq, j);
}

static void op_link_reset(struct control_request *rq, json_t *args, void *context)
{
	int link;

	if (link_arg(context, rq, args, true, &link)) {
		links_reset(context, (unsigned)link, NANET3_LINK_RESET | NANET3_LINK_ALIGN, rq,
			    args);
	}
}

static void op_link_align(struct control_request *rq, json_t *args, void *context)
{
	int link;

	if (link_arg(context, rq, args, true, &link)) {
		links_reset(context, (unsigned)link, NANET3_LINK_ALIGN, rq, args);
	}
}

/* --- phase --- */

/* The bins that are not empty: most of the circle is. */
static json_t *histogram_json(const struct phase *p)
{
	const uint32_t *counts = phase_histogram(p);
	json_t *bins = json_array();

	for (int bin = 0; bin < PHASE_BINS; bin++) {
		if (counts[bin]) {
			json_array_append_new(bins, json_pack("[i,I]", bin * PHASE_BIN_PS,
							      (json_int_t)counts[bin]));
		}
	}
	return json_pack("{s:i,s:o}", "bin_ps", PHASE_BIN_PS, "bins", bins);
}

static void op_phase_show(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	json_t *phases;
	int wanted;

	if (!link_arg(s, rq, args, false, &wanted)) {
		return;
	}
	phases = json_array();
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (s->link[link].enabled && (wanted == QUERY_ALL || wanted == (int)link)) {
			json_t *phase = status_phase(s, link);

			json_object_set_new(phase, "histogram",
					    histogram_json(s->link[link].phase));
			json_array_append_new(phases, phase);
		}
	}
	control_answer(rq, json_pack("{s:o}", "phases", phases));
}

static void op_phase_accept(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	const char *why = text_arg(args, "reason");
	struct phase_reference r;
	struct phase_judgement j;
	int link, error;

	if (!link_arg(s, rq, args, true, &link)) {
		return;
	}
	if (!why || !*why) {
		control_fail(rq, "usage", "--reason \"fibre replaced\"", NULL,
			     "a new reference needs a reason: it goes into the journal");
		return;
	}
	if (links_other_floor(s, (unsigned)link)) {
		control_fail(rq, "refused", "swap the fibres back first", NULL,
			     "link %d: another floor than configured is on it", link);
		return;
	}
	if (!inherit_done(s, rq, "a new reference")) {
		return;
	}
	error = phase_candidate(s->link[link].phase, now_utc_ns(), &r);
	if (error < 0) {
		control_fail(rq, "refused", "wait until the link is locked and has been sampled",
			     NULL, "link %d has no mean phase to accept", link);
		return;
	}
	if (control_dry(rq, args, "would take %.1f ps as the reference of link %d", r.phase_ps,
			link)) {
		return;
	}
	phase_accept(s->link[link].phase, now_utc_ns(), &r);
	store_put_phase_reference(s->store, (unsigned)link, &r, control_peer(rq)->who, why);
	j = (struct phase_judgement){.verdict = PHASE_FIRST, .mean_ps = r.phase_ps};
	store_put_phase_event(s->store, (unsigned)link, &j, control_peer(rq)->who, why,
			      now_utc_ns());
	log_event(LOG_NOTICE, "phase", link, LOG_ID_PHASE,
		  "link %d: new reference %.1f ps accepted by %s: %s", link, r.phase_ps,
		  control_peer(rq)->who, why);
	control_answer(rq,
		       json_pack("{s:i,s:f,s:i,s:i,s:i,s:o}", "link", link, "phase_ps", r.phase_ps,
				 "rtt_frames", r.rtt_frames, "rtt_bytes", r.rtt_bytes, "rtt_bits",
				 r.rtt_bits, "time", json_time(r.time_ns)));
}

static void op_phase_soak(struct control_request *rq, json_t *args, void *context)
{
	json_int_t trials = json_integer_value(json_object_get(args, "trials"));
	double interval = json_number_value(json_object_get(args, "interval_s"));
	const char *command = text_arg(args, "command");
	int link;

	if (!link_arg(context, rq, args, true, &link)) {
		return;
	}
	/* All of them are answered in one message. */
	if (trials < 1 || trials > SOAK_TRIALS_MAX || !(interval >= 0 && interval <= 86400)) {
		control_fail(
			rq, "usage",
			"the seed's test is --trials 4320 --interval 10; for more, run it again",
			NULL, "trials are 1..%u, the interval 0..86400 s", SOAK_TRIALS_MAX);
		return;
	}
	links_soak(context, (unsigned)link,
		   command && strcmp(command, "align") == 0 ? NANET3_LINK_ALIGN
							    : NANET3_LINK_RESET | NANET3_LINK_ALIGN,
		   (unsigned)trials, interval, rq, args);
}

static void op_clock_show(struct control_request *rq, json_t *args, void *context)
{
	(void)args;
	control_answer(rq, status_clock(context));
}

/* --- parameters --- */

static void list_param(void *context, struct param *p)
{
	json_array_append_new(context, status_param(p));
}

static void op_param_list(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	const char *pattern = text_arg(args, "pattern");
	json_t *found = json_array();

	if (pattern) {
		params_match(s->params, pattern, list_param, found);
	} else {
		for (unsigned n = 0; n < params_count(s->params); n++) {
			list_param(found, params_at(s->params, n));
		}
	}
	control_answer(rq, json_pack("{s:o}", "parameters", found));
}

/* Each is held against every parameter, on the thread that everybody else waits for. */
#define PATTERNS_MAX 256u

struct match {
	json_t *found;
	json_t *(*item)(const struct param *p);
	bool *seen; /* by the parameter's number */
};

static void match_once(void *context, struct param *p)
{
	struct match *m = context;
	json_t *item = m->seen[p->number] ? NULL : m->item(p);

	m->seen[p->number] = true;
	if (item) {
		json_array_append_new(m->found, item);
	}
}

json_t *station_match(struct station *s, struct control_request *rq, json_t *patterns,
		      json_t *(*item)(const struct param *p))
{
	struct match m = {.item = item};
	struct sc_error error = {0};
	struct param *p;
	json_t *pattern;
	size_t n;

	if (json_array_size(patterns) > PATTERNS_MAX) {
		control_fail(rq, "usage", "name many by one pattern: floor3.*", NULL,
			     "at most %u patterns at once", PATTERNS_MAX);
		return NULL;
	}
	m.found = json_array();
	m.seen = calloc(params_count(s->params) + 1, sizeof(*m.seen));
	if (!m.seen) {
		control_fail(rq, "internal", "try again", NULL, "out of memory");
		json_decref(m.found);
		return NULL;
	}
	json_array_foreach (patterns, n, pattern) {
		const char *text = json_string_value(pattern);

		if (params_match(s->params, text, match_once, &m) == 0) {
			params_find(s->params, text, &p, &error);
			control_fail(rq, "usage", error.hint, NULL, "%s", error.message);
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
	json_t *names = json_object_get(args, "names"), *found;

	if (json_array_size(names) == 0) {
		control_fail(rq, "usage", "fcmctl get floor3.om2.hv", NULL, "which parameters?");
		return;
	}
	found = station_match(context, rq, names, status_param);
	if (found) {
		control_answer(rq, json_pack("{s:o}", "parameters", found));
	}
}

static void refuse(struct control_request *rq, int r, const struct sc_error *error, uint64_t id)
{
	bool usage = r == -ENOENT || r == -ENOTUNIQ || r == -EINVAL;

	control_fail(rq, usage ? "usage" : "refused", error->hint,
		     id ? json_pack("{s:I,s:s}", "command", (json_int_t)id, "detail", error->code)
			: json_pack("{s:s}", "detail", error->code),
		     "%s", error->message);
}

/* The value asked for, as text or number. 0 or a negative errno with `error` filled. */
static int value_arg(const struct param *p, json_t *args, double *ret_value, struct sc_error *error)
{
	json_t *value = json_object_get(args, "value");

	if (json_is_string(value)) {
		return param_parse(p, json_string_value(value), ret_value, error);
	}
	if (json_is_number(value)) {
		*ret_value = json_number_value(value);
		return 0;
	}
	return sc_fail(error, -EINVAL, "usage", "give it as text or number", "%s: which value?",
		       p->name);
}

static struct engine_request request_of(const struct control_request *rq, json_t *args, bool action)
{
	const struct control_peer *peer = control_peer(rq);

	return (struct engine_request){
		.parameter = text_arg(args, "name"),
		.action = action,
		.value = NAN,
		.force = json_is_true(json_object_get(args, "force")),
		.who = peer->who,
		.origin = peer->origin,
		.reason = text_arg(args, "reason"),
		.uid = peer->uid,
		.pid = peer->pid,
		.client_id = text_arg(args, "client_id"),
	};
}

#define REFUSED_A_SECOND 0.2
#define REFUSED_BURST	 100

json_t *station_refused(void *context, const struct control_request *rq, const char *op,
			json_t *args, const char *text)
{
	struct station *s = context;
	bool set = strcmp(op, "param.set") == 0;
	struct engine_request request = request_of(rq, args, !set);
	struct param *p;
	uint64_t id;
	int r = -ENOENT;

	snprintf(s->access.origin, sizeof(s->access.origin), "%s", control_peer(rq)->origin);
	snprintf(s->access.text, sizeof(s->access.text), "%s", text);
	log_event(LOG_WARNING, "control", LOG_NO_LINK, LOG_ID_REFUSED, "refused to %s: %s",
		  control_peer(rq)->origin, text);
	if (json_is_true(json_object_get(args, "dry_run"))) {
		return json_object(); /* nothing was tried */
	}
	/* Who tries without end does not fill the disk: an event tells how often. */
	if ((set || strcmp(op, "param.action") == 0) && request.parameter &&
	    params_find(s->params, request.parameter, &p, NULL) == 0 &&
	    bucket_take(&s->access.rows, REFUSED_A_SECOND, REFUSED_BURST, now_mono_ns())) {
		if (set) {
			value_arg(p, args, &request.value, NULL);
		}
		r = engine_refuse(s->engine, &request, text,
				  (struct engine_now){now_mono_ns(), now_utc_ns()}, &id);
		detector_drain(s);
	}
	return r == 0 ? json_pack("{s:I}", "command", (json_int_t)id) : json_object();
}

/* Beyond what the operation itself needs. False: refused, answered. */
static bool may_submit(struct control_request *rq, json_t *args, const struct param *p)
{
	char what[PARAM_NAME_MAX + 32];

	if (p->kind->danger == PARAM_DANGEROUS) {
		snprintf(what, sizeof(what), "%s is dangerous", p->name);
		return control_may(rq, args, ACCESS_EXPERT, what);
	}
	return !json_is_true(json_object_get(args, "force")) ||
	       control_may(rq, args, ACCESS_EXPERT, "force, beyond the soft limits");
}

static void try_dry(struct station *s, struct control_request *rq, json_t *args,
		    const struct engine_request *request, const struct param *p)
{
	struct sc_error error = {0};
	json_t *would = NULL;
	int r = dry_run(s, request, p, json_is_true(json_object_get(args, "yes")), &would, &error);

	if (r < 0 && would) {
		control_fail(rq, "refused", error.hint,
			     json_pack("{s:s,s:o}", "detail", error.code, "would", would), "%s",
			     error.message);
	} else if (r < 0) {
		refuse(rq, r, &error, 0);
	} else {
		control_answer(rq, would);
	}
}

static void submit(struct station *s, struct control_request *rq, json_t *args, bool action)
{
	json_t *wait = json_object_get(args, "wait");
	json_t *rate = action ? NULL : json_object_get(args, "rate");
	struct engine_request request = request_of(rq, args, action);
	struct engine_command_view view;
	struct sc_error error = {0};
	struct param *p;
	uint64_t id = 0;
	int r = params_find(s->params, request.parameter ? request.parameter : "", &p, &error);

	if (r == 0 && !action) {
		r = value_arg(p, args, &request.value, &error);
	}
	if (r < 0) {
		refuse(rq, r, &error, 0);
		return;
	}
	if (!may_submit(rq, args, p)) {
		return;
	}
	if (json_is_true(json_object_get(args, "dry_run"))) {
		try_dry(s, rq, args, &request, p);
		return;
	}
	if (p->kind->danger == PARAM_DANGEROUS && !json_is_true(json_object_get(args, "yes"))) {
		control_fail(rq, "needs-yes", "repeat it with --yes", NULL, "%s is dangerous: %s",
			     p->name, p->kind->description);
		return;
	}
	r = rate ? ramp_rate_first(s, p, json_number_value(rate), &request, &id, &error) : 0;
	r = r ? r
	      : engine_submit(s->engine, &request, (struct engine_now){now_mono_ns(), now_utc_ns()},
			      &id, &error);
	if (r < 0) {
		refuse(rq, r, &error, id);
	} else {
		detector_wait(s, id, rq, !json_is_false(wait));
	}
	if (r == 1 && engine_command(s->engine, id, &view) && view.told) {
		detector_repeat(s, &view); /* it has ended, perhaps long ago */
	}
	detector_drain(s);
}

static void op_param_set(struct control_request *rq, json_t *args, void *context)
{
	submit(context, rq, args, false);
}

static void op_param_action(struct control_request *rq, json_t *args, void *context)
{
	submit(context, rq, args, true);
}

/* Taken back at once; or a ramp is stopped, which has an end of its own. */
static void op_command_cancel(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	json_int_t id = json_integer_value(json_object_get(args, "command"));
	struct engine_request by = request_of(rq, args, false);
	struct sc_error error = {0};
	struct engine_now now = {now_mono_ns(), now_utc_ns()};
	bool ramp;
	uint64_t stop = 0;
	int r = engine_check_cancel(s->engine, (uint64_t)id, now, &ramp, &error);

	if (r == 0 && control_dry(rq, args,
				  ramp ? "would stop command %lld where its value is now"
				       : "would take command %lld back: it has not left",
				  (long long)id)) {
		return;
	}
	r = r == 0 ? engine_cancel(s->engine, (uint64_t)id, &by, now, &stop, &error) : r;
	if (r < 0) {
		refuse(rq, r, &error, (uint64_t)id);
	} else if (stop) {
		detector_wait(s, stop, rq, true);
	} else {
		control_answer(rq, json_pack("{s:I}", "command", id));
	}
	detector_drain(s);
}

/* --- from the database --- */

/* All that the main thread does waits while a question is answered. With ROWS_MAX, and what it takes to
 * write an answer out, nobody waits for more than some 100 ms. */
#define QUERY_LIMIT_MS 40

bool station_reader(struct station *s, struct sc_error *error)
{
	if (!s->query && query_open(s->config.store.database, &s->query, error) < 0) {
		return false;
	}
	query_limit(s->query, QUERY_LIMIT_MS);
	return true;
}

static void refuse_too_much(struct control_request *rq, const char *what)
{
	control_fail(rq, "refused",
		     "narrow it: a later --since, one --link, a smaller --limit; it reads the "
		     "database by itself where it may",
		     json_pack("{s:s}", "detail", "too-much"),
		     "%s: that is more than the daemon reads while all else waits", what);
}

bool station_ask(struct station *s, struct control_request *rq, json_t *args, const char *what)
{
	struct sc_error error = {0};

	if (json_integer_value(json_object_get(args, "limit")) > ROWS_MAX) {
		refuse_too_much(rq, what);
		return false;
	}
	if (!station_reader(s, &error)) {
		control_fail(rq, "internal", error.hint, NULL, "%s", error.message);
		return false;
	}
	return true;
}

void station_tell(struct control_request *rq, int r, json_t *result, const char *what)
{
	if (r == 0) {
		control_answer(rq, result);
	} else if (r == -ENOENT || r == -ENOTUNIQ) {
		control_fail(rq, "usage",
			     r == -ENOENT ? "fcmctl get lists the names" : "say the tower", NULL,
			     "%s: %s", what, r == -ENOENT ? "there is none" : "not unambiguous");
	} else if (r == -ETIME) {
		refuse_too_much(rq, what);
	} else {
		control_fail(rq, "internal", "journalctl -u fcm-server@N", NULL,
			     "%s: the database says: %s", what, strerror(-r));
	}
}

static void op_param_history(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	const char *name = text_arg(args, "name");
	struct sc_error error = {0};
	struct param *p;
	json_t *j = NULL;
	int r = params_find(s->params, name ? name : "", &p, &error);

	if (r < 0) {
		refuse(rq, r, &error, 0);
	} else if (station_ask(s, rq, args, p->name)) {
		r = query_history(s->query, p->name, since_arg(args), until_arg(args),
				  limit_arg(args), &j);
		if (r == 0) {
			json_object_set_new(j, "unit", json_string(p->kind->unit));
			json_object_set_new(j, "kept", json_boolean(p->kind->history_s > 0));
			json_object_set_new(j, "limits", status_limits(p->kind));
		}
		station_tell(rq, r, j, p->name);
	}
}

static void op_command_list(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	struct query_filter filter = {
		.limit = limit_arg(args),
		.since_ns = since_arg(args),
		.parameter = text_arg(args, "parameter"),
		.state = text_arg(args, "state"),
		.who = text_arg(args, "who"),
		.floor = (int)json_integer_value(json_object_get(args, "floor")),
	};
	json_t *j = NULL;

	if (station_ask(s, rq, args, "commands")) {
		int r = query_commands(s->query, &filter, &j);

		station_tell(rq, r, j, "commands");
	}
}

static void op_command_show(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	json_t *j = NULL;

	if (station_ask(s, rq, args, "command")) {
		json_int_t id = json_integer_value(json_object_get(args, "command"));
		int r = query_command(s->query, (uint64_t)id, &j);

		station_tell(rq, r, j, "command");
	}
}

static void op_phase_history(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	json_t *j = NULL;
	int link;

	if (link_arg(s, rq, args, true, &link) && station_ask(s, rq, args, "phase history")) {
		int r = query_phase_history(s->query, link, since_arg(args), limit_arg(args), &j);

		station_tell(rq, r, j, "phase history");
	}
}

static void op_clock_history(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	json_t *j = NULL;

	if (station_ask(s, rq, args, "clock history")) {
		int r = query_clock_history(s->query, since_arg(args), limit_arg(args), &j);

		station_tell(rq, r, j, "clock history");
	}
}

static void op_ledger_show(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	json_t *j = NULL;
	json_int_t by_s = json_integer_value(json_object_get(args, "by_s"));
	int link;

	if (json_object_get(args, "by_s") && by_s != 1 && by_s != 60 && by_s != 3600) {
		control_fail(rq, "usage", "by_s: 1, 60 or 3600", NULL, "no rows of such a span");
		return;
	}
	if (link_arg(s, rq, args, false, &link) && station_ask(s, rq, args, "ledger")) {
		struct query_account what = {
			.since_ns = since_arg(args),
			.until_ns = until_arg(args),
			.link = link,
			.limit = limit_arg(args),
			.by_s = (unsigned)by_s,
		};
		int r = query_ledger(s->query, &what, &j);

		station_tell(rq, r, j, "ledger");
	}
}

static void op_event_list(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	json_t *j = NULL;

	if (station_ask(s, rq, args, "events")) {
		int r = query_events(s->query, since_arg(args), limit_arg(args), &j);

		station_tell(rq, r, j, "events");
	}
}

static void op_consumer_list(struct control_request *rq, json_t *args, void *context)
{
	(void)args;
	control_answer(rq, json_pack("{s:o,s:o,s:o}", "groups", status_groups(context), "members",
				     status_members(context), "feed", status_feed(context)));
}

/* --- runs --- */

static void op_run_start(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	const char *note = text_arg(args, "note");

	if (s->run.number || s->run.changing) {
		control_fail(rq, "refused", "fcmctl run stop", NULL, "run %u is under way",
			     s->run.number ? s->run.number : s->run.wanted);
		return;
	}
	if (inherit_done(s, rq, "the beginning of a run") &&
	    !control_dry(rq, args, "would begin run %u at the next slice border",
			 s->run.last + 1)) {
		run_start(s, note ? note : "", rq);
	}
}

static void op_run_stop(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;

	if (!s->run.number || s->run.changing) {
		control_fail(rq, "refused", "fcmctl run show", NULL, "%s",
			     s->run.changing ? "a run is just beginning or ending"
					     : "no run is under way");
		return;
	}
	if (inherit_done(s, rq, "the end of a run") &&
	    !control_dry(rq, args, "would end run %u at the next slice border", s->run.number)) {
		run_stop(s, rq);
	}
}

static void op_run_show(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	json_t *j = NULL;

	if (station_ask(s, rq, args, "runs")) {
		int r = query_runs(s->query, limit_arg(args), &j);

		if (r == 0) {
			json_object_set_new(j, "current", json_integer(s->run.number));
		}
		station_tell(rq, r, j, "runs");
	}
}

/* --- recordings --- */

static void op_record_start(struct control_request *rq, json_t *args, void *context)
{
	records_op_start(context, rq, args);
}

static void op_record_stop(struct control_request *rq, json_t *args, void *context)
{
	records_op_stop(context, rq, args);
}

static void op_record_list(struct control_request *rq, json_t *args, void *context)
{
	(void)args;
	records_op_list(context, rq);
}

static const struct control_op station_ops[] = {
	{"info", ACCESS_READER, op_info, NULL},
	{"status", ACCESS_READER, op_status, NULL},
	{"link.list", ACCESS_READER, op_link_list, NULL},
	{"link.show", ACCESS_READER, op_link_show, "link:i"},
	{"link.reset", ACCESS_OPERATOR, op_link_reset, "link:i reason:s dry_run:b"},
	{"link.align", ACCESS_OPERATOR, op_link_align, "link:i reason:s dry_run:b"},
	{"phase.show", ACCESS_READER, op_phase_show, "link:i"},
	{"phase.history", ACCESS_READER, op_phase_history, "link:i since:n limit:i"},
	{"phase.accept", ACCESS_EXPERT, op_phase_accept, "link:i reason:s dry_run:b"},
	{"phase.soak", ACCESS_EXPERT, op_phase_soak,
	 "link:i trials:i interval_s:n command:s dry_run:b"},
	{"clock.show", ACCESS_READER, op_clock_show, NULL},
	{"clock.history", ACCESS_READER, op_clock_history, "since:n limit:i"},
	{"param.list", ACCESS_READER, op_param_list, "pattern:s"},
	{"param.get", ACCESS_READER, op_param_get, "names:S"},
	{"param.set", ACCESS_OPERATOR, op_param_set,
	 "name:s value:v reason:s client_id:s wait:b yes:b force:b dry_run:b rate:n"},
	{"param.action", ACCESS_OPERATOR, op_param_action,
	 "name:s reason:s client_id:s wait:b yes:b force:b dry_run:b"},
	{"param.history", ACCESS_READER, op_param_history, "name:s since:n until:n limit:i"},
	{"command.list", ACCESS_READER, op_command_list,
	 "limit:i state:s floor:i since:n parameter:s who:s"},
	{"command.show", ACCESS_READER, op_command_show, "command:i"},
	{"command.cancel", ACCESS_OPERATOR, op_command_cancel, "command:i dry_run:b"},
	{"consumer.list", ACCESS_READER, op_consumer_list, NULL},
	{"ledger.show", ACCESS_READER, op_ledger_show, "since:n until:n link:i limit:i by_s:i"},
	{"run.start", ACCESS_OPERATOR, op_run_start, "note:s dry_run:b"},
	{"run.stop", ACCESS_OPERATOR, op_run_stop, "dry_run:b"},
	{"run.show", ACCESS_READER, op_run_show, "limit:i"},
	{"record.start", ACCESS_OPERATOR, op_record_start,
	 "links:I name:s note:s seconds:n dry_run:b"},
	{"record.stop", ACCESS_OPERATOR, op_record_stop, "dry_run:b"},
	{"record.list", ACCESS_READER, op_record_list, NULL},
	{"event.list", ACCESS_READER, op_event_list, "limit:i since:n"},
	{0},
};

/* A noun with many operations has a file and a table of its own: ops_NOUN.c. */
const struct control_op *const station_op_tables[] = {
	station_ops,	  alarm_ops, station_history_ops, station_serial_ops, station_plan_ops,
	station_safe_ops, NULL};
