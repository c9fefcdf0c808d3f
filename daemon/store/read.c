/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the state for a restarted daemon from the file: the journal's commands, sequences, phase
 * references, the run, settings, open events, incidents, sessions of DMA.
 */
#include "daemon/store/private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/sql.h"
#include "slowctl/safe/safe.h"

static double column_real(sqlite3_stmt *q, int n)
{
	return sqlite3_column_type(q, n) == SQLITE_NULL ? NAN : sqlite3_column_double(q, n);
}

static void column_text(sqlite3_stmt *q, int n, char *text, size_t size)
{
	const unsigned char *got = sqlite3_column_text(q, n);

	snprintf(text, size, "%s", got ? (const char *)got : "");
}

/* ------------------------------------------------------------------ the journal */

/* Each row of the query becomes an item of `bytes` behind those at *items. 0 or negative errno; the query is ended. */
static int read_list(struct store_query *r, void **items, size_t *count, size_t bytes,
		     void (*fill)(sqlite3_stmt *q, void *item))
{
	int room = 0;

	while (room == 0 && store_query_next(r)) {
		if ((*count & (*count - 1)) == 0) { /* full: room for the next power of two */
			void *more = realloc(*items, (*count ? 2 * *count : 1) * bytes);

			room = more ? 0 : -ENOMEM;
			*items = more ? more : *items;
		}
		if (room == 0) {
			fill(r->q, (char *)*items + (*count)++ * bytes);
		}
	}
	return room < 0 ? (store_query_end(r), room) : store_query_end(r);
}

static void sequence_of(sqlite3_stmt *q, void *item)
{
	*(struct store_sequence *)item = (struct store_sequence){
		(uint8_t)sqlite3_column_int(q, 0),
		(uint8_t)sqlite3_column_int(q, 1),
		(uint32_t)sqlite3_column_int64(q, 2),
	};
}

/* Both the reserved numbers and those that commands used: the larger one counts. */
static int read_sequences(struct store *s, struct store_past *p)
{
	struct store_query r =
		store_query(s->db, "SELECT tower, floor, reserved_until FROM sequence UNION ALL"
				   " SELECT tower, floor, max(sequence) FROM command"
				   " WHERE sequence IS NOT NULL GROUP BY tower, floor");

	return read_list(&r, (void **)&p->sequences, &p->sequence_count, sizeof(*p->sequences),
			 sequence_of);
}

#define COMMAND_COLUMNS                                                                            \
	"id, client_id, parameter, op, new_value, sequence, boot, attempts, state, ended, detail," \
	" time, reason"
#define NOT_UNDONE ", 0, 0"
/*
 * The open commands o, each with an upper limit of the words that left for its floor after its own:
 * those of commands requested later (by_id), or not ended when it was requested (by_end, with
 * itself), because urgent words overtake. None lies further back than twice as many commands as can
 * be open at once (engine.h).
 */
#define JOURNAL_NEAR                                                                               \
	"id > " JOURNAL_SETTLED " - 16384 AND EXISTS (SELECT 1 FROM command WHERE " JOURNAL_OPEN ")"
#define OPEN_LATER                                                                                 \
	"(SELECT *, count(sequence) OVER (PARTITION BY tower, floor ORDER BY id DESC"              \
	" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS by_id"                              \
	" FROM command WHERE " JOURNAL_NEAR ") AS o JOIN"                                          \
	" (SELECT of, sum(of = 0) OVER (PARTITION BY tower, floor ORDER BY t DESC, of) AS by_end"  \
	" FROM (SELECT tower, floor, coalesce(ended, 0x7fffffffffffffff) AS t, 0 AS of"            \
	" FROM command WHERE " JOURNAL_NEAR " AND sequence IS NOT NULL"                            \
	" UNION ALL SELECT tower, floor, time, id FROM command WHERE " JOURNAL_OPEN "))"           \
	" ON of = id WHERE ended IS NULL"

