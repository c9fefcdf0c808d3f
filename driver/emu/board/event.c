/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The board's event queue and its way into host memory.
 *
 * An event is written body first, sequence number last, so that a process which polls the queue reads
 * a complete event when it finds the number it waits for. Before a place is written again, its number is
 * invalidated, so that a reader that is a whole queue late notices.
 */
#include <string.h>

#include "driver/emu/board/private.h"

static void *map(struct board *b, uint64_t bus, uint32_t length, bool write)
{
	void *p = b->host.map(b->host.context, bus, length, write);

	if (p == NULL) {
		REG(b, NANET3_REG_TLB_MISSES)++;
	}
	return p;
}

void *board_map(struct board *b, uint64_t bus, uint32_t length)
{
	return map(b, bus, length, true);
}

const void *board_map_read(struct board *b, uint64_t bus, uint32_t length)
{
	return map(b, bus, length, false);
}

bool board_fetch(struct board *b, uint64_t bus, void *ret_bytes, uint32_t length)
{
	const void *p = board_map_read(b, bus, length);

	if (p != NULL) {
		memcpy(ret_bytes, p, length);
	}
	return p != NULL;
}

bool event_room(const struct board *b, uint32_t events, bool control)
{
	uint32_t size = REG(b, NANET3_REG_EVQ_SIZE);
	uint32_t used = REG(b, NANET3_REG_EVQ_WRITE) - REG(b, NANET3_REG_EVQ_READ);
	uint64_t kept = 0;

	if (b->stalled || !(REG(b, NANET3_REG_CONTROL) & NANET3_CONTROL_EVENTS) || used > size) {
		return false;
	}
	for (unsigned i = 0; control && i < NANET3_LINKS; i++) {
		const struct dma *d = &b->links[i].dma;

		kept += d->enabled ? d->depth - (d->write - d->release) : 0;
	}
	return size - used >= kept + events;
}

/* The queue's base need not be aligned: what a driver writes there is its own affair. */
static void write_slot(void *slot, const struct nanet3_event *ev, uint32_t sequence)
{
	uint8_t *number = (uint8_t *)slot + offsetof(struct nanet3_event, sequence);

	if ((uintptr_t)number % sizeof(sequence) != 0) {
		memcpy(slot, ev, offsetof(struct nanet3_event, sequence));
		memcpy(number, &sequence, sizeof(sequence));
		return;
	}
	/* Void before its bytes change; an exchange, as the thread sanitizer knows no fences. */
	(void)__atomic_exchange_n((uint32_t *)(void *)number, sequence - 1, __ATOMIC_SEQ_CST);
	memcpy(slot, ev, offsetof(struct nanet3_event, sequence));
	__atomic_store_n((uint32_t *)(void *)number, sequence, __ATOMIC_RELEASE);
}

bool event_post(struct board *b, struct nanet3_event *ev, bool control)
{
	uint32_t write = REG(b, NANET3_REG_EVQ_WRITE);
	bool rx = ev->type == NANET3_EVENT_RX && ev->link < NANET3_LINKS;
	unsigned vector = rx ? ev->link : NANET3_LINKS;
	uint64_t base;
	void *slot;

	if (!event_room(b, 1, control)) {
		return false;
	}
	base = reg_pair_get(&REG(b, NANET3_REG_EVQ_BASE));
	slot = board_map(b, base + (write & (REG(b, NANET3_REG_EVQ_SIZE) - 1)) * sizeof(*ev),
			 sizeof(*ev));
	if (slot == NULL) {
		return false;
	}
	if (!fault_hits(&b->lose_events)) {
		write_slot(slot, ev, write + 1);
	}
	REG(b, NANET3_REG_EVQ_WRITE) = write + 1;
	REG(b, NANET3_REG_IRQ_STATUS) |= 1u << vector;
	if (!(REG(b, NANET3_REG_IRQ_MASK) & 1u << vector)) {
		return true;
	}
	if (b->lose_irqs[vector] > 0) { /* a model fault */
		b->lose_irqs[vector]--;
	} else {
		b->host.irq(b->host.context, vector);
	}
	return true;
}

void event_control(struct board *b, struct nanet3_event *ev)
{
	uint32_t lost = REG(b, NANET3_REG_EVQ_LOST);

	ev->frame_count = b->count;
	if (lost != b->lost_reported) {
		struct nanet3_event full = {.type = NANET3_EVENT_ERROR,
					    .link = 0xff,
					    .reason = NANET3_ERROR_EVQ_FULL,
					    .value = lost};

		if (event_post(b, &full, true)) {
			b->lost_reported = lost;
		}
	}
	/* A stall has an event of its own; what it swallows is not counted as lost. */
	if (!event_post(b, ev, true) && !b->stalled &&
	    (REG(b, NANET3_REG_CONTROL) & NANET3_CONTROL_EVENTS)) {
		REG(b, NANET3_REG_EVQ_LOST)++;
	}
}

bool event_tx(struct board *b, const struct nanet3_tx *tx, uint8_t reason)
{
	struct nanet3_event ev = {
		.type = NANET3_EVENT_TX,
		.link = tx->link,
		.reason = reason,
		.frame_count = b->count,
		.cookie = tx->cookie,
	};

	return event_post(b, &ev, true);
}
