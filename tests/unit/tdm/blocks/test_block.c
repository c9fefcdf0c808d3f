/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks: what is in the frames is in the block, once, whole, stamped; what is not whole is counted.
 * The pool: test_block_pool.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tdm/blocks/block.h"
#include "tdm/deframe.h"
#include "tdm/hit_run.h"
#include "tdm/le.h"
#include "tests/unit/rig/floor_rig.h"

/* The real one, and a processor that has not what it takes. */
bool real_hit_run(struct hit_run *runs, unsigned n, uint64_t stamp_bits);
#define hit_run(...) real_hit_run(__VA_ARGS__)
#include "tdm/hit_run.c"
#include "tests/system/stamped_hit.h"
#undef hit_run
static bool careful;
static uint64_t walked; /* bytes that the real one was given */
bool hit_run(struct hit_run *runs, unsigned n, uint64_t stamp_bits)
{
	for (unsigned i = 0; i < n; i++) {
		walked += runs[i].bytes;
	}
	return !careful && real_hit_run(runs, n, stamp_bits);
}

#define FRAMES	 80u
#define FIRST	 (4000u * 8000u + 7920u) /* the last block of a second */
#define TAI_UTC	 37
#define UTC_ZERO 1700000000ll /* UTC second that frame 0 begins */

/* A block and its memory. */
struct built {
	struct fcm_block_header header;
	uint8_t *payload;
	size_t capacity;
};

static struct rig {
	struct floor_rig floor;
	uint8_t bytes[FRAMES + 1][TDM_FRAME_BYTES];
	struct block_frame in[FRAMES];
	struct block_plan plan;
	struct built block;
} R;

static struct label label_at(int64_t utc_s_of_zero)
{
	return (struct label){
		.time_epoch = 3,
		.source = LABEL_GPSD,
		.state = CLOCK_LOCKED,
		.uncertainty_ns = 40,
		.tai_utc_s = TAI_UTC,
		.anchor_count = 0,
		.anchor_tai_ns = (utc_s_of_zero + TAI_UTC) * 1000000000,
		.leap_tai_ns = INT64_MAX,
	};
}

/* A block of good frames, the frame behind it known. */
static void make(uint64_t first, int64_t utc_zero)
{
	free(R.block.payload);
	memset(&R, 0, sizeof(R));
	floor_rig_init(&R.floor, 1, 7);
	R.floor.utc_s = utc_zero;
	for (unsigned f = 0; f <= FRAMES; f++) {
		floor_rig_frame(&R.floor, first + f, R.bytes[f]);
		if (f < FRAMES) {
			R.in[f].frame = R.bytes[f];
		}
	}
	R.plan = (struct block_plan){
		.stream = FCM_PMT,
		.link = 2,
		.tower = 1,
		.floor = 7,
		.run = 9,
		.dma_epoch = 5,
		.first_frame = first,
		.frames = FRAMES,
		.block_frames = FRAMES,
		.in = R.in,
		.after = R.bytes[FRAMES],
		.label = label_at(utc_zero),
	};
}

static void lose(unsigned f, enum tdm_loss loss)
{
	R.in[f] = (struct block_frame){.loss = (uint8_t)loss};
}

static const struct fcm_block_header *build(void)
{
	size_t capacity = block_capacity(&R.plan);

	free(R.block.payload);
	memset(&R.block, 0xa5, sizeof(R.block));
	R.block.payload = malloc(capacity);
	R.block.capacity = capacity;
	memset(R.block.payload, 0x5a, capacity);
	block_build(&R.plan, &R.block.header, R.block.payload);
	assert_true(R.block.header.payload_bytes <= capacity);
	assert_int_equal(R.block.header.payload_crc,
			 tdm_crc32c(R.block.payload, R.block.header.payload_bytes));
	assert_int_equal(R.block.header.header_crc, tdm_crc32c(&R.block.header, 252));
	return &R.block.header;
}

static uint32_t index_of(unsigned channel, unsigned f)
{
	return le32_get(R.block.payload + R.block.header.index_offset +
			4 * (channel * (FRAMES + 1) + f));
}

