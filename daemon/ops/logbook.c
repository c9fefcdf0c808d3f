// SPDX-License-Identifier: GPL-2.0-or-later
/* The logbook: a remark of the shift becomes an event, beside what the station writes there itself. */
#include "daemon/ops/private.h"

#include <stdio.h>

#define REMARK_MAX 400

static void op_add(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	const struct control_peer *peer = control_peer(rq);
	const char *object = arg_words(args, "object");
	json_int_t incident = arg_int(args, "incident", 0);
	char text[REMARK_MAX + 160], of[40] = "";
	int64_t now = now_utc_ns();

	if (!restore_done(ops->station, rq, "a remark")) {
		return;
	}
	if (incident) {
		snprintf(of, sizeof(of), " [incident %lld]", (long long)incident);
	}
	snprintf(text, sizeof(text), "%s: %s%s", peer->who, arg_words(args, "text"), of);
	if (control_dry(rq, args, "would write into the logbook: %s", text)) {
		return;
	}
	store_put_remark(ops->store, arg_true(args, "summary") ? "summary" : "remark",
			 *object ? object : "shift", text, now);
	control_answer(rq, json_pack("{s:o,s:s,s:s}", "time", json_time(now), "object",
				     *object ? object : "shift", "text", text));
}

const struct control_op logbook_ops[] = {
	{"log.add", ACCESS_OPERATOR, op_add, "a remark of the shift, into the events",
	 CONTROL_ARGS({"text", ARG_TEXT, true, 1, REMARK_MAX, .about = "what is to be remembered"},
		      {"object", ARG_TEXT, .max = 63, .about = "what it is about: floor3, link2"},
		      {"incident", ARG_INT, false, 1, 0, .about = "the number of an incident"},
		      {"summary", ARG_BOOL, .about = "the shift in a sentence"}, DRY_RUN)},
	{0},
};
