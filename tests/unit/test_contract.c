/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract between driver and library, tested through libnanet3 alone, so that the same file
 * judges every driver:
 *
 *   test_contract                            starts the emulator's host with a fake world
 *   NANET3_WHERE=/dev/nanet3-0 test_contract   or unix:PATH: a board that is there already; its links
 *                                            must be free and locked
 *
 * With a board of others the cells' content is not known, and nobody may end it: those cases are
 * skipped. Malformed packets and the end of the board are in test_contract_socket.c.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "driver/lib/libnanet3.h"
#include "tests/unit/contract_host.h"
#include "tests/unit/fake_world.h"

static char where[128], directory[64];
static bool ours; /* the host is ours: fake pattern, short linger time */
static pid_t host;

static struct nanet3 *open_board(void)
{
	struct nanet3 *b = NULL;

	assert_int_equal(nanet3_open(where, &b), 0);
	return b;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void sleep_ms(unsigned ms)
{
	nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

/* The status register says locked within a second. */
static void wait_locked(struct nanet3 *b, unsigned link)
{
	uint32_t status = 0;

	for (int i = 0; i < 100; i++) {
		assert_int_equal(
			nanet3_reg_read(b, NANET3_REG_LINK(link, NANET3_LREG_STATUS), &status, 1),
			0);
		if (status & NANET3_LSTAT_LOCKED) {
			return;
		}
		sleep_ms(10);
	}
	fail_msg("link %u does not lock", link);
}

static void claim(struct nanet3 *b, unsigned link, uint32_t flags, bool expect_taken_over)
{
	bool taken_over = !expect_taken_over;

	assert_int_equal(nanet3_claim(b, link, flags, &taken_over), 0);
	assert_int_equal(taken_over, expect_taken_over);
}

/* Wait until position `position` of a link has been completed. */
static const struct nanet3_event *completed(struct nanet3 *b, unsigned link, uint64_t position)
{
	uint64_t until = now_ms() + 2000;
	struct nanet3_event ev;

	while (nanet3_write_position(b, link) <= position) {
		assert_true(now_ms() < until);
		assert_true(nanet3_wait(b, 100) >= 0);
		while (nanet3_next_event(b, &ev) == 1) {
		}
	}
	return nanet3_completion(b, link, position);
}

static void check_content(struct nanet3 *b, const struct nanet3_event *c)
{
	const uint8_t *p = nanet3_buffer(b, c->link, c->position);

	assert_non_null(p);
	for (uint32_t i = 0; ours && i < c->length; i += 8) {
		uint64_t word;

		memcpy(&word, p + i, 8);
		if (word != fake_pattern(c->frame_count + i / NANET3_FRAME_BYTES, c->link)) {
			fail_msg("byte %u of position %llu", i, (unsigned long long)c->position);
		}
	}
}

/* A completion is sound in itself and begins where the last one ended (0: the first). */
static void check_completion(struct nanet3 *b, unsigned link, uint64_t position, uint64_t *count)
{
	const struct nanet3_ring *ring = nanet3_ring(b, link);
	const struct nanet3_event *c = nanet3_completion(b, link, position);

	assert_int_equal(c->type, NANET3_EVENT_RX);
	assert_int_equal(c->link, link);
	assert_int_equal(c->position, position);
	assert_int_equal(c->dma_epoch, ring->dma_epoch);
	assert_true(c->frames > 0 && c->time_ns > 0);
	if (c->length > 0) {
		assert_int_equal(c->length, c->frames * NANET3_FRAME_BYTES);
		assert_true(c->frames <= ring->frames_per_buffer);
		assert_int_equal(c->reason, 0);
		check_content(b, c);
	} else {
		assert_in_range(c->reason, NANET3_GAP_LINK_DOWN, NANET3_GAP_RING_FULL);
	}
	if (*count != 0 && c->frame_count != *count) {
		assert_true(c->frame_count > *count);
		assert_int_equal(c->frame_count % NANET3_FRAMES_PER_SECOND, 0);
	}
	*count = c->frame_count + c->frames;
}

/* ------------------------------------------------------------------------ open, info, claim */

static void open_and_info(void **state)
{
	struct nanet3 *b = NULL, *other = open_board();

	(void)state;
	assert_int_equal(nanet3_open("unix:/nonexistent/socket", &b), -ENOENT);
	assert_int_equal(nanet3_open("/dev/nonexistent-0", &b), -ENOENT);
	assert_null(b);
	b = open_board();
	assert_int_equal(nanet3_info(b)->version, NANET3_VERSION);
	assert_int_equal(nanet3_info(b)->driver_abi, NANET3_VERSION);
	assert_int_equal(nanet3_info(b)->links, NANET3_LINKS);
	assert_true(strlen(nanet3_info(b)->name) > 0);
	assert_null(nanet3_ring(b, 0));
	assert_null(nanet3_ring(b, 99));
	assert_null(nanet3_buffer(b, 0, 0));
	assert_null(nanet3_owner_page(b, 0));
	assert_null(nanet3_completion(b, 0, 0));
	nanet3_close(b);
	nanet3_close(other);
	nanet3_close(NULL);
}

static void one_owner_a_link(void **state)
{
	struct nanet3 *a = open_board(), *b = open_board();

	(void)state;
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
	nanet3_close(a);
	nanet3_close(b);
}

static void yield_stops_dma(void **state)
{
	struct nanet3 *b = open_board();
	uint64_t position;
	uint32_t epoch;

	(void)state;
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
	nanet3_close(b);
}

/* ------------------------------------------------------------------------ the stream */

static void completions_follow_each_other(void **state)
{
	struct nanet3 *b = open_board();
	uint64_t count[NANET3_LINKS] = {0}, next[NANET3_LINKS] = {0}, cells = 0, started;

	(void)state;
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		wait_locked(b, i);
		claim(b, i, NANET3_CLAIM_FRESH, false);
	}
	started = now_ms();
	while (now_ms() - started < 500) {
		struct nanet3_event ev;

		assert_true(nanet3_wait(b, 1000) == 1);
		while (nanet3_next_event(b, &ev) == 1) {
			assert_int_equal(ev.type, NANET3_EVENT_RX);
		}
		for (unsigned i = 0; i < NANET3_LINKS; i++) {
			for (; next[i] < nanet3_write_position(b, i); next[i]++) {
				check_completion(b, i, next[i], &count[i]);
				cells += nanet3_completion(b, i, next[i])->frames;
			}
			assert_int_equal(nanet3_release(b, i, next[i]), 0);
			assert_int_equal(nanet3_release_position(b, i), next[i]);
		}
	}
	/* A board keeps its own pace, a model in catch-up may be a bit off. */
	assert_in_range(cells, 4 * 4000 / 2, 4 * 4000 * 3 / 2);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		assert_int_equal(nanet3_yield(b, i), 0);
	}
	nanet3_close(b);
}

