// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is on its way: a slot for each word and each put, from its descriptor to its last event.
 *
 *   SEND, PUT --> slot (cookie, client) --> descriptors --doorbell--> board
 *   TX event, for a put also a PUT event <-- its cookie names the slot <--+
 *
 * The board's cookie is generation x slots + slot, so that an event of a slot's earlier use is
 * known. A client's slots outlive it: their events go nowhere. The board fetches descriptors ahead,
 * so a put uses its buffers until its last event, and not until its descriptors are taken. A slot
 * whose events do not come ends with a reset of the board: only then is it sure that the word will
 * not leave, and that the put uses no memory.
 */
#include <linux/bitmap.h>
#include <linux/jiffies.h>

#include "nanet3_drv.h"

/* Has each link room for this word, or has the board for this put? event_lock held. */
static bool nanet3_slot_fits(const struct nanet3_dev *dev, const struct nanet3_slot *slot)
{
	bool fits = true;
	u32 i;

	lockdep_assert_held(&dev->event_lock);
	if (slot->put)
		return dev->puts < NANET3_PUTS_MAX;
	for (i = 0; i < NANET3_LINKS; i++) {
		const struct nanet3_link *l = &dev->links[i];

		if (nanet3_goes_to(slot->link, i))
			fits &= l->words < NANET3_LINK_WORDS &&
				!(slot->others && l->others_words >= NANET3_OTHERS_WORDS);
	}
	return fits;
}

/* event_lock held. @by: 1 or -1. */
static void nanet3_slot_count(struct nanet3_dev *dev, const struct nanet3_slot *slot, int by)
{
	u32 i;

	lockdep_assert_held(&dev->event_lock);
	if (slot->put) {
		dev->puts += by;
		return;
	}
	for (i = 0; i < NANET3_LINKS; i++) {
		if (!nanet3_goes_to(slot->link, i))
			continue;
		dev->links[i].words += by;
		dev->links[i].others_words += slot->others ? by : 0;
	}
}

/* A slot that is a copy of @like with the next generation; NANET3_SLOTS when there is no room. */
u32 nanet3_slot_get(struct nanet3_dev *dev, const struct nanet3_slot *like)
{
	u32 n = NANET3_SLOTS;

	spin_lock(&dev->event_lock);
	if (nanet3_slot_fits(dev, like))
		n = find_first_zero_bit(dev->slots_busy, NANET3_SLOTS);
	if (n < NANET3_SLOTS) {
		u32 generation = dev->slots[n].generation + 1;

		__set_bit(n, dev->slots_busy);
		dev->slots[n] = *like;
		dev->slots[n].generation = generation;
		dev->slots[n].overdue = jiffies + NANET3_OVERDUE_S * HZ;
		nanet3_slot_count(dev, like, 1);
		dev->stats.tx_words += !like->put;
		dev->stats.puts += like->put;
		dev->stats.put_bytes += like->length;
	}
	spin_unlock(&dev->event_lock);
	return n;
}

/* event_lock held. */
static void nanet3_slot_free(struct nanet3_dev *dev, u32 n)
{
	lockdep_assert_held(&dev->event_lock);
	__clear_bit(n, dev->slots_busy);
	nanet3_slot_count(dev, &dev->slots[n], -1);
}

/* What the board is told of a slot. event_lock or tx_mutex held. */
u64 nanet3_slot_cookie(const struct nanet3_dev *dev, u32 n)
{
	return (u64)dev->slots[n].generation * NANET3_SLOTS + n;
}

/* A put has arrived in its registrant's memory, which may have to be copied there. */
static void nanet3_put_arrived(struct nanet3_dev *dev, const struct nanet3_slot *slot,
			       const struct nanet3_event *ev)
{
	struct nanet3_buffer *b;

	if (ev->value >= NANET3_BUFFERS)
		return;
	b = &dev->buffers[ev->value];
	if (!ev->reason && b->client && b->client == slot->client)
		nanet3_buffer_sync(dev, b, ev->position, ev->length, false);
}

