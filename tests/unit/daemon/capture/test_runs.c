/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run changes under faults: kills, reboots of the board, new rings, a disk that refuses, at every step of a change and
 * at random. Every request is answered; journal, blocks and status agree. FCM_SEEDS=n runs more seeds, FCM_SEED=n one
 * seed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/data/ack_tracker.h"
#include "tests/unit/daemon/capture/runs_rig.h"

static const char *const names[TROUBLES] = {
	"none",	  "kill",    "kill, new rings", "kill, a page damaged", "kill, reboot",
	"reboot", "absence", "stall",		"store held",		"store held, kill",
};

static struct runs_rig rig;

static void ticks(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		runs_rig_tick(&rig);
	}
}

/* Begins a run and ends it, with `trouble` so many points after the change that `when` names.
 * Returns the number of points. */
static unsigned run_through(enum trouble trouble, unsigned points, unsigned when)
{
	unsigned from;

	runs_rig_init(&rig, 1);
	ticks(20);
	from = rig.point;
	if (when == 0) {
		runs_rig_trouble(&rig, trouble, points);
	}
	runs_rig_reach(&rig, true);
	if (when == 0) {
		runs_rig_judge(&rig);
	}
	if (when == 1) {
		from = rig.point;
		runs_rig_trouble(&rig, trouble, points);
	}
	runs_rig_reach(&rig, false);
	from = rig.point - from;
	runs_rig_judge(&rig);
	return from;
}

static void expect_well(const char *what, unsigned points)
{
	if (rig.complaint[0]) {
		fail_msg("%s at point %u: %s", what, points, rig.complaint);
	}
}

static void a_change_and_trouble_at_every_step(void **state)
{
	for (unsigned when = 0; when < 2; when++) {
		unsigned points = run_through(TROUBLE_NONE, 0, when) + 60;

		expect_well("without trouble", 0);
		assert_int_equal(rig.row_count, 1);
		assert_true(rig.rows[0].ended && rig.rows[0].begun_slice > 0 &&
			    rig.rows[0].ended_slice > rig.rows[0].begun_slice);
		assert_true(rig.slowest_ns < 1000000000);
		assert_true(points > 200);
		for (enum trouble t = TROUBLE_KILL; t < TROUBLES; t++) {
			for (unsigned n = 1; n < points; n++) {
				run_through(t, n, when);
				expect_well(names[t], n);
			}
		}
	}
}

static void random_life(uint64_t seed)
{
	runs_rig_init(&rig, seed);
	for (unsigned n = 0; n < 40 && !rig.complaint[0]; n++) {
		if (runs_rig_roll(&rig, 3) > 0) {
			runs_rig_trouble(&rig, runs_rig_roll(&rig, TROUBLES),
					 runs_rig_roll(&rig, 700));
		}
		ticks(runs_rig_roll(&rig, 30));
		runs_rig_reach(&rig, n % 2 == 0);
		if (runs_rig_roll(&rig, 6) == 0) {
			runs_rig_judge(&rig);
		}
	}
	runs_rig_judge(&rig);
	if (rig.complaint[0]) {
		fail_msg("FCM_SEED=%llu: %s", (unsigned long long)seed, rig.complaint);
	}
	assert_true(rig.row_count >= 10);
}

static void changes_and_trouble_at_random(void **state)
{
	const char *one = getenv("FCM_SEED"), *many = getenv("FCM_SEEDS");
	uint64_t seeds = many ? strtoull(many, NULL, 10) : 300;

	if (one) {
		random_life(strtoull(one, NULL, 10));
		return;
	}
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		random_life(seed);
	}
}

/* A request is answered although the board delivers no data, and takes effect later. */
static void a_request_without_data_is_answered(void **state)
{
	runs_rig_init(&rig, 2);
	ticks(20);
	rig.data_back = 1000;
	assert_true(runs_rig_ask(&rig, true));
	ticks(450);
	assert_true(rig.answered);
	assert_int_equal(rig.answer, RUN_NO_DATA);
	assert_int_equal(rig.answer_run, 1);
	assert_in_range(rig.slowest_ns, RUN_ANSWER_NS, RUN_ANSWER_NS + RIG_TICK_NS);
	assert_false(runs_rig_ask(&rig, true)); /* it is beginning */
	assert_false(runs_rig_ask(&rig, false));
	rig.data_back = 0;
	ticks(100);
	assert_int_equal(rig.state.number, 1);
	runs_rig_judge(&rig);
	expect_well("no data", 0);
}