static void journal_of(sqlite3_stmt *q, void *item)
{
	struct engine_journal *ret_j = item;
	char op[16], reason[64];

	*ret_j = (struct engine_journal){.id = (uint64_t)sqlite3_column_int64(q, 0)};
	column_text(q, 1, ret_j->client_id, sizeof(ret_j->client_id));
	column_text(q, 2, ret_j->parameter, sizeof(ret_j->parameter));
	column_text(q, 3, op, sizeof(op));
	ret_j->action = strcmp(op, "action") == 0;
	ret_j->new_value = column_real(q, 4);
	ret_j->sequence = (uint32_t)sqlite3_column_int64(q, 5);
	ret_j->boot = sqlite3_column_type(q, 6) == SQLITE_NULL
			      ? ENGINE_BOOT_UNKNOWN
			      : (uint32_t)sqlite3_column_int64(q, 6);
	ret_j->attempts = (uint32_t)sqlite3_column_int64(q, 7);
	column_text(q, 8, ret_j->state, sizeof(ret_j->state));
	ret_j->ended = sqlite3_column_type(q, 9) != SQLITE_NULL;
	column_text(q, 10, ret_j->detail, sizeof(ret_j->detail));
	ret_j->time_ns = sqlite3_column_int64(q, 11);
	column_text(q, 12, reason, sizeof(reason));
	ret_j->job = safe_of(reason, ret_j->id);
	ret_j->later = (uint64_t)sqlite3_column_int64(q, 13);
	ret_j->undone = sqlite3_column_int(q, 14) != 0;
	ret_j->cut = sqlite3_column_int(q, 15) != 0;
}

static int read_commands(struct store *s, const char *sql, int64_t limit, struct store_past *p)
{
	struct store_query r = store_query(s->db, sql);

	store_query_values(&r, &limit, 1);
	return read_list(&r, (void **)&p->commands, &p->command_count, sizeof(*p->commands),
			 journal_of);
}

static int read_journal(struct store *s, struct store_past *p)
{
	int64_t last = 0;
	int r = store_find(s->db,
			   "SELECT max(coalesce((SELECT max(id) FROM command"
			   " WHERE id < " JOURNAL_OWN_IDS "), 0), " NUMBERS_AFTER("command") ")",
			   0, &last, 1);

	p->last_command = (uint64_t)last;
	r = r >= 0 ? read_sequences(s, p) : r;
	r = r == 0 ? read_commands(s,
				   "SELECT * FROM (SELECT " COMMAND_COLUMNS ", 0" NOT_UNDONE
				   " FROM command"
				   " WHERE ended IS NOT NULL AND client_id IS NOT NULL"
				   " ORDER BY id DESC LIMIT ?1) ORDER BY 1",
				   s->config.recent, p)
		   : r;
	r = r == 0 ? read_commands(s,
				   "SELECT " COMMAND_COLUMNS ", 0, 1, " STORE_CUT " FROM command"
				   " WHERE " STORE_UNDONE " ORDER BY id",
				   0, p)
		   : r;
	return r == 0 ? read_commands(s,
				      "SELECT " COMMAND_COLUMNS
				      ", max(by_id, by_end - 1)" NOT_UNDONE " FROM " OPEN_LATER
				      " ORDER BY id",
				      0, p)
		      : r;
}

int store_past_engine(const struct store_past *p, struct engine *e, struct engine_now now)
{
	int r = 0;

	engine_recover_id(e, p->last_command);
	for (size_t n = 0; n < p->sequence_count; n++) {
		const struct store_sequence *q = &p->sequences[n];

		engine_recover_sequence(e, q->tower, q->floor, q->reserved_until);
	}
	for (size_t n = 0; n < p->command_count; n++) {
		if (engine_recover_command(e, &p->commands[n], now) == -ENOMEM) {
			r = -ENOMEM;
		}
	}
	return r;
}

/* ------------------------------------------------------------------ phase, run, settings */

static int read_phase_references(struct store *s, struct store_past *p)
{
	struct store_query r =
		store_query(s->db, "SELECT link, phase_ps, rtt_frames, rtt_bytes, rtt_bits, time"
				   " FROM phase_reference");

	while (store_query_next(&r)) {
		unsigned link = (unsigned)sqlite3_column_int(r.q, 0);

		if (link < NANET3_LINKS) {
			p->reference[link] = (struct phase_reference){
				.set = true,
				.phase_ps = sqlite3_column_double(r.q, 1),
				.rtt_frames = (uint8_t)sqlite3_column_int(r.q, 2),
				.rtt_bytes = (uint16_t)sqlite3_column_int(r.q, 3),
				.rtt_bits = (uint8_t)sqlite3_column_int(r.q, 4),
				.time_ns = sqlite3_column_int64(r.q, 5),
			};
		}
	}
	return store_query_end(&r);
}

