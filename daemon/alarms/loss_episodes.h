/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bursts of losses, as an operator is told of them: from counters by name to "it begins", "another kind",
 * "it is over: so many of each, in so many seconds". A burst is over when nothing more was lost for some
 * seconds; when bursts follow each other fast, they are one until a minute is quiet. Pure.
 */
#ifndef DAEMON_ALARMS_LOSS_EPISODES_H
#define DAEMON_ALARMS_LOSS_EPISODES_H

#include <stdbool.h>
#include <stdint.h>

#define BURSTS_NAMES	8u
#define BURSTS_QUIET_NS 3000000000ull
#define BURSTS_CALM_NS	60000000000ull
#define BURSTS_A_MINUTE 5u /* more are joined */

enum bursts_news { BURSTS_NOTHING, BURSTS_BEGUN, BURSTS_MORE, BURSTS_OVER };

/* Board counts of lost frames, [first, next), near to each other and of one DMA epoch. */
struct bursts_range {
	uint32_t epoch;
	uint64_t first, next;
};

struct bursts {
	uint64_t counts[BURSTS_NAMES];	/* as given last */
	uint64_t base[BURSTS_NAMES];	/* before the burst */
	bool named[BURSTS_NAMES];	/* told in this burst */
	uint64_t grew_ns[BURSTS_NAMES]; /* CLOCK_MONOTONIC of the last loss; 0: never */
	uint64_t grown_ns, told_ns;	/* of any; of the last news */
	uint64_t begun_ns[BURSTS_A_MINUTE];
	unsigned begun;
	bool open, grave, joined;     /* joined: only a calm minute ends it */
	struct bursts_range range[2]; /* the latest, and the one before */
	uint64_t before;	      /* frames of those before that */
	uint32_t from_epoch;	      /* the account begins at this board count */
	uint64_t from;
};

struct bursts_report {
	uint64_t lost[BURSTS_NAMES]; /* in this burst so far */
	uint64_t sum;
	double seconds; /* from its first to its last lost frame */
};

/* The account begins: what `counts` has is no loss. */
void bursts_init(struct bursts *b, const uint64_t counts[BURSTS_NAMES]);
/* What has been added up to `counts` is no loss either; a burst that is open goes on to its end. */
void bursts_skip(struct bursts *b, const uint64_t counts[BURSTS_NAMES]);
/* The account begins at this board count: bursts_span() ignores earlier spans of the same DMA
 * epoch. */
void bursts_from(struct bursts *b, uint32_t epoch, uint64_t count);
/* Frames [first, next) by board count hold a run of losses; may be told again as it grows. What is of
 * another DMA epoch, or far from all others (the board's counts have begun anew), counts for itself; what
 * is left to tell of the one before may still come. */
void bursts_span(struct bursts *b, uint32_t epoch, uint64_t first, uint64_t next);
/* The counters now, since whenever. `grave`: they are too many; that alone is news, too. */
enum bursts_news bursts_step(struct bursts *b, const uint64_t counts[BURSTS_NAMES], bool grave,
			     uint64_t now_ns, struct bursts_report *ret_report);
/* Asked where there are losses: they go on, the last is not BURSTS_QUIET_NS old, or has yet to be stepped over. */
bool bursts_going_on(const struct bursts *b, uint64_t now_ns);

#endif
