// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A client: its own event queue, waiting for it, and what the client may do.
 *
 *   driver writes events[write % size], then write;   the client reads, then advances read
 *
 * The client may write anything into its mapping: the read index is only ever compared, the
 * write index and the size are kept here. RX events only wake: the latest of each link is
 * announced, once a millisecond at most, at once when the last time is longer ago.
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "nanet3_drv.h"

/* client.lock held. */
static void nanet3_queue_post(struct nanet3_client *c, const struct nanet3_event *ev)
{
	struct nanet3_queue *q = c->queue;

	lockdep_assert_held(&c->lock);
	/* What it has read it will not read again: pairs with its store-release. A read index that
	 * makes no sense looks like a full queue.
	 */
	if (c->write - smp_load_acquire(&q->read) >= NANET3_QUEUE_SIZE) {
		if (ev->type != NANET3_EVENT_RX) {
			WRITE_ONCE(q->lost, q->lost + 1);
			c->dev->stats.queue_lost++;
		}
		return;
	}
	c->events[c->write % NANET3_QUEUE_SIZE] = *ev;
	c->write++;
	/* Who sees the index sees the event; pairs with the client's load-acquire. */
	smp_store_release(&q->write, c->write);
}

/*
 * Queue an event and wake the client. Without room it is counted, in the client's queue too.
 * event_lock held.
 */
void nanet3_client_post(struct nanet3_client *c, const struct nanet3_event *ev)
{
	lockdep_assert_held(&c->dev->event_lock);
	spin_lock_bh(&c->lock);
	nanet3_queue_post(c, ev);
	spin_unlock_bh(&c->lock);
	wake_up_interruptible(&c->wait);
}

/* Note the latest RX event of a link for nanet3_client_announce() to its owner. event_lock held. */
void nanet3_client_data(struct nanet3_client *c, const struct nanet3_event *ev)
{
	lockdep_assert_held(&c->dev->event_lock);
	spin_lock_bh(&c->lock);
	c->rx[ev->link] = *ev;
	c->rx_pending |= BIT(ev->link);
	spin_unlock_bh(&c->lock);
}

/* client.lock held. True: somebody is to be woken. */
static bool nanet3_announce_pending(struct nanet3_client *c, ktime_t now)
{
	unsigned int i;

	lockdep_assert_held(&c->lock);
	if (!c->rx_pending)
		return false;
	for (i = 0; i < NANET3_LINKS; i++) {
		if (c->rx_pending & BIT(i))
			nanet3_queue_post(c, &c->rx[i]);
	}
	c->rx_pending = 0;
	c->announced = now;
	return true;
}

/* Announce data to an owner, now or when a millisecond has passed. event_lock held. */
void nanet3_client_announce(struct nanet3_client *c)
{
	ktime_t now = ktime_get();
	ktime_t due = ktime_add_ns(c->announced, NANET3_ANNOUNCE_NS);
	bool wake = false;

	lockdep_assert_held(&c->dev->event_lock);
	spin_lock_bh(&c->lock);
	if (ktime_compare(now, due) >= 0)
		wake = nanet3_announce_pending(c, now);
	else if (c->rx_pending && !hrtimer_is_queued(&c->announce))
		hrtimer_start(&c->announce, due, HRTIMER_MODE_ABS_SOFT);
	spin_unlock_bh(&c->lock);
	if (wake)
		wake_up_interruptible(&c->wait);
}

static enum hrtimer_restart nanet3_announce_timer(struct hrtimer *timer)
{
	struct nanet3_client *c = container_of(timer, struct nanet3_client, announce);
	bool wake;

	spin_lock(&c->lock);
	wake = nanet3_announce_pending(c, ktime_get());
	spin_unlock(&c->lock);
	if (wake)
		wake_up_interruptible(&c->wait);
	return HRTIMER_NORESTART;
}

