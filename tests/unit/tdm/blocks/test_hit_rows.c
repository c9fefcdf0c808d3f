// SPDX-License-Identifier: GPL-2.0-or-later
/* Hits as rows: against hits written by hand, field by field; order, columns, waveforms; what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tdm/hit.h"
#include "tdm/blocks/hit_rows.h"
#include "tdm/le.h"

#define FRAMES 4u
#define TAI    1795194047000000000ll /* of the block's first frame */
#define FIRST  (8000ull * 20 + 7998) /* a second ends inside the block */

/* A block of hits in memory: index, then what each module has of each frame. */
static struct {
	struct fcm_block_header header;
	uint8_t payload[8192];
	uint32_t at;
	unsigned module, frame;
} B;

static void put_index(unsigned module, unsigned frame)
{
	le32_put(B.payload + B.header.index_offset + 4 * (module * (FRAMES + 1) + frame), B.at);
}

static void begin(void)
{
	memset(&B, 0, sizeof(B));
	B.header = (struct fcm_block_header){
		.stream = FCM_PMT,
		.channels = 6,
		.tower = 3,
		.floor = 9,
		.frames = FRAMES,
		.first_frame = FIRST,
		.tai_ns = TAI,
		.index_offset = 8,
	};
	B.at = 8 + 4 * 6 * (FRAMES + 1);
	put_index(0, 0);
}

/* On to this frame of this module. */
static void go_to(unsigned module, unsigned frame)
{
	while (B.module < module || B.frame < frame) {
		B.frame++;
		if (B.frame == FRAMES) {
			put_index(B.module, FRAMES);
			B.module++;
			B.frame = 0;
		}
		put_index(B.module, B.frame);
	}
}

/* A hit whose sample i is first + i. */
static void put_hit(const struct hit *h, uint16_t first)
{
	hit_pack(h, B.payload + B.at);
	B.at += HIT_HEADER_BYTES;
	for (unsigned i = 0; i < h->samples; i++) {
		if (h->zip) {
			B.payload[B.at++] = (uint8_t)(first + i);
		} else {
			le16_put(B.payload + B.at, (uint16_t)(first + i));
			B.at += 2;
		}
	}
	B.header.items++;
}

static void end(void)
{
	go_to(5, FRAMES - 1);
	put_index(5, FRAMES);
	B.header.payload_bytes = B.at;
}

/* Three hits: one as old as a frame, across the second's end; one with bytes; one of another module. */
static void three(void)
{
	begin();
	go_to(0, 2); /* the first frame of the next second */
	put_hit(&(struct hit){.pmt = 0,
			      .tower = 3,
			      .efcm = 9,
			      .frame = 7999,
			      .t5ns = 24999,
			      .samples = 3,
			      .charge = 0x3abcde,
			      .fragment = true},
		1000);
	put_hit(&(struct hit){.pmt = 0,
			      .tower = 3,
			      .efcm = 9,
			      .frame = 0,
			      .t5ns = 1,
			      .samples = 5,
			      .charge = 77,
			      .zip = true,
			      .fifo_full = true},
		30);
	go_to(4, 0);
	put_hit(&(struct hit){.pmt = 4,
			      .tower = 3,
			      .efcm = 9,
			      .frame = 7998,
			      .t5ns = 2,
			      .samples = 0,
			      .charge = 5},
		0);
	end();
}

static void rows_have_each_field(void **state)
{
	struct fcm_hit_row rows[3];

	three();
	assert_int_equal(hit_rows(&B.header, B.payload, HIT_ROWS_ALL, 42, rows, 3), 3);
	assert_int_equal(rows[0].tai_ns, TAI + 125000 + 24999 * 5);
	assert_int_equal(rows[0].charge, 0x3abcde);
	assert_int_equal(rows[0].frame, 7999);
	assert_int_equal(rows[0].t5ns, 24999);
	assert_int_equal(rows[0].tower, 3);
	assert_int_equal(rows[0].floor, 9);
	assert_int_equal(rows[0].module, 0);
	assert_int_equal(rows[0].samples, 3);
	assert_int_equal(rows[0].flags, FCM_HIT_FRAGMENT);
	assert_int_equal(rows[0].block, 42);
	assert_int_equal(le16_get(B.payload + rows[0].samples_at), 1000);
	assert_int_equal(rows[1].tai_ns, TAI + 2 * 125000 + 5);
	assert_int_equal(rows[1].flags, FCM_HIT_ZIP | FCM_HIT_FIFO_FULL);
	assert_int_equal(rows[1].charge, 77);
	assert_int_equal(rows[2].tai_ns, TAI + 10);
	assert_int_equal(rows[2].module, 4);
	assert_int_equal(rows[2].pmt, 4);
	assert_int_equal(rows[2].flags, 0);
}

static void one_module_alone(void **state)
{
	struct fcm_hit_row rows[3];

	three();
	assert_int_equal(hit_rows(&B.header, B.payload, 4, 0, rows, 3), 1);
	assert_int_equal(rows[0].charge, 5);
	assert_int_equal(hit_rows(&B.header, B.payload, 1, 0, rows, 3), 0);
	assert_int_equal(hit_rows(&B.header, B.payload, 6, 0, rows, 3), -EINVAL);
	assert_int_equal(hit_rows(&B.header, B.payload, -2, 0, rows, 3), -EINVAL);
}

