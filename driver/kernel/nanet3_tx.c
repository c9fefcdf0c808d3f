// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The TX ring: words that leave in downstream frames, and the packets of puts. One descriptor a
 * page, as the board wants it; the doorbell is rung once for many. nanet3_slot.c keeps account of
 * what is on its way.
 */
#include <linux/bitmap.h>
#include <linux/capability.h>
#include <linux/dma-mapping.h>

#include "nanet3_drv.h"
#include "nanet3_trace.h"

#define TX_BYTES ((size_t)NANET3_TX_SIZE * NANET3_TX_STRIDE)

static_assert(sizeof(struct nanet3_tx_put) <= sizeof_field(struct nanet3_tx, bytes));
static_assert(TX_BYTES <= NANET3_CHUNK_MAX);

/* Allocate the ring: 0 or -ENOMEM. */
int nanet3_tx_create(struct nanet3_dev *dev)
{
	dev->tx = dma_alloc_coherent(&dev->pdev->dev, TX_BYTES, &dev->tx_dma,
				     GFP_KERNEL | __GFP_NOWARN);
	return dev->tx ? 0 : -ENOMEM;
}

/* Free the ring, if there is one. The board is stopped. */
void nanet3_tx_free(struct nanet3_dev *dev)
{
	if (dev->tx)
		dma_free_coherent(&dev->pdev->dev, TX_BYTES, dev->tx, dev->tx_dma);
	dev->tx = NULL;
}

/* ------------------------------------------------------------------------ the ring */

/* tx_mutex held. */
static void nanet3_ring_doorbell(struct nanet3_dev *dev)
{
	lockdep_assert_held(&dev->tx_mutex);
	if (dev->tx_rung == dev->tx_write)
		return;
	nanet3_write(dev, NANET3_REG_TX_WRITE, dev->tx_write);
	dev->tx_rung = dev->tx_write;
}

/* Ring the doorbell for what was held back. Life held. */
void nanet3_tx_flush(struct nanet3_dev *dev)
{
	mutex_lock(&dev->tx_mutex);
	nanet3_ring_doorbell(dev);
	mutex_unlock(&dev->tx_mutex);
}

/* The same for what was held back at the last call, lest it become overdue. Life held. */
void nanet3_tx_flush_old(struct nanet3_dev *dev)
{
	mutex_lock(&dev->tx_mutex);
	if ((s32)(dev->tx_seen - dev->tx_rung) > 0)
		nanet3_ring_doorbell(dev);
	dev->tx_seen = dev->tx_write;
	mutex_unlock(&dev->tx_mutex);
}

/* A client closes: its completions go nowhere. Life and mutex held. */
void nanet3_tx_forget(struct nanet3_client *c)
{
	struct nanet3_dev *dev = c->dev;
	unsigned int n;

	lockdep_assert_held(&dev->mutex);
	if (dev->state == NANET3_READY)
		nanet3_tx_flush(dev);
	spin_lock(&dev->event_lock);
	for_each_set_bit(n, dev->slots_busy, NANET3_SLOTS) {
		if (dev->slots[n].client == c)
			dev->slots[n].client = NULL;
	}
	spin_unlock(&dev->event_lock);
}

/*
 * Is there room for @count descriptors when @size of the ring may be in use? If not, post what is
 * held back to make room. tx_mutex held.
 */
static bool nanet3_tx_room(struct nanet3_dev *dev, u32 count, u32 size)
{
	lockdep_assert_held(&dev->tx_mutex);
	if (dev->tx_write - dev->tx_read + count > size) {
		u32 read = nanet3_read(dev, NANET3_REG_TX_READ);

		/* A board that is gone reads nonsense. */
		dev->tx_read = dev->tx_write - read <= NANET3_TX_SIZE ? read : dev->tx_read;
	}
	if (dev->tx_write - dev->tx_read + count <= size)
		return true;
	nanet3_ring_doorbell(dev);
	return false;
}

