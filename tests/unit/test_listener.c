/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listening sockets that systemd keeps: this test is the manager, its children are daemons one after the other. What
 * they store is received at $NOTIFY_SOCKET, and given to the next one as systemd does.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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

#include "daemon/listener.h"

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

	(void)state;
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

	(void)state;
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

/* A daemon: `life` says by its result, 0 to 255, how it went. */
static int daemon_of(int (*life)(void), int given, const char *name)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		char number[16];

		if (given >= 0) {
			snprintf(number, sizeof(number), "%d", (int)getpid());
			setenv("LISTEN_PID", number, 1);
			setenv("LISTEN_FDS", "1", 1);
			setenv("LISTEN_FDNAMES", name, 1);
			dup2(given, 3);
		}
		close(manager == 3 ? -1 : manager);
		_exit(life());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int open_door(const struct sockaddr_in *address)
{
	return listener_open("door", (const struct sockaddr *)address, sizeof(*address));
}

/* Whether it listens, is not waited for, and is not left to programs that it starts. */
static bool is_well(int fd)
{
	int listens = 0;
	socklen_t size = sizeof(listens);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens &&
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

	(void)state;
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
	int fd;

	listener_inherit();
	other.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	fd = open_door(&other);
	return fd < 0 || !is_well(fd) ? 1 : 0;
}

/* The configuration has another address: the kept socket is of no use to it. */
static void test_another_address(void **state)
{
	struct sockaddr_in got = {0};
	socklen_t length = sizeof(got);
	int old;

	(void)state;
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

	(void)state;
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
	listener_inherit();
	listener_settle();
	return fcntl(3, F_GETFD) < 0 ? 0 : 1;
}

/* The configuration has no such door any more. */
static void test_what_is_left(void **state)
{
	(void)state;
	assert_int_equal(daemon_of(first_life, -1, ""), 0);
	assert_true(hear());
	assert_int_equal(daemon_of(no_door_life, kept, "door"), 0);
	assert_true(hear());
	assert_string_equal(said, "FDSTOREREMOVE=1\nFDNAME=door");
	assert_false(hear());
}

static int taken_life(void)
{
	listener_inherit();
	return -open_door(&at);
}

static void test_taken(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
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
		cmocka_unit_test_setup_teardown(test_taken, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
