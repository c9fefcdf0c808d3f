/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is particular to the emulator's socket: packets that no library would send, clients without
 * number, memory that nobody may spoil, the board's end, full speed, and set-ups that make no sense.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "driver/lib/libnanet3.h"
#include "driver/nanet3_socket.h"
#include "tests/unit/contract_host.h"
#include "tests/unit/fake_world.h"

static char directory[64], path[96], where[128];
static struct host_config config;
static pid_t host;

static struct nanet3 *open_board(void)
{
	struct nanet3 *b = NULL;

	assert_int_equal(nanet3_open(where, &b), 0);
	return b;
}

static int set_up(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/nanet3-XXXXXX");
	if (mkdtemp(directory) == NULL) {
		return -1;
	}
	snprintf(path, sizeof(path), "%s/socket", directory);
	snprintf(where, sizeof(where), "unix:%s", path);
	host_config_default(&config);
	config.socket_path = path;
	config.depth_ms = 200;
	config.linger_ms = 300;
	host = contract_host_start(&config);
	return host > 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	if (host > 0 && contract_host_end(host, SIGTERM) != 0) {
		return -1;
	}
	unlink(path);
	return rmdir(directory);
}

/* ------------------------------------------------------------------------ raw packets */

static int raw_open(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, path);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Send bytes, return the answer's result; its struct goes to `answer`. */
static int raw(int fd, const void *bytes, size_t length, void *answer)
{
	struct nanet3_sock_head head = {0};
	uint8_t packet[NANET3_SOCK_MAX];
	ssize_t n;

	assert_int_equal(send(fd, bytes, length, MSG_NOSIGNAL), length);
	n = recv(fd, packet, sizeof(packet), 0);
	assert_true(n >= (ssize_t)sizeof(head));
	memcpy(&head, packet, sizeof(head));
	assert_int_equal(head.size, n - (ssize_t)sizeof(head));
	if (answer != NULL) {
		memcpy(answer, packet + sizeof(head), head.size);
	}
	return head.result;
}

static int raw_request(int fd, uint32_t request, const void *arg, uint32_t size, void *answer)
{
	uint8_t packet[NANET3_SOCK_MAX];
	struct nanet3_sock_head head = {.request = request, .size = size};

	memcpy(packet, &head, sizeof(head));
	memcpy(packet + sizeof(head), arg, size);
	return raw(fd, packet, sizeof(head) + size, answer);
}

static void greet(int fd)
{
	struct nanet3_info info = {.version = NANET3_VERSION};

	assert_int_equal(raw_request(fd, NANET3_IOC_INFO, &info, sizeof(info), &info), 0);
}

static void version_is_checked(void **state)
{
	struct nanet3_info info = {.version = NANET3_VERSION + 1};
	struct nanet3_claim claim = {0};
	int fd = raw_open();

	(void)state;
	assert_int_equal(raw_request(fd, NANET3_IOC_CLAIM, &claim, sizeof(claim), &claim), -EPROTO);
	assert_int_equal(raw_request(fd, NANET3_IOC_INFO, &info, sizeof(info), &info), -EPROTO);
	assert_int_equal(raw_request(fd, NANET3_IOC_CLAIM, &claim, sizeof(claim), &claim), -EPROTO);
	greet(fd);
	greet(fd); /* again does no harm */
	assert_int_equal(raw_request(fd, NANET3_IOC_CLAIM, &claim, sizeof(claim), &claim), 0);
	close(fd);
}

