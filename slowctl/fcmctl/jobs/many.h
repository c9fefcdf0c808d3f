/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one engine for many requests: a window of them is under way, and each answer makes room for the next. Rows are sent
 * in order; a row of a later step waits until all before it have ended. Used for dry runs, batches, patterns, plans and
 * roll-backs.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "slowctl/fcmctl/core/ctl.h"

/* Twice what four floors take at once (8 words each), so that they never wait for fcmctl; few enough that another
 * operator's command is not delayed for long. */
#define MANY_WINDOW 64u

enum many_state {
	MANY_WAITS,   /* not sent */
	MANY_SKIPPED, /* not to be sent */
	MANY_SENT,    /* under way; after the run: fcmctl has not seen its end */
	MANY_DONE,
	MANY_FAILED,  /* refused, or failed: `answer` is the error */
	MANY_UNKNOWN, /* outcome unknown: `answer` is the error */
	MANY_STATES
};

struct many_row {
	const char *op;
	json_t *args; /* of the request; the row's */
	double step;
	enum many_state state;
	bool open;	   /* WAITS: sent by an earlier run; the request only waits for its end */
	json_t *answer;	   /* result or error object; NULL: none yet */
	long long command; /* the journal's number; 0: unknown */
	unsigned id;	   /* of the request */
	void *item;	   /* the caller's */
};

enum many_end {
	MANY_ALL,	  /* every row has ended */
	MANY_STOPPED,	  /* at a failure; what was under way has ended */
	MANY_INTERRUPTED, /* Ctrl-C, SIGTERM */
	MANY_BROKEN,	  /* no connection (any more): err */
};

struct many {
	struct ctl *ctl;
	struct many_row *rows;
	size_t count;
	bool stop_at_failure; /* send nothing after a row that fails, or has failed in an earlier run */
	const char *progress; /* on a terminal: "3 of 312 PROGRESS"; NULL: shows none */
	/* Called for each answer. */
	void (*ended)(void *context, struct many_row *row);
	void *context;
	int err;	   /* of MANY_BROKEN */
	double patience_s; /* set by many_run(): without a message from the daemon for so long, -ETIMEDOUT */
};

enum many_end many_run(struct many *m);
/* A command's end in one line: what, from, to, state, time taken. */
void ctl_outcome(struct writer *w, const json_t *command);
/* The exit code of a command in this state, of several the worst is that of fcmctl; one that is open was not waited for. */
int ctl_exit_of_state(const char *state);
/* Rows by their state. */
void many_count(const struct many *m, size_t ret_of[MANY_STATES]);
/* Continues "N of M done" with the rows that are not done, by many_count(). */
void many_write_rest(const struct ctl *ctl, const size_t of[MANY_STATES]);
/* Erases the line of progress before something else is printed. */
void many_clear_progress(const struct many *m);
void many_rows_free(struct many_row *rows, size_t count);