/* A second request for the end of a run waits with the change that is under way. */
static void an_end_asked_again_is_answered_with_it(void **state)
{
	runs_rig_init(&rig, 3);
	ticks(20);
	runs_rig_reach(&rig, true);
	rig.data_back = 450;
	assert_true(runs_rig_ask(&rig, false));
	assert_false(runs_rig_ask(&rig, false)); /* the first one is still waiting */
	ticks(430);
	assert_int_equal(rig.answer, RUN_NO_DATA);
	assert_true(runs_rig_ask(&rig, false));
	ticks(60);
	assert_true(rig.answered);
	assert_int_equal(rig.answer, RUN_DONE);
	assert_int_equal(rig.answer_run, 1);
	assert_true(rig.answer_slice > 0);
	runs_rig_judge(&rig);
	expect_well("asked again", 0);
}

/* The answer to an end waits for the journal, a second where an owner page keeps the change meanwhile. */
static void an_end_is_answered_when_it_is_kept(void **state)
{
	runs_rig_init(&rig, 4);
	ticks(20);
	runs_rig_reach(&rig, true);
	rig.store_back = 500;
	assert_true(runs_rig_ask(&rig, false));
	ticks(100);
	assert_true(rig.answered);
	assert_int_equal(rig.answer, RUN_DONE);
	assert_true(rig.slowest_ns < 2 * RUN_SAVED_NS);
	assert_false(rig.rows[0].ended);
	assert_true(runs_rig_ask(&rig, true)); /* its row would overtake the one that waits */
	assert_true(rig.answered);
	assert_int_equal(rig.answer, RUN_NOT_JOURNALED);
	rig.store_back = 0;
	ticks(20);
	assert_true(rig.rows[0].ended);
	runs_rig_reach(&rig, true);
	rig.reboots = true;
	rig.board_back = rig.store_back = 1000;
	ticks(1);
	assert_true(runs_rig_ask(&rig, false));
	ticks(450);
	assert_true(rig.answered);
	assert_int_equal(rig.answer, RUN_END_UNSAVED);
	rig.store_back = rig.board_back = 1;
	runs_rig_judge(&rig);
	assert_true(rig.rows[1].ended);
	expect_well("kept", 0);
}

/* The next row that is not planned, taken from the store. */
static struct rig_stored next_row(void)
{
	for (unsigned n = 0; n < 200; n++) {
		for (unsigned i = 0; i < rig.stored_count; i++) {
			if (rig.stored[i].cookie) {
				struct rig_stored s = rig.stored[i];

				rig.stored_count = i;
				return s;
			}
		}
		runs_rig_tick(&rig);
	}
	fail_msg("no row");
	return rig.stored[0];
}

/* A row that the store gives up is put again until it is written; a border that is reported again
 * does not erase a slice. */
static void a_row_that_was_given_up_is_put_again(void **state)
{
	struct capture_report again = {.type = CAPTURE_RUN_CHANGED};
	struct rig_stored row, other;

	runs_rig_init(&rig, 7);
	ticks(20);
	runs_rig_reach(&rig, true);
	runs_rig_judge(&rig);
	assert_true(runs_rig_ask(&rig, false));
	rig.store_back = 1000;
	row = next_row();
	assert_int_equal(row.what, STORED_END);
	row.result = -ENOSPC;
	rig.done[rig.done_count++] = row;
	ticks(1);
	other = next_row();
	assert_int_equal(other.what, STORED_END);
	assert_int_equal(other.slice, row.slice);
	assert_true(other.cookie != row.cookie);
	again.run.change = rig.state.reported;
	again.run.ended = 1;
	run_state_effect(&rig.state, &again, rig.now_ns);
	assert_int_equal(rig.stored[rig.stored_count - 1].slice, row.slice);
	rig.store_back = 0;
	runs_rig_judge(&rig);
	assert_int_equal(rig.rows[0].ended_slice, row.slice);
	expect_well("given up", 0);
}

/* Only a run's own begin gives its first slice exactly. */
static void a_run_that_goes_on_keeps_its_first_slice(void **state)
{
	uint64_t first;

	runs_rig_init(&rig, 8);
	ticks(20);
	runs_rig_reach(&rig, true);
	runs_rig_judge(&rig);
	first = rig.rows[0].begun_slice;
	rig.journal_slow = RIG_HOLD + 50; /* new rings do not wait as long */
	runs_rig_trouble(&rig, TROUBLE_KILL_AWAY, 1);
	ticks(2);
	rig.journal_slow = RIG_HOLD + 50;
	ticks(RIG_HOLD + 200);
	assert_int_equal(rig.state.number, 1);
	assert_int_equal(account_run(&rig.link[0].account, rig.count), 1);
	assert_int_equal(rig.rows[0].begun_slice, first);
}

