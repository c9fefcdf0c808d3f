/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recorded cells (schemas/fcm_record.h): makes and checks headers, walks through segments. All
 * writers and readers of recordings use this. No I/O: the caller passes a function that reads
 * bytes.
 *
 * Headers are written and read as they lie in memory (little-endian).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "schemas/fcm_record.h"
#include "tdm/deframe.h"

/* Magic, version, sizes and checksum; the rest is the caller's. */
void tdm_segment_seal(struct fcm_segment_header *header);
/* 0; -EBADMSG: not a segment, or damaged; -EPROTO: of another version. `bytes`: 128 of them. */
int tdm_segment_check(const void *bytes, struct fcm_segment_header *ret_header);

/* Both are of one DMA epoch of one boot of one board: their counts are of one series. */
bool tdm_segment_same_epoch(const struct fcm_segment_header *a, const struct fcm_segment_header *b);
/* Of one boot: counts that are further on were later. */
bool tdm_segment_same_boot(const struct fcm_segment_header *a, const struct fcm_segment_header *b);

/* Magic and checksums; `data`: header->bytes of them. */
void tdm_record_seal(struct fcm_record_header *header, const void *data);
/* 0 or -EBADMSG: no record, damaged, or one that cannot be in such a segment. `bytes`: 48 of them.
 * Unknown kinds are accepted, and so are labels with more bytes: a reader skips them. */
int tdm_record_check(const void *bytes, const struct fcm_segment_header *segment,
		     struct fcm_record_header *ret_header);
/* It is about cells: DATA, GAP or LET_GO. */
bool tdm_record_has_cells(const struct fcm_record_header *header);
/* The verdict on the cells of a record that has cells but no data. */
enum tdm_loss tdm_record_loss(const struct fcm_record_header *header);
/* The data match their checksum. 0 or -EBADMSG. */
int tdm_record_check_data(const struct fcm_record_header *header, const void *data);

/* Like pread(): up to `length` bytes at `offset`; how many there were, fewer at the end; negative errno. */
typedef ssize_t record_read_fn(void *context, uint64_t offset, void *to, size_t length);

/* How a segment ends. Everything before walk.offset is good in each case. */
enum record_end {
	RECORD_MORE = 0,    /* not at the end yet */
	RECORD_WHOLE = 1,   /* with its index: ended in order */
	RECORD_OPEN = 2,    /* behind a record: being written, or its writer was killed */
	RECORD_CUT = 3,	    /* in the middle of a record */
	RECORD_DAMAGED = 4, /* a checksum does not match; perhaps good records behind it */
};
/* "more", "whole", "open", "cut", "damaged". */
const char *record_end_name(enum record_end end);

struct record_walk {
	record_read_fn *read;
	void *context;
	struct fcm_segment_header segment;
	uint64_t offset; /* of the next record; all before it is good */
	enum record_end end;
};

/* Read and check the segment's header. 0; -ENODATA: shorter than that; as tdm_segment_check(); errno of
 * `read`. */
int tdm_walk_begin(struct record_walk *walk, record_read_fn *read, void *context);
/*
 * The next record. `data`: room for segment.data_bytes_max bytes, checked; or NULL: they are passed over,
 * known only to be there. 1: *ret_header; 0: the end, walk->end says which; negative: errno of `read`.
 * After an end it may be asked again: a segment that is being written grows.
 */
int tdm_walk_next(struct record_walk *walk, struct fcm_record_header *ret_header, void *data);
