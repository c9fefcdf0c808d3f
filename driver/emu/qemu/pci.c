/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The emulated board's PCI configuration space, and what follows from it: which BAR answers an address, bus mastering,
 * MSI-X state, reset requests. Names of registers and bits are those of <linux/pci_regs.h>.
 */
#include "driver/emu/qemu/pci.h"

#include <linux/pci_regs.h>
#include <string.h>

#include "driver/nanet3.h"

/* Where the capabilities lie, each pointing to the next. */
#define CAP_PM	 0x40u
#define CAP_MSIX 0x50u
#define CAP_EXP	 0x60u

#define BAR_REGISTERS PCI_BASE_ADDRESS_0
#define BAR_MSIX      PCI_BASE_ADDRESS_2

static uint32_t get(const uint8_t *bytes, uint32_t at, unsigned length)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < length; i++) {
		value |= (uint32_t)bytes[at + i] << 8 * i;
	}
	return value;
}

static void put(uint8_t *bytes, uint32_t at, unsigned length, uint32_t value)
{
	for (unsigned i = 0; i < length; i++) {
		bytes[at + i] = (uint8_t)(value >> 8 * i);
	}
}

/* ------------------------------------------------------------------------ reset */

struct field {
	uint16_t at;
	uint8_t length;
	uint32_t value, writable;
};

static const struct field fields[] = {
	{PCI_VENDOR_ID, 2, NANET3_PCI_VENDOR, 0},
	{PCI_DEVICE_ID, 2, NANET3_PCI_DEVICE, 0},
	{PCI_COMMAND, 2, 0,
	 PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
		 PCI_COMMAND_INTX_DISABLE},
	{PCI_STATUS, 2, PCI_STATUS_CAP_LIST, 0},
	{PCI_CLASS_REVISION, 4, PCI_CLASS_DAQ << 8 | PCI_REVISION, 0},
	{PCI_CACHE_LINE_SIZE, 1, 0, 0xff},
	{BAR_REGISTERS, 4, 0, ~(NANET3_BAR_BYTES - 1)},
	{BAR_MSIX, 4, 0, ~(PCI_MSIX_BAR_BYTES - 1)},
	{PCI_SUBSYSTEM_VENDOR_ID, 2, NANET3_PCI_VENDOR, 0},
	{PCI_SUBSYSTEM_ID, 2, PCI_SUBSYSTEM, 0},
	{PCI_CAPABILITY_LIST, 1, CAP_PM, 0},
	{PCI_INTERRUPT_LINE, 1, 0, 0xff},

	{CAP_PM, 2, PCI_CAP_ID_PM | CAP_MSIX << 8, 0},
	{CAP_PM + PCI_PM_PMC, 2, 3, 0}, /* version 1.2, neither D1 nor D2 nor PME */
	{CAP_PM + PCI_PM_CTRL, 2, 0, PCI_PM_CTRL_STATE_MASK},

	{CAP_MSIX, 2, PCI_CAP_ID_MSIX | CAP_EXP << 8, 0},
	{CAP_MSIX + PCI_MSIX_FLAGS, 2, NANET3_VECTORS - 1,
	 PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL},
	{CAP_MSIX + PCI_MSIX_TABLE, 4, 2, 0}, /* offset 0 in BAR 2 */
	{CAP_MSIX + PCI_MSIX_PBA, 4, PCI_MSIX_PENDING | 2, 0},

	{CAP_EXP, 2, PCI_CAP_ID_EXP, 0},
	{CAP_EXP + PCI_EXP_FLAGS, 2, 2 | PCI_EXP_TYPE_ENDPOINT << 4, 0},
	{CAP_EXP + PCI_EXP_DEVCAP, 4, 1 | PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR, 0}, /* 256 B */
	{CAP_EXP + PCI_EXP_DEVCTL, 2,
	 PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN | PCI_EXP_DEVCTL_READRQ_512B,
	 PCI_EXP_DEVCTL_CERE | PCI_EXP_DEVCTL_NFERE | PCI_EXP_DEVCTL_FERE | PCI_EXP_DEVCTL_URRE |
		 PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_PAYLOAD | PCI_EXP_DEVCTL_NOSNOOP_EN |
		 PCI_EXP_DEVCTL_READRQ},
	{CAP_EXP + PCI_EXP_LNKCAP, 4, PCI_EXP_LNKCAP_SLS_5_0GB | 8 << 4, 0}, /* x8, as the board */
	{CAP_EXP + PCI_EXP_LNKCTL, 2, 0, PCI_EXP_LNKCTL_RCB | PCI_EXP_LNKCTL_CCC},
	{CAP_EXP + PCI_EXP_LNKSTA, 2, PCI_EXP_LNKSTA_CLS_5_0GB | 8 << 4 | PCI_EXP_LNKSTA_SLC, 0},
	{CAP_EXP + PCI_EXP_LNKCAP2, 4, PCI_EXP_LNKCAP2_SLS_2_5GB | PCI_EXP_LNKCAP2_SLS_5_0GB, 0},
};

