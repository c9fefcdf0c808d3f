/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The times for which the ledger has no rows: the daemon was not running or the board was gone. A
 * row says how many frames it accounts for (125 us each) and when it was written, which may be much
 * later: a daemon that comes back writes at once what the ring kept for it. So the account's end is
 * followed along each link by the frames of consecutive seconds of the board, and set by the clock
 * where rows come as time goes by, or where a new count begins; a count that begins later than the
 * account had come leaves a gap.
 */
#include "schemas/sql.h"
#include "slowctl/query/private.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define LINKS	  4
#define SECOND_NS 1000000000ll
#define FRAME_NS  125000ll
#define GAP_NS	  (2 * SECOND_NS) /* less is the time that rows take to be written */
#define TAIL_NS	  (5 * SECOND_NS) /* the newest row may be so old while all is well */
#define ROWS_AROUND                                                                                \
	64 /* before the asked time and behind it: where the account stood then, went on */

struct account {
	bool known;
	int64_t session, dma_epoch;
	int64_t second, seconds;  /* the first, how many without a hole */
	int64_t start, end, time; /* UTC ns: accounted for from, up to, and when that was written */
};

struct gap {
	int64_t start, end; /* UTC ns */
	unsigned links;	    /* a bit each */
};

struct missing {
	int64_t since, until, begins; /* begins: the first account of all; INT64_MAX: no row */
	struct account account[LINKS];
	struct gap *gap;
	size_t gaps, room;
};

static int add_gap(struct missing *m, unsigned link, int64_t start, int64_t end)
{
	start = start < m->since ? m->since : start;
	end = end > m->until ? m->until : end;
	if (end <= start) {
		return 0;
	}
	if (m->gaps == m->room) {
		size_t room = m->room ? 2 * m->room : 16;
		struct gap *g = realloc(m->gap, room * sizeof(*g));

		if (!g) {
			return -ENOMEM;
		}
		m->gap = g;
		m->room = room;
	}
	m->gap[m->gaps++] = (struct gap){start, end, 1u << link};
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Links that were not accounted for at the same time are one gap. */
static void join_gaps(struct missing *m)
{
	size_t joined = 0;

	if (m->gaps == 0) {
		return;
	}
	qsort(m->gap, m->gaps, sizeof(*m->gap), by_start);
	for (size_t i = 1; i < m->gaps; i++) {
		struct gap *last = &m->gap[joined];
		const struct gap *g = &m->gap[i];

		if (g->start >= last->end) {
			m->gap[++joined] = *g;
			continue;
		}
		last->end = g->end > last->end ? g->end : last->end;
		last->links |= g->links;
	}
	m->gaps = joined + 1;
}

/* A row's place in the account of its link. */
static int follow(struct missing *m, unsigned link, const struct account *row)
{
	struct account *a = &m->account[link], was = *a;
	bool next = was.known && row->session == was.session && row->dma_epoch == was.dma_epoch &&
		    row->second == was.second + was.seconds;
	/* Of more than one second the last was written as time went by. */
	bool as_time_goes_by = row->seconds > 1 || (row->time - was.time > SECOND_NS / 5 &&
						    row->time - was.time < GAP_NS);
	int64_t end = next && !as_time_goes_by ? was.end + row->time - row->start : row->time;

	*a = *row;
	a->known = true;
	a->end = end < row->time ? end : row->time;
	a->end = was.known && a->end < was.end ? was.end : a->end;
	if (!was.known) {
		m->begins = row->start < m->begins ? row->start : m->begins;
		return 0;
	}
	if (next || row->start - was.end <= GAP_NS) {
		return 0;
	}
	return add_gap(m, link, was.end, row->start);
}

#define ROWS(seconds, begun, table, where)                                                         \
	"SELECT * FROM (SELECT link, session, dma_epoch, second, " seconds                         \
	" AS seconds, time, " begun " AS begun FROM " table                                        \
	" WHERE (?2 < 0 OR link = ?2) AND " where ")"
/* Of both tables, each by itself: SQLite makes no use of an order in a union of whole tables. */
#define BOTH(where)                                                                                \
	ROWS("1", LEDGER_LINK_BEGUN, "ledger_link", where)                                         \
	" UNION ALL " ROWS("seconds", "begun", "ledger_link_sum", where)

static int read_rows(struct query *q, struct missing *m, int64_t link)
{
	static const char sql[] = BOTH("time < ?1 ORDER BY time DESC LIMIT ?3") " UNION ALL " BOTH(
		"time >= ?1 AND time < ?4") " UNION ALL " BOTH("time >= ?4 ORDER BY time "
							       "LIMIT ?3") " ORDER BY "
									   "time, second";
	sqlite3_stmt *s;
	int r = query_prepare(q, &s, sql, "iiii", m->since, link, (int64_t)ROWS_AROUND, m->until);

	if (r < 0) {
		return r;
	}
	while ((r = query_step(q, s)) > 0) {
		int64_t on = sqlite3_column_int64(s, 0);
		struct account row = {
			.session = sqlite3_column_int64(s, 1),
			.dma_epoch = sqlite3_column_int64(s, 2),
			.second = sqlite3_column_int64(s, 3),
			.seconds = sqlite3_column_int64(s, 4),
			.time = sqlite3_column_int64(s, 5),
			.start = sqlite3_column_int64(s, 6),
		};

		if (on >= 0 && on < LINKS && follow(m, (unsigned)on, &row) < 0) {
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
	return json_pack("{sfsfso}", "begun", (double)g->start / 1e9, "ended", (double)g->end / 1e9,
			 "links", links);
}

static int add_answer(struct query *q, const struct missing *m, json_t *object)
{
	json_t *array = json_array();
	int64_t sum = 0;

	for (size_t i = 0; i < m->gaps; i++) {
		sum += m->gap[i].end - m->gap[i].start;
		json_array_append_new(array, gap_json(&m->gap[i]));
	}
	if (json_object_update_new(object, json_pack("{s:o,s:f,s:o}", "missing", array, "missing_s",
						     (double)sum / 1e9, "begins",
						     m->begins > m->since && m->begins < m->until
							     ? json_real((double)m->begins / 1e9)
							     : json_null())) < 0) {
		return query_no_memory(q);
	}
	return 0;
}

int query_missing(struct query *q, int64_t since_ns, int64_t until_ns, int64_t link, json_t *object)
{
	struct missing m = {.since = since_ns, .until = until_ns, .begins = INT64_MAX};
	int64_t now = query_utc_ns();
	int r = read_rows(q, &m, link);

	now = until_ns < now ? until_ns : now;
	for (unsigned i = 0; r == 0 && i < LINKS; i++) {
		if (m.account[i].known && now - m.account[i].time > TAIL_NS &&
		    add_gap(&m, i, m.account[i].end, now) < 0) {
			r = query_no_memory(q);
		}
	}
	join_gaps(&m);
	r = r == 0 ? add_answer(q, &m, object) : r;
	free(m.gap);
	return r;
}
