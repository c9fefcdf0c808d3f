/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read-only queries on the ledger: totals, rows, losses by name, and whether it balances. The sums are
 * SQLite's; every link row must balance: a cell is counted with its verdict. A stream row may
 * have frames in flight while it is open. See query.h.
 */
#include "slowctl/query_private.h"

#include <errno.h>
#include <stdbool.h>

#define LINK_SUM   "(good + link_down + board_fifo + ring_full + crc + alignment + time_fault)"
#define STREAM_SUM "(acked + no_member + slow + shutdown + pool + no_time + in_flight)"
/* Whether a row may stand. */
#define LINK_RIGHT   "(cells = " LINK_SUM ")"
#define STREAM_RIGHT "(offered = " STREAM_SUM " AND (NOT closed OR in_flight = 0))"
#define WHERE_LINK   " WHERE time >= ?1 AND (?2 < 0 OR link = ?2)"

#define LOSSES                                                                                     \
	{"link-down", COLUMN_INT}, {"board-fifo", COLUMN_INT}, {"ring-full", COLUMN_INT},          \
		{"crc", COLUMN_INT}, {"alignment", COLUMN_INT},                                    \
	{                                                                                          \
		"time-fault", COLUMN_INT                                                           \
	}

/*
 * When something began: by the label of its first frame, as consumers see it. Without label by the system
 * clock: a row is written with the time when it last grew, `frames` after it began; frames are 125 us apart.
 * (What is from before a leap second comes out a second early: TAI-UTC is today's.)
 */
#define BEGUN(tai_ns, frames)                                                                      \
	"coalesce(" tai_ns                                                                         \
	" - (SELECT CAST(value AS INTEGER) FROM station WHERE key = 'tai_utc_s')"                  \
	" * 1000000000, time - " frames " * 125000)"

static const struct column link_totals[] = {
	{"link", COLUMN_INT},
	{"tower", COLUMN_INT},
	{"floor", COLUMN_INT},
	{"seconds", COLUMN_INT},
	{"open", COLUMN_INT},
	{"partial", COLUMN_INT},
	{"restarts", COLUMN_INT},
	{"cells", COLUMN_INT},
	{"good", COLUMN_INT},
	{"lost", COLUMN_INT},
	LOSSES,
	{"balanced", COLUMN_BOOL},
	{NULL, COLUMN_END},
};
#define LINK_TOTALS_SQL                                                                            \
	"SELECT link, tower, floor, count(*), sum(NOT closed), sum(partial), sum(restarts),"       \
	" sum(cells), sum(good), sum(" LINK_SUM " - good), sum(link_down), sum(board_fifo),"       \
	" sum(ring_full), sum(crc), sum(alignment), sum(time_fault), min(" LINK_RIGHT ")"          \
	" FROM ledger_link" WHERE_LINK " GROUP BY link, tower, floor"

static const struct column link_rows[] = {
	{"session", COLUMN_INT},  {"dma_epoch", COLUMN_INT}, {"link", COLUMN_INT},
	{"second", COLUMN_INT},	  {"tower", COLUMN_INT},     {"floor", COLUMN_INT},
	{"cells", COLUMN_INT},	  {"good", COLUMN_INT},	     LOSSES,
	{"partial", COLUMN_BOOL}, {"restarts", COLUMN_INT},  {"closed", COLUMN_BOOL},
	{"time", COLUMN_TIME},	  {"balanced", COLUMN_BOOL}, {"tai", COLUMN_TIME},
	{"begun", COLUMN_TIME},	  {NULL, COLUMN_END},
};
#define LINK_ROWS_SQL                                                                              \
	"SELECT session, dma_epoch, link, second, tower, floor, cells, good, link_down, "          \
	"board_fifo,"                                                                              \
	" ring_full, crc, alignment, time_fault, partial, restarts, closed, time, " LINK_RIGHT     \
	" AS balanced, tai_ns FROM ledger_link" WHERE_LINK

/* The drops come first; they are put into an object of their own. */
static const struct column drop_names[] = {
	{"no-member", COLUMN_INT}, {"slow", COLUMN_INT},    {"shutdown", COLUMN_INT},
	{"pool", COLUMN_INT},	   {"no-time", COLUMN_INT}, {NULL, COLUMN_END},
};
#define DROPS 5

static const struct column stream_totals[] = {
	{"link", COLUMN_INT},	      {"stream", COLUMN_TEXT},	 {"group", COLUMN_TEXT},
	{"seconds", COLUMN_INT},      {"open", COLUMN_INT},	 {"offered", COLUMN_INT},
	{"acknowledged", COLUMN_INT}, {"in_flight", COLUMN_INT}, {"lost", COLUMN_INT},
	{"balanced", COLUMN_BOOL},    {NULL, COLUMN_END},
};
#define STREAM_TOTALS_SQL                                                                          \
	"SELECT sum(no_member), sum(slow), sum(shutdown), sum(pool), sum(no_time), link, stream, " \
	"grp, count(*),"                                                                           \
	" sum(NOT closed), sum(offered), sum(acked), sum(in_flight),"                              \
	" sum(no_member + slow + shutdown + pool + no_time), min(" STREAM_RIGHT ")"                \
	" FROM ledger_stream" WHERE_LINK " GROUP BY link, stream, grp"

