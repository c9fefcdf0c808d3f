/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libnanet3 and drivers of other versions: a driver of a few lines on a socket, in a process of its own. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "driver/lib/libnanet3.h"
#include "driver/nanet3_socket.h"

/* How it answers INFO. */
struct driver {
	uint32_t bytes;	 /* that it knows of the struct; it refuses all others */
	uint32_t answer; /* the version that it says it speaks from now on */
	int result;
	int refusal; /* of other lengths */
};

static void answer(int fd, const struct driver *d)
{
	struct {
		struct nanet3_sock_head head;
		uint8_t arg[NANET3_SOCK_MAX];
	} p = {0};
	struct nanet3_info info = {.version = d->answer, .links = 4, .name = "nanet3-9"};
	int event_fd = eventfd(0, 0);
	struct iovec iov = {&p, 0};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (recv(fd, &p, sizeof(p), 0) < (ssize_t)sizeof(p.head)) {
		_exit(0);
	}
	p.head.result = p.head.size == d->bytes ? d->result : d->refusal;
	p.head.size = p.head.result == 0 ? p.head.size : 0;
	memcpy(p.arg, &info, p.head.size);
	iov.iov_len = sizeof(p.head) + p.head.size;
	if (p.head.result == 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		*CMSG_FIRSTHDR(&msg) = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
							.cmsg_level = SOL_SOCKET,
							.cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), &event_fd, sizeof(event_fd));
	}
	sendmsg(fd, &msg, 0);
	close(event_fd);
}

static pid_t start(const char *path, const struct driver *d)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	pid_t pid;

	unlink(path);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = accept(listener, NULL, NULL);
		for (;;) {
			answer(fd, d);
		}
	}
	assert_true(pid > 0);
	close(listener);
	return pid;
}

static void other_drivers(void **state)
{
	static const struct {
		struct driver driver;
		int expected;
	} rows[] = {
		{{sizeof(struct nanet3_info), NANET3_ABI_VERSION, 0, -ENOTTY}, 0},
		/* Older ones: they know the first fields only, and exactly so many bytes. */
		{{NANET3_INFO_LEAST, NANET3_ABI_VERSION, 0, -ENOTTY}, 0},
		{{NANET3_INFO_LEAST, NANET3_ABI_VERSION, 0, -EINVAL}, 0},
		{{NANET3_INFO_LEAST, NANET3_ABI_VERSION, -EPROTO, -ENOTTY}, -EPROTO},
		/* It has not understood what we speak. */
		{{sizeof(struct nanet3_info), NANET3_ABI_VERSION + 1, 0, -ENOTTY}, -EPROTO},
		{{sizeof(struct nanet3_info), NANET3_ABI_VERSION_MIN - 1, 0, -ENOTTY}, -EPROTO},
		/* Nothing that was ever a driver. */
		{{8, NANET3_ABI_VERSION, 0, -ENOTTY}, -ENOTTY},
	};
	char path[64], where[80];

	snprintf(path, sizeof(path), "/tmp/test_lib_versions-%d.sock", (int)getpid());
	snprintf(where, sizeof(where), "unix:%s", path);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pid_t pid = start(path, &rows[i].driver);
		struct nanet3 *b = NULL;

		assert_int_equal(nanet3_open_read_only(where, &b), rows[i].expected);
		if (rows[i].expected == 0) {
			assert_int_equal(nanet3_info(b)->version, NANET3_ABI_VERSION);
			assert_string_equal(nanet3_info(b)->name, "nanet3-9");
			nanet3_close(b);
		}
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_drivers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
