/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read-only queries on the ledger: totals, rows, losses by name, and whether it balances. The sums are
 * SQLite's; every link row must balance: a cell is counted with its verdict. A stream row may
 * have frames in flight while it is open. See query.h.
 */
#include "schemas/sql.h"
#include "slowctl/query/private.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Whether a row is right. */
#define STREAM_RIGHT                                                                               \
	"(offered = " LEDGER_STREAM_DONE " + in_flight AND (NOT closed OR in_flight = 0))"
#define WHERE_LINK " WHERE time >= ?1 AND time < ?4 AND (?2 < 0 OR link = ?2)"
/* Missing from the account: 0 in every row that is right. */
#define LINK_OFF "(cells - " LEDGER_LINK_SUM ")"

/*
 * When something began: by the label of its first frame, as consumers see it. Without label by the system
 * clock. (What is from before a leap second comes out a second early: TAI-UTC is today's.)
 */
#define STARTED(tai_ns, by_clock)                                                                  \
	"coalesce(" tai_ns                                                                         \
	" - (SELECT CAST(value AS INTEGER) FROM station WHERE key = 'tai_utc_s')"                  \
	" * 1000000000, " by_clock ")"
/* A loss is written with the time when it last grew, `frames` after it began; frames are 125 us apart. */
#define LOSS_STARTED(frames) STARTED("tai_ns", "time - " frames " * 125000")

/* clang-format off */
#define LINK_SUMS \
	" sum(partial) AS partial, sum(restarts) AS restarts, sum(cells) AS cells, sum(good) AS good," \
	" sum(link_down) AS link_down, sum(board_fifo) AS board_fifo, sum(ring_full) AS ring_full," \
	" sum(crc) AS crc, sum(alignment) AS alignment, sum(time_fault) AS time_fault,"
#define STREAM_SUMS \
	" sum(no_member) AS no_member, sum(slow) AS slow, sum(shutdown) AS shutdown," \
	" sum(pool) AS pool, sum(no_time) AS no_time, sum(offered) AS offered, sum(acked) AS acked,"

/* The sums of a table first: SQLite takes far longer for those over the rows of both. */
#define LINK_PART(table, seconds, span, open) \
	"SELECT link, tower, floor, sum(" seconds ") AS seconds, max(" span ") AS span," \
	" sum(" open ") AS open," LINK_SUMS " min(" LEDGER_LINK_RIGHT ") AS balanced" \
	" FROM " table WHERE_LINK " GROUP BY link, tower, floor"
#define LINK_TOTALS_SQL \
	"SELECT link, tower, floor, sum(seconds) AS seconds, max(span) AS span, sum(open) AS open," \
	" sum(partial) AS partial, sum(restarts) AS restarts, sum(cells) AS cells," \
	" sum(good) AS good, sum(" LEDGER_LINK_SUM " - good) AS lost, sum(link_down) AS [link-down]," \
	" sum(board_fifo) AS [board-fifo], sum(ring_full) AS [ring-full], sum(crc) AS crc," \
	" sum(alignment) AS alignment, sum(time_fault) AS [time-fault]," \
	" min(balanced) AS [balanced:b] FROM (" \
	LINK_PART("ledger_link", "1", "1", "NOT closed") " UNION ALL " \
	LINK_PART("ledger_link_sum", "seconds", "span", "0") ") GROUP BY link, tower, floor"
/* clang-format on */

#define LINK_ROWS(table, seconds, closed, begun)                                                   \
	"SELECT session, dma_epoch, link, second, " seconds " AS seconds, tower, floor, cells,"    \
	" good, link_down, board_fifo, ring_full, crc, alignment, time_fault, partial, "           \
	"restarts, " closed " AS closed, time, " LEDGER_LINK_RIGHT " AS balanced, " LINK_OFF       \
	" AS off, tai_ns, " begun " AS by_clock FROM " table WHERE_LINK
