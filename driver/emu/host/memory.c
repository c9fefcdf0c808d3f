/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of the user-space host: what board and clients share (memfd), and the bus addresses under
 * which the board reaches it.
 *
 * Ring memory is allocated by the kernel page by page as the board first writes it. Chunks of a link
 * lie back to back in one memfd, so a chunk's descriptor is the link's and an offset.
 *
 * A ring is written from end to end and never stays in a cache: with pages of 4 KiB, each frame
 * costs four misses of the TLB, and in a virtual machine such a miss can cost microseconds. The
 * kernel gives huge pages where the host allows them: transparent_hugepage/shmem_enabled.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver/emu/host/private.h"

/* A second, read-only descriptor of the same memory, for those who may only look. */
static int reopen_read_only(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int shared_create(const char *name, size_t bytes, bool sealed_writes, struct shared *ret_shared)
{
	struct shared s = {.fd = -1, .read_fd = -1, .p = MAP_FAILED, .bytes = bytes};
	int r, seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	s.fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s.fd < 0 || ftruncate(s.fd, (off_t)bytes) != 0) {
		goto fail;
	}
	s.p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0);
	if (s.p == MAP_FAILED) {
		goto fail;
	}
	(void)madvise(s.p, bytes, MADV_HUGEPAGE); /* a kernel without them has small ones */
	/* Our own mapping above stays writable, no later one is. */
	if (fcntl(s.fd, F_ADD_SEALS, sealed_writes ? seals | F_SEAL_FUTURE_WRITE : seals) != 0) {
		goto fail;
	}
	s.read_fd = reopen_read_only(s.fd);
	if (s.read_fd < 0) {
		goto fail;
	}
	*ret_shared = s;
	return 0;

fail:
	r = -errno;
	if (s.p != MAP_FAILED) {
		munmap(s.p, bytes);
	}
	if (s.fd >= 0) {
		close(s.fd);
	}
	return r;
}

void shared_destroy(struct shared *s)
{
	if (s->p == NULL) {
		return;
	}
	munmap(s->p, s->bytes);
	close(s->read_fd);
	close(s->fd);
	*s = (struct shared){.fd = -1, .read_fd = -1};
}

/* ------------------------------------------------------------------------ geometry */

static uint32_t round_up(uint64_t value, uint32_t to)
{
	return (uint32_t)((value + to - 1) / to * to);
}

static int geometry(const struct host_config *c, struct nanet3_ring *ret_ring)
{
	uint32_t stride =
		round_up((uint64_t)c->frames_per_buffer * NANET3_FRAME_BYTES, NANET3_PAGE);
	uint64_t depth, chunks;

	if (c->frames_per_buffer == 0 || stride > NANET3_CHUNK_MAX || c->depth_ms == 0 ||
	    c->depth_ms > 60000) {
		return -EINVAL;
	}
	depth = (uint64_t)c->depth_ms * (NANET3_FRAMES_PER_SECOND / 1000u) / c->frames_per_buffer;
	depth = depth < HOST_DEPTH_MIN ? HOST_DEPTH_MIN : depth;
	chunks = (depth + NANET3_CHUNK_MAX / stride - 1) / (NANET3_CHUNK_MAX / stride);
	if (chunks > 4096) { /* as many as NANET3_MAP_CHUNK can name */
		return -EINVAL;
	}
	ret_ring->version = NANET3_ABI_VERSION;
	ret_ring->frames_per_buffer = c->frames_per_buffer;
	ret_ring->buffer_stride = stride;
	ret_ring->depth = (uint32_t)depth;
	ret_ring->chunk_buffers = NANET3_CHUNK_MAX / stride;
	ret_ring->chunks = (uint32_t)chunks;
	ret_ring->deadline_us = c->deadline_us;
	ret_ring->linger_ms = c->linger_ms;
	return 0;
}

/* ------------------------------------------------------------------------ all of it */

static int link_memory_create(struct host *h, unsigned link, const struct nanet3_ring *shape)
{
	struct host_link *l = &h->links[link];
	uint64_t stride = shape->buffer_stride, depth = shape->depth;
	int r = shared_create("nanet3-ring", stride * depth, true, &l->ring_memory);

	if (r == 0) {
		r = shared_create("nanet3-state",
				  NANET3_RING_COMPLETIONS +
					  round_up(depth * sizeof(*l->completions), NANET3_PAGE),
				  true, &l->state);
	}
	l->table = calloc(depth, sizeof(*l->table));
	if (r == 0 && l->table == NULL) {
		r = -ENOMEM;
	}
	if (r < 0) {
		return r;
	}
	l->ring = (struct nanet3_ring *)l->state.p;
	l->completions = (struct nanet3_event *)(l->state.p + NANET3_RING_COMPLETIONS);
	*l->ring = *shape;
	l->ring->link = link;
	for (uint64_t i = 0; i < depth; i++) {
		l->table[i] = HOST_BUS(REGION_RING + link) + i * stride;
	}
	h->regions[REGION_RING + link] = (struct region){l->ring_memory.p, l->ring_memory.bytes};
	h->regions[REGION_TABLE + link] =
		(struct region){(uint8_t *)l->table, depth * sizeof(*l->table)};
	return 0;
}

int host_memory_create(struct host *h)
{
	struct nanet3_ring shape = {0};
	int r = geometry(&h->config, &shape);

	for (unsigned i = 0; r == 0 && i < NANET3_LINKS; i++) {
		r = link_memory_create(h, i, &shape);
	}
	if (r < 0) {
		return r;
	}
	/* One event for each buffer of all rings, and ample room for control events. */
	h->evq_size = 1024;
	while (h->evq_size < NANET3_LINKS * shape.depth + 1024u) {
		h->evq_size *= 2;
	}
	r = shared_create("nanet3-events", h->evq_size * sizeof(*h->evq), true, &h->evq_memory);
	if (r < 0) {
		return r;
	}
	h->evq = (struct nanet3_event *)h->evq_memory.p;
	h->tx_ring = calloc(HOST_TX_SLOTS, NANET3_TX_STRIDE);
	if (h->tx_ring == NULL) {
		return -ENOMEM;
	}
	h->regions[REGION_EVQ] = (struct region){(uint8_t *)h->evq, h->evq_size * sizeof(*h->evq)};
	h->regions[REGION_TX] =
		(struct region){h->tx_ring, (uint64_t)HOST_TX_SLOTS * NANET3_TX_STRIDE};
	return 0;
}

void host_memory_destroy(struct host *h)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		shared_destroy(&h->links[i].ring_memory);
		shared_destroy(&h->links[i].state);
		shared_destroy(&h->links[i].owner_page);
		shared_destroy(&h->links[i].doorbell);
		free(h->links[i].table);
	}
	shared_destroy(&h->evq_memory);
	free(h->tx_ring);
}

void *host_map(void *context, uint64_t bus, uint32_t length, bool write)
{
	struct host *h = context;
	uint64_t id = bus >> 36, offset = bus & ((1ull << 36) - 1);

	if (id >= REGIONS || h->regions[id].bytes < length ||
	    offset > h->regions[id].bytes - length) {
		return NULL;
	}
	return h->regions[id].p + offset;
}
