// SPDX-License-Identifier: GPL-2.0-or-later
/* Status for operators: the objects of schemas/control.md. Every value has its age. Why status is red: alarms/. */
#include "daemon/ops/private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/alarms/judge.h"
#include "daemon/alarms/silence.h"
#include "daemon/capture/watch.h"
#include "daemon/control/network.h"
#include "daemon/station/incident_actions.h"
#include "daemon/station/base.h"
#include "daemon/station/reports.h"
#include "daemon/station/view.h"
#include "daemon/time/clock.h"
#include "slowctl/query/query.h"

static json_t *identity(uint8_t tower, uint8_t floor)
{
	return json_pack("{s:o,s:o}", "tower", tower == 0xff ? json_null() : json_integer(tower),
			 "floor", floor == 0xff ? json_null() : json_integer(floor));
}

static json_t *cells_json(const uint64_t cells[TDM_LOSSES])
{
	json_t *j = json_object();

	for (unsigned n = 0; n < TDM_LOSSES; n++) {
		json_object_set_new(j, tdm_loss_name(n), json_integer((json_int_t)cells[n]));
	}
	return j;
}

static json_t *text_or_null(const char *text)
{
	return *text ? json_string(text) : json_null();
}

/* Unknown while the board is gone. */
static json_t *rate_json(const struct ops *ops, double per_s)
{
	return links_board_present(ops->station) ? json_real(per_s) : json_null();
}

json_t *status_links(struct ops *ops, int wanted, json_t *(*item)(struct ops *ops, unsigned link))
{
	json_t *list = json_array();

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		if (ops->link[link].enabled && (wanted == QUERY_ALL || wanted == (int)link)) {
			json_array_append_new(list, item(ops, link));
		}
	}
	return list;
}

json_t *status_link(struct ops *ops, unsigned link)
{
	const struct station_link *l = &ops->link[link];
	const struct watch_link *w = watch_link(ops->watch, link);
	const struct config_link *c = &ops->config->link[link];
	uint64_t lost[TDM_LOSSES];
	json_t *j = json_pack(
		"{s:i,s:s,s:b,s:s,s:o,s:b,s:b,s:b,s:o,s:o,s:o,s:o,s:o}", "link", (int)link,
		FIELD(c, name), FIELD(l, enabled), "state",
		link_state_name(links_state(ops->station, link)), "expected",
		identity(c->tower, c->floor), "signal", (w->status & NANET3_LSTAT_SIGNAL) != 0,
		"locked", (w->status & NANET3_LSTAT_LOCKED) != 0, "aligned",
		l->data.aligned == TDM_LOCKED, "age_s", json_age(l->data.last_good_ns),
		"frames_per_s", rate_json(ops, l->per_s.frames), "bytes_per_s",
		rate_json(ops, l->per_s.bytes), "hits_per_s", rate_json(ops, l->per_s.hits),
		"cells", cells_json(l->data.cells));

	json_object_set_new(
		j, "lost_last_minute",
		json_integer((json_int_t)links_recent_losses(ops->station, link, lost)));
	json_object_update_missing_new(j, identity(l->named_tower, l->named_floor));
	json_object_update_new(j, json_pack("{s:I,s:f,s:I,s:I,s:I,s:I,s:{s:I,s:I},s:I,s:b,s:I}",
					    "offset_bytes",
					    (json_int_t)links_offset(ops->station, link),
					    "rx_power_uw", w->rx_power_nw / 1e3,
					    COUNT(w, code_errors), COUNT(&l->data, downlink_errors),
					    COUNT(w, lost_locks), COUNT(&w->phase, aligns), "ring",
					    "depth", (json_int_t)l->data.ring_depth, "used",
					    (json_int_t)(l->data.ring_write - l->data.ring_release),
					    COUNT(&l->data, dma_epoch), FIELD(&l->data, taken_over),
					    COUNT(&l->data, item_faults)));
	return j;
}

static json_t *three(const double v[3])
{
	return json_pack("{s:o,s:o,s:o}", "1", json_number_or_null(v[0]), "10",
			 json_number_or_null(v[1]), "100", json_number_or_null(v[2]));
}

json_t *status_reference(const struct phase_reference *r)
{
	if (!r->set) {
		return json_null();
	}
	return json_pack("{s:f,s:i,s:i,s:i,s:o}", FIELD(r, phase_ps), FIELD(r, rtt_frames),
			 FIELD(r, rtt_bytes), FIELD(r, rtt_bits), "time", json_time(r->time_ns));
}