/* Of both tables, each with `tail`: SQLite makes no use of an order in a union of whole tables. */
#define LINK_ROWS_SQL(tail)                                                                        \
	"SELECT * FROM (" LINK_ROWS("ledger_link", "1", "closed", LEDGER_LINK_BEGUN) tail          \
		") UNION ALL SELECT * FROM (" LINK_ROWS("ledger_link_sum", "seconds", "1",         \
							"begun") tail ")"

/* clang-format off */
#define STREAM_PART(table, seconds, span, open, flight, right) \
	"SELECT link, stream, grp," STREAM_SUMS " sum(" seconds ") AS seconds, max(" span ") AS span," \
	" sum(" open ") AS open, sum(" flight ") AS in_flight, min(" right ") AS balanced" \
	" FROM " table WHERE_LINK " GROUP BY link, stream, grp"
#define STREAM_TOTALS_SQL \
	"SELECT link, stream, grp AS [group], sum(seconds) AS seconds, max(span) AS span," \
	" sum(open) AS open, sum(offered) AS offered, sum(acked) AS acknowledged," \
	" sum(in_flight) AS in_flight, sum(" LEDGER_STREAM_DONE " - acked) AS lost," \
	" min(balanced) AS [balanced:b], sum(no_member) AS [dropped.no-member]," \
	" sum(slow) AS [dropped.slow], sum(shutdown) AS [dropped.shutdown]," \
	" sum(pool) AS [dropped.pool], sum(no_time) AS [dropped.no-time] FROM (" \
	STREAM_PART("ledger_stream", "1", "1", "NOT closed", "in_flight", STREAM_RIGHT) \
	" UNION ALL " \
	STREAM_PART("ledger_stream_sum", "seconds", "span", "0", "0", LEDGER_STREAM_RIGHT) \
	") GROUP BY link, stream, grp"
/* clang-format on */

#define STREAM_ROWS(table, seconds, flight, closed, right, off, tai, begun)                        \
	"SELECT no_member, slow, shutdown, pool, no_time, session, dma_epoch, link, stream, grp, " \
	"second, " seconds " AS seconds, offered, acked, " flight " AS in_flight, " closed         \
	" AS closed,"                                                                              \
	" time, " right " AS balanced, " off " AS off, " tai " AS own_tai, " begun " AS by_clock"  \
	" FROM " table WHERE_LINK
#define STREAM_ROWS_SQL(tail)                                                                      \
	"SELECT * FROM (" STREAM_ROWS("ledger_stream", "1", "in_flight", "closed", STREAM_RIGHT,   \
				      "(offered - " LEDGER_STREAM_DONE " - in_flight)", "NULL",    \
				      LEDGER_STREAM_BEGUN) tail                                    \
		") UNION ALL SELECT * FROM (" STREAM_ROWS(                                         \
			"ledger_stream_sum", "seconds", "0", "1", LEDGER_STREAM_RIGHT,             \
			"(offered - " LEDGER_STREAM_DONE ")", "tai_ns", "begun") tail ")"

/* The frame behind the last one; losses that were joined have holes. */
#define BEHIND "coalesce(until, first + frames)"
#define LINK_LOSSES_SQL                                                                            \
	"SELECT session, 'link' AS kind, code, link, tower, floor, NULL AS stream, NULL AS grp,"   \
	" dma_epoch, first, " BEHIND " - 1 AS last, frames, tai_ns, " LOSS_STARTED(                \
		"(" BEHIND " - first)") " AS begun, time, open FROM loss INDEXED BY "              \
					"loss_time" WHERE_LINK " AND kind = 0"
/*
 * A group's drops: rows of the same loss that follow each other without a hole are one loss. Along such rows
 * `first` minus the frames before is the same number (`run`); the first of them is the head.
 */
