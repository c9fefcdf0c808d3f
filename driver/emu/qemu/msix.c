/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MSI-X: see msix.h. */
#include "driver/emu/qemu/msix.h"

#include <linux/pci_regs.h>
#include <string.h>

#include "driver/emu/qemu/pci.h"

#define TABLE_BYTES (NANET3_VECTORS * PCI_MSIX_ENTRY_SIZE)

_Static_assert(sizeof(struct msix_entry) == PCI_MSIX_ENTRY_SIZE, "an entry of the table");
_Static_assert(TABLE_BYTES <= PCI_MSIX_PENDING, "table and pending bits do not meet");

static void deliver(struct msix *m, unsigned vector)
{
	const struct msix_entry *e = &m->table[vector];
	const uint64_t address = (uint64_t)e->address_high << 32 | e->address_low;

	if (m->pending & 1u << vector && m->enabled && !m->held &&
	    !(e->control & PCI_MSIX_ENTRY_CTRL_MASKBIT) &&
	    m->send(m->context, vector, address, e->data)) {
		m->pending &= ~(1u << vector);
	}
}

void msix_retry(struct msix *m)
{
	for (unsigned i = 0; i < NANET3_VECTORS; i++) {
		deliver(m, i);
	}
}

void msix_raise(struct msix *m, unsigned vector)
{
	if (m->enabled && vector < NANET3_VECTORS) {
		m->pending |= 1u << vector;
		deliver(m, vector);
	}
}

void msix_configure(struct msix *m, bool enabled, bool held)
{
	m->enabled = enabled;
	m->held = held;
	if (!enabled) {
		m->pending = 0;
	}
	msix_retry(m);
}

void msix_reset(struct msix *m)
{
	memset(m->table, 0, sizeof(m->table));
	for (unsigned i = 0; i < NANET3_VECTORS; i++) {
		m->table[i].control = PCI_MSIX_ENTRY_CTRL_MASKBIT;
	}
	m->pending = 0;
	m->enabled = false;
	m->held = false;
}

/* ------------------------------------------------------------------------ BAR 2 */

uint32_t msix_read(const struct msix *m, uint32_t offset)
{
	if (offset < TABLE_BYTES) {
		return ((const uint32_t *)m->table)[offset / 4];
	}
	return offset == PCI_MSIX_PENDING ? m->pending : 0;
}

void msix_write(struct msix *m, uint32_t offset, uint32_t value)
{
	struct msix_entry *e = &m->table[offset / PCI_MSIX_ENTRY_SIZE % NANET3_VECTORS];

	if (offset >= TABLE_BYTES) {
		return;
	}
	switch (offset % PCI_MSIX_ENTRY_SIZE) {
	case PCI_MSIX_ENTRY_LOWER_ADDR:
		e->address_low = value & ~3u;
		break;
	case PCI_MSIX_ENTRY_UPPER_ADDR:
		e->address_high = value;
		break;
	case PCI_MSIX_ENTRY_DATA:
		e->data = value;
		break;
	default:
		e->control = value & PCI_MSIX_ENTRY_CTRL_MASKBIT;
		deliver(m, offset / PCI_MSIX_ENTRY_SIZE);
		break;
	}
}
