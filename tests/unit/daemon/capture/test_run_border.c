/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where run changes take effect, what is taken from a predecessor's pages, what is reported and how
 * often. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/capture/run_border.h"
#include "daemon/data/ack_tracker.h"

#define SLICE ((uint64_t)ASSEMBLE_SLICE)

static struct run_border border;
static struct owner_account account[2];
static struct run_links links;
static bool dirty[2];
static struct run_change reported[16];
static unsigned reported_count;

static void report(void *context, const struct run_change *c)
{
	if (!c->planned) {
		reported[reported_count++ % 16] = *c;
	}
}

/* Two links that have been read up to `front`, by a predecessor (`kept`) or by us. */
static void begin(uint64_t front, bool kept)
{
	memset(&border, 0, sizeof(border));
	memset(account, 0, sizeof(account));
	links = (struct run_links){.report = report};
	reported_count = 0;
	for (unsigned i = 0; i < 2; i++) {
		links.link[links.n++] =
			(struct run_link){&account[i], front, front > 0, kept, &dirty[i]};
		run_border_fresh(&border, &account[i]);
	}
}

static void change(uint32_t run)
{
	run_border_change(&border, &links, run);
}

static void reach(unsigned link, uint64_t frame)
{
	run_border_report(&border, &account[link], frame, report, NULL);
}

static void expect(unsigned n, uint32_t run, uint32_t ended, uint64_t frame)
{
	assert_true(reported_count > n);
	assert_int_equal(reported[n].run, run);
	assert_int_equal(reported[n].ended, ended);
	assert_int_equal(reported[n].frame, frame);
	assert_int_equal(reported[n].bordered, frame > 0);
}

/* The border is ahead of all links; each change has its own slice and is reported once, with the
 * run before it. */
static void borders_lie_ahead_and_differ(void **state)
{
	begin(10 * SLICE + 5, false);
	links.link[1].front = 12 * SLICE;
	change(7);
	change(0);
	change(0); /* none */
	assert_int_equal(account[0].runs, 3);
	assert_int_equal(account_run(&account[1], 15 * SLICE - 1), 0);
	assert_int_equal(account_run(&account[1], 15 * SLICE), 7);
	assert_int_equal(account_run(&account[1], 16 * SLICE), 0);
	reach(0, 15 * SLICE - 1);
	assert_int_equal(reported_count, 0);
	reach(0, 15 * SLICE);
	reach(1, 15 * SLICE);
	reach(1, 16 * SLICE);
	reach(0, 17 * SLICE);
	assert_int_equal(reported_count, 2);
	expect(0, 7, 0, 15 * SLICE);
	expect(1, 0, 7, 16 * SLICE);
}

/* It takes effect with the next data, and the accounts keep it until the journal has it. */
static void a_change_without_data_is_told_and_kept(void **state)
{
	begin(0, false);
	change(7);
	expect(0, 7, 0, 0);
	reach(0, 100);
	assert_int_equal(reported_count, 1);
	assert_int_equal(account_run(&account[1], 0), 7);
	links.n = 0; /* the board goes, and comes back */
	change(0);
	expect(1, 0, 7, 0);
	run_border_fresh(&border, &account[0]);
	assert_int_equal(account_run(&account[0], 0), 0);
	assert_int_equal(account[0].run[1].change, reported[1].number);
	/* A successor finds it: reported again, without a border. */
	memset(&border, 0, sizeof(border));
	links.link[links.n++] = (struct run_link){&account[0], 9, true, true, &dirty[0]};
	run_border_agree(&border, &links);
	reach(0, 100);
	expect(2, 0, 7, 0);
	run_border_saved(&border, &links, reported[2].number);
	assert_int_equal(account[0].run[1].change, 0);
	assert_int_equal(border.unsaved, 0);
}

/* Killed between two commits: the page that lacks the last change gets it, one that cannot be read all of them. */
static void pages_of_a_dead_daemon_agree(void **state)
{
	struct owner_account older;

	begin(10 * SLICE, true);
	change(7);
	older = account[1];
	change(0);
	account[1] = older;
	account[0].run[1].change = 0; /* and only this page knows that the journal has it */
	memset(&border, 0, sizeof(border));
	dirty[1] = false;
	run_border_agree(&border, &links);
	assert_int_equal(border.run, 0);
	assert_int_equal(border.ended, 7);
	assert_int_equal(account[1].runs, 3);
	assert_memory_equal(account[0].run, account[1].run, 3 * sizeof(account[0].run[0]));
	assert_true(dirty[1]);
	reach(0, 20 * SLICE);
	reach(1, 20 * SLICE);
	assert_int_equal(reported_count, 1); /* the one that is not saved */
	expect(0, 0, 7, 14 * SLICE);
	begin(10 * SLICE, true);
	change(7);
	links.link[1].kept = false;
	run_border_fresh(&border, &account[1]);
	memset(&border, 0, sizeof(border));
	run_border_agree(&border, &links);
	assert_int_equal(account_run(&account[1], 13 * SLICE - 1), 0);
	assert_int_equal(account_run(&account[1], 13 * SLICE), 7);
}

