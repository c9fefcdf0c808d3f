// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Interrupts, and the tick.
 *
 * The first interrupt takes all events (nanet3_event.c), so interrupts may be merged, late or
 * spurious. If one is lost, the tick takes its events: those that it sees waiting twice.
 */
#include <linux/interrupt.h>
#include <linux/jiffies.h>

#include "nanet3_drv.h"

#define TICK_POLLED_MS 2u
#define TICK_MS	       20u
#define TICK_IDLE_MS   500u
#define CHECK_MS       1000u /* from look to look whether the board is there */
#define NO_HEAD	       (~0ull)

/* ------------------------------------------------------------------------ interrupts */

static irqreturn_t nanet3_hard_handler(int irq, void *context)
{
	struct nanet3_vector *v = context;

	WRITE_ONCE(v->interrupts, v->interrupts + 1);
	if (v->index == NANET3_LINKS)
		nanet3_pps_peek(v->dev);
	return IRQ_WAKE_THREAD;
}

/*
 * An interrupt for nothing is one with no event of its vector, now or lately: it may have been
 * taken on another vector's interrupt while this one was on its way.
 */
static irqreturn_t nanet3_thread_handler(int irq, void *context)
{
	struct nanet3_vector *v = context;
	struct nanet3_dev *dev = v->dev;
	u64 now = ktime_get_ns();

	down_read(&dev->life);
	if (dev->state != NANET3_READY) {
		up_read(&dev->life);
		return IRQ_HANDLED;
	}
	nanet3_write(dev, NANET3_REG_IRQ_STATUS, BIT(v->index));
	spin_lock(&dev->event_lock);
	nanet3_drain_locked(dev);
	if (v->index == NANET3_LINKS)
		nanet3_pps_follow(dev);
	if (v->taken_ns + NANET3_LATE_NS < now)
		dev->stats.spurious++;
	spin_unlock(&dev->event_lock);
	up_read(&dev->life);
	return IRQ_HANDLED;
}

/* Allocate the vectors and request their interrupts: 0 or -errno. */
int nanet3_irqs_request(struct nanet3_dev *dev)
{
	unsigned int i;
	int r;

	r = pci_alloc_irq_vectors(dev->pdev, NANET3_VECTORS, NANET3_VECTORS, PCI_IRQ_MSIX);
	if (r < 0)
		return r;
	for (i = 0; i < NANET3_VECTORS; i++) {
		struct nanet3_vector *v = &dev->vectors[i];
		int irq = pci_irq_vector(dev->pdev, i);

		v->dev = dev;
		v->index = i;
		if (i < NANET3_LINKS)
			snprintf(v->name, sizeof(v->name), "%s-link%u", dev_name(&dev->device), i);
		else
			snprintf(v->name, sizeof(v->name), "%s-control", dev_name(&dev->device));
		/* The hard handler stays one on a real-time kernel, too: it is short, and takes the
		 * time of the PPS.
		 */
		r = request_threaded_irq(irq, nanet3_hard_handler, nanet3_thread_handler,
					 IRQF_NO_THREAD, v->name, v);
		if (r < 0) {
			nanet3_irqs_free(dev);
			return r;
		}
		v->irq = irq;
	}
	return 0;
}

/* Free interrupts and vectors, also if they were requested only in part. */
void nanet3_irqs_free(struct nanet3_dev *dev)
{
	unsigned int i;

	for (i = 0; i < NANET3_VECTORS; i++) {
		if (dev->vectors[i].irq)
			free_irq(dev->vectors[i].irq, &dev->vectors[i]);
		dev->vectors[i].irq = 0;
	}
	pci_free_irq_vectors(dev->pdev);
}

/* ------------------------------------------------------------------------ the tick */

/* Take what waits if it waited at the last tick already. */
static void nanet3_rescue(struct nanet3_dev *dev)
{
	u64 head = NO_HEAD;

	spin_lock(&dev->event_lock);
	if (nanet3_event_waits(dev))
		head = dev->evq_read;
	if (head != NO_HEAD && head == dev->tick_head) {
		dev->stats.rescued += nanet3_drain_locked(dev);
		head = NO_HEAD;
	}
	dev->tick_head = head;
	spin_unlock(&dev->event_lock);
}

/* Polled links raise no interrupts: their events are found here. */
static bool nanet3_follow_polled(struct nanet3_dev *dev)
{
	unsigned int taken = 0;
	bool polled = false;
	unsigned int i;

	for (i = 0; i < NANET3_LINKS; i++) {
		struct nanet3_link *l = &dev->links[i];
		bool mine;

		spin_lock(&dev->event_lock);
		mine = l->owner && l->owner->polling;
		spin_unlock(&dev->event_lock);
		if (mine)
			taken += nanet3_link_follow(l);
		polled |= mine;
	}
	spin_lock(&dev->event_lock);
	dev->stats.rescued += taken;
	spin_unlock(&dev->event_lock);
	return polled;
}

static unsigned int nanet3_tick_ms(struct nanet3_dev *dev, bool polled)
{
	unsigned int i;
	bool used;

	if (polled)
		return TICK_POLLED_MS;
	spin_lock(&dev->event_lock);
	used = !list_empty(&dev->clients);
	for (i = 0; i < NANET3_LINKS; i++)
		used |= dev->links[i].ring->status == NANET3_RING_LINGERING;
	spin_unlock(&dev->event_lock);
	return used ? TICK_MS : TICK_IDLE_MS;
}

/* What has to be looked after, interrupts or not. */
void nanet3_tick_work(struct work_struct *work)
{
	struct nanet3_dev *dev = container_of(to_delayed_work(work), struct nanet3_dev, tick);
	struct nanet3_pin *freed = NULL;
	bool polled;

	down_read(&dev->life);
	if (dev->state != NANET3_READY) {
		up_read(&dev->life);
		return;
	}
	polled = nanet3_follow_polled(dev);
	nanet3_rescue(dev);
	nanet3_links_check(dev);
	nanet3_buffers_unpark(dev, &freed);
	if (time_after_eq(jiffies, dev->check_at)) {
		dev->check_at = jiffies + msecs_to_jiffies(CHECK_MS);
		nanet3_tx_flush_old(dev);
		nanet3_check(dev);
	}
	up_read(&dev->life);
	nanet3_unpin(freed);
	if (READ_ONCE(dev->state) == NANET3_READY)
		queue_delayed_work(dev->wq, &dev->tick,
				   msecs_to_jiffies(nanet3_tick_ms(dev, polled)));
}
