/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listening sockets that systemd keeps: this test is the manager, its children are daemons one after the other. What
 * they store is received at $NOTIFY_SOCKET, and given to the next one as systemd does.
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
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <systemd/sd-daemon.h>

#include "daemon/net/listener.h"
#include "tests/unit/rig/checked_locks.h"

#define FAR	400 /* no descriptor of a daemon is above */
#define GIVEN	200
#define KEPT	32 /* of them */
#define NAME_31 "a-name-of-thirty-one-characters"

static char directory[] = "/tmp/test_listener.XXXXXX";
static int manager;	      /* receives what daemons say */
static char said[256];	      /* the last of it */
static int kept;	      /* the descriptor that came with it; -1 */
static struct sockaddr_in at; /* loopback, a free port */

static int begin(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t length = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", directory);
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(manager, (struct sockaddr *)&address, sizeof(address)), 0);
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	assert_int_equal(bind(fd, (struct sockaddr *)&at, length), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
	close(fd);
	kept = -1;
	return 0;
}

static int end(void **state)
{
	char path[128];

	if (kept >= 0) {
		close(kept);
	}
	close(manager);
	snprintf(path, sizeof(path), "%s/notify", directory);
	unlink(path);
	return rmdir(directory);
}

/* The next message to the manager; false: there is none. */
static bool hear(void)
{
	char control[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	struct iovec text = {said, sizeof(said) - 1};
	struct msghdr m = {.msg_iov = &text,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(manager, &m, 0);

	said[n > 0 ? n : 0] = '\0';
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); n > 0 && c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
			if (kept >= 0) {
				close(kept);
			}
			memcpy(&kept, CMSG_DATA(c), sizeof(kept));
		}
	}
	return n > 0;
}

/* A daemon: `life` says by its result, 0 to 255, how it went. It is given descriptors from 3 on, under these names. */
static int daemon_of_many(int (*life)(void), const int *given, unsigned count, const char *names)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		char number[16];

		alarm(20);
		close(manager);
		for (unsigned i = 0; i < count; i++) { /* out of the way */
			fcntl(given[i], F_DUPFD, FAR + (int)i);
		}
		for (unsigned i = 0; i < count; i++) {
			dup2(FAR + (int)i, 3 + (int)i);
			close(FAR + (int)i);
		}
		if (count > 0) {
			snprintf(number, sizeof(number), "%d", (int)getpid());
			setenv("LISTEN_PID", number, 1);
			snprintf(number, sizeof(number), "%u", count);
			setenv("LISTEN_FDS", number, 1);
			setenv("LISTEN_FDNAMES", names, 1);
		}
		_exit(life());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int daemon_of(int (*life)(void), int given, const char *name)
{
	return daemon_of_many(life, &given, given >= 0, name);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static unsigned count_open(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < FAR; fd++) {
		count += is_open(fd);
	}
	return count;
}

static int open_door(const struct sockaddr_in *address)
{
	return listener_open("door", (const struct sockaddr *)address, sizeof(*address));
}

