// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Link rings: their memory, who owns them, how far board and owner are.
 *
 * A buffer: FREE --board fills it--> completion written, write_position + 1 --> READER
 *                --RELEASE, or doorbell--> release_position passes it --> FREE
 *
 * Memory is allocated once, at probe, and given back when the board is removed; a link whose DMA
 * does not stop, not even by a reset of the board, keeps its memory for ever and is not claimed
 * again. nanet3_claim.c starts and stops DMA.
 */
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "nanet3_drv.h"

#define POLL_US 50u

/* Pages that boards never gave back: they outlive the boards. */
atomic64_t nanet3_quarantined = ATOMIC64_INIT(0);

/* ------------------------------------------------------------------------ parameters */

static int limited_set(const char *text, const struct kernel_param *kp, unsigned int min,
		       unsigned int max)
{
	int r = param_set_uint_minmax(text, kp, min, max);

	if (r < 0)
		pr_err("%s: %s is %u..%u\n", NANET3_NAME, kp->name, min, max);
	return r;
}

#define LIMITED_PARAM(name, default_value, min, max, text)                                         \
	static unsigned int name = (default_value);                                                \
	static int name##_set(const char *value, const struct kernel_param *kp)                    \
	{                                                                                          \
		return limited_set(value, kp, min, max);                                           \
	}                                                                                          \
	static const struct kernel_param_ops name##_ops = {                                        \
		.set = name##_set,                                                                 \
		.get = param_get_uint,                                                             \
	};                                                                                         \
	module_param_cb(name, &name##_ops, &name, 0444);                                           \
	__MODULE_PARM_TYPE(name, "uint");                                                          \
	MODULE_PARM_DESC(name, text)

LIMITED_PARAM(depth_ms, 2000, 1, 60000,
	      "Time that each link's ring holds, ms (1..60000, 8 buffers at least; 2000)");
LIMITED_PARAM(frames_per_buffer, 16, 1, NANET3_CHUNK_MAX / NANET3_FRAME_BYTES,
	      "Frames of 125 us in a buffer (1..419; 16)");
LIMITED_PARAM(deadline_us, 5000, NANET3_DEADLINE_MIN_US, NANET3_DEADLINE_MAX_US,
	      "Time after which a buffer is handed over, full or not, us (125..1000000; 5000)");
LIMITED_PARAM(linger_ms, 10000, 0, 3600000,
	      "Time from an owner's death to the end of its DMA, ms (0..3600000; 10000)");

/* ------------------------------------------------------------------------ memory */

static int nanet3_geometry(struct nanet3_dev *dev, struct nanet3_ring *ret_shape)
{
	u32 stride = PAGE_ALIGN(frames_per_buffer * NANET3_FRAME_BYTES);
	u64 depth = (u64)depth_ms * (NANET3_FRAMES_PER_SECOND / 1000) / frames_per_buffer;

	depth = max_t(u64, depth, NANET3_DEPTH_MIN);
	if (stride > NANET3_CHUNK_MAX ||
	    depth * NANET3_LINKS + NANET3_EVQ_CONTROL > NANET3_EVQ_SIZE_MAX) {
		dev_err(&dev->pdev->dev, "depth_ms %u of buffers of %u frames is too much\n",
			depth_ms, frames_per_buffer);
		return -EINVAL;
	}
	if (depth * NANET3_LINKS * stride > (u64)totalram_pages() / 2 * PAGE_SIZE) {
		dev_err(&dev->pdev->dev,
			"rings of %u ms are more than half of this machine's memory\n", depth_ms);
		return -ENOMEM;
	}
	ret_shape->version = NANET3_ABI_VERSION;
	ret_shape->frames_per_buffer = frames_per_buffer;
	ret_shape->buffer_stride = stride;
	ret_shape->depth = depth;
	ret_shape->deadline_us = deadline_us;
	ret_shape->linger_ms = linger_ms;
	return 0;
}

static void nanet3_chunks_free(struct nanet3_link *l)
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
static int nanet3_chunks_alloc(struct nanet3_link *l, u32 chunk_buffers)
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
			nanet3_chunks_free(l);
			kvfree(l->chunks);
			l->chunks = NULL;
			return r;
		}
		left -= buffers;
	}
	return 0;
}