/* Neither a late row of a slow disk nor a timeout of the client leaves an open run behind. */
static void a_start_that_was_given_up_is_ended(void **state)
{
	struct rig_stored held;

	runs_rig_init(&rig, 5);
	ticks(20);
	assert_true(runs_rig_ask(&rig, true));
	held = rig.stored[0];
	rig.stored_count = 0; /* the disk hangs */
	ticks(450);
	assert_int_equal(rig.answer, RUN_JOURNAL_SLOW);
	assert_false(runs_rig_ask(&rig, true));
	rig.stored[rig.stored_count++] = held;
	runs_rig_judge(&rig);
	assert_int_equal(rig.row_count, 1);
	assert_true(rig.rows[0].ended);
	assert_int_equal(rig.state.number, 0);
	assert_true(runs_rig_ask(&rig, true));
	runs_rig_judge(&rig);
	assert_int_equal(rig.state.number, 2); /* a number is given out once */
	expect_well("given up", 0);
}

/* A ring knows a run that the journal does not, as its file was moved away between two daemons: the run ends, and the
 * next one has another number and begins. */
static void a_run_that_only_the_ring_knows_gives_way(void **state)
{
	runs_rig_init(&rig, 9);
	ticks(20);
	for (unsigned n = 0; n < 5; n++) {
		runs_rig_reach(&rig, n % 2 == 0);
		runs_rig_judge(&rig);
	}
	expect_well("before", 0);
	assert_int_equal(rig.state.number, 3);
	rig.row_count = 0;
	runs_rig_trouble(&rig, TROUBLE_KILL, 1);
	ticks(100);
	assert_int_equal(rig.state.number, 0);
	assert_true(runs_rig_ask(&rig, true));
	ticks(500);
	assert_true(rig.answered);
	assert_int_equal(rig.answer, RUN_DONE);
	assert_int_equal(rig.answer_run, 4);
	assert_int_equal(rig.state.number, 4);
	assert_true(runs_rig_ask(&rig, false));
	ticks(100);
	assert_int_equal(rig.answer, RUN_DONE);
	assert_int_equal(rig.state.number, 0);
}

/* The same, asked for before the ring's run has ended: whatever its number, what was asked for begins. */
static void a_run_asked_for_early_begins_whatever_the_rings_know(void **state)
{
	runs_rig_init(&rig, 9);
	ticks(20);
	for (unsigned n = 0; n < 5; n++) {
		runs_rig_reach(&rig, n % 2 == 0);
		runs_rig_judge(&rig);
	}
	rig.row_count = 0;
	runs_rig_trouble(&rig, TROUBLE_KILL, 1);
	for (unsigned n = 0; n < 100 && !runs_rig_ask(&rig, true); n++) {
		ticks(1);
	}
	ticks(500);
	assert_true(rig.answered);
	assert_int_equal(rig.answer, RUN_DONE);
	assert_int_equal(rig.state.number, rig.answer_run);
	assert_true(runs_rig_ask(&rig, false));
	ticks(100);
	assert_int_equal(rig.answer, RUN_DONE);
	assert_int_equal(rig.state.number, 0);
	assert_true(rig.rows[0].ended);
}

/* When the daemon is stopped, a waiting client is answered. */
static void a_stop_of_the_daemon_answers(void **state)
{
	runs_rig_init(&rig, 6);
	ticks(20);
	assert_true(runs_rig_ask(&rig, true));
	ticks(4);
	run_state_close(&rig.state);
	assert_true(rig.answered);
	assert_int_equal(rig.answer, RUN_INTERRUPTED);
	assert_int_equal(rig.answer_run, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_and_trouble_at_every_step),
		cmocka_unit_test(changes_and_trouble_at_random),
		cmocka_unit_test(a_request_without_data_is_answered),
		cmocka_unit_test(an_end_asked_again_is_answered_with_it),
		cmocka_unit_test(an_end_is_answered_when_it_is_kept),
		cmocka_unit_test(a_row_that_was_given_up_is_put_again),
		cmocka_unit_test(a_run_that_goes_on_keeps_its_first_slice),
		cmocka_unit_test(a_start_that_was_given_up_is_ended),
		cmocka_unit_test(a_run_that_only_the_ring_knows_gives_way),
		cmocka_unit_test(a_run_asked_for_early_begins_whatever_the_rings_know),
		cmocka_unit_test(a_stop_of_the_daemon_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
