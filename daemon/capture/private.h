/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside capture: a link, and the functions that its files share. The capture thread owns
 * everything here, unless a comment says otherwise. README.md says what each file is for.
 *
 * What a link keeps, from the ring to the publisher:
 *
 *   release .... cursor ............. assembler's window ........ read ....... write     positions
 *           settled | out, not settled |        open blocks        |  not read yet |
 *
 * Everything behind the cursor is in the settled ledger and the owner page; everything before it is
 * still in the ring. So a kill of the daemon loses nothing.
 */
#pragma once

#include <pthread.h>

#include "tdm/blocks/assemble.h"
#include "daemon/capture/capture.h"
#include "daemon/data/downlink.h"
#include "daemon/data/losses.h"
#include "daemon/data/owner_page.h"
#include "daemon/capture/run_border.h"
#include "daemon/data/ack_tracker.h"

#define CAPTURE_RETIRED 4u /* DMA epochs of a link that have ended but are not settled */
#define CAPTURE_RECENT	8u /* completions whose time is remembered */

#define OUTBOX_REPORTS 8192u

/* Reports to the main thread. What must arrive waits here when the queue is full. All 0 but `queue`
 * to begin with. */
struct outbox {
	struct queue *queue;
	struct capture_report waiting[OUTBOX_REPORTS]; /* a ring */
	size_t first, count;
	uint64_t lost;
	bool rang; /* something was queued since the last wake */
};

/* A DMA epoch that has ended: its last blocks are still with the publisher. */
struct retired {
	struct ack_tracker *settle;
	struct losses losses;
	uint32_t generation;
	uint64_t number_base;
};

/* A backlog is read as fast as consumers acknowledge, while that helps. */
struct catch_up {
	bool on, given_up;
	uint64_t unread, used; /* completions, at the last look: to be read; of the ring */
	uint64_t look_ns;      /* the next one */
};

struct link {
	struct capture *capture;
	uint8_t number;
	uint8_t tower, floor;
	/* How often it has begun, and the generation whose rows and losses are being reported: numbers
	 * of DMA epochs repeat. */
	uint32_t generation, reporting;
	struct retired retired[CAPTURE_RETIRED];
	uint64_t next_number; /* of the spans of all epochs, to distinguish their blocks */
	uint64_t loss_number; /* of the last loss to report when saved */
	struct downlink downlink;
	struct capture_link_status status;

	/* The count at which a ring broke off that was lost with the board, and its epoch; 0: none did.
	 * The next ring of the same boot begins with the counts from there on, as lost to the board. */
	uint64_t broke_off;
	uint32_t broke_epoch;

	/* From here on: of this DMA epoch, and cleared when one begins. */
	bool claimed;
	bool kept; /* the account is the previous daemon's */
	/* the ring */
	const struct nanet3_ring *ring;
	void *page;
	uint32_t dma_epoch, frames_per_buffer, depth;
	uint64_t read_position, release_position;
	uint64_t looked; /* completions below have been looked at: nothing urgent, or read */
	uint64_t patient_until_ns;
	bool in_step;  /* frames begin where cells do, as they should */
	uint64_t head; /* cells below have been given to the deframer; 0: none yet */
	uint64_t
		skip_below; /* verdicts below are the previous daemon's: only the deframer needs them */
	struct {
		uint64_t count, time_ns;
	} recent[CAPTURE_RECENT]; /* completions: behind their last cell, when handed over */
	unsigned recent_at;
	/* the machines */
	struct tdm_deframe *deframe;
	struct assembler *assembler;
	struct ack_tracker *settle;
	struct ledger live;
	struct losses losses;
	struct owner_config owner;
	uint64_t number_base; /* of this epoch's settle */
	/* the span on its way out */
	bool pushed;
	uint64_t span_number;
	unsigned stream;   /* next to be built */
	bool reading;	   /* a completion has been read */
	bool renew;	   /* the count has become another one */
	bool begin_failed; /* ours, and there was no memory to begin: again at the next tick */
	bool blocked;	   /* waits for memory, for the publisher, or for something to settle */
	bool dirty;	   /* the account has changed since the last commit */
	struct catch_up catch_up;
	uint64_t moved_ns; /* when the cursor moved last */
	uint64_t sent;	   /* frames below may have been handed over */
	uint64_t resent_below;
	bool release_waits;	      /* for the recorder */
	uint64_t lost_ns, suspect_at; /* the last lost cell; the first of a new loss, 0: none */
	/* what was reported */
	uint64_t locks, unlocks;
	bool identity_known;
	uint64_t reported_second;
	uint64_t loss_of_place[OWNER_LOSSES]; /* UINT64_MAX: more is there than was reported */
	uint64_t next_verdict;
};

