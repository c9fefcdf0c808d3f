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
#ifndef DAEMON_LEDGER_H
#define DAEMON_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/block.h"
#include "tdm/deframe.h"

struct ledger_link_row {
	uint32_t dma_epoch;
	uint32_t cells; /* begun in this second, as the board counted: 8000 in a whole locked one */
	uint64_t second;
	uint32_t verdicts[TDM_LOSSES]; /* their sum must be `cells` */
	uint8_t link, tower, floor, closed;
	uint8_t partial; /* the second was cut: DMA began or ended, or PPS moved the count */
	uint8_t restarts; /* times a daemon was restarted inside this second */
	uint8_t reserved[2];
};

struct ledger_stream_row {
	uint32_t dma_epoch;
	uint8_t link, stream, group, closed;
	uint64_t second;
	uint32_t offered;            /* frames */
	uint32_t outcome[OUTCOMES];  /* frames by enum outcome; [0] stays 0 */
	uint32_t in_flight;          /* = offered - sum(outcome) */
};

/* A run of cells lost for one reason, or of frames that a group's policy dropped. */
struct ledger_loss {
	uint8_t kind; /* 0: link, code is enum tdm_loss; 1: group, code is enum outcome */
	uint8_t code, link, tower, floor, stream, group, open; /* open: it may still grow */
	uint32_t dma_epoch;
	uint64_t first; /* kind 0: board count; kind 1: first_frame */
	uint64_t frames;
	int64_t tai_ns; /* of first, INT64_MIN: no time */
};

bool ledger_link_balances(const struct ledger_link_row *r);
bool ledger_stream_balances(const struct ledger_stream_row *r);

#endif
