// SPDX-License-Identifier: GPL-2.0-or-later
/* Incidents of the past, and the account of darkness. See query.h. */
#include "slowctl/query/private.h"

#define WITH_INCIDENTS 2 /* version of the file: earlier ones have neither */

/* Of what overlaps the time from ?1 on and before ?2; ?4: only that number, 0: any. */
#define INCIDENTS                                                                                  \
	"SELECT number, iif(until IS NULL, 'active', 'cleared') AS state,"                         \
	" iif(red, 'red', 'warning') AS severity, code, object, text, action,"                     \
	" since AS [since:t], until AS [until:t], nullif(own, '') AS own, observations,"           \
	" nullif(ack_who, '') AS acknowledged_by, nullif(ack_text, '') AS acknowledged_text,"      \
	" frames AS [cost.frames], dropped AS [cost.dropped], hits AS [cost.hits],"                \
	" dark_ms / 1000.0 AS [cost.dark_s] FROM (SELECT * FROM incident WHERE NOT joined"         \
	" AND since < ?2 AND coalesce(until, ?2) >= ?1 AND ?4 IN (0, number)"                      \
	" ORDER BY since DESC LIMIT ?3)"                                                           \
	" ORDER BY since, number"

/* A row counts where it begins; old ones are of a minute or an hour. */
#define DARK_ROWS "dark d LEFT JOIN incident i ON i.number = d.incident"
#define DARK_TIME "d.time >= ?1 AND d.time < ?2"
#define DARK_BY_CAUSE                                                                              \
	"SELECT d.incident, i.code, i.object, d.link, max(d.tower) AS tower, max(d.floor) AS"      \
	" floor, min(d.time) AS [since:t], sum(d.dark_ms) / 1000.0 AS dark_s, sum(d.hits) AS hits" \
	" FROM " DARK_ROWS " WHERE " DARK_TIME " GROUP BY d.incident, d.link"                      \
	" ORDER BY sum(d.dark_ms) DESC, sum(d.hits) DESC, d.incident, d.link LIMIT ?3"
#define DARK_SUM                                                                                   \
	"SELECT coalesce(sum(dark_ms), 0) / 1000.0 AS dark_s, coalesce(sum(hits), 0) AS hits"      \
	" FROM dark d WHERE " DARK_TIME

static int64_t until(const struct query_filter *f)
{
	return f->until_ns ? f->until_ns : query_utc_ns();
}

int query_incidents(struct query *q, const struct query_filter *f, json_t **ret_json)
{
	json_t *answer = json_pack("{s:[]}", "incidents");
	int r = 0;

	if (q->version >= WITH_INCIDENTS) {
		r = query_add_rows(q, r, answer, "incidents", INCIDENTS, "iiii", f->since_ns,
				   until(f), (int64_t)(f->limit ? f->limit : 1000), f->incident);
	}
	return query_answer(q, r, answer, ret_json);
}

int query_dark(struct query *q, const struct query_filter *f, json_t **ret_json)
{
	json_t *answer = NULL;
	int r = q->version < WITH_INCIDENTS
			? query_row(q, &answer, "SELECT 0.0 AS dark_s, 0 AS hits", "")
			: query_row(q, &answer, DARK_SUM, "ii", f->since_ns, until(f));

	if (r == 0) {
		json_object_set_new(answer, "causes", json_array());
	}
	if (r == 0 && q->version >= WITH_INCIDENTS) {
		r = query_add_rows(q, r, answer, "causes", DARK_BY_CAUSE, "iii", f->since_ns,
				   until(f), (int64_t)(f->limit ? f->limit : 1000));
	}
	return query_answer(q, r, answer, ret_json);
}