/* As large pieces as memory has; a machine that has run for long may be short of the largest. */
static int nanet3_buffers_alloc(struct nanet3_link *l)
{
	u32 chunk_buffers = NANET3_CHUNK_MAX / l->ring->buffer_stride;
	int r;

	do {
		r = nanet3_chunks_alloc(l, chunk_buffers);
		chunk_buffers /= 2;
	} while (r == -ENOMEM && chunk_buffers > 0);
	return r;
}

static void nanet3_table_fill(struct nanet3_link *l)
{
	const struct nanet3_ring *ring = l->ring;
	u32 i;

	for (i = 0; i < ring->depth; i++) {
		const struct nanet3_area *chunk = &l->chunks[i / ring->chunk_buffers];

		l->table[i] = cpu_to_le64(chunk->dma + (dma_addr_t)(i % ring->chunk_buffers) *
							       ring->buffer_stride);
	}
}

static int nanet3_link_create(struct nanet3_dev *dev, u32 index, const struct nanet3_ring *shape,
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
	r = nanet3_buffers_alloc(l);
	if (r < 0)
		return r;
	l->table = dma_alloc_coherent(&dev->pdev->dev, shape->depth * sizeof(*l->table),
				      &l->table_dma, GFP_KERNEL | __GFP_NOWARN);
	if (!l->table)
		return -ENOMEM;
	nanet3_table_fill(l);
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

	r = nanet3_geometry(dev, &shape);
	if (r < 0)
		return r;
	for (i = 0; i < NANET3_LINKS; i++) {
		r = nanet3_link_create(dev, i, &shape, epoch);
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

		nanet3_chunks_free(l);
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

/* ------------------------------------------------------------------------ owners */

/*
 * The link is @owner's, or nobody's; @status: of its ring from now on. Takes all three locks, so
 * that one of them is enough to read the owner. mutex held.
 */
void nanet3_link_own(struct nanet3_link *l, struct nanet3_client *owner,
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

/* Enable all interrupts except those of polled links. mutex held. */
void nanet3_irq_mask(struct nanet3_dev *dev)
{
	u32 mask = BIT(NANET3_VECTORS) - 1;
	unsigned int i;

	lockdep_assert_held(&dev->mutex);
	for (i = 0; i < NANET3_LINKS; i++) {
		if (dev->links[i].owner && dev->links[i].owner->polling)
			mask &= ~BIT(i);
	}
	nanet3_write(dev, NANET3_REG_IRQ_MASK, mask);
}

/*
 * The link has no owner any more; @status: of its ring from now on. The last link that a polling
 * client gives back ends its polling. mutex held.
 */
void nanet3_link_disown(struct nanet3_link *l, enum nanet3_ring_status status)
{
	struct nanet3_client *old = l->owner;

	lockdep_assert_held(&l->dev->mutex);
	nanet3_link_own(l, NULL, status);
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
	lockdep_assert_held(&l->dev->mutex);
	if (l->owner)
		l->lost = true;
	nanet3_link_disown(l, NANET3_RING_STOPPED);
}

/*
 * Wait until the board does not write to the ring any more, ENABLE being clear. False when that
 * takes too long, or the board does not answer.
 */
bool nanet3_link_wait_idle(struct nanet3_link *l)
{
	u32 offset = NANET3_REG_LINK(l->index, NANET3_LREG_STATUS);
	u32 status;

	read_poll_timeout(nanet3_read, status,
			  !(status & NANET3_LSTAT_BUSY) ||
				  (status == NANET3_ALL_ONES && !nanet3_there(l->dev)),
			  POLL_US, NANET3_STOP_US, false, l->dev, offset);
	return !(status & NANET3_LSTAT_BUSY);
}

/* May its DMA be running? True if the board does not answer. Life held, or probe. */
bool nanet3_link_may_be_busy(struct nanet3_link *l)
{
	return nanet3_read(l->dev, NANET3_REG_LINK(l->index, NANET3_LREG_STATUS)) &
	       NANET3_LSTAT_BUSY;
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

	lockdep_assert_held(&dev->life);
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

/* The owner of a running link has closed its file without YIELD. Life and mutex held. */
void nanet3_link_linger(struct nanet3_link *l)
{
	lockdep_assert_held(&l->dev->life);
	lockdep_assert_held(&l->dev->mutex);
	nanet3_link_follow(l);
	l->linger_until = jiffies + msecs_to_jiffies(l->ring->linger_ms);
	spin_lock(&l->dev->event_lock);
	l->stats.lingers++;
	spin_unlock(&l->dev->event_lock);
	nanet3_link_disown(l, NANET3_RING_LINGERING);
}
