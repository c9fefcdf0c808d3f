/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The TX ring of the user-space host, which all clients share: its slots, and words. Puts are in put.c.
 *
 *   request -> descriptor on the ring -> doorbell -> board -> TX (and PUT) event -> its client
 *
 * On the ring a descriptor carries a cookie of ours, which names the slot where the client and its own
 * cookie are kept; the generation distinguishes a late event from the slot's next use.
 */
#include <errno.h>
#include <string.h>

#include "driver/emu/host/private.h"

/* ------------------------------------------------------------------------ slots and doorbell */

/* Has each link room for this word, or has the board for this put? */
static bool slot_fits(const struct host *h, const struct tx_slot *like)
{
	bool fits = !like->put || h->tx_puts < HOST_TX_PUTS;

	for (unsigned i = 0; i < NANET3_LINKS && !like->put; i++) {
		const struct host_link *l = &h->links[i];

		fits = fits && (!nanet3_goes_to(like->link, i) ||
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
		h->links[i].words += nanet3_goes_to(slot->link, i) ? by : 0;
		h->links[i].others_words += nanet3_goes_to(slot->link, i) && slot->others ? by : 0;
	}
}

struct tx_slot *tx_slot_take(struct host *h, const struct tx_slot *like)
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

uint64_t tx_slot_cookie(const struct host *h, const struct tx_slot *slot)
{
	return (uint64_t)slot->generation * HOST_TX_SLOTS + (uint64_t)(slot - h->tx);
}

struct nanet3_tx *tx_descriptor(struct host *h, uint32_t index)
{
	return (struct nanet3_tx *)(h->tx_ring +
				    (size_t)(index % HOST_TX_SLOTS) * NANET3_TX_STRIDE);
}

uint32_t tx_pending(struct host *h)
{
	return h->tx_write - board_reg_read(h->board, NANET3_REG_TX_READ);
}

void tx_ring_bell(struct host *h)
{
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
		slot->client_id = 0;
		slot_count(h, slot, false);
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
}

/* ------------------------------------------------------------------------ words */

/* Is the link locked, or any of them for a broadcast? */
static bool tx_reaches(struct host *h, const struct nanet3_tx *tx)
{
	uint32_t status = 0;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (nanet3_goes_to(tx->link, i)) {
			status |= board_reg_read(h->board, NANET3_REG_LINK(i, NANET3_LREG_STATUS));
		}
	}
	return status & NANET3_LSTAT_LOCKED;
}

static int word_post(struct host *h, const struct client *c, struct nanet3_tx *tx)
{
	struct tx_slot *slot, like = {.client_id = c->id, .cookie = tx->cookie, .link = tx->link};

	if (!nanet3_word_sound(tx) || tx->at_frame > board_count(h->board) + NANET3_TX_AHEAD) {
		return -EINVAL;
	}
	like.others = !link_acts(h, c, tx->link);
	if (like.others && !client_is_admin(c)) {
		return -EPERM;
	}
	if (!tx_reaches(h, tx)) {
		return -ENOLINK;
	}
	slot = tx_pending(h) < HOST_TX_SLOTS ? tx_slot_take(h, &like) : NULL;
	if (slot == NULL) {
		return -EAGAIN;
	}
	tx->cookie = tx_slot_cookie(h, slot);
	tx->flags = 0;
	*tx_descriptor(h, h->tx_write++) = *tx;
	h->counts.tx_words++;
	return 0;
}

int host_tx_send(struct host *h, struct client *c, void *arg)
{
	struct nanet3_tx *tx = arg;
	bool more = tx->flags & NANET3_TX_MORE;
	int r = word_post(h, c, tx);

	if (r < 0 || !more) {
		tx_ring_bell(h);
	}
	return r;
}
