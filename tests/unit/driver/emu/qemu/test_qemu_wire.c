/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What QEMU sends: messages whole, in pieces, and nonsense; the guest's memory; answers of qtest. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "driver/emu/qemu/memory.h"
#include "driver/emu/qemu/proxy.h"
#include "driver/emu/qemu/qtest.h"

struct wire {
	struct proxy p;
	int qemu; /* the other end */
	int file; /* a descriptor to pass */
};

static int set_up(void **state)
{
	struct wire *w = calloc(1, sizeof(*w));
	int pair[2];

	*state = w;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	w->qemu = pair[1];
	w->file = memfd_create("test", 0);
	w->p.fd = pair[0];
	return 0;
}

static int tear_down(void **state)
{
	struct wire *w = *state;

	proxy_close_fds(&w->p.message);
	close(w->p.fd);
	close(w->qemu);
	close(w->file);
	free(w);
	return 0;
}

/* Number of open descriptors of this process. */
static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++) {
		n += fcntl(fd, F_GETFD) >= 0;
	}
	return n;
}

/* Send bytes, with `fds` copies of the descriptor. */
static void put_fds(const struct wire *w, const void *bytes, size_t length, unsigned fds)
{
	char control[CMSG_SPACE(16 * sizeof(int))] = {0};
	struct iovec iov = {(void *)bytes, length};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fds > 0) {
		struct cmsghdr *c;

		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fds * sizeof(int));
		for (unsigned i = 0; i < fds; i++) {
			memcpy(CMSG_DATA(c) + i * sizeof(int), &w->file, sizeof(int));
		}
	}
	assert_int_equal(sendmsg(w->qemu, &msg, 0), length);
}

static void put_message(const struct wire *w, int command, const void *body, size_t size,
			unsigned fds)
{
	uint8_t bytes[512] = {0};
	const struct proxy_header h = {.command = command, .bytes = size};

	memcpy(bytes, &h, sizeof(h));
	if (size > 0) {
		memcpy(bytes + sizeof(h), body, size);
	}
	put_fds(w, bytes, sizeof(h) + size, fds);
}

/* ------------------------------------------------------------------------ messages */

static void messages(void **state)
{
	const struct proxy_bar bar = {.address = 0xfeb0, .value = 7, .length = 4, .memory = 1};
	const struct proxy_config config = {.address = 4, .value = 6, .length = 2};
	const struct proxy_memory memory = {.address = {1}, .bytes = {2}, .offset = {3}};
	struct wire *w = *state;
	const int before = open_fds();
	struct proxy_message m;

	assert_int_equal(proxy_receive(&w->p, &m), 0);
	put_message(w, PROXY_BAR_WRITE, &bar, sizeof(bar), 0);
	put_message(w, PROXY_SYNC_SYSMEM, &memory, sizeof(memory), 2);
	put_message(w, PROXY_CONFIG_READ, &config, sizeof(config), 0);
	put_message(w, PROXY_SET_IRQFD, NULL, 0, 2);
	put_message(w, PROXY_DEVICE_RESET, NULL, 0, 0);
	assert_int_equal(proxy_receive(&w->p, &m), 1);
	assert_int_equal(m.command, PROXY_BAR_WRITE);
	assert_memory_equal(&m.bar, &bar, sizeof(bar));
	assert_int_equal(m.fd_count, 0);
	assert_int_equal(proxy_receive(&w->p, &m), 1);
	assert_int_equal(m.command, PROXY_SYNC_SYSMEM);
	assert_memory_equal(&m.memory, &memory, sizeof(memory));
	assert_int_equal(m.fd_count, 2);
	assert_int_equal(fcntl(m.fds[0], F_GETFD), FD_CLOEXEC);
	proxy_close_fds(&m);
	assert_int_equal(proxy_receive(&w->p, &m), 1);
	assert_memory_equal(&m.config, &config, sizeof(config));
	assert_int_equal(m.fd_count, 0);
	assert_int_equal(proxy_receive(&w->p, &m), 1);
	assert_int_equal(m.command, PROXY_SET_IRQFD);
	assert_int_equal(m.fd_count, 2);
	proxy_close_fds(&m);
	assert_int_equal(proxy_receive(&w->p, &m), 1);
	assert_int_equal(m.command, PROXY_DEVICE_RESET);
	assert_int_equal(proxy_receive(&w->p, &m), 0);
	assert_int_equal(open_fds(), before);
	shutdown(w->qemu, SHUT_WR);
	assert_int_equal(proxy_receive(&w->p, &m), -EPIPE);
}

