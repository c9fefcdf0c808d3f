/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the board may do to the driver: interrupts lost and from nowhere, events of no sense, of an earlier
 * life and in floods, a board that falls off the bus under DMA and comes back, DMA that stops late; puts while
 * interrupts are lost. Each test leaves the board as it found it; guest_stuck.c does not.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/vm/guest.h"

#define LINK 0u

static void interrupts_lost(void **state)
{
	struct nanet3 *b = guest_open();
	struct nanet3_stats before = guest_stats(b);
	struct guest_reader r;

	guest_claim(b, LINK);
	guest_reader_init(&r, LINK, 0);
	guest_reader_run(&r, b, 50);
	for (unsigned i = 0; i < 5; i++) {
		guest_fault(b, MODEL_FAULT_LOSE_IRQS, LINK, 3);
		guest_reader_run(&r, b, r.good + 100);
	}
	assert_int_equal(r.gap_cells, 0);
	assert_true(guest_stats(b).rescued > before.rescued);
	guest_reader_fini(&r);
	guest_yield(b, LINK);
	guest_close(b);
}

/* The control vector's too: a word's completion comes. */
static void control_interrupt_lost(void **state)
{
	struct nanet3 *b = guest_open();
	struct nanet3_tx tx = {
		.link = LINK, .kind = NANET3_TX_REQUEST, .bytes = {1}, .cookie = 4711};

	guest_wait_locked(b, LINK);
	guest_fault(b, MODEL_FAULT_LOSE_IRQS, NANET3_LINKS, 2);
	assert_int_equal(nanet3_send(b, &tx), 0);
	assert_int_equal(guest_wait_event(b, NANET3_EVENT_TX).cookie, 4711);
	guest_close(b);
}

static uint64_t spurious_seen(void *context)
{
	return guest_stats(context).spurious;
}

static void interrupts_from_nowhere(void **state)
{
	struct nanet3 *b = guest_open();
	uint64_t before = spurious_seen(b);
	struct guest_reader r;

	guest_fault(b, MODEL_FAULT_SPURIOUS, 3,
		    5); /* nobody reads link 3: nothing is behind them */
	guest_wait_for(spurious_seen, b, before + 1, "spurious interrupts counted");
	guest_claim(b, LINK);
	guest_reader_init(&r, LINK, 0);
	for (unsigned vector = 0; vector < NANET3_VECTORS; vector++) {
		guest_fault(b, MODEL_FAULT_SPURIOUS, vector, 20);
		guest_reader_run(&r, b, r.good + 50);
	}
	assert_int_equal(r.gap_cells, 0);
	guest_reader_fini(&r);
	guest_yield(b, LINK);
	guest_close(b);
}

/* Far more control events than the board's queue holds: counted, and no data event is lost. */
static void flood_of_control_events(void **state)
{
	struct nanet3 *b = guest_open(), *deaf = guest_open();
	uint32_t size = guest_reg(b, NANET3_REG_EVQ_SIZE), lost = guest_reg(b, NANET3_REG_EVQ_LOST);
	struct nanet3_stats before = guest_stats(b);
	struct guest_reader r;

	assert_int_equal(nanet3_subscribe(deaf, 1u << NANET3_EVENT_LINK), 0);
	guest_claim(b, LINK);
	guest_reader_init(&r, LINK, 0);
	for (unsigned i = 0; i < 3; i++) {
		guest_fault(b, MODEL_FAULT_FLOOD, LINK, 0xffff);
		guest_reader_run(&r, b, r.good + 100);
	}
	assert_true(size < 3 * 0xffffu);
	assert_true(guest_reg(b, NANET3_REG_EVQ_LOST) != lost);
	assert_int_equal(r.gap_cells, 0);
	/* A client that never looks loses its own events, and is told how many. */
	assert_true(nanet3_events_lost(deaf) > 0);
	assert_true(guest_stats(b).queue_lost > before.queue_lost);
	guest_reader_fini(&r);
	guest_yield(b, LINK);
	guest_close(deaf);
	guest_close(b);
}

static uint64_t bad_seen(void *context)
{
	return guest_stats(context).bad_events;
}