static void malformed_packets(void **state)
{
	struct nanet3_sock_head head = {.request = NANET3_IOC_CLAIM};
	uint8_t bytes[2 * NANET3_SOCK_MAX] = {0};
	uint32_t requests[] = {NANET3_IOC_CLAIM,     NANET3_IOC_YIELD,	  NANET3_IOC_RELEASE,
			       NANET3_IOC_SEND,	     NANET3_IOC_REG_READ, NANET3_IOC_REG_WRITE,
			       NANET3_IOC_SUBSCRIBE, NANET3_IOC_LINK_CMD, NANET3_SOCK_MAP,
			       NANET3_IOC_INFO};
	int fd = raw_open();

	(void)state;
	greet(fd);
	for (size_t length = 0; length < sizeof(head); length++) { /* an empty packet too */
		assert_int_equal(raw(fd, bytes, length, NULL), -EINVAL);
	}
	assert_int_equal(raw(fd, bytes, sizeof(bytes), NULL), -EINVAL);
	head.size = 8; /* says more than there is */
	assert_int_equal(raw(fd, &head, sizeof(head), NULL), -EINVAL);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		uint32_t size = _IOC_SIZE(requests[i]);

		assert_int_equal(raw_request(fd, requests[i], bytes, 0, NULL), -EINVAL);
		assert_int_equal(raw_request(fd, requests[i], bytes, size - 1, NULL), -EINVAL);
		assert_int_equal(raw_request(fd, requests[i], bytes, size + 1, NULL), -EINVAL);
	}
	assert_int_equal(raw_request(fd, 0, bytes, 4, NULL), -ENOTTY);
	assert_int_equal(raw_request(fd, NANET3_IOC_WAIT, bytes, 8, NULL), -ENOTTY);
	assert_int_equal(raw_request(fd, ~0u, bytes, 100, NULL), -ENOTTY);
	greet(fd);
	close(fd);
}

static void reserved_fields_are_checked(void **state)
{
	struct nanet3_claim claim = {.reserved = 1};
	struct nanet3_release release = {.reserved = 1};
	struct nanet3_subscribe subscribe = {.reserved = 1};
	int fd = raw_open();

	(void)state;
	greet(fd);
	assert_int_equal(raw_request(fd, NANET3_IOC_CLAIM, &claim, sizeof(claim), NULL), -EINVAL);
	assert_int_equal(raw_request(fd, NANET3_IOC_RELEASE, &release, sizeof(release), NULL),
			 -EINVAL);
	assert_int_equal(raw_request(fd, NANET3_IOC_SUBSCRIBE, &subscribe, sizeof(subscribe), NULL),
			 -EINVAL);
	close(fd);
}

static void mappings(void **state)
{
	static const struct {
		uint64_t what;
		int before, after; /* result without and with a claim of link 0 */
	} rows[] = {
		{NANET3_MAP_QUEUE, 0, 0},
		{NANET3_MAP_RING(0), 0, 0},
		{NANET3_MAP_RING(3), 0, 0},
		{NANET3_MAP_RING(4), -EINVAL, -EINVAL},
		{NANET3_MAP_OWNER(0), -EPERM, 0},
		{NANET3_MAP_OWNER(1), -EPERM, -EPERM},
		{NANET3_MAP_CHUNK(0, 0), -EPERM, 0},
		{NANET3_MAP_CHUNK(0, 3), -EPERM, 0}, /* 100 buffers, 25 a chunk */
		{NANET3_MAP_CHUNK(0, 4), -EPERM, -EINVAL},
		{NANET3_MAP_CHUNK(0, 4095), -EPERM, -EINVAL},
		{NANET3_MAP_CHUNK(1, 0), -EPERM, -EPERM},
		{NANET3_MAP_CHUNK(0, 0) + 4096, -EINVAL, -EINVAL},
		{0, -EINVAL, -EINVAL},
		{~0ull, -EINVAL, -EINVAL},
	};
	struct nanet3_claim claim = {.link = 0};
	int fd = raw_open();

	(void)state;
	greet(fd);
	for (int after = 0; after < 2; after++) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct nanet3_sock_map map = {.what = rows[i].what};

			assert_int_equal(raw_request(fd, NANET3_SOCK_MAP, &map, sizeof(map), &map),
					 after ? rows[i].after : rows[i].before);
		}
		if (!after) {
			assert_int_equal(
				raw_request(fd, NANET3_IOC_CLAIM, &claim, sizeof(claim), &claim),
				0);
		}
	}
	close(fd);
}

/* ------------------------------------------------------------------------ unruly clients */

static void clients_without_number(void **state)
{
	struct nanet3 *b[100] = {NULL}, *one;
	unsigned got = 0;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		int r = nanet3_open(where, &b[i]);

		assert_true(r == 0 || r == -ENODEV);
		got += r == 0;
	}
	assert_int_equal(got, 64);
	for (unsigned i = 0; i < 100; i++) {
		nanet3_close(b[i]);
	}
	for (unsigned i = 0; nanet3_open(where, &one) != 0; i++) { /* until they are all gone */
		assert_true(i < 200);
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	nanet3_close(one);
}

