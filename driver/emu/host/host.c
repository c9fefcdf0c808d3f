/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user-space host: create and destroy, the board's set-up, the step. The states of a link:
 *
 *   STOPPED --claim--> OWNED --owner's socket closes--> LINGERING --time passes--> STOPPED
 *      ^                 |  ^                               |
 *      +-----yield-------+  +-------claim: take-over--------+   (FRESH: stop, then start)
 *
 * A DMA start counts the link's epoch, zeroes positions and gives a new, zeroed owner page (the last
 * owner may still map the old one). Everything else survives the owner.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "driver/emu/host/private.h"
#include "driver/emu/world/world.h"

/* Stop the links that have lingered long enough, and those that ring and board do not agree about: they would
 * not again by themselves, so the owner starts over. */
static void links_check(struct host *h)
{
	uint64_t now = nanet3_now_ns();

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		struct host_link *l = &h->links[i];
		struct client *owner = l->owner;

		if (l->broken ||
		    (l->ring->status == NANET3_RING_LINGERING && now >= l->linger_until_ns)) {
			link_stop(h, i);
			if (owner != NULL) {
				client_gone(h, owner);
			}
		}
	}
}

static void host_irq(void *context, unsigned vector)
{
	struct host *h = context;

	h->irq = true; /* one queue, one thread: which one does not matter here */
	if (vector < NANET3_LINKS) {
		h->counts.links[vector].interrupts++;
	} else {
		h->counts.control_interrupts++;
	}
}

/* Announce data to owners: one event per link, however many buffers there are. The time to the next announcement
 * counts from one that had something to announce. */
static void announce(struct host *h)
{
	bool announced = false;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		struct host_link *l = &h->links[i];

		if (l->latest.type != NANET3_EVENT_NONE && l->owner != NULL && !l->owner->polling) {
			client_post(h, l->owner, &l->latest);
			announced = true;
		}
		l->latest.type = NANET3_EVENT_NONE;
	}
	if (announced) {
		h->announced_ns = nanet3_now_ns();
	}
}

/* ------------------------------------------------------------------------ the board itself */

static void board_set_up(struct host *h)
{
	struct board *b = h->board;

	memset(h->evq, 0, h->evq_memory.bytes); /* sequence numbers start again */
	h->evq_read = 0;
	h->irq = false;
	host_tx_reset(h);
	board_reg_write(b, NANET3_REG_CONTROL, NANET3_CONTROL_RESET);
	host_write_pair(h, NANET3_REG_EVQ_BASE, HOST_BUS(REGION_EVQ));
	board_reg_write(b, NANET3_REG_EVQ_SIZE, h->evq_size);
	host_write_pair(h, NANET3_REG_TX_BASE, HOST_BUS(REGION_TX));
	board_reg_write(b, NANET3_REG_TX_SIZE, HOST_TX_SLOTS);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		const struct nanet3_ring *ring = h->links[i].ring;

		host_write_pair(h, NANET3_REG_LINK(i, NANET3_LREG_TABLE),
				HOST_BUS(REGION_TABLE + i));
		board_reg_write(b, NANET3_REG_LINK(i, NANET3_LREG_DEPTH), ring->depth);
		board_reg_write(b, NANET3_REG_LINK(i, NANET3_LREG_FRAMES), ring->frames_per_buffer);
		board_reg_write(b, NANET3_REG_LINK(i, NANET3_LREG_DEADLINE), ring->deadline_us);
	}
	board_reg_write(b, NANET3_REG_IRQ_MASK, (1u << NANET3_VECTORS) - 1);
	board_reg_write(b, NANET3_REG_CONTROL, NANET3_CONTROL_EVENTS | NANET3_CONTROL_TX);
}

/* The board went off the bus, or is back as after power-up. */
static void gone_changed(struct host *h)
{
	h->gone = !h->gone;
	if (!h->gone) {
		board_set_up(h);
		return;
	}
	clients_gone(h);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		link_stop(h, i);
	}
}

/* ------------------------------------------------------------------------ step and poll */

