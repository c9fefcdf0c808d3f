/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A link of capture in virtual time: a board of a few lines lays completions into a ring, a publisher of a
 * few lines settles blocks, tick by tick. What becomes of each cell is known beforehand.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/capture/private.h"
#include "tests/unit/daemon/capture/capture_rig.h"
#include "tests/unit/rig/floor_rig.h"

#define DEPTH	128u
#define PER	16u /* cells of a buffer */
#define FIRST	(8000ull * 5 + 4000)
#define TICK_NS 2000000ull
#define BLOCK	80u
#define HELD	4096u

/* The board. */
struct link_board {
	struct nanet3_ring ring;
	struct nanet3_info info;
	struct nanet3_event done[DEPTH];
	uint8_t cells[DEPTH][PER * TDM_FRAME_BYTES];
	uint64_t page[NANET3_PAGE / 8];
	uint64_t count;
	struct floor_rig floor;
	/* Of the handle: set_up() makes one that cannot be opened. */
	bool can_open, taken_over, gone; /* gone: an event says so */
	int claim_error, wait_error;
	unsigned opened, closed, claims, grants;
	uint64_t granted;
	int waited_ms; /* the last wait; -1: none */
};
extern struct link_board B;

/* Capture with one link, and what becomes of its blocks and reports. */
struct link_rig {
	struct capture c;
	struct queue blocks, settled, commands, reports;
	struct block_pool *pool;
	struct tap tap;
	struct rig_consumer *consumer;
	struct rig_rows rows;
	bool holds; /* the publisher settles nothing */
	uint32_t run;
	uint32_t block_frames; /* of the next daemon; 0: BLOCK */
	struct block *held[HELD];
	unsigned held_count;
	uint64_t block_count;
	/* what was reported */
	struct capture_report aligns[64];
	unsigned align_count;
	uint64_t lost_frames[TDM_LOSSES]; /* of ended runs */
	struct capture_report takeover;
	struct capture_report losses[64]; /* all kinds, as they were told */
	unsigned loss_count;
	int64_t row_tai_ns[RIG_ROWS]; /* of closed link rows, by second % RIG_ROWS */
	unsigned type_count[16];      /* reports, by type */
	unsigned late_replies;	      /* reported after further cells had come */
	unsigned starved;	      /* how often capture said that the pool is empty */
	unsigned moves;		      /* ticks in which something was read */
};
extern struct link_rig *R;

/* For cmocka: of each case. */
int set_up(void **state);
int tear_down(void **state);
#define ON_LINK(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

struct link *the_link(void);
/* The ring goes on with another daemon, or with the first. */
void forget_daemon(void);
void new_daemon(bool taken_over);
/* A successor on the same ring; R->losses are those that it tells. */
void kill_and_start(void);

/* Into the ring: one completion, without a tick. */
struct nanet3_event *complete(uint32_t frames, uint32_t length);
/* A tick for each buffer; in each the cells of `damaged` (bit mask) are. */
void data(unsigned buffers, unsigned damaged);
void gap(uint32_t cells, uint8_t reason);
void publish(void);
void tick(void);
/* Everything received is settled and reported. */
void finish(void);
void take_reports(void);

/* Of closed rows. */
uint64_t cells_lost_as(enum tdm_loss loss);
uint64_t cells_counted(void);
const struct ledger_link_row *row_of(uint64_t second);
void no_complaint(void);