static void woken_once_a_tick(void **state)
{
	struct nanet3 *b = open_board();
	uint64_t started;
	unsigned wakes = 0;

	(void)state;
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		claim(b, i, NANET3_CLAIM_FRESH, false);
	}
	for (started = now_ms(); now_ms() - started < 100; wakes++) {
		struct nanet3_event ev;

		assert_true(nanet3_wait(b, 1000) == 1);
		while (nanet3_next_event(b, &ev) == 1) {
		}
	}
	assert_in_range(wakes, 2, 130); /* 1 a millisecond at most, whatever comes on four links */
	nanet3_close(b);
	b = open_board();
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		claim(b, i, NANET3_CLAIM_FRESH, false);
		assert_int_equal(nanet3_yield(b, i), 0);
	}
	nanet3_close(b);
}

static void deadline_hands_over(void **state)
{
	struct nanet3 *b = open_board();
	uint32_t offset = NANET3_REG_LINK(0, NANET3_LREG_DEADLINE), old;
	const struct nanet3_event *c = NULL;

	(void)state;
	assert_int_equal(nanet3_reg_read(b, offset, &old, 1), 0);
	assert_int_equal(nanet3_reg_write(b, offset, 500), 0);
	claim(b, 0, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_ring(b, 0)->deadline_us, 500);
	for (uint64_t position = 0; position < 10; position++) {
		c = completed(b, 0, position);
		assert_int_equal(c->frames, 4);
		assert_int_equal(c->flags, NANET3_RX_DEADLINE);
	}
	assert_int_equal(nanet3_reg_write(b, offset, old), 0);
	assert_int_equal(nanet3_yield(b, 0), 0);
	nanet3_close(b);
}

