// SPDX-License-Identifier: GPL-2.0-or-later
/* Handlers that several files of operations share, see private.h. */
#include "daemon/ops/private.h"

#include "daemon/station/questions.h"
#include "slowctl/query/ask.h"

bool link_arg(struct ops *ops, struct control_request *rq, const json_t *args, int *ret_link)
{
	int link = (int)arg_int(args, "link", QUERY_ALL);

	if (link != QUERY_ALL && !ops->link[link].enabled) {
		control_fail(rq, "usage", "give it a floor in [link] of the configuration", NULL,
			     "link %d is not configured", link);
		return false;
	}
	*ret_link = link;
	return true;
}

json_t *command_number(uint64_t id)
{
	return json_pack("{s:I}", "command", (json_int_t)id);
}

/* The answer of the database to n->op. */
static int ask_operation(struct query *q, const struct question *n, json_t **ret_json)
{
	return query_ask(q, n->op, n->args, n->names, ret_json);
}

struct question question_of(struct ops *ops, struct control_request *rq, json_t *args)
{
	const struct question *described = control_op(rq)->data;
	struct question n = *described;

	n.asker = ops;
	n.rq = rq;
	n.args = args;
	n.op = control_op(rq)->name;
	n.ask = n.ask ? n.ask : ask_operation;
	return n;
}

void ask_database(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	struct question n = question_of(ops, rq, args);
	int link;

	if (link_arg(ops, rq, args, &link)) {
		questions_ask(ops->station, &n);
	}
}