/* Every hit proves itself, lies in the frame it starts in, and is stamped. Returns how many. */
static unsigned check_hits(unsigned lost_allowed)
{
	const struct fcm_block_header *h = &R.block.header;
	unsigned items = 0, lost = 0;

	for (unsigned m = 0; m < TDM_MODULES; m++) {
		uint64_t next = UINT64_MAX;

		assert_int_equal(index_of(m, 0), h->channel_offset[m]);
		assert_int_equal(index_of(m, FRAMES), h->channel_offset[m + 1]);
		for (unsigned f = 0; f < FRAMES; f++) {
			uint32_t at = index_of(m, f), end = index_of(m, f + 1);

			for (; at < end; at += (uint32_t)hit_bytes(R.block.payload + at)) {
				const uint8_t *hit = R.block.payload + at;

				assert_int_equal(floor_rig_hit_bad(hit, 1, 7, m), 0);
				assert_int_equal(floor_rig_hit_start(hit), h->first_frame + f);
				if (next != UINT64_MAX) {
					lost += (unsigned)(floor_rig_hit_counter(hit) - next);
				}
				next = floor_rig_hit_counter(hit) + 1;
				items++;
			}
			assert_int_equal(at, end);
		}
	}
	assert_int_equal(items, h->items);
	assert_int_equal(lost, lost_allowed);
	return items;
}

static void test_all_good(void **state)
{
	const struct fcm_block_header *h;

	make(FIRST, UTC_ZERO);
	h = build();
	assert_true(check_hits(0) > 1000);
	assert_int_equal(h->item_faults, 0);
	assert_int_equal(h->flags, 0);
	assert_int_equal(h->frames_lost + h->frames_bad, 0);
	assert_int_equal(h->sequence, 5ull << 40 | FIRST / FRAMES);
	assert_int_equal(h->tai_ns, (UTC_ZERO + TAI_UTC + 4000) * 1000000000ll + 7920 * 125000ll);
	assert_int_equal(h->slice_id, ((UTC_ZERO + 4000) * 1000 + 990 - 946684800000ll) / 200);
	for (unsigned f = 0; f < FRAMES; f++) {
		assert_int_equal(R.block.payload[f], TDM_GOOD);
	}
}

/* Stamps, and the item times of the header, against each hit's own numbers. */
static void check_stamps(uint64_t first, int64_t utc_zero, enum hit_day_origin origin)
{
	const struct fcm_block_header *h = &R.block.header;
	int64_t earliest = INT64_MAX, latest = INT64_MIN;

	for (uint32_t at = h->data_offset; at < h->payload_bytes;) {
		const uint8_t *bytes = R.block.payload + at;
		uint64_t start = floor_rig_hit_start(bytes);
		struct hit_stamp stamp;
		struct hit hit;
		uint64_t born;
		int64_t ns;

		hit_unpack(bytes, &hit);
		born = start - hit_age_frames(hit.frame, (unsigned)(start % 8000));
		hit_stamp_of(utc_zero + (int64_t)(born / TDM_FRAMES_PER_SECOND), origin, &stamp);
		assert_int_equal(hit.second, stamp.second);
		assert_int_equal(hit.day_bcd, stamp.day_bcd);
		assert_int_equal(hit.year_bcd, stamp.year_bcd);
		assert_true(hit_legal_stamped(bytes));
		ns = (utc_zero + TAI_UTC) * 1000000000 + (int64_t)born * 125000 + hit.t5ns * 5;
		earliest = ns < earliest ? ns : earliest;
		latest = ns > latest ? ns : latest;
		at += (uint32_t)hit_bytes(bytes);
	}
	assert_int_equal(h->first_item_tai_ns, earliest);
	assert_int_equal(h->last_item_tai_ns, latest);
}

