// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Link rings: their memory, who owns them, and the start and stop of DMA.
 *
 *   STOPPED --claim--> OWNED --owner's file closes--> LINGERING --time passes--> STOPPED
 *      ^                 |  ^                             |
 *      +-----yield-------+  +-------claim: take-over------+   (FRESH: stop, then start)
 *
 * A buffer: FREE --board fills it--> completion written, write_position + 1 --> READER
 *                --RELEASE, or doorbell--> release_position passes it --> FREE
 *
 * A DMA start counts the link's epoch, zeroes the positions and gives a new, zeroed owner page:
 * the last owner may still map the old one. Memory is allocated once, at probe, and given back
 * when the board is removed; a link whose DMA does not stop, not even by a reset of the board,
 * keeps its memory for ever and is not claimed again.
 */
#include <linux/iopoll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "nanet3_drv.h"

#define POLL_US 50u

/* ------------------------------------------------------------------------ memory */

static int geometry(struct nanet3_dev *dev, struct nanet3_ring *ret_shape)
{
	u32 stride = PAGE_ALIGN(nanet3_frames_per_buffer * NANET3_FRAME_BYTES);
	u64 depth =
		(u64)nanet3_depth_ms * (NANET3_FRAMES_PER_SECOND / 1000) / nanet3_frames_per_buffer;

	depth = max_t(u64, depth, NANET3_DEPTH_MIN);
	if (stride > NANET3_CHUNK_MAX ||
	    depth * NANET3_LINKS + NANET3_EVQ_CONTROL > NANET3_EVQ_SIZE_MAX) {
		dev_err(&dev->pdev->dev, "depth_ms %u of buffers of %u frames is too much\n",
			nanet3_depth_ms, nanet3_frames_per_buffer);
		return -EINVAL;
	}
	if (depth * NANET3_LINKS * stride > (u64)totalram_pages() / 2 * PAGE_SIZE) {
		dev_err(&dev->pdev->dev,
			"rings of %u ms are more than half of this machine's memory\n",
			nanet3_depth_ms);
		return -ENOMEM;
	}
	ret_shape->version = NANET3_VERSION;
	ret_shape->frames_per_buffer = nanet3_frames_per_buffer;
	ret_shape->buffer_stride = stride;
	ret_shape->depth = depth;
	ret_shape->deadline_us = nanet3_deadline_us;
	ret_shape->linger_ms = nanet3_linger_ms;
	return 0;
}

static void chunks_free(struct nanet3_link *l)
{
	u32 i;

	for (i = 0; l->chunks && i < l->ring->chunks; i++) {
		if (l->quarantined)
			sg_free_table(&l->chunks[i].sgt);
		else
			nanet3_area_free(l->dev, &l->chunks[i]);
	}
}

/* All buffers, @chunk_buffers of them in a piece. */
static int chunks_alloc(struct nanet3_link *l, u32 chunk_buffers)
{
	struct nanet3_ring *ring = l->ring;
	u32 left = ring->depth;
	u32 i;
	int r;

	ring->chunk_buffers = chunk_buffers;
	ring->chunks = DIV_ROUND_UP(ring->depth, chunk_buffers);
	if (ring->chunks > NANET3_CHUNKS_MAX)
		return -ENOMEM;
	l->chunks = kvcalloc(ring->chunks, sizeof(*l->chunks), GFP_KERNEL);
	if (!l->chunks)
		return -ENOMEM;
	for (i = 0; i < ring->chunks; i++) {
		u32 buffers = min(left, chunk_buffers);

		r = nanet3_area_alloc(l->dev, &l->chunks[i], (size_t)buffers * ring->buffer_stride);
		if (r < 0) {
			chunks_free(l);
			kvfree(l->chunks);
			l->chunks = NULL;
			return r;
		}
		left -= buffers;
	}
	return 0;
}

/* As large pieces as memory has; a machine that has run for long may be short of the largest. */
static int buffers_alloc(struct nanet3_link *l)
{
	u32 chunk_buffers = NANET3_CHUNK_MAX / l->ring->buffer_stride;
	int r;

	do {
		r = chunks_alloc(l, chunk_buffers);
		chunk_buffers /= 2;
	} while (r == -ENOMEM && chunk_buffers > 0);
	return r;
}

