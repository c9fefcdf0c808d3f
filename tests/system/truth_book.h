/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The judge between what the floors sent (driver/emu/common/truth.h), what consumers received
 * (consumer_check.h) and what the daemon's ledger says of the rest (schemas/sql, table loss).
 *
 *   book_open(truth) -> book_add_ledger() -> book_add_record() for each file -> book_judge() -> tally
 *
 * Frames are joined by link and the floor's frame number, over the range from the first to the last
 * frame that any record has of the link and stream.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/data/block.h"
#include "driver/emu/common/truth.h"
#include "tdm/deframe.h"
#include "tests/system/consumer_check.h"

#define BOOK_LINKS    4u
#define BOOK_STREAMS  2u /* pmt, hydrophone */
#define BOOK_EXAMPLES 12u

/* One link and stream. Each frame of the range is in exactly one of: equal, cut, different, missing
 * (by what names it), dropped, unnamed. */
struct book_tally {
	uint8_t tower, floor;
	uint64_t first, last; /* floor frames; range empty when first > last */
	uint64_t frames;      /* of the range, that the truth has */
	uint64_t equal;
	uint64_t cut;	    /* a hit less: its tail was in a frame that was lost */
	uint64_t different; /* error */
	uint64_t
		missing[TDM_LOSSES]; /* by the truth's fate; [GOOD]: truth calls it good, the ledger
				       * (without one: its block) names it as a loss of the link */
	uint64_t dropped;	     /* for the group, by name in the ledger */
	uint64_t late;		     /* delivered, but too late: the ledger names it dropped */
	uint64_t unnamed;	     /* error: missing, and nobody says why */
	uint64_t hits, samples;
	uint64_t repeats;	    /* delivered more than once ... */
	uint64_t repeats_unflagged; /* error: ... without RESENT */
	uint64_t unknown;	    /* error: delivered, and not in the truth */
	uint64_t unexpected;	    /* delivered equal although the world had damaged it */
	uint64_t charged;    /* delivered although the ledger charges the link with its loss */
	uint64_t tai_errors; /* error: clock locked, and the time is not that of the light */
	int64_t tai_max_locked_ns, tai_max_ns; /* largest difference, without its sign */
	uint64_t time_errors, bad_hits;	       /* error: as the consumers found them */
};

/* An error, to show. */
struct book_example {
	const char *what;
	uint8_t link, stream;
	uint64_t floor_frame, count;
	struct consumer_record record; /* magic 0: none */
	struct truth_record truth;     /* count 0: none */
};

struct book;

/* -errno of the file; -EBADMSG: not a truth file; -EPROTO: one of another version. */
int book_open(const char *path, struct book **ret_book);
void book_close(struct book *b);
/* Losses of the database, read-only; of those that groups dropped, only the ones of `group` (NULL: all).
 * -EIO when SQLite refuses; `ret_reason` (static) says why. */
int book_add_ledger(struct book *b, const char *path, const char *group, const char **ret_reason);
/* Call before adding records: with the clock locked, times may differ from the truth by so many ns
 * (default 0). A configured cable delay is constant, the delay of a fibre drifts. */
void book_allow_drift(struct book *b, int64_t ns);
/* -errno of the file; -EBADMSG: not a record file; -ENOMEM. */
int book_add_record(struct book *b, const char *path);
void book_judge(struct book *b);

const struct book_tally *book_tally(const struct book *b, unsigned link, unsigned stream);
/* Errors of all kinds. */
uint64_t book_errors(const struct book_tally *t);
unsigned book_examples(const struct book *b, const struct book_example **ret_examples);
