/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the store.
 *
 *   store.c        the queue, the thread, group commit
 *   store_file.c   opening, checking, migrating the file
 *   store_sql.c    the statements, one entry a row
 *   store_read.c   what a restart reads
 *   store_put.c    rows from the daemon's structs
 *   store_keep.c   old rows rolled up or deleted
 *
 * The connection belongs to the caller until store_start(), then to the thread.
 */
#ifndef DAEMON_STORE_PRIVATE_H
#define DAEMON_STORE_PRIVATE_H

#include <pthread.h>
#include <sqlite3.h>

#include "daemon/queue.h"
#include "daemon/store.h"
#include "driver/nanet3.h"

#define STORE_STEPS 8u /* statements a row at most */

/* What a row does. */
struct store_sql {
	unsigned values; /* that a row of this kind has */
	const char *sql[STORE_STEPS];
};
extern const struct store_sql store_sql[ROW_IDS];

/* A row on its way. The row is cut to the arena it uses. */
struct store_job {
	struct store_job *next;
	uint64_t cookie, queued_ns;
	unsigned flags;
	int result;
	struct row row;
};

#define STORE_KEEP_RULES 7u
#define STORE_KEEP_STEPS 2u /* statements a rule at most */

/* The newest start of DMA of a link and the session it belongs to; 0: none yet. */
struct store_dma {
	uint32_t session, dma_epoch;
	bool told; /* by this daemon: what was before it is over */
};

struct store {
	sqlite3 *db;
	sqlite3_stmt *steps[ROW_IDS][STORE_STEPS];
	sqlite3_stmt *begin, *commit, *rollback;
	struct store_config config;
	int lock_fd; /* one daemon a database */

	/* main thread */
	struct queue jobs; /* struct store_job * */
	struct queue done; /* struct store_done; written by the thread */
	uint64_t answers;  /* STORE_ANSWERs not yet taken: never more than `done` holds */
	uint32_t session;  /* the newest */
	struct store_dma dma[NANET3_LINKS];
	bool running;
	pthread_t thread;
	_Atomic uint64_t submitted, refused;

	_Atomic bool stop;
	_Atomic uint64_t stop_by_ns;

	/* the thread's */
	struct store_job *first, **last; /* waiting, in order */
	uint64_t waiting;
	uint64_t retry_at_ns; /* 0: the last commit was well */
	uint64_t finished;    /* rows written or given up */
	unsigned left;	      /* rows given up at the end */
	struct {
		sqlite3_stmt *find[STORE_KEEP_RULES];
		sqlite3_stmt *step[STORE_KEEP_RULES][STORE_KEEP_STEPS];
		uint64_t next_ns; /* monotonic; UINT64_MAX: never */
		unsigned rule;	  /* the pass is at this one */
		/* Both clocks when the thread began; when a daemon before us was alive, 0: not known. */
		int64_t begun_utc_ns, alive_ns;
		uint64_t begun_mono_ns;
		bool clock_wrong; /* as told */
	} keep;

	pthread_mutex_t lock; /* of what follows */
	struct store_status status;
	uint64_t oldest_ns; /* when the oldest waiting row was queued; 0: none waits */
	uint64_t finished_seen;
};

/* Room for rows and answers, so that rows are taken before there is a thread. store.c */
int store_init_queues(struct store *s);
/* SQLite's result as a negative errno. */
int store_errno(sqlite3 *db, int rc);
/* A statement without values. SQLite's result. */
int store_run_plain(sqlite3_stmt *step);
/* Prepare all statements. store_file.c */
int store_prepare(struct store *s, struct sc_error *error);
void store_unprepare(struct store *s);
/* The sessions known so far. store_read.c */
int store_read_session(struct store *s);
/* When a daemon before us was alive last. */
int store_read_alive(struct store *s);

/* store_keep.c. Prepare: SQLite's result. Start: of the thread. Begin: a period from now. Step: to be
 * called when keep.next_ns has come; at most one short transaction. */
int store_keep_prepare(struct store *s);
void store_keep_unprepare(struct store *s);
void store_keep_start(struct store *s);
void store_keep_begin(struct store *s);
void store_keep_step(struct store *s);

#endif
