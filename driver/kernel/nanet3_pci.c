// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nanet3: the module, and a board's life.
 *
 *              probe                     fatal error, reset, suspend
 *   (nothing) -------> READY ------------------------------------> FROZEN
 *                        |  ^                                       | ^  |
 *                        |  +------ resume, reset done, awake ------+ |  |
 *                        |                 it answers again (heal), |  | does not start,
 *                        | registers read all ones   the same as to |  | permanent failure
 *                        +---------------------------------> GONE ----+  |
 *                                                               ^--------+
 *
 * Any of them --remove--> (nothing). A board that is gone is looked for until it answers again, or
 * the bus is recovered: reads of all ones often come first, and the error that made them is
 * reported after. A bus error that is not fatal leaves a board that answers in READY.
 * All of this happens with the device locked, by the PCI core or by nanet3_heal(), so no recovery
 * goes on behind a removal.
 *
 * Leaving READY ends every open handle: its requests get ENODEV, its owner has to open again. The
 * struct lives until the last handle has closed; registers and DMA memory go with remove. Bus
 * mastering is enabled when all is in place and disabled first: a board that was left running by a
 * crashed kernel is reset before.
 *
 * Links have states of their own, see nanet3_claim.c.
 */
#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "nanet3_drv.h"

#define CREATE_TRACE_POINTS
#include "nanet3_trace.h"

#define BAR_REGISTERS 0
#define SLOT_MBPS     32000u /* eight lanes of 5 GT/s */
#define HEAL_MAX_MS   500u
#define RECOVERY_MS   60000u /* after an error: the core has given up the bus by then */

static void nanet3_heal(struct work_struct *work);

static dev_t nanet3_number;
static struct class *nanet3_class;
static DEFINE_IDA(nanet3_indices);

/* ------------------------------------------------------------------------ the struct */

static void nanet3_device_free(struct device *device)
{
	struct nanet3_dev *dev = container_of(device, struct nanet3_dev, device);

	nanet3_buffers_free(dev);
	nanet3_rings_free(dev);
	if (dev->wq)
		destroy_workqueue(dev->wq);
	kfree(dev->config);
	kvfree(dev);
}

/* A board that comes back has its old number, even while handles of its last life are open. */
static void nanet3_device_put(struct nanet3_dev *dev)
{
	ida_free(&nanet3_indices, dev->index);
	put_device(&dev->device);
}

/* Everything that needs no board. nanet3_device_put() frees it. */
static struct nanet3_dev *nanet3_device_alloc(struct pci_dev *pdev)
{
	struct nanet3_dev *dev = kvzalloc(sizeof(*dev), GFP_KERNEL);
	int r;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	dev->index = ida_alloc_max(&nanet3_indices, NANET3_BOARDS - 1, GFP_KERNEL);
	if (dev->index < 0) {
		r = dev->index;
		kvfree(dev);
		return ERR_PTR(r);
	}
	dev->pdev = pdev;
	dev->state = NANET3_FROZEN;
	init_rwsem(&dev->life);
	mutex_init(&dev->mutex);
	init_rwsem(&dev->map_lock);
	mutex_init(&dev->tx_mutex);
	spin_lock_init(&dev->event_lock);
	raw_spin_lock_init(&dev->stamp_lock);
	INIT_LIST_HEAD(&dev->clients);
	xa_init(&dev->pages);
	INIT_DELAYED_WORK(&dev->tick, nanet3_tick_work);
	INIT_DELAYED_WORK(&dev->heal, nanet3_heal);
	dev->heal_ms = NANET3_HEAL_MS;
	dev->version = NANET3_HW_VERSION;
	dev->tick_head = ~0ull;
	dev->check_at = jiffies;
	device_initialize(&dev->device);
	dev->device.class = nanet3_class;
	dev->device.parent = &pdev->dev;
	dev->device.devt = MKDEV(MAJOR(nanet3_number), dev->index);
	dev->device.groups = nanet3_groups;
	dev->device.release = nanet3_device_free;
	r = dev_set_name(&dev->device, NANET3_NAME "-%d", dev->index);
	if (r < 0)
		goto fail;
	dev->wq = alloc_workqueue("%s", WQ_HIGHPRI | WQ_MEM_RECLAIM, 0, dev_name(&dev->device));
	if (!dev->wq) {
		r = -ENOMEM;
		goto fail;
	}
	return dev;

fail:
	nanet3_device_put(dev);
	return ERR_PTR(r);
}

/* ------------------------------------------------------------------------ probe and remove */

