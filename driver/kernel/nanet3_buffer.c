// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Registered user buffers: pinned, mapped for DMA page by page, listed in a table for the board.
 *
 *   REGISTER    pin, count against RLIMIT_MEMLOCK --> map --> table --> VALID
 *   UNREGISTER  no new puts --> VALID cleared, wait for BUSY and puts --> unmap, unpin, count back
 *                                          a put is not done: parked --tick--^
 *
 * While a put on its way names the buffer, as its source or destination, the buffer is parked: not
 * valid, so that nothing is written there any more, but pinned and its number in use, so that the
 * board reads no memory of others, and a packet never finds another client's buffer.
 */
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "nanet3_drv.h"

#define POLL_US	  20u
#define PIN_BATCH 8192u /* pages, before signals are looked at */

/* ------------------------------------------------------------------------ pinning */

/* Counted without mmap_lock of the process, which may hold it for as long as it likes. */
static void nanet3_pin_free(struct nanet3_pin *pin, unsigned long pinned)
{
	unpin_user_pages_dirty_lock(pin->pages, pinned, true);
	atomic64_sub(pin->count, &pin->mm->pinned_vm);
	mmdrop(pin->mm);
	kvfree(pin);
}

/*
 * Unpin a list of what has been unmapped, or NULL. No locks held: pages may have to be waited for.
 */
void nanet3_unpin(struct nanet3_pin *pin)
{
	while (pin) {
		struct nanet3_pin *next = pin->next;

		nanet3_pin_free(pin, pin->count);
		pin = next;
	}
}

static struct nanet3_pin *nanet3_pin_pages(u64 address, unsigned long count)
{
	unsigned long start = address & PAGE_MASK;
	struct nanet3_pin *pin;
	unsigned long pinned = 0;
	int r;

	pin = kvzalloc(struct_size(pin, pages, count), GFP_KERNEL_ACCOUNT);
	if (!pin)
		return ERR_PTR(-ENOMEM);
	pin->mm = current->mm;
	pin->count = count;
	mmgrab(pin->mm);
	if (atomic64_add_return(count, &pin->mm->pinned_vm) > rlimit(RLIMIT_MEMLOCK) >>
		    PAGE_SHIFT &&
	    !capable(CAP_IPC_LOCK)) {
		nanet3_pin_free(pin, 0);
		return ERR_PTR(-ENOMEM);
	}
	while (pinned < count) {
		r = -EINTR;
		if (fatal_signal_pending(current))
			break;
		r = pin_user_pages_fast(start + pinned * PAGE_SIZE,
					min_t(unsigned long, count - pinned, PIN_BATCH),
					FOLL_WRITE | FOLL_LONGTERM, pin->pages + pinned);
		if (r <= 0)
			break;
		pinned += r;
		cond_resched();
	}
	if (pinned == count)
		return pin;
	nanet3_pin_free(pin, pinned);
	return ERR_PTR(r ?: -EFAULT);
}

/* ------------------------------------------------------------------------ mapping */

static size_t nanet3_table_bytes(const struct nanet3_buffer *b)
{
	return b->pin->count * sizeof(*b->table);
}

/*
 * A page that lies in several buffers is mapped once: the DMA API knows no overlapping mappings,
 * and where DMA is bounced, two bounced copies of one page would not be one memory.
 */
static struct nanet3_page *nanet3_page_get(struct nanet3_dev *dev, struct page *page)
{
	struct device *parent = &dev->pdev->dev;
	struct nanet3_page *p = xa_load(&dev->pages, page_to_pfn(page));
	int r;

