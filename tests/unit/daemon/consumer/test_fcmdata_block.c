/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libfcmdata on a message's bytes: a right one is read, whatever is wrong with the others is found. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/consumer/fcmdata.h"
#include "tdm/frame.h"
#include "tdm/hit.h"
#include "tdm/le.h"

#define FRAMES 4u

/* Behind the status and the index; payload and data as large as any test wants. */
struct sample {
	struct fcm_block_header h;
	uint8_t payload[4096];
	const char *topic;
};

static void seal(struct sample *s)
{
	s->h.payload_crc = tdm_crc32c(s->payload, s->h.payload_bytes);
	s->h.header_crc = tdm_crc32c(&s->h, offsetof(struct fcm_block_header, header_crc));
}

static enum fcmdata_damage check(const struct sample *s, struct fcmdata_block *ret_block)
{
	return fcmdata_check(s->topic, strlen(s->topic), &s->h, sizeof(s->h), s->payload,
			     s->h.payload_bytes, ret_block);
}

static uint8_t *index_at(struct sample *s, unsigned channel, unsigned frame)
{
	return s->payload + s->h.index_offset + ((size_t)channel * (FRAMES + 1) + frame) * 4;
}

/* An empty block; data are added channel by channel, frame by frame. */
static void begin(struct sample *s, enum fcm_stream stream, unsigned channels, const char *topic)
{
	memset(s, 0, sizeof(*s));
	s->topic = topic;
	s->h = (struct fcm_block_header){
		.magic = FCM_BLOCK_MAGIC,
		.version = FCM_BLOCK_VERSION,
		.header_bytes = sizeof(s->h),
		.stream = (uint8_t)stream,
		.link = 1,
		.channels = (uint8_t)channels,
		.tower = 1,
		.floor = 2,
		.dma_epoch = 7,
		.frames = FRAMES,
		.first_frame = 8000,
		.sequence = 7ull << 40 | 2000,
		.tai_ns = 1000000000000,
		.index_offset = FRAMES,
		.data_offset = FRAMES + 4 * channels * (FRAMES + 1),
	};
	s->h.payload_bytes = s->h.data_offset;
	for (unsigned c = 0; c <= FCM_CHANNELS_MAX; c++) {
		s->h.channel_offset[c] = s->h.data_offset;
	}
	for (unsigned i = 0; i < channels * (FRAMES + 1); i++) {
		le32_put(index_at(s, 0, i), s->h.data_offset);
	}
}

static void add(struct sample *s, unsigned channel, unsigned frame, const void *bytes,
		size_t length)
{
	memcpy(s->payload + s->h.payload_bytes, bytes, length);
	s->h.payload_bytes += (uint32_t)length;
	for (unsigned i = channel * (FRAMES + 1) + frame + 1; i < s->h.channels * (FRAMES + 1);
	     i++) {
		le32_put(index_at(s, 0, i), s->h.payload_bytes);
	}
	for (unsigned c = channel + 1; c <= FCM_CHANNELS_MAX; c++) {
		s->h.channel_offset[c] = s->h.payload_bytes;
	}
}

static size_t make_hit(uint8_t *bytes, unsigned pmt, unsigned born, unsigned samples)
{
	const struct hit hit = {.pmt = (uint8_t)pmt,
				.efcm = 2,
				.tower = 1,
				.t5ns = 200,
				.frame = (uint16_t)born,
				.second = 45296,
				.day_bcd = 0x172,
				.year_bcd = 0x26,
				.samples = (uint8_t)samples,
				.charge = 1500};

	hit_pack(&hit, bytes);
	for (unsigned i = 0; i < 2 * samples; i++) {
		bytes[HIT_HEADER_BYTES + i] = (uint8_t)i;
	}
	return HIT_HEADER_BYTES + 2 * (size_t)samples;
}

static void make_pmt(struct sample *s)
{
	uint8_t bytes[HIT_MAX_BYTES];

	begin(s, FCM_PMT, 6, "pmt.T01.F02");
	add(s, 0, 0, bytes, make_hit(bytes, 0, 0, 3));
	add(s, 0, 0, bytes, make_hit(bytes, 0, 7999, 0)); /* of the second before */
	add(s, 0, 3, bytes, make_hit(bytes, 0, 1, 24));
	add(s, 4, 2, bytes, make_hit(bytes, 4, 3, 0)); /* not born yet: of the second before */
	add(s, 5, 2, bytes, make_hit(bytes, 5, 2, 1));
	s->payload[1] = 4; /* status of frame 1 */
	seal(s);
}

