/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tap: what the recorder may hold back, when it has to let go, and that it knows. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/data/tap.h"

#define DEPTH 64u
#define FIRST 80000u

static struct tap T;
static uint8_t data[DEPTH];
static struct label label = {.time_epoch = 1};
static const struct tap_board board = {.serial = 7, .boot_count = 1, .emulated = true};

static int set_up(void **state)
{
	assert_int_equal(tap_init(&T, 64), 0);
	tap_begin(&T, 1, 5, &board, 100);
	return 0;
}

static int tear_down(void **state)
{
	tap_fini(&T);
	assert_null(T.queue.items);
	return 0;
}

static struct nanet3_event completion(uint64_t position)
{
	return (struct nanet3_event){.dma_epoch = 5,
				     .frame_count = FIRST + position * 16,
				     .frames = 16,
				     .length = 160000};
}

static void offer_at(uint64_t position, uint64_t count, uint64_t now_ns)
{
	struct nanet3_event e = completion(position);

	e.frame_count = count;
	tap_offer(&T, 1, position, &e, data, 160000, &label, 3, now_ns);
}

static void offer(uint64_t position, uint64_t now_ns)
{
	offer_at(position, FIRST + position * 16, now_ns);
}

/* Positions [from, to) of a wanted link. */
static void feed(uint64_t from, uint64_t to, uint64_t now_ns)
{
	uint64_t at;

	atomic_store(&T.link[1].wanted, true);
	assert_true(tap_feeding(&T, 1, from, now_ns, &at));
	assert_int_equal(at, from);
	for (; at < to; at++) {
		offer(at, now_ns);
	}
}

static bool next(struct tap_entry *e)
{
	struct tap_entry *p = queue_peek(&T.queue);

	if (p) {
		*e = *p;
		queue_release(&T.queue);
	}
	return p != NULL;
}

static void test_nobody_wants(void **state)
{
	uint64_t at;

	assert_false(tap_feeding(&T, 1, 100, 1, &at));
	assert_int_equal(tap_release(&T, 1, 120, 20, DEPTH, 1), 120);
}

static void test_release_waits(void **state)
{
	struct tap_entry e;

	feed(100, 110, 1000);
	assert_int_equal(tap_release(&T, 1, 108, 10, DEPTH, 2000), 100);
	assert_true(next(&e));
	assert_int_equal(e.kind, TAP_STATE);
	assert_int_equal(e.state.run, 3);
	assert_int_equal(e.state.board.serial, 7);
	assert_true(e.state.board.emulated);
	tap_done(&T, &e);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(next(&e));
		assert_int_equal(e.kind, TAP_CELLS);
		assert_int_equal(e.count, FIRST + (100 + i) * 16);
		assert_true(tap_lend(&T, &e));
		tap_return(&T, &e);
		tap_done(&T, &e);
	}
	assert_int_equal(tap_release(&T, 1, 108, 10, DEPTH, 3000), 103);
}

static void test_late_lets_go(void **state)
{
	struct tap_entry e;

	feed(100, 110, 1000);
	assert_int_equal(tap_release(&T, 1, 108, 10, DEPTH, 1000 + TAP_BEHIND_NS), 100);
	assert_int_equal(tap_release(&T, 1, 108, 10, DEPTH, 1001 + TAP_BEHIND_NS), 108);
	assert_int_equal(T.link[1].let_go, 8);
	for (unsigned i = 0; i < 11; i++) { /* a state, then 100 .. 109 */
		assert_true(next(&e));
		if (e.kind == TAP_CELLS) {
			assert_int_equal(tap_holds(&T, &e), e.count >= FIRST + 108 * 16);
			assert_int_equal(tap_lend(&T, &e), e.count >= FIRST + 108 * 16);
			if (e.count >= FIRST + 108 * 16) {
				tap_return(&T, &e);
			}
		}
	}
	/* What was let go is not held against it again. */
	assert_int_equal(tap_release(&T, 1, 110, 10, DEPTH, 1002 + TAP_BEHIND_NS), 108);
}

static void test_crowded_lets_go(void **state)
{
	feed(100, 140, 1000);
	assert_int_equal(tap_release(&T, 1, 108, DEPTH / 2 + 1, DEPTH, 1001), 100);
	assert_int_equal(tap_release(&T, 1, 132, DEPTH / 2, DEPTH, 1001), 100);
	assert_int_equal(tap_release(&T, 1, 132, DEPTH / 2 + 1, DEPTH, 1001), 132);
}

