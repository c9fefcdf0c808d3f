/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contract of libnanet3 with a board (contract_rig.h: user-space host or real driver): slow-control words down,
 * full rings and queues, registers, commands, PPS events, rights without privilege, waiting. */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "tests/unit/driver/lib/contract_rig.h"

static void words_are_sent_and_completed(void **state)
{
	struct nanet3 *a = open_board(), *b = open_board();
	struct nanet3_tx tx = {.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	uint64_t before = board_count_now(a);
	struct nanet3_event ev;

	wait_locked(a, 0);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		may_send(a, i);
	}
	for (uint64_t i = 0; i < 20; i++) {
		tx.cookie = 0xfeed000000000000u + i;
		assert_int_equal(nanet3_send(a, &tx), 0);
	}
	for (uint64_t i = 0; i < 20; i++) {
		ev = next_tx(a);
		assert_true(ev.cookie == 0xfeed000000000000u + i);
		assert_true(ev.frame_count >= before);
		assert_int_equal(ev.reason, 0);
		before = ev.frame_count;
	}
	tx.at_frame = board_count_now(a) + 400;
	tx.cookie = 7;
	assert_int_equal(nanet3_send(a, &tx), 0);
	ev = next_tx(a);
	assert_true(ev.frame_count == tx.at_frame || ev.frame_count % 8000 == 0);
	assert_int_equal(ev.cookie, 7);
	assert_int_equal(nanet3_wait(b, 0), 0); /* completions come to the sender only */
	tx = (struct nanet3_tx){.link = 0xff, .kind = NANET3_TX_TIMING, .bytes = {2}};
	assert_int_equal(nanet3_send(a, &tx), 0);
	assert_int_equal(next_tx(a).link, 0xff);
	close_board(a);
	close_board(b);
}

/* Held back until one comes without MORE, then all in one frame. A word that is refused, and the end of who holds
 * back, let them go, too. */
static void words_that_belong_together(void **state)
{
	struct nanet3 *a = open_board(), *b = open_board(), *owner;
	struct nanet3_tx tx = {.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	struct nanet3_event ev;
	uint64_t count, left;

	wait_locked(a, 0);
	owner = may_send(a, 0);
	tx.flags = NANET3_TX_MORE;
	for (tx.cookie = 1; tx.cookie <= 3; tx.cookie++) {
		assert_int_equal(nanet3_send(a, &tx), 0);
	}
	for (count = board_count_now(a); board_count_now(a) < count + 100;) {
		sleep_ms(1);
	}
	assert_int_equal(nanet3_wait(a, 0), 0);
	tx.flags = 0;
	assert_int_equal(nanet3_send(a, &tx), 0);
	ev = next_tx(a);
	left = ev.frame_count;
	assert_true(left >= count + 100);
	for (uint64_t cookie = 2; cookie <= 4; cookie++) {
		ev = next_tx(a);
		assert_int_equal(ev.cookie, cookie);
		assert_int_equal(ev.frame_count, left);
		assert_int_equal(ev.reason, 0);
	}
	tx.flags = NANET3_TX_MORE;
	assert_int_equal(nanet3_send(a, &tx), 0);
	tx.kind = 0;
	assert_int_equal(nanet3_send(a, &tx), -EINVAL);
	assert_int_equal(next_tx(a).cookie, tx.cookie);
	tx.kind = NANET3_TX_REQUEST;
	assert_int_equal(nanet3_send(a, &tx), 0);
	assert_int_equal(nanet3_grant(owner, 0, nanet3_info(b)->handle), 0);
	assert_int_equal(nanet3_send(b, &tx), 0);
	close_board(b);
	assert_int_equal(next_tx(a).cookie, tx.cookie);
	close_board(a);
}

static void malformed_words_are_refused(void **state)
{
	struct nanet3 *b = open_board();
	static const struct nanet3_tx good = {
		.link = 0, .kind = NANET3_TX_SERIAL, .bytes = {0, 30}};
	static const struct nanet3_tx bad[] = {
		{.link = 4, .kind = NANET3_TX_REQUEST, .bytes = {1}},
		{.link = 0xff, .kind = NANET3_TX_REQUEST, .bytes = {1}},
		{.link = 0xff, .kind = NANET3_TX_SERIAL},
		{.link = 0, .kind = 0, .bytes = {1}},
		{.link = 0, .kind = 4, .bytes = {1}},
		{.link = 0, .kind = NANET3_TX_REQUEST},
		{.link = 0, .kind = NANET3_TX_TIMING},
		{.link = 0, .kind = NANET3_TX_TIMING, .bytes = {1, 1}},
		{.link = 0, .kind = NANET3_TX_SERIAL, .bytes = {0, 31}},
		{.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}, .reserved0 = 1},
		{.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}, .flags = 2},
		{.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}, .reserved2 = 1},
		{.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}, .at_frame = ~0ull},
	};

	wait_locked(b, 0);
	may_send(b, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(nanet3_send(b, &bad[i]), -EINVAL);
	}
	assert_int_equal(nanet3_send(b, &good), 0);
	next_tx(b);
	close_board(b);
}

