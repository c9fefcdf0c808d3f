/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Owners that die, and what they leave: kill -9 under DMA and take-over without a lost frame, loss that is
 * named once the ring was full, DMA that stops when nobody came; processes that fork, exec and watch.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/vm/guest.h"

#define LINK  1u
#define LIVES 10u

/*
 * What an owner notes in its page for the next: the page survives it. Two notes in turn, each written
 * before its position is released: whenever the owner dies, one of them is that of the release position.
 */
struct note {
	uint64_t position, count; /* of the next completion */
	struct tdm_deframe_mark mark;
};
struct page {
	struct note notes[2];
	uint64_t turn, good;
};

struct life {
	unsigned number;
	int told; /* a pipe: one byte when at work */
};

static void go_on(struct guest_reader *r, const struct page *page)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct note *n = &page->notes[i];

		if (n->position == r->position && n->count > 0) {
			/* A frame that straddles cells would need bytes that are released. */
			assert_int_equal(n->mark.offset, 0);
			guest_reader_resume(r, n->count, &n->mark);
			return;
		}
	}
	fail_msg("no note of position %llu", (unsigned long long)r->position);
}

static void leave_note(const struct guest_reader *r, struct page *page)
{
	struct note *n = &page->notes[page->turn % 2];

	*n = (struct note){.position = r->position, .count = r->count, .mark = r->mark};
	page->turn++;
	page->good = r->good;
}

/* Reads until it is killed. */
static void live(void *context)
{
	struct life *l = context;
	struct nanet3 *b = guest_open();
	bool taken_over = false;
	struct guest_reader r;
	struct page *page;

	guest_wait_locked(b, LINK);
	assert_int_equal(
		nanet3_claim(b, LINK, l->number == 0 ? NANET3_CLAIM_FRESH : 0, &taken_over), 0);
	assert_int_equal(taken_over, l->number > 0);
	page = nanet3_owner_page(b, LINK);
	assert_non_null(page);
	guest_reader_init(&r, LINK, nanet3_release_position(b, LINK));
	if (l->number > 0) {
		go_on(&r, page);
		r.good = page->good;
	}
	for (;;) {
		uint64_t more = r.good + 4;

		for (struct nanet3_event ev; nanet3_next_event(b, &ev) == 1;) {
		}
		assert_true(nanet3_wait(b, 100) >= 0);
		guest_reader_take(&r, b);
		assert_int_equal(r.gap_cells, 0);
		if (r.good < more) {
			continue;
		}
		leave_note(&r, page);
		assert_int_equal(nanet3_release(b, LINK, r.position), 0);
		if (l->told >= 0) {
			assert_int_equal(write(l->told, "!", 1), 1);
			close(l->told);
			l->told = -1;
		}
	}
}

