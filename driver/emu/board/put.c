/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registered buffers and the loop-back port: a put's packet is read where its descriptor says and
 * written where (buffer, offset) leads.
 *
 *   (buffer, offset) -> page of the buffer -> TLB -------------hit-> bus address
 *                                               \-> walk: table[page], in host memory
 *
 * The TLB is direct-mapped and shared by all buffers. An offset outside its buffer, or a table outside
 * mapped memory, is a miss: the rest of the packet is dropped, and the put's events report it. A hit takes
 * 0.2 us; a walk takes the 1.6 us that the papers' firmware needs for a packet, search and translation
 * (SOURCES.md).
 */
#include <string.h>

#include "driver/emu/board/private.h"

#define HIT_NS	    200u
#define WALK_NS	    1600u
#define EVENTS_MAX  4u /* that a packet may post: ERROR, TX, PUT */
#define PAGE_OFFSET (NANET3_PAGE - 1)

_Static_assert(sizeof(struct nanet3_tx_put) <= sizeof(((struct nanet3_tx *)NULL)->bytes),
	       "a packet fits into its descriptor");

/* ------------------------------------------------------------------------ registration */

static void tlb_forget(struct board *b, unsigned buffer)
{
	for (unsigned i = 0; i < BOARD_TLB_PAGES; i++) {
		if (b->tlb[i].tag != 0 && (b->tlb[i].tag - 1) >> 32 == buffer) {
			b->tlb[i].tag = 0;
		}
	}
}

/* The n-th of the packets that have been fetched. */
static const struct board_packet *packet(const struct board *b, unsigned n)
{
	return &b->packets[(b->packet_head + n) % BOARD_TX_PUTS];
}

static unsigned destination(const struct nanet3_tx *tx)
{
	struct nanet3_tx_put put;

	memcpy(&put, tx->bytes, sizeof(put));
	return put.buffer % NANET3_BUFFERS;
}

void buffer_busy(struct board *b, unsigned buffer)
{
	bool busy = b->buffers[buffer].stuck_until != 0;

	for (unsigned i = 0; i < b->packet_count; i++) {
		busy = busy || destination(&packet(b, i)->tx) == buffer;
	}
	BREG(&b->buffers[buffer], NANET3_BREG_STATUS) = busy ? NANET3_BSTAT_BUSY : 0;
}

#define NOWHERE UINT64_MAX

/* NOWHERE when its table cannot be read. */
static uint64_t first_byte(struct board *b, const struct user_buffer *u)
{
	const uint64_t *page = board_map_read(b, u->table, sizeof(*page));

	return page != NULL ? *page + u->offset : NOWHERE;
}

void buffer_stuck_step(struct board *b, const struct user_buffer *u)
{
	uint8_t *byte = u->stuck_bus != NOWHERE ? board_map(b, u->stuck_bus, 1) : NULL;

	if (byte != NULL) {
		(*byte)++;
	}
}

void buffer_control(struct board *b, unsigned buffer, uint32_t value)
{
	struct user_buffer *u = &b->buffers[buffer];
	uint64_t length = reg_pair_get(&BREG(u, NANET3_BREG_LENGTH));
	uint32_t offset = BREG(u, NANET3_BREG_OFFSET);

	tlb_forget(b, buffer);
	if (u->valid && !(value & NANET3_BUFFER_VALID) && u->stick != 0) { /* a model fault */
		u->stuck_until = stuck_until(b, u->stick);
		u->stuck_bus = first_byte(b, u);
		u->stick = 0;
		buffer_busy(b, buffer);
	}
	u->valid = value & NANET3_BUFFER_VALID && length > 0 && length <= NANET3_BUFFER_BYTES_MAX &&
		   offset < NANET3_PAGE;
	u->table = reg_pair_get(&BREG(u, NANET3_BREG_TABLE));
	u->length = length;
	u->offset = offset;
	BREG(u, NANET3_BREG_CONTROL) = u->valid ? NANET3_BUFFER_VALID : 0;
}

/* ------------------------------------------------------------------------ translation */

/* The bus address of `at`, counted from the buffer's first page on. */
static bool translate(struct board *b, unsigned buffer, uint64_t at, uint64_t *ret_bus,
		      uint32_t *delay_ns)
{
	uint64_t page = at / NANET3_PAGE, tag = ((uint64_t)buffer << 32 | page) + 1;
	struct tlb_entry *entry = &b->tlb[(page + buffer) % BOARD_TLB_PAGES];
	uint64_t bus;

	if (entry->tag == tag) {
		REG(b, NANET3_REG_TLB_HITS)++;
		*delay_ns += HIT_NS;
	} else {
		REG(b, NANET3_REG_TLB_WALKS)++;
		*delay_ns += WALK_NS;
		if (!board_fetch(b, b->buffers[buffer].table + page * sizeof(bus), &bus,
				 sizeof(bus))) {
			return false;
		}
		*entry = (struct tlb_entry){.tag = tag, .bus = bus & ~(uint64_t)PAGE_OFFSET};
	}
	*ret_bus = entry->bus + at % NANET3_PAGE;
	return true;
}

