/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recorded cells: a segment cut at every length, damaged at every byte of its headers, its index. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tdm/frame.h"
#include "tdm/le.h"
#include "tdm/record.h"
#include "tests/unit/rig/record_memory.h"

#define FIRST	80000u
#define RECORDS 6u /* of the sample: label, data, gap, data, let go, index */

struct sample {
	uint8_t bytes[64 * 1024];
	size_t length;
	size_t end[RECORDS]; /* where each record ends */
	unsigned records;
	uint64_t index[8];
	size_t indexed;
};

static void add(struct sample *s, struct fcm_record_header h, const void *data)
{
	if (h.kind == FCM_RECORD_DATA || h.kind == FCM_RECORD_GAP || h.kind == FCM_RECORD_LET_GO) {
		s->index[s->indexed++] = s->length;
	}
	tdm_record_seal(&h, data);
	memcpy(s->bytes + s->length, &h, sizeof(h));
	memcpy(s->bytes + s->length + sizeof(h), data, h.bytes);
	s->length += sizeof(h) + h.bytes;
	s->end[s->records++] = s->length;
}

static struct sample *make(void)
{
	static struct sample s;
	static uint8_t cells[2 * TDM_FRAME_BYTES];
	struct fcm_segment_header h = {
		.link = 2, .dma_epoch = 7, .frame_bytes = TDM_FRAME_BYTES, .count = FIRST};
	struct fcm_record_label label = {.time_epoch = 3};

	memset(&s, 0, sizeof(s));
	for (size_t i = 0; i < sizeof(cells); i++) {
		cells[i] = (uint8_t)(i * 7 + i / 256);
	}
	h.data_bytes_max = sizeof(cells);
	tdm_segment_seal(&h);
	memcpy(s.bytes, &h, sizeof(h));
	s.length = sizeof(h);
	add(&s, (struct fcm_record_header){.kind = FCM_RECORD_LABEL, .count = FIRST, .bytes = 40},
	    &label);
	add(&s,
	    (struct fcm_record_header){
		    .kind = FCM_RECORD_DATA, .count = FIRST, .frames = 2, .bytes = sizeof(cells)},
	    cells);
	add(&s,
	    (struct fcm_record_header){
		    .kind = FCM_RECORD_GAP, .reason = 1, .count = FIRST + 2, .frames = 40},
	    cells);
	add(&s,
	    (struct fcm_record_header){.kind = FCM_RECORD_DATA,
				       .count = FIRST + 42,
				       .frames = 1,
				       .bytes = TDM_FRAME_BYTES},
	    cells + 5000);
	add(&s,
	    (struct fcm_record_header){
		    .kind = FCM_RECORD_LET_GO, .count = FIRST + 43, .frames = 8000},
	    cells);
	s.index[s.indexed] = s.length;
	add(&s,
	    (struct fcm_record_header){.kind = FCM_RECORD_INDEX,
				       .count = FIRST,
				       .frames = 8043,
				       .bytes = (uint32_t)(s.indexed + 1) * 8},
	    s.index);
	return &s;
}

static uint8_t data[FCM_RECORD_BYTES_MAX];

/* Records found; *ret_walk as it ended. -1: not even a segment. */
static int walk(const void *bytes, size_t length, bool check, struct record_walk *ret_walk)
{
	struct record_memory m = {bytes, length};
	struct fcm_record_header h;
	int n = 0, r = tdm_walk_begin(ret_walk, record_read_memory, &m);

	if (r < 0) {
		return r;
	}
	while (tdm_walk_next(ret_walk, &h, check ? data : NULL) > 0) {
		n++;
	}
	ret_walk->context = NULL;
	return n;
}

static void test_whole(void **state)
{
	struct sample *s = make();
	struct record_walk w;

	for (int check = 0; check < 2; check++) {
		assert_int_equal(walk(s->bytes, s->length, check, &w), RECORDS);
		assert_int_equal(w.end, RECORD_WHOLE);
		assert_int_equal(w.offset, s->length);
		assert_int_equal(w.segment.dma_epoch, 7);
	}
}

static void test_cut_everywhere(void **state)
{
	struct sample *s = make();
	struct record_walk w;

	for (size_t length = 0; length < s->length; length++) {
		uint64_t good = sizeof(struct fcm_segment_header);
		int whole = 0, n;

		while (whole < (int)RECORDS && s->end[whole] <= length) {
			good = s->end[whole++];
		}
		/* The data are gone through near the borders, else only asked for. */
		n = walk(s->bytes, length, length % 97 == 0, &w);
		if (length < sizeof(struct fcm_segment_header)) {
			assert_int_equal(n, -ENODATA);
			continue;
		}
		assert_int_equal(n, whole);
		assert_int_equal(w.offset, good);
		assert_int_equal(w.end, length == good ? RECORD_OPEN : RECORD_CUT);
	}
}

/* Whatever byte of a header is wrong, what stands before it is good and it is not. */
static void test_damaged_headers(void **state)
{
	struct sample *s = make();
	struct record_walk w;

	for (size_t i = 0; i < sizeof(struct fcm_segment_header); i++) {
		s->bytes[i] ^= 0x10;
		assert_int_equal(walk(s->bytes, s->length, false, &w),
				 i == 4 || i == 5 ? -EPROTO : -EBADMSG);
		s->bytes[i] ^= 0x10;
	}
	for (unsigned n = 0; n < RECORDS; n++) {
		size_t at = n ? s->end[n - 1] : sizeof(struct fcm_segment_header);

		for (size_t i = 0; i < sizeof(struct fcm_record_header); i++) {
			s->bytes[at + i] ^= 1;
			assert_int_equal(walk(s->bytes, s->length, false, &w), n);
			assert_int_equal(w.end, RECORD_DAMAGED);
			assert_int_equal(w.offset, at);
			s->bytes[at + i] ^= 1;
		}
	}
}

