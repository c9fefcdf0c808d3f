/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a consumer finds out about the blocks it gets: repeats and gaps by their frames, the time of
 * day in every hit, latency; and the record file that truth-compare reads. It remembers everything, and
 * judges libfcmdata, which remembers a while.
 *
 * A record is 128 bytes, little-endian, one per carrying frame and stream (pmt and hydrophone). The
 * hashes are those of driver/emu/common/truth.h: XXH3_64bits over the hits that start in the frame, their
 * time of day cleared; over the samples of a hydrophone; 0 where nothing came.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/consumer/fcmdata.h"
#include "tdm/hit.h"

#define RECORD_MAGIC 0x5246u /* "FR" */

/* record flags */
#define RECORD_RESENT 0x1u /* came in a block flagged so */
#define RECORD_REPEAT 0x2u /* libfcmdata calls the block a repeat: its data have been counted */

struct consumer_record {
	uint16_t magic;
	uint8_t link, tower, floor, stream;
	uint8_t status; /* enum tdm_loss: what became of the frame */
	uint8_t flags;
	uint64_t floor_frame; /* first_frame + f */
	int64_t tai_ns;	      /* of that frame, from the block's header, cable delay included;
			       * FCM_NO_TAI */
	uint32_t dma_epoch, block_flags;
	uint32_t uncertainty_ns;
	uint8_t clock_state, label_source;
	uint16_t time_errors; /* hits whose time of day is not the label's */
	uint16_t hits[6];
	uint16_t bad_hits; /* illegal ones, or bytes behind the last whole one */
	uint16_t reserved;
	uint64_t hash[6]; /* of modules; [0], [1] of hydrophones */
	uint64_t sequence;
	uint64_t reserved2[2];
};
_Static_assert(sizeof(struct consumer_record) == 128, "consumer record");

#define LATENCY_BINS   2000u
#define LATENCY_BIN_US 500

struct consumer_counts {
	uint64_t blocks, bytes; /* of header and payload */
	uint64_t frames, frames_lost, frames_bad;
	uint64_t hits, samples, instrument_records;
	uint64_t resent;	    /* blocks flagged RESENT */
	uint64_t repeats;	    /* blocks of which all frames had come before ... */
	uint64_t partly;	    /* ... or some: always an error */
	uint64_t repeats_unflagged; /* ... of both without the flag */
	uint64_t gaps;		    /* frames missing between the first and the last */
	uint64_t misjudged; /* blocks that libfcmdata takes for repeats, or not, and we do not */
	uint64_t malformed; /* their numbers make no sense */
	uint64_t bad_hits, time_errors;
	uint64_t label_errors; /* blocks whose slice id does not fit their label */
	uint64_t no_time;      /* blocks without time */
	uint64_t fifo_full;    /* blocks with hits lost in the FCM */
	uint64_t link_frames[4];
	uint64_t latency[LATENCY_BINS + 1]; /* blocks; arrival after the block's end */
	uint64_t latencies;
	int64_t latency_min_ns, latency_max_ns;
};

struct consumer_check;

/* `tai_utc_s`: TAI - UTC that the reader believes in: 37. `leap_utc_s`: from this midnight on one more, after 23:59:60;
 * INT64_MAX: never. `record_fd`: append records there, or -1. */
struct consumer_check *consumer_check_create(int32_t tai_utc_s, int64_t leap_utc_s,
					     enum hit_day_origin origin, int record_fd);
void consumer_check_destroy(struct consumer_check *c);

/* A block as libfcmdata hands it out. `tai_now_ns`: when it arrived. False: it could not be recorded. */
bool consumer_check_block(struct consumer_check *c, const struct fcmdata_block *b,
			  int64_t tai_now_ns);
/* Records to the file: before the blocks are acknowledged. 0 or negative errno. */
int consumer_check_flush(struct consumer_check *c);
/* Gaps are brought up to date. */
const struct consumer_counts *consumer_check_counts(struct consumer_check *c);
/* The latency that `share` (0..1) of the blocks keep below, in ns; bins of 0.5 ms, at most 1 s. */
int64_t consumer_check_latency(const struct consumer_counts *counts, double share);
