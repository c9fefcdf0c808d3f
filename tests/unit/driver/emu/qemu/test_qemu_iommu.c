/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's IOMMU: tables as a kernel keeps them, in memory that the test shares as QEMU does. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "driver/emu/qemu/iommu.h"

#define RAM	(16u << 20)
#define PAGE	4096u
#define DEVFN	0xf0u
#define ROOT	0x1000u
#define CONTEXT 0x2000u
#define TOP	0x3000u /* of four levels */
#define ON	(1ull << 63)

struct rig {
	struct guest_memory memory;
	struct iommu iommu;
	uint8_t *ram;
	int file;
	uint64_t next; /* page for a table */
};

static void set(struct rig *r, uint64_t at, uint64_t value)
{
	memcpy(r->ram + at, &value, sizeof(value));
}

static uint64_t get(const struct rig *r, uint64_t at)
{
	uint64_t value;

	memcpy(&value, r->ram + at, sizeof(value));
	return value;
}

/* Map a page of the board's to one of the guest's, with these rights; `level` 2: a page of 2 MiB. */
static void map(struct rig *r, uint64_t address, uint64_t page, unsigned rights, unsigned level)
{
	uint64_t table = TOP;

	for (unsigned l = 4; l > level; l--) {
		const uint64_t at = table + (address >> (12 + 9 * (l - 1)) & 511) * 8;

		if (get(r, at) == 0) {
			set(r, at, r->next | 3);
			r->next += PAGE;
		}
		table = get(r, at) & ~0xfffull;
	}
	set(r, table + (address >> (12 + 9 * (level - 1)) & 511) * 8,
	    page | rights | (level > 1 ? 0x80 : 0));
}

/* What a kernel's registers say, as they are asked for in turn. */
static void tell(struct rig *r, bool on, uint64_t root)
{
	for (unsigned i = 0; i < 2; i++) {
		iommu_take(&r->iommu,
			   iommu_register(&r->iommu) == 0xfed90018 ? (on ? ON : 0) : root);
	}
}

static int set_up(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	const struct proxy_memory offer = {.bytes = {RAM}};

	*state = r;
	r->file = memfd_create("guest", 0);
	assert_int_equal(ftruncate(r->file, RAM), 0);
	r->ram = mmap(NULL, RAM, PROT_READ | PROT_WRITE, MAP_SHARED, r->file, 0);
	assert_ptr_not_equal(r->ram, MAP_FAILED);
	assert_int_equal(guest_memory_set(&r->memory, &offer, &r->file, 1), 0);
	assert_int_equal(iommu_init(&r->iommu, DEVFN), 0);
	r->next = 0x4000;
	set(r, ROOT, CONTEXT | 1);
	set(r, CONTEXT + DEVFN * 16, TOP | 1);
	set(r, CONTEXT + DEVFN * 16 + 8, 2); /* four levels */
	tell(r, true, ROOT);
	return 0;
}

static int tear_down(void **state)
{
	struct rig *r = *state;

	iommu_fini(&r->iommu);
	guest_memory_clear(&r->memory);
	munmap(r->ram, RAM);
	close(r->file);
	free(r);
	return 0;
}

static uint8_t *at(struct rig *r, uint64_t address, uint32_t length, bool write)
{
	return iommu_at(&r->iommu, &r->memory, address, length, write);
}

/* Pages that lie anywhere are one range for the board. */
static void scattered_pages(void **state)
{
	static const uint32_t pages[] = {0x900000, 0x300000, 0x301000, 0x123000};
	const uint64_t base = 0xffe00000;
	struct rig *r = *state;
	uint8_t *p;

	for (unsigned i = 0; i < 4; i++) {
		map(r, base + i * PAGE, pages[i], 3, 1);
	}
	p = at(r, base + 100, 4 * PAGE - 100, true);
	assert_non_null(p);
	for (uint32_t k = 100; k < 4 * PAGE; k++) {
		p[k - 100] = (uint8_t)(k * 31);
	}
	for (uint32_t k = 100; k < 4 * PAGE; k++) {
		assert_int_equal(r->ram[pages[k / PAGE] + k % PAGE], (uint8_t)(k * 31));
	}
	assert_null(at(r, base, 4 * PAGE + 1, true)); /* the next page is not mapped */
	assert_null(at(r, base - 1, 2, true));
	assert_null(at(r, base, 0, true));
}

/* No translation is kept: each access sees the tables as they are. */
static void taken_back(void **state)
{
	struct rig *r = *state;

	map(r, 0x5000, 0x700000, 3, 1);
	r->ram[0x700008] = 1;
	assert_int_equal(*at(r, 0x5008, 1, false), 1);
	map(r, 0x5000, 0, 0, 1);
	assert_null(at(r, 0x5008, 1, false));
	map(r, 0x5000, 0x710000, 3, 1);
	r->ram[0x710008] = 2;
	assert_int_equal(*at(r, 0x5008, 1, false), 2);
}

