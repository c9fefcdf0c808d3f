/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The TX ring of the user-space host, which all clients share: words and the packets of puts.
 *
 *   request -> descriptor on the ring -> doorbell -> board -> TX (and PUT) event -> its client
 *
 * On the ring a descriptor carries a cookie of ours, which names the slot where the client and its own
 * cookie are kept; the generation tells a late event from the slot's next use.
 */
#include <errno.h>
#include <string.h>

#include "driver/emu/host/private.h"

/* ------------------------------------------------------------------------ slots and doorbell */

/* A word to `link` goes there; a broadcast to all. */
static bool goes_to(uint8_t link, unsigned i)
{
	return link == i || link >= NANET3_LINKS;
}

/* Has each link room for this word, or has the board for this put? */
static bool slot_fits(const struct host *h, const struct tx_slot *like)
{
	bool fits = !like->put || h->tx_puts < HOST_TX_PUTS;

	for (unsigned i = 0; i < NANET3_LINKS && !like->put; i++) {
		const struct host_link *l = &h->links[i];

		fits = fits && (!goes_to(like->link, i) ||
				(l->words < NANET3_LINK_WORDS &&
				 (!like->others || l->others_words < NANET3_OTHERS_WORDS)));
	}
	return fits;
}

/* Count one more under way, or one less. */
static void slot_count(struct host *h, const struct tx_slot *slot, bool more)
{
	const unsigned by = more ? 1u : ~0u;

	h->tx_puts += slot->put ? by : 0;
	for (unsigned i = 0; i < NANET3_LINKS && !slot->put; i++) {
		h->links[i].words += goes_to(slot->link, i) ? by : 0;
		h->links[i].others_words += goes_to(slot->link, i) && slot->others ? by : 0;
	}
}

/* A slot that is a copy of `like` with the next generation; NULL when there is no room. */
static struct tx_slot *slot_take(struct host *h, const struct tx_slot *like)
{
	for (unsigned i = 0; i < HOST_TX_SLOTS && slot_fits(h, like); i++) {
		struct tx_slot *slot = &h->tx[(h->tx_next + i) % HOST_TX_SLOTS];
		uint32_t generation = slot->generation + 1;

		if (slot->client_id == 0) {
			h->tx_next = (unsigned)(slot - h->tx + 1) % HOST_TX_SLOTS;
			*slot = *like;
			slot->generation = generation;
			slot_count(h, slot, true);
			return slot;
		}
	}
	return NULL;
}

static void slot_free(struct host *h, struct tx_slot *slot)
{
	slot->client_id = 0;
	slot_count(h, slot, false);
}

static uint64_t slot_cookie(const struct host *h, const struct tx_slot *slot)
{
	return (uint64_t)slot->generation * HOST_TX_SLOTS + (uint64_t)(slot - h->tx);
}

static struct nanet3_tx *descriptor(struct host *h, uint32_t index)
{
	return (struct nanet3_tx *)(h->tx_ring +
				    (size_t)(index % HOST_TX_SLOTS) * NANET3_TX_STRIDE);
}

/* Number of descriptors that the board has not taken. */
static uint32_t pending(struct host *h)
{
	return h->tx_write - board_reg_read(h->board, NANET3_REG_TX_READ);
}

static void ring_bell(struct host *h)
{
	h->tx_rung = h->tx_write;
	board_reg_write(h->board, NANET3_REG_TX_WRITE, h->tx_write);
}

void host_tx_event(struct host *h, struct nanet3_event *ev)
{
	struct tx_slot *slot = &h->tx[ev->cookie % HOST_TX_SLOTS];
	struct client *c;

	if (slot->client_id == 0 || slot->generation != ev->cookie / HOST_TX_SLOTS) {
		return;
	}
	c = client_by_id(h, slot->client_id);
	ev->cookie = slot->cookie;
	h->counts.tx_faults += ev->type == NANET3_EVENT_TX && ev->reason == NANET3_TX_FAULT;
	if (ev->type == NANET3_EVENT_PUT || !slot->put || ev->reason == NANET3_TX_REFUSED) {
		slot_free(h, slot);
	}
	if (c != NULL) {
		client_post(h, c, ev);
	}
}

void host_tx_reset(struct host *h)
{
	for (unsigned i = 0; i < HOST_TX_SLOTS; i++) {
		h->tx[i].client_id = 0;
	}
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		h->links[i].words = h->links[i].others_words = 0;
	}
	h->tx_puts = 0;
	h->tx_write = 0;
	h->tx_rung = 0;
}

/* ------------------------------------------------------------------------ words */

/* LSTAT_LOCKED of a link now. */
static bool link_locked(struct host *h, unsigned link)
{
	return board_reg_read(h->board, NANET3_REG_LINK(link, NANET3_LREG_STATUS)) &
	       NANET3_LSTAT_LOCKED;
}