static int nanet3_bar_map(struct nanet3_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;
	int r;

	if (pci_resource_len(pdev, BAR_REGISTERS) < NANET3_BAR_BYTES)
		return dev_err_probe(&pdev->dev, -ENODEV, "BAR 0 is too small\n");
	r = pci_request_mem_regions(pdev, NANET3_NAME);
	if (r < 0)
		return r;
	dev->bar_start = pci_resource_start(pdev, BAR_REGISTERS);
	dev->bar = pci_iomap(pdev, BAR_REGISTERS, NANET3_BAR_BYTES);
	if (!dev->bar) {
		pci_release_mem_regions(pdev);
		return -ENOMEM;
	}
	return 0;
}

static void nanet3_bar_unmap(struct nanet3_dev *dev)
{
	pci_iounmap(dev->pdev, dev->bar);
	dev->bar = NULL;
	pci_release_mem_regions(dev->pdev);
}

static int nanet3_memory_alloc(struct nanet3_dev *dev)
{
	int r = dma_set_mask_and_coherent(&dev->pdev->dev, DMA_BIT_MASK(64));

	if (r == 0)
		r = nanet3_rings_create(dev);
	if (r == 0)
		r = nanet3_tx_create(dev);
	return r;
}

/* All mappings are revoked, the board is stopped. */
static void nanet3_memory_free(struct nanet3_dev *dev)
{
	nanet3_tx_free(dev);
	nanet3_rings_free_dma(dev);
}

/*
 * A worn or narrow slot still works, at a part of the board's rate. Each link training may give
 * another width or speed, so this is done at every set-up.
 */
static void nanet3_look_at_slot(struct nanet3_dev *dev)
{
	enum pcie_link_width width = 0;
	enum pci_bus_speed speed;
	struct pci_dev *at = NULL;
	u32 mbps = pcie_bandwidth_available(dev->pdev, &at, &speed, &width);

	if (mbps && mbps < SLOT_MBPS)
		dev_warn(&dev->device, "PCIe link of %u Mb/s (x%u) at %s: %u are expected\n", mbps,
			 width, at ? pci_name(at) : "the board", SLOT_MBPS);
}

/* Set up, and ready. */
static int nanet3_start(struct nanet3_dev *dev)
{
	int r;

	mutex_lock(&dev->mutex);
	mutex_lock(&dev->tx_mutex);
	r = nanet3_board_setup(dev, true);
	mutex_unlock(&dev->tx_mutex);
	if (r == 0) /* before anybody could see a board that may write and is not ready */
		nanet3_set_state(dev, NANET3_READY);
	mutex_unlock(&dev->mutex);
	if (r == 0)
		nanet3_look_at_slot(dev);
	return r;
}

static void nanet3_stop(struct nanet3_dev *dev)
{
	mutex_lock(&dev->mutex);
	mutex_lock(&dev->tx_mutex);
	nanet3_board_stop(dev);
	pci_clear_master(dev->pdev);
	mutex_unlock(&dev->tx_mutex);
	mutex_unlock(&dev->mutex);
}

static int nanet3_hardware_init(struct nanet3_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;
	int r = pci_enable_device_mem(pdev);

	if (r < 0)
		return r;
	pci_clear_master(pdev);
	/* An event must not pass the data that it reports. */
	pcie_capability_clear_word(pdev, PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_RELAX_EN);
	r = nanet3_bar_map(dev);
	if (r < 0)
		goto disable;
	if (!nanet3_there(dev)) {
		r = dev_err_probe(&pdev->dev, -ENODEV, "no board answers\n");
		goto unmap;
	}
	if (!nanet3_version_known(dev)) {
		r = -ENODEV;
		goto unmap;
	}
	r = nanet3_memory_alloc(dev);
	if (r < 0)
		goto free;
	r = nanet3_irqs_request(dev);
	if (r < 0)
		goto free;
	pci_save_state(pdev);
	dev->config = pci_store_saved_state(pdev);
	r = dev->config ? nanet3_start(dev) : -ENOMEM;
	if (r < 0)
		goto irqs;
	return 0;

irqs:
	nanet3_irqs_free(dev);
free:
	nanet3_memory_free(dev);
unmap:
	nanet3_bar_unmap(dev);
disable:
	pci_disable_device(pdev);
	return r;
}

/* Links are free for new handles, whether the last owners have closed or not. */
static void nanet3_disown_all(struct nanet3_dev *dev)
{
	unsigned int i;

	mutex_lock(&dev->mutex);
	for (i = 0; i < NANET3_LINKS; i++)
		nanet3_link_lose(&dev->links[i]);
	mutex_unlock(&dev->mutex);
}

/*
 * Requests under way end before the board is stopped, later ones are refused. Who sees that it is
 * not ready gives memory back without asking it: it is off the bus by then.
 */
