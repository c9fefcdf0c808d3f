/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A queue between two threads: one producer, one consumer, items of one size, a power of two of them.
 *
 *   producer: p = queue_reserve(q); fill *p; queue_commit(q);   NULL when full: count it, never block
 *   consumer: p = queue_peek(q); use *p; queue_release(q);      NULL when empty
 *
 * queue_put() and queue_take() do the same with a copy of an item.
 *
 * C11 acquire/release loads and stores, one cache line per side. The optional eventfd wakes the
 * consumer; the producer rings it once per batch (queue_wake).
 */
#pragma once

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* An eventfd that does not block, to wake the thread that polls it. Any thread rings it. */
static inline void bell_ring(int fd)
{
	if (eventfd_write(fd, 1) < 0) {
		assert(errno == EAGAIN); /* the counter is at its end: it rings anyway */
	}
}

/* Before the thread looks at what it was woken for. */
static inline void bell_hush(int fd)
{
	eventfd_t rung;

	if (eventfd_read(fd, &rung) < 0) {
		assert(errno == EAGAIN); /* it was not rung */
	}
}

struct queue {
	unsigned char *items;
	size_t item_bytes;
	uint32_t size;
	int fd;				   /* eventfd of the consumer, or -1 */
	alignas(64) _Atomic uint32_t head; /* written by the producer */
	uint32_t seen_tail;		   /* the producer's last look at tail */
	uint64_t refused;		   /* reserve on a full queue; the producer's own counter */
	alignas(64) _Atomic uint32_t tail; /* written by the consumer */
	uint32_t seen_head;
};

/* A queue that was never made (all zero) is fine. */
static inline void queue_fini(struct queue *q)
{
	if (!q->items) {
		return;
	}
	free(q->items);
	q->items = NULL;
	if (q->fd >= 0) {
		close(q->fd);
	}
	q->fd = -1;
}

/* `size`: a power of two; `with_fd`: make an eventfd. -ENOMEM or eventfd's errno. */
static inline int queue_init(struct queue *q, size_t item_bytes, uint32_t size, int with_fd)
{
	*q = (struct queue){.item_bytes = item_bytes, .size = size, .fd = -1};
	q->items = calloc(size, item_bytes);
	if (!q->items) {
		return -ENOMEM;
	}
	q->fd = with_fd ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
	if (with_fd && q->fd < 0) {
		int r = -errno;

		queue_fini(q);
		return r;
	}
	return 0;
}

/* Memory for a struct with queues in it, zeroed, to be freed: their cache lines need more than
 * malloc()'s alignment. NULL when there is none. */
static inline void *queue_home_alloc(size_t bytes)
{
	size_t whole =
		(bytes + alignof(struct queue) - 1) / alignof(struct queue) * alignof(struct queue);
	void *home = aligned_alloc(alignof(struct queue), whole);

	return home ? memset(home, 0, whole) : NULL;
}

static inline void *queue_reserve(struct queue *q)
{
	uint32_t head = atomic_load_explicit(&q->head, memory_order_relaxed);

	if (head - q->seen_tail == q->size) {
		q->seen_tail = atomic_load_explicit(&q->tail, memory_order_acquire);
		if (head - q->seen_tail == q->size) {
			q->refused++;
			return NULL;
		}
	}
	return q->items + (size_t)(head & (q->size - 1)) * q->item_bytes;
}

static inline void queue_commit(struct queue *q)
{
	uint32_t head = atomic_load_explicit(&q->head, memory_order_relaxed);

	atomic_store_explicit(&q->head, head + 1, memory_order_release);
}

static inline void *queue_peek(struct queue *q)
{
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

	if (tail == q->seen_head) {
		q->seen_head = atomic_load_explicit(&q->head, memory_order_acquire);
		if (tail == q->seen_head) {
			return NULL;
		}
	}
	return q->items + (size_t)(tail & (q->size - 1)) * q->item_bytes;
}

static inline void queue_release(struct queue *q)
{
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

	atomic_store_explicit(&q->tail, tail + 1, memory_order_release);
}

/* Copy `item` into the queue. False: it is full. */
static inline bool queue_put(struct queue *q, const void *item)
{
	void *place = queue_reserve(q);

	if (!place) {
		return false;
	}
	memcpy(place, item, q->item_bytes);
	queue_commit(q);
	return true;
}

/* Move the oldest item to `ret_item`. False: the queue is empty. */
static inline bool queue_take(struct queue *q, void *ret_item)
{
	const void *place = queue_peek(q);

	if (!place) {
		return false;
	}
	memcpy(ret_item, place, q->item_bytes);
	queue_release(q);
	return true;
}

/* Ring the consumer's eventfd. */
static inline void queue_wake(struct queue *q)
{
	if (q->fd >= 0) {
		bell_ring(q->fd);
	}
}

/* The consumer, before it drains. */
static inline void queue_hush(struct queue *q)
{
	if (q->fd >= 0) {
		bell_hush(q->fd);
	}
}
