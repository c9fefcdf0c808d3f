/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The TDM frame against bytes computed elsewhere (a bitwise CRC and struct.pack in Python), and
 * every field there and back at its extremes. The golden frame must not change without a new
 * TDM_VERSION: recorded data hang on it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tdm/frame.h"
#include "tdm/le.h"
#include "tdm/word.h"
#include "tests/unit/rig/dies.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const uint8_t golden_header[TDM_HEADER_BYTES] = {
	0xbc, 0xf6, 0x28, 0x01, 0x01, 0x07, 0x02, 0x00, 0x04, 0x03, 0x02,
	0x01, 0xd7, 0x11, 0x1e, 0x16, 0x2b, 0x8d, 0x74, 0x00, 0xd4, 0xc3,
	0xb2, 0xa1, 0xff, 0x07, 0x05, 0x06, 0xef, 0xbe, 0x17, 0x24,
};
static const uint8_t golden_tail[8] = {0x23, 0x7d, 0x73, 0x51, 0xfd, 0x09, 0xd7, 0xfe};
#define GOLDEN_TIME_WORD 0x00748d2b161e11d7ull
#define GOLDEN_PARITY	 0x17b2u

static const struct tdm_header golden = {
	.tower = 1,
	.floor = 7,
	.flags = TDM_FLAG_BOOTED,
	.slot_map = 0,
	.sequence = 0x01020304,
	.time = {.frame = 4567,
		 .second = 45296,
		 .day = 172,
		 .year = 26,
		 .quality = 2,
		 .leap = 1,
		 .lock = 7},
	.echo = 0xa1b2c3d4,
	.slot_valid = 0x7ff,
	.crc_errors = 5,
	.code_errors = 6,
	.parity = 0xbeef,
};
static const struct tdm_telemetry golden_telemetry = {
	.boot_count = 9,
	.uptime_s = 100000,
	.temperature_mc = -1500,
	.humidity_ppm = 450000,
	.supply_mv = 11980,
	.current_ma = 1250,
	.rx_power_nw = 250000,
	.heading_mdeg = 123456,
	.pitch_mdeg = -900,
	.roll_mdeg = 1800,
	.power_mask = 0xff,
	.executed = 77,
	.rejected = 3,
};

static void make_golden(uint8_t *frame)
{
	struct word w = {0x82, 3, 2, 0, -1450, 0x11223344, 0x5566};
	uint8_t words[1][TDM_WORD_BYTES], samples[96];

	memset(frame, 0, TDM_FRAME_BYTES);
	for (unsigned i = 0; i < sizeof(samples); i++) {
		samples[i] = (uint8_t)i;
	}
	tdm_pmt_slot_put(frame, 5,
			 &(struct tdm_pmt_slot){(const uint8_t *)"abc", 3, 1, TDM_PMT_POWERED, 0x11,
						0x2233});
	tdm_hydro_slot_put(frame, 1, &(struct tdm_hydro_slot){samples, 1, 0xdeadbeef});
	word_pack(&w, words[0]);
	tdm_replies_put(frame, (const uint8_t(*)[TDM_WORD_BYTES])words, 1);
	tdm_serial_put(frame, false, &(struct tdm_serial){(const uint8_t *)"OK", 2, 4, 0x1234});
	tdm_telemetry_put(frame, &golden_telemetry);
	tdm_frame_seal(frame, &golden);
}

static void test_crc(void **state)
{
	static const uint8_t zeros[32];

	assert_int_equal(tdm_crc32c("123456789", 9), 0xE3069283);
	assert_int_equal(tdm_crc16("123456789", 9), 0xD0DB);
	assert_int_equal(tdm_crc32c("", 0), 0);
	assert_int_equal(tdm_crc16("", 0), 0);
	assert_int_equal(tdm_crc32c(zeros, 32), 0x8A9136AA); /* RFC 3720, B.4 */
}

