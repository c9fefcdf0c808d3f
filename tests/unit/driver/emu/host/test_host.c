/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user-space host beyond the contract: its pace, polling by hand, the board's end and return, and
 * set-ups that make no sense.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "driver/emu/common/model_fault.h"
#include "tests/unit/rig/fake_world.h"
#include "tests/unit/rig/socket_rig.h"

/* ------------------------------------------------------------------------ how often, how fast */

/* 1 a millisecond at most, whatever comes on four links: a machine without time for us makes it fewer. */
static void woken_once_a_tick(void **state)
{
	struct nanet3 *b = open_board();
	uint64_t started;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		assert_int_equal(nanet3_claim(b, i, 0, NULL), 0);
	}
	started = now_ms();
	for (unsigned wakes = 0; wakes < 100; wakes++) {
		assert_int_equal(nanet3_wait(b, 10000), 1);
		for (struct nanet3_event ev; nanet3_next_event(b, &ev) == 1;) {
			/* A ring that nobody empties is full after a pause, and then nothing wakes us. */
			if (ev.type == NANET3_EVENT_RX) {
				assert_int_equal(nanet3_release(b, ev.link, ev.position + 1), 0);
			}
		}
	}
	assert_true(now_ms() - started >= 77);
	nanet3_close(b);
}

/* A ring that is claimed between two looks at the clock begins with a turn of the loop, as if nobody had asked: else its
 * buffers would be handed over up to a turn late, for as long as it runs. */
static void rings_begin_with_a_turn(void **state)
{
	const uint32_t turn = 1000000u / NANET3_FRAME_NS;

	for (unsigned i = 0; i < 30; i++) {
		struct nanet3 *b = open_board();

		nanosleep(&(struct timespec){.tv_nsec = 137000 * (i % 8)}, NULL);
		assert_int_equal(nanet3_claim(b, 0, NANET3_CLAIM_FRESH, NULL), 0);
		while (nanet3_write_position(b, 0) < 1) {
			assert_true(nanet3_wait(b, 1000) >= 0);
			for (struct nanet3_event ev; nanet3_next_event(b, &ev) == 1;) {
			}
		}
		assert_int_equal(nanet3_completion(b, 0, 0)->frame_count % turn, 0);
		assert_int_equal(nanet3_yield(b, 0), 0);
		nanet3_close(b);
	}
}

/* Model time at a tenth of the wall's: everything but time is as ever, and the board says so. */
static void slow_motion(void **state)
{
	struct nanet3 *b;
	uint32_t pair[2], model, from;

	config.factor = 0.1;
	restart();
	b = open_board();
	assert_int_equal(nanet3_info(b)->emulated, NANET3_EMULATED_UNPACED);
	assert_int_equal(nanet3_reg_read(b, NANET3_REG_MODEL, &model, 1), 0);
	assert_int_equal(model, NANET3_EMULATED_UNPACED);
	assert_int_equal(nanet3_claim(b, 0, 0, NULL), 0);
	while (nanet3_write_position(b, 0) < 1) { /* it has begun to count */
	}
	assert_int_equal(nanet3_reg_read(b, NANET3_REG_COUNT, pair, 2), 0);
	from = pair[0];
	nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
	assert_int_equal(nanet3_reg_read(b, NANET3_REG_COUNT, pair, 2), 0);
	assert_in_range(pair[0] - from, 200, 800); /* 400, on a machine with time for us */
	assert_true(nanet3_write_position(b, 0) >= 10);
	nanet3_close(b);
}

/* ------------------------------------------------------------------------ puts and polling */

/* With nothing but the two mappings: sequence numbers without a hole, releases by doorbell, and the ring
 * state that others see comes after. */
