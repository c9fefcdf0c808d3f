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
#include <limits.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/vm/guest.h"

#define LINK 0u

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

/* A loss soon after an error on the bus is healed as fast as another one: the kernel's recovery from the error has
 * ended. */
static void lost_soon_after_an_error(void **state)
{
	uint64_t took_ms[2];

	for (unsigned i = 0; i < 2; i++) {
		struct nanet3 *b = at_work();
		uint64_t from;

		if (i == 1) {
			by_error();
			begins_anew(b);
			b = at_work();
		}
		from = guest_ms();
		guest_fault(b, MODEL_FAULT_DEAF, 0, 10);
		begins_anew(b);
		took_ms[i] = guest_ms() - from;
	}
	assert_in_range(took_ms[1], 0, took_ms[0] + 30000);
}

/* Errors that stop nothing on the bus: the board works, and no handle and no frame is lost. Errors that the bus
 * corrects are counted and logged by the kernel, for each device; there is none here, as QEMU 7.2 does not report them,
 * and its proxy has no configuration space for the kernel's aer_inject. */
static void stand_an_error(const char *error, unsigned n)
{
	static char in_log[] = "PCI error, not fatal";
	struct nanet3 *b = guest_open();
	struct guest_reader r;

	guest_claim(b, LINK);
	guest_reader_init(&r, LINK, 0);
	guest_reader_run(&r, b, 50);
	printf("# monitor: pcie_aer_inject_error rp0 %s\n", error);
	fflush(stdout);
	guest_wait_for(guest_logged, in_log, n, "the error is in the log");
	guest_sleep_ms(1000); /* what the kernel does about it */
	guest_reader_run(&r, b, r.good + 50);
	assert_int_equal(r.gap_cells, 0);
	guest_reader_fini(&r);
	guest_yield(b, LINK);
	guest_close(b);
}

static void harmless_errors_on_the_bus(void **state)
{
	static const char *const errors[] = {"POISON_TLP", "COMP_TIME", "UNX_COMP"};

	for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		stand_an_error(errors[i], i + 1);
	}
}

/* Another driver on the bus asks for a reset, which the kernel does not make, and recovers or not. */
static void harmless_errors_beside_a_neighbour(void **state)
{
	static const char *const neighbours[] = {"recovers=1", "recovers=0"};

	for (unsigned i = 0; i < sizeof(neighbours) / sizeof(neighbours[0]); i++) {
		char load[80];

		snprintf(load, sizeof(load), "insmod /vm/neighbour.ko %s", neighbours[i]);
		assert_int_equal(system(load), 0);
		stand_an_error("POISON_TLP", i + 1);
		assert_int_equal(system("rmmod neighbour"), 0);
	}
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

		assert_int_equal(guest_write("/sys/class/nanet3/nanet3-0/device/reset", "1"), 0);
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
	guest_write("/sys/class/nanet3/nanet3-0/device/reset", "1");
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

/* ------------------------------------------------------------------------ the slot */

/* The driver warns at each set-up. */
static void narrow_slot(void **state)
{
	struct nanet3 *b = at_work();

	assert_int_equal(guest_logged("PCIe link of"), 0);
	guest_fault(b, MODEL_FAULT_TRAIN, 4, 1);
	guest_fault(b, MODEL_FAULT_DEAF, 0, 20);
	begins_anew(b);
	assert_int_equal(guest_logged("PCIe link of 8000 Mb/s (x4)"), 1);
	b = at_work();
	guest_fault(b, MODEL_FAULT_TRAIN, 8, 2);
	guest_fault(b, MODEL_FAULT_DEAF, 0, 20);
	begins_anew(b);
	assert_int_equal(guest_logged("PCIe link of"), 1);
}

/* Writes the function's configuration space: what a driver that does not care would leave there. */
static void allow_relaxed_ordering(bool on)
{
	char path[PATH_MAX];
	uint8_t at = PCI_CAPABILITY_LIST, head[2] = {0};
	uint16_t control;
	int fd;

	guest_pci_path(path, sizeof(path), "config");
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &at, 1, PCI_CAPABILITY_LIST), 1);
	while (pread(fd, head, 2, at) == 2 && head[0] != PCI_CAP_ID_EXP) {
		at = head[1];
		assert_true(at != 0);
	}
	assert_int_equal(pread(fd, &control, 2, at + PCI_EXP_DEVCTL), 2);
	assert_int_equal(control & PCI_EXP_DEVCTL_RELAX_EN, on ? 0 : PCI_EXP_DEVCTL_RELAX_EN);
	control ^= PCI_EXP_DEVCTL_RELAX_EN;
	assert_int_equal(pwrite(fd, &control, 2, at + PCI_EXP_DEVCTL), 2);
	close(fd);
}

