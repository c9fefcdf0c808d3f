/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ack tracker: which spans of one link are handed out and which are settled, between the
 * assembler and the cursor. A state machine without I/O; capture/link.c owns it.
 *
 *   assembler --span--> [oldest ... newest] <--outcomes of its blocks, in any order
 *                          |
 *                          '- settled --> settled ledger, account (cursor, acknowledged bits)
 *
 * The cursor moves over the oldest span when all its blocks are settled. Only then its cells and
 * outcomes enter the settled ledger and the account: both are always as of the same moment, as the
 * owner page needs. Acknowledgements beyond the cursor are kept as bits.
 */
#pragma once

#include "tdm/blocks/assemble.h"
#include "daemon/data/ledger.h"
#include "daemon/data/losses.h"
#include "daemon/data/owner_page.h"

#define SETTLE_SPANS 4096u /* between cursor and assembler; more: capture waits */

struct ack_tracker;

/* NULL when out of memory. */
struct ack_tracker *ack_tracker_create(uint8_t link, const struct owner_config *config);
void ack_tracker_destroy(struct ack_tracker *s);

/* The account, for the owner page and for restoring. */
const struct owner_account *ack_tracker_account(const struct ack_tracker *s);
struct ledger *ack_tracker_ledger(struct ack_tracker *s);
/* For account_add_label(), account_change_length() and run_border.h, which change nothing else. */
struct owner_account *ack_tracker_change(struct ack_tracker *s);
/* account_label() of it. */
const struct label *ack_tracker_label(const struct ack_tracker *s, uint64_t frame);

/* A DMA epoch begins, fresh or behind the previous daemon's account (then its second counts a
 * restart). Spans of the epoch before must be settled. */
void ack_tracker_begin(struct ack_tracker *s, uint32_t dma_epoch,
		       const struct owner_account *account);

/* A span goes out: fewer than SETTLE_SPANS are. `streams`: bit mask of the streams that will come back by ack_tracker_block(). Returns
 * its number: 0, 1, 2, ... in the life of the link. */
uint64_t ack_tracker_push(struct ack_tracker *s, const struct assembled *span, unsigned streams);
/* Whether group `group` had acknowledged this block when the previous daemon was killed. */
bool ack_tracker_acked(const struct ack_tracker *s, const struct assembled *span, unsigned stream,
		       unsigned group);
/* The block of span `number` and `stream` is settled: outcome[g] for every group. */
void ack_tracker_block(struct ack_tracker *s, uint64_t number, unsigned stream,
		       const uint8_t *outcome);

/* Move the cursor over all settled spans. `block`: every group's outcome of every block, in order
 * (may be NULL). True when it moved. */
typedef void (*ack_tracker_block_fn)(void *context, const struct label *label, unsigned stream,
				     unsigned group, uint64_t first_frame, uint32_t frames,
				     enum outcome outcome);
bool ack_tracker_advance(struct ack_tracker *s, ack_tracker_block_fn block, void *context);
/* Seconds that the cursor has left behind: those below are to be closed. */
uint64_t ack_tracker_second(const struct ack_tracker *s);
/* Spans out. */
uint64_t ack_tracker_out(const struct ack_tracker *s);

/* The settled ledger's open rows into the account, before a commit. */
void ack_tracker_pack(struct ack_tracker *s);

/* An account for a link's first blocks: only their length is known. */
void account_begin(struct owner_account *a, uint32_t block_frames);
/* Length of the block that `frame` is in. */
uint32_t account_block_frames(const struct owner_account *a, uint64_t frame);
/* Blocks get this length from `frame` on, the first frame of a slice, beyond all that was handed
 * out. False: they have it already, or the cursor has not reached the previous change; try again
 * later. */
bool account_change_length(struct owner_account *a, uint64_t frame, uint32_t block_frames);
/* The label and the run of a frame. */
const struct label *account_label(const struct owner_account *a, uint64_t frame);
uint32_t account_run(const struct owner_account *a, uint64_t frame);
/* From `frame` on (not before the last one's). When there is no place the second oldest gives way. */
void account_add_label(struct owner_account *a, uint64_t frame, const struct label *label);
/* `change`: its number until the journal has it, then 0. False: no room, try again later. */
bool account_add_run(struct owner_account *a, uint64_t frame, uint32_t run, uint32_t change);
/* Forget labels and runs before those of the cursor. Kept are: the label before it, which says
 * whether the next block is the first of its time epoch; and, for each run change that is not in
 * the journal yet, the run before it and the label of its border. */
void account_forget(struct owner_account *a);
