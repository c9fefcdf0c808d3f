// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who has a link: claim, yield, grant; the start and stop of its DMA.
 *
 *   STOPPED --claim--> OWNED --owner's file closes--> LINGERING --time passes--> STOPPED
 *      ^                 |  ^                             |
 *      +-----yield-------+  +-------claim: take-over------+   (FRESH: stop, then start)
 *
 * A DMA start counts the link's epoch, zeroes the positions and gives a new, zeroed owner page:
 * the last owner may still map the old one.
 */
#include <linux/sched.h>

#include "nanet3_drv.h"
#include "nanet3_trace.h"

/* ------------------------------------------------------------------------ start and stop */

/* End DMA and ownership. What was completed before is in the ring's state. */
static void nanet3_link_stop(struct nanet3_link *l)
{
	struct nanet3_dev *dev = l->dev;
	bool running = l->ring->status != NANET3_RING_STOPPED;
	bool idle;

	lockdep_assert_held(&dev->mutex);
	if (!running && !l->owner)
		return;
	nanet3_write(dev, NANET3_REG_LINK(l->index, NANET3_LREG_CONTROL), 0);
	idle = nanet3_link_wait_idle(l);
	nanet3_link_follow(l);
	nanet3_link_disown(l, NANET3_RING_STOPPED);
	if (idle || !nanet3_answers(dev))
		return;
	nanet3_board_reset(dev, "DMA does not stop");
	if (dev->state == NANET3_READY && !nanet3_link_wait_idle(l) && nanet3_answers(dev))
		nanet3_link_quarantine(l);
}

static u32 nanet3_epoch_max(struct nanet3_dev *dev)
{
	u32 epoch = 0;
	unsigned int i;

	for (i = 0; i < NANET3_LINKS; i++)
		epoch = max(epoch, dev->links[i].ring->dma_epoch);
	return epoch;
}

/* Begin at position 0, with a new epoch and a new owner page, for @c. */
static int nanet3_link_start(struct nanet3_link *l, struct nanet3_client *c)
{
	struct nanet3_dev *dev = l->dev;
	u32 control = NANET3_REG_LINK(l->index, NANET3_LREG_CONTROL);
	struct page *page, *old;
	u32 runs;

	lockdep_assert_held(&dev->mutex);
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

	nanet3_link_own(l, c, NANET3_RING_OWNED);
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
		nanet3_write(dev, control, 0); /* it may have started all the same */
		nanet3_link_wait_idle(l);
		nanet3_link_disown(l, NANET3_RING_STOPPED);
		return nanet3_answers(dev) ? -EIO : -ENODEV;
	}
	/* Latched; from here on the register keeps the highest for the next load of the module. */
	nanet3_write(dev, NANET3_REG_DMA_EPOCH, nanet3_epoch_max(dev));
	return 0;
}

/* ------------------------------------------------------------------------ requests */

/* NANET3_IOC_CLAIM; errors: nanet3.h, and -EIO when the link's DMA cannot be started. Life held. */
int nanet3_claim(struct nanet3_client *c, void *arg)
{
	struct nanet3_claim *claim = arg;
	struct nanet3_dev *dev = c->dev;
	struct nanet3_link *l;
	int r = 0;

	lockdep_assert_held(&dev->life);
	if (claim->link >= NANET3_LINKS || claim->flags & ~NANET3_CLAIM_FRESH || claim->reserved)
		return -EINVAL;
	l = nanet3_link_at(dev, claim->link);
	mutex_lock(&dev->mutex);
	if (c->dead) { /* since nanet3_enter() */
		r = -ENODEV;
	} else if (l->owner) {
		r = -EBUSY;
	} else if (l->ring->status == NANET3_RING_LINGERING && !READ_ONCE(l->broken) &&
		   !(claim->flags & NANET3_CLAIM_FRESH)) {
		nanet3_link_own(l, c, NANET3_RING_OWNED);
		spin_lock(&dev->event_lock);
		l->stats.takeovers++;
		spin_unlock(&dev->event_lock);
		claim->flags = NANET3_CLAIMED_TAKEOVER;
	} else {
		nanet3_link_stop(l); /* may have reset the board */
		r = c->dead ? -ENODEV : nanet3_link_start(l, c);
		claim->flags = 0;
	}
	if (!r && c->polling)
		nanet3_irq_mask(dev);
	claim->dma_epoch = l->ring->dma_epoch;
	if (!r)
		trace_nanet3_claim(dev->index, l->index, claim->dma_epoch,
				   claim->flags == NANET3_CLAIMED_TAKEOVER);
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
	struct nanet3_link *l;
	int r = 0;

	lockdep_assert_held(&dev->life);
	if (link >= NANET3_LINKS)
		return -EINVAL;
	l = nanet3_link_at(dev, link);
	mutex_lock(&dev->mutex);
	if (l->owner == c)
		nanet3_link_stop(l);
	else
		r = -EPERM;
	mutex_unlock(&dev->mutex);
	return r;
}

