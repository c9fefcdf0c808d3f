/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TriDAS hits: the test vector, each field's bits alone, legal ranges, and the calendar.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tdm/hit.h"
#include "tests/system/stamped_hit.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const uint8_t vector_bytes[HIT_HEADER_BYTES] = {0x73, 0x02, 0xaa, 0x55, 0x39, 0x30,
						       0xd7, 0x11, 0x1e, 0x96, 0x5c, 0x15,
						       0x18, 0xdc, 0x05, 0x80};
static const struct hit vector = {
	.tower = 1,
	.efcm = 7,
	.pmt = 3,
	.t5ns = 12345,
	.frame = 4567,
	.second = 45296,
	.day_bcd = 0x172,
	.year_bcd = 0x15,
	.samples = 24,
	.charge = 1500,
	.zip = true,
};

static void assert_hit_equal(const struct hit *a, const struct hit *b)
{
	assert_int_equal(a->pmt, b->pmt);
	assert_int_equal(a->efcm, b->efcm);
	assert_int_equal(a->tower, b->tower);
	assert_int_equal(a->t5ns, b->t5ns);
	assert_int_equal(a->frame, b->frame);
	assert_int_equal(a->second, b->second);
	assert_int_equal(a->day_bcd, b->day_bcd);
	assert_int_equal(a->year_bcd, b->year_bcd);
	assert_int_equal(a->samples, b->samples);
	assert_int_equal(a->fifo_full, b->fifo_full);
	assert_int_equal(a->charge, b->charge);
	assert_int_equal(a->fragment, b->fragment);
	assert_int_equal(a->zip, b->zip);
}

static void test_vector(void **state)
{
	uint8_t bytes[HIT_HEADER_BYTES];
	struct hit h;

	hit_pack(&vector, bytes);
	assert_memory_equal(bytes, vector_bytes, sizeof(bytes));
	memset(&h, 0xff, sizeof(h));
	hit_unpack(vector_bytes, &h);
	assert_hit_equal(&h, &vector);
	assert_int_equal(hit_bytes(vector_bytes), 40);
	assert_true(hit_legal(vector_bytes));
	assert_true(hit_legal_stamped(vector_bytes));
}

/* One field at its largest value, all others zero: which bytes change says where it lies. */
static void test_fields(void **state)
{
	static const struct {
		struct hit h;
		uint8_t bytes[HIT_HEADER_BYTES]; /* beside the sync word */
	} rows[] = {
		{{0}, {0}},
		{{.pmt = 15}, {0x0f}},
		{{.efcm = 31}, {0xf0, 0x01}},
		{{.tower = 127}, {0, 0xfe}},
		{{.t5ns = 0xffff}, {[4] = 0xff, 0xff}},
		{{.frame = 0x1fff}, {[6] = 0xff, 0x1f}},
		{{.second = 0x1ffff}, {[7] = 0xe0, 0xff, 0x3f}},
		{{.day_bcd = 0x3ff}, {[9] = 0xc0, 0xff}},
		{{.year_bcd = 0xff}, {[11] = 0xff}},
		{{.samples = 63}, {[12] = 0x3f}},
		{{.fifo_full = true}, {[12] = 0x80}},
		{{.charge = 0x3fffff}, {[13] = 0xff, 0xff, 0x3f}},
		{{.fragment = true}, {[15] = 0x40}},
		{{.zip = true}, {[15] = 0x80}},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		uint8_t want[HIT_HEADER_BYTES], bytes[HIT_HEADER_BYTES];
		struct hit h;

		memcpy(want, rows[i].bytes, sizeof(want));
		want[2] = 0xaa;
		want[3] = 0x55;
		hit_pack(&rows[i].h, bytes);
		assert_memory_equal(bytes, want, sizeof(want));
		hit_unpack(bytes, &h);
		assert_hit_equal(&h, &rows[i].h);
	}
}

