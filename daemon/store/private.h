/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the store; the README says which file calls which. The connection belongs to the caller until store_start(), then
 * to the thread.
 */
#pragma once

#include <pthread.h>
#include <sqlite3.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "daemon/core/queue.h"
#include "daemon/store/store.h"
#include "driver/nanet3.h"

#define STORE_STEPS 8u /* statements a row at most */

/* What a row does. */
struct store_sql {
	unsigned values; /* that a row of this kind has */
	const char *sql[STORE_STEPS];
};
extern const struct store_sql store_sql[ROW_IDS];

/* Of an alarm, in the order of ROW_ALARM. */
#define STORE_OBSERVATION_COLUMNS                                                                  \
	"object, code, state, level, highest, latch, parts, count, since, ended, text, action,"    \
	" acknowledged, ack_who, ack_origin, ack_text, paused, paused_until, paused_level,"        \
	" pause_who, pause_origin, pause_reason"

#define STORE_INCIDENT_COLUMNS                                                                     \
	"number, code, object, red, text, action, since, until, own, observations, frames,"        \
	" dropped, hits, dark_ms, acknowledged, ack_who, ack_origin, ack_text, joined"

/* A row on its way. The row is cut to the arena it uses. */
struct store_job {
	TAILQ_ENTRY(store_job) link;
	uint64_t cookie, queued_ns;
	unsigned flags;
	int result;
	struct row row;
};

/* A start of DMA of this daemon. */
struct store_dma_start {
	unsigned link;
	uint32_t dma_epoch, serial, board_boot;
	bool taken_over;
	int64_t utc_ns;
	uint32_t session; /* unknown while no file has been open */
};

/* The newest start of DMA of a link and the session it belongs to; 0: none yet. */
struct store_dma {
	uint32_t session, dma_epoch;
	bool seen;		     /* by this daemon: what was before it is over ... */
	struct store_dma_start last; /* ... for another file */
};

#define STORE_LATER 0x80000000u /* + place in store.starts: a placeholder for a session */

struct store_sessions {
	uint32_t newest;
	struct store_dma dma[NANET3_LINKS];
};

#define STORE_KEY_MAX 8 /* columns of a table's key */

/* How far the reading of the whole file has come (whole.c). */
struct store_whole {
	uint64_t next_ns; /* monotonic: of the next slice */
	char table[64];	  /* the one that is read; "": none yet */
	char columns[200];
	int column_count; /* of its key */
	sqlite3_value *key[STORE_KEY_MAX];
	int keys;	  /* of the last row that was read; 0: none yet */
	char damage[240]; /* the first that was found; "": none */
};

struct store {
	sqlite3 *db;
	sqlite3_stmt *steps[ROW_IDS][STORE_STEPS];
	struct store_config config;
	char *path;	    /* config's */
	int lock_fd;	    /* one daemon a database */
	bool final;	    /* opening has failed for a reason that waiting does not mend */
	bool seen;	    /* a file has been there: no new one is created in its place */
	struct stat opened; /* the file that is open, or was last ... */
	struct stat wal;    /* ... and the log that belonged to it */

	/* main thread */
	struct queue jobs; /* struct store_job * */
	struct queue done; /* struct store_done; written by the thread */
	uint64_t answers;  /* STORE_ANSWERs not yet taken: never more than `done` holds */
	bool running;
	pthread_t thread;
	_Atomic uint64_t submitted, refused;

	_Atomic bool stop;
	_Atomic uint64_t stop_by_ns;

	/* the thread's */
	TAILQ_HEAD(store_jobs, store_job) list; /* waiting, in order ... */
	uint64_t waiting;			/* ... so many */
	uint64_t retry_at_ns;			/* 0: the last commit was well */
	bool doubt;	   /* it failed like a broken file: to be opened again */
	bool gated;	   /* opened again; until main has taken the past */
	int away_result;   /* why there is no file */
	uint64_t finished; /* rows written or given up */
	unsigned left;	   /* rows given up at the end */
	struct {
		uint64_t next_ns; /* monotonic; UINT64_MAX: never */
		unsigned rule;	  /* the pass is at this one */
		/* Both clocks when the thread started; the previous daemon's last sign of life, 0: unknown. */
		int64_t start_utc_ns, alive_ns;
		uint64_t start_mono_ns;
		bool clock_wrong; /* in the status */
		char why[320];	  /* the archive failed last */
	} keep;

	struct store_whole whole;

	pthread_mutex_t lock; /* of what follows */
	struct store_status status;
	struct store_past *past; /* not yet taken */
	struct store_sessions sessions;
	bool sessions_known; /* a file has been open: no start is added any more */
	struct store_dma_start *starts;
	size_t start_count, start_room;
	uint64_t oldest_ns; /* when the oldest waiting row was queued; 0: none waits */
	uint64_t finished_seen;
};

/* ---- rows.c ---- */
/* The queues of rows and answers; rows are accepted before the thread runs. */
int store_rows_init(struct store *s);
/* Rows for a thread that was never started. */
void store_rows_drop(struct store *s);
/* All below are the thread's. Take all rows that have come; true when one of them is urgent. */
bool store_rows_drain(struct store *s);
/* The next row that has come; NULL: none. */
struct store_job *store_rows_take(struct store *s);
/* Put a row before all waiting rows. */
void store_rows_put_first(struct store *s, const struct row *row);
/* Take the job out of the list, answer it with `result`, free it. */
void store_rows_finish(struct store *s, struct store_job *j, int result);
/* The same, and count it as lost. */
void store_rows_give_up(struct store *s, struct store_job *j, int result);
/* The disk refuses the rows: STORE_NOW_OR_NEVER rows are answered, the others kept up to the bound. */
void store_rows_refuse(struct store *s, int result);
/* Update the status by the waiting rows. */
void store_rows_publish(struct store *s);