/* Byte by byte: nothing until the last one, and then the whole. */
static void pieces(void **state)
{
	const struct proxy_bar bar = {.address = 1, .value = 2, .length = 8, .memory = 1};
	const struct proxy_header h = {.command = PROXY_BAR_READ, .bytes = sizeof(bar)};
	struct wire *w = *state;
	uint8_t bytes[sizeof(h) + sizeof(bar)];
	struct proxy_message m;

	memcpy(bytes, &h, sizeof(h));
	memcpy(bytes + sizeof(h), &bar, sizeof(bar));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		assert_int_equal(proxy_receive(&w->p, &m), 0);
		put_fds(w, bytes + i, 1, 0);
	}
	assert_int_equal(proxy_receive(&w->p, &m), 1);
	assert_memory_equal(&m.bar, &bar, sizeof(bar));
}

static void closed_half_way(void **state)
{
	const struct proxy_header h = {.command = PROXY_SYNC_SYSMEM,
				       .bytes = sizeof(struct proxy_memory)};
	struct wire *w = *state;
	const int before = open_fds();
	struct proxy_message m;

	put_fds(w, &h, sizeof(h), 3);
	assert_int_equal(proxy_receive(&w->p, &m), 0);
	assert_int_equal(open_fds(), before + 3);
	close(w->qemu);
	w->qemu = -1;
	assert_int_equal(proxy_receive(&w->p, &m), -EPIPE);
	proxy_close_fds(&w->p.message);
	assert_int_equal(open_fds(), before - 1);
}

static void nonsense(void **state)
{
	static const struct {
		int command;
		uint64_t bytes; /* told */
		unsigned fds;
		struct proxy_config body;
	} cases[] = {
		{-1, 8},
		{PROXY_COMMANDS, 8},
		{0x7fffffff, 0},
		{PROXY_CONFIG_READ, 11},
		{PROXY_CONFIG_READ, 13},
		{PROXY_CONFIG_READ, 0},
		{PROXY_SYNC_SYSMEM, UINT64_MAX},
		{PROXY_BAR_READ, (uint64_t)1 << 32},
		{PROXY_DEVICE_RESET, 12},
		{PROXY_CONFIG_READ, 12, 0, {.length = 0}},
		{PROXY_CONFIG_READ, 12, 0, {.length = 3}},
		{PROXY_CONFIG_WRITE, 12, 0, {.length = 8}},
		{PROXY_CONFIG_WRITE, 12, 0, {.length = -4}},
		{PROXY_CONFIG_READ, 12, 1, {.length = 4}}, /* a descriptor where none belongs */
		{PROXY_SET_IRQFD, 0, 3},
		{PROXY_SYNC_SYSMEM, 192, 9}, /* more than there are regions */
		{PROXY_SYNC_SYSMEM, 192, 15},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t bytes[16 + 192] = {0};
		const struct proxy_header h = {cases[i].command, 0, cases[i].bytes};
		size_t body = cases[i].bytes < 192 ? cases[i].bytes : 192;
		const int before = open_fds();
		struct proxy_message m;
		struct wire *w;

		set_up((void **)&w);
		memcpy(bytes, &h, sizeof(h));
		memcpy(bytes + sizeof(h), &cases[i].body, sizeof(cases[i].body));
		put_fds(w, bytes, sizeof(h) + body, cases[i].fds);
		assert_int_equal(proxy_receive(&w->p, &m), -EPROTO);
		tear_down((void **)&w);
		assert_int_equal(open_fds(), before); /* nothing was left open */
	}
}

