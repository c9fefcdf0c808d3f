// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The board as a whole: its set-up, stop and reset, and whether it is still there.
 *
 * A reset of the whole board is the last means against a link whose DMA does not stop. It stops the
 * other links, too: their owners get GONE, have to open the board and claim again.
 */
#include <linux/iopoll.h>

#include "nanet3_drv.h"
#include "nanet3_trace.h"

#define POLL_US	  1000u
#define MASTER_US 10000u

/**
 * nanet3_set_state() - change the device's state and tell the clients of a bad one
 * @dev: the board
 * @state: the new one
 *
 * Every handle that is open then is lost: links have stopped, buffers are forgotten. It has to be
 * opened again: the same rule for removal, errors and sleep.
 */
void nanet3_set_state(struct nanet3_dev *dev, enum nanet3_state state)
{
	struct nanet3_client *c;
	unsigned int i;

	spin_lock(&dev->event_lock);
	WRITE_ONCE(dev->state, state);
	if (state != NANET3_READY) {
		dev->evq_live = false;
		for (i = 0; i < NANET3_LINKS; i++) {
			dev->links[i].ring->status = NANET3_RING_STOPPED;
			dev->links[i].ring->owner_pid = 0;
		}
		list_for_each_entry(c, &dev->clients, list)
			nanet3_client_hang_up(c);
	}
	spin_unlock(&dev->event_lock);
}

/* Its command register afterwards. */
static u16 nanet3_clear_master(struct pci_dev *pdev)
{
	u16 command = U16_MAX;

	pci_clear_master(pdev);
	pci_read_config_word(pdev, PCI_COMMAND, &command);
	return command;
}

/*
 * From here on the board can write nowhere. It may be deaf for a moment to this, too. Reading all
 * ones it is off the bus.
 */
void nanet3_end_mastering(struct nanet3_dev *dev)
{
	u16 command;
	int r;

	r = read_poll_timeout(nanet3_clear_master, command,
			      !(command & PCI_COMMAND_MASTER) || command == U16_MAX, POLL_US,
			      MASTER_US, false, dev->pdev);
	if (r < 0)
		dev_err(&dev->pdev->dev, "cannot be kept from the bus: it may write anywhere\n");
}

/* The board does not answer any more. What it handed over before is taken first. Life held. */
static void nanet3_set_gone(struct nanet3_dev *dev)
{
	lockdep_assert_held(&dev->life);
	if (READ_ONCE(dev->state) != NANET3_READY)
		return;
	nanet3_drain(dev);
	dev_err(&dev->device, "the board does not answer, or not as it was set up: gone\n");
	/* It may still be alive, and deaf. Memory is given back from here on. */
	nanet3_end_mastering(dev);
	nanet3_set_state(dev, NANET3_GONE);
	nanet3_heal_start(dev);
}

/* Is the board there? If not, it is marked gone. Life held. */
bool nanet3_answers(struct nanet3_dev *dev)
{
	if (nanet3_there(dev))
		return true;
	nanet3_set_gone(dev);
	return false;
}

/*
 * Does this driver know the board's version? Otherwise it is not touched, and that is logged once.
 * Life held, or the caller is probe.
 */
bool nanet3_version_known(struct nanet3_dev *dev)
{
	u32 version = nanet3_read(dev, NANET3_REG_VERSION);
	bool known = nanet3_board_known(version);

	if (version == NANET3_ALL_ONES) /* it does not answer any more */
		return false;
	if (!known && version != dev->version)
		dev_err(&dev->pdev->dev, "board of version %u: %u to %u are known\n", version,
			NANET3_HW_VERSION_MIN, NANET3_HW_VERSION);
	dev->version = version;
	return known;
}

/*
 * Does the board write to memory only that we have given it and still keep for it? An engine may
 * have survived the reset that was started for another kernel, or for a buffer that was released
 * while the board did not answer. Life held, or the caller is probe.
 */
static bool nanet3_settled(struct nanet3_dev *dev)
{
	u32 i;

	for (i = 0; i < NANET3_BUFFERS; i++) {
		if (!dev->buffers[i].pin && nanet3_buffer_may_be_busy(dev, i))
			return false;
	}
	for (i = 0; i < NANET3_LINKS; i++) {
		if (!dev->links[i].stats.starts && nanet3_link_may_be_busy(&dev->links[i]))
			return false;
	}
	return true;
}

