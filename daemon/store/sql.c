/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The statements of the store: what each row of schemas/rows.h does to the tables of schemas/sql/. The
 * numbers ?n are the places of the row's values; all statements of a row see all its values.
 */
#include "daemon/store/private.h"

#include <errno.h>

#include "schemas/sql.h"

/* Left open by another start of DMA of the link than ?1, ?3. */
#define LEFT_OPEN " WHERE link = ?2 AND NOT closed AND NOT (session = ?1 AND dma_epoch = ?3)"

/* The SQL is set by hand. */
/* clang-format off */

/* What a group has dropped is named at once, its row may be older: the name counts. */
#define TAKE_NAMED(code, column) \
	"UPDATE ledger_stream AS s SET " column " = s." column " + n.more," \
	" in_flight = s.in_flight - n.more" \
	" FROM (SELECT session, dma_epoch, link, stream, grp, second," \
	" max(0, min(in_flight, named - " column ")) AS more" \
	" FROM (SELECT *, (SELECT coalesce(sum(min(l.first + l.frames, o.second * 8000 + 8000)" \
	" - max(l.first, o.second * 8000)), 0) FROM loss l WHERE l.session = o.session" \
	" AND l.kind = 1 AND l.code = '" code "' AND l.link = o.link AND l.stream = o.stream" \
	" AND l.grp = o.grp AND l.dma_epoch = o.dma_epoch AND l.first < o.second * 8000 + 8000" \
	" AND l.first + l.frames > o.second * 8000) AS named" \
	" FROM ledger_stream o INDEXED BY ledger_stream_open" LEFT_OPEN ")) n" \
	" WHERE s.session = n.session AND s.dma_epoch = n.dma_epoch AND s.link = n.link" \
	" AND s.stream = n.stream AND s.grp = n.grp AND s.second = n.second"

#define PLACES_2  "?1,?2"
#define PLACES_4  PLACES_2 ",?3,?4"
#define PLACES_5  PLACES_4 ",?5"
#define PLACES_6  PLACES_5 ",?6"
#define PLACES_8  PLACES_6 ",?7,?8"
#define PLACES_10 PLACES_8 ",?9,?10"
#define PLACES_15 PLACES_10 ",?11,?12,?13,?14,?15"
#define PLACES_16 PLACES_15 ",?16"
#define PLACES_19 PLACES_16 ",?17,?18,?19"
#define PLACES_22 PLACES_16 ",?17,?18,?19,?20,?21,?22"
/* A row of all its values, in order. */
#define INSERT(count, into, columns) "INSERT " into "(" columns ") VALUES(" PLACES_##count ")"

#define INSERT_COMMAND(client_id) \
	"INSERT INTO command(id, client_id, time, who, uid, pid, origin, reason, link, tower," \
	" floor, parameter, op, old_value, new_value, unit, sequence, boot, state, detail, ended)" \
	" VALUES(?1," client_id ",?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19," \
	"?20,?21)"
#define MOVE_COMMAND \
	"UPDATE command SET state = ?3, detail = ?5, sequence = ?6, boot = ?7, attempts = ?8," \
	" ended = ?9 WHERE id = ?1 AND coalesce(sequence, 0) <= ?6"
#define NEXT_NUMBER "(SELECT coalesce(max(number), 1) + 1 FROM transition WHERE command = ?1)"

/* A second of the ledger: its row is not closed, and not rolled up. */
#define LINK_KEY   "session = ?1 AND dma_epoch = ?2 AND link = ?3"
#define STREAM_KEY LINK_KEY " AND stream = ?4 AND grp = ?5"
#define CLOSED(table, key, second) \
	"EXISTS (SELECT 1 FROM " table " WHERE " key " AND second = " second " AND closed)"
#define NOT_ROLLED_UP(table, key, at) \
	"coalesce((SELECT second + seconds FROM " table " WHERE " key " AND second <= " at \
	" ORDER BY second DESC LIMIT 1) <= " at ", 1)"