static void table_fill(struct nanet3_link *l)
{
	const struct nanet3_ring *ring = l->ring;
	u32 i;

	for (i = 0; i < ring->depth; i++) {
		const struct nanet3_area *chunk = &l->chunks[i / ring->chunk_buffers];

		l->table[i] = cpu_to_le64(chunk->dma + (dma_addr_t)(i % ring->chunk_buffers) *
							       ring->buffer_stride);
	}
}

static int link_create(struct nanet3_dev *dev, u32 index, const struct nanet3_ring *shape,
		       u32 first_epoch)
{
	struct nanet3_link *l = &dev->links[index];
	u8 *state = vmalloc_user(NANET3_RING_COMPLETIONS +
				 PAGE_ALIGN(shape->depth * sizeof(struct nanet3_event)));
	int r;

	l->dev = dev;
	l->index = index;
	if (!state)
		return -ENOMEM;
	l->ring = (struct nanet3_ring *)state;
	l->completions = (struct nanet3_event *)(state + NANET3_RING_COMPLETIONS);
	*l->ring = *shape;
	l->ring->link = index;
	l->ring->dma_epoch = first_epoch;
	l->owner_page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!l->owner_page)
		return -ENOMEM;
	r = buffers_alloc(l);
	if (r < 0)
		return r;
	l->table = dma_alloc_coherent(&dev->pdev->dev, shape->depth * sizeof(*l->table),
				      &l->table_dma, GFP_KERNEL | __GFP_NOWARN);
	if (!l->table)
		return -ENOMEM;
	table_fill(l);
	return 0;
}

/**
 * nanet3_rings_create() - allocate all rings and the event queue
 * @dev: the board; its registers can be read
 *
 * The first DMA epoch follows the one in the board's register, which outlives this module.
 *
 * Return: 0 or -errno; nanet3_rings_free_dma() and nanet3_rings_free() undo it, also in part
 */
int nanet3_rings_create(struct nanet3_dev *dev)
{
	u32 epoch = nanet3_read(dev, NANET3_REG_DMA_EPOCH);
	struct nanet3_ring shape = {};
	unsigned int i;
	int r;

	r = geometry(dev, &shape);
	if (r < 0)
		return r;
	for (i = 0; i < NANET3_LINKS; i++) {
		r = link_create(dev, i, &shape, epoch);
		if (r < 0)
			return r;
	}
	dev->evq_size = roundup_pow_of_two(shape.depth * NANET3_LINKS + NANET3_EVQ_CONTROL);
	r = nanet3_area_alloc(dev, &dev->evq, dev->evq_size * sizeof(struct nanet3_event));
	if (r < 0)
		return r;
	dev->dma_present = true;
	return 0;
}

/*
 * Free what the board wrote to. It is stopped, mappings are revoked. Memory of links that did not
 * stop is never freed: it is the board's.
 */
void nanet3_rings_free_dma(struct nanet3_dev *dev)
{
	unsigned int i;

	for (i = 0; i < NANET3_LINKS; i++) {
		struct nanet3_link *l = &dev->links[i];

		chunks_free(l);
		if (l->table && !l->quarantined)
			dma_free_coherent(&dev->pdev->dev, l->ring->depth * sizeof(*l->table),
					  l->table, l->table_dma);
		l->table = NULL;
	}
	nanet3_area_free(dev, &dev->evq);
}

/* The last handle has closed: free the rest. */
void nanet3_rings_free(struct nanet3_dev *dev)
{
	unsigned int i;
	u32 n;

	for (i = 0; i < NANET3_LINKS; i++) {
		struct nanet3_link *l = &dev->links[i];

		for (n = 0; l->chunks && n < l->ring->chunks; n++)
			nanet3_area_forget(&l->chunks[n]);
		kvfree(l->chunks);
		if (l->owner_page)
			put_page(l->owner_page);
		vfree(l->ring);
	}
	nanet3_area_forget(&dev->evq);
}

