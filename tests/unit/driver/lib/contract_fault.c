/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract: a driver on a board that misbehaves, as only a model can be told to (model_fault.h).
 * That the board goes away is in test_host.c and tests/vm/guest_fault.c.
 */
#include <errno.h>

#include "driver/emu/common/model_fault.h"
#include "tests/unit/driver/lib/contract_rig.h"

static struct nanet3_stats stats(struct nanet3 *b)
{
	struct nanet3_stats s;

	assert_int_equal(nanet3_stats(b, &s), 0);
	return s;
}

static void check_stream(struct nanet3 *b, unsigned link, uint64_t from, uint64_t to,
			 uint64_t *count)
{
	for (uint64_t p = from; p < to; p++) {
		completed(b, link, p);
		check_completion(b, link, p, count);
	}
	assert_int_equal(nanet3_release(b, link, to), 0);
}

static void lost_interrupts_are_made_up_for(void **state)
{
	struct nanet3 *b = open_board();
	uint64_t count = 0;
	struct nanet3_stats before;

	claim(b, 0, NANET3_CLAIM_FRESH, false);
	check_stream(b, 0, 0, 3, &count);
	before = stats(b);
	model_fault(b, MODEL_FAULT_LOSE_IRQS, 0, 20);
	check_stream(b, 0, 3, 15, &count);
	assert_true(stats(b).rescued > before.rescued);
	model_fault(b, MODEL_FAULT_LOSE_IRQS, 0, 0);
	check_stream(b, 0, 15, 20, &count);
	assert_int_equal(nanet3_yield(b, 0), 0);
	close_board(b);
}

static void spurious_interrupts_do_no_harm(void **state)
{
	struct nanet3 *b = open_board();
	uint64_t until = now_ms() + PATIENCE_MS;
	struct nanet3_stats before = stats(b);

	while (stats(b).spurious == before.spurious) { /* one may come together with a real one */
		model_fault(b, MODEL_FAULT_SPURIOUS, 1, 3);
		model_fault(b, MODEL_FAULT_SPURIOUS, NANET3_LINKS, 3);
		sleep_ms(20);
		assert_true(now_ms() < until);
	}
	assert_int_equal(nanet3_wait(b, 0), 0);
	close_board(b);
}

static void events_of_nonsense_are_counted(void **state)
{
	struct nanet3 *b = open_board();
	uint64_t count = 0, until = now_ms() + PATIENCE_MS;
	struct nanet3_stats before = stats(b), after;

	claim(b, 2, NANET3_CLAIM_FRESH, false);
	check_stream(b, 2, 0, 3, &count);
	model_fault(b, MODEL_FAULT_BAD_EVENT, 0, 7);
	model_fault(b, MODEL_FAULT_STALE_EVENT, 2, 5);
	do {
		after = stats(b);
		assert_true(now_ms() < until);
	} while (after.bad_events - before.bad_events < 7 ||
		 after.links[2].stale - before.links[2].stale < 5);
	check_stream(b, 2, 3, 10, &count);
	after = stats(b);
	assert_int_equal(after.bad_events - before.bad_events, 7);
	assert_int_equal(after.links[2].stale - before.links[2].stale, 5);
	assert_int_equal(nanet3_yield(b, 2), 0);
	close_board(b);
}

/* Driver and board disagree about a ring: the link stops, its owner loses its handle and begins anew;
 * nobody else notices. */
static void completion_that_does_not_follow(void **state)
{
	struct nanet3 *b = open_board(), *other = open_board();
	uint64_t count = 0, others = 0, until;
	struct nanet3_stats before = stats(other);
	struct nanet3_event ev = {0};
	uint32_t id;

	claim(other, 3, NANET3_CLAIM_FRESH, false);
	check_stream(other, 3, 0, 3, &others);
	claim(b, 2, NANET3_CLAIM_FRESH, false);
	check_stream(b, 2, 0, 3, &count);
	model_fault(b, MODEL_FAULT_SKIPPING_EVENT, 2, 3);
	until = now_ms() + PATIENCE_MS;
	while (nanet3_reg_read(b, NANET3_REG_ID, &id, 1) != -ENODEV) {
		assert_true(now_ms() < until);
		sleep_ms(1);
	}
	while (nanet3_next_event(b, &ev) == 1 && ev.type != NANET3_EVENT_GONE) {
	}
	assert_int_equal(ev.type, NANET3_EVENT_GONE);
	close_board(b);
	assert_true(stats(other).bad_events > before.bad_events);
	check_stream(other, 3, 3, 10, &others);
	b = open_board();
	count = 0;
	claim(b, 2, NANET3_CLAIM_FRESH, false);
	check_stream(b, 2, 0, 10, &count);
	assert_int_equal(nanet3_yield(b, 2), 0);
	assert_int_equal(nanet3_yield(other, 3), 0);
	close_board(b);
	close_board(other);
}