static void test_golden(void **state)
{
	uint8_t frame[TDM_FRAME_BYTES];
	struct tdm_header h;

	make_golden(frame);
	assert_int_equal(tdm_time_pack(&golden.time), GOLDEN_TIME_WORD);
	assert_memory_equal(frame, golden_header, sizeof(golden_header));
	assert_memory_equal(frame + 9992, golden_tail, sizeof(golden_tail));
	assert_int_equal(tdm_frame_parity(frame), GOLDEN_PARITY);
	memset(&h, 0xa5, sizeof(h));
	assert_int_equal(tdm_frame_check(frame, &h), TDM_OK);
	assert_int_equal(h.tower, 1);
	assert_int_equal(h.floor, 7);
	assert_int_equal(h.flags, TDM_FLAG_BOOTED);
	assert_int_equal(h.sequence, golden.sequence);
	assert_int_equal(tdm_time_pack(&h.time), GOLDEN_TIME_WORD);
	assert_int_equal(h.echo, golden.echo);
	assert_int_equal(h.slot_valid, 0x7ff);
	assert_int_equal(h.crc_errors, 5);
	assert_int_equal(h.code_errors, 6);
	assert_int_equal(h.parity, 0xbeef);
}

/* Each single damaged byte is found, and told by the first check that sees it. */
static void test_damage(void **state)
{
	static const struct {
		unsigned offset;
		enum tdm_check check;
	} rows[] = {
		{0, TDM_NO_SYNC},     {3, TDM_NO_SYNC},	    {4, TDM_BAD_HEADER},
		{29, TDM_BAD_HEADER}, {30, TDM_BAD_HEADER}, {31, TDM_BAD_HEADER},
		{32, TDM_BAD_CRC},    {9247, TDM_BAD_CRC},  {9991, TDM_BAD_CRC},
		{9992, TDM_BAD_CRC},  {9995, TDM_BAD_CRC},  {9996, TDM_BAD_CRC},
		{9999, TDM_BAD_CRC},
	};
	uint8_t frame[TDM_FRAME_BYTES];
	struct tdm_header h, untouched;

	make_golden(frame);
	memset(&untouched, 0xa5, sizeof(untouched));
	for (unsigned i = 0; i < COUNT(rows); i++) {
		h = untouched;
		frame[rows[i].offset] ^= 0x10;
		assert_int_equal(tdm_frame_check(frame, &h), rows[i].check);
		if (rows[i].check == TDM_BAD_CRC) {
			assert_int_equal(tdm_header_check(frame), TDM_OK);
			assert_int_equal(h.sequence, golden.sequence);
		} else {
			assert_int_equal(tdm_header_check(frame), rows[i].check);
			assert_memory_equal(&h, &untouched, sizeof(h));
		}
		frame[rows[i].offset] ^= 0x10;
	}
	for (unsigned offset = 0; offset < TDM_FRAME_BYTES; offset += 7) {
		frame[offset] ^= 0x01;
		assert_int_not_equal(tdm_frame_check(frame, &h), TDM_OK);
		frame[offset] ^= 0x01;
	}
	assert_int_equal(tdm_frame_check(frame, &h), TDM_OK);
}

static void test_parity(void **state)
{
	uint8_t frame[TDM_FRAME_BYTES];
	uint32_t x = 1;
	uint16_t slow = 0;

	for (unsigned i = 0; i < TDM_FRAME_BYTES; i++) {
		x = x * 1664525u + 1013904223u;
		frame[i] = (uint8_t)(x >> 24);
	}
	for (unsigned i = 0; i < TDM_FRAME_BYTES; i += 2) {
		slow ^= le16_get(frame + i);
	}
	assert_int_equal(tdm_frame_parity(frame), slow);
}