static void test_stamps(void **state)
{
	/* Blocks that begin a second, so that hits of the second before travel in them: inside a day,
	 * at midnight, at the turn of a common and of a leap year. */
	static const int64_t utc[] = {1700000000, 1699920000, 1704067200, 1735689600};

	for (unsigned i = 0; i < 4; i++) {
		for (unsigned origin = 0; origin < 2; origin++) {
			int64_t zero = utc[i] - 4000;

			make(4000ull * 8000, zero);
			R.plan.day_origin = (enum hit_day_origin)origin;
			build();
			check_hits(0);
			check_stamps(4000ull * 8000, zero, (enum hit_day_origin)origin);
			assert_false(R.block.header.flags & FCM_BLOCK_TIME_FAULT);
		}
	}
}

/* An anchor some ns off the second's border changes times by as much, and no second. */
static void test_anchor_off(void **state)
{
	make(FIRST, UTC_ZERO);
	R.plan.label.anchor_tai_ns -= 150;
	R.plan.cable_delay_ns = 1000;
	build();
	assert_int_equal(R.block.header.flags, 0);
	assert_int_equal(R.block.header.slice_id,
			 ((UTC_ZERO + 4000) * 1000 + 990 - 946684800000ll) / 200);
	assert_int_equal(R.block.header.tai_ns,
			 (UTC_ZERO + TAI_UTC + 4000) * 1000000000ll + 7920 * 125000ll + 850);
	assert_int_equal(R.block.header.cable_delay_ns, 1000);
	R.plan.label.anchor_tai_ns += 150;
	R.plan.cable_delay_ns = 0;
	build();
	check_stamps(FIRST, UTC_ZERO, HIT_DAY_FROM_0);
}

/* The floor's label lags true time by the delay down: 490 us are added, across the borders of
 * frames, of a second and of a year. Stamps and slice stay those of the label. */
static void test_delay_is_added_to_the_label(void **state)
{
	static const struct {
		uint64_t first;
		uint32_t frames;
		int64_t utc_zero, tai_ns;
	} rows[] = {
		{4000 * 8000, FRAMES, 1700000000, 1700004037000490004},
		{4000 * 8000 + 7920, FRAMES, 1700000000, 1700004037990490004},
		{4000 * 8000 + 7999, 1, 1700000000, 1700004038000365004},
		/* the last frame of 2024: 23:59:59 UTC, TAI 37 s ahead */
		{4000 * 8000 + 7999, 1, 1735689599 - 4000, 1735689637000365004},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fcm_block_header h[2];

		make(rows[i].first, rows[i].utc_zero);
		R.plan.frames = R.plan.block_frames = rows[i].frames;
		h[0] = *build();
		R.plan.cable_delay_ns = 490004;
		h[1] = *build();
		assert_int_equal(h[1].tai_ns, rows[i].tai_ns);
		assert_int_equal(h[1].cable_delay_ns, 490004);
		assert_int_equal(h[1].tai_ns - h[0].tai_ns, 490004);
		assert_int_equal(h[1].first_item_tai_ns - h[0].first_item_tai_ns, 490004);
		assert_int_equal(h[1].last_item_tai_ns - h[0].last_item_tai_ns, 490004);
		assert_int_equal(h[1].slice_id, h[0].slice_id);
		assert_int_equal(h[1].payload_crc, h[0].payload_crc);
		assert_int_equal(h[1].flags, h[0].flags);
	}
}

static void test_no_time(void **state)
{
	make(FIRST, UTC_ZERO);
	R.plan.label.anchor_tai_ns = FCM_NO_TAI;
	build();
	assert_int_equal(R.block.header.flags, FCM_BLOCK_NO_TIME);
	assert_int_equal(R.block.header.tai_ns, FCM_NO_TAI);
	assert_int_equal(R.block.header.first_item_tai_ns, FCM_NO_TAI);
	assert_int_equal(R.block.header.uncertainty_ns, FCM_NO_UNCERTAINTY);
	check_hits(0);
	for (uint32_t at = R.block.header.data_offset; at < R.block.header.payload_bytes;) {
		struct hit hit;

		hit_unpack(R.block.payload + at, &hit);
		assert_int_equal(hit.second | hit.day_bcd | hit.year_bcd, 0);
		at += (uint32_t)hit_bytes(R.block.payload + at);
	}
}