/* Whether it listens, is not waited for, and is not left to programs that it starts. */
static bool is_well(int fd)
{
	int listens = 0, reuse = 0;
	socklen_t size = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens &&
	       getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, &size) == 0 && reuse &&
	       (fcntl(fd, F_GETFL) & O_NONBLOCK) && (fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static int first_life(void)
{
	int fd;

	listener_inherit();
	fd = open_door(&at);
	return fd >= 0 && is_well(fd) ? 0 : 1;
}

static bool try_bind(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	bool ok;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	ok = bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
	close(fd);
	return ok;
}

/* The one who came between the two daemons is accepted. */
static int second_life(void)
{
	int fd;

	listener_inherit();
	fd = open_door(&at);
	if (fd != 3 || !is_well(fd)) {
		return 1;
	}
	listener_settle();
	return accept(fd, NULL, NULL) >= 0 ? 0 : 2;
}

static void test_kept_between_daemons(void **state)
{
	int fd;

	assert_int_equal(daemon_of(first_life, -1, ""), 0);
	assert_true(hear());
	assert_string_equal(said, "FDSTORE=1\nFDNAME=door\nFDPOLL=0");
	assert_true(kept >= 0);
	assert_false(hear());
	assert_false(try_bind());
	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(daemon_of(second_life, kept, "door"), 0);
	assert_false(hear()); /* it lies there still */
	assert_false(try_bind());
	close(fd);
}

static int other_address_life(void)
{
	struct sockaddr_in other = at;
	unsigned before;
	int fd;

	listener_inherit();
	before = count_open();
	other.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	fd = open_door(&other);
	return fd < 0 || !is_well(fd) ? 1 : count_open() != before ? 2 : 0;
}

/* The configuration has another address: the kept socket is of no use to it. */
static void test_another_address(void **state)
{
	struct sockaddr_in got = {0};
	socklen_t length = sizeof(got);
	int old;

	assert_int_equal(daemon_of(first_life, -1, ""), 0);
	assert_true(hear());
	old = kept;
	kept = -1;
	assert_int_equal(daemon_of(other_address_life, old, "door"), 0);
	assert_true(hear());
	assert_string_equal(said, "FDSTOREREMOVE=1\nFDNAME=door");
	assert_int_equal(kept, -1);
	close(old); /* as systemd does */
	assert_true(try_bind());
	assert_true(hear());
	assert_string_equal(said, "FDSTORE=1\nFDNAME=door\nFDPOLL=0");
	assert_int_equal(getsockname(kept, (struct sockaddr *)&got, &length), 0);
	assert_int_equal(ntohl(got.sin_addr.s_addr), INADDR_LOOPBACK + 1);
}

/* A socket that is only bound, or no TCP at all, is not listened with. */
static void test_no_listener(void **state)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(daemon_of(first_life, pair[0], "door"), 0);
	assert_true(hear());
	assert_string_equal(said, "FDSTOREREMOVE=1\nFDNAME=door");
	assert_true(hear());
	assert_string_equal(said, "FDSTORE=1\nFDNAME=door\nFDPOLL=0");
	close(pair[0]);
	close(pair[1]);
}

static int no_door_life(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET};

	listener_inherit();
	listener_settle();
	if (is_open(3)) {
		return 1;
	}
	listener_settle(); /* nothing is left */
	return open_door(&any) == 3 ? 0 : 2;
}

/* The configuration has no such door any more. */
static void test_what_is_left(void **state)
{
	assert_int_equal(daemon_of(first_life, -1, ""), 0);
	assert_true(hear());
	assert_int_equal(daemon_of(no_door_life, kept, "door"), 0);
	assert_true(hear());
	assert_string_equal(said, "FDSTOREREMOVE=1\nFDNAME=door");
	assert_true(hear()); /* the door that it opened behind that */
	assert_string_equal(said, "FDSTORE=1\nFDNAME=door\nFDPOLL=0");
	assert_false(hear());
}

/* A kept socket is its name's only. */
static int other_name_life(void)
{
	listener_inherit();
	if (listener_open("other", (struct sockaddr *)&at, sizeof(at)) != -EADDRINUSE) {
		return 1;
	}
	return open_door(&at) == 3 ? 0 : 2;
}

static void test_another_name(void **state)
{
	assert_int_equal(daemon_of(first_life, -1, ""), 0);
	assert_true(hear());
	assert_int_equal(daemon_of(other_name_life, kept, "door"), 0);
	assert_false(hear());
}

static int twice_life(void)
{
	listener_inherit();
	if (open_door(&at) != 3 || is_open(4)) {
		return 1;
	}
	return open_door(&at) == -EADDRINUSE ? 0 : 2; /* both are spoken for */
}