/* Does the event of a buffer arrive before its last cell? Looks at `buffers` buffers, or until it finds one. */
static bool finds_late_cell(struct nanet3 *b, unsigned buffers)
{
	static uint8_t before[NANET3_FRAME_BYTES];
	uint64_t position = nanet3_write_position(b, LINK);
	bool late = false;

	guest_fault(b, MODEL_FAULT_REORDER, 0, 0xffff);
	for (unsigned i = 0; i < buffers && !late; i++) {
		const struct nanet3_event *e;
		const uint8_t *cell;

		nanet3_release(b, LINK, position);
		position = nanet3_write_position(b, LINK);
		guest_wait_completed(b, LINK, position);
		e = nanet3_completion(b, LINK, position);
		if (e->length == 0) { /* this machine was too slow for the ring */
			continue;
		}
		cell = nanet3_buffer(b, LINK, position) + e->length - NANET3_FRAME_BYTES;
		memcpy(before, cell, sizeof(before));
		guest_sleep_ms(200);
		late = memcmp(before, cell, sizeof(before)) != 0;
	}
	guest_fault(b, MODEL_FAULT_REORDER, 0, 0);
	return late;
}

/* The driver does not let the bus reorder writes; where a bus may, a reader can get old data. */
static void data_before_their_event(void **state)
{
	struct nanet3 *b = at_work();

	assert_false(finds_late_cell(b, 20));
	allow_relaxed_ordering(true);
	assert_true(finds_late_cell(b, 200));
	allow_relaxed_ordering(false);
	assert_false(finds_late_cell(b, 20));
	guest_yield(b, LINK);
	guest_close(b);
}

/* ------------------------------------------------------------------------ another board */

