/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capture: the one thread that owns the board's rings. Per tick (1 ms and more; with blocks of two ticks at most, and
 * while a reply is awaited, also when the board hands over), for all links:
 * completions -> tdm deframer -> blocks -> publisher; settled blocks -> ledger -> owner page ->
 * release of buffers. It also hands slow-control replies and telemetry to the main thread.
 *
 *   board rings --> capture --blocks--> publisher
 *                      ^ ---settled-------'
 *                      '--commands-- main <--reports--'
 *
 * The state that survives a kill -9 is in the owner page (daemon/data/owner_page.h). After a
 * restart everything behind its cursor is read again: blocks that were sent before are flagged
 * RESENT, acknowledged ones are not sent again.
 */
#pragma once

#include "daemon/data/block.h"
#include "daemon/data/ledger.h"
#include "daemon/core/queue.h"
#include "daemon/data/tap.h"
#include "driver/lib/libnanet3.h"

struct capture_config {
	const char *board_where; /* for nanet3_open(); capture opens its own handle */
	unsigned board;		 /* instance number */
	unsigned links;		 /* bit mask of links to run */
	uint32_t block_frames;	 /* divisor of 1600 */
	uint32_t tick_us;	 /* >= 1000 */
	enum hit_day_origin day_origin;
	struct {
		uint8_t tower, floor;
	} expected[NANET3_LINKS];	       /* which floor is on which link */
	uint32_t cable_delay_ns[NANET3_LINKS]; /* added to the blocks' times; 0 = none */
	uint8_t groups;			       /* groups of reserved consumers ... */
	uint8_t group_streams
		[GROUPS_MAX]; /* ... and what each takes: bit mask of enum fcm_stream */
	size_t pool_bytes;
	uint64_t hold_frames; /* what a group may hold back of a ring (publisher.h); 0: unknown */
	/* New rings are read when the journal's run is known, or after this time; 0: at once. */
	unsigned journal_wait_ms;
	bool patient; /* an emulator that waits for us waits as long as a consumer needs (policy wait) */
	struct tap *tap; /* the recorder's; NULL: no recorder */
	/* Called by capture_stop() when the thread has ended, before the rings are unmapped: the
	 * recorder takes the last cells. May be NULL. */
	void (*before_close)(void *context);
	void *context;
};

/* main -> capture */
enum capture_command_type {
	CAPTURE_LABEL = 1,
	CAPTURE_RUN = 2,
	CAPTURE_SAVED = 3,
	CAPTURE_LOSS_SAVED = 4,
	CAPTURE_RUN_JOURNAL = 5,
	CAPTURE_RUN_ENDING = 6,
	CAPTURE_RUN_SAVED = 7,
};
struct capture_command {
	uint8_t type;
	uint8_t link;	     /* SAVED */
	uint32_t run;	     /* RUN: from the next slice border on; 0 ends the run */
			     /* RUN_JOURNAL: the run open there; RUN_ENDING: the run with a planned
			     * end */
	uint32_t generation; /* SAVED: closed rows of this generation of the link up to and ... */
	uint64_t second;     /* ... including this second are in the database */
	uint64_t number;    /* LOSS_SAVED: losses of this link up to and including this number do */
			    /* RUN_SAVED: the run change of this number does */
	struct label label; /* LABEL */
};

/* A change of the run that has taken effect, or is planned. */
struct capture_run {
	uint32_t run, ended; /* ended: the run before; run 0: `ended` has ended */
	uint32_t change;     /* its number */
	/* An owner page keeps it until RUN_SAVED; else it takes effect with the next data. */
	bool bordered;
	bool resumed;	   /* without a request: the journal's run continues */
	uint64_t slice_id; /* of the border; 0: there is no border or no time */
};

/* capture -> main */
enum capture_report_type {
	CAPTURE_REPLY = 1,     /* word: a slow-control reply */
	CAPTURE_TELEMETRY = 2, /* telemetry: once a second and link */
	CAPTURE_LINK_ROW = 3,  /* link_row: open rows twice a second, closed ones once */
	CAPTURE_STREAM_ROW = 4,
	CAPTURE_LOSS = 5,     /* loss: when it begins (open) and when it has ended */
	CAPTURE_ALIGN = 6,    /* aligned or lost, slip offset */
	CAPTURE_IDENTITY = 7, /* the link's floor sent its identity again */
	CAPTURE_RUN_CHANGED =
		8, /* a run change took effect; again by the next daemon, until RUN_SAVED */
	CAPTURE_TAKEOVER = 9,	  /* after start, a link: taken over or fresh, label and run kept */
	CAPTURE_TIME_WORD = 10,	  /* once a second and link: the floors' own label */
	CAPTURE_RUN_TIMED = 11,	  /* run began without a time: slice_id is its first that has one */
	CAPTURE_RUN_PLANNED = 12, /* a run change will take effect at slice_id */
};
struct capture_report {
	uint8_t type, link, tower, floor;
	uint32_t dma_epoch;
	uint32_t generation; /* of the link: 1, 2, ... Another begins with each TAKEOVER */
	uint64_t count;	     /* board count */
	int64_t tai_ns;	     /* LINK_ROW: of the second's first frame by its label; FCM_NO_TAI */
	uint64_t number;     /* LOSS: say so when it is saved; 0: no need to */
	bool urgent;	     /* LOSS: save it soon, the owner page is filling up */
	union {
		uint8_t word[TDM_WORD_BYTES];
		struct tdm_telemetry telemetry;
		struct ledger_link_row link_row;
		struct ledger_stream_row stream_row;
		struct ledger_loss loss;
		struct {
			uint8_t aligned;
			uint32_t offset;
		} align;
		struct capture_run run;
		struct {
			uint8_t taken_over; /* 0 fresh, 1 yes, 2 the ring, but its page was of no use */
			uint32_t run;
			struct label label;
			uint64_t release_position, write_position, depth;
		} takeover;
		struct {
			struct tdm_time time;
			uint64_t floor_frame;
		} time_word;
	};
};

