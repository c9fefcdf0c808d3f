/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside libnanet3: a handle is a transport and what has been mapped through it.
 *
 *   nanet3.c  life, words, buffers, registers: a request each
 *   events.c  waiting, events
 *   links.c   links and their rings, polling
 *   sock.c    the emulator's socket
 *   device.c  the character device
 *   poller.c  the board's queue, read without the driver
 *
 * Names that files share begin with libnanet3_, so that a static library takes no names from its user
 * and the shared one exports nanet3_ alone.
 */
#ifndef NANET3_PRIVATE_H
#define NANET3_PRIVATE_H

#include <stddef.h>

#include "driver/lib/libnanet3.h"
#include "driver/lib/poller.h"

struct transport;

/* A way in. All functions return 0 or a negative errno; -ENODEV when the board is gone. */
struct transport_ops {
	/* Execute a request of driver/nanet3.h on its struct of `size` bytes, which it changes. */
	int (*request)(struct transport *t, uint32_t request, void *arg, size_t size);
	/* Map `bytes` of one of NANET3_MAP_*. */
	int (*map)(struct transport *t, uint64_t what, size_t bytes, bool writable, void **ret_p);
	/* Forget that events were signalled, before the queue is looked at. */
	void (*clear)(struct transport *t);
	/* Wait for a signal: 1, 0 on time-out. */
	int (*wait)(struct transport *t, int timeout_ms);
	/* Let the board's end reach this process's memory, where that must be allowed. */
	int (*expose)(struct transport *t);
	int (*fd)(const struct transport *t);
	void (*close)(struct transport *t);
};

/* First member of each transport's own struct. */
struct transport {
	const struct transport_ops *ops;
};

struct lib_link {
	const struct nanet3_ring *ring; /* NULL: neither claimed nor observed */
	size_t ring_bytes;
	uint32_t depth, stride, chunk_buffers, chunk_count;
	uint8_t **chunks; /* NULL: not claimed */
	void *owner_page;
	volatile uint32_t *doorbell; /* NULL: not polled */
	uint32_t dma_epoch;	     /* of our claim */
};

/* While polling is on. */
struct lib_polling {
	struct poller poller;
	const void *events; /* the board's queue */
	size_t bytes;
	bool gone;	/* the board, as far as we have been told */
	unsigned turns; /* without news since the clock was last looked at */
	int64_t news_ms;
};

struct nanet3 {
	struct transport *transport;
	struct nanet3_info info;
	struct nanet3_queue *queue; /* NULL: not open for writing */
	size_t queue_bytes;
	uint64_t queue_read; /* ours */
	struct lib_link links[NANET3_LINKS];
	struct lib_polling *polling; /* NULL: off */
};

/* One request; see struct transport_ops. */
static inline int libnanet3_request(struct nanet3 *b, uint32_t code, void *arg, size_t size)
{
	return b->transport->ops->request(b->transport, code, arg, size);
}

static inline int libnanet3_map(struct nanet3 *b, uint64_t what, size_t bytes, bool writable,
				void **ret_p)
{
	return b->transport->ops->map(b->transport, what, bytes, writable, ret_p);
}

static inline size_t libnanet3_pages(size_t bytes)
{
	return (bytes + NANET3_PAGE - 1) / NANET3_PAGE * NANET3_PAGE;
}

/* Unmap all that links.c has mapped, before the transport is closed. */
void libnanet3_links_unmap(struct nanet3 *b);

int libnanet3_sock_open(const char *path, bool read_only, struct transport **ret_transport);
int libnanet3_device_open(const char *path, bool read_only, struct transport **ret_transport);

#endif