static void test_hits(void **state)
{
	static const struct {
		uint32_t carrier;
		int64_t frames; /* from the block's start to the hit's own */
		unsigned samples;
	} wanted[] = {{0, 0, 3}, {0, -1, 0}, {3, 1, 24}};
	struct fcmdata_block b;
	struct fcmdata_cursor c;
	struct fcmdata_hit hit;
	struct sample s;

	make_pmt(&s);
	assert_int_equal(check(&s, &b), FCMDATA_GOOD);
	assert_int_equal(b.key.sequence, s.h.sequence);
	assert_int_equal(b.key.floor, 2);
	assert_int_equal(fcmdata_status(&b, 0), 0);
	assert_int_equal(fcmdata_status(&b, 1), 4);
	assert_int_equal(fcmdata_status(&b, FRAMES), -EINVAL);
	assert_int_equal(fcmdata_begin(&b, 0, &c), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(fcmdata_next_hit(&c, &hit), 1);
		assert_int_equal(hit.carrier, wanted[i].carrier);
		assert_int_equal(hit.samples, wanted[i].samples);
		assert_int_equal(hit.length, 16 + 2 * wanted[i].samples);
		assert_true(hit.tai_ns == s.h.tai_ns + wanted[i].frames * 125000 + 1000);
		assert_int_equal(hit.charge, 1500);
		assert_int_equal(hit.second, 45296);
		assert_int_equal(hit.efcm, 2);
	}
	assert_int_equal(fcmdata_next_hit(&c, &hit), 0);
	assert_int_equal(fcmdata_next_hit(&c, &hit), 0);
	assert_int_equal(fcmdata_begin(&b, 4, &c), 0);
	assert_int_equal(fcmdata_next_hit(&c, &hit), 1);
	assert_true(hit.tai_ns == s.h.tai_ns + (3 - 8000) * 125000ll + 1000);
	assert_int_equal(fcmdata_begin(&b, 5, &c), 0);
	assert_int_equal(fcmdata_next_hit(&c, &hit), 1);
	assert_int_equal(hit.pmt, 5);
	assert_int_equal(fcmdata_begin(&b, 6, &c), -EINVAL);
	s.h.flags = FCM_BLOCK_NO_TIME;
	seal(&s);
	assert_int_equal(check(&s, &b), FCMDATA_GOOD);
	assert_int_equal(fcmdata_begin(&b, 0, &c), 0);
	assert_int_equal(fcmdata_next_hit(&c, &hit), 1);
	assert_true(hit.tai_ns == FCM_NO_TAI);
}

/* Bytes that are no hit are said to be none, and the next frame is read again. */
static void test_bad_hits(void **state)
{
	static const struct {
		unsigned at;
		uint8_t value;
	} cases[] = {
		{2, 0},	    /* sync */
		{5, 0xff},  /* t5ns */
		{7, 0x1f},  /* frame counter 8191 */
		{12, 0x3f}, /* longer than a hit may be */
		{12, 1},    /* whole, and 4 bytes left over */
		{12, 9},    /* beyond its frame */
	};
	struct fcmdata_block b;
	struct fcmdata_cursor c;
	struct fcmdata_hit hit;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sample s;
		uint8_t bytes[HIT_MAX_BYTES];
		int r;

		begin(&s, FCM_PMT, 6, "pmt.T01.F02");
		add(&s, 1, 0, bytes, make_hit(bytes, 1, 255, 3));
		add(&s, 1, 1, bytes, make_hit(bytes, 1, 1, 0));
		s.payload[s.h.channel_offset[1] + cases[i].at] = cases[i].value;
		seal(&s);
		assert_int_equal(check(&s, &b), FCMDATA_GOOD);
		assert_int_equal(fcmdata_begin(&b, 1, &c), 0);
		r = fcmdata_next_hit(&c, &hit);
		r = r == 1 ? fcmdata_next_hit(&c, &hit) : r;
		assert_int_equal(r, -EBADMSG);
		assert_int_equal(fcmdata_next_hit(&c, &hit), 1);
		assert_int_equal(hit.carrier, 1);
		assert_int_equal(fcmdata_next_hit(&c, &hit), 0);
	}
}

