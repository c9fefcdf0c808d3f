/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user-space host's owners of links: claim, stop, polling, and the ring that a new owner takes over when a client
 * disconnects.
 *
 * An owner that polls reads the board's queue and rings the doorbell by itself, in memory that it shares
 * with the host. The ring state is still kept up to date, for observers and the next owner.
 *
 *   board --events--> queue --mapped read-only--> owner --doorbell page--> here, at every step --> board
 *                       \--every few ms--> ring state
 */
#include <errno.h>
#include <unistd.h>

#include "driver/emu/host/private.h"

/* ------------------------------------------------------------------------ polling */

static bool polled(const struct host *h, unsigned link)
{
	return h->links[link].owner != NULL && h->links[link].owner->polling;
}

static void doorbell_follow(struct host *h, unsigned link)
{
	struct nanet3_ring *ring = h->links[link].ring;
	uint64_t position;

	if (!polled(h, link)) {
		return;
	}
	position = __atomic_load_n((const uint64_t *)h->links[link].doorbell.p, __ATOMIC_ACQUIRE);
	if (position <= ring->release_position) {
		return;
	}
	if (position > ring->write_position) {
		host_drain(h); /* the owner has seen more than we have */
	}
	if (position > ring->write_position) {
		return;
	}
	__atomic_store_n(&ring->release_position, position, __ATOMIC_RELEASE);
	host_write_pair(h, NANET3_REG_DOORBELL(link), position);
}

void doorbells_follow(struct host *h)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		doorbell_follow(h, i);
	}
}

/* Owners have changed: who polls without a link no longer does, and interrupts follow. */
static void polling_follow(struct host *h)
{
	uint32_t mask = (1u << NANET3_VECTORS) - 1;

	for (unsigned i = 0; i < HOST_CLIENTS; i++) {
		struct client *c = &h->clients[i];

		c->polling = c->polling && links_of(h, c, false) != 0;
	}
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		mask &= polled(h, i) ? ~(1u << i) : ~0u;
	}
	board_reg_write(h->board, NANET3_REG_IRQ_MASK, mask);
}

int polling_set(struct host *h, struct client *c, void *arg)
{
	struct nanet3_polling *polling = arg;
	const bool on = polling->on != 0;

	if (polling->on > 1 || polling->reserved != 0) {
		return -EINVAL;
	}
	doorbells_follow(h); /* while it still counts */
	host_drain(h);
	if (links_of(h, c, false) == 0) {
		return -EPERM;
	}
	c->polling = on;
	polling_follow(h);
	*polling = (struct nanet3_polling){
		.on = on, .queue_size = h->evq_size, .next_sequence = h->evq_read + 1};
	return 0;
}

/* ------------------------------------------------------------------------ ownership */

static int link_start(struct host *h, unsigned link)
{
	struct host_link *l = &h->links[link];
	uint32_t control = NANET3_REG_LINK(link, NANET3_LREG_CONTROL);
	struct shared page;
	int r = shared_create("nanet3-owner", NANET3_PAGE, false, &page);

	if (r < 0) {
		return r;
	}
	shared_destroy(&l->owner_page);
	l->owner_page = page;
	l->ring->dma_epoch++;
	l->ring->start_count = 0;
	__atomic_store_n(&l->ring->release_position, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&l->ring->write_position, 0, __ATOMIC_RELEASE);
	board_reg_write(h->board, NANET3_REG_DMA_EPOCH, l->ring->dma_epoch);
	board_reg_write(h->board, control, NANET3_LINK_ENABLE);
	return board_reg_read(h->board, control) & NANET3_LINK_ENABLE ? 0 : -EIO;
}

void link_stop(struct host *h, unsigned link)
{
	struct host_link *l = &h->links[link];

	doorbell_follow(h, link);
	host_drain(h);
	board_reg_write(h->board, NANET3_REG_LINK(link, NANET3_LREG_CONTROL), 0);
	l->ring->status = NANET3_RING_STOPPED;
	l->ring->owner_pid = 0;
	l->owner = l->delegate = NULL;
	l->broken = false;
	l->latest.type = NANET3_EVENT_NONE;
	polling_follow(h);
}

static void link_linger(struct host *h, unsigned link)
{
	struct host_link *l = &h->links[link];

	doorbell_follow(h, link); /* the last it said */
	l->owner = l->delegate = NULL;
	l->ring->owner_pid = 0;
	h->counts.links[link].lingers++;
	l->ring->status = NANET3_RING_LINGERING;
	l->linger_until_ns = nanet3_now_ns() + (uint64_t)h->config.linger_ms * 1000000u;
	l->latest.type = NANET3_EVENT_NONE;
}

void client_drop(struct host *h, struct client *c)
{
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (h->links[i].owner == c) {
			link_linger(h, i);
		}
		if (h->links[i].delegate == c) {
			h->links[i].delegate = NULL;
		}
	}
	buffers_drop(h, c);
	tx_ring_bell(h); /* for what it has held back, if anything */
	close(c->fd);
	close(c->event_fd);
	shared_destroy(&c->queue);
	*c = (struct client){.fd = -1, .event_fd = -1};
	h->counts.clients--;
	polling_follow(h);
}

int link_claim(struct host *h, struct client *c, struct nanet3_claim *claim)
{
	struct host_link *l = &h->links[claim->link];
	struct shared doorbell;
	int r;

	if (l->owner != NULL && l->owner != c && client_hung_up(l->owner)) {
		client_drop(h, l->owner);
	}
	if (l->owner != NULL) {
		return -EBUSY;
	}
	r = shared_create("nanet3-doorbell", NANET3_PAGE, false, &doorbell);
	if (r < 0) {
		return r;
	}
	if (l->ring->status == NANET3_RING_LINGERING && !l->broken &&
	    !(claim->flags & NANET3_CLAIM_FRESH)) {
		claim->flags = NANET3_CLAIMED_TAKEOVER;
		h->counts.links[claim->link].takeovers++;
	} else {
		link_stop(h, claim->link);
		r = link_start(h, claim->link);
		if (r < 0) {
			shared_destroy(&doorbell);
			return r;
		}
		claim->flags = 0;
		h->counts.links[claim->link].starts++;
	}
	shared_destroy(&l->doorbell);
	l->doorbell = doorbell;
	l->owner = c;
	l->ring->owner_pid = (uint32_t)c->pid;
	l->ring->status = NANET3_RING_OWNED;
	claim->dma_epoch = l->ring->dma_epoch;
	polling_follow(h);
	return 0;
}
