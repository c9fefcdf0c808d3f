// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A driver of another function on the board's bus (QEMU's pci-testdev): after an error that is not fatal it asks for a
 * reset, as e1000e does, and then says whether it has recovered.
 */
#include <linux/module.h>
#include <linux/pci.h>

static bool recovers = true;
module_param(recovers, bool, 0);

static int neighbour_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	return 0;
}

static void neighbour_remove(struct pci_dev *pdev)
{
}

static pci_ers_result_t neighbour_error_detected(struct pci_dev *pdev, pci_channel_state_t channel)
{
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t neighbour_slot_reset(struct pci_dev *pdev)
{
	return recovers ? PCI_ERS_RESULT_RECOVERED : PCI_ERS_RESULT_DISCONNECT;
}

static const struct pci_error_handlers neighbour_error_handlers = {
	.error_detected = neighbour_error_detected,
	.slot_reset = neighbour_slot_reset,
};

static const struct pci_device_id neighbour_ids[] = {
	{PCI_DEVICE(PCI_VENDOR_ID_REDHAT, 0x0005)},
	{},
};

static struct pci_driver neighbour_driver = {
	.name = "neighbour",
	.id_table = neighbour_ids,
	.probe = neighbour_probe,
	.remove = neighbour_remove,
	.err_handler = &neighbour_error_handlers,
};
module_pci_driver(neighbour_driver);

MODULE_DESCRIPTION("A neighbour of a NaNet3 board, for tests");
MODULE_AUTHOR("FCM-Server engineers");
MODULE_LICENSE("GPL");
