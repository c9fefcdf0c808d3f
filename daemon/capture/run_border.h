/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capture's half of runs: the frame of each link from which on its blocks carry a run. No I/O; the other half is
 * run_state.h.
 *
 * A change of the run takes effect at a slice border ahead of all links, the same on each of them. The owner pages
 * keep it (struct owner_run) with its number until the journal has it: a restarted daemon finds it there and reports it
 * again.
 *
 *   main: RUN --change()--> planned, in all accounts --a span at the border, report()--> reported
 *   --main: RUN_SAVED, saved()--> number 0
 *                              '--the ring ends before it, report()--> reported, without a border
 *
 * Without a ring that has been read there is no border: a change takes effect with the next data,
 * because every new account starts with the last run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/data/owner_page.h"
#include "driver/nanet3.h"

struct run_border {
	uint32_t run;	   /* the last one commanded */
	uint32_t ended;	   /* the last one whose end was commanded: it never resumes */
	uint32_t change;   /* number of the last change; 0: none yet */
	uint32_t reported; /* changes up to this number have been */
	uint32_t resumed;  /* the last change without a request */
	/* A change without a border that the journal does not have yet: new accounts keep it. 0: none */
	uint32_t unsaved, before;
	bool known; /* the journal's run is known */
	bool waits; /* the change `waiting` waits for room in the accounts */
	uint32_t waiting;
	bool requested; /* `waiting` was */
};

/* A link with a ring, as runs see it. */
struct run_link {
	struct owner_account *account;
	uint64_t front; /* frames below it are in the ring, or were; some are handed over already */
	bool read;	/* some have been read, perhaps by the previous daemon */
	bool kept;	/* the account is the previous daemon's */
	bool *dirty;	/* set here: the account needs a commit */
};

struct run_change {
	uint32_t number, run, ended; /* ended: the run before it; 0: none */
	uint64_t frame;		     /* of the border */
	bool planned;		     /* takes effect there; else it has taken effect */
	bool bordered;		     /* there is a border, and owner pages keep the change */
	bool resumed;
};
typedef void run_report_fn(void *context, const struct run_change *change);

/* The links that have a ring, and who is informed of changes. */
struct run_links {
	struct run_link link[NANET3_LINKS];
	unsigned n;
	run_report_fn *report;
	void *context;
};

/* A new account starts with the last run, from frame 0 on, which means no border. */
void run_border_fresh(const struct run_border *r, struct owner_account *account);
/*
 * All links have been claimed. If the previous daemon was killed between two commits its pages may
 * differ: all accounts get the changes of the newest page. Changes that it left unsaved are
 * reported again. A run that was commanded while the board was gone becomes a change.
 */
void run_border_agree(struct run_border *r, struct run_links *links);
/* From the next border on the blocks carry `run`; 0 ends the one before. If the accounts have no
 * room it waits for retry(), and replaces what waited before. */
void run_border_change(struct run_border *r, struct run_links *links, uint32_t run);
void run_border_retry(struct run_border *r, struct run_links *links);
/* The journal's open run, 0: none. It continues unless the pages say that it was ended. */
void run_border_journal(struct run_border *r, struct run_links *links, uint32_t run);
/* The journal's open run, for which it has a planned end: this end is due, or has been reached. */
void run_border_ending(struct run_border *r, struct run_links *links, uint32_t run);
/* Report the changes that take effect at or before this frame: once, by the first link that gets
 * there. RUN_BORDER_NEVER: the ring ends, all others take effect without a border. */
#define RUN_BORDER_NEVER UINT64_MAX
void run_border_report(struct run_border *r, const struct owner_account *account, uint64_t frame,
		       run_report_fn *report, void *context);
/* The journal has the change of this number. */
void run_border_saved(struct run_border *r, struct run_links *links, uint32_t number);