static void full_ring_is_told_exactly(void **state)
{
	struct nanet3 *b = open_board();
	uint32_t drop_reg = NANET3_REG_LINK(1, NANET3_LREG_DROP_RING), before, after;
	uint64_t count = 0, position, depth, told = 0;

	(void)state;
	wait_locked(b, 1);
	claim(b, 1, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_reg_read(b, drop_reg, &before, 1), 0);
	depth = nanet3_ring(b, 1)->depth;
	while (nanet3_write_position(b, 1) < depth) {
		sleep_ms(10);
	}
	sleep_ms(50);
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
	nanet3_close(b);
}

static void lost_link_is_told(void **state)
{
	struct nanet3 *b = open_board();
	uint64_t count = 0, down = 0, position = 0;
	bool lost = false, gained = false;
	struct nanet3_event ev;

	(void)state;
	wait_locked(b, 3);
	claim(b, 3, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_subscribe(b, 1u << NANET3_EVENT_LINK), 0);
	completed(b, 3, 2);
	assert_int_equal(nanet3_link_command(b, 3, NANET3_LINK_RESET), 0);
	for (bool good = false; !good; position++) {
		const struct nanet3_event *c;

		assert_true(position < 1000);
		while (nanet3_write_position(b, 3) <= position) {
			assert_int_equal(nanet3_wait(b, 2000), 1);
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
	nanet3_close(b);
}

static void release_rules(void **state)
{
	struct nanet3 *b = open_board();

	(void)state;
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
	nanet3_close(b);
}

/* ------------------------------------------------------------------------ survival */

/* What an owner leaves behind: link 1 with positions up to 10 completed, 4 released, a note. */
static void own_a_while(struct nanet3 *b)
{
	claim(b, 1, NANET3_CLAIM_FRESH, false);
	completed(b, 1, 10);
	assert_int_equal(nanet3_release(b, 1, 4), 0);
	strcpy(nanet3_owner_page(b, 1), "cursor 4");
}

/* The next owner finds all of it, and no cell is missing in between. */
static void check_taken_over(struct nanet3 *b, uint32_t epoch)
{
	uint64_t count = 0, position;

	claim(b, 1, 0, true);
	assert_int_equal(nanet3_ring(b, 1)->dma_epoch, epoch);
	assert_int_equal(nanet3_ring(b, 1)->owner_pid, getpid());
	assert_int_equal(nanet3_release_position(b, 1), 4);
	assert_string_equal(nanet3_owner_page(b, 1), "cursor 4");
	for (position = 4; position < 40; position++) {
		completed(b, 1, position);
		check_completion(b, 1, position, &count);
		assert_true(nanet3_completion(b, 1, position)->length > 0);
	}
	assert_int_equal(nanet3_yield(b, 1), 0);
}

static void ring_survives_close(void **state)
{
	struct nanet3 *a = open_board(), *b = open_board();
	uint32_t epoch;

	(void)state;
	wait_locked(a, 1);
	own_a_while(a);
	epoch = nanet3_ring(a, 1)->dma_epoch;
	assert_int_equal(nanet3_observe(b, 1), 0);
	nanet3_close(a);
	sleep_ms(20);
	assert_int_equal(nanet3_ring(b, 1)->status, NANET3_RING_LINGERING);
	assert_int_equal(nanet3_ring(b, 1)->owner_pid, 0);
	check_taken_over(b, epoch);
	nanet3_close(b);
}

static void ring_survives_kill(void **state)
{
	struct nanet3 *b = open_board();
	int ready[2];
	uint32_t epoch = 0;
	pid_t pid;

	(void)state;
	wait_locked(b, 1);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct nanet3 *a = open_board();

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		own_a_while(a);
		epoch = nanet3_ring(a, 1)->dma_epoch;
		(void)!write(ready[1], &epoch, sizeof(epoch));
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	close(ready[1]);
	assert_int_equal(read(ready[0], &epoch, sizeof(epoch)), sizeof(epoch));
	close(ready[0]);
	assert_int_equal(nanet3_claim(b, 1, 0, NULL), -EBUSY);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	check_taken_over(b, epoch); /* at once: no EBUSY for the dead */
	nanet3_close(b);
}

static void linger_ends(void **state)
{
	struct nanet3 *a = open_board(), *b = open_board();
	uint32_t epoch, linger_ms;
	uint64_t position;

	(void)state;
	assert_int_equal(nanet3_observe(b, 1), 0);
	linger_ms = nanet3_ring(b, 1)->linger_ms;
	if (linger_ms > 2000) {
		nanet3_close(a);
		nanet3_close(b);
		skip();
	}
	own_a_while(a);
	epoch = nanet3_ring(a, 1)->dma_epoch;
	nanet3_close(a);
	sleep_ms(linger_ms / 2);
	assert_int_equal(nanet3_ring(b, 1)->status, NANET3_RING_LINGERING);
	sleep_ms(linger_ms / 2 + 100);
	assert_int_equal(nanet3_ring(b, 1)->status, NANET3_RING_STOPPED);
	position = nanet3_write_position(b, 1);
	sleep_ms(20);
	assert_int_equal(nanet3_write_position(b, 1), position);
	claim(b, 1, 0, false);
	assert_int_equal(nanet3_ring(b, 1)->dma_epoch, epoch + 1);
	assert_int_equal(((char *)nanet3_owner_page(b, 1))[0], 0);
	assert_int_equal(nanet3_release_position(b, 1), 0);
	assert_int_equal(completed(b, 1, 0)->position, 0);
	assert_int_equal(nanet3_yield(b, 1), 0);
	nanet3_close(b);
}

static void fresh_claim_starts_anew(void **state)
{
	struct nanet3 *a = open_board(), *b;
	uint32_t epoch;
	uint64_t count = 0;

	(void)state;
	own_a_while(a);
	epoch = nanet3_ring(a, 1)->dma_epoch;
	nanet3_close(a);
	b = open_board();
	claim(b, 1, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_ring(b, 1)->dma_epoch, epoch + 1);
	assert_int_equal(((char *)nanet3_owner_page(b, 1))[0], 0);
	for (uint64_t position = 0; position < 5; position++) {
		completed(b, 1, position);
		check_completion(b, 1, position, &count);
	}
	assert_int_equal(nanet3_yield(b, 1), 0);
	nanet3_close(b);
}

static void observer_sees_and_touches_nothing(void **state)
{
	struct nanet3 *a = open_board(), *b = open_board();
	struct nanet3_event ev;

	(void)state;
	assert_int_equal(nanet3_observe(b, 99), -EINVAL);
	assert_int_equal(nanet3_observe(b, 2), 0);
	assert_int_equal(nanet3_observe(b, 2), 0);
	claim(a, 2, NANET3_CLAIM_FRESH, false);
	completed(a, 2, 5);
	assert_true(nanet3_write_position(b, 2) > 5);
	assert_int_equal(nanet3_completion(b, 2, 5)->position, 5);
	assert_null(nanet3_buffer(b, 2, 0));
	assert_null(nanet3_owner_page(b, 2));
	assert_int_equal(nanet3_release(b, 2, 1), -EPERM);
	assert_int_equal(nanet3_wait(b, 20), 0); /* the owner's data wake only the owner */
	assert_int_equal(nanet3_next_event(b, &ev), 0);
	assert_int_equal(nanet3_yield(a, 2), 0);
	nanet3_close(a);
	nanet3_close(b);
}

/* ------------------------------------------------------------------------ words */

static struct nanet3_event next_tx(struct nanet3 *b)
{
	struct nanet3_event ev = {0};

	while (nanet3_wait(b, 2000) == 1) {
		while (nanet3_next_event(b, &ev) == 1) {
			if (ev.type == NANET3_EVENT_TX) {
				return ev;
			}
		}
	}
	fail_msg("no completion");
	return ev;
}

static uint64_t board_count_now(struct nanet3 *b)
{
	uint32_t pair[2];

	assert_int_equal(nanet3_reg_read(b, NANET3_REG_COUNT, pair, 2), 0);
	return (uint64_t)pair[1] << 32 | pair[0];
}

static void words_are_sent_and_completed(void **state)
{
	struct nanet3 *a = open_board(), *b = open_board();
	struct nanet3_tx tx = {.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	uint64_t before = board_count_now(a);
	struct nanet3_event ev;

	(void)state;
	wait_locked(a, 0);
	for (uint64_t i = 0; i < 20; i++) {
		tx.cookie = 0xfeed000000000000u + i;
		assert_int_equal(nanet3_send(a, &tx), 0);
	}
	for (uint64_t i = 0; i < 20; i++) {
		ev = next_tx(a);
		assert_true(ev.cookie == 0xfeed000000000000u + i);
		assert_true(ev.frame_count >= before);
		assert_int_equal(ev.reason, 0);
		before = ev.frame_count;
	}
	tx.at_frame = board_count_now(a) + 400;
	tx.cookie = 7;
	assert_int_equal(nanet3_send(a, &tx), 0);
	ev = next_tx(a);
	assert_true(ev.frame_count == tx.at_frame || ev.frame_count % 8000 == 0);
	assert_int_equal(ev.cookie, 7);
	assert_int_equal(nanet3_wait(b, 0), 0); /* completions come to the sender only */
	tx = (struct nanet3_tx){.link = 0xff, .kind = NANET3_TX_TIMING, .bytes = {2}};
	assert_int_equal(nanet3_send(a, &tx), 0);
	assert_int_equal(next_tx(a).link, 0xff);
	nanet3_close(a);
	nanet3_close(b);
}

static void malformed_words_are_refused(void **state)
{
	struct nanet3 *b = open_board();
	static const struct nanet3_tx good = {
		.link = 0, .kind = NANET3_TX_SERIAL, .bytes = {0, 30}};
	static const struct nanet3_tx bad[] = {
		{.link = 4, .kind = NANET3_TX_REQUEST, .bytes = {1}},
		{.link = 0xff, .kind = NANET3_TX_REQUEST, .bytes = {1}},
		{.link = 0xff, .kind = NANET3_TX_SERIAL},
		{.link = 0, .kind = 0, .bytes = {1}},
		{.link = 0, .kind = 4, .bytes = {1}},
		{.link = 0, .kind = NANET3_TX_REQUEST},
		{.link = 0, .kind = NANET3_TX_TIMING},
		{.link = 0, .kind = NANET3_TX_TIMING, .bytes = {1, 1}},
		{.link = 0, .kind = NANET3_TX_SERIAL, .bytes = {0, 31}},
		{.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}, .reserved0 = 1},
		{.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}, .reserved1 = 1},
		{.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}, .reserved2 = 1},
		{.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}, .at_frame = ~0ull},
	};

	(void)state;
	wait_locked(b, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(nanet3_send(b, &bad[i]), -EINVAL);
	}
	assert_int_equal(nanet3_send(b, &good), 0);
	next_tx(b);
	nanet3_close(b);
}

