/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Main's half of runs: what the journal has, what capture has been asked for, whether a client waits. No I/O: what is
 * to be done goes through struct run_ops. Times are CLOCK_MONOTONIC ns. The other half is run_border.h.
 *
 *   start --begin row--> JOURNALING --written, RUN to capture--> BORDER --takes effect--> answered
 *   stop  --RUN to capture------------------------------------> BORDER --takes effect, end row--> SAVING --written--> answered
 *
 * A client is answered within RUN_ANSWER_NS, if need be by what is known then; the change goes on without it. What took
 * effect is put into the journal until that has it, and capture keeps it in the owner pages for as long.
 */
#ifndef DAEMON_RUN_STATE_H
#define DAEMON_RUN_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/capture.h"

#define RUN_ANSWER_NS 8000000000ull /* a border is 0.6 s ahead at most; fcmctl waits 10 s */
#define RUN_SAVED_NS  1000000000ull /* for the row of an end that an owner page keeps meanwhile */
#define RUN_OWED      4u

enum run_answer {
	RUN_DONE,
	RUN_NOT_JOURNALED, /* not begun: the journal refuses the row */
	RUN_JOURNAL_SLOW,  /* not begun: it does not say anything */
	RUN_BUSY,	   /* capture takes no command; nothing has changed */
	RUN_NO_DATA,	   /* takes effect when data come */
	RUN_END_UNSAVED,   /* ended, but neither the journal nor an owner page has it */
	RUN_INTERRUPTED,   /* the daemon stops meanwhile */
};

enum run_step { RUN_AT_REST, RUN_JOURNALING, RUN_BORDER, RUN_SAVING };

/* A change that has taken effect. */
struct run_effect {
	uint32_t run, ended; /* run 0: `ended` has ended */
	uint64_t slice;	     /* 0: none can be named */
	bool bordered;	     /* at a border that had no time; else there was no board */
	bool resumed;	     /* it is no news */
};

/* Rows and commands: 0, or negative errno; they are tried again. `cookie`: run_state_written() hears of it. */
struct run_ops {
	int (*put_begin)(void *context, uint32_t run);
	/* A planned change: nothing is tried again. */
	int (*put_plan)(void *context, uint32_t run, uint32_t ended, uint64_t slice);
	/* `exact`: else it is only wanted where none is known. */
	int (*put_slice)(void *context, uint32_t run, uint64_t slice, bool exact, uint64_t cookie);
	int (*put_end)(void *context, uint32_t run, uint64_t slice, uint64_t cookie);
	int (*command)(void *context, enum capture_command_type type, uint32_t number);
	void (*effect)(void *context, const struct run_effect *effect);
	/* `error`: of RUN_NOT_JOURNALED. */
	void (*answer)(void *context, enum run_answer answer, uint32_t run, uint64_t slice,
		       int error);
};

/* What the journal is to have. */
struct run_owed {
	enum { OWED_NONE, OWED_TO_PUT, OWED_PUT, OWED_WRITTEN } step;
	uint32_t change; /* capture's number of it; 0: capture knows nothing of it */
	uint32_t run, ended;
	uint64_t slice, cookie;
	bool exact;
};

struct run_state {
	const struct run_ops *ops;
	void *context;
	uint32_t number, last; /* the run that data carry, 0 outside; the last number given out */
	enum run_step step;
	uint32_t wanted; /* JOURNALING, BORDER: the number to be, 0 ends the run */
	bool asked;	 /* a client waits */
	uint64_t deadline_ns;
	struct run_effect awaited; /* SAVING: the end that is being saved */
	uint32_t awaited_change;
	bool inherited; /* the journal is known */
	bool untold;	/* capture has not been told yet what is open there */
	uint32_t open;	/* that */
	bool ending;	/* its end was planned */
	uint32_t past;	/* the last number that predecessors gave out */
	uint32_t told;	/* number of the newest change heard of */
	uint32_t ended; /* the last run whose end was heard of */
	uint64_t cookies;
	struct run_owed owed[RUN_OWED];
};

void run_state_init(struct run_state *s, const struct run_ops *ops, void *context);
/* Only at rest and outside a run. `asked`: answer() will be called, also from here. */
void run_state_start(struct run_state *s, uint64_t now_ns);
/* Only at rest and in a run, or while it ends already and no client waits for that. */
void run_state_stop(struct run_state *s, uint64_t now_ns);
bool run_state_ending(const struct run_state *s);
/* The begin row: 0 or negative errno. */
void run_state_journaled(struct run_state *s, int result);
/* A slice's or end's row. */
void run_state_written(struct run_state *s, uint64_t cookie, int result);
/* CAPTURE_RUN_BEGUN. */
void run_state_effect(struct run_state *s, const struct capture_report *report, uint64_t now_ns);
/* CAPTURE_TAKEOVER: until the journal is known, the run of a ring that was taken over is what there is. Its number is
 * not given out again. */
void run_state_carried(struct run_state *s, uint32_t run);
/* CAPTURE_RUN_PLANNED. */
void run_state_plan(struct run_state *s, const struct capture_report *report);
/* The journal's last number, whether that run is open, and whether it knows a planned end of it. When another file takes
 * its place: again. */
void run_state_inherit(struct run_state *s, uint32_t last, bool open, bool ending);
void run_state_tick(struct run_state *s, uint64_t now_ns);
/* The daemon stops: who waits is answered. */
void run_state_close(struct run_state *s);

#endif
