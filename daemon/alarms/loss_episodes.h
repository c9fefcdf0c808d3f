/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bursts of losses, as an operator is told of them: from counters by name to "it begins", "another kind",
 * "it is over: so many of each, in so many seconds". A burst is over when nothing more was lost for some
 * seconds; when bursts follow each other fast, they are one until a minute is quiet. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LOSS_EPISODES_NAMES    8u
#define LOSS_EPISODES_QUIET_NS 3000000000ull
#define LOSS_EPISODES_CALM_NS  60000000000ull
#define LOSS_EPISODES_A_MINUTE 5u /* more are joined */

enum loss_episodes_news {
	LOSS_EPISODES_NOTHING,
	LOSS_EPISODES_BEGUN,
	LOSS_EPISODES_MORE,
	LOSS_EPISODES_OVER
};

/* Board counts of lost frames, [first, next), near to each other and of one DMA epoch. */
struct loss_episodes_range {
	uint32_t epoch;
	uint64_t first, next;
};

struct loss_episodes {
	uint64_t counts[LOSS_EPISODES_NAMES];  /* as given last */
	uint64_t base[LOSS_EPISODES_NAMES];    /* before the burst */
	bool named[LOSS_EPISODES_NAMES];       /* told in this burst */
	uint64_t grew_ns[LOSS_EPISODES_NAMES]; /* CLOCK_MONOTONIC of the last loss; 0: never */
	uint64_t run[LOSS_EPISODES_NAMES];     /* lost since that name was last quiet ... */
	uint64_t run_ns[LOSS_EPISODES_NAMES];  /* ... which ended then */
	uint64_t grown_ns, told_ns;	       /* of any; of the last news */
	uint64_t begun_ns[LOSS_EPISODES_A_MINUTE];
	unsigned begun;
	bool open, grave, joined;	     /* joined: only a calm minute ends it */
	struct loss_episodes_range range[2]; /* the latest, and the one before */
	uint64_t before;		     /* frames of those before that */
	uint32_t from_epoch;		     /* the account begins at this board count */
	uint64_t from;
};

struct loss_episodes_report {
	uint64_t lost[LOSS_EPISODES_NAMES]; /* in this burst so far */
	uint64_t sum;
	double seconds; /* from its first to its last lost frame */
};

/* The account begins: what `counts` has is no loss. */
void loss_episodes_init(struct loss_episodes *b, const uint64_t counts[LOSS_EPISODES_NAMES]);
/* What has been added up to `counts` is no loss either; a burst that is open goes on to its end. */
void loss_episodes_skip(struct loss_episodes *b, const uint64_t counts[LOSS_EPISODES_NAMES]);
/* The account begins at this board count: loss_episodes_span() ignores earlier spans of the same DMA
 * epoch. */
void loss_episodes_from(struct loss_episodes *b, uint32_t epoch, uint64_t count);
/* Frames [first, next) by board count hold a run of losses; may be told again as it grows. What is of
 * another DMA epoch, or far from all others (the board's counts have begun anew), counts for itself; what
 * is left to tell of the one before may still come. */
void loss_episodes_span(struct loss_episodes *b, uint32_t epoch, uint64_t first, uint64_t next);
/* The counters now, since whenever. `grave`: they are too many; that alone is news, too. */
enum loss_episodes_news loss_episodes_step(struct loss_episodes *b,
					   const uint64_t counts[LOSS_EPISODES_NAMES], bool grave,
					   uint64_t now_ns,
					   struct loss_episodes_report *ret_report);
/* Asked where there are losses: they go on, the last is not LOSS_EPISODES_QUIET_NS old, or has yet to be stepped over. */
bool loss_episodes_going_on(const struct loss_episodes *b, uint64_t now_ns);
/* Losses of this name go on: run[] of them since run_ns[]. */
bool loss_episodes_run(const struct loss_episodes *b, unsigned name, uint64_t now_ns);
