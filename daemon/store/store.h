/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store: SQLite's only writer, on a separate thread.
 *
 *   main --rows (queue)--> store thread --one transaction--> file (WAL, synchronous=FULL)
 *        <--done (queue, eventfd)--'
 *
 * Group commit: all rows that have come are one transaction, at once when one of them is urgent, else every
 * 500 ms. A row that cannot be written (disk full, I/O error, locked) is kept in order and tried again every
 * second, up to a bound. Beyond the bound rows marked STORE_COMES_AGAIN are dropped first, then the oldest ones,
 * which are counted. A row marked STORE_NOW_OR_NEVER is not kept: it gets a negative result. A row that breaks a
 * constraint gets -EEXIST and is dropped alone. The thread never ends by itself, and never blocks the main thread.
 *
 * When it has nothing else to do, the thread rolls up old rows: a second of the ledger that has become part of a
 * minute is closed for good; a later row of that second is not written (result 0).
 *
 * store_open() runs in the caller: it opens or creates, checks, migrates, and reads what a restarted daemon needs
 * (struct store_past). A patient store may be *away*: the file cannot be opened (disk full, read-only, damaged, of
 * another version, held by another program, no answer from its disk), has been moved, or fails like a broken disk.
 * Then the thread tries to open it again every few seconds; meanwhile rows are kept or refused as above. Once the
 * file is open its past is read again, and nothing is written until the main thread has taken that: the journal's
 * commands come before any new one.
 *
 * store_submit(), store_take_done(), store_take_past(), store_session() belong to the main thread;
 * store_get_status() to any. Rows that come before store_start() wait for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/data/boots.h"
#include "daemon/data/ledger.h"
#include "daemon/phase/phase.h"
#include "driver/nanet3.h"
#include "schemas/rows.h"
#include "slowctl/alarm/alarm.h"
#include "slowctl/engine/engine.h"
#include "slowctl/param/error.h"

struct store;

#define STORE_SCHEMA ROWS_SCHEMA /* user_version this program writes */

/* At which age in days rows go; 0: never. */
struct store_ages {
	uint32_t ledger_seconds_days, ledger_minutes_days; /* become minutes, hours */
	uint32_t losses_days, phase_days, samples_days;	   /* are deleted */
	uint32_t samples_full_days, samples_minutes_days;  /* become minutes, hours */
	uint32_t journal_days; /* commands and events: go to one file per year. archive.c */
};

struct store_config {
	const char *path;
	uint32_t commit_ms; /* group commit of what is not urgent; 0: 500 */
	uint32_t retry_ms;  /* after a failed commit; 0: 1000 */
	uint32_t keep_rows; /* rows kept while the disk refuses them; 0: 20000 */
	/* Checked every keep_ms (0: a minute); after each step the thread pauses keep_rest times as long as
	 * the step took (0: 9). keep.c */
	struct store_ages ages;
	uint32_t keep_ms, keep_rest;
	/* The whole file is read 10 s after it was opened, then once a day, a slice a second; else all these are so long. */
	uint32_t whole_ms;
	uint32_t recent; /* number of ended commands with a client id in the past; 0: 1000 */
	bool patient; /* a file that cannot be opened now is tried again; false: store_open() fails */
	bool later;   /* patient, and the disk does not answer now: the thread opens the file */
	/* Called repeatedly during a long migration, by the thread that opens; may be NULL. */
	void (*at_work)(void);
	int64_t (*utc_ns)(void); /* a test's system clock; NULL: the host's */
};

/*
 * Open or create, and bring to STORE_SCHEMA. -EPROTONOSUPPORT: a file of another version or program; -EUCLEAN:
 * damaged; -EACCES, -ENOSPC, -EROFS, -EBUSY (another daemon holds it), -EIO. `error` is for the operator. A patient
 * store refuses only a directory and a file that another daemon holds; else it returns 0, is away, and `error` says why.
 */
int store_open(const struct store_config *config, struct store **ret_store, struct sc_error *error);
int store_start(struct store *s); /* start the thread: negative errno */
/* Write all queued rows (at most for `grace_ms` while the disk refuses them), end the thread, checkpoint.
 * Returns the number of rows that could not be written. */
unsigned store_stop(struct store *s, unsigned grace_ms);
void store_destroy(struct store *s); /* stops it when still running */

#define STORE_URGENT	   0x1u /* commit at once */
#define STORE_ANSWER	   0x2u /* a done item when it is written or dropped */
#define STORE_NOW_OR_NEVER 0x4u /* not kept for a retry */
#define STORE_COMES_AGAIN                                                                          \
	0x8u /* a newer one will come: dropped first when there are too many rows */