static void nanet3_link_setup(struct nanet3_dev *dev, u32 link)
{
	const struct nanet3_link *l = &dev->links[link];

	nanet3_write_pair(dev, NANET3_REG_LINK(link, NANET3_LREG_TABLE), l->table_dma);
	nanet3_write(dev, NANET3_REG_LINK(link, NANET3_LREG_DEPTH), l->ring->depth);
	nanet3_write(dev, NANET3_REG_LINK(link, NANET3_LREG_FRAMES), l->ring->frames_per_buffer);
	nanet3_write(dev, NANET3_REG_LINK(link, NANET3_LREG_DEADLINE), l->ring->deadline_us);
}

/**
 * nanet3_board_setup() - reset the board and tell it where our memory is
 * @dev: the board; mutex and tx_mutex held
 * @start: enable bus mastering; else that is as it was, also if somebody ends it meanwhile
 *
 * Whatever it did before, for us or for a kernel that crashed, ends here. Links stay stopped, words
 * and puts on their way complete with a fault, registered buffers stay.
 *
 * Return: 0, -ENODEV when no board answers, -EPROTO when it speaks another version, -EIO when it
 * goes on writing to memory that is not ours: it must not have the bus
 */
int nanet3_board_setup(struct nanet3_dev *dev, bool start)
{
	unsigned int i;
	bool there, settled;

	lockdep_assert_held(&dev->mutex);
	lockdep_assert_held(&dev->tx_mutex);
	if (!nanet3_there(dev))
		return -ENODEV;
	if (!nanet3_version_known(dev))
		return -EPROTO;
	nanet3_write(dev, NANET3_REG_IRQ_MASK, 0);
	nanet3_write(dev, NANET3_REG_CONTROL, NANET3_CONTROL_RESET);
	/* It has arrived; a board may take its time for it. */
	read_poll_timeout(nanet3_there, there, there, POLL_US, NANET3_STOP_US, false, dev);
	dev->boot_count = nanet3_read(dev, NANET3_REG_BOOT_COUNT);
	if (dev->boot_count == NANET3_ALL_ONES)
		return -ENODEV;
	dev->caps = nanet3_read(dev, NANET3_REG_CAPS);
	read_poll_timeout(nanet3_settled, settled, settled, POLL_US, NANET3_STOP_US, false, dev);
	if (!settled) {
		if (!nanet3_there(dev))
			return -ENODEV;
		if (!dev->unsettled)
			dev_err(&dev->pdev->dev, "DMA of before does not stop: not used\n");
		dev->unsettled = true;
		return -EIO;
	}
	dev->unsettled = false;

	dev->tx_write = 0;
	dev->tx_rung = 0;
	dev->tx_read = 0;
	dev->tx_seen = 0;
	dev->missing = 0;
	spin_lock(&dev->event_lock);
	memset(dev->evq.cpu, 0, dev->evq.bytes);
	dev->evq_read = 0;
	nanet3_stamps_reset(dev);
	dev->evq_live = true;
	spin_unlock(&dev->event_lock);

	nanet3_write_pair(dev, NANET3_REG_EVQ_BASE, dev->evq.dma);
	nanet3_write(dev, NANET3_REG_EVQ_SIZE, dev->evq_size);
	nanet3_write_pair(dev, NANET3_REG_TX_BASE, dev->tx_dma);
	nanet3_write(dev, NANET3_REG_TX_SIZE, NANET3_TX_SIZE);
	for (i = 0; i < NANET3_LINKS; i++)
		nanet3_link_setup(dev, i);
	nanet3_slots_abort(dev);
	nanet3_buffers_restore(dev);
	nanet3_irq_mask(dev);
	/* Before it has anything to say: an event that it cannot write would be missed. */
	if (start)
		pci_set_master(dev->pdev);
	nanet3_write(dev, NANET3_REG_CONTROL, NANET3_CONTROL_EVENTS | NANET3_CONTROL_TX);
	return 0;
}

