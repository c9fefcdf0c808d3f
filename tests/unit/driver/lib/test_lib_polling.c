/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What libnanet3 promises of polling beyond the contract: no system call, an end that is noticed,
 * links claimed on the way. The stream itself is judged by test_contract.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/rig/socket_rig.h"

#define BUFFERS 100u

/* The next `count` buffers of link 0, whole and released. False: not so. */
static bool read_on(struct nanet3 *b, unsigned count)
{
	uint64_t next = nanet3_release_position(b, 0), end = next + count, frame = 0;

	while (next < end) {
		struct nanet3_event ev;

		if (nanet3_wait(b, 1000) != 1) {
			return false;
		}
		while (nanet3_next_event(b, &ev) == 1) {
			if (ev.type != NANET3_EVENT_RX) {
				return false;
			}
		}
		for (; next < end && next < nanet3_write_position(b, 0); next++) {
			const struct nanet3_event *c = nanet3_completion(b, 0, next);

			if (c->position != next || nanet3_buffer(b, 0, next) == NULL ||
			    (frame != 0 && c->frame_count != frame)) {
				return false;
			}
			frame = c->frame_count + c->frames;
		}
		if (nanet3_release(b, 0, next) != 0) {
			return false;
		}
	}
	return true;
}

/* ------------------------------------------------------------------------ no system call */

enum sin { NO_SIN, SIN_CLOCK, SIN_REQUEST };

/* From here on the kernel kills us for any call but the last. (Strict mode would take the clock, too.) */
static void lock_up(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog program = {.len = 4, .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
		_exit(2);
	}
}

static void in_a_cell(struct nanet3 *b, enum sin sin)
{
	struct timespec t;
	bool good = read_on(b, 10); /* all pages are there */

	lock_up();
	if (sin == SIN_CLOCK) {
		clock_gettime(CLOCK_MONOTONIC, &t);
	} else if (sin == NO_SIN) {
		good = good && read_on(b, BUFFERS);
	} else {
		good = nanet3_subscribe(b, 0) == 0;
	}
	_exit(good ? 0 : 1);
}

/* What became of it: exit code, or -signal. */
static int prisoner(enum sin sin)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct nanet3 *b = open_board();

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (nanet3_claim(b, 0, NANET3_CLAIM_FRESH, NULL) != 0 ||
		    nanet3_polling(b, true) != 0) {
			_exit(3);
		}
		in_a_cell(b, sin);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void no_system_call(void **state)
{
	int r = -SIGKILL;

	if (prisoner(SIN_CLOCK) != 0) {
		skip(); /* here the clock itself is a system call */
	}
	assert_int_equal(prisoner(SIN_REQUEST), -SIGSYS); /* the cell is one */
	/* On a busy machine the emulator may be silent for 100 ms, and then it is asked for. */
	for (int i = 0; i < 5 && r != 0; i++) {
		r = prisoner(NO_SIN);
	}
	assert_int_equal(r, 0);
}

/* ------------------------------------------------------------------------ ends */

static struct nanet3 *polling_board(void)
{
	struct nanet3 *b = open_board();

	assert_int_equal(nanet3_claim(b, 0, NANET3_CLAIM_FRESH, NULL), 0);
	assert_int_equal(nanet3_polling(b, true), 0);
	assert_true(read_on(b, 5));
	return b;
}

