// SPDX-License-Identifier: GPL-2.0-or-later
/* The object Clock of schemas/control.md. */
#include "daemon/ops/private.h"

#include "daemon/capture/watch.h"
#include "daemon/time/clock.h"

static json_t *relabelled_json(const struct clock_relabelling *r)
{
	if (!r->when_ns) {
		return json_null();
	}
	return json_pack("{s:o,s:f,s:o,s:I}", "time", json_time_of(r->when_ns), "by_s",
			 (double)r->by_ns / 1e9, "utc", json_time(r->utc_ns), "time_epoch",
			 (json_int_t)r->epoch);
}

json_t *status_clock(struct station *s)
{
	struct clock_view v;
	int64_t tai, utc = 0;
	int leap;

	clock_get_view(s->clock, &v);
	if (v.label.anchor_tai_ns != INT64_MIN) {
		tai = label_tai_ns(&v.label, watch_board(s->watch)->count);
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
