// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The board's event queue.
 *
 *   board writes event n into place n % size, its sequence number n + 1 last, raises a vector
 *      hard handler      notes the time of a PPS, wakes the thread
 *      thread, or tick   takes all events whose number is the one expected; no register is read
 *      EVQ_READ          tells the board that there is room again
 */
#include "nanet3_drv.h"
#include "nanet3_trace.h"

#define DRAIN_BATCH 64u	 /* events before somebody else may have the lock */
#define PEEK_MAX    256u /* events a hard interrupt looks at */
#define PEEK_BACK   64u	 /* of these, taken already */
#define LATE_FRAMES (5 * NANET3_FRAMES_PER_SECOND / 1000)
#define LOST_NS	    (~0ull) /* a stamp's time, when its interrupt has not come */

static struct nanet3_event *nanet3_event_slot(struct nanet3_dev *dev, u32 number)
{
	return (struct nanet3_event *)dev->evq.cpu + (number & (dev->evq_size - 1));
}

/* True when event @number has been written; its body may be read then. */
static bool nanet3_event_there(struct nanet3_dev *dev, u32 number)
{
	if (READ_ONCE(nanet3_event_slot(dev, number)->sequence) != number + 1)
		return false;
	dma_rmb(); /* the number is written last, so it is read first */
	return true;
}

static void nanet3_rx_event(struct nanet3_dev *dev, const struct nanet3_event *ev)
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
	if (ev->length) {
		l->stats.buffers++;
	} else {
		l->stats.gaps++;
		trace_nanet3_gap(dev->index, l->index, ev->frame_count, ev->frames, ev->reason);
	}
	if (l->owner)
		nanet3_client_data(l->owner, ev);
}

/*
 * A PPS that was taken at @taken_ns: its time is its interrupt's. False when that has not come yet.
 * No interrupt, or one that came long after, is no time: a wrong one is worse.
 */
static bool nanet3_pps_tell(struct nanet3_dev *dev, u32 number, u64 taken_ns)
{
	struct nanet3_pps_stamp stamp;
	unsigned long flags;

	raw_spin_lock_irqsave(&dev->stamp_lock, flags);
	stamp = dev->stamps[number % ARRAY_SIZE(dev->stamps)];
	raw_spin_unlock_irqrestore(&dev->stamp_lock, flags);
	if (stamp.time_ns == 0 || stamp.number != number)
		return false;
	if (!IS_ERR_OR_NULL(dev->pps) && stamp.time_ns < taken_ns + NANET3_LATE_NS)
		pps_event(dev->pps, &stamp.ts, PPS_CAPTUREASSERT, NULL);
	return true;
}

/* The queue may be drained before the interrupt of a PPS comes: the pulse waits for that. */
static void nanet3_pps_taken(struct nanet3_dev *dev, const struct nanet3_event *ev)
{
	dev->pps_waiting = ev->value;
	dev->pps_taken_ns = nanet3_pps_tell(dev, ev->value, ev->time_ns) ? 0 : ev->time_ns;
}

static void nanet3_control_event(struct nanet3_dev *dev, const struct nanet3_event *ev)
{
	struct nanet3_client *c;

	if (ev->type == NANET3_EVENT_PPS)
		nanet3_pps_taken(dev, ev);
	if (ev->type == NANET3_EVENT_ERROR && ev->reason == NANET3_ERROR_DMA_FAULT &&
	    ev->value == NANET3_REG_TX_BASE && dev->caps & NANET3_CAP_LOST_DESCRIPTORS)
		nanet3_slot_not_read(dev, ev->position);
	if (ev->type == NANET3_EVENT_ERROR)
		dev_warn_ratelimited(&dev->device, "board error %u, value %#x\n", ev->reason,
				     ev->value);
	list_for_each_entry(c, &dev->clients, list) {
		if (c->subscribed & BIT(ev->type))
			nanet3_client_post(c, ev);
	}
}

