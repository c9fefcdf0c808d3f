/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The emulated host reads the board's event queue, as the driver's interrupt thread does. An RX event says
 * that the board has filled a buffer: it moves the write position of that link's ring. TX and put events
 * complete what a client had asked for. Link, PPS and error events are copied to each client (a process that
 * has the board open) that subscribed to them.
 */
#include "driver/emu/host/private.h"

static void rx_event(struct host *h, const struct nanet3_event *ev)
{
	struct host_link *l = &h->links[ev->link % NANET3_LINKS];
	struct nanet3_link_stats *counts = &h->counts.links[ev->link % NANET3_LINKS];
	struct nanet3_ring *ring = l->ring;

	if (ev->link >= NANET3_LINKS) {
		h->counts.bad_events++;
		return;
	}
	/* What a stopped DMA left on the queue is of no concern any more. */
	if (ring->status == NANET3_RING_STOPPED || ev->dma_epoch != ring->dma_epoch) {
		counts->stale++;
		return;
	}
	if (ev->position != ring->write_position) {
		h->counts.bad_events++;
		l->broken = true; /* later ones would not fit either */
		return;
	}
	if (ev->position == 0) {
		ring->start_count = ev->frame_count;
	}
	l->completions[ev->position % ring->depth] = *ev;
	__atomic_store_n(&ring->write_position, ev->position + 1, __ATOMIC_RELEASE);
	l->latest = *ev;
	counts->buffers += ev->length > 0;
	counts->gaps += ev->length == 0;
}

static void control_event(struct host *h, const struct nanet3_event *ev)
{
	for (unsigned i = 0; i < HOST_CLIENTS; i++) {
		struct client *c = &h->clients[i];

		if (c->fd >= 0 && c->subscribed & 1u << ev->type) {
			client_post(h, c, ev);
		}
	}
}

static void take_event(struct host *h, struct nanet3_event *ev)
{
	ev->sequence = 0; /* of the board's queue only */
	switch (ev->type) {
	case NANET3_EVENT_RX:
		rx_event(h, ev);
		break;
	case NANET3_EVENT_TX:
	case NANET3_EVENT_PUT:
		host_tx_event(h, ev);
		break;
	case NANET3_EVENT_LINK:
	case NANET3_EVENT_PPS:
	case NANET3_EVENT_ERROR:
		control_event(h, ev);
		break;
	default:
		h->counts.bad_events++;
		break;
	}
}

void host_drain(struct host *h)
{
	uint32_t write = board_reg_read(h->board, NANET3_REG_EVQ_WRITE);
	bool raised = h->irq;
	uint64_t now;

	h->irq = false;
	if (!board_gone(h->board) &&
	    write - h->evq_read > h->evq_size) { /* a client has reset the board */
		h->evq_read = write;
	}
	if (h->gone || board_gone(h->board) || write == h->evq_read) {
		h->counts.spurious += raised;
		return;
	}
	h->counts.events += write - h->evq_read;
	h->counts.rescued += raised ? 0 : write - h->evq_read;
	now = nanet3_now_ns();
	for (; h->evq_read != write; h->evq_read++) {
		struct nanet3_event ev = h->evq[h->evq_read & (h->evq_size - 1)];

		ev.time_ns = now;
		take_event(h, &ev);
	}
	board_reg_write(h->board, NANET3_REG_IRQ_STATUS, ~0u);
	board_reg_write(h->board, NANET3_REG_EVQ_READ,
			write); /* a put that waited for room may go on */
}