static const struct column stream_rows[] = {
	{"session", COLUMN_INT}, {"dma_epoch", COLUMN_INT},    {"link", COLUMN_INT},
	{"stream", COLUMN_TEXT}, {"group", COLUMN_TEXT},       {"second", COLUMN_INT},
	{"offered", COLUMN_INT}, {"acknowledged", COLUMN_INT}, {"in_flight", COLUMN_INT},
	{"closed", COLUMN_BOOL}, {"time", COLUMN_TIME},	       {"balanced", COLUMN_BOOL},
	{"tai", COLUMN_TIME},	 {"begun", COLUMN_TIME},       {NULL, COLUMN_END},
};
#define STREAM_ROWS_SQL                                                                            \
	"SELECT no_member, slow, shutdown, pool, no_time, session, dma_epoch, link, stream, grp, " \
	"second,"                                                                                  \
	" offered, acked, in_flight, closed, time, " STREAM_RIGHT                                  \
	" AS balanced FROM ledger_stream" WHERE_LINK

static const struct column losses[] = {
	{"session", COLUMN_INT}, {"kind", COLUMN_TEXT},	 {"code", COLUMN_TEXT},
	{"link", COLUMN_INT},	 {"tower", COLUMN_INT},	 {"floor", COLUMN_INT},
	{"stream", COLUMN_TEXT}, {"group", COLUMN_TEXT}, {"dma_epoch", COLUMN_INT},
	{"first", COLUMN_INT},	 {"last", COLUMN_INT},	 {"frames", COLUMN_INT},
	{"tai", COLUMN_TIME},	 {"tai_ns", COLUMN_INT}, {"begun", COLUMN_TIME},
	{"time", COLUMN_TIME},	 {"open", COLUMN_BOOL},	 {NULL, COLUMN_END},
};
#define LOSS_BEGUN BEGUN("tai_ns", "frames")
/* `behind`: the frame behind the last one; runs that were joined have holes. */
#define LINK_LOSS_BEGUN(behind) BEGUN("tai_ns", "(" behind " - first)")
#define LINK_LOSSES_SQL(behind)                                                                    \
	"SELECT session, 'link', code, link, tower, floor, NULL, NULL, dma_epoch, first, " behind  \
	" - 1, frames, tai_ns, tai_ns, " LINK_LOSS_BEGUN(                                          \
		behind) " AS begun, time, open FROM loss INDEXED BY loss_time" WHERE_LINK          \
			" AND kind = 0"
/*
 * A group's drops: rows that go on where the one before of the same loss ends are one loss. Along such rows
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
	" max(first + frames) - 1, sum(frames), max(CASE WHEN head THEN tai_ns END),"              \
	" max(CASE WHEN head THEN tai_ns END), max(CASE WHEN head THEN " LOSS_BEGUN " END),"       \
	" max(time), max(first * 2 + open) % 2" /* of the last */                                  \
	" FROM (" DROP_ROWS_SQL ") GROUP BY " DROP_OF ", run"
/* Without INDEXED BY, SQLite would read the whole table: it has the order of the window already. */
#define LOSSES_SQL(behind) LINK_LOSSES_SQL(behind) " UNION ALL " DROPS_SQL
#define NEWEST_LOSSES(behind)                                                                      \
	"SELECT * FROM (" LOSSES_SQL(behind) " ORDER BY time DESC, first DESC LIMIT ?3)"           \
					     " ORDER BY begun, first, link"

static const char newest_losses[] = NEWEST_LOSSES("coalesce(until, first + frames)");
static const char newest_losses_before_3[] = NEWEST_LOSSES("(first + frames)");

/* Chosen rows of seconds with when they began; those of streams by the link's row of the second. */
#define LINK_ROWS_OF(rows) "SELECT *, " BEGUN("tai_ns", "8000") " FROM (" rows ")"
#define LINKS_TAI                                                                                  \
	"(SELECT tai_ns FROM ledger_link k WHERE k.session = s.session"                            \
	" AND k.dma_epoch = s.dma_epoch AND k.link = s.link AND k.second = s.second)"
#define STREAM_ROWS_OF(rows) LINK_ROWS_OF("SELECT *, " LINKS_TAI " AS tai_ns FROM (" rows ") s")
#define NEWEST		     " ORDER BY time DESC, second DESC LIMIT ?3"

static const char newest_links[] =
	LINK_ROWS_OF(LINK_ROWS_SQL NEWEST) " ORDER BY session, dma_epoch, second, link";
static const char newest_streams[] = STREAM_ROWS_OF(
	STREAM_ROWS_SQL NEWEST) " ORDER BY session, dma_epoch, second, link, stream, grp";
