// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The limits of a door to the byte and to the nanosecond, in the test's time; IPv6 and Unix sockets; descriptors that
 * libzmq has closed already; why somebody was refused. What crowds do to it is test_door.c's.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>
#include <zmq.h>

#include "daemon/net/door.h"
#include "daemon/core/now.h"
#include "tests/unit/rig/zmtp_rig.h"

#define PATIENCE_NS 5000000000ull
#define SHAKEN	    94u /* bytes of zmtp_shake_hands() */

static void *context, *router;
static struct door *door;
static uint64_t now; /* as the door is told */

static unsigned count_open(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 512; fd++) {
		count += fcntl(fd, F_GETFD) >= 0;
	}
	return count;
}

static struct door_status status(void)
{
	struct door_status s;

	door_get_status(door, &s);
	return s;
}

static void open_at(const char *where, struct door_config c)
{
	const int zero = 0;

	assert_null(door); /* else the test before has failed at its end */
	now = 1000000000000;
	c.name = "limits";
	context = c.context = zmq_ctx_new();
	router = c.socket = zmq_socket(context, ZMQ_ROUTER);
	assert_int_equal(zmq_setsockopt(router, ZMQ_LINGER, &zero, sizeof(zero)), 0);
	assert_int_equal(door_open(&c, &door), 0);
	assert_int_equal(door_bind(door, where), 0);
}

static void open_here(unsigned most, struct door_config c)
{
	c.most = c.most_a_source = most;
	open_at("tcp://127.0.0.1:*", c);
}

static int end(void **state)
{
	door_close(door);
	zmq_close(router);
	zmq_ctx_term(context);
	door = NULL;
	return 0;
}

static uint16_t port(void)
{
	return (uint16_t)strtoul(strrchr(door_endpoint(door), ':') + 1, NULL, 10);
}

static unsigned taken_messages;

static void take_messages(bool known)
{
	zmq_msg_t m;

	zmq_msg_init(&m);
	while (zmq_msg_recv(&m, router, ZMQ_DONTWAIT) >= 0) {
		if (!zmq_msg_more(&m)) {
			door_heard(door, zmq_msg_get(&m, ZMQ_SRCFD), known);
			taken_messages++;
		}
	}
	zmq_msg_close(&m);
}

/* The door's news, and messages, until it is so; no time passes. */
#define UNTIL(condition)                                                                           \
	do {                                                                                       \
		uint64_t end_ = now_mono_ns() + PATIENCE_NS;                                       \
		while (!(condition)) {                                                             \
			door_serve(door, now);                                                     \
			take_messages(false);                                                      \
			usleep(200);                                                               \
			assert_true(now_mono_ns() < end_);                                         \
		}                                                                                  \
	} while (0)

/* The next look. libzmq has taken what was sent a moment ago. */
static void look(void)
{
	usleep(20000);
	now += DOOR_WATCH_NS;
	door_watch(door, true, now);
}

static int come(void)
{
	int fd = zmtp_connect(port());

	UNTIL(status().accepted == 1);
	return fd;
}

static int come_in(void)
{
	uint64_t before = status().admitted;
	int fd = zmtp_connect(port());

	zmtp_shake_hands(fd);
	UNTIL(status().admitted == before + 1);
	return fd;
}

/* A whole message of so many bytes in all. */
static void send_message(int fd, unsigned bytes)
{
	static const uint8_t zeros[256];
	unsigned before = taken_messages;

	zmtp_send(fd, 0, zeros, (uint8_t)(bytes - 2));
	UNTIL(taken_messages == before + 1);
}

/* The beginning of a message that does not end. */
static void send_begin(int fd, unsigned bytes)
{
	static const uint8_t zeros[256];

	zmtp_send(fd, ZMTP_MORE, zeros, (uint8_t)(bytes - 2));
}

/* --- bytes and time --- */

