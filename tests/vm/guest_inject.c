/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fault injection: each thing the driver does, done again and again, with the first, second, third ...
 * allocation or copy from user space of this task made to fail (/proc/thread-self/fail-nth), until one run
 * meets no failure any more. Whatever the answer, nothing may leak or break, and the last run must
 * succeed. Skipped in a kernel that cannot inject.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/vm/guest.h"

#define NTH_MAX 2000u

static char function[32]; /* 0000:00:02.0 */
static int nth_fd = -1;

/* ------------------------------------------------------------------------ the kernel's knobs */

static int prepare(void **state)
{
	static const char *const kinds[] = {"failslab", "fail_page_alloc", "fail_usercopy"};
	char path[128], target[PATH_MAX];

	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/verbose", kinds[i]);
		guest_write(path, "0");
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/ignore-gfp-wait", kinds[i]);
		guest_write(path, "N");
	}
	guest_write("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	if (realpath("/sys/class/nanet3/nanet3-0/device", target) == NULL) {
		return -1;
	}
	snprintf(function, sizeof(function), "%s", strrchr(target, '/') + 1);
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	return 0;
}

static void arm(unsigned nth)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%u", nth);

	/* What was armed before may hit this very write; then it is spent. */
	if (pwrite(nth_fd, text, (size_t)n, 0) < 0 && errno == EFAULT) {
		assert_int_equal(pwrite(nth_fd, text, (size_t)n, 0), n);
	}
}

/* True when the failure was met; nothing is armed any more. Reading back can itself meet it: then nothing
 * before did. */
static bool disarm(void)
{
	char text[16] = "";
	unsigned left;

	ssize_t n = pread(nth_fd, text, sizeof(text) - 1, 0);

	left = (unsigned)strtoul(text, NULL, 10);
	arm(0);
	return n > 0 && left == 0;
}

/* ------------------------------------------------------------------------ the method */

/*
 * `act` does it: 0 or a negative errno; `undo` after an `act` that succeeded. Both get the context.
 * Ends when an `act` met no failure, which must have succeeded.
 */
static void every_failure(int (*act)(void *), void (*undo)(void *), void *context)
{
	unsigned failed = 0, nth;

	if (nth_fd < 0) {
		skip();
	}
	for (nth = 1; nth < NTH_MAX; nth++) {
		bool met;
		int r;

		arm(nth);
		r = act(context);
		met = disarm();
		failed += r < 0;
		if (r == 0) {
			undo(context);
		}
		if (!met) {
			assert_int_equal(r, 0);
			break;
		}
	}
	assert_true(nth < NTH_MAX);
	printf("# %u failures met, %u of them told\n", nth - 1, failed);
	assert_true(nth > 1); /* nothing to fail: the knobs do not work */
}

static void nothing(void *context)
{
}

/* ------------------------------------------------------------------------ probe */

static int act_bind(void *context)
{
	return guest_driver("bind", function);
}

static void undo_bind(void *context)
{
	assert_int_equal(guest_driver("unbind", function), 0);
}

static void probe(void **state)
{
	if (nth_fd < 0) {
		skip();
	}
	assert_int_equal(guest_driver("unbind", function), 0);
	every_failure(act_bind, undo_bind, NULL);
	assert_int_equal(guest_driver("bind", function), 0);
	guest_close(guest_open());
}

static int act_unbind(void *context)
{
	return guest_driver("unbind", function);
}

static void undo_unbind(void *context)
{
	assert_int_equal(guest_driver("bind", function), 0);
}

/* Taking it away must work whatever fails. */
static void removal(void **state)
{
	every_failure(act_unbind, undo_unbind, NULL);
}

/* ------------------------------------------------------------------------ a handle */

struct handle {
	int fd;
	void *p;
	uint8_t *memory;
	struct nanet3 *b;
	__u32 buffer;
};

static int act_open(void *context)
{
	struct handle *h = context;
	struct nanet3_info info = {.version = NANET3_ABI_VERSION};
	int r;

	h->fd = open(guest_where(), O_RDWR | O_CLOEXEC);
	if (h->fd < 0) {
		return -errno;
	}
	r = ioctl(h->fd, NANET3_IOC_INFO, &info) < 0 ? -errno : 0;
	if (r < 0) {
		close(h->fd);
	}
	return r;
}

static void undo_open(void *context)
{
	close(((struct handle *)context)->fd);
}

static void open_and_info(void **state)
{
	struct handle h;

	every_failure(act_open, undo_open, &h);
}

static int act_claim(void *context)
{
	struct nanet3_claim claim = {.link = 1, .flags = NANET3_CLAIM_FRESH};

	return ioctl(((struct handle *)context)->fd, NANET3_IOC_CLAIM, &claim) < 0 ? -errno : 0;
}

