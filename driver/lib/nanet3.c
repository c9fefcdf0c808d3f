/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libnanet3: open and close, words to the floors, buffers and puts, registers. libnanet3.h is the contract. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "driver/lib/nanet3_private.h"

#define INFO_LEAST _IOC(_IOC_READ | _IOC_WRITE, 'N', 0x00, NANET3_INFO_LEAST)

/* ------------------------------------------------------------------------ open and close */

static int queue_map(struct nanet3 *b)
{
	uint32_t size = b->info.queue_size;
	void *p;
	int r;

	if (size == 0 || size > (1u << 24) || (size & (size - 1)) != 0) {
		return -EPROTO;
	}
	b->queue_bytes = libnanet3_pages(NANET3_QUEUE_EVENTS + size * sizeof(struct nanet3_event));
	r = libnanet3_map(b, NANET3_MAP_QUEUE, b->queue_bytes, true, &p);
	if (r < 0) {
		return r;
	}
	b->queue = p;
	b->queue_read = __atomic_load_n(&b->queue->read, __ATOMIC_RELAXED);
	return 0;
}

/* An older driver knows the first version of the struct only. */
static int greet(struct nanet3 *b)
{
	const struct nanet3_info hello = {.version = NANET3_ABI_VERSION,
					  .version_min = NANET3_ABI_VERSION_MIN};
	int r;

	b->info = hello;
	r = libnanet3_request(b, NANET3_IOC_INFO, &b->info, sizeof(b->info));
	if (r == -ENOTTY || r == -EINVAL) {
		b->info = (struct nanet3_info){.version = NANET3_ABI_VERSION};
		r = libnanet3_request(b, INFO_LEAST, &b->info, NANET3_INFO_LEAST);
	}
	if (r == 0 &&
	    (b->info.version < NANET3_ABI_VERSION_MIN || b->info.version > NANET3_ABI_VERSION)) {
		r = -EPROTO;
	}
	return r;
}

static int open_board(const char *where, bool read_only, struct nanet3 **ret_board)
{
	struct nanet3 *b = calloc(1, sizeof(*b));
	int r;

	if (b == NULL) {
		return -ENOMEM;
	}
	r = libnanet3_transport_open(&b->transport, where, read_only);
	if (r < 0) {
		goto fail;
	}
	r = greet(b);
	if (r == 0) {
		b->info.name[sizeof(b->info.name) - 1] = '\0';
		r = read_only ? 0 : queue_map(b);
	}
	if (r < 0) {
		goto fail;
	}
	*ret_board = b;
	return 0;

fail:
	nanet3_close(b);
	return r;
}

int nanet3_open(const char *where, struct nanet3 **ret_board)
{
	return open_board(where, false, ret_board);
}

int nanet3_open_read_only(const char *where, struct nanet3 **ret_board)
{
	return open_board(where, true, ret_board);
}

void nanet3_close(struct nanet3 *b)
{
	if (b == NULL) {
		return;
	}
	libnanet3_links_unmap(b);
	if (b->queue != NULL) {
		munmap(b->queue, b->queue_bytes);
	}
	libnanet3_transport_close(&b->transport);
	free(b);
}

const struct nanet3_info *nanet3_info(const struct nanet3 *b)
{
	return &b->info;
}

/* ------------------------------------------------------------------------ buffers and puts */

int nanet3_register_buffer(struct nanet3 *b, void *address, size_t length, uint32_t *ret_buffer)
{
	struct nanet3_register arg = {.address = (uintptr_t)address, .length = length};
	int r = libnanet3_expose(b);

	if (r == 0) {
		r = libnanet3_request(b, NANET3_IOC_REGISTER, &arg, sizeof(arg));
	}
	if (r == 0) {
		*ret_buffer = arg.buffer;
	}
	return r;
}

int nanet3_unregister_buffer(struct nanet3 *b, uint32_t buffer)
{
	return libnanet3_request(b, NANET3_IOC_UNREGISTER, &buffer, sizeof(buffer));
}

int nanet3_put(struct nanet3 *b, const struct nanet3_put *put)
{
	struct nanet3_put arg = *put;

	return libnanet3_request(b, NANET3_IOC_PUT, &arg, sizeof(arg));
}

/* ------------------------------------------------------------------------ words and registers */

int nanet3_send(struct nanet3 *b, const struct nanet3_tx *tx)
{
	struct nanet3_tx arg = *tx;

	return libnanet3_request(b, NANET3_IOC_SEND, &arg, sizeof(arg));
}

int nanet3_reg_read(struct nanet3 *b, uint32_t offset, uint32_t *ret_values, unsigned count)
{
	struct nanet3_regs arg = {.offset = offset, .count = count};
	int r;

	if (count == 0 || count > NANET3_REGS_MAX) {
		return -EINVAL;
	}
	r = libnanet3_request(b, NANET3_IOC_REG_READ, &arg, sizeof(arg));
	if (r == 0) {
		memcpy(ret_values, arg.values, count * sizeof(*ret_values));
	}
	return r;
}

int nanet3_reg_write(struct nanet3 *b, uint32_t offset, uint32_t value)
{
	struct nanet3_regs arg = {.offset = offset, .count = 1, .values = {value}};

	return libnanet3_request(b, NANET3_IOC_REG_WRITE, &arg, sizeof(arg));
}

int nanet3_link_command(struct nanet3 *b, unsigned link, uint32_t command)
{
	struct nanet3_link_command arg = {.link = link, .command = command};

	return libnanet3_request(b, NANET3_IOC_LINK_CMD, &arg, sizeof(arg));
}

int nanet3_stats(struct nanet3 *b, struct nanet3_stats *ret_stats)
{
	struct nanet3_stats arg = {0};
	int r = libnanet3_request(b, NANET3_IOC_STATS, &arg, sizeof(arg));

	if (r == 0) {
		*ret_stats = arg;
	}
	return r;
}
