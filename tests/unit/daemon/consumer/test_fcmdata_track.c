/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libfcmdata's memory: what is a repeat, what is missing, whose it was, and whether the daemon waits for
 * an acknowledgement. Blocks are 80 frames, slices 20 blocks. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/consumer/fcmdata_private.h"

#define BLOCK  80u
#define RESENT FCM_BLOCK_RESENT
#define TRACKS 128u /* as many are remembered: floors, epochs, lengths */

static struct tracks *tracks;
static struct fcmdata_block taken; /* the last one */
static bool late;

static int set_up(void **state)
{
	tracks = libfcmdata_tracks_create(TRACKS_MEMBER);
	if (tracks) {
		libfcmdata_tracks_restart(tracks);
	}
	return tracks ? 0 : -1;
}

static int set_up_sole(void **state)
{
	tracks = libfcmdata_tracks_create(TRACKS_SOLE);
	return tracks ? 0 : -1;
}

static int set_up_monitor(void **state)
{
	tracks = libfcmdata_tracks_create(TRACKS_MONITOR);
	return tracks ? 0 : -1;
}

static int tear_down(void **state)
{
	libfcmdata_tracks_destroy(tracks);
	return 0;
}

static struct fcmdata_block block(uint32_t epoch, uint64_t n, uint32_t frames, uint32_t flags)
{
	struct fcmdata_block b = {
		.header = {.link = 1,
			   .tower = 1,
			   .floor = 2,
			   .dma_epoch = epoch,
			   .flags = flags,
			   .frames = frames,
			   .first_frame = n * BLOCK,
			   .sequence = (uint64_t)epoch << 40 | n},
	};

	b.key = (struct fcm_ack){
		.sequence = b.header.sequence, .link = 1, .tower = 1, .floor = b.header.floor};
	b.key.block_frames = n > 0 ? BLOCK : 0;
	return b;
}

/* One of another length. */
static struct fcmdata_block long_block(uint64_t n, uint32_t frames, uint32_t flags)
{
	struct fcmdata_block b = block(5, n, frames, flags);

	b.header.first_frame = n * frames;
	b.key.block_frames = frames;
	return b;
}

static void take_it(struct fcmdata_block b)
{
	assert_int_equal(libfcmdata_tracks_take(tracks, true, &b, &late), 0);
	taken = b;
}

/* Block `n` comes, flagged so. */
static void take(uint64_t n, uint32_t flags)
{
	take_it(block(5, n, BLOCK, flags));
}

/* Nothing special about it. */
static void take_new(uint64_t n, uint32_t flags)
{
	take(n, flags);
	assert_false(taken.repeat || taken.again || late);
	assert_int_equal(taken.gap_frames + taken.gap_lost, 0);
}

static bool ack(uint64_t n)
{
	const struct fcmdata_block b = block(5, n, BLOCK, 0);

	return libfcmdata_tracks_ack(tracks, &b.key);
}

static void expect_gap(uint64_t first, uint64_t blocks, uint64_t lost_blocks)
{
	assert_int_equal(taken.gap_first, blocks ? first * BLOCK : 0);
	assert_int_equal(taken.gap_frames, blocks * BLOCK);
	assert_int_equal(taken.gap_lost, lost_blocks * BLOCK);
}

static void test_repeats(void **state)
{
	take_new(1000, 0);
	take_new(1001, 0);
	take_new(1002, 0);
	assert_true(ack(1001));
	assert_false(ack(1001)); /* once is enough */
	take(1001, RESENT);
	assert_true(taken.repeat && !taken.again && !late);
	assert_true(ack(1001)); /* it was sent again: the daemon waits again */
	take(1002, RESENT);
	assert_true(taken.again && !taken.repeat);
	take_new(1003, RESENT); /* flagged, but not had */
	assert_true(ack(1002));
	take(1002, RESENT);
	assert_true(taken.repeat);
	take(990, RESENT); /* before the first: others had it */
	assert_false(taken.repeat || taken.again);
	assert_true(late);
	assert_true(ack(990));
	assert_false(ack(123456)); /* never had */
	assert_false(ack(1004));   /* the next one */
	assert_false(ack(12));
}

/* Blocks of the same number of another link, floor, stream or epoch: each is known by itself, in whatever order they come
 * again. */