static uint64_t stale_seen(void *context)
{
	return guest_stats(context).links[LINK].stale;
}

static void events_of_no_sense(void **state)
{
	struct nanet3 *b = guest_open();
	uint64_t bad = bad_seen(b), stale;
	struct guest_reader r;

	guest_claim(b, LINK);
	guest_reader_init(&r, LINK, 0);
	guest_reader_run(&r, b, 50);
	guest_fault(b, MODEL_FAULT_BAD_EVENT, 0, 10);
	guest_wait_for(bad_seen, b, bad + 10, "bad events counted");
	stale = stale_seen(b);
	guest_fault(b, MODEL_FAULT_STALE_EVENT, LINK, 10);
	guest_wait_for(stale_seen, b, stale + 10, "stale events counted");
	guest_reader_run(&r, b, r.good + 200);
	assert_int_equal(r.gap_cells, 0);
	guest_reader_fini(&r);
	guest_yield(b, LINK);
	guest_close(b);
}

/* Hand-overs stop and go on: a gap or none, but never a hole. */
static void stall(void **state)
{
	struct nanet3 *b = guest_open();
	struct guest_reader r;
	struct nanet3_event ev;

	assert_int_equal(nanet3_subscribe(b, 1u << NANET3_EVENT_ERROR), 0);
	guest_claim(b, LINK);
	guest_reader_init(&r, LINK, 0);
	guest_reader_run(&r, b, 50);
	guest_fault(b, MODEL_FAULT_STALL, 0, 20);
	do { /* the flood before may still be told of */
		ev = guest_wait_event(b, NANET3_EVENT_ERROR);
	} while (ev.reason != NANET3_ERROR_STALLED);
	guest_reader_run(&r, b, r.good + 400);
	guest_reader_fini(&r);
	guest_yield(b, LINK);
	guest_close(b);
}

/* DMA that does not stop at once, but does within what the driver grants. */
static void slow_to_stop(void **state)
{
	struct nanet3 *b = guest_open();
	uint64_t quarantined = guest_stats(b).quarantined;
	struct guest_reader r;

	for (unsigned i = 0; i < 3; i++) {
		guest_claim(b, LINK);
		guest_wait_completed(b, LINK, 2);
		guest_fault(b, MODEL_FAULT_STUCK_DMA, LINK, 1);
		guest_yield(b, LINK);
	}
	guest_claim(b, LINK);
	guest_reader_init(&r, LINK, 0);
	guest_reader_run(&r, b, 200);
	guest_reader_fini(&r);
	guest_yield(b, LINK);
	assert_int_equal(guest_stats(b).quarantined, quarantined);
	guest_close(b);
}

/* ------------------------------------------------------------------------ off the bus */

/* Every request on a handle whose board is gone. */
static void all_is_enodev(int fd)
{
	struct nanet3_claim claim = {.link = 3};
	struct nanet3_grant grant = {.link = LINK};
	struct nanet3_release release = {.link = LINK};
	struct nanet3_regs regs = {.offset = 0, .count = 1};
	struct nanet3_link_command command = {LINK, NANET3_LINK_ALIGN};
	struct nanet3_tx tx = {.link = LINK, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	struct nanet3_wait wait = {.timeout_ms = ~0u};
	struct nanet3_register reg = {.address = (uintptr_t)&claim, .length = 1};
	struct nanet3_stats stats;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	__u32 word = LINK;
	const struct {
		unsigned long code;
		void *arg;
	} requests[] = {
		{NANET3_IOC_CLAIM, &claim},	{NANET3_IOC_YIELD, &word},
		{NANET3_IOC_RELEASE, &release}, {NANET3_IOC_REG_READ, &regs},
		{NANET3_IOC_REG_WRITE, &regs},	{NANET3_IOC_LINK_CMD, &command},
		{NANET3_IOC_SEND, &tx},		{NANET3_IOC_WAIT, &wait},
		{NANET3_IOC_REGISTER, &reg},	{NANET3_IOC_UNREGISTER, &word},
		{NANET3_IOC_STATS, &stats},	{NANET3_IOC_GRANT, &grant},
	};

	for (unsigned i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		assert_int_equal(ioctl(fd, requests[i].code, requests[i].arg), -1);
		if (errno != ENODEV) {
			fail_msg("request %u: %s, not ENODEV", i, strerror(errno));
		}
	}
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_true(p.revents & (POLLHUP | POLLERR));
}

/* Waits in the kernel, for ever; says through a pipe that it has opened the board. */
static void wait_in_kernel(void *context)
{
	struct nanet3_wait wait = {.timeout_ms = ~0u};
	int fd = guest_open_raw(), r;

	assert_int_equal(write(*(const int *)context, "", 1), 1);
	do {
		r = ioctl(fd, NANET3_IOC_WAIT, &wait);
	} while (r == 0);
	_exit(errno == ENODEV ? 0 : 1);
}

static pid_t waiter(void)
{
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = guest_fork(wait_in_kernel, &ends[1]);
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1); /* 0: it has died */
	close(ends[0]);
	guest_sleep_ms(100); /* most likely it waits by now */
	return pid;
}

