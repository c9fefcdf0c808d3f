/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Both halves of runs (run_border.h, run_state.h) in a world of virtual time: a board that counts, links with owner
 * pages, a journal on a disk, a client. They interact as in capture.c and runs.c; a fault may be injected at every step
 * (a point).
 *
 * Pages survive with the board's rings, rows with the disk, blocks with the consumers.
 */
#pragma once

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/capture/run_border.h"
#include "daemon/capture/run_state.h"

#define RIG_LINKS   3u
#define RIG_SLICES  8192u
#define RIG_RUNS    128u
#define RIG_TICK_NS 20000000ull
#define RIG_STEP    160u /* frames a tick */
#define RIG_QUEUE   64u
#define RIG_HOLD    45u /* ticks that new rings wait for the journal */
#define RIG_NO_RUN  (-1)

enum trouble {
	TROUBLE_NONE,
	TROUBLE_KILL,	     /* kill -9, restarted at once */
	TROUBLE_KILL_AWAY,   /* restarted when the rings have been given up */
	TROUBLE_KILL_DAMAGE, /* a page is damaged */
	TROUBLE_KILL_REBOOT, /* the board reboots meanwhile */
	TROUBLE_REBOOT,	     /* the board is gone for a while, and counts from 0 */
	TROUBLE_ABSENCE,     /* the board is gone for a while, its rings stay */
	TROUBLE_STALL,	     /* no data for a while */
	TROUBLE_STORE_HELD,  /* the disk refuses for a while */
	TROUBLE_STORE_KILL,  /* it refuses, the daemon is killed, it takes rows again */
	TROUBLES,
};

struct rig_row {
	uint32_t number;
	bool ended;
	bool late; /* it began without a border: begun_slice is the first reported slice */
	uint64_t begun_slice, ended_slice; /* 0: none */
};

struct rig_stored {
	enum {
		STORED_BEGIN,
		STORED_SLICE,
		STORED_FIRST,
		STORED_TIMED,
		STORED_END,
		STORED_PLANNED_END
	} what;
	uint32_t run;
	uint64_t slice, cookie;
	int result;
};

struct rig_link {
	/* the ring's */
	bool has_page, damaged;
	uint64_t start; /* of a fresh one: the count then */
	struct owner_account page;
	uint64_t page_sent;
	/* the daemon's */
	bool claimed, kept, dirty;
	struct owner_account account;
	uint64_t head, sent;
};

struct runs_rig {
	/* the world */
	uint64_t now_ns, count, slice_base;
	unsigned board_back, data_back, store_back, journal_slow; /* ticks until then; 0: well */
	uint64_t held_until_ns; /* when its rows are certainly on the disk */
	bool reboots;
	struct rig_row rows[RIG_RUNS];
	unsigned row_count;
	int seen[RIG_SLICES]; /* the run that blocks of a slice carry */
	struct rig_link link[RIG_LINKS];
	uint64_t dice;
	/* the daemon */
	struct run_border border;
	struct run_state state;
	struct capture_command commands[RIG_QUEUE];
	struct capture_report reports[RIG_QUEUE];
	struct rig_stored stored[RIG_QUEUE], done[RIG_QUEUE];
	unsigned command_count, report_count, stored_count, done_count;
	unsigned up; /* ticks since its start */
	bool restored;
	uint32_t timed;
	/* the client */
	bool waits, answered;
	bool starts;
	enum run_answer answer;
	uint32_t answer_run;
	uint64_t answer_slice, asked_ns, slowest_ns;
	uint32_t ended; /* the last run whose end was answered */
	/* trouble */
	jmp_buf dead;
	unsigned point, trouble_at;
	enum trouble trouble;
	char complaint[200]; /* the first error */
};

void runs_rig_init(struct runs_rig *r, uint64_t seed);
uint32_t runs_rig_roll(struct runs_rig *r, uint32_t n);
/* A tick of all parts. */
void runs_rig_tick(struct runs_rig *r);
/* So many points from now. */
void runs_rig_trouble(struct runs_rig *r, enum trouble trouble, unsigned points);
/* Requests a run, or its end, if possible now. False: refused. */
bool runs_rig_ask(struct runs_rig *r, bool start);
/* Ticks until the status says that a run is under way, or none; a client whose daemon was killed
 * asks again. */
void runs_rig_reach(struct runs_rig *r, bool started);
/* Ticks until no change is under way; then journal, blocks and status must agree, else there is a
 * complaint. */
void runs_rig_judge(struct runs_rig *r);