/* Of each link the last verdict that is no DRIFT, and the last row, if it is not older. */
static int read_phase_pasts(struct store *s, struct store_past *p)
{
	struct store_query r = store_query(
		s->db,
		"SELECT e.link, e.verdict = 'SLIP', e.verdict = 'JUMP', e.slip, e.difference_ps,"
		" r.mean_ps, r.rtt_bits, r.samples"
		" FROM (VALUES (0), (1), (2), (3)) JOIN phase_event e ON e.rowid ="
		" (SELECT rowid FROM phase_event WHERE link = column1 AND verdict <> 'DRIFT'"
		" ORDER BY time DESC, rowid DESC LIMIT 1)"
		" LEFT JOIN phase_row r ON r.link = e.link AND r.time >= e.time AND r.time ="
		" (SELECT max(time) FROM phase_row WHERE link = e.link AND mean_ps NOT NULL)");

	while (store_query_next(&r)) {
		struct phase_past *past =
			&p->phase[(unsigned)sqlite3_column_int(r.q, 0) % NANET3_LINKS];

		past->set = true;
		past->of_lock.verdict = sqlite3_column_int(r.q, 1)   ? PHASE_SLIP
					: sqlite3_column_int(r.q, 2) ? PHASE_JUMP
								     : PHASE_PASS;
		past->of_lock.slip = sqlite3_column_int(r.q, 3);
		past->of_lock.difference_ps = sqlite3_column_double(r.q, 4);
		past->row.mean_ps = sqlite3_column_double(r.q, 5);
		past->row.rtt_bits = (uint8_t)sqlite3_column_int(r.q, 6);
		past->row.samples = (uint32_t)sqlite3_column_int(r.q, 7);
	}
	return store_query_end(&r);
}

static int read_run(struct store *s, struct store_run *run)
{
	struct store_query r =
		store_query(s->db, "SELECT number, ended, note, who, begun, ended_slice FROM run"
				   " ORDER BY number DESC LIMIT 1");
	int64_t after = 0;
	int error;

	if (store_query_next(&r)) {
		run->last_number = (uint32_t)sqlite3_column_int64(r.q, 0);
		run->open = sqlite3_column_type(r.q, 1) == SQLITE_NULL;
		column_text(r.q, 2, run->note, sizeof(run->note));
		column_text(r.q, 3, run->who, sizeof(run->who));
		run->begun_ns = sqlite3_column_int64(r.q, 4);
		run->ending = run->open && sqlite3_column_type(r.q, 5) != SQLITE_NULL;
	}
	error = store_query_end(&r);
	error = error == 0 ? store_find(s->db, "SELECT " NUMBERS_AFTER("run"), 0, &after, 1)
			   : error;
	run->last_number = after > run->last_number ? (uint32_t)after : run->last_number;
	return error < 0 ? error : 0;
}

/* A setting of the station as it was put last; "" when there is none. */
static int read_station(struct store *s, const char *key, char *ret_value, size_t size)
{
	struct store_query r = store_query(s->db, "SELECT value FROM station WHERE key = ?1");

	*ret_value = '\0';
	if (r.rc == SQLITE_OK) {
		r.rc = sqlite3_bind_text(r.q, 1, key, -1, SQLITE_STATIC);
	}
	if (store_query_next(&r)) {
		column_text(r.q, 0, ret_value, size);
	}
	return store_query_end(&r);
}

int store_read_alive(struct store *s)
{
	char text[32];
	int r = read_station(s, "last_alive", text, sizeof(text));

	s->keep.alive_ns = r == 0 ? strtoll(text, NULL, 10) : 0;
	return r;
}

/* ------------------------------------------------------------------ events */

