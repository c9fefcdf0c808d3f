/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What part of the asked time the ledger has no rows of: the daemon or the board was away. A row says how
 * many frames it accounts for (125 us each) and when it was written, which may be much later: a daemon that
 * comes back writes at once what the ring kept for it. So the account's end is followed along each link
 * by the frames of consecutive seconds of the board, and set by the clock where rows come as time goes by,
 * or where a new count begins; a count that begins later than the account had come leaves a gap.
 */
#include "slowctl/query_private.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define LINKS	    4
#define SECOND_NS   1000000000ll
#define FRAME_NS    125000ll
#define GAP_NS	    (2 * SECOND_NS) /* less is the time that rows take to be written */
#define TAIL_NS	    (5 * SECOND_NS) /* the newest row may be so old while all is well */
#define ROWS_BEFORE 64 /* before the asked time: where the account stood when it began */

struct account {
	bool known;
	int64_t session, dma_epoch, second;
	int64_t end, time; /* UTC ns: accounted for up to, and when that was written */
};

struct gap {
	int64_t begun, ended; /* UTC ns */
	unsigned links;	      /* a bit each */
};

struct missing {
	int64_t since, begins; /* begins: the first account of all; INT64_MAX: no row */
	struct account account[LINKS];
	struct gap *gap;
	size_t gaps, room;
};

/* Links that were not accounted for at the same time are one gap. */
static int add_gap(struct missing *m, unsigned link, int64_t begun, int64_t ended)
{
	struct gap *g;

	begun = begun < m->since ? m->since : begun;
	if (ended <= begun) {
		return 0;
	}
	for (size_t i = m->gaps; i-- > 0;) {
		g = &m->gap[i];
		if (begun < g->ended && g->begun < ended) {
			g->begun = begun < g->begun ? begun : g->begun;
			g->ended = ended > g->ended ? ended : g->ended;
			g->links |= 1u << link;
			return 0;
		}
	}
	if (m->gaps == m->room) {
		size_t room = m->room ? 2 * m->room : 16;

		g = realloc(m->gap, room * sizeof(*g));
		if (!g) {
			return -ENOMEM;
		}
		m->gap = g;
		m->room = room;
	}
	m->gap[m->gaps++] = (struct gap){begun, ended, 1u << link};
	return 0;
}

/* A row's place in the account of its link. */
static int follow(struct missing *m, unsigned link, const struct account *row, int64_t span_ns)
{
	struct account *a = &m->account[link], was = *a;
	bool next = was.known && row->session == was.session && row->dma_epoch == was.dma_epoch &&
		    row->second == was.second + 1;
	bool as_time_goes_by =
		row->time - was.time > SECOND_NS / 5 && row->time - was.time < GAP_NS;
	int64_t end = next && !as_time_goes_by ? was.end + span_ns : row->time;

	*a = *row;
	a->known = true;
	a->end = end < row->time ? end : row->time;
	a->end = was.known && a->end < was.end ? was.end : a->end;
	if (!was.known) {
		int64_t begun = row->time - span_ns;

		m->begins = begun < m->begins ? begun : m->begins;
		return 0;
	}
	if (next || row->time - span_ns - was.end <= GAP_NS) {
		return 0;
	}
	return add_gap(m, link, was.end, row->time - span_ns);
}

static int read_rows(struct query *q, struct missing *m, int64_t link)
{
	static const char sql[] =
		"SELECT link, session, dma_epoch, second, time, cells FROM (SELECT * FROM "
		"ledger_link"
		" WHERE time < ?1 AND (?2 < 0 OR link = ?2) ORDER BY time DESC LIMIT ?3)"
		" UNION ALL SELECT link, session, dma_epoch, second, time, cells FROM ledger_link"
		" WHERE time >= ?1 AND (?2 < 0 OR link = ?2) ORDER BY time, second";
	sqlite3_stmt *s;
	int r = query_prepare(q, &s, sql, "iii", m->since, link, (int64_t)ROWS_BEFORE);

	if (r < 0) {
		return r;
	}
	while ((r = query_step(q, s)) > 0) {
		int64_t on = sqlite3_column_int64(s, 0);
		struct account row = {
			.session = sqlite3_column_int64(s, 1),
			.dma_epoch = sqlite3_column_int64(s, 2),
			.second = sqlite3_column_int64(s, 3),
			.time = sqlite3_column_int64(s, 4),
		};

		if (on >= 0 && on < LINKS &&
		    follow(m, (unsigned)on, &row, sqlite3_column_int64(s, 5) * FRAME_NS) < 0) {
			r = query_no_memory(q);
			break;
		}
	}
	sqlite3_finalize(s);
	return r;
}

static json_t *gap_json(const struct gap *g)
{
	json_t *links = json_array();

	for (unsigned link = 0; link < LINKS; link++) {
		if (g->links & 1u << link) {
			json_array_append_new(links, json_integer(link));
		}
	}
	return json_pack("{sfsfso}", "begun", (double)g->begun / 1e9, "ended",
			 (double)g->ended / 1e9, "links", links);
}

static int tell(struct query *q, const struct missing *m, json_t *object)
{
	json_t *array = json_array();
	int64_t sum = 0;

	for (size_t i = 0; i < m->gaps; i++) {
		sum += m->gap[i].ended - m->gap[i].begun;
		json_array_append_new(array, gap_json(&m->gap[i]));
	}
	if (json_object_set_new(object, "missing", array) < 0 ||
	    json_object_set_new(object, "missing_s", json_real((double)sum / 1e9)) < 0 ||
	    json_object_set_new(object, "begins",
				m->begins > m->since && m->begins != INT64_MAX
					? json_real((double)m->begins / 1e9)
					: json_null()) < 0) {
		return query_no_memory(q);
	}
	return 0;
}

int query_missing(struct query *q, int64_t since_ns, int64_t link, json_t *object)
{
	struct missing m = {.since = since_ns, .begins = INT64_MAX};
	struct timespec t;
	int64_t now;
	int r = read_rows(q, &m, link);

	clock_gettime(CLOCK_REALTIME, &t);
	now = (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
	for (unsigned i = 0; r == 0 && i < LINKS; i++) {
		if (m.account[i].known && now - m.account[i].time > TAIL_NS &&
		    add_gap(&m, i, m.account[i].end, now) < 0) {
			r = query_no_memory(q);
		}
	}
	r = r == 0 ? tell(q, &m, object) : r;
	free(m.gap);
	return r;
}
