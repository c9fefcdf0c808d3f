// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocks of recordings. That they are those of the daemon, byte by byte, is shown by tests/system/test_python.py;
 * here are the places where a recording begins, ends, breaks off and goes on. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tdm/deframe.h"
#include "tdm/frame.h"
#include "tdm/hit.h"
#include "tdm/le.h"
#include "tdm/blocks/recorded.h"
#include "tests/unit/rig/floor_rig.h"
#include "tests/unit/rig/record_rig.h"

#define BLOCK REC_FRAMES
#define LAG   4u /* frames by which a floor lags its cells */
#define COUNT (REC_ANCHOR + 1600u)
#define ALL   1000u

static struct rec rec;
static struct floor_rig floors[4];
static struct recorded *recorded;

struct got {
	struct fcm_block_header header;
	uint8_t *payload;
};
static struct got got[ALL], before[ALL];
static unsigned got_n, before_n;

static void forget(struct got *list, unsigned *n)
{
	for (unsigned i = 0; i < *n; i++) {
		free(list[i].payload);
	}
	*n = 0;
}

static int set_up(void **state)
{
	rec_init(&rec);
	for (uint8_t i = 0; i < 4; i++) {
		floor_rig_init(&floors[i], 1, (uint8_t)(i + 1));
	}
	return 0;
}

static int tear_down(void **state)
{
	recorded_close(recorded);
	recorded = NULL;
	forget(got, &got_n);
	forget(before, &before_n);
	rec_fini(&rec);
	return 0;
}

/* `n` more frames of the segment's floor. */
static void frames(unsigned n)
{
	static uint8_t cells[REC_FRAMES * TDM_FRAME_BYTES];
	struct floor_rig *floor = &floors[rec.segment.link];

	while (n > 0) {
		unsigned some = n < REC_FRAMES ? n : REC_FRAMES;

		for (unsigned i = 0; i < some; i++) {
			floor_rig_frame(floor, rec.count + i - LAG, cells + i * TDM_FRAME_BYTES);
		}
		rec_cells(&rec, cells, some);
		n -= some;
	}
}

static const struct recorded_config everything = {.from_tai_ns = INT64_MIN,
						  .until_tai_ns = INT64_MAX};

static void begin(const struct recorded_config *config)
{
	recorded_close(recorded);
	recorded = NULL;
	assert_int_equal(recorded_open(rec.directory, config, &recorded), 0);
}

/* All blocks that there are now, added to `got`. Returns how many. */
static unsigned more(void)
{
	const struct fcm_block_header *header;
	const uint8_t *payload;
	unsigned n = 0;
	int r;

	while ((r = recorded_next(recorded, &header, &payload)) > 0) {
		struct got *g = &got[got_n++];

		assert_true(got_n < ALL);
		g->header = *header;
		g->payload = malloc(header->payload_bytes);
		memcpy(g->payload, payload, header->payload_bytes);
		n++;
	}
	assert_int_equal(r, 0);
	return n;
}

static unsigned read_all(const struct recorded_config *config)
{
	forget(got, &got_n);
	begin(config);
	return more();
}

static struct recorded_config pmt(void)
{
	struct recorded_config c = everything;

	c.streams = 1u << FCM_PMT;
	return c;
}

static int64_t tai_of(uint64_t frame)
{
	return (REC_UTC_S + REC_TAI_UTC) * 1000000000ll +
	       ((int64_t)frame - (int64_t)REC_ANCHOR) * TDM_FRAME_NS + REC_DELAY_NS;
}

static const uint8_t *status(const struct got *g)
{
	return g->payload + g->header.status_offset;
}

static unsigned lost(const struct got *g, uint8_t loss)
{
	unsigned n = 0;

	for (unsigned f = 0; f < g->header.frames; f++) {
		n += status(g)[f] == loss;
	}
	return n;
}

