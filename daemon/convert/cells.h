/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of the recording itself, byte by byte, into an output that takes them (--cells). They are copied at the pace of
 * the conversion, link by link in turn: what the blocks have just been made of is still in the page cache then.
 */
#pragma once

#include "daemon/convert/input.h"
#include "daemon/convert/output/sink.h"

/* Kept with a commit. */
struct cells_state {
	uint32_t texts;		     /* recording.json and registers.txt are done */
	uint32_t files[INPUT_LINKS]; /* segments of the link that are done */
	uint64_t at[INPUT_LINKS];    /* in the next one */
};

struct cells;

/* `run`: of segments of this run only, with `one_run`. -ENOMEM. */
int cells_create(const struct input *in, struct sink *sink, struct cells_state *state, bool one_run,
		 uint32_t run, struct cells **ret_cells);
void cells_destroy(struct cells *c); /* NULL is fine */
/* About as many bytes more of each link. 1: some are left; 0: all is copied; negative: the sink's error, or of reading. */
int cells_copy(struct cells *c, uint64_t bytes);
