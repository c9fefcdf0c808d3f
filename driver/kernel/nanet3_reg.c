// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading registers of a board that may not answer.
 *
 * A read without an answer gives all ones. A single one says little about the board: a completion
 * was lost, or the link is being trained again. So it is read again for 10 ms. What reads all ones
 * after that is the register's value, or the board is gone: the caller asks nanet3_there().
 */
#include <linux/delay.h>

#include "nanet3_drv.h"

#define AGAIN_US 200u
#define AGAIN_MS 10u

static bool nanet3_answers_now(struct nanet3_dev *dev)
{
	return ioread32(dev->bar + NANET3_REG_ID) == NANET3_ID;
}

/* The register's value may be all ones: it is, if the board answers before and after. */
static u32 nanet3_read_again(struct nanet3_dev *dev, u32 offset)
{
	ktime_t until = ktime_add_ms(ktime_get(), AGAIN_MS);

	do {
		u32 value = NANET3_ALL_ONES;
		bool before = nanet3_answers_now(dev);

		if (before)
			value = ioread32(dev->bar + offset);
		if (value != NANET3_ALL_ONES) {
			atomic64_inc(&dev->lost_reads);
			return value;
		}
		if (before && nanet3_answers_now(dev))
			return value;
		usleep_range(AGAIN_US, 2 * AGAIN_US);
	} while (ktime_before(ktime_get(), until));
	return NANET3_ALL_ONES;
}

/**
 * nanet3_read() - read a register
 * @dev: the board; life held, or the caller is probe
 * @offset: NANET3_REG_*
 *
 * May sleep. Of a 64-bit pair: nanet3_read_pair().
 *
 * Return: its value; all ones of a board that has not answered for 10 ms
 */
u32 nanet3_read(struct nanet3_dev *dev, u32 offset)
{
	u32 value;

	might_sleep();
	value = ioread32(dev->bar + offset);
	return likely(value != NANET3_ALL_ONES) ? value : nanet3_read_again(dev, offset);
}

/* Does the board answer? Life held, or the caller is probe. */
bool nanet3_there(struct nanet3_dev *dev)
{
	return nanet3_read(dev, NANET3_REG_ID) == NANET3_ID;
}