/* ---- sql.c ---- */
/* SQLite's result as a negative errno. */
int store_errno(sqlite3 *db, int rc);

/* One statement: prepared, given its values, stepped, finalized. After an error the rest does nothing. */
struct store_query {
	sqlite3 *db;
	sqlite3_stmt *q;
	int rc;
};
struct store_query store_query(sqlite3 *db, const char *sql);
/* ?1, ?2, ...: as many of the values as the statement has places. */
void store_query_values(struct store_query *q, const int64_t *values, int count);
bool store_query_next(struct store_query *q); /* true: there is a row */
int store_query_end(struct store_query *q);   /* 0 or negative errno of the whole */
/* All of it, for a statement without rows. `values` may be NULL. 0 or negative errno. */
int store_run(sqlite3 *db, const char *sql, const int64_t *values, int count);
/* The first row, of whole numbers, with ?1. 1: there is one, 0: there is none, or negative errno. */
int store_find(sqlite3 *db, const char *sql, int64_t value, int64_t *ret_columns, int count);
/* Up to `most` statements as one transaction, each with the values. 0 or negative errno: it is open then. */
int store_run_all(sqlite3 *db, const char *const *steps, unsigned most, const int64_t *values,
		  int count);
/* End the transaction that an error has left open. */
void store_roll_back(sqlite3 *db);

/* ---- migrate.c ---- */
struct store_schema {
	uint32_t application_id;
	const char *const
		*migrations; /* [n] brings user_version n to n + 1; [0] makes the tables */
	unsigned count;
};
extern const struct store_schema store_schema; /* this program's */

/* The file's user_version; 0: a new file. -EPROTONOSUPPORT: the schema is another one, or newer. */
int store_schema_version(sqlite3 *db, const struct store_schema *schema, int *ret_version);
/* Run each migration that the file lacks in a transaction of its own; calls `at_work` (may be NULL) now and then. Errors
 * as above; a transaction may be open then. */
int store_schema_migrate(sqlite3 *db, const struct store_schema *schema, void (*at_work)(void));

/* ---- file.c ---- */
#define STORE_BUSY_MS 2000 /* to wait for another program that writes */
/* All steps of opening, waiting at most busy_ms for each lock; negative errno: closed again. file.c */
int store_file_open(struct store *s, int busy_ms, struct sc_error *error);
void store_file_close(struct store *s);
/* True: the open file has been moved, deleted or replaced; writes to it would be lost. */
bool store_file_replaced(const struct store *s);
/* copied.c: if the file is a backup, let its numbers skip all that may have been given since. 0 or negative errno. */
int store_after_copy(struct store *s);
/* read.c: the sessions in the file; the last sign of life of the previous daemon; all that a restarted daemon needs. */
int store_read_sessions(struct store *s, struct store_sessions *ret_sessions);
int store_read_alive(struct store *s);
int store_read_past(struct store *s, struct store_past **ret_past);

/* Its detail, where a command was open in the backup that the file was restored from (copied.c). */
#define STORE_RESTORED "the database was restored from a backup in which this was open"
/*
 * Of a row of main.command: it ended UNKNOWN, or was cut off as part of a `safe` and is not done (STORE_CUT), and no
 * later one on its parameter is done. Its first words are those of the index command_undone.
 */
#define STORE_CUT                                                                                  \
	"(command.reason LIKE 'safe %' AND EXISTS (SELECT 1 FROM main.transition AS t"             \
	" WHERE t.command = command.id AND (t.detail LIKE '" ENGINE_TAKEN_UP "%'"                  \
	" OR t.detail LIKE '" STORE_RESTORED "%')))"
#define STORE_UNDONE                                                                               \
	"(ended IS NOT NULL AND state <> 'DONE' AND sequence IS NOT NULL"                          \
	" AND (state = 'UNKNOWN' OR " STORE_CUT                                                    \
	") AND NOT EXISTS (SELECT 1 FROM main.command AS d"                                        \
	" WHERE d.parameter = command.parameter AND d.id > command.id AND d.state = 'DONE'"        \
	" AND d.ended IS NOT NULL))"

/* sessions.c */
/* The file is open, its past is read: sets the sessions of starts of DMA while no file was open. */
void store_adopt(struct store *s, const struct store_sessions *known, struct store_past *past);
/* Replaces a placeholder in the row by its session. */
void store_settle_session(struct store *s, struct row *row);

/* keep.c. Start: of the thread. Step: to be called when keep.next_ns has come; at most one short transaction. */
void store_keep_start(struct store *s);
void store_keep_step(struct store *s);

/* whole.c. Begin: after a file was opened. Step: to be called when whole.next_ns has come; at most some ms. */
void store_whole_begin(struct store *s);
void store_whole_end(struct store *s);
void store_whole_step(struct store *s);

/* archive.c: move some old commands or events. 1: moved, 0: none is due, negative errno: keep.why says more. */
int store_archive_step(struct store *s, int64_t utc_ns, uint64_t *ret_rows);