json_t *status_phase(struct ops *ops, unsigned link)
{
	struct phase_view v;

	phase_get_view(ops->link[link].phase, now_mono_ns(), &v);
	if (!v.valid) {
		v.mean_ps = v.sigma_ps = v.peak_to_peak_ps = v.slope_ps_per_s = v.difference_ps =
			NAN;
	}
	if (!v.reference.set) {
		v.difference_ps = NAN;
	}
	if (v.last.verdict == PHASE_NONE) {
		v.last.difference_ps = NAN;
		v.last.time_ns = 0;
	}
	return json_pack(
		"{s:i,s:b,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:f,s:I,s:o,s:{s:i,s:i,s:i},s:o,s:{s:s,"
		"s:i,s:o,s:o,s:o},"
		"s:I,s:I,s:I,s:I,s:I,s:o,s:o}",
		"link", (int)link, FIELD(&v, locked), "since",
		v.locked ? json_time_of(v.lock_ns) : json_null(), "phase_ps",
		v.locked && v.last_sample_ns ? json_real(v.reading.phase_ps) : json_null(),
		NUMBER(&v, mean_ps), NUMBER(&v, sigma_ps), NUMBER(&v, peak_to_peak_ps),
		NUMBER(&v, slope_ps_per_s), NUMBER(&v, difference_ps), "tolerance_ps",
		ops->config->phase.tolerance_ps, COUNT(&v, samples), "age_s",
		json_age(v.last_sample_ns), "round_trip", "frames", v.reading.rtt_frames, "bytes",
		v.reading.rtt_bytes, "bits", v.reading.rtt_bits, "reference",
		status_reference(&v.reference), "last", "verdict",
		phase_verdict_name(v.last.verdict), FIELD(&v.last, slip),
		NUMBER(&v.last, difference_ps), "step_ps",
		v.last.step_ps != 0 ? json_real(v.last.step_ps) : json_null(), "age_s",
		json_age(v.last.time_ns), COUNT(&v, relocks), COUNT(&v, passes), COUNT(&v, slips),
		COUNT(&v, jumps), COUNT(&v, drifts), "tdev_ps", three(v.tdev_ps), "mtie_ps",
		three(v.mtie_ps));
}

/* --- the clock --- */

static json_t *relabelled_json(const struct clock_relabelling *r)
{
	if (!r->when_ns) {
		return json_null();
	}
	return json_pack("{s:o,s:f,s:o,s:I}", "time", json_time_of(r->when_ns), "by_s",
			 (double)r->by_ns / 1e9, "utc", json_time(r->utc_ns), "time_epoch",
			 (json_int_t)r->epoch);
}

json_t *status_clock(struct ops *ops)
{
	struct clock_view v;
	int64_t tai, utc = 0;
	int leap;

	clock_get_view(ops->clock, &v);
	if (v.label.anchor_tai_ns != INT64_MIN) {
		tai = label_tai_ns(&v.label, watch_board(ops->watch)->count);
		utc = label_utc_ns(&v.label, tai, &leap);
	}
	return json_pack(
		"{s:s,s:s,s:o,s:I,s:o,s:s,s:s,s:{s:b,s:b,s:o,s:o},s:{s:I,s:o},s:o,s:i,"
		"s:{s:b,s:b,s:b},s:o,s:b,s:b,s:o,s:I,s:I}",
		"state", clock_state_name(v.label.state), "source",
		label_source_name(v.label.source), "uncertainty_ns",
		v.label.uncertainty_ns == UINT32_MAX ? json_null()
						     : json_integer(v.label.uncertainty_ns),
		COUNT(&v.label, time_epoch), "since", json_time_of(v.state_since_ns), "reason",
		v.reason ? v.reason : "", "action", v.action ? v.action : "", "gpsd", "connected",
		v.gps_connected, "fix", v.gps_fix, "satellites",
		v.satellites_used < 0 ? json_null() : json_integer(v.satellites_used), "age_s",
		json_age(v.last_gps_ns), "pps", "number", (json_int_t)v.pps_number, "age_s",
		json_age(v.last_pps_ns), "utc", json_time(utc), FIELD(&v.label, tai_utc_s), "leap",
		"announced", v.label.leap_tai_ns != INT64_MAX, "table_expired",
		v.leap_table_expired, "mismatch", v.leap_mismatch, "system_offset_s",
		v.system_minus_label_ns == INT64_MIN
			? json_null()
			: json_real((double)v.system_minus_label_ns / 1e9),
		"system_synchronised", v.system_synced, FIELD(&v, system_disagrees), "relabelled",
		relabelled_json(&v.relabelled), COUNT(&v, relabels), COUNT(&v, rejects));
}