#define DROP_OF "session, code, link, tower, floor, stream, grp, dma_epoch"
#define DROP_ROWS_SQL                                                                              \
	"SELECT *, first - (sum(frames) OVER w - frames) AS run,"                                  \
	" first IS NOT lag(first + frames) OVER w AS head FROM loss INDEXED BY "                   \
	"loss_time" WHERE_LINK " AND kind = 1 WINDOW w AS (PARTITION BY " DROP_OF                  \
	" ORDER BY first)"
#define DROPS_SQL                                                                                  \
	"SELECT session, 'group', code, link, tower, floor, stream, grp, dma_epoch, min(first),"   \
	" max(first + frames) - 1, sum(frames),"                                                   \
	" max(CASE WHEN head THEN tai_ns END), max(CASE WHEN head THEN " LOSS_STARTED(             \
		"frames") " END),"                                                                 \
			  " max(time), max(first * 2 + open) % 2" /* of the last */                \
			  " FROM (" DROP_ROWS_SQL ") GROUP BY " DROP_OF ", run"
/* Without INDEXED BY, SQLite would read the whole table: it has the order of the window already. */
#define LOSSES_SQL LINK_LOSSES_SQL " UNION ALL " DROPS_SQL

static const char newest_losses[] =
	"SELECT session, kind, code, link, tower, floor, stream, grp AS [group], dma_epoch, first,"
	" last, frames, tai_ns AS [tai:t], tai_ns, begun AS [begun:t], time AS [time:t],"
	" open AS [open:b] FROM (" LOSSES_SQL " ORDER BY time DESC, first DESC LIMIT ?3)"
	" ORDER BY begun, first, link";

/* Where frames were lost, each place once in each count of the board, with the first and the last of them. */
#define PLACE "kind, code, link, tower, floor, stream, grp, session, dma_epoch"
static const char hops[] =
	"SELECT CASE WHEN code = 'board-fifo' THEN 'board' WHEN code = 'ring-full' THEN 'ring'"
	" WHEN code = 'pool' THEN 'daemon' WHEN kind = 'link' THEN 'link' ELSE 'group' END"
	" AS hop, code, link, tower, floor, stream, grp AS [group], sum(frames) AS frames,"
	" count(*) AS losses, max(CASE WHEN up = 1 THEN first END) AS first,"
	" max(CASE WHEN down = 1 THEN last END) AS last, dma_epoch,"
	" max(CASE WHEN up = 1 THEN tai_ns END) AS [tai:t], min(begun) AS [begun:t],"
	" max(begun + (last + 1 - first) * 125000) AS [ended:t] FROM (SELECT *,"
	" row_number() OVER (PARTITION BY " PLACE " ORDER BY begun, first) AS up,"
	" row_number() OVER (PARTITION BY " PLACE " ORDER BY begun DESC, first DESC) AS down"
	" FROM (" LOSSES_SQL ")) GROUP BY " PLACE " ORDER BY sum(frames) DESC, link, min(begun)"
	" LIMIT max(?3, 256)";

/* Chosen rows with when they began; those of streams by the link's row of the second. */
#define LINK_ROWS_OF(rows)                                                                         \
	"SELECT session, dma_epoch, link, second, seconds, tower, floor, cells, good,"             \
	" link_down AS [link-down], board_fifo AS [board-fifo], ring_full AS [ring-full], crc,"    \
	" alignment, time_fault AS [time-fault], partial AS [partial:b], restarts,"                \
	" closed AS [closed:b], time AS [time:t], balanced AS [balanced:b], off,"                  \
	" tai_ns AS [tai:t], " STARTED("tai_ns", "by_clock") " AS [begun:t] FROM (" rows ")"
#define STREAM_TAI                                                                                 \
	"coalesce(own_tai, (SELECT tai_ns FROM ledger_link k WHERE k.session = s.session"          \
	" AND k.dma_epoch = s.dma_epoch AND k.link = s.link AND k.second = s.second))"
