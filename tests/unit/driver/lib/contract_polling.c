/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contract: polling owners, and the driver's statistics. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/driver/lib/contract_rig.h"

static struct nanet3_stats stats(struct nanet3 *b)
{
	struct nanet3_stats s;

	memset(&s, 0xff, sizeof(s));
	assert_int_equal(nanet3_stats(b, &s), 0);
	return s;
}

/* Until the driver's view has come this far: it lags by some ms. */
static void follows(struct nanet3 *observer, unsigned link, uint64_t write, uint64_t release)
{
	uint64_t until = now_ms() + PATIENCE_MS;

	while (nanet3_write_position(observer, link) < write ||
	       nanet3_release_position(observer, link) < release) {
		assert_true(now_ms() < until);
		sleep_ms(1);
	}
	assert_int_equal(nanet3_release_position(observer, link), release);
}

/* ------------------------------------------------------------------------ polling */

static void polling_is_for_owners(void **state)
{
	struct nanet3 *b = open_board();

	assert_int_equal(nanet3_polling(b, true), -EPERM);
	assert_int_equal(nanet3_polling(b, false), -EPERM);
	claim(b, 0, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_polling(b, true), 0);
	assert_int_equal(nanet3_polling(b, true), 0);
	assert_int_equal(nanet3_polling(b, false), 0);
	assert_int_equal(nanet3_polling(b, false), 0);
	assert_int_equal(nanet3_yield(b, 0), 0);
	assert_int_equal(nanet3_polling(b, true), -EPERM);
	close_board(b);
}

/* A reader of sequence numbers sees every cell of all links, ring state agrees, and nothing has
 * interrupted it. */
static void polled_stream_is_whole(void **state)
{
	struct nanet3 *b = open_board(), *observer = open_board();
	uint64_t count[NANET3_LINKS] = {0}, next[NANET3_LINKS] = {0}, until;
	struct nanet3_stats before, after;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		wait_locked(b, i);
		claim(b, i, NANET3_CLAIM_FRESH, false);
		assert_int_equal(nanet3_observe(observer, i), 0);
	}
	assert_int_equal(nanet3_polling(b, true), 0);
	before = stats(b);
	for (until = now_ms() + 500; now_ms() < until;) {
		struct nanet3_event ev;

		assert_int_equal(nanet3_wait(b, PATIENCE_MS), 1);
		while (nanet3_next_event(b, &ev) == 1) {
			assert_int_equal(ev.type, NANET3_EVENT_RX);
		}
		for (unsigned i = 0; i < NANET3_LINKS; i++) {
			for (; next[i] < nanet3_write_position(b, i); next[i]++) {
				check_completion(b, i, next[i], &count[i]);
			}
			assert_int_equal(nanet3_release(b, i, next[i]), 0);
			assert_int_equal(nanet3_release_position(b, i), next[i]);
		}
	}
	after = stats(b);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		assert_true(next[i] > 4);
		assert_true(after.links[i].interrupts - before.links[i].interrupts <= 2);
		follows(observer, i, next[i], next[i]);
		for (uint64_t p = next[i] - 2; p < next[i]; p++) {
			assert_int_equal(nanet3_completion(observer, i, p)->position, p);
		}
	}
	assert_true(after.rescued > before.rescued);
	/* Off: ring state has caught up, and the stream goes on without a hole. */
	assert_int_equal(nanet3_polling(b, false), 0);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		assert_true(nanet3_write_position(b, i) >= next[i]);
		for (uint64_t p = next[i]; p < next[i] + 3; p++) {
			completed(b, i, p);
			check_completion(b, i, p, &count[i]);
		}
		assert_int_equal(nanet3_yield(b, i), 0);
	}
	close_board(b);
	close_board(observer);
}

