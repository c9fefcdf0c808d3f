/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A chunk of a column, as HDF5's shuffle filter leaves it: first the lowest byte of every item, then the next one, and
 * so on. Items go right into their planes, which saves the filter's pass over the data. A column of rows has as many
 * planes as a row has bytes. Pure; the memory is the caller's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct column {
	unsigned width;	      /* bytes of an item */
	uint32_t chunk_items; /* in a whole chunk */
	uint32_t used;	      /* in this one */
	uint8_t *planes;      /* width x chunk_items */
};

static inline bool column_full(const struct column *c)
{
	return c->used == c->chunk_items;
}

static inline size_t column_bytes(const struct column *c)
{
	return (size_t)c->width * c->chunk_items;
}

/* Items, each `stride` bytes behind the one before: how many went in, fewer than `n` when the chunk is full then. */
size_t column_put(struct column *c, const void *items, size_t stride, size_t n);
/* Samples of a hit, of one or two bytes in the payload, into a column of two: likewise. */
size_t column_put_samples(struct column *c, const uint8_t *samples, bool bytes, size_t n);
/* What the chunk would be if it ended here: into `planes`, the rest of each plane 0. */
void column_copy(const struct column *c, uint8_t *planes);
