// SPDX-License-Identifier: GPL-2.0-or-later
/* Items into the byte planes of a chunk: see column.h. */
#include "daemon/convert/hdf5/column.h"

#include <string.h>
#include <sys/param.h>

static uint8_t *plane(const struct column *c, unsigned k)
{
	return c->planes + (size_t)k * c->chunk_items;
}

size_t column_put(struct column *c, const void *items, size_t stride, size_t n)
{
	const uint8_t *from = items;

	n = MIN(n, (size_t)(c->chunk_items - c->used));
	if (stride == 1) {
		memcpy(c->planes + c->used, from, n);
	} else {
		for (unsigned k = 0; k < c->width; k++) {
			uint8_t *to = plane(c, k) + c->used;

			for (size_t i = 0; i < n; i++) {
				to[i] = from[i * stride + k];
			}
		}
	}
	c->used += (uint32_t)n;
	return n;
}

size_t column_put_samples(struct column *c, const uint8_t *samples, bool bytes, size_t n)
{
	if (!bytes) {
		return column_put(c, samples, 2, n);
	}
	n = MIN(n, (size_t)(c->chunk_items - c->used));
	memcpy(plane(c, 0) + c->used, samples, n);
	memset(plane(c, 1) + c->used, 0, n);
	c->used += (uint32_t)n;
	return n;
}

void column_copy(const struct column *c, uint8_t *planes)
{
	for (unsigned k = 0; k < c->width; k++) {
		uint8_t *to = planes + (size_t)k * c->chunk_items;

		memcpy(to, plane(c, k), c->used);
		memset(to + c->used, 0, c->chunk_items - c->used);
	}
}