/* Each is delivered, or counted where it was lost: on the board's queue or on ours. */
static void flood_is_accounted_for(void **state)
{
	struct nanet3 *b = open_board(), *owner = open_board();
	uint64_t count = 0, until = now_ms() + PATIENCE_MS, taken = 0;
	uint32_t lost[2];

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		wait_locked(b, i);
	}
	sleep_ms(20);
	claim(owner, 0, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_subscribe(b, 1u << NANET3_EVENT_LINK), 0);
	assert_int_equal(nanet3_reg_read(b, NANET3_REG_EVQ_LOST, &lost[0], 1), 0);
	model_fault(b, MODEL_FAULT_FLOOD, 1, 20000);
	while (taken + nanet3_events_lost(b) + lost[1] - lost[0] < 20000 || taken == 0) {
		struct nanet3_event ev;

		assert_true(now_ms() < until);
		while (nanet3_next_event(b, &ev) == 1) {
			assert_int_equal(ev.type, NANET3_EVENT_LINK);
			taken++;
		}
		assert_int_equal(nanet3_reg_read(b, NANET3_REG_EVQ_LOST, &lost[1], 1), 0);
	}
	assert_int_equal(taken + nanet3_events_lost(b) + lost[1] - lost[0], 20000);
	check_stream(owner, 0, 0, 10, &count); /* not one buffer's */
	assert_int_equal(nanet3_yield(owner, 0), 0);
	close_board(b);
	close_board(owner);
}

static void stall_is_told_and_charged(void **state)
{
	struct nanet3 *b = open_board();
	uint64_t count = 0, fifo = 0, position = 3;
	struct nanet3_event ev;
	int told[2] = {0, 0};

	wait_locked(b, 3);
	claim(b, 3, NANET3_CLAIM_FRESH, false);
	check_stream(b, 3, 0, 3, &count);
	assert_int_equal(nanet3_subscribe(b, 1u << NANET3_EVENT_ERROR), 0);
	model_fault(b, MODEL_FAULT_STALL, 0, 30);
	while (fifo == 0) {
		while (nanet3_write_position(b, 3) <= position) {
			assert_int_equal(nanet3_wait(b, PATIENCE_MS), 1);
			while (nanet3_next_event(b, &ev) == 1) {
				/* A full queue of before may be told only now. */
				if (ev.type == NANET3_EVENT_ERROR &&
				    ev.reason != NANET3_ERROR_EVQ_FULL) {
					assert_int_equal(ev.reason, NANET3_ERROR_STALLED);
					told[ev.value & 1]++;
				}
			}
		}
		check_completion(b, 3, position, &count);
		if (nanet3_completion(b, 3, position)->reason == NANET3_GAP_BOARD_FIFO) {
			fifo = nanet3_completion(b, 3, position)->frames;
		}
		position++;
	}
	assert_int_equal(fifo, 30 * 8);
	assert_int_equal(told[0], 1);
	assert_int_equal(told[1], 1);
	assert_int_equal(nanet3_yield(b, 3), 0);
	close_board(b);
}

/* A link whose engine does not stop at once is not started anew before it has. */
static void stuck_dma_is_waited_for(void **state)
{
	struct nanet3 *b = open_board();
	uint64_t count = 0, until = now_ms() + PATIENCE_MS;
	int r;

	wait_locked(b, 1);
	claim(b, 1, NANET3_CLAIM_FRESH, false);
	check_stream(b, 1, 0, 3, &count);
	model_fault(b, MODEL_FAULT_STUCK_DMA, 1, 20);
	r = nanet3_yield(b, 1);
	assert_int_equal(r, 0);
	assert_int_equal(nanet3_ring(b, 1)->status, NANET3_RING_STOPPED);
	while ((r = nanet3_claim(b, 1, 0, NULL)) != 0) {
		assert_true(r != -EBUSY && now_ms() < until);
		sleep_ms(10);
	}
	count = 0;
	check_stream(b, 1, 0, 8, &count);
	assert_int_equal(nanet3_yield(b, 1), 0);
	close_board(b);
}

const struct CMUnitTest contract_fault[] = {
	CONTRACT_TEST(lost_interrupts_are_made_up_for),
	CONTRACT_TEST(spurious_interrupts_do_no_harm),
	CONTRACT_TEST(events_of_nonsense_are_counted),
	CONTRACT_TEST(completion_that_does_not_follow),
	CONTRACT_TEST(flood_is_accounted_for),
	CONTRACT_TEST(stall_is_told_and_charged),
	CONTRACT_TEST(stuck_dma_is_waited_for),
	{NULL},
};