static void test_time(void **state)
{
	static const struct {
		struct tdm_time t;
		uint64_t word;
		bool legal;
	} rows[] = {
		{{0}, 0, true},
		{{.frame = 7999}, 7999, true},
		{{.frame = 8000}, 8000, false},
		{{.frame = 0x1fff}, 0x1fff, false},
		{{.quality = 1, .second = 86399}, 86399ull << 13 | 1ull << 46, true},
		{{.quality = 1, .second = 86400}, 86400ull << 13 | 1ull << 46, true},
		{{.quality = 1, .second = 86401}, 86401ull << 13 | 1ull << 46, false},
		{{.quality = 0, .second = 0x1ffff}, 0x1ffffull << 13, true},
		{{.quality = 2, .day = 364, .year = 25},
		 364ull << 30 | 25ull << 39 | 2ull << 46,
		 true},
		{{.quality = 2, .day = 365, .year = 25},
		 365ull << 30 | 25ull << 39 | 2ull << 46,
		 false},
		{{.quality = 2, .day = 365, .year = 24},
		 365ull << 30 | 24ull << 39 | 2ull << 46,
		 true},
		{{.quality = 2, .day = 365, .year = 0}, 365ull << 30 | 2ull << 46, true},
		{{.quality = 2, .day = 365, .year = 100},
		 365ull << 30 | 100ull << 39 | 2ull << 46,
		 false},
		{{.quality = 2, .day = 366, .year = 24},
		 366ull << 30 | 24ull << 39 | 2ull << 46,
		 false},
		{{.quality = 2, .year = 127}, 127ull << 39 | 2ull << 46, true},
		{{.quality = 3}, 3ull << 46, false},
		{{.quality = 15}, 15ull << 46, false},
		{{.leap = 2}, 2ull << 50, true},
		{{.leap = 3}, 3ull << 50, false},
		{{.lock = 15}, 15ull << 52, true},
		{{0x1fff, 0x1ffff, 0x1ff, 0x7f, 15, 3, 15}, (1ull << 56) - 1, false},
	};
	struct tdm_time t;

	for (unsigned i = 0; i < COUNT(rows); i++) {
		assert_int_equal(tdm_time_pack(&rows[i].t), rows[i].word);
		assert_int_equal(tdm_time_legal(&rows[i].t), rows[i].legal);
		tdm_time_unpack(rows[i].word, &t);
		assert_int_equal(t.frame, rows[i].t.frame);
		assert_int_equal(t.second, rows[i].t.second);
		assert_int_equal(t.day, rows[i].t.day);
		assert_int_equal(t.year, rows[i].t.year);
		assert_int_equal(t.quality, rows[i].t.quality);
		assert_int_equal(t.leap, rows[i].t.leap);
		assert_int_equal(t.lock, rows[i].t.lock);
	}
	/* A field that is too wide does not spill into its neighbours. */
	assert_int_equal(tdm_time_pack(&(struct tdm_time){.frame = 0x2001,
							  .second = 0x20001,
							  .day = 0x201,
							  .year = 0x81,
							  .quality = 0x11,
							  .leap = 5,
							  .lock = 0x11}),
			 1 | 1ull << 13 | 1ull << 30 | 1ull << 39 | 1ull << 46 | 1ull << 50 |
				 1ull << 52);
	tdm_time_unpack(0xff00000000000000ull, &t); /* reserved bits */
	assert_int_equal(tdm_time_pack(&t), 0);
}

static void test_header_extremes(void **state)
{
	static const struct tdm_header full = {
		0xff,	    0xff,	0xff,
		0xff,	    0xffffffff, {0x1fff, 0x1ffff, 0x1ff, 0x7f, 15, 3, 15},
		0xffffffff, 0xffff,	0xff,
		0xff,	    0xffff,
	};
	static const struct tdm_header none;
	uint8_t frame[TDM_FRAME_BYTES] = {0};
	struct tdm_header h;

	tdm_frame_seal(frame, &full);
	assert_int_equal(tdm_frame_check(frame, &h), TDM_OK);
	assert_int_equal(h.slot_map, 0xff);
	assert_int_equal(h.sequence, 0xffffffff);
	assert_int_equal(h.time.lock, 15);
	assert_int_equal(h.echo, 0xffffffff);
	assert_int_equal(h.slot_valid, 0xffff);
	assert_int_equal(h.code_errors, 0xff);
	assert_int_equal(h.parity, 0xffff);
	tdm_frame_seal(frame, &none);
	assert_int_equal(tdm_frame_check(frame, &h), TDM_OK);
	assert_int_equal(h.tower, 0);
	assert_int_equal(h.sequence, 0);
	assert_int_equal(h.parity, 0);
}