static const char wrong_links[] = LINK_ROWS_OF(LINK_ROWS_SQL " AND NOT " LINK_RIGHT NEWEST);
static const char wrong_streams[] = STREAM_ROWS_OF(STREAM_ROWS_SQL " AND NOT " STREAM_RIGHT NEWEST);

struct scope {
	int64_t since_ns, link, limit;
};

static int rows_of(struct query *q, const struct scope *scope, const char *sql,
		   const struct column *columns, json_t **ret_array)
{
	sqlite3_stmt *s;
	int r = query_prepare(q, &s, sql, "iii", scope->since_ns, scope->link, scope->limit);

	return r < 0 ? r : query_array(q, s, columns, ret_array);
}

/* Rows of streams: the first columns are the drops. */
static int streams_of(struct query *q, const struct scope *scope, const char *sql,
		      const struct column *columns, json_t **ret_array)
{
	json_t *array = json_array();
	sqlite3_stmt *s;
	int r = query_prepare(q, &s, sql, "iii", scope->since_ns, scope->link, scope->limit);

	if (r < 0) {
		json_decref(array);
		return r;
	}
	while ((r = query_step(q, s)) > 0) {
		json_t *object = query_object(s, DROPS, columns);

		if (!object ||
		    json_object_set_new(object, "dropped", query_object(s, 0, drop_names)) < 0 ||
		    json_array_append(array, object) < 0) {
			r = query_no_memory(q);
		}
		json_decref(object);
		if (r < 0) {
			break;
		}
	}
	sqlite3_finalize(s);
	if (r < 0) {
		json_decref(array);
		return r;
	}
	*ret_array = array;
	return 0;
}

static int add(struct query *q, json_t *object, const char *key, int r, json_t *array)
{
	if (r < 0) {
		return r;
	}
	return json_object_set_new(object, key, array) < 0 ? query_no_memory(q) : 0;
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
	json_t *links = NULL, *streams = NULL;
	int r = rows_of(q, scope, LINK_TOTALS_SQL " ORDER BY link LIMIT max(?3, 64)", link_totals,
			&links);

	r = add(q, object, "links", r, links);
	if (r == 0) {
		r = streams_of(q, scope,
			       STREAM_TOTALS_SQL " ORDER BY link, stream, grp LIMIT max(?3, 256)",
			       stream_totals, &streams);
		r = add(q, object, "streams", r, streams);
	}
	if (r == 0) {
		*ret_balanced = all_balanced(links) && all_balanced(streams);
	}
	return r;
}

/* The newest rows, oldest first. */
static int details(struct query *q, const struct scope *scope, json_t *object)
{
	json_t *array = NULL;
	int r = rows_of(q, scope, newest_links, link_rows, &array);

	r = add(q, object, "links", r, array);
	if (r == 0) {
		r = streams_of(q, scope, newest_streams, stream_rows, &array);
		r = add(q, object, "streams", r, array);
	}
	if (r == 0) {
		r = rows_of(q, scope, q->version < 3 ? newest_losses_before_3 : newest_losses,
			    losses, &array);
		r = add(q, object, "losses", r, array);
	}
	return r;
}

/* Rows that do not balance: the first thing to look at when something is wrong. `none`: the totals say that
 * there are none. */
static int unbalanced(struct query *q, struct scope scope, bool none, json_t *object)
{
	json_t *links = NULL, *streams = NULL;
	int r;

	if (none) {
		return add(q, object, "unbalanced", 0, json_array());
	}

	scope.limit = 100;
	r = rows_of(q, &scope, wrong_links, link_rows, &links);
	if (r == 0) {
		r = streams_of(q, &scope, wrong_streams, stream_rows, &streams);
	}
	if (r == 0) {
		json_array_extend(links, streams);
	}
	json_decref(streams);
	if (r < 0) {
		json_decref(links);
		return r;
	}
	return add(q, object, "unbalanced", 0, links);
}

int query_ledger(struct query *q, int64_t since_ns, int link, unsigned limit, json_t **ret_json)
{
	struct scope scope = {since_ns, link, limit ? limit : 200};
	json_t *json = json_object(), *sums = json_object();
	bool balanced = false;
	/* One snapshot for all of it: else a row may close between two of the questions. */
	int r = sqlite3_exec(q->db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK ? 0 : -EIO;

	r = r == 0 ? totals(q, &scope, sums, &balanced) : r;
	r = r == 0 ? details(q, &scope, json) : r;
	r = r == 0 ? unbalanced(q, scope, balanced, json) : r;
	r = r == 0 ? query_missing(q, since_ns, link, json) : r;
	/* The end is not cut short: a snapshot that stays keeps the writer's file growing. */
	q->deadline_ns = 0;
	sqlite3_exec(q->db, "COMMIT", NULL, NULL, NULL);
	if (r == 0 && (json_object_set(json, "totals", sums) < 0 ||
		       json_object_set_new(json, "balanced", json_boolean(balanced)) < 0)) {
		r = query_no_memory(q);
	}
	json_decref(sums);
	if (r < 0) {
		json_decref(json);
		return r;
	}
	*ret_json = json;
	return 0;
}
