/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What fcm-notify reports of its receivers; the judge makes an incident of it. A test is a number: fcm-notify learns it with
 * its next report, and tells when it is done. */
#include "daemon/ops/private.h"

#include "daemon/core/text.h"

#define RECEIVERS_MAX 16

/* "a, b", in ASCII: what a reader says goes into everybody's status. */
static void join(const json_t *texts, char *text, size_t size)
{
	size_t n;
	const json_t *item;

	*text = '\0';
	json_array_foreach (texts, n, item) {
		text_list(text, size, "%s", json_string_value(item));
	}
	for (char *c = text; *c; c++) {
		*c = *c >= ' ' && *c <= '~' ? *c : '?';
	}
}

static void op_report(struct control_request *rq, json_t *args, void *context)
{
	struct notices *n = ((struct ops *)context)->notices;

	join(json_object_get(args, "receivers"), n->receivers, sizeof(n->receivers));
	join(json_object_get(args, "failing"), n->report.failing, sizeof(n->report.failing));
	n->report.waiting = (unsigned)arg_int(args, "waiting", 0);
	n->report.reported_ns = now_mono_ns();
	/* One that an earlier daemon had asked for is none of ours. */
	n->tested = arg_int(args, "tested", 0) < n->test ? arg_int(args, "tested", 0) : n->test;
	control_answer(rq, json_pack("{s:I}", "test", (json_int_t)n->test));
}

static void op_test(struct control_request *rq, json_t *args, void *context)
{
	struct notices *n = ((struct ops *)context)->notices;

	if (!n->report.reported_ns) {
		control_fail(rq, "refused",
			     "systemctl start fcm-notify@N; its manual: fcm-notify(8)", NULL,
			     "fcm-notify has not reported to this daemon");
		return;
	}
	if (control_dry(rq, args, "would send a test to: %s", n->receivers)) {
		return;
	}
	control_answer(rq, json_pack("{s:I}", "test", (json_int_t)++n->test));
}

static void op_show(struct control_request *rq, json_t *args, void *context)
{
	const struct notices *n = ((struct ops *)context)->notices;

	control_answer(rq, json_pack("{s:o,s:s,s:s,s:I,s:I,s:I}", "age_s",
				     json_age(n->report.reported_ns), "receivers", n->receivers,
				     "failing", n->report.failing, "waiting",
				     (json_int_t)n->report.waiting, "test", (json_int_t)n->test,
				     "tested", (json_int_t)n->tested));
}

const struct control_op notify_ops[] = {
	{"notify.report", ACCESS_READER, op_report, "fcm-notify's own: how its receivers are",
	 CONTROL_ARGS({"receivers", ARG_TEXTS, true, 1, RECEIVERS_MAX, .about = "their names"},
		      {"failing", ARG_TEXTS, true, 0, RECEIVERS_MAX,
		       .about = "which cannot be reached, and why"},
		      {"waiting", ARG_INT, true, 0, 1000000, .about = "notices"},
		      {"tested", ARG_INT, true, 0, 1000000000,
		       .about = "the newest test that is done"})},
	{"notify.test", ACCESS_OPERATOR, op_test, "send each receiver of fcm-notify a test",
	 CONTROL_ARGS(DRY_RUN)},
	{"notify.show", ACCESS_READER, op_show, "how the receivers of fcm-notify are"},
	{0},
};
