// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Interrupts and the board's event queue.
 *
 *   board writes event n into place n % size, its sequence number n + 1 last, raises a vector
 *      hard handler      notes the time of a PPS, wakes the thread
 *      thread, or tick   takes all events whose number is the one expected; no register is read
 *      EVQ_READ          tells the board that there is room again
 *
 * The first interrupt takes all events, so interrupts may be merged, late or spurious. If one is
 * lost, the tick takes its events: those that it sees waiting twice.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>

#include "nanet3_drv.h"

#define DRAIN_BATCH    64u		   /* events before somebody else may have the lock */
#define PEEK_MAX       256u		   /* events a hard interrupt looks at */
#define PEEK_BACK      64u		   /* of these, taken already */
#define LATE_NS	       (5 * NSEC_PER_MSEC) /* from an event taken to its interrupt */
#define LATE_FRAMES    (5 * NANET3_FRAMES_PER_SECOND / 1000)
#define LOST_NS	       (~0ull) /* a stamp's time, when its interrupt has not come */
#define TICK_POLLED_MS 2u
#define TICK_MS	       20u
#define TICK_IDLE_MS   500u
#define CHECK_MS       1000u /* from look to look whether the board is there */
#define NO_HEAD	       (~0ull)

/* ------------------------------------------------------------------------ the board's events */

static struct nanet3_event *event_slot(struct nanet3_dev *dev, u32 number)
{
	return (struct nanet3_event *)dev->evq.cpu + (number & (dev->evq_size - 1));
}

/* True when event @number has been written; its body may be read then. */
static bool event_there(struct nanet3_dev *dev, u32 number)
{
	if (READ_ONCE(event_slot(dev, number)->sequence) != number + 1)
		return false;
	dma_rmb(); /* the number is written last, so it is read first */
	return true;
}

static void rx_event(struct nanet3_dev *dev, const struct nanet3_event *ev)
{
	struct nanet3_link *l;
	struct nanet3_ring *ring;

	if (ev->link >= NANET3_LINKS) {
		dev->stats.bad_events++;
		return;
	}
	l = &dev->links[ev->link];
	ring = l->ring;
	if (ring->status == NANET3_RING_STOPPED || ev->dma_epoch != ring->dma_epoch) {
		l->stats.stale++;
		return;
	}
	if (ev->position != ring->write_position || ev->frames == 0 ||
	    (ev->length != 0 && (ev->frames > ring->frames_per_buffer ||
				 ev->length != ev->frames * NANET3_FRAME_BYTES))) {
		/* Later ones would not fit either: the tick ends this run of the link. */
		dev_warn_ratelimited(&dev->device, "link %u: position %llu after %llu, %u frames\n",
				     l->index, ev->position, ring->write_position, ev->frames);
		dev->stats.bad_events++;
		WRITE_ONCE(l->broken, true);
		return;
	}
	if (ev->position == 0)
		ring->start_count = ev->frame_count;
	l->completions[ev->position % ring->depth] = *ev;
	/* A reader who sees the position sees the completion; pairs with its load-acquire. */
	smp_store_release(&ring->write_position, ev->position + 1);
	if (ev->length)
		l->stats.buffers++;
	else
		l->stats.gaps++;
	if (l->owner)
		nanet3_client_data(l->owner, ev);
}

/*
 * A PPS that was taken at @taken_ns: its time is its interrupt's. False when that has not come yet.
 * No interrupt, or one that came long after, is no time: a wrong one is worse.
 */
static bool pps_tell(struct nanet3_dev *dev, u32 number, u64 taken_ns)
{
	struct nanet3_pps_stamp stamp;
	unsigned long flags;

	raw_spin_lock_irqsave(&dev->stamp_lock, flags);
	stamp = dev->stamps[number % ARRAY_SIZE(dev->stamps)];
	raw_spin_unlock_irqrestore(&dev->stamp_lock, flags);
	if (stamp.time_ns == 0 || stamp.number != number)
		return false;
	if (!IS_ERR_OR_NULL(dev->pps) && stamp.time_ns < taken_ns + LATE_NS)
		pps_event(dev->pps, &stamp.ts, PPS_CAPTUREASSERT, NULL);
	return true;
}

