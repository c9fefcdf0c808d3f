/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libnanet3: links and their rings, polling.
 *
 * Geometry is read from a ring's state once, checked, and kept: afterwards only positions are read from
 * the mapping. A handle maps a link's state when it claims or observes it; buffers and owner
 * page only with a claim, doorbell and the board's queue only for polling.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "driver/lib/nanet3_private.h"

/* ------------------------------------------------------------------------ mappings */

static bool geometry_sound(const struct nanet3_ring *ring, unsigned link)
{
	uint64_t chunk = (uint64_t)ring->chunk_buffers * ring->buffer_stride;

	return ring->version >= NANET3_ABI_VERSION_MIN && ring->link == link && ring->depth > 0 &&
	       ring->depth <= (1u << 24) && ring->buffer_stride % NANET3_PAGE == 0 &&
	       (uint64_t)ring->frames_per_buffer * NANET3_FRAME_BYTES <= ring->buffer_stride &&
	       ring->frames_per_buffer > 0 && chunk > 0 && chunk <= NANET3_CHUNK_MAX &&
	       ring->chunks == (ring->depth + ring->chunk_buffers - 1) / ring->chunk_buffers;
}

/* Map a ring's state: its first page says how long all of it is. */
static int map_state(struct nanet3 *b, unsigned link)
{
	struct lib_link *l = &b->links[link];
	const struct nanet3_ring *ring;
	void *p;
	int r;

	if (l->ring != NULL) {
		return 0;
	}
	r = libnanet3_map(b, NANET3_MAP_RING(link), NANET3_PAGE, false, &p);
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
	l->ring_bytes =
		NANET3_RING_COMPLETIONS + libnanet3_pages(l->depth * sizeof(struct nanet3_event));
	r = libnanet3_map(b, NANET3_MAP_RING(link), l->ring_bytes, false, &p);
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
	int r = 0;

	l->chunks = calloc(l->chunk_count, sizeof(*l->chunks));
	if (l->chunks == NULL) {
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < l->chunk_count && r == 0; i++) {
		r = libnanet3_map(b, NANET3_MAP_CHUNK(link, i), left < bytes ? left : bytes, false,
				  &l->chunks[i]);
		left -= left < bytes ? left : bytes;
	}
	return r < 0 ? r
		     : libnanet3_map(b, NANET3_MAP_OWNER(link), NANET3_PAGE, true, &l->owner_page);
}

static void unmap_doorbell(struct lib_link *l)
{
	if (l->doorbell != NULL) {
		munmap((void *)(uintptr_t)l->doorbell, NANET3_PAGE);
	}
	l->doorbell = NULL;
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

/* Forget what polling has mapped. */
static void polling_end(struct nanet3 *b)
{
	if (b->polling == NULL) {
		return;
	}
	libnanet3_poller_fini(&b->polling->poller);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		unmap_doorbell(&b->links[i]);
	}
	munmap((void *)(uintptr_t)b->polling->poller.events, b->polling->bytes);
	free(b->polling);
	b->polling = NULL;
}

void libnanet3_links_unmap(struct nanet3 *b)
{
	polling_end(b);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		unmap_link(&b->links[i]);
	}
}

/* ------------------------------------------------------------------------ polling */

static int polling_map(struct nanet3 *b, const struct nanet3_polling *arg)
{
	struct lib_polling *p;
	void *events;
	int r;

	if (arg->queue_size == 0 || arg->queue_size > (1u << 27) ||
	    (arg->queue_size & (arg->queue_size - 1)) != 0) {
		return -EPROTO;
	}
	p = calloc(1, sizeof(*p));
	if (p == NULL) {
		return -ENOMEM;
	}
	p->bytes = libnanet3_pages(arg->queue_size * sizeof(struct nanet3_event));
	r = libnanet3_map(b, NANET3_MAP_EVENTS, p->bytes, false, &events);
	if (r < 0) {
		free(p);
		return r;
	}
	p->poller = (struct poller){
		.events = events, .size = arg->queue_size, .next = arg->next_sequence};
	b->polling = p;
	return 0;
}

/* Follow a link of ours that is not yet followed. */
static int polling_add(struct nanet3 *b, unsigned link)
{
	struct lib_link *l = &b->links[link];
	void *doorbell;
	int r;

	if (l->chunks == NULL || l->doorbell != NULL) {
		return 0;
	}
	r = libnanet3_map(b, NANET3_MAP_DOORBELL(link), NANET3_PAGE, true, &doorbell);
	if (r < 0) {
		return r;
	}
	l->doorbell = doorbell;
	return libnanet3_poller_add(&b->polling->poller, link, l->ring, l->depth, l->dma_epoch,
				    l->doorbell);
}