static void unlocked_link_takes_no_words(void **state)
{
	struct nanet3 *b = open_board();
	struct nanet3_tx tx = {.link = 2, .kind = NANET3_TX_REQUEST, .bytes = {1}};

	(void)state;
	wait_locked(b, 2);
	assert_int_equal(nanet3_link_command(b, 2, NANET3_LINK_RESET | NANET3_LINK_ALIGN), 0);
	sleep_ms(5);
	assert_int_equal(nanet3_send(b, &tx), -ENOLINK);
	wait_locked(b, 2);
	assert_int_equal(nanet3_send(b, &tx), 0);
	next_tx(b);
	nanet3_close(b);
}

static void full_tx_ring_says_again(void **state)
{
	struct nanet3 *b = open_board();
	struct nanet3_tx tx = {.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	unsigned sent = 0;
	int r;

	(void)state;
	wait_locked(b, 0);
	tx.at_frame = board_count_now(b) + 4000;
	while ((r = nanet3_send(b, &tx)) == 0) {
		sent++;
		assert_true(sent < 100000);
	}
	assert_int_equal(r, -EAGAIN);
	assert_true(sent >= 16);
	for (unsigned i = 0; i < sent; i++) {
		next_tx(b);
	}
	tx.at_frame = 0;
	assert_int_equal(nanet3_send(b, &tx), 0);
	next_tx(b);
	nanet3_close(b);
}

static void full_queue_counts_what_it_loses(void **state)
{
	struct nanet3 *b = open_board();
	struct nanet3_tx tx = {.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	uint32_t size = nanet3_info(b)->queue_size;
	uint64_t until = now_ms() + 5000;
	struct nanet3_event ev;
	unsigned taken = 0, sent = 0;

	(void)state;
	wait_locked(b, 0);
	while (sent < size + 100 && now_ms() < until) {
		int r = nanet3_send(b, &tx);

		assert_true(r == 0 || r == -EAGAIN);
		sent += r == 0;
	}
	sleep_ms(100);
	while (nanet3_next_event(b, &ev) == 1) {
		taken++;
	}
	assert_int_equal(sent, size + 100);
	assert_int_equal(taken, size);
	assert_int_equal(nanet3_events_lost(b), 100);
	assert_int_equal(nanet3_send(b, &tx), 0);
	next_tx(b);
	nanet3_close(b);
}

/* ------------------------------------------------------------------------ registers, commands */

static void registers(void **state)
{
	struct nanet3 *b = open_board();
	uint32_t values[NANET3_REGS_MAX + 1];

	(void)state;
	assert_int_equal(nanet3_reg_read(b, NANET3_REG_ID, values, 4), 0);
	assert_int_equal(values[0], 0x00334e4e);
	assert_int_equal(values[1], NANET3_VERSION);
	assert_int_equal(values[3], nanet3_info(b)->serial);
	assert_int_equal(nanet3_reg_read(b, 0, values, NANET3_REGS_MAX), 0);
	assert_int_equal(nanet3_reg_read(b, 0, values, NANET3_REGS_MAX + 1), -EINVAL);
	assert_int_equal(nanet3_reg_read(b, 0, values, 0), -EINVAL);
	assert_int_equal(nanet3_reg_read(b, 2, values, 1), -EINVAL);
	assert_int_equal(nanet3_reg_read(b, NANET3_BAR_BYTES - 4, values, 1), 0);
	assert_int_equal(nanet3_reg_read(b, NANET3_BAR_BYTES - 4, values, 2), -EINVAL);
	assert_int_equal(nanet3_reg_read(b, NANET3_BAR_BYTES, values, 1), -EINVAL);
	assert_int_equal(nanet3_reg_read(b, 0xfffffffc, values, 2), -EINVAL);
	assert_int_equal(nanet3_reg_write(b, 0xfffffffc, 1), -EINVAL);
	assert_int_equal(nanet3_reg_write(b, 1, 1), -EINVAL);
	assert_int_equal(nanet3_reg_write(b, NANET3_REG_SCRATCH, 0xcafe), 0);
	assert_int_equal(nanet3_reg_read(b, NANET3_REG_SCRATCH, values, 1), 0);
	assert_int_equal(values[0], 0xcafe);
	nanet3_close(b);
}

static void commands(void **state)
{
	struct nanet3 *b = open_board();

	(void)state;
	assert_int_equal(nanet3_link_command(b, NANET3_LINKS, NANET3_LINK_RESET), -EINVAL);
	assert_int_equal(nanet3_link_command(b, 0, 0), -EINVAL);
	assert_int_equal(nanet3_link_command(b, 0, NANET3_LINK_ENABLE), -EINVAL);
	assert_int_equal(nanet3_link_command(b, 0, 0x80 | NANET3_LINK_ALIGN), -EINVAL);
	assert_int_equal(nanet3_subscribe(b, 1u << NANET3_EVENT_RX), -EINVAL);
	assert_int_equal(nanet3_subscribe(b, ~0u), -EINVAL);
	assert_int_equal(nanet3_subscribe(b, 0), 0);
	nanet3_close(b);
}

static void pps_is_told_to_subscribers(void **state)
{
	struct nanet3 *b = open_board();
	struct nanet3_event ev = {0};

	(void)state;
	assert_int_equal(nanet3_subscribe(b, 1u << NANET3_EVENT_PPS), 0);
	assert_int_equal(nanet3_wait(b, 1500), 1);
	assert_int_equal(nanet3_next_event(b, &ev), 1);
	assert_int_equal(ev.type, NANET3_EVENT_PPS);
	assert_int_equal(ev.frame_count % NANET3_FRAMES_PER_SECOND, 0);
	assert_true(ev.value > 0);
	nanet3_close(b);
}

/* Somebody without privilege may not write what disturbs others. */
static int as_nobody(void)
{
	struct nanet3 *b = NULL;
	int failed = 0;

	if (setgid(65534) != 0 || setuid(65534) != 0 || nanet3_open(where, &b) != 0) {
		return 1;
	}
	failed |= nanet3_reg_write(b, NANET3_REG_IRQ_MASK, 0) != -EPERM ? 2 : 0;
	failed |= nanet3_reg_write(b, NANET3_REG_LINK(0, NANET3_LREG_CONTROL), 0) != -EPERM ? 4 : 0;
	failed |= nanet3_reg_write(b, NANET3_REG_SCRATCH, 1) != 0 ? 8 : 0;
	failed |= nanet3_reg_write(b, NANET3_REG_LINK(3, NANET3_LREG_DEADLINE), 5000) != 0 ? 16 : 0;
	nanet3_close(b);
	return failed;
}

static void privilege(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0 || !ours) {
		skip();
	}
	assert_int_equal(chmod(directory, 0755), 0);
	assert_int_equal(chmod(where + 5, 0666), 0);
	pid = fork();
	if (pid == 0) {
		_exit(as_nobody());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ------------------------------------------------------------------------ waiting */

static void waits(void **state)
{
	struct nanet3 *b = open_board();
	struct pollfd p = {.fd = nanet3_fd(b), .events = POLLIN};
	struct nanet3_tx tx = {.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	struct nanet3_event ev;
	uint64_t from = now_ms();

	(void)state;
	wait_locked(b, 0);
	from = now_ms();
	assert_int_equal(nanet3_wait(b, 0), 0);
	assert_int_equal(nanet3_wait(b, 50), 0);
	assert_in_range(now_ms() - from, 49, 500);
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(nanet3_send(b, &tx), 0);
	assert_int_equal(poll(&p, 1, 1000), 1);
	assert_int_equal(nanet3_wait(b, -1), 1);
	assert_int_equal(nanet3_wait(b, -1), 1); /* as long as an event waits */
	assert_int_equal(nanet3_next_event(b, &ev), 1);
	assert_int_equal(nanet3_next_event(b, &ev), 0);
	assert_int_equal(nanet3_wait(b, 0), 0);
	assert_int_equal(poll(&p, 1, 0), 0);
	nanet3_close(b);
}

/* ------------------------------------------------------------------------ */

static int start_host(void **state)
{
	const char *given = getenv("NANET3_WHERE");
	struct host_config config;

	(void)state;
	if (given != NULL) {
		snprintf(where, sizeof(where), "%s", given);
		return 0;
	}
	strcpy(directory, "/tmp/nanet3-XXXXXX");
	if (mkdtemp(directory) == NULL) {
		return -1;
	}
	snprintf(where, sizeof(where), "unix:%s/socket", directory);
	host_config_default(&config);
	config.socket_path = where + 5;
	config.depth_ms = 200;
	config.linger_ms = 1000;
	host = contract_host_start(&config);
	ours = host > 0;
	return ours ? 0 : -1;
}

static int end_host(void **state)
{
	(void)state;
	if (ours) {
		if (contract_host_end(host, SIGTERM) != 0) {
			return -1;
		}
		rmdir(directory);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_and_info),
		cmocka_unit_test(one_owner_a_link),
		cmocka_unit_test(yield_stops_dma),
		cmocka_unit_test(completions_follow_each_other),
		cmocka_unit_test(woken_once_a_tick),
		cmocka_unit_test(deadline_hands_over),
		cmocka_unit_test(full_ring_is_told_exactly),
		cmocka_unit_test(lost_link_is_told),
		cmocka_unit_test(release_rules),
		cmocka_unit_test(ring_survives_close),
		cmocka_unit_test(ring_survives_kill),
		cmocka_unit_test(linger_ends),
		cmocka_unit_test(fresh_claim_starts_anew),
		cmocka_unit_test(observer_sees_and_touches_nothing),
		cmocka_unit_test(words_are_sent_and_completed),
		cmocka_unit_test(malformed_words_are_refused),
		cmocka_unit_test(unlocked_link_takes_no_words),
		cmocka_unit_test(full_tx_ring_says_again),
		cmocka_unit_test(full_queue_counts_what_it_loses),
		cmocka_unit_test(registers),
		cmocka_unit_test(commands),
		cmocka_unit_test(pps_is_told_to_subscribers),
		cmocka_unit_test(privilege),
		cmocka_unit_test(waits),
	};

	return cmocka_run_group_tests(tests, start_host, end_host);
}