static void scan(void)
{
	for (unsigned i = 0; i < 100 && access(guest_where(), F_OK) != 0; i++) {
		assert_int_equal(guest_write("/sys/bus/pci/rescan", "1"), 0);
		guest_sleep_ms(200);
	}
	guest_wait_for(guest_can_open, NULL, 1, "the board is back");
}

/* Removal by the PCI core, which takes the driver off, and the bus scanned anew. */
static void replug(const char *remove)
{
	assert_int_equal(guest_write(remove, "1"), 0);
	assert_int_equal(access(guest_where(), F_OK), -1); /* no board, no node */
	scan();
}

/* A test that failed in the middle may have left no board: the next one is not to fail with it. */
static int plugged_in(void **state)
{
	char remove[1024];

	if (guest_can_open(NULL)) {
		return 0;
	}
	if (access(guest_where(), F_OK) == 0) {
		guest_pci_path(remove, sizeof(remove), "remove");
		replug(remove);
	} else {
		scan();
	}
	return 0;
}

#define FAULT_TEST(function) cmocka_unit_test_setup_teardown(function, plugged_in, guest_close_all)

static void back_as_new(void)
{
	struct nanet3 *b = guest_open();
	struct nanet3_stats s = guest_stats(b);
	struct guest_reader r;

	assert_int_equal(s.buffers, 0);
	assert_int_equal(s.pinned_pages, 0);
	guest_claim(b, LINK);
	guest_reader_init(&r, LINK, 0);
	guest_reader_run(&r, b, 200);
	guest_reader_fini(&r);
	guest_yield(b, LINK);
	guest_close(b);
}

/* What a handle has open when the board goes: rings under DMA, a registered buffer, mappings. */
struct holder {
	struct nanet3 *b;
	struct guest_reader reader;
	uint8_t *memory;
	uint32_t buffer;
};

static void hold(struct holder *h)
{
	h->b = guest_open();
	guest_claim(h->b, LINK);
	guest_claim(h->b, 2);
	guest_reader_init(&h->reader, LINK, 0);
	guest_reader_run(&h->reader, h->b, 50);
	guest_wait_completed(h->b, 2, 3);
	h->memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(nanet3_register_buffer(h->b, h->memory + 7, 1 << 19, &h->buffer), 0);
}

/* The mappings are still there to look at: a reader does not die of a board that does. */
static void look(const struct holder *h)
{
	const struct nanet3_ring *ring = nanet3_ring(h->b, 2);
	volatile const uint8_t *byte;

	assert_true(nanet3_write_position(h->b, 2) > 3);
	assert_int_equal(ring->version, NANET3_ABI_VERSION);
	byte = nanet3_buffer(h->b, 2, 0);
	if (byte != NULL) {
		(void)*byte;
	}
	(void)*(volatile uint8_t *)nanet3_owner_page(h->b, 2);
}

static void let_go(struct holder *h)
{
	guest_reader_fini(&h->reader);
	guest_close(h->b);
	munmap(h->memory, 1 << 20);
}

/* A link's doorbell, mapped by its owner. */
struct doorbell {
	volatile uint64_t *page;
	unsigned link;
	struct nanet3 *looks;
};

