/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Damaged frames of the downlink, from the floor's own 8 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/data/downlink.h"

static uint8_t bytes[1600][TDM_HEADER_BYTES];
static struct block_frame block[1600];
static struct downlink d;

static int setup(void **state)
{
	memset(&d, 0, sizeof(d));
	memset(block, 0, sizeof(block));
	return 0;
}

/* Frame n, with the floor's counter. */
static void frame(unsigned n, unsigned counter, uint8_t flags)
{
	bytes[n][TDM_OFF_LINK_ERRORS] = (uint8_t)counter;
	block[n] = (struct block_frame){.frame = bytes[n], .header_flags = flags};
}

static void test_wraps(void **state)
{
	frame(1, 250, 0);
	downlink_block(&d, 1, 2, block, 3); /* counted before we looked */
	assert_int_equal(d.errors, 0);
	frame(0, 254, 0);
	frame(1, 260, 0); /* the last is lost */
	downlink_block(&d, 1, 2, block, 3);
	assert_int_equal(d.errors, 10);
	downlink_block(&d, 1, 2, block, 3);
	assert_int_equal(d.errors, 10);
}

/* All frames damaged, in the longest block. */
static void test_long_block(void **state)
{
	for (unsigned n = 0; n < 1600; n++) {
		frame(n, n, 0);
	}
	downlink_block(&d, 1, 2, block, 1);
	downlink_block(&d, 1, 2, block, 1600);
	assert_int_equal(d.errors, 1599);
}

static void test_begins_anew(void **state)
{
	frame(0, 100, 0);
	downlink_block(&d, 1, 2, block, 1);
	frame(0, 3, TDM_FLAG_BOOTED); /* it counts from 0 */
	downlink_block(&d, 1, 2, block, 1);
	assert_int_equal(d.errors, 3);
	frame(0, 5, TDM_FLAG_BOOTED);
	downlink_block(&d, 1, 2, block, 1);
	frame(0, 9, 0);
	downlink_block(&d, 1, 2, block, 1);
	assert_int_equal(d.errors, 9);
	frame(0, 200, 0); /* another floor's */
	downlink_block(&d, 1, 3, block, 1);
	assert_int_equal(d.errors, 9);
	block[0].frame = NULL; /* a gap: it may have booted meanwhile */
	downlink_block(&d, 1, 3, block, 1);
	frame(0, 7, 0);
	downlink_block(&d, 1, 3, block, 1);
	assert_int_equal(d.errors, 9);
	frame(0, 8, 0);
	downlink_block(&d, 1, 3, block, 1);
	assert_int_equal(d.errors, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_wraps, setup),
		cmocka_unit_test_setup(test_long_block, setup),
		cmocka_unit_test_setup(test_begins_anew, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
