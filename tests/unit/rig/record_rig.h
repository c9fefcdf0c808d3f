/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings for the tests of their readers: segments written record by record into a directory of its own,
 * with cells of a pattern or of the test's. Whatever fails is an assertion.
 */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/fcm_record.h"
#include "tdm/frame.h"

#define REC_FRAMES   16u /* cells of a record at most */
#define REC_ANCHOR   80000u
#define REC_UTC_S    1795194010ll /* 2026-11-20, of count REC_ANCHOR */
#define REC_TAI_UTC  37
#define REC_DELAY_NS 490000u /* of the cables */
#define REC_MONO_NS  1000000000000ull

struct rec {
	char directory[64];
	char path[PATH_MAX]; /* of the segment being written */
	int fd;		     /* -1: none */
	uint32_t boot, run;  /* of the segments to come */
	struct fcm_segment_header segment;
	uint64_t count; /* next cell */
	uint64_t bytes; /* written so far */
};

/* A new directory; rec_fini() removes it with all that is in it. */
void rec_init(struct rec *r);
void rec_fini(struct rec *r);

/* Begin a segment with the label of REC_ANCHOR; ends the one before. `utc_s`: when it was begun. */
void rec_segment(struct rec *r, unsigned link, uint32_t number, uint32_t epoch, uint64_t count,
		 int64_t utc_s);
void rec_end(struct rec *r);
/* The label of REC_ANCHOR, `by_s` later, as of time epoch `epoch`. */
void rec_label(struct rec *r, uint32_t epoch, int64_t by_s);
/* Cells of rec_cell() from r->count on. */
void rec_data(struct rec *r, unsigned frames);
/* Cells of the test's. */
void rec_cells(struct rec *r, const uint8_t *cells, unsigned frames);
/* GAP of a reason, or LET_GO. */
void rec_gap(struct rec *r, uint8_t reason, uint64_t frames);
void rec_let_go(struct rec *r, uint64_t frames);
/* Any bytes. */
void rec_raw(struct rec *r, const void *bytes, size_t length);
/* A record with magic and checksums. */
void rec_record(struct rec *r, struct fcm_record_header header, const void *data);

/* The pattern of a cell. */
void rec_cell(unsigned link, uint64_t count, uint8_t cell[TDM_FRAME_BYTES]);
/* When the cell was handed over: 8000 a second. */
uint64_t rec_mono_ns(uint64_t count);

/* The file's bytes, for damage: malloc'ed. What is stored is old: nobody is writing to it any more. */
uint8_t *rec_load(const char *path, size_t *ret_length);
void rec_store(const char *path, const void *bytes, size_t length);