/* Slot @n's; @last: no other of it follows. tx_mutex held, and there is room. */
static void nanet3_tx_append(struct nanet3_dev *dev, const struct nanet3_tx *tx, u32 n, bool last)
{
	u32 place = dev->tx_write % NANET3_TX_SIZE;

	lockdep_assert_held(&dev->tx_mutex);
	memcpy(dev->tx + (size_t)place * NANET3_TX_STRIDE, tx, sizeof(*tx));
	spin_lock(&dev->event_lock);
	dev->tx_places[place] = (struct nanet3_tx_place){dev->tx_write, n, last};
	spin_unlock(&dev->event_lock);
	dev->tx_write++;
}

/* ------------------------------------------------------------------------ words */

/* tx_mutex held: the count is a pair. */
static bool nanet3_in_time(struct nanet3_dev *dev, u64 at_frame)
{
	u64 count;

	if (at_frame == 0)
		return true;
	count = nanet3_read_pair(dev, NANET3_REG_COUNT);
	/* A board that is gone counts nothing: nanet3_reaches() finds that. */
	return count == ~0ull || at_frame <= count + NANET3_TX_AHEAD;
}

/* Is the link locked, or any of them for a broadcast? */
static int nanet3_reaches(struct nanet3_dev *dev, u8 link)
{
	u32 i;

	for (i = 0; i < NANET3_LINKS; i++) {
		u32 status;

		if (!nanet3_goes_to(link, i))
			continue;
		status = nanet3_read(dev, NANET3_REG_LINK(i, NANET3_LREG_STATUS));
		if (status == NANET3_ALL_ONES && !nanet3_answers(dev))
			return -ENODEV;
		if (status & NANET3_LSTAT_LOCKED)
			return 0;
	}
	return -ENOLINK;
}

/* NANET3_IOC_SEND; errors: nanet3.h. Life held. */
int nanet3_send(struct nanet3_client *c, void *arg)
{
	const struct nanet3_tx *tx = arg;
	struct nanet3_dev *dev = c->dev;
	struct nanet3_tx word = *tx;
	struct nanet3_slot like = {
		.client = c,
		.cookie = tx->cookie,
		.link = tx->link,
	};
	int r = -EINVAL;
	u32 n;

	mutex_lock(&dev->tx_mutex);
	if (!nanet3_word_sound(tx) || !nanet3_in_time(dev, tx->at_frame))
		goto unlock;
	r = -EPERM;
	like.others = !nanet3_acts_for(c, tx->link);
	if (like.others && !capable(CAP_SYS_ADMIN))
		goto unlock;
	r = nanet3_reaches(dev, tx->link);
	if (r < 0)
		goto unlock;
	r = -EAGAIN;
	if (!nanet3_tx_room(dev, 1, NANET3_TX_SIZE))
		goto unlock;
	n = nanet3_slot_get(dev, &like);
	if (n == NANET3_SLOTS)
		goto unlock;
	word.cookie = nanet3_slot_cookie(dev, n);
	word.flags = 0;
	nanet3_tx_append(dev, &word, n, true);
	r = 0;
unlock:
	if (r || !(tx->flags & NANET3_TX_MORE))
		nanet3_ring_doorbell(dev);
	mutex_unlock(&dev->tx_mutex);
	return r;
}

/* ------------------------------------------------------------------------ puts */

/* tx_mutex held. Return: its packets, or -errno. */
static int nanet3_put_count(struct nanet3_client *c, const struct nanet3_put *put)
{
	const struct nanet3_buffer *source, *destination;
	u64 packets;

	lockdep_assert_held(&c->dev->tx_mutex);
	if (put->source >= NANET3_BUFFERS || put->destination >= NANET3_BUFFERS)
		return -ENOENT;
	source = &c->dev->buffers[array_index_nospec(put->source, NANET3_BUFFERS)];
	destination = &c->dev->buffers[array_index_nospec(put->destination, NANET3_BUFFERS)];
	if (source->client != c || destination->client != c)
		return -ENOENT;
	if (!nanet3_put_sound(put, source->length, destination->length))
		return -EINVAL;
	packets = nanet3_put_packets(put, source->offset);
	return packets <= NANET3_PUTS_MAX ? (int)packets : -E2BIG;
}