/* Those of the previous daemon are among the last thousands. The codes listed have no end. */
#define OPEN_EVENTS                                                                                \
	"SELECT code, object FROM event WHERE severity <> 'info'"                                  \
	" AND code NOT IN ('fcm-booted', 'consumer-disconnected',"                                 \
	" 'feed-reader-dropped', 'feed-reader-refused', 'network-refused',"                        \
	" 'data-refused', 'consumer-name-taken', 'access-refused', 'network-allow-list')"          \
	" AND id IN (SELECT max(id) FROM"                                                          \
	" (SELECT id, code, object FROM event ORDER BY id DESC LIMIT 5000)"                        \
	" GROUP BY code, object) ORDER BY id"

static int read_events(struct store *s, struct store_past *p)
{
	struct store_query q = store_query(s->db, OPEN_EVENTS);
	int64_t crashed = 0;
	int r;

	while (p->event_count < STORE_EVENTS_MAX && store_query_next(&q)) {
		struct store_event *e = &p->events[p->event_count++];

		column_text(q.q, 0, e->code, sizeof(e->code));
		column_text(q.q, 1, e->object, sizeof(e->object));
	}
	r = store_query_end(&q);
	if (r == 0) {
		r = store_find(s->db,
			       "SELECT code = 'daemon-start' FROM event WHERE code IN"
			       " ('daemon-start', 'daemon-stop', 'database-restored') ORDER BY id "
			       "DESC LIMIT 1",
			       0, &crashed, 1);
		p->crashed = crashed;
	}
	return r < 0 ? r : 0;
}

/* ------------------------------------------------------------------ incidents */

static enum limits_level column_level(sqlite3_stmt *q, int n)
{
	int level = sqlite3_column_int(q, n);

	return level < LEVEL_NORMAL || level > LEVEL_ALARM ? LEVEL_ALARM : (enum limits_level)level;
}

static void column_hand(sqlite3_stmt *q, int n, struct alarm_hand *ret_hand)
{
	column_text(q, n, ret_hand->who, sizeof(ret_hand->who));
	column_text(q, n + 1, ret_hand->origin, sizeof(ret_hand->origin));
	column_text(q, n + 2, ret_hand->text, sizeof(ret_hand->text));
}

static void alarm_of(sqlite3_stmt *q, void *item)
{
	struct alarm *ret_alarm = item;
	char state[16];

	*ret_alarm = (struct alarm){
		.level = column_level(q, 3),
		.highest = column_level(q, 4),
		.latch = sqlite3_column_int(q, 5) != 0,
		.parts = (uint32_t)sqlite3_column_int64(q, 6),
		.count = (uint32_t)sqlite3_column_int64(q, 7),
		.since_ns = sqlite3_column_int64(q, 8),
		.over_ns = sqlite3_column_int64(q, 9),
		.acknowledged = sqlite3_column_type(q, 12) != SQLITE_NULL,
		.ack.utc_ns = sqlite3_column_int64(q, 12),
		.pause.utc_ns = sqlite3_column_int64(q, 16),
		.paused_level = column_level(q, 18),
	};
	column_text(q, 0, ret_alarm->object, sizeof(ret_alarm->object));
	column_text(q, 1, ret_alarm->code, sizeof(ret_alarm->code));
	column_text(q, 2, state, sizeof(state));
	column_text(q, 10, ret_alarm->text, sizeof(ret_alarm->text));
	column_text(q, 11, ret_alarm->action, sizeof(ret_alarm->action));
	column_hand(q, 13, &ret_alarm->ack);
	column_hand(q, 19, &ret_alarm->pause);
	ret_alarm->state = strcmp(state, "over") == 0 ? ALARM_OVER : ALARM_RAISED;
	if (sqlite3_column_type(q, 16) != SQLITE_NULL) {
		ret_alarm->paused_until_ns = sqlite3_column_int64(q, 17);
	}
}

static int read_observations(struct store *s, struct store_past *p)
{
	struct store_query r =
		store_query(s->db, "SELECT " STORE_OBSERVATION_COLUMNS " FROM observation");

	return read_list(&r, (void **)&p->observations, &p->observation_count,
			 sizeof(*p->observations), alarm_of);
}

