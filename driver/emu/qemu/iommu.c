/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's IOMMU: see iommu.h. Tables and registers are those of Intel's "Virtualization Technology for Directed
 * I/O", chapters 9 and 10: root and context entries of 16 bytes in legacy mode, second-level tables of 512 entries.
 */
#include "driver/emu/qemu/iommu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BASE	   0xfed90000ull /* of QEMU's q35 */
#define REG_STATUS (BASE + 0x18) /* GCMD and, in the upper half, GSTS */
#define REG_ROOT   (BASE + 0x20) /* RTADDR */
#define STATUS_ON  (1ull << 63)	 /* GSTS.TES */

#define PAGE	  4096ull
#define WINDOW	  (1ull << 32)
#define ADDRESS	  0x000ffffffffff000ull /* bits of an entry */
#define PRESENT	  1u
#define READ	  1u
#define WRITE	  2u
#define LARGE	  0x80u
#define SHOWN_MAX 30000u /* well below the limit that the kernel has by default */
#define THROUGH	  2u	 /* type of a context entry: not translated */

int iommu_init(struct iommu *i, unsigned devfn)
{
	void *window =
		mmap(NULL, WINDOW, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	memset(i, 0, sizeof(*i));
	i->shown = calloc(WINDOW / PAGE, sizeof(*i->shown));
	i->window = window != MAP_FAILED ? window : NULL;
	if (i->window == NULL || i->shown == NULL) {
		iommu_fini(i);
		return -ENOMEM;
	}
	i->devfn = devfn;
	return 0;
}

void iommu_fini(struct iommu *i)
{
	if (i->window != NULL) {
		munmap(i->window, WINDOW);
	}
	free(i->shown);
	memset(i, 0, sizeof(*i));
}

/* ------------------------------------------------------------------------ registers */

uint64_t iommu_register(const struct iommu *i)
{
	return i->asked_status ? REG_ROOT : REG_STATUS;
}

void iommu_take(struct iommu *i, uint64_t value)
{
	if (i->asked_status) {
		i->root = value;
	} else {
		i->on = value & STATUS_ON;
	}
	i->asked_status = !i->asked_status;
}

/* ------------------------------------------------------------------------ tables */

/* Entry `n` of `size` bytes of a table, its first 8; 0 (not present) when it is not in the guest's memory. */
static uint64_t entry(const struct guest_memory *m, uint64_t table, uint64_t n, unsigned size)
{
	const uint64_t *p = guest_memory_at(m, (table & ADDRESS) + n * size, sizeof(*p));

	return p != NULL ? __atomic_load_n(p, __ATOMIC_ACQUIRE) : 0;
}

/* The guest-physical page of a page of the board's. */
static bool translate(const struct iommu *i, const struct guest_memory *m, uint64_t address,
		      bool write, uint64_t *ret_page)
{
	const uint64_t wanted = write ? WRITE : READ;
	const uint64_t root = entry(m, i->root, 0, 16);
	const uint64_t context = root & PRESENT ? entry(m, root, i->devfn, 16) : 0;
	const uint64_t *width = guest_memory_at(m, (root & ADDRESS) + i->devfn * 16ull + 8, 8);
	const unsigned levels = width != NULL ? (unsigned)(*width & 7) + 2 : 0;
	uint64_t table = context;

	if (!(context & PRESENT) || levels < 3 || levels > 5) {
		return false;
	}
	if ((context >> 2 & 3) == THROUGH) {
		*ret_page = address & ~(PAGE - 1);
		return true;
	}
	for (unsigned level = levels; level > 0; level--) {
		const unsigned shift = 12 + 9 * (level - 1);
		const uint64_t below = (1ull << shift) - 1;
		const uint64_t e = entry(m, table, address >> shift & 511, 8);

		if (!(e & wanted)) {
			return false;
		}
		if (level == 1 || (level <= 3 && e & LARGE)) {
			*ret_page = ((e & ADDRESS & ~below) | (address & below)) & ~(PAGE - 1);
			return true;
		}
		table = e;
	}
	return false;
}

/* ------------------------------------------------------------------------ the window */

/* Show a page of the guest in a page of the window. */
static bool show(struct iommu *i, const struct guest_memory *m, uint64_t page, uint64_t guest)
{
	uint8_t *const p = guest_memory_at(m, guest, PAGE);
	void *const at = i->window + page * PAGE;

	if (p != NULL && i->shown[page] == p) {
		return true;
	}
	/* With an old size of 0, a second mapping of the same shared page. */
	if (p == NULL || mremap(p, 0, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at) != at) {
		i->count -= i->shown[page] != NULL;
		i->shown[page] = NULL;
		return false;
	}
	i->count += i->shown[page] == NULL;
	i->shown[page] = p;
	return true;
}

/* The kernel limits the mappings of a process, and pages that lie anywhere need one each. */
void iommu_tidy(struct iommu *i)
{
	if (i->count > SHOWN_MAX &&
	    mmap(i->window, WINDOW, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == i->window) {
		memset(i->shown, 0, WINDOW / PAGE * sizeof(*i->shown));
		i->count = 0;
	}
}

void *iommu_at(struct iommu *i, const struct guest_memory *m, uint64_t address, uint32_t length,
	       bool write)
{
	uint64_t guest;

	if (!i->on) {
		return guest_memory_at(m, address, length);
	}
	if (length == 0 || address >= WINDOW || length > WINDOW - address) {
		return NULL;
	}
	for (uint64_t page = address / PAGE; page <= (address + length - 1) / PAGE; page++) {
		if (!translate(i, m, page * PAGE, write, &guest) || !show(i, m, page, guest)) {
			return NULL;
		}
	}
	return i->window + address;
}
