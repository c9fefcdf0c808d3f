// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The door of a ROUTER on loopback, and those who knock at it by plain TCP: crowds, bytes without end, silence. What
 * libzmq would do without it is what these tests fail by: it takes and keeps everything.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zmq.h>

#include "daemon/net/door.h"
#include "daemon/core/now.h"
#include "tests/unit/rig/zmtp_rig.h"

/* Waits end long before, on a busy machine too. */
#define PATIENCE_NS 60000000000ull
#define MOST	    12u
#define MOST_HERE   8u

static void *context, *router;
static struct door *door;
static uint16_t port;
static unsigned ends;
static bool endless_handshake;
static struct door_status s;

static void on_ended(void *arg, int fd)
{
	assert_ptr_equal(arg, &ends);
	assert_true(fd >= 0);
	ends++;
}

static struct door_status status(void)
{
	struct door_status now;

	door_get_status(door, &now);
	return now;
}

static void begin_at(const char *where, unsigned most, unsigned here, uint64_t unfinished,
		     uint64_t silent_ns)
{
	struct door_config c = {.name = "test",
				.most = most,
				.most_a_source = here,
				.unfinished = unfinished,
				.silent_ns = silent_ns,
				.ended = on_ended,
				.ended_context = &ends};
	char endpoint[64];
	size_t size = sizeof(endpoint);
	const int zero = 0;

	ends = 0;
	context = c.context = zmq_ctx_new();
	router = c.socket = zmq_socket(context, ZMQ_ROUTER);
	assert_int_equal(zmq_setsockopt(router, ZMQ_LINGER, &zero, sizeof(zero)), 0);
	assert_int_equal(door_open(&c, &door), 0);
	if (endless_handshake) {
		assert_int_equal(zmq_setsockopt(router, ZMQ_HANDSHAKE_IVL, &zero, sizeof(zero)), 0);
	}
	assert_int_equal(door_bind(door, where), 0);
	if (status().closed == 0) {
		assert_int_equal(zmq_getsockopt(router, ZMQ_LAST_ENDPOINT, endpoint, &size), 0);
		assert_string_equal(endpoint, door_endpoint(door));
	}
	port = (uint16_t)strtoul(strrchr(door_endpoint(door), ':') + 1, NULL, 10);
}

static void begin(unsigned most, unsigned here, uint64_t unfinished, uint64_t silent_ns)
{
	begin_at("tcp://127.0.0.1:*", most, here, unfinished, silent_ns);
}

static int end(void **state)
{
	door_close(door);
	door = NULL;
	zmq_close(router);
	zmq_ctx_term(context);
	return 0;
}

/* What the owner's loop does. `known`: whether who speaks is one of ours. */
static void serve(bool known)
{
	uint64_t now = now_mono_ns();
	zmq_msg_t m;

	while (door_serve(door, now)) {
		/* all of it */
	}
	zmq_msg_init(&m);
	while (zmq_msg_recv(&m, router, ZMQ_DONTWAIT) >= 0) {
		int fd = zmq_msg_get(&m, ZMQ_SRCFD);

		if (!zmq_msg_more(&m)) {
			door_heard(door, fd, known);
		}
	}
	zmq_msg_close(&m);
	door_watch(door, true, now);
}

#define SERVE_UNTIL(known, condition)                                                              \
	do {                                                                                       \
		uint64_t end_ = now_mono_ns() + PATIENCE_NS;                                       \
		do {                                                                               \
			serve(known);                                                              \
			usleep(1000);                                                              \
			s = status();                                                              \
		} while (!(condition) && now_mono_ns() < end_);                                    \
		assert_true(condition);                                                            \
	} while (0)