static void test_leap_second(void **state)
{
	const int64_t midnight = 1483228800; /* 2017-01-01, behind the last leap second */
	struct hit hit;

	/* The block lies in the inserted second. */
	make(FIRST, midnight - 4000);
	R.floor.utc_s = 0;
	R.plan.label.leap_tai_ns = (midnight + TAI_UTC) * 1000000000;
	build();
	assert_true(R.block.header.flags & FCM_BLOCK_TIME_FAULT);
	hit_unpack(R.block.payload + R.block.header.data_offset, &hit);
	assert_int_equal(hit.second, 86399);
	assert_int_equal(hit.day_bcd, 0x365);
	assert_int_equal(hit.year_bcd, 0x16);
	/* The one after it. */
	make(4001ull * 8000 + 160, midnight - 4000);
	R.plan.label.leap_tai_ns = (midnight + TAI_UTC) * 1000000000;
	build();
	hit_unpack(R.block.payload + R.block.header.data_offset, &hit);
	assert_int_equal(hit.second, 0);
	assert_int_equal(hit.day_bcd, 0x000);
	assert_int_equal(hit.year_bcd, 0x17);
}

/* The floors say another second than the label. */
static void test_word_disagrees(void **state)
{
	make(FIRST, UTC_ZERO);
	R.plan.label = label_at(UTC_ZERO + 1024 * 7 * 86400);
	build();
	assert_int_equal(R.block.header.flags, FCM_BLOCK_TIME_FAULT);
}

/* A hit born so long ago that no FIFO could have kept it. */
static void test_too_old(void **state)
{
	make(FIRST, UTC_ZERO);
	R.floor.age_max = 7000;
	for (unsigned f = 0; f <= FRAMES; f++) {
		floor_rig_frame(&R.floor, FIRST + f, R.bytes[f]);
	}
	build();
	assert_int_equal(R.block.header.flags, FCM_BLOCK_TIME_FAULT);
}

/* How many hits of the frame go on in the next one. */
static unsigned crossings(unsigned f)
{
	unsigned n = 0;

	for (unsigned m = 0; m < TDM_MODULES; m++) {
		struct tdm_pmt_slot slot;

		assert_int_equal(tdm_pmt_slot_get(R.bytes[f + 1], m, &slot), 0);
		n += slot.first > 0;
	}
	return n;
}

static void test_after_unknown(void **state)
{
	unsigned whole, cut;

	make(FIRST, UTC_ZERO);
	build();
	whole = check_hits(0);
	R.plan.after = NULL;
	build();
	cut = crossings(FRAMES - 1);
	assert_true(cut > 0);
	assert_int_equal(check_hits(0), whole - cut);
	assert_int_equal(R.block.header.item_faults, cut);
}

static void test_lost_frames(void **state)
{
	unsigned faults, lost = 0;
	const struct fcm_block_header *h;

	make(FIRST, UTC_ZERO);
	/* In the middle, and the last two. */
	lose(20, TDM_LOSS_CRC);
	lose(FRAMES - 2, TDM_LOSS_RING_FULL);
	lose(FRAMES - 1, TDM_LOSS_TIME);
	faults = crossings(19) + crossings(FRAMES - 3);
	h = build();
	assert_int_equal(h->flags, FCM_BLOCK_PARTIAL);
	assert_int_equal(h->frames_lost, 1);
	assert_int_equal(h->frames_bad, 2);
	assert_int_equal(h->item_faults, faults);
	assert_int_equal(R.block.payload[20], TDM_LOSS_CRC);
	assert_int_equal(R.block.payload[FRAMES - 1], TDM_LOSS_TIME);
	/* Hits that start in frame 20, and those of 19 that would end there. */
	for (unsigned m = 0; m < TDM_MODULES; m++) {
		struct tdm_pmt_slot slot;

		tdm_pmt_slot_get(R.bytes[20], m, &slot);
		lost += slot.first > 0;
		for (size_t at = slot.first; at < slot.length;) {
			/* A header cut at the end cannot be read: count it and stop. */
			lost++;
			at += slot.length - at >= HIT_HEADER_BYTES ? hit_bytes(slot.stream + at)
								   : HIT_MAX_BYTES;
		}
		assert_int_equal(index_of(m, 20), index_of(m, 21));
	}
	check_hits(lost);
}