/* Without a word: found out after the silence, by whoever waits or only looks. */
static void a_death_is_noticed(void **state)
{
	struct nanet3 *waiting = polling_board(), *looking;
	uint64_t begin;
	int r = 0;

	contract_host_end(host, SIGKILL);
	host = 0;
	begin = now_ms();
	while (r >= 0 && now_ms() - begin < 5000) {
		struct nanet3_event ev;

		r = nanet3_wait(waiting, -1);
		while (nanet3_next_event(waiting, &ev) == 1) {
		}
	}
	assert_int_equal(r, -ENODEV);
	assert_int_equal(nanet3_wait(waiting, 0), -ENODEV);
	assert_int_equal(nanet3_wait(waiting, 1000), -ENODEV);
	nanet3_close(waiting);

	host = contract_host_start(&config);
	assert_true(host > 0);
	looking = polling_board();
	contract_host_end(host, SIGKILL);
	host = 0;
	begin = now_ms();
	for (r = 0; r >= 0 && now_ms() - begin < 5000;) {
		struct nanet3_event ev;

		r = nanet3_wait(looking, 0);
		while (nanet3_next_event(looking, &ev) == 1) {
		}
	}
	assert_int_equal(r, -ENODEV);
	assert_int_equal(nanet3_release(looking, 0, nanet3_write_position(looking, 0)), -ENODEV);
	assert_int_equal(nanet3_polling(looking, false), -ENODEV);
	nanet3_close(looking);
}

static void an_end_in_order_is_told(void **state)
{
	struct nanet3 *b = polling_board();
	struct nanet3_event ev = {0};
	uint64_t begin = now_ms();

	contract_host_end(host, SIGTERM);
	host = 0;
	while (ev.type != NANET3_EVENT_GONE && now_ms() - begin < 2000) {
		assert_int_equal(nanet3_wait(b, 1000), 1);
		while (nanet3_next_event(b, &ev) == 1 && ev.type != NANET3_EVENT_GONE) {
		}
	}
	assert_int_equal(ev.type, NANET3_EVENT_GONE);
	nanet3_close(b);
}

static void a_time_is_kept(void **state)
{
	struct nanet3 *b;
	uint64_t begin;

	config.deadline_us = 1000000; /* and buffers of half a second: nothing comes */
	config.frames_per_buffer = 400;
	config.depth_ms = 2000;
	restart();
	b = open_board();
	assert_int_equal(nanet3_claim(b, 3, NANET3_CLAIM_FRESH, NULL), 0);
	assert_int_equal(nanet3_polling(b, true), 0);
	begin = now_ms();
	while (nanet3_wait(b, 20) == 1) { /* what its first moments brought */
		struct nanet3_event ev;

		while (nanet3_next_event(b, &ev) == 1) {
		}
		begin = now_ms();
		assert_true(nanet3_write_position(b, 3) < 4);
	}
	assert_true(now_ms() - begin >= 20);
	nanet3_close(b);
}

/* ------------------------------------------------------------------------ links on the way */

static void links_come_and_go(void **state)
{
	struct nanet3 *b = polling_board();

	for (unsigned i = 1; i < NANET3_LINKS; i++) {
		assert_int_equal(nanet3_claim(b, i, NANET3_CLAIM_FRESH, NULL), 0);
	}
	assert_true(read_on(b, 20));
	for (unsigned i = 1; i < NANET3_LINKS; i++) {
		uint64_t begin = now_ms(), seen;

		while ((seen = nanet3_write_position(b, i)) < 10 && now_ms() - begin < 2000) {
		}
		assert_true(seen >= 10);
		for (uint64_t p = 0; p < seen; p++) {
			assert_int_equal(nanet3_completion(b, i, p)->position, p);
			assert_int_equal(nanet3_completion(b, i, p)->link, i);
		}
		assert_int_equal(nanet3_release(b, i, seen), 0);
		assert_int_equal(nanet3_release_position(b, i), seen);
	}
	assert_int_equal(nanet3_yield(b, 0), 0);
	assert_null(nanet3_buffer(b, 0, 0));
	assert_int_equal(nanet3_release(b, 0, 0), -EPERM);
	assert_int_equal(nanet3_claim(b, 0, 0, NULL), 0); /* anew, still polled */
	assert_true(read_on(b, 20));
	assert_int_equal(nanet3_polling(b, false), 0);
	assert_true(read_on(b, 20)); /* positions went on where they were */
	assert_int_equal(nanet3_polling(b, true), 0);
	assert_true(read_on(b, 20));
	nanet3_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_system_call, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_death_is_noticed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_end_in_order_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_time_is_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(links_come_and_go, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("libnanet3: polling on the emulator", tests, NULL, NULL);
}