/* While a recorder is behind, the ones that keep up with it are not called late. */
static void test_one_that_follows(void **state)
{
	uint64_t now_ns = 1000;
	struct tap_entry e;

	feed(100, 104, now_ns);
	for (uint64_t p = 104; p < 200; p++) {
		now_ns += TAP_BEHIND_NS / 4;
		offer(p, now_ns);
		do {
			assert_true(next(&e));
			tap_done(&T, &e);
		} while (e.kind != TAP_CELLS || e.ticket < tap_ticket(1, p - 3));
		assert_true(tap_release(&T, 1, p, 5, DEPTH, now_ns) < p);
	}
	assert_int_equal(T.link[1].let_go, 0);
}

static void test_full_queue_is_counted(void **state)
{
	uint64_t frames = 0, end = 0;
	struct tap_entry e;

	feed(100, 200, 1000); /* a queue of 64: a state and 63 completions */
	for (unsigned i = 0; i < 64; i++) {
		assert_true(next(&e));
		end = e.count + e.frames;
	}
	assert_false(next(&e));
	offer(200, 1000);
	assert_true(next(&e));
	assert_int_equal(e.kind, TAP_LET_GO);
	assert_int_equal(e.count, end);
	frames = e.frames;
	assert_true(next(&e));
	assert_int_equal(e.kind, TAP_CELLS);
	assert_int_equal(e.count, end + frames);
}

static void assert_let_go(uint32_t epoch, uint64_t count, uint64_t frames)
{
	struct tap_entry e;

	assert_true(next(&e));
	assert_int_equal(e.kind, TAP_LET_GO);
	assert_int_equal(e.dma_epoch, epoch);
	assert_int_equal(e.count, count);
	assert_int_equal(e.frames, frames);
}

/* Counts that never were are not let go. */
static void test_missed_across_hole(void **state)
{
	const uint64_t second = FIRST + 8000;
	struct tap_entry e;

	feed(100, 165, 1000); /* a queue of 64: a state and 63 completions */
	offer_at(165, second, 1000);
	offer_at(166, second + 16, 1000);
	while (next(&e)) {
	}
	offer_at(167, second + 32, 1000);
	assert_let_go(5, FIRST + 163 * 16, 32);
	assert_let_go(5, second, 32);
	assert_true(next(&e));
	assert_int_equal(e.kind, TAP_CELLS);
	assert_int_equal(e.count, second + 32);
}

/* More holes than there are places: up to the end all is let go, and nothing is told twice. */
static void test_missed_in_pieces(void **state)
{
	uint64_t count = FIRST + 163 * 16, from = 0;
	struct tap_entry e;

	feed(100, 164, 1000);
	for (unsigned i = 0; i < 2 * TAP_MISSED; i++) {
		count += 8000;
		offer_at(164 + i, count, 1000);
	}
	while (next(&e)) {
	}
	offer_at(400, count + 16, 1000);
	while (next(&e) && e.kind == TAP_LET_GO) {
		assert_true(e.count >= from);
		from = e.count + e.frames;
	}
	assert_int_equal(from, count + 16);
	assert_int_equal(e.kind, TAP_CELLS);
}

/* What was missed at the end of a DMA epoch is told before what the next one begins with. */
static void test_missed_over_lives(void **state)
{
	struct tap_entry e;

	feed(100, 165, 1000);
	tap_end(&T, 1); /* no place */
	tap_begin(&T, 1, 6, &board, 0);
	while (next(&e)) {
	}
	feed(0, 1, 2000);
	assert_let_go(5, FIRST + 163 * 16, 32);
	assert_true(next(&e));
	assert_int_equal(e.kind, TAP_STATE);
	assert_int_equal(e.dma_epoch, 6);
	for (uint64_t at = 1; at < 100; at++) {
		offer(at, 2000);
	}
	while (next(&e)) {
	}
	tap_end(&T, 1); /* at once: it may be long until there is a next */
	assert_true(next(&e));
	assert_int_equal(e.kind, TAP_LET_GO);
	assert_int_equal(e.dma_epoch, 6);
	assert_false(next(&e));
}

static void test_missed_by_nobody(void **state)
{
	struct tap_entry e;
	uint64_t at;

	feed(100, 165, 1000);
	atomic_store(&T.link[1].wanted, false);
	assert_false(tap_feeding(&T, 1, 165, 1000, &at));
	while (next(&e)) {
	}
	feed(165, 166, 2000);
	assert_true(next(&e));
	assert_int_equal(e.kind, TAP_STATE);
}

static void test_lives(void **state)
{
	struct tap_entry e, old;

	feed(100, 104, 1000);
	while (next(&e)) {
		old = e;
	}
	tap_end(&T, 1);
	assert_false(tap_lend(&T, &old));
	tap_begin(&T, 1, 6, &board, 0); /* positions begin anew */
	assert_false(tap_holds(&T, &old));
	feed(0, 2, 2000);
	assert_true(next(&e));
	assert_int_equal(e.kind, TAP_STATE);
	assert_true(next(&e));
	assert_int_equal(e.dma_epoch, 6);
	assert_true(tap_holds(&T, &e));
	tap_done(&T, &old); /* late: it says nothing of this life */
	assert_int_equal(tap_release(&T, 1, 2, 2, DEPTH, 2000), 0);
}