/* A header inside a slot is damaged: the rest of the slot goes, the next frame is found again. */
static void test_bad_hit(void **state)
{
	struct tdm_pmt_slot slot;
	unsigned items, good;

	make(FIRST, UTC_ZERO);
	build();
	items = check_hits(0);
	tdm_pmt_slot_get(R.bytes[40], 3, &slot);
	assert_true(slot.first < slot.length);
	R.bytes[40][slot.stream - R.bytes[40] + slot.first + 2] ^= 0x10;
	build();
	assert_int_equal(R.block.header.item_faults, 1);
	good = R.block.header.items;
	assert_true(good < items && good > items - 20);
	check_hits(items - good);
	/* The slot's own header is out of range: the module's frame is lost, no more. */
	le16_put(R.bytes[40] + TDM_OFF_PMT + 5 * TDM_PMT_SLOT, 1529);
	build();
	assert_true(R.block.header.item_faults > 1);
	check_hits(items - R.block.header.items);
}

/* Slots of a few bytes: hits go on over many frames, headers are cut. */
static void test_tiny_slots(void **state)
{
	make(FIRST, UTC_ZERO);
	for (unsigned limit = 1; limit < 40; limit += 3) {
		floor_rig_init(&R.floor, 1, 7);
		R.floor.utc_s = UTC_ZERO;
		R.floor.slot_limit = limit;
		for (unsigned f = 0; f <= FRAMES; f++) {
			floor_rig_frame(&R.floor, FIRST + f, R.bytes[f]);
		}
		build();
		check_hits(0);
		/* A hit may be cut at the block's end only, one a module. */
		assert_true(R.block.header.item_faults <= TDM_MODULES);
	}
}

static void test_hydrophone(void **state)
{
	make(FIRST, UTC_ZERO);
	lose(5, TDM_LOSS_CRC);
	R.plan.stream = FCM_HYDROPHONE;
	build();
	assert_int_equal(R.block.header.channels, 2);
	assert_int_equal(R.block.header.items, 2 * (FRAMES - 1) * TDM_SAMPLES);
	for (unsigned c = 0; c < 2; c++) {
		assert_int_equal(index_of(c, 0), R.block.header.channel_offset[c]);
		for (unsigned f = 0; f < FRAMES; f++) {
			uint32_t at = index_of(c, f);

			assert_int_equal(index_of(c, f + 1) - at, f == 5 ? 0 : 96);
			for (unsigned i = 0; f != 5 && i < TDM_SAMPLES; i++) {
				assert_int_equal((int32_t)le32_get(R.block.payload + at + 4 * i),
						 floor_rig_sample(7, c, FIRST + f, i));
			}
		}
	}
	assert_int_equal(R.block.header.first_item_tai_ns, R.block.header.tai_ns);
	assert_int_equal(R.block.header.last_item_tai_ns,
			 R.block.header.tai_ns + 79 * 125000ll + 119790);
}

static void test_instrument(void **state)
{
	unsigned records = 0;

	make(FIRST, UTC_ZERO);
	R.plan.stream = FCM_INSTRUMENT;
	build();
	for (unsigned f = 0; f < FRAMES; f++) {
		uint32_t at = index_of(1, f);

		assert_int_equal(index_of(0, f + 1) - index_of(0, f), 64);
		assert_int_equal(le32_get(R.block.payload + index_of(0, f) + 4), FIRST + f);
		if (index_of(1, f + 1) > at) {
			records++;
			assert_int_equal(R.block.payload[at], 2);
			assert_int_equal(R.block.payload[at + 1], 4);
			assert_int_equal(le32_get(R.block.payload + at + 4), FIRST + f);
		}
	}
	assert_int_equal(R.block.header.items, FRAMES + records);
}