/* The queue may be drained before the interrupt of a PPS comes: the pulse waits for that. */
static void pps_taken(struct nanet3_dev *dev, const struct nanet3_event *ev)
{
	dev->pps_waiting = ev->value;
	dev->pps_taken_ns = pps_tell(dev, ev->value, ev->time_ns) ? 0 : ev->time_ns;
}

static void control_event(struct nanet3_dev *dev, const struct nanet3_event *ev)
{
	struct nanet3_client *c;

	if (ev->type == NANET3_EVENT_PPS)
		pps_taken(dev, ev);
	if (ev->type == NANET3_EVENT_ERROR)
		dev_warn_ratelimited(&dev->device, "board error %u, value %#x\n", ev->reason,
				     ev->value);
	list_for_each_entry(c, &dev->clients, list) {
		if (c->subscribed & BIT(ev->type))
			nanet3_client_post(c, ev);
	}
}

static void dispatch(struct nanet3_dev *dev, struct nanet3_event *ev)
{
	unsigned int vector = NANET3_LINKS;

	switch (ev->type) {
	case NANET3_EVENT_RX:
		if (ev->link < NANET3_LINKS)
			vector = ev->link;
		rx_event(dev, ev);
		break;
	case NANET3_EVENT_TX:
	case NANET3_EVENT_PUT:
		nanet3_tx_event(dev, ev);
		break;
	case NANET3_EVENT_LINK:
	case NANET3_EVENT_PPS:
	case NANET3_EVENT_ERROR:
		control_event(dev, ev);
		break;
	default:
		dev->stats.bad_events++;
		break;
	}
	dev->stats.events++;
	dev->vectors[vector].taken_ns = ev->time_ns;
}

/* Take what is there. event_lock held, but let go of now and then. */
static unsigned int drain_locked(struct nanet3_dev *dev)
{
	u64 now = ktime_get_ns();
	unsigned int taken = 0;
	unsigned int i;

	while (dev->evq_live && taken < dev->evq_size && event_there(dev, dev->evq_read)) {
		struct nanet3_event ev = *event_slot(dev, dev->evq_read);

		ev.time_ns = now;
		dev->evq_read++;
		dispatch(dev, &ev);
		if (++taken % DRAIN_BATCH == 0)
			cond_resched_lock(&dev->event_lock);
	}
	if (taken == 0 || !dev->evq_live)
		return taken;
	nanet3_write(dev, NANET3_REG_EVQ_READ, dev->evq_read);
	for (i = 0; i < NANET3_LINKS; i++) {
		if (dev->links[i].owner)
			nanet3_client_announce(dev->links[i].owner);
	}
	return taken;
}

/*
 * Take all events that the board has written; how many. Life held, or interrupts not freed yet; may
 * sleep.
 */
unsigned int nanet3_drain(struct nanet3_dev *dev)
{
	unsigned int taken;

	spin_lock(&dev->event_lock);
	taken = drain_locked(dev);
	spin_unlock(&dev->event_lock);
	return taken;
}

/* ------------------------------------------------------------------------ interrupts */

/*
 * Is a PPS among the events that have just come? Its time is now. Runs in the control vector's hard
 * handler and takes nothing off the queue; what others have just taken it can still see there.
 */
static void peek(struct nanet3_dev *dev)
{
	struct pps_event_time ts;
	u64 now = ktime_get_ns();
	struct nanet3_pps_stamp *latest = NULL;
	u64 frame = 0, last_frame = 0;
	unsigned int i;
	u32 read;

	pps_get_ts(&ts);
	raw_spin_lock(&dev->stamp_lock);
	read = READ_ONCE(dev->evq_read);
	if ((s32)(read - dev->peeked) > (s32)PEEK_BACK)
		dev->peeked = read - PEEK_BACK;
	for (i = 0; i < PEEK_MAX && event_there(dev, dev->peeked); i++, dev->peeked++) {
		const struct nanet3_event *ev = event_slot(dev, dev->peeked);

		last_frame = max(last_frame, ev->frame_count);
		if (ev->type != NANET3_EVENT_PPS)
			continue;
		if (latest) /* a second ago */
			latest->time_ns = LOST_NS;
		frame = ev->frame_count;
		latest = &dev->stamps[ev->value % ARRAY_SIZE(dev->stamps)];
		*latest = (struct nanet3_pps_stamp){ev->value, now, ts};
	}
	/* Much later events came with it: its own interrupt was lost, this is another's. */
	if (latest && last_frame > frame + LATE_FRAMES)
		latest->time_ns = LOST_NS;
	raw_spin_unlock(&dev->stamp_lock);
}