const struct store_sql store_sql[ROW_IDS] = {
	/* A command that was refused at once has the client id CLIENT_ID!NUMBER. If an earlier one has
	 * the client id itself, that is in conflict with this row, too. */
	[ROW_COMMAND] = {21, {INSERT_COMMAND("coalesce((SELECT client_id FROM command"
		" WHERE ?19 = 'REFUSED' AND client_id = substr(?2, 1, length(?2) - length(?1) - 1)"
		" AND client_id || '!' || ?1 = ?2 AND id < ?1), ?2)")}},
	/* Number 1 is the command's own row. (VALUES, not SELECT: that one may write many rows, and
	 * SQLite would keep a copy of each page for the case that it fails halfway.) A row that
	 * waited for the disk may come after one that could not: that has a later sequence. */
	[ROW_TRANSITION] = {9, {
		"INSERT INTO transition(command, number, time, state, frame, detail)"
		" VALUES(?1, " NEXT_NUMBER ", ?2, ?3, ?4, ?5)",
		MOVE_COMMAND}},
	[ROW_COMMAND_BROUGHT] = {21, {
		INSERT_COMMAND("CASE WHEN NOT EXISTS"
			       " (SELECT 1 FROM command WHERE client_id = ?2) THEN ?2 END")
		" ON CONFLICT(id) DO NOTHING",
		/* it may be open, and below what has been counted as settled meanwhile */
		"UPDATE station SET value = CAST(?1 - 1 AS TEXT) WHERE key = 'settled_until'"
		" AND CAST(value AS INTEGER) >= ?1"}},
	[ROW_TRANSITION_BROUGHT] = {9, {
		"INSERT INTO transition(command, number, time, state, frame, detail)"
		" SELECT ?1, " NEXT_NUMBER ", ?2, ?3, ?4, ?5 WHERE NOT EXISTS"
		" (SELECT 1 FROM transition"
		" WHERE command = ?1 AND time = ?2 AND state = ?3 AND detail IS ?5)",
		MOVE_COMMAND " AND ended IS NULL"}},
	[ROW_SEQUENCE] = {3, {
		"INSERT INTO sequence(tower, floor, reserved_until) VALUES(?1, ?2, ?3) ON CONFLICT"
		" DO UPDATE SET reserved_until = max(reserved_until, excluded.reserved_until)"}},
	[ROW_SAMPLE] = {4, {INSERT(4, "OR REPLACE INTO sample", "parameter, time, value,"
		" setpoint")}},
	[ROW_PHASE_ROW] = {10, {INSERT(10, "OR REPLACE INTO phase_row", "link, time, mean_ps,"
		" sigma_ps, min_ps, max_ps, samples, rtt_frames, rtt_bytes, rtt_bits")}},
	[ROW_PHASE_EVENT] = {10, {INSERT(10, "INTO phase_event", "link, time, verdict, slip,"
		" difference_ps, mean_ps, sigma_ps, samples, who, reason")}},
	[ROW_PHASE_REFERENCE] = {8, {INSERT(8, "OR REPLACE INTO phase_reference", "link,"
		" phase_ps, rtt_frames, rtt_bytes, rtt_bits, time, who, reason")}},
	[ROW_DMA] = {6, {INSERT(6, "OR IGNORE INTO dma", "session, link, dma_epoch, begun,"
		" serial, board_boot")}},
	/* Frames come back in order, nearly: those in flight are the last of their second. */
	[ROW_DMA_OVER] = {3, {
		TAKE_NAMED("no-member", "no_member"), TAKE_NAMED("slow", "slow"),
		TAKE_NAMED("pool", "pool"), TAKE_NAMED("no-time", "no_time"),
		"INSERT INTO loss(session, kind, code, link, tower, floor, stream, grp, dma_epoch,"
		" first, frames, tai_ns, time, open)"
		" SELECT s.session, 1, 'shutdown', s.link, k.tower, k.floor, s.stream, s.grp,"
		" s.dma_epoch, s.second * 8000 + s.offered - s.in_flight, s.in_flight,"
		" k.tai_ns + (s.offered - s.in_flight) * 125000, s.time, 0"
		" FROM (SELECT * FROM ledger_stream INDEXED BY ledger_stream_open" LEFT_OPEN
		" AND in_flight > 0) s"
		" LEFT JOIN ledger_link k USING (session, dma_epoch, link, second) WHERE true"
		" ON CONFLICT DO UPDATE SET frames = max(frames, excluded.frames)",
		"UPDATE ledger_stream INDEXED BY ledger_stream_open SET"
		" shutdown = shutdown + in_flight, in_flight = 0, closed = 1" LEFT_OPEN,
		"UPDATE ledger_link INDEXED BY ledger_link_open SET"
		" partial = max(partial, cells < 8000), closed = 1" LEFT_OPEN,
		"UPDATE loss INDEXED BY loss_open SET open = 0"
		" WHERE link = ?2 AND open AND NOT (session = ?1 AND dma_epoch = ?3)"}},
	/* Open rows are written again and again; a closed one is the last word, and one that has
	 * been rolled up too. A label that was known is kept: its account may be gone. */
	[ROW_LEDGER_LINK] = {19, {
		"INSERT OR REPLACE INTO ledger_link(session, dma_epoch, link, second, tower, floor,"
		" cells, good, link_down, board_fifo, ring_full, crc, alignment, time_fault,"
		" partial, restarts, closed, time, tai_ns) SELECT " PLACES_16 ",?17,?18,"
		" coalesce(?19,"
		" (SELECT tai_ns FROM ledger_link WHERE " LINK_KEY " AND second = ?4))"
		" WHERE (?17 OR NOT " CLOSED("ledger_link", LINK_KEY, "?4") ")"
		" AND " NOT_ROLLED_UP("ledger_link_sum", LINK_KEY, "?4")}},
	[ROW_LEDGER_STREAM] = {16, {
		"INSERT OR REPLACE INTO ledger_stream(session, dma_epoch, link, stream, grp,"
		" second, offered, acked, no_member, slow, shutdown, pool, no_time, in_flight,"
		" closed, time) SELECT " PLACES_16
		" WHERE (?15 OR NOT " CLOSED("ledger_stream", STREAM_KEY, "?6") ")"
		" AND " NOT_ROLLED_UP("ledger_stream_sum", STREAM_KEY, "?6")}},
	/* A loss grows: the same first frame again with more frames. `time` is when it last grew,
	 * so that one that began long ago and goes on is found among the newest. */
	[ROW_LOSS] = {15, {
		INSERT(15, "INTO loss", "session, kind, code, link, tower, floor, stream, grp,"
		       " dma_epoch, first, frames, tai_ns, time, open, until")
		" ON CONFLICT DO UPDATE SET frames = max(frames, excluded.frames),"
		" until = CASE WHEN excluded.frames > frames THEN excluded.until ELSE until END,"
		" open = excluded.open, tai_ns = coalesce(tai_ns, excluded.tai_ns),"
		" time = CASE WHEN excluded.frames > frames THEN excluded.time ELSE time END"}},
	[ROW_RUN_BEGIN] = {5, {INSERT(5, "INTO run", "number, note, who, begun, begun_slice")}},
	[ROW_RUN_SLICE] = {3, {
		"UPDATE run SET begun_slice = CASE WHEN ?3 THEN ?2"
		" ELSE coalesce(nullif(begun_slice, 0), ?2) END WHERE number = ?1"}},
	[ROW_RUN_END] = {3, {
		"UPDATE run SET ended = coalesce(ended, ?2), ended_slice ="
		" CASE WHEN ended IS NULL THEN coalesce(?3, ended_slice)"
		" ELSE coalesce(ended_slice, ?3) END WHERE number = ?1"}},
	[ROW_CLOCK_EVENT] = {6, {INSERT(6, "INTO clock_event", "time, state, source,"
		" uncertainty_ns, time_epoch, reason")}},
	[ROW_EVENT] = {6, {INSERT(6, "INTO event", "time, severity, code, object, text, action")}},
	[ROW_OBSERVATION] = {22, {INSERT(22, "OR REPLACE INTO observation",
		STORE_OBSERVATION_COLUMNS)}},
	[ROW_OBSERVATION_FORGET] = {2, {"DELETE FROM observation WHERE object = ?1 AND code = ?2"}},
	[ROW_INCIDENT] = {19, {INSERT(19, "OR REPLACE INTO incident", STORE_INCIDENT_COLUMNS)}},
	[ROW_INCIDENT_END] = {3, {"UPDATE incident SET until = ?2, joined = ?3"
		" WHERE number = ?1 AND until IS NULL"}},
	[ROW_DARK] = {8, {
		"INSERT INTO dark(span, time, incident, link, tower, floor, modules, dark_ms, hits)"
		" VALUES(1,?1,?2,?3,?4,?5,?6,?7,?8) ON CONFLICT DO UPDATE SET"
		" modules = modules | excluded.modules, dark_ms = dark_ms + excluded.dark_ms,"
		" hits = hits + excluded.hits"}},
	[ROW_SNAPSHOT_VALUES] = {1 + 2 * ROW_SNAPSHOT_PAIRS, {
		"INSERT INTO snapshot_value(snapshot, parameter, value)"
		" SELECT ?1, column1, column2 FROM (VALUES(?2,?3),(?4,?5),(?6,?7),(?8,?9),"
		"(?10,?11),(?12,?13),(?14,?15),(?16,?17),(?18,?19),(?20,?21),(?22,?23))"
		" WHERE column1 IS NOT NULL"}},
	/* Of a snapshot that lacks values `parameters` would be NULL, which it must not be. */
	[ROW_SNAPSHOT] = {8, {
		"INSERT INTO snapshot(id, name, time, who, note, pattern, parameters, unknown)"
		" VALUES(?1,?2,?3,?4,?5,?6,CASE WHEN (SELECT count(*) FROM snapshot_value"
		" WHERE snapshot = ?1) = ?7 THEN ?7 END,?8)",
		"DELETE FROM snapshot_value WHERE snapshot < ?1"
		" AND snapshot NOT IN (SELECT id FROM snapshot)"}},
	[ROW_SNAPSHOT_REMOVE] = {1, {
		"DELETE FROM snapshot WHERE id = ?1",
		"DELETE FROM snapshot_value WHERE snapshot = ?1"}},
	[ROW_STATION] = {2, {INSERT(2, "OR REPLACE INTO station", "key, value")}},
	[ROW_ALIVE] = {1, {
		"INSERT OR REPLACE INTO station(key, value) VALUES('last_alive', ?1)",
		"INSERT OR REPLACE INTO station(key, value) SELECT 'settled_until', n FROM"
		" (SELECT coalesce((SELECT min(id) - 1 FROM command WHERE " JOURNAL_OPEN
		" AND id < " JOURNAL_OWN_IDS "),"
		" (SELECT max(id) FROM command WHERE id < " JOURNAL_OWN_IDS ")) AS n)"
		" WHERE n IS NOT NULL"}},
};
/* clang-format on */

