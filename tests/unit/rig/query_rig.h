/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to a store's file as most tests ask them, and what they look for in the answers. Behind cmocka.h. */
#pragma once

#include "slowctl/query/query.h"
#include "tests/unit/rig/store_rig.h"

static inline struct query *query_rig_open(const struct store_rig *r)
{
	struct sc_error error = {0};
	struct query *q = NULL;
	int result = query_open(r->path, &q, &error);

	if (result < 0) {
		fail_msg("%d: %s", result, error.message);
	}
	return q;
}

/* From since_ns up to now, rows as they are kept. */
static inline int query_account_of(struct query *q, int64_t since_ns, int link, unsigned limit,
				   json_t **ret_json)
{
	struct query_filter what = {.since_ns = since_ns, .link = link, .limit = limit};

	return query_ledger(q, &what, ret_json);
}

/* Members of an answer; the test fails where there is none, or one of another type. */
static inline json_t *json_at(const json_t *json, const char *key)
{
	json_t *got = json_object_get(json, key);

	if (!got) {
		fail_msg("no \"%s\" in %s", key, json_dumps(json, 0));
	}
	return got;
}

static inline double json_number_at(const json_t *json, const char *key)
{
	const json_t *got = json_at(json, key);

	if (!json_is_number(got)) {
		fail_msg("\"%s\" is no number in %s", key, json_dumps(json, 0));
	}
	return json_number_value(got);
}

static inline const char *json_text_at(const json_t *json, const char *key)
{
	const json_t *got = json_at(json, key);

	if (!json_is_string(got)) {
		fail_msg("\"%s\" is no text in %s", key, json_dumps(json, 0));
	}
	return json_string_value(got);
}
