// SPDX-License-Identifier: GPL-2.0-or-later
/* record.start, record.stop, record.list: what is asked for; the recorder carries it out (station/records.c). */
#include "daemon/ops/private.h"

#include "daemon/core/text.h"
#include "daemon/station/base.h"
#include "daemon/station/view.h"

static bool take_links(struct ops *ops, struct control_request *rq, json_t *links,
		       unsigned *ret_links)
{
	unsigned there = station_links(ops->station), wanted = 0;
	json_t *j;
	size_t n;

	json_array_foreach (links, n, j) {
		json_int_t link = json_integer_value(j);

		if (!(there >> link & 1)) {
			control_fail(rq, "usage", "fcmctl link list shows those that there are",
				     NULL, "no such link to record");
			return false;
		}
		wanted |= 1u << link;
	}
	*ret_links = wanted ? wanted : ops->config->record.links & there;
	if (*ret_links == 0) {
		control_fail(rq, "usage", "fcmctl record start --links 0", NULL,
			     "none of the links of [record] links is configured");
	}
	return *ret_links != 0;
}

/* Whether the disk can take it is not tried. */
static void start_dry(struct ops *ops, struct control_request *rq, const json_t *args,
		      const struct record_spec *spec, double for_s)
{
	struct recorder_status v;
	char links[32], span[40] = "until it is stopped";

	recorder_get_status(ops->recorder, &v);
	if (v.active) {
		control_fail(rq, "refused", "fcmctl record stop", NULL, "recording %s is going on",
			     v.spec.name);
		return;
	}
	if (for_s > 0) {
		snprintf(span, sizeof(span), "for %.10g s", for_s);
	}
	control_dry(rq, args, "would record links %s %s%s%s",
		    text_bits(links, sizeof(links), "", spec->links), span,
		    *spec->name ? ", as " : "", spec->name);
}

static void op_start(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	struct record_spec spec = {.begun_ns = now_utc_ns()};
	double for_s = arg_number(args, "seconds", 0);

	if (records_busy(ops->station, rq) ||
	    !take_links(ops, rq, json_object_get(args, "links"), &spec.links)) {
		return;
	}
	snprintf(spec.name, sizeof(spec.name), "%s", arg_words(args, "name"));
	snprintf(spec.note, sizeof(spec.note), "%s", arg_words(args, "note"));
	spec.until_ns = for_s > 0 ? spec.begun_ns + (int64_t)(for_s * 1e9) : 0;
	snprintf(spec.who, sizeof(spec.who), "%s", control_peer(rq)->who);
	if (*spec.name && !record_dir_name_ok(spec.name)) {
		control_fail(rq, "usage", "letters, digits and . _ - only, not a dot first", NULL,
			     "a recording cannot have that name: it is a directory's");
	} else if (record_dir_name_is_box(spec.name)) {
		control_fail(rq, "usage", "another name", NULL,
			     "only black boxes have names that begin with " RECORD_BOX);
	} else if (control_is_dry(args)) {
		start_dry(ops, rq, args, &spec, for_s);
	} else {
		records_order_start(ops->station, rq, &spec);
	}
}

static void stop_dry(struct ops *ops, struct control_request *rq, const json_t *args)
{
	struct recorder_status v;

	recorder_get_status(ops->recorder, &v);
	if (v.active) {
		control_dry(rq, args, "would end recording %s", v.spec.name);
	} else if (ops->records->failed) {
		control_dry(rq, args, "would take note that the disk has stopped recording %s",
			    ops->records->failure.spec.name);
	} else {
		control_fail(rq, "refused", "fcmctl record list", NULL, "no recording is going on");
	}
}

static void op_stop(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;

	if (control_is_dry(args)) {
		stop_dry(ops, rq, args);
	} else {
		records_order_stop(ops->station, rq);
		view_judge(ops->station); /* status shows what was done */
	}
}

/* The client reads the directory itself: on a disk that hangs, it waits and not the daemon. */
static void op_list(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	struct recorder_status v;

	recorder_get_status(ops->recorder, &v);
	control_answer(rq, json_pack("{s:s,s:o}", "directory", ops->records->directory, "active",
				     v.active ? json_string(v.spec.name) : json_null()));
}

#define RECORDING                                                                                  \
	CONTROL_ARGS({"links", ARG_INTS, false, 0, NANET3_LINKS - 1,                               \
		      .about = "else those of [record] links"},                                    \
		     {"name", ARG_TEXT, .max = RECORD_NAME - 1,                                    \
		      .about = "letters, digits and . _ - only; else the time"},                   \
		     {"note", ARG_TEXT, .max = 159, .about = "for recording.json"},                \
		     {"seconds", ARG_NUMBER, false, 1, 31536000, .unit = "s",                      \
		      .about = "for so long; else until record.stop"},                             \
		     DRY_RUN)

const struct control_op record_ops[] = {
	{"record.start", ACCESS_OPERATOR, op_start, "record links to disk", RECORDING},
	{"record.stop", ACCESS_OPERATOR, op_stop, "end the recording", CONTROL_ARGS(DRY_RUN)},
	{"record.list", ACCESS_READER, op_list, "where recordings are"},
	{0},
};

/* --- status --- */

json_t *status_record(struct ops *ops)
{
	struct recorder_status v;
	double left;

	recorder_get_status(ops->recorder, &v);
	if (!v.active) {
		v.spec = (struct record_spec){0};
	}
	v.box_failed += ops->records->boxes_unasked;
	left = v.active && v.bytes_per_s > 0 ? (double)v.free_bytes / v.bytes_per_s : -1;
	return json_pack(
		"{s:b,s:o,s:s,s:s,s:o,s:o,s:o,s:I,s:I,s:I,s:I,s:f,s:I,s:o,s:{s:i,s:I,s:I}}",
		FIELD(&v, active), "name", v.active ? json_string(v.spec.name) : json_null(),
		FIELD(&v.spec, note), FIELD(&v.spec, who), "links", record_links_json(v.spec.links),
		"since", json_time(v.spec.begun_ns), "until", json_time(v.spec.until_ns),
		COUNT(&v.counts, bytes), COUNT(&v.counts, frames), "gap_frames",
		(json_int_t)v.counts.gaps, "let_go_frames", (json_int_t)v.counts.let_go,
		FIELD(&v, bytes_per_s), COUNT(&v, free_bytes), "lasts_s",
		left >= 0 ? json_real(left) : json_null(), "black_boxes", "kept", (int)v.boxes,
		"refused", (json_int_t)v.box_refused, "failed", (json_int_t)v.box_failed);
}