static void test_bytes_behind_the_last_message_to_the_byte(void **state)
{
	int fd;

	open_here(10, (struct door_config){.unfinished = 200});
	fd = come_in();
	send_message(fd, 250);
	send_message(fd, 250); /* whole ones cost nothing */
	look();
	send_begin(fd, 100);
	look();
	send_begin(fd, 100);
	look();
	assert_int_equal(status().unfinished, 0);
	assert_true(zmtp_is_open(fd));
	send_begin(fd, 2);
	look();
	assert_int_equal(status().unfinished, 1);
	now += DOOR_WATCH_NS;
	door_watch(door, true, now); /* cut already */
	assert_int_equal(status().unfinished, 1);
	assert_false(zmtp_is_open(fd));
	UNTIL(status().ended == 1);
	close(fd);
}

static void test_bytes_of_a_life_to_the_byte(void **state)
{
	int fd;

	open_here(10, (struct door_config){.life = 500});
	fd = come_in();
	send_message(fd, 250);
	send_message(fd, 500 - 250 - SHAKEN);
	look();
	assert_int_equal(status().greedy, 0);
	assert_true(zmtp_is_open(fd));
	send_message(fd, 2);
	look();
	assert_int_equal(status().greedy, 1);
	assert_int_equal(status().unfinished + status().silent, 0);
	look();
	assert_int_equal(status().greedy, 1);
	assert_false(zmtp_is_open(fd));
	close(fd);
}

static void test_silence_to_the_nanosecond(void **state)
{
	const uint64_t silent_ns = 3 * DOOR_WATCH_NS;
	int fd;

	open_here(10, (struct door_config){.silent_ns = silent_ns});
	fd = come_in();
	now += silent_ns;
	door_watch(door, true, now);
	assert_int_equal(status().silent, 0);
	send_message(fd, 10);
	now += DOOR_WATCH_NS;
	door_watch(door, true, now); /* from now on it is silent */
	now += silent_ns;
	door_watch(door, true, now);
	assert_int_equal(status().silent, 0);
	assert_true(zmtp_is_open(fd));
	now += DOOR_WATCH_NS;
	door_watch(door, true, now);
	assert_int_equal(status().silent, 1);
	assert_false(zmtp_is_open(fd));
	close(fd);
}

/* Where messages wait to be taken, what has come is no sign of a message without end. */
static void test_it_looks_as_often_as_it_says(void **state)
{
	int fd;

	open_here(10, (struct door_config){.silent_ns = 1});
	fd = come_in();
	now += 2000000000;
	door_watch(door, true, now); /* it is cut: once so long */
	assert_int_equal(status().silent, 1);
	close(fd);
	UNTIL(status().ended == 1);
	fd = come_in();
	now += DOOR_WATCH_NS - 1;
	door_watch(door, true, now);
	assert_int_equal(status().silent, 1);
	now += 1;
	door_watch(door, true, now);
	assert_int_equal(status().silent, 2);
	close(fd);
	UNTIL(status().ended == 2);
	fd = come_in();
	now += 1000000000 - 1;
	door_watch(door, false, now);
	assert_int_equal(status().silent, 2);
	now += 1;
	door_watch(door, false, now);
	assert_int_equal(status().silent, 3);
	close(fd);
}

/* No limits: none is cut, whatever it does. */
static void test_without_limits_nobody_is_cut(void **state)
{
	int fd;

	open_here(10, (struct door_config){0});
	fd = come_in();
	for (unsigned i = 0; i < 10; i++) {
		send_begin(fd, 250);
		look();
	}
	now += 1000000000000;
	look();
	assert_true(zmtp_is_open(fd));
	assert_int_equal(status().silent + status().unfinished + status().greedy, 0);
	close(fd);
}

/* --- who is known --- */

/* Where lives are counted, who has said more than the greeting is known; those that are not go first. */
static void test_more_than_a_greeting_is_known(void **state)
{
	int greeted, known, third;

	open_here(2, (struct door_config){.life = 5000});
	known = come_in();
	send_message(known, 101 - SHAKEN);
	greeted = come_in();
	send_message(greeted, 100 - SHAKEN);
	look();
	third = come_in();
	UNTIL(status().crowded == 1 && status().ended == 1);
	assert_true(zmtp_is_open(known));
	assert_false(zmtp_is_open(greeted));
	assert_true(zmtp_is_open(third));
	close(known);
	close(greeted);
	close(third);
}