static void test_gap(void **state)
{
	static struct block_frame none[1600];

	make(FIRST, UTC_ZERO);
	for (unsigned f = 0; f < 1600; f++) {
		none[f].loss = TDM_LOSS_LINK_DOWN;
	}
	R.plan.in = none;
	R.plan.frames = 1600;
	R.plan.first_frame = 4000ull * 8000;
	R.plan.after = NULL;
	R.plan.flags = FCM_BLOCK_GAP;
	build();
	assert_int_equal(R.block.header.flags, FCM_BLOCK_GAP | FCM_BLOCK_PARTIAL);
	assert_int_equal(R.block.header.payload_bytes, 1600);
	assert_int_equal(R.block.header.frames_lost, 1600);
	assert_int_equal(R.block.header.channels, 0);
	assert_int_equal(R.block.header.sequence, 5ull << 40 | 4000ull * 8000 / FRAMES);
}

/* The same plan makes the same bytes, whatever the memory held before. */
static void test_pure(void **state)
{
	struct fcm_block_header header;
	uint8_t *payload;

	for (unsigned stream = 0; stream < FCM_STREAMS; stream++) {
		make(FIRST, UTC_ZERO);
		lose(11, TDM_LOSS_CRC);
		R.plan.stream = (enum fcm_stream)stream;
		build();
		header = R.block.header;
		payload = R.block.payload;
		R.block.payload = malloc(R.block.capacity);
		memset(R.block.payload, 0xee, R.block.capacity);
		block_build(&R.plan, &R.block.header, R.block.payload);
		assert_memory_equal(&header, &R.block.header, sizeof(header));
		assert_memory_equal(payload, R.block.payload, header.payload_bytes);
		free(payload);
	}
}

static uint64_t dice;
static uint32_t roll(void)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(dice >> 33);
}

/* Frames whose slots are noise: nothing is written outside, every hit in the block is legal. */
static void test_noise(void **state)
{
	make(FIRST, UTC_ZERO);
	for (unsigned round = 0; round < 200; round++) {
		for (unsigned f = 0; f <= FRAMES; f++) {
			for (unsigned i = 0; i < 40; i++) {
				R.bytes[f][32 + roll() % 9960] = (uint8_t)roll();
			}
		}
		R.plan.after = round % 3 ? R.bytes[FRAMES] : NULL;
		R.plan.stream = (enum fcm_stream)(round % 4 < 3 ? FCM_PMT : FCM_INSTRUMENT);
		build();
		if (R.plan.stream != FCM_PMT) {
			continue;
		}
		for (uint32_t at = R.block.header.data_offset; at < R.block.header.payload_bytes;) {
			assert_true(hit_legal(R.block.payload + at));
			at += (uint32_t)hit_bytes(R.block.payload + at);
			assert_true(at <= R.block.header.payload_bytes);
		}
	}
}

/* Whatever is in the frames, hit by hit and by the slot make the same block. */
static void test_quick_is_careful(void **state)
{
	struct built quick;
	unsigned whole = 0;

	for (unsigned round = 0; round < 300; round++) {
		uint64_t first = round % 3 ? FIRST : FIRST + FRAMES; /* born in the second before */
		unsigned damage = round % 2 ? roll() % 40 : 0;

		make(first, UTC_ZERO);
		for (unsigned i = 0; i < damage; i++) {
			R.bytes[roll() % FRAMES][32 + roll() % 9216] = (uint8_t)roll();
		}
		if (round % 5 == 0) {
			lose(roll() % FRAMES, TDM_LOSS_CRC);
		}
		careful = false;
		build();
		whole += R.block.header.item_faults == 0;
		quick = R.block;
		R.block.payload = NULL;
		careful = true;
		build();
		careful = false;
		assert_memory_equal(&quick.header, &R.block.header, sizeof(quick.header));
		assert_memory_equal(quick.payload, R.block.payload, quick.header.payload_bytes);
		free(quick.payload);
	}
	assert_true(whole > 100 && whole < 300);
}