static void bar_lengths(void **state)
{
	for (uint32_t length = 0; length <= 17; length++) {
		const struct proxy_bar bar = {.length = length, .memory = 1};
		const bool good = length == 1 || length == 2 || length == 4 || length == 8;
		struct proxy_message m;
		struct wire *w;

		set_up((void **)&w);
		put_message(w, PROXY_BAR_READ, &bar, sizeof(bar), 0);
		assert_int_equal(proxy_receive(&w->p, &m), good ? 1 : -EPROTO);
		tear_down((void **)&w);
	}
}

/* Random bytes never do harm: messages come out that are sound, or the wire ends. */
static void random_bytes(void **state)
{
	srandom(1);
	for (unsigned round = 0; round < 300; round++) {
		uint8_t bytes[2048];
		struct proxy_message m;
		struct wire *w;
		int r;

		set_up((void **)&w);
		for (size_t i = 0; i < sizeof(bytes); i++) {
			bytes[i] = (uint8_t)random();
		}
		for (size_t at = 0; round % 2 && at + 48 <= sizeof(bytes); at += 28) {
			const struct proxy_header h = {PROXY_CONFIG_WRITE, 0, 12};

			memcpy(bytes + at, &h, sizeof(h)); /* sound headers around nonsense */
		}
		put_fds(w, bytes, sizeof(bytes), round % 3);
		shutdown(w->qemu, SHUT_WR);
		while ((r = proxy_receive(&w->p, &m)) > 0) {
			assert_in_range(m.command, 0, PROXY_COMMANDS - 1);
			proxy_close_fds(&m);
		}
		assert_true(r == -EPROTO || r == -EPIPE);
		tear_down((void **)&w);
	}
}

static void answers(void **state)
{
	struct wire *w = *state;
	struct {
		struct proxy_header h;
		uint64_t value;
	} got;

	assert_int_equal(proxy_answer(&w->p, 0x123456789abcdef0), 0);
	assert_int_equal(recv(w->qemu, &got, sizeof(got), MSG_DONTWAIT), 24);
	assert_int_equal(got.h.command, PROXY_RET);
	assert_int_equal(got.h.bytes, 8);
	assert_true(got.value == 0x123456789abcdef0);
	close(w->qemu);
	w->qemu = -1;
	assert_int_equal(proxy_answer(&w->p, 1), -EPIPE);
}

/* ------------------------------------------------------------------------ the guest's memory */

#define PAGE  4096u
#define GUEST (256u * PAGE)

static int guest_file(void)
{
	int fd = memfd_create("guest", 0);

	assert_int_equal(ftruncate(fd, GUEST), 0);
	return fd;
}

