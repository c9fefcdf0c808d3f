/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libnanet3: everything that does not depend on the way in. See libnanet3.h for the contract.
 *
 * Geometry is read from a ring's state once, checked, and kept: what is mapped later may change only
 * in its positions. A handle maps a link's state when it claims or observes it; buffers and owner
 * page only with a claim.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "driver/lib/nanet3_private.h"

struct lib_link {
	const struct nanet3_ring *ring; /* NULL: neither claimed nor observed */
	size_t ring_bytes;
	uint32_t depth, stride, chunk_buffers, chunk_count;
	uint8_t **chunks; /* NULL: not claimed */
	void *owner_page;
};

struct nanet3 {
	struct transport *transport;
	struct nanet3_info info;
	struct nanet3_queue *queue;
	size_t queue_bytes;
	uint64_t queue_read; /* ours */
	struct lib_link links[NANET3_LINKS];
};

static int request(struct nanet3 *b, uint32_t code, void *arg, size_t size)
{
	return b->transport->ops->request(b->transport, code, arg, size);
}

static int map(struct nanet3 *b, uint64_t what, size_t bytes, bool writable, void **ret_p)
{
	return b->transport->ops->map(b->transport, what, bytes, writable, ret_p);
}

static size_t pages(size_t bytes)
{
	return (bytes + NANET3_PAGE - 1) / NANET3_PAGE * NANET3_PAGE;
}

/* ------------------------------------------------------------------------ open and close */

static int queue_map(struct nanet3 *b)
{
	uint32_t size = b->info.queue_size;
	void *p;
	int r;

	if (size == 0 || size > (1u << 24) || (size & (size - 1)) != 0) {
		return -EPROTO;
	}
	b->queue_bytes = pages(NANET3_QUEUE_EVENTS + size * sizeof(struct nanet3_event));
	r = map(b, NANET3_MAP_QUEUE, b->queue_bytes, true, &p);
	if (r < 0) {
		return r;
	}
	b->queue = p;
	b->queue_read = __atomic_load_n(&b->queue->read, __ATOMIC_RELAXED);
	return 0;
}

int nanet3_open(const char *where, struct nanet3 **ret_board)
{
	struct nanet3 *b = calloc(1, sizeof(*b));
	int r;

	if (b == NULL) {
		return -ENOMEM;
	}
	if (strncmp(where, "unix:", 5) == 0) {
		r = sock_open(where + 5, &b->transport);
	} else {
		r = device_open(where, &b->transport);
	}
	if (r < 0) {
		goto fail;
	}
	b->info.version = NANET3_VERSION;
	r = request(b, NANET3_IOC_INFO, &b->info, sizeof(b->info));
	if (r == 0 && b->info.version != NANET3_VERSION) {
		r = -EPROTO;
	}
	if (r == 0) {
		b->info.name[sizeof(b->info.name) - 1] = '\0';
		r = queue_map(b);
	}
	if (r < 0) {
		goto fail;
	}
	*ret_board = b;
	return 0;

fail:
	nanet3_close(b);
	return r;
}

static void unmap_buffers(struct lib_link *l)
{
	size_t bytes = (size_t)l->chunk_buffers * l->stride, left = (size_t)l->depth * l->stride;

	if (l->owner_page != NULL) {
		munmap(l->owner_page, NANET3_PAGE);
	}
	for (uint32_t i = 0; l->chunks != NULL && i < l->chunk_count; i++) {
		if (l->chunks[i] != NULL) {
			munmap(l->chunks[i], left < bytes ? left : bytes);
		}
		left -= left < bytes ? left : bytes;
	}
	free(l->chunks);
	l->chunks = NULL;
	l->owner_page = NULL;
}

static void unmap_link(struct lib_link *l)
{
	unmap_buffers(l);
	if (l->ring != NULL) {
		munmap((void *)(uintptr_t)l->ring, l->ring_bytes);
	}
	*l = (struct lib_link){0};
}

void nanet3_close(struct nanet3 *b)
{
	if (b == NULL) {
		return;
	}
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		unmap_link(&b->links[i]);
	}
	if (b->queue != NULL) {
		munmap(b->queue, b->queue_bytes);
	}
	if (b->transport != NULL) {
		b->transport->ops->close(b->transport);
	}
	free(b);
}

const struct nanet3_info *nanet3_info(const struct nanet3 *b)
{
	return &b->info;
}

/* ------------------------------------------------------------------------ events */

int nanet3_fd(const struct nanet3 *b)
{
	return b->transport->ops->fd(b->transport);
}