/* Hits of a module from block to block: each proves itself, none is missing between the first and the last. */
static unsigned check_hits(unsigned module)
{
	uint64_t next = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < got_n; i++) {
		const struct fcm_block_header *h = &got[i].header;
		uint32_t at = h->channel_offset[module], end = h->channel_offset[module + 1];

		while (at < end) {
			const uint8_t *hit = got[i].payload + at;

			assert_int_equal(floor_rig_hit_bad(hit, 1, h->floor, module), 0);
			if (n > 0) {
				assert_int_equal(floor_rig_hit_counter(hit), next);
			}
			next = floor_rig_hit_counter(hit) + 1;
			at += hit_bytes(hit);
			n++;
		}
	}
	return n;
}

static void frames_come_as_blocks(void **state)
{
	struct recorded_config c = pmt();

	rec.run = 7;
	rec_segment(&rec, 0, 0, 5, COUNT, REC_UTC_S);
	frames(10 * BLOCK + LAG);
	assert_int_equal(read_all(&everything), 11 * FCM_STREAMS);
	for (unsigned i = 0; i < got_n; i++) {
		assert_int_equal(got[i].header.stream, i % FCM_STREAMS);
		assert_int_equal(got[i].header.first_frame,
				 COUNT - BLOCK + i / FCM_STREAMS * BLOCK);
	}
	assert_int_equal(read_all(&c), 11);
	for (unsigned i = 1; i < 10; i++) { /* the first one has LAG frames of its own */
		const struct fcm_block_header *h = &got[i].header;

		assert_int_equal(h->frames, BLOCK);
		assert_int_equal(h->flags, FCM_BLOCK_EMULATED);
		assert_int_equal(h->frames_lost + h->frames_bad, 0);
		assert_int_equal(h->tai_ns, tai_of(h->first_frame));
		assert_int_equal(h->cable_delay_ns, REC_DELAY_NS);
		assert_int_equal(h->run, 7);
		assert_int_equal(h->dma_epoch, 5);
		assert_int_equal(h->item_faults, 0);
		assert_int_equal(h->sequence, 5ull << FCM_SEQUENCE_BITS | h->first_frame / BLOCK);
		assert_int_equal(h->tower, 1);
		assert_int_equal(h->floor, 1);
	}
	for (unsigned m = 0; m < TDM_MODULES; m++) {
		assert_true(check_hits(m) > 10);
	}
}

/* Frames before the first and behind the last cell are no loss of the link. */
static void edges_are_not_recorded(void **state)
{
	struct recorded_config c = pmt();

	rec_segment(&rec, 0, 0, 5, COUNT + 6, REC_UTC_S);
	frames(2 * BLOCK);
	assert_int_equal(read_all(&c), 3);
	assert_int_equal(got[0].header.first_frame, COUNT);
	assert_int_equal(lost(&got[0], TDM_LOSS_BOARD_FIFO), 6 - LAG);
	assert_int_equal(lost(&got[0], TDM_GOOD), BLOCK - (6 - LAG));
	assert_int_equal(lost(&got[1], TDM_GOOD), BLOCK);
	assert_int_equal(lost(&got[2], TDM_GOOD), 6 - LAG);
	assert_int_equal(lost(&got[2], TDM_LOSS_BOARD_FIFO), BLOCK - (6 - LAG));
}

static void a_block_goes_on_in_the_next_segment(void **state)
{
	struct recorded_config c = pmt();

	rec_segment(&rec, 0, 3, 5, COUNT + LAG, REC_UTC_S);
	frames(BLOCK + 7);
	rec_segment(&rec, 0, 4, 5, rec.count, REC_UTC_S);
	frames(BLOCK - 7);
	assert_int_equal(read_all(&c), 2);
	assert_int_equal(lost(&got[0], TDM_GOOD), BLOCK);
	assert_int_equal(lost(&got[1], TDM_GOOD), BLOCK);
	assert_true(check_hits(0) > 0);
}

static void links_come_by_count(void **state)
{
	struct recorded_config c = pmt();

	for (unsigned link = 0; link < 3; link += 2) {
		rec_segment(&rec, link, 0, 5, COUNT + LAG, REC_UTC_S);
		frames(3 * BLOCK);
	}
	assert_int_equal(read_all(&c), 6);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(got[i].header.link, i % 2 * 2);
		assert_int_equal(got[i].header.first_frame, COUNT + i / 2 * BLOCK);
	}
	c.links = 1u << 2;
	assert_int_equal(read_all(&c), 3);
	assert_int_equal(got[0].header.floor, 3);
}

