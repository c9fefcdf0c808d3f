/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts: packets on the TX ring that move bytes between registered buffers. */
#include <errno.h>
#include <string.h>

#include "driver/emu/host/private.h"

/* One packet a page of the source. */
static void put_post(struct host *h, const struct nanet3_put *put, uint64_t cookie)
{
	uint64_t bus = HOST_BUS(REGION_BUFFER + put->source) +
		       h->buffers[put->source].address % NANET3_PAGE + put->source_offset;
	struct nanet3_tx_put packet = {
		.destination = put->destination_offset,
		.buffer = (uint16_t)put->destination,
		.put_bytes = put->length,
	};

	for (uint64_t left = put->length; left > 0; left -= packet.length) {
		struct nanet3_tx tx = {
			.link = NANET3_LOOPBACK, .kind = NANET3_TX_PUT, .cookie = cookie};

		packet.source = bus;
		packet.length = NANET3_PAGE - (uint32_t)(bus % NANET3_PAGE);
		if (packet.length >= left) {
			packet.length = (uint32_t)left;
			packet.flags = NANET3_PUT_LAST;
		}
		memcpy(tx.bytes, &packet, sizeof(packet));
		*tx_descriptor(h, h->tx_write++) = tx;
		bus += packet.length;
		packet.destination += packet.length;
	}
}

int host_tx_put(struct host *h, struct client *c, void *arg)
{
	const struct nanet3_put *put = arg;
	const struct host_buffer *from = buffer_of(h, c, put->source);
	const struct host_buffer *to = buffer_of(h, c, put->destination);
	struct tx_slot *slot = NULL,
		       like = {.client_id = c->id, .cookie = put->cookie, .put = true};
	uint64_t packets;

	if (from == NULL || to == NULL) {
		return -ENOENT;
	}
	if (!nanet3_put_sound(put, from->length, to->length)) {
		return -EINVAL;
	}
	packets = nanet3_put_packets(put, (uint32_t)(from->address % NANET3_PAGE));
	if (packets > HOST_TX_PUTS) {
		return -E2BIG;
	}
	if (tx_pending(h) + packets <= HOST_TX_PUTS) {
		slot = tx_slot_take(h, &like);
	}
	if (slot == NULL) {
		tx_ring_bell(h);
		host_drain(h);
		return -EAGAIN;
	}
	put_post(h, put, tx_slot_cookie(h, slot));
	h->counts.puts++;
	h->counts.put_bytes += put->length;
	if (!(put->flags & NANET3_PUT_MORE)) {
		tx_ring_bell(h);
		host_drain(h); /* it has been done: the client need not wait for the next step */
	}
	return 0;
}

static bool touches(const struct nanet3_tx *tx, unsigned buffer)
{
	struct nanet3_tx_put packet;

	memcpy(&packet, tx->bytes, sizeof(packet));
	return tx->kind == NANET3_TX_PUT &&
	       (packet.buffer == buffer || packet.source >> 36 == REGION_BUFFER + buffer);
}

void host_tx_forget(struct host *h, unsigned buffer)
{
	uint32_t read;

	tx_ring_bell(h);
	host_drain(h);
	/* What waits for room on the event queue even so must not find the buffer's next owner: a
	 * packet without a byte is refused. */
	read = board_reg_read(h->board, NANET3_REG_TX_READ);
	for (uint32_t i = read; !board_gone(h->board) && i != h->tx_write; i++) {
		struct nanet3_tx *tx = tx_descriptor(h, i);

		if (touches(tx, buffer)) {
			memset(tx->bytes, 0, sizeof(tx->bytes));
		}
	}
}