static void queue_and_doorbell_by_hand(void **state)
{
	struct nanet3_polling polling = {.on = 1};
	struct nanet3_claim claim = {.link = 2};
	const struct nanet3_event *events;
	struct nanet3 *observer = open_board();
	uint64_t position = 0, before, after, count = 0, *doorbell, until = now_ms() + 10000;
	struct nanet3_sock_map map;
	int shared, fd = raw_open();
	size_t bytes;

	greet(fd);
	assert_int_equal(nanet3_observe(observer, 2), 0);
	assert_int_equal(raw_request(fd, NANET3_IOC_CLAIM, &claim, sizeof(claim), &claim), 0);
	before = nanet3_write_position(observer, 2);
	assert_int_equal(raw_request(fd, NANET3_IOC_POLLING, &polling, sizeof(polling), &polling),
			 0);
	after = nanet3_write_position(observer, 2);
	bytes = polling.queue_size * sizeof(*events);
	shared = raw_map(fd, NANET3_MAP_EVENTS, &map);
	assert_true(map.bytes >= bytes);
	events = mmap(NULL, bytes, PROT_READ, MAP_SHARED, shared, 0);
	close(shared);
	shared = raw_map(fd, NANET3_MAP_DOORBELL(2), &map);
	doorbell = mmap(NULL, NANET3_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
	close(shared);
	assert_true(events != MAP_FAILED && doorbell != MAP_FAILED);
	while (position < 500) { /* a ring of 100, five times round */
		const struct nanet3_event *ev =
			&events[(polling.next_sequence - 1) % polling.queue_size];

		assert_true(now_ms() < until);
		if (__atomic_load_n(&ev->sequence, __ATOMIC_ACQUIRE) != polling.next_sequence) {
			continue;
		}
		polling.next_sequence++;
		if (ev->type != NANET3_EVENT_RX) {
			continue;
		}
		assert_int_equal(ev->link, 2);
		if (count == 0) { /* the first since polling is on */
			assert_in_range(ev->position, before, after);
			position = ev->position;
		}
		assert_int_equal(ev->position, position);
		assert_true(count == 0 || ev->frame_count == count);
		assert_int_equal(ev->reason == NANET3_GAP_RING_FULL, 0);
		count = ev->frame_count + ev->frames;
		position++;
		__atomic_store_n(doorbell, position, __ATOMIC_RELEASE);
	}
	while (nanet3_release_position(observer, 2) < position) {
		assert_true(now_ms() < until);
	}
	/* Nonsense is not believed, and harms nothing. */
	__atomic_store_n(doorbell, position + 1000, __ATOMIC_RELEASE);
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	__atomic_store_n(doorbell, 3, __ATOMIC_RELEASE);
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	assert_int_equal(nanet3_release_position(observer, 2), position);
	munmap((void *)(uintptr_t)events, bytes);
	munmap(doorbell, NANET3_PAGE);
	close(fd);
	nanet3_close(observer);
}

/* Take and release what all links have: data only, without a hole. How many cells. */
static uint64_t read_all(struct nanet3 *b, uint64_t next[NANET3_LINKS],
			 uint64_t count[NANET3_LINKS])
{
	uint64_t cells = 0;

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
	return cells;
}

/* At full speed the board waits for the doorbell as it does for the request. */
static void full_speed_waits_for_the_doorbell(void **state)
{
	uint64_t next[NANET3_LINKS] = {0}, count[NANET3_LINKS] = {0}, cells = 0;
	struct nanet3 *b;

	config.speed = HOST_SPEED_MAX;
	config.depth_ms = 50;
	restart();
	b = open_board();
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		assert_int_equal(nanet3_claim(b, i, 0, NULL), 0);
	}
	assert_int_equal(nanet3_polling(b, true), 0);
	while (cells < 20000) {
		assert_int_equal(nanet3_wait(b, 5000), 1);
		for (struct nanet3_event ev; nanet3_next_event(b, &ev) == 1;) {
		}
		cells += read_all(b, next, count);
	}
	nanet3_close(b);
}

