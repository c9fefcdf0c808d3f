/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capture's half of runs: from which frame on the blocks of each link carry which run. No I/O; the other half is
 * run_state.h.
 *
 * A change of the run takes effect at a slice border ahead of all links, the same on each of them. It lies in the
 * owner pages (struct owner_run) with its number until the journal has it: a successor finds it there and reports it
 * again.
 *
 *   main: RUN --change()--> planned, in all accounts --a span at the border, tell()--> reported --main: RUN_SAVED, saved()--> number 0
 *                              '--the ring ends before it, tell_rest()--> reported, without a border
 *
 * Without a ring that has been read there is no border: a change holds from the next data on, because every new
 * account begins with the last run.
 */
#ifndef DAEMON_RUN_BORDER_H
#define DAEMON_RUN_BORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/owner_page.h"
#include "driver/nanet3.h"

struct run_border {
	uint32_t run;	  /* the last one commanded */
	uint32_t ended;	  /* the last one whose end was commanded: it never comes back */
	uint32_t change;  /* number of the last change; 0: none yet */
	uint32_t told;	  /* changes up to this number have been reported */
	uint32_t resumed; /* the last change that nobody asked for */
	/* A change without a border that the journal does not have yet: new accounts keep it. 0: none */
	uint32_t unsaved, before;
	bool known; /* the journal's word has come */
	bool waits; /* for room in the accounts: */
	uint32_t waiting;
	bool news; /* somebody asked for that */
};

/* A link as runs see it. */
struct run_link {
	struct owner_account *account; /* NULL: no ring */
	uint64_t
		front; /* frames below are in the ring, or were: some of them handed over already */
	bool read;     /* some have been read, perhaps by a predecessor */
	bool kept;     /* the account is a predecessor's */
	bool changed;  /* set here: the account wants a commit */
};

struct run_change {
	uint32_t number, run, ended; /* ended: the run before it; 0: none */
	uint64_t frame;		     /* of the border */
	bool planned;		     /* takes effect there; else it has taken effect */
	bool bordered;		     /* there is a border, and owner pages that keep the change */
	bool resumed;
};
typedef void (*run_border_tell_fn)(void *context, const struct run_change *change);

/* A new account begins with the last run: from frame 0 on, which stands for no border. */
void run_border_fresh(const struct run_border *r, struct owner_account *account);
/*
 * All links have been claimed. Pages of a predecessor that died between two commits may differ: all accounts get the
 * changes of the newest one. What it left unsaved is told again. What was commanded while the board was gone
 * becomes a change.
 */
void run_border_agree(struct run_border *r, struct run_link links[NANET3_LINKS],
		      run_border_tell_fn tell, void *context);
/* From the next border on the blocks carry `run`; 0 ends the one before. When the accounts have no room it waits for
 * retry(), in the place of what waited before. */
void run_border_change(struct run_border *r, struct run_link links[NANET3_LINKS], uint32_t run,
		       run_border_tell_fn tell, void *context);
void run_border_retry(struct run_border *r, struct run_link links[NANET3_LINKS],
		      run_border_tell_fn tell, void *context);
/* The journal's open run, 0: none. It goes on unless the pages know that it was ended. */
void run_border_journal(struct run_border *r, struct run_link links[NANET3_LINKS], uint32_t run,
			run_border_tell_fn tell, void *context);
/* The journal's open run, of which it knows a planned end: that comes, or has come. */
void run_border_ending(struct run_border *r, struct run_link links[NANET3_LINKS], uint32_t run,
		       run_border_tell_fn tell, void *context);
/* Reports what takes effect with this frame or before, once, by the link that comes first. */
void run_border_tell(struct run_border *r, const struct owner_account *account, uint64_t frame,
		     run_border_tell_fn tell, void *context);
/* The ring ends: what has not been reported takes effect without a border. */
void run_border_tell_rest(struct run_border *r, const struct owner_account *account,
			  run_border_tell_fn tell, void *context);
/* The journal has the change of this number. */
void run_border_saved(struct run_border *r, struct run_link links[NANET3_LINKS], uint32_t number);

#endif
