/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DMA that does not stop when told. First a reset of the board helps; then nothing does, and the memory
 * that the board may still write to is never given back: better lost than somebody else's. A plan of its
 * own, as the board is not what it was afterwards.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/vm/guest.h"

#define LINK	   1u
#define OTHER	   2u
#define TILL_RESET 0xffffu
#define FOR_EVER   0xfffeu

static void sound(unsigned link)
{
	struct nanet3 *b = guest_open();
	struct guest_reader r;

	guest_claim(b, link);
	guest_reader_init(&r, link, 0);
	guest_reader_run(&r, b, 200);
	guest_reader_fini(&r);
	guest_yield(b, link);
	guest_close(b);
}

/* Own the link for a while, give it back while its DMA does not stop. */
static void yield_stuck(unsigned how_long)
{
	struct nanet3 *b = guest_open();
	uint64_t until = guest_ms() + GUEST_LIMIT_MS;
	int r;

	guest_claim(b, LINK);
	guest_wait_completed(b, LINK, 2);
	guest_fault(b, MODEL_FAULT_STUCK_DMA, LINK, how_long);
	r = nanet3_yield(b, LINK);
	if (r != 0 && r != -ENODEV) {
		fail_msg("yield: %d", r);
	}
	assert_true(guest_ms() < until);
	guest_close(b);
}

static void stops_after_a_reset(void **state)
{
	struct nanet3_stats s;
	struct nanet3 *b;

	yield_stuck(TILL_RESET);
	b = guest_open();
	s = guest_stats(b);
	assert_true(s.resets > 0);
	assert_int_equal(s.quarantined, 0);
	guest_close(b);
	sound(LINK);
	sound(OTHER);
}

/* The ring stands still from the board's next step on. */
static uint64_t stalled(void *context)
{
	return (guest_reg(context, NANET3_REG_STATUS) & NANET3_STATUS_STALLED) != 0;
}

/* A put that the reset swallows ends all the same, with both its events; and its buffers are as good as before. */
static void reset_swallows_a_put(void **state)
{
	static uint8_t memory[2][NANET3_PAGE];
	struct nanet3 *owner = guest_open(), *b = guest_open();
	uint64_t resets = guest_stats(b).resets;
	struct nanet3_put put = {.length = 3000, .destination_offset = 5, .cookie = 12};
	struct nanet3_event ev;
	int r;

	assert_int_equal(nanet3_register_buffer(b, memory[0], NANET3_PAGE, &put.source), 0);
	assert_int_equal(nanet3_register_buffer(b, memory[1], NANET3_PAGE, &put.destination), 0);
	guest_claim(owner, LINK);
	guest_wait_completed(owner, LINK, 2);
	guest_fault(b, MODEL_FAULT_STUCK_DMA, LINK, TILL_RESET);
	guest_fault(b, MODEL_FAULT_STALL, 0, 150);
	guest_wait_for(stalled, b, 1, "stall");
	assert_int_equal(nanet3_put(b, &put), 0);
	r = nanet3_yield(owner, LINK);
	assert_true(r == 0 || r == -ENODEV);
	assert_true(guest_stats(b).resets > resets);
	ev = guest_wait_event(b, NANET3_EVENT_TX);
	assert_true(ev.cookie == put.cookie && ev.reason == NANET3_TX_FAULT);
	ev = guest_wait_event(b, NANET3_EVENT_PUT);
	assert_true(ev.cookie == put.cookie && ev.reason == NANET3_TX_FAULT);
	assert_true(ev.value == put.destination && ev.position == 5 && ev.length == 3000);
	memset(memory[0], 7, NANET3_PAGE);
	assert_int_equal(nanet3_put(b, &put), 0);
	ev = guest_wait_event(b, NANET3_EVENT_PUT);
	assert_int_equal(ev.reason, 0);
	assert_int_equal(memory[1][5 + 2999], 7);
	guest_close(owner);
	guest_close(b);
}

/* Gives back a buffer of two pages that stays busy. */
static void unregister_stuck(unsigned how_long)
{
	static uint8_t memory[2 * NANET3_PAGE] __attribute__((aligned(NANET3_PAGE)));
	struct nanet3 *b = guest_open();
	uint32_t buffer = 0;

	assert_int_equal(nanet3_register_buffer(b, memory, sizeof(memory), &buffer), 0);
	guest_fault(b, MODEL_FAULT_STUCK_BUFFER, buffer, how_long);
	assert_int_equal(nanet3_unregister_buffer(b, buffer), 0);
	assert_int_equal(nanet3_unregister_buffer(b, buffer), -ENOENT);
	guest_close(b);
}