/* Where they are not, its owner says who is, however much a stranger says. */
static void test_a_talkative_stranger_is_one_still(void **state)
{
	int stranger, second;

	open_here(1, (struct door_config){0});
	stranger = come_in();
	send_message(stranger, 250);
	look();
	second = come_in();
	UNTIL(status().crowded == 1 && status().ended == 1);
	assert_false(zmtp_is_open(stranger));
	assert_true(zmtp_is_open(second));
	close(stranger);
	close(second);
}

/* --- why somebody was refused --- */

/* It asks for encryption, which this door has not. What is known is not lost to a later guess. */
static void test_a_reason_stays(void **state)
{
	static const uint8_t greeting[64] = {0xff, 0, 0, 0,   0,   0,	0,   0,	 1,
					     0x7f, 3, 0, 'C', 'U', 'R', 'V', 'E'};
	int fd, other;

	open_here(10, (struct door_config){0});
	other = come_in();
	fd = zmtp_connect(port());
	UNTIL(status().accepted == 2); /* heard of too late, its address would not be known */
	zmtp_send_all(fd, greeting, sizeof(greeting));
	UNTIL(status().refused == 1);
	assert_string_equal(status().last.why, "it does not encrypt (no CURVE), or we do not");
	assert_string_equal(status().last.address, "127.0.0.1");
	assert_string_equal(status().last.key, "");
	for (unsigned second = 0; second < 20; second++) {
		door_second(door);
	}
	assert_int_equal(status().refused, 1);
	assert_string_equal(status().last.address, "127.0.0.1");
	door_refused(door, "192.0.2.7", "0123456789", "a reason");
	assert_int_equal(status().refused, 2);
	assert_string_equal(status().last.address, "192.0.2.7");
	assert_string_equal(status().last.key, "01234567");
	assert_string_equal(status().last.why, "a reason");
	close(fd);
	close(other);
}

/* It came and went, or is here and says nothing; told when a handshake must be over. */
static void test_other_protocols_are_counted_when_they_must_be_over(void **state)
{
	int fd[3], later, ours;

	open_here(10, (struct door_config){0});
	ours = come_in();
	for (unsigned i = 0; i < 3; i++) {
		fd[i] = zmtp_connect(port());
	}
	UNTIL(status().accepted == 4);
	for (unsigned second = 0; second < 8; second++) {
		door_second(door);
		assert_int_equal(status().refused, 0);
	}
	door_second(door);
	assert_int_equal(status().refused, 3);
	assert_string_equal(status().last.why, "it speaks another protocol");
	for (unsigned second = 0; second < 20; second++) {
		door_second(door);
	}
	assert_int_equal(status().refused, 3);
	later = zmtp_connect(port());
	UNTIL(status().accepted == 5);
	for (unsigned second = 0; second < 20; second++) {
		door_second(door);
	}
	assert_int_equal(status().refused, 4);
	for (unsigned i = 0; i < 3; i++) {
		close(fd[i]);
	}
	close(later);
	close(ours);
}

/* Then there is no more: whoever serves it may sleep. */
static void test_one_turn_takes_all_news(void **state)
{
	int fd[3];

	open_here(10, (struct door_config){0});
	for (unsigned i = 0; i < 3; i++) {
		fd[i] = zmtp_connect(port());
	}
	usleep(100000);
	assert_false(door_serve(door, now));
	assert_int_equal(status().accepted, 3);
	for (unsigned i = 0; i < 3; i++) {
		close(fd[i]);
	}
}

/* Another door of this context has the name; it does not notice. */
static void test_a_name_that_is_taken(void **state)
{
	struct door_config c = {.name = "limits", .most = 1, .most_a_source = 1};
	struct door *none = NULL;
	int fd;

	open_here(10, (struct door_config){0});
	c.context = context;
	c.socket = zmq_socket(context, ZMQ_ROUTER);
	assert_int_equal(door_open(&c, &none), -EADDRINUSE);
	assert_null(none);
	zmq_close(c.socket);
	fd = come_in();
	close(fd);
}

