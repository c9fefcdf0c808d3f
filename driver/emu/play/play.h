/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plays a recording (schemas/fcm_record.h) instead of simulating sea and floors. The cells of its segments
 * come in on the links at the counts they were recorded at, so that a daemon makes the same blocks of them.
 *
 *   segments --play.c--> world.h --> board, host --> a daemon of its own
 *                \--play_due_ns(), states--> the host's pace.c
 *
 * An *act* is what one DMA epoch of the board played holds: of each link at most one DMA epoch of the
 * recording, those that began together in one boot of the board recorded. Between two acts the board
 * goes off the bus and comes back as after power-up, so that every act is a DMA epoch of its own.
 *
 *   LEAD --a step--> WAIT --play_go()--> RUN --all is played--> DRAIN --play_next()--> GONE --> LEAD ...
 *                                                                             \--> OVER
 *
 *   LEAD    one step without light, at the border of the second before the first cell: from then on the
 *           board's registers have count and time
 *   WAIT    no steps: the links' owners are awaited, and that they have read the time; also where the
 *           recording was relabelled
 *   RUN     a count a step; what was recorded, gaps too
 *   DRAIN   without light, until what was played has been released
 *   OVER    without light for good
 *
 * What is lost in the recording is lost again, by the same name; what the recorder let go, and what is not
 * in the recording for another reason, is the board's FIFO. The label of each second comes from the
 * recorded labels. Damaged segments are played up to the damage; nothing in a file is trusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/emu/common/light.h"
#include "driver/nanet3.h"
#include "tdm/deframe.h"

enum play_state { PLAY_LEAD, PLAY_WAIT, PLAY_RUN, PLAY_DRAIN, PLAY_GONE, PLAY_OVER };

struct play;

/* Remarks on what is played go to `say`, a line each without its end; NULL: nowhere. Negative errno, and
 * `error` says in a line what is wrong with which file. */
int play_create(const char *path, void (*say)(const char *line), struct play **ret_play,
		char *error, size_t error_size);
void play_destroy(struct play *p);

/* The world's part, as in world.h. */
void play_step(struct play *p);
void play_roof(const struct play *p, struct world_roof *ret_roof);
uint32_t play_fault(struct play *p);
void play_fibre(const struct play *p, unsigned link, struct world_fibre *ret_fibre);
bool play_locked(const struct play *p, unsigned link);
void play_uplink(struct play *p, unsigned link, enum tdm_loss fate, uint8_t *cell);
/* The board has power again. */
void play_powered(struct play *p);

/* The pace's part. */
enum play_state play_state(const struct play *p);
/* Links of this act, a bit mask. */
unsigned play_links(const struct play *p);
/* RUN: when the next step was due, in ns since the act's first. May end the act. */
uint64_t play_due_ns(struct play *p);
/* WAIT -> RUN. */
void play_go(struct play *p);
/* DRAIN -> GONE or OVER. */
void play_next(struct play *p);

struct play_stats {
	uint64_t cells;	 /* with data, handed over by the board */
	uint64_t missed; /* with data, but the board lost them: ring full, no owner */
	uint64_t gaps;	 /* without data, as recorded */
	uint64_t let_go; /* that the recorder did not keep up with */
	uint64_t absent; /* in no segment, between others */
	unsigned acts;
	unsigned damaged; /* segments that do not end as they should */
};
void play_stats(const struct play *p, struct play_stats *ret_stats);
