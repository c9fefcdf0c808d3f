// SPDX-License-Identifier: GPL-2.0-or-later
/* A data message as a monitor gets it: a whole one is read, a damaged or lying one is refused. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "slowctl/fcmctl/core/monitor.h"
#include "tdm/frame.h"
#include "tdm/hit.h"

#define HITS   116u	    /* bytes: status, index, the hit of 40 */
#define UTC_S  1795187523.2 /* 2026-11-20 15:12:03.2, a slice's beginning */
#define TAI_NS 1795187560200000000ll

/* Two frames of a floor, six channels: a hit in the first frame of the first. */
struct sample {
	struct fcm_block_header h;
	uint8_t payload[128];
};

static void seal(struct sample *s)
{
	s->h.payload_crc = tdm_crc32c(s->payload, s->h.payload_bytes);
	s->h.header_crc = tdm_crc32c(&s->h, offsetof(struct fcm_block_header, header_crc));
}

static void make(struct sample *s)
{
	const struct hit hit = {.pmt = 3,
				.efcm = 7,
				.tower = 1,
				.t5ns = 12345,
				.frame = 4567,
				.second = 45296,
				.samples = 24,
				.charge = 1500,
				.zip = true};

	memset(s, 0, sizeof(*s));
	s->h = (struct fcm_block_header){
		.magic = FCM_BLOCK_MAGIC,
		.version = FCM_BLOCK_VERSION,
		.header_bytes = 256,
		.stream = FCM_PMT,
		.channels = 6,
		.tower = 1,
		.floor = 7,
		.frames = 2,
		.dma_epoch = 5,
		.sequence = 5ull << 40,
		.payload_bytes = HITS,
		.status_offset = 0,
		.index_offset = 4,
		.data_offset = 76,
		.channel_offset = {76, HITS, HITS, HITS, HITS, HITS, HITS},
		.items = 1,
	};
	for (unsigned i = 0; i < 18; i++) {
		s->payload[4 + 4 * i] = i == 0 ? 76 : HITS;
	}
	hit_pack(&hit, s->payload + 76);
	seal(s);
}

static enum fcmdata_damage read_it(const struct sample *s, struct fcmdata_block *ret_block)
{
	return fcmdata_check("pmt.T01.F07", 11, &s->h, sizeof(s->h), s->payload, s->h.payload_bytes,
			     ret_block);
}

static int next_hit(const struct fcmdata_block *b, unsigned channel, struct fcmdata_cursor *c,
		    struct fcmdata_hit *ret_hit)
{
	if (c->block == NULL) {
		assert_int_equal(fcmdata_begin(b, channel, c), 0);
	}
	return fcmdata_next_hit(c, ret_hit);
}

static void test_whole(void **state)
{
	struct fcmdata_cursor first = {0}, second = {0};
	struct sample s;
	struct fcmdata_block b;
	struct fcmdata_hit hit;

	make(&s);
	assert_int_equal(read_it(&s, &b), FCMDATA_GOOD);
	assert_int_equal(next_hit(&b, 0, &first, &hit), 1);
	assert_int_equal(hit.frame, 4567);
	assert_int_equal(hit.t5ns, 12345);
	assert_int_equal(hit.charge, 1500);
	assert_int_equal(next_hit(&b, 0, &first, &hit), 0);
	assert_int_equal(next_hit(&b, 1, &second, &hit), 0);
}

static void test_gap(void **state)
{
	struct sample s;
	struct fcmdata_block b;

	make(&s);
	s.h.channels = 0;
	s.h.flags = FCM_BLOCK_GAP;
	s.h.frames = HITS;
	seal(&s);
	assert_int_equal(read_it(&s, &b), FCMDATA_GOOD);
}

/* Every field that could lead outside, with right checksums. */
static void test_lying(void **state)
{
	struct fcmdata_block b;

	for (int what = 0; what < 23; what++) {
		struct sample s;

		make(&s);
		switch (what) {
		case 0:
			s.h.magic++;
			break;
		case 1:
			s.h.version = 2;
			break;
		case 2:
			s.h.channels = 7;
			break;
		case 3:
			s.h.stream = 3;
			break;
		case 4:
			s.h.frames = HITS + 1;
			break;
		case 5:
			s.h.frames = UINT32_MAX;
			break;
		case 6:
			s.h.status_offset = UINT32_MAX;
			break;
		case 7:
			s.h.index_offset = 48;
			break;
		case 8:
			s.h.data_offset = 100;
			break;
		case 9:
			s.h.channel_offset[1] = HITS + 1;
			break;
		case 10:
			s.h.channel_offset[0] = 0;
			break;
		case 11:
			s.h.channel_offset[1] = 100;
			s.h.channel_offset[2] = 90;
			break;
		case 12:
			s.h.header_bytes = 252;
			break;
		case 13:
			s.h.link = 4;
			break;
		case 14:
			s.h.channels = 2; /* a hydrophone's */
			break;
		case 15:
			s.h.frames = 0;
			break;
		case 16:
			s.h.channels = 0;
			s.h.frames = 1601;
			s.h.payload_bytes = 1601;
			break;
		case 17:
			s.h.first_frame = UINT64_MAX;
			break;
		case 18:
			s.h.frames_lost = 2;
			s.h.frames_bad = 1;
			break;
		case 19:
			s.h.dma_epoch = 6;
			break;
		case 20:
			s.h.floor = 8; /* of the topic's */
			break;
		case 21:
			s.payload[8] = HITS + 1; /* outside */
			break;
		default:
			s.payload[12] = HITS - 1; /* goes back */
			break;
		}
		seal(&s);
		if (read_it(&s, &b) == FCMDATA_GOOD) {
			fail_msg("lie %d was believed", what);
		}
	}
}