static void test_repeats_of_many_streams(void **state)
{
	struct fcmdata_block b[6];

	for (unsigned i = 0; i < 6; i++) {
		b[i] = block(i == 5 ? 6 : 5, 1000, BLOCK, 0);
		b[i].key.link = b[i].header.link = i == 1 ? 2 : 1;
		b[i].key.tower = b[i].header.tower = i == 2 ? 2 : 1;
		b[i].key.floor = b[i].header.floor = i == 3 ? 3 : 2;
		b[i].key.stream = b[i].header.stream = i == 4 ? FCM_INSTRUMENT : FCM_PMT;
		take_it(b[i]);
		assert_false(taken.repeat || taken.again);
		assert_true(libfcmdata_tracks_ack(tracks, &b[i].key));
	}
	for (unsigned i = 0; i < 6; i++) {
		unsigned k = i * 5 % 6; /* 0, 5, 4, 3, ... */

		b[k].header.flags = RESENT;
		take_it(b[k]);
		assert_true(taken.repeat);
	}
	for (unsigned i = 0; i < 6; i++) {
		take_it(b[i]);
		assert_true(taken.repeat);
	}
}

/* What was handed out before a HELLO is not awaited behind it, until it comes again. */
static void test_memberships(void **state)
{
	take_new(1000, 0);
	take_new(1001, 0);
	assert_true(ack(1000));
	libfcmdata_tracks_restart(tracks);
	assert_false(ack(1001));
	take(1001, RESENT);
	assert_true(taken.repeat);
	assert_true(ack(1001));
	take(1000, RESENT);
	assert_true(taken.repeat);
	assert_true(ack(1000));
}

static void test_gaps_of_a_group(void **state)
{
	take_new(1003, 0); /* the first of all: nothing is known before */
	take(1005, 0);
	expect_gap(1004, 1, 1); /* inside the slice */
	take(1023, 0);
	expect_gap(1006, 17, 14); /* the slice's rest was ours; the next one's head perhaps not */
	take(1065, 0);
	expect_gap(1024, 41, 16); /* two slices may have been others' */
	take_new(1066, 0);
	take(1099, 0);
	expect_gap(1067, 32, 13);
	take(1121, 0); /* behind a slice's end: whoever got the next */
	expect_gap(1100, 21, 0);
}

static void test_gaps_that_are_not_certain(void **state)
{
	struct fcmdata_block b;

	take_new(1003, RESENT); /* left behind by another member, who may have had the next, too */
	take(1005, RESENT);
	expect_gap(1004, 1, 0);
	take_new(1006, 0); /* never sent before, so what follows was not either */
	take(1008, 0);
	expect_gap(1007, 1, 1);
	libfcmdata_tracks_restart(tracks); /* others may have had the slice meanwhile */
	take(1010, 0);
	expect_gap(1009, 1, 0);
	b = block(5, 1012, BLOCK, 0);
	b.header.time_epoch = 1; /* another label: another slice */
	take_it(b);
	expect_gap(1011, 1, 0);
	b = block(5, 1014, BLOCK, FCM_BLOCK_NO_TIME);
	b.header.time_epoch = 1;
	take_it(b);
	expect_gap(1013, 1, 0);
}

static void test_gaps_of_a_sole_member(void **state)
{
	take_new(1003, 0);
	take(1050, 0);
	expect_gap(1004, 46, 46);
	libfcmdata_tracks_restart(tracks);
	take(1050, RESENT);
	assert_true(taken.again);
	expect_gap(0, 0, 0);
	take(1052, 0);
	expect_gap(1051, 1, 1);
	take(1051, RESENT); /* not lost after all */
	assert_true(late);
	expect_gap(0, 0, 0);
	take_new(1053, 0);
	take(1060, FCM_BLOCK_STEP); /* numbers that may never have been */
	expect_gap(1054, 6, 0);
}

/* It was killed with 1002 in hand and 1003 to 1009 acknowledged: the first alone comes again. */
static void test_a_sole_member_that_was_restarted(void **state)
{
	take_new(1002, RESENT);
	take(1010, RESENT);
	expect_gap(1003, 7, 0);
	take(1012, 0);
	expect_gap(1011, 1, 0);
	take(1014, 0); /* sent to nobody before: so was what follows */
	expect_gap(1013, 1, 1);
}