/* One more than may come from one address: the first of those that nobody knows goes, however many come. */
static void test_crowd_of_strangers(void **state)
{
	int fd[3 * MOST_HERE], ours;

	begin(MOST, MOST_HERE, 0, 0);
	ours = zmtp_connect(port);
	zmtp_shake_hands(ours);
	zmtp_send(ours, 0, "hello", 5);
	SERVE_UNTIL(true, s.admitted == 1);
	for (unsigned i = 0; i < 50; i++) {
		serve(true);
		usleep(1000);
	}
	for (unsigned i = 0; i < 3 * MOST_HERE; i++) {
		fd[i] = zmtp_connect(port);
		SERVE_UNTIL(false, s.accepted == i + 2);
	}
	SERVE_UNTIL(false, s.crowded == 2 * MOST_HERE + 1 && s.ended == s.crowded);
	assert_int_equal(ends, 2 * MOST_HERE + 1);
	assert_true(zmtp_is_open(ours));
	for (unsigned i = 0; i < 3 * MOST_HERE; i++) {
		assert_int_equal(zmtp_is_open(fd[i]), i >= 2 * MOST_HERE + 1);
		close(fd[i]);
	}
	close(ours);
	SERVE_UNTIL(false, s.ended == s.accepted);
}

/* All places are had by those that we know: the newest goes. */
static void test_crowd_of_our_own(void **state)
{
	int fd[MOST_HERE], more;

	begin(MOST, MOST_HERE, 0, 0);
	for (unsigned i = 0; i < MOST_HERE; i++) {
		fd[i] = zmtp_connect(port);
		zmtp_shake_hands(fd[i]);
		zmtp_send(fd[i], 0, "hello", 5);
	}
	SERVE_UNTIL(true, s.admitted == MOST_HERE);
	for (unsigned i = 0; i < 50; i++) {
		serve(true);
		usleep(1000);
	}
	more = zmtp_connect(port);
	SERVE_UNTIL(true, s.crowded == 1 && s.ended == 1);
	assert_false(zmtp_is_open(more));
	close(more);
	for (unsigned i = 0; i < MOST_HERE; i++) {
		assert_true(zmtp_is_open(fd[i]));
		close(fd[i]);
	}
}

/* From many addresses: the limit of all. 127.0.0.0/8 is ours. */
static void test_crowd_from_everywhere(void **state)
{
	int fd[MOST + 3];

	begin(MOST, MOST_HERE, 0, 0);
	for (unsigned i = 0; i < MOST + 3; i++) {
		fd[i] = zmtp_connect_from(0x7f000101u + i, port);
		SERVE_UNTIL(false, s.accepted == i + 1);
	}
	SERVE_UNTIL(false, s.crowded == 3 && s.ended == 3);
	for (unsigned i = 0; i < MOST + 3; i++) {
		assert_int_equal(zmtp_is_open(fd[i]), i >= 3);
		close(fd[i]);
	}
}

static void expect_cut(int fd, const void *bytes, size_t length, uint64_t most)
{
	uint64_t end_ns = now_mono_ns() + PATIENCE_NS, sent = 0;

	while (now_mono_ns() < end_ns) {
		ssize_t n = zmtp_is_open(fd) ? zmtp_try(fd, bytes, length) : -1;

		if (n < 0) {
			assert_in_range(sent, 1, most);
			return;
		}
		sent += (uint64_t)n;
		serve(true);
	}
	fail();
}

/* A message of parts without end, and one part without end. Whole messages may go on for ever. */
static void test_bytes_without_end(void **state)
{
	static uint8_t parts[20000], messages[20000], big[65536];
	uint64_t sent = 0, end_ns = now_mono_ns() + PATIENCE_NS;
	int fd;

	begin(MOST, MOST_HERE, 65536, 0);
	for (unsigned i = 0; i < sizeof(parts); i += 2) {
		parts[i] = ZMTP_MORE;
	}
	fd = zmtp_connect(port);
	zmtp_shake_hands(fd);
	while (sent < 4000000 && now_mono_ns() < end_ns) {
		ssize_t n = zmtp_try(fd, messages, sizeof(messages)); /* empty ones */

		assert_true(n >= 0);
		sent += (uint64_t)n;
		serve(false);
	}
	SERVE_UNTIL(true, s.admitted == 1);
	assert_true(zmtp_is_open(fd));
	expect_cut(fd, parts, sizeof(parts), 64u << 20);
	SERVE_UNTIL(true, s.unfinished == 1 && s.ended == 1);
	close(fd);
	fd = zmtp_connect(port);
	zmtp_shake_hands(fd);
	zmtp_send_all(fd, "\x02\x00\x00\x00\x00\x40\x00\x00\x00", 9); /* one of 1 GB */
	expect_cut(fd, big, sizeof(big), 64u << 20);
	SERVE_UNTIL(true, s.unfinished == 2 && s.ended == 2);
	close(fd);
}