/* NANET3_IOC_GRANT; errors: nanet3.h. Life held. */
int nanet3_grant(struct nanet3_client *c, void *arg)
{
	const struct nanet3_grant *grant = arg;
	struct nanet3_dev *dev = c->dev;
	struct nanet3_client *other, *delegate = NULL;
	struct nanet3_link *l;
	int r = 0;

	lockdep_assert_held(&dev->life);
	if (grant->link >= NANET3_LINKS || grant->reserved)
		return -EINVAL;
	l = nanet3_link_at(dev, grant->link);
	mutex_lock(&dev->mutex);
	spin_lock(&dev->event_lock);
	list_for_each_entry(other, &dev->clients, list)
		delegate = other->number == grant->handle ? other : delegate;
	if (l->owner != c)
		r = -EPERM;
	else if (grant->handle && !delegate)
		r = -ENOENT;
	else
		l->delegate = delegate;
	spin_unlock(&dev->event_lock);
	mutex_unlock(&dev->mutex);
	return r;
}

/* NANET3_IOC_RELEASE; errors: nanet3.h. Life held. */
int nanet3_release(struct nanet3_client *c, void *arg)
{
	const struct nanet3_release *release = arg;
	struct nanet3_dev *dev = c->dev;
	struct nanet3_ring *ring;
	struct nanet3_link *l;
	int r = 0;

	lockdep_assert_held(&dev->life);
	if (release->link >= NANET3_LINKS || release->reserved)
		return -EINVAL;
	l = nanet3_link_at(dev, release->link);
	ring = l->ring;
	spin_lock(&dev->event_lock);
	if (l->owner != c) {
		r = -EPERM;
	} else if (release->position < ring->release_position ||
		   release->position > ring->write_position) {
		r = -EINVAL;
	} else {
		/* What is read under a position is read before it passes; pairs with readers. */
		smp_store_release(&ring->release_position, release->position);
		nanet3_write_pair(dev, NANET3_REG_LINK(l->index, NANET3_LREG_RELEASE),
				  release->position);
	}
	spin_unlock(&dev->event_lock);
	return r;
}

/* NANET3_IOC_POLLING; errors: nanet3.h. Life held. */
int nanet3_polling(struct nanet3_client *c, void *arg)
{
	struct nanet3_polling *polling = arg;
	struct nanet3_dev *dev = c->dev;
	unsigned int i;

	lockdep_assert_held(&dev->life);
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

/* ------------------------------------------------------------------------ the tick */

/* A client loses its handle; its other links linger, as if it had died. mutex held. */
static void nanet3_hang_up(struct nanet3_client *c)
{
	struct nanet3_dev *dev = c->dev;
	unsigned int i;

	lockdep_assert_held(&dev->mutex);
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
static void nanet3_stop_broken(struct nanet3_link *l)
{
	struct nanet3_client *owner = l->owner;

	lockdep_assert_held(&l->dev->mutex);
	if (l->ring->status != NANET3_RING_STOPPED)
		dev_err(&l->dev->device, "link %u: impossible completions: stopped\n", l->index);
	l->lost |= !!owner;
	nanet3_link_stop(l);
	WRITE_ONCE(l->broken, false);
	if (owner)
		nanet3_hang_up(owner);
}

/* Stop links that have lingered long enough, or whose completions made no sense. Life held. */
void nanet3_links_check(struct nanet3_dev *dev)
{
	unsigned int i;

	lockdep_assert_held(&dev->life);
	for (i = 0; i < NANET3_LINKS; i++) {
		struct nanet3_link *l = &dev->links[i];

		if (READ_ONCE(l->ring->status) != NANET3_RING_LINGERING && !READ_ONCE(l->broken))
			continue;
		mutex_lock(&dev->mutex);
		/* Both may have changed: a link that was started again has an innocent owner. */
		if (l->ring->status == NANET3_RING_LINGERING &&
		    time_after_eq(jiffies, l->linger_until))
			nanet3_link_stop(l);
		if (READ_ONCE(l->broken))
			nanet3_stop_broken(l);
		mutex_unlock(&dev->mutex);
	}
}
