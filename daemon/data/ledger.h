/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ledger: the account of every frame. A state machine without I/O: events in, rows out.
 *
 * Two balances, keyed by DMA epoch and the board's own second (count / 8000):
 *   link:   cells of the second = good + each loss by name
 *   stream: frames offered to a group = acknowledged + in flight + dropped by name
 * A stream's second is that of the cell in which the frame came (first_frame counts on the board's
 * line; the floor's number is what blocks are made of, so a stream row is keyed by
 * first_frame / 8000). A row closes when its second has passed and nothing of it is in flight.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/data/block.h"
#include "tdm/deframe.h"

struct ledger_link_row {
	uint32_t dma_epoch;
	uint32_t cells; /* begun in this second, as the board counted: 8000 in a whole locked one */
	uint64_t second;
	uint32_t verdicts[TDM_LOSSES]; /* their sum must be `cells` */
	uint8_t link, tower, floor, closed;
	uint8_t partial;  /* the second was cut: DMA began or ended, or PPS moved the count */
	uint8_t restarts; /* times a daemon was restarted inside this second */
	uint8_t reserved[2];
};

struct ledger_stream_row {
	uint32_t dma_epoch;
	uint8_t link, stream, group, closed;
	uint64_t second;
	uint32_t offered;	    /* frames */
	uint32_t outcome[OUTCOMES]; /* frames by enum outcome; [0] stays 0 */
	uint32_t in_flight;	    /* = offered - sum(outcome) */
};

/* A run of cells lost for one reason, or of frames that a group's policy dropped. */
struct ledger_loss {
	uint8_t kind; /* 0: link, code is enum tdm_loss; 1: group, code is enum outcome */
	uint8_t code, link, tower, floor, stream, group, open; /* open: it may still grow */
	uint32_t dma_epoch;
	uint64_t first; /* kind 0: board count; kind 1: first_frame */
	uint64_t next;	/* behind the last one lost; runs that were joined have holes */
	uint64_t frames;
	int64_t tai_ns; /* of first, INT64_MIN: no time */
};

/*
 * The ledger of one link. Capture has two of them. The *live* one counts everything at once and makes the
 * open rows that users see. The *settled* one counts a block when it and all blocks before it are settled
 * (ack_tracker.h). The settled one is kept in the owner page and closes rows: so a daemon that is killed and
 * started again continues in the same row with the right sums.
 *
 * Seconds are open from the first event until ledger_close(); at most LEDGER_SECONDS at a time, which
 * the caller ensures with ledger_room(). An event of a second without room is our own bug (assert).
 */
#define LEDGER_SECONDS 16u

struct ledger {
	uint8_t link, tower, floor, groups;
	uint8_t group_streams[GROUPS_MAX];
	uint32_t dma_epoch;
	bool started;
	uint64_t first, end;   /* open seconds [first, end) */
	uint64_t closed_below; /* never open again */
	struct ledger_link_row links[LEDGER_SECONDS];
	struct ledger_stream_row streams[LEDGER_SECONDS][FCM_STREAMS][GROUPS_MAX];
};

/* `group_streams[g]`: bit mask of the streams that group g takes. */
void ledger_init(struct ledger *l, uint8_t link, uint8_t groups, const uint8_t *group_streams,
		 uint32_t dma_epoch);
bool ledger_takes(const struct ledger *l, unsigned group, unsigned stream);
bool ledger_room(const struct ledger *l, uint64_t second);
/* The floor that is on the link, from now on. */
void ledger_identity(struct ledger *l, uint8_t tower, uint8_t floor);

/* The board counted `cells` cells from `count` on. */
void ledger_cells(struct ledger *l, uint64_t count, uint64_t cells);
/* `cells` cells of a second ended as `loss`. */
void ledger_verdict(struct ledger *l, uint64_t second, enum tdm_loss loss, uint32_t cells);
/* Cells begin, end or jump at `count`: the second is partial, unless it begins there. */
void ledger_cut(struct ledger *l, uint64_t count);
void ledger_restarted(struct ledger *l, uint64_t second);
/* A block of these frames goes to every group that takes the stream ... */
void ledger_offer(struct ledger *l, unsigned stream, uint64_t first_frame, uint32_t frames);
/* ... and has come back from one of them. */
void ledger_outcome(struct ledger *l, unsigned stream, unsigned group, uint64_t first_frame,
		    uint32_t frames, enum outcome outcome);

/* Rows as of the kill of the previous daemon. */
void ledger_restore_link(struct ledger *l, const struct ledger_link_row *row);
void ledger_restore_stream(struct ledger *l, const struct ledger_stream_row *row);

/* The receiver of rows. The streams of a second come first, the link last: a link's row in the
 * database means that the second is complete. */
struct ledger_sink {
	void (*stream)(void *context, const struct ledger_stream_row *row);
	void (*link)(void *context, const struct ledger_link_row *row);
	void *context;
};
void ledger_each_open(const struct ledger *l, const struct ledger_sink *sink);
/* Seconds below `second` have passed and nothing of them is in flight: close, report, remove. A
 * NULL sink only removes. */
void ledger_close(struct ledger *l, uint64_t second, const struct ledger_sink *sink);
