/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the store keeps, and for how long: a table of rules. The store's thread works on them while it has nothing
 * else to do. A step is one transaction for one short stretch of time (a minute of seconds, an hour of minutes), so an
 * urgent row waits for one step at most, and a kill leaves each step done or not done.
 *
 * A rule finds the oldest row that is due, and rolls up or deletes all due rows of that stretch. Tables without a
 * rule grow with what happens, not with time: runs, verdicts, states of the clock, starts of DMA; and the ledger's hours.
 *
 * A wrong system clock would destroy rows. So nothing is done when it disagrees with the monotonic clock, or began
 * far from the last sign of life of the previous daemon.
 *
 * Freed pages stay in the file and are used again. (SQLite's auto_vacuum would return them to the file system, but it
 * needs a map of all pages and moves a page for each one freed. Nothing here runs VACUUM, which would hold up all rows for
 * as long as it copies the file: to shrink one, run it with the daemon stopped.)
 */
#include "daemon/store/private.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/core/now.h"
#include "schemas/sql.h"

#define PERIOD_MS      60000u
#define SECOND_NS      1000000000ll
#define MINUTE_NS      (60 * SECOND_NS)
#define HOUR_NS	       (3600 * SECOND_NS)
#define DAY_NS	       (24 * HOUR_NS)
#define LOSSES_NS      (5 * SECOND_NS) /* of a bad link: up to LOSSES_PER_SECOND a second */
#define CLOCK_MOVED_NS HOUR_NS	       /* against the monotonic one: a wrong clock */
#define CLOCK_OFF_NS   (30 * DAY_NS)   /* from the previous daemon's last sign of life: likewise */
#define REST	       9u	       /* times as long as it worked ... */
#define REST_NS	       10000000ull     /* ... and at least so long */

/* A row that will not change any more. Rows that do not balance are kept for whoever looks for the reason. */
#define LINK_DUE   "closed AND " LEDGER_LINK_RIGHT
#define STREAM_DUE "closed AND in_flight = 0 AND " LEDGER_STREAM_RIGHT
#define STRETCH	   "time >= ?1 AND time < ?2"

#define LINK_COLUMNS                                                                               \
	"session, dma_epoch, link, second, span, seconds, tower, floor, cells, good, link_down,"   \
	" board_fifo, ring_full, crc, alignment, time_fault, partial, restarts, begun, time, "     \
	"tai_ns"
#define LINK_SUMS                                                                                  \
	"tower, floor, sum(cells), sum(good), sum(link_down), sum(board_fifo), sum(ring_full),"    \
	" sum(crc), sum(alignment), sum(time_fault), sum(partial), sum(restarts)"
#define LINK_OF "session, dma_epoch, link, tower, floor"
#define STREAM_COLUMNS                                                                             \
	"session, dma_epoch, link, stream, grp, second, span, seconds, offered, acked, no_member," \
	" slow, shutdown, pool, no_time, begun, time, tai_ns"
#define STREAM_SUMS                                                                                \
	"sum(offered), sum(acked), sum(no_member), sum(slow), sum(shutdown), sum(pool), "          \
	"sum(no_time)"
#define STREAM_OF "session, dma_epoch, link, stream, grp"
/* Of the first row of a run. */
#define OF_HEAD(what) "max(CASE WHEN head THEN " what " END)"
#define TIMES(begun)  OF_HEAD(begun) ", max(time), " OF_HEAD("tai_ns")

/* The TAI of a stream's second is that of the link's row, which is rolled up later. */
#define LINKS_TAI                                                                                  \
	"(SELECT tai_ns FROM ledger_link k WHERE k.session = s.session"                            \
	" AND k.dma_epoch = s.dma_epoch AND k.link = s.link AND k.second = s.second)"

/*
 * Rows that follow each other without a hole have the same `run`: their second minus the seconds before them
 * in the order. The first of them is the head.
 */
#define WINDOW_OF(of) " WINDOW w AS (PARTITION BY " of " ORDER BY second)"
#define SECOND_RUNS                                                                                \
	"second - row_number() OVER w AS run, lag(second + 1) OVER w IS NOT second AS head"
#define MINUTE_RUNS                                                                                \
	"second - (sum(seconds) OVER w - seconds) AS run,"                                         \
	" lag(second + seconds) OVER w IS NOT second AS head"

#define STEPS	  2u /* of a rule at most */
#define DAYS(key) offsetof(struct store_ages, key)
/* The oldest row that is due; what goes of a stretch. */
#define OLDEST(rows, due)                                                                          \
	"SELECT time FROM " rows " WHERE time < ?1 AND " due " ORDER BY time LIMIT 1"