static void nanet3_end_handles(struct nanet3_dev *dev, enum nanet3_state state, bool answers)
{
	down_write(&dev->life);
	if (answers)
		nanet3_stop(dev);
	else
		nanet3_end_mastering(dev);
	nanet3_set_state(dev, state);
	if (state == NANET3_FROZEN)
		nanet3_disown_all(dev);
	up_write(&dev->life);
	cancel_delayed_work_sync(&dev->tick); /* it takes life, and does not start again */
}

/* There is no node any more, but there may be handles. */
static void nanet3_take_down(struct nanet3_dev *dev)
{
	struct nanet3_pin *freed = NULL;
	struct pci_dev *pdev = dev->pdev;

	nanet3_extras_destroy(dev);
	nanet3_end_handles(dev, NANET3_GONE, READ_ONCE(dev->state) == NANET3_READY);
	cancel_delayed_work_sync(&dev->heal); /* it starts with the end of READY only */
	nanet3_irqs_free(dev);

	mutex_lock(&dev->mutex);
	nanet3_buffers_drop(dev, NULL, &freed);
	nanet3_revoke_dma(dev);
	nanet3_memory_free(dev);
	mutex_unlock(&dev->mutex);
	nanet3_unpin(freed);
	nanet3_bar_unmap(dev);
	if (pci_is_enabled(pdev)) /* an error may have come and not been recovered from */
		pci_disable_device(pdev);
	nanet3_device_put(dev);
}

static int nanet3_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct nanet3_dev *dev = nanet3_device_alloc(pdev);
	int r;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	r = nanet3_hardware_init(dev);
	if (r < 0) {
		nanet3_device_put(dev);
		return r;
	}
	pci_set_drvdata(pdev, dev);
	nanet3_extras_create(dev);
	cdev_init(&dev->cdev, &nanet3_fops);
	dev->cdev.owner = THIS_MODULE;
	r = cdev_device_add(&dev->cdev, &dev->device);
	if (r < 0) {
		nanet3_take_down(dev);
		return r;
	}
	nanet3_tick_start(dev);
	dev_info(&dev->device, "serial %u, boot %u, rings of %u x %u frames\n",
		 nanet3_read(dev, NANET3_REG_SERIAL), nanet3_read(dev, NANET3_REG_BOOT_COUNT),
		 dev->links[0].ring->depth, dev->links[0].ring->frames_per_buffer);
	return 0;
}

static void nanet3_remove(struct pci_dev *pdev)
{
	struct nanet3_dev *dev = pci_get_drvdata(pdev);

	cdev_device_del(&dev->cdev, &dev->device);
	nanet3_take_down(dev);
}

/* ------------------------------------------------------------------ errors, sleep, the end */

/*
 * Stop, because something is about to be done to the board: a reset of the function through sysfs
 * or for a guest, sleep, or shutdown, after which another kernel may run in the same memory.
 */
static void nanet3_freeze(struct pci_dev *pdev)
{
	struct nanet3_dev *dev = pci_get_drvdata(pdev);

	dev->erring = false;
	nanet3_end_handles(dev, NANET3_FROZEN, READ_ONCE(dev->state) == NANET3_READY);
}

/* An error on the bus has disabled the device. True: it is enabled. */
static bool nanet3_pci_enable(struct nanet3_dev *dev)
{
	return pci_is_enabled(dev->pdev) || pci_enable_device_mem(dev->pdev) == 0;
}

/*
 * What the core has restored may be what it read from a board without power: configuration is as at
 * probe, no bus master.
 */
static void nanet3_config_restore(struct nanet3_dev *dev)
{
	pci_load_saved_state(dev->pdev, dev->config);
	pci_restore_state(dev->pdev);
}

/* Start again, configured. Links are stopped, old handles are of no use. A failure: gone. */
static int nanet3_restart(struct nanet3_dev *dev)
{
	int r = nanet3_start(dev);

	if (r < 0) {
		nanet3_set_state(dev, NANET3_GONE);
		nanet3_heal_start(dev);
		return r;
	}
	dev->erring = false;
	nanet3_tick_start(dev);
	dev_info(&dev->device, "recovered\n");
	return 0;
}

/* What nanet3_freeze() and nanet3_error_detected() have stopped goes on. */
static void nanet3_thaw(struct pci_dev *pdev)
{
	struct nanet3_dev *dev = pci_get_drvdata(pdev);
	int r;

	if (READ_ONCE(dev->state) == NANET3_READY) /* probed between an error and its end */
		return;
	if (READ_ONCE(dev->state) == NANET3_GONE) /* its links still have their last owners */
		nanet3_end_handles(dev, NANET3_FROZEN, false);
	nanet3_config_restore(dev);
	r = nanet3_restart(dev);
	if (r < 0)
		dev_err_ratelimited(&dev->device, "does not start again: %d\n", r);
}

