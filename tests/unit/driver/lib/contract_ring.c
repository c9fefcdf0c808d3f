/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contract: open, claim, the stream, releases. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/driver/lib/contract_rig.h"

static void open_and_info(void **state)
{
	struct nanet3 *b = NULL, *other = open_board();

	assert_int_equal(nanet3_open("unix:/nonexistent/socket", &b), -ENOENT);
	assert_int_equal(nanet3_open("/dev/nonexistent-0", &b), -ENOENT);
	assert_null(b);
	b = open_board();
	assert_int_equal(nanet3_info(b)->version, NANET3_ABI_VERSION);
	assert_true(nanet3_info(b)->handle != 0);
	assert_int_equal(nanet3_info(b)->links, NANET3_LINKS);
	assert_true(strlen(nanet3_info(b)->name) > 0);
	assert_null(nanet3_ring(b, 0));
	assert_null(nanet3_ring(b, 99));
	assert_null(nanet3_buffer(b, 0, 0));
	assert_null(nanet3_owner_page(b, 0));
	assert_null(nanet3_completion(b, 0, 0));
	close_board(b);
	close_board(other);
	close_board(NULL);
}

static void one_owner_a_link(void **state)
{
	struct nanet3 *a = open_board(), *b = open_board();

	assert_int_equal(nanet3_claim(a, NANET3_LINKS, 0, NULL), -EINVAL);
	assert_int_equal(nanet3_claim(a, 0, 0x80, NULL), -EINVAL);
	assert_int_equal(nanet3_yield(a, 0), -EPERM);
	assert_int_equal(nanet3_yield(a, 99), -EINVAL);
	claim(a, 0, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_claim(b, 0, 0, NULL), -EBUSY);
	assert_int_equal(nanet3_claim(b, 0, NANET3_CLAIM_FRESH, NULL), -EBUSY);
	assert_int_equal(nanet3_claim(a, 0, 0, NULL), -EBUSY);
	assert_int_equal(nanet3_yield(b, 0), -EPERM);
	assert_int_equal(nanet3_release(b, 0, 0), -EPERM);
	claim(b, 1, NANET3_CLAIM_FRESH, false); /* another link is another matter */
	assert_int_equal(nanet3_ring(a, 0)->status, NANET3_RING_OWNED);
	assert_int_equal(nanet3_ring(a, 0)->owner_pid, getpid());
	assert_int_equal(nanet3_yield(a, 0), 0);
	assert_int_equal(nanet3_ring(a, 0)->status, NANET3_RING_STOPPED);
	assert_null(nanet3_buffer(a, 0, 0));
	claim(b, 0, 0, false); /* yielded: nothing to take over */
	assert_int_equal(nanet3_yield(b, 0), 0);
	assert_int_equal(nanet3_yield(b, 1), 0);
	close_board(a);
	close_board(b);
}

static void yield_stops_dma(void **state)
{
	struct nanet3 *b = open_board();
	uint64_t position;
	uint32_t epoch;

	claim(b, 2, 0, false);
	epoch = nanet3_ring(b, 2)->dma_epoch;
	completed(b, 2, 3);
	assert_int_equal(nanet3_yield(b, 2), 0);
	position = nanet3_write_position(b, 2);
	sleep_ms(20);
	assert_int_equal(nanet3_write_position(b, 2), position);
	assert_int_equal(nanet3_release(b, 2, position), -EPERM);
	claim(b, 2, 0, false);
	assert_int_equal(nanet3_ring(b, 2)->dma_epoch, epoch + 1);
	completed(b, 2, 0);
	assert_true(nanet3_ring(b, 2)->start_count == nanet3_completion(b, 2, 0)->frame_count);
	assert_int_equal(nanet3_yield(b, 2), 0);
	close_board(b);
}

/* ------------------------------------------------------------------------ the stream */

static void completions_follow_each_other(void **state)
{
	struct nanet3 *b = open_board();
	uint64_t count[NANET3_LINKS] = {0}, next[NANET3_LINKS] = {0}, goal = UINT64_MAX;
	uint64_t started = now_ms();
	bool there = false;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		wait_locked(b, i);
		claim(b, i, NANET3_CLAIM_FRESH, false);
	}
	/* For half a second, and then up to where the board was. */
	while (!there) {
		struct nanet3_event ev;

		assert_true(nanet3_wait(b, PATIENCE_MS) == 1);
		while (nanet3_next_event(b, &ev) == 1) {
			assert_int_equal(ev.type, NANET3_EVENT_RX);
		}
		if (goal == UINT64_MAX && now_ms() - started > 500) {
			goal = board_count_now(b);
		}
		there = true;
		for (unsigned i = 0; i < NANET3_LINKS; i++) {
			for (; next[i] < nanet3_write_position(b, i); next[i]++) {
				check_completion(b, i, next[i], &count[i]);
			}
			assert_int_equal(nanet3_release(b, i, next[i]), 0);
			assert_int_equal(nanet3_release_position(b, i), next[i]);
			there = there && count[i] > goal;
		}
		assert_true(now_ms() - started < PATIENCE_MS);
	}
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		assert_int_equal(nanet3_yield(b, i), 0);
	}
	close_board(b);
}

