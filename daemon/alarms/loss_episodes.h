/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Episodes of losses. Counters of lost frames by name go in; "an episode has started", "it has another name", "it has
 * ended, with these totals" come out. An episode ends after LOSS_EPISODES_QUIET_NS without a loss. If more than
 * LOSS_EPISODES_A_MINUTE start within a minute, they are joined to one, which ends after LOSS_EPISODES_CALM_NS. No I/O.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LOSS_EPISODES_NAMES    8u
#define LOSS_EPISODES_QUIET_NS 3000000000ull
#define LOSS_EPISODES_CALM_NS  60000000000ull
#define LOSS_EPISODES_A_MINUTE 5u /* more are joined to one */

enum loss_episodes_news {
	LOSS_EPISODES_NOTHING,
	LOSS_EPISODES_STARTED,
	LOSS_EPISODES_MORE,
	LOSS_EPISODES_ENDED
};

/* Board counts of lost frames, [first, next), near to each other and of one DMA epoch. */
struct loss_episodes_range {
	uint32_t epoch;
	uint64_t first, next;
};

struct loss_episodes {
	uint64_t counts[LOSS_EPISODES_NAMES];  /* as given last */
	uint64_t base[LOSS_EPISODES_NAMES];    /* before the episode */
	bool reported[LOSS_EPISODES_NAMES];    /* in this episode */
	uint64_t grew_ns[LOSS_EPISODES_NAMES]; /* CLOCK_MONOTONIC of the last loss; 0: never */
	uint64_t run[LOSS_EPISODES_NAMES];     /* lost since run_ns, without a pause */
	uint64_t run_ns[LOSS_EPISODES_NAMES];  /* CLOCK_MONOTONIC */
	uint64_t grown_ns, reported_ns;	       /* last loss of any name; last news */
	uint64_t starts_ns[LOSS_EPISODES_A_MINUTE];
	unsigned starts;
	bool open, grave, joined;	     /* joined: it ends after LOSS_EPISODES_CALM_NS */
	struct loss_episodes_range range[2]; /* the latest, and the one before */
	uint64_t before;		     /* frames in all earlier ranges */
	uint32_t from_epoch;		     /* earlier frames of from_epoch are ignored */
	uint64_t from;
};

struct loss_episodes_report {
	uint64_t lost[LOSS_EPISODES_NAMES]; /* in this episode so far */
	uint64_t sum;
	double seconds; /* from its first to its last lost frame */
};

/* Counting starts: what `counts` holds already is no loss, and loss_episodes_span() ignores spans of this DMA epoch
 * that are before this board count. `again`: it has started before; an open episode continues until it ends. */
void loss_episodes_start(struct loss_episodes *b, const uint64_t counts[LOSS_EPISODES_NAMES],
			 uint32_t epoch, uint64_t count, bool again);
/* Frames [first, next) by board count were lost; a growing span may be given again. A span of another DMA epoch, or far
 * from the others because the board's counts have restarted, gets a range of its own. The two last ranges can grow. */
void loss_episodes_span(struct loss_episodes *b, uint32_t epoch, uint64_t first, uint64_t next);
/* The counters now. `grave`: more than is tolerated; a change to that is news, too. *ret_report is set if there is news. */
enum loss_episodes_news loss_episodes_step(struct loss_episodes *b,
					   const uint64_t counts[LOSS_EPISODES_NAMES], bool grave,
					   uint64_t now_ns,
					   struct loss_episodes_report *ret_report);
/* The last loss is younger than LOSS_EPISODES_QUIET_NS. Also true before the first loss was seen by loss_episodes_step(). */
bool loss_episodes_going_on(const struct loss_episodes *b, uint64_t now_ns);
/* When the latest episode began; 0: there was none. */
uint64_t loss_episodes_begin(const struct loss_episodes *b);
/* Frames are still lost by this name: run[] of them since run_ns[]. */
bool loss_episodes_run(const struct loss_episodes *b, unsigned name, uint64_t now_ns);