/* The board was reset: its events, and maybe its PPS numbers, start over. event_lock held. */
void nanet3_stamps_reset(struct nanet3_dev *dev)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&dev->stamp_lock, flags);
	dev->peeked = 0;
	memset(dev->stamps, 0, sizeof(dev->stamps));
	raw_spin_unlock_irqrestore(&dev->stamp_lock, flags);
	dev->pps_taken_ns = 0;
}

static irqreturn_t hard_handler(int irq, void *context)
{
	struct nanet3_vector *v = context;

	WRITE_ONCE(v->interrupts, v->interrupts + 1);
	if (v->index == NANET3_LINKS)
		peek(v->dev);
	return IRQ_WAKE_THREAD;
}

/*
 * An interrupt for nothing is one with no event of its vector, now or lately: it may have been
 * taken on another vector's interrupt while this one was on its way.
 */
static irqreturn_t thread_handler(int irq, void *context)
{
	struct nanet3_vector *v = context;
	struct nanet3_dev *dev = v->dev;
	u64 now = ktime_get_ns();

	if (READ_ONCE(dev->state) != NANET3_READY)
		return IRQ_HANDLED;
	nanet3_write(dev, NANET3_REG_IRQ_STATUS, BIT(v->index));
	spin_lock(&dev->event_lock);
	drain_locked(dev);
	if (v->index == NANET3_LINKS && dev->pps_taken_ns &&
	    pps_tell(dev, dev->pps_waiting, dev->pps_taken_ns))
		dev->pps_taken_ns = 0;
	if (v->taken_ns + LATE_NS < now)
		dev->stats.spurious++;
	spin_unlock(&dev->event_lock);
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
		r = request_threaded_irq(irq, hard_handler, thread_handler, IRQF_NO_THREAD, v->name,
					 v);
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
static void rescue(struct nanet3_dev *dev)
{
	u64 head = NO_HEAD;

	spin_lock(&dev->event_lock);
	if (dev->evq_live && event_there(dev, dev->evq_read))
		head = dev->evq_read;
	if (head != NO_HEAD && head == dev->tick_head) {
		dev->stats.rescued += drain_locked(dev);
		head = NO_HEAD;
	}
	dev->tick_head = head;
	spin_unlock(&dev->event_lock);
}

/* Polled links raise no interrupts: their events are found here. */
static bool follow_polled(struct nanet3_dev *dev)
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

static unsigned int tick_ms(struct nanet3_dev *dev, bool polled)
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
	polled = follow_polled(dev);
	rescue(dev);
	nanet3_links_check(dev);
	nanet3_buffers_unpark(dev, &freed);
	if (time_after_eq(jiffies, dev->check_at)) {
		dev->check_at = jiffies + msecs_to_jiffies(CHECK_MS);
		nanet3_check(dev);
	}
	up_read(&dev->life);
	nanet3_unpin(freed);
	if (READ_ONCE(dev->state) == NANET3_READY)
		queue_delayed_work(dev->wq, &dev->tick, msecs_to_jiffies(tick_ms(dev, polled)));
}

/* Run the tick now. The board is ready. */
void nanet3_tick_start(struct nanet3_dev *dev)
{
	mod_delayed_work(dev->wq, &dev->tick, 0); /* a later one could be put off for ever */
}

/* Wait until the tick does not run any more. The board is no longer ready, life not held. */
void nanet3_tick_stop(struct nanet3_dev *dev)
{
	cancel_delayed_work_sync(&dev->tick);
}