static bool nanet3_in_configuration_space(struct pci_dev *pdev)
{
	u16 vendor = 0;

	pci_read_config_word(pdev, PCI_VENDOR_ID, &vendor);
	return vendor == pdev->vendor;
}

/* The board is on the bus again. Does it answer, and work? */
static bool nanet3_revive(struct nanet3_dev *dev)
{
	nanet3_config_restore(dev);
	if (!nanet3_there(dev))
		return false;
	nanet3_end_handles(dev, NANET3_FROZEN, false);
	return nanet3_restart(dev) == 0;
}

/* Gone, or in the core's hands after an error on the bus, which may end without a call of ours. */
static bool nanet3_may_be_lost(const struct nanet3_dev *dev)
{
	enum nanet3_state state = READ_ONCE(dev->state);

	return state == NANET3_GONE || (state == NANET3_FROZEN && READ_ONCE(dev->erring));
}

/* With the device locked. */
static bool nanet3_is_lost(const struct nanet3_dev *dev)
{
	return nanet3_may_be_lost(dev) &&
	       (dev->state == NANET3_GONE || time_after_eq(jiffies, dev->given_up_at));
}

/*
 * Looks for a board that is lost, less and less often. Without the device's lock somebody else
 * removes it, recovers it, or puts it to sleep.
 */
static void nanet3_heal(struct work_struct *work)
{
	struct nanet3_dev *dev = container_of(to_delayed_work(work), struct nanet3_dev, heal);
	struct pci_dev *pdev = dev->pdev;
	bool found, works = false;

	nanet3_revoke_doorbells(dev);
	if (device_trylock(&pdev->dev)) {
		dev->heal_ms = min(2 * dev->heal_ms, HEAL_MAX_MS);
		if (nanet3_is_lost(dev)) {
			found = nanet3_in_configuration_space(pdev) && nanet3_pci_enable(dev);
			if (found)
				works = nanet3_revive(dev);
			trace_nanet3_heal(dev->index, found, works);
		}
		device_unlock(&pdev->dev);
	}
	if (nanet3_may_be_lost(dev))
		nanet3_heal_start(dev);
}

/*
 * The core recovers from an error. It may give up without a call of ours: nanet3_heal() looks after
 * a while.
 */
static void nanet3_await_recovery(struct nanet3_dev *dev)
{
	dev->given_up_at = jiffies + msecs_to_jiffies(RECOVERY_MS);
	dev->erring = true;
	nanet3_heal_start(dev);
}

static pci_ers_result_t nanet3_error_detected(struct pci_dev *pdev, pci_channel_state_t channel)
{
	struct nanet3_dev *dev = pci_get_drvdata(pdev);
	bool lost = channel == pci_channel_io_perm_failure;

	if (channel == pci_channel_io_normal) {
		dev_warn_ratelimited(&dev->device, "PCI error, not fatal\n");
		return PCI_ERS_RESULT_CAN_RECOVER;
	}
	dev_err(&dev->device, "PCI error: %s\n", lost ? "gone" : "recovering");
	nanet3_end_handles(dev, lost ? NANET3_GONE : NANET3_FROZEN, false);
	if (pci_is_enabled(pdev))
		pci_disable_device(pdev);
	if (lost) {
		nanet3_heal_start(dev);
		return PCI_ERS_RESULT_DISCONNECT;
	}
	nanet3_await_recovery(dev);
	return PCI_ERS_RESULT_NEED_RESET;
}

/*
 * After an error that was not fatal. What it cost is found by the checks of frames and events. A
 * board that is gone is nanet3_heal()'s: its own looks may cause such errors, and the core resets
 * nothing after them.
 */
static pci_ers_result_t nanet3_mmio_enabled(struct pci_dev *pdev)
{
	struct nanet3_dev *dev = pci_get_drvdata(pdev);
	bool ready;

	down_read(&dev->life);
	if (dev->state == NANET3_READY)
		nanet3_check(dev);
	ready = dev->state == NANET3_READY;
	up_read(&dev->life);
	return ready ? PCI_ERS_RESULT_RECOVERED : PCI_ERS_RESULT_NONE;
}

