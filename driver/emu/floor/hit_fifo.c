/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hit FIFO: see hit_fifo.h. */
#include "driver/emu/floor/hit_fifo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/emu/floor/pulse.h"
#include "tdm/hit.h"

/* Contents move down only behind this much dead space, and only when they are the smaller part: each
 * byte is moved less than once. */
#define COMPACT_BYTES 8192u

int hit_fifo_init(struct hit_fifo *f, uint32_t capacity)
{
	if (capacity < PULSE_BYTES || capacity > (64u << 20)) {
		return -EINVAL;
	}
	memset(f, 0, sizeof(*f));
	f->bytes = malloc(2 * (size_t)capacity + COMPACT_BYTES + PULSE_BYTES);
	if (!f->bytes) {
		return -ENOMEM;
	}
	f->capacity = capacity;
	return 0;
}

void hit_fifo_fini(struct hit_fifo *f)
{
	free(f->bytes);
	f->bytes = NULL;
}

static void compact(struct hit_fifo *f)
{
	const uint32_t fill = f->write - f->read;

	if (f->read >= COMPACT_BYTES && f->read >= fill) {
		memcpy(f->bytes, f->bytes + f->read, fill);
		f->read = 0;
		f->write = fill;
	}
}

uint8_t *hit_fifo_reserve(struct hit_fifo *f, uint32_t bytes, uint32_t hits)
{
	compact(f);
	if (f->write - f->read + bytes > f->capacity) {
		f->lost += hits;
		f->mark = true;
		return NULL;
	}
	return f->bytes + f->write;
}

void hit_fifo_commit(struct hit_fifo *f, uint32_t bytes)
{
	f->write += bytes;
}

void hit_fifo_take(struct hit_fifo *f, uint32_t max, struct hit_take *ret_take)
{
	const uint32_t fill = f->write - f->read;
	const uint32_t length = fill < max ? fill : max;
	const uint8_t *bytes = f->bytes + f->read;
	const uint32_t first = f->tail < length ? f->tail : length;
	uint32_t end = f->tail;
	uint32_t hits = 0;

	while (end < length) {
		end += hit_bytes(bytes + end);
		hits++;
	}
	*ret_take = (struct hit_take){
		.bytes = bytes,
		.length = length,
		.first = first,
		.hits = hits,
		.whole = hits ? end - first : 0,
		.lost = f->lost,
	};
	f->tail = end - length;
	f->read += length;
	f->lost = 0;
}

void hit_fifo_clear(struct hit_fifo *f, bool hard)
{
	if (hard) {
		f->tail = 0;
		f->mark = false;
		f->lost = 0;
	}
	f->write = f->read + f->tail;
}