static void memory_map(void **state)
{
	/* As a PC with more than fits below 4 GiB has it; offered out of order. */
	const struct proxy_memory offer = {
		.address = {(uint64_t)4 << 30, 0, 0xc0000},
		.bytes = {16 * PAGE, 16 * PAGE, 32 * PAGE},
		.offset = {64 * PAGE, 0, 0x20000},
	};
	struct guest_memory m = {0};
	int fd = guest_file(), fds[] = {fd, fd, fd};
	uint8_t *low, *high;

	assert_null(guest_memory_at(&m, 0, 1));
	assert_int_equal(guest_memory_set(&m, &offer, fds, 3), 0);
	assert_int_equal(m.count, 3);
	low = guest_memory_at(&m, 0, 1);
	high = guest_memory_at(&m, (uint64_t)4 << 30, 16 * PAGE);
	assert_ptr_equal(high, low + 64 * (size_t)PAGE);
	assert_ptr_equal(guest_memory_at(&m, 0xc0010, 4), low + 0x20010);
	/* Up to the last byte, not beyond, not across. */
	assert_ptr_equal(guest_memory_at(&m, 16 * PAGE - 1, 1), low + 16 * PAGE - 1);
	assert_null(guest_memory_at(&m, 16 * PAGE - 1, 2));
	assert_null(guest_memory_at(&m, 16 * PAGE, 1));
	assert_null(guest_memory_at(&m, 0, 16 * PAGE + 1));
	assert_null(guest_memory_at(&m, 0xc0000 - 1, 2));
	assert_null(guest_memory_at(&m, ((uint64_t)4 << 30) - 1, 1));
	assert_null(guest_memory_at(&m, UINT64_MAX, 1));
	assert_null(guest_memory_at(&m, UINT64_MAX - 1, 0xffffffff));
	/* A write is seen in the file, and the old pointer stays good over a new map. */
	low[5] = 77;
	assert_int_equal(guest_memory_set(&m, &offer, fds, 1), 0);
	assert_null(guest_memory_at(&m, 0, 1));
	assert_ptr_equal(guest_memory_at(&m, (uint64_t)4 << 30, 1), high);
	assert_int_equal(low[5], 77);
	guest_memory_clear(&m);
	assert_null(guest_memory_at(&m, (uint64_t)4 << 30, 1));
	close(fd);
}

/* A range may cross from one region into the next where both lie side by side, in any order told. */
static void memory_neighbours(void **state)
{
	const struct proxy_memory offer = {
		.address = {8 * PAGE, 0, 4 * PAGE, 12 * PAGE},
		.bytes = {4 * PAGE, 4 * PAGE, 4 * PAGE, 4 * PAGE},
		.offset = {8 * PAGE, 0, 4 * PAGE,
			   100 * PAGE}, /* the last is elsewhere in the file */
	};
	struct guest_memory m = {0};
	int fd = guest_file(), other = guest_file();
	int fds[] = {fd, fd, fd, fd};

	assert_int_equal(guest_memory_set(&m, &offer, fds, 4), 0);
	assert_int_equal(m.count, 2);
	assert_non_null(guest_memory_at(&m, 0, 12 * PAGE));
	assert_null(guest_memory_at(&m, 0, 12 * PAGE + 1));
	fds[2] = other;
	assert_int_equal(guest_memory_set(&m, &offer, fds, 4), 0);
	assert_int_equal(m.count, 4);
	assert_null(guest_memory_at(&m, 3 * PAGE, 2 * PAGE));
	assert_int_equal(m.file_count, 2);
	guest_memory_clear(&m);
	close(fd);
	close(other);
}

static void memory_nonsense(void **state)
{
	const struct proxy_memory offer = {
		.address = {0, UINT64_MAX - PAGE + 1, 1, 0, 0, 0, 0, PAGE},
		.bytes = {0, 2 * PAGE, PAGE, GUEST + PAGE, PAGE, UINT64_MAX - PAGE + 1, PAGE, PAGE},
		.offset = {0, 0, 0, 0, GUEST, PAGE, -(int64_t)PAGE, PAGE},
	};
	struct guest_memory m = {0};
	int fd = guest_file(), pipes[2], fds[PROXY_REGIONS];

	for (unsigned i = 0; i < PROXY_REGIONS; i++) {
		fds[i] = fd;
	}
	assert_int_equal(guest_memory_set(&m, &offer, fds, PROXY_REGIONS), PROXY_REGIONS - 1);
	assert_int_equal(m.count, 1);
	assert_non_null(guest_memory_at(&m, PAGE, PAGE));
	assert_int_equal(pipe(pipes), 0);
	fds[7] = pipes[0]; /* no memory */
	assert_int_equal(guest_memory_set(&m, &offer, fds, PROXY_REGIONS), PROXY_REGIONS);
	fds[7] = -1;
	assert_int_equal(guest_memory_set(&m, &offer, fds, PROXY_REGIONS), PROXY_REGIONS);
	assert_int_equal(guest_memory_set(&m, &offer, fds, 0), 0);
	assert_int_equal(m.count, 0);
	guest_memory_clear(&m);
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
}

