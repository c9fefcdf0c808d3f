/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs of losses: joins single lost cells and dropped blocks into "what, how many, from where on",
 * as an operator reads them. One per link; a state machine without I/O, called by capture.
 *
 * A run of lost cells ends with the first cell that met another fate, and a run of dropped blocks with
 * the next block that the group did take. Counts are exact in every case. When a link loses faster
 * than LOSSES_PER_SECOND runs a second, runs of one reason are joined until that second ends:
 * `frames` still counts lost cells alone, `first` is that of the first.
 *
 * A run of cells that ends inside a tick is reported once, closed; a longer one is reported open first.
 */
#pragma once

#include "daemon/data/ledger.h"

#define LOSSES_PER_SECOND 64u

typedef void (*losses_report_fn)(void *context, const struct ledger_loss *loss);

struct losses_run {
	struct ledger_loss loss; /* as it is reported; `open`: there is a run */
	bool reported;		 /* open */
};

struct losses {
	uint8_t link, tower, floor;
	uint32_t dma_epoch;
	struct losses_run cells[TDM_LOSSES];
	struct losses_run drops[FCM_STREAMS][GROUPS_MAX];
	uint64_t second; /* the second of `runs` */
	unsigned runs;	 /* that began in `second` */
	losses_report_fn report;
	void *context;
};

void losses_init(struct losses *l, uint8_t link, uint32_t dma_epoch, losses_report_fn report,
		 void *context);
void losses_identity(struct losses *l, uint8_t tower, uint8_t floor);
/* A run that was open when the previous daemon was killed: `frames` cells up to below `next`. */
void losses_restore(struct losses *l, enum tdm_loss loss, uint64_t first, uint64_t next,
		    uint64_t frames);
/* The cell `count` was lost; label for the run's time, if it begins here. */
void losses_cell(struct losses *l, uint64_t count, enum tdm_loss loss, const struct label *label);
/* The outcome of a block in a group, in order of frames. */
void losses_block(struct losses *l, unsigned stream, unsigned group, uint64_t first_frame,
		  uint32_t frames, enum outcome outcome, const struct label *label);
/* The open run of dropped blocks of a group. NULL: none. */
const struct ledger_loss *losses_drop(const struct losses *l, unsigned stream, unsigned group);
/* All cells below `head` have been judged: close the runs that have ended; report open runs that were not reported yet,
 * with `all` every open run. */
void losses_tick(struct losses *l, uint64_t head, bool all);
/* Close all runs: the DMA epoch has ended. */
void losses_end(struct losses *l);