static void without_a_label_no_time(void **state)
{
	struct fcm_hit_row rows[3];

	three();
	B.header.flags = FCM_BLOCK_NO_TIME;
	assert_int_equal(hit_rows(&B.header, B.payload, HIT_ROWS_ALL, 0, rows, 3), 3);
	assert_int_equal(rows[0].tai_ns, FCM_NO_TAI);
	B.header.flags = 0;
	B.header.tai_ns = FCM_NO_TAI;
	assert_int_equal(hit_rows(&B.header, B.payload, HIT_ROWS_ALL, 0, rows, 3), 3);
	assert_int_equal(rows[2].tai_ns, FCM_NO_TAI);
}

static void what_is_refused(void **state)
{
	struct fcm_hit_row rows[3];

	three();
	assert_int_equal(hit_rows(&B.header, B.payload, HIT_ROWS_ALL, 0, rows, 2), -ENOSPC);
	B.payload[8 + 4 * 6 * (FRAMES + 1) + 2] ^= 1; /* the first one's sync word */
	assert_int_equal(hit_rows(&B.header, B.payload, HIT_ROWS_ALL, 0, rows, 3), -EBADMSG);
	assert_int_equal(hit_rows(&B.header, B.payload, 4, 0, rows, 3), 1);

	begin();
	put_hit(&(struct hit){.samples = 4}, 0);
	B.at -= 1; /* it goes beyond its frame */
	end();
	assert_int_equal(hit_rows(&B.header, B.payload, HIT_ROWS_ALL, 0, rows, 3), -EBADMSG);
	begin();
	B.at += HIT_HEADER_BYTES - 1; /* less than a header */
	end();
	assert_int_equal(hit_rows(&B.header, B.payload, HIT_ROWS_ALL, 0, rows, 3), -EBADMSG);

	B.header.stream = FCM_HYDROPHONE;
	assert_int_equal(hit_rows(&B.header, B.payload, HIT_ROWS_ALL, 0, rows, 3), -EINVAL);
	B.header.stream = FCM_PMT;
	B.header.channels = 0; /* a GAP */
	assert_int_equal(hit_rows(&B.header, B.payload, HIT_ROWS_ALL, 0, rows, 3), 0);
}

static int by_time(const void *a, const void *b)
{
	const struct fcm_hit_row *x = a, *y = b;

	return x->tai_ns != y->tai_ns ? (x->tai_ns < y->tai_ns ? -1 : 1)
	       : x->block < y->block  ? -1
				      : x->block > y->block;
}

/* Against qsort(3), with the place in `block`; many have equal times. */
static void check_order(size_t n, int64_t least, uint64_t range)
{
	struct fcm_hit_row *rows = calloc(n, sizeof(*rows)), *wanted = calloc(n, sizeof(*rows)),
			   *scratch = calloc(n, sizeof(*rows));
	uint64_t x = 88172645463325252ull;

	for (size_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		rows[i].tai_ns = (int64_t)((uint64_t)least + x % range);
		rows[i].block = (uint32_t)i;
		rows[i].charge = (uint32_t)(x >> 40);
	}
	memcpy(wanted, rows, n * sizeof(*rows));
	qsort(wanted, n, sizeof(*wanted), by_time);
	hit_rows_order(rows, scratch, n);
	assert_memory_equal(rows, wanted, n * sizeof(*rows));
	free(rows);
	free(wanted);
	free(scratch);
}

static void order_is_that_of_time(void **state)
{
	check_order(1, TAI, 1);
	check_order(2, TAI, 2);
	check_order(5000, TAI, 300);
	check_order(5000, TAI, 1u << 11);
	check_order(5000, TAI, (1u << 11) + 1);
	check_order(5000, TAI, 200000000);
	check_order(5000, -1000, 2000); /* before 1970, and after */
	check_order(5000, INT64_MIN, UINT64_MAX);
	hit_rows_order(NULL, NULL, 0);
}

static void columns_are_the_fields(void **state)
{
	struct fcm_hit_row rows[3];
	int64_t tai_ns[3];
	uint8_t module[3], flags[3];
	uint16_t t5ns[3];
	const struct fcm_hit_columns to = {
		.tai_ns = tai_ns, .module = module, .flags = flags, .t5ns = t5ns};

	three();
	hit_rows(&B.header, B.payload, HIT_ROWS_ALL, 0, rows, 3);
	hit_rows_split(rows, 3, &to);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(tai_ns[i], rows[i].tai_ns);
		assert_int_equal(module[i], rows[i].module);
		assert_int_equal(flags[i], rows[i].flags);
		assert_int_equal(t5ns[i], rows[i].t5ns);
	}
}

static void waveforms_are_of_16_bits(void **state)
{
	const uint8_t *payloads[2] = {NULL, B.payload};
	struct fcm_hit_row rows[3];
	uint64_t offsets[4];
	uint16_t values[8];

	three();
	hit_rows(&B.header, B.payload, HIT_ROWS_ALL, 1, rows, 3);
	assert_int_equal(hit_rows_samples(rows, 3), 8);
	hit_rows_waveforms(rows, 3, payloads, values, offsets);
	assert_int_equal(offsets[0], 0);
	assert_int_equal(offsets[1], 3);
	assert_int_equal(offsets[2], 8);
	assert_int_equal(offsets[3], 8);
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(values[i], i < 3 ? 1000 + i : 30 + i - 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_each_field),
		cmocka_unit_test(one_module_alone),
		cmocka_unit_test(without_a_label_no_time),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(order_is_that_of_time),
		cmocka_unit_test(columns_are_the_fields),
		cmocka_unit_test(waveforms_are_of_16_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