static pid_t begin_life(struct life *l)
{
	int ends[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	l->told = ends[1];
	pid = guest_fork(live, l);
	close(ends[1]);
	assert_int_equal(read(ends[0], &c, 1), 1);
	close(ends[0]);
	return pid;
}

static void kill_nine(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(guest_join(pid), -SIGKILL);
}

/* The link goes back to nobody, whatever was left. */
static void stop_link(struct nanet3 *b)
{
	assert_int_equal(nanet3_claim(b, LINK, 0, NULL), 0);
	guest_yield(b, LINK);
}

static uint64_t lingers_or_stopped(void *context)
{
	return nanet3_ring(context, LINK)->status != NANET3_RING_OWNED;
}

static void killed_and_taken_over(void **state)
{
	struct nanet3 *b = guest_open();
	struct nanet3_stats before = guest_stats(b), after;

	assert_int_equal(nanet3_observe(b, LINK), 0);
	for (unsigned n = 0; n < LIVES; n++) {
		struct life l = {.number = n};
		pid_t pid = begin_life(&l);

		guest_sleep_ms(20 + 37 * n % 200);
		assert_int_equal(nanet3_claim(b, LINK, 0, NULL), -EBUSY);
		kill_nine(pid);
		guest_wait_for(lingers_or_stopped, b, 1, "the end of the owner");
		assert_int_equal(nanet3_ring(b, LINK)->status, NANET3_RING_LINGERING);
		assert_int_equal(nanet3_ring(b, LINK)->owner_pid, 0);
	}
	after = guest_stats(b);
	assert_int_equal(after.links[LINK].starts - before.links[LINK].starts, 1);
	assert_int_equal(after.links[LINK].takeovers - before.links[LINK].takeovers, LIVES - 1);
	assert_int_equal(after.links[LINK].lingers - before.links[LINK].lingers, LIVES);
	stop_link(b);
	guest_close(b);
}

static uint64_t held(void *context)
{
	return nanet3_write_position(context, LINK) - nanet3_release_position(context, LINK);
}

/* Nobody came before the ring was full: what was in it is all there, what followed is named to the cell. */
static void loss_is_named(void **state)
{
	struct nanet3 *b = guest_open();
	struct life l = {0};
	uint32_t before = guest_reg(b, NANET3_REG_LINK(LINK, NANET3_LREG_DROP_RING)), after;
	struct guest_reader r;
	bool taken_over = false;
	uint64_t kept;

	assert_int_equal(nanet3_observe(b, LINK), 0);
	kill_nine(begin_life(&l));
	guest_wait_for(held, b, nanet3_ring(b, LINK)->depth, "buffers held");
	guest_sleep_ms(200);
	assert_int_equal(nanet3_claim(b, LINK, 0, &taken_over), 0);
	assert_true(taken_over);
	guest_reader_init(&r, LINK, nanet3_release_position(b, LINK));
	go_on(&r, nanet3_owner_page(b, LINK));
	guest_reader_take(&r, b);
	kept = r.good;
	assert_int_equal(r.gap_cells, 0);
	assert_true(kept > (uint64_t)nanet3_ring(b, LINK)->depth);
	assert_int_equal(nanet3_release(b, LINK, r.position), 0);
	guest_reader_run(&r, b, kept + 100);
	after = guest_reg(b, NANET3_REG_LINK(LINK, NANET3_LREG_DROP_RING));
	assert_true(r.gap_cells > 0);
	assert_int_equal(r.gap_cells, after - before);
	assert_int_equal(r.lost[TDM_LOSS_RING_FULL], after - before);
	guest_reader_fini(&r);
	guest_yield(b, LINK);
	guest_close(b);
}

static uint64_t stopped(void *context)
{
	return nanet3_ring(context, LINK)->status == NANET3_RING_STOPPED;
}

static void dma_stops_after_linger(void **state)
{
	const uint32_t control = NANET3_REG_LINK(LINK, NANET3_LREG_CONTROL);
	struct nanet3 *b = guest_open();
	struct life l = {0};
	uint64_t position, from;
	uint32_t cells, epoch;
	bool taken_over = true;

	assert_int_equal(nanet3_observe(b, LINK), 0);
	kill_nine(begin_life(&l));
	from = guest_ms();
	epoch = nanet3_ring(b, LINK)->dma_epoch;
	assert_int_equal(nanet3_ring(b, LINK)->status, NANET3_RING_LINGERING);
	assert_true(guest_reg(b, control) & NANET3_LINK_ENABLE);
	guest_wait_for(stopped, b, 1, "the end of linger");
	assert_true(guest_ms() - from + 50 >= nanet3_ring(b, LINK)->linger_ms);
	assert_false(guest_reg(b, control) & NANET3_LINK_ENABLE);
	assert_false(guest_reg(b, NANET3_REG_LINK(LINK, NANET3_LREG_STATUS)) & NANET3_LSTAT_BUSY);
	position = nanet3_write_position(b, LINK);
	cells = guest_reg(b, NANET3_REG_LINK(LINK, NANET3_LREG_CELLS));
	guest_sleep_ms(300);
	assert_int_equal(nanet3_write_position(b, LINK), position);
	assert_int_equal(guest_reg(b, NANET3_REG_LINK(LINK, NANET3_LREG_CELLS)), cells);
	assert_int_equal(nanet3_claim(b, LINK, 0, &taken_over), 0);
	assert_false(taken_over);
	assert_int_equal(nanet3_ring(b, LINK)->dma_epoch, epoch + 1);
	guest_wait_completed(b, LINK, 3);
	guest_yield(b, LINK);
	guest_close(b);
}

/* ------------------------------------------------------------------------ relatives */

static void look_at_ring(void *context)
{
	struct nanet3 *b = context;

	/* Whatever the driver thinks of a child's mappings: looking must not break the parent's. */
	signal(SIGSEGV, SIG_DFL);
	(void)*(const volatile uint8_t *)nanet3_buffer(b, LINK, 0);
	(void)nanet3_write_position(b, LINK);
}

/* The stream goes on while a child comes to its end; 0 or 1: how it ended. */
static int read_until_end(struct guest_reader *r, struct nanet3 *b, pid_t pid)
{
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		guest_reader_run(r, b, r->good + 8);
	}
	return status != 0;
}