static bool believed(const struct sample *s, size_t header_bytes, size_t payload_bytes)
{
	struct fcmdata_block b;

	return fcmdata_check("pmt.T01.F07", 11, &s->h, header_bytes, s->payload, payload_bytes,
			     &b) == FCMDATA_GOOD;
}

static void test_damaged(void **state)
{
	struct sample s;

	make(&s);
	for (size_t i = 0; i < sizeof(s.h); i++) {
		((uint8_t *)&s.h)[i] ^= 0x10;
		assert_false(believed(&s, 256, HITS));
		((uint8_t *)&s.h)[i] ^= 0x10;
	}
	for (size_t i = 0; i < HITS; i++) {
		s.payload[i] ^= 0x01;
		assert_false(believed(&s, 256, HITS));
		s.payload[i] ^= 0x01;
	}
	assert_false(believed(&s, 256, HITS - 1));
	assert_false(believed(&s, 255, HITS));
	assert_true(believed(&s, 256, HITS));
}

/* A hit that claims more than its channel holds, and bytes that are none. */
static void test_bad_hits(void **state)
{
	struct fcmdata_cursor first = {0}, second = {0};
	struct sample s;
	struct fcmdata_block b;
	struct fcmdata_hit hit;

	make(&s);
	hit_pack(&(struct hit){.pmt = 3, .efcm = 7, .tower = 1, .samples = 26, .zip = true},
		 s.payload + 76);
	seal(&s);
	assert_int_equal(read_it(&s, &b), FCMDATA_GOOD);
	assert_int_equal(next_hit(&b, 0, &first, &hit), -EBADMSG);
	make(&s);
	s.payload[78] = 0;
	seal(&s);
	assert_int_equal(read_it(&s, &b), FCMDATA_GOOD);
	assert_int_equal(next_hit(&b, 0, &second, &hit), -EBADMSG);
}

/* The slice is that of the floor's frames; the time is later by the cable delay, and may be off the
 * frames' border. TAI-UTC is 37 s. */
static void test_utc(void **state)
{
	static const struct {
		uint32_t frame;
		int64_t in_slice_ns;
	} cases[] = {
		{0, 0},
		{400, 50000000},
		{0, 490004}, /* a slice's first block, with a delay; its last frame */
		{1599, 199875000 + 490004},
		{0, -250000},
		{1520, 190000000 - 250000},
		{0, 40000},
		{1520, 190000000 + 20000000}, /* beyond the slice's end */
	};
	struct sample s;
	struct fcmdata_block b;

	make(&s);
	s.h.slice_id = (uint64_t)((UTC_S - 946684800.0) / 0.2 + 0.5);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		s.h.first_frame = 7 * 1600 + cases[i].frame;
		s.h.tai_ns = TAI_NS + cases[i].in_slice_ns;
		seal(&s);
		assert_int_equal(read_it(&s, &b), FCMDATA_GOOD);
		assert_true(fabs(ctl_block_utc(&b.header) - UTC_S -
				 (double)cases[i].in_slice_ns * 1e-9) < 1e-6);
		assert_int_equal(ctl_utc_ns(&b.header, TAI_NS + 123456789),
				 TAI_NS + 123456789 - 37000000000ll);
		assert_int_equal(ctl_utc_ns(&b.header, FCM_NO_TAI), INT64_MIN);
	}
	s.h.slice_id = UINT64_MAX; /* a time that makes no sense */
	assert_int_equal(ctl_utc_ns(&s.h, TAI_NS), INT64_MIN);
	s.h.flags = FCM_BLOCK_NO_TIME;
	seal(&s);
	assert_int_equal(read_it(&s, &b), FCMDATA_GOOD);
	assert_true(isnan(ctl_block_utc(&b.header)));
	assert_int_equal(ctl_utc_ns(&b.header, TAI_NS), INT64_MIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),	 cmocka_unit_test(test_gap),
		cmocka_unit_test(test_lying),	 cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_bad_hits), cmocka_unit_test(test_utc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