#define STREAM_ROWS_OF(rows)                                                                       \
	"SELECT session, dma_epoch, link, stream, grp AS [group], second, seconds, offered,"       \
	" acked AS acknowledged, in_flight, closed AS [closed:b], time AS [time:t],"               \
	" balanced AS [balanced:b], off, tai_ns AS [tai:t], " STARTED(                             \
		"tai_ns", "by_clock") " AS [begun:t], no_member AS [dropped.no-member],"           \
				      " slow AS [dropped.slow], shutdown AS [dropped.shutdown],"   \
				      " pool AS [dropped.pool], no_time AS [dropped.no-time]"      \
				      " FROM (SELECT *, " STREAM_TAI " AS tai_ns FROM (" rows      \
				      ") s)"
#define NEWEST	     " ORDER BY time DESC, second DESC LIMIT ?3"
#define LINK_ORDER   " ORDER BY session, dma_epoch, second, link"
#define STREAM_ORDER " ORDER BY session, dma_epoch, second, link, stream, grp"

static const char newest_links[] = LINK_ROWS_OF(LINK_ROWS_SQL(NEWEST) NEWEST) LINK_ORDER;
static const char newest_streams[] = STREAM_ROWS_OF(STREAM_ROWS_SQL(NEWEST) NEWEST) STREAM_ORDER;
static const char wrong_links[] = LINK_ROWS_OF(LINK_ROWS_SQL(" AND NOT balanced" NEWEST) NEWEST);
static const char wrong_streams[] =
	STREAM_ROWS_OF(STREAM_ROWS_SQL(" AND NOT balanced" NEWEST) NEWEST);

/* The same by spans of UTC, ?5 ns long; begun with the first of them. */
#define BY_LINK	  "time / ?5, session, dma_epoch, link, tower, floor"
#define BY_STREAM "time / ?5, session, dma_epoch, link, stream, grp"
/* `what` of the row in `table` that is the first of the span g. */
#define OF_FIRST(what, table, more)                                                                \
	"(SELECT " what " FROM " table " f WHERE f.session = g.session"                            \
	" AND f.dma_epoch = g.dma_epoch AND f.link = g.link AND f.second = g.second" more ")"
/* The same of a second as it is kept, or of what it was rolled up into. */
#define OF_EITHER(kept, rolled, table, more)                                                       \
	"coalesce(" OF_FIRST(kept, table, more) ", " OF_FIRST(rolled, table "_sum", more) ")"
#define OF_LINK	  ""
#define OF_STREAM " AND f.stream = g.stream AND f.grp = g.grp"
/* clang-format off */
#define LINK_SPANS \
	"SELECT *," \
	" " OF_EITHER("tai_ns", "tai_ns", "ledger_link", OF_LINK) " AS tai_ns," \
	" " OF_EITHER(LEDGER_LINK_BEGUN, "begun", "ledger_link", OF_LINK) " AS by_clock" \
	" FROM (SELECT session, dma_epoch, link, min(second) AS second, sum(seconds) AS seconds," \
	" tower, floor," LINK_SUMS " min(closed) AS closed, max(time) AS time," \
	" min(balanced) AS balanced, sum(off) AS off" \
	" FROM (" LINK_ROWS_SQL("") ") GROUP BY " BY_LINK ") g"
#define STREAM_SPANS \
	"SELECT *," \
	" " OF_FIRST("tai_ns", "ledger_stream_sum", OF_STREAM) " AS own_tai," \
	" " OF_EITHER(LEDGER_STREAM_BEGUN, "begun", "ledger_stream", OF_STREAM) " AS by_clock" \
	" FROM (SELECT session, dma_epoch, link, stream, grp, min(second) AS second," \
	" sum(seconds) AS seconds," STREAM_SUMS " sum(in_flight) AS in_flight," \
	" min(closed) AS closed, max(time) AS time, min(balanced) AS balanced, sum(off) AS off" \
	" FROM (" STREAM_ROWS_SQL("") ") GROUP BY " BY_STREAM ") g"
/* clang-format on */