/* --- consumers --- */

static json_t *streams_json(uint8_t streams)
{
	json_t *j = json_array();

	for (unsigned n = 0; n < FCM_STREAMS; n++) {
		if (streams & 1u << n) {
			json_array_append_new(j, json_string(fcm_stream_name(n)));
		}
	}
	return j;
}

static json_t *group_json(const struct group_status *g)
{
	const struct block_drop *d = &g->last_drop;
	json_t *dropped = json_object();
	json_t *last = json_null();

	for (unsigned o = OUTCOME_DROP_NO_MEMBER; o < OUTCOMES; o++) {
		json_object_set_new(dropped, outcome_name(o),
				    json_pack("{s:I,s:I}", "blocks", (json_int_t)g->dropped[o],
					      "frames", (json_int_t)g->dropped_frames[o]));
	}
	if (d->outcome) {
		last = json_pack("{s:s,s:i,s:i,s:s,s:I,s:I,s:o}", "outcome",
				 outcome_name(d->outcome), "tower", d->tower, "floor", d->floor,
				 "stream", fcm_stream_name(d->stream), "first_frame",
				 (json_int_t)d->first_frame, "frames", (json_int_t)d->frames,
				 "age_s", json_age(d->at_ns));
	}
	return json_pack("{s:s,s:o,s:s,s:i,s:I,s:I,s:I,s:I,s:o,s:f,s:o,s:I,s:f,s:f,s:I,s:I,s:I,s:I,"
			 "s:I,s:I}",
			 "group", g->name, "streams", streams_json(g->streams), "policy",
			 fcm_policy_name(g->policy), "members", (int)g->members, COUNT(g, offered),
			 "acknowledged", (json_int_t)g->acked, COUNT(g, in_flight),
			 COUNT(g, waiting), "dropped", dropped, "oldest_s",
			 (double)g->oldest_ns / 1e9, "last_drop", last, "acknowledged_bytes",
			 (json_int_t)g->acked_bytes, FIELD(g, blocks_per_s), FIELD(g, bytes_per_s),
			 COUNT(g, in_flight_bytes), COUNT(g, waiting_bytes), COUNT(g, held_bytes),
			 COUNT(g, budget_bytes), "beyond_limit", (json_int_t)g->beyond,
			 COUNT(g, disconnected));
}

static json_t *member_json(const struct member_status *m)
{
	return json_pack("{s:s,s:s,s:s,s:b,s:s,s:i,s:i,s:I,s:f,s:I,s:I,s:f,s:f,s:I,s:o}", "member",
			 m->name, FIELD(m, group), FIELD(m, address), "alive",
			 m->state == MEMBER_ALIVE, "state", member_state_name(m->state), "credit",
			 (int)m->credit, "in_flight", (int)m->in_flight, COUNT(m, in_flight_bytes),
			 "oldest_s", (double)m->oldest_ns / 1e9, COUNT(m, delivered),
			 COUNT(m, delivered_bytes), FIELD(m, blocks_per_s), FIELD(m, bytes_per_s),
			 COUNT(m, redelivered), "age_s", json_age(m->last_seen_ns));
}

json_t *status_groups(struct ops *ops)
{
	json_t *j = json_array();

	reports_groups(ops->station);
	for (unsigned n = 0; n < ops->publisher_status->groups; n++) {
		json_array_append_new(j, group_json(&ops->publisher_status->group[n]));
	}
	return j;
}

json_t *status_members(struct ops *ops)
{
	json_t *j = json_array();

	reports_groups(ops->station);
	for (unsigned n = 0; n < ops->publisher_status->members; n++) {
		json_array_append_new(j, member_json(&ops->publisher_status->member[n]));
	}
	return j;
}

static json_t *status_door(const char *endpoint, const struct door_status *v)
{
	return json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "endpoint", endpoint, "connections",
			 (json_int_t)(v->accepted - v->ended), COUNT(v, accepted),
			 COUNT(v, admitted), COUNT(v, refused), COUNT(v, crowded),
			 COUNT(v, unfinished), COUNT(v, silent));
}

/* The data sockets: connections, and how many were refused. */
json_t *status_doors(struct ops *ops)
{
	const struct publisher_status *v = ops->publisher_status;
	const char *endpoint = publisher_monitor_endpoint(ops->publisher);
	json_t *monitors = json_null();

	if (*endpoint) {
		monitors = status_door(endpoint, &v->monitor_door);
		json_object_set_new(monitors, "greedy",
				    json_integer((json_int_t)v->monitor_door.greedy));
	}
	return json_pack("{s:o,s:o}", "reserved",
			 status_door(publisher_reserved_endpoint(ops->publisher), &v->door),
			 "monitors", monitors);
}