static void test_pmt_slot(void **state)
{
	static const struct {
		uint16_t length, first;
		int rc;
	} rows[] = {
		{0, 0, 0},	  {1528, 0, 0},	       {1528, 1528, 0},	      {100, 100, 0},
		{0, 1, -EBADMSG}, {1529, 0, -EBADMSG}, {0xffff, 0, -EBADMSG}, {100, 101, -EBADMSG},
	};
	uint8_t frame[TDM_FRAME_BYTES], stream[TDM_PMT_STREAM];
	struct tdm_pmt_slot in, out;

	memset(frame, 0xee, sizeof(frame));
	memset(stream, 0x5a, sizeof(stream));
	for (unsigned m = 0; m < TDM_MODULES; m++) {
		uint16_t length = m == 0 ? TDM_PMT_STREAM : (uint16_t)m;

		in = (struct tdm_pmt_slot){stream, length, (uint16_t)m, 0xff, (uint8_t)m, 0xffff};
		tdm_pmt_slot_put(frame, m, &in);
		assert_int_equal(tdm_pmt_slot_get(frame, m, &out), 0);
		assert_ptr_equal(out.stream, frame + 32 + 1536 * m + 8);
		assert_int_equal(out.length, length);
		assert_int_equal(out.first, m);
		assert_int_equal(out.flags, 0xff);
		assert_int_equal(out.sequence, m);
		assert_int_equal(out.fill, 0xffff);
		assert_memory_equal(out.stream, stream, length);
		for (unsigned i = length; i < TDM_PMT_STREAM; i++) {
			assert_int_equal(out.stream[i], 0);
		}
		/* Built in place. */
		tdm_pmt_slot_put(frame, m, &out);
		assert_memory_equal(out.stream, stream, length);
	}
	assert_int_equal(frame[31], 0xee);
	assert_int_equal(frame[TDM_OFF_HYDRO], 0xee);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		le16_put(frame + TDM_OFF_PMT + 1536, rows[i].length);
		le16_put(frame + TDM_OFF_PMT + 1538, rows[i].first);
		memset(&out, 0x33, sizeof(out));
		assert_int_equal(tdm_pmt_slot_get(frame, 1, &out), rows[i].rc);
		assert_int_equal(out.length, rows[i].rc == 0 ? rows[i].length : 0x3333);
	}
}

static void test_hydrophones(void **state)
{
	uint8_t frame[TDM_FRAME_BYTES], samples[96];
	struct tdm_hydro_slot out;

	memset(frame, 0xee, sizeof(frame));
	for (unsigned h = 0; h < TDM_HYDROPHONES; h++) {
		memset(samples, (int)h + 1, sizeof(samples));
		tdm_hydro_slot_put(frame, h, &(struct tdm_hydro_slot){samples, 1, 0xffffffffu - h});
	}
	for (unsigned h = 0; h < TDM_HYDROPHONES; h++) {
		memset(samples, (int)h + 1, sizeof(samples));
		tdm_hydro_slot_get(frame, h, &out);
		assert_ptr_equal(out.samples, frame + 9248 + 104 * h + 8);
		assert_int_equal(out.flags, 1);
		assert_int_equal(out.counter, 0xffffffffu - h);
		assert_memory_equal(out.samples, samples, sizeof(samples));
	}
	assert_int_equal(frame[TDM_OFF_HYDRO - 1], 0xee);
	assert_int_equal(frame[TDM_OFF_REPLIES], 0xee);
}

static void test_replies(void **state)
{
	uint8_t frame[TDM_FRAME_BYTES], words[TDM_REPLIES][TDM_WORD_BYTES];
	const uint8_t *out = NULL;

	memset(frame, 0xee, sizeof(frame));
	memset(words, 0x5a, sizeof(words));
	for (unsigned n = 0; n <= TDM_REPLIES; n++) {
		tdm_replies_put(frame, (const uint8_t(*)[TDM_WORD_BYTES])words, n);
		assert_int_equal(tdm_replies_get(frame, &out), n);
		assert_ptr_equal(out, frame + 9464);
		assert_memory_equal(out, words, n * TDM_WORD_BYTES);
	}
	assert_int_equal(frame[TDM_OFF_REPLIES - 1], 0xee);
	assert_int_equal(frame[TDM_OFF_SERIAL], 0xee);
	out = NULL;
	frame[TDM_OFF_REPLIES] = TDM_REPLIES + 1;
	assert_int_equal(tdm_replies_get(frame, &out), -EBADMSG);
	frame[TDM_OFF_REPLIES] = 0xff;
	assert_int_equal(tdm_replies_get(frame, &out), -EBADMSG);
	assert_null(out);
}