static void undo_claim(void *context)
{
	__u32 link = 1;

	assert_int_equal(ioctl(((struct handle *)context)->fd, NANET3_IOC_YIELD, &link), 0);
}

static void claim_and_yield(void **state)
{
	struct handle h;

	h.fd = guest_open_raw();
	every_failure(act_claim, undo_claim, &h);
	close(h.fd);
}

static const unsigned long long maps[] = {
	NANET3_MAP_QUEUE,   NANET3_MAP_EVENTS,	 NANET3_MAP_DOORBELL(1),
	NANET3_MAP_RING(1), NANET3_MAP_OWNER(1), NANET3_MAP_CHUNK(1, 0),
};
static unsigned long long what;

static int act_map(void *context)
{
	struct handle *h = context;
	bool write_only = what == NANET3_MAP_DOORBELL(1);

	h->p = mmap(NULL, NANET3_PAGE, write_only ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
		    h->fd, (off_t)what);
	return h->p == MAP_FAILED ? -errno : 0;
}

static void undo_map(void *context)
{
	munmap(((struct handle *)context)->p, NANET3_PAGE);
}

static void mappings(void **state)
{
	struct handle h;

	h.fd = guest_open_raw();
	if (nth_fd >= 0) {
		assert_int_equal(act_claim(&h), 0);
	}
	for (unsigned i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		what = maps[i];
		every_failure(act_map, undo_map, &h);
	}
	undo_claim(&h);
	close(h.fd);
}

static int act_register(void *context)
{
	struct handle *h = context;
	struct nanet3_register r = {.address = (uintptr_t)h->memory + 5, .length = 300000};

	if (ioctl(h->fd, NANET3_IOC_REGISTER, &r) < 0) {
		return -errno;
	}
	h->buffer = r.buffer;
	return 0;
}

static void undo_register(void *context)
{
	struct handle *h = context;

	assert_int_equal(ioctl(h->fd, NANET3_IOC_UNREGISTER, &h->buffer), 0);
}

static void registration(void **state)
{
	struct handle h;

	h.fd = guest_open_raw();
	h.memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	every_failure(act_register, undo_register, &h);
	close(h.fd);
	munmap(h.memory, 1 << 20);
}

static int act_requests(void *context)
{
	struct handle *h = context;
	struct nanet3_put put = {.source = h->buffer,
				 .destination = h->buffer,
				 .length = 5000,
				 .destination_offset = 100000};
	struct nanet3_tx tx = {.link = 1, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	struct nanet3_regs regs = {.count = 4};
	struct nanet3_stats stats;
	int r = 0;

	r |= ioctl(h->fd, NANET3_IOC_REG_READ, &regs);
	r |= ioctl(h->fd, NANET3_IOC_SEND, &tx);
	r |= ioctl(h->fd, NANET3_IOC_PUT, &put);
	r |= ioctl(h->fd, NANET3_IOC_STATS, &stats);
	return r < 0 ? -EIO : 0;
}

static void requests(void **state)
{
	struct nanet3 *b = guest_open();
	struct handle h;

	guest_wait_locked(b, 1);
	h.fd = guest_open_raw();
	h.memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	assert_int_equal(act_register(&h), 0);
	every_failure(act_requests, nothing, &h);
	close(h.fd);
	munmap(h.memory, 1 << 20);
	guest_close(b);
}

/* The whole of a handle's life, with the close among what may meet a failure. */
static int act_life(void *context)
{
	struct handle *h = context;
	int r = act_open(h);

	if (r < 0) {
		return r;
	}
	r = act_claim(h);
	r = r == 0 ? act_register(h) : r;
	close(h->fd);
	return r;
}

static void life(void **state)
{
	struct handle h;

	h.memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	every_failure(act_life, nothing, &h);
	munmap(h.memory, 1 << 20);
}

static void sound_afterwards(void **state)
{
	struct nanet3 *b = guest_open();
	struct nanet3_stats s = guest_stats(b);
	struct guest_reader r;

	assert_int_equal(s.buffers, 0);
	assert_int_equal(s.pinned_pages, 0);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		guest_claim(b, i);
		guest_reader_init(&r, i, 0);
		guest_reader_run(&r, b, 100);
		guest_reader_fini(&r);
		guest_yield(b, i);
	}
	guest_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GUEST_TEST(probe),	     GUEST_TEST(removal),  GUEST_TEST(open_and_info),
		GUEST_TEST(claim_and_yield), GUEST_TEST(mappings), GUEST_TEST(registration),
		GUEST_TEST(requests),	     GUEST_TEST(life),	   GUEST_TEST(sound_afterwards),
	};

	return cmocka_run_group_tests(tests, prepare, NULL);
}