#define GONE(table, due) "DELETE FROM " table " WHERE " STRETCH " AND " due
/* The due rows of a stretch as sums, a row for each run of `of`. */
#define ROLL_UP(into, key, of, span, seconds, sums, begun, runs, rows, due)                        \
	"INSERT INTO " into " SELECT " key ", min(second), " span ", " seconds ", " sums           \
	", " TIMES(begun) " FROM (SELECT *, " runs " FROM " rows " WHERE " STRETCH " AND " due     \
	WINDOW_OF(of) ") GROUP BY " of ", run"
#define ROLL_LINKS(span, seconds, begun, runs, rows, due)                                          \
	ROLL_UP("ledger_link_sum(" LINK_COLUMNS ")", "session, dma_epoch, link", LINK_OF, span,    \
		seconds, LINK_SUMS, begun, runs, rows, due)
#define ROLL_STREAMS(span, seconds, begun, runs, rows, due)                                        \
	ROLL_UP("ledger_stream_sum(" STREAM_COLUMNS ")", STREAM_OF, STREAM_OF, span, seconds,      \
		STREAM_SUMS, begun, runs, rows, due)
#define LINK_SECONDS   "ledger_link INDEXED BY ledger_link_time"
#define STREAM_SECONDS "ledger_stream s INDEXED BY ledger_stream_time"
#define MINUTES	       "span = 60"

/* Rows of `of` seconds as rows of `span`, which begin where a span of UTC does. */
#define SUM_DARK(span, span_ns, of)                                                                \
	"INSERT INTO dark(span, time, incident, link, tower, floor, modules, dark_ms, hits)"       \
	" SELECT " span ", time - time % " span_ns ", incident, link, max(tower), max(floor),"     \
	" 0, sum(dark_ms), sum(hits) FROM dark WHERE span = " of " AND " STRETCH                   \
	" GROUP BY time - time % " span_ns ", incident, link"                                      \
	" ON CONFLICT DO UPDATE SET dark_ms = dark_ms + excluded.dark_ms,"                         \
	" hits = hits + excluded.hits"

/* Those that have samples, each found by the key behind the one before. */
#define PARAMETERS                                                                                 \
	"WITH RECURSIVE p(parameter) AS (SELECT min(parameter) FROM sample UNION ALL"              \
	" SELECT (SELECT min(parameter) FROM sample s WHERE s.parameter > p.parameter) FROM p"     \
	" WHERE p.parameter IS NOT NULL)"

/* States and switches have words, not means. */
#define AVERAGED                                                                                   \
	"(SELECT parameter FROM p WHERE parameter IS NOT NULL AND NOT EXISTS"                      \
	" (SELECT 1 FROM station WHERE key = kind_key('words.', p.parameter)))"
#define SAMPLE_SUM_COLUMNS                                                                         \
	"sample_sum(parameter, time, span, until, samples, mean, low, high, setpoint)"
/* Samples that follow each other with the same set point have the same `run`. */
#define SAMPLE_RUNS                                                                                \
	"row_number() OVER (PARTITION BY parameter ORDER BY time) - row_number()"                  \
	" OVER (PARTITION BY parameter, setpoint ORDER BY time) AS run"

