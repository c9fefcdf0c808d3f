/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stream in a real kernel: content of every buffer, four links at once, a ring that is full, ways to
 * wait. What any driver must do is in tests/unit/driver/lib/test_contract.c, which runs beside this. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/vm/guest.h"

#define GOOD_FRAMES                                                                                \
	800u /* a link: 0.1 s of model time, several times round the ring's first chunk */

static void four_links_in_parallel(void **state)
{
	struct guest_reader readers[NANET3_LINKS];
	struct nanet3 *b = guest_open();

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		guest_claim(b, i);
		guest_reader_init(&readers[i], i, 0);
	}
	for (uint64_t good = 100; good <= GOOD_FRAMES; good += 100) {
		for (unsigned i = 0; i < NANET3_LINKS; i++) {
			guest_reader_run(&readers[i], b, good);
		}
	}
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		guest_reader_fini(&readers[i]);
		guest_yield(b, i);
	}
	guest_close(b);
}

static void own_one_link(void *context)
{
	unsigned link = *(unsigned *)context;
	struct nanet3 *b = guest_open();
	struct guest_reader r;

	guest_claim(b, link);
	guest_reader_init(&r, link, 0);
	guest_reader_run(&r, b, GOOD_FRAMES);
	guest_reader_fini(&r);
	guest_yield(b, link);
	guest_close(b);
}

static void four_processes_in_parallel(void **state)
{
	unsigned links[NANET3_LINKS];
	pid_t pids[NANET3_LINKS];

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		links[i] = i;
		pids[i] = guest_fork(own_one_link, &links[i]);
	}
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		assert_int_equal(guest_join(pids[i]), 0);
	}
}

/* Every buffer of a ring, all the way round twice. */
static void every_buffer_of_the_ring(void **state)
{
	struct nanet3 *b = guest_open();
	struct guest_reader r;
	uint64_t frames;

	guest_claim(b, 2);
	frames = (uint64_t)nanet3_ring(b, 2)->depth * nanet3_ring(b, 2)->frames_per_buffer;
	guest_reader_init(&r, 2, 0);
	guest_reader_run(&r, b, 2 * frames);
	assert_true(r.position >= 2 * (uint64_t)nanet3_ring(b, 2)->depth);
	guest_reader_fini(&r);
	guest_yield(b, 2);
	guest_close(b);
}

static uint64_t written(void *context)
{
	return nanet3_write_position(context, 1);
}

/* A full ring is not written over; what was lost meanwhile is named to the cell, and it goes on. */
static void full_ring(void **state)
{
	struct nanet3 *b = guest_open();
	struct guest_reader early, late;
	uint32_t drops_before, drops_after;
	uint64_t depth;

	guest_claim(b, 1);
	depth = nanet3_ring(b, 1)->depth;
	drops_before = guest_reg(b, NANET3_REG_LINK(1, NANET3_LREG_DROP_RING));
	guest_reader_init(&early, 1, 0);
	guest_reader_init(&late, 1, 0);
	while (early.position < depth) { /* content as it comes, nothing released */
		guest_wait_completed(b, 1, early.position);
		guest_reader_take(&early, b);
	}
	guest_wait_for(written, b, depth, "written positions");
	guest_sleep_ms(300);
	assert_int_equal(nanet3_write_position(b, 1), depth);
	assert_true(guest_reg(b, NANET3_REG_LINK(1, NANET3_LREG_STATUS)) & NANET3_LSTAT_FULL);
	guest_reader_take(&late, b); /* and the same content later */
	assert_int_equal(late.good, early.good);
	assert_int_equal(late.gap_cells, 0);
	assert_int_equal(nanet3_release(b, 1, depth), 0);
	guest_reader_run(&late, b, late.good + 100);
	drops_after = guest_reg(b, NANET3_REG_LINK(1, NANET3_LREG_DROP_RING));
	assert_true(late.gap_cells > 0);
	assert_int_equal(late.lost[TDM_LOSS_RING_FULL], drops_after - drops_before);
	assert_int_equal(late.gap_cells, drops_after - drops_before);
	guest_reader_fini(&early);
	guest_reader_fini(&late);
	guest_yield(b, 1);
	guest_close(b);
}