struct capture {
	struct capture_config config;
	char *board_where;
	struct queue *blocks, *settled, *commands;
	struct outbox outbox;
	struct block_pool *pool;
	struct nanet3 *board; /* NULL while it is gone */
	uint32_t serial, boot_count;
	struct link links[NANET3_LINKS];
	struct label label; /* the last one commanded */
	bool label_known;
	uint64_t last_head, last_head_ns; /* count and time when a link ended last */
	struct run_border runs;
	uint32_t run_timed;	/* the run of which a slice was reported last */
	uint64_t journal_by_ns; /* new rings wait for the journal's run until then */
	bool blocks_queued;
	uint64_t returned_ns;  /* the last tick in which a block came back */
	uint64_t pool_said_ns; /* the last tick that reported an empty pool to the publisher */
	bool hurried;	       /* everything is read that is there: the ring is going away */
	bool dropping; /* blocks that cannot be built are dropped at once: the ring is going away */
	uint64_t now_ns, next_open_rows_ns, next_retry_ns;
	struct capture_status status; /* under construction */

	pthread_t thread;
	bool running;
	_Atomic int stop;
	_Atomic uint64_t stop_by_ns;
	_Atomic uint64_t attend_until_ns; /* a reply is awaited */
	_Atomic uint64_t delegate;	  /* the handle that acts for our links */
	uint64_t granted;		  /* the last one granted in the driver */
	bool short_blocks;		  /* of two ticks at most: see rest() */
	pthread_mutex_t lock;
	struct capture_status published; /* under lock */
};

/* report.c */
/* `must`: kept when the queue is full, else counted as lost. */
void outbox_send(struct outbox *o, const struct capture_report *report, bool must);
void outbox_flush(struct outbox *o); /* what waits, and the bell; once a tick and more */
struct ledger_sink report_sink(struct link *l);
void report_loss(void *link, const struct ledger_loss *loss);
/* A loss of this link's epoch that the next daemon must report if this one dies now. Returns its
 * place in the page. */
unsigned report_keep_loss(struct link *l, const struct ledger_loss *loss);
void report_losses_saved(struct link *l, uint64_t number);
void report_align(struct link *l, bool aligned, uint32_t offset);
void report_identity(struct link *l, uint64_t count);
void report_takeover(struct link *l);
void report_run(void *link, const struct run_change *change);
/* Nothing while the label has no time. */
void report_run_timed(struct link *l, uint64_t frame, uint32_t run, const struct label *label);
void report_frame(struct link *l, const struct tdm_verdict *v); /* once a second */
void report_reply(struct link *l, const uint8_t *word, uint64_t count);

/* lengths.c */
/* Blocks get the configured length at a slice that no block handed out reaches: if not now, when
 * the cursor has moved on. The caller commits the account. */
void link_change_length(struct link *l);
/* Frames of a GAP beside blocks of that length: a slice, or less where the ring cannot hold the
 * data of an unaligned one that long. */
uint32_t link_gap_frames(const struct link *l, uint32_t block);

/* link.c */
void link_init(struct link *l, struct capture *c, unsigned number);
void link_fini(struct link *l);
/* Whether it could be ended after another beginning: few epochs may wait to be settled. */
bool link_can_begin(const struct link *l);
/* The link has been claimed: take over or begin. -ENOMEM. */
int link_begin(struct link *l, bool taken_over);
/* The ring is going away: close everything, hand over all blocks, retire. */
void link_end(struct link *l);
/* Read the new completions, or as many as a tick may. True: there are more. */
bool link_drain(struct link *l);
/* Offer the completions that were read to the recorder. */
void link_feed(struct link *l);
/* Data of its ring have been read, perhaps by the previous daemon. Also true if that is unknown
 * because the page is unusable. */
bool link_is_read(const struct link *l);
/* Frames below are in the ring, or were. */
uint64_t link_front(const struct link *l);

/* out.c */
/* Hand over the closed spans; false: blocked. */
bool out_spans(struct link *l);
/* A block is back. */
void out_settled(struct link *l, const struct block *b);
/* Cursor, closed rows, commit, release. */
void out_advance(struct link *l);
/* Retired epochs that are settled: close their rows. True when none is left. */
bool out_retired(struct link *l);
/* Frames from the oldest that is not settled to the last handed over: these hold the ring back. */
uint64_t out_frames(const struct link *l);
/* An emulator that runs as fast as rings are released (--speed max) waits for us: as long as blocks
 * come back, nothing need be dropped, however full the ring. */
bool out_unhurried(const struct link *l);
/* Spans not settled, all epochs. */
uint64_t out_waiting(const struct link *l);