static void unlocked_link_takes_no_words(void **state)
{
	struct nanet3 *b = open_board();
	struct nanet3_tx tx = {.link = 2, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	unsigned sent = 0;
	int r = 0;

	may_send(b, 2);
	/* Lock may be back before a slow machine has looked. */
	for (int i = 0; i < 50 && r != -ENOLINK; i++) {
		wait_locked(b, 2);
		assert_int_equal(nanet3_link_command(b, 2, NANET3_LINK_RESET | NANET3_LINK_ALIGN),
				 0);
		for (int k = 0; k < 20 && r != -ENOLINK; k++) {
			r = nanet3_send(b, &tx);
			assert_true(r == 0 || r == -ENOLINK || r == -EAGAIN);
			sent += r == 0;
		}
	}
	assert_int_equal(r, -ENOLINK);
	wait_locked(b, 2);
	while (sent-- > 0) {
		next_tx(b);
	}
	assert_int_equal(nanet3_send(b, &tx), 0);
	next_tx(b);
	close_board(b);
}

static void full_tx_ring_says_again(void **state)
{
	struct nanet3 *b = open_board();
	struct nanet3_tx tx = {.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	unsigned sent = 0;
	int r;

	wait_locked(b, 0);
	may_send(b, 0);
	tx.at_frame = board_count_now(b) + 4000;
	while ((r = nanet3_send(b, &tx)) == 0) {
		sent++;
		assert_true(sent < 100000);
	}
	assert_int_equal(r, -EAGAIN);
	assert_true(sent >= 16);
	for (unsigned i = 0; i < sent; i++) {
		next_tx(b);
	}
	tx.at_frame = 0;
	assert_int_equal(nanet3_send(b, &tx), 0);
	next_tx(b);
	close_board(b);
}

static void full_queue_counts_what_it_loses(void **state)
{
	struct nanet3 *b = open_board();
	struct nanet3_tx tx = {.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	uint32_t size = nanet3_info(b)->queue_size;
	uint64_t until = now_ms() + PATIENCE_MS;
	struct nanet3_event ev;
	unsigned taken = 0, sent = 0;

	wait_locked(b, 0);
	may_send(b, 0);
	while (sent < size + 100 && now_ms() < until) {
		int r = nanet3_send(b, &tx);

		assert_true(r == 0 || r == -EAGAIN);
		sent += r == 0;
	}
	assert_int_equal(sent, size + 100);
	while (nanet3_events_lost(b) < 100 && now_ms() < until) {
		sleep_ms(1);
	}
	while (nanet3_next_event(b, &ev) == 1) {
		taken++;
	}
	assert_int_equal(taken, size);
	assert_int_equal(nanet3_events_lost(b), 100);
	assert_int_equal(nanet3_send(b, &tx), 0);
	next_tx(b);
	close_board(b);
}

/* ------------------------------------------------------------------------ registers, commands */

static void registers(void **state)
{
	struct nanet3 *b = open_board();
	uint32_t values[NANET3_REGS_MAX + 1];

	assert_int_equal(nanet3_reg_read(b, NANET3_REG_ID, values, 4), 0);
	assert_int_equal(values[0], 0x00334e4e);
	assert_int_equal(values[1], NANET3_HW_VERSION);
	assert_int_equal(values[3], nanet3_info(b)->serial);
	assert_int_equal(nanet3_reg_read(b, 0, values, NANET3_REGS_MAX), 0);
	assert_int_equal(nanet3_reg_read(b, 0, values, NANET3_REGS_MAX + 1), -EINVAL);
	assert_int_equal(nanet3_reg_read(b, 0, values, 0), -EINVAL);
	assert_int_equal(nanet3_reg_read(b, 2, values, 1), -EINVAL);
	assert_int_equal(nanet3_reg_read(b, NANET3_BAR_BYTES - 4, values, 1), 0);
	assert_int_equal(nanet3_reg_read(b, NANET3_BAR_BYTES - 4, values, 2), -EINVAL);
	assert_int_equal(nanet3_reg_read(b, NANET3_BAR_BYTES, values, 1), -EINVAL);
	assert_int_equal(nanet3_reg_read(b, 0xfffffffc, values, 2), -EINVAL);
	assert_int_equal(nanet3_reg_write(b, 0xfffffffc, 1), -EINVAL);
	assert_int_equal(nanet3_reg_write(b, 1, 1), -EINVAL);
	assert_int_equal(nanet3_reg_write(b, NANET3_REG_SCRATCH, 0xcafe), 0);
	assert_int_equal(nanet3_reg_read(b, NANET3_REG_SCRATCH, values, 1), 0);
	assert_int_equal(values[0], 0xcafe);
	close_board(b);
}

static void commands(void **state)
{
	struct nanet3 *b = open_board();

	assert_int_equal(nanet3_link_command(b, NANET3_LINKS, NANET3_LINK_RESET), -EINVAL);
	assert_int_equal(nanet3_link_command(b, 0, 0), -EINVAL);
	assert_int_equal(nanet3_link_command(b, 0, NANET3_LINK_ENABLE), -EINVAL);
	assert_int_equal(nanet3_link_command(b, 0, 0x80 | NANET3_LINK_ALIGN), -EINVAL);
	assert_int_equal(nanet3_subscribe(b, 1u << NANET3_EVENT_RX), -EINVAL);
	assert_int_equal(nanet3_subscribe(b, ~0u), -EINVAL);
	assert_int_equal(nanet3_subscribe(b, 0), 0);
	close_board(b);
}

static void pps_is_told_to_subscribers(void **state)
{
	struct nanet3 *b = open_board();
	struct nanet3_event ev = {0};

	assert_int_equal(nanet3_subscribe(b, 1u << NANET3_EVENT_PPS), 0);
	assert_int_equal(nanet3_wait(b, PATIENCE_MS), 1);
	assert_int_equal(nanet3_next_event(b, &ev), 1);
	assert_int_equal(ev.type, NANET3_EVENT_PPS);
	assert_int_equal(ev.frame_count % NANET3_FRAMES_PER_SECOND, 0);
	assert_true(ev.value > 0);
	close_board(b);
}

/* An unprivileged process cannot write registers that disturb others, nor see bus addresses. */
static int use_registers(struct nanet3 *b)
{
	const uint32_t deadline = NANET3_REG_LINK(3, NANET3_LREG_DEADLINE);
	const struct {
		uint32_t offset, value;
		int result;
		bool claim; /* link 3 first */
	} writes[] = {
		{deadline, 5000, -EPERM},
		{NANET3_REG_IRQ_MASK, 0, -EPERM},
		{NANET3_REG_LINK(0, NANET3_LREG_CONTROL), 0, -EPERM},
		{NANET3_REG_MODEL_FAULT, 0, -EPERM},
		{NANET3_REG_DOORBELL(0), 0, -EPERM},
		{NANET3_REG_SCRATCH, 1, 0},
		{deadline, NANET3_DEADLINE_MIN_US, 0, .claim = true},
		{deadline, NANET3_DEADLINE_MAX_US, 0},
		{deadline, 5000, 0},
		{deadline, NANET3_DEADLINE_MIN_US - 1, -EPERM},
		{deadline, NANET3_DEADLINE_MAX_US + 1, -EPERM},
	};
	const int n = sizeof(writes) / sizeof(writes[0]);
	const uint32_t addresses[] = {NANET3_REG_EVQ_BASE, NANET3_REG_TX_BASE,
				      NANET3_REG_LINK(2, NANET3_LREG_TABLE)};
	uint32_t base[2] = {0};

	for (int i = 0; i < n; i++) {
		if (writes[i].claim && nanet3_claim(b, 3, NANET3_CLAIM_FRESH, NULL) != 0) {
			return 2;
		}
		if (nanet3_reg_write(b, writes[i].offset, writes[i].value) != writes[i].result) {
			return 10 + i;
		}
	}
	for (int i = 0; i < 3; i++) {
		if (nanet3_reg_read(b, addresses[i], base, 2) != 0 || base[0] || base[1]) {
			return 10 + n + i;
		}
	}
	return 0;
}

static void privilege(void **state)
{
	struct nanet3 *b = open_board();
	uint32_t base[2] = {0};

	assert_int_equal(nanet3_reg_read(b, NANET3_REG_EVQ_BASE, base, 2), 0);
	assert_true(geteuid() != 0 || base[0] || base[1]);
	close_board(b);
	assert_int_equal(as_nobody(use_registers), 0);
}

/* ------------------------------------------------------------------------ waiting */

static void waits(void **state)
{
	struct nanet3 *b = open_board();
	struct pollfd p = {.fd = nanet3_fd(b), .events = POLLIN};
	struct nanet3_tx tx = {.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	struct nanet3_event ev;
	uint64_t from = now_ms();

	wait_locked(b, 0);
	may_send(b, 0);
	from = now_ms();
	assert_int_equal(nanet3_wait(b, 0), 0);
	assert_int_equal(nanet3_wait(b, 50), 0);
	assert_in_range(now_ms() - from, 49, 2000);
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(nanet3_send(b, &tx), 0);
	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	assert_int_equal(nanet3_wait(b, -1), 1);
	assert_int_equal(nanet3_wait(b, -1), 1); /* as long as an event waits */
	assert_int_equal(nanet3_next_event(b, &ev), 1);
	assert_int_equal(nanet3_next_event(b, &ev), 0);
	assert_int_equal(nanet3_wait(b, 0), 0);
	assert_int_equal(poll(&p, 1, 0), 0);
	close_board(b);
}

const struct CMUnitTest contract_word[] = {
	CONTRACT_TEST(words_are_sent_and_completed),
	CONTRACT_TEST(words_that_belong_together),
	CONTRACT_TEST(malformed_words_are_refused),
	CONTRACT_TEST(unlocked_link_takes_no_words),
	CONTRACT_TEST(full_tx_ring_says_again),
	CONTRACT_TEST(full_queue_counts_what_it_loses),
	CONTRACT_TEST(registers),
	CONTRACT_TEST(commands),
	CONTRACT_TEST(pps_is_told_to_subscribers),
	CONTRACT_TEST(privilege),
	CONTRACT_TEST(waits),
	{NULL},
};