json_t *status_value(const struct param *p, double value)
{
	const char *name;

	if (p->kind->type == PARAM_ENUM) {
		name = param_enum_name(p->kind, value);
		return name ? json_string(name) : json_real(value);
	}
	if (p->kind->type == PARAM_BOOL) {
		return json_boolean(value != 0);
	}
	if (p->kind->type == PARAM_INT) {
		return json_integer((json_int_t)llround(value));
	}
	return json_number_or_null(value);
}

json_t *status_limits(const struct param_kind *k)
{
	bool set = k->access == PARAM_RW;
	double low = set ? k->soft_min : k->limits.alarm_min,
	       high = set ? k->soft_max : k->limits.alarm_max;
	bool number = k->type == PARAM_FLOAT || k->type == PARAM_INT;

	if (set ? !isfinite(low) || !isfinite(high)
		: !number || (!isfinite(low) && !isfinite(high))) {
		return json_null();
	}
	return json_pack("{s:o,s:o}", "low", json_number_or_null(low), "high",
			 json_number_or_null(high));
}

json_t *status_param(struct ops *ops, const struct param *p)
{
	const struct param_kind *k = p->kind;
	double age = param_age_s(p, now_mono_ns());

	return json_pack("{s:s,s:s,s:s,s:s,s:s,s:b,s:o,s:o,s:s,s:o,s:o,s:s,s:o}", FIELD(p, name),
			 FIELD(k, description), FIELD(k, unit), "type", param_type_names[k->type],
			 "access", param_access_names[k->access], "ramps", k->settle_by[0] != '\0',
			 "value", p->has_value ? status_value(p, p->value) : json_null(),
			 "setpoint", p->has_setpoint ? status_value(p, p->setpoint) : json_null(),
			 "quality",
			 param_quality_names[engine_quality(ops->engine, p, station_now())],
			 "age_s", age < 0 ? json_null() : json_real(age), "limits",
			 status_limits(k), "danger", param_danger_names[k->danger], "link",
			 p->link < 0 ? json_null() : json_integer(p->link));
}

/* Of the floor on a link. */
static json_t *silence_json(struct ops *ops, unsigned link)
{
	const struct config_link *c = &ops->config->link[link];
	struct silence_view v;

	silence_get(ops->params, link, now_mono_ns(), &v);
	return json_pack("{s:i,s:i,s:s,s:o,s:i,s:o}", FIELD(c, tower), FIELD(c, floor), "timer",
			 silence_timer_name(v.timer), "time_s",
			 v.time_s < 0 ? json_null() : json_integer(v.time_s), "fired", (int)v.fired,
			 "fired_at", v.fired_ns ? json_time(v.fired_ns) : json_null());
}

json_t *status_data_key(const struct ops *ops)
{
	return text_or_null(ops->public_key);
}

/* --- status --- */

static json_t *network_json(struct ops *ops)
{
	struct network_status v;
	json_t *j;

	if (!ops->network) {
		return json_null();
	}
	network_get_status(ops->network, &v);
	j = status_door(ops->config->network.endpoint, &v.door);
	json_object_update_new(
		j, json_pack("{s:s,s:i,s:i,s:I,s:I,s:I,s:I,s:I,s:I}", FIELD(&v, public_key), "keys",
			     (int)v.keys, "clients", (int)v.clients, COUNT(&v, refused_key),
			     COUNT(&v, requests), COUNT(&v, bad_messages), COUNT(&v, refused_rate),
			     COUNT(&v, removed), COUNT(&v, unsent)));
	return j;
}

static json_t *network_status_json(struct ops *ops)
{
	struct control_stats v;

	control_get_stats(ops->control, &v);
	return json_pack("{s:I,s:I,s:I,s:I,s:b,s:I,s:o}", COUNT(&v, clients),
			 COUNT(&v, bad_messages), COUNT(&v, crowded), COUNT(&v, strangers), "roles",
			 *ops->has_roles, "refused_role",
			 (json_int_t)dispatch_refused(ops->dispatch), "network", network_json(ops));
}

/* Commands with unknown outcome: observations of the engine. */
static unsigned unknown_commands(struct ops *ops)
{
	const struct alarm *e = NULL;
	unsigned count = 0;

	while ((e = alarms_next(judge_alarms(ops->judge), e))) {
		count += alarm_is_active(e) && strcmp(e->code, "command-unknown") == 0;
	}
	return count;
}