static void test_silence(void **state)
{
	uint64_t begin_ns;
	int fd[2];

	begin(MOST, MOST_HERE, 0, 500000000);
	for (unsigned i = 0; i < 2; i++) {
		fd[i] = zmtp_connect(port);
		zmtp_shake_hands(fd[i]);
	}
	begin_ns = now_mono_ns();
	while (status().silent == 0 && now_mono_ns() - begin_ns < PATIENCE_NS) {
		zmtp_send(fd[0], 0, "alive", 5);
		serve(true);
		usleep(20000);
	}
	assert_true(now_mono_ns() - begin_ns >= 400000000);
	SERVE_UNTIL(true, s.silent == 1 && s.ended == 1);
	assert_true(zmtp_is_open(fd[0]));
	assert_false(zmtp_is_open(fd[1]));
	close(fd[0]);
	close(fd[1]);
}

/* libzmq has closed it, we have not heard of that yet, and its number is another's by now. */
static void test_number_of_another(void **state)
{
	int fd, pipe_fd[2], theirs = -1, copy;
	char c;

	begin(MOST, MOST_HERE, 0, 0);
	fd = zmtp_connect(port);
	SERVE_UNTIL(false, s.accepted == 1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pipe_fd), 0);
	theirs = zmtp_peer_of(fd); /* the ROUTER's end: it is in this process */
	assert_true(theirs >= 0);
	copy = dup(theirs);
	assert_int_equal(dup2(pipe_fd[1], theirs), theirs);
	door_cut(door, theirs);
	assert_int_equal(write(theirs, "x", 1), 1);
	assert_int_equal(read(pipe_fd[0], &c, 1), 1);
	assert_int_equal(dup2(copy, theirs), theirs);
	close(copy);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	close(fd);
}

/* A peer of another protocol is cut off and counted once, whether libzmq reports it or not. */
static void test_other_protocols(void **state)
{
	int fd;

	begin(MOST, MOST_HERE, 0, 0);
	fd = zmtp_connect(port);
	zmtp_send_all(fd, "GET / HTTP/1.0\r\n\r\n", 18);
	SERVE_UNTIL(false, s.ended == 1);
	for (unsigned i = 0; i < 20; i++) {
		door_second(door);
		serve(false);
	}
	s = status();
	assert_int_equal(s.refused, 1);
	assert_int_equal(s.admitted, 0);
	assert_non_null(s.last.why);
	close(fd);
}

/* libzmq 4.3.5 has no limit for such a peer. One that speaks ZeroMQ's protocol and has nothing to say stays. */
static void test_other_protocols_of_an_endless_handshake(void **state)
{
	int ours;

	endless_handshake = true;
	begin(MOST, MOST_HERE, 0, 0);
	endless_handshake = false;
	ours = zmtp_connect(port);
	zmtp_shake_hands(ours);
	SERVE_UNTIL(false, s.admitted == 1);
	for (unsigned i = 0; i < 2; i++) {
		int fd = zmtp_connect(port);

		zmtp_send_all(fd, "GET / HTTP/1.0\r\n\r\n", i * 18);
		SERVE_UNTIL(false, s.ended == i + 1);
		close(fd);
	}
	for (unsigned i = 0; i < 20; i++) {
		door_second(door);
		serve(false);
	}
	s = status();
	assert_int_equal(s.refused, 2);
	assert_int_equal(s.admitted, 1);
	assert_string_equal(s.last.why, "it speaks another protocol");
	assert_true(zmtp_is_open(ours));
	close(ours);
}