/* Without a driver, by the function's own registers. */
static void make_version(const char *device, uint32_t version, uint32_t caps)
{
	char path[PATH_MAX + 16];
	volatile uint32_t *bar;
	int fd;

	snprintf(path, sizeof(path), "%s/resource0", device);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	bar = mmap(NULL, NANET3_BAR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(bar != MAP_FAILED);
	bar[NANET3_REG_MODEL_FAULT / 4] = MODEL_FAULT(MODEL_FAULT_VERSION, caps, version);
	assert_int_equal(bar[NANET3_REG_VERSION / 4], version);
	munmap((void *)(uintptr_t)bar, NANET3_BAR_BYTES);
	close(fd);
}

/* A board that cannot tell of a descriptor that it has lost: the word's time runs out, and a reset ends it. */
static void word_overdue(struct nanet3 *owner)
{
	struct nanet3_tx word = {
		.link = LINK, .kind = NANET3_TX_REQUEST, .bytes = {1}, .cookie = 36};
	struct nanet3 *b = guest_open();
	uint64_t resets = guest_stats(b).resets;
	struct nanet3_event ev;

	guest_wait_locked(b, LINK);
	guest_fault(b, MODEL_FAULT_LOSE_DESCRIPTORS, 0, 1);
	assert_int_equal(nanet3_send(b, &word), 0);
	ev = guest_wait_event(b, NANET3_EVENT_TX);
	assert_true(ev.cookie == word.cookie && ev.reason == NANET3_TX_FAULT);
	assert_int_equal(guest_stats(b).resets, resets + 1);
	guest_close(b);
	begins_anew(owner);
}

/* One that the driver does not know is not touched, neither when it is found nor when it comes back; one that
 * can do less is used. */
static void boards_of_other_versions(void **state)
{
	char device[PATH_MAX], refusal[100], *name;
	struct nanet3 *b = at_work();

	guest_pci_path(device, sizeof(device), "");
	name = strrchr(device, '/') + 1;
	snprintf(refusal, sizeof(refusal), "board of version %u: %u to %u are known",
		 NANET3_HW_VERSION + 1, NANET3_HW_VERSION_MIN, NANET3_HW_VERSION);
	guest_fault(b, MODEL_FAULT_VERSION, 0, NANET3_HW_VERSION + 1);
	guest_fault(b, MODEL_FAULT_DEAF, 0, 20);
	guest_wait_for(guest_says_gone, b, 1, "ENODEV");
	guest_wait_for(guest_logged, refusal, 1, "the version is refused");
	guest_sleep_ms(1000); /* it looks twice a second, and says so once */
	assert_int_equal(guest_can_open(NULL), 0);
	assert_int_equal(guest_logged(refusal), 1);
	guest_close(b);

	assert_int_equal(guest_driver("unbind", name), 0);
	assert_int_equal(guest_driver("bind", name), -ENODEV);
	assert_int_equal(guest_logged(refusal), 2);
	make_version(device, NANET3_HW_VERSION, 0);
	assert_int_equal(guest_driver("bind", name), 0);
	guest_wait_for(guest_can_open, NULL, 1, "the board is bound");
	b = at_work();
	assert_int_equal(guest_reg(b, NANET3_REG_CAPS), 0);
	word_overdue(b);
	b = at_work();
	guest_fault(b, MODEL_FAULT_VERSION, NANET3_CAP_LOST_DESCRIPTORS, NANET3_HW_VERSION);
	guest_fault(b, MODEL_FAULT_DEAF, 0, 20);
	begins_anew(b);
}

/* ------------------------------------------------------------------------ sleep, and a bad neighbour */

/* As far as a machine can go that must wake up by itself: everything but the processors sleeps. */
static void sleep_and_wake(void **state)
{
	struct nanet3 *b;

	if (access("/sys/power/pm_test", F_OK) != 0) {
		skip(); /* the instrumented kernels do not sleep */
	}
	b = at_work();
	guest_write("/sys/module/suspend/parameters/pm_test_delay", "1");
	assert_int_equal(guest_write("/sys/power/pm_test", "platform"), 0);
	assert_int_equal(guest_write("/sys/power/state", "freeze"), 0);
	begins_anew(b);
}

/* With a device without a driver on the same bus, the core reports the error to our driver, then gives the recovery up.
 * After a minute the driver looks for the board itself. For the plan stranger.sh. */
static void recovery_given_up(void **state)
{
	struct nanet3 *b = at_work();

	by_error();
	guest_wait_for(guest_says_gone, b, 1, "ENODEV");
	guest_sleep_ms(5000);
	assert_int_equal(guest_can_open(NULL), 0);
	guest_sleep_ms(60000);
	begins_anew(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: a reset leaves QEMU's port on one lane. */
		GUEST_TEST(narrow_slot),
		GUEST_TEST(lost_answers),
		GUEST_TEST(deaf_for_a_while),
		GUEST_TEST(lost_event),
		GUEST_TEST(back_by_itself),
		GUEST_TEST(error_on_the_bus),
		GUEST_TEST(lost_soon_after_an_error),
		GUEST_TEST(harmless_errors_on_the_bus),
		GUEST_TEST(error_under_puts),
		GUEST_TEST(function_reset),
		GUEST_TEST(gone_before_the_error),
		GUEST_TEST(data_before_their_event),
		GUEST_TEST(boards_of_other_versions),
		GUEST_TEST(sleep_and_wake),
	};
	const struct CMUnitTest beside_a_stranger[] = {
		GUEST_TEST(harmless_errors_beside_a_neighbour),
		GUEST_TEST(recovery_given_up),
	};

	if (getenv("BESIDE_A_STRANGER") != NULL) {
		return cmocka_run_group_tests(beside_a_stranger, NULL, NULL);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