static void deadline_hands_over(void **state)
{
	struct nanet3 *b = open_board();
	uint32_t offset = NANET3_REG_LINK(0, NANET3_LREG_DEADLINE), old;
	const struct nanet3_event *c = NULL;

	assert_int_equal(nanet3_reg_read(b, offset, &old, 1), 0);
	claim(b, 0, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_reg_write(b, offset, 500), 0);
	assert_int_equal(nanet3_yield(b, 0), 0);
	claim(b, 0, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_ring(b, 0)->deadline_us, 500);
	for (uint64_t position = 0; position < 10; position++) {
		c = completed(b, 0, position);
		assert_int_equal(c->frames, 4);
		assert_int_equal(c->flags, NANET3_RX_DEADLINE);
	}
	assert_int_equal(nanet3_reg_write(b, offset, old), 0);
	assert_int_equal(nanet3_yield(b, 0), 0);
	close_board(b);
}

static void full_ring_is_told_exactly(void **state)
{
	struct nanet3 *b = open_board();
	uint32_t drop_reg = NANET3_REG_LINK(1, NANET3_LREG_DROP_RING), before, after;
	uint64_t count = 0, position, depth, told = 0;

	wait_locked(b, 1);
	claim(b, 1, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_reg_read(b, drop_reg, &before, 1), 0);
	depth = nanet3_ring(b, 1)->depth;
	for (after = before; after < before + 50; sleep_ms(10)) { /* full, and losing */
		assert_int_equal(nanet3_reg_read(b, drop_reg, &after, 1), 0);
	}
	assert_int_equal(nanet3_write_position(b, 1), depth);
	for (position = 0; position < depth; position++) { /* nothing was written over */
		check_completion(b, 1, position, &count);
	}
	assert_int_equal(nanet3_release(b, 1, depth), 0);
	for (; position < depth + 4; position++) {
		completed(b, 1, position);
		check_completion(b, 1, position, &count);
		if (nanet3_completion(b, 1, position)->reason == NANET3_GAP_RING_FULL) {
			told += nanet3_completion(b, 1, position)->frames;
		}
	}
	assert_int_equal(nanet3_reg_read(b, drop_reg, &after, 1), 0);
	assert_true(told > 0);
	assert_int_equal(told, after - before);
	assert_int_equal(nanet3_yield(b, 1), 0);
	close_board(b);
}

static void lost_link_is_told(void **state)
{
	struct nanet3 *b = open_board();
	uint64_t count = 0, down = 0, position = 0;
	bool lost = false, gained = false;
	struct nanet3_event ev;

	wait_locked(b, 3);
	claim(b, 3, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_subscribe(b, 1u << NANET3_EVENT_LINK), 0);
	completed(b, 3, 2);
	assert_int_equal(nanet3_link_command(b, 3, NANET3_LINK_RESET), 0);
	for (bool good = false; !good; position++) {
		const struct nanet3_event *c;

		assert_true(position < 1000);
		while (nanet3_write_position(b, 3) <= position) {
			assert_int_equal(nanet3_wait(b, PATIENCE_MS), 1);
			while (nanet3_next_event(b, &ev) == 1) {
				lost |= ev.type == NANET3_EVENT_LINK &&
					!(ev.value & NANET3_LSTAT_LOCKED) &&
					ev.reason & NANET3_CAUSE_COMMAND;
				gained |= ev.type == NANET3_EVENT_LINK &&
					  ev.value & NANET3_LSTAT_LOCKED;
			}
		}
		check_completion(b, 3, position, &count);
		c = nanet3_completion(b, 3, position);
		down += c->reason == NANET3_GAP_LINK_DOWN ? c->frames : 0;
		good = down > 0 && c->length > 0;
		assert_int_equal(nanet3_release(b, 3, position + 1), 0);
	}
	assert_true(lost && gained);
	assert_int_equal(nanet3_yield(b, 3), 0);
	close_board(b);
}

static void release_rules(void **state)
{
	struct nanet3 *b = open_board();

	assert_int_equal(nanet3_release(b, 0, 0), -EPERM);
	assert_int_equal(nanet3_release(b, 99, 0), -EINVAL);
	claim(b, 0, NANET3_CLAIM_FRESH, false);
	completed(b, 0, 5);
	assert_int_equal(nanet3_release(b, 0, 3), 0);
	assert_int_equal(nanet3_release(b, 0, 3), 0);
	assert_int_equal(nanet3_release(b, 0, 2), -EINVAL);
	assert_int_equal(nanet3_release(b, 0, 0), -EINVAL);
	assert_int_equal(nanet3_release(b, 0, nanet3_write_position(b, 0) + 1000), -EINVAL);
	assert_int_equal(nanet3_release(b, 0, ~0ull), -EINVAL);
	assert_int_equal(nanet3_release_position(b, 0), 3);
	assert_int_equal(nanet3_yield(b, 0), 0);
	close_board(b);
}

const struct CMUnitTest contract_ring[] = {
	CONTRACT_TEST(open_and_info),
	CONTRACT_TEST(one_owner_a_link),
	CONTRACT_TEST(yield_stops_dma),
	CONTRACT_TEST(completions_follow_each_other),
	CONTRACT_TEST(deadline_hands_over),
	CONTRACT_TEST(full_ring_is_told_exactly),
	CONTRACT_TEST(lost_link_is_told),
	CONTRACT_TEST(release_rules),
	{NULL},
};
