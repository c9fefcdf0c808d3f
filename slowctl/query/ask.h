/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operations of schemas/control.md that the database answers: the same ones for the daemon and for fcmctl. */
#pragma once

#include <stdbool.h>

#include "slowctl/query/query.h"

/* Whether `op` is one of them. */
bool query_can(const char *op);
/*
 * The answer to `op` with the arguments of a request, which fit its description. `names`: full names of parameters, where
 * `op` takes patterns; NULL: of all that the database knows and the patterns match. -ENOSYS: not one of them, or as of
 * query.h.
 */
int query_ask(struct query *q, const char *op, const json_t *args, const json_t *names,
	      json_t **ret_json);
/* An argument that is a time in seconds, in ns; what does not fit in 64 bits becomes 0 or INT64_MAX. */
int64_t query_ns(const json_t *args, const char *name, int64_t otherwise);
