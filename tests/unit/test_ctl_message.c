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

#include "slowctl/ctl_message.h"
#include "tdm/frame.h"

/* Two frames of a floor, two channels: a hit in the first, none in the second. */
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
	s->h = (struct fcm_block_header){.magic = FCM_BLOCK_MAGIC,
					 .version = FCM_BLOCK_VERSION,
					 .header_bytes = 256,
					 .stream = FCM_PMT,
					 .channels = 2,
					 .frames = 2,
					 .payload_bytes = 72,
					 .status_offset = 0,
					 .index_offset = 4,
					 .data_offset = 32,
					 .channel_offset = {32, 72, 72, 72, 72, 72, 72},
					 .items = 1};
	hit_pack(&hit, s->payload + 32);
	seal(s);
}

static int read_it(const struct sample *s, struct message *ret_message)
{
	const char *why = NULL;
	int err = message_read(&s->h, sizeof(s->h), s->payload, s->h.payload_bytes, ret_message,
			       &why);

	assert_true((err == 0) == (why == NULL));
	return err;
}

static void test_whole(void **state)
{
	struct sample s;
	struct message m;
	struct hit hit;
	uint32_t at = 0;

	(void)state;
	make(&s);
	assert_int_equal(read_it(&s, &m), 0);
	assert_int_equal(message_next_hit(&m, 0, &at, &hit), 1);
	assert_int_equal(hit.frame, 4567);
	assert_int_equal(hit.t5ns, 12345);
	assert_int_equal(hit.charge, 1500);
	assert_int_equal(message_next_hit(&m, 0, &at, &hit), 0);
	at = 0;
	assert_int_equal(message_next_hit(&m, 1, &at, &hit), 0);
}

static void test_gap(void **state)
{
	struct sample s;
	struct message m;

	(void)state;
	make(&s);
	s.h.channels = 0;
	s.h.flags = FCM_BLOCK_GAP;
	s.h.frames = 72;
	seal(&s);
	assert_int_equal(read_it(&s, &m), 0);
}

/* Every field that could lead outside, with right checksums. */
static void test_lying(void **state)
{
	struct message m;

	(void)state;
	for (int what = 0; what < 12; what++) {
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
			s.h.frames = 73;
			break;
		case 5:
			s.h.frames = UINT32_MAX;
			break;
		case 6:
			s.h.status_offset = UINT32_MAX;
			break;
		case 7:
			s.h.index_offset = 60;
			break;
		case 8:
			s.h.data_offset = 100;
			break;
		case 9:
			s.h.channel_offset[1] = 73;
			break;
		case 10:
			s.h.channel_offset[0] = 0;
			break;
		default:
			s.h.channel_offset[1] = 40;
			s.h.channel_offset[2] = 36;
			break;
		}
		seal(&s);
		if (read_it(&s, &m) != -EBADMSG) {
			fail_msg("lie %d was believed", what);
		}
	}
}

static void test_damaged(void **state)
{
	struct sample s;
	struct message m;
	const char *why = NULL;

	(void)state;
	make(&s);
	for (size_t i = 0; i < sizeof(s.h); i++) {
		((uint8_t *)&s.h)[i] ^= 0x10;
		assert_int_equal(message_read(&s.h, sizeof(s.h), s.payload, 72, &m, &why),
				 -EBADMSG);
		((uint8_t *)&s.h)[i] ^= 0x10;
	}
	for (size_t i = 0; i < 72; i++) {
		s.payload[i] ^= 0x01;
		assert_int_equal(message_read(&s.h, sizeof(s.h), s.payload, 72, &m, &why),
				 -EBADMSG);
		s.payload[i] ^= 0x01;
	}
	assert_int_equal(message_read(&s.h, sizeof(s.h), s.payload, 71, &m, &why), -EBADMSG);
	assert_int_equal(message_read(&s.h, 255, s.payload, 72, &m, &why), -EBADMSG);
	assert_int_equal(message_read(&s.h, sizeof(s.h), s.payload, 72, &m, &why), 0);
}

/* A hit that claims more than its channel holds, and bytes that are none. */
static void test_bad_hits(void **state)
{
	struct sample s;
	struct message m;
	struct hit hit;
	uint32_t at = 0;

	(void)state;
	make(&s);
	s.h.channel_offset[1] = 71;
	seal(&s);
	assert_int_equal(read_it(&s, &m), 0);
	assert_int_equal(message_next_hit(&m, 0, &at, &hit), -EBADMSG);
	make(&s);
	s.payload[34] = 0;
	seal(&s);
	assert_int_equal(read_it(&s, &m), 0);
	assert_int_equal(message_next_hit(&m, 0, &at, &hit), -EBADMSG);
	assert_int_equal(at, 0);
}

static void test_utc(void **state)
{
	struct sample s;
	struct message m;

	(void)state;
	make(&s);
	/* 2026-11-20 15:12:03.25 UTC, TAI-UTC 37 s */
	s.h.tai_ns = 1795187560250000000;
	s.h.slice_id = (uint64_t)((1795187523.2 - 946684800.0) / 0.2 + 0.5);
	seal(&s);
	assert_int_equal(read_it(&s, &m), 0);
	assert_true(fabs(message_utc(&m) - 1795187523.25) < 1e-5);
	s.h.flags = FCM_BLOCK_NO_TIME;
	seal(&s);
	assert_int_equal(read_it(&s, &m), 0);
	assert_true(isnan(message_utc(&m)));
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