static void polled_ring_full_and_released(void **state)
{
	struct nanet3 *b = open_board();
	uint64_t count = 0, until = now_ms() + PATIENCE_MS, depth;
	uint32_t before, drops;

	wait_locked(b, 1);
	claim(b, 1, NANET3_CLAIM_FRESH, false);
	depth = nanet3_ring(b, 1)->depth;
	assert_int_equal(nanet3_polling(b, true), 0);
	assert_int_equal(nanet3_reg_read(b, NANET3_REG_LINK(1, NANET3_LREG_DROP_RING), &before, 1),
			 0);
	for (drops = before; drops < before + 50; sleep_ms(10)) {
		assert_true(now_ms() < until);
		assert_int_equal(
			nanet3_reg_read(b, NANET3_REG_LINK(1, NANET3_LREG_DROP_RING), &drops, 1),
			0);
	}
	assert_int_equal(nanet3_write_position(b, 1), depth);
	for (uint64_t p = 0; p < depth; p++) {
		check_completion(b, 1, p, &count);
	}
	assert_int_equal(nanet3_release(b, 1, depth + 1), -EINVAL);
	assert_int_equal(nanet3_release(b, 1, depth), 0);
	assert_int_equal(nanet3_release(b, 1, depth - 1), -EINVAL);
	for (uint64_t p = depth; p < depth + 3; p++) {
		completed(b, 1, p);
		check_completion(b, 1, p, &count);
	}
	assert_int_equal(nanet3_completion(b, 1, depth)->reason, NANET3_GAP_RING_FULL);
	assert_int_equal(nanet3_yield(b, 1), 0);
	close_board(b);
}

static void polling_ends_with_the_last_link(void **state)
{
	struct nanet3 *b = open_board();
	struct nanet3_stats before, after;

	claim(b, 0, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_polling(b, true), 0);
	claim(b, 2, NANET3_CLAIM_FRESH, false); /* is polled as well */
	completed(b, 2, 3);
	assert_int_equal(nanet3_yield(b, 0), 0);
	completed(b, 2, 6);
	assert_int_equal(nanet3_yield(b, 2), 0);
	before = stats(b);
	claim(b, 2, NANET3_CLAIM_FRESH, false);
	completed(b, 2, 5);
	after = stats(b);
	assert_true(after.links[2].interrupts > before.links[2].interrupts);
	assert_int_equal(nanet3_yield(b, 2), 0);
	close_board(b);
}

/* Events of puts and words come to one who polls, too. */
static void polling_does_not_hide_other_events(void **state)
{
	struct nanet3 *b = open_board();
	struct nanet3_tx tx = {.link = 0, .kind = NANET3_TX_REQUEST, .cookie = 8, .bytes = {1}};
	static uint8_t memory[20000];
	struct nanet3_put put = {.destination_offset = 10000, .length = 9000, .cookie = 9};
	uint64_t until = now_ms() + PATIENCE_MS;
	unsigned seen = 0;
	uint32_t buffer;

	wait_locked(b, 0);
	claim(b, 0, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_register_buffer(b, memory, sizeof(memory), &buffer), 0);
	put.source = put.destination = buffer;
	assert_int_equal(nanet3_polling(b, true), 0);
	memset(memory, 7, 9000);
	assert_int_equal(nanet3_put(b, &put), 0);
	assert_int_equal(nanet3_send(b, &tx), 0);
	while (seen != 7) {
		struct nanet3_event ev;

		assert_true(now_ms() < until);
		assert_int_equal(nanet3_wait(b, PATIENCE_MS), 1);
		while (nanet3_next_event(b, &ev) == 1) {
			seen |= ev.type == NANET3_EVENT_TX && ev.cookie == 8 ? 1 : 0;
			seen |= ev.type == NANET3_EVENT_TX && ev.cookie == 9 ? 2 : 0;
			seen |= ev.type == NANET3_EVENT_PUT && ev.cookie == 9 ? 4 : 0;
		}
	}
	assert_memory_equal(memory, memory + 10000, 9000);
	assert_int_equal(nanet3_yield(b, 0), 0);
	close_board(b);
}

/* What a polling owner leaves when it dies: 11 positions at least, 4 released by doorbell, a note. */
static void poll_a_while(int ready)
{
	struct nanet3 *a = NULL;
	uint32_t epoch;
	bool taken_over;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (nanet3_open(where, &a) != 0 ||
	    nanet3_claim(a, 1, NANET3_CLAIM_FRESH, &taken_over) != 0 ||
	    nanet3_polling(a, true) != 0) {
		_exit(1);
	}
	while (nanet3_write_position(a, 1) < 11) {
	}
	if (nanet3_release(a, 1, 4) != 0) {
		_exit(2);
	}
	strcpy(nanet3_owner_page(a, 1), "cursor 4");
	epoch = nanet3_ring(a, 1)->dma_epoch;
	(void)!write(ready, &epoch, sizeof(epoch));
	for (;;) { /* as one who polls does */
		(void)nanet3_wait(a, 1);
	}
}