/* --- other ways in --- */

static int connect_to(const void *address, socklen_t length)
{
	const struct sockaddr *to = address;
	int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, to, length), 0);
	return fd;
}

static void check_crowd_of_two(const void *address, socklen_t length, const char *name)
{
	int fd[2];

	for (unsigned i = 0; i < 2; i++) {
		fd[i] = connect_to(address, length);
		UNTIL(status().accepted == i + 1);
	}
	UNTIL(status().ended == 1);
	assert_int_equal(status().crowded, 1);
	assert_false(zmtp_is_open(fd[0]));
	assert_true(zmtp_is_open(fd[1]));
	zmtp_send_all(fd[1], "\xff\0\0\0\0\0\0\0\1\x7f\3\0XXXXX", 17);
	close(fd[1]); /* in the handshake */
	UNTIL(status().ended == 2);
	assert_string_equal(status().last.address, name);
	close(fd[0]);
}

static void test_ipv6(void **state)
{
	struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};

	open_at("tcp://[::1]:*", (struct door_config){.most = 10, .most_a_source = 1});
	to.sin6_port = htons(port());
	check_crowd_of_two(&to, sizeof(to), "::1");
}

static void test_unix_socket(void **state)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	char where[64];

	snprintf(to.sun_path, sizeof(to.sun_path), "/tmp/test_door_limits.%d", (int)getpid());
	snprintf(where, sizeof(where), "ipc://%.50s", to.sun_path);
	open_at(where, (struct door_config){.most = 1, .most_a_source = 10});
	check_crowd_of_two(&to, sizeof(to), "");
}

static void test_long_endpoints(void **state)
{
	char where[300];

	open_here(10, (struct door_config){0});
	memset(where, 'x', sizeof(where));
	memcpy(where, "ipc:///", 7);
	where[256] = '\0';
	assert_int_equal(door_bind(door, where), -EINVAL);
	where[255] = '\0';
	assert_int_equal(door_bind(door, where), -ENAMETOOLONG); /* libzmq's: it was asked */
	memcpy(where, "tcp://", 6);
	strcpy(where + 100, ":5710");
	assert_true(door_bind(door, where) < 0);
}

/* --- descriptors --- */

/* It came and went, and its number is another connection's of ours, before the door hears of either. */
static void test_a_number_that_is_anothers_already(void **state)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(to);
	int listener = socket(AF_INET, SOCK_STREAM, 0), theirs, fd, mine, accepted;
	uint64_t end_ns = now_mono_ns() + PATIENCE_NS;
	char c;

	open_here(0, (struct door_config){0}); /* whoever comes is too many */
	assert_int_equal(bind(listener, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&to, &length), 0);
	mine = connect_to(&to, sizeof(to));
	accepted = accept(listener, NULL, NULL);
	fd = zmtp_connect(port());
	do {
		theirs = zmtp_peer_of(fd);
		assert_true(now_mono_ns() < end_ns);
	} while (theirs < 0);
	usleep(20000);
	close(fd);
	while (fcntl(theirs, F_GETFD) >= 0) {
		assert_true(now_mono_ns() < end_ns);
	}
	assert_int_equal(dup2(accepted, theirs), theirs);
	UNTIL(status().ended == 1);
	assert_int_equal(status().crowded, 0);
	assert_int_equal(write(theirs, "x", 1), 1);
	assert_int_equal(read(mine, &c, 1), 1);
	close(theirs);
	close(accepted);
	close(mine);
	close(listener);
}

/* The number of a connection is the first that the table of them has not got. */
static void test_the_table_grows_with_the_numbers(void **state)
{
	int held[256], count = 0, fd, next;

	for (int number = 64; number <= 128; number *= 2) {
		open_here(0, (struct door_config){0});
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		while ((next = dup(fd)) < number - 1) {
			held[count++] = next;
		}
		held[count++] = next;
		assert_int_equal(next, number - 1);
		close(fd);
		fd = zmtp_connect(port()); /* in the place of the first one */
		UNTIL(status().accepted == 1);
		assert_int_equal(status().crowded, 1);
		assert_false(zmtp_is_open(fd)); /* at once */
		while (count > 0) {
			close(held[--count]);
		}
		close(fd);
		end(NULL);
	}
	open_here(0, (struct door_config){0}); /* for end() */
}

