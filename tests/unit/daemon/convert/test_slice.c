// SPDX-License-Identifier: GPL-2.0-or-later
/* Which blocks are of a slice, the order of its hits, TAI - UTC of a label. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/convert/slice.h"
#include "tests/unit/daemon/convert/block_rig.h"

static struct slice slice;

static int set_up(void **state)
{
	assert_int_equal(slice_init(&slice), 0);
	return 0;
}

static int tear_down(void **state)
{
	slice_fini(&slice);
	return 0;
}

static bool takes(uint64_t first_frame)
{
	return slice_takes(&slice, &rig_begin(FCM_PMT, 0, first_frame)->header);
}

static void add(enum fcm_stream stream, unsigned link, uint64_t first_frame)
{
	assert_int_equal(slice_add(&slice, rig_begin(stream, link, first_frame)), 0);
}

static void is_of_its_200_ms(void **state)
{
	assert_true(takes(RIG_FIRST));
	add(FCM_PMT, 0, RIG_FIRST);
	assert_true(takes(RIG_FIRST + 1596));
	assert_false(takes(RIG_FIRST + 1600));
	assert_false(takes(RIG_FIRST + 3200));
	/* A block that comes late is of the slice in which it comes; one of long ago is of another boot. */
	assert_true(takes(RIG_FIRST - 4));
	assert_false(takes(RIG_FIRST - 1604));
	slice_empty(&slice);
	assert_true(takes(RIG_FIRST + 3200));
}

static void another_epoch_or_run_is_another_slice(void **state)
{
	struct fcm_block_header h;

	add(FCM_PMT, 0, RIG_FIRST);
	h = rig_begin(FCM_PMT, 1, RIG_FIRST)->header;
	assert_true(slice_takes(&slice, &h));
	h.dma_epoch++;
	assert_false(slice_takes(&slice, &h));
	h.dma_epoch--;
	h.run++;
	assert_false(slice_takes(&slice, &h));
}

static void has_bounds(void **state)
{
	struct fcm_block_header h;

	for (unsigned i = 0; i < SLICE_BLOCKS; i++) {
		assert_true(takes(RIG_FIRST));
		add(FCM_INSTRUMENT, 0, RIG_FIRST);
	}
	assert_false(takes(RIG_FIRST));
	slice_order(&slice);
	slice_empty(&slice);
	rig_begin(FCM_PMT, 0, RIG_FIRST);
	rig_hit(10, 2, true, 1);
	assert_int_equal(slice_add(&slice, rig_block()), 0);
	h = rig_block()->header;
	h.items = SLICE_HITS - 1;
	assert_true(slice_takes(&slice, &h));
	h.items++;
	assert_false(slice_takes(&slice, &h));
	h.items = 0;
	h.payload_bytes = (uint32_t)(SLICE_BYTES - slice.bytes_n);
	assert_true(slice_takes(&slice, &h));
	h.payload_bytes++;
	assert_false(slice_takes(&slice, &h));
}

static void hits_of_all_floors_are_in_order_of_time(void **state)
{
	static const unsigned at[2][3] = {{10, 500, 600}, {5, 500, 20000}};
	static const unsigned order[] = {5, 10, 500, 500, 600, 20000};

	for (unsigned link = 0; link < 2; link++) {
		rig_begin(FCM_PMT, link, RIG_FIRST);
		for (unsigned i = 0; i < 3; i++) {
			rig_hit(at[link][i], 2, i == 1, (uint16_t)(10 * link + i));
		}
		assert_int_equal(slice_add(&slice, rig_block()), 0);
	}
	slice_order(&slice);
	assert_int_equal(slice.rows_n, 6);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(slice.rows[i].t5ns, order[i]);
		assert_int_equal(slice.rows[i].tai_ns, RIG_TAI + order[i] * 5);
	}
	/* Of the same ns: as they came. */
	assert_int_equal(slice.rows[2].block, 0);
	assert_int_equal(slice.rows[3].block, 1);
	/* The samples are where the payloads say. */
	for (unsigned i = 0; i < 6; i++) {
		const struct fcm_hit_row *r = &slice.rows[i];

		assert_int_equal(slice.payloads[r->block][r->samples_at], r->charge);
	}
	assert_int_equal(slice.bad_blocks, 0);
}

/* 64 KiB hits, more than there is memory for at first. */
static void grows_with_its_hits(void **state)
{
	enum { BLOCKS = 130, HITS = 2048 };

	for (unsigned i = 0; i < BLOCKS; i++) {
		rig_begin(FCM_PMT, 0, RIG_FIRST);
		for (unsigned k = 0; k < HITS; k++) {
			rig_hit(k, 0, false, (uint16_t)i);
		}
		assert_int_equal(slice_add(&slice, rig_block()), 0);
	}
	slice_order(&slice);
	assert_int_equal(slice.rows_n, BLOCKS * HITS);
	for (unsigned i = 0; i < BLOCKS * HITS; i++) {
		assert_int_equal(slice.rows[i].t5ns, i / BLOCKS);
		assert_int_equal(slice.rows[i].block, i % BLOCKS);
		assert_int_equal(slice.rows[i].charge, i % BLOCKS);
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		assert_int_equal(slice.payloads[i][256 + 2], rig_block()->payload[256 + 2]);
		assert_ptr_equal(slice.payloads[i] - slice.payloads[0],
				 i * (size_t)rig_block()->header.payload_bytes);
	}
}