_Static_assert(NANET3_LINKS == 4, "phases: VALUES and IN name them all");
static const struct rule {
	const char *name;
	size_t days; /* where struct store_ages has its age in days; 0 there: for ever */
	int64_t stretch_ns;
	const char *find;	 /* ?1: before. The time of the oldest row that is due */
	const char *step[STEPS]; /* ?1, ?2: from, to before */
} rules[] = {
	/* Streams before links: see LINKS_TAI. */
	{"seconds of streams",
	 DAYS(ledger_seconds_days),
	 MINUTE_NS,
	 OLDEST(STREAM_SECONDS, STREAM_DUE),
	 {ROLL_STREAMS("60", "count(*)", LEDGER_STREAM_BEGUN, LINKS_TAI " AS tai_ns, " SECOND_RUNS,
		       STREAM_SECONDS, STREAM_DUE),
	  GONE("ledger_stream", STREAM_DUE)}},
	{"seconds of links",
	 DAYS(ledger_seconds_days),
	 MINUTE_NS,
	 OLDEST(LINK_SECONDS, LINK_DUE),
	 {ROLL_LINKS("60", "count(*)", LEDGER_LINK_BEGUN, SECOND_RUNS, LINK_SECONDS, LINK_DUE),
	  GONE("ledger_link", LINK_DUE)}},
	{"minutes of streams",
	 DAYS(ledger_minutes_days),
	 HOUR_NS,
	 OLDEST("ledger_stream_sum INDEXED BY ledger_stream_sum_minute", MINUTES),
	 {ROLL_STREAMS("3600", "sum(seconds)", "begun", MINUTE_RUNS, "ledger_stream_sum", MINUTES),
	  GONE("ledger_stream_sum", MINUTES)}},
	{"minutes of links",
	 DAYS(ledger_minutes_days),
	 HOUR_NS,
	 OLDEST("ledger_link_sum INDEXED BY ledger_link_sum_minute", MINUTES),
	 {ROLL_LINKS("3600", "sum(seconds)", "begun", MINUTE_RUNS, "ledger_link_sum", MINUTES),
	  GONE("ledger_link_sum", MINUTES)}},
	{"darkness by second",
	 DAYS(ledger_seconds_days),
	 MINUTE_NS,
	 OLDEST("dark", "span = 1"),
	 {SUM_DARK("60", "60000000000", "1"), GONE("dark", "span = 1")}},
	{"darkness by minute",
	 DAYS(ledger_minutes_days),
	 HOUR_NS,
	 OLDEST("dark", MINUTES),
	 {SUM_DARK("3600", "3600000000000", "60"), GONE("dark", MINUTES)}},
	{"losses",
	 DAYS(losses_days),
	 LOSSES_NS,
	 OLDEST("loss INDEXED BY loss_time", "true"),
	 {GONE("loss", "true")}},
	{"phases",
	 DAYS(phase_days),
	 MINUTE_NS,
	 "SELECT oldest FROM (SELECT min((SELECT min(time) FROM phase_row WHERE link = column1))"
	 " AS oldest FROM (VALUES (0), (1), (2), (3))) WHERE oldest < ?1",
	 {"DELETE FROM phase_row WHERE link IN (0, 1, 2, 3) AND " STRETCH}},
	{"samples into minutes",
	 DAYS(samples_full_days),
	 MINUTE_NS,
	 PARAMETERS " SELECT oldest FROM (SELECT min((SELECT min(time) FROM sample s"
		    " WHERE s.parameter = a.parameter)) AS oldest FROM " AVERAGED
		    " a) WHERE oldest < ?1",
	 {PARAMETERS " INSERT INTO " SAMPLE_SUM_COLUMNS
		     " SELECT parameter, min(time), 60, max(time), count(*),"
		     " avg(value), min(value), max(value), setpoint FROM (SELECT *, " SAMPLE_RUNS
		     " FROM sample WHERE parameter IN " AVERAGED " AND " STRETCH
		     ") GROUP BY parameter, setpoint, run",
	  PARAMETERS " DELETE FROM sample WHERE parameter IN " AVERAGED " AND " STRETCH}},
	{"minutes of samples",
	 DAYS(samples_minutes_days),
	 HOUR_NS,
	 OLDEST("sample_sum INDEXED BY sample_sum_minute", MINUTES),
	 {"INSERT INTO " SAMPLE_SUM_COLUMNS " SELECT parameter, min(time), 3600, max(until),"
	  " sum(samples), sum(mean * samples) / sum(samples), min(low), max(high), setpoint"
	  " FROM (SELECT *, " SAMPLE_RUNS " FROM sample_sum WHERE span = 60 AND " STRETCH
	  ") GROUP BY parameter, setpoint, run",
	  GONE("sample_sum", MINUTES)}},
	{"samples rolled up",
	 DAYS(samples_days),
	 HOUR_NS,
	 OLDEST("sample_sum INDEXED BY sample_sum_time", "true"),
	 {GONE("sample_sum", "true")}},
	{"samples",
	 DAYS(samples_days),
	 MINUTE_NS,
	 PARAMETERS " SELECT oldest FROM (SELECT min((SELECT min(time) FROM sample s"
		    " WHERE s.parameter = p.parameter)) AS oldest FROM p) WHERE oldest < ?1",
	 {PARAMETERS
	  " DELETE FROM sample WHERE parameter IN (SELECT parameter FROM p) AND " STRETCH}},
};

#define RULES	(sizeof(rules) / sizeof(rules[0]))
#define ARCHIVE RULES /* comes behind the rules */

static uint32_t days_of(const struct store *s, const struct rule *rule)
{
	uint32_t days;

	memcpy(&days, (const char *)&s->config.ages + rule->days, sizeof(days));
	return days;
}

/* One step of one rule, in a transaction of its own. 1: the rows that are gone are counted; 0: nothing is due. Rows of
 * stretches that ended so many days ago are. */