/* Make the handle useless and tell its client. event_lock held. */
void nanet3_client_hang_up(struct nanet3_client *c)
{
	struct nanet3_event gone = {
		.type = NANET3_EVENT_GONE,
		.link = 0xff,
		.time_ns = ktime_get_ns(),
	};

	lockdep_assert_held(&c->dev->event_lock);
	if (c->dead)
		return;
	WRITE_ONCE(c->dead, true);
	spin_lock_bh(&c->lock);
	nanet3_announce_pending(c, ktime_get());
	nanet3_queue_post(c, &gone);
	spin_unlock_bh(&c->lock);
	wake_up_interruptible(&c->wait);
}

/* Is the queue not empty, as far as the client lets us know? */
bool nanet3_client_has_events(struct nanet3_client *c)
{
	return READ_ONCE(c->write) != READ_ONCE(c->queue->read);
}

static bool nanet3_worth_waking(struct nanet3_client *c)
{
	return nanet3_client_has_events(c) || READ_ONCE(c->dead);
}

/*
 * NANET3_IOC_WAIT. Life not held, this takes time. 0 when events wait, -ETIMEDOUT, -EINTR, -ENODEV.
 */
int nanet3_wait(struct nanet3_client *c, void *arg)
{
	const struct nanet3_wait *wait = arg;
	ktime_t timeout = wait->timeout_ms == ~0u ? KTIME_MAX : ms_to_ktime(wait->timeout_ms);
	int r = 0;

	if (wait->reserved)
		return -EINVAL;
	if (wait->timeout_ms > 0)
		r = wait_event_interruptible_hrtimeout(c->wait, nanet3_worth_waking(c), timeout);
	if (READ_ONCE(c->dead))
		return -ENODEV;
	if (r == -ERESTARTSYS)
		return -EINTR;
	return nanet3_client_has_events(c) ? 0 : -ETIMEDOUT;
}

/* A client for a file that is being opened, or ERR_PTR(-ENOMEM). It keeps the board. */
struct nanet3_client *nanet3_client_create(struct nanet3_dev *dev, struct file *file)
{
	struct nanet3_client *c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);

	if (!c)
		return ERR_PTR(-ENOMEM);
	c->sink = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	c->queue =
		vmalloc_user(NANET3_QUEUE_EVENTS + NANET3_QUEUE_SIZE * sizeof(struct nanet3_event));
	if (!c->sink || !c->queue) {
		if (c->sink)
			put_page(c->sink);
		vfree(c->queue);
		kfree(c);
		return ERR_PTR(-ENOMEM);
	}
	c->events = (struct nanet3_event *)((u8 *)c->queue + NANET3_QUEUE_EVENTS);
	c->queue->version = NANET3_ABI_VERSION;
	c->queue->size = NANET3_QUEUE_SIZE;
	c->dev = dev;
	c->file = file;
	INIT_LIST_HEAD(&c->list);
	spin_lock_init(&c->lock);
	init_waitqueue_head(&c->wait);
	nanet3_hrtimer_setup(&c->announce, nanet3_announce_timer, CLOCK_MONOTONIC,
			     HRTIMER_MODE_ABS_SOFT);
	get_device(&dev->device);
	return c;
}

/* Free a client that is in no list and owns nothing. */
void nanet3_client_destroy(struct nanet3_client *c)
{
	hrtimer_cancel(&c->announce);
	put_page(c->sink);
	vfree(c->queue);
	put_device(&c->dev->device);
	kfree(c);
#ifdef NANET3_SEEDED_BUG
	OPTIMIZER_HIDE_VAR(c); /* from the compiler, not from the sanitizer that must find it */
	WRITE_ONCE(c->dead, true);
#endif
}

/* ------------------------------------------------------------------------ rights */

/* Use the board on behalf of a client: 0 with life held until nanet3_leave(), or -ENODEV. */
int nanet3_enter(struct nanet3_client *c)
{
	down_read(&c->dev->life);
	if (!READ_ONCE(c->dead) && c->dev->state == NANET3_READY)
		return 0;
	up_read(&c->dev->life);
	return -ENODEV;
}

void nanet3_leave(struct nanet3_client *c)
{
	up_read(&c->dev->life);
}

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