static void test_new_label(void **state)
{
	struct tap_entry e;

	feed(100, 102, 1000);
	label.time_epoch = 2;
	offer(102, 1000);
	label.uncertainty_ns = 70; /* and so on: in a time epoch, too */
	offer(103, 1000);
	label.time_epoch = 1;
	label.uncertainty_ns = 0;
	for (unsigned i = 0; i < 3; i++) {
		assert_true(next(&e));
	}
	assert_true(next(&e));
	assert_int_equal(e.kind, TAP_STATE);
	assert_int_equal(e.state.label.time_epoch, 2);
	assert_int_equal(e.count, FIRST + 102 * 16);
	assert_true(next(&e));
	assert_true(next(&e));
	assert_int_equal(e.kind, TAP_STATE);
	assert_int_equal(e.state.label.uncertainty_ns, 70);
}

static void test_suspect(void **state)
{
	struct tap_entry e;
	uint64_t at;

	tap_suspect(&T, 1, 90000, 1000);
	assert_false(next(&e)); /* not armed */
	atomic_store(&T.link[1].armed, true);
	tap_suspect(&T, 1, 90000, 1000);
	assert_true(next(&e));
	assert_int_equal(e.kind, TAP_SUSPECT);
	assert_true(tap_feeding(&T, 1, 100, 1001, &at)); /* for a moment, unasked */
	assert_int_equal(at, 100);
	assert_false(tap_feeding(&T, 1, 100, 1000 + TAP_BEHIND_NS, &at));
}

/* The suspect wakes the recorder, and is offered data for 0.3 s; ordinary cells do not wake it. */
static void test_a_suspect_wakes_the_recorder_for_a_moment(void **state)
{
	uint64_t at, rung;

	atomic_store(&T.link[1].armed, true);
	feed(100, 110, 1000);
	atomic_store(&T.link[1].wanted, false);
	assert_int_equal(read(T.queue.fd, &rung, sizeof(rung)), -1);
	tap_suspect(&T, 1, 90000, 1000);
	assert_int_equal(read(T.queue.fd, &rung, sizeof(rung)), sizeof(rung));
	assert_true(tap_feeding(&T, 1, 110, 1000 + 300000000 - 1, &at));
	assert_false(tap_feeding(&T, 1, 110, 1000 + 300000000, &at));
}

/* Buffers are released while the recorder reads: the next data offered follow those it had last. */
static void test_a_feed_goes_on_where_it_was(void **state)
{
	uint64_t at;

	feed(100, 110, 1000);
	assert_true(tap_feeding(&T, 1, 105, 2000, &at));
	assert_int_equal(at, 110);
}

/* When the list is full a new life takes its last place; no more entries are reported than it has places. */
static void test_missed_lists_stay_in_their_place(void **state)
{
	unsigned reported = 0;
	struct tap_entry e;

	feed(100, 163, 1000);
	for (unsigned i = 0; i < TAP_MISSED; i++) {
		offer_at(163 + i, FIRST + (i + 1) * 8000, 1000);
	}
	tap_end(&T, 1);
	tap_begin(&T, 1, 6, &board, 0);
	feed(0, 1, 2000); /* no place yet */
	while (next(&e)) {
	}
	offer(1, 2000);
	while (next(&e) && e.kind == TAP_LET_GO) {
		reported++;
		assert_int_equal(e.dma_epoch, reported < TAP_MISSED ? 5 : 6);
	}
	assert_int_equal(reported, TAP_MISSED);
	assert_int_equal(e.kind, TAP_STATE);
}

/* Finished in time: later data have their own time. */
static void test_each_entry_has_its_own_time(void **state)
{
	struct tap_entry e;

	feed(100, 110, 1000);
	do {
		assert_true(next(&e));
		tap_done(&T, &e);
	} while (e.kind != TAP_CELLS);
	assert_int_equal(tap_release(&T, 1, 108, 10, DEPTH, 2000), 101);
	offer(110, 2000);
	assert_int_equal(tap_release(&T, 1, 108, 10, DEPTH, 1001 + TAP_BEHIND_NS), 101);
	assert_int_equal(tap_release(&T, 1, 108, 10, DEPTH, 2001 + TAP_BEHIND_NS), 108);
}

/* Nothing to release yet: the recorder is as late as before when there is. */
static void test_late_stays_late(void **state)
{
	feed(100, 110, 1000);
	assert_int_equal(tap_release(&T, 1, 100, 10, DEPTH, 1001 + TAP_BEHIND_NS), 100);
	assert_int_equal(tap_release(&T, 1, 108, 10, DEPTH, 1001 + TAP_BEHIND_NS), 108);
}

