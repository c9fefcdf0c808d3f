/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's IOMMU (Intel VT-d, as QEMU's intel-iommu): the addresses that the board uses are those of page
 * tables that the guest's kernel keeps in its memory. QEMU would walk them for a device of its own; for ours we do.
 *
 *   board's address --root, context, tables in the guest's memory--> guest-physical --guest_memory--> here
 *
 * No translation is kept: what the kernel has unmapped is gone at once. Whether the IOMMU is on, and where its tables
 * are, is read now and then. What is contiguous for the board may be anywhere in the guest: a window of 4 GiB of this
 * process shows pages where the board sees them. Linux gives a PCI function addresses below 4 GiB while there are
 * any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/emu/qemu/memory.h"

/* All zero: the guest has none. */
struct iommu {
	unsigned devfn;	   /* the board's, on bus 0; 0: no IOMMU */
	bool on;	   /* the kernel has switched it on */
	bool asked_status; /* the status was read last: the root is next */
	uint64_t root;	   /* RTADDR */
	uint8_t *window;
	uint8_t **shown; /* page of the window -> what it shows; NULL: nothing */
	unsigned count;	 /* of them */
};

/* 0, or -ENOMEM. */
int iommu_init(struct iommu *i, unsigned devfn);
void iommu_fini(struct iommu *i);

/* The address of a register of the IOMMU, 64 bits, that has to be read next; its value is for iommu_take(). */
uint64_t iommu_register(const struct iommu *i);
void iommu_take(struct iommu *i, uint64_t value);

/* As guest_memory_at(), for the board's addresses. Good until iommu_tidy(). */
void *iommu_at(struct iommu *i, const struct guest_memory *m, uint64_t address, uint32_t length,
	       bool write);
/* To be called now and then, when no pointer is in use: forgets what is shown when it has become too much. */
void iommu_tidy(struct iommu *i);