/* A snapshot for status, made once a tick. */
struct capture_link_status {
	bool claimed, taken_over;
	uint8_t tower, floor; /* of the last good frame; 0xff none yet */
	uint8_t aligned;      /* enum tdm_align_state */
	uint32_t offset;      /* aligned: where frames begin in the board's cells, bytes */
	uint32_t dma_epoch;
	uint64_t last_good_count, last_good_ns; /* CLOCK_MONOTONIC */
	uint64_t cells[TDM_LOSSES];		/* since this daemon started */
	uint64_t downlink_errors;    /* our frames that the floor received damaged, by its count */
	uint64_t bytes;		     /* valid bytes forwarded */
	uint64_t items[FCM_STREAMS]; /* hits, samples, records */
	uint64_t blocks, resent;
	uint64_t blocks_dropped;    /* could not be built: no memory; charged as DROP_POOL */
	uint64_t stale_completions; /* of an older DMA epoch or a count already seen: discarded */
	uint64_t rows_forgotten;    /* rows and losses that left the owner page unsaved */
	bool blocked;		    /* waits for memory, the publisher or a settled block */
	uint64_t item_faults;
	uint64_t hunted_bytes, sequence_gaps, steps;
	uint64_t ring_write, ring_release, ring_depth; /* positions */
	uint64_t cursor_count;
};
/* Blocks that could not be built, as a group of consumers is charged for them. */
struct capture_drops {
	uint64_t blocks, frames;
	struct block_drop last;
};
struct capture_status {
	uint64_t ticks;
	uint64_t last_tick_ns;	   /* CLOCK_MONOTONIC: the watchdog looks at it */
	uint64_t first_release_ns; /* of this daemon; 0: not yet */
	bool board_gone;
	int board_error; /* negative errno */
	size_t pool_in_use, pool_bytes;
	struct capture_drops pool_drops[GROUPS_MAX]; /* DROP_POOL: the publisher never had them */
	uint64_t reports_lost; /* queue to main was full: never a loss of data */
	struct capture_link_status links[NANET3_LINKS];
};

struct capture;

/* How many frames of a ring of this depth may be handed out at a time; each needs a place until its
 * outcome. Groups may hold a share of this number: with a share of a deeper ring they would fill it
 * while capture waits for places. */
uint64_t capture_out_frames(uint64_t ring_frames, uint32_t block_frames);

/* The four queues are the caller's: blocks (capture -> publisher, struct block *; NULL: no memory), settled
 * (publisher -> capture, struct block *), commands (main -> capture), reports (capture -> main, with
 * eventfd). */
int capture_create(const struct capture_config *config, struct queue *blocks, struct queue *settled,
		   struct queue *commands, struct queue *reports, struct capture **ret_capture);
/* Claim the links (taking over lingering rings) and start the thread. -EBUSY: another daemon owns a
 * link. */
int capture_start(struct capture *c);
/* Stop reading new data. The thread continues to settle until every block is back, no more come
 * back, `grace_ms` passed or a ring is 5/8 full: the next daemon needs the rest. It keeps the owner
 * pages, leaves the rings lingering, and ends. Returns when it has ended. The publisher must still
 * run, so that blocks come back. Blocks that it returns later are not charged: their frames are
 * still in the ring, beyond the cursor, for the next daemon. */
void capture_stop(struct capture *c, unsigned grace_ms);
/* Frees the pool: only when the publisher's ZeroMQ context is terminated (publisher_stop). Takes
 * the blocks that are left in the queues. NULL is fine. */
void capture_destroy(struct capture *c);
/* Let another handle of the board (nanet3_info.handle; 0: none) act for all links that capture
 * owns, from the next tick on and after each later claim: capture sends no words down. Any
 * thread. */
void capture_grant(struct capture *c, uint64_t handle);
/* A reply is awaited: data of the next 10 ms are read when the board hands them over, not at the
 * next tick. Any thread. */
void capture_attend(struct capture *c);
/* Any thread. */
void capture_get_status(struct capture *c, struct capture_status *ret_status);