/* A header that promises fewer hits than there are makes no room for the others. */
static void more_hits_than_were_promised_are_refused(void **state)
{
	for (unsigned rows = 0; rows < 1u << 16; rows += 2048) {
		rig_begin(FCM_PMT, 0, RIG_FIRST);
		for (unsigned k = 0; k < 2048; k++) {
			rig_hit(k, 0, false, 1);
		}
		assert_int_equal(slice_add(&slice, rig_block()), 0);
	}
	assert_int_equal(slice.rows_n, slice.rows_room);
	rig_begin(FCM_PMT, 0, RIG_FIRST);
	rig_hit(10, 0, false, 1);
	rig_block()->header.items = 0;
	assert_int_equal(slice_add(&slice, rig_block()), 0);
	assert_int_equal(slice.rows_n, slice.rows_room);
	assert_int_equal(slice.bad_blocks, 1);
}

static size_t allocated(void)
{
	return mallinfo2().uordblks + mallinfo2().hblkhd;
}

static void memory_is_given_back(void **state)
{
	size_t memory = 0;

	for (unsigned i = 0; i < 30; i++) {
		memory = i == 20 ? allocated() : memory;
		slice_fini(&slice);
		assert_int_equal(slice_init(&slice), 0);
		add(FCM_PMT, 0, RIG_FIRST);
	}
	assert_int_equal(allocated(), memory);
}

static void hits_that_are_none_are_counted(void **state)
{
	add(FCM_PMT, 0, RIG_FIRST); /* no hits: nothing is wrong */
	assert_int_equal(slice.bad_blocks, 0);
	rig_begin(FCM_PMT, 0, RIG_FIRST);
	rig_hit(10, 2, true, 1);
	((uint8_t *)(uintptr_t)rig_block()->payload)[256 + 2] ^= 1; /* its sync word */
	assert_int_equal(slice_add(&slice, rig_block()), 0);
	assert_int_equal(slice.rows_n, 0);
	assert_int_equal(slice.bad_blocks, 1);
}

static void blocks_come_back_as_they_were(void **state)
{
	struct fcmdata_block b;

	rig_begin(FCM_HYDROPHONE, 2, RIG_FIRST);
	rig_sound(0, "x.xx", 100);
	rig_block()->gap_first = 7;
	rig_block()->gap_frames = 8;
	rig_block()->gap_lost = 9;
	assert_int_equal(slice_add(&slice, rig_block()), 0);
	slice_order(&slice);
	b = slice_block(&slice, 0);
	assert_memory_equal(&b.header, &rig_block()->header, sizeof(b.header));
	assert_memory_equal(b.payload, rig_block()->payload, b.header.payload_bytes);
	assert_int_equal(b.gap_first, 7);
	assert_int_equal(b.gap_frames, 8);
	assert_int_equal(b.gap_lost, 9);
}

static void utc_by_the_slice(void **state)
{
	/* 2026-11-20T16:20:10 UTC + 0.4 s: slice 2 of that second. */
	const int64_t utc_s = 1795192810;
	struct fcm_block_header h = rig_begin(FCM_PMT, 0, RIG_FIRST + 80)->header;

	h.slice_id = (uint64_t)(utc_s - 946684800) * 5 + 2;
	h.cable_delay_ns = 490000;
	h.tai_ns = (utc_s + 37) * 1000000000ll + 400000000 + 80 * 125000 + 490000;
	assert_int_equal(slice_tai_utc_s(&h), 37);
	h.flags = FCM_BLOCK_NO_TIME;
	assert_int_equal(slice_tai_utc_s(&h), 0);
	h.flags = 0;
	h.slice_id = UINT64_MAX; /* from a file: anything */
	assert_int_equal(slice_tai_utc_s(&h), 0);
	h.tai_ns = FCM_NO_TAI;
	assert_int_equal(slice_tai_utc_s(&h), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(is_of_its_200_ms),
		TEST(another_epoch_or_run_is_another_slice),
		TEST(has_bounds),
		TEST(hits_of_all_floors_are_in_order_of_time),
		TEST(grows_with_its_hits),
		TEST(more_hits_than_were_promised_are_refused),
		TEST(memory_is_given_back),
		TEST(hits_that_are_none_are_counted),
		TEST(blocks_come_back_as_they_were),
		TEST(utc_by_the_slice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
