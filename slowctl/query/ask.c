/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the arguments of an operation to the query that answers it: see ask.h. */
#include "slowctl/query/ask.h"

#include <errno.h>
#include <string.h>

#include "slowctl/query/private.h"

#define LIMIT_MOST 1000000 /* rows; more is as good as not given */

/* A question, with what many have in common; 0: not given. */
struct asked {
	const json_t *args, *names;
	int64_t since_ns, until_ns;
	unsigned limit;
};

static const char *text(const struct asked *a, const char *name)
{
	return json_string_value(json_object_get(a->args, name));
}

static int64_t number(const struct asked *a, const char *name, int64_t otherwise)
{
	const json_t *j = json_object_get(a->args, name);

	return j ? json_integer_value(j) : otherwise;
}

int64_t query_ns(const json_t *args, const char *name, int64_t otherwise)
{
	const json_t *j = json_object_get(args, name);
	double ns = json_number_value(j) * 1e9;

	return !j ? otherwise : ns >= 9.2e18 ? INT64_MAX : ns <= 0 ? 0 : (int64_t)ns;
}

static int ask_commands(struct query *q, const struct asked *a, json_t **ret_json)
{
	const struct query_filter filter = {
		.limit = a->limit,
		.since_ns = a->since_ns,
		.parameter = text(a, "parameter"),
		.state = text(a, "state"),
		.who = text(a, "who"),
		.floor = (int)number(a, "floor", 0),
	};

	return query_commands(q, &filter, ret_json);
}

static int ask_command(struct query *q, const struct asked *a, json_t **ret_json)
{
	return query_command(q, (uint64_t)number(a, "command", 0), ret_json);
}

static int ask_job(struct query *q, const struct asked *a, json_t **ret_json)
{
	return query_job(q, text(a, "job"), text(a, "after"), ret_json);
}

static int ask_jobs(struct query *q, const struct asked *a, json_t **ret_json)
{
	return query_jobs(q, a->limit, ret_json);
}

static int ask_history(struct query *q, const struct asked *a, json_t **ret_json)
{
	return query_history(q, text(a, "name"), a->since_ns, a->until_ns, a->limit, ret_json);
}

static int ask_at(struct query *q, const struct asked *a, json_t **ret_json)
{
	return query_at(q, a->names, query_ns(a->args, "time", 0), ret_json);
}

static int ask_diff(struct query *q, const struct asked *a, json_t **ret_json)
{
	return query_diff(q, a->names, query_ns(a->args, "from", 0),
			  query_ns(a->args, "to", query_utc_ns()), ret_json);
}

static int ask_ledger(struct query *q, const struct asked *a, json_t **ret_json)
{
	const struct query_account what = {
		.since_ns = a->since_ns,
		.until_ns = a->until_ns,
		.link = (int)number(a, "link", QUERY_ALL),
		.limit = a->limit,
		.by_s = (unsigned)number(a, "by_s", 0),
	};

	return query_ledger(q, &what, ret_json);
}

static int ask_phases(struct query *q, const struct asked *a, json_t **ret_json)
{
	return query_phase_history(q, (int)number(a, "link", 0), a->since_ns, a->limit, ret_json);
}

static int ask_clock(struct query *q, const struct asked *a, json_t **ret_json)
{
	return query_clock_history(q, a->since_ns, a->limit, ret_json);
}

static int ask_runs(struct query *q, const struct asked *a, json_t **ret_json)
{
	return query_runs(q, a->limit, ret_json);
}

static int ask_events(struct query *q, const struct asked *a, json_t **ret_json)
{
	return query_events(q, a->since_ns, a->limit, ret_json);
}

static const struct question {
	const char *op;
	int (*ask)(struct query *q, const struct asked *a, json_t **ret_json);
	bool names; /* it takes patterns */
} questions[] = {
	{"command.list", ask_commands}, {"command.show", ask_command},
	{"job.list", ask_jobs},		{"job.show", ask_job},
	{"param.history", ask_history}, {"param.at", ask_at, true},
	{"param.diff", ask_diff, true}, {"ledger.show", ask_ledger},
	{"phase.history", ask_phases},	{"clock.history", ask_clock},
	{"run.show", ask_runs},		{"event.list", ask_events},
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

int query_ask(struct query *q, const char *op, const json_t *args, const json_t *names,
	      json_t **ret_json)
{
	const struct question *question = find(op);
	json_int_t limit = json_integer_value(json_object_get(args, "limit"));
	struct asked asked = {
		.args = args,
		.names = names,
		.since_ns = query_ns(args, "since", 0),
		.until_ns = query_ns(args, "until", 0),
		.limit = limit > 0 && limit < LIMIT_MOST ? (unsigned)limit : 0,
	};
	json_t *matched = NULL;
	int r = question ? 0 : -ENOSYS;

	if (question && question->names && !names) {
		r = query_names(q, json_object_get(args, "names"), &matched);
		asked.names = matched;
	}
	r = r == 0 ? question->ask(q, &asked, ret_json) : r;
	json_decref(matched);
	return r;
}