/* One is used, the other closed: by their name systemd forgets both, so the one is kept once more. */
static void test_kept_twice(void **state)
{
	struct sockaddr_in got = {0};
	socklen_t length = sizeof(got);
	int given[2];

	assert_int_equal(daemon_of(first_life, -1, ""), 0);
	assert_true(hear());
	given[0] = given[1] = kept;
	assert_int_equal(daemon_of_many(twice_life, given, 2, "door:door"), 0);
	assert_true(hear());
	assert_string_equal(said, "FDSTOREREMOVE=1\nFDNAME=door");
	assert_true(hear());
	assert_string_equal(said, "FDSTORE=1\nFDNAME=door\nFDPOLL=0");
	assert_int_equal(getsockname(kept, (struct sockaddr *)&got, &length), 0);
	assert_int_equal(got.sin_port, at.sin_port);
	assert_false(hear());
}

static char many[GIVEN * 8 + 200000]; /* the names of GIVEN sockets: the third is much too long */

static void name_many(void)
{
	size_t length = (size_t)snprintf(many, sizeof(many), "n0:" NAME_31 ":" NAME_31 "x");

	memset(many + length, 'y', 190000);
	length += 190000;
	for (unsigned i = 3; i < GIVEN; i++) {
		length += (size_t)snprintf(many + length, sizeof(many) - length, ":n%u", i);
	}
}

static size_t memory(void)
{
	return mallinfo2().uordblks + mallinfo2().hblkhd;
}

/* Descriptors from 3 on, without the third: the first KEPT of them are open. */
static bool are_kept_right(void)
{
	for (int i = 0; i < GIVEN; i++) {
		if (is_open(3 + i) != (i != 2 && i <= KEPT)) {
			return false;
		}
	}
	return true;
}

/* malloc() keeps small pieces for later: after a few times it has all that are needed. */
static void ask_systemd(void)
{
	char **names = NULL;
	int count = sd_listen_fds_with_names(0, &names);

	for (int i = 0; i < count; i++) {
		free(names[i]);
	}
	free(names);
}

static int many_life(void)
{
	struct sockaddr *address = (struct sockaddr *)&at;
	size_t before;

	for (unsigned i = 0; i < 40; i++) {
		ask_systemd();
	}
	before = memory();
	listener_inherit();
	if (!are_kept_right()) {
		return 1;
	}
	if (memory() > before + 1000) {
		return 2;
	}
	if (listener_open(NAME_31, address, sizeof(at)) != 4 ||
	    listener_open("n32", address, sizeof(at)) != 3 + KEPT) {
		return 3;
	}
	unsetenv("NOTIFY_SOCKET"); /* the manager listens when we have ended: so much would wait */
	listener_settle();
	return is_open(3) || !is_open(4) || is_open(3 + KEPT - 1) || !is_open(3 + KEPT) ? 4 : 0;
}

/* More than there are places for, and names that are too long: they are closed. */
static void test_more_than_are_kept(void **state)
{
	int given[GIVEN];

	assert_int_equal(daemon_of(first_life, -1, ""), 0);
	assert_true(hear());
	name_many();
	for (unsigned i = 0; i < GIVEN; i++) {
		given[i] = kept;
	}
	assert_int_equal(daemon_of_many(many_life, given, GIVEN, many), 0);
	assert_false(hear());
}

/* ---- IPv6 ---- */

static struct sockaddr_in6 at6, asked6;

static int open_door6(void)
{
	return listener_open("door", (struct sockaddr *)&asked6, sizeof(asked6));
}

/* Whether what it opens is at the address that it asks for. */
static int life6(void)
{
	struct sockaddr_in6 got = {.sin6_family = AF_UNSPEC};
	socklen_t length = sizeof(got);
	int fd;

	listener_inherit();
	fd = open_door6();
	if (fd < 0 || !is_well(fd) || getsockname(fd, (struct sockaddr *)&got, &length) < 0) {
		return 1;
	}
	return got.sin6_family != AF_INET6 ||
			       memcmp(&got.sin6_addr, &asked6.sin6_addr, sizeof(got.sin6_addr)) ||
			       (asked6.sin6_port && asked6.sin6_port != got.sin6_port)
		       ? 2
		       : 0;
}

