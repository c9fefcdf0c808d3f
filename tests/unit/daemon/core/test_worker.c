/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that may hang, on a thread of its own: its order, its end, and what becomes of a thread that hangs. Real time:
 * a piece hangs for as long as it is told to, the limits of time are tested from below.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "daemon/core/now.h"
#include "daemon/core/worker.h"
#include "tests/unit/rig/checked_locks.h"

#define PATIENCE_NS 20000000000ull
#define PIECES	    8u

struct piece {
	struct work work;
	unsigned number;
};

static struct event_base *base;
static struct worker *w;
static struct piece piece[PIECES];
static _Atomic unsigned hangs_at; /* the number of the piece that hangs; PIECES: none does ... */
static _Atomic uint64_t hangs_until_ns; /* ... for so long */
static _Atomic unsigned began;
static unsigned done[PIECES], done_count;

static void run(struct work *work)
{
	began++;
	while (hangs_at == ((struct piece *)work)->number && now_mono_ns() < hangs_until_ns) {
		usleep(1000);
	}
}

static void finish(struct work *work)
{
	done[done_count++] = ((struct piece *)work)->number;
}

static void give_these(struct piece *p, unsigned pieces)
{
	for (unsigned n = 0; n < pieces; n++) {
		p[n] = (struct piece){.work = {.run = run, .done = finish}, .number = n};
		worker_give(w, &p[n].work);
	}
}

static void give(unsigned pieces)
{
	give_these(piece, pieces);
}

static int begin(void **state)
{
	hangs_at = PIECES;
	hangs_until_ns = UINT64_MAX;
	began = done_count = 0;
	base = event_base_new();
	assert_int_equal(worker_start(base, "test", &w), 0);
	return 0;
}

static int end(void **state)
{
	event_base_free(base);
	return 0;
}

static unsigned count_open(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 256; fd++) {
		count += fcntl(fd, F_GETFD) >= 0;
	}
	return count;
}

/* That the loop waits for. */
static int events(void)
{
	return event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED);
}

/* The event loop, until so many are done. */
static void loop_until(unsigned count)
{
	uint64_t end_ns = now_mono_ns() + PATIENCE_NS;

	while (done_count < count) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		usleep(100);
		assert_true(now_mono_ns() < end_ns);
	}
}

static void wait_until_begun(unsigned count)
{
	uint64_t end_ns = now_mono_ns() + PATIENCE_NS;

	while (began < count) {
		usleep(100);
		assert_true(now_mono_ns() < end_ns);
	}
}

/* One after the other; done() is called in the event loop only. While one hangs the caller goes on, and sees for how
 * long. */
static void test_order_and_hang(void **state)
{
	uint64_t begin_ns, end_ns = now_mono_ns() + PATIENCE_NS;

	assert_true(worker_busy_ns(w) == 0);
	hangs_at = 0;
	begin_ns = now_mono_ns();
	give(4);
	while (worker_busy_ns(w) < 50000000) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		assert_true(now_mono_ns() < end_ns);
	}
	assert_true(worker_busy_ns(w) <= now_mono_ns() - begin_ns);
	assert_int_equal(began, 1);
	assert_int_equal(done_count, 0);
	hangs_at = PIECES;
	wait_until_begun(4);
	assert_int_equal(done_count, 0);
	loop_until(4);
	for (unsigned n = 0; n < 4; n++) {
		assert_int_equal(done[n], n);
	}
	assert_true(worker_busy_ns(w) == 0);
	give(2); /* when it had nothing to do */
	loop_until(6);
	assert_int_equal(done[5], 1);
	assert_true(worker_stop(w));
	assert_true(worker_stop(NULL));
}

/* What is done has its done() by then; what has not begun has neither run() nor done(). */
static void test_stop_waits_for_the_piece_under_way(void **state)
{
	hangs_at = 1;
	hangs_until_ns = now_mono_ns() + 50000000;
	give(2);
	wait_until_begun(2);
	assert_true(worker_stop(w));
	assert_int_equal(done_count, 2);
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_int_equal(done_count, 2);
	assert_int_equal(events(), 0);
}

/* It is not waited for longer than that lasts: twenty times the limit would be twenty seconds. */
static void test_stop_does_not_wait_for_its_limit(void **state)
{
	uint64_t begin_ns = now_mono_ns();

	assert_true(worker_stop(w));
	for (unsigned n = 1; n < 20; n++) {
		assert_int_equal(worker_start(base, "test", &w), 0);
		assert_true(worker_stop(w));
	}
	assert_true(now_mono_ns() - begin_ns < 10000000000ull);
}

/* One that hangs is not waited for. What it is at may end later: then the thread ends, and leaves nothing. */
static void test_stop_while_it_hangs(void **state)
{
	static struct piece left[3];	    /* with the thread: no other test uses them */
	unsigned before = count_open() - 1; /* without its own */
	uint64_t end_ns = now_mono_ns() + PATIENCE_NS;

	hangs_at = 1;
	give_these(left, 3);
	wait_until_begun(2);
	assert_int_equal(events(), 1);
	assert_false(worker_stop(w));
	assert_int_equal(done_count, 1);
	assert_int_equal(events(), 0);
	hangs_at = PIECES;
	while (count_open() != before) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		usleep(1000);
		assert_true(now_mono_ns() < end_ns);
	}
	assert_int_equal(began, 2);
	assert_int_equal(done_count, 1);
}

static void test_a_worker_leaves_nothing_behind(void **state)
{
	unsigned before = count_open();
	size_t memory = 0;

	for (unsigned i = 0; i < 40; i++) {
		done_count = 0;
		give(3);
		loop_until(3);
		assert_true(worker_stop(w));
		assert_int_equal(worker_start(base, "test", &w), 0);
		memory = i == 20 ? mallinfo2().uordblks : memory;
	}
	assert_int_equal(mallinfo2().uordblks, memory);
	assert_int_equal(count_open(), before);
	assert_true(worker_stop(w));
	assert_int_equal(count_open(), before - 1);
}

/* No descriptor is to be had. */
static void test_a_start_that_fails(void **state)
{
	struct worker *none = NULL;
	struct rlimit before, least = {.rlim_cur = 0};
	size_t memory = 0;

	assert_true(worker_stop(w));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	least.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &least), 0);
	for (unsigned i = 0; i < 40; i++) {
		if (worker_start(base, "test", &none) != -EMFILE || none) {
			break;
		}
		memory = i == 20 ? mallinfo2().uordblks : memory;
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(mallinfo2().uordblks, memory);
	assert_null(none);
}

/* Started without a standard input: 0 is a descriptor as any other. */
static void test_descriptor_zero(void **state)
{
	int input = fcntl(0, F_DUPFD_CLOEXEC, 3);

	assert_true(worker_stop(w));
	close(0);
	assert_int_equal(worker_start(base, "test", &w), 0);
	assert_true(fcntl(0, F_GETFD) >= 0);
	give(1);
	loop_until(1);
	assert_true(worker_stop(w));
	assert_true(fcntl(0, F_GETFD) < 0);
	if (input >= 0) {
		assert_int_equal(dup2(input, 0), 0);
		close(input);
	}
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(test_##t, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(order_and_hang),
		TEST(stop_waits_for_the_piece_under_way),
		TEST(stop_does_not_wait_for_its_limit),
		TEST(stop_while_it_hangs),
		TEST(a_worker_leaves_nothing_behind),
		TEST(a_start_that_fails),
		TEST(descriptor_zero),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