	lockdep_assert_held(&dev->mutex);
	if (p) {
		p->users++;
		return p;
	}
	p = kmalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (!p)
		return NULL;
	p->users = 1;
	p->bus = dma_map_page(parent, page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(parent, p->bus))
		goto free;
	r = xa_err(xa_store(&dev->pages, page_to_pfn(page), p, GFP_KERNEL_ACCOUNT));
	if (r == 0)
		return p;
	dma_unmap_page_attrs(parent, p->bus, PAGE_SIZE, DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
free:
	kfree(p);
	return NULL;
}

static void nanet3_page_put(struct nanet3_dev *dev, struct page *page)
{
	struct nanet3_page *p = xa_load(&dev->pages, page_to_pfn(page));

	lockdep_assert_held(&dev->mutex);
	if (--p->users > 0)
		return;
	xa_erase(&dev->pages, page_to_pfn(page));
	dma_unmap_page_attrs(&dev->pdev->dev, p->bus, PAGE_SIZE, DMA_BIDIRECTIONAL,
			     DMA_ATTR_SKIP_CPU_SYNC);
	kfree(p);
}

static void nanet3_buffer_unmap(struct nanet3_dev *dev, struct nanet3_buffer *b)
{
	unsigned long i;

	for (i = 0; i < b->mapped; i++) {
		nanet3_page_put(dev, b->pin->pages[i]);
		cond_resched();
	}
	b->mapped = 0;
	if (b->table)
		dma_free_coherent(&dev->pdev->dev, nanet3_table_bytes(b), b->table, b->table_dma);
	b->table = NULL;
}

/* mutex held. */
static int nanet3_buffer_map(struct nanet3_dev *dev, struct nanet3_buffer *b)
{
	struct device *parent = &dev->pdev->dev;
	unsigned long i;

	lockdep_assert_held(&dev->mutex);
	b->table = dma_alloc_coherent(parent, nanet3_table_bytes(b), &b->table_dma,
				      GFP_KERNEL | __GFP_NOWARN);
	if (!b->table)
		return -ENOMEM;
	for (i = 0; i < b->pin->count; i++) {
		struct nanet3_page *p = nanet3_page_get(dev, b->pin->pages[i]);

		if (!p) {
			nanet3_buffer_unmap(dev, b);
			return -ENOMEM;
		}
		b->table[i] = cpu_to_le64(p->bus);
		b->mapped++;
		b->need_sync |= dma_need_sync(parent, p->bus);
		cond_resched();
	}
	return 0;
}

/* ------------------------------------------------------------------------ numbers */

static void nanet3_buffer_publish(struct nanet3_dev *dev, u32 n, const struct nanet3_buffer *b)
{
	mutex_lock(&dev->tx_mutex);
	spin_lock(&dev->event_lock);
	dev->buffers[n] = *b;
	dev->stats.buffers++;
	dev->stats.pinned_pages += b->pin->count;
	spin_unlock(&dev->event_lock);
	mutex_unlock(&dev->tx_mutex);
}

static void nanet3_buffer_withdraw(struct nanet3_dev *dev, u32 n)
{
	mutex_lock(&dev->tx_mutex);
	spin_lock(&dev->event_lock);
	dev->buffers[n].client = NULL;
	dev->stats.buffers--;
	spin_unlock(&dev->event_lock);
	mutex_unlock(&dev->tx_mutex);
}

/* The board has let go: the number is free, the memory goes to the list @freed. mutex held. */
static void nanet3_buffer_give_back(struct nanet3_dev *dev, u32 n, struct nanet3_pin **freed)
{
	struct nanet3_buffer *b = &dev->buffers[n];
	struct nanet3_pin *pin = b->pin;

	lockdep_assert_held(&dev->mutex);
	/* A board that was not asked to let go must not be able to write. */
	WARN_ON_ONCE(dev->state != NANET3_READY && dev->pdev->is_busmaster);
	spin_lock(&dev->event_lock);
	dev->stats.pinned_pages -= pin->count;
	spin_unlock(&dev->event_lock);
	dev->parked -= b->parked;
	nanet3_buffer_unmap(dev, b);
	memset(b, 0, sizeof(*b));
	pin->next = *freed;
	*freed = pin;
}

/* The board would not let go: the pages stay pinned and mapped, the number is not used again. */
static void nanet3_buffer_quarantine(struct nanet3_dev *dev, u32 n)
{
	struct nanet3_buffer *b = &dev->buffers[n];

	dev_err(&dev->device, "buffer %u: DMA does not stop, its memory is lost\n", n);
	dev->parked -= b->parked;
	b->parked = false;
	b->quarantined = true;
	mmdrop(b->pin->mm);
	spin_lock(&dev->event_lock);
	dev->stats.pinned_pages -= b->pin->count;
	spin_unlock(&dev->event_lock);
	atomic64_add(b->pin->count, &nanet3_quarantined);
}

static bool nanet3_put_uses(struct nanet3_dev *dev, u32 n)
{
	nanet3_drain(dev);
	return nanet3_slots_use(dev, n);
}

/* Wait until no put names the buffer. Life and mutex held, no new puts. */
static bool nanet3_puts_done(struct nanet3_dev *dev, u32 n, u32 wait_us)
{
	bool uses;

	lockdep_assert_held(&dev->mutex);
	nanet3_tx_flush(dev);
	return !read_poll_timeout(nanet3_put_uses, uses, !uses, POLL_US, wait_us, false, dev, n);
}

/*
 * Life and mutex held; the board may be gone. @wait_us: for puts. Return: whether they were done,
 * else the buffer is parked.
 */
static bool nanet3_buffer_drop(struct nanet3_dev *dev, u32 n, u32 wait_us,
			       struct nanet3_pin **freed)
{
	struct nanet3_buffer *b = &dev->buffers[n];

