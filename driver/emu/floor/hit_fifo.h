/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The FIFO of one module in the FCM: hits go in whole, bytes come out, a slot's worth a frame. When
 * it is full, whole hits are lost, and the next one that is stored says so (FifoFull).
 *
 *        read                      write
 *   [....|tail of a hit|hit|hit|hit|............]   linear: contents move down when there is room,
 *                                                   so that what leaves is always one piece
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hit_fifo {
	uint8_t *bytes;
	uint32_t capacity;
	uint32_t read, write; /* offsets; write - read <= capacity */
	uint32_t tail;	      /* bytes at read that end a hit of an earlier frame */
	uint32_t lost;	      /* hits since the last take */
	bool mark;	      /* the next stored hit carries FifoFull */
};

/* -ENOMEM, or -EINVAL for a capacity that does not hold one pulse. */
int hit_fifo_init(struct hit_fifo *f, uint32_t capacity);
void hit_fifo_fini(struct hit_fifo *f);

/* Room for `bytes` of whole hits, NULL when full: then `hits` are counted lost. At least PULSE_BYTES
 * may be written there, commit what counts. */
uint8_t *hit_fifo_reserve(struct hit_fifo *f, uint32_t bytes, uint32_t hits);
void hit_fifo_commit(struct hit_fifo *f, uint32_t bytes);

/* What a frame carries away. */
struct hit_take {
	const uint8_t *bytes; /* good until the next reserve */
	uint32_t length;
	uint32_t first; /* offset of the first hit that starts in it; length when none does */
	uint32_t hits;	/* that start in it */
	uint32_t whole; /* length of those hits from `first` on, tails included */
	uint32_t lost;	/* hits lost since the last take */
};
void hit_fifo_take(struct hit_fifo *f, uint32_t max, struct hit_take *ret_take);

/* Forget all hits; one that has partly left is still finished unless `hard`. */
void hit_fifo_clear(struct hit_fifo *f, bool hard);

static inline uint32_t hit_fifo_fill(const struct hit_fifo *f)
{
	return f->write - f->read;
}