static void test_slices(void **state)
{
	struct label label = {.leap_tai_ns = INT64_MAX};

	label.anchor_tai_ns = 946684800000000000ll + 200000000;
	assert_int_equal(slice_of_frame(&label, 0), 1);
	label.anchor_tai_ns = 0;
	assert_int_equal(slice_of_frame(&label, 0), 0);
}

static int clean(void **state)
{
	free(R.block.payload);
	R.block.payload = NULL;
	return 0;
}

/* A clean block is walked once: no byte twice, except those of crossing hits. */
static void test_a_clean_block_is_walked_once(void **state)
{
	uint64_t bytes = 0;

	make(FIRST, UTC_ZERO);
	for (unsigned f = 0; f < FRAMES; f++) {
		for (unsigned m = 0; m < TDM_MODULES; m++) {
			struct tdm_pmt_slot slot;

			assert_int_equal(tdm_pmt_slot_get(R.bytes[f], m, &slot), 0);
			bytes += (uint64_t)(slot.length - slot.first);
		}
	}
	walked = 0;
	build();
	assert_int_equal(walked, bytes);
}

/* A module that the floor lacks: no data, and no error. */
static void test_a_slot_that_is_not_valid_is_no_fault(void **state)
{
	const struct fcm_block_header *h;

	make(FIRST, UTC_ZERO);
	for (unsigned f = 0; f <= FRAMES; f++) {
		uint8_t *valid = R.bytes[f] + TDM_OFF_SLOT_VALID;

		le16_put(valid, (uint16_t)(le16_get(valid) & ~TDM_VALID_MODULE(3)));
	}
	h = build();
	assert_int_equal(h->item_faults, 0);
	assert_int_equal(index_of(3, FRAMES) - index_of(3, 0), 0);
	assert_true(index_of(2, FRAMES) - index_of(2, 0) > 0);
	check_hits(0);
}

static void test_instrument_items_have_the_times_of_their_frames(void **state)
{
	const struct fcm_block_header *h = &R.block.header;

	make(FIRST, UTC_ZERO);
	R.plan.stream = FCM_INSTRUMENT;
	for (unsigned f = 0; f < 3; f++) {
		lose(f, TDM_LOSS_CRC);
		lose(FRAMES - 1 - f, TDM_LOSS_CRC);
	}
	build();
	assert_int_equal(h->item_faults, 0);
	assert_int_equal(h->first_item_tai_ns, h->tai_ns + 3 * 125000ll);
	assert_int_equal(h->last_item_tai_ns, h->tai_ns + (FRAMES - 4) * 125000ll);
}

/* Padding bytes between the frames' status and the index are 0. */
static void test_padding_is_zero(void **state)
{
	for (unsigned frames = FRAMES - 7; frames <= FRAMES; frames++) {
		make(FIRST, UTC_ZERO);
		R.plan.frames = frames;
		R.plan.after = R.bytes[frames];
		build();
		for (unsigned i = 0; i < R.block.header.index_offset; i++) {
			assert_int_equal(R.block.payload[i], 0); /* TDM_GOOD is 0, too */
		}
	}
}

/* ------------------------------------------------------------------------------------ limits */

/* No hits but one, of module 0 in frame `f`: born in `frame` at `t5ns`. */
static void only_hit(unsigned f, uint16_t frame, uint16_t t5ns)
{
	const struct hit hit = {.efcm = 7, .tower = 1, .frame = frame, .t5ns = t5ns};
	uint8_t bytes[HIT_HEADER_BYTES];

	hit_pack(&hit, bytes);
	for (unsigned i = 0; i <= FRAMES; i++) {
		const struct tdm_pmt_slot slot = {
			.stream = bytes,
			.length = i == f ? sizeof(bytes) : 0,
		};

		tdm_pmt_slot_put(R.bytes[i], 0, &slot);
		le16_put(R.bytes[i] + TDM_OFF_SLOT_VALID, TDM_VALID_MODULE(0));
	}
}

