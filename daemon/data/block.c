/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outcomes of blocks, and their pool: memory by size classes, reused, never more than its budget. See block.h.
 *
 *   block_get (capture) <- free list of the class <- inbox of the class <- block_put (any thread)
 *
 * Invariants
 *   - the free lists and `allocated` belong to capture; other threads touch a class's inbox and
 *     `in_use` only.
 *   - an inbox is a stack that producers push on and capture takes whole, by one exchange: there is
 *     no pop, so no block can come back between look and swap (ABA).
 *   - a block's memory is returned to the system only to make room for another class under the
 *     budget: rates change over minutes, so this is rare and the steady state allocates nothing.
 */
#include "daemon/data/block.h"

#include <assert.h>
#include <stdlib.h>

/* Classes of payload: 4 KiB, 6 KiB, 8 KiB, 12 KiB, ... 24 MiB. A block of 1600 full frames has less
 * than 16 MiB. */
#define CLASSES	    26u
#define CLASS_FIRST 4096u
#define CLASS_REACH 2u /* a free block so many classes too large is better than new memory */

static const char *const outcome_names[OUTCOMES] = {
	[OUTCOME_NOT_OFFERED] = "not-offered",	[OUTCOME_ACKED] = "acknowledged",
	[OUTCOME_DROP_NO_MEMBER] = "no-member", [OUTCOME_DROP_SLOW] = "slow",
	[OUTCOME_DROP_SHUTDOWN] = "shutdown",	[OUTCOME_DROP_POOL] = "pool",
	[OUTCOME_DROP_NO_TIME] = "no-time",
};

const char *outcome_name(enum outcome outcome)
{
	return (unsigned)outcome < OUTCOMES ? outcome_names[outcome] : "unknown";
}

struct size_class {
	struct block *free; /* capture's own */
	_Atomic(struct block *) inbox;
};

struct block_pool {
	size_t budget;
	size_t allocated;
	_Atomic size_t in_use;
	struct size_class classes[CLASSES];
};

static size_t class_bytes(unsigned rank)
{
	size_t base = (size_t)CLASS_FIRST << rank / 2;

	return rank % 2 ? base + base / 2 : base;
}

/* Of the smallest class that has so many bytes; CLASSES: none has. */
static unsigned rank_of(size_t bytes)
{
	unsigned rank = 0;

	while (rank < CLASSES && class_bytes(rank) < bytes) {
		rank++;
	}
	return rank;
}

struct block_pool *block_pool_create(size_t bytes)
{
	struct block_pool *p = calloc(1, sizeof(*p));

	if (p) {
		p->budget = bytes;
	}
	return p;
}

static void block_free(struct block_pool *p, struct block *b)
{
	p->allocated -= block_cost(b);
	free(b->payload);
	free(b);
}

/* What came back is free: the inbox goes in front of the list, what came last in front of all. */
static void class_collect(struct size_class *c)
{
	struct block *first, *last;

	if (!atomic_load_explicit(&c->inbox, memory_order_relaxed)) {
		return;
	}
	first = last = atomic_exchange_explicit(&c->inbox, NULL, memory_order_acquire);
	for (struct block *b = first; b;
	     b = atomic_load_explicit(&b->next_free, memory_order_relaxed)) {
		last = b;
	}
	atomic_store_explicit(&last->next_free, c->free, memory_order_relaxed);
	c->free = first;
}

/* The one that was in use last: the caches know its memory still. */
static struct block *class_take(struct size_class *c)
{
	struct block *b;

	class_collect(c);
	b = c->free;
	if (b) {
		c->free = atomic_load_explicit(&b->next_free, memory_order_relaxed);
	}
	return b;
}

void block_pool_destroy(struct block_pool *p)
{
	if (!p) {
		return;
	}
	for (unsigned i = 0; i < CLASSES; i++) {
		struct block *b;

		while ((b = class_take(&p->classes[i]))) {
			block_free(p, b);
		}
	}
	assert(p->allocated == 0); /* a block is still out */
	free(p);
}

static struct block *block_new(struct block_pool *p, size_t capacity)
{
	struct block *b = calloc(1, sizeof(*b));

	if (b) {
		b->payload = malloc(capacity);
	}
	if (!b || !b->payload) {
		free(b);
		return NULL;
	}
	b->capacity = capacity;
	b->pool = p;
	p->allocated += block_cost(b);
	return b;
}

/* Give free blocks of other classes back, the largest first, until `bytes` fit under the budget. */
static bool make_room(struct block_pool *p, size_t bytes)
{
	for (unsigned i = CLASSES; i-- > 0 && p->allocated + bytes > p->budget;) {
		struct block *b;

		while (p->allocated + bytes > p->budget && (b = class_take(&p->classes[i]))) {
			block_free(p, b);
		}
	}
	return p->allocated + bytes <= p->budget;
}

struct block *block_get(struct block_pool *p, size_t capacity)
{
	struct block *b = NULL;
	unsigned rank = rank_of(capacity);

	if (rank == CLASSES) {
		return NULL;
	}
	for (unsigned i = rank; i < CLASSES && i <= rank + CLASS_REACH && !b; i++) {
		b = class_take(&p->classes[i]);
	}
	if (!b && make_room(p, sizeof(*b) + class_bytes(rank))) {
		b = block_new(p, class_bytes(rank));
	}
	if (!b) {
		return NULL;
	}
	atomic_store_explicit(&b->references, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&p->in_use, block_cost(b), memory_order_relaxed);
	return b;
}

void block_hold(struct block *b)
{
	atomic_fetch_add_explicit(&b->references, 1, memory_order_relaxed);
}

void block_put(struct block *b)
{
	struct size_class *c;
	struct block *head;

	if (atomic_fetch_sub_explicit(&b->references, 1, memory_order_acq_rel) != 1) {
		return;
	}
	c = &b->pool->classes[rank_of(b->capacity)];
	atomic_fetch_sub_explicit(&b->pool->in_use, block_cost(b), memory_order_relaxed);
	head = atomic_load_explicit(&c->inbox, memory_order_relaxed);
	do {
		atomic_store_explicit(&b->next_free, head, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(&c->inbox, &head, b, memory_order_release,
							memory_order_relaxed));
}

size_t block_pool_in_use(const struct block_pool *p)
{
	return atomic_load_explicit(&p->in_use, memory_order_relaxed);
}