static void test_downstream(void **state)
{
	uint8_t frame[TDM_FRAME_BYTES], word[TDM_WORD_BYTES];
	struct tdm_timing in = {TDM_TIMING_ALIGN, 0xffffffff, 0xfffffffe}, out;

	memset(frame, 0, sizeof(frame));
	memset(frame + TDM_OFF_TIMING, 0xee, 32);
	for (unsigned i = 0; i < TDM_WORDS; i++) {
		memset(word, (int)i + 1, sizeof(word));
		tdm_request_put(frame, i, word);
	}
	for (unsigned i = 0; i < TDM_WORDS; i++) {
		memset(word, (int)i + 1, sizeof(word));
		assert_ptr_equal(tdm_request(frame, i), frame + 32 + 16 * i);
		assert_memory_equal(tdm_request(frame, i), word, sizeof(word));
	}
	assert_int_equal(frame[TDM_OFF_TIMING], 0xee);
	tdm_timing_put(frame, &in);
	tdm_timing_get(frame, &out);
	assert_int_equal(out.command, in.command);
	assert_int_equal(out.argument, in.argument);
	assert_int_equal(out.sequence, in.sequence);
	assert_int_equal(frame[TDM_OFF_DOWN_SERIAL], 0);
}

static void test_serial(void **state)
{
	static const unsigned offsets[2] = {TDM_OFF_SERIAL, TDM_OFF_DOWN_SERIAL};
	uint8_t frame[TDM_FRAME_BYTES], text[TDM_SERIAL_BYTES];
	struct tdm_serial out;

	memset(text, 'x', sizeof(text));
	for (unsigned down = 0; down < 2; down++) {
		memset(frame, 0xee, sizeof(frame));
		tdm_serial_put(frame, down, &(struct tdm_serial){text, 128, 0xff, 0xffff});
		assert_int_equal(tdm_serial_get(frame, down, &out), 0);
		assert_int_equal(out.length, 128);
		assert_int_equal(out.channel, 0xff);
		assert_int_equal(out.sequence, 0xffff);
		assert_ptr_equal(out.bytes, frame + offsets[down] + 8);
		assert_memory_equal(out.bytes, text, sizeof(text));
		assert_int_equal(frame[offsets[down] + 136], 0xee);
		tdm_serial_put(frame, down, &(struct tdm_serial){NULL, 0, 0, 0});
		assert_int_equal(tdm_serial_get(frame, down, &out), 0);
		assert_int_equal(out.length, 0);
		memset(&out, 0, sizeof(out));
		frame[offsets[down]] = 129;
		assert_int_equal(tdm_serial_get(frame, down, &out), -EBADMSG);
		assert_null(out.bytes);
	}
}

static void test_telemetry(void **state)
{
	/* Thirteen fields of 32 bits: as an array they name any field that comes back elsewhere. */
	uint8_t frame[TDM_FRAME_BYTES];
	uint32_t in[13], out[13];
	struct tdm_telemetry t;

	_Static_assert(sizeof(t) == sizeof(in), "thirteen fields");
	memset(frame, 0xee, sizeof(frame));
	for (unsigned turn = 0; turn < 3; turn++) {
		for (unsigned i = 0; i < COUNT(in); i++) {
			in[i] = turn == 0 ? 0x80000000u + i : turn == 1 ? 0xffffffffu : 0;
		}
		memcpy(&t, in, sizeof(t));
		tdm_telemetry_put(frame, &t);
		memset(&t, 0, sizeof(t));
		tdm_telemetry_get(frame, &t);
		memcpy(out, &t, sizeof(t));
		assert_memory_equal(in, out, sizeof(in));
	}
	assert_int_equal(frame[TDM_OFF_RESERVED], 0xee);
	tdm_telemetry_put(frame, &golden_telemetry);
	assert_int_equal((int32_t)le32_get(frame + TDM_OFF_TELEMETRY + 8), -1500);
}

/* ---- writing frames ---- */

static const uint8_t some_bytes[TDM_FRAME_BYTES] = {1, 2, 3};

static void put_pmt(uint8_t *frame)
{
	tdm_pmt_slot_put(frame, 2, &(struct tdm_pmt_slot){.stream = some_bytes, .length = 20});
}

static void put_hydrophone(uint8_t *frame)
{
	tdm_hydro_slot_put(frame, 1, &(struct tdm_hydro_slot){.samples = some_bytes});
}

static void put_replies(uint8_t *frame)
{
	static const uint8_t words[1][TDM_WORD_BYTES] = {{7}};

	tdm_replies_put(frame, words, 1);
}

static void put_serial(uint8_t *frame)
{
	tdm_serial_put(frame, false, &(struct tdm_serial){.bytes = some_bytes, .length = 3});
}

