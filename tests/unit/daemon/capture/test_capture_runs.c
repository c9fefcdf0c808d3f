/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run changes of the capture thread while boards go and come back, rings restart and daemons are replaced: each
 * change is reported, and the blocks carry what was reported.
 */
#include "tests/unit/daemon/capture/capture_path.h"

#include <string.h>

static void begin(uint32_t links)
{
	struct capture_config c = path_config(links);

	path_host_begin(links, 500, HOST_SPEED_MAX);
	path_start(&c);
	path_wait_frames(0, 1600);
}

static void change(uint32_t run)
{
	struct capture_command command = {.type = CAPTURE_RUN, .run = run};

	path_command(&command);
}

static void board_goes(void)
{
	struct capture_status s;

	path_host_end();
	do {
		path_pump(20);
		capture_get_status(path.capture, &s);
	} while (!s.board_gone);
	path_pump(50);
	atomic_store(&path.forget, 1); /* counts restart */
}

/* The border of the next change is below that of the last one. */
static void a_change_after_the_counts_restart_is_told(void **state)
{
	begin(0x3);
	path_wait_frames(0, 60000);
	change(42);
	path_wait_frames(0, 8000);
	path_wait_runs(1);
	assert_int_equal(path.runs, 1);
	board_goes();
	path_host_begin(0x3, 500, HOST_SPEED_MAX);
	path_wait_frames(0, 1600);
	change(0);
	path_wait_frames(0, 16000);
	path_wait_runs(2);
	assert_int_equal(path.runs, 2);
	assert_int_equal(path.run, 0);
	path_stop();
}

/* Its border never comes. */
static void a_change_is_told_when_the_ring_ends_before_the_border(void **state)
{
	begin(0x3);
	atomic_store(&path.mode, PATH_HOLD); /* the links stand still */
	path_pump(500);
	change(42);
	path_pump(50);
	assert_int_equal(path.runs, 0);
	board_goes();
	assert_int_equal(path.runs, 1);
	assert_int_equal(path.run, 42);
	atomic_store(&path.mode, PATH_ACK);
	path_host_begin(0x3, 500, HOST_SPEED_MAX);
	path_wait_frames(0, 16000);
	assert_int_equal(path.runs, 1); /* once */
	path_stop();
}

/* The successor finds it in the pages: reported again, at the same slice, until the journal has
 * it. */
static void a_change_is_told_again_until_it_is_saved(void **state)
{
	struct capture_command saved = {.type = CAPTURE_RUN_SAVED};
	struct capture_config c = path_config(0x3);
	uint64_t slice;

	begin(0x3);
	change(42);
	path_wait_frames(0, 8000);
	path_wait_frames(1, 1600);
	path_wait_runs(1);
	assert_int_equal(path.runs, 1);
	slice = path.run_slice;
	assert_true(slice > 0);
	path_stop();
	path_start(&c);
	path_wait_frames(0, 1600);
	path_wait_runs(1);
	assert_int_equal(path.runs, 1);
	assert_int_equal(path.run, 42);
	assert_int_equal(path.run_slice, slice);
	saved.number = path.run_change;
	path_command(&saved);
	path_wait_frames(0, 1600);
	path_wait_frames(1, 1600);
	path_stop();
	path_start(&c);
	path_wait_frames(0, 1600);
	assert_int_equal(path.runs, 0);
	assert_int_equal(atomic_load(&path.first_run[1]), 42);
	path_stop();
	path_no_complaint();
}

/* A border that lies ahead when the daemon ends stays where it is. */
static void a_border_outlives_the_daemon(void **state)
{
	struct capture_config c = path_config(0x3);
	uint64_t slice;

	begin(0x3);
	atomic_store(&path.mode, PATH_HOLD); /* the links stand still */
	path_pump(500);
	change(42);
	path_pump(50);
	assert_int_equal(path.planned, 1);
	slice = path.planned_slice;
	path_stop_within(1);
	path_start(&c);
	path_wait_frames(0, 16000);
	path_wait_frames(1, 1600);
	path_wait_runs(1);
	assert_int_equal(path.runs, 1);
	assert_int_equal(path.run, 42);
	assert_int_equal(path.run_slice, slice);
	assert_int_equal(atomic_load(&path.last_run[0]), 42);
	path_stop();
	path_no_complaint();
}

/* New rings wait for the journal, but not forever. */
static void new_rings_wait_for_the_run_of_the_journal(void **state)
{
	struct capture_command journal = {.type = CAPTURE_RUN_JOURNAL, .run = 7};
	struct capture_config c = path_config(0x3);

	c.journal_wait_ms = 60000;
	path_host_begin(0x3, 500, HOST_SPEED_MAX);
	path_start(&c);
	path_pump(100);
	assert_int_equal(atomic_load(&path.frames[0]), 0);
	path_command(&journal);
	path_wait_frames(0, 1600);
	path_wait_frames(1, 1600);
	assert_int_equal(atomic_load(&path.first_run[0]), 7);
	assert_int_equal(atomic_load(&path.first_run[1]), 7);
	assert_int_equal(path.runs, 0); /* it continues without a report */
	path_stop();
	path_no_complaint();
	path_host_end();
	c.journal_wait_ms = 100;
	memset(path.consumer, 0, sizeof(*path.consumer));
	path_host_begin(0x3, 500, HOST_SPEED_MAX);
	path_start(&c);
	path_wait_frames(0, 1600);
	assert_int_equal(atomic_load(&path.first_run[0]), 0);
	path_command(&journal);
	path_wait_frames(0, 16000);
	path_wait_runs(1);
	assert_int_equal(path.runs, 1);
	assert_int_equal(path.run, 7);
	path_stop();
	path_no_complaint();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PATH_TEST(a_change_after_the_counts_restart_is_told),
		PATH_TEST(a_change_is_told_when_the_ring_ends_before_the_border),
		PATH_TEST(a_change_is_told_again_until_it_is_saved),
		PATH_TEST(a_border_outlives_the_daemon),
		PATH_TEST(new_rings_wait_for_the_run_of_the_journal),
	};

	return cmocka_run_group_tests(tests, path_group_setup, path_group_teardown);
}
