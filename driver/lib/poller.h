/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Polling: a reader of the board's own event queue, which needs neither interrupt nor system call.
 *
 *   board  --events[(sequence - 1) % size]-->  poller  --completions[position % depth]-->  owner
 *   driver --ring state, some ms later------------^ what was missed
 *
 * Each event on the queue carries the number of events before it, plus 1, written last. The poller
 * knows which number comes next and looks only at its place. The driver follows the same queue some
 * ms later, and the board does not overwrite a place that the driver has not taken. So a reader that was
 * overrun finds what it missed in the ring state, and continues one lap behind what it saw.
 *
 * It accesses memory only; the caller maps and unmaps queue, ring states and doorbells. It belongs to one
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/nanet3.h"

struct poller_link {
	const struct nanet3_ring *ring;
	struct nanet3_event *completions; /* our own, `depth` of them; NULL: link is not polled */
	volatile uint32_t *doorbell;
	uint32_t depth, dma_epoch;
	uint64_t write, release;
	bool news; /* `write` has grown since the owner last got an event */
};

/* Set up with queue, size and the next sequence; no link yet. */
struct poller {
	const struct nanet3_event *events;
	uint32_t size; /* a power of two */
	uint32_t next; /* sequence of the event to come */
	uint64_t overruns;
	struct poller_link links[NANET3_LINKS];
};

/* Frees all links. */
void libnanet3_poller_fini(struct poller *p);

/* Follow a link that was claimed in `dma_epoch`, from its ring state on. -ENOMEM. */
int libnanet3_poller_add(struct poller *p, unsigned link, const struct nanet3_ring *ring,
			 uint32_t depth, uint32_t dma_epoch, volatile uint32_t *doorbell);
void libnanet3_poller_remove(struct poller *p, unsigned link);

/* Take what is on the queue; a board that never pauses cannot hold it for more than two laps. */
void libnanet3_poller_drain(struct poller *p);
/* Report data to the owner: 1 and the link's latest completion, once for all that came since; or
 * 0. */
int libnanet3_poller_news(struct poller *p, struct nanet3_event *ret_event);
/* Write the doorbell. -EINVAL backwards, or beyond `write`. */
int libnanet3_poller_release(struct poller *p, unsigned link, uint64_t position);

static inline bool poller_has(const struct poller *p, unsigned link)
{
	return link < NANET3_LINKS && p->links[link].completions != NULL;
}