/* The memory is the client's own: it may take it away, and then a put finds nothing there. */
static void memory_that_was_unmapped(void **state)
{
	struct nanet3 *b = open_board();
	struct nanet3_put put = {.destination_offset = 4096, .length = 4096, .cookie = 4};
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct nanet3_event ev;
	uint32_t buffer;

	assert_true(p != MAP_FAILED);
	assert_int_equal(nanet3_register_buffer(b, p, 8192, &buffer), 0);
	put.source = put.destination = buffer;
	assert_int_equal(munmap(p + 4096, 4096), 0);
	assert_int_equal(nanet3_put(b, &put), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(nanet3_wait(b, 1000), 1);
		assert_int_equal(nanet3_next_event(b, &ev), 1);
		assert_int_equal(ev.reason, NANET3_TX_FAULT);
	}
	munmap(p, 4096);
	nanet3_close(b);
}

/* ------------------------------------------------------------------------ the board's end */

static void board_that_ends_says_so(void **state)
{
	struct nanet3 *b = open_board();
	struct nanet3_event ev = {0};
	uint32_t value;

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

/* Off the bus: all clients are told and hung up on, nobody gets in, and then it is a new board. */
static void board_that_goes_and_comes_back(void **state)
{
	struct nanet3 *b = open_board(), *again = NULL;
	struct nanet3_event ev = {0};
	uint64_t from = now_ms();
	static uint8_t memory[10000];
	uint32_t value;

	assert_int_equal(nanet3_claim(b, 0, 0, NULL), 0);
	assert_int_equal(nanet3_register_buffer(b, memory, sizeof(memory), &value), 0);
	assert_int_equal(
		nanet3_reg_write(b, NANET3_REG_MODEL_FAULT, MODEL_FAULT(MODEL_FAULT_GONE, 0, 300)),
		0);
	while (nanet3_wait(b, 2000) == 1) {
		while (nanet3_next_event(b, &ev) == 1) {
		}
	}
	assert_int_equal(ev.type, NANET3_EVENT_GONE);
	assert_int_equal(nanet3_wait(b, -1), -ENODEV);
	assert_int_equal(nanet3_reg_read(b, 0, &value, 1), -ENODEV);
	assert_int_equal(nanet3_claim(b, 1, 0, NULL), -ENODEV);
	assert_int_equal(nanet3_open(where, &again), -ENODEV);
	nanet3_close(b);
	while (nanet3_open(where, &again) != 0) {
		assert_true(now_ms() - from < 5000);
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	assert_true(now_ms() - from >= 290);
	assert_int_equal(nanet3_info(again)->boot_count, 2);
	assert_int_equal(nanet3_claim(again, 0, 0, NULL), 0);
	assert_int_equal(nanet3_ring(again, 0)->dma_epoch, 2); /* goes on where the driver was */
	while (nanet3_write_position(again, 0) < 5) {
		assert_int_equal(nanet3_wait(again, 2000), 1);
		while (nanet3_next_event(again, &ev) == 1) {
		}
	}
	assert_int_equal(nanet3_register_buffer(again, memory, sizeof(memory), &value), 0);
	assert_int_equal(value, 0);
	nanet3_close(again);
}

/* ------------------------------------------------------------------------ the host itself */

static void set_ups_that_make_no_sense(void **state)
{
	static char long_path[200];
	struct host_config c;
	struct world *w = calloc(1, sizeof(*w));
	struct host *h = NULL;

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
	BAD(-EINVAL, c.factor = 0);
	BAD(-EINVAL, c.factor = -1);
	BAD(-EINVAL, c.factor = 1e9);
	BAD(-EINVAL, c.factor = 0.0 / 0.0);
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

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nanet3 *b;

		config.frames_per_buffer = rows[i].frames;
		config.depth_ms = rows[i].depth_ms;
		config.deadline_us = 100000;
		restart();
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

	config.speed = HOST_SPEED_MAX;
	config.depth_ms = 50;
	restart();
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
		cells += read_all(b, next, count);
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
		T(woken_once_a_tick),
		T(rings_begin_with_a_turn),
		T(slow_motion),
		T(queue_and_doorbell_by_hand),
		T(full_speed_waits_for_the_doorbell),
		T(memory_that_was_unmapped),
		T(board_that_ends_says_so),
		T(board_that_dies_is_gone),
		T(board_that_goes_and_comes_back),
		T(set_ups_that_make_no_sense),
		T(odd_geometries_work),
		T(full_speed_waits_for_the_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
