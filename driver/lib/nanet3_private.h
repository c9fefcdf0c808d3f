/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside libnanet3: a handle is a transport and the mappings made through it. README.md lists the
 * files.
 *
 * Names that files share begin with libnanet3_, so that a static library takes no names from its user
 * and the shared one exports nanet3_ alone.
 */
#pragma once

#include <stddef.h>

#include "driver/lib/libnanet3.h"
#include "driver/lib/poller.h"

/*
 * A transport: the character device, or the emulator's socket. If an exchange on the socket fails
 * in the middle, or is not answered in time, the transport is dead: the board counts as gone.
 */
struct transport {
	int fd; /* requests go here; of the device also readiness, while the queue is not empty */
	int event_fd;	     /* -1: the device; else the eventfd of the handle's queue */
	int poll_fd;	     /* what the user polls */
	uint32_t info_flags; /* NANET3_SOCK_READ_ONLY or 0 */
	bool gone;
};

struct lib_link {
	const struct nanet3_ring *ring; /* NULL: neither claimed nor observed */
	size_t ring_bytes;
	uint32_t depth, stride, chunk_buffers, chunk_count;
	void **chunks; /* NULL: not claimed */
	void *owner_page;
	volatile uint32_t *doorbell; /* NULL: not polled */
	uint32_t dma_epoch;	     /* of our claim */
};

/* While polling is on. */
struct lib_polling {
	struct poller poller;
	size_t bytes;	/* of the board's queue */
	bool gone;	/* the board, as far as we know */
	unsigned turns; /* without news since the clock was last looked at */
	int64_t news_ms;
};

struct nanet3 {
	struct transport transport;
	struct nanet3_info info;
	struct nanet3_queue *queue; /* NULL: not open for writing */
	size_t queue_bytes;
	uint64_t queue_read; /* ours */
	struct lib_link links[NANET3_LINKS];
	struct lib_polling *polling; /* NULL: off */
};

/* These return 0 or a negative errno; -ENODEV when the board is gone. */

/* transport.c: `read_only`: not open for writing. */
int libnanet3_transport_open(struct transport *t, const char *where, bool read_only);
void libnanet3_transport_close(struct transport *t);
/* Execute a request of driver/nanet3.h on its struct of `size` bytes, which it changes. */
int libnanet3_request(struct nanet3 *b, uint32_t code, void *arg, size_t size);
/* Map `bytes` of one of NANET3_MAP_*. */
int libnanet3_map(struct nanet3 *b, uint64_t what, size_t bytes, bool writable, void **ret_p);
/* Clear the signal of events, before the queue is read. */
void libnanet3_clear(struct nanet3 *b);
/* Wait for a signal: 1, 0 on time-out. */
int libnanet3_wait(struct nanet3 *b, int timeout_ms);
/* Allow the board's side to access this process's memory, where that is needed. */
int libnanet3_expose(struct nanet3 *b);

static inline size_t libnanet3_pages(size_t bytes)
{
	return (bytes + NANET3_PAGE - 1) / NANET3_PAGE * NANET3_PAGE;
}

/* Unmap all that links.c has mapped, before the transport is closed. */
void libnanet3_links_unmap(struct nanet3 *b);