/* ------------------------------------------------------------------------ qtest */

static void take_line(int fd, const char *expected)
{
	char line[128] = "";

	assert_int_equal(recv(fd, line, strlen(expected), MSG_DONTWAIT), strlen(expected));
	assert_string_equal(line, expected);
}

static void interrupts(void **state)
{
	struct wire *w = *state;
	struct qtest q = {.fd = w->p.fd};

	assert_int_equal(qtest_receive(&q), 0);
	assert_true(qtest_send(&q, 3, 0xfee01000, 0x4041));
	take_line(w->qemu, "writel 0xfee01000 0x4041\n");
	assert_false(qtest_send(&q, 3, 0xfee01000, 0x4041)); /* one at a time */
	assert_true(qtest_send(&q, 0, 0x1fee00000, 0));
	take_line(w->qemu, "writel 0x1fee00000 0x0\n");
	put_fds(w, "O", 1, 0);
	assert_int_equal(qtest_receive(&q), 0);
	put_fds(w, "K\n", 2, 0);
	assert_int_equal(qtest_receive(&q), 1);
	assert_true(qtest_send(&q, 3, 1, 1));
	assert_false(qtest_send(&q, 0, 1, 1));
	put_fds(w, "OK\nOK\n", 6, 0);
	assert_int_equal(qtest_receive(&q), 2);
	assert_int_equal(q.count, 0);
}

/* A reading among interrupts: answers come in the order of the questions. */
static void readings(void **state)
{
	struct wire *w = *state;
	struct qtest q = {.fd = w->p.fd};

	assert_true(qtest_send(&q, 2, 1, 1));
	assert_true(qtest_read(&q, 0xfed90020));
	assert_false(qtest_read(&q, 0xfed90018)); /* one at a time */
	assert_true(qtest_send(&q, 0, 1, 1));
	take_line(w->qemu, "writel 0x1 0x1\nreadq 0xfed90020\nwritel 0x1 0x1\n");
	put_fds(w, "OK\nOK 0x0000000012345", 21, 0);
	assert_int_equal(qtest_receive(&q), 1);
	assert_false(q.has_read);
	put_fds(w, "000\nOK\n", 7, 0);
	assert_int_equal(qtest_receive(&q), 2);
	assert_true(q.has_read);
	assert_int_equal(q.value, 0x12345000);
	assert_int_equal(q.count, 0);
	q.has_read = false;
	assert_true(qtest_read(&q, 8));
	put_fds(w, "OK\n", 3, 0); /* no value */
	assert_int_equal(qtest_receive(&q), -EPROTO);
}

static void interrupts_refused(void **state)
{
	struct wire *w = *state;
	struct qtest q = {.fd = w->p.fd};

	put_fds(w, "OK\n", 3, 0); /* to nothing */
	assert_int_equal(qtest_receive(&q), -EPROTO);
	q = (struct qtest){.fd = w->p.fd};
	assert_true(qtest_send(&q, 1, 1, 1));
	assert_int_equal(qtest_receive(&q), 1);
	assert_true(qtest_send(&q, 1, 1, 1));
	put_fds(w, "FAIL Unknown command\n", 21, 0);
	assert_int_equal(qtest_receive(&q), -EPROTO);
	close(w->qemu);
	w->qemu = -1;
	assert_false(qtest_send(&q, 2, 1, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(messages, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pieces, set_up, tear_down),
		cmocka_unit_test_setup_teardown(closed_half_way, set_up, tear_down),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(bar_lengths),
		cmocka_unit_test(random_bytes),
		cmocka_unit_test_setup_teardown(answers, set_up, tear_down),
		cmocka_unit_test(memory_map),
		cmocka_unit_test(memory_neighbours),
		cmocka_unit_test(memory_nonsense),
		cmocka_unit_test_setup_teardown(interrupts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(readings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(interrupts_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