static _Atomic int ended;

static void *end_link(void *context)
{
	tap_end(&T, 1);
	atomic_store(&ended, 1);
	return NULL;
}

/* Lent data stay mapped: the end of the link waits for their return. */
static void test_the_end_waits_for_what_is_lent(void **state)
{
	pthread_t capture;
	struct tap_entry e;

	atomic_store(&ended, 0);
	feed(100, 101, 1000);
	assert_true(next(&e));
	assert_true(next(&e));
	assert_true(tap_lend(&T, &e));
	pthread_create(&capture, NULL, end_link, NULL);
	usleep(20000);
	assert_true(tap_holds(&T, &e));
	assert_int_equal(atomic_load(&ended), 0);
	tap_return(&T, &e);
	pthread_join(capture, NULL);
	assert_int_equal(atomic_load(&ended), 1);
	assert_false(tap_lend(&T, &e));
}

/* ------------------------------------------------------------------------------------- the race */

#define RACE_DEPTH 16u
#define RACE_WORDS 32u

/* The board writes, whatever the recorder reads: the words are atomic for the thread sanitizer only. */
static _Atomic uint64_t ring[RACE_DEPTH][RACE_WORDS];
static _Atomic int over;

static void board_writes(uint64_t position)
{
	for (unsigned w = 0; w < RACE_WORDS; w++) {
		atomic_store_explicit(&ring[position % RACE_DEPTH][w], position,
				      memory_order_relaxed);
	}
}

#define RACE_TURNS 6400u

/* Capture and board: for a lap they wait for the recorder, for the next they do not. */
static void *race_capture(void *context)
{
	uint64_t write = 0, release = 0, at;

	atomic_store(&T.link[1].wanted, true);
	tap_feeding(&T, 1, 0, 0, &at);
	while (write < RACE_TURNS) {
		struct nanet3_event e = completion(write);

		board_writes(write);
		tap_offer(&T, 1, write, &e, (const uint8_t *)ring[write % RACE_DEPTH], 160000,
			  &label, 0, 0);
		write++;
		while (write / RACE_DEPTH % 2 == 0 &&
		       atomic_load(&T.link[1].done) < tap_ticket(T.link[1].life, write)) {
			sched_yield();
		}
		do { /* it has to let go when the ring is half full */
			release = tap_release(&T, 1, write, write - release, RACE_DEPTH, 0);
		} while (write - release >= RACE_DEPTH);
	}
	atomic_store(&over, 1);
	return NULL;
}

static void test_never_wrong(void **state)
{
	uint64_t good = 0, gone = 0, wrong = 0;
	pthread_t capture;

	tap_end(&T, 1);
	tap_begin(&T, 1, 5, &board, 0);
	atomic_store(&over, 0);
	pthread_create(&capture, NULL, race_capture, NULL);
	while (!atomic_load(&over)) {
		struct tap_entry e;
		bool same = true;

		if (!next(&e) || e.kind != TAP_CELLS) {
			continue;
		}
		for (unsigned w = 0; w < RACE_WORDS; w++) {
			uint64_t position = (e.count - FIRST) / 16;

			same &= atomic_load_explicit(&ring[position % RACE_DEPTH][w],
						     memory_order_relaxed) == position;
		}
		if (!tap_holds(&T, &e)) {
			gone++;
		} else if (same) {
			good++;
		} else {
			wrong++;
		}
		if (e.count % 5 == 0) {
			usleep(50); /* now and then it is slow */
		}
		tap_done(&T, &e);
	}
	pthread_join(capture, NULL);
	assert_int_equal(wrong, 0);
	assert_true(good > 0);
	assert_true(gone > 0);
}

int main(void)
{
#define ON_TAP(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		ON_TAP(test_nobody_wants),
		ON_TAP(test_release_waits),
		ON_TAP(test_late_lets_go),
		ON_TAP(test_crowded_lets_go),
		ON_TAP(test_one_that_follows),
		ON_TAP(test_full_queue_is_counted),
		ON_TAP(test_missed_across_hole),
		ON_TAP(test_missed_in_pieces),
		ON_TAP(test_missed_over_lives),
		ON_TAP(test_missed_by_nobody),
		ON_TAP(test_lives),
		ON_TAP(test_new_label),
		ON_TAP(test_suspect),
		ON_TAP(test_never_wrong),
		ON_TAP(test_a_suspect_wakes_the_recorder_for_a_moment),
		ON_TAP(test_a_feed_goes_on_where_it_was),
		ON_TAP(test_missed_lists_stay_in_their_place),
		ON_TAP(test_each_entry_has_its_own_time),
		ON_TAP(test_late_stays_late),
		ON_TAP(test_the_end_waits_for_what_is_lent),
	};

	return cmocka_run_group_tests_name("tap", tests, NULL, NULL);
}