static void test_samples(void **state)
{
	uint8_t bytes[4 * TDM_SAMPLES];
	const uint8_t *telemetry;
	int32_t sample[FCMDATA_SAMPLES + 1] = {[FCMDATA_SAMPLES] = 77};
	struct fcmdata_block b;
	struct fcmdata_cursor c;
	struct fcmdata_hit hit;
	struct sample s;

	begin(&s, FCM_HYDROPHONE, 2, "hydrophone.T01.F02");
	for (unsigned i = 0; i < TDM_SAMPLES; i++) {
		le32_put(bytes + 4 * i, (uint32_t)(-5 * (int)i));
	}
	add(&s, 1, 2, bytes, sizeof(bytes));
	add(&s, 1, 3, bytes, sizeof(bytes) - 4);
	seal(&s);
	assert_int_equal(check(&s, &b), FCMDATA_GOOD);
	assert_int_equal(fcmdata_samples(&b, 0, 2, sample), 0);
	assert_int_equal(fcmdata_samples(&b, 1, 2, sample), 24);
	for (int i = 0; i < (int)FCMDATA_SAMPLES; i++) {
		assert_int_equal(sample[i], -5 * i);
	}
	assert_int_equal(sample[FCMDATA_SAMPLES], 77); /* and no more */
	assert_int_equal(fcmdata_samples(&b, 1, 3, sample), -EBADMSG);
	assert_int_equal(fcmdata_samples(&b, 2, 0, sample), -EINVAL);
	assert_int_equal(fcmdata_samples(&b, 1, FRAMES, sample), -EINVAL);
	assert_int_equal(fcmdata_telemetry(&b, 0, &telemetry), -EINVAL);
	assert_int_equal(fcmdata_begin(&b, 0, &c), 0);
	assert_int_equal(fcmdata_next_hit(&c, &hit), -EINVAL);
}

static void test_instrument(void **state)
{
	static const uint8_t records[] = {3, 2, 0x34, 0x12, 'a', 'b', 4, 0, 1, 0};
	static const uint8_t cut[] = {3, 9, 0, 0, 'a', 'b'};
	uint8_t bytes[64] = {1, 2, 3};
	const uint8_t *telemetry = NULL;
	int32_t sample[FCMDATA_SAMPLES];
	struct fcmdata_serial serial;
	struct fcmdata_block b;
	struct fcmdata_cursor c;
	struct sample s;

	begin(&s, FCM_INSTRUMENT, 2, "instrument.T01.F02");
	add(&s, 0, 1, bytes, 64);
	add(&s, 0, 2, bytes, 63);
	add(&s, 1, 0, records, sizeof(records));
	add(&s, 1, 1, cut, sizeof(cut));
	add(&s, 1, 2, cut, 3);
	add(&s, 1, 3, records, 6);
	seal(&s);
	assert_int_equal(check(&s, &b), FCMDATA_GOOD);
	assert_int_equal(fcmdata_telemetry(&b, 0, &telemetry), 0);
	assert_null(telemetry);
	assert_int_equal(fcmdata_telemetry(&b, 1, &telemetry), 64);
	assert_memory_equal(telemetry, bytes, 64);
	assert_int_equal(fcmdata_telemetry(&b, 2, &telemetry), -EBADMSG);
	assert_int_equal(fcmdata_telemetry(&b, 4, &telemetry), -EINVAL);
	assert_int_equal(fcmdata_samples(&b, 0, 1, sample), -EINVAL);
	assert_int_equal(fcmdata_begin(&b, FCMDATA_CHANNEL_TELEMETRY, &c), 0);
	assert_int_equal(fcmdata_next_serial(&c, &serial), -EINVAL);
	assert_int_equal(fcmdata_begin(&b, FCMDATA_CHANNEL_SERIAL, &c), 0);
	assert_int_equal(fcmdata_next_serial(&c, &serial), 1);
	assert_int_equal(serial.channel, 3);
	assert_int_equal(serial.sequence, 0x1234);
	assert_int_equal(serial.length, 2);
	assert_memory_equal(serial.bytes, "ab", 2);
	assert_int_equal(fcmdata_next_serial(&c, &serial), 1);
	assert_int_equal(serial.channel, 4);
	assert_int_equal(serial.length, 0);
	assert_int_equal(fcmdata_next_serial(&c, &serial), -EBADMSG);
	assert_int_equal(fcmdata_next_serial(&c, &serial), -EBADMSG);
	assert_int_equal(fcmdata_next_serial(&c, &serial), 1);
	assert_int_equal(serial.carrier, 3);
	assert_int_equal(fcmdata_next_serial(&c, &serial), 0);
}

