/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a restart reads from the store, before its thread runs: the journal's open commands, sequences,
 * phase references, the run, settings, and which sessions of DMA there were.
 */
#include "daemon/store_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	sqlite3 *db;
	sqlite3_stmt *q;
	int rc;
};

static struct reader read_begin(struct store *s, const char *sql)
{
	struct reader r = {.db = s->db};

	r.rc = sqlite3_prepare_v2(s->db, sql, -1, &r.q, NULL);
	return r;
}

static void read_int_is(struct reader *r, int place, int64_t value)
{
	if (r->rc == SQLITE_OK) {
		r->rc = sqlite3_bind_int64(r->q, place, value);
	}
}

static bool read_next(struct reader *r)
{
	if (r->rc != SQLITE_OK && r->rc != SQLITE_ROW) {
		return false;
	}
	r->rc = sqlite3_step(r->q);
	return r->rc == SQLITE_ROW;
}

/* 0 or negative errno of the whole. */
static int read_end(struct reader *r)
{
	int rc = r->rc == SQLITE_DONE || r->rc == SQLITE_ROW ? SQLITE_OK : r->rc;

	sqlite3_finalize(r->q);
	return store_errno(r->db, rc);
}

static double column_real(sqlite3_stmt *q, int n)
{
	return sqlite3_column_type(q, n) == SQLITE_NULL ? NAN : sqlite3_column_double(q, n);
}

static void column_text(sqlite3_stmt *q, int n, char *text, size_t size)
{
	const unsigned char *got = sqlite3_column_text(q, n);

	snprintf(text, size, "%s", got ? (const char *)got : "");
}

/* ------------------------------------------------------------------ the engine */

static int read_ids(struct store *s, struct engine *e)
{
	struct reader r = read_begin(s, "SELECT max(id) FROM command");

	if (read_next(&r)) {
		engine_recover_id(e, (uint64_t)sqlite3_column_int64(r.q, 0));
	}
	return read_end(&r);
}

/* Both what was reserved and what commands really used: the larger counts. */
static int read_sequences(struct store *s, struct engine *e)
{
	struct reader r = read_begin(
		s, "SELECT tower, floor, reserved_until FROM sequence UNION ALL"
		   " SELECT tower, floor, max(sequence) FROM command WHERE sequence IS NOT NULL"
		   " GROUP BY tower, floor");

	while (read_next(&r)) {
		engine_recover_sequence(e, (uint8_t)sqlite3_column_int(r.q, 0),
					(uint8_t)sqlite3_column_int(r.q, 1),
					(uint32_t)sqlite3_column_int64(r.q, 2));
	}
	return read_end(&r);
}

#define COMMAND_COLUMNS                                                                            \
	"id, client_id, parameter, op, old_value, new_value, sequence, boot, attempts, state, "    \
	"ended,"                                                                                   \
	" detail, time"

static void journal_of(sqlite3_stmt *q, struct engine_journal *ret_j)
{
	char op[16];

	*ret_j = (struct engine_journal){.id = (uint64_t)sqlite3_column_int64(q, 0)};
	column_text(q, 1, ret_j->client_id, sizeof(ret_j->client_id));
	column_text(q, 2, ret_j->parameter, sizeof(ret_j->parameter));
	column_text(q, 3, op, sizeof(op));
	ret_j->action = strcmp(op, "action") == 0;
	ret_j->old_value = column_real(q, 4);
	ret_j->new_value = column_real(q, 5);
	ret_j->sequence = (uint32_t)sqlite3_column_int64(q, 6);
	ret_j->boot = (uint32_t)sqlite3_column_int64(q, 7);
	ret_j->attempts = (uint32_t)sqlite3_column_int64(q, 8);
	column_text(q, 9, ret_j->state, sizeof(ret_j->state));
	ret_j->ended = sqlite3_column_type(q, 10) != SQLITE_NULL;
	column_text(q, 11, ret_j->detail, sizeof(ret_j->detail));
	ret_j->time_ns = sqlite3_column_int64(q, 12);
	ret_j->later = (uint64_t)sqlite3_column_int64(q, 13);
}

