/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the bus does to a board that stays where it is: reads without answers, events that do not arrive, a
 * board that is away for a while, errors and their recovery, a reset of the function, sleep. What is small
 * goes by unnoticed. Otherwise the handles of before get ENODEV, as what they had claimed is no more, and a
 * handle of after finds everything in working order. A plan of its own: the board sits below a root port, and
 * the error is the machine's to make (`# monitor:` asks the runner).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <unistd.h>

#include "tests/vm/guest.h"

#define LINK		       0u
#define SYSLOG_ACTION_READ_ALL 3 /* of syslog(2) */

static int write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r;

	if (fd < 0) {
		return -errno;
	}
	r = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return r;
}

/* Lines of the kernel's log that contain this. */
static unsigned count_in_log(const char *text)
{
	static char log[1 << 20];
	int length = klogctl(SYSLOG_ACTION_READ_ALL, log, sizeof(log) - 1);
	unsigned n = 0;

	assert_true(length >= 0);
	log[length] = '\0';
	for (const char *p = log; (p = strstr(p, text)) != NULL; p++) {
		n++;
	}
	return n;
}

static struct nanet3 *at_work(void)
{
	struct nanet3 *b = guest_open();

	guest_claim(b, LINK);
	guest_wait_completed(b, LINK, 3);
	return b;
}

/* The old handle is told, the new one works, and the old one's end does it no harm. */
static void begins_anew(struct nanet3 *old)
{
	struct nanet3 *b;
	struct guest_reader r;

	guest_wait_for(guest_says_gone, old, 1, "ENODEV");
	assert_int_equal(nanet3_claim(old, 1, 0, NULL), -ENODEV);
	guest_wait_for(guest_can_open, NULL, 1, "open afterwards");
	b = guest_open();
	guest_claim(b, LINK);
	guest_reader_init(&r, LINK, 0);
	guest_reader_run(&r, b, 200);
	guest_close(old);
	guest_reader_run(&r, b, 400);
	guest_reader_fini(&r);
	guest_yield(b, LINK);
	guest_close(b);
}

static void by_error(void)
{
	printf("# monitor: pcie_aer_inject_error rp0 DLP\n");
	fflush(stdout);
}

static void error_on_the_bus(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		struct nanet3 *b = at_work();

		by_error();
		begins_anew(b);
	}
}

static uint64_t errors_logged(void *context)
{
	return count_in_log("PCI error, not fatal");
}

/* One that stops nothing on the bus: the board is fully alive, and nobody loses a handle or a frame. */
static void harmless_error_on_the_bus(void **state)
{
	struct nanet3 *b = guest_open();
	struct guest_reader r;

	guest_claim(b, LINK);
	guest_reader_init(&r, LINK, 0);
	for (unsigned i = 0; i < 2; i++) {
		guest_reader_run(&r, b, r.good + 50);
		printf("# monitor: pcie_aer_inject_error rp0 POISON_TLP\n");
		fflush(stdout);
		guest_wait_for(errors_logged, NULL, i + 1, "the error is in the log");
		guest_reader_run(&r, b, r.good + 50);
	}
	assert_int_equal(r.gap_cells, 0);
	guest_reader_fini(&r);
	guest_yield(b, LINK);
	guest_close(b);
}

/* ------------------------------------------------------------------------ lost on the bus */

static uint64_t lost_reads(void)
{
	unsigned long long n = 0;
	char line[200];
	FILE *f = fopen("/sys/kernel/debug/nanet3/nanet3-0/state", "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL && sscanf(line, "lost_reads %llu", &n) != 1) {
	}
	fclose(f);
	return n;
}

/* Few of them: the driver asks again, and nobody notices. */
static void lost_answers(void **state)
{
	struct nanet3 *b = guest_open();
	uint64_t before = lost_reads();
	struct guest_reader r;

	guest_claim(b, LINK);
	guest_reader_init(&r, LINK, 0);
	for (unsigned i = 1; i < 6; i++) {
		guest_fault(b, MODEL_FAULT_LOSE_READS, 0, i);
		assert_int_equal(guest_reg(b, NANET3_REG_VERSION), NANET3_HW_VERSION);
		guest_reader_run(&r, b, r.good + 50);
	}
	assert_int_equal(r.gap_cells, 0);
	assert_true(lost_reads() >= before + 5);
	guest_reader_fini(&r);
	guest_yield(b, LINK);
	guest_close(b);
}

/* No answers for longer than a driver waits, while DMA goes on: lost, and found again by itself. */
static void deaf_for_a_while(void **state)
{
	for (unsigned i = 0; i < 3; i++) {
		struct nanet3 *b = at_work();

		guest_fault(b, MODEL_FAULT_DEAF, 0, 10 + 40 * i);
		begins_anew(b);
	}
}