/* The deadline in force when DMA starts: short completions of the same unbroken stream. */
static void deadline(void **state)
{
	const uint32_t reg = NANET3_REG_LINK(3, NANET3_LREG_DEADLINE);
	struct nanet3 *b = guest_open();
	uint32_t old = guest_reg(b, reg);
	struct guest_reader r;

	guest_reg_set(b, reg, 500);
	guest_claim(b, 3);
	guest_reader_init(&r, 3, 0);
	for (unsigned i = 0; i < 20; i++) {
		const struct nanet3_event *c;

		guest_wait_completed(b, 3, i);
		c = nanet3_completion(b, 3, i);
		if (c->length > 0) { /* 500 us are four frames */
			assert_int_equal(c->frames, 4);
			assert_true(c->flags & NANET3_RX_DEADLINE);
		}
	}
	guest_reader_run(&r, b, 100);
	guest_reader_fini(&r);
	guest_yield(b, 3);
	guest_reg_set(b, reg, old);
	guest_close(b);
}

static void epoll_sees_events(void **state)
{
	struct nanet3 *b = guest_open();
	struct epoll_event want = {.events = EPOLLIN}, got = {0};
	int e = epoll_create1(EPOLL_CLOEXEC);

	assert_true(e >= 0);
	assert_int_equal(epoll_ctl(e, EPOLL_CTL_ADD, nanet3_fd(b), &want), 0);
	assert_int_equal(epoll_wait(e, &got, 1, 0), 0);
	guest_claim(b, 0);
	assert_int_equal(epoll_wait(e, &got, 1, (int)GUEST_LIMIT_MS), 1);
	assert_true(got.events & EPOLLIN);
	guest_yield(b, 0);
	close(e);
	guest_close(b);
}

static void on_alarm(int number)
{
}

/* NANET3_IOC_WAIT itself, which the library does not use. */
static void wait_request(void **state)
{
	const struct itimerval soon = {.it_value = {.tv_usec = 100000}};
	struct sigaction act = {.sa_handler = on_alarm};
	struct nanet3_wait w = {.timeout_ms = 0};
	struct nanet3_claim c = {.link = 0, .flags = NANET3_CLAIM_FRESH};
	__u32 link = 0;
	int fd = guest_open_raw();

	assert_int_equal(ioctl(fd, NANET3_IOC_WAIT, &w), -1);
	assert_int_equal(errno, ETIMEDOUT);
	w.timeout_ms = 50;
	assert_int_equal(ioctl(fd, NANET3_IOC_WAIT, &w), -1);
	assert_int_equal(errno, ETIMEDOUT);
	assert_int_equal(sigaction(SIGALRM, &act, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	w.timeout_ms = ~0u;
	assert_int_equal(ioctl(fd, NANET3_IOC_WAIT, &w), -1);
	assert_int_equal(errno, EINTR);
	assert_int_equal(ioctl(fd, NANET3_IOC_CLAIM, &c), 0);
	assert_int_equal(ioctl(fd, NANET3_IOC_WAIT, &w), 0);
	assert_int_equal(ioctl(fd, NANET3_IOC_YIELD, &link), 0);
	close(fd);
}

/* Polling mode: the board's queue and doorbell in user space, the same stream. */
static void polling(void **state)
{
	struct guest_reader readers[2];
	struct nanet3 *b = guest_open();
	struct nanet3_stats before, after;

	for (unsigned i = 0; i < 2; i++) {
		guest_claim(b, i);
		guest_reader_init(&readers[i], i, 0);
	}
	assert_int_equal(nanet3_polling(b, true), 0);
	before = guest_stats(b);
	for (uint64_t good = 100; good <= GOOD_FRAMES; good += 100) {
		guest_reader_run(&readers[0], b, good);
		guest_reader_run(&readers[1], b, good);
	}
	after = guest_stats(b);
	/* One that was on its way when polling began may still come. */
	assert_in_range(after.links[0].interrupts - before.links[0].interrupts, 0, 1);
	assert_int_equal(nanet3_polling(b, false), 0);
	for (unsigned i = 0; i < 2; i++) { /* and back to interrupts, without a loss */
		guest_reader_run(&readers[i], b, readers[i].good + 200);
		assert_int_equal(readers[i].gap_cells, 0);
		guest_reader_fini(&readers[i]);
		guest_yield(b, i);
	}
	guest_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GUEST_TEST(four_links_in_parallel),
		GUEST_TEST(four_processes_in_parallel),
		GUEST_TEST(every_buffer_of_the_ring),
		GUEST_TEST(full_ring),
		GUEST_TEST(deadline),
		GUEST_TEST(epoll_sees_events),
		GUEST_TEST(wait_request),
		GUEST_TEST(polling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