static void buffer_stops_after_a_reset(void **state)
{
	struct nanet3 *b = guest_open();
	struct nanet3_stats before = guest_stats(b), after;

	unregister_stuck(TILL_RESET);
	after = guest_stats(b);
	assert_int_equal(after.resets, before.resets + 1);
	assert_int_equal(after.quarantined, before.quarantined);
	assert_int_equal(after.pinned_pages, 0);
	guest_close(b);
	sound(LINK);
}

static void buffer_never_stops(void **state)
{
	struct nanet3 *b = guest_open();
	uint64_t quarantined = guest_stats(b).quarantined;
	uint8_t memory[100];
	uint32_t buffer = 0;

	unregister_stuck(FOR_EVER);
	assert_int_equal(guest_stats(b).quarantined, quarantined + 2);
	assert_int_equal(nanet3_register_buffer(b, memory, sizeof(memory), &buffer), 0);
	assert_int_equal(buffer, 1); /* the lost one's number is not used again */
	assert_int_equal(nanet3_unregister_buffer(b, buffer), 0);
	guest_close(b);
	sound(OTHER);
}

static void never_stops(void **state)
{
	struct nanet3 *b;

	yield_stuck(FOR_EVER);
	b = guest_open();
	assert_true(guest_stats(b).quarantined > 0);
	guest_wait_locked(b, LINK);
	assert_true(nanet3_claim(b, LINK, 0, NULL) < 0);
	guest_close(b);
	sound(OTHER);
}

static void replug(void)
{
	assert_int_equal(system("echo 1 >/sys/class/nanet3/nanet3-0/device/remove && "
				"echo 1 >/sys/bus/pci/rescan"),
			 0);
}

/* What is lost is lost until the machine is restarted, whatever becomes of the board: here it had no power. */
static void told_beyond_the_board(void **state)
{
	struct nanet3 *b = guest_open();
	uint64_t quarantined = guest_stats(b).quarantined;

	guest_fault(b, MODEL_FAULT_GONE, 0, 5);
	guest_wait_for(guest_says_gone, b, 1, "ENODEV");
	guest_close(b);
	guest_wait_for(guest_can_open, NULL, 1, "the board is found again");
	replug();
	guest_wait_for(guest_can_open, NULL, 1, "the board is back");
	b = guest_open();
	assert_int_equal(guest_stats(b).quarantined, quarantined);
	assert_true(quarantined > 0);
	guest_close(b);
}

static uint64_t refused(void *context)
{
	(void)context;
	return guest_logged("DMA of before does not stop");
}

/* A buffer is released while the board does not answer and still writes to it. The board must not have the bus again:
 * the memory is somebody else's by then. Nor may it for a driver that finds it like that. */
static void writes_to_memory_of_others(void **state)
{
	static uint8_t memory[2 * NANET3_PAGE] __attribute__((aligned(NANET3_PAGE)));
	struct nanet3 *b = guest_open(), *other = guest_open();
	uint32_t buffer = 0;
	uint8_t before[2 * NANET3_PAGE];

	assert_int_equal(nanet3_register_buffer(b, memory, sizeof(memory), &buffer), 0);
	guest_fault(b, MODEL_FAULT_STUCK_BUFFER, buffer, FOR_EVER);
	guest_fault(b, MODEL_FAULT_DEAF, 0, 30);
	assert_int_equal(nanet3_unregister_buffer(b, buffer), 0);
	guest_wait_for(guest_says_gone, other, 1,
		       "ENODEV"); /* silence is no sign that the board has let go */
	guest_wait_for(refused, NULL, 1, "the board is refused");
	memcpy(before, memory, sizeof(memory));
	guest_sleep_ms(50);
	assert_memory_equal(memory, before, sizeof(memory));
	assert_false(guest_can_open(NULL));
	guest_close(b);
	guest_close(other);
	replug();
	guest_wait_for(refused, NULL, 2, "the board is refused");
	assert_false(guest_can_open(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GUEST_TEST(stops_after_a_reset),
		GUEST_TEST(reset_swallows_a_put),
		GUEST_TEST(buffer_stops_after_a_reset),
		GUEST_TEST(buffer_never_stops),
		GUEST_TEST(never_stops),
		GUEST_TEST(told_beyond_the_board),
		GUEST_TEST(writes_to_memory_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