/* Queue a row (copied). -ENOBUFS: queue full, counted; -EINVAL: not a row of the table, or a row of
 * a command that was cut; -ENOMEM. */
int store_submit(struct store *s, const struct row *row, uint64_t cookie, unsigned flags);

struct store_done {
	uint64_t cookie;
	int32_t result; /* 0 or negative errno */
	uint16_t row;	/* enum row_id: whose cookie it is */
};
int store_done_fd(const struct store *s); /* readable: something is done */
bool store_take_done(struct store *s, struct store_done *ret_done); /* false: nothing more */

struct store_status {
	uint64_t queued;	 /* waiting rows, including kept ones */
	uint64_t kept;		 /* those that the disk refused and that are tried again */
	uint64_t lag_ns;	 /* age of the oldest row not yet written; 0: none */
	uint64_t rows, commits;	 /* written */
	uint64_t errors;	 /* failed commits */
	uint64_t given_up;	 /* rows dropped: bound reached, or constraint broken */
	uint64_t refused;	 /* rows that store_submit() did not take */
	uint64_t last_commit_ns; /* CLOCK_MONOTONIC; 0: never */
	uint64_t commit_max_ns, commit_last_ns; /* duration */
	bool failing;				/* the last commit failed */
	int last_error;				/* negative errno of the last failure */
	char last_error_text[320];
	bool away; /* the file is not open: last_error_text says which and why ... */
	char last_error_hint[240]; /* ... and this what to do */
	/* old rows: transactions, rows that are gone, transactions that failed */
	uint64_t keep_steps, keep_rows, keep_errors;
	bool keep_failing; /* the last one failed */
	char keep_error_text[320];
	uint64_t whole_ns; /* CLOCK_MONOTONIC when all of this file was last read; 0: not yet */
	char damage[240];  /* that was found then; "": none */
};
void store_get_status(struct store *s, struct store_status *ret_status);

/* --- what a restart takes over --- */

struct store_run {
	uint32_t last_number; /* 0: none yet */
	bool open;	      /* the last one has not ended ... */
	bool ending;	      /* ... but that was planned */
	char note[160], who[64];
	int64_t begun_ns;
};
struct store_sequence {
	uint8_t tower, floor;
	uint32_t reserved_until;
};
/* An event that the previous daemon began and did not end. */
#define STORE_EVENTS_MAX 128u
struct store_event {
	char code[32], object[PARAM_NAME_MAX];
};
/* A row of the table incident; times UTC ns, until_ns 0: it has not ended. */
struct store_incident {
	uint32_t number;
	char code[ALARM_CODE_BYTES], object[ALARM_OBJECT_BYTES];
	char text[ALARM_TEXT_BYTES + 80], action[ALARM_TEXT_BYTES], own[80];
	bool red; /* it was, at some time */
	int64_t since_ns, until_ns;
	uint32_t observations;
	uint64_t frames, dropped, hits, dark_ms;
	struct alarm_hand ack; /* who "": nobody */
};
/* Of the table dark, of a second. */
struct store_dark {
	uint32_t incident;
	uint8_t link, tower, floor, modules;
	uint64_t dark_ms, hits;
};
struct store_past {
	uint64_t last_command; /* the largest id */
	struct store_sequence *sequences;
	struct engine_journal
		*commands; /* the last ended ones, those not done, the open ones; each by id */
	size_t sequence_count, command_count;
	struct phase_reference reference[NANET3_LINKS]; /* set is false when there is none */
	struct phase_past phase[NANET3_LINKS];
	struct store_run run;
	char relabelled[96];	    /* the station's setting of this name; "": none */
	char boots[BOOTS_TEXT_MAX]; /* as above */
	struct store_event events[STORE_EVENTS_MAX];
	unsigned event_count;
	struct alarm *observations; /* about which operators have done something */
	size_t observation_count;
	struct store_incident *incidents; /* that had not ended */
	size_t incident_count;
	uint32_t last_incident; /* the largest number */
	bool crashed;		/* the previous daemon has written no end */
};
/* The content of the file when it was opened: once after each opening, else NULL. After that the thread writes to a file
 * that was opened later. The caller frees it. */
struct store_past *store_take_past(struct store *s);
void store_past_free(struct store_past *p); /* NULL is accepted */
/* Ids, sequences, commands: into the engine. -ENOMEM. */
int store_past_engine(const struct store_past *p, struct engine *e, struct engine_now now);

/* --- sessions of DMA ---
 *
 * The board counts its DMA epochs from 1 again when it is switched on (the emulator when it is started). So rows are
 * also keyed by a *session*: a link that starts DMA with an epoch that is not above its last one begins a new session.
 */