/*
 * End all DMA, events and interrupts of a board that is about to be left alone; what does not stop
 * is quarantined. The caller ends bus mastering next. mutex and tx_mutex held, or no other user is
 * left.
 */
void nanet3_board_stop(struct nanet3_dev *dev)
{
	bool reset = false, there;
	unsigned int i;

	lockdep_assert_held(&dev->mutex);
	lockdep_assert_held(&dev->tx_mutex);
	for (i = 0; i < NANET3_LINKS; i++)
		nanet3_write(dev, NANET3_REG_LINK(i, NANET3_LREG_CONTROL), 0);
	nanet3_buffers_stop(dev, false);
	nanet3_write(dev, NANET3_REG_IRQ_MASK, 0);
	for (i = 0; i < NANET3_LINKS; i++)
		reset |= !nanet3_link_wait_idle(&dev->links[i]);
	nanet3_drain(dev);
	nanet3_write(dev, NANET3_REG_CONTROL, NANET3_CONTROL_RESET);
	read_poll_timeout(nanet3_there, there, there, POLL_US, NANET3_STOP_US, false, dev);
	if (!nanet3_answers(dev))
		return; /* bus mastering has ended with that */
	for (i = 0; i < NANET3_LINKS; i++) {
		if (reset && !nanet3_link_wait_idle(&dev->links[i]) && nanet3_there(dev))
			nanet3_link_quarantine(&dev->links[i]);
	}
	nanet3_buffers_stop(dev, true);
}

/*
 * Reset the whole board because a part of it has failed, which @reason says. All links stop, owners
 * of running ones lose their handles; see nanet3_board_setup() for the rest. Life (read) and mutex
 * held.
 */
void nanet3_board_reset(struct nanet3_dev *dev, const char *reason)
{
	unsigned int i;
	int r;

	lockdep_assert_held(&dev->life);
	lockdep_assert_held(&dev->mutex);
	if (dev->state != NANET3_READY) /* somebody has found it gone meanwhile */
		return;
	dev_warn(&dev->device, "%s: resetting the board\n", reason);
	trace_nanet3_reset(dev->index, reason);
	nanet3_drain(dev);
	for (i = 0; i < NANET3_LINKS; i++) {
		struct nanet3_client *owner = dev->links[i].owner;

		nanet3_link_lose(&dev->links[i]);
		if (!owner)
			continue;
		spin_lock(&dev->event_lock);
		nanet3_client_hang_up(owner);
		spin_unlock(&dev->event_lock);
	}
	mutex_lock(&dev->tx_mutex);
	spin_lock(&dev->event_lock);
	dev->evq_live = false;
	dev->stats.resets++;
	spin_unlock(&dev->event_lock);
	r = nanet3_board_setup(dev, false);
	mutex_unlock(&dev->tx_mutex);
	if (r < 0)
		nanet3_set_gone(dev);
}

/*
 * Has the board said that an event is written, and a second later it has still not come? The write
 * was lost on the bus. Later events would wait for it for ever. Is a word or a put on its way for
 * too long? What holds it up ends with a reset, too. Life held.
 */
static void nanet3_check_progress(struct nanet3_dev *dev)
{
	u32 missing = nanet3_event_missing(dev);
	const char *reason = NULL;

	lockdep_assert_held(&dev->life);
	if (missing && missing == dev->missing)
		reason = "an event was lost on the bus";
	else if (nanet3_slots_overdue(dev))
		reason = "a word or put does not end";
	dev->missing = missing;
	if (!reason)
		return;
	mutex_lock(&dev->mutex);
	if (dev->state == NANET3_READY)
		nanet3_board_reset(dev, reason);
	mutex_unlock(&dev->mutex);
}

/*
 * Once a second: is it the board that was set up, and not one that has restarted since? One that
 * lost its power for a moment knows nothing of us and stays silent: it is gone. Life held.
 */
void nanet3_check(struct nanet3_dev *dev)
{
	if (!nanet3_answers(dev))
		return;
	if (nanet3_read(dev, NANET3_REG_BOOT_COUNT) != dev->boot_count)
		nanet3_set_gone(dev);
	else
		nanet3_check_progress(dev);
	if (dev->state == NANET3_READY)
		dev->heal_ms = NANET3_HEAL_MS; /* if it is lost again, that is another loss */
}
