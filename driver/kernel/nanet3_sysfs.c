// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Interfaces for system tools: attributes in sysfs, counters and registers in debugfs, a PPS
 * source. None of it is needed for the data: what cannot be registered is said and done without.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "nanet3_drv.h"

/* ------------------------------------------------------------------------ attributes */

static ssize_t nanet3_show_register(struct device *device, u32 offset, char *text)
{
	struct nanet3_dev *dev = container_of(device, struct nanet3_dev, device);
	ssize_t r = -ENODEV;

	down_read(&dev->life);
	if (dev->state == NANET3_READY)
		r = sysfs_emit(text, "%u\n", nanet3_read(dev, offset));
	up_read(&dev->life);
	return r;
}

static ssize_t serial_show(struct device *device, struct device_attribute *attr, char *text)
{
	return nanet3_show_register(device, NANET3_REG_SERIAL, text);
}
static DEVICE_ATTR_RO(serial);

static ssize_t boot_count_show(struct device *device, struct device_attribute *attr, char *text)
{
	return nanet3_show_register(device, NANET3_REG_BOOT_COUNT, text);
}
static DEVICE_ATTR_RO(boot_count);

static const char *const state_names[] = {
	[NANET3_READY] = "ready",
	[NANET3_FROZEN] = "frozen",
	[NANET3_GONE] = "gone",
};

static ssize_t state_show(struct device *device, struct device_attribute *attr, char *text)
{
	struct nanet3_dev *dev = container_of(device, struct nanet3_dev, device);

	return sysfs_emit(text, "%s\n", state_names[READ_ONCE(dev->state)]);
}
static DEVICE_ATTR_RO(state);

static struct attribute *nanet3_attrs[] = {
	&dev_attr_serial.attr,
	&dev_attr_boot_count.attr,
	&dev_attr_state.attr,
	NULL,
};

static const struct attribute_group nanet3_group = {
	.attrs = nanet3_attrs,
};

/* The device's attributes. */
const struct attribute_group *nanet3_groups[] = {
	&nanet3_group,
	NULL,
};

/* ------------------------------------------------------------------------ counters */

/* Counters since the board was found; pages in quarantine since the module was loaded. */
void nanet3_stats_get(struct nanet3_dev *dev, struct nanet3_stats *ret_stats)
{
	unsigned int i;

	spin_lock(&dev->event_lock);
	*ret_stats = dev->stats;
	for (i = 0; i < NANET3_LINKS; i++) {
		ret_stats->links[i] = dev->links[i].stats;
		ret_stats->links[i].interrupts = READ_ONCE(dev->vectors[i].interrupts);
	}
	ret_stats->control_interrupts = READ_ONCE(dev->vectors[NANET3_LINKS].interrupts);
	spin_unlock(&dev->event_lock);
	ret_stats->quarantined = atomic64_read(&nanet3_quarantined);
}

static const char *const status_names[] = {
	[NANET3_RING_STOPPED] = "stopped",
	[NANET3_RING_OWNED] = "owned",
	[NANET3_RING_LINGERING] = "lingering",
};

static void nanet3_show_link(struct seq_file *s, const struct nanet3_link *l,
			     const struct nanet3_link_stats *stats)
{
	const struct nanet3_ring *ring = l->ring;

	seq_printf(s, "link %u: %s%s, owner %u, epoch %u, written %llu, released %llu of %u\n",
		   l->index, status_names[ring->status], l->quarantined ? ", quarantined" : "",
		   ring->owner_pid, ring->dma_epoch, ring->write_position, ring->release_position,
		   ring->depth);
	seq_printf(s, "  interrupts %llu buffers %llu gaps %llu stale %llu starts %llu\n",
		   stats->interrupts, stats->buffers, stats->gaps, stats->stale, stats->starts);
	seq_printf(s, "  takeovers %llu lingers %llu\n", stats->takeovers, stats->lingers);
}

static int state_file_show(struct seq_file *s, void *unused)
{
	struct nanet3_dev *dev = s->private;
	struct nanet3_stats stats;
	unsigned int i;

	nanet3_stats_get(dev, &stats);
	seq_printf(s, "state %s\n", state_names[READ_ONCE(dev->state)]);
	for (i = 0; i < NANET3_LINKS; i++)
		nanet3_show_link(s, &dev->links[i], &stats.links[i]);
	seq_printf(s, "control_interrupts %llu\nspurious %llu\nrescued %llu\n",
		   stats.control_interrupts, stats.spurious, stats.rescued);
	seq_printf(s, "events %llu\nbad_events %llu\nqueue_lost %llu\n", stats.events,
		   stats.bad_events, stats.queue_lost);
	seq_printf(s, "lost_reads %llu\n", (u64)atomic64_read(&dev->lost_reads));
	seq_printf(s, "tx_words %llu\ntx_faults %llu\nputs %llu\nput_bytes %llu\n", stats.tx_words,
		   stats.tx_faults, stats.puts, stats.put_bytes);
	seq_printf(s, "resets %llu\nclients %u\nbuffers %u\npinned_pages %llu\nquarantined %llu\n",
		   stats.resets, stats.clients, stats.buffers, stats.pinned_pages,
		   stats.quarantined);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state_file);