/* What others had acknowledged comes to it all the same. */
static void test_gaps_of_a_monitor(void **state)
{
	take_new(1003, RESENT);
	take(1050, 0);
	expect_gap(1004, 46, 46);
	take(1060, FCM_BLOCK_STEP);
	expect_gap(1051, 9, 0);
}

/* A monitor gets its blocks in order: a number that goes back belongs to another life of the board. */
static void test_lives_of_a_monitor(void **state)
{
	static const struct {
		uint32_t epoch, flags, first, missed;
	} cases[] = {
		{5, 0, 800, 0},
		{5, 0, 880, 0},
		{5, 0, 1040, 80},
		{5, RESENT, 960, 0},	      /* after all */
		{5, 0, 1120, 0},	      /* the line goes on */
		{5, FCM_BLOCK_STEP, 1600, 0}, /* there may never have been such frames */
		{5, RESENT, 1760, 80},
		{5, 0, 160, 0}, /* another life of the board */
		{5, 0, 320, 80},
		{6, 0, 80000, 0}, /* another DMA epoch */
		{5, RESENT, 400, 0},
		{6, 0, 80080, 0},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		take_it(block(cases[i].epoch, cases[i].first / BLOCK, BLOCK, cases[i].flags));
		assert_int_equal(taken.gap_lost, cases[i].missed);
	}
}

/* GAP blocks stand for many sequences; two floors may share a block's frames; what another member left
 * may come late. None of it is a gap. */
static void test_what_is_no_gap(void **state)
{
	struct fcmdata_block b;

	take_new(1019, 0);
	take_it(block(5, 1020, 1600, FCM_BLOCK_GAP));
	expect_gap(0, 0, 0);
	take_new(1040, 0);
	b = block(5, 1041, BLOCK, 0);
	take_it(b);
	b.header.floor = b.key.floor = 3;
	take_it(b);
	assert_false(taken.repeat || taken.again || late);
	expect_gap(0, 0, 0);
	b = block(5, 1042, BLOCK, 0);
	b.header.floor = b.key.floor = 3; /* the fibre was swapped: the line goes on */
	take_it(b);
	expect_gap(0, 0, 0);
	take(1080, 0);
	expect_gap(1043, 37, 17);
	take(1061, RESENT);
	assert_true(late);
	expect_gap(0, 0, 0);
	take(1062, 0); /* of the other's slice, sent to nobody before */
	assert_true(late);
	expect_gap(0, 0, 0);
	take_new(1081, 0);
	b = block(5, 900, BLOCK, 0);
	b.header.stream = b.key.stream = FCM_HYDROPHONE; /* a line of its own */
	take_it(b);
	expect_gap(0, 0, 0);
}

/* A block that goes beyond the line's end moves it; one that ends there and begins before the last one is late. */
static void test_blocks_that_overlap(void **state)
{
	struct fcmdata_block b = block(5, 1018, 2 * BLOCK, 0);

	take_new(1019, 0);
	b.header.floor = b.key.floor = 3;
	take_it(b);
	assert_true(late);
	expect_gap(0, 0, 0);
	b = block(5, 1019, 2 * BLOCK, 0);
	b.header.floor = b.key.floor = 3;
	take_it(b);
	assert_false(late);
	expect_gap(0, 0, 0);
	take_new(1021, 0);
}

static void test_the_board_begins_anew(void **state)
{
	take_new(1000, 0);
	assert_true(ack(1000));
	take_it(block(6, 0, BLOCK, 0)); /* another DMA epoch */
	assert_false(taken.repeat || taken.again || late);
	expect_gap(0, 0, 0);
	take_it(block(6, 2, BLOCK, 0));
	expect_gap(1, 1, 1);
	take_it(block(5, 1001, BLOCK, RESENT)); /* a straggler of the former */
	expect_gap(0, 0, 0);
	take_it(block(6, 3, BLOCK, 0));
	expect_gap(0, 0, 0);
	take(1000, 0); /* not flagged: no repeat, but the driver's counts from 1 again */
	assert_false(taken.repeat || taken.again || late);
	expect_gap(0, 0, 0);
	take_new(1001, 0);
	take(1001, RESENT);
	assert_true(taken.again);
	take_it(block(5, 100000000, BLOCK, 0));
	take(1002, 0); /* far behind what is remembered, and not flagged */
	assert_false(taken.repeat || taken.again || late);
	expect_gap(0, 0, 0);
	take_new(1003, 0);
}

