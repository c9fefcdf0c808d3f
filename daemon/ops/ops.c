// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Operations on station, links, phase, consumers and runs; and the list of all tables. What a daemon offers:
 * `ops.list`.
 */
#include "daemon/ops/private.h"

#include "daemon/capture/watch.h"
#include "daemon/station/view.h"
#include "daemon/time/clock.h"
#include "slowctl/query/query.h"

/* --- station --- */

/* The client, as the daemon knows it. */
static json_t *you_json(const struct control_request *rq)
{
	const struct control_peer *peer = control_peer(rq);

	return json_pack("{s:s,s:s,s:s}", FIELD(peer, who), FIELD(peer, origin), "role",
			 access_role_name(peer->role));
}

static void op_info(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;

	control_answer(rq, json_pack("{s:s,s:i,s:s,s:i,s:o,s:s,s:s,s:s,s:s,s:o,s:o}", "version",
				     FCM_VERSION, "board", (int)ops->config->instance,
				     FIELD(&ops->config->daemon, name), "pid", (int)getpid(),
				     "started", json_time(ops->started_utc_ns),
				     FIELD(&ops->config->store, database),
				     FIELD(&ops->config->data, monitor_endpoint),
				     FIELD(&ops->config->data, reserved_endpoint),
				     FIELD(&ops->config->board, device), "public_key",
				     status_data_key(ops), "you", you_json(rq)));
}

static void op_status(struct control_request *rq, json_t *args, void *context)
{
	json_t *j = status_json(context);

	json_object_set_new(j, "you", you_json(rq));
	control_answer(rq, j);
}

static void op_ops_list(struct control_request *rq, json_t *args, void *context)
{
	control_answer(rq, control_ops_json(station_op_tables));
}

/* --- links --- */

static void op_link_list(struct control_request *rq, json_t *args, void *context)
{
	control_answer(rq,
		       json_pack("{s:o}", "links", status_links(context, QUERY_ALL, status_link)));
}

static json_t *registers_json(const struct watch_link *w)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", COUNT(w, status),
			 COUNT(w, rx_power_nw), COUNT(w, tx_power_nw), COUNT(&w->phase, phase_ps),
			 COUNT(&w->phase, aligns), COUNT(w, code_errors), COUNT(w, lost_locks),
			 COUNT(w, drop_fifo), COUNT(w, drop_ring), COUNT(w, drop_down),
			 COUNT(w, cells));
}

static json_t *telemetry_json(const struct station_link *l)
{
	const struct tdm_telemetry *t = &l->telemetry;

	if (!l->telemetry_ns) {
		return json_null();
	}
	return json_pack("{s:o,s:I,s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:I,s:I,s:I}", "age_s",
			 json_age(l->telemetry_ns), COUNT(t, boot_count), COUNT(t, uptime_s),
			 "temperature_c", t->temperature_mc / 1e3, "humidity_percent",
			 t->humidity_ppm / 1e4, "supply_v", t->supply_mv / 1e3, "current_a",
			 t->current_ma / 1e3, "heading_deg", t->heading_mdeg / 1e3, "pitch_deg",
			 t->pitch_mdeg / 1e3, "roll_deg", t->roll_mdeg / 1e3, COUNT(t, power_mask),
			 COUNT(t, executed), COUNT(t, rejected));
}