static const struct debugfs_reg32 board_registers[] = {
	{"id", NANET3_REG_ID},
	{"version", NANET3_REG_VERSION},
	{"serial", NANET3_REG_SERIAL},
	{"control", NANET3_REG_CONTROL},
	{"status", NANET3_REG_STATUS},
	{"dma_epoch", NANET3_REG_DMA_EPOCH},
	{"irq_status", NANET3_REG_IRQ_STATUS},
	{"irq_mask", NANET3_REG_IRQ_MASK},
	{"boot_count", NANET3_REG_BOOT_COUNT},
	{"pps_number", NANET3_REG_PPS_NUMBER},
	{"pps_offset", NANET3_REG_PPS_OFFSET},
	{"temperature", NANET3_REG_TEMPERATURE},
	{"tlb_hits", NANET3_REG_TLB_HITS},
	{"tlb_walks", NANET3_REG_TLB_WALKS},
	{"tlb_misses", NANET3_REG_TLB_MISSES},
	{"evq_write", NANET3_REG_EVQ_WRITE},
	{"evq_read", NANET3_REG_EVQ_READ},
	{"evq_lost", NANET3_REG_EVQ_LOST},
	{"tx_write", NANET3_REG_TX_WRITE},
	{"tx_read", NANET3_REG_TX_READ},
};

static const struct debugfs_reg32 link_registers[] = {
	{"control", NANET3_LREG_CONTROL},	{"status", NANET3_LREG_STATUS},
	{"rx_power", NANET3_LREG_RX_POWER},	{"tx_power", NANET3_LREG_TX_POWER},
	{"phase", NANET3_LREG_PHASE},		{"rtt", NANET3_LREG_RTT},
	{"aligns", NANET3_LREG_ALIGNS},		{"code_errors", NANET3_LREG_CODE_ERRORS},
	{"lost_locks", NANET3_LREG_LOST_LOCKS}, {"drop_fifo", NANET3_LREG_DROP_FIFO},
	{"drop_ring", NANET3_LREG_DROP_RING},	{"drop_down", NANET3_LREG_DROP_DOWN},
	{"cells", NANET3_LREG_CELLS},		{"deadline", NANET3_LREG_DEADLINE},
};

static int registers_show(struct seq_file *s, void *unused)
{
	struct nanet3_dev *dev = s->private;
	unsigned int i;
	int r = -ENODEV;

	down_read(&dev->life);
	if (dev->state == NANET3_READY) {
		debugfs_print_regs32(s, board_registers, ARRAY_SIZE(board_registers), dev->bar, "");
		for (i = 0; i < NANET3_LINKS; i++) {
			char prefix[] = "link0.";

			prefix[4] += i;
			debugfs_print_regs32(s, link_registers, ARRAY_SIZE(link_registers),
					     dev->bar + NANET3_REG_LINK(i, 0), prefix);
		}
		r = 0;
	}
	up_read(&dev->life);
	return r;
}
DEFINE_SHOW_ATTRIBUTE(registers);

/* ------------------------------------------------------------------------ life */

/* The module's directory, in which each board has its own. */
struct dentry *nanet3_debugfs;

static void nanet3_pps_create(struct nanet3_dev *dev)
{
	struct pps_source_info info = {
		.mode = PPS_CAPTUREASSERT | PPS_OFFSETASSERT | PPS_CANWAIT | PPS_TSFMT_TSPEC,
		.owner = THIS_MODULE,
		.dev = &dev->pdev->dev,
	};
	struct pps_device *pps;

	strscpy(info.name, dev_name(&dev->device), sizeof(info.name));
	pps = pps_register_source(&info, PPS_CAPTUREASSERT | PPS_OFFSETASSERT);
	if (IS_ERR_OR_NULL(pps)) {
		dev_warn(&dev->device, "no PPS source: %ld\n", PTR_ERR(pps));
		return;
	}
	spin_lock(&dev->event_lock);
	dev->pps = pps;
	spin_unlock(&dev->event_lock);
}

/* PPS source, sensors, debugfs, as far as they are available. The board is ready. */
void nanet3_extras_create(struct nanet3_dev *dev)
{
	nanet3_hwmon_create(dev);
	nanet3_pps_create(dev);
	dev->debugfs = debugfs_create_dir(dev_name(&dev->device), nanet3_debugfs);
	debugfs_create_file("state", 0444, dev->debugfs, dev, &state_file_fops);
	debugfs_create_file("registers", 0444, dev->debugfs, dev, &registers_fops);
}

/* Life not held. */
void nanet3_extras_destroy(struct nanet3_dev *dev)
{
	struct pps_device *pps;

	debugfs_remove_recursive(dev->debugfs);
	spin_lock(&dev->event_lock);
	pps = dev->pps;
	dev->pps = NULL;
	spin_unlock(&dev->event_lock);
	if (pps)
		pps_unregister_source(pps);
	nanet3_hwmon_destroy(dev);
}
