/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The owner page of a link: 4 KiB that the driver keeps with the link's ring when the daemon dies. The next
 * daemon reads from it where to go on. It holds the account: a *cursor* (a position in the ring, in frames)
 * and what was counted up to it. Frames below the cursor are finished: each group has acknowledged them or
 * dropped them, and they are counted. Frames from the cursor on are read again from the ring. Only
 * ack_tracker.c and capture/link.c write the page, and only the process that owns the link.
 *
 *   head      what it is, and whether it fits us: magic, version, groups, DMA epoch
 *   sent      frames below may have been handed to the publisher: a repeat is flagged RESENT
 *   closed    rows that are closed but not yet in the database, each with its own CRC
 *   lost      runs of lost frames that are not yet in the database, likewise
 *   copy A/B  the account; `active` says which. A commit writes the other one whole, then switches
 *
 * A kill -9 may come between any two stores, so the order matters:
 *   1. a row that closes goes to `closed`   2. a commit without it, with the cursor behind it
 *   3. only then are buffers below the cursor released
 *   before a block is handed over: `sent`; before a label or a run is used: a commit with it.
 * Killed after 1: the row is in both places; the account wins, the row closes once more, the same.
 * A run of losses that ends, and each block that a group drops, goes to `lost` before the commit that has it
 * behind the cursor. A run that continues is in the account (cells) or starts again (drops).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tdm/blocks/assemble.h"
#include "daemon/data/ledger.h"

#define OWNER_PAIRS	(GROUPS_MAX * FCM_STREAMS)
#define OWNER_LINK_ROWS 4u /* open as of the cursor: numbers lag by less than a second */
#define OWNER_LABELS	4u
#define OWNER_RUNS	4u
#define OWNER_ACKED	38u /* words */
#define OWNER_LOSSES	18u

/* What the account was made with. */
struct owner_config {
	uint8_t groups;
	uint8_t group_streams[GROUPS_MAX];
};

struct owner_label {
	uint64_t from_frame;
	struct label label;
};
struct owner_run {
	uint64_t from_frame;
	uint32_t run;
	uint32_t change; /* its number (run_border.h) until the journal has it, then 0 */
};

/* Rows, as short as they can be: a second has 8000 cells. */
struct owner_link_row {
	uint32_t second;
	uint16_t cells;
	uint16_t verdicts[TDM_LOSSES];
	uint8_t tower, floor, partial, restarts;
};
struct owner_stream_row {
	uint32_t second;
	uint16_t offered;
	uint16_t outcome[OUTCOMES - 1]; /* from ACKED on */
	uint8_t stream, group;
};

/* The account, as it is in the page and as ack_tracker.c holds it. */
struct owner_account {
	struct assemble_point cursor;
	uint64_t loss_first, loss_frames; /* the run of lost cells that the cursor is in */
	uint8_t loss;			  /* enum tdm_loss; TDM_GOOD: none */
	uint8_t link_rows, stream_rows, labels, runs;
	uint8_t slice_blocks[2]; /* blocks of a slice: before change_frame, and from it on */
	uint8_t reserved;
	uint64_t change_frame; /* first frame of a slice, from which on blocks have another length;
			        * 0: none */
	struct owner_link_row link_row[OWNER_LINK_ROWS];
	struct owner_stream_row stream_row[2 * OWNER_PAIRS];
	struct owner_label label[OWNER_LABELS]; /* the last one from_frame <= n is frame n's */
	struct owner_run run[OWNER_RUNS];
	/* Blocks beyond the cursor that a group has acknowledged: bit block x pairs + pair, block 0 =
	 * the cursor's. Blocks further on are not remembered: they are sent again, flagged. */
	uint64_t acked[OWNER_ACKED];
};

/* A fresh page with this account. Not loadable (-EBADMSG and the like) until it is complete. */
void owner_format(void *page, const struct owner_config *config, uint32_t dma_epoch,
		  const struct owner_account *account);
/*
 * Read the previous daemon's page, except what a later version has in reserved bytes. -ENODATA:
 * nothing (the page is zero); -EPROTO: another version; -ESTALE: of another DMA epoch; -EBADMSG:
 * damaged, or invalid; -EREMCHG: made with other groups, or its owner was killed while adopting it.
 * The page is not changed.
 */
int owner_load(const void *page, const struct owner_config *config, uint32_t dma_epoch,
	       struct owner_account *ret_account);
/*
 * After -EREMCHG: convert the page to these groups. Everything is kept except what depends on the
 * groups: acknowledgements beyond the cursor, and the rows of groups that take other streams now or
 * do not exist. Errors as of owner_load().
 */
int owner_adopt(void *page, const struct owner_config *config, uint32_t dma_epoch,
		struct owner_account *ret_account);
void owner_commit(void *page, const struct owner_account *account);

/* Floor frames below `frame` may be with consumers. Written at once, without a commit; must never fall. */
void owner_set_sent(void *page, uint64_t frame);
/* Read the same, also the previous daemon's last value. 0: nothing was sent. */
uint64_t owner_sent(const void *page);

/* Closed rows. When there is no place the oldest is replaced: false. */
bool owner_keep_link(void *page, const struct ledger_link_row *row);
bool owner_keep_stream(void *page, const struct ledger_stream_row *row);
/* They are in the database up to and including `second`. */
void owner_saved(void *page, uint64_t second);
/* Of seconds below `below`, all that are kept, intact and such as an owner writes, oldest first,
 * streams before the link; fields that the page does not hold (DMA epoch, link) are as given. */
void owner_each_kept(const void *page, uint32_t dma_epoch, uint8_t link, uint64_t below,
		     const struct ledger_sink *sink);

/*
 * Runs of lost frames: the same first frame replaces itself. The number of its place, 0..OWNER_LOSSES - 1; when
 * there is no place the run with the smallest first frame gives way: *ret_gave_way.
 */
unsigned owner_keep_loss(void *page, const struct ledger_loss *loss, bool *ret_gave_way);
/* The run in this place is in the database. */
void owner_loss_saved(void *page, unsigned place);
/* All runs in the page, closed, without time; as owner_each_kept(). */
void owner_each_loss(const void *page, uint32_t dma_epoch, uint8_t link,
		     void (*report)(void *context, const struct ledger_loss *loss), void *context);

/* Short rows to long ones and back. */
void owner_pack_link(const struct ledger_link_row *row, struct owner_link_row *ret_row);
void owner_unpack_link(const struct owner_link_row *row, uint32_t dma_epoch, uint8_t link,
		       struct ledger_link_row *ret_row);
void owner_pack_stream(const struct ledger_stream_row *row, struct owner_stream_row *ret_row);
void owner_unpack_stream(const struct owner_stream_row *row, uint32_t dma_epoch, uint8_t link,
			 struct ledger_stream_row *ret_row);