/* What is read from a floor that is not heard is old. */
static enum judge_module_state module_state(struct ops *ops, unsigned link, unsigned module)
{
	enum judge_module_state state = view_module(ops->station, link, module);
	bool seeing = state == JUDGE_MODULE_ON || state == JUDGE_MODULE_LOW;

	return seeing && links_state(ops->station, link) != LINK_UP ? JUDGE_MODULE_UNKNOWN : state;
}

/* The optical modules: how many see something, and why the others do not. */
static json_t *modules_json(struct ops *ops)
{
	static const char *const words[JUDGE_MODULES] = {"on", "low", "off", "tripped", "unknown"};
	json_t *names[JUDGE_MODULES], *all = json_object();
	unsigned count = 0, on = 0;

	for (unsigned n = 0; n < JUDGE_MODULES; n++) {
		names[n] = json_array();
	}
	for (unsigned n = 0; n < NANET3_LINKS * PARAM_OM_COUNT; n++) {
		unsigned link = n / PARAM_OM_COUNT, module = n % PARAM_OM_COUNT;
		enum judge_module_state state;

		if (ops->link[link].enabled) {
			state = module_state(ops, link, module);
			count++;
			on += state == JUDGE_MODULE_ON;
			json_array_append_new(names[state],
					      json_sprintf("tower%u.floor%u.om%u",
							   ops->config->link[link].tower,
							   ops->config->link[link].floor, module));
		}
	}
	json_object_set_new(all, "count", json_integer(count));
	json_object_set_new(all, "on", json_integer(on));
	json_decref(names[JUDGE_MODULE_ON]);
	for (unsigned n = JUDGE_MODULE_ON + 1; n < JUDGE_MODULES; n++) {
		json_object_set_new(all, words[n], names[n]);
	}
	return all;
}

json_t *status_json(struct ops *ops)
{
	struct store_status store;
	const struct capture_status *c = ops->capture_status;

	store_get_status(ops->store, &store);
	return json_pack(
		"{s:i,s:s,s:s,s:o,s:f,s:o,s:o,s:o,s:o,s:o,s:o,s:{s:i,s:s,s:o},"
		"s:{s:s,s:f,s:I,s:I,s:s,s:o,s:s},s:{s:o,s:I,s:I,s:I,s:o},s:{s:i,s:i},s:o,s:o,s:o,s:"
		"{s:s,s:"
		"s,s:o}}",
		"board", (int)ops->config->instance, FIELD(&ops->config->daemon, name), "version",
		FCM_VERSION, "time", json_time(now_utc_ns()), "uptime_s",
		(double)(now_mono_ns() - ops->started_ns) / 1e9, "incidents",
		incident_actions_list(ops->station), "modules", modules_json(ops), "clock",
		status_clock(ops), "links", status_links(ops, QUERY_ALL, status_link), "phases",
		status_links(ops, QUERY_ALL, status_phase), "groups", status_groups(ops), "run",
		"number", (int)ops->run->state.number, FIELD(ops->run, note), "since",
		ops->run->state.number ? json_time(ops->run->begun_ns) : json_null(), "store",
		"state",
		store.failing	  ? "failing"
		: store.damage[0] ? "damaged"
				  : "well",
		"lag_s", (double)store.lag_ns / 1e9, COUNT(&store, queued), COUNT(&store, errors),
		"last_error", store.last_error_text, "read_age_s", json_age(store.whole_ns),
		FIELD(&store, damage), "capture", "tick_age_s", json_age(c->last_tick_ns),
		COUNT(c, pool_in_use), COUNT(c, pool_bytes), COUNT(c, reports_lost),
		"first_release_s",
		c->first_release_ns
			? json_real((double)(int64_t)(c->first_release_ns - ops->started_ns) / 1e9)
			: json_null(),
		"commands", "open", (int)engine_open_count(ops->engine), "unknown",
		(int)unknown_commands(ops), "recording", status_record(ops), "control",
		network_status_json(ops), "silence", status_links(ops, QUERY_ALL, silence_json),
		"data", "reserved", publisher_reserved_endpoint(ops->publisher), "monitors",
		publisher_monitor_endpoint(ops->publisher), "public_key", status_data_key(ops));
}

void status_line(struct ops *ops, char *text, size_t size)
{
	struct clock_view v;
	unsigned up = 0;
	char words[64];

	clock_get_view(ops->clock, &v);
	clock_words(&v.label, words, sizeof(words));
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		up += links_state(ops->station, link) == LINK_UP;
	}
	snprintf(text, size, "%u of %u links up, clock %s, run %u", up,
		 station_links_count(ops->station), words, ops->run->state.number);
}