static void epochs_follow_each_other(void **state)
{
	struct recorded_config c = pmt();

	rec_segment(&rec, 0, 0, 5, COUNT + 800 + LAG, REC_UTC_S);
	frames(BLOCK);
	rec_segment(&rec, 0, 1, 6, COUNT + LAG, REC_UTC_S);
	frames(BLOCK);
	assert_int_equal(read_all(&c), 2);
	assert_int_equal(got[0].header.dma_epoch, 5);
	assert_int_equal(got[0].header.first_frame, COUNT + 800);
	assert_int_equal(got[1].header.dma_epoch, 6);
	assert_int_equal(got[1].header.first_frame, COUNT);
}

static void a_missing_segment_is_a_hole(void **state)
{
	struct recorded_config c = pmt();

	rec_segment(&rec, 0, 0, 5, COUNT + LAG, REC_UTC_S);
	frames(BLOCK);
	rec_segment(&rec, 0, 2, 5, COUNT + LAG + 10 * BLOCK, REC_UTC_S);
	frames(BLOCK);
	assert_int_equal(read_all(&c), 2);
	assert_int_equal(got[1].header.first_frame, COUNT + 10 * BLOCK);
	assert_int_equal(lost(&got[1], TDM_GOOD), BLOCK);
}

static void gaps_are_losses_by_name(void **state)
{
	struct recorded_config c = pmt();

	rec_segment(&rec, 0, 0, 5, COUNT + LAG, REC_UTC_S);
	frames(BLOCK / 2);
	rec_gap(&rec, TDM_LOSS_RING_FULL, 2);
	rec_let_go(&rec, 3);
	frames(BLOCK / 2 - 5 + BLOCK);
	assert_int_equal(read_all(&c), 2);
	assert_int_equal(lost(&got[0], TDM_LOSS_RING_FULL), 2);
	assert_int_equal(lost(&got[0], TDM_LOSS_BOARD_FIFO), 3);
	assert_int_equal(got[0].header.frames_lost, 5);
}

/* A dark link for an hour: one GAP a slice, without the hour in memory. */
static void a_long_gap_is_gap_blocks(void **state)
{
	struct recorded_config c = pmt();

	rec_segment(&rec, 0, 0, 5, COUNT + LAG, REC_UTC_S);
	frames(BLOCK);
	rec_gap(&rec, TDM_LOSS_LINK_DOWN, 400 * 1600);
	frames(3 * BLOCK);
	assert_in_range(read_all(&c), 500,
			505); /* the blocks of a slice that has a good one are no GAP */
	assert_int_equal(got[got_n / 2].header.flags & FCM_BLOCK_GAP, FCM_BLOCK_GAP);
	assert_int_equal(got[got_n / 2].header.frames, FCM_SLICE_FRAMES);
	assert_int_equal(got[got_n / 2].header.frames_lost, FCM_SLICE_FRAMES);
}

static void runs_begin_at_a_slice(void **state)
{
	struct recorded_config c = pmt();
	uint64_t border = COUNT + 1600;

	rec.run = 1;
	rec_segment(&rec, 0, 0, 5, border - 4 * BLOCK + LAG, REC_UTC_S);
	frames(4 * BLOCK - LAG + 5);
	rec.run = 2;
	rec_segment(&rec, 0, 1, 5, rec.count, REC_UTC_S);
	frames(4 * BLOCK);
	read_all(&c);
	for (unsigned i = 0; i < got_n; i++) {
		assert_int_equal(got[i].header.run, got[i].header.first_frame >= border ? 2 : 1);
	}
	c.run = 2;
	assert_int_equal(read_all(&c), 5);
	assert_int_equal(got[0].header.first_frame, border);
	assert_int_equal(lost(&got[0], TDM_GOOD), BLOCK); /* the deframer had its run-up */
	c.run = 1;
	assert_int_equal(read_all(&c), 4);
	c.run = 3;
	assert_int_equal(read_all(&c), 0);
}