static void nanet3_dispatch(struct nanet3_dev *dev, struct nanet3_event *ev)
{
	unsigned int vector = NANET3_LINKS;

	switch (ev->type) {
	case NANET3_EVENT_RX:
		if (ev->link < NANET3_LINKS)
			vector = ev->link;
		nanet3_rx_event(dev, ev);
		break;
	case NANET3_EVENT_TX:
	case NANET3_EVENT_PUT:
		nanet3_slot_event(dev, ev);
		break;
	case NANET3_EVENT_LINK:
	case NANET3_EVENT_PPS:
	case NANET3_EVENT_ERROR:
		nanet3_control_event(dev, ev);
		break;
	default:
		dev->stats.bad_events++;
		break;
	}
	dev->stats.events++;
	dev->vectors[vector].taken_ns = ev->time_ns;
}

/* Take what is there. event_lock held, but let go of now and then. */
unsigned int nanet3_drain_locked(struct nanet3_dev *dev)
{
	u64 now = ktime_get_ns();
	unsigned int taken = 0;
	unsigned int i;

	lockdep_assert_held(&dev->event_lock);
	while (dev->evq_live && taken < dev->evq_size && nanet3_event_there(dev, dev->evq_read)) {
		struct nanet3_event ev = *nanet3_event_slot(dev, dev->evq_read);

		ev.time_ns = now;
		dev->evq_read++;
		nanet3_dispatch(dev, &ev);
		if (++taken % DRAIN_BATCH == 0)
			cond_resched_lock(&dev->event_lock);
	}
	if (taken == 0 || !dev->evq_live)
		return taken;
	nanet3_write(dev, NANET3_REG_EVQ_READ, dev->evq_read);
	trace_nanet3_drain(dev->index, taken, dev->evq_read);
	for (i = 0; i < NANET3_LINKS; i++) {
		if (dev->links[i].owner)
			nanet3_client_announce(dev->links[i].owner);
	}
	return taken;
}

/* Does an event wait that has not been taken? event_lock held. */
bool nanet3_event_waits(struct nanet3_dev *dev)
{
	lockdep_assert_held(&dev->event_lock);
	return dev->evq_live && nanet3_event_there(dev, dev->evq_read);
}

/*
 * The event that the board says it has written and that has not come, plus 1; 0: there is none. It
 * may come any moment. Life held.
 */
u32 nanet3_event_missing(struct nanet3_dev *dev)
{
	u32 written = nanet3_read(dev, NANET3_REG_EVQ_WRITE);
	u32 missing = 0;

	lockdep_assert_held(&dev->life);
	spin_lock(&dev->event_lock);
	if (dev->evq_live && written - dev->evq_read - 1 < dev->evq_size &&
	    !nanet3_event_there(dev, dev->evq_read))
		missing = dev->evq_read + 1;
	spin_unlock(&dev->event_lock);
	return missing;
}

/*
 * Take all events that the board has written; how many. Life held; may sleep.
 */
unsigned int nanet3_drain(struct nanet3_dev *dev)
{
	unsigned int taken;

	lockdep_assert_held(&dev->life);
	spin_lock(&dev->event_lock);
	taken = nanet3_drain_locked(dev);
	spin_unlock(&dev->event_lock);
	return taken;
}

/* ------------------------------------------------------------------------ the PPS */

/* The interrupt of a PPS that was taken before it may have come since. event_lock held. */
void nanet3_pps_follow(struct nanet3_dev *dev)
{
	lockdep_assert_held(&dev->event_lock);
	if (dev->pps_taken_ns && nanet3_pps_tell(dev, dev->pps_waiting, dev->pps_taken_ns))
		dev->pps_taken_ns = 0;
}

/*
 * Is a PPS among the events that have just come? Its time is now. Runs in the control vector's hard
 * handler and takes nothing off the queue; what others have just taken it can still see there.
 */
void nanet3_pps_peek(struct nanet3_dev *dev)
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
	for (i = 0; i < PEEK_MAX && nanet3_event_there(dev, dev->peeked); i++, dev->peeked++) {
		const struct nanet3_event *ev = nanet3_event_slot(dev, dev->peeked);

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

	lockdep_assert_held(&dev->event_lock);
	raw_spin_lock_irqsave(&dev->stamp_lock, flags);
	dev->peeked = 0;
	memset(dev->stamps, 0, sizeof(dev->stamps));
	raw_spin_unlock_irqrestore(&dev->stamp_lock, flags);
	dev->pps_taken_ns = 0;
}