/* A GAP has a status and no channels: nothing in it, and no error. */
static void test_gap_block(void **state)
{
	const uint8_t *bytes = NULL;
	struct fcmdata_block b;
	struct fcmdata_cursor c;
	struct fcmdata_hit hit;
	struct sample s;

	begin(&s, FCM_PMT, 0, "pmt.T01.F02");
	s.h.flags = FCM_BLOCK_GAP;
	s.h.frames_lost = FRAMES;
	seal(&s);
	assert_int_equal(check(&s, &b), FCMDATA_GOOD);
	assert_int_equal(fcmdata_bytes(&b, 5, 3, &bytes), 0);
	assert_int_equal(fcmdata_bytes(&b, 6, 3, &bytes), -EINVAL);
	assert_int_equal(fcmdata_bytes(&b, 0, 4, &bytes), -EINVAL);
	assert_int_equal(fcmdata_begin(&b, 0, &c), 0);
	assert_int_equal(fcmdata_next_hit(&c, &hit), 0);
}

static void test_another_version(void **state)
{
	struct fcmdata_block b = {.payload = NULL};
	struct sample s;

	make_pmt(&s);
	s.h.version = 2;
	seal(&s);
	assert_int_equal(check(&s, &b), FCMDATA_VERSION);
	assert_null(b.payload);
}

/* Each a header's field and what it may not be; CRCs are right. */
static void test_wrong_headers(void **state)
{
#define WRONG(field, wrong)                                                                        \
	{                                                                                          \
#field, offsetof(struct fcm_block_header, field),                                  \
			sizeof(((struct fcm_block_header *)0)->field), wrong                       \
	}
	static const struct {
		const char *name;
		size_t offset, size;
		uint64_t value;
	} cases[] = {
		WRONG(magic, 0),
		WRONG(header_bytes, 255),
		WRONG(stream, 3),
		WRONG(stream, 1), /* the topic says pmt */
		WRONG(link, 4),
		WRONG(channels, 5),
		WRONG(channels, 7),
		WRONG(tower, 2),
		WRONG(floor, 3),
		WRONG(frames, 0),
		WRONG(frames, 1601),
		WRONG(frames, UINT32_MAX),
		WRONG(frames_lost, 5),
		WRONG(frames_bad, 5),
		WRONG(frames_lost, UINT32_MAX),
		WRONG(frames_bad, UINT32_MAX),
		WRONG(first_frame, UINT64_MAX),
		WRONG(sequence, 2000),
		WRONG(dma_epoch, 8),
		WRONG(status_offset, 4095),
		WRONG(status_offset, UINT32_MAX),
		WRONG(index_offset, 4095),
		WRONG(index_offset, UINT32_MAX),
		WRONG(data_offset, UINT32_MAX),
		WRONG(channel_offset[0], 0),
		WRONG(channel_offset[0], UINT32_MAX),
		WRONG(channel_offset[1], 0),
		WRONG(channel_offset[6], UINT32_MAX),
	};
#undef WRONG
	struct fcmdata_block b = {.payload = NULL};
	struct sample s;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_pmt(&s);
		memcpy((uint8_t *)&s.h + cases[i].offset, &cases[i].value, cases[i].size);
		seal(&s);
		if (check(&s, &b) != FCMDATA_MALFORMED) {
			fail_msg("%s = %llx is taken", cases[i].name,
				 (unsigned long long)cases[i].value);
		}
	}
	assert_null(b.payload); /* untouched */
}

static void test_wrong_sizes_and_crcs(void **state)
{
	struct fcmdata_block b;
	struct sample s;

	make_pmt(&s);
	for (size_t bytes = 0; bytes < 256; bytes += 51) {
		assert_int_equal(fcmdata_check(s.topic, strlen(s.topic), &s.h, bytes, s.payload,
					       s.h.payload_bytes, &b),
				 FCMDATA_MALFORMED);
	}
	assert_int_equal(fcmdata_check(s.topic, strlen(s.topic), &s.h, 256, s.payload,
				       s.h.payload_bytes - 1, &b),
			 FCMDATA_MALFORMED);
	assert_int_equal(fcmdata_check(s.topic, strlen(s.topic), &s.h, 256, NULL, 0, &b),
			 FCMDATA_MALFORMED);
	assert_int_equal(fcmdata_check(s.topic, 4, &s.h, 256, s.payload, s.h.payload_bytes, &b),
			 FCMDATA_MALFORMED);
	s.topic = "pmt.T01.F02.";
	assert_int_equal(check(&s, &b), FCMDATA_MALFORMED);
	make_pmt(&s);
	s.payload[s.h.payload_bytes - 1] ^= 1;
	assert_int_equal(check(&s, &b), FCMDATA_PAYLOAD_CRC);
	make_pmt(&s);
	s.h.run ^= 1;
	assert_int_equal(check(&s, &b), FCMDATA_HEADER_CRC);
}