/* The board has written it and nothing came: all events after it would wait for ever. */
static void lost_event(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		struct nanet3 *b = at_work();

		guest_fault(b, MODEL_FAULT_LOSE_EVENTS, 0, 1 + i);
		begins_anew(b);
	}
}

/* Has a registered buffer, puts going round in it, and dies as soon as it is told. */
static void put_until_gone(void *context)
{
	static uint8_t memory[4][64 * NANET3_PAGE];
	uint32_t buffers[4] = {0};
	struct nanet3_event ev;
	struct nanet3 *b = guest_open();

	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(
			nanet3_register_buffer(b, memory[i], sizeof(memory[i]), &buffers[i]), 0);
	}
	assert_int_equal(write(*(const int *)context, "", 1), 1);
	while (nanet3_wait(b, 100) >= 0) {
		for (unsigned i = 0; i < 4; i++) {
			nanet3_put(b, &(struct nanet3_put){.source = buffers[i],
							   .destination = buffers[(i + 1) % 4],
							   .length = sizeof(memory[i])});
		}
		while (nanet3_next_event(b, &ev) == 1) {
		}
	}
	nanet3_close(b);
	_exit(0);
}

/* Memory that processes give back while the bus is in trouble: the kernel's log tells whether the board
 * could still write there. */
static void error_under_puts(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		pid_t pids[4];
		char bytes[4];
		int ends[2];
		struct nanet3 *b = at_work();

		assert_int_equal(pipe(ends), 0);
		for (unsigned n = 0; n < 4; n++) {
			pids[n] = guest_fork(put_until_gone, &ends[1]);
		}
		close(ends[1]);
		for (unsigned n = 0; n < 4; n++) {
			assert_int_equal(read(ends[0], &bytes[n], 1), 1);
		}
		close(ends[0]);
		guest_sleep_ms(100);
		by_error();
		for (unsigned n = 0; n < 4; n++) {
			assert_int_equal(guest_join(pids[n]), 0);
		}
		begins_anew(b);
	}
}

static void function_reset(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		struct nanet3 *b = at_work();

		assert_int_equal(write_to("/sys/class/nanet3/nanet3-0/device/reset", "1"), 0);
		begins_anew(b);
	}
}

/* What a monitor does is done when it is done: asked for again until the board can be opened. */
static void until_open(void (*recover)(void))
{
	for (unsigned i = 0; i < 20; i++) {
		recover();
		for (unsigned n = 0; n < 30; n++) {
			if (guest_can_open(NULL)) {
				return;
			}
			guest_sleep_ms(100);
		}
	}
	fail_msg("the board does not come back");
}

static void by_reset(void)
{
	write_to("/sys/class/nanet3/nanet3-0/device/reset", "1");
}

/* Off the bus, and back without a word from anybody: the driver looks for it. */
static void back_by_itself(void **state)
{
	for (unsigned i = 0; i < 3; i++) {
		struct nanet3 *b = at_work();

		guest_fault(b, MODEL_FAULT_GONE, 0, 5 + 60 * i);
		begins_anew(b);
	}
}

/* Off the bus and found so before anybody reports an error: the driver looks for it, and is told, too. */
static void gone_before_the_error(void **state)
{
	static void (*const recover[])(void) = {by_error, by_reset, by_error};

	for (unsigned i = 0; i < sizeof(recover) / sizeof(recover[0]); i++) {
		struct nanet3 *b = at_work();

		guest_fault(b, MODEL_FAULT_GONE, 0, 100);
		guest_wait_for(guest_says_gone, b, 1, "ENODEV");
		until_open(recover[i]);
		begins_anew(b);
	}
}

/* As far as a machine can go that must wake up by itself: everything but the processors sleeps. */
static void sleep_and_wake(void **state)
{
	struct nanet3 *b = at_work();

	write_to("/sys/module/suspend/parameters/pm_test_delay", "1");
	assert_int_equal(write_to("/sys/power/pm_test", "platform"), 0);
	assert_int_equal(write_to("/sys/power/state", "freeze"), 0);
	begins_anew(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GUEST_TEST(lost_answers),
		GUEST_TEST(deaf_for_a_while),
		GUEST_TEST(lost_event),
		GUEST_TEST(back_by_itself),
		GUEST_TEST(error_on_the_bus),
		GUEST_TEST(harmless_error_on_the_bus),
		GUEST_TEST(error_under_puts),
		GUEST_TEST(function_reset),
		GUEST_TEST(gone_before_the_error),
		GUEST_TEST(sleep_and_wake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
