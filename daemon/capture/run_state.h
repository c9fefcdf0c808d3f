/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Main's half of runs: what the journal has, what capture has been asked for, whether a client waits. No I/O: what is
 * to be done goes through struct run_ops. Times are CLOCK_MONOTONIC ns. The other half is run_border.h.
 *
 *   start --begin row--> JOURNALING --written, RUN to capture--> BORDER --takes effect--> answered
 *   stop  --RUN to capture------------------------------------> BORDER --takes effect, end row--> SAVING --written--> answered
 *
 * A client is answered within RUN_ANSWER_NS, if necessary with what is known then; the change continues. A change that
 * took effect is put into the journal again until it is written; until then capture keeps it in the owner pages.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/capture/capture.h"

#define RUN_ANSWER_NS 8000000000ull /* a border is 0.6 s ahead at most; fcmctl waits 10 s */
#define RUN_SAVED_NS  1000000000ull /* for the row of an end that an owner page keeps meanwhile */
#define RUN_OWED      4u

enum run_answer {
	RUN_DONE,
	RUN_NOT_JOURNALED, /* not started: the journal refuses the row */
	RUN_JOURNAL_SLOW,  /* not started: the journal does not answer */
	RUN_BUSY,	   /* capture takes no command; nothing has changed */
	RUN_NO_DATA,	   /* takes effect when data come */
	RUN_END_UNSAVED,   /* ended, but neither the journal nor an owner page has it */
	RUN_INTERRUPTED,   /* the daemon was stopped meanwhile */
};

enum run_step { RUN_AT_REST, RUN_JOURNALING, RUN_BORDER, RUN_SAVING };

/* Rows and commands: 0, or negative errno; they are tried again. `cookie`: passed to
 * run_state_written(). */
struct run_ops {
	int (*put_begin)(void *context, uint32_t run);
	/* A planned change: not tried again. */
	int (*put_plan)(void *context, uint32_t run, uint32_t ended, uint64_t slice);
	/* Not `exact`: only used where no slice is known. */
	int (*put_slice)(void *context, uint32_t run, uint64_t slice, bool exact, uint64_t cookie);
	int (*put_end)(void *context, uint32_t run, uint64_t slice, uint64_t cookie);
	int (*command)(void *context, enum capture_command_type type, uint32_t number);
	void (*effect)(void *context, const struct capture_run *effect);
	/* `error`: of RUN_NOT_JOURNALED. */
	void (*answer)(void *context, enum run_answer answer, uint32_t run, uint64_t slice,
		       int error);
};

/* A row that the journal must get. */
struct run_owed {
	enum { OWED_NONE, OWED_TO_PUT, OWED_PUT, OWED_WRITTEN } step;
	uint32_t change; /* capture's number of it; 0: not from capture */
	uint32_t run, ended;
	uint64_t slice, cookie;
	bool exact;
};

struct run_state {
	const struct run_ops *ops;
	void *context;
	uint32_t number, last; /* the run that data carry, 0 outside; the last number given out */
	enum run_step step;
	uint32_t wanted; /* JOURNALING, BORDER: the next run number, 0 ends the run */
	bool asked;	 /* a client waits */
	uint64_t deadline_ns;
	struct capture_run awaited; /* SAVING: the end that is being saved */
	bool restored;		    /* the journal has been read */
	bool journal_unsent;	    /* capture does not know yet which run is open there */
	uint32_t open;		    /* that */
	bool ending;		    /* its end was planned */
	uint32_t past;		    /* the last number that predecessors gave out */
	uint32_t reported;	    /* number of the newest change that was */
	uint32_t ended;		    /* the last run whose end was reported */
	uint64_t cookies;
	struct run_owed owed[RUN_OWED];
};

void run_state_init(struct run_state *s, const struct run_ops *ops, void *context);
/* Only at rest and outside a run. `asked`: answer() will be called, also from here. */
void run_state_start(struct run_state *s, uint64_t now_ns);
/* Only at rest and in a run, or while the run is ending and no client waits for it. */
void run_state_stop(struct run_state *s, uint64_t now_ns);
bool run_state_ending(const struct run_state *s);
/* The begin row: 0 or negative errno. */
void run_state_journaled(struct run_state *s, int result);
/* A slice's or end's row. */
void run_state_written(struct run_state *s, uint64_t cookie, int result);
/* CAPTURE_RUN_CHANGED. */
void run_state_effect(struct run_state *s, const struct capture_report *report, uint64_t now_ns);
/* CAPTURE_TAKEOVER: until the journal is read, the run is that of a ring that was taken over. Its number is not given
 * out again. */
void run_state_carried(struct run_state *s, uint32_t run);
/* CAPTURE_RUN_PLANNED. */
void run_state_plan(struct run_state *s, const struct capture_report *report);
/* The journal's last number, whether that run is open, and whether it has a planned end. Called
 * again when another file replaces the journal. */
void run_state_restore(struct run_state *s, uint32_t last, bool open, bool ending);
void run_state_tick(struct run_state *s, uint64_t now_ns);
/* The daemon stops: answer the client that waits. */
void run_state_close(struct run_state *s);
