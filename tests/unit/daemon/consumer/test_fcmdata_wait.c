/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libfcmdata between calls: its descriptor, what it does without being asked for blocks, signals. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>
#include <zmq.h>

#include "tests/unit/daemon/consumer/fcmdata_rig.h"

/* The next word of the consumer, which only computes and keeps its duty by fcmdata_alive(). */
static void next_word(char word[16])
{
	int64_t end = rig_now_ms() + PATIENCE_MS;
	char rest[1024];
	int n, more = 1;
	size_t size = sizeof(more);

	while ((rig.id_bytes = zmq_recv(rig.socket, rig.id, sizeof(rig.id), ZMQ_DONTWAIT)) < 0) {
		assert_true(rig_now_ms() < end);
		assert_int_equal(fcmdata_alive(rig.h), 0);
		usleep(5000);
	}
	n = zmq_recv(rig.socket, word, 15, 0);
	assert_in_range(n, 1, 15);
	word[n] = '\0';
	zmq_getsockopt(rig.socket, ZMQ_RCVMORE, &more, &size);
	if (more) {
		assert_true(zmq_recv(rig.socket, rest, sizeof(rest), 0) >= 0);
	}
}

/* The daemon comes back while the consumer computes: one HELLO, and it lives from there on, however long
 * it does not read its WELCOME. A second HELLO would begin anew, and send all blocks once more. */
static void test_duty_without_receiving(void **state)
{
	char word[16];

	rig_open_member();
	fcmdata_alive(rig.h);
	rig_daemon_dies();
	rig_wait_disconnected();
	rig_daemon_starts(ZMQ_ROUTER);
	next_word(word);
	assert_string_equal(word, "HELLO");
	rig_welcome();
	for (uint64_t n = 0; n < 4; n++) {
		rig_say_block(n, 0, FCMDATA_GOOD);
	}
	for (unsigned i = 0; i < 13; i++) { /* 3.25 s: longer than an answer is waited for */
		next_word(word);
		assert_string_equal(word, "ALIVE");
	}
	assert_int_equal(rig_stats().hellos, 2);
	for (uint64_t n = 0; n < 4; n++) {
		fcmdata_release(rig.h, rig_receive(n));
	}
	assert_int_equal(rig_stats().state, FCMDATA_MEMBER);
}

/* The descriptor is readable whenever there is something to do, and only then. */
static void test_descriptor(void **state)
{
	struct pollfd p = {.events = POLLIN};
	const struct fcmdata_block *b;
	unsigned spins = 0, blocks = 0;
	int64_t end;

	rig_open_member();
	p.fd = fcmdata_fd(rig.h);
	assert_true(p.fd >= 0);
	assert_int_equal(fcmdata_fd(rig.h), p.fd);
	for (uint64_t n = 0; n < 12; n++) {
		rig_say_block(n, 0, FCMDATA_GOOD);
	}
	while (blocks < 12) {
		int r;

		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		r = fcmdata_receive(rig.h, 0, &b); /* one a turn: the others must still be seen */
		assert_in_range(r, 0, 1);
		if (r == 1) {
			assert_int_equal(fcmdata_ack(rig.h, &b->key), 0);
			assert_int_equal(fcmdata_flush(rig.h), 0);
			fcmdata_release(rig.h, b);
			blocks++;
		}
	}
	end = rig_now_ms() + 600;
	while (rig_now_ms() < end) {
		if (poll(&p, 1, (int)(end - rig_now_ms())) == 1) {
			assert_int_equal(fcmdata_receive(rig.h, 0, &b), 0);
			spins++;
		}
	}
	assert_in_range(spins, 1, 50); /* the duty's timer, no busy loop */
	rig_say_block(12, 0, FCMDATA_GOOD);
	for (;;) { /* seen though other calls than receive look at the socket first */
		assert_int_equal(fcmdata_alive(rig.h), 0);
		if (poll(&p, 1, 100) == 1 && fcmdata_receive(rig.h, 0, &b) == 1) {
			break;
		}
	}
}

/* The loop of whoever gives blocks to workers: nothing comes while all credit is out, and what is done is
 * acknowledged between two polls. It leaves without a flush, and without waiting for a duty's time. */
static void test_descriptor_and_acknowledgements(void **state)
{
	struct pollfd p = {.events = POLLIN};
	struct fcm_ack key[16];
	const struct fcmdata_block *b;
	unsigned n = 0;

	rig_open_member();
	p.fd = fcmdata_fd(rig.h);
	for (uint64_t k = 0; k < 16; k++) {
		rig_say_block(k, 0, FCMDATA_GOOD);
	}
	while (n < 16) {
		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		while (fcmdata_receive(rig.h, 0, &b) == 1) {
			key[n++] = b->key;
			fcmdata_release(rig.h, b);
		}
	}
	for (n = 0; n < 10; n++) { /* one by one: the loop is told */
		assert_int_equal(fcmdata_ack(rig.h, &key[n]), 0);
		assert_int_equal(poll(&p, 1, 0), 1);
		assert_int_equal(fcmdata_receive(rig.h, 0, &b), 0);
		assert_int_equal(rig_stats().acknowledged, n + 1);
	}
	for (; n < 14; n++) { /* a quarter of the credit: at once */
		assert_int_equal(fcmdata_ack(rig.h, &key[n]), 0);
	}
	assert_int_equal(rig_stats().acknowledged, 14);
	rig_expect_acks(0, 14);
}

/* A signal may come between the parts of a message, in and out: it stays whole. */
static void test_signal_inside_a_message(void **state)
{
	const struct fcmdata_block *b;

	rig_open_member();
	rig_say_block(0, 0, FCMDATA_GOOD);
	fcmdata_release(rig.h, rig_receive(0));
	interrupts.on = true;
	for (uint64_t n = 1; n < 9; n++) {
		rig_say_block(n, 0, FCMDATA_GOOD);
		b = rig_receive(n);
		assert_int_equal(fcmdata_ack(rig.h, &b->key), 0);
		fcmdata_release(rig.h, b);
	}
	rig_expect_acks(1, 8);
	interrupts.on = false;
	assert_true(interrupts.times > 32);
	assert_int_equal(rig_stats().strangers, 0);
	assert_int_equal(rig_stats().hellos, 1);
}

static void on_alarm(int number)
{
}

static void test_signal(void **state)
{
	const struct itimerval soon = {.it_interval = {0, 30000}, .it_value = {0, 30000}},
			       never = {{0}};
	struct sigaction action = {.sa_handler = on_alarm};
	const struct fcmdata_block *b;

	rig_open_member();
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	assert_int_equal(fcmdata_receive(rig.h, -1, &b), -EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	rig_say_block(0, 0, FCMDATA_GOOD);
	fcmdata_release(rig.h, rig_receive(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_duty_without_receiving, rig_set_up,
						rig_tear_down),
		cmocka_unit_test_setup_teardown(test_descriptor, rig_set_up, rig_tear_down),
		cmocka_unit_test_setup_teardown(test_descriptor_and_acknowledgements, rig_set_up,
						rig_tear_down),
		cmocka_unit_test_setup_teardown(test_signal_inside_a_message, rig_set_up,
						rig_tear_down),
		cmocka_unit_test_setup_teardown(test_signal, rig_set_up, rig_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
