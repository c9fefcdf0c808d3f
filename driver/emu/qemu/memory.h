/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of the virtual machine, for the emulated board's DMA. QEMU keeps it in files that it shares with
 * this process, and sends an address map: which range of guest addresses is at which offset of which file.
 * The map changes some hundred times while the firmware runs, the files never. So each file is mapped into
 * this process once and stays mapped; a new address map changes the look-up only. A pointer that the board
 * still uses stays valid.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "driver/emu/qemu/proxy.h"

struct guest_file {
	dev_t device;
	ino_t inode;
	uint64_t bytes;
	uint8_t *p;
};

struct guest_region {
	uint64_t address, bytes; /* guest-physical */
	uint8_t *p;
};

/* All zero: no memory. */
struct guest_memory {
	struct guest_file files[PROXY_REGIONS];
	unsigned file_count;
	struct guest_region regions[PROXY_REGIONS]; /* by address */
	unsigned count;
};

/*
 * This is the map now: `fds` has a descriptor for each of `count` regions; they stay the caller's.
 * Neighbours in guest and file become one. Regions that make no sense (overflow, beyond their file, no
 * plain file, not page-aligned, not to be mapped) are left out; returns how many.
 */
unsigned guest_memory_set(struct guest_memory *m, const struct proxy_memory *offer, const int *fds,
			  unsigned count);
void guest_memory_clear(struct guest_memory *m);
/* NULL when the range is not wholly inside one region. Good until guest_memory_clear(). */
void *guest_memory_at(const struct guest_memory *m, uint64_t address, uint32_t length);