/* Whether what is written there arrives, once the board has completed a buffer. */
static uint64_t rings(void *context)
{
	const struct doorbell *d = context;

	*d->page = 1;
	return guest_reg(d->looks, NANET3_REG_LINK(d->link, NANET3_LREG_RELEASE));
}

static struct doorbell map_doorbell(int fd, unsigned link)
{
	struct nanet3_claim claim = {.link = link};
	struct doorbell d = {.link = link, .looks = guest_open()};

	assert_int_equal(ioctl(fd, NANET3_IOC_CLAIM, &claim), 0);
	d.page = mmap(NULL, NANET3_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      (off_t)NANET3_MAP_DOORBELL(link));
	assert_true(d.page != MAP_FAILED);
	guest_wait_for(rings, &d, 1, "the doorbell rings");
	guest_close(d.looks);
	return d;
}

/* A doorbell of before leads nowhere: it does not release the next owner's buffers. */
static void is_silent(struct doorbell *d)
{
	d->looks = guest_open();
	guest_claim(d->looks, d->link);
	guest_wait_completed(d->looks, d->link, 3);
	assert_int_equal(rings(d), 0);
	guest_yield(d->looks, d->link);
	guest_close(d->looks);
}

/* The board is found again by itself, or it is removed and plugged in by hand. */
static void comes_back(bool by_itself)
{
	char remove[1024];

	if (by_itself) {
		guest_wait_for(guest_can_open, NULL, 1, "the board is found again");
	} else {
		guest_pci_path(remove, sizeof(remove), "remove");
		replug(remove);
	}
}

/* The board stops answering under DMA; open handles are told; it comes back. */
static void gone_and_back(bool by_itself)
{
	struct holder h;
	struct nanet3 *watcher;
	int fd = guest_open_raw();
	struct doorbell bell = map_doorbell(fd, 3);
	pid_t pid;

	hold(&h);
	watcher = guest_open();
	pid = waiter();
	guest_fault(watcher, MODEL_FAULT_GONE, 0, 400);
	assert_int_equal(nanet3_claim(watcher, 1, 0, NULL), -ENODEV);
	guest_wait_for(guest_says_gone, h.b, 1, "ENODEV");
	all_is_enodev(fd);
	assert_int_equal(guest_join(pid), 0);
	look(&h);
	comes_back(by_itself);
	look(&h); /* also after the driver let go of the device */
	all_is_enodev(fd);
	if (!by_itself) {
		back_as_new(); /* while the old handles are open */
	}
	is_silent(&bell);
	let_go(&h);
	guest_close(watcher);
	munmap((void *)(uintptr_t)bell.page, NANET3_PAGE);
	close(fd);
	back_as_new();
}

static void gone_and_found(void **state)
{
	gone_and_back(true);
}

static void gone_and_plugged_in(void **state)
{
	gone_and_back(false);
}

/* Without power for a moment, and nobody looked: a board that knows nothing of its driver any more. */
static void starts_anew_unseen(void **state)
{
	for (unsigned by_itself = 0; by_itself < 2; by_itself++) {
		struct holder h;

		hold(&h);
		guest_fault(h.b, MODEL_FAULT_GONE, 0, 5);
		guest_sleep_ms(500);
		guest_wait_for(guest_says_gone, h.b, 1, "ENODEV");
		comes_back(by_itself);
		let_go(&h);
		back_as_new();
	}
}

/* Pulled without a word: the board answers until the very moment it is removed. */
static void removed_under_dma(void **state)
{
	char remove[1024];

	guest_pci_path(remove, sizeof(remove), "remove");
	for (unsigned i = 0; i < 3; i++) {
		struct holder h;
		int fd = guest_open_raw();

		hold(&h);
		replug(remove);
		look(&h);
		all_is_enodev(fd);
		let_go(&h);
		close(fd);
		back_as_new();
	}
}