static void test_length(void **state)
{
	static const struct {
		uint8_t samples;
		bool zip;
		size_t bytes;
		bool legal;
	} rows[] = {
		{0, false, 16, true}, {0, true, 16, true},     {1, true, 17, true},
		{1, false, 18, true}, {36, false, 88, true},   {37, false, 90, false},
		{63, true, 79, true}, {63, false, 142, false},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		uint8_t bytes[HIT_HEADER_BYTES];

		hit_pack(&(struct hit){.samples = rows[i].samples, .zip = rows[i].zip}, bytes);
		assert_int_equal(hit_bytes(bytes), rows[i].bytes);
		assert_int_equal(hit_legal(bytes), rows[i].legal);
		/* The unused bit and the neighbours do not count. */
		bytes[12] |= 0xc0;
		bytes[13] = 0xff;
		bytes[15] |= 0x40;
		assert_int_equal(hit_bytes(bytes), rows[i].bytes);
	}
}

static void test_legal(void **state)
{
	static const struct {
		struct hit h;
		bool legal, stamped;
	} rows[] = {
		{{.t5ns = 24999, .frame = 7999}, true, true},
		{{.t5ns = 25000}, false, false},
		{{.t5ns = 0xffff}, false, false},
		{{.frame = 8000}, false, false},
		{{.frame = 0x1fff}, false, false},
		{{.second = 86399}, true, true},
		{{.second = 86400}, true, false},
		{{.second = 0x1ffff}, true, false},
		{{.day_bcd = 0x366}, true, true},
		{{.day_bcd = 0x367}, true, false},
		{{.day_bcd = 0x370}, true, false},
		{{.day_bcd = 0x399}, true, false},
		{{.day_bcd = 0x0a0}, true, false},
		{{.day_bcd = 0x00a}, true, false},
		{{.day_bcd = 0x299}, true, true},
		{{.year_bcd = 0x99}, true, true},
		{{.year_bcd = 0x9a}, true, false},
		{{.year_bcd = 0xa0}, true, false},
	};
	uint8_t bytes[HIT_HEADER_BYTES];

	for (unsigned i = 0; i < COUNT(rows); i++) {
		hit_pack(&rows[i].h, bytes);
		assert_int_equal(hit_legal(bytes), rows[i].legal);
		assert_int_equal(hit_legal_stamped(bytes), rows[i].stamped);
	}
	memcpy(bytes, vector_bytes, sizeof(bytes));
	bytes[2] ^= 1;
	assert_false(hit_legal(bytes));
	bytes[2] ^= 1;
	bytes[3] ^= 0x80;
	assert_false(hit_legal(bytes));
	assert_false(hit_legal_stamped(bytes));
}

static void test_stamp(void **state)
{
	static const struct hit_stamp all = {0x1ffff, 0x3ff, 0xff}, none = {0, 0, 0};
	uint8_t bytes[HIT_HEADER_BYTES], unstamped[HIT_HEADER_BYTES];
	struct hit h, want = vector;

	memcpy(bytes, vector_bytes, sizeof(bytes));
	hit_stamp(bytes, &all);
	hit_unpack(bytes, &h);
	want.second = 0x1ffff;
	want.day_bcd = 0x3ff;
	want.year_bcd = 0xff;
	assert_hit_equal(&h, &want);
	hit_unstamp(bytes);
	hit_unpack(bytes, &h);
	want.second = 0;
	want.day_bcd = 0;
	want.year_bcd = 0;
	assert_hit_equal(&h, &want);
	memcpy(unstamped, bytes, sizeof(bytes));
	hit_stamp(bytes, &none);
	assert_memory_equal(bytes, unstamped, sizeof(bytes));
	hit_stamp(bytes, &(struct hit_stamp){45296, 0x172, 0x15});
	assert_memory_equal(bytes, vector_bytes, sizeof(bytes));
}

