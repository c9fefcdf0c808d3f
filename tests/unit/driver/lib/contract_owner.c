/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contract: what survives an owner, and what others see. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/driver/lib/contract_rig.h"

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
	for (position = 4; position < 40 && position < nanet3_ring(b, 1)->depth; position++) {
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

	wait_locked(a, 1);
	own_a_while(a);
	epoch = nanet3_ring(a, 1)->dma_epoch;
	assert_int_equal(nanet3_observe(b, 1), 0);
	close_board(a);
	sleep_ms(20);
	assert_int_equal(nanet3_ring(b, 1)->status, NANET3_RING_LINGERING);
	assert_int_equal(nanet3_ring(b, 1)->owner_pid, 0);
	check_taken_over(b, epoch);
	close_board(b);
}

static void ring_survives_kill(void **state)
{
	struct nanet3 *b = open_board();
	int ready[2];
	uint32_t epoch = 0;
	pid_t pid;

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
	close_board(b);
}

static void linger_ends(void **state)
{
	struct nanet3 *a = open_board(), *b = open_board();
	uint32_t epoch, linger_ms;
	uint64_t position;

	assert_int_equal(nanet3_observe(b, 1), 0);
	linger_ms = nanet3_ring(b, 1)->linger_ms;
	if (linger_ms > 2000) {
		skip_because("it lingers too long to wait for");
	}
	own_a_while(a);
	epoch = nanet3_ring(a, 1)->dma_epoch;
	close_board(a);
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
	close_board(b);
}

static void fresh_claim_starts_anew(void **state)
{
	struct nanet3 *a = open_board(), *b;
	uint32_t epoch;
	uint64_t count = 0;

	own_a_while(a);
	epoch = nanet3_ring(a, 1)->dma_epoch;
	close_board(a);
	b = open_board();
	claim(b, 1, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_ring(b, 1)->dma_epoch, epoch + 1);
	assert_int_equal(((char *)nanet3_owner_page(b, 1))[0], 0);
	for (uint64_t position = 0; position < 5; position++) {
		completed(b, 1, position);
		check_completion(b, 1, position, &count);
	}
	assert_int_equal(nanet3_yield(b, 1), 0);
	close_board(b);
}

static void observer_sees_and_touches_nothing(void **state)
{
	struct nanet3 *a = open_board(), *b = open_board();
	struct nanet3_event ev;

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
	close_board(a);
	close_board(b);
}

const struct CMUnitTest contract_owner[] = {
	CONTRACT_TEST(ring_survives_close),
	CONTRACT_TEST(ring_survives_kill),
	CONTRACT_TEST(linger_ends),
	CONTRACT_TEST(fresh_claim_starts_anew),
	CONTRACT_TEST(observer_sees_and_touches_nothing),
	{NULL},
};
