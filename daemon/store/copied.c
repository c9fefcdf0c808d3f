/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A backup (fcmctl backup) has the time of its data in it: station's `copied`. The first daemon that opens such a file
 * does not know what the station did after that time. No number may be given twice, so the numbers skip what may have
 * been given: the time since then x the largest rate (below), and a margin. station's after.* have the result.
 *
 * The same backup may be restored twice. Both times the numbers begin at those of the backup, plus a rate x the time
 * since; so the second daemon begins above all that the first can have given. That is why nothing is rounded.
 *
 * What was going on when the backup was made has gone on without it: open commands are UNKNOWN (the word of an hour ago
 * must not be sent now), and the run and the incidents have ended: what is still wrong gets a new number.
 */
#include "daemon/store/private.h"

#include <stdlib.h>

#include "daemon/core/now.h"
#include "schemas/sql.h"

#define SECOND_NS 1000000000ll
#define MOST_S	  (366 * 86400ll)
#define BEFORE_S  (30 * 86400ll) /* where the clock is before the time of the backup */

/* The largest rates a second. Commands: twice what bench-command has reached on any machine. Runs: a border of slices is
 * needed, each 200 ms. Incidents: INCIDENTS_MAX at a time, each of 2 s or more, are 32. Sessions: a start of DMA takes
 * longer than 100 ms. */
#define COMMANDS_PER_S	"10000"
#define RUNS_PER_S	"5"
#define INCIDENTS_PER_S "32"
#define SESSIONS_PER_S	"10"
/* A floor's 32 bits must last for years, so these skip less. The engine asks the FCM for the largest number that it
 * remembers, and goes on after that (slowctl/engine/sequence.c). */
#define SEQUENCES "min(65536 + 1000 * ?3, 16777216)"

/* A wrong clock, time and again, uses no range up: what it ends at is left for the years that follow. */
#define COMMANDS_MOST "999000000000" /* JOURNAL_OWN_IDS are above */
#define NUMBERS_MOST  "4200000000"   /* 32 bits */
#define SESSIONS_MOST "2100000000"   /* STORE_LATER are above */

#define COPIED "SELECT CAST(value AS INTEGER) FROM station WHERE key = 'copied'"
#define SKIP(column, of, what, rate, most)                                                         \
	"INSERT OR REPLACE INTO station(key, value) SELECT 'after." what "',"                      \
	" max(n, min(n + " rate " + " rate " * ?3, " most "))"                                     \
	" FROM (SELECT max(coalesce((SELECT max(" column ") FROM " of                              \
	"), 0), " NUMBERS_AFTER(what) ") AS n)"

#define AFTER_COMMAND  NUMBERS_AFTER("command")
#define AFTER_RUN      NUMBERS_AFTER("run")
#define AFTER_INCIDENT NUMBERS_AFTER("incident")

#define NOT_KNOWN "'" STORE_RESTORED ": its outcome is unknown'"

/* ?1: the time of the data, ?2: now, ?3: seconds between. */
static const char *const numbers[] = {
	SKIP("id", "command WHERE id < " JOURNAL_OWN_IDS, "command", COMMANDS_PER_S, COMMANDS_MOST),
	SKIP("number", "run", "run", RUNS_PER_S, NUMBERS_MOST),
	SKIP("number", "incident", "incident", INCIDENTS_PER_S, NUMBERS_MOST),
	SKIP("session", "dma", "session", SESSIONS_PER_S, SESSIONS_MOST),
	"INSERT INTO sequence(tower, floor, reserved_until)"
	" SELECT tower, floor, max(sequence) FROM command WHERE sequence IS NOT NULL"
	" GROUP BY tower, floor ON CONFLICT DO UPDATE"
	" SET reserved_until = max(reserved_until, excluded.reserved_until)",
	"UPDATE sequence SET reserved_until = min(reserved_until + " SEQUENCES ", 4294967295)",
	/* Readers may ask for events after one that they have. */
	"INSERT INTO event(id, time, severity, code, object, text, action) VALUES("
	" coalesce((SELECT max(id) FROM event), 0) + 1000 + 1000 * ?3,"
	" ?2, 'info', 'database-restored', 'database',"
	" format('restored from a backup of %s UTC: what happened after that is not in it. No"
	" number is given twice: commands go on after %d, runs after %d, incidents after %d',"
	" strftime('%Y-%m-%d %H:%M:%S', ?1 / 1000000000, 'unixepoch'),"
	" " AFTER_COMMAND ", " AFTER_RUN ", " AFTER_INCIDENT "),"
	" 'Compare set values with what you want (fcmctl diff), and start a run.')",
	"INSERT OR REPLACE INTO station(key, value) VALUES('restored', ?2)",
	"DELETE FROM station WHERE key = 'copied'",
};

static const char *const left_open[] = {
	"INSERT INTO transition(command, number, time, state, frame, detail)"
	" SELECT id, coalesce((SELECT max(number) FROM transition WHERE command = id), 1) + 1, ?2,"
	" 'UNKNOWN', NULL, " NOT_KNOWN " FROM command WHERE " JOURNAL_OPEN,
	"UPDATE command SET state = 'UNKNOWN', detail = " NOT_KNOWN ", ended = ?2"
	" WHERE " JOURNAL_OPEN,
	"UPDATE run SET ended = max(begun, ?1) WHERE ended IS NULL",
	"UPDATE incident SET until = max(since, ?1) WHERE until IS NULL",
	/* What operators have seen and paused was that of then. */
	"DELETE FROM observation WHERE state = 'over'",
	"UPDATE observation SET acknowledged = NULL, ack_who = NULL, ack_origin = NULL,"
	" ack_text = NULL, paused = NULL, paused_until = NULL, paused_level = NULL,"
	" pause_who = NULL, pause_origin = NULL, pause_reason = NULL",
};

static int run_all(struct store *s, const char *const *steps, size_t count, const int64_t *values)
{
	int r = 0;

	for (size_t n = 0; n < count && r == 0; n++) {
		r = store_run(s->db, steps[n], values, 3);
	}
	return r;
}

int store_after_copy(struct store *s)
{
	int64_t values[3] = {0};
	int64_t seconds;
	int r = store_find(s->db, COPIED, 0, values, 1);

	if (r <= 0) {
		return r;
	}
	values[1] = s->config.utc_ns ? s->config.utc_ns() : now_utc_ns();
	seconds = (values[1] - values[0]) / SECOND_NS;
	values[2] = values[1] < values[0] ? BEFORE_S : seconds < MOST_S ? seconds : MOST_S;
	r = store_run(s->db, "BEGIN IMMEDIATE", NULL, 0);
	/* A daemon that has had a file before goes on with its own commands and run. */
	if (r == 0 && !s->sessions_known) {
		r = run_all(s, left_open, sizeof(left_open) / sizeof(left_open[0]), values);
	}
	r = r == 0 ? run_all(s, numbers, sizeof(numbers) / sizeof(numbers[0]), values) : r;
	r = r == 0 ? store_run(s->db, "COMMIT", NULL, 0) : r;
	if (r < 0) {
		store_roll_back(s->db);
	}
	return r;
}