void host_step(struct host *h)
{
	board_step(h->board);
	h->stats.steps++;
	if (board_gone(h->board) != h->gone) {
		gone_changed(h);
	}
	doorbells_follow(h);
	/* Interrupts get lost, and polling owners have none: the queue is looked at now and then, and at
	 * full speed always, as it is the ring state that holds the board back. */
	if (h->irq || h->stats.steps % HOST_FOLLOW_STEPS == 0 ||
	    h->config.speed == HOST_SPEED_MAX) {
		host_drain(h);
	}
}

static void poll_event(struct host *h, uint64_t id)
{
	struct client *c;

	if (id == HOST_LISTEN_ID) {
		clients_accept(h);
		return;
	}
	if (id == HOST_TIMER_ID) { /* it has ended the wait, that is all */
		return;
	}
	c = client_by_id(h, (uint32_t)id); /* may have been dropped by an earlier event */
	if (c != NULL) {
		client_service(h, c);
	}
}

int host_poll(struct host *h, int timeout_ms)
{
	struct epoll_event events[16];
	int n;

	if (nanet3_now_ns() - h->announced_ns >= HOST_TICK_NS) {
		announce(h);
	}
	clients_wake(h);
	n = epoll_wait(h->epoll_fd, events, (int)(sizeof(events) / sizeof(events[0])), timeout_ms);
	if (n < 0) {
		return -errno;
	}
	for (int i = 0; i < n; i++) {
		poll_event(h, events[i].data.u64);
	}
	links_check(h);
	doorbells_follow(h); /* at full speed the next step may wait for just that */
	clients_wake(h);
	return 0;
}

/* ------------------------------------------------------------------------ life */

void host_config_default(struct host_config *config)
{
	*config = (struct host_config){
		.name = "nanet3-0",
		.serial = 1,
		.frames_per_buffer = 16,
		.depth_ms = 2000,
		.deadline_us = 5000,
		.linger_ms = 10000,
		.queue_events = 1024,
		.speed = HOST_SPEED_REAL,
		.factor = 1,
	};
}

static bool config_sound(const struct host_config *c)
{
	return c->socket_path != NULL && c->name != NULL &&
	       strlen(c->name) < sizeof(((struct nanet3_info *)NULL)->name) &&
	       c->queue_events >= 16 && c->queue_events <= (1u << 20) &&
	       (c->queue_events & (c->queue_events - 1)) == 0 && c->duration_s >= 0 &&
	       c->duration_s <= 1e9 && c->factor >= HOST_FACTOR_MIN && c->factor <= HOST_FACTOR_MAX;
}

int host_create(const struct host_config *config, struct world *world, struct host **ret_host)
{
	struct host *h;
	int r;

	if (!config_sound(config)) {
		return -EINVAL;
	}
	h = calloc(1, sizeof(*h));
	if (h == NULL) {
		return -ENOMEM;
	}
	h->config = *config;
	h->world = world;
	h->epoll_fd = h->listen_fd = h->spare_fd = -1;
	for (unsigned i = 0; i < HOST_CLIENTS; i++) {
		h->clients[i].fd = -1;
	}
	r = host_memory_create(h);
	if (r < 0) {
		goto fail;
	}
	h->board = board_create(&(struct board_host){.map = host_map,
						     .irq = host_irq,
						     .copy = host_copy,
						     .delay = emu_spin,
						     .context = h},
				world, config->serial);
	if (h->board == NULL) {
		r = -ENOMEM;
		goto fail;
	}
	if (config->speed == HOST_SPEED_MAX || config->factor != 1 || world_play(world) != NULL) {
		board_unpaced(h->board);
	}
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		h->links[i].ring->dma_epoch = config->first_epoch;
	}
	board_set_up(h);
	r = clients_create(h);
	if (r < 0) {
		goto fail;
	}
	*ret_host = h;
	return 0;

fail:
	host_destroy(h);
	return r;
}

void host_destroy(struct host *h)
{
	if (h == NULL) {
		return;
	}
	clients_destroy(h);
	board_destroy(h->board);
	host_memory_destroy(h);
	free(h);
}

void host_stats(const struct host *h, struct host_stats *ret_stats)
{
	*ret_stats = h->stats;
}
