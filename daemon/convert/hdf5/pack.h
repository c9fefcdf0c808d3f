/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chunks are compressed by threads of their own: deflate in zlib's format, as HDF5's filter reads it, by isa-l, which is
 * several times quicker than zlib. One thread, the caller, gives and takes; the workers touch only the job they have.
 *
 *   pack_get() -> fill job->in -> pack_give() -> ... -> pack_take(), in the order given -> use -> pack_put()
 *
 * The number of jobs bounds the memory: when all are under way, take one back first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pack_job {
	void *context; /* the caller's, as are the next two */
	uint64_t number;
	uint32_t items;
	uint8_t *in,
		*out; /* both of the pool's `room` bytes; may be exchanged for others as large */
	size_t in_bytes;
	size_t out_bytes; /* behind pack_take(); 0: it would not get smaller, use `in` */
	bool done;
};

struct pack;

/* -ENOMEM, or why no thread could be made. */
int pack_create(unsigned threads, unsigned jobs, size_t room, struct pack **ret_pack);
void pack_destroy(struct pack *p); /* NULL is fine; what is under way is dropped */

struct pack_job *pack_get(struct pack *p); /* NULL: all are under way */
void pack_give(struct pack *p, struct pack_job *job);
/* The first of those given: waits until it is done. NULL: none is under way. */
struct pack_job *pack_take(struct pack *p);
/* The first of those given, if it is done. */
struct pack_job *pack_take_done(struct pack *p);
void pack_put(struct pack *p, struct pack_job *job);

/* One chunk, here and now: the compressed bytes in `out`, or 0: no fewer than `room`. */
size_t pack_deflate(const uint8_t *in, size_t bytes, uint8_t *out, size_t room);