/* ------------------------------------------------------------------------ start and stop */

/* mutex, map_lock or event_lock held. */
bool nanet3_owns_any(const struct nanet3_client *c)
{
	unsigned int i;

	for (i = 0; i < NANET3_LINKS; i++) {
		if (c->dev->links[i].owner == c)
			return true;
	}
	return false;
}

/* Takes all three locks, so that one of them is enough to read the owner. */
static void owner_set(struct nanet3_link *l, struct nanet3_client *owner,
		      enum nanet3_ring_status status)
{
	struct nanet3_dev *dev = l->dev;
	struct nanet3_client *old = l->owner;

	lockdep_assert_held(&dev->mutex);
	down_write(&dev->map_lock);
	spin_lock(&dev->event_lock);
	l->owner = owner;
	l->delegate = NULL;
	WRITE_ONCE(l->ring->status, status);
	WRITE_ONCE(l->ring->owner_pid, owner ? task_tgid_nr(current) : 0);
	spin_unlock(&dev->event_lock);
	up_write(&dev->map_lock);
	if (old && old != owner)
		nanet3_revoke_doorbell(old, l->index);
	/* A mapping that it has kept from an earlier claim may lead nowhere. */
	if (owner && owner != old)
		nanet3_revoke_doorbell(owner, l->index);
}

/*
 * The link has no owner any more; @status: of its ring from now on. The last link that a polling
 * client gives back ends its polling. mutex held.
 */
void nanet3_link_disown(struct nanet3_link *l, enum nanet3_ring_status status)
{
	struct nanet3_client *old = l->owner;

	owner_set(l, NULL, status);
	if (!old || !old->polling)
		return;
	spin_lock(&l->dev->event_lock);
	old->polling = nanet3_owns_any(old);
	spin_unlock(&l->dev->event_lock);
	if (l->dev->state == NANET3_READY)
		nanet3_irq_mask(l->dev);
}

/* The board has stopped under the link's owner, who may be reading. mutex held. */
void nanet3_link_lose(struct nanet3_link *l)
{
	if (l->owner)
		l->lost = true;
	nanet3_link_disown(l, NANET3_RING_STOPPED);
}

/*
 * Wait until the board does not write to the ring any more, ENABLE being clear. False when that
 * takes too long. A board that is gone does not write.
 */
bool nanet3_link_wait_idle(struct nanet3_link *l)
{
	u32 offset = NANET3_REG_LINK(l->index, NANET3_LREG_STATUS);
	u32 status;

	return !read_poll_timeout(nanet3_read, status,
				  !(status & NANET3_LSTAT_BUSY) || status == NANET3_ALL_ONES,
				  POLL_US, NANET3_STOP_US, false, l->dev, offset);
}

/* The link's memory is the board's for ever. */
void nanet3_link_quarantine(struct nanet3_link *l)
{
	if (l->quarantined)
		return;
	l->quarantined = true;
	dev_err(&l->dev->device, "link %u: DMA does not stop, its memory is lost\n", l->index);
	atomic64_add((u64)l->ring->depth * l->ring->buffer_stride / PAGE_SIZE, &nanet3_quarantined);
}

/* End DMA and ownership. What was completed before is in the ring's state. */
static void link_stop(struct nanet3_link *l)
{
	struct nanet3_dev *dev = l->dev;
	bool running = l->ring->status != NANET3_RING_STOPPED;
	bool idle;

	if (!running && !l->owner)
		return;
	nanet3_write(dev, NANET3_REG_LINK(l->index, NANET3_LREG_CONTROL), 0);
	idle = nanet3_link_wait_idle(l);
	nanet3_link_follow(l);
	nanet3_link_disown(l, NANET3_RING_STOPPED);
	if (idle || !nanet3_answers(dev))
		return;
	nanet3_board_reset(dev);
	if (!nanet3_link_wait_idle(l))
		nanet3_link_quarantine(l);
}