static void test_damaged_data(void **state)
{
	struct sample *s = make();
	struct record_walk w;

	s->bytes[s->end[1] - 1] ^= 1;
	assert_int_equal(walk(s->bytes, s->length, true, &w), 1);
	assert_int_equal(w.end, RECORD_DAMAGED);
	assert_int_equal(w.offset, s->end[0]);
	assert_int_equal(walk(s->bytes, s->length, false, &w), RECORDS);
}

/* A file that a power cut left with zeros at its end. */
static void test_zeros(void **state)
{
	struct sample *s = make();
	struct record_walk w;

	memset(s->bytes + s->end[3], 0, s->length - s->end[3]);
	assert_int_equal(walk(s->bytes, s->length, true, &w), 4);
	assert_int_equal(w.end, RECORD_DAMAGED);
	assert_int_equal(w.offset, s->end[3]);
}

/* Sealed well, but not what such a record can be. */
static void test_impossible(void **state)
{
	static const struct fcm_record_header rows[] = {
		{.kind = FCM_RECORD_DATA, .frames = 0, .bytes = 0},
		{.kind = FCM_RECORD_DATA, .frames = 2, .bytes = TDM_FRAME_BYTES},
		{.kind = FCM_RECORD_DATA, .frames = 1, .bytes = TDM_FRAME_BYTES - 1},
		{.kind = FCM_RECORD_DATA, .frames = 3, .bytes = 3 * TDM_FRAME_BYTES},
		{.kind = FCM_RECORD_GAP, .frames = 0},
		{.kind = FCM_RECORD_GAP, .frames = 1, .bytes = 8},
		{.kind = FCM_RECORD_LET_GO, .count = 2, .frames = UINT64_MAX - 1},
		{.kind = FCM_RECORD_LABEL, .bytes = 39},
		{.kind = FCM_RECORD_INDEX, .bytes = 0},
		{.kind = FCM_RECORD_INDEX, .bytes = 12},
	};
	struct fcm_segment_header s = {.frame_bytes = TDM_FRAME_BYTES,
				       .data_bytes_max = 2 * TDM_FRAME_BYTES};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fcm_record_header h = rows[i], got;

		tdm_record_seal(&h, data);
		assert_int_equal(tdm_record_check(&h, &s, &got), -EBADMSG);
	}
	s.data_bytes_max = FCM_RECORD_BYTES_MAX + 1;
	tdm_segment_seal(&s);
	assert_int_equal(tdm_segment_check(&s, &s), -EBADMSG);
}

static void test_unknown_kind_is_passed(void **state)
{
	struct fcm_segment_header s = {.frame_bytes = TDM_FRAME_BYTES, .data_bytes_max = 100};
	struct fcm_record_header h = {.kind = 77, .bytes = 99}, got;

	tdm_record_seal(&h, data);
	assert_int_equal(tdm_record_check(&h, &s, &got), 0);
	assert_int_equal(got.kind, 77);
}

/* What is asked again goes on where it stopped: a reader may follow a writer. */
static void test_growing(void **state)
{
	struct sample *s = make();
	struct record_memory m = {s->bytes, s->end[1] + 10};
	struct fcm_record_header h;
	struct record_walk w;

	assert_int_equal(tdm_walk_begin(&w, record_read_memory, &m), 0);
	assert_int_equal(tdm_walk_next(&w, &h, data), 1);
	assert_int_equal(tdm_walk_next(&w, &h, data), 1);
	assert_int_equal(tdm_walk_next(&w, &h, data), 0);
	assert_int_equal(w.end, RECORD_CUT);
	m.length = s->length;
	assert_int_equal(tdm_walk_next(&w, &h, data), 1);
	assert_int_equal(h.kind, FCM_RECORD_GAP);
	assert_int_equal(w.end, RECORD_MORE);
}

static ssize_t broken_read(void *context, uint64_t offset, void *to, size_t length)
{
	return offset >= 128 ? -EIO : record_read_memory(context, offset, to, length);
}

static void test_read_error(void **state)
{
	struct sample *s = make();
	struct record_memory m = {s->bytes, s->length};
	struct fcm_record_header h;
	struct record_walk w;

	assert_int_equal(tdm_walk_begin(&w, broken_read, &m), 0);
	assert_int_equal(tdm_walk_next(&w, &h, data), -EIO);
}

/* Counts go on from one segment to the next only in one DMA epoch of one boot of one board. */
static void counts_go_on_in_one_epoch_of_one_boot(void **state)
{
	const struct fcm_segment_header a = {.serial = 7, .boot_count = 3, .dma_epoch = 2};
	struct fcm_segment_header board = a, boot = a, epoch = a;

	assert_true(tdm_segment_same_boot(&a, &a));
	assert_true(tdm_segment_same_epoch(&a, &a));
	board.serial++;
	assert_false(tdm_segment_same_boot(&a, &board));
	assert_false(tdm_segment_same_epoch(&a, &board));
	boot.boot_count++;
	assert_false(tdm_segment_same_boot(&a, &boot));
	assert_false(tdm_segment_same_epoch(&a, &boot));
	epoch.dma_epoch++;
	assert_true(tdm_segment_same_boot(&a, &epoch));
	assert_false(tdm_segment_same_epoch(&a, &epoch));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_cut_everywhere),
		cmocka_unit_test(test_damaged_headers),
		cmocka_unit_test(test_damaged_data),
		cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_impossible),
		cmocka_unit_test(test_unknown_kind_is_passed),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_read_error),
		cmocka_unit_test(counts_go_on_in_one_epoch_of_one_boot),
	};

	return cmocka_run_group_tests_name("recorded cells", tests, NULL, NULL);
}