	lockdep_assert_held(&dev->mutex);
	if (dev->state == NANET3_READY) {
		nanet3_drain(dev); /* puts that have arrived are the registrant's */
		b->stuck = false;  /* what a board did before its last reset is past */
	}
	nanet3_buffer_withdraw(dev, n);
	if (dev->state == NANET3_READY && !nanet3_buffer_stop(dev, n) && nanet3_answers(dev)) {
		nanet3_board_reset(dev, "DMA does not stop");
		b->stuck = dev->state == NANET3_READY && !nanet3_buffer_stop(dev, n) &&
			   nanet3_answers(dev);
	}
	if (b->stuck) {
		nanet3_buffer_quarantine(dev, n);
		return true;
	}
	if (dev->state == NANET3_READY && !nanet3_puts_done(dev, n, wait_us) &&
	    nanet3_answers(dev)) {
		b->parked = true;
		dev->parked++;
		return false;
	}
	nanet3_buffer_give_back(dev, n, freed);
	return true;
}

/*
 * Release the buffers of a client, or of all (NULL). Their memory goes to @freed, for
 * nanet3_unpin() when the locks are released. Life and mutex held; the board may be gone or
 * stopped.
 */
void nanet3_buffers_drop(struct nanet3_dev *dev, struct nanet3_client *c, struct nanet3_pin **freed)
{
	u32 wait_us = NANET3_STOP_US;
	u32 n;

	lockdep_assert_held(&dev->mutex);
	for (n = 0; n < NANET3_BUFFERS; n++) {
		struct nanet3_buffer *b = &dev->buffers[n];

		/* Do not wait again for puts that do not end; 0 would be for ever. */
		if (b->client && (!c || b->client == c) &&
		    !nanet3_buffer_drop(dev, n, wait_us, freed))
			wait_us = 1;
		else if (b->parked && !c && b->stuck)
			nanet3_buffer_quarantine(dev, n);
		else if (b->parked && !c)
			nanet3_buffer_give_back(dev, n, freed);
	}
}

/*
 * Release the parked buffers that no put uses any more. Their memory goes to @freed, for
 * nanet3_unpin() when the locks are released. Life held.
 */
void nanet3_buffers_unpark(struct nanet3_dev *dev, struct nanet3_pin **freed)
{
	u32 n;

	lockdep_assert_held(&dev->life);
	if (!READ_ONCE(dev->parked))
		return;
	mutex_lock(&dev->mutex);
	for (n = 0; n < NANET3_BUFFERS; n++) {
		if (dev->buffers[n].parked && !nanet3_slots_use(dev, n) &&
		    !nanet3_buffer_may_be_busy(dev, n))
			nanet3_buffer_give_back(dev, n, freed);
	}
	mutex_unlock(&dev->mutex);
}

/*
 * The last handle has closed. Only quarantined buffers are left, whose memory stays pinned and
 * mapped.
 */
void nanet3_buffers_free(struct nanet3_dev *dev)
{
	struct nanet3_page *p;
	unsigned long pfn;
	u32 n;

	for (n = 0; n < NANET3_BUFFERS; n++)
		kvfree(dev->buffers[n].pin);
	xa_for_each(&dev->pages, pfn, p)
		kfree(p);
	xa_destroy(&dev->pages);
}

/* ------------------------------------------------------------------------ requests */

static bool nanet3_acts_for_any(struct nanet3_client *c)
{
	bool acts = false;
	u32 i;

	for (i = 0; i < NANET3_LINKS; i++)
		acts |= nanet3_acts_for(c, i);
	return acts;
}

/* A free number for one more buffer of the client, or -ENOSPC. mutex held. */
static int nanet3_number_free(struct nanet3_client *c)
{
	const struct nanet3_dev *dev = c->dev;
	u32 n, used = 0, own = 0;
	int r = -ENOSPC;

	lockdep_assert_held(&dev->mutex);
	for (n = 0; n < NANET3_BUFFERS; n++) {
		used += dev->buffers[n].pin ? 1 : 0;
		own += dev->buffers[n].client == c ? 1 : 0;
		if (!dev->buffers[n].pin && r < 0)
			r = n;
	}
	if (own >= NANET3_HANDLE_BUFFERS ||
	    (used >= NANET3_OTHERS_BUFFERS && !nanet3_acts_for_any(c)))
		return -ENOSPC;
	return r;
}

/* Pinned memory becomes a buffer. Return: its number or -errno. */
static int nanet3_buffer_attach(struct nanet3_client *c, struct nanet3_buffer *b)
{
	struct nanet3_dev *dev = c->dev;
	int n, r;

	r = nanet3_enter(c);
	if (r < 0)
		return r;
	mutex_lock(&dev->mutex);
	n = nanet3_number_free(c);
	if (n >= 0) {
		r = nanet3_buffer_map(dev, b);
		if (r < 0) {
			n = r;
		} else {
			nanet3_buffer_program(dev, n, b);
			nanet3_buffer_publish(dev, n, b);
		}
	}
	mutex_unlock(&dev->mutex);
	nanet3_leave(c);
	return n;
}

/* NANET3_IOC_REGISTER; errors: nanet3.h. No locks held: pinning takes time and mmap_lock. */
int nanet3_register(struct nanet3_client *c, void *arg)
{
	struct nanet3_register *r = arg;
	struct nanet3_buffer b = {
		.client = c,
		.offset = offset_in_page(r->address),
		.length = r->length,
	};
	int n;

	if (r->length == 0 || r->length > NANET3_BUFFER_BYTES_MAX || r->reserved)
		return -EINVAL;
	if (!access_ok(u64_to_user_ptr(r->address), r->length))
		return -EFAULT;
	if (READ_ONCE(c->dead))
		return -ENODEV;
	b.pin = nanet3_pin_pages(r->address, DIV_ROUND_UP(b.offset + b.length, PAGE_SIZE));
	if (IS_ERR(b.pin))
		return PTR_ERR(b.pin);
	n = nanet3_buffer_attach(c, &b);
	if (n < 0) {
		nanet3_unpin(b.pin);
		return n;
	}
	r->buffer = n;
	return 0;
}

/* NANET3_IOC_UNREGISTER; errors: nanet3.h. No locks held: unpinning may take time. */
int nanet3_unregister(struct nanet3_client *c, void *arg)
{
	u32 number = *(const u32 *)arg;
	struct nanet3_dev *dev = c->dev;
	struct nanet3_pin *freed = NULL;
	int r = nanet3_enter(c);

	if (r < 0)
		return r;
	mutex_lock(&dev->mutex);
	if (number < NANET3_BUFFERS) {
		number = array_index_nospec(number, NANET3_BUFFERS);
		r = dev->buffers[number].client == c ? 0 : -ENOENT;
	} else {
		r = -ENOENT;
	}
	if (!r)
		nanet3_buffer_drop(dev, number, NANET3_STOP_US, &freed);
	mutex_unlock(&dev->mutex);
	nanet3_leave(c);
	nanet3_unpin(freed);
	return r;
}