static int same_life6(void)
{
	listener_inherit();
	return open_door6() == 3 ? 0 : 1;
}

/* Kept at `address` and at6's port, the door is asked for at `asked` and `port`: a new socket. */
static void check_other6(const char *address, const char *asked, in_port_t port)
{
	assert_int_equal(inet_pton(AF_INET6, address, &at6.sin6_addr), 1);
	asked6 = at6;
	assert_int_equal(daemon_of(life6, -1, ""), 0);
	assert_true(hear());
	assert_int_equal(daemon_of(same_life6, kept, "door"), 0);
	assert_false(hear());
	assert_int_equal(inet_pton(AF_INET6, asked, &asked6.sin6_addr), 1);
	asked6.sin6_port = port;
	assert_int_equal(daemon_of(life6, kept, "door"), 0);
	assert_true(hear());
	assert_string_equal(said, "FDSTOREREMOVE=1\nFDNAME=door");
	assert_true(hear());
	assert_false(hear());
}

static void test_kept_ipv6(void **state)
{
	at6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = at.sin_port};
	check_other6("::1", "::1", 0); /* any port */
	check_other6("::ffff:127.0.0.1", "::ffff:127.0.0.2", at6.sin6_port);
	close(kept);
	kept = -1;
	assert_int_equal(daemon_of(first_life, -1, ""), 0); /* of IPv4 */
	assert_true(hear());
	asked6 = at6;
	assert_int_equal(inet_pton(AF_INET6, "::1", &asked6.sin6_addr), 1);
	assert_int_equal(daemon_of(life6, kept, "door"), 0);
	assert_true(hear());
	assert_string_equal(said, "FDSTOREREMOVE=1\nFDNAME=door");
}

/* ---- what cannot be had ---- */

static int taken_life(void)
{
	unsigned before;
	int r;

	listener_inherit();
	before = count_open();
	r = open_door(&at);
	return count_open() == before ? -r : 0;
}

/* Somebody has started it without a standard input: 0 is a descriptor as any other. */
static int descriptor_zero_life(void)
{
	close(0);
	errno = EPERM;
	listener_inherit();
	return open_door(&at) == 0 && is_well(0) ? 0 : 1;
}

static int descriptor_zero_taken_life(void)
{
	close(0);
	return taken_life();
}

static void test_descriptor_zero(void **state)
{
	assert_int_equal(daemon_of(descriptor_zero_life, -1, ""), 0);
	assert_true(hear());
	assert_string_equal(said, "FDSTORE=1\nFDNAME=door\nFDPOLL=0");
	assert_true(kept >= 0);
	assert_int_equal(daemon_of(descriptor_zero_taken_life, -1, ""), EADDRINUSE);
	assert_false(hear());
}

static void test_taken(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(daemon_of(taken_life, -1, ""), EADDRINUSE);
	assert_false(hear());
	assert_true(listener_may_wait(-EADDRINUSE));
	assert_true(listener_may_wait(-EADDRNOTAVAIL));
	assert_false(listener_may_wait(-EACCES));
	assert_false(listener_may_wait(0));
	close(fd);
	unsetenv("NOTIFY_SOCKET"); /* without systemd */
	assert_int_equal(daemon_of(first_life, -1, ""), 0);
	assert_false(hear());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kept_between_daemons, begin, end),
		cmocka_unit_test_setup_teardown(test_another_address, begin, end),
		cmocka_unit_test_setup_teardown(test_no_listener, begin, end),
		cmocka_unit_test_setup_teardown(test_what_is_left, begin, end),
		cmocka_unit_test_setup_teardown(test_another_name, begin, end),
		cmocka_unit_test_setup_teardown(test_kept_twice, begin, end),
		cmocka_unit_test_setup_teardown(test_more_than_are_kept, begin, end),
		cmocka_unit_test_setup_teardown(test_kept_ipv6, begin, end),
		cmocka_unit_test_setup_teardown(test_descriptor_zero, begin, end),
		cmocka_unit_test_setup_teardown(test_taken, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