static const char spans_of_links[] = LINK_ROWS_OF(LINK_SPANS NEWEST) LINK_ORDER;
static const char spans_of_streams[] = STREAM_ROWS_OF(STREAM_SPANS NEWEST) STREAM_ORDER;

struct scope {
	int64_t since_ns, until_ns, link, limit, by_ns; /* by_ns 0: rows as they are kept */
};

static int add(struct query *q, int r, json_t *object, const char *key, const struct scope *scope,
	       const char *sql)
{
	return query_add_rows(q, r, object, key, sql, strstr(sql, "?5") ? "iiiii" : "iiii",
			      scope->since_ns, scope->link, scope->limit, scope->until_ns,
			      scope->by_ns);
}

static bool all_balanced(const json_t *array)
{
	size_t n;
	json_t *object;

	json_array_foreach (array, n, object) {
		if (!json_is_true(json_object_get(object, "balanced"))) {
			return false;
		}
	}
	return true;
}

static int totals(struct query *q, const struct scope *scope, json_t *object, bool *ret_balanced)
{
	json_t *sums = json_object();
	int r = json_object_set_new(object, "totals", sums) < 0 ? query_no_memory(q) : 0;

	r = add(q, r, sums, "links", scope, LINK_TOTALS_SQL " ORDER BY link LIMIT max(?3, 64)");
	r = add(q, r, sums, "streams", scope,
		STREAM_TOTALS_SQL " ORDER BY link, stream, grp LIMIT max(?3, 256)");
	*ret_balanced = all_balanced(json_object_get(sums, "links")) &&
			all_balanced(json_object_get(sums, "streams"));
	return r;
}

/* The newest rows, oldest first. */
static int details(struct query *q, const struct scope *scope, json_t *object)
{
	bool by = scope->by_ns != 0;
	int r = add(q, 0, object, "links", scope, by ? spans_of_links : newest_links);

	r = add(q, r, object, "streams", scope, by ? spans_of_streams : newest_streams);
	r = add(q, r, object, "losses", scope, newest_losses);
	return add(q, r, object, "hops", scope, hops);
}

/* Rows that do not balance: the first thing to look at when something is wrong. `none`: the totals say that
 * there are none. */
static int unbalanced(struct query *q, struct scope scope, bool none, json_t *object)
{
	int r = json_object_set_new(object, "unbalanced", json_array()) < 0 ? query_no_memory(q)
									    : 0;

	if (none) {
		return r;
	}
	scope.limit = 100;
	r = add(q, r, object, "unbalanced", &scope, wrong_links);
	return add(q, r, object, "unbalanced", &scope, wrong_streams);
}

int query_ledger(struct query *q, const struct query_filter *f, json_t **ret_json)
{
	struct scope scope = {
		.since_ns = f->since_ns,
		.until_ns = f->until_ns ? f->until_ns : INT64_MAX,
		.link = f->link,
		.limit = f->limit ? f->limit : 200,
		.by_ns = f->by_s == 60 || f->by_s == 3600 ? f->by_s * 1000000000ll : 0,
	};
	json_t *json = json_object();
	bool balanced = false;
	/* One snapshot for all of it: else a row may close between two of the questions. */
	int r = sqlite3_exec(q->db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK ? 0 : -EIO;

	r = r == 0 ? totals(q, &scope, json, &balanced) : r;
	r = r == 0 ? details(q, &scope, json) : r;
	r = r == 0 ? unbalanced(q, scope, balanced, json) : r;
	r = r == 0 ? query_missing(q, scope.since_ns, scope.until_ns, scope.link, json) : r;
	/* The end is not cut short: a snapshot that stays keeps the writer's file growing. */
	q->deadline_ns = 0;
	sqlite3_exec(q->db, "COMMIT", NULL, NULL, NULL);
	json_object_set_new(json, "balanced", json_boolean(balanced));
	return query_answer(q, r, json, ret_json);
}
