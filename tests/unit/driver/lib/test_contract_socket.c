/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is particular to the emulator's socket: packets that no library would send, clients without
 * number, memory that nobody may spoil. The host behind it is in test_host.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/rig/socket_rig.h"

/* ------------------------------------------------------------------------ packets */

static void version_is_checked(void **state)
{
	struct nanet3_info info = {.version = NANET3_ABI_VERSION + 1};
	struct nanet3_claim claim = {0};
	int fd = raw_open();

	assert_int_equal(raw_request(fd, NANET3_IOC_CLAIM, &claim, sizeof(claim), &claim), -EPROTO);
	assert_int_equal(raw_request(fd, NANET3_IOC_INFO, &info, sizeof(info), &info), -EPROTO);
	info.version = NANET3_ABI_VERSION - 1; /* had no owners of words */
	assert_int_equal(raw_request(fd, NANET3_IOC_INFO, &info, sizeof(info), &info), -EPROTO);
	assert_int_equal(raw_request(fd, NANET3_IOC_CLAIM, &claim, sizeof(claim), &claim), -EPROTO);
	greet(fd);
	greet(fd); /* again does no harm */
	info = (struct nanet3_info){.version = NANET3_ABI_VERSION, .reserved = 1};
	assert_int_equal(raw_request(fd, NANET3_IOC_INFO, &info, sizeof(info), &info), -EINVAL);
	assert_int_equal(raw_request(fd, NANET3_IOC_CLAIM, &claim, sizeof(claim), &claim), 0);
	close(fd);
}

/* Structs grow at their ends: older and newer callers are answered alike. */
static void structs_of_other_lengths(void **state)
{
	struct {
		struct nanet3_info info;
		uint64_t later[4];
	} a = {0};
	struct nanet3_info newer = {.version = NANET3_ABI_VERSION + 7,
				    .version_min = NANET3_ABI_VERSION};
	const uint32_t code = NANET3_REQUEST(NANET3_IOC_INFO);
	int fd = raw_open();

	newer.version_min = NANET3_ABI_VERSION + 1;
	assert_int_equal(raw_request(fd, NANET3_IOC_INFO, &newer, sizeof(newer), &newer), -EPROTO);
	newer.version_min = NANET3_ABI_VERSION;
	assert_int_equal(raw_request(fd, NANET3_IOC_INFO, &newer, sizeof(newer), &newer), 0);
	assert_int_equal(newer.version, NANET3_ABI_VERSION); /* the newest that both speak */
	assert_int_equal(newer.hw_version, NANET3_HW_VERSION);
	assert_int_equal(newer.caps, NANET3_CAP_LOST_DESCRIPTORS);
	a.info.version = NANET3_ABI_VERSION;
	assert_int_equal(raw_request(fd, code | NANET3_INFO_LEAST << _IOC_SIZESHIFT, &a,
				     NANET3_INFO_LEAST, &a),
			 0);
	assert_string_equal(a.info.name, newer.name);
	assert_int_equal(a.info.hw_version, 0); /* beyond what it knows */
	a.info.hw_version = 0;
	assert_int_equal(raw_request(fd, code | sizeof(a) << _IOC_SIZESHIFT, &a, sizeof(a), &a), 0);
	assert_int_equal(a.info.hw_version, NANET3_HW_VERSION);
	assert_int_equal(a.later[3], 0);
	close(fd);
}

/* As with a file: the mode of opening holds until it is closed. */
static void read_only_holds_to_the_end(void **state)
{
	struct {
		struct nanet3_sock_head head;
		struct nanet3_info info;
	} first = {{.request = NANET3_IOC_INFO,
		    .size = sizeof(struct nanet3_info),
		    .flags = NANET3_SOCK_READ_ONLY},
		   {.version = NANET3_ABI_VERSION}};
	struct nanet3_regs scratch = {.offset = NANET3_REG_SCRATCH, .count = 1};
	struct nanet3_sock_map map;
	int shared, fd = raw_open();

	assert_int_equal(raw(fd, &first, sizeof(first), &first.info), 0);
	greet(fd);
	assert_int_equal(raw_request(fd, NANET3_IOC_REG_WRITE, &scratch, sizeof(scratch), NULL),
			 -EBADF);
	shared = raw_map(fd, NANET3_MAP_QUEUE, &map);
	assert_int_equal(map.writable, 0);
	assert_true(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0) == MAP_FAILED);
	close(shared);
	close(fd);
}

