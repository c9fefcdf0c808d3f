/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many requests side by side: a window of them is under way, an answer makes room for the next. Rows go in order;
 * a row of a later step waits until all before it have ended. Used for plans (dry runs), jobs and roll-backs.
 */
#ifndef SLOWCTL_FCMCTL_JOBS_MANY_H
#define SLOWCTL_FCMCTL_JOBS_MANY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "slowctl/fcmctl/core/ctl.h"

/* At once: twice what four floors take (8 words each), so that they never wait for us; few enough that an
 * operator's own command beside them is not long behind. */
#define MANY_WINDOW 64u

enum many_state {
	MANY_WAITS,   /* not sent */
	MANY_SKIPPED, /* not to be sent */
	MANY_SENT,    /* under way; after the run: its end was not waited for */
	MANY_DONE,
	MANY_FAILED, /* refused, or failed: `answer` is the error */
	MANY_UNKNOWN /* its outcome is not known: `answer` is the error */
};

struct many_row {
	const char *op;
	json_t *args; /* of the request; the row's */
	double step;
	enum many_state state;
	bool open;	   /* WAITS: an earlier run has sent it, asking only waits for its end */
	json_t *answer;	   /* result or error object; NULL: none yet */
	long long command; /* the journal's number as far as it is known; 0: not */
	unsigned id;	   /* of the request */
	void *item;	   /* the caller's: whose request it is */
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
	bool stop_at_failure; /* also at a row that has failed before: nothing behind it is sent */
	const char *progress; /* on a terminal: "of 312 done"; NULL: none is shown */
	/* An answer came. */
	void (*ended)(void *context, struct many_row *row);
	void *context;
	int err;	   /* of MANY_BROKEN */
	double patience_s; /* set by many_run(): without a word from the daemon for so long, -ETIMEDOUT */
};

enum many_end many_run(struct many *m);
/* A command's end in one line: what, from, to, state, time taken. */
void ctl_outcome(struct writer *w, const json_t *command);
/* The exit code of a command in this state, of several the worst is that of fcmctl; one that is open was not waited for. */
int ctl_exit_of_state(const char *state);
/* Behind "N of M done": of[], by enum many_state, those that are not done. */
void many_say_rest(const struct ctl *ctl, const size_t of[MANY_UNKNOWN + 1]);
/* Take the line of progress away before something else is printed. */
void many_clear_progress(const struct many *m);
void many_rows_free(struct many_row *rows, size_t count);

#endif