static void show_training(struct pci_function *p)
{
	if (p->trained != 0) {
		put(p->config, CAP_EXP + PCI_EXP_LNKSTA, 2, p->trained);
	}
}

void pci_reset(struct pci_function *p)
{
	memset(p->config, 0, sizeof(p->config));
	memset(p->writable, 0, sizeof(p->writable));
	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct field *f = &fields[i];

		put(p->config, f->at, f->length, f->value);
		put(p->writable, f->at, f->length, f->writable);
	}
	show_training(p);
}

void pci_train(struct pci_function *p, unsigned lanes, unsigned generation)
{
	p->trained = (uint16_t)(lanes << 4 | generation | PCI_EXP_LNKSTA_SLC);
	show_training(p);
}

/* ------------------------------------------------------------------------ access */

static bool in_space(uint32_t address, unsigned length)
{
	return address < PCI_SPACE && length <= PCI_SPACE - address;
}

static uint32_t power_state(const struct pci_function *p)
{
	return get(p->config, CAP_PM + PCI_PM_CTRL, 2) & PCI_PM_CTRL_STATE_MASK;
}

uint32_t pci_config_read(const struct pci_function *p, uint32_t address, unsigned length)
{
	return in_space(address, length) ? get(p->config, address, length)
					 : ~0u >> (32 - 8 * length);
}

bool pci_config_write(struct pci_function *p, uint32_t address, uint32_t value, unsigned length)
{
	const uint32_t control = CAP_EXP + PCI_EXP_DEVCTL + 1, before = power_state(p);
	uint32_t after;

	if (!in_space(address, length)) {
		return false;
	}
	for (unsigned i = 0; i < length; i++, value >>= 8) {
		uint8_t *byte = &p->config[address + i], mask = p->writable[address + i];

		*byte = (uint8_t)((*byte & ~mask) | (value & mask));
		if (address + i == control && value & PCI_EXP_DEVCTL_BCR_FLR >> 8) {
			return true;
		}
	}
	after = power_state(p);
	if (after != 0 && after != 3) { /* no such state: nothing happens */
		p->config[CAP_PM + PCI_PM_CTRL] = (uint8_t)before;
	}
	return before == 3 && after == 0;
}

/* ------------------------------------------------------------------------ what follows from it */

static bool answers(const struct pci_function *p, uint32_t bar, uint32_t bytes, uint64_t address,
		    uint32_t length, uint32_t *ret_offset)
{
	uint64_t base = get(p->config, bar, 4);

	if (address < base || address - base >= bytes || length > bytes - (address - base)) {
		return false;
	}
	*ret_offset = (uint32_t)(address - base);
	return true;
}

enum pci_bar pci_decode(const struct pci_function *p, uint64_t address, uint32_t length,
			uint32_t *ret_offset)
{
	if (!(p->config[PCI_COMMAND] & PCI_COMMAND_MEMORY) || power_state(p) != 0) {
		return PCI_BAR_NONE;
	}
	if (answers(p, BAR_REGISTERS, NANET3_BAR_BYTES, address, length, ret_offset)) {
		return PCI_BAR_REGISTERS;
	}
	if (answers(p, BAR_MSIX, PCI_MSIX_BAR_BYTES, address, length, ret_offset)) {
		return PCI_BAR_MSIX;
	}
	return PCI_BAR_NONE;
}

bool pci_may_speak(const struct pci_function *p)
{
	return p->config[PCI_COMMAND] & PCI_COMMAND_MASTER && power_state(p) == 0;
}

bool pci_relaxed(const struct pci_function *p)
{
	return get(p->config, CAP_EXP + PCI_EXP_DEVCTL, 2) & PCI_EXP_DEVCTL_RELAX_EN;
}

static uint32_t msix_flags(const struct pci_function *p)
{
	return get(p->config, CAP_MSIX + PCI_MSIX_FLAGS, 2);
}

bool pci_msix_enabled(const struct pci_function *p)
{
	return msix_flags(p) & PCI_MSIX_FLAGS_ENABLE;
}

bool pci_msix_masked(const struct pci_function *p)
{
	return msix_flags(p) & PCI_MSIX_FLAGS_MASKALL;
}