/* Started without a standard input: 0 is a descriptor as any other, of a connection or of the door for a moment. */
static void check_descriptor_zero(bool connection)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int input = fcntl(0, F_DUPFD_CLOEXEC, 3), fd = socket(AF_INET, SOCK_STREAM, 0);
	uint64_t end_ns = now_mono_ns() + PATIENCE_NS;

	open_here(0, (struct door_config){0});
	to.sin_port = htons(port());
	if (connection) {
		close(0);
	}
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	while (zmtp_peer_of(fd) < 0) {
		assert_true(now_mono_ns() < end_ns);
	}
	assert_int_equal(zmtp_peer_of(fd) == 0, connection);
	if (!connection) {
		close(0);
	}
	UNTIL(status().accepted == 1);
	assert_int_equal(status().crowded, 1);
	assert_false(zmtp_is_open(fd));
	UNTIL(fcntl(0, F_GETFD) < 0); /* ZeroMQ is done with it */
	assert_int_equal(dup2(input, 0), 0);
	close(input);
	close(fd);
}

static void test_descriptor_zero_is_a_connection(void **state)
{
	check_descriptor_zero(true);
}

static void test_descriptor_zero_listens(void **state)
{
	int input = fcntl(0, F_DUPFD_CLOEXEC, 3), fd, r;
	uint16_t first;

	open_here(10, (struct door_config){0});
	first = port();
	close(0);
	r = door_bind(door, "tcp://127.0.0.1:*");
	fd = come_in();
	assert_int_equal(r, 0);
	assert_int_not_equal(port(), first);
	close(fd);
	assert_int_equal(end(NULL), 0);
	assert_int_equal(dup2(input, 0), 0);
	close(input);
	open_here(0, (struct door_config){0}); /* for end() */
}

static void test_descriptor_zero_is_free(void **state)
{
	check_descriptor_zero(false);
}

static void test_a_door_leaves_nothing(void **state)
{
	unsigned before = count_open();
	size_t memory = 0;

	for (unsigned i = 0; i < 120; i++) {
		memory = i == 20 ? mallinfo2().uordblks : memory;
		open_here(i % 2, (struct door_config){0}); /* room for it, or not */
		for (unsigned n = 0; n < 10; n++) {
			assert_int_equal(door_bind(door, "tcp://127.0.0.1:*"), 0);
		}
		close(come());
		UNTIL(status().ended == 1);
		end(NULL);
		assert_int_equal(count_open(), before);
	}
	assert_in_range(mallinfo2().uordblks, 0, memory + 40000);
	door_close(NULL);
	open_here(0, (struct door_config){0}); /* for end() */
}

int main(void)
{
#define TEST(t) cmocka_unit_test_teardown(test_##t, end)
	const struct CMUnitTest tests[] = {
		TEST(bytes_behind_the_last_message_to_the_byte),
		TEST(bytes_of_a_life_to_the_byte),
		TEST(silence_to_the_nanosecond),
		TEST(it_looks_as_often_as_it_says),
		TEST(without_limits_nobody_is_cut),
		TEST(more_than_a_greeting_is_known),
		TEST(a_talkative_stranger_is_one_still),
		TEST(a_reason_stays),
		TEST(other_protocols_are_counted_when_they_must_be_over),
		TEST(ipv6),
		TEST(unix_socket),
		TEST(long_endpoints),
		TEST(a_number_that_is_anothers_already),
		TEST(the_table_grows_with_the_numbers),
		TEST(descriptor_zero_is_a_connection),
		TEST(descriptor_zero_is_free),
		TEST(descriptor_zero_listens),
		TEST(one_turn_takes_all_news),
		TEST(a_name_that_is_taken),
		TEST(a_door_leaves_nothing),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