/*
 * To be called for each CAPTURE_TAKEOVER; writes the dma row. Returns the session for the rows of this link
 * and epoch. While no file has been open, that is a placeholder, which is replaced in rows when they are written.
 * taken_over: the account of the previous daemon goes on. The first call for a link closes all that the previous
 * daemon left open of other epochs: frames in flight are charged as shutdown.
 */
uint32_t store_session(struct store *s, unsigned link, uint32_t dma_epoch, bool taken_over,
		       uint32_t serial, uint32_t board_boot, int64_t utc_ns);

/* --- rows from the state machines' own structs ---
 *
 * Everything is copied. Group names by number come from `group_names` (GROUPS_MAX of them). utc_ns is when
 * the row is made. Who and reason may be NULL. All return 0 or store_submit()'s error.
 */

/* A second of a link, open or closed: replaces the row of the same session, epoch, link and second. tai_ns:
 * of its first frame by its label; FCM_NO_TAI: unknown, what the row had stays. */
int store_put_link_row(struct store *s, uint32_t session, const struct ledger_link_row *row,
		       int64_t tai_ns, int64_t utc_ns, uint64_t cookie, unsigned flags);
/* The same of a stream and a group. */
int store_put_stream_row(struct store *s, uint32_t session, const struct ledger_stream_row *row,
			 const char *const *group_names, int64_t utc_ns, uint64_t cookie,
			 unsigned flags);
/* A run of lost frames; while it is open it is put again as it grows, and replaces itself. */
int store_put_loss(struct store *s, uint32_t session, const struct ledger_loss *loss,
		   const char *const *group_names, int64_t utc_ns, uint64_t cookie, unsigned flags);
/* A row of the phase's statistics, in ps. */
int store_put_phase_row(struct store *s, unsigned link, const struct phase_row *row,
			int64_t utc_ns);
/* A verdict on the phase; urgent. */
int store_put_phase_event(struct store *s, unsigned link, const struct phase_judgement *j,
			  const char *who, const char *reason, int64_t utc_ns);
/* The link's reference, its time in it; replaces the last one; urgent. */
int store_put_phase_reference(struct store *s, unsigned link, const struct phase_reference *r,
			      const char *who, const char *reason);
/* The clock's state has changed to that of `label`. */
int store_put_clock_event(struct store *s, const struct label *label, const char *reason,
			  int64_t utc_ns);
/* An event for the operator. severity: "info", "warning", "red". */
int store_put_event(struct store *s, const char *severity, const char *code, const char *object,
		    const char *text, const char *action, int64_t utc_ns);
/* The same of a remark of the shift: urgent. */
int store_put_remark(struct store *s, const char *code, const char *object, const char *text,
		     int64_t utc_ns);
/* What operators have done about an observation, or that there is nothing to remember of it; urgent. */
int store_put_observation(struct store *s, const struct alarm *alarm);
int store_put_observation_forget(struct store *s, const struct alarm *alarm);
/* An incident as it is now. */
int store_put_incident(struct store *s, const struct store_incident *i, unsigned flags);
/* It has ended, unless it is known when it did. `joined`: it was found to be part of another one. */
int store_put_incident_end(struct store *s, uint32_t number, int64_t until_ns, bool joined);
/* What the modules of a link did not see in the second that began at time_ns; adds to what the row has. */
int store_put_dark(struct store *s, int64_t time_ns, const struct store_dark *d);
/* A setting of the station; replaces the key's last value. */
int store_put_station(struct store *s, const char *key, const char *value);
/* A sign of life, for the next daemon; it also limits how far back that searches for open commands. */
int store_put_alive(struct store *s, int64_t utc_ns);
/* The unit of each kind of parameter (unit.KIND), and the meaning of the values of enumerations and switches
 * (words.KIND), so that the file explains itself. */
void store_put_words(struct store *s, struct params *params);
/* Begin a run, STORE_NOW_OR_NEVER: the number is taken only when the answer (of ROW_RUN_BEGIN) is 0; -EEXIST: it is in
 * use. */
int store_put_run_begin(struct store *s, uint32_t number, const char *note, const char *who,
			int64_t utc_ns);
/* The first slice of a run (exact); or the planned one, or the first with a time, which do not
 * replace a known one. Urgent. `cookie`: of the answer, 0: no answer. */
int store_put_run_slice(struct store *s, uint32_t number, uint64_t slice, bool exact,
			uint64_t cookie);
/* The last slice of a run (0: unknown, the planned one stays); an end that is already known stays.
 * utc_ns 0: planned, the run is still open. Urgent. `cookie` as above. Kept while the disk refuses
 * it: without it a restarted daemon would continue the run. */
int store_put_run_end(struct store *s, uint32_t number, int64_t utc_ns, uint64_t slice,
		      uint64_t cookie);