static void test_other_block_lengths(void **state)
{
	struct fcmdata_block b = block(5, 10000, 8, RESENT);

	take_new(999, 0);
	take_new(1000, 0);
	b.header.first_frame = 80080; /* block 10010 of 8 frames: right behind */
	b.header.sequence = b.key.sequence = 5ull << 40 | 10010;
	b.key.block_frames = 8;
	take_it(b);
	assert_false(taken.repeat || taken.again || late);
	expect_gap(0, 0, 0);
	b.header.sequence = b.key.sequence = 5ull << 40 | 1001; /* and back again */
	b.header.frames = b.key.block_frames = BLOCK;
	take_it(b);
	assert_false(taken.repeat || taken.again);
}

/* By number and length: a repeat is recognised whatever came in between, and nothing else is called
 * a repeat. */
static void test_repeats_over_a_change_of_length(void **state)
{
	struct fcmdata_block b = long_block(5010, 16, 0); /* right after 1001 of 80 frames */

	take_new(1000, 0);
	take_new(1001, 0);
	assert_true(ack(1000));
	take_it(b);
	assert_false(taken.repeat || taken.again || late);
	expect_gap(0, 0, 0);
	assert_true(libfcmdata_tracks_ack(tracks, &b.key));
	assert_false(libfcmdata_tracks_ack(tracks, &b.key));
	take(1000, RESENT);
	assert_true(taken.repeat);
	take(1001, RESENT);
	assert_true(taken.again);
	assert_true(ack(1001));
	b.header.flags = RESENT;
	take_it(b);
	assert_true(taken.repeat);
	take_it(long_block(5011, 16, RESENT));
	assert_false(taken.repeat || taken.again);
	take(5010, 0); /* the same number, other frames */
	assert_false(taken.repeat || taken.again);
	take(5011, RESENT);
	assert_false(taken.repeat || taken.again);
	assert_true(ack(5011));
	take_it(long_block(5011, 16, RESENT)); /* that one was not acknowledged */
	assert_true(taken.again && !taken.repeat);
	take(1001, 0); /* not flagged: another life of the board, with any length */
	assert_false(taken.repeat || taken.again);
	take_it(b);
	assert_false(taken.repeat || taken.again);
}

/* What an earlier life of the consumer had processed is a repeat when it comes again; without the flag it is of another
 * life of the board. */
static void test_books_of_an_earlier_life(void **state)
{
	const struct fcm_ack key = block(5, 1000, BLOCK, 0).key;

	for (uint64_t n = 1000; n < 1004; n++) {
		const struct fcmdata_block b = block(5, n, BLOCK, 0);

		assert_int_equal(libfcmdata_tracks_remember(tracks, &b.key), 0);
	}
	for (uint64_t n = 1000; n < 1004; n++) {
		take(n, RESENT);
		assert_true(taken.repeat);
	}
	take_new(1004, RESENT);
	libfcmdata_tracks_destroy(tracks);
	assert_int_equal(set_up(state), 0);
	assert_int_equal(libfcmdata_tracks_remember(tracks, &key), 0);
	take_new(1000, 0);
}

/* Of two lengths that a key without one may mean, that which was used last. */
static void test_a_key_without_a_length_means_the_last_one_used(void **state)
{
	struct fcmdata_block b = long_block(1000, 16, 0);
	struct fcm_ack key = b.key;

	key.block_frames = 0;
	take_it(block(5, 1000, BLOCK, 0));
	take_it(b);
	assert_true(libfcmdata_tracks_ack(tracks, &key));
	b.header.flags = RESENT;
	take_it(b);
	assert_true(taken.repeat);
	take(1000, RESENT);
	assert_true(taken.again);
	assert_true(libfcmdata_tracks_ack(tracks, &key));
	take(1000, RESENT);
	assert_true(taken.repeat);
}

/* Books from before keys had a length: they match the length that comes first. */
static void test_keys_without_a_length(void **state)
{
	struct fcm_ack key = block(5, 1000, BLOCK, 0).key;

	key.block_frames = 0;
	assert_int_equal(libfcmdata_tracks_remember(tracks, &key), 0);
	take(1000, RESENT);
	assert_true(taken.repeat);
	assert_true(libfcmdata_tracks_ack(tracks, &key));
	take_new(1001, 0);
	key.sequence++;
	assert_true(libfcmdata_tracks_ack(tracks, &key));
	take(1001, RESENT);
	assert_true(taken.repeat);
}

