// SPDX-License-Identifier: GPL-2.0-or-later
/* The ledger of what is missing: runs across blocks, gaps between blocks, what is only an edge. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/convert/missing.h"
#include "tests/unit/daemon/convert/block_rig.h"

static struct missing missing;
static char rows[4096];
static uint64_t next;
static int take_fails_with;

static int take(void *context, const struct out_missing *r)
{
	size_t n = strlen(rows);

	assert_int_equal(r->tai_ns, RIG_TAI + (int64_t)(r->first_frame - RIG_FIRST) * 125000);
	assert_int_equal(r->floor, r->link + 1);
	snprintf(rows + n, sizeof(rows) - n, "%u/%u %llu+%llu %.14s%s\n", r->link, r->stream,
		 (unsigned long long)(r->first_frame - RIG_FIRST), (unsigned long long)r->frames,
		 r->reason, r->edge ? " edge" : "");
	return take_fails_with;
}

static int set_up(void **state)
{
	memset(&missing, 0, sizeof(missing));
	memset(rows, 0, sizeof(rows));
	next = RIG_FIRST;
	take_fails_with = 0;
	return 0;
}

static void block_of(unsigned link, uint64_t first, const char *status)
{
	rig_begin(FCM_PMT, link, first);
	rig_status(status);
	assert_int_equal(missing_block(&missing, rig_block(), take, NULL), 0);
}

static void block(const char *status)
{
	block_of(0, next, status);
	next += RIG_FRAMES;
}

static void end(void)
{
	assert_int_equal(missing_end(&missing, take, NULL), 0);
}

static void nothing_is_missing(void **state)
{
	block("....");
	block("....");
	end();
	assert_string_equal(rows, "");
	assert_int_equal(missing_all(&missing), 0);
}

static void a_run_goes_on_from_block_to_block(void **state)
{
	block("....");
	block("..44");
	block("4444");
	block("4.4.");
	end();
	assert_string_equal(rows, "0/0 6+7 crc\n0/0 14+1 crc\n");
	assert_int_equal(missing_all(&missing), 8);
	assert_int_equal(missing_of_link(&missing, 0, OUT_CRC), 8);
	assert_int_equal(missing_of_link(&missing, 1, OUT_CRC), 0);
}

static void another_reason_is_another_row(void **state)
{
	block(".113");
	block("3...");
	end();
	assert_string_equal(rows, "0/0 1+2 link-down\n0/0 3+2 ring-full\n");
}

static void links_have_rows_of_their_own(void **state)
{
	block_of(0, RIG_FIRST, "...4");
	block_of(1, RIG_FIRST, "..44");
	block_of(0, RIG_FIRST + 4, "4...");
	block_of(1, RIG_FIRST + 4, "4...");
	end();
	assert_string_equal(rows, "0/0 3+2 crc\n1/0 2+3 crc\n");
	assert_int_equal(missing_of_link(&missing, 0, OUT_CRC), 2);
	assert_int_equal(missing_of_link(&missing, 1, OUT_CRC), 3);
	assert_int_equal(missing_all(&missing), 5);
}

/* What a link lost is said of the time, not of each stream. */
static void the_stream_that_misses_most_counts_for_its_link(void **state)
{
	block("..44");
	rig_begin(FCM_INSTRUMENT, 0, RIG_FIRST);
	rig_status("444.");
	assert_int_equal(missing_block(&missing, rig_block(), take, NULL), 0);
	end();
	assert_string_equal(rows, "0/2 0+3 crc\n0/0 2+2 crc\n");
	assert_int_equal(missing_of_link(&missing, 0, OUT_CRC), 3);
}

static void where_a_recording_begins_and_ends_nothing_is_lost(void **state)
{
	block("2225");
	block("55..");
	block(".4..");
	block("..22");
	end();
	assert_string_equal(rows, "0/0 0+3 board-fifo edge\n0/0 3+3 alignment edge\n0/0 9+1 crc\n"
				  "0/0 14+2 board-fifo edge\n");
	assert_int_equal(missing_all(&missing), 1);
	assert_int_equal(missing.edge_frames, 8);
}

static void in_the_middle_the_same_is_a_loss(void **state)
{
	block("..22");
	block("5...");
	end();
	block("...2");
	block("....");
	end();
	assert_string_equal(rows, "0/0 2+2 board-fifo\n0/0 4+1 alignment\n0/0 11+1 board-fifo\n");
	assert_int_equal(missing_all(&missing), 4);
}

static void a_link_that_was_down_is_no_edge(void **state)
{
	block("2111");
	for (unsigned i = 0; i < 4; i++) {
		block("1111");
	}
	block("1115");
	block("....");
	end();
	assert_string_equal(rows,
			    "0/0 0+1 board-fifo edge\n0/0 1+22 link-down\n0/0 23+1 alignment\n");
	assert_int_equal(missing_all(&missing), 23);
}

static void to_find_the_frames_takes_some(void **state)
{
	block("2111");
	for (unsigned i = 0; i < 3; i++) {
		block("1111");
	}
	block("1...");
	end();
	assert_string_equal(rows, "0/0 0+1 board-fifo edge\n0/0 1+16 link-down edge\n");
	assert_int_equal(missing_all(&missing), 0);
}