static int read_commands(struct store *s, const char *sql, unsigned limit, struct engine *e,
			 struct engine_now now)
{
	struct reader r = read_begin(s, sql);
	int out_of_memory = 0;

	if (limit) {
		read_int_is(&r, 1, limit);
	}
	while (read_next(&r)) {
		struct engine_journal j;

		journal_of(r.q, &j);
		if (engine_recover_command(e, &j, now) == -ENOMEM) {
			out_of_memory = -ENOMEM;
		}
	}
	return out_of_memory ? (read_end(&r), -ENOMEM) : read_end(&r);
}

int store_read_engine(struct store *s, struct engine *e, unsigned recent, struct engine_now now)
{
	int r = read_ids(s, e);

	if (r == 0) {
		r = read_sequences(s, e);
	}
	if (r == 0 && recent > 0) {
		r = read_commands(s,
				  "SELECT * FROM (SELECT " COMMAND_COLUMNS ", 0 FROM command"
				  " WHERE ended IS NOT NULL AND client_id IS NOT NULL"
				  " ORDER BY id DESC LIMIT ?1) ORDER BY 1",
				  recent, e, now);
	}
	if (r == 0) {
		r = read_commands(s,
				  "SELECT " COMMAND_COLUMNS ", (SELECT count(*) FROM command d"
				  " WHERE d.tower = c.tower AND d.floor = c.floor AND d.id > c.id"
				  " AND d.sequence IS NOT NULL)"
				  " FROM command c WHERE ended IS NULL ORDER BY id",
				  0, e, now);
	}
	return r;
}

/* ------------------------------------------------------------------ phase, run, settings */

int store_read_phase_reference(struct store *s, unsigned link,
			       struct phase_reference *ret_reference)
{
	struct reader r = read_begin(s, "SELECT phase_ps, rtt_frames, rtt_bytes, rtt_bits, time"
					" FROM phase_reference WHERE link = ?1");

	*ret_reference = (struct phase_reference){0};
	read_int_is(&r, 1, link);
	if (read_next(&r)) {
		ret_reference->set = true;
		ret_reference->phase_ps = sqlite3_column_double(r.q, 0);
		ret_reference->rtt_frames = (uint8_t)sqlite3_column_int(r.q, 1);
		ret_reference->rtt_bytes = (uint16_t)sqlite3_column_int(r.q, 2);
		ret_reference->rtt_bits = (uint8_t)sqlite3_column_int(r.q, 3);
		ret_reference->time_ns = sqlite3_column_int64(r.q, 4);
	}
	return read_end(&r);
}

int store_read_run(struct store *s, struct store_run *ret_run)
{
	struct reader r = read_begin(s, "SELECT number, ended, note, who, begun FROM run"
					" ORDER BY number DESC LIMIT 1");

	*ret_run = (struct store_run){0};
	if (read_next(&r)) {
		ret_run->last_number = (uint32_t)sqlite3_column_int64(r.q, 0);
		ret_run->open = sqlite3_column_type(r.q, 1) == SQLITE_NULL;
		column_text(r.q, 2, ret_run->note, sizeof(ret_run->note));
		column_text(r.q, 3, ret_run->who, sizeof(ret_run->who));
		ret_run->begun_ns = sqlite3_column_int64(r.q, 4);
	}
	return read_end(&r);
}

int store_read_station(struct store *s, const char *key, char *ret_value, size_t size)
{
	struct reader r = read_begin(s, "SELECT value FROM station WHERE key = ?1");

	*ret_value = '\0';
	if (r.rc == SQLITE_OK) {
		r.rc = sqlite3_bind_text(r.q, 1, key, -1, SQLITE_STATIC);
	}
	if (read_next(&r)) {
		column_text(r.q, 0, ret_value, size);
	}
	return read_end(&r);
}