static void take_over_from_one_who_polled(void **state)
{
	struct nanet3 *b = open_board();
	uint64_t count = 0;
	uint32_t epoch = 0;
	int ready[2];
	pid_t pid;

	wait_locked(b, 1);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		poll_a_while(ready[1]);
	}
	assert_true(pid > 0);
	close(ready[1]);
	assert_int_equal(read(ready[0], &epoch, sizeof(epoch)), sizeof(epoch));
	close(ready[0]);
	assert_int_equal(nanet3_claim(b, 1, 0, NULL), -EBUSY);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	claim(b, 1, 0, true); /* at once: no EBUSY for the dead */
	assert_int_equal(nanet3_ring(b, 1)->dma_epoch, epoch);
	assert_int_equal(nanet3_release_position(b, 1), 4);
	assert_string_equal(nanet3_owner_page(b, 1), "cursor 4");
	for (uint64_t p = 4; p < 40 && p < nanet3_ring(b, 1)->depth; p++) {
		completed(b, 1, p); /* by interrupt: polling was the dead one's */
		check_completion(b, 1, p, &count);
		assert_true(nanet3_completion(b, 1, p)->length > 0);
	}
	assert_int_equal(nanet3_yield(b, 1), 0);
	close_board(b);
}

/* ------------------------------------------------------------------------ statistics */

static void statistics_move(void **state)
{
	struct nanet3 *b = open_board(), *other;
	struct nanet3_stats from = stats(b), to;
	struct nanet3_tx tx = {.link = 3, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	static uint8_t memory[3 * NANET3_PAGE];
	struct nanet3_put put = {.destination_offset = 6000, .length = 5000};
	uint32_t buffer;

	assert_true(from.clients >= 1);
	other = open_board();
	wait_locked(b, 3);
	assert_int_equal(nanet3_register_buffer(b, memory + 1, sizeof(memory) - 1, &buffer), 0);
	put.source = put.destination = buffer;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(nanet3_put(b, &put), 0);
		next_tx(b);
	}
	claim(other, 3, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_grant(other, 3, nanet3_info(b)->handle), 0);
	assert_int_equal(nanet3_send(b, &tx), 0);
	next_tx(b);
	completed(other, 3, 3);
	close_board(other);
	claim(b, 3, 0, true);
	completed(b, 3, 6);
	to = stats(b);
	assert_int_equal(to.puts - from.puts, 3);
	assert_int_equal(to.put_bytes - from.put_bytes, 15000);
	assert_int_equal(to.tx_words - from.tx_words, 1);
	assert_int_equal(to.tx_faults - from.tx_faults, 0);
	assert_int_equal(to.buffers - from.buffers, 1);
	assert_in_range(to.pinned_pages - from.pinned_pages, 3, 4); /* not page-aligned, maybe */
	assert_int_equal(to.links[3].starts - from.links[3].starts, 1);
	assert_int_equal(to.links[3].lingers - from.links[3].lingers, 1);
	assert_int_equal(to.links[3].takeovers - from.links[3].takeovers, 1);
	assert_true(to.links[3].buffers - from.links[3].buffers >= 7);
	assert_true(to.links[3].interrupts > from.links[3].interrupts);
	assert_true(to.control_interrupts > from.control_interrupts);
	assert_true(to.events - from.events >= 7 + 6 + 1);
	assert_int_equal(to.bad_events - from.bad_events, 0);
	assert_int_equal(nanet3_unregister_buffer(b, buffer), 0);
	to = stats(b);
	assert_int_equal(to.buffers, from.buffers);
	assert_int_equal(to.pinned_pages, from.pinned_pages);
	assert_int_equal(nanet3_yield(b, 3), 0);
	close_board(b);
}

const struct CMUnitTest contract_polling[] = {
	CONTRACT_TEST(polling_is_for_owners),
	CONTRACT_TEST(polled_stream_is_whole),
	CONTRACT_TEST(polled_ring_full_and_released),
	CONTRACT_TEST(polling_ends_with_the_last_link),
	CONTRACT_TEST(polling_does_not_hide_other_events),
	CONTRACT_TEST(take_over_from_one_who_polled),
	CONTRACT_TEST(statistics_move),
	{NULL},
};
