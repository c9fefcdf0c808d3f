// SPDX-License-Identifier: GPL-2.0-or-later
/* Chunks in byte planes, and their compression: what zlib's own inflate and the planes' inverse give back. */
#include <isa-l/igzip_lib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/convert/hdf5/column.h"
#include "daemon/convert/hdf5/pack.h"

#define ITEMS 1000u
#define ROOM  (1u << 16)

static uint64_t seed = 88172645463325252ull;

static uint64_t number(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Item i of the planes, as HDF5's unshuffle makes it. */
static void item_of(const uint8_t *planes, unsigned width, unsigned i, uint8_t *item)
{
	for (unsigned k = 0; k < width; k++) {
		item[k] = planes[k * ITEMS + i];
	}
}

static void items_come_back(void **state)
{
	static const unsigned widths[] = {1, 2, 4, 8, 42, 87};
	static uint8_t rows[ITEMS * 128];
	uint8_t item[128];

	for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
		const unsigned stride = w % 2 ? 128 : widths[w];
		struct column c = {
			.width = widths[w], .chunk_items = ITEMS, .planes = malloc(ITEMS * 128)};

		for (unsigned i = 0; i < sizeof(rows); i++) {
			rows[i] = (uint8_t)number();
		}
		assert_int_equal(column_put(&c, rows, stride, 300), 300);
		assert_false(column_full(&c));
		assert_int_equal(column_put(&c, rows + 300 * stride, stride, ITEMS), 700);
		assert_true(column_full(&c));
		for (unsigned i = 0; i < ITEMS; i++) {
			item_of(c.planes, c.width, i, item);
			assert_memory_equal(item, rows + i * stride, c.width);
		}
		free(c.planes);
	}
}

static void samples_of_one_or_two_bytes(void **state)
{
	static const uint8_t bytes[] = {1, 2, 255}, words[] = {0x34, 0x12, 0xff, 0xff};
	static const uint16_t wanted[] = {1, 2, 255, 0x1234, 0xffff};
	uint8_t planes[2 * 8], item[2];
	struct column c = {.width = 2, .chunk_items = 8, .planes = planes};

	memset(planes, 0xaa, sizeof(planes));
	assert_int_equal(column_put_samples(&c, bytes, true, 3), 3);
	assert_int_equal(column_put_samples(&c, words, false, 2), 2);
	for (unsigned i = 0; i < 5; i++) {
		item[0] = planes[i];
		item[1] = planes[8 + i];
		assert_memory_equal(item, &wanted[i], 2);
	}
	assert_int_equal(column_put_samples(&c, bytes, true, 3), 3);
	assert_int_equal(column_put_samples(&c, bytes, true, 3), 0);
}

static void the_rest_of_a_copy_is_0(void **state)
{
	uint8_t planes[2 * 4], copy[2 * 4];
	static const uint8_t wanted[] = {1, 3, 0, 0, 2, 4, 0, 0};
	struct column c = {.width = 2, .chunk_items = 4, .planes = planes};

	memset(planes, 0xaa, sizeof(planes));
	column_put(&c, (uint8_t[]){1, 2, 3, 4}, 2, 2);
	column_copy(&c, copy);
	assert_memory_equal(copy, wanted, sizeof(copy));
}

/* ---- pack */

static void inflate(const uint8_t *in, size_t n, const uint8_t *wanted, size_t bytes)
{
	static uint8_t out[ROOM];
	struct inflate_state z;

	isal_inflate_init(&z);
	z.next_in = (uint8_t *)(uintptr_t)in;
	z.avail_in = (uint32_t)n;
	z.next_out = out;
	z.avail_out = sizeof(out);
	z.crc_flag = ISAL_ZLIB;
	assert_int_equal(isal_inflate(&z), ISAL_DECOMP_OK);
	assert_int_equal(z.total_out, bytes);
	assert_memory_equal(out, wanted, bytes);
}

static void fill(uint8_t *bytes, size_t n, unsigned kind)
{
	for (size_t i = 0; i < n; i++) {
		bytes[i] = kind == 0 ? 0 : kind == 1 ? (uint8_t)(number() % 8) : (uint8_t)number();
	}
}

static void chunks_come_in_the_order_given(void **state)
{
	struct pack *p;
	struct pack_job *job;
	static uint8_t copies[20][ROOM];
	unsigned given = 0, taken = 0;

	assert_int_equal(pack_create(3, 5, ROOM, &p), 0);
	assert_null(pack_take(p));
	while (taken < 20) {
		job = given < 20 ? pack_get(p) : NULL;
		if (job) {
			fill(copies[given], ROOM, given % 3);
			memcpy(job->in, copies[given], ROOM);
			job->in_bytes = ROOM;
			job->number = given++;
			pack_give(p, job);
			continue;
		}
		job = pack_take(p);
		assert_non_null(job);
		assert_int_equal(job->number, taken);
		if (taken % 3 == 2) { /* noise: it stays as it is */
			assert_int_equal(job->out_bytes, 0);
			assert_memory_equal(job->in, copies[taken], ROOM);
		} else {
			assert_in_range(job->out_bytes, 1, ROOM - 1);
			inflate(job->out, job->out_bytes, copies[taken], ROOM);
		}
		taken++;
		pack_put(p, job);
	}
	assert_null(pack_take_done(p));
	pack_destroy(p);
}

static void what_is_under_way_may_be_dropped(void **state)
{
	struct pack *p;
	struct pack_job *job;

	assert_int_equal(pack_create(1, 4, ROOM, &p), 0);
	while ((job = pack_get(p))) {
		fill(job->in, ROOM, 1);
		job->in_bytes = ROOM;
		pack_give(p, job);
	}
	pack_destroy(p);
	pack_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_come_back),
		cmocka_unit_test(samples_of_one_or_two_bytes),
		cmocka_unit_test(the_rest_of_a_copy_is_0),
		cmocka_unit_test(chunks_come_in_the_order_given),
		cmocka_unit_test(what_is_under_way_may_be_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
