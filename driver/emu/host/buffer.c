/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registered buffers of the user-space host. The memory stays in the client's process: nothing is
 * mapped or pinned here, a packet is copied with process_vm_readv(2) and process_vm_writev(2). For the
 * board it has bus addresses and a list of pages, so address translation works as with the kernel driver.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "driver/emu/host/private.h"

/* ------------------------------------------------------------------------ what may be registered */

/* Whether every byte of [from, to) may be written by the process: mappings come in order of address. */
static bool writable(int32_t pid, uint64_t from, uint64_t to)
{
	char path[64], line[512], write;
	uint64_t begin, end;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%" PRId32 "/maps", pid);
	maps = fopen(path, "re");
	if (maps == NULL) {
		return false;
	}
	while (from < to && fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%c", &begin, &end, &write) == 3 &&
		    from >= begin && from < end && write == 'w') {
			from = end;
		}
	}
	fclose(maps);
	return from >= to;
}

/* Whether we may reach into the process at all (ptrace(2), Yama). */
static bool reachable(int32_t pid, uint64_t address)
{
	uint8_t byte;
	struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)address, 1};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == 1;
}

/* As the kernel driver would hold the process to it; root has no limit. */
static bool within_limit(struct host *h, const struct client *c, uint64_t pages)
{
	uint64_t limit;

	/* Not by prlimit(2), which would need more rights than reading the file. "unlimited" is no number. */
	if (c->uid == 0 || !client_proc(c, "limits", "Max locked memory %" SCNu64, &limit)) {
		return true;
	}
	for (unsigned i = 0; i < NANET3_BUFFERS; i++) {
		const struct host_buffer *u = &h->buffers[i];

		pages += u->client != NULL && u->client->pid == c->pid ? u->pages : 0;
	}
	return pages <= limit / NANET3_PAGE;
}

/* One more buffer for the client, or NULL. */
static struct host_buffer *free_buffer(struct host *h, const struct client *c)
{
	struct host_buffer *first = NULL;
	unsigned used = 0, own = 0;

	for (unsigned i = NANET3_BUFFERS; i-- > 0;) {
		used += h->buffers[i].client != NULL;
		own += h->buffers[i].client == c;
		first = h->buffers[i].client == NULL ? &h->buffers[i] : first;
	}
	if (own >= NANET3_HANDLE_BUFFERS ||
	    (used >= NANET3_OTHERS_BUFFERS && links_of(h, c, true) == 0)) {
		return NULL;
	}
	return first;
}

/* ------------------------------------------------------------------------ register, unregister */

static void program(struct host *h, unsigned n)
{
	const struct host_buffer *u = &h->buffers[n];

	host_write_pair(h, NANET3_REG_BUFFER(n, NANET3_BREG_TABLE),
			HOST_BUS(REGION_BUFFER_TABLE + n));
	host_write_pair(h, NANET3_REG_BUFFER(n, NANET3_BREG_LENGTH), u->length);
	board_reg_write(h->board, NANET3_REG_BUFFER(n, NANET3_BREG_OFFSET),
			(uint32_t)(u->address % NANET3_PAGE));
	board_reg_write(h->board, NANET3_REG_BUFFER(n, NANET3_BREG_CONTROL), NANET3_BUFFER_VALID);
}

int buffer_register(struct host *h, struct client *c, void *arg)
{
	struct nanet3_register *r = arg;
	struct host_buffer *u = free_buffer(h, c);
	uint64_t pages;
	unsigned n;

	if (r->length == 0 || r->length > NANET3_BUFFER_BYTES_MAX || r->reserved != 0) {
		return -EINVAL;
	}
	if (r->address > UINT64_MAX - r->length ||
	    !writable(c->pid, r->address, r->address + r->length) ||
	    !reachable(c->pid, r->address)) {
		return -EFAULT;
	}
	pages = (r->address % NANET3_PAGE + r->length + NANET3_PAGE - 1) / NANET3_PAGE;
	if (!within_limit(h, c, pages)) {
		return -ENOMEM;
	}
	if (u == NULL) {
		return -ENOSPC;
	}
	u->table = calloc(pages, sizeof(*u->table));
	if (u->table == NULL) {
		return -ENOMEM;
	}
	n = (unsigned)(u - h->buffers);
	for (uint64_t i = 0; i < pages; i++) {
		u->table[i] = HOST_BUS(REGION_BUFFER + n) + i * NANET3_PAGE;
	}
	u->client = c;
	u->address = r->address;
	u->length = r->length;
	u->pages = (uint32_t)pages;
	h->regions[REGION_BUFFER_TABLE + n] =
		(struct region){(uint8_t *)u->table, pages * sizeof(*u->table)};
	program(h, n);
	r->buffer = n;
	return 0;
}

static void let_go(struct host *h, unsigned n)
{
	host_tx_forget(h, n);
	board_reg_write(h->board, NANET3_REG_BUFFER(n, NANET3_BREG_CONTROL), 0);
	h->regions[REGION_BUFFER_TABLE + n] = (struct region){0};
	free(h->buffers[n].table);
	h->buffers[n] = (struct host_buffer){0};
}

int buffer_unregister(struct host *h, struct client *c, void *arg)
{
	uint32_t buffer = *(const uint32_t *)arg;

	if (buffer_of(h, c, buffer) == NULL) {
		return -ENOENT;
	}
	let_go(h, buffer);
	return 0;
}

void buffers_drop(struct host *h, const struct client *c)
{
	for (unsigned i = 0; i < NANET3_BUFFERS; i++) {
		if (h->buffers[i].client == c) {
			let_go(h, i);
		}
	}
}

/* ------------------------------------------------------------------------ the board's way there */

static bool find(struct host *h, uint64_t bus, uint32_t length, int32_t *ret_pid,
		 struct iovec *ret_there)
{
	uint64_t n = (bus >> 36) - REGION_BUFFER, offset = bus & ((1ull << 36) - 1);
	const struct host_buffer *u;
	uint64_t skipped;

	if (bus >> 36 < REGION_BUFFER || n >= NANET3_BUFFERS || h->buffers[n].client == NULL) {
		return false;
	}
	u = &h->buffers[n];
	skipped = u->address % NANET3_PAGE;
	if (offset < skipped || offset - skipped > u->length ||
	    length > u->length - (offset - skipped)) {
		return false;
	}
	*ret_pid = u->client->pid;
	*ret_there = (struct iovec){(void *)(uintptr_t)(u->address + (offset - skipped)), length};
	return true;
}

bool host_copy(void *context, uint64_t to, uint64_t from, uint32_t length)
{
	struct host *h = context;
	uint8_t packet[NANET3_PAGE];
	struct iovec here = {packet, length}, source, target;
	int32_t source_pid, target_pid;

	return length <= sizeof(packet) && find(h, from, length, &source_pid, &source) &&
	       find(h, to, length, &target_pid, &target) &&
	       process_vm_readv(source_pid, &here, 1, &source, 1, 0) == (ssize_t)length &&
	       process_vm_writev(target_pid, &here, 1, &target, 1, 0) == (ssize_t)length;
}