int store_errno(sqlite3 *db, int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CONSTRAINT:
		return -EEXIST;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EUCLEAN;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_TOOBIG:
	case SQLITE_RANGE:
	case SQLITE_MISMATCH:
	case SQLITE_MISUSE:
		return -EINVAL;
	default:
		break;
	}
	if (db) {
		int e = sqlite3_system_errno(db);

		if (e == ENOSPC || e == EDQUOT || e == EROFS || e == EACCES || e == EPERM ||
		    e == EFBIG) {
			return -e;
		}
	}
	return -EIO;
}

struct store_query store_query(sqlite3 *db, const char *sql)
{
	struct store_query q = {.db = db};

	q.rc = sqlite3_prepare_v2(db, sql, -1, &q.q, NULL);
	return q;
}

void store_query_values(struct store_query *q, const int64_t *values, int count)
{
	int places = sqlite3_bind_parameter_count(q->q);

	for (int n = 0; n < count && n < places && q->rc == SQLITE_OK; n++) {
		q->rc = sqlite3_bind_int64(q->q, n + 1, values[n]);
	}
}

bool store_query_next(struct store_query *q)
{
	if (q->rc != SQLITE_OK && q->rc != SQLITE_ROW) {
		return false;
	}
	q->rc = sqlite3_step(q->q);
	return q->rc == SQLITE_ROW;
}

