/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's memory, as the board reaches it. QEMU sends the whole address map whenever it
 * changes, some hundred times while the firmware runs, and at run time with every BAR that is switched;
 * the file behind it stays the same. So each file is mapped once, whole and for good, and the map only
 * says where in it an address lies: a pointer that the board still holds never dangles.
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