/* What has been shown long ago is shown again when it is wanted again. */
static void tidied_up(void **state)
{
	struct rig *r = *state;

	map(r, 0x5000, 0x700000, 3, 1);
	r->ram[0x700000] = 9;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(*at(r, 0x5000, 1, false), 9);
		r->iommu.count = i == 1 ? 1000000 : r->iommu.count;
		iommu_tidy(&r->iommu);
		assert_int_equal(r->iommu.count, i == 1 ? 0 : 1);
	}
}

static void rights(void **state)
{
	struct rig *r = *state;

	map(r, 0x5000, 0x700000, 1, 1);
	map(r, 0x6000, 0x701000, 2, 1);
	assert_non_null(at(r, 0x5000, 8, false));
	assert_null(at(r, 0x5000, 8, true));
	assert_null(at(r, 0x6000, 8, false));
	assert_non_null(at(r, 0x6000, 8, true));
}

static void large_pages(void **state)
{
	struct rig *r = *state;

	map(r, 0x40000000, 0x800000, 3, 2);
	r->ram[0x912345] = 77;
	assert_int_equal(*at(r, 0x40112345, 1, false), 77);
}

/* Before the kernel switches it on, and for a function that it does not translate, addresses are the guest's. */
static void not_translated(void **state)
{
	struct rig *r = *state;

	r->ram[0x5000] = 5;
	assert_null(at(r, 0x5000, 1, false));
	tell(r, false, ROOT);
	assert_int_equal(*at(r, 0x5000, 1, false), 5);
	tell(r, true, ROOT);
	set(r, CONTEXT + DEVFN * 16, 2 << 2 | 1);
	assert_int_equal(*at(r, 0x5000, 1, false), 5);
	assert_null(at(r, RAM, 1, false));
}

/* Tables of no sense are no memory: absent ones, ones outside of the guest, addresses beyond the window. */
static void senseless_tables(void **state)
{
	struct rig *r = *state;

	map(r, 0x5000, 0x700000, 3, 1);
	assert_null(at(r, 1ull << 32, 1, false));
	assert_null(at(r, (1ull << 32) - 1, 2, false));
	map(r, 0x6000, RAM, 3, 1);
	assert_null(at(r, 0x6000, 1, false));
	for (unsigned width = 0; width < 8; width++) { /* 3 to 5 levels; these tables have 4 */
		set(r, CONTEXT + DEVFN * 16 + 8, width);
		assert_int_equal(at(r, 0x5000, 1, false) != NULL, width == 2);
	}
	set(r, CONTEXT + DEVFN * 16 + 8, 2);
	set(r, CONTEXT + DEVFN * 16, 0);
	assert_null(at(r, 0x5000, 1, false));
	set(r, CONTEXT + DEVFN * 16, 0x7ffffff000 | 1);
	assert_null(at(r, 0x5000, 1, false));
	set(r, ROOT, 0);
	assert_null(at(r, 0x5000, 1, false));
	tell(r, true, 0x7ffffff000);
	assert_null(at(r, 0x5000, 1, false));
}

/* A page of the guest beyond 16 TiB, or with number 2^32 - 1, is not taken for another one, or for none. */
static void far_pages(void **state)
{
	static const uint64_t pages[] = {0x700000 | 1ull << 44, 0xffffffffull << 12};
	struct rig *r = *state;

	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		map(r, 0x5000, 0x700000, 3, 1);
		assert_non_null(at(r, 0x5000, 8, true));
		map(r, 0x5000, pages[i], 3, 1);
		assert_null(at(r, 0x5000, 8, true));
	}
}

/* QEMU moves the page within its file, then removes it from memory. */
static void memory_that_moves(void **state)
{
	struct rig *r = *state;
	const struct proxy_memory moved = {
		.address = {0, 0x700000}, .bytes = {0x700000, PAGE}, .offset = {0, 0x900000}};
	const struct proxy_memory less = {.address = {0}, .bytes = {0x700000}};

	map(r, 0x5000, 0x700000, 3, 1);
	assert_non_null(at(r, 0x5000, 8, true));
	assert_int_equal(guest_memory_set(&r->memory, &moved, (int[]){r->file, r->file}, 2), 0);
	*at(r, 0x5000, 8, true) = 77;
	assert_int_equal(r->ram[0x700000], 0);
	assert_int_equal(r->ram[0x900000], 77);
	assert_int_equal(guest_memory_set(&r->memory, &less, &r->file, 1), 0);
	assert_null(at(r, 0x5000, 8, true));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(scattered_pages),  T(taken_back),  T(rights),
		T(tidied_up),	     T(large_pages), T(not_translated),
		T(senseless_tables), T(far_pages),   T(memory_that_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
