// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Operations that look back: what parameters were at a time (param.at), what differs between two (param.diff).
 * Answered from the database, by the names of the dictionary: what was never kept is told as such.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "daemon/station/station.h"

/* What is only done has no value. */
static json_t *name_of(struct station *s, const struct param *p)
{
	(void)s;
	return p->kind->access == PARAM_ACTION ? NULL : json_string(p->name);
}

static json_t *all_names(struct station *s)
{
	json_t *names = json_array();

	for (unsigned n = 0; n < params_count(s->params); n++) {
		json_t *name = name_of(s, params_at(s->params, n));

		if (name) {
			json_array_append_new(names, name);
		}
	}
	return names;
}

/* The full names of all that matches; NULL: refused, answered. */
static json_t *names_arg(struct station *s, struct control_request *rq, json_t *args)
{
	json_t *patterns = json_object_get(args, "names"), *names;

	names = json_array_size(patterns) == 0 ? all_names(s)
					       : station_match(s, rq, patterns, name_of);
	if (names && json_array_size(names) == 0) {
		control_fail(rq, "usage", "fcmctl command list tells what was done when", NULL,
			     "what is only done, and has no value, was nothing at any time");
		json_decref(names);
		return NULL;
	}
	return names;
}

/* False: refused, answered. */
static bool is_time(struct control_request *rq, json_t *args, const char *key, bool may_lack)
{
	const json_t *j = json_object_get(args, key);
	double time = json_number_value(j);

	if (!j && may_lack) {
		return true;
	}
	if (!json_is_number(j) || !(time >= 0 && time < 9e9)) {
		control_fail(rq, "usage", "UTC seconds since 1970", NULL, "%s: which time?", key);
		return false;
	}
	return true;
}

/* Times and names are well by then. */
static int64_t ns_of(const json_t *args, const char *key, int64_t otherwise)
{
	const json_t *j = json_object_get(args, key);

	return j ? (int64_t)(json_number_value(j) * 1e9) : otherwise;
}

static int ask_at(struct query *q, const struct question *n, json_t **ret_json)
{
	return query_at(q, n->names, ns_of(n->args, "time", 0), ret_json);
}

static int ask_diff(struct query *q, const struct question *n, json_t **ret_json)
{
	return query_diff(q, n->names, ns_of(n->args, "from", 0),
			  ns_of(n->args, "to", now_utc_ns()), ret_json);
}

static void ask_names(struct station *s, struct control_request *rq, json_t *args,
		      question_ask_fn ask)
{
	struct question n = {.rq = rq,
			     .args = args,
			     .what = "so many at once",
			     .names = names_arg(s, rq, args),
			     .ask = ask};

	if (n.names) {
		questions_ask(s, &n);
	}
}

static void op_param_at(struct control_request *rq, json_t *args, void *context)
{
	if (is_time(rq, args, "time", false)) {
		ask_names(context, rq, args, ask_at);
	}
}

static void op_param_diff(struct control_request *rq, json_t *args, void *context)
{
	if (is_time(rq, args, "from", false) && is_time(rq, args, "to", true)) {
		ask_names(context, rq, args, ask_diff);
	}
}

const struct control_op station_history_ops[] = {
	{"param.at", ACCESS_READER, op_param_at, "time:n names:S"},
	{"param.diff", ACCESS_READER, op_param_diff, "from:n to:n names:S"},
	{0},
};
