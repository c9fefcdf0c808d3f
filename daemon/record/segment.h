/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A link's series of segments in a directory (schemas/fcm_record.h), written at its end only. One thread.
 *
 *   segment_turn()    what comes next begins at this count: a new segment if need be; a hole is filled
 *   segment_data()    a record, straight from where its bytes are
 *   segment_undo()    that record, if its bytes turned out to be nobody's: as if it had not been written
 *   segment_gap()     cells without data; neighbours of one kind become one record
 *   segment_tick()    once a second: start writing back
 *   segment_end()     index, on disk, closed
 *
 * Errors are those of the disk (-ENOSPC, -EIO, -EFBIG, -EDQUOT ...). The segment is then cut behind its
 * last whole record, and good up to there; nothing more can be written to it.
 *
 * What a power cut costs: what the file system has not written by itself: each second's data are on
 * their way to the disk a second later, their place in the file within the file system's commit time
 * (ext4: 5 s). A kill costs the record that is being written.
 */
#ifndef DAEMON_RECORD_SEGMENT_H
#define DAEMON_RECORD_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/core/label.h"
#include "tdm/record.h"

struct segment_config {
	int directory; /* descriptor; stays the caller's, open */
	uint8_t board, link, tower, floor;
	uint64_t bytes; /* a segment is ended when it has become so large */
};

/* What holds for the cells to come. */
struct segment_state {
	struct label label;
	uint32_t run, serial, boot_count;
};

struct segment_counts {
	uint64_t bytes;	 /* on disk, all segments of this writer */
	uint64_t frames; /* with data */
	uint64_t gaps, let_go;
	uint32_t segments;
};

struct segment;

/*
 * Begin, or go on with, the link's series: numbers go on behind what is there, and cells of the same boot
 * of the board that are there already are not written again (segment_next()). -ENOMEM, errno of reading
 * the directory. Nothing is made on disk yet.
 */
int segment_create(const struct segment_config *config, struct segment **ret_segment);
/* Without ending it in order: as if killed. NULL is fine. */
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

#endif
