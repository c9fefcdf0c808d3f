/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The slow-control word: golden bytes, extremes there and back, damage. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tdm/word.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct word reply = {
	WORD_WRITE | WORD_REPLY, 3, 2, WORD_OK, -1450, 0x11223344, 0x5566};
/* Computed with a bitwise CRC in Python. */
static const uint8_t reply_bytes[TDM_WORD_BYTES] = {0x82, 0x03, 0x02, 0x00, 0x56, 0xfa, 0xff, 0xff,
						    0x44, 0x33, 0x22, 0x11, 0x66, 0x55, 0xeb, 0x12};

static void test_golden(void **state)
{
	uint8_t bytes[TDM_WORD_BYTES];

	word_pack(&reply, bytes);
	assert_memory_equal(bytes, reply_bytes, sizeof(bytes));
}

static void test_there_and_back(void **state)
{
	static const struct word rows[] = {
		{WORD_READ, 0, 0, 0, 0, 1, 0},
		{WORD_WRITE, 5, 255, 0, INT32_MAX, UINT32_MAX, 0},
		{WORD_WRITE, 7, 1, 0, INT32_MIN, 1, 0},
		{WORD_ACTION, WORD_MODULE_FCM, 1, 0, -1, 2, 0},
		{WORD_QUERY | WORD_REPLY, WORD_MODULE_FCM, 0, WORD_UNKNOWN, 0, 3, UINT16_MAX},
		{0xff, 0xff, 0xff, 0xff, -1, UINT32_MAX, UINT16_MAX},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		uint8_t bytes[TDM_WORD_BYTES];
		struct word w;

		memset(&w, 0xa5, sizeof(w));
		word_pack(&rows[i], bytes);
		assert_int_equal(word_unpack(bytes, &w), 0);
		assert_int_equal(w.op, rows[i].op);
		assert_int_equal(w.module, rows[i].module);
		assert_int_equal(w.reg, rows[i].reg);
		assert_int_equal(w.status, rows[i].status);
		assert_int_equal(w.value, rows[i].value);
		assert_int_equal(w.sequence, rows[i].sequence);
		assert_int_equal(w.boot, rows[i].boot);
	}
}

static void test_damage(void **state)
{
	uint8_t bytes[TDM_WORD_BYTES];
	struct word w, untouched;

	memset(&untouched, 0xa5, sizeof(untouched));
	w = untouched;
	for (unsigned bit = 0; bit < 8 * TDM_WORD_BYTES; bit++) {
		memcpy(bytes, reply_bytes, sizeof(bytes));
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(word_unpack(bytes, &w), -EBADMSG);
		assert_memory_equal(&w, &untouched, sizeof(w));
	}
}

static void test_empty(void **state)
{
	uint8_t bytes[TDM_WORD_BYTES] = {0};
	struct word w, untouched;

	memset(&untouched, 0xa5, sizeof(untouched));
	w = untouched;
	assert_int_equal(word_unpack(bytes, &w), -ENODATA);
	bytes[8] = 1;
	assert_int_equal(word_unpack(bytes, &w), -ENODATA);
	assert_memory_equal(&w, &untouched, sizeof(w));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests_name("tdm word", tests, NULL, NULL);
}
