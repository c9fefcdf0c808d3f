/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Owners that poll: they read the board's queue and ring the doorbell by themselves, in memory that
 * they share with us. The ring state is kept as ever, so that observers and the next owner find it.
 *
 *   board --events--> queue --mapped read-only--> owner --doorbell page--> here, at every step --> board
 *                       \--every few ms--> ring state
 */
#include <errno.h>

#include "driver/emu/host/private.h"

static bool polled(const struct host *h, unsigned link)
{
	return h->links[link].owner != NULL && h->links[link].owner->polling;
}

void doorbell_follow(struct host *h, unsigned link)
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

void polling_follow(struct host *h)
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