static u32 epoch_max(struct nanet3_dev *dev)
{
	u32 epoch = 0;
	unsigned int i;

	for (i = 0; i < NANET3_LINKS; i++)
		epoch = max(epoch, dev->links[i].ring->dma_epoch);
	return epoch;
}

/* Begin at position 0, with a new epoch and a new owner page, for @c. */
static int link_start(struct nanet3_link *l, struct nanet3_client *c)
{
	struct nanet3_dev *dev = l->dev;
	u32 control = NANET3_REG_LINK(l->index, NANET3_LREG_CONTROL);
	struct page *page, *old;
	u32 runs;

	if (l->quarantined)
		return -EIO;
	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!page)
		return -ENOMEM;
	down_write(&dev->map_lock);
	old = l->owner_page;
	l->owner_page = page;
	up_write(&dev->map_lock);
	put_page(old);

	owner_set(l, c, NANET3_RING_OWNED);
	l->lost = false;
	/* Who follows the link sees the new epoch only with the board's positions of it. */
	mutex_lock(&dev->tx_mutex);
	spin_lock(&dev->event_lock);
	l->ring->dma_epoch++;
	l->ring->start_count = 0;
	WRITE_ONCE(l->broken, false);
	/* Readers load them with acquire: nothing of the last epoch is read under new positions. */
	smp_store_release(&l->ring->release_position, 0);
	/* likewise */
	smp_store_release(&l->ring->write_position, 0);
	l->stats.starts++;
	spin_unlock(&dev->event_lock);
	nanet3_write(dev, NANET3_REG_DMA_EPOCH, l->ring->dma_epoch);
	nanet3_write(dev, control, NANET3_LINK_ENABLE);
	runs = nanet3_read(dev, control);
	mutex_unlock(&dev->tx_mutex);
	if (runs == NANET3_ALL_ONES || !(runs & NANET3_LINK_ENABLE)) {
		nanet3_link_disown(l, NANET3_RING_STOPPED);
		return nanet3_answers(dev) ? -EIO : -ENODEV;
	}
	/* Latched; from here on the register keeps the highest for the next load of the module. */
	nanet3_write(dev, NANET3_REG_DMA_EPOCH, epoch_max(dev));
	return 0;
}

/* ------------------------------------------------------------------------ owners */

/* NANET3_IOC_CLAIM; errors: nanet3.h, and -EIO when the link's DMA cannot be started. Life held. */
int nanet3_claim(struct nanet3_client *c, void *arg)
{
	struct nanet3_claim *claim = arg;
	struct nanet3_dev *dev = c->dev;
	struct nanet3_link *l;
	int r = 0;

	if (claim->link >= NANET3_LINKS || claim->flags & ~NANET3_CLAIM_FRESH || claim->reserved)
		return -EINVAL;
	l = &dev->links[claim->link];
	mutex_lock(&dev->mutex);
	if (c->dead) { /* since nanet3_enter() */
		r = -ENODEV;
	} else if (l->owner) {
		r = -EBUSY;
	} else if (l->ring->status == NANET3_RING_LINGERING && !READ_ONCE(l->broken) &&
		   !(claim->flags & NANET3_CLAIM_FRESH)) {
		owner_set(l, c, NANET3_RING_OWNED);
		spin_lock(&dev->event_lock);
		l->stats.takeovers++;
		spin_unlock(&dev->event_lock);
		claim->flags = NANET3_CLAIMED_TAKEOVER;
	} else {
		link_stop(l); /* may have reset the board */
		r = c->dead ? -ENODEV : link_start(l, c);
		claim->flags = 0;
	}
	if (!r && c->polling)
		nanet3_irq_mask(dev);
	claim->dma_epoch = l->ring->dma_epoch;
	mutex_unlock(&dev->mutex);
	if (!r)
		nanet3_tick_start(dev);
	return r;
}

/* NANET3_IOC_YIELD; errors: nanet3.h. Life held. */
int nanet3_yield(struct nanet3_client *c, void *arg)
{
	u32 link = *(const u32 *)arg;
	struct nanet3_dev *dev = c->dev;
	int r = 0;

	if (link >= NANET3_LINKS)
		return -EINVAL;
	mutex_lock(&dev->mutex);
	if (dev->links[link].owner == c)
		link_stop(&dev->links[link]);
	else
		r = -EPERM;
	mutex_unlock(&dev->mutex);
	return r;
}

