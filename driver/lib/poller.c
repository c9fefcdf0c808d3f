/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libnanet3: polling of the board's event queue without system calls, see poller.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/lib/poller.h"
#include "driver/now.h"

enum look { LOOK_EMPTY, LOOK_EVENT, LOOK_OVERRUN };

void libnanet3_poller_fini(struct poller *p)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		libnanet3_poller_remove(p, i);
	}
}

/* ------------------------------------------------------------------------ ring state */

static const struct nanet3_event *ring_completion(const struct poller_link *l, uint64_t position)
{
	return (const struct nanet3_event *)((const uint8_t *)l->ring + NANET3_RING_COMPLETIONS) +
	       position % l->depth;
}

/* Take what the driver knows and we do not. Nothing we have not released is written over there. */
static void follow_ring(struct poller_link *l)
{
	uint64_t write = __atomic_load_n(&l->ring->write_position, __ATOMIC_ACQUIRE);

	if (l->ring->dma_epoch != l->dma_epoch || write <= l->write ||
	    write - l->release > l->depth) {
		return;
	}
	for (; l->write < write; l->write++) {
		l->completions[l->write % l->depth] = *ring_completion(l, l->write);
	}
	l->news = true;
}

static void follow_rings(struct poller *p)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (p->links[i].completions != NULL) {
			follow_ring(&p->links[i]);
		}
	}
}

int libnanet3_poller_add(struct poller *p, unsigned link, const struct nanet3_ring *ring,
			 uint32_t depth, uint32_t dma_epoch, volatile uint32_t *doorbell)
{
	struct poller_link *l = &p->links[link];

	*l = (struct poller_link){
		.ring = ring,
		.completions = calloc(depth, sizeof(*l->completions)),
		.doorbell = doorbell,
		.depth = depth,
		.dma_epoch = dma_epoch,
	};
	if (l->completions == NULL) {
		return -ENOMEM;
	}
	l->release = __atomic_load_n(&ring->release_position, __ATOMIC_ACQUIRE);
	l->write = l->release;
	follow_ring(l);
	return 0;
}

void libnanet3_poller_remove(struct poller *p, unsigned link)
{
	free(p->links[link].completions);
	p->links[link] = (struct poller_link){0};
}

/* ------------------------------------------------------------------------ queue */

static const struct nanet3_event *place(const struct poller *p, uint32_t sequence)
{
	return &p->events[(sequence - 1) & (p->size - 1)];
}

static uint32_t sequence_at(const struct poller *p, uint32_t sequence)
{
	return __atomic_load_n(&place(p, sequence)->sequence, __ATOMIC_ACQUIRE);
}

static bool later(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* Every load acquires, so that the number is checked after the copy also on machines
 * that reorder loads. */
static void copy_event(struct nanet3_event *to, const struct nanet3_event *from)
{
	uint64_t words[sizeof(*to) / 8] = {0};

	for (unsigned i = 0; i < sizeof(*to) / 8; i++) {
		words[i] = __atomic_load_n((const uint64_t *)from + i, __ATOMIC_ACQUIRE);
	}
	memcpy(to, words, sizeof(*to));
}

/* The event to come. Overrun: its place holds a later one, or may be under the board's pen, which is
 * so once the place before it belongs to the next lap. p->next is then where to go on. */
static enum look look(struct poller *p, struct nanet3_event *ret_event)
{
	uint32_t there = sequence_at(p, p->next);

	if (there == p->next) {
		copy_event(ret_event, place(p, p->next));
		if (!later(sequence_at(p, p->next - 1), p->next)) {
			p->next++;
			return LOOK_EVENT;
		}
		there = p->next + p->size;
	}
	if (!later(there, p->next)) {
		return LOOK_EMPTY;
	}
	p->overruns++;
	p->next = there - p->size + 1;
	return LOOK_OVERRUN;
}

/* Others' events, and those of an earlier DMA, are none of ours; a position that is known already came
 * by the ring state; one too far ahead comes that way. */
static void take(struct poller *p, struct nanet3_event *ev, uint64_t *now)
{
	struct poller_link *l = &p->links[ev->link % NANET3_LINKS];

	if (ev->type != NANET3_EVENT_RX || ev->link >= NANET3_LINKS || l->completions == NULL ||
	    ev->dma_epoch != l->dma_epoch || ev->position != l->write ||
	    l->write - l->release >= l->depth) {
		return;
	}
	if (*now == 0) {
		*now = nanet3_now_ns();
	}
	ev->time_ns = *now;
	l->completions[l->write % l->depth] = *ev;
	l->write++;
	l->news = true;
}

void libnanet3_poller_drain(struct poller *p)
{
	struct nanet3_event ev;
	uint64_t now = 0;

	for (uint32_t i = 0; i < 2 * p->size; i++) {
		enum look what = look(p, &ev);

		if (what == LOOK_EMPTY) {
			break;
		}
		if (what == LOOK_OVERRUN) {
			follow_rings(p);
		} else {
			take(p, &ev, &now);
		}
	}
	follow_rings(p);
}

int libnanet3_poller_news(struct poller *p, struct nanet3_event *ret_event)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		struct poller_link *l = &p->links[i];

		if (l->news) {
			l->news = false;
			*ret_event = l->completions[(l->write - 1) % l->depth];
			return 1;
		}
	}
	return 0;
}

int libnanet3_poller_release(struct poller *p, unsigned link, uint64_t position)
{
	struct poller_link *l = &p->links[link];

	if (position < l->release || position > l->write) {
		return -EINVAL;
	}
	l->release = position;
	/* All reading of the buffers comes before: the board may fill them from here on. */
	__atomic_store_n(&l->doorbell[1], (uint32_t)(position >> 32), __ATOMIC_RELEASE);
	__atomic_store_n(&l->doorbell[0], (uint32_t)position, __ATOMIC_RELEASE);
	return 0;
}