/* A floor keeps a hit for 4000 frames at most. */
static void test_a_hit_is_too_old_beyond_4000_frames(void **state)
{
	make(FIRST, UTC_ZERO);
	only_hit(40, 7960 - 4000, 0);
	build();
	assert_int_equal(R.block.header.items, 1);
	assert_int_equal(R.block.header.flags, 0);
	only_hit(40, 7960 - 4001, HIT_T5NS_MAX);
	build();
	assert_int_equal(R.block.header.items, 1);
	assert_int_equal(R.block.header.flags, FCM_BLOCK_TIME_FAULT);
}

/* 23:59:60 begins with its first unit of 5 ns and ends with the next second's. */
static void test_a_hit_cannot_say_any_moment_of_a_leap_second(void **state)
{
	const int64_t midnight = 1483228800;
	static const struct {
		unsigned second; /* after the leap second */
		uint16_t frame, t5ns;
		bool fault;
	} table[] = {
		{0, 0, 0, true},		/* its first moment */
		{0, 7999, HIT_T5NS_MAX, false}, /* the last one of 23:59:59, travelling in it */
		{1, 0, 0, false},		/* the first one of the day, */
		{1, 7999, HIT_T5NS_MAX, true},	/* and the last before it */
	};

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		make((4000 + table[i].second) * 8000ull, midnight - 4000);
		R.plan.label.leap_tai_ns = (midnight + TAI_UTC) * 1000000000;
		only_hit(0, table[i].frame, table[i].t5ns);
		for (unsigned f = 0; f < FRAMES; f++) { /* the time words say nothing */
			le64_put(R.bytes[f] + TDM_OFF_TIME, 0);
		}
		build();
		assert_int_equal(R.block.header.items, 1);
		assert_int_equal(R.block.header.flags & FCM_BLOCK_TIME_FAULT,
				 table[i].fault ? FCM_BLOCK_TIME_FAULT : 0);
	}
}

/* Hits were lost in the floor: the block says so, whichever of its frames told it. */
static void test_a_full_fifo_is_seen_in_every_frame(void **state)
{
	make(FIRST, UTC_ZERO);
	build();
	assert_int_equal(R.block.header.flags, 0);
	for (unsigned f = 0; f <= FRAMES; f++) {
		uint8_t *flags = R.bytes[f] + TDM_OFF_PMT + (f % TDM_MODULES) * TDM_PMT_SLOT + 4;

		*flags |= TDM_PMT_FIFO_FULL;
		build();
		assert_int_equal(R.block.header.flags, f < FRAMES ? FCM_BLOCK_FIFO_FULL : 0);
		*flags &= (uint8_t)~TDM_PMT_FIFO_FULL;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_good),
		cmocka_unit_test(test_stamps),
		cmocka_unit_test(test_anchor_off),
		cmocka_unit_test(test_delay_is_added_to_the_label),
		cmocka_unit_test(test_no_time),
		cmocka_unit_test(test_leap_second),
		cmocka_unit_test(test_word_disagrees),
		cmocka_unit_test(test_too_old),
		cmocka_unit_test(test_after_unknown),
		cmocka_unit_test(test_lost_frames),
		cmocka_unit_test(test_bad_hit),
		cmocka_unit_test(test_tiny_slots),
		cmocka_unit_test(test_hydrophone),
		cmocka_unit_test(test_instrument),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_pure),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_quick_is_careful),

		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_a_clean_block_is_walked_once),
		cmocka_unit_test(test_a_slot_that_is_not_valid_is_no_fault),
		cmocka_unit_test(test_instrument_items_have_the_times_of_their_frames),
		cmocka_unit_test(test_padding_is_zero),
		cmocka_unit_test(test_a_hit_is_too_old_beyond_4000_frames),
		cmocka_unit_test(test_a_hit_cannot_say_any_moment_of_a_leap_second),
		cmocka_unit_test(test_a_full_fifo_is_seen_in_every_frame),
	};

	return cmocka_run_group_tests(tests, NULL, clean);
}