/* One that asks and asks and takes no answer is dropped; the others do not notice. */
static void client_that_takes_no_answers(void **state)
{
	struct {
		struct nanet3_sock_head head;
		struct nanet3_regs regs;
	} packet = {{.request = NANET3_IOC_REG_READ, .size = sizeof(struct nanet3_regs)},
		    {.count = NANET3_REGS_MAX}};
	int fd = raw_open();
	struct nanet3 *b = open_board();
	unsigned sent = 0;
	uint32_t value;

	(void)state;
	greet(fd);
	while (send(fd, &packet, sizeof(packet), MSG_NOSIGNAL) == sizeof(packet)) {
		sent++;
		assert_true(sent < 1000000);
	}
	assert_true(errno == EPIPE || errno == ECONNRESET);
	assert_int_equal(nanet3_reg_read(b, NANET3_REG_ID, &value, 1), 0);
	close(fd);
	nanet3_close(b);
}

/* A client may write nonsense to its queue, but not shrink or write what is not its own. */
static void memory_cannot_be_spoilt(void **state)
{
	static const struct {
		uint64_t what;
		bool writable;
	} rows[] = {{NANET3_MAP_QUEUE, true},
		    {NANET3_MAP_OWNER(0), true},
		    {NANET3_MAP_RING(0), false},
		    {NANET3_MAP_CHUNK(0, 1), false}};
	struct nanet3_claim claim = {.link = 0};
	struct nanet3_tx tx = {.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	int fd = raw_open();

	(void)state;
	greet(fd);
	assert_int_equal(raw_request(fd, NANET3_IOC_CLAIM, &claim, sizeof(claim), &claim), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct {
			struct nanet3_sock_head head;
			struct nanet3_sock_map map;
		} packet = {{.request = NANET3_SOCK_MAP, .size = sizeof(struct nanet3_sock_map)},
			    {.what = rows[i].what}};
		struct iovec iov = {&packet, sizeof(packet)};
		_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
		struct msghdr msg = {.msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = control,
				     .msg_controllen = sizeof(control)};
		int shared;
		void *p;

		assert_int_equal(send(fd, &packet, sizeof(packet), 0), sizeof(packet));
		assert_int_equal(recvmsg(fd, &msg, 0), sizeof(packet));
		assert_int_equal(packet.map.writable, rows[i].writable);
		memcpy(&shared, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(shared));
		assert_int_equal(ftruncate(shared, 0), -1);
		p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
		assert_true((p != MAP_FAILED) == rows[i].writable);
		if (rows[i].writable) {
			memset(p, 0xff, 4096); /* indices and all */
			munmap(p, 4096);
		}
		close(shared);
	}
	nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	for (unsigned i = 0; i < 50; i++) {
		raw_request(fd, NANET3_IOC_SEND, &tx, sizeof(tx), NULL);
	}
	greet(fd);
	close(fd);
}

/* Random bytes behind sound and unsound heads: an answer to each, and life goes on. */
static void random_packets(void **state)
{
	uint32_t requests[] = {NANET3_IOC_CLAIM,
			       NANET3_IOC_YIELD,
			       NANET3_IOC_RELEASE,
			       NANET3_IOC_SEND,
			       NANET3_IOC_REG_READ,
			       NANET3_IOC_SUBSCRIBE,
			       NANET3_IOC_LINK_CMD,
			       NANET3_SOCK_MAP,
			       NANET3_IOC_INFO,
			       NANET3_IOC_REG_WRITE,
			       0};
	uint8_t bytes[NANET3_SOCK_MAX];
	int fd = raw_open();
	struct nanet3 *b;

	(void)state;
	greet(fd);
	srand(7);
	for (unsigned i = 0; i < 5000; i++) {
		uint32_t request = requests[(unsigned)rand() % 11];

		for (size_t k = 0; k < sizeof(bytes); k++) {
			bytes[k] = (uint8_t)(rand() % (rand() % 2 ? 5 : 256));
		}
		if (rand() % 2) { /* small numbers reach further */
			memset(bytes + 4, 0, sizeof(bytes) - 4);
		}
		raw_request(fd, request, bytes, _IOC_SIZE(request), NULL);
	}
	close(fd);
	b = open_board();
	nanet3_close(b);
}

/* ------------------------------------------------------------------------ the board's end */

static void board_that_ends_says_so(void **state)
{
	struct nanet3 *b = open_board();
	struct nanet3_event ev = {0};
	uint32_t value;

	(void)state;
	assert_int_equal(nanet3_claim(b, 0, 0, NULL), 0);
	assert_int_equal(contract_host_end(host, SIGTERM), 0);
	host = 0;
	while (nanet3_wait(b, 1000) == 1) {
		while (nanet3_next_event(b, &ev) == 1) {
		}
	}
	assert_int_equal(ev.type, NANET3_EVENT_GONE);
	assert_int_equal(nanet3_wait(b, 1000), -ENODEV);
	assert_int_equal(nanet3_wait(b, -1), -ENODEV);
	assert_int_equal(nanet3_reg_read(b, 0, &value, 1), -ENODEV);
	assert_int_equal(nanet3_release(b, 0, 0), -ENODEV);
	assert_int_equal(nanet3_claim(b, 1, 0, NULL), -ENODEV);
	nanet3_close(b);
	assert_int_equal(nanet3_open(where, &b), -ENOENT);
}

static void board_that_dies_is_gone(void **state)
{
	struct nanet3 *b = open_board();
	const uint8_t *p;
	uint32_t value;

	(void)state;
	assert_int_equal(nanet3_claim(b, 0, 0, NULL), 0);
	while (nanet3_write_position(b, 0) < 2) {
		assert_true(nanet3_wait(b, 1000) >= 0);
	}
	assert_int_equal(contract_host_end(host, SIGKILL), -SIGKILL);
	host = 0;
	for (struct nanet3_event ev; nanet3_next_event(b, &ev) == 1;) {
	}
	assert_int_equal(nanet3_wait(b, 1000), -ENODEV);
	assert_int_equal(nanet3_reg_read(b, 0, &value, 1), -ENODEV);
	p = nanet3_buffer(b, 0, 0); /* what was read is still there */
	assert_non_null(p);
	assert_true(p[0] == p[8]);
	assert_int_equal(nanet3_open(where, &(struct nanet3 *){NULL}), -ECONNREFUSED);
	nanet3_close(b);
	/* A new board takes the place of the dead one's socket. */
	host = contract_host_start(&config);
	assert_true(host > 0);
	b = open_board();
	nanet3_close(b);
}

/* ------------------------------------------------------------------------ the host itself */

static void set_ups_that_make_no_sense(void **state)
{
	static char long_path[200];
	struct host_config c;
	struct world *w = calloc(1, sizeof(*w));
	struct host *h = NULL;

	(void)state;
	memset(long_path, 'x', sizeof(long_path) - 1);
	fake_world_init(w);
#define BAD(expected, ...)                                                                         \
	do {                                                                                       \
		host_config_default(&c);                                                           \
		c.depth_ms = 20;                                                                   \
		c.socket_path = "/tmp/nanet3-never";                                               \
		__VA_ARGS__;                                                                       \
		assert_int_equal(host_create(&c, w, &h), expected);                                \
		assert_null(h);                                                                    \
	} while (0)
	BAD(-EINVAL, c.socket_path = NULL);
	BAD(-EINVAL, c.name = NULL);
	BAD(-EINVAL, c.name = long_path);
	BAD(-EINVAL, c.frames_per_buffer = 0);
	BAD(-EINVAL, c.frames_per_buffer = 420);
	BAD(-EINVAL, c.frames_per_buffer = ~0u);
	BAD(-EINVAL, c.depth_ms = 0);
	BAD(-EINVAL, c.depth_ms = ~0u);
	BAD(-EINVAL, c.queue_events = 0);
	BAD(-EINVAL, c.queue_events = 1000);
	BAD(-EINVAL, c.duration_s = -1);
	BAD(-ENAMETOOLONG, c.socket_path = long_path);
	BAD(-ENOENT, c.socket_path = "/nonexistent/socket");
	BAD(-EADDRINUSE, c.socket_path = path);	       /* served by our host */
	BAD(-EEXIST, c.socket_path = "/etc/hostname"); /* somebody's file is not ours to remove */
#undef BAD
	host_destroy(NULL);
	free(w);
}

static void odd_geometries_work(void **state)
{
	static const struct {
		unsigned frames, depth_ms;
	} rows[] = {{1, 1}, {8, 20}, {7, 30}, {419, 1}, {80, 2000}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nanet3 *b;

		assert_int_equal(contract_host_end(host, SIGTERM), 0);
		config.frames_per_buffer = rows[i].frames;
		config.depth_ms = rows[i].depth_ms;
		config.deadline_us = 100000;
		host = contract_host_start(&config);
		assert_true(host > 0);
		b = open_board();
		assert_int_equal(nanet3_claim(b, 3, 0, NULL), 0);
		assert_true(nanet3_ring(b, 3)->depth >= 8);
		for (uint64_t p = 0; p < 10; p++) {
			const struct nanet3_event *c;
			uint64_t word;

			while (nanet3_write_position(b, 3) <= p) {
				assert_int_equal(nanet3_wait(b, 1000), 1);
				for (struct nanet3_event ev; nanet3_next_event(b, &ev) == 1;) {
				}
			}
			c = nanet3_completion(b, 3, p);
			if (c->length > 0) {
				assert_int_equal(c->frames, rows[i].frames);
				memcpy(&word, nanet3_buffer(b, 3, p) + c->length - 8, 8);
				assert_true(word ==
					    fake_pattern(c->frame_count + c->frames - 1, 3));
			}
			assert_int_equal(nanet3_release(b, 3, p + 1), 0);
		}
		nanet3_close(b);
	}
}

/* As fast as we release, and nothing is ever dropped however slow that is. */
static void full_speed_waits_for_the_reader(void **state)
{
	struct nanet3 *b;
	uint64_t next[NANET3_LINKS] = {0}, count[NANET3_LINKS] = {0}, cells = 0;
	unsigned turns = 0;
	struct timespec from, to;

	(void)state;
	assert_int_equal(contract_host_end(host, SIGTERM), 0);
	config.speed = HOST_SPEED_MAX;
	config.depth_ms = 50;
	host = contract_host_start(&config);
	assert_true(host > 0);
	b = open_board();
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		assert_int_equal(nanet3_claim(b, i, 0, NULL), 0);
	}
	clock_gettime(CLOCK_MONOTONIC, &from);
	while (cells < 40000) {
		assert_int_equal(nanet3_wait(b, 1000), 1);
		for (struct nanet3_event ev; nanet3_next_event(b, &ev) == 1;) {
		}
		if (++turns % 20 == 0) { /* the rings run full meanwhile */
			nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
		}
		for (unsigned i = 0; i < NANET3_LINKS; i++) {
			for (; next[i] < nanet3_write_position(b, i); next[i]++) {
				const struct nanet3_event *c = nanet3_completion(b, i, next[i]);

				assert_int_equal(c->reason, 0);
				assert_true(count[i] == 0 || c->frame_count == count[i]);
				count[i] = c->frame_count + c->frames;
				cells += c->frames;
			}
			assert_int_equal(nanet3_release(b, i, next[i]), 0);
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	print_message("[  INFO    ] %llu cells in %lld ms\n", (unsigned long long)cells,
		      (long long)(to.tv_sec - from.tv_sec) * 1000 +
			      (to.tv_nsec - from.tv_nsec) / 1000000);
	nanet3_close(b);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(version_is_checked),
		T(malformed_packets),
		T(reserved_fields_are_checked),
		T(mappings),
		T(clients_without_number),
		T(client_that_takes_no_answers),
		T(memory_cannot_be_spoilt),
		T(random_packets),
		T(board_that_ends_says_so),
		T(board_that_dies_is_gone),
		T(set_ups_that_make_no_sense),
		T(odd_geometries_work),
		T(full_speed_waits_for_the_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
