/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tap: capture offers the cells of the links' rings to the recorder, for a limited time.
 *
 *   capture --entries--> recorder   completions in order, as pointers into the ring
 *           <---done----            the recorder has finished with all below
 *           ---floor--->            all below may be overwritten: stored before it is released
 *
 * Capture delays the release of buffers until `done`, but never for long (tap_release()): then it
 * moves the floor past them and continues. So the recorder may lose the buffer that it is reading:
 *
 *   tap_lend()      is it ours? While lent, the ring is not unmapped: for short work without I/O
 *   tap_holds()     asked again after the bytes were used: true: they were not overwritten before
 *
 * Bytes that were used while tap_holds() turned false are invalid, and the cells are let go.
 *
 * A place in a ring is a ticket: the number of the link's claim and the position in its ring. So tickets
 * only grow, even when the board restarts.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tdm/blocks/label.h"
#include "daemon/core/queue.h"
#include "driver/nanet3.h"

#define TAP_BEHIND_NS 1000000000ull /* the recorder may be behind by this */

/* Which boot of which board: counts of one boot never repeat. */
struct tap_board {
	uint32_t serial, boot_count;
	bool emulated;
};

enum tap_kind {
	TAP_CELLS = 1,	 /* a completion: data, a gap, or first data and then a gap */
	TAP_LET_GO = 2,	 /* cells that found the queue full */
	TAP_STATE = 3,	 /* what holds from the next cells on */
	TAP_SUSPECT = 4, /* a loss has begun on a link that was well: the black box may want this */
};

struct tap_entry {
	uint8_t kind, link;
	uint8_t reason; /* CELLS: of the gap */
	uint8_t reserved;
	uint32_t dma_epoch;
	uint64_t ticket;
	uint64_t count; /* of the first cell */
	uint64_t frames;
	union {
		struct { /* CELLS */
			const uint8_t *data;
			uint32_t bytes; /* data of the first cells; the others are a gap */
			uint64_t time_ns;
		} cells;
		struct { /* STATE */
			struct label label;
			uint32_t run;
			struct tap_board board;
		} state;
	};
};

/* Cells that the queue had no place for. */
struct tap_missed {
	uint32_t dma_epoch;
	uint64_t count, frames;
};
#define TAP_MISSED 8u

/* A link's; capture's own but for the atomics and the lease. */
struct tap_link {
	_Atomic uint64_t floor; /* capture's: tickets below may be overwritten */
	_Atomic uint64_t done;	/* the recorder's: it has finished with tickets below */
	_Atomic bool wanted;	/* the recorder's */
	_Atomic bool armed;	/* the recorder's: report suspects */
	pthread_mutex_t lease;	/* the ring stays mapped */
	uint32_t life;
	bool feeding;
	uint64_t fed_from,
		fed;	   /* tickets: first and behind the last offered since the feed began */
	uint64_t until_ns; /* feed until then, whether it is wanted or not */
	uint32_t dma_epoch;
	struct tap_board board;
	uint64_t mark, mark_ns;		      /* an entry, and when it was offered; 0: none */
	struct tap_missed missed[TAP_MISSED]; /* not reported yet, in order */
	unsigned missed_n;
	struct label sent_label;
	uint32_t sent_run;
	bool state_sent;
	uint64_t let_go; /* buffers, since the start */
};

struct tap {
	struct queue queue; /* struct tap_entry; its eventfd rings for a suspect only */
	struct tap_link link[NANET3_LINKS];
};

/* `size` of the queue: a power of two. -ENOMEM or eventfd's errno. */
int tap_init(struct tap *t, uint32_t size);
void tap_fini(struct tap *t);

static inline uint64_t tap_ticket(uint32_t life, uint64_t position)
{
	return (uint64_t)life << 44 | position;
}

/* ------------------------------------------------------------------------- the capture thread */

/* The link has been claimed; its ring begins, or continues, at `position`. */
void tap_begin(struct tap *t, unsigned link, uint32_t dma_epoch, const struct tap_board *board,
	       uint64_t position);
/* Its ring is about to be unmapped, or its count to restart. Waits for lent buffers: for a checksum
 * at most. */
void tap_end(struct tap *t, unsigned link);
/* A loss has begun, at `count`. */
void tap_suspect(struct tap *t, unsigned link, uint64_t count, uint64_t now_ns);
/* Whether completions are to be offered, as of now: from `release_position` on when it has just begun,
 * else from where it was. *ret_from: that position. */
bool tap_feeding(struct tap *t, unsigned link, uint64_t release_position, uint64_t now_ns,
		 uint64_t *ret_from);
/* Offer the completion at `position`; `bytes` of `data`, 0: it is a gap. `label`, `run`: of its cells. */
void tap_offer(struct tap *t, unsigned link, uint64_t position, const struct nanet3_event *e,
	       const uint8_t *data, uint32_t bytes, const struct label *label, uint32_t run,
	       uint64_t now_ns);
/* Only the recorder still uses buffers up to `to`: up to where may they be released? `used`: of the
 * ring's `depth`. The recorder has to let go of what it was offered TAP_BEHIND_NS ago, and when the
 * ring is more than half full and an eighth of it waits for the recorder alone. */
uint64_t tap_release(struct tap *t, unsigned link, uint64_t to, uint64_t used, uint64_t depth,
		     uint64_t now_ns);

/* ------------------------------------------------------------------------ the recorder's thread */

bool tap_holds(struct tap *t, const struct tap_entry *e);
/* True: the entry's bytes are ours and stay mapped until tap_return(). */
bool tap_lend(struct tap *t, const struct tap_entry *e);
void tap_return(struct tap *t, const struct tap_entry *e);
/* Finished with the entry. */
void tap_done(struct tap *t, const struct tap_entry *e);