static int transact(struct store *s, const struct rule *rule, int64_t utc_ns, uint64_t *ret_rows)
{
	uint32_t days = days_of(s, rule);
	int64_t time = 0, stretch[2], old_ns = utc_ns - days * DAY_NS;
	int r = days ? store_find(s->db, rule->find, old_ns - old_ns % rule->stretch_ns, &time, 1)
		     : 0;

	if (r <= 0) {
		return r;
	}
	stretch[0] = time - (time % rule->stretch_ns + rule->stretch_ns) % rule->stretch_ns;
	stretch[1] = stretch[0] + rule->stretch_ns;
	r = store_run_all(s->db, rule->step, STEPS, stretch, 2);
	*ret_rows = (uint64_t)sqlite3_changes(s->db);
	return r < 0 ? r : 1;
}

static void note(struct store *s, uint64_t rows, int r)
{
	pthread_mutex_lock(&s->lock);
	s->status.keep_steps++;
	s->status.keep_failing = r < 0;
	s->status.keep_errors += r < 0;
	s->status.keep_rows += r < 0 ? 0 : rows;
	if (r < 0 && s->keep.rule == ARCHIVE) {
		memcpy(s->status.keep_error_text, s->keep.why, sizeof(s->keep.why));
	} else if (r < 0) {
		snprintf(s->status.keep_error_text, sizeof(s->status.keep_error_text), "%s: %s",
			 rules[s->keep.rule].name, sqlite3_errmsg(s->db));
	}
	pthread_mutex_unlock(&s->lock);
}

static void begin_pass(struct store *s)
{
	static const struct store_ages never;
	uint64_t period_ms = s->config.keep_ms ? s->config.keep_ms : PERIOD_MS;
	bool any = memcmp(&s->config.ages, &never, sizeof(never)) != 0;

	s->keep.rule = 0;
	s->keep.next_ns = any ? now_mono_ns() + period_ms * 1000000 : UINT64_MAX;
}

static int64_t utc_ns(const struct store *s)
{
	return s->config.utc_ns ? s->config.utc_ns() : now_utc_ns();
}

void store_keep_start(struct store *s)
{
	s->keep.start_utc_ns = utc_ns(s);
	s->keep.start_mono_ns = now_mono_ns();
	begin_pass(s);
}

/* Whether rows may be rolled up and deleted by this clock. */
static bool clock_is_right(struct store *s, int64_t *ret_utc_ns)
{
	int64_t utc = utc_ns(s), start = s->keep.start_utc_ns, alive = s->keep.alive_ns;
	int64_t moved = utc - start - (int64_t)(now_mono_ns() - s->keep.start_mono_ns);
	int64_t off = alive ? start - alive : 0;
	bool right = llabs(moved) < CLOCK_MOVED_NS && llabs(off) < CLOCK_OFF_NS;

	*ret_utc_ns = utc;
	if (right && !s->keep.clock_wrong) {
		return true;
	}
	s->keep.clock_wrong = !right;
	pthread_mutex_lock(&s->lock);
	s->status.keep_failing = !right;
	if (right) {
		s->status.keep_error_text[0] = '\0';
	} else if (llabs(moved) >= CLOCK_MOVED_NS) {
		snprintf(s->status.keep_error_text, sizeof(s->status.keep_error_text),
			 "the system clock has moved by %.1f hours since the daemon's start",
			 (double)moved / (double)HOUR_NS);
	} else {
		snprintf(s->status.keep_error_text, sizeof(s->status.keep_error_text),
			 "the system clock is %.0f days from where the last daemon ended",
			 (double)off / (double)DAY_NS);
	}
	pthread_mutex_unlock(&s->lock);
	return right;
}

/* Nothing is left for this rule, or it failed. After the last one the next pass is a period away. */
static void next_rule(struct store *s)
{
	if (++s->keep.rule > ARCHIVE) {
		begin_pass(s);
	}
}

void store_keep_step(struct store *s)
{
	uint64_t began = now_mono_ns(), rows = 0, took, rest;
	int64_t utc;
	int r;

	if (!clock_is_right(s, &utc)) {
		begin_pass(s);
		return;
	}
	r = s->keep.rule == ARCHIVE ? store_archive_step(s, utc, &rows)
				    : transact(s, &rules[s->keep.rule], utc, &rows);
	took = now_mono_ns() - began;
	s->keep.next_ns = began + took;
	if (r == 0) {
		next_rule(s);
		return;
	}
	rest = took * (s->config.keep_rest ? s->config.keep_rest : REST);
	s->keep.next_ns += rest > REST_NS ? rest : REST_NS;
	note(s, rows, r);
	if (r < 0) {
		store_roll_back(s->db);
		next_rule(s);
	}
}
