/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ledger of what is missing: from block to block, runs of frames that did not come or were bad, each with its reason.
 * A run that goes on in the next block of its link and stream is one row.
 *
 * An edge is what is missing only because the input begins or ends there: frames of cells that a recording does not have
 * (board-fifo), with the few that the deframer takes there to find where frames begin. It is not a loss.
 *
 * Pure. The struct has no pointers: it is kept and read again as it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/consumer/fcmdata.h"
#include "daemon/convert/output/rows.h"

struct missing_line {
	bool begun; /* it has had a frame */
	bool open;  /* `row` may go on */
	bool cut;   /* everything so far was an edge */
	struct out_missing row;
};

struct missing {
	struct missing_line lines[FCM_LINKS][FCM_STREAMS];
	uint64_t frames[FCM_LINKS][FCM_STREAMS][OUT_REASONS]; /* missing, without edges */
	uint64_t covered[FCM_LINKS][FCM_STREAMS]; /* frames, those that are missing, too */
	uint64_t edge_frames;
};

/* A row is complete. 0, or an error that ends the call. */
typedef int missing_row_fn(void *context, const struct out_missing *row);

/* The next block in the order of the input. */
int missing_block(struct missing *m, const struct fcmdata_block *b, missing_row_fn *take,
		  void *context);
/* The input ends. */
int missing_end(struct missing *m, missing_row_fn *take, void *context);

/* Frames missing of a link for a reason: of the stream that misses most. */
uint64_t missing_of_link(const struct missing *m, unsigned link, enum out_reason reason);
/* The same in plain words, for a person: "0.35 s (12.3 %): crc: ...". `live`: of a monitor, not of a recording. */
void missing_words(const struct missing *m, unsigned link, enum out_reason reason, bool live,
		   char *text, size_t size);
/* Of all links and reasons. */
uint64_t missing_all(const struct missing *m);