static void damage_ends_a_segment(void **state)
{
	struct recorded_config c = pmt();
	const char *text;
	uint8_t *bytes;
	size_t length;

	rec_segment(&rec, 0, 0, 5, COUNT + LAG, REC_UTC_S);
	frames(3 * BLOCK);
	rec_end(&rec);
	bytes = rec_load(rec.path, &length);
	bytes[length - 2 * BLOCK * TDM_FRAME_BYTES]++;
	rec_store(rec.path, bytes, length);
	free(bytes);
	rec_segment(&rec, 0, 1, 5, rec.count, REC_UTC_S);
	frames(BLOCK);
	read_all(&c);
	assert_int_equal(got[0].header.first_frame, COUNT);
	assert_int_equal(got[got_n - 1].header.first_frame, COUNT + 3 * BLOCK);
	assert_int_equal(lost(&got[got_n - 1], TDM_GOOD), BLOCK);
	assert_int_equal(recorded_troubles(recorded, &text), 1);
	assert_non_null(strstr(text, "link0-00000.fcmr: damaged at byte "));
}

/* The writer was killed: what is there is whole. */
static void a_cut_segment_is_no_trouble(void **state)
{
	struct recorded_config c = pmt();
	const char *text;
	uint8_t *bytes;
	size_t length;

	rec_segment(&rec, 0, 0, 5, COUNT + LAG, REC_UTC_S);
	frames(2 * BLOCK);
	rec_end(&rec);
	bytes = rec_load(rec.path, &length);
	rec_store(rec.path, bytes, length - 1);
	free(bytes);
	assert_int_equal(read_all(&c), 1);
	assert_int_equal(recorded_troubles(recorded, &text), 0);
	assert_null(text);
}

/* From a time on, as from the beginning: the same blocks, bit by bit. */
static void times_limit(void **state)
{
	struct recorded_config c = pmt();
	unsigned first = 0;

	rec_segment(&rec, 0, 0, 5, COUNT + LAG, REC_UTC_S);
	frames(20 * BLOCK);
	rec_segment(&rec, 0, 1, 5, rec.count, REC_UTC_S);
	frames(20 * BLOCK);
	read_all(&c);
	memcpy(before, got, sizeof(got));
	before_n = got_n;
	got_n = 0;
	for (unsigned from = 0; from < before_n; from += 3) {
		c.from_tai_ns = before[from].header.tai_ns + BLOCK * TDM_FRAME_NS / 2;
		c.until_tai_ns = c.from_tai_ns + 2 * BLOCK * TDM_FRAME_NS;
		first = from;
		assert_int_equal(read_all(&c), before_n - from < 3 ? before_n - from : 3);
		for (unsigned i = 0; i < got_n; i++) {
			const struct got *b = &before[first + i];

			assert_memory_equal(&got[i].header, &b->header, sizeof(b->header));
			assert_memory_equal(got[i].payload, b->payload, b->header.payload_bytes);
		}
	}
	c.from_tai_ns = before[before_n - 1].header.tai_ns + 1000000000;
	c.until_tai_ns = INT64_MAX;
	assert_int_equal(read_all(&c), 0);
}

/* Wherever reading begins and ends, in the first or the last ns of a block, and in the dark, too. */
static void a_seek_loses_nothing(void **state)
{
	const uint32_t block = 80;
	struct recorded_config c = everything;

	rec_segment(&rec, 0, 0, 5, COUNT + LAG, REC_UTC_S);
	frames(12 * block + 3);
	rec_gap(&rec, TDM_LOSS_LINK_DOWN, 1000);
	rec_gap(&rec, TDM_LOSS_LINK_DOWN, 2500);
	frames(12 * block);
	rec_label(&rec, 2, 0);
	frames(10 * block);
	c.block_frames = block;
	read_all(&c);
	memcpy(before, got, sizeof(got));
	before_n = got_n;
	got_n = 0;
	for (unsigned i = 0; i < before_n; i += FCM_STREAMS) {
		const struct fcm_block_header *h = &before[i].header;
		int64_t end_ns = h->tai_ns + (int64_t)h->frames * TDM_FRAME_NS;
		int64_t from[] = {h->tai_ns, h->tai_ns + 1, end_ns - 1};

		for (unsigned f = 0; f < sizeof(from) / sizeof(from[0]); f++) {
			c.from_tai_ns = from[f];
			c.until_tai_ns = from[f] + 1;
			assert_int_equal(read_all(&c), FCM_STREAMS);
			for (unsigned s = 0; s < FCM_STREAMS; s++) {
				const struct got *b = &before[i + s];

				assert_memory_equal(&got[s].header, &b->header, sizeof(b->header));
				assert_memory_equal(got[s].payload, b->payload,
						    b->header.payload_bytes);
			}
		}
	}
}

