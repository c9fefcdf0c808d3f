// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Operations that the database answers: history, journal, ledger, events, and what parameters were at a time. Each is a
 * row of the table, a query, and at most what is added to its answer. Jobs are fcmctl's; the journal knows them by the
 * client ids of their commands.
 */
#include <errno.h>

#include "daemon/ops/private.h"

#include "daemon/station/questions.h"

#define ASK(...)                                                                                   \
	.data = &(const struct question)                                                           \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

/* The current run as it is in memory: the database may not have it yet. */
static void tell_runs(struct question *n, int r, json_t *answer, const struct sc_error *error)
{
	if (r == 0) {
		const struct ops *ops = n->asker;

		json_object_set_new(answer, "current", json_integer(ops->run->state.number));
	}
	questions_tell(n, r, answer, error);
}

static void tell_command(struct question *n, int r, json_t *answer, const struct sc_error *error)
{
	if (r == -ENOENT && !error->code[0]) {
		control_fail(n->rq, "usage", "fcmctl command list shows the numbers", NULL,
			     "there is no command %lld", (long long)arg_int(n->args, "command", 0));
	} else {
		questions_tell(n, r, answer, error);
	}
}

/* The parameter is the dictionary's: one that was never sampled nor set has an empty history. */
static void tell_history(struct question *n, int r, json_t *answer, const struct sc_error *error)
{
	const struct ops *ops = n->asker;
	struct param *p;

	if ((r == -ENODATA || r == -ENOENT) && !error->code[0]) {
		answer = json_pack("{s:s, s:n, s:n, s:[], s:[]}", "name", n->what, "words",
				   "before", "rows", "sets");
		r = answer ? 0 : -ENOMEM;
	}
	if (r == 0 && params_find(ops->params, n->what, &p, NULL) == 0) {
		json_object_set_new(answer, "unit", json_string(p->kind->unit));
		json_object_set_new(answer, "kept", json_boolean(p->kind->history_s > 0));
		json_object_set_new(answer, "limits", status_limits(p->kind));
	}
	questions_tell(n, r, answer, error);
}

static void op_history(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	struct question n = question_of(ops, rq, args);
	struct sc_error error = {0};
	struct param *p;
	int r = params_find(ops->params, arg_text(args, "name"), &p, &error);

	if (r < 0) {
		refuse_command(rq, r, &error, 0);
		return;
	}
	json_object_set_new(args, "name", json_string(p->name));
	n.what = p->name;
	questions_ask(ops->station, &n);
}

/* An action has no value. */
static json_t *name_of(struct ops *ops, const struct param *p)
{
	return p->kind->access == PARAM_ACTION ? NULL : json_string(p->name);
}

/* The full names of all that matches; NULL: refused, answered. */
static json_t *names_arg(struct ops *ops, struct control_request *rq, json_t *args)
{
	json_t *patterns = json_object_get(args, "names"), *all = json_pack("[s]", "*");
	json_t *names =
		match_patterns(ops, rq, json_array_size(patterns) > 0 ? patterns : all, name_of);

	json_decref(all);
	if (names && json_array_size(names) == 0) {
		control_fail(rq, "usage", "fcmctl command list shows what was done when", NULL,
			     "these are actions, and actions have no value");
		json_decref(names);
		return NULL;
	}
	return names;
}

static void op_ask_names(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	struct question n = question_of(ops, rq, args);

	n.names = names_arg(ops, rq, args);
	if (n.names) {
		questions_ask(ops->station, &n);
	}
}

#define TIME(name, required, about)                                                                \
	CONTROL_ARG(name, ARG_NUMBER, required, 0, 9e9, NULL, "s", about)

const struct control_op history_ops[] = {
	{"phase.history", ACCESS_READER, ask_database, "phase of a link: samples and verdicts",
	 CONTROL_ARGS(LINK(true), SINCE, UNTIL, LIMIT,
		      {"by_s", ARG_INT, .words = "1|60|3600", .unit = "s",
		       .about = "a row for each span of this length: its last"}),
	 ASK(.what = "phase history")},
	{"clock.history", ACCESS_READER, ask_database, "states of the clock",
	 CONTROL_ARGS(SINCE, UNTIL, LIMIT), ASK(.what = "clock history")},
	{"param.history", ACCESS_READER, op_history, "values and sets of one parameter",
	 CONTROL_ARGS({"name", ARG_TEXT, true, .about = "a parameter"}, SINCE, UNTIL, LIMIT),
	 ASK(.tell = tell_history)},
	{"param.at", ACCESS_READER, op_ask_names, "what parameters were at a time",
	 CONTROL_ARGS(TIME("time", true, "at this time"), PATTERNS(false)),
	 ASK(.what = "so many at once")},
	{"param.diff", ACCESS_READER, op_ask_names, "what differs between two times",
	 CONTROL_ARGS(TIME("from", true, "the first time"),
		      TIME("to", false, "the second time; else now"), PATTERNS(false)),
	 ASK(.what = "so many at once")},
	{"command.list", ACCESS_READER, ask_database, "commands of the journal, newest first",
	 CONTROL_ARGS(LIMIT, {"state", ARG_TEXT, .about = "of this state; open: not ended"},
		      {"floor", ARG_INT, false, 1, 0, .about = "of this floor"}, SINCE, UNTIL,
		      {"parameter", ARG_TEXT, .about = "of parameters that match"},
		      {"who", ARG_TEXT, .about = "of this user or key"}),
	 ASK(.what = "commands")},
	{"command.show", ACCESS_READER, ask_database, "one command and its states",
	 CONTROL_ARGS({"command", ARG_INT, true, 1, 0,
		       .about = "fcmctl command list shows the numbers"}),
	 ASK(.what = "command", .tell = tell_command)},
	{"job.list", ACCESS_READER, ask_database, "batches and applied plans", CONTROL_ARGS(LIMIT),
	 ASK(.what = "jobs")},
	{"job.show", ACCESS_READER, ask_database, "the commands of a job",
	 CONTROL_ARGS({"job", ARG_TEXT, true, 0, 32, .about = "job.list shows the names"},
		      {"after", ARG_TEXT, .about = "go on behind this client id"}),
	 ASK(.what = "job")},
	{"ledger.show", ACCESS_READER, ask_database, "the account of every frame",
	 CONTROL_ARGS(SINCE, UNTIL, LINK(false), LIMIT,
		      {"by_s", ARG_INT, .words = "1|60|3600", .unit = "s",
		       .about = "a row for each span of this length"}),
	 ASK(.what = "ledger")},
	{"run.show", ACCESS_READER, ask_database, "the current run and those before it",
	 CONTROL_ARGS(SINCE, UNTIL, LIMIT), ASK(.what = "runs", .tell = tell_runs)},
	{"incident.history", ACCESS_READER, ask_database, "incidents of a time, oldest first",
	 CONTROL_ARGS(SINCE, UNTIL, LIMIT,
		      {"incident", ARG_INT, false, 1, 0, .about = "only the one of this number"}),
	 ASK(.what = "incidents")},
	{"dark.show", ACCESS_READER, ask_database, "what modules did not see, by cause",
	 CONTROL_ARGS(SINCE, UNTIL, LIMIT), ASK(.what = "darkness")},
	{"event.list", ACCESS_READER, ask_database, "what happened, newest first",
	 CONTROL_ARGS(LIMIT, SINCE, UNTIL,
		      {"incident", ARG_INT, false, 1, 0,
		       .about = "only remarks about the one of this number"}),
	 ASK(.what = "events")},
	{0},
};