/* Another program has the port: it is tried again each second, and had when that program has gone. */
static void test_port_of_another(void **state)
{
	void *other_context = zmq_ctx_new(), *other = zmq_socket(other_context, ZMQ_ROUTER);
	char where[64];
	size_t size = sizeof(where);
	int fd;

	assert_int_equal(zmq_bind(other, "tcp://127.0.0.1:*"), 0);
	assert_int_equal(zmq_getsockopt(other, ZMQ_LAST_ENDPOINT, where, &size), 0);
	begin_at(where, MOST, MOST_HERE, 0, 0);
	assert_string_equal(door_endpoint(door), where);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(status().closed, -EADDRINUSE);
		serve(false);
		door_second(door);
	}
	zmq_close(other);
	zmq_ctx_term(other_context);
	door_second(door);
	assert_int_equal(status().closed, 0);
	assert_string_equal(door_endpoint(door), where);
	fd = zmtp_connect(port);
	zmtp_shake_hands(fd);
	SERVE_UNTIL(false, s.admitted == 1);
	close(fd);
}

static void test_endpoints(void **state)
{
	char where[64];

	begin_at("tcp://192.0.2.1:5710", MOST, MOST_HERE, 0, 0); /* not yet this machine's */
	assert_int_equal(status().closed, -EADDRNOTAVAIL);
	assert_int_equal(door_bind(door, "tcp://nonsense"), -EINVAL);
	assert_int_equal(door_bind(door, "nonsense"), -EINVAL);
	assert_int_equal(status().closed, 0);
	assert_int_equal(door_bind(door, "tcp://lo:*"), 0); /* libzmq's own words for an address */
	assert_memory_equal(door_endpoint(door), "tcp://127.0.0.1:", 16);
	assert_int_equal(door_bind(door, "tcp://*:*"), 0);
	assert_memory_equal(door_endpoint(door), "tcp://0.0.0.0:", 14);
	assert_int_equal(door_bind(door, "tcp://[::1]:*"), 0);
	assert_memory_equal(door_endpoint(door), "tcp://[::1]:", 12);
	snprintf(where, sizeof(where), "ipc:///tmp/test_door.%d", (int)getpid());
	assert_int_equal(door_bind(door, where), 0);
	assert_string_equal(door_endpoint(door), where);
}

/* The context is shut down: libzmq's own ETERM is no errno that the log could put into words. */
static void test_an_error_of_zeromqs_own_is_einval(void **state)
{
	struct door_config c = {.name = "test", .context = zmq_ctx_new()};

	c.socket = zmq_socket(c.context, ZMQ_ROUTER);
	zmq_ctx_shutdown(c.context);
	assert_int_equal(door_open(&c, &door), -EINVAL);
	assert_null(door);
	zmq_close(c.socket);
	zmq_ctx_term(c.context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_crowd_of_strangers, end),
		cmocka_unit_test_teardown(test_crowd_of_our_own, end),
		cmocka_unit_test_teardown(test_crowd_from_everywhere, end),
		cmocka_unit_test_teardown(test_bytes_without_end, end),
		cmocka_unit_test_teardown(test_silence, end),
		cmocka_unit_test_teardown(test_number_of_another, end),
		cmocka_unit_test_teardown(test_other_protocols, end),
		cmocka_unit_test_teardown(test_other_protocols_of_an_endless_handshake, end),
		cmocka_unit_test_teardown(test_port_of_another, end),
		cmocka_unit_test_teardown(test_endpoints, end),
		cmocka_unit_test(test_an_error_of_zeromqs_own_is_einval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