/* Flags that nobody knows are of another time; they shall mean something then. */
static void unknown_flags_are_refused(void **state)
{
	struct {
		struct nanet3_sock_head head;
		struct nanet3_info info;
	} first = {{.request = NANET3_IOC_INFO, .size = sizeof(struct nanet3_info), .flags = 2},
		   {.version = NANET3_ABI_VERSION}};
	struct {
		struct nanet3_sock_head head;
		uint32_t link;
	} yield = {{.request = NANET3_IOC_YIELD,
		    .size = sizeof(uint32_t),
		    .flags = NANET3_SOCK_READ_ONLY},
		   0};
	int fd = raw_open();

	assert_int_equal(raw(fd, &first, sizeof(first), NULL), -EINVAL);
	greet(fd);
	assert_int_equal(raw(fd, &yield, sizeof(yield), NULL), -EINVAL);
	yield.head.flags = 0;
	assert_int_equal(raw(fd, &yield, sizeof(yield), NULL), -EPERM);
	close(fd);
}

/* What was granted to a handle of the last emulator is granted to nobody of this one. */
static void numbers_of_handles_outlive_the_board(void **state)
{
	struct nanet3 *b = open_board();
	uint64_t before = nanet3_info(b)->handle;

	nanet3_close(b);
	restart();
	for (unsigned i = 0; i < 3; i++) {
		b = open_board();
		assert_true(nanet3_info(b)->handle > before);
		before = nanet3_info(b)->handle;
		nanet3_close(b);
	}
}