/*
 * Where DMA is bounced, the processor's side of a buffer is old while a put of @c into it is on its
 * way, and would be sent. True when one is. tx_mutex held.
 */
static bool nanet3_arriving(struct nanet3_client *c, u32 buffer)
{
	struct nanet3_dev *dev = c->dev;
	bool is = false;
	unsigned int n;

	lockdep_assert_held(&dev->tx_mutex);
	if (!dev->buffers[buffer].need_sync)
		return false;
	nanet3_drain(dev);
	spin_lock(&dev->event_lock);
	for_each_set_bit(n, dev->slots_busy, NANET3_SLOTS) {
		const struct nanet3_slot *slot = &dev->slots[n];

		is |= slot->put && slot->client == c && slot->buffer == buffer;
	}
	spin_unlock(&dev->event_lock);
	return is;
}

/* Cut at the source's pages: a packet lies in one. Slot @n. tx_mutex held, and there is room. */
static void nanet3_put_append(struct nanet3_dev *dev, const struct nanet3_put *put, u32 n)
{
	const struct nanet3_buffer *source = &dev->buffers[put->source];
	struct nanet3_tx tx = {
		.link = NANET3_LOOPBACK,
		.kind = NANET3_TX_PUT,
		.cookie = nanet3_slot_cookie(dev, n),
	};
	u64 at = source->offset + put->source_offset;
	u64 done = 0;

	while (done < put->length) {
		u32 in_page = (at + done) % NANET3_PAGE;
		u64 bus = le64_to_cpu(source->table[(at + done) / NANET3_PAGE]);
		struct nanet3_tx_put packet = {
			.source = bus + in_page,
			.destination = put->destination_offset + done,
			.length = min_t(u64, put->length - done, NANET3_PAGE - in_page),
			.buffer = put->destination,
			.put_bytes = put->length,
		};

		done += packet.length;
		if (done == put->length)
			packet.flags = NANET3_PUT_LAST;
		memcpy(tx.bytes, &packet, sizeof(packet));
		nanet3_tx_append(dev, &tx, n, packet.flags & NANET3_PUT_LAST);
	}
}

/* NANET3_IOC_PUT; errors: nanet3.h. Life held. */
int nanet3_put(struct nanet3_client *c, void *arg)
{
	const struct nanet3_put *put = arg;
	struct nanet3_dev *dev = c->dev;
	struct nanet3_slot like = {
		.client = c,
		.cookie = put->cookie,
		.link = NANET3_LOOPBACK,
		.put = true,
		.source = put->source,
		.buffer = put->destination,
		.position = put->destination_offset,
		.length = put->length,
	};
	int packets, r = 0;
	u32 n;

	mutex_lock(&dev->tx_mutex);
	packets = nanet3_put_count(c, put);
	if (packets < 0) {
		r = packets;
		goto unlock;
	}
	n = NANET3_SLOTS;
	if (nanet3_tx_room(dev, packets, NANET3_PUTS_MAX) && !nanet3_arriving(c, put->source))
		n = nanet3_slot_get(dev, &like);
	if (n == NANET3_SLOTS) {
		nanet3_ring_doorbell(dev);
		r = -EAGAIN;
		goto unlock;
	}
	nanet3_buffer_sync(dev, &dev->buffers[put->source], put->source_offset, put->length, true);
	nanet3_put_append(dev, put, n);
	trace_nanet3_put(dev->index, put->source, put->destination, put->length, packets);
	if (!(put->flags & NANET3_PUT_MORE))
		nanet3_ring_doorbell(dev);
unlock:
	mutex_unlock(&dev->tx_mutex);
	return r;
}
