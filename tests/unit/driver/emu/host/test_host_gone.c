/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user-space host when a client makes the board go, or resets it, by its registers. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "driver/emu/common/model_fault.h"
#include "tests/unit/rig/fake_world.h"
#include "tests/unit/rig/socket_rig.h"

#define PATIENCE_MS 60000u
#define EVENTS_SANE                                                                                \
	100000u /* of a second or two; a host that takes ~0 for a position counts 2^32 */
#define GONE MODEL_FAULT(MODEL_FAULT_GONE, 0, 50)

static void sleep_ms(unsigned ms)
{
	nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

/* Once the board is back. */
static struct nanet3 *open_again(void)
{
	struct nanet3 *b = NULL;
	uint64_t from = now_ms();

	while (nanet3_open(where, &b) != 0) {
		assert_true(now_ms() - from < PATIENCE_MS);
		sleep_ms(20);
	}
	return b;
}

static void is_sane(void)
{
	struct nanet3 *b = open_again();
	struct nanet3_stats s;

	assert_int_equal(nanet3_stats(b, &s), 0);
	assert_in_range(s.events, 0, EVENTS_SANE);
	assert_int_equal(nanet3_claim(b, 0, NANET3_CLAIM_FRESH, NULL), 0);
	assert_int_equal(nanet3_wait(b, PATIENCE_MS), 1);
	nanet3_close(b);
}

static void deadlines_are_those_of_before(void **state)
{
	struct nanet3 *b = open_board();
	uint32_t before, after;

	assert_int_equal(nanet3_reg_read(b, NANET3_REG_LINK(0u, NANET3_LREG_DEADLINE), &before, 1),
			 0);
	assert_int_equal(nanet3_reg_write(b, NANET3_REG_MODEL_FAULT, GONE), 0);
	while (nanet3_reg_read(b, NANET3_REG_ID, &after, 1) == 0) {
		sleep_ms(1);
	}
	nanet3_close(b);
	b = open_again();
	assert_int_equal(nanet3_reg_read(b, NANET3_REG_LINK(0u, NANET3_LREG_DEADLINE), &after, 1),
			 0);
	assert_int_equal(after, before);
	nanet3_close(b);
}

/* In one turn of the host the board goes, and its buffers' owner ends. */
static void its_client_ends(void **state)
{
	static uint8_t memory[10000];
	struct nanet3_register reg = {.address = (uintptr_t)memory, .length = sizeof(memory)};
	struct {
		struct nanet3_sock_head head;
		struct nanet3_regs regs;
	} p = {{.request = NANET3_IOC_REG_WRITE, .size = sizeof(struct nanet3_regs)},
	       {.offset = NANET3_REG_MODEL_FAULT, .count = 1, .values = {GONE}}};
	struct nanet3 *b = open_board();
	uint32_t n;
	int fd;

	/* The library lets the host reach our memory. */
	assert_int_equal(nanet3_register_buffer(b, memory, sizeof(memory), &n), 0);
	nanet3_close(b);
	fd = raw_open();
	greet(fd);
	assert_int_equal(raw_request(fd, NANET3_IOC_REGISTER, &reg, sizeof(reg), &reg), 0);
	kill(host, SIGSTOP);
	assert_int_equal(send(fd, &p, sizeof(p), 0), sizeof(p));
	close(fd);
	kill(host, SIGCONT);
	is_sane();
}

static void its_owner_polls(void **state)
{
	struct nanet3_polling polling = {.on = 1};
	struct nanet3_claim claim = {.link = 0};
	struct nanet3_regs regs = {.offset = NANET3_REG_MODEL_FAULT, .count = 1, .values = {GONE}};
	struct nanet3_sock_map map;
	uint64_t *doorbell;
	int fd = raw_open();

	greet(fd);
	assert_int_equal(raw_request(fd, NANET3_IOC_CLAIM, &claim, sizeof(claim), &claim), 0);
	assert_int_equal(raw_request(fd, NANET3_IOC_POLLING, &polling, sizeof(polling), &polling),
			 0);
	doorbell = mmap(NULL, NANET3_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			raw_map(fd, NANET3_MAP_DOORBELL(0), &map), 0);
	assert_true(doorbell != MAP_FAILED);
	__atomic_store_n(doorbell, 1000000,
			 __ATOMIC_RELEASE); /* ahead of what the host has taken */
	raw_request(fd, NANET3_IOC_REG_WRITE, &regs, sizeof(regs), NULL);
	close(fd);
	is_sane();
}

static void reset_by_its_register(void **state)
{
	struct nanet3 *b = open_board();

	assert_int_equal(nanet3_claim(b, 0, 0, NULL), 0);
	assert_int_equal(nanet3_wait(b, PATIENCE_MS), 1);
	nanet3_reg_write(b, NANET3_REG_CONTROL, NANET3_CONTROL_RESET);
	nanet3_close(b);
	b = open_again();
	nanet3_close(b);
}

/* Where nobody reads, model time goes on for a board that is to come back. */
static void gone_at_full_speed(void **state)
{
	struct nanet3 *b;

	config.speed = HOST_SPEED_MAX;
	restart();
	b = open_board();
	assert_int_equal(nanet3_reg_write(b, NANET3_REG_MODEL_FAULT, GONE), 0);
	assert_true(nanet3_wait(b, PATIENCE_MS) != 0);
	nanet3_close(b);
	nanet3_close(open_again());
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(deadlines_are_those_of_before), T(its_client_ends),	 T(its_owner_polls),
		T(reset_by_its_register),	  T(gone_at_full_speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