static void put_serial_down(uint8_t *frame)
{
	tdm_serial_put(frame, true, &(struct tdm_serial){.bytes = some_bytes, .length = 3});
}

static void put_telemetry(uint8_t *frame)
{
	tdm_telemetry_put(frame, &(struct tdm_telemetry){.boot_count = 5});
}

static void put_timing(uint8_t *frame)
{
	tdm_timing_put(frame, &(struct tdm_timing){.command = 5});
}

/* Each has its own place: old content is overwritten, and nothing else changes. */
static void test_what_is_put_fills_its_place_and_no_more(void **state)
{
	static const struct {
		void (*put)(uint8_t *frame);
		size_t from, bytes;
	} places[] = {
		{put_pmt, TDM_OFF_PMT + 2 * TDM_PMT_SLOT, TDM_PMT_SLOT},
		{put_hydrophone, TDM_OFF_HYDRO + TDM_HYDRO_SLOT, TDM_HYDRO_SLOT},
		{put_replies, TDM_OFF_REPLIES, 8 + TDM_REPLIES * TDM_WORD_BYTES},
		{put_serial, TDM_OFF_SERIAL, 8 + TDM_SERIAL_BYTES},
		{put_serial_down, TDM_OFF_DOWN_SERIAL, 8 + TDM_SERIAL_BYTES},
		{put_telemetry, TDM_OFF_TELEMETRY, 64},
		{put_timing, TDM_OFF_TIMING, 32},
	};
	static uint8_t clean[TDM_FRAME_BYTES], used[TDM_FRAME_BYTES];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		memset(clean, 0, sizeof(clean));
		memset(used, 0xa5, sizeof(used));
		places[i].put(clean);
		places[i].put(used);
		for (size_t b = 0; b < TDM_FRAME_BYTES; b++) {
			bool inside = b >= places[i].from && b < places[i].from + places[i].bytes;

			assert_int_equal(used[b], inside ? clean[b] : 0xa5);
			assert_true(inside || clean[b] == 0);
		}
	}
}

/* One beyond the last place. */
static void get_module(void *frame)
{
	tdm_pmt_slot_get(frame, TDM_MODULES, &(struct tdm_pmt_slot){0});
}

static void put_module(void *frame)
{
	tdm_pmt_slot_put(frame, TDM_MODULES, &(struct tdm_pmt_slot){0});
}

static void get_hydrophone(void *frame)
{
	tdm_hydro_slot_get(frame, TDM_HYDROPHONES, &(struct tdm_hydro_slot){0});
}

static void put_no_hydrophone(void *frame)
{
	tdm_hydro_slot_put(frame, TDM_HYDROPHONES, &(struct tdm_hydro_slot){.samples = some_bytes});
}

static void put_too_many_replies(void *frame)
{
	static const uint8_t words[TDM_REPLIES + 1][TDM_WORD_BYTES];

	tdm_replies_put(frame, words, TDM_REPLIES + 1);
}

static void get_request(void *frame)
{
	tdm_request(frame, TDM_WORDS);
}

static void put_request(void *frame)
{
	tdm_request_put(frame, TDM_WORDS, some_bytes);
}

static void put_too_long_serial(void *frame)
{
	tdm_serial_put(frame, false,
		       &(struct tdm_serial){.bytes = some_bytes, .length = TDM_SERIAL_BYTES + 1});
}

static void test_places_that_are_not_there_are_our_bug(void **state)
{
	static void (*const calls[])(void *frame) = {
		get_module,	      put_module,  get_hydrophone, put_no_hydrophone,
		put_too_many_replies, get_request, put_request,	   put_too_long_serial,
	};
	static uint8_t frame[2 * TDM_FRAME_BYTES];

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		assert_true(dies(calls[i], frame));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc),
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_parity),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_header_extremes),
		cmocka_unit_test(test_pmt_slot),
		cmocka_unit_test(test_hydrophones),
		cmocka_unit_test(test_replies),
		cmocka_unit_test(test_downstream),
		cmocka_unit_test(test_serial),
		cmocka_unit_test(test_telemetry),
		cmocka_unit_test(test_what_is_put_fills_its_place_and_no_more),
		cmocka_unit_test(test_places_that_are_not_there_are_our_bug),
	};

	return cmocka_run_group_tests_name("tdm frame", tests, NULL, NULL);
}