/* Killed before a page of no use had got what the others tell: it has sent frames, but no run of its own. */
static void a_page_begun_in_the_place_of_a_bad_one_agrees(void **state)
{
	begin(10 * SLICE, true);
	account[0].run[0].run = 7;
	account_add_run(&account[0], 13 * SLICE, 0, 3);
	run_border_agree(&border, &links);
	assert_int_equal(account_run(&account[1], 13 * SLICE - 1), 7);
	assert_int_equal(account_run(&account[1], 13 * SLICE), 0);
	assert_int_equal(account[1].runs, 2);
}

/* An account whose daemon was killed at its start becomes a copy of that of the link before it: no
 * block carries the run before. */
static void unread_pages_become_the_first(void **state)
{
	begin(0, true);
	account[0].run[0].run = 7;
	run_border_agree(&border, &links);
	assert_int_equal(account[1].runs, 1);
	assert_int_equal(account_run(&account[1], 0), 7);
}

/* The journal's run continues, without a report where nothing was read; a run that was ended does
 * not resume. */
static void the_run_of_the_journal_goes_on(void **state)
{
	begin(0, false);
	run_border_journal(&border, &links, 7);
	assert_int_equal(account_run(&account[0], 0), 7);
	assert_int_equal(reported_count, 0);
	begin(10 * SLICE, true);
	run_border_journal(&border, &links, 7);
	reach(0, 13 * SLICE);
	expect(0, 7, 0, 13 * SLICE);
	assert_true(reported[0].resumed);
	change(0);
	run_border_journal(&border, &links, 7);
	assert_int_equal(border.run, 0);
}

/* The journal has the slice of a planned end; a page that has it reports it, once. */
static void a_planned_end_comes(void **state)
{
	begin(0, false); /* its rings are gone */
	run_border_ending(&border, &links, 7);
	assert_int_equal(reported_count, 1);
	expect(0, 0, 7, 0);
	begin(10 * SLICE, true); /* it lies in the pages */
	account[0].run[0].run = account[1].run[0].run = border.run = 7;
	change(0);
	run_border_ending(&border, &links, 7);
	assert_int_equal(reported_count, 0);
	reach(0, 13 * SLICE);
	expect(0, 0, 7, 13 * SLICE);
	begin(10 * SLICE, true); /* the pages do not have it */
	account[0].run[0].run = account[1].run[0].run = border.run = 7;
	run_border_ending(&border, &links, 7);
	reach(0, 13 * SLICE);
	expect(0, 0, 7, 13 * SLICE);
}

/* A change without room waits; if its run is ended before, it never began, and that is reported. */
static void a_change_waits_for_room(void **state)
{
	begin(10 * SLICE, false);
	for (uint32_t run = 1; run < OWNER_RUNS; run++) {
		change(run);
	}
	change(9);
	assert_true(border.waits);
	assert_int_equal(account_run(&account[0], UINT64_MAX), OWNER_RUNS - 1);
	account[0].runs = account[1].runs = 1;
	run_border_retry(&border, &links);
	assert_false(border.waits);
	assert_int_equal(account_run(&account[0], UINT64_MAX), 9);
	account[0].runs = account[1].runs = OWNER_RUNS;
	change(10);
	assert_true(border.waits);
	change(0);
	expect(0, 0, 10, 0);
	assert_true(border.waits); /* the end of 9 */
	account[0].runs = account[1].runs = 1;
	run_border_retry(&border, &links);
	assert_int_equal(account_run(&account[0], UINT64_MAX), 0);
}

/* A command while the board was gone and its rings stayed. */
static void a_change_while_the_board_was_away_is_made_up_for(void **state)
{
	struct owner_account kept;

	begin(10 * SLICE, false);
	border.known = true;
	kept = account[0];
	links.n = 0;
	change(7);
	expect(0, 7, 0, 0);
	account[0] = account[1] = kept;
	for (unsigned i = 0; i < 2; i++) {
		links.link[links.n++] =
			(struct run_link){&account[i], 10 * SLICE, true, true, &dirty[i]};
	}
	run_border_agree(&border, &links);
	reach(1, 13 * SLICE);
	expect(1, 7, 0, 13 * SLICE);
	assert_true(reported[1].resumed);
	assert_true(reported[1].number > reported[0].number);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(borders_lie_ahead_and_differ),
		cmocka_unit_test(a_change_without_data_is_told_and_kept),
		cmocka_unit_test(pages_of_a_dead_daemon_agree),
		cmocka_unit_test(a_page_begun_in_the_place_of_a_bad_one_agrees),
		cmocka_unit_test(unread_pages_become_the_first),
		cmocka_unit_test(the_run_of_the_journal_goes_on),
		cmocka_unit_test(a_planned_end_comes),
		cmocka_unit_test(a_change_waits_for_room),
		cmocka_unit_test(a_change_while_the_board_was_away_is_made_up_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
