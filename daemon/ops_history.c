// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Operations that look back: what parameters were at a time (param.at), what differs between two (param.diff).
 * Answered from the database, by the names of the dictionary: what was never kept is told as such.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "daemon/station.h"

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

/* UTC s of args as ns; false: refused, answered. `otherwise` counts where it is left out, 0: it must be there. */
static bool time_arg(struct control_request *rq, json_t *args, const char *key, int64_t otherwise,
		     int64_t *ret_ns)
{
	const json_t *j = json_object_get(args, key);
	double time = json_number_value(j);

	if (!j && otherwise) {
		*ret_ns = otherwise;
		return true;
	}
	if (!json_is_number(j) || !(time >= 0 && time < 9e9)) {
		control_fail(rq, "usage", "UTC seconds since 1970", NULL, "%s: which time?", key);
		return false;
	}
	*ret_ns = (int64_t)(time * 1e9);
	return true;
}

static void op_param_at(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	json_t *names, *j = NULL;
	int64_t time_ns;

	if (!time_arg(rq, args, "time", 0, &time_ns)) {
		return;
	}
	names = names_arg(s, rq, args);
	if (names && station_ask(s, rq, args, "so many at once")) {
		int r = query_at(s->query, names, time_ns, &j);

		station_tell(rq, r, j, "so many at once");
	}
	json_decref(names);
}

static void op_param_diff(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	json_t *names, *j = NULL;
	int64_t from_ns, to_ns;

	if (!time_arg(rq, args, "from", 0, &from_ns) ||
	    !time_arg(rq, args, "to", now_utc_ns(), &to_ns)) {
		return;
	}
	names = names_arg(s, rq, args);
	if (names && station_ask(s, rq, args, "so many at once")) {
		int r = query_diff(s->query, names, from_ns, to_ns, &j);

		station_tell(rq, r, j, "so many at once");
	}
	json_decref(names);
}

const struct control_op station_history_ops[] = {
	{"param.at", ACCESS_READER, op_param_at, "time:n names:S"},
	{"param.diff", ACCESS_READER, op_param_diff, "from:n to:n names:S"},
	{0},
};
