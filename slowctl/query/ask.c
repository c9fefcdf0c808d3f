/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the arguments of an operation to the query that answers it: see ask.h. */
#include "slowctl/query/ask.h"

#include <errno.h>
#include <string.h>

#include "slowctl/query/private.h"

#define LIMIT_MOST 1000000 /* rows; more is as good as not given */

int64_t query_ns(const json_t *args, const char *name, int64_t otherwise)
{
	const json_t *j = json_object_get(args, name);
	double ns = json_number_value(j) * 1e9;

	return !j ? otherwise : ns >= 9.2e18 ? INT64_MAX : ns <= 0 ? 0 : (int64_t)ns;
}

static const struct question {
	const char *op;
	int (*ask)(struct query *q, const struct query_filter *f, json_t **ret_json);
	bool names; /* it takes patterns */
} questions[] = {
	{"command.list", query_commands},
	{"command.show", query_command},
	{"job.list", query_jobs},
	{"job.show", query_job},
	{"param.history", query_history},
	{"param.at", query_at, true},
	{"param.diff", query_diff, true},
	{"ledger.show", query_ledger},
	{"phase.history", query_phase_history},
	{"clock.history", query_clock_history},
	{"run.show", query_runs},
	{"event.list", query_events},
	{"incident.history", query_incidents},
	{"dark.show", query_dark},
};

static const struct question *find(const char *op)
{
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		if (strcmp(questions[i].op, op) == 0) {
			return &questions[i];
		}
	}
	return NULL;
}

bool query_can(const char *op)
{
	return find(op) != NULL;
}

static const char *text(const json_t *args, const char *name)
{
	return json_string_value(json_object_get(args, name));
}

static json_int_t number(const json_t *args, const char *name, json_int_t otherwise)
{
	const json_t *j = json_object_get(args, name);

	return j ? json_integer_value(j) : otherwise;
}

int query_ask(struct query *q, const char *op, const json_t *args, const json_t *names,
	      json_t **ret_json)
{
	const struct question *question = find(op);
	json_int_t limit = number(args, "limit", 0);
	struct query_filter f = {
		.limit = limit > 0 && limit < LIMIT_MOST ? (unsigned)limit : 0,
		.since_ns = query_ns(args, "since", 0),
		.until_ns = query_ns(args, "until", 0),
		.at_ns = query_ns(args, "time", 0),
		.from_ns = query_ns(args, "from", 0),
		.to_ns = query_ns(args, "to", query_utc_ns()),
		.name = text(args, "name"),
		.names = names,
		.parameter = text(args, "parameter"),
		.state = text(args, "state"),
		.who = text(args, "who"),
		.floor = (int)number(args, "floor", 0),
		.command = (uint64_t)number(args, "command", 0),
		.incident = number(args, "incident", 0),
		.job = text(args, "job"),
		.after = text(args, "after"),
		.link = (int)number(args, "link", QUERY_ALL),
		.by_s = (unsigned)number(args, "by_s", 0),
	};
	json_t *matched = NULL;
	int r = question ? 0 : -ENOSYS;

	if (question && question->names && !names) {
		r = query_names(q, json_object_get(args, "names"), &matched);
		f.names = matched;
	}
	r = r == 0 ? question->ask(q, &f, ret_json) : r;
	json_decref(matched);
	return r;
}