/* Old things are forgotten, not mistaken. */
static void test_the_window(void **state)
{
	for (uint64_t n = 1000; n < 1000 + 70010; n++) {
		take_new(n, 0);
		assert_true(ack(n));
	}
	take(1000, RESENT);
	assert_false(taken.repeat || taken.again);
	assert_true(ack(1000));
	take(1000 + 70010 - 65536, RESENT);
	assert_true(taken.repeat);
	take(1000 + 70010 - 1, RESENT);
	assert_true(taken.repeat);
	take(1000 + 70010 + 65000, 0);
	expect_gap(1000 + 70010, 65000, 10);
	take(1000 + 70010, RESENT);
	assert_false(taken.repeat || taken.again);
	take(1000 + 70010 - 1, RESENT);
	assert_true(taken.repeat);
	take(1000 + 70010 + 65000 + 65536, 0); /* so far on that nothing is remembered */
	take(1000 + 70010 + 65536, RESENT);    /* its place in the window was another's */
	assert_false(taken.repeat || taken.again);
}

/* The place of the next number is that of the oldest one, for which an acknowledgement is due. */
static void test_the_next_number_is_not_the_oldest(void **state)
{
	for (uint64_t n = 1000; n < 1000 + 65536; n++) {
		take_new(n, 0);
	}
	assert_false(ack(1000 + 65536));
	assert_true(ack(1000));
}

/* More floors and epochs than are remembered: the oldest go, nothing grows. */
static void test_many_tracks(void **state)
{
	for (uint32_t epoch = 1; epoch <= 1000; epoch++) {
		take_it(block(epoch, 7, BLOCK, 0));
		take_it(block(epoch, 7, BLOCK, RESENT));
		assert_true(taken.again);
	}
	take_it(block(1, 7, BLOCK, RESENT));
	assert_false(taken.again);
	take_it(block(1000, 7, BLOCK, RESENT));
	assert_true(taken.again);
}

static void take_on_link_0(uint32_t epoch, uint32_t flags)
{
	struct fcmdata_block b = block(epoch, 7, BLOCK, flags);

	b.header.link = b.key.link = 0;
	take_it(b);
}

/* One more than there is room for: the one unused for longest goes. */
static void test_the_track_used_last_is_kept(void **state)
{
	for (uint32_t epoch = 1; epoch <= TRACKS; epoch++) {
		take_on_link_0(epoch, 0);
		assert_false(taken.again);
	}
	take_on_link_0(1, RESENT);
	assert_true(taken.again);
	take_on_link_0(TRACKS + 1, 0);
	take_on_link_0(1, RESENT);
	assert_true(taken.again);
	take_on_link_0(3, RESENT);
	assert_true(taken.again);
	take_on_link_0(2, RESENT);
	assert_false(taken.again);
}

static void test_memory_is_given_back(void **state)
{
	size_t memory = 0;

	for (unsigned i = 0; i < 30; i++) {
		memory = i == 20 ? mallinfo2().uordblks + mallinfo2().hblkhd : memory;
		libfcmdata_tracks_destroy(tracks);
		assert_int_equal(set_up(state), 0);
		take_new(1000, 0);
		take_it(block(6, 1000, BLOCK, 0));
	}
	assert_int_equal(mallinfo2().uordblks + mallinfo2().hblkhd, memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_repeats, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_repeats_of_many_streams, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_memberships, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gaps_of_a_group, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gaps_that_are_not_certain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gaps_of_a_sole_member, set_up_sole, tear_down),
		cmocka_unit_test_setup_teardown(test_a_sole_member_that_was_restarted, set_up_sole,
						tear_down),
		cmocka_unit_test_setup_teardown(test_gaps_of_a_monitor, set_up_monitor, tear_down),
		cmocka_unit_test_setup_teardown(test_lives_of_a_monitor, set_up_monitor, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_no_gap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_blocks_that_overlap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_board_begins_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_block_lengths, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_repeats_over_a_change_of_length, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_books_of_an_earlier_life, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_key_without_a_length_means_the_last_one_used,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_keys_without_a_length, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_window, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_next_number_is_not_the_oldest, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_many_tracks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_track_used_last_is_kept, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_memory_is_given_back, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
