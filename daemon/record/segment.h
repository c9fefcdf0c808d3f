/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A link's series of segments in a directory (schemas/fcm_record.h), written at its end only. One thread.
 *
 *   segment_turn()    the next cells begin at this count: begins a new segment if necessary, fills a hole
 *   segment_data()    a record, written from where its bytes are
 *   segment_undo()    removes that record again: its buffer was reused meanwhile
 *   segment_gap()     cells without data; neighbours of one kind become one record
 *   segment_tick()    once a second: starts writing back
 *   segment_end()     writes the index, syncs, closes
 *
 * Errors are those of the disk (-ENOSPC, -EIO, -EFBIG, -EDQUOT ...). The segment is then cut behind its
 * last complete record and valid up to there; nothing more can be written to it.
 *
 * A power cut costs what the file system has not written: data start on their way to the disk within a second, the
 * file's size follows within the file system's commit time (ext4: 5 s). A kill costs the record that is being written.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tdm/hit.h"
#include "tdm/blocks/label.h"
#include "tdm/record.h"

/* How the daemon makes blocks: a reader makes the same ones. */
struct segment_maker {
	uint32_t block_frames;
	enum hit_day_origin day_origin;
	struct fcm_segment_floor floors[4]; /* as configured, by link */
};

struct segment_config {
	int directory; /* descriptor; stays the caller's, open */
	uint8_t board, link;
	struct segment_maker maker;
	uint64_t bytes; /* size at which a segment ends */
};

/* What holds for the cells to come. */
struct segment_state {
	struct label label;
	uint32_t run, serial, boot_count;
	bool emulated;
};

struct segment_counts {
	uint64_t bytes;	 /* on disk, all segments of this writer */
	uint64_t frames; /* with data */
	uint64_t gaps, let_go;
	uint32_t segments;
};

struct segment;

/*
 * Begin or continue the link's series: numbers continue behind the existing ones, and existing cells of the same boot
 * of the board are not written again (segment_next()). Nothing is created on disk yet. -ENOMEM, or negative errno of
 * reading the directory.
 */
int segment_create(const struct segment_config *config, struct segment **ret_segment);
/* Closes the files without an index, as after a kill. NULL is accepted. */
void segment_destroy(struct segment *s);

void segment_set_state(struct segment *s, const struct segment_state *state);
/* Cells below are written already; 0: none are. */
uint64_t segment_next(const struct segment *s);
int segment_turn(struct segment *s, uint32_t dma_epoch, uint64_t count, uint64_t time_ns);
/* `header`: sealed; its cells are those of segment_turn(). */
int segment_data(struct segment *s, const struct fcm_record_header *header, const void *data);
void segment_undo(struct segment *s);
/* `kind`: FCM_RECORD_GAP with its reason, or FCM_RECORD_LET_GO. */
int segment_gap(struct segment *s, enum fcm_record_kind kind, uint8_t reason, uint64_t count,
		uint64_t frames, uint64_t time_ns);
int segment_tick(struct segment *s);
int segment_end(struct segment *s);
void segment_get_counts(const struct segment *s, struct segment_counts *ret_counts);