static void test_borders(void **state)
{
	static const struct {
		int64_t utc_s;
		uint32_t second;
		uint16_t from_0, from_1;
		uint8_t year;
	} rows[] = {
		{0, 0, 0x000, 0x001, 0x70},
		{-1, 86399, 0x364, 0x365, 0x69},
		{946684799, 86399, 0x364, 0x365, 0x99}, /* 1999-12-31 23:59:59 */
		{946684800, 0, 0x000, 0x001, 0x00},	/* 2000-01-01 */
		{951782400, 0, 0x059, 0x060, 0x00},	/* 2000-02-29 */
		{978307199, 86399, 0x365, 0x366, 0x00}, /* 2000-12-31: a leap year */
		{978307200, 0, 0x000, 0x001, 0x01},
		{1434889296, 44496, 0x171, 0x172, 0x15}, /* 2015-06-21 12:21:36 */
		{1483228799, 86399, 0x365, 0x366, 0x16}, /* a leap second follows: not ours */
		{1483228800, 0, 0x000, 0x001, 0x17},
		{1709164800, 0, 0x059, 0x060, 0x24},	 /* 2024-02-29 */
		{1709251200, 0, 0x060, 0x061, 0x24},	 /* 2024-03-01 */
		{1740787200, 0, 0x059, 0x060, 0x25},	 /* 2025-03-01 */
		{1735689599, 86399, 0x365, 0x366, 0x24}, /* 2024-12-31 */
		{1767225599, 86399, 0x364, 0x365, 0x25}, /* 2025-12-31 */
		{1767225600, 0, 0x000, 0x001, 0x26},
		{4102444799, 86399, 0x364, 0x365, 0x99}, /* 2099-12-31 */
		{4102444800, 0, 0x000, 0x001, 0x00},	 /* 2100-01-01 */
	};
	struct hit_stamp s;

	for (unsigned i = 0; i < COUNT(rows); i++) {
		hit_stamp_of(rows[i].utc_s, HIT_DAY_FROM_0, &s);
		assert_int_equal(s.second, rows[i].second);
		assert_int_equal(s.day_bcd, rows[i].from_0);
		assert_int_equal(s.year_bcd, rows[i].year);
		hit_stamp_of(rows[i].utc_s, HIT_DAY_FROM_1, &s);
		assert_int_equal(s.second, rows[i].second);
		assert_int_equal(s.day_bcd, rows[i].from_1);
		assert_int_equal(s.year_bcd, rows[i].year);
	}
}

static unsigned bcd(unsigned n)
{
	return n / 100 * 256 + n / 10 % 10 * 16 + n % 10;
}

/* Every day of 1900..2199, its first and its last second, against the C library's calendar. */
static void test_every_day(void **state)
{
	for (int64_t day = -25567; day < 84006; day++) {
		for (int64_t second = 0; second < 86400; second += 86399) {
			time_t t = day * 86400 + second;
			struct hit_stamp s;
			struct tm tm;

			gmtime_r(&t, &tm);
			hit_stamp_of(t, HIT_DAY_FROM_1, &s);
			assert_int_equal(s.second, second);
			assert_int_equal(s.day_bcd, bcd((unsigned)tm.tm_yday + 1));
			assert_int_equal(s.year_bcd, bcd((unsigned)tm.tm_year % 100));
		}
	}
}

/* The calendar also works before the year that it counts from. */
static void test_last_day_of_1599(void **state)
{
	struct hit_stamp s;

	hit_stamp_of(-11676096000ll - 1, HIT_DAY_FROM_1, &s);
	assert_int_equal(s.second, 86399);
	assert_int_equal(s.day_bcd, 0x365);
	assert_int_equal(s.year_bcd, 0x99);
}

static void test_born(void **state)
{
	static const struct {
		unsigned born, carrier;
		int offset;
		unsigned age;
	} rows[] = {
		{0, 0, 0, 0},	  {7999, 7999, 0, 0},	  {0, 7999, 0, 7999},
		{7999, 0, -1, 1}, {1, 0, -1, 7999},	  {7998, 7999, 0, 1},
		{7999, 1, -1, 2}, {4000, 3999, -1, 7999}, {4000, 4000, 0, 0},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		assert_int_equal(hit_second_offset(rows[i].born, rows[i].carrier), rows[i].offset);
		assert_int_equal(hit_age_frames(rows[i].born, rows[i].carrier), rows[i].age);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_legal),
		cmocka_unit_test(test_stamp),
		cmocka_unit_test(test_borders),
		cmocka_unit_test(test_every_day),
		cmocka_unit_test(test_born),
		cmocka_unit_test(test_last_day_of_1599),
	};

	return cmocka_run_group_tests_name("tdm hit", tests, NULL, NULL);
}