/* fork with rings mapped: the parent stays the owner and its stream unbroken, whatever its children do to
 * what they inherit: look at it, leave it by exit, by a fault, by exec. */
static void fork_and_exec_with_mappings(void **state)
{
	struct nanet3 *b = guest_open();
	struct guest_reader r;
	pid_t pid;

	guest_claim(b, LINK);
	guest_reader_init(&r, LINK, 0);
	guest_wait_completed(b, LINK, 1);
	for (unsigned i = 0; i < 5; i++) {
		read_until_end(&r, b, guest_fork(look_at_ring, b));
		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			execl("/bin/busybox", "true", (char *)NULL);
			_exit(1);
		}
		assert_true(pid > 0);
		assert_int_equal(read_until_end(&r, b, pid), 0);
		guest_reader_run(&r, b, r.good + 50);
	}
	assert_int_equal(r.gap_cells, 0);
	guest_reader_fini(&r);
	guest_yield(b, LINK);
	guest_close(b);
}

struct heir {
	int told;
};

static void wait_for_ever(void *context)
{
	pause();
}

/* Claims, forks a child that inherits the descriptor, tells its pid, and waits to be killed. */
static void parent_of_heir(void *context)
{
	struct heir *h = context;
	struct nanet3 *b = guest_open();
	pid_t pid;

	guest_claim(b, LINK);
	guest_wait_completed(b, LINK, 1);
	pid = fork();
	if (pid == 0) {
		wait_for_ever(NULL);
	}
	(void)!write(h->told, &pid, sizeof(pid));
	pause();
}

/* A handle is closed when its last descriptor is: not before, not never. */
static void heir_keeps_the_handle(void **state)
{
	struct nanet3 *b = guest_open();
	struct heir h;
	int ends[2];
	pid_t pid, child = 0;

	assert_int_equal(nanet3_observe(b, LINK), 0);
	assert_int_equal(pipe(ends), 0);
	h.told = ends[1];
	pid = guest_fork(parent_of_heir, &h);
	assert_int_equal(read(ends[0], &child, sizeof(child)), sizeof(child));
	kill_nine(pid);
	guest_sleep_ms(50);
	assert_int_equal(nanet3_ring(b, LINK)->status, NANET3_RING_OWNED);
	assert_int_equal(nanet3_claim(b, LINK, 0, NULL), -EBUSY);
	assert_int_equal(kill(child, SIGKILL), 0);
	guest_wait_for(lingers_or_stopped, b, 1, "the end of the last descriptor");
	close(ends[0]);
	close(ends[1]);
	stop_link(b);
	guest_close(b);
}

/* ------------------------------------------------------------------------ two processes */

static void watch(void *context)
{
	struct nanet3 *b = guest_open();

	assert_int_equal(nanet3_observe(b, LINK), 0);
	for (unsigned i = 0; i < 200; i++) {
		uint64_t w = nanet3_write_position(b, LINK);

		assert_true(nanet3_write_position(b, LINK) >= w);
		assert_true(guest_reg(b, NANET3_REG_ID) == 0x00334e4e);
		assert_true(guest_stats(b).clients >= 2);
		assert_int_equal(nanet3_release(b, LINK, w), -EPERM);
		assert_int_equal(nanet3_claim(b, LINK, 0, NULL), -EBUSY);
		assert_int_equal(nanet3_yield(b, LINK), -EPERM);
		assert_null(nanet3_buffer(b, LINK, 0));
	}
	guest_close(b);
}

static void owner_and_watcher(void **state)
{
	struct nanet3 *b = guest_open();
	struct guest_reader r;
	pid_t pids[2];

	guest_claim(b, LINK);
	guest_reader_init(&r, LINK, 0);
	pids[0] = guest_fork(watch, NULL);
	pids[1] = guest_fork(watch, NULL);
	guest_reader_run(&r, b, 800);
	assert_int_equal(guest_join(pids[0]), 0);
	assert_int_equal(guest_join(pids[1]), 0);
	guest_reader_fini(&r);
	guest_yield(b, LINK);
	guest_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GUEST_TEST(killed_and_taken_over),  GUEST_TEST(loss_is_named),
		GUEST_TEST(dma_stops_after_linger), GUEST_TEST(fork_and_exec_with_mappings),
		GUEST_TEST(heir_keeps_the_handle),  GUEST_TEST(owner_and_watcher),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