/* A client's open handle by its number, or NULL. event_lock held. */
static struct nanet3_client *client_find(struct nanet3_dev *dev, u64 number)
{
	struct nanet3_client *c, *found = NULL;

	list_for_each_entry(c, &dev->clients, list)
		found = c->number == number ? c : found;
	return found;
}

/* NANET3_IOC_GRANT; errors: nanet3.h. Life held. */
int nanet3_grant(struct nanet3_client *c, void *arg)
{
	const struct nanet3_grant *grant = arg;
	struct nanet3_dev *dev = c->dev;
	struct nanet3_client *delegate;
	int r = 0;

	if (grant->link >= NANET3_LINKS || grant->reserved)
		return -EINVAL;
	mutex_lock(&dev->mutex);
	spin_lock(&dev->event_lock);
	delegate = client_find(dev, grant->handle);
	if (dev->links[grant->link].owner != c)
		r = -EPERM;
	else if (grant->handle && !delegate)
		r = -ENOENT;
	else
		dev->links[grant->link].delegate = delegate;
	spin_unlock(&dev->event_lock);
	mutex_unlock(&dev->mutex);
	return r;
}

/*
 * Does the client own the link, or has the owner granted it the right? Link 0xff, a broadcast: all
 * of them. Life held, not event_lock.
 */
bool nanet3_acts_for(struct nanet3_client *c, u32 link)
{
	struct nanet3_dev *dev = c->dev;
	bool acts = true;
	u32 i;

	spin_lock(&dev->event_lock);
	for (i = 0; i < NANET3_LINKS; i++) {
		const struct nanet3_link *l = &dev->links[i];

		if (i == link || link >= NANET3_LINKS)
			acts &= l->owner == c || l->delegate == c;
	}
	spin_unlock(&dev->event_lock);
	return acts;
}

/* A client closes: it acts for no owner any more. mutex held. */
void nanet3_delegate_drop(struct nanet3_client *c)
{
	struct nanet3_dev *dev = c->dev;
	unsigned int i;

	spin_lock(&dev->event_lock);
	for (i = 0; i < NANET3_LINKS; i++) {
		if (dev->links[i].delegate == c)
			dev->links[i].delegate = NULL;
	}
	spin_unlock(&dev->event_lock);
}

/* The owner of a running link has closed its file without YIELD. Life and mutex held. */
void nanet3_link_linger(struct nanet3_link *l)
{
	nanet3_link_follow(l);
	l->linger_until = jiffies + msecs_to_jiffies(l->ring->linger_ms);
	spin_lock(&l->dev->event_lock);
	l->stats.lingers++;
	spin_unlock(&l->dev->event_lock);
	nanet3_link_disown(l, NANET3_RING_LINGERING);
}

/* A client loses its handle; its other links linger, as if it had died. mutex held. */
static void hang_up(struct nanet3_client *c)
{
	struct nanet3_dev *dev = c->dev;
	unsigned int i;

	spin_lock(&dev->event_lock);
	nanet3_client_hang_up(c);
	spin_unlock(&dev->event_lock);
	for (i = 0; i < NANET3_LINKS; i++) {
		if (dev->links[i].owner == c && dev->state == NANET3_READY)
			nanet3_link_linger(&dev->links[i]);
	}
}

/*
 * Its completions made no sense: ring and board would not agree again by themselves, and the owner
 * would wait for ever. It loses its handle and starts over. mutex held.
 */
static void stop_broken(struct nanet3_link *l)
{
	struct nanet3_client *owner = l->owner;

	if (l->ring->status != NANET3_RING_STOPPED)
		dev_err(&l->dev->device, "link %u: impossible completions: stopped\n", l->index);
	l->lost |= !!owner;
	link_stop(l);
	WRITE_ONCE(l->broken, false);
	if (owner)
		hang_up(owner);
}