static void a_label_dates_what_follows(void **state)
{
	struct recorded_config c = pmt();

	rec_segment(&rec, 0, 0, 5, COUNT + LAG, REC_UTC_S);
	frames(2 * BLOCK);
	rec_label(&rec, 2, 3);
	frames(2 * BLOCK);
	assert_int_equal(read_all(&c), 4);
	assert_int_equal(got[0].header.time_epoch, 1);
	assert_int_equal(got[0].header.tai_ns, tai_of(COUNT));
	assert_int_equal(got[3].header.time_epoch, 2);
	assert_int_equal(got[3].header.tai_ns, tai_of(COUNT + 3 * BLOCK) + 3000000000ll);
	for (unsigned i = 1; i < 4; i++) {
		bool new = got[i].header.time_epoch != got[i - 1].header.time_epoch;

		assert_int_equal(got[i].header.flags & FCM_BLOCK_RELABEL,
				 new ? FCM_BLOCK_RELABEL : 0);
	}
}

static void a_growing_recording_is_followed(void **state)
{
	struct recorded_config c = pmt();

	c.follow = true;
	rec_segment(&rec, 0, 0, 5, COUNT + LAG, REC_UTC_S);
	frames(2 * BLOCK + 1);
	begin(&c);
	assert_int_equal(more(), 2);
	frames(BLOCK);
	assert_int_equal(more(), 1);
	assert_int_equal(more(), 0);
	rec_segment(&rec, 0, 1, 5, rec.count, REC_UTC_S);
	rec_segment(&rec, 0, 1, 5, rec.count, REC_UTC_S);
	frames(2 * BLOCK);
	assert_int_equal(more(), 0); /* now it has found the new segment */
	assert_int_equal(more(), 2);
	for (unsigned i = 0; i < got_n; i++) {
		assert_int_equal(got[i].header.first_frame, COUNT + i * BLOCK);
		assert_int_equal(lost(&got[i], TDM_GOOD), BLOCK);
	}
}

static void what_cannot_be_opened(void **state)
{
	struct recorded_config c = everything;
	struct recorded *r = NULL;

	assert_int_equal(recorded_open(rec.directory, &c, &r), -ENODATA);
	assert_int_equal(recorded_open("/nowhere", &c, &r), -ENOENT);
	c.block_frames = 7;
	assert_int_equal(recorded_open(rec.directory, &c, &r), -EINVAL);
	assert_null(r);
}

static void other_lengths_may_be_asked_for(void **state)
{
	struct recorded_config c = pmt();

	rec_segment(&rec, 0, 0, 5, COUNT + LAG, REC_UTC_S);
	frames(10 * BLOCK);
	c.block_frames = 32;
	assert_int_equal(read_all(&c), 5);
	assert_int_equal(got[2].header.frames, 32);
	assert_true(check_hits(3) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(frames_come_as_blocks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(edges_are_not_recorded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_block_goes_on_in_the_next_segment, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(links_come_by_count, set_up, tear_down),
		cmocka_unit_test_setup_teardown(epochs_follow_each_other, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_missing_segment_is_a_hole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gaps_are_losses_by_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_long_gap_is_gap_blocks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(runs_begin_at_a_slice, set_up, tear_down),
		cmocka_unit_test_setup_teardown(damage_ends_a_segment, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_cut_segment_is_no_trouble, set_up, tear_down),
		cmocka_unit_test_setup_teardown(times_limit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_seek_loses_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_label_dates_what_follows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_growing_recording_is_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_cannot_be_opened, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_lengths_may_be_asked_for, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