static void incident_of(sqlite3_stmt *q, void *item)
{
	struct store_incident *i = item;

	*i = (struct store_incident){
		.number = (uint32_t)sqlite3_column_int64(q, 0),
		.red = sqlite3_column_int(q, 3) != 0,
		.since_ns = sqlite3_column_int64(q, 6),
		.until_ns = sqlite3_column_int64(q, 7),
		.observations = (uint32_t)sqlite3_column_int64(q, 9),
		.frames = (uint64_t)sqlite3_column_int64(q, 10),
		.dropped = (uint64_t)sqlite3_column_int64(q, 11),
		.hits = (uint64_t)sqlite3_column_int64(q, 12),
		.dark_ms = (uint64_t)sqlite3_column_int64(q, 13),
		.ack.utc_ns = sqlite3_column_int64(q, 14),
	};
	column_text(q, 1, i->code, sizeof(i->code));
	column_text(q, 2, i->object, sizeof(i->object));
	column_text(q, 4, i->text, sizeof(i->text));
	column_text(q, 5, i->action, sizeof(i->action));
	column_text(q, 8, i->own, sizeof(i->own));
	column_hand(q, 15, &i->ack);
}

static int read_incidents(struct store *s, struct store_past *p)
{
	struct store_query q = store_query(s->db, "SELECT " STORE_INCIDENT_COLUMNS
						  " FROM incident WHERE until IS NULL");
	int64_t last = 0;
	int r = read_list(&q, (void **)&p->incidents, &p->incident_count, sizeof(*p->incidents),
			  incident_of);

	r = r == 0 ? store_find(s->db,
				"SELECT max(coalesce((SELECT max(number) FROM incident), "
				"0), " NUMBERS_AFTER("incident") ")",
				0, &last, 1)
		   : r;
	p->last_incident = (uint32_t)last;
	return r < 0 ? r : 0;
}

/* ------------------------------------------------------------------ all of it */

int store_read_past(struct store *s, struct store_past **ret_past)
{
	struct store_past *p = calloc(1, sizeof(*p));
	int r;

	if (!p) {
		return -ENOMEM;
	}
	r = read_journal(s, p);
	r = r == 0 ? read_phase_references(s, p) : r;
	r = r == 0 ? read_phase_pasts(s, p) : r;
	r = r == 0 ? read_run(s, &p->run) : r;
	r = r == 0 ? read_station(s, "relabelled", p->relabelled, sizeof(p->relabelled)) : r;
	r = r == 0 ? read_station(s, "boots", p->boots, sizeof(p->boots)) : r;
	r = r == 0 ? read_events(s, p) : r;
	r = r == 0 ? read_observations(s, p) : r;
	r = r == 0 ? read_incidents(s, p) : r;
	if (r < 0) {
		store_past_free(p);
		return r;
	}
	*ret_past = p;
	return 0;
}

void store_past_free(struct store_past *p)
{
	if (p) {
		free(p->sequences);
		free(p->commands);
		free(p->observations);
		free(p->incidents);
		free(p);
	}
}

/* ------------------------------------------------------------------ sessions */

int store_read_sessions(struct store *s, struct store_sessions *ret_sessions)
{
	struct store_query r = store_query(s->db, "SELECT session, link, dma_epoch FROM dma"
						  " ORDER BY session, link, dma_epoch");
	int64_t after = 0;
	int error;

	*ret_sessions = (struct store_sessions){.newest = 1};
	while (store_query_next(&r)) {
		unsigned link = (unsigned)sqlite3_column_int64(r.q, 1);

		ret_sessions->newest = (uint32_t)sqlite3_column_int64(r.q, 0);
		if (link < NANET3_LINKS) {
			ret_sessions->dma[link] = (struct store_dma){
				.session = ret_sessions->newest,
				.dma_epoch = (uint32_t)sqlite3_column_int64(r.q, 2),
			};
		}
	}
	error = store_query_end(&r);
	error = error == 0 ? store_find(s->db, "SELECT " NUMBERS_AFTER("session"), 0, &after, 1)
			   : error;
	if (after > ret_sessions->newest) {
		ret_sessions->newest = (uint32_t)after;
	}
	return error < 0 ? error : 0;
}
