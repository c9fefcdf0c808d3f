// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Registered buffers as the board knows them: their registers, and what has to be copied for it.
 *
 * Where the machine bounces DMA (swiotlb), what the board is to read is copied before a put and
 * what it has written before the put's event. Nothing is copied at the end: only puts change the
 * memory, and the bounced page is as old as the registration.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>

#include "nanet3_drv.h"

#define POLL_US 20u

/**
 * nanet3_buffer_sync() - copy a range of a bounced buffer before or after a put
 * @dev: the board
 * @b: the buffer
 * @offset: in the buffer
 * @length: bytes; what lies outside of the buffer is left out
 * @for_board: the board is about to read it, tx_mutex held; else it has written it, event_lock held
 */
void nanet3_buffer_sync(struct nanet3_dev *dev, struct nanet3_buffer *b, u64 offset, u64 length,
			bool for_board)
{
	struct device *parent = &dev->pdev->dev;
	u64 at = b->offset + offset;
	u64 end;

	if (!b->need_sync || offset > b->length)
		return;
	end = at + min(length, b->length - offset);
	while (at < end) {
		dma_addr_t bus = le64_to_cpu(b->table[at / PAGE_SIZE]);
		u32 in_page = at % PAGE_SIZE;
		u64 part = min_t(u64, end - at, PAGE_SIZE - in_page);

		if (for_board)
			dma_sync_single_range_for_device(parent, bus, in_page, part,
							 DMA_BIDIRECTIONAL);
		else
			dma_sync_single_range_for_cpu(parent, bus, in_page, part,
						      DMA_BIDIRECTIONAL);
		at += part;
	}
}

/* Tell the board about a buffer, which may be used from then on. mutex held. */
void nanet3_buffer_program(struct nanet3_dev *dev, u32 n, const struct nanet3_buffer *b)
{
	lockdep_assert_held(&dev->mutex);
	nanet3_write_pair(dev, NANET3_REG_BUFFER(n, NANET3_BREG_TABLE), b->table_dma);
	nanet3_write_pair(dev, NANET3_REG_BUFFER(n, NANET3_BREG_LENGTH), b->length);
	nanet3_write(dev, NANET3_REG_BUFFER(n, NANET3_BREG_OFFSET), b->offset);
	nanet3_write(dev, NANET3_REG_BUFFER(n, NANET3_BREG_CONTROL), NANET3_BUFFER_VALID);
}

/* Give the buffers to a board that was reset and set up. mutex and tx_mutex held. */
void nanet3_buffers_restore(struct nanet3_dev *dev)
{
	u32 n;

	lockdep_assert_held(&dev->mutex);
	lockdep_assert_held(&dev->tx_mutex);
	for (n = 0; n < NANET3_BUFFERS; n++) {
		struct nanet3_buffer *b = &dev->buffers[n];

		if (b->client && !b->client->dead)
			nanet3_buffer_program(dev, n, b);
	}
}

/* May something be under way in it? True if the board does not answer. Life held, or probe. */
bool nanet3_buffer_may_be_busy(struct nanet3_dev *dev, u32 n)
{
	return nanet3_read(dev, NANET3_REG_BUFFER(n, NANET3_BREG_STATUS)) & NANET3_BSTAT_BUSY;
}

/* Wait until nothing is under way in the buffer: false if it may still be. mutex held, no new puts.
 */
bool nanet3_buffer_stop(struct nanet3_dev *dev, u32 n)
{
	u32 offset = NANET3_REG_BUFFER(n, NANET3_BREG_STATUS);
	u32 status;

	lockdep_assert_held(&dev->mutex);
	nanet3_write(dev, NANET3_REG_BUFFER(n, NANET3_BREG_CONTROL), 0);
	read_poll_timeout(nanet3_read, status,
			  !(status & NANET3_BSTAT_BUSY) ||
				  (status == NANET3_ALL_ONES && !nanet3_there(dev)),
			  POLL_US, NANET3_STOP_US, false, dev, offset);
	return !(status & NANET3_BSTAT_BUSY);
}

/*
 * The board is being stopped: it must use no buffer any more. @was_reset: the last means has been
 * used, what is still busy stays so. The board answers. mutex held.
 */
void nanet3_buffers_stop(struct nanet3_dev *dev, bool was_reset)
{
	u64 until;
	u32 n;

	lockdep_assert_held(&dev->mutex);
	for (n = 0; n < NANET3_BUFFERS; n++) {
		if (dev->buffers[n].pin)
			nanet3_write(dev, NANET3_REG_BUFFER(n, NANET3_BREG_CONTROL), 0);
	}
	until = ktime_get_ns() + NANET3_STOP_US * NSEC_PER_USEC;
	for (n = 0; n < NANET3_BUFFERS; n++) {
		struct nanet3_buffer *b = &dev->buffers[n];

		while (b->pin && nanet3_buffer_may_be_busy(dev, n) && ktime_get_ns() < until)
			usleep_range(POLL_US, 2 * POLL_US);
		b->stuck = was_reset && b->pin && nanet3_buffer_may_be_busy(dev, n) &&
			   nanet3_there(dev);
	}
}