/* Indices that go back, or leave their channel: found, CRCs right. */
static void test_wrong_index(void **state)
{
	struct fcmdata_block b;
	struct sample s;

	for (unsigned i = 0; i < 6 * (FRAMES + 1); i++) {
		static const uint32_t wrong[] = {0, 3, 4096, UINT32_MAX};

		for (unsigned k = 0; k < 4; k++) {
			make_pmt(&s);
			le32_put(index_at(&s, 0, i), wrong[k]);
			seal(&s);
			assert_int_equal(check(&s, &b), FCMDATA_MALFORMED);
		}
	}
}

/* What is taken can be read, whatever it is. */
static void read_all(const struct fcmdata_block *b)
{
	struct fcmdata_serial serial;
	struct fcmdata_cursor c;
	struct fcmdata_hit hit;
	const uint8_t *bytes;
	int32_t sample[FCMDATA_SAMPLES];
	unsigned sum = 0;
	int r;

	for (unsigned channel = 0; channel < 7; channel++) {
		for (uint32_t f = 0; f <= b->header.frames; f++) {
			r = fcmdata_bytes(b, channel, f, &bytes);
			for (int i = 0; i < r; i++) {
				sum += bytes[i];
			}
			fcmdata_samples(b, channel, f, sample);
			fcmdata_telemetry(b, f, &bytes);
			fcmdata_status(b, f);
		}
		if (fcmdata_begin(b, channel, &c) < 0) {
			continue;
		}
		while ((r = fcmdata_next_hit(&c, &hit)) == 1 || r == -EBADMSG) {
			sum += r == 1 ? hit.bytes[hit.length - 1] : 0;
		}
		while ((r = fcmdata_next_serial(&c, &serial)) == 1 || r == -EBADMSG) {
			sum += r == 1 ? serial.bytes[-1] : 0;
		}
	}
	assert_true(sum < UINT32_MAX);
}

/* Damage at random, CRCs made right: refused, or read without leaving the payload (its memory is just as
 * large, so that a sanitizer sees). */
static void test_random_damage(void **state)
{
	unsigned taken = 0, refused = 0;
	uint64_t rng = 99;
	struct sample s;

	for (unsigned n = 0; n < 20000; n++) {
		struct fcmdata_block b;
		uint8_t *copy;

		make_pmt(&s);
		for (unsigned i = 0; i < 1 + n % 3; i++) {
			rng = rng * 6364136223846793005u + 1442695040888963407u;
			uint32_t at = (uint32_t)(rng >> 33) % (252 + s.h.payload_bytes);
			uint8_t value = (uint8_t)(rng >> 20);

			if (at < 252) {
				((uint8_t *)&s.h)[at] = value;
			} else {
				s.payload[at - 252] = value;
			}
			s.h.payload_bytes %= sizeof(s.payload);
		}
		seal(&s);
		copy = malloc(s.h.payload_bytes);
		if (s.h.payload_bytes > 0) {
			assert_non_null(copy);
			memcpy(copy, s.payload, s.h.payload_bytes);
		}
		if (fcmdata_check(s.topic, strlen(s.topic), &s.h, 256, copy, s.h.payload_bytes,
				  &b) == FCMDATA_GOOD) {
			read_all(&b);
			taken++;
		} else {
			refused++;
		}
		free(copy);
	}
	assert_true(taken > 1000 && refused > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hits),	      cmocka_unit_test(test_bad_hits),
		cmocka_unit_test(test_samples),	      cmocka_unit_test(test_instrument),
		cmocka_unit_test(test_gap_block),     cmocka_unit_test(test_another_version),
		cmocka_unit_test(test_wrong_headers), cmocka_unit_test(test_wrong_sizes_and_crcs),
		cmocka_unit_test(test_wrong_index),   cmocka_unit_test(test_random_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