/* Stop links that have lingered long enough, or whose completions made no sense. Life held. */
void nanet3_links_check(struct nanet3_dev *dev)
{
	unsigned int i;

	for (i = 0; i < NANET3_LINKS; i++) {
		struct nanet3_link *l = &dev->links[i];

		if (READ_ONCE(l->ring->status) != NANET3_RING_LINGERING && !READ_ONCE(l->broken))
			continue;
		mutex_lock(&dev->mutex);
		/* Both may have changed: a link that was started again has an innocent owner. */
		if (l->ring->status == NANET3_RING_LINGERING &&
		    time_after_eq(jiffies, l->linger_until))
			link_stop(l);
		if (READ_ONCE(l->broken))
			stop_broken(l);
		mutex_unlock(&dev->mutex);
	}
}

/* NANET3_IOC_RELEASE; errors: nanet3.h. Life held. */
int nanet3_release(struct nanet3_client *c, void *arg)
{
	const struct nanet3_release *release = arg;
	struct nanet3_dev *dev = c->dev;
	struct nanet3_ring *ring;
	int r = 0;

	if (release->link >= NANET3_LINKS || release->reserved)
		return -EINVAL;
	ring = dev->links[release->link].ring;
	spin_lock(&dev->event_lock);
	if (dev->links[release->link].owner != c) {
		r = -EPERM;
	} else if (release->position < ring->release_position ||
		   release->position > ring->write_position) {
		r = -EINVAL;
	} else {
		/* What is read under a position is read before it passes; pairs with readers. */
		smp_store_release(&ring->release_position, release->position);
		nanet3_write_pair(dev, NANET3_REG_LINK(release->link, NANET3_LREG_RELEASE),
				  release->position);
	}
	spin_unlock(&dev->event_lock);
	return r;
}

/* ------------------------------------------------------------------------ polling */

/*
 * Bring the ring's state up to what the board and a polling owner have done; events taken. The
 * owner may have rung its doorbell for buffers whose events are not taken yet: the release position
 * is read first. Life held.
 */
unsigned int nanet3_link_follow(struct nanet3_link *l)
{
	struct nanet3_dev *dev = l->dev;
	struct nanet3_ring *ring = l->ring;
	unsigned int taken;
	u64 released;
	u32 epoch;

	mutex_lock(&dev->tx_mutex);
	epoch = READ_ONCE(ring->dma_epoch);
	released = nanet3_read_pair(dev, NANET3_REG_LINK(l->index, NANET3_LREG_RELEASE));
	mutex_unlock(&dev->tx_mutex);
	taken = nanet3_drain(dev);
	spin_lock(&dev->event_lock);
	if (ring->dma_epoch == epoch && released > ring->release_position &&
	    released <= ring->write_position) {
		/* As in nanet3_release(), which a polling owner does without. */
		smp_store_release(&ring->release_position, released);
	}
	spin_unlock(&dev->event_lock);
	return taken;
}

/* NANET3_IOC_POLLING; errors: nanet3.h. Life held. */
int nanet3_polling(struct nanet3_client *c, void *arg)
{
	struct nanet3_polling *polling = arg;
	struct nanet3_dev *dev = c->dev;
	unsigned int i;

	if (polling->on > 1 || polling->reserved)
		return -EINVAL;
	mutex_lock(&dev->mutex);
	if (!nanet3_owns_any(c)) {
		mutex_unlock(&dev->mutex);
		return -EPERM;
	}
	spin_lock(&dev->event_lock);
	c->polling = polling->on;
	spin_unlock(&dev->event_lock);
	nanet3_irq_mask(dev);
	for (i = 0; i < NANET3_LINKS; i++) {
		if (dev->links[i].owner == c)
			nanet3_link_follow(&dev->links[i]);
	}
	spin_lock(&dev->event_lock);
	polling->next_sequence = dev->evq_read + 1;
	spin_unlock(&dev->event_lock);
	polling->queue_size = dev->evq_size;
	mutex_unlock(&dev->mutex);
	nanet3_tick_start(dev);
	return 0;
}
