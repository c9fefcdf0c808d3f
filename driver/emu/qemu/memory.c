/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's memory: see memory.h. */
#include "driver/emu/qemu/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file behind a descriptor, mapped; NULL when it is none that can be. */
static const struct guest_file *file_of(struct guest_memory *m, int fd)
{
	struct guest_file *f;
	struct stat st;
	void *p;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0) {
		return NULL;
	}
	for (unsigned i = 0; i < m->file_count; i++) {
		if (m->files[i].device == st.st_dev && m->files[i].inode == st.st_ino) {
			return &m->files[i];
		}
	}
	if (m->file_count == PROXY_REGIONS) {
		return NULL;
	}
	p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		return NULL;
	}
	f = &m->files[m->file_count++];
	*f = (struct guest_file){st.st_dev, st.st_ino, (uint64_t)st.st_size, p};
	return f;
}

static bool region_of(struct guest_memory *m, uint64_t address, uint64_t bytes, int64_t offset,
		      int fd, struct guest_region *ret_region)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	const struct guest_file *f = file_of(m, fd);
	uint64_t end;

	if (f == NULL || bytes == 0 || offset < 0 || (address | bytes | (uint64_t)offset) & page ||
	    __builtin_add_overflow(address, bytes, &end) ||
	    __builtin_add_overflow((uint64_t)offset, bytes, &end) || end > f->bytes) {
		return false;
	}
	*ret_region = (struct guest_region){address, bytes, f->p + offset};
	return true;
}

/* Put it at its place by address. */
static void insert(struct guest_memory *m, const struct guest_region *r)
{
	unsigned at = m->count++;

	for (; at > 0 && m->regions[at - 1].address > r->address; at--) {
		m->regions[at] = m->regions[at - 1];
	}
	m->regions[at] = *r;
}

static void join_neighbours(struct guest_memory *m)
{
	unsigned last = 0;

	for (unsigned i = 1; i < m->count; i++) {
		struct guest_region *a = &m->regions[last], *b = &m->regions[i];

		if (a->address + a->bytes == b->address && a->p + a->bytes == b->p) {
			a->bytes += b->bytes;
		} else {
			m->regions[++last] = *b;
		}
	}
	m->count = m->count == 0 ? 0 : last + 1;
}

unsigned guest_memory_set(struct guest_memory *m, const struct proxy_memory *offer, const int *fds,
			  unsigned count)
{
	unsigned left_out = 0;

	m->count = 0;
	for (unsigned i = 0; i < count && i < PROXY_REGIONS; i++) {
		struct guest_region r;

		if (region_of(m, offer->address[i], offer->bytes[i], offer->offset[i], fds[i],
			      &r)) {
			insert(m, &r);
		} else {
			left_out++;
		}
	}
	join_neighbours(m);
	return left_out;
}

void guest_memory_clear(struct guest_memory *m)
{
	for (unsigned i = 0; i < m->file_count; i++) {
		munmap(m->files[i].p, m->files[i].bytes);
	}
	m->file_count = 0;
	m->count = 0;
}

void *guest_memory_at(const struct guest_memory *m, uint64_t address, uint32_t length)
{
	for (unsigned i = 0; i < m->count; i++) {
		const struct guest_region *r = &m->regions[i];

		if (address >= r->address && address - r->address < r->bytes &&
		    length <= r->bytes - (address - r->address)) {
			return r->p + (address - r->address);
		}
	}
	return NULL;
}