/* Was the function not reset after all? It is ready, has the bus, and knows of us. */
static bool nanet3_is_untouched(struct nanet3_dev *dev)
{
	bool untouched = false;
	u16 command = 0;

	down_read(&dev->life);
	if (dev->state == NANET3_READY) {
		nanet3_check(dev);
		pci_read_config_word(dev->pdev, PCI_COMMAND, &command);
		untouched = dev->state == NANET3_READY && command & PCI_COMMAND_MASTER &&
			    nanet3_read(dev, NANET3_REG_EVQ_SIZE) == dev->evq_size;
	}
	up_read(&dev->life);
	return untouched;
}

/*
 * The function has been reset, for this driver or for another one on the same bus. Or it has not:
 * after an error that is not fatal the core calls this when another driver wants a reset, and makes
 * none.
 */
static pci_ers_result_t nanet3_slot_reset(struct pci_dev *pdev)
{
	struct nanet3_dev *dev = pci_get_drvdata(pdev);

	if (nanet3_is_untouched(dev))
		return PCI_ERS_RESULT_RECOVERED;
	if (READ_ONCE(dev->state) == NANET3_READY) {
		nanet3_end_handles(dev, NANET3_FROZEN, false);
		nanet3_await_recovery(dev);
	}
	if (nanet3_pci_enable(dev))
		return PCI_ERS_RESULT_RECOVERED;
	dev_err(&dev->device, "cannot be enabled again\n");
	nanet3_set_state(dev, NANET3_GONE);
	nanet3_heal_start(dev);
	return PCI_ERS_RESULT_DISCONNECT;
}

/* The recovery has ended. A board that has gone is nanet3_heal()'s, one that sleeps goes on so. */
static void nanet3_error_resume(struct pci_dev *pdev)
{
	struct nanet3_dev *dev = pci_get_drvdata(pdev);

	if (READ_ONCE(dev->erring))
		nanet3_thaw(pdev);
}

static const struct pci_error_handlers nanet3_error_handlers = {
	.error_detected = nanet3_error_detected,
	.mmio_enabled = nanet3_mmio_enabled,
	.slot_reset = nanet3_slot_reset,
	.resume = nanet3_error_resume,
	.reset_prepare = nanet3_freeze,
	.reset_done = nanet3_thaw,
};

static int nanet3_suspend(struct device *device)
{
	nanet3_freeze(to_pci_dev(device));
	return 0;
}

/* A board that does not come back is gone; the machine wakes up all the same. */
static int nanet3_resume(struct device *device)
{
	nanet3_thaw(to_pci_dev(device));
	return 0;
}

static DEFINE_SIMPLE_DEV_PM_OPS(nanet3_pm_ops, nanet3_suspend, nanet3_resume);

/* ------------------------------------------------------------------------ the module */

static const struct pci_device_id nanet3_ids[] = {
	{PCI_DEVICE(NANET3_PCI_VENDOR, NANET3_PCI_DEVICE)},
	{},
};
MODULE_DEVICE_TABLE(pci, nanet3_ids);

static struct pci_driver nanet3_driver = {
	.name = NANET3_NAME,
	.id_table = nanet3_ids,
	.probe = nanet3_probe,
	.remove = nanet3_remove,
	.shutdown = nanet3_freeze,
	.err_handler = &nanet3_error_handlers,
	.driver.pm = pm_sleep_ptr(&nanet3_pm_ops),
};

static int __init nanet3_init(void)
{
	int r = alloc_chrdev_region(&nanet3_number, 0, NANET3_BOARDS, NANET3_NAME);

	if (r < 0)
		return r;
	nanet3_class = nanet3_class_create(NANET3_NAME);
	if (IS_ERR(nanet3_class)) {
		r = PTR_ERR(nanet3_class);
		goto number;
	}
	nanet3_debugfs = debugfs_create_dir(NANET3_NAME, NULL);
	r = pci_register_driver(&nanet3_driver);
	if (r < 0)
		goto destroy;
	return 0;

destroy:
	debugfs_remove_recursive(nanet3_debugfs);
	class_destroy(nanet3_class);
number:
	unregister_chrdev_region(nanet3_number, NANET3_BOARDS);
	return r;
}

static void __exit nanet3_exit(void)
{
	pci_unregister_driver(&nanet3_driver);
	debugfs_remove_recursive(nanet3_debugfs);
	class_destroy(nanet3_class);
	unregister_chrdev_region(nanet3_number, NANET3_BOARDS);
	ida_destroy(&nanet3_indices);
}

module_init(nanet3_init);
module_exit(nanet3_exit);

MODULE_DESCRIPTION("NaNet3 board: read-out of four synchronous optical links");
MODULE_AUTHOR("FCM-Server engineers");
MODULE_VERSION(NANET3_DRIVER_VERSION);
MODULE_LICENSE("GPL");