int store_query_end(struct store_query *q)
{
	int rc = q->rc == SQLITE_DONE || q->rc == SQLITE_ROW ? SQLITE_OK : q->rc;

	sqlite3_finalize(q->q);
	return store_errno(q->db, rc);
}

int store_run(sqlite3 *db, const char *sql, const int64_t *values, int count)
{
	struct store_query q = store_query(db, sql);

	store_query_values(&q, values, count);
	store_query_next(&q);
	return store_query_end(&q);
}

int store_find(sqlite3 *db, const char *sql, int64_t value, int64_t *ret_columns, int count)
{
	struct store_query q = store_query(db, sql);
	bool found;
	int r;

	store_query_values(&q, &value, 1);
	found = store_query_next(&q);
	for (int n = 0; found && n < count; n++) {
		ret_columns[n] = sqlite3_column_int64(q.q, n);
	}
	r = store_query_end(&q);
	return r < 0 ? r : found;
}

int store_run_all(sqlite3 *db, const char *const *steps, unsigned most, const int64_t *values,
		  int count)
{
	int r = store_run(db, "BEGIN IMMEDIATE", NULL, 0);

	for (unsigned n = 0; n < most && steps[n] && r == 0; n++) {
		r = store_run(db, steps[n], values, count);
	}
	return r == 0 ? store_run(db, "COMMIT", NULL, 0) : r;
}

void store_roll_back(sqlite3 *db)
{
	if (!sqlite3_get_autocommit(db)) {
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	}
}