static void blocks_that_did_not_come(void **state)
{
	block("...4");
	rig_begin(FCM_PMT, 0, RIG_FIRST + 12);
	rig_block()->gap_first = RIG_FIRST + 4;
	rig_block()->gap_frames = 8;
	assert_int_equal(missing_block(&missing, rig_block(), take, NULL), 0);
	end();
	assert_string_equal(rows, "0/0 3+1 crc\n0/0 4+8 no-block\n");
	assert_int_equal(missing_of_link(&missing, 0, OUT_NO_BLOCK), 8);
}

static void in_words(void **state)
{
	char text[300];

	block("...4");
	rig_begin(FCM_PMT, 0, RIG_FIRST + 12);
	rig_block()->gap_first = RIG_FIRST + 4;
	rig_block()->gap_frames = 8;
	assert_int_equal(missing_block(&missing, rig_block(), take, NULL), 0);
	missing.covered[1][FCM_PMT] = 1000; /* of another link: does not count */
	end();
	missing_words(&missing, 0, OUT_NO_BLOCK, true, text, sizeof(text));
	assert_string_equal(text, "0.001 s (50 %): no-block: the monitor did not get these blocks: "
				  "live data are best effort; to lose nothing, record (fcmctl "
				  "record start), then convert the recording");
	missing_words(&missing, 0, OUT_NO_BLOCK, false, text, sizeof(text));
	assert_string_equal(text, "0.001 s (50 %): no-block: there are no blocks of them");
	missing_words(&missing, 0, OUT_CRC, true, text, sizeof(text));
	assert_string_equal(text, "0.000125 s (6.25 %): crc: their checksums were wrong");
	missing.covered[0][FCM_PMT] = 10000;
	missing_words(&missing, 0, OUT_CRC, true, text, sizeof(text));
	assert_string_equal(text, "0.000125 s (0.01 %): crc: their checksums were wrong");
	missing.covered[0][FCM_PMT] = 8000 * 3600;
	missing_words(&missing, 0, OUT_CRC, true, text, sizeof(text));
	assert_string_equal(text, "0.000125 s (< 0.01 %): crc: their checksums were wrong");
}

static void another_epoch_is_another_row(void **state)
{
	block("...4");
	rig_begin(FCM_PMT, 0, next);
	rig_status("4...");
	rig_block()->header.dma_epoch = 2;
	assert_int_equal(missing_block(&missing, rig_block(), take, NULL), 0);
	end();
	assert_string_equal(rows, "0/0 3+1 crc\n0/0 4+1 crc\n");
}

static void it_can_be_kept_as_bytes(void **state)
{
	struct missing kept;

	block("...4");
	memcpy(&kept, &missing, sizeof(kept));
	memset(&missing, 0xff, sizeof(missing));
	memcpy(&missing, &kept, sizeof(kept));
	block("4...");
	end();
	assert_string_equal(rows, "0/0 3+2 crc\n");
}

static void an_error_on_a_row_ends_the_call(void **state)
{
	block("...4");
	take_fails_with = -EIO;
	rig_begin(FCM_PMT, 0, next);
	assert_int_equal(missing_block(&missing, rig_block(), take, NULL), -EIO);
	take_fails_with = 0;
	block("...4");
	take_fails_with = -EIO;
	rig_begin(FCM_PMT, 0, next);
	rig_status("3333");
	assert_int_equal(missing_block(&missing, rig_block(), take, NULL), -EIO);
	assert_int_equal(missing_end(&missing, take, NULL), -EIO);
}

static void any_numbers_may_come(void **state)
{
	const struct missing none = {0};

	rig_begin(FCM_PMT, 0, RIG_FIRST);
	rig_status("9999");
	rig_block()->header.tai_ns = INT64_MAX;
	rig_block()->header.flags = FCM_BLOCK_NO_TIME;
	rig_block()->header.link = 200;
	assert_int_equal(missing_block(&missing, rig_block(), take, NULL), 0);
	rig_block()->header.link = FCM_LINKS;
	assert_int_equal(missing_block(&missing, rig_block(), take, NULL), 0);
	rig_block()->header.link = 0;
	rig_block()->header.stream = FCM_STREAMS;
	assert_int_equal(missing_block(&missing, rig_block(), take, NULL), 0);
	assert_string_equal(rows, "");
	assert_memory_equal(&missing, &none, sizeof(none));
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_missing),
		TEST(a_run_goes_on_from_block_to_block),
		TEST(another_reason_is_another_row),
		TEST(links_have_rows_of_their_own),
		TEST(the_stream_that_misses_most_counts_for_its_link),
		TEST(where_a_recording_begins_and_ends_nothing_is_lost),
		TEST(in_the_middle_the_same_is_a_loss),
		TEST(a_link_that_was_down_is_no_edge),
		TEST(to_find_the_frames_takes_some),
		TEST(blocks_that_did_not_come),
		TEST(in_words),
		TEST(another_epoch_is_another_row),
		TEST(it_can_be_kept_as_bytes),
		TEST(an_error_on_a_row_ends_the_call),
		TEST(any_numbers_may_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