static void malformed_packets(void **state)
{
	struct nanet3_sock_head head = {.request = NANET3_IOC_CLAIM};
	uint8_t bytes[2 * NANET3_SOCK_MAX] = {0};
	uint32_t requests[] = {NANET3_IOC_CLAIM,      NANET3_IOC_YIELD,	   NANET3_IOC_RELEASE,
			       NANET3_IOC_SEND,	      NANET3_IOC_REG_READ, NANET3_IOC_REG_WRITE,
			       NANET3_IOC_SUBSCRIBE,  NANET3_IOC_LINK_CMD, NANET3_SOCK_MAP,
			       NANET3_IOC_INFO,	      NANET3_IOC_POLLING,  NANET3_IOC_REGISTER,
			       NANET3_IOC_UNREGISTER, NANET3_IOC_PUT,	   NANET3_IOC_STATS,
			       NANET3_IOC_GRANT};
	int fd = raw_open();

	greet(fd);
	for (size_t length = 0; length < sizeof(head); length++) { /* an empty packet too */
		assert_int_equal(raw(fd, bytes, length, NULL), -EINVAL);
	}
	assert_int_equal(raw(fd, bytes, sizeof(bytes), NULL), -EINVAL);
	head.size = 8; /* says more than there is */
	assert_int_equal(raw(fd, &head, sizeof(head), NULL), -EINVAL);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		uint32_t size = _IOC_SIZE(requests[i]);
		uint32_t code = NANET3_REQUEST(requests[i]);

		assert_int_equal(raw_request(fd, requests[i], bytes, 0, NULL), -EINVAL);
		assert_int_equal(raw_request(fd, requests[i], bytes, size - 1, NULL), -EINVAL);
		assert_int_equal(raw_request(fd, requests[i], bytes, size + 1, NULL), -EINVAL);
		assert_int_equal(raw_request(fd, code, bytes, 0, NULL), -EINVAL);
		bytes[size + 7] = 1; /* means something to later drivers */
		assert_int_equal(
			raw_request(fd, code | (size + 8) << _IOC_SIZESHIFT, bytes, size + 8, NULL),
			-E2BIG);
		bytes[size + 7] = 0;
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
	struct nanet3_polling polling = {.on = 1, .reserved = 1}, sometimes = {.on = 2};
	struct nanet3_register registration = {
		.address = (uintptr_t)&polling, .length = 1, .reserved = 1};
	int fd = raw_open();

	greet(fd);
	assert_int_equal(raw_request(fd, NANET3_IOC_CLAIM, &claim, sizeof(claim), NULL), -EINVAL);
	assert_int_equal(raw_request(fd, NANET3_IOC_RELEASE, &release, sizeof(release), NULL),
			 -EINVAL);
	assert_int_equal(raw_request(fd, NANET3_IOC_SUBSCRIBE, &subscribe, sizeof(subscribe), NULL),
			 -EINVAL);
	assert_int_equal(raw_request(fd, NANET3_IOC_POLLING, &polling, sizeof(polling), NULL),
			 -EINVAL);
	assert_int_equal(raw_request(fd, NANET3_IOC_POLLING, &sometimes, sizeof(sometimes), NULL),
			 -EINVAL);
	assert_int_equal(
		raw_request(fd, NANET3_IOC_REGISTER, &registration, sizeof(registration), NULL),
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
		{NANET3_MAP_EVENTS, -EPERM, 0},
		{NANET3_MAP_EVENTS + (1ull << 36), -EINVAL, -EINVAL},
		{NANET3_MAP_DOORBELL(0), -EPERM, 0},
		{NANET3_MAP_DOORBELL(1), -EPERM, -EPERM},
		{NANET3_MAP_DOORBELL(4), -EINVAL, -EINVAL},
		{NANET3_MAP_CHUNK(0, 0) + 4096, -EINVAL, -EINVAL},
		{0, -EINVAL, -EINVAL},
		{~0ull, -EINVAL, -EINVAL},
	};
	struct nanet3_claim claim = {.link = 0};
	int fd = raw_open();

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
	} rows[] = {{NANET3_MAP_QUEUE, true},	    {NANET3_MAP_OWNER(0), true},
		    {NANET3_MAP_DOORBELL(0), true}, {NANET3_MAP_RING(0), false},
		    {NANET3_MAP_EVENTS, false},	    {NANET3_MAP_CHUNK(0, 1), false}};
	struct nanet3_polling polling = {.on = 1};
	struct nanet3_claim claim = {.link = 0};
	struct nanet3_tx tx = {.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	int fd = raw_open();

	greet(fd);
	assert_int_equal(raw_request(fd, NANET3_IOC_CLAIM, &claim, sizeof(claim), &claim), 0);
	assert_int_equal(raw_request(fd, NANET3_IOC_POLLING, &polling, sizeof(polling), &polling),
			 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nanet3_sock_map map;
		int shared = raw_map(fd, rows[i].what, &map);
		void *p;

		assert_int_equal(map.writable, rows[i].writable);
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
			       NANET3_IOC_POLLING,
			       NANET3_IOC_REGISTER,
			       NANET3_IOC_UNREGISTER,
			       NANET3_IOC_PUT,
			       NANET3_IOC_STATS,
			       NANET3_IOC_GRANT,
			       0};
	uint8_t bytes[NANET3_SOCK_MAX];
	int fd = raw_open();
	struct nanet3 *b;

	greet(fd);
	srand(7);
	for (unsigned i = 0; i < 5000; i++) {
		uint32_t request =
			requests[(unsigned)rand() % (sizeof(requests) / sizeof(requests[0]))];

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

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(version_is_checked),
		T(structs_of_other_lengths),
		T(unknown_flags_are_refused),
		T(numbers_of_handles_outlive_the_board),
		T(malformed_packets),
		T(reserved_fields_are_checked),
		T(mappings),
		T(clients_without_number),
		T(client_that_takes_no_answers),
		T(memory_cannot_be_spoilt),
		T(random_packets),
		T(read_only_holds_to_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
