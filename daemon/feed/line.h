/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The line of one floor: its hits in the order in which readers get them. It holds the blocks of a
 * link from the oldest that a reader still has to get to the newest. A reader is only a place in
 * this line, so any number of readers needs the memory of one. A state machine without I/O; the
 * feed's thread owns it.
 *
 *     oldest                                     newest
 *   [ block | block | block | block | block | block ]<- a new reader begins here: on a hit
 *       ^ place of a slow reader        ^ place of a quick one
 *
 * What is to be written ends at the border of a hit, however little room there is. A socket may take
 * less: then the place is inside a hit, whose rest comes next.
 *
 * A block is settled when every reader that was connected when it came has passed it or is gone:
 * OUTCOME_ACKED written whole to at least one reader, and none was dropped before it had it
 * OUTCOME_DROP_SLOW, _POOL a reader was dropped that had not got it, whatever others got
 * OUTCOME_DROP_NO_MEMBER no reader was connected, or all went before they had it
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "daemon/data/block.h"

#define FEED_LINE_BLOCKS 4096u /* a power of two; as many spans as a link has out at most */

struct feed_entry {
	struct block *block;
	uint64_t bytes_before, frames_before; /* of all blocks before it */
	uint32_t owing;			      /* readers that have not passed it */
	bool written;			      /* to one at least, whole */
	uint8_t charged; /* enum outcome of a reader dropped before it; 0: none */
};

/* Begins all zero. */
struct feed_line {
	struct feed_entry entry[FEED_LINE_BLOCKS];
	uint64_t oldest, newest; /* numbers of blocks: [oldest, newest) are in the line */
	uint64_t bytes, frames;	 /* of all blocks ever, hits' bytes only */
	uint32_t readers;
};

struct feed_place {
	uint64_t at;	 /* number of the block that is being written */
	uint64_t bytes;	 /* of the line before the next byte to write */
	uint64_t border; /* of the line before that byte's hit; `bytes`, unless the hit was cut */
};

/* Bytes of hits in a block of stream pmt. */
size_t feed_block_bytes(const struct block *b);

bool feed_line_full(const struct feed_line *line);
/* There must be room, and a reader. */
void feed_line_append(struct feed_line *line, struct block *b);
/* The block that was settled first and was not yet taken; NULL: none. Take it with
 * feed_line_pop(). */
struct block *feed_line_settled(const struct feed_line *line, enum outcome *ret_outcome);
/* The oldest, settled or not. NULL: the line is empty. */
struct block *feed_line_oldest(const struct feed_line *line);
void feed_line_pop(struct feed_line *line);

void feed_line_join(struct feed_line *line, struct feed_place *ret_place);
/* The reader leaves. `charged`: it was dropped, and the blocks that it has not got are charged with
 * this outcome; 0: it disconnected by itself. Returns the number of frames that it has not got. */
uint64_t feed_line_leave(struct feed_line *line, const struct feed_place *place,
			 enum outcome charged);
/* The bytes to write at a place, at most `room`, in at most `max` pieces, of which the last ends at the
 * border of a hit; 0: nothing, or not even the next hit has room. */
unsigned feed_line_look(const struct feed_line *line, const struct feed_place *place, size_t room,
			struct iovec *ret_pieces, unsigned max);
/* So many bytes were written. Returns the number of hits in the blocks that it has passed. */
uint64_t feed_line_wrote(struct feed_line *line, struct feed_place *place, size_t bytes);
/* The rest of the hit that was written in part: its length, and *ret_rest; 0: the place is on a border. */
size_t feed_line_cut(const struct feed_line *line, const struct feed_place *place,
		     const uint8_t **ret_rest);
/* Bytes not yet written, frames from the block that is being written to the newest. */
uint64_t feed_line_behind_bytes(const struct feed_line *line, const struct feed_place *place);
uint64_t feed_line_behind_frames(const struct feed_line *line, const struct feed_place *place);
/* Bytes of the blocks in the line. */
uint64_t feed_line_held_bytes(const struct feed_line *line);
/* Whether only the newest block is left: it is always waited for, however large. */
bool feed_line_at_newest(const struct feed_line *line, const struct feed_place *place);