static bool queue_empty(const struct nanet3 *b)
{
	return __atomic_load_n(&b->queue->write, __ATOMIC_ACQUIRE) == b->queue_read;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int nanet3_wait(struct nanet3 *b, int timeout_ms)
{
	int64_t until = timeout_ms > 0 ? now_ms() + timeout_ms : 0;

	for (;;) {
		int r;

		b->transport->ops->clear(b->transport);
		if (!queue_empty(b)) {
			return 1;
		}
		r = b->transport->ops->wait(b->transport, timeout_ms);
		if (r <= 0) {
			/* What came last is still to be had when the board has gone. */
			return r == -ENODEV && !queue_empty(b) ? 1 : r;
		}
		if (timeout_ms > 0) {
			int64_t left = until - now_ms();

			timeout_ms = left > 0 ? (int)left : 0;
		}
	}
}

int nanet3_next_event(struct nanet3 *b, struct nanet3_event *ret_event)
{
	const struct nanet3_event *events =
		(const struct nanet3_event *)((const uint8_t *)b->queue + NANET3_QUEUE_EVENTS);

	if (queue_empty(b)) {
		return 0;
	}
	*ret_event = events[b->queue_read & (b->info.queue_size - 1)];
	b->queue_read++;
	__atomic_store_n(&b->queue->read, b->queue_read, __ATOMIC_RELEASE);
	return 1;
}

uint64_t nanet3_events_lost(const struct nanet3 *b)
{
	return __atomic_load_n(&b->queue->lost, __ATOMIC_RELAXED);
}

int nanet3_subscribe(struct nanet3 *b, uint32_t mask)
{
	struct nanet3_subscribe s = {.mask = mask};

	return request(b, NANET3_IOC_SUBSCRIBE, &s, sizeof(s));
}

/* ------------------------------------------------------------------------ links */

static bool geometry_sound(const struct nanet3_ring *ring, unsigned link)
{
	uint64_t chunk = (uint64_t)ring->chunk_buffers * ring->buffer_stride;

	return ring->version == NANET3_VERSION && ring->link == link && ring->depth > 0 &&
	       ring->depth <= (1u << 24) && ring->buffer_stride % NANET3_PAGE == 0 &&
	       (uint64_t)ring->frames_per_buffer * NANET3_FRAME_BYTES <= ring->buffer_stride &&
	       ring->frames_per_buffer > 0 && chunk > 0 && chunk <= NANET3_CHUNK_MAX &&
	       ring->chunks == (ring->depth + ring->chunk_buffers - 1) / ring->chunk_buffers;
}

/* Map a ring's state: its first page tells how long all of it is. */
static int map_state(struct nanet3 *b, unsigned link)
{
	struct lib_link *l = &b->links[link];
	const struct nanet3_ring *ring;
	void *p;
	int r;

	if (l->ring != NULL) {
		return 0;
	}
	r = map(b, NANET3_MAP_RING(link), NANET3_PAGE, false, &p);
	if (r < 0) {
		return r;
	}
	ring = p;
	if (!geometry_sound(ring, link)) {
		munmap(p, NANET3_PAGE);
		return -EPROTO;
	}
	l->depth = ring->depth;
	l->stride = ring->buffer_stride;
	l->chunk_buffers = ring->chunk_buffers;
	l->chunk_count = ring->chunks;
	munmap(p, NANET3_PAGE);
	l->ring_bytes = NANET3_RING_COMPLETIONS + pages(l->depth * sizeof(struct nanet3_event));
	r = map(b, NANET3_MAP_RING(link), l->ring_bytes, false, &p);
	if (r < 0) {
		return r;
	}
	l->ring = p;
	return 0;
}

static int map_buffers(struct nanet3 *b, unsigned link)
{
	struct lib_link *l = &b->links[link];
	size_t bytes = (size_t)l->chunk_buffers * l->stride, left = (size_t)l->depth * l->stride;
	void *p;
	int r;

	l->chunks = calloc(l->chunk_count, sizeof(*l->chunks));
	if (l->chunks == NULL) {
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < l->chunk_count; i++) {
		r = map(b, NANET3_MAP_CHUNK(link, i), left < bytes ? left : bytes, false, &p);
		if (r < 0) {
			return r;
		}
		l->chunks[i] = p;
		left -= left < bytes ? left : bytes;
	}
	r = map(b, NANET3_MAP_OWNER(link), NANET3_PAGE, true, &p);
	if (r < 0) {
		return r;
	}
	l->owner_page = p;
	return 0;
}

int nanet3_claim(struct nanet3 *b, unsigned link, uint32_t flags, bool *ret_taken_over)
{
	struct nanet3_claim claim = {.link = link, .flags = flags};
	int r = request(b, NANET3_IOC_CLAIM, &claim, sizeof(claim));

	if (r < 0) {
		return r;
	}
	r = map_state(b, link);
	if (r == 0) {
		r = map_buffers(b, link);
	}
	if (r < 0) {
		/* Without its memory the claim is of no use; a ring taken over is lost with it. */
		(void)nanet3_yield(b, link);
		unmap_link(&b->links[link]);
		return r;
	}
	if (ret_taken_over != NULL) {
		*ret_taken_over = claim.flags & NANET3_CLAIMED_TAKEOVER;
	}
	return 0;
}

int nanet3_yield(struct nanet3 *b, unsigned link)
{
	uint32_t arg = link;
	int r = request(b, NANET3_IOC_YIELD, &arg, sizeof(arg));

	if (r == 0) {
		unmap_buffers(&b->links[link]);
	}
	return r;
}

int nanet3_observe(struct nanet3 *b, unsigned link)
{
	return link < NANET3_LINKS ? map_state(b, link) : -EINVAL;
}

/* ------------------------------------------------------------------------ rings */

const struct nanet3_ring *nanet3_ring(const struct nanet3 *b, unsigned link)
{
	return link < NANET3_LINKS ? b->links[link].ring : NULL;
}

uint64_t nanet3_write_position(const struct nanet3 *b, unsigned link)
{
	const struct nanet3_ring *ring = nanet3_ring(b, link);

	return ring != NULL ? __atomic_load_n(&ring->write_position, __ATOMIC_ACQUIRE) : 0;
}

uint64_t nanet3_release_position(const struct nanet3 *b, unsigned link)
{
	const struct nanet3_ring *ring = nanet3_ring(b, link);

	return ring != NULL ? __atomic_load_n(&ring->release_position, __ATOMIC_ACQUIRE) : 0;
}

const struct nanet3_event *nanet3_completion(const struct nanet3 *b, unsigned link,
					     uint64_t position)
{
	const struct nanet3_ring *ring = nanet3_ring(b, link);

	if (ring == NULL) {
		return NULL;
	}
	return (const struct nanet3_event *)((const uint8_t *)ring + NANET3_RING_COMPLETIONS) +
	       position % b->links[link].depth;
}

const uint8_t *nanet3_buffer(const struct nanet3 *b, unsigned link, uint64_t position)
{
	const struct lib_link *l = link < NANET3_LINKS ? &b->links[link] : NULL;
	uint64_t buffer;

	if (l == NULL || l->chunks == NULL) {
		return NULL;
	}
	buffer = position % l->depth;
	return l->chunks[buffer / l->chunk_buffers] + buffer % l->chunk_buffers * l->stride;
}

void *nanet3_owner_page(const struct nanet3 *b, unsigned link)
{
	return link < NANET3_LINKS ? b->links[link].owner_page : NULL;
}

int nanet3_release(struct nanet3 *b, unsigned link, uint64_t position)
{
	struct nanet3_release arg = {.link = link, .position = position};

	return request(b, NANET3_IOC_RELEASE, &arg, sizeof(arg));
}

/* ------------------------------------------------------------------------ words and registers */

int nanet3_send(struct nanet3 *b, const struct nanet3_tx *tx)
{
	struct nanet3_tx arg = *tx;

	return request(b, NANET3_IOC_SEND, &arg, sizeof(arg));
}

int nanet3_reg_read(struct nanet3 *b, uint32_t offset, uint32_t *ret_values, unsigned count)
{
	struct nanet3_regs arg = {.offset = offset, .count = count};
	int r;

	if (count == 0 || count > NANET3_REGS_MAX) {
		return -EINVAL;
	}
	r = request(b, NANET3_IOC_REG_READ, &arg, sizeof(arg));
	if (r == 0) {
		memcpy(ret_values, arg.values, count * sizeof(*ret_values));
	}
	return r;
}

int nanet3_reg_write(struct nanet3 *b, uint32_t offset, uint32_t value)
{
	struct nanet3_regs arg = {.offset = offset, .count = 1, .values = {value}};

	return request(b, NANET3_IOC_REG_WRITE, &arg, sizeof(arg));
}

int nanet3_link_command(struct nanet3 *b, unsigned link, uint32_t command)
{
	struct nanet3_link_command arg = {.link = link, .command = command};

	return request(b, NANET3_IOC_LINK_CMD, &arg, sizeof(arg));
}