/* A reader that is a whole ring behind when the board is pulled reads on to its end. */
static void removed_with_a_full_ring(void **state)
{
	struct nanet3 *b = guest_open();
	struct guest_reader r;
	char remove[1024];
	uint32_t depth;

	guest_pci_path(remove, sizeof(remove), "remove");
	guest_claim(b, LINK);
	depth = nanet3_ring(b, LINK)->depth;
	guest_wait_completed(b, LINK, depth - 1);
	replug(remove);
	guest_reader_init(&r, LINK, 0);
	while (guest_reader_take(&r, b) > 0) {
	}
	assert_true(r.position >= depth);
	assert_true(r.good > depth);
	guest_reader_fini(&r);
	guest_close(b);
	back_as_new();
}

/* The driver unbound and bound again by hand, handles open. */
static void unbound_under_dma(void **state)
{
	char device[1024], *name;
	struct holder h;

	guest_pci_path(device, sizeof(device), "");
	name = strrchr(device, '/') + 1;
	hold(&h);
	assert_int_equal(guest_driver("unbind", name), 0);
	look(&h);
	assert_int_equal(guest_driver("bind", name), 0);
	guest_wait_for(guest_can_open, NULL, 1, "the board is bound again");
	let_go(&h);
	back_as_new();
}

/* ------------------------------------------------------------------------ puts */

/* Events of puts have nothing to do with interrupts: some of these are lost, others come for nothing, and data
 * move long after their descriptors were taken. Each put ends once, in order, with its bytes in place. */
static void puts_out_of_step_with_interrupts(void **state)
{
	enum { PUTS = 12, BYTES = 3 * NANET3_PAGE };
	static uint8_t from[BYTES], to[PUTS][BYTES];
	struct nanet3 *b = guest_open();
	struct nanet3_event ev;
	uint32_t source, destination;

	for (unsigned i = 0; i < BYTES; i++) {
		from[i] = (uint8_t)(i * 7 + i / 251);
	}
	assert_int_equal(nanet3_register_buffer(b, from, sizeof(from), &source), 0);
	assert_int_equal(nanet3_register_buffer(b, to, sizeof(to), &destination), 0);
	for (unsigned round = 0; round < 3; round++) {
		memset(to, 0, sizeof(to));
		guest_fault(b, MODEL_FAULT_SLOW_PUTS, 0, round);
		guest_fault(b, MODEL_FAULT_LOSE_IRQS, NANET3_LINKS, 1 + 5 * round);
		for (unsigned i = 0; i < PUTS; i++) {
			assert_int_equal(
				nanet3_put(b, &(struct nanet3_put){.source = source,
								   .destination = destination,
								   .destination_offset = i * BYTES,
								   .length = BYTES,
								   .cookie = 100 + i}),
				0);
			guest_fault(b, MODEL_FAULT_SPURIOUS, NANET3_LINKS, i % 3);
		}
		for (unsigned i = 0; i < PUTS; i++) {
			ev = guest_wait_event(b, NANET3_EVENT_PUT);
			assert_int_equal(ev.cookie, 100 + i);
			assert_int_equal(ev.reason, 0);
			assert_int_equal(ev.position, i * BYTES);
			assert_memory_equal(to[i], from, BYTES);
		}
	}
	guest_fault(b, MODEL_FAULT_SPURIOUS, NANET3_LINKS, 5);
	guest_sleep_ms(100);
	while (nanet3_next_event(b, &ev) == 1) {
		assert_int_not_equal(ev.type, NANET3_EVENT_PUT);
	}
	guest_fault(b, MODEL_FAULT_SLOW_PUTS, 0, 0);
	guest_fault(b, MODEL_FAULT_LOSE_IRQS, NANET3_LINKS, 0);
	guest_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT_TEST(interrupts_lost),
		FAULT_TEST(control_interrupt_lost),
		FAULT_TEST(interrupts_from_nowhere),
		FAULT_TEST(flood_of_control_events),
		FAULT_TEST(events_of_no_sense),
		FAULT_TEST(stall),
		FAULT_TEST(slow_to_stop),
		FAULT_TEST(gone_and_found),
		FAULT_TEST(gone_and_plugged_in),
		FAULT_TEST(starts_anew_unseen),
		FAULT_TEST(removed_under_dma),
		FAULT_TEST(removed_with_a_full_ring),
		FAULT_TEST(unbound_under_dma),
		FAULT_TEST(puts_out_of_step_with_interrupts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
