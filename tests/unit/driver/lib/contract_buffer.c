/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contract: registered buffers and puts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/unit/driver/lib/contract_rig.h"

#define AREA (1u << 20)

static uint8_t *area(size_t bytes)
{
	uint8_t *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

static void fill(uint8_t *p, size_t bytes, uint64_t seed)
{
	uint64_t x = seed * 2 + 1;

	for (size_t i = 0; i < bytes; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		p[i] = (uint8_t)(x >> 56);
	}
}

static uint32_t registered(struct nanet3 *b, void *address, size_t length)
{
	uint32_t buffer = ~0u;

	assert_int_equal(nanet3_register_buffer(b, address, length, &buffer), 0);
	assert_true(buffer < NANET3_BUFFERS);
	return buffer;
}

static struct nanet3_event next_event(struct nanet3 *b)
{
	struct nanet3_event ev = {0};

	if (nanet3_next_event(b, &ev) == 0) {
		assert_int_equal(nanet3_wait(b, PATIENCE_MS), 1);
		assert_int_equal(nanet3_next_event(b, &ev), 1);
	}
	return ev;
}

/* The two events of a put, in whatever order. */
static void check_put_events(struct nanet3 *b, const struct nanet3_put *put, unsigned reason)
{
	bool left = false, arrived = false;

	for (unsigned i = 0; i < 2; i++) {
		struct nanet3_event ev = next_event(b);

		assert_true(ev.cookie == put->cookie);
		assert_int_equal(ev.reason, reason);
		assert_true(ev.time_ns > 0);
		left |= ev.type == NANET3_EVENT_TX;
		if (ev.type == NANET3_EVENT_PUT) {
			arrived = true;
			assert_int_equal(ev.value, put->destination);
			assert_true(ev.position == put->destination_offset);
			assert_int_equal(ev.length, put->length);
		}
	}
	assert_true(left && arrived);
}

/* ------------------------------------------------------------------------ register */

static void what_may_be_registered(void **state)
{
	struct nanet3 *b = open_board();
	uint8_t *p = area(4 * NANET3_PAGE), *read_only = area(NANET3_PAGE),
		*hole = area(3 * NANET3_PAGE);
	const struct {
		void *address;
		uint64_t length;
		int result;
	} rows[] = {
		{p, 1, 0},
		{p, 4 * NANET3_PAGE, 0},
		{p + 1, 4 * NANET3_PAGE - 1, 0},
		{p + 4095, 2, 0},
		{p + 4 * NANET3_PAGE - 1, 1, 0},
		{p, 0, -EINVAL},
		{p, NANET3_BUFFER_BYTES_MAX + 1, -EINVAL},
		{p, ~0ull, -EINVAL},
		{NULL, 1, -EFAULT},
		{(void *)16, NANET3_PAGE, -EFAULT},
		{(void *)(~0ull - 100), 50, -EFAULT},
		{(void *)(~0ull - 100), 200, -EFAULT},
		{read_only, 1, -EFAULT},
		{hole, 3 * NANET3_PAGE, -EFAULT},
		{hole + NANET3_PAGE - 1, 2, -EFAULT},
		{hole + NANET3_PAGE, 1, -EFAULT},
		{hole + 2 * NANET3_PAGE - 1, 2, -EFAULT},
		{hole, NANET3_PAGE, 0},
		{hole + 2 * NANET3_PAGE, NANET3_PAGE, 0},
	};

	assert_int_equal(mprotect(read_only, NANET3_PAGE, PROT_READ), 0);
	assert_int_equal(munmap(hole + NANET3_PAGE, NANET3_PAGE), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t buffer = 1000;
		int r = nanet3_register_buffer(b, rows[i].address, rows[i].length, &buffer);

		if (r != rows[i].result) {
			fail_msg("row %zu: %d", i, r);
		}
		assert_int_equal(buffer < NANET3_BUFFERS, r == 0);
		if (r == 0) {
			assert_int_equal(nanet3_unregister_buffer(b, buffer), 0);
		}
	}
	close_board(b);
	munmap(p, 4 * NANET3_PAGE);
	munmap(read_only, NANET3_PAGE);
	munmap(hole, NANET3_PAGE);
	munmap(hole + 2 * NANET3_PAGE, NANET3_PAGE);
}

static void only_ones_own_is_unregistered(void **state)
{
	struct nanet3 *a = open_board(), *b = open_board();
	uint8_t *p = area(AREA);
	uint32_t buffer = registered(a, p, AREA);

	assert_int_equal(nanet3_unregister_buffer(b, buffer), -ENOENT);
	assert_int_equal(nanet3_unregister_buffer(a, NANET3_BUFFERS), -ENOENT);
	assert_int_equal(nanet3_unregister_buffer(a, ~0u), -ENOENT);
	assert_int_equal(nanet3_unregister_buffer(a, buffer), 0);
	assert_int_equal(nanet3_unregister_buffer(a, buffer), -ENOENT);
	munmap(p, AREA);
}

/* As many as there are, and all of them free again when their owner is gone. */
static void buffers_end_with_their_owner(void **state)
{
	struct nanet3 *a = open_board(), *b = open_board();
	uint8_t *p = area(AREA);
	unsigned count[2] = {0};
	uint32_t buffer;
	int r = 0;

	for (unsigned i = 0; i < 2; i++) {
		for (; count[i] <= NANET3_BUFFERS; count[i]++) {
			/* Neighbours share a page; a DMA debugger counts no more than 7. */
			r = nanet3_register_buffer(i == 0 ? a : b, p + count[i] * 4000, 5000,
						   &buffer);
			if (r < 0) {
				break;
			}
		}
		assert_int_equal(r, -ENOSPC);
		close_board(i == 0 ? a : b);
	}
	assert_true(count[0] > 8);
	assert_int_equal(count[0], count[1]);
	munmap(p, AREA);
}

static int over_the_limit(struct nanet3 *b)
{
	struct rlimit limit = {16 * NANET3_PAGE, 16 * NANET3_PAGE};
	uint8_t *p = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t first, buffer;
	int failed = 0;

	if (p == MAP_FAILED || setrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
		return 1;
	}
	failed |= nanet3_register_buffer(b, p, 17 * NANET3_PAGE, &buffer) != -ENOMEM ? 2 : 0;
	/* An odd offset costs a page more. */
	failed |= nanet3_register_buffer(b, p + 1, 16 * NANET3_PAGE, &buffer) != -ENOMEM ? 4 : 0;
	failed |= nanet3_register_buffer(b, p, 10 * NANET3_PAGE, &first) != 0 ? 8 : 0;
	failed |= nanet3_register_buffer(b, p, 7 * NANET3_PAGE, &buffer) != -ENOMEM ? 16 : 0;
	failed |= nanet3_unregister_buffer(b, first) != 0 ? 32 : 0;
	failed |= nanet3_register_buffer(b, p, 16 * NANET3_PAGE, &buffer) != 0 ? 64 : 0;
	return failed;
}

static void locked_memory_is_limited(void **state)
{
	assert_int_equal(as_nobody(over_the_limit), 0);
}

/* ------------------------------------------------------------------------ content */

/* Bit for bit, and not a byte beside; offsets of buffers and inside of them. */
static void every_byte_arrives(void **state)
{
	struct nanet3 *b = open_board();
	uint8_t *from = area(AREA), *to = area(AREA);
	static const struct {
		uint32_t from, to; /* of the buffers in memory */
		uint64_t from_offset, to_offset, length;
	} rows[] = {
		{0, 0, 0, 0, 1},	  {0, 0, 0, 0, 4096},	    {1, 0, 0, 0, 4096},
		{0, 1, 0, 0, 4096},	  {4095, 4095, 1, 3, 4097}, {7, 4090, 100, 5000, 12345},
		{33, 1, 0, 0, 99999},	  {2048, 2047, 2049, 1, 8}, {0, 0, 65536, 131072, 300000},
		{4095, 1, 199990, 0, 10}, {8, 16, 0, 199000, 1000}, {5, 6, 123, 456, 199000},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t size = rows[i].length > 200000 ? 500000 : 200000;
		struct nanet3_put put = {
			.source_offset = rows[i].from_offset,
			.destination_offset = rows[i].to_offset,
			.length = rows[i].length,
			.cookie = 0xabcd000000000000u + i,
		};
		uint64_t begin = rows[i].to + rows[i].to_offset;

		fill(from, AREA, i);
		memset(to, 0xee, AREA);
		put.source = registered(b, from + rows[i].from, size);
		put.destination = registered(b, to + rows[i].to, size);
		assert_int_equal(nanet3_put(b, &put), 0);
		check_put_events(b, &put, 0);
		assert_memory_equal(to + begin, from + rows[i].from + rows[i].from_offset,
				    rows[i].length);
		for (uint64_t k = 0; k < AREA; k++) {
			if ((k < begin || k >= begin + rows[i].length) && to[k] != 0xee) {
				fail_msg("row %zu: byte %llu was touched", i,
					 (unsigned long long)k);
			}
		}
		assert_int_equal(nanet3_unregister_buffer(b, put.source), 0);
		assert_int_equal(nanet3_unregister_buffer(b, put.destination), 0);
	}
	close_board(b);
	munmap(from, AREA);
	munmap(to, AREA);
}

static void a_buffer_into_itself(void **state)
{
	struct nanet3 *b = open_board();
	uint8_t *p = area(AREA);
	struct nanet3_put put = {.destination_offset = 500000, .length = 400000, .cookie = 1};

	fill(p, 500000, 5);
	put.source = put.destination = registered(b, p + 3, AREA - 3);
	assert_int_equal(nanet3_put(b, &put), 0);
	check_put_events(b, &put, 0);
	assert_memory_equal(p + 3, p + 3 + 500000, 400000);
	close_board(b);
	munmap(p, AREA);
}

/* Runs of puts at random, held back and not, against a copy by the processor. */
static void many_puts(void **state)
{
	struct nanet3 *b = open_board();
	uint8_t *p[4], *mirror[4];
	uint32_t buffer[4];

	srand(11);
	for (unsigned i = 0; i < 4; i++) {
		p[i] = area(AREA);
		mirror[i] = area(AREA);
		fill(p[i], AREA, i);
		memcpy(mirror[i], p[i], AREA);
		buffer[i] = registered(b, p[i] + i, AREA - 4);
	}
	for (unsigned round = 0; round < 100; round++) {
		struct nanet3_put puts[8];
		unsigned n = 1 + (unsigned)rand() % 8;

		for (unsigned i = 0; i < n; i++) {
			unsigned from = (unsigned)rand() % 4,
				 to = (from + 1 + (unsigned)rand() % 3) % 4;
			struct nanet3_put *put = &puts[i];

			*put = (struct nanet3_put){.source = buffer[from],
						   .destination = buffer[to],
						   .cookie = round * 8 + i};
			put->length = 1 + (unsigned)rand() % (rand() % 4 ? 600 : 60000);
			put->source_offset = (unsigned)rand() % (AREA - 4 - put->length);
			put->destination_offset = (unsigned)rand() % (AREA - 4 - put->length);
			put->flags = i + 1 < n ? NANET3_PUT_MORE : 0;
			assert_int_equal(nanet3_put(b, put), 0);
			memcpy(mirror[to] + to + put->destination_offset,
			       mirror[from] + from + put->source_offset, put->length);
		}
		for (unsigned i = 0; i < n; i++) {
			check_put_events(b, &puts[i], 0);
		}
	}
	close_board(b);
	for (unsigned i = 0; i < 4; i++) {
		assert_memory_equal(p[i], mirror[i], AREA);
		munmap(p[i], AREA);
		munmap(mirror[i], AREA);
	}
}

/* ------------------------------------------------------------------------ refusals */

static void puts_are_checked(void **state)
{
	struct nanet3 *a = open_board(), *b = open_board();
	uint8_t *p = area(AREA);
	uint32_t mine = registered(a, p, 50000), other = registered(b, p, 50000);
	const struct {
		struct nanet3_put put;
		int result;
	} rows[] = {
		{{.source = mine, .destination = mine, .length = 50000}, 0},
		{{.source = mine, .destination = mine, .source_offset = 49999, .length = 1}, 0},
		{{.source = other, .destination = mine, .length = 1}, -ENOENT},
		{{.source = mine, .destination = other, .length = 1}, -ENOENT},
		{{.source = mine, .destination = other, .length = 1, .flags = NANET3_PUT_UNCHECKED},
		 -ENOENT},
		{{.source = NANET3_BUFFERS, .destination = mine, .length = 1}, -ENOENT},
		{{.source = mine, .destination = ~0u, .length = 1}, -ENOENT},
		{{.source = mine, .destination = mine, .length = 0}, -EINVAL},
		{{.source = mine, .destination = mine, .length = 50001}, -EINVAL},
		{{.source = mine, .destination = mine, .source_offset = 1, .length = 50000},
		 -EINVAL},
		{{.source = mine, .destination = mine, .destination_offset = 1, .length = 50000},
		 -EINVAL},
		{{.source = mine, .destination = mine, .source_offset = ~0ull, .length = 2},
		 -EINVAL},
		{{.source = mine, .destination = mine, .destination_offset = ~0ull, .length = 2},
		 -EINVAL},
		{{.source = mine, .destination = mine, .length = ~0ull}, -EINVAL},
		{{.source = mine, .destination = mine, .source_offset = 50000, .length = 1},
		 -EINVAL},
		{{.source = mine,
		  .destination = mine,
		  .source_offset = 50000,
		  .length = 1,
		  .flags = NANET3_PUT_UNCHECKED},
		 -EINVAL},
		{{.source = mine,
		  .destination = mine,
		  .destination_offset = ~0ull - 50, /* comes round to the start */
		  .length = 100,
		  .flags = NANET3_PUT_UNCHECKED},
		 -EINVAL},
		{{.source = mine, .destination = mine, .length = 1, .flags = 4}, -EINVAL},
		{{.source = mine, .destination = mine, .length = 1, .reserved = 1}, -EINVAL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int r = nanet3_put(a, &rows[i].put);

		if (r != rows[i].result) {
			fail_msg("row %zu: %d", i, r);
		}
		if (r == 0) {
			check_put_events(a, &rows[i].put, 0);
		}
	}
	assert_int_equal(nanet3_wait(a, 0), 0); /* what is refused has no events */
	assert_int_equal(nanet3_wait(b, 0), 0); /* and what is done has them at its sender's */
	close_board(a);
	close_board(b);
	munmap(p, AREA);
}

/* As many pages as puts may have of the ring fit, one more never does. */
static void put_that_never_fits(void **state)
{
	struct nanet3 *b = open_board();
	struct nanet3_put put = {.cookie = 5};
	uint32_t size;
	uint8_t *p;

	assert_int_equal(nanet3_reg_read(b, NANET3_REG_TX_SIZE, &size, 1), 0);
	if (size > 4096) {
		skip_because("the TX ring is large");
	}
	size -= NANET3_TX_WORDS;
	p = area((size + 2) * NANET3_PAGE);
	put.source = put.destination = registered(b, p, (size + 2) * NANET3_PAGE);
	put.length = (size + 1) * NANET3_PAGE;
	assert_int_equal(nanet3_put(b, &put), -E2BIG);
	put.length = size * NANET3_PAGE;
	put.source_offset = 1;
	assert_int_equal(nanet3_put(b, &put), -E2BIG);
	put.source_offset = 0;
	assert_int_equal(nanet3_put(b, &put), 0);
	check_put_events(b, &put, 0);
	close_board(b);
	munmap(p, (size + 2) * NANET3_PAGE);
}

/* ------------------------------------------------------------------------ doorbell */

static void more_holds_the_doorbell_back(void **state)
{
	struct nanet3 *b = open_board();
	uint8_t *p = area(AREA);
	struct nanet3_put put = {
		.destination_offset = 100000, .length = 100, .flags = NANET3_PUT_MORE};

	put.source = put.destination = registered(b, p, AREA);
	for (put.cookie = 0; put.cookie < 9; put.cookie++) {
		assert_int_equal(nanet3_put(b, &put), 0);
	}
	assert_int_equal(nanet3_wait(b, 30), 0);
	put.flags = 0;
	assert_int_equal(nanet3_put(b, &put), 0);
	for (put.cookie = 0; put.cookie < 10; put.cookie++) {
		check_put_events(b, &put, 0);
	}
	close_board(b);
	munmap(p, AREA);
}

/* A full ring says so, rings for what was held back, and takes puts again. */
static void full_ring_rings(void **state)
{
	struct nanet3 *b = open_board();
	uint8_t *p = area(AREA);
	struct nanet3_put put = {
		.destination_offset = 500000, .length = 300000, .flags = NANET3_PUT_MORE};
	unsigned posted = 0;
	int r;

	put.source = put.destination = registered(b, p, AREA);
	while ((r = nanet3_put(b, &put)) == 0) {
		put.cookie++;
		assert_true(++posted < 100000);
	}
	assert_int_equal(r, -EAGAIN);
	for (put.cookie = 0; put.cookie < posted; put.cookie++) {
		check_put_events(b, &put, 0);
	}
	assert_int_equal(nanet3_wait(b, 0), 0);
	put.flags = 0;
	assert_int_equal(nanet3_put(b, &put), 0);
	check_put_events(b, &put, 0);
	close_board(b);
	munmap(p, AREA);
}

/* What is held back when its buffer or its owner goes away harms nobody. */
static void held_back_and_gone(void **state)
{
	struct nanet3 *a = open_board(), *b = open_board();
	uint8_t *p = area(AREA), *q = area(AREA);
	struct nanet3_put put = {.length = 5000, .flags = NANET3_PUT_MORE};

	fill(p, AREA, 1);
	put.source = registered(a, p, AREA);
	put.destination = registered(a, q, AREA);
	assert_int_equal(nanet3_put(a, &put), 0);
	assert_int_equal(nanet3_unregister_buffer(a, put.destination), 0);
	put.destination = put.source;
	put.destination_offset = 500000;
	assert_int_equal(nanet3_put(a, &put), 0);
	close_board(a);
	memset(q, 0xee, AREA);
	put = (struct nanet3_put){.length = 100, .cookie = 3};
	put.source = put.destination = registered(b, q, AREA);
	put.destination_offset = 1000;
	assert_int_equal(nanet3_put(b, &put), 0);
	check_put_events(b, &put, 0);
	for (unsigned i = 0; i < AREA; i++) {
		assert_int_equal(q[i], 0xee);
	}
	close_board(b);
	munmap(p, AREA);
	munmap(q, AREA);
}

/* ------------------------------------------------------------------------ translation */

static uint32_t reg(struct nanet3 *b, uint32_t offset)
{
	uint32_t value;

	assert_int_equal(nanet3_reg_read(b, offset, &value, 1), 0);
	return value;
}

/* Outside of the destination's table: the board finds out, and says so in three ways. */
static void misses_are_told(void **state)
{
	struct nanet3 *b = open_board(), *watcher = open_board();
	uint8_t *p = area(AREA);
	static const struct {
		uint64_t offset, length;
	} rows[] = {{20000, 1}, {19999, 2}, {1ull << 40, 5000}, {~0ull - 5000, 5000}, {0, 20001}};

	assert_int_equal(nanet3_subscribe(watcher, 1u << NANET3_EVENT_ERROR), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nanet3_put put = {
			.destination_offset = rows[i].offset,
			.length = rows[i].length,
			.flags = NANET3_PUT_UNCHECKED,
			.cookie = i,
		};
		uint32_t misses = reg(b, NANET3_REG_TLB_MISSES);
		struct nanet3_event ev;

		put.source = registered(b, p, 300000);
		put.destination = registered(b, p + 400000, 20000);
		memset(p, 0x55, 300000);
		memset(p + 400000, 0xee, AREA - 400000);
		assert_int_equal(nanet3_put(b, &put), 0);
		check_put_events(b, &put, NANET3_TX_FAULT);
		assert_true(reg(b, NANET3_REG_TLB_MISSES) > misses);
		ev = next_event(watcher);
		assert_int_equal(ev.type, NANET3_EVENT_ERROR);
		assert_int_equal(ev.reason, NANET3_ERROR_DMA_FAULT);
		assert_int_equal(ev.value, NANET3_REG_BUFFER(put.destination, NANET3_BREG_TABLE));
		for (unsigned k = 420000; k < AREA; k++) {
			assert_int_equal(p[k], 0xee);
		}
		assert_int_equal(p[400000], rows[i].offset == 0 ? 0x55 : 0xee);
		assert_int_equal(nanet3_unregister_buffer(b, put.source), 0);
		assert_int_equal(nanet3_unregister_buffer(b, put.destination), 0);
	}
	close_board(b);
	close_board(watcher);
	munmap(p, AREA);
}

/* UNCHECKED is no more than that. */
static void unchecked_inside_is_fine(void **state)
{
	struct nanet3 *b = open_board();
	uint8_t *p = area(AREA);
	struct nanet3_put put = {.destination_offset = 500000,
				 .length = 300000,
				 .flags = NANET3_PUT_UNCHECKED,
				 .cookie = 1};
	uint32_t walks = reg(b, NANET3_REG_TLB_WALKS), hits = reg(b, NANET3_REG_TLB_HITS);

	fill(p, 400000, 9);
	put.source = put.destination = registered(b, p, AREA);
	assert_int_equal(nanet3_put(b, &put), 0);
	check_put_events(b, &put, 0);
	assert_memory_equal(p, p + 500000, 300000);
	assert_true(reg(b, NANET3_REG_TLB_WALKS) > walks);
	put.length = 8;
	put.destination_offset += 299000;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(nanet3_put(b, &put), 0);
		check_put_events(b, &put, 0);
	}
	assert_true(reg(b, NANET3_REG_TLB_HITS) > hits);
	close_board(b);
	munmap(p, AREA);
}

const struct CMUnitTest contract_buffer[] = {
	CONTRACT_TEST(what_may_be_registered),
	CONTRACT_TEST(only_ones_own_is_unregistered),
	CONTRACT_TEST(buffers_end_with_their_owner),
	CONTRACT_TEST(locked_memory_is_limited),
	CONTRACT_TEST(every_byte_arrives),
	CONTRACT_TEST(a_buffer_into_itself),
	CONTRACT_TEST(many_puts),
	CONTRACT_TEST(puts_are_checked),
	CONTRACT_TEST(put_that_never_fits),
	CONTRACT_TEST(more_holds_the_doorbell_back),
	CONTRACT_TEST(full_ring_rings),
	CONTRACT_TEST(held_back_and_gone),
	CONTRACT_TEST(misses_are_told),
	CONTRACT_TEST(unchecked_inside_is_fine),
	{NULL},
};
