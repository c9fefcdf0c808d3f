// SPDX-License-Identifier: GPL-2.0-or-later
/* Handlers that several files of operations share, see ops.h. */
#include "daemon/ops/ops.h"

bool link_arg(struct station *s, struct control_request *rq, const json_t *args, int *ret_link)
{
	int link = (int)arg_int(args, "link", QUERY_ALL);

	if (link != QUERY_ALL && !s->link[link].enabled) {
		control_fail(rq, "usage", "give it a floor in [link] of the configuration", NULL,
			     "link %d is not configured", link);
		return false;
	}
	*ret_link = link;
	return true;
}

void ask_database(struct control_request *rq, json_t *args, void *context)
{
	struct question n = *(const struct question *)control_op(rq)->data;

	n.rq = rq;
	n.args = args;
	if (link_arg(context, rq, args, &n.link)) {
		questions_ask(context, &n);
	}
}
