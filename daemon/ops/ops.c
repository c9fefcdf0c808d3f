// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Operations of schemas/control.md, one function each, in the order of that page; param.* and command.* are in
 * param.c. What operations ask of the database.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/ops/ops.h"
#include "daemon/station/station.h"

/* --- arguments --- */

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

/* As whom the daemon knows who asks. */
static json_t *you_json(const struct control_request *rq)
{
	const struct control_peer *peer = control_peer(rq);

	return json_pack("{s:s,s:s,s:s}", "who", peer->who, "origin", peer->origin, "role",
			 access_role_name(peer->role));
}

static void op_info(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;

	(void)args;
	control_answer(rq,
		       json_pack("{s:s,s:i,s:s,s:i,s:o,s:s,s:s,s:s,s:s,s:o,s:o}", "version",
				 FCM_VERSION, "board", (int)s->config.instance, "name",
				 s->config.daemon.name, "pid", (int)getpid(), "started",
				 json_time(s->started_utc_ns), "database", s->config.store.database,
				 "monitor_endpoint", s->config.data.monitor_endpoint,
				 "reserved_endpoint", s->config.data.reserved_endpoint, "device",
				 s->config.board.device, "public_key", status_data_key(s), "you",
				 you_json(rq)));
}

static void op_status(struct control_request *rq, json_t *args, void *context)
{
	json_t *j = status_json(context);

	(void)args;
	json_object_set_new(j, "you", you_json(rq));
	control_answer(rq, j);
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
	if (!restore_done(s, rq, "a new reference")) {
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

static int ask_phase_history(struct query *q, const struct question *n, json_t **ret_json)
{
	return query_phase_history(q, n->link, since_arg(n->args), limit_arg(n->args), ret_json);
}

static void op_phase_history(struct control_request *rq, json_t *args, void *context)
{
	struct question n = {
		.rq = rq, .args = args, .what = "phase history", .ask = ask_phase_history};

	if (link_arg(context, rq, args, true, &n.link)) {
		questions_ask(context, &n);
	}
}

static int ask_clock_history(struct query *q, const struct question *n, json_t **ret_json)
{
	return query_clock_history(q, since_arg(n->args), limit_arg(n->args), ret_json);
}

static void op_clock_history(struct control_request *rq, json_t *args, void *context)
{
	questions_ask(context, &(struct question){.rq = rq,
						  .args = args,
						  .what = "clock history",
						  .ask = ask_clock_history});
}

static json_int_t by_arg(const json_t *args)
{
	return json_integer_value(json_object_get(args, "by_s"));
}

static int ask_ledger(struct query *q, const struct question *n, json_t **ret_json)
{
	const struct query_account what = {
		.since_ns = since_arg(n->args),
		.until_ns = until_arg(n->args),
		.link = n->link,
		.limit = limit_arg(n->args),
		.by_s = (unsigned)by_arg(n->args),
	};

	return query_ledger(q, &what, ret_json);
}

static void op_ledger_show(struct control_request *rq, json_t *args, void *context)
{
	struct question n = {.rq = rq, .args = args, .what = "ledger", .ask = ask_ledger};
	json_int_t by_s = by_arg(args);

	if (json_object_get(args, "by_s") && by_s != 1 && by_s != 60 && by_s != 3600) {
		control_fail(rq, "usage", "by_s: 1, 60 or 3600", NULL, "no rows of such a span");
		return;
	}
	if (link_arg(context, rq, args, false, &n.link)) {
		questions_ask(context, &n);
	}
}

static int ask_events(struct query *q, const struct question *n, json_t **ret_json)
{
	return query_events(q, since_arg(n->args), limit_arg(n->args), ret_json);
}

static void op_event_list(struct control_request *rq, json_t *args, void *context)
{
	questions_ask(
		context,
		&(struct question){.rq = rq, .args = args, .what = "events", .ask = ask_events});
}

static void op_consumer_list(struct control_request *rq, json_t *args, void *context)
{
	(void)args;
	control_answer(rq, json_pack("{s:o,s:o,s:o,s:o}", "groups", status_groups(context),
				     "members", status_members(context), "feed",
				     status_feed(context), "doors", status_doors(context)));
}

/* --- runs --- */

/* What a dry run of either adds while no slice can be told. */
static const char *slice_words(const struct station *s)
{
	struct clock_view v;

	clock_get_view(s->clock, &v);
	return v.label.anchor_tai_ns == FCM_NO_TAI
		       ? "; which one that is is not known: there is no time yet"
		       : "";
}

static void op_run_start(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	const char *note = text_arg(args, "note");

	if (runs_may_start(s, rq) && restore_done(s, rq, "the beginning of a run") &&
	    !control_dry(rq, args, "would begin run %u at the next slice border%s",
			 s->run.state.last + 1, slice_words(s))) {
		runs_start(s, note ? note : "", rq);
	}
}

static void op_run_stop(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;

	if (runs_may_stop(s, rq) && restore_done(s, rq, "the end of a run") &&
	    !control_dry(rq, args, "would end run %u at the next slice border%s",
			 s->run.state.number, slice_words(s))) {
		runs_stop(s, rq);
	}
}

/* As it is now, which the database may not know yet. */
static void tell_runs(struct question *n, int r, json_t *answer, const struct sc_error *error)
{
	if (r == 0) {
		json_object_set_new(answer, "current", json_integer(n->station->run.state.number));
	}
	questions_tell(n, r, answer, error);
}

static int ask_runs(struct query *q, const struct question *n, json_t **ret_json)
{
	return query_runs(q, limit_arg(n->args), ret_json);
}

static void op_run_show(struct control_request *rq, json_t *args, void *context)
{
	questions_ask(context, &(struct question){.rq = rq,
						  .args = args,
						  .what = "runs",
						  .ask = ask_runs,
						  .tell = tell_runs});
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
	{"info", ACCESS_READER, op_info, NULL, true},
	{"status", ACCESS_READER, op_status, NULL, true},
	{"link.list", ACCESS_READER, op_link_list, NULL},
	{"link.show", ACCESS_READER, op_link_show, "link:i"},
	{"link.reset", ACCESS_OPERATOR, op_link_reset, "link:i reason:s400 dry_run:b"},
	{"link.align", ACCESS_OPERATOR, op_link_align, "link:i reason:s400 dry_run:b"},
	{"phase.show", ACCESS_READER, op_phase_show, "link:i"},
	{"phase.history", ACCESS_READER, op_phase_history, "link:i since:n limit:i"},
	{"phase.accept", ACCESS_EXPERT, op_phase_accept, "link:i reason:s400 dry_run:b"},
	{"phase.soak", ACCESS_EXPERT, op_phase_soak,
	 "link:i trials:i interval_s:n command:s dry_run:b"},
	{"clock.show", ACCESS_READER, op_clock_show, NULL},
	{"clock.history", ACCESS_READER, op_clock_history, "since:n limit:i"},
	{"consumer.list", ACCESS_READER, op_consumer_list, NULL},
	{"ledger.show", ACCESS_READER, op_ledger_show, "since:n until:n link:i limit:i by_s:i"},
	{"run.start", ACCESS_OPERATOR, op_run_start, "note:s159 dry_run:b"},
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
	station_ops,	    station_param_ops, alarm_ops,	 station_history_ops,
	station_serial_ops, station_plan_ops,  station_safe_ops, NULL};

static void on_stored(struct station *s, const struct store_done *done)
{
	if (done->row == ROW_SNAPSHOT) {
		snapshots_stored(s, done->result);
	} else if (done->row == ROW_SNAPSHOT_REMOVE) {
		snapshots_removed(s, done->result);
	}
}

static void on_stop(struct station *s)
{
	snapshots_stop(s);
	safing_stop(s);
	serial_stop(s);
}

void ops_start(struct station *s)
{
	s->ops = (struct station_ops){
		.progress = safing_progress, .stored = on_stored, .stop = on_stop};
}
