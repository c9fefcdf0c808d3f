/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The TriDAS feed: plain TCP, one port per floor, a pure stream of TriDAS data frames (tdm/hit.h, header and
 * samples, stamped) and nothing else. The existing trigger farm reads it.
 *
 * A separate thread owns the sockets. The publisher passes it blocks of stream pmt without a copy: hits are
 * written from the block's memory directly to the socket, and the block is returned with its outcome
 * (line.h). A block that is written to the socket counts as delivered; the state of TCP is unknown.
 *
 *   publisher --feed_offer()--> [queue] --> line of the link --sendmsg()--> readers
 *       ^---------feed_take()-- [queue] <--settled--'
 *
 * What always holds
 * - When the floor has no reader, the block is dropped at once (NO_MEMBER). The feed never holds a ring
 *   back for readers that may come.
 * - A reader that is behind by more than its budget of bytes, or by more frames than may be held of a ring,
 *   is disconnected, and the blocks that it has not got are charged (SLOW). The newest block is always waited for.
 * - Each write ends at the border of a hit. A connection begins with a hit, and one that is ended here ends
 *   behind one.
 * - Blocks without a label are withheld (NO_TIME): a hit without time is no TriDAS data frame.
 * - Bytes from readers are ignored, and not read at all after FEED_HEARD bytes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/data/block.h"
#include "driver/nanet3.h"

#define FEED_GROUP	  "tridas" /* what the ledger and the status call it */
#define FEED_READERS_LINK 8u	   /* at a time */
#define FEED_READERS	  (FEED_READERS_LINK * NANET3_LINKS)
#define FEED_GONE	  8u /* remembered, of those dropped */
#define FEED_HEARD	  65536u

struct feed_config {
	const char *address;	     /* numeric, IPv4 or IPv6 */
	unsigned links;		     /* bit mask: links that have a port */
	uint16_t port[NANET3_LINKS]; /* 0: any free one */
	uint64_t budget_bytes;	     /* that a reader may be behind */
	uint64_t hold_frames;	     /* that may be held of a link's ring */
};

struct feed_reader_status {
	char address[64]; /* "127.0.0.1:40712", "[::1]:40712" */
	uint8_t link;
	uint64_t since_ns;    /* CLOCK_MONOTONIC */
	uint64_t bytes, hits; /* hits: of blocks written whole */
	uint64_t behind_bytes, behind_frames;
};
struct feed_gone_status {
	struct feed_reader_status reader;
	uint8_t why;	 /* enum outcome: SLOW, POOL */
	uint64_t frames; /* it had not got */
	uint64_t at_ns;	 /* CLOCK_MONOTONIC */
};
struct feed_status {
	uint16_t port[NANET3_LINKS]; /* 0: none */
	/* why it is not listened to, negative errno; tried again each second; 0: it is */
	int closed[NANET3_LINKS];
	unsigned readers;
	struct feed_reader_status reader[FEED_READERS];
	uint64_t connects, refused;		 /* refused: FEED_READERS_LINK are there already */
	struct feed_reader_status refused_last;	 /* address and floor of the last of them */
	uint64_t left;				 /* went by themselves */
	uint64_t dropped;			 /* were dropped */
	uint64_t dropped_of[NANET3_LINKS];	 /* of them, by link */
	uint64_t heard_bytes;			 /* sent by readers, ignored */
	struct feed_gone_status gone[FEED_GONE]; /* the n-th that was dropped is at n % FEED_GONE */
	struct feed_gone_status last_gone[NANET3_LINKS];
	/* Its members are the readers, its bytes those of hits, its budget each reader's. */
	struct group_status group;
};

struct feed;

/* Listen and start the thread. -EINVAL (no numeric address), -EACCES. On failure *ret_port is the
 * port that failed (0: none in particular). A port that another program has, or an address that the
 * machine does not have yet, is tried again each second (feed_status.closed). */
int feed_start(const struct feed_config *config, struct feed **ret_feed, uint16_t *ret_port);
/* Disconnect all readers and settle all blocks (SHUTDOWN, see publisher_stop()). feed_take()
 * returns them as before. */
void feed_stop(struct feed *f);
/* After feed_take() has returned all blocks. NULL is fine. */
void feed_destroy(struct feed *f);

/* ---- the publisher's side ---- */

/* It becomes readable when something is to be taken. */
int feed_fd(const struct feed *f);
/* A block of stream pmt, until feed_take() gives it back. False: no room, the block is the caller's. */
bool feed_offer(struct feed *f, struct block *b);
/* Behind a batch of offers. */
void feed_wake(struct feed *f);
/* The next block that is settled, with its outcome; NULL: none. */
struct block *feed_take(struct feed *f, enum outcome *ret_outcome);
/* Before taking until NULL, when feed_fd() was readable. */
void feed_hush(struct feed *f);
/* Of the oldest block that waits for a reader: its monotonic_ns; UINT64_MAX: none. A moment old. */
uint64_t feed_oldest_ns(const struct feed *f);
/* There is no block memory left: the reader that holds the oldest block is dropped (POOL), if that
 * block is older than those that are always on their way. */
void feed_pool_empty(struct feed *f);

void feed_get_status(struct feed *f, struct feed_status *ret_status); /* any thread */