static bool tx_sound(struct host *h, const struct nanet3_tx *tx)
{
	bool broadcast = tx->link == 0xff && tx->kind == NANET3_TX_TIMING;

	if ((tx->link >= NANET3_LINKS && !broadcast) || tx->reserved0 != 0 ||
	    tx->flags & ~NANET3_TX_MORE || tx->reserved2 != 0 ||
	    tx->at_frame > board_count(h->board) + NANET3_TX_AHEAD) {
		return false;
	}
	switch (tx->kind) {
	case NANET3_TX_REQUEST: /* op 0 is an empty place */
		return tx->bytes[0] != 0;
	case NANET3_TX_TIMING:
		return tx->bytes[0] != 0 && tx->bytes[1] == 0 && tx->bytes[2] == 0 &&
		       tx->bytes[3] == 0;
	case NANET3_TX_SERIAL:
		return tx->bytes[1] <= sizeof(tx->bytes) - 2;
	default:
		return false;
	}
}

static bool tx_reaches(struct host *h, const struct nanet3_tx *tx)
{
	bool any = false;

	if (tx->link < NANET3_LINKS) {
		return link_locked(h, tx->link);
	}
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		any = any || link_locked(h, i);
	}
	return any;
}

static int word_post(struct host *h, const struct client *c, struct nanet3_tx *tx)
{
	struct tx_slot *slot, like = {.client_id = c->id, .cookie = tx->cookie, .link = tx->link};

	if (!tx_sound(h, tx)) {
		return -EINVAL;
	}
	like.others = !link_acts(h, c, tx->link);
	if (like.others && !client_is_admin(c)) {
		return -EPERM;
	}
	if (!tx_reaches(h, tx)) {
		return -ENOLINK;
	}
	slot = pending(h) < HOST_TX_SLOTS ? slot_take(h, &like) : NULL;
	if (slot == NULL) {
		return -EAGAIN;
	}
	tx->cookie = slot_cookie(h, slot);
	tx->flags = 0;
	*descriptor(h, h->tx_write++) = *tx;
	h->counts.tx_words++;
	return 0;
}

int host_tx_send(struct host *h, struct client *c, struct nanet3_tx *tx)
{
	bool more = tx->flags & NANET3_TX_MORE;
	int r = word_post(h, c, tx);

	if (r < 0 || !more) {
		ring_bell(h);
	}
	return r;
}

void host_tx_flush(struct host *h)
{
	if (h->tx_rung != h->tx_write) {
		ring_bell(h);
	}
}

/* ------------------------------------------------------------------------ puts */

static bool inside(const struct host_buffer *u, uint64_t offset, uint64_t length)
{
	return length <= u->length && offset <= u->length - length;
}

/* Everything but room on the ring. */
static int put_check(struct host *h, struct client *c, const struct nanet3_put *put)
{
	const struct host_buffer *from = buffer_of(h, c, put->source);
	const struct host_buffer *to = buffer_of(h, c, put->destination);

	if (put->flags & ~(NANET3_PUT_MORE | NANET3_PUT_UNCHECKED) || put->reserved != 0) {
		return -EINVAL;
	}
	if (from == NULL || to == NULL) {
		return -ENOENT;
	}
	if (put->length == 0 || !inside(from, put->source_offset, put->length) ||
	    put->destination_offset > UINT64_MAX - put->length) {
		return -EINVAL;
	}
	if (!(put->flags & NANET3_PUT_UNCHECKED) &&
	    !inside(to, put->destination_offset, put->length)) {
		return -EINVAL;
	}
	return 0;
}

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
		*descriptor(h, h->tx_write++) = tx;
		bus += packet.length;
		packet.destination += packet.length;
	}
}

int host_tx_put(struct host *h, struct client *c, const struct nanet3_put *put)
{
	struct tx_slot *slot = NULL,
		       like = {.client_id = c->id, .cookie = put->cookie, .put = true};
	uint64_t first, packets;
	int r = put_check(h, c, put);

	if (r < 0) {
		return r;
	}
	first = (h->buffers[put->source].address + put->source_offset) % NANET3_PAGE;
	packets = (first + put->length + NANET3_PAGE - 1) / NANET3_PAGE;
	if (packets > HOST_TX_PUTS) {
		return -E2BIG;
	}
	if (pending(h) + packets <= HOST_TX_PUTS) {
		slot = slot_take(h, &like);
	}
	if (slot == NULL) {
		ring_bell(h);
		host_drain(h);
		return -EAGAIN;
	}
	put_post(h, put, slot_cookie(h, slot));
	h->counts.puts++;
	h->counts.put_bytes += put->length;
	if (!(put->flags & NANET3_PUT_MORE)) {
		ring_bell(h);
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

	ring_bell(h);
	host_drain(h);
	/* What waits for room on the event queue even so must not find the buffer's next owner: a
	 * packet without a byte is refused. */
	read = board_reg_read(h->board, NANET3_REG_TX_READ);
	for (uint32_t i = read; !h->gone && i != h->tx_write; i++) {
		struct nanet3_tx *tx = descriptor(h, i);

		if (touches(tx, buffer)) {
			memset(tx->bytes, 0, sizeof(tx->bytes));
		}
	}
}
