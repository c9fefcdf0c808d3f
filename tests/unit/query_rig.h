/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to the ledger, as most tests ask them. */
#ifndef TESTS_QUERY_RIG_H
#define TESTS_QUERY_RIG_H

#include "slowctl/query.h"

/* From since_ns up to now, rows as they are kept. */
static inline int query_account_of(struct query *q, int64_t since_ns, int link, unsigned limit,
				   json_t **ret_json)
{
	struct query_account what = {.since_ns = since_ns, .link = link, .limit = limit};

	return query_ledger(q, &what, ret_json);
}

#endif