/* Polling on for all links that are ours, again for those that have become so since. */
static int polling_begin(struct nanet3 *b)
{
	struct nanet3_polling arg = {.on = 1};
	int r = libnanet3_request(b, NANET3_IOC_POLLING, &arg, sizeof(arg));

	if (r == 0 && b->polling == NULL) {
		r = polling_map(b, &arg);
	} else if (r == 0) {
		/* Anything before is in the ring states. */
		b->polling->poller.next = arg.next_sequence;
	}
	for (unsigned i = 0; i < NANET3_LINKS && r == 0; i++) {
		r = polling_add(b, i);
	}
	return r;
}

int nanet3_polling(struct nanet3 *b, bool on)
{
	struct nanet3_polling off = {.on = 0};
	int r;

	if (!on) {
		r = libnanet3_request(b, NANET3_IOC_POLLING, &off, sizeof(off));
		polling_end(b);
		return r;
	}
	r = polling_begin(b);
	if (r < 0 && b->polling != NULL) {
		(void)nanet3_polling(b, false);
	}
	return r;
}

/* ------------------------------------------------------------------------ claiming */

int nanet3_claim(struct nanet3 *b, unsigned link, uint32_t flags, bool *ret_taken_over)
{
	struct nanet3_claim claim = {.link = link, .flags = flags};
	int r = libnanet3_request(b, NANET3_IOC_CLAIM, &claim, sizeof(claim));

	if (r < 0) {
		return r;
	}
	r = map_state(b, link);
	if (r == 0) {
		b->links[link].dma_epoch = claim.dma_epoch;
		r = map_buffers(b, link);
	}
	if (r == 0 && b->polling != NULL) {
		r = polling_begin(b);
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
	bool any = false;
	int r = libnanet3_request(b, NANET3_IOC_YIELD, &arg, sizeof(arg));

	if (r < 0) {
		return r;
	}
	unmap_buffers(&b->links[link]);
	if (b->polling == NULL) {
		return 0;
	}
	libnanet3_poller_remove(&b->polling->poller, link);
	unmap_doorbell(&b->links[link]);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		any = any || b->links[i].chunks != NULL;
	}
	if (!any) {
		polling_end(b); /* the driver's has ended as well */
	}
	return 0;
}

int nanet3_grant(struct nanet3 *b, unsigned link, uint64_t handle)
{
	struct nanet3_grant arg = {.link = link, .handle = handle};

	return libnanet3_request(b, NANET3_IOC_GRANT, &arg, sizeof(arg));
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

/* NULL: not polled. */
static const struct poller_link *polled_link(const struct nanet3 *b, unsigned link)
{
	return b->polling != NULL && poller_has(&b->polling->poller, link)
		       ? &b->polling->poller.links[link]
		       : NULL;
}

uint64_t nanet3_write_position(const struct nanet3 *b, unsigned link)
{
	const struct nanet3_ring *ring = nanet3_ring(b, link);
	const struct poller_link *l = polled_link(b, link);

	if (l != NULL) {
		libnanet3_poller_drain(&b->polling->poller);
		return l->write;
	}
	return ring != NULL ? __atomic_load_n(&ring->write_position, __ATOMIC_ACQUIRE) : 0;
}

uint64_t nanet3_release_position(const struct nanet3 *b, unsigned link)
{
	const struct nanet3_ring *ring = nanet3_ring(b, link);
	const struct poller_link *l = polled_link(b, link);

	if (l != NULL) {
		return l->release;
	}
	return ring != NULL ? __atomic_load_n(&ring->release_position, __ATOMIC_ACQUIRE) : 0;
}

const struct nanet3_event *nanet3_completion(const struct nanet3 *b, unsigned link,
					     uint64_t position)
{
	const struct nanet3_ring *ring = nanet3_ring(b, link);
	const struct poller_link *l = polled_link(b, link);

	if (ring == NULL) {
		return NULL;
	}
	if (l != NULL) {
		return &l->completions[position % l->depth];
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
	return (const uint8_t *)l->chunks[buffer / l->chunk_buffers] +
	       buffer % l->chunk_buffers * l->stride;
}

void *nanet3_owner_page(const struct nanet3 *b, unsigned link)
{
	return link < NANET3_LINKS ? b->links[link].owner_page : NULL;
}

int nanet3_release(struct nanet3 *b, unsigned link, uint64_t position)
{
	struct nanet3_release arg = {.link = link, .position = position};

	if (polled_link(b, link) != NULL) {
		return b->polling->gone
			       ? -ENODEV
			       : libnanet3_poller_release(&b->polling->poller, link, position);
	}
	return libnanet3_request(b, NANET3_IOC_RELEASE, &arg, sizeof(arg));
}
