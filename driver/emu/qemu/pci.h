/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The board on the PCI bus: configuration space, decoded addresses, bus mastering. Pure state, no
 * I/O. A PCI Express function with
 *
 *   BAR 0  64 KiB  registers (driver/nanet3.h)      power management (D0, D3hot; waking resets it)
 *   BAR 2   4 KiB  MSI-X table and pending bits     MSI-X, Express with function-level reset
 *
 * Both BARs are 32-bit memory. No INTx, no ROM, 256 bytes: what lies behind is QEMU's to deny.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PCI_SPACE	   256u
#define PCI_MSIX_BAR_BYTES 4096u
#define PCI_MSIX_PENDING   2048u     /* offset in BAR 2 */
#define PCI_CLASS_DAQ	   0x118000u /* signal processing controller, other */
#define PCI_REVISION	   3u
#define PCI_SUBSYSTEM	   0x3203u /* of vendor NANET3_PCI_VENDOR; ours, like the map */

enum pci_bar { PCI_BAR_NONE, PCI_BAR_REGISTERS, PCI_BAR_MSIX };

struct pci_function {
	uint8_t config[PCI_SPACE];
	uint8_t writable[PCI_SPACE]; /* bits that a write changes */
	uint16_t trained; /* link status that pci_train() has set; 0: none. Outlives resets */
};

/* As after power-up, or any reset. All zero before the first one. */
void pci_reset(struct pci_function *p);

/* `length` bytes (1, 2 or 4) at `address`; beyond the space: all ones, and writes vanish. */
uint32_t pci_config_read(const struct pci_function *p, uint32_t address, unsigned length);
/* True when that asks for a reset of the whole function (FLR, leaving D3hot): the caller's to do,
 * pci_reset() included. */
bool pci_config_write(struct pci_function *p, uint32_t address, uint32_t value, unsigned length);

/* Which BAR, if any, answers to all `length` bytes at a guest-physical address, and where in it. */
enum pci_bar pci_decode(const struct pci_function *p, uint64_t address, uint32_t length,
			uint32_t *ret_offset);
/* May it read and write memory, and so raise interrupts? Bus master enabled, not asleep. */
bool pci_may_speak(const struct pci_function *p);
/* May its writes pass one another? */
bool pci_relaxed(const struct pci_function *p);
/* The slot's link comes up with so many lanes of this generation. */
void pci_train(struct pci_function *p, unsigned lanes, unsigned generation);
bool pci_msix_enabled(const struct pci_function *p);
bool pci_msix_masked(const struct pci_function *p); /* all vectors at once */