static void op_link_show(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	json_t *j;
	int link;

	if (!link_arg(ops, rq, args, &link)) {
		return;
	}
	j = status_link(ops, (unsigned)link);
	json_object_set_new(j, "registers", registers_json(watch_link(ops->watch, (unsigned)link)));
	json_object_set_new(j, "floor_telemetry", telemetry_json(&ops->link[link]));
	control_answer(rq, j);
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

static json_t *phase_json(struct ops *ops, unsigned link)
{
	json_t *phase = status_phase(ops, link);

	json_object_set_new(phase, "histogram", histogram_json(ops->link[link].phase));
	return phase;
}

static void op_phase_show(struct control_request *rq, json_t *args, void *context)
{
	int link;

	if (link_arg(context, rq, args, &link)) {
		control_answer(
			rq, json_pack("{s:o}", "phases", status_links(context, link, phase_json)));
	}
}

static void op_phase_accept(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	const char *why = arg_text(args, "reason"), *who = control_peer(rq)->who;
	struct phase_reference r;
	struct phase_judgement j;
	json_t *answer;
	int link;

	if (!link_arg(ops, rq, args, &link)) {
		return;
	}
	if (links_other_floor(ops->station, (unsigned)link)) {
		control_fail(rq, "refused", "swap the fibres back first", NULL,
			     "link %d: another floor than configured is on it", link);
		return;
	}
	if (!restore_done(ops->station, rq, "a new reference")) {
		return;
	}
	if (phase_candidate(ops->link[link].phase, now_utc_ns(), &r) < 0) {
		control_fail(rq, "refused", "wait until the link is locked and has been sampled",
			     NULL, "link %d has no mean phase to accept", link);
		return;
	}
	if (control_dry(rq, args, "would take %.1f ps as the reference of link %d", r.phase_ps,
			link)) {
		return;
	}
	phase_accept(ops->link[link].phase, now_utc_ns(), &r);
	store_put_phase_reference(ops->store, (unsigned)link, &r, who, why);
	j = (struct phase_judgement){.verdict = PHASE_FIRST, .mean_ps = r.phase_ps};
	store_put_phase_event(ops->store, (unsigned)link, &j, who, why, now_utc_ns());
	log_event(LOG_NOTICE, "phase", link, LOG_ID_PHASE,
		  "link %d: new reference %.1f ps accepted by %s: %s", link, r.phase_ps, who, why);
	view_judge(ops->station); /* status shows what was done */
	answer = status_reference(&r);
	json_object_set_new(answer, "link", json_integer(link));
	control_answer(rq, answer);
}

static void op_clock_show(struct control_request *rq, json_t *args, void *context)
{
	control_answer(rq, status_clock(context));
}

static void op_consumer_list(struct control_request *rq, json_t *args, void *context)
{
	control_answer(rq, json_pack("{s:o,s:o,s:o,s:o}", "groups", status_groups(context),
				     "members", status_members(context), "feed",
				     status_feed(context), "doors", status_doors(context)));
}

/* --- runs --- */

/* What a dry run of either adds while the slice is unknown. */
static const char *slice_words(const struct ops *ops)
{
	struct clock_view v;

	clock_get_view(ops->clock, &v);
	return v.label.anchor_tai_ns == FCM_NO_TAI
		       ? "; its number is unknown, because there is no time yet"
		       : "";
}

static void op_run_start(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;

	if (runs_may_start(ops->station, rq) &&
	    restore_done(ops->station, rq, "the beginning of a run") &&
	    !control_dry(rq, args, "would begin run %u at the next slice border%s",
			 ops->run->state.last + 1, slice_words(ops))) {
		runs_start(ops->station, arg_words(args, "note"), rq);
	}
}

static void op_run_stop(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;

	if (runs_may_stop(ops->station, rq) && restore_done(ops->station, rq, "the end of a run") &&
	    !control_dry(rq, args, "would end run %u at the next slice border%s",
			 ops->run->state.number, slice_words(ops))) {
		runs_stop(ops->station, rq);
	}
}

#define LINK_COMMAND CONTROL_ARGS(LINK(true), REASON(false, 400), DRY_RUN)
#define SOAK                                                                                       \
	CONTROL_ARGS(                                                                              \
		LINK(true), {"trials", ARG_INT, true, 1, SOAK_TRIALS_MAX, .about = "how many"},    \
		{"interval_s", ARG_NUMBER, true, 0, 86400, .unit = "s",                            \
		 .about = "between two trials"},                                                   \
		{"command", ARG_TEXT, .words = "align|reset", .about = "else reset"}, DRY_RUN)

static const struct control_op station_ops[] = {
	{"info", ACCESS_READER, op_info, "the daemon: version, board, files, endpoints",
	 .urgent = true},
	{"status", ACCESS_READER, op_status, "the state of everything, and what is wrong",
	 .urgent = true},
	{"ops.list", ACCESS_READER, op_ops_list, "the operations that this daemon offers"},
	{"link.list", ACCESS_READER, op_link_list, "all links"},
	{"link.show", ACCESS_READER, op_link_show, "one link with its registers",
	 CONTROL_ARGS(LINK(true))},
	{"link.reset", ACCESS_OPERATOR, op_relock, "reset a link and align it", LINK_COMMAND},
	{"link.align", ACCESS_OPERATOR, op_relock, "align a link", LINK_COMMAND},
	{"phase.show", ACCESS_READER, op_phase_show, "phase of the links",
	 CONTROL_ARGS(LINK(false))},
	{"phase.accept", ACCESS_EXPERT, op_phase_accept, "take the phase of now as reference",
	 CONTROL_ARGS(LINK(true), REASON(true, 400), DRY_RUN)},
	{"phase.soak", ACCESS_EXPERT, op_soak, "reset a link many times, judge each phase", SOAK},
	{"clock.show", ACCESS_READER, op_clock_show, "the clock"},
	{"consumer.list", ACCESS_READER, op_consumer_list, "consumers, and where they connect"},
	{"run.start", ACCESS_OPERATOR, op_run_start, "begin a run",
	 CONTROL_ARGS({"note", ARG_TEXT, .max = 159, .about = "for the journal"}, DRY_RUN)},
	{"run.stop", ACCESS_OPERATOR, op_run_stop, "end the run", CONTROL_ARGS(DRY_RUN)},
	{0},
};

const struct control_op *const station_op_tables[] = {
	station_ops,  record_ops, param_ops,   history_ops, incident_ops, serial_ops,
	snapshot_ops, safe_ops,	  logbook_ops, notify_ops,  NULL};

static void on_stop(struct ops *ops)
{
	snapshots_stop(ops);
	safing_stop(ops);
	serial_stop(ops);
	relock_stop(ops);
	waiters_stop(ops);
}

static void on_progress(struct ops *ops, const struct engine_out *out)
{
	safing_progress(ops, out);
	relock_progress(ops, out);
	waiters_progress(ops, out);
}

const struct station_ops ops_handlers = {
	.progress = on_progress,
	.judged = relock_judged,
	.stored = snapshots_stored,
	.stop = on_stop,
};

int ops_start(struct ops *ops)
{
	return snapshots_start(ops);
}

void ops_tick(struct ops *ops)
{
	relock_tick(ops);
	serial_tick(ops);
}