/* Pass a TX or PUT event to its sender, with the cookie of the sender. event_lock held. */
void nanet3_slot_event(struct nanet3_dev *dev, struct nanet3_event *ev)
{
	u32 n = ev->cookie % NANET3_SLOTS;
	struct nanet3_slot *slot = &dev->slots[n];
	bool put = ev->type == NANET3_EVENT_PUT;

	lockdep_assert_held(&dev->event_lock);
	if (!test_bit(n, dev->slots_busy) || ev->cookie != nanet3_slot_cookie(dev, n)) {
		dev->stats.bad_events++;
		return;
	}
	if (slot->put && ev->reason == NANET3_TX_REFUSED) {
		slot->faulted = true; /* others of its packets may be under way */
		return;
	}
	if (slot->faulted)
		ev->reason = NANET3_TX_FAULT;
	if (put)
		nanet3_put_arrived(dev, slot, ev);
	else if (ev->reason)
		dev->stats.tx_faults++;
	ev->cookie = slot->cookie;
	if (slot->client)
		nanet3_client_post(slot->client, ev);
	slot->tx_sent = true;
	if (put || !slot->put)
		nanet3_slot_free(dev, n);
}

/* Its events will not come: its sender gets those that it has not had yet. event_lock held. */
static void nanet3_slot_abort(struct nanet3_dev *dev, u32 n)
{
	const struct nanet3_slot *slot = &dev->slots[n];
	struct nanet3_event ev = {
		.type = NANET3_EVENT_TX,
		.link = slot->link,
		.reason = NANET3_TX_FAULT,
		.time_ns = ktime_get_ns(),
		.cookie = slot->cookie,
	};

	lockdep_assert_held(&dev->event_lock);
	dev->stats.tx_faults++;
	if (slot->client && !slot->tx_sent)
		nanet3_client_post(slot->client, &ev);
	if (slot->client && slot->put) {
		ev.type = NANET3_EVENT_PUT;
		ev.value = slot->buffer;
		ev.position = slot->position;
		ev.length = slot->length;
		nanet3_client_post(slot->client, &ev);
	}
	nanet3_slot_free(dev, n);
}

/*
 * The board could not read a descriptor, and goes on with the next: a word has not left; a put has
 * a hole, and no event if that was its last packet. event_lock held.
 */
void nanet3_slot_not_read(struct nanet3_dev *dev, u32 number)
{
	const struct nanet3_tx_place *place = &dev->tx_places[number % NANET3_TX_SIZE];
	struct nanet3_slot *slot = &dev->slots[place->slot];

	lockdep_assert_held(&dev->event_lock);
	if (place->number != number || !test_bit(place->slot, dev->slots_busy))
		return;
	if (!slot->put) {
		nanet3_slot_abort(dev, place->slot);
		return;
	}
	slot->faulted = true;
	if (place->last)
		slot->overdue = jiffies;
}

/* May a put on its way read from the buffer, or write to it? */
bool nanet3_slots_use(struct nanet3_dev *dev, u32 buffer)
{
	bool use = false;
	unsigned int n;

	spin_lock(&dev->event_lock);
	for_each_set_bit(n, dev->slots_busy, NANET3_SLOTS) {
		const struct nanet3_slot *slot = &dev->slots[n];

		use |= slot->put && (slot->source == buffer || slot->buffer == buffer);
	}
	spin_unlock(&dev->event_lock);
	return use;
}

/* Is the last event of a slot overdue? */
bool nanet3_slots_overdue(struct nanet3_dev *dev)
{
	bool overdue = false;
	unsigned int n;

	spin_lock(&dev->event_lock);
	for_each_set_bit(n, dev->slots_busy, NANET3_SLOTS)
		overdue |= time_after_eq(jiffies, dev->slots[n].overdue);
	spin_unlock(&dev->event_lock);
	return overdue;
}

/* A reset has discarded what was on its way: its senders get fault events. tx_mutex held. */
void nanet3_slots_abort(struct nanet3_dev *dev)
{
	unsigned int n;

	lockdep_assert_held(&dev->tx_mutex);
	spin_lock(&dev->event_lock);
	for_each_set_bit(n, dev->slots_busy, NANET3_SLOTS)
		nanet3_slot_abort(dev, n);
	spin_unlock(&dev->event_lock);
}