int store_read_alive(struct store *s)
{
	char text[32];
	int r = store_read_station(s, "last_alive", text, sizeof(text));

	s->keep.alive_ns = r == 0 ? strtoll(text, NULL, 10) : 0;
	return r;
}

/* ------------------------------------------------------------------ events */

/* Those of the last life are among the last thousands. Some are over when they are told. */
#define OPEN_EVENTS                                                                                \
	"SELECT code, object FROM event WHERE severity <> 'info'"                                  \
	" AND code NOT IN ('fcm-booted', 'byte-slip', 'consumer-disconnected',"                    \
	" 'feed-reader-dropped', 'feed-reader-refused')"                                           \
	" AND id IN (SELECT max(id) FROM"                                                          \
	" (SELECT id, code, object FROM event ORDER BY id DESC LIMIT 5000)"                        \
	" GROUP BY code, object) ORDER BY id"

int store_read_events(struct store *s,
		      void (*fn)(void *context, const char *code, const char *object),
		      void *context, bool *ret_crashed)
{
	struct reader r = read_begin(s, OPEN_EVENTS);
	char code[64], object[128];
	int result;

	while (read_next(&r)) {
		column_text(r.q, 0, code, sizeof(code));
		column_text(r.q, 1, object, sizeof(object));
		fn(context, code, object);
	}
	result = read_end(&r);
	if (result < 0) {
		return result;
	}
	r = read_begin(s,
		       "SELECT code = 'daemon-start' FROM event"
		       " WHERE code IN ('daemon-start', 'daemon-stop') ORDER BY id DESC LIMIT 1");
	*ret_crashed = read_next(&r) && sqlite3_column_int(r.q, 0);
	return read_end(&r);
}

/* ------------------------------------------------------------------ sessions */

int store_read_session(struct store *s)
{
	struct reader r = read_begin(s, "SELECT session, link, dma_epoch FROM dma"
					" ORDER BY session, link, dma_epoch");

	s->session = 1;
	while (read_next(&r)) {
		unsigned link = (unsigned)sqlite3_column_int64(r.q, 1);

		s->session = (uint32_t)sqlite3_column_int64(r.q, 0);
		if (link < NANET3_LINKS) {
			s->dma[link] = (struct store_dma){
				.session = s->session,
				.dma_epoch = (uint32_t)sqlite3_column_int64(r.q, 2),
			};
		}
	}
	return read_end(&r);
}

/* What a daemon before us left open of other starts of DMA than this one will not be settled any more. */
static void end_others(struct store *s, unsigned link)
{
	struct row row;

	row_begin(&row, ROW_DMA_OVER);
	row_int(&row, s->dma[link].session);
	row_int(&row, link);
	row_int(&row, s->dma[link].dma_epoch);
	store_submit(s, &row, 0, STORE_URGENT);
}

uint32_t store_session(struct store *s, unsigned link, uint32_t dma_epoch, bool taken_over,
		       uint32_t serial, uint32_t board_boot, int64_t utc_ns)
{
	struct store_dma *d = &s->dma[link % NANET3_LINKS];
	bool first = !d->told;
	struct row row;

	d->told = true;
	if (!taken_over || d->dma_epoch != dma_epoch) { /* else its ring lived on: the same DMA */
		if (d->session == s->session && dma_epoch <= d->dma_epoch) {
			s->session++; /* the board has begun counting again */
		}
		d->session = s->session;
		d->dma_epoch = dma_epoch;
		row_begin(&row, ROW_DMA);
		row_int(&row, s->session);
		row_int(&row, link);
		row_int(&row, dma_epoch);
		row_int(&row, utc_ns);
		row_int(&row, serial);
		row_int(&row, board_boot);
		store_submit(s, &row, 0, STORE_URGENT);
	}
	if (first) {
		end_others(s, link);
	}
	return d->session;
}