static bool copy(struct board *b, uint64_t to, uint64_t from, uint32_t length)
{
	const void *source;
	void *target;

	if (b->host.copy != NULL) {
		const bool copied = b->host.copy(b->host.context, to, from, length);

		REG(b, NANET3_REG_TLB_MISSES) += !copied;
		return copied;
	}
	source = board_map_read(b, from, length);
	target = source != NULL ? board_map(b, to, length) : NULL;
	if (target == NULL) {
		return false;
	}
	memmove(target, source, length);
	return true;
}

/* The packet to its buffer, page by page; what lies behind the first fault is not delivered. */
static bool deliver(struct board *b, const struct nanet3_tx_put *put)
{
	const struct user_buffer *u = &b->buffers[put->buffer];
	uint32_t done = 0, delay_ns = 0;
	bool good = true;

	if (!u->valid || put->destination > u->length ||
	    put->length > u->length - put->destination) {
		REG(b, NANET3_REG_TLB_MISSES)++;
		return false;
	}
	while (good && done < put->length) {
		uint64_t bus, at = u->offset + put->destination + done;
		uint32_t left = put->length - done,
			 room = NANET3_PAGE - (uint32_t)(at % NANET3_PAGE);
		uint32_t part = left < room ? left : room;

		good = translate(b, put->buffer, at, &bus, &delay_ns) &&
		       copy(b, bus, put->source + done, part);
		done += part;
	}
	if (b->host.delay != NULL) {
		b->host.delay(b->host.context, delay_ns);
	}
	return good;
}

/* ------------------------------------------------------------------------ packets */

static bool put_sound(const struct nanet3_tx *tx, const struct nanet3_tx_put *put)
{
	return tx->link == NANET3_LOOPBACK && put->buffer < NANET3_BUFFERS &&
	       (put->flags & ~NANET3_PUT_LAST) == 0 && put->length >= 1 &&
	       put->length <= NANET3_PAGE - (put->source & PAGE_OFFSET);
}

/* Once a put, whatever its number of packets. */
static void put_fault(struct board *b, const struct nanet3_tx *tx, const struct nanet3_tx_put *put)
{
	struct nanet3_event ev = {
		.type = NANET3_EVENT_ERROR,
		.link = 0xff,
		.reason = NANET3_ERROR_DMA_FAULT,
		.position = put->destination,
		.cookie = tx->cookie,
		.value = NANET3_REG_BUFFER(put->buffer, NANET3_BREG_TABLE),
	};

	if (!b->put_faulted) {
		event_control(b, &ev);
	}
	b->put_faulted = true;
}

static void put_report(struct board *b, const struct nanet3_tx *tx, const struct nanet3_tx_put *put)
{
	uint8_t reason = b->put_faulted ? NANET3_TX_FAULT : 0;
	struct nanet3_event ev = {
		.type = NANET3_EVENT_PUT,
		.link = tx->link,
		.reason = reason,
		.position = put->destination + put->length - put->put_bytes,
		.frame_count = b->count,
		.length = (uint32_t)put->put_bytes,
		.cookie = tx->cookie,
		.value = put->buffer,
	};

	b->put_faulted = false;
	event_tx(b, tx, reason);
	event_post(b, &ev, true);
}

/* False when the event queue has no room for the events it may cause: nothing was done. */
static bool put_packet(struct board *b, const struct nanet3_tx *tx)
{
	struct nanet3_tx_put put;

	memcpy(&put, tx->bytes, sizeof(put));
	if (!event_room(b, EVENTS_MAX, true)) {
		return false;
	}
	if (tx->cookie != b->put_cookie) {
		b->put_cookie = tx->cookie;
		b->put_faulted = false;
	}
	if (!put_sound(tx, &put)) {
		return event_tx(b, tx, NANET3_TX_REFUSED);
	}
	if (!deliver(b, &put)) {
		put_fault(b, tx, &put);
	}
	if (put.flags & NANET3_PUT_LAST) {
		put_report(b, tx, &put);
	}
	return true;
}

bool put_take(struct board *b, const struct nanet3_tx *tx)
{
	if (!b->host.bus) {
		return put_packet(b, tx);
	}
	if (b->packet_count == BOARD_TX_PUTS) {
		return false;
	}
	b->packets[(b->packet_head + b->packet_count++) % BOARD_TX_PUTS] =
		(struct board_packet){*tx, b->step + b->put_steps};
	buffer_busy(b, destination(tx));
	return true;
}

void put_step(struct board *b)
{
	while (b->packet_count > 0 && packet(b, 0)->due <= b->step &&
	       put_packet(b, &packet(b, 0)->tx)) {
		const unsigned buffer = destination(&packet(b, 0)->tx);

		b->packet_head = (b->packet_head + 1) % BOARD_TX_PUTS;
		b->packet_count--;
		buffer_busy(b, buffer);
	}
}

void put_reset(struct board *b)
{
	b->packet_count = 0;
	b->put_faulted = false;
	for (unsigned i = 0; i < NANET3_BUFFERS; i++) {
		buffer_busy(b, i);
	}
}
