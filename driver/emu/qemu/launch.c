/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QEMU as a child process: see launch.h. */
#include "driver/emu/qemu/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS   3000
#define OUR_ARGUMENTS 24u
#define NOT_STARTED   127 /* exit status, as a shell says it */

/* ------------------------------------------------------------------------ the command line */

static bool names(char *const *command, const char *option)
{
	for (unsigned i = 1; command[i] != NULL; i++) {
		const char *word = command[i];

		if (strcmp(word[0] == '-' && word[1] == '-' ? word + 1 : word, option) == 0) {
			return true;
		}
	}
	return false;
}

/*
 * What must be: memory in a file that can be shared; one thread for all vCPUs, since two that reach for
 * the device at once lock QEMU 7.2 up for good (the device's lock and the big one, in either order);
 * qtest for the interrupts; the device. Ours come last, so that the bus is there and -m is ours.
 */
char **qemu_arguments(const struct qemu_launch *l, int proxy_fd, int qtest_fd, char **ret_text)
{
	const char *bus = l->bus != NULL ? l->bus : "", *place = strchrnul(bus, ':');
	const char *addr = *place != '\0' ? place + 1 : "";
	char *text, *rest, **argv, device[16];
	unsigned n = 0;

	if (l->iommu) { /* whose tables go by this number */
		snprintf(device, sizeof(device), "%x", QEMU_DEVICE);
		addr = device;
	}
	if (asprintf(&text,
		     "%s-m %uM -object memory-backend-memfd,id=nanet3-ram,size=%uM,share=on "
		     "-machine memory-backend=nanet3-ram "
		     "-chardev socket,id=nanet3-qtest,fd=%d "
		     "-object qtest,id=nanet3-msi,chardev=nanet3-qtest,log=none "
		     "%s-device x-pci-proxy-dev,id=nanet3,fd=%d%s%.*s%s%s",
		     names(l->command, "-accel") ? "" : "-accel tcg,thread=single ", l->memory_mib,
		     l->memory_mib, qtest_fd, l->iommu ? "-device intel-iommu,intremap=off " : "",
		     proxy_fd, l->bus != NULL ? ",bus=" : "", (int)(place - bus), bus,
		     *addr != '\0' ? ",addr=" : "", addr) < 0) {
		return NULL;
	}
	while (l->command[n] != NULL) {
		n++;
	}
	argv = calloc(n + OUR_ARGUMENTS, sizeof(*argv));
	if (argv == NULL) {
		free(text);
		return NULL;
	}
	memcpy(argv, l->command, n * sizeof(*argv));
	for (rest = text; rest != NULL;) {
		argv[n++] = strsep(&rest, " ");
	}
	*ret_text = text;
	return argv;
}

/* ------------------------------------------------------------------------ start */

/* In the child. It must die with its parent, which may be gone already. */
static _Noreturn void become_qemu(const struct qemu_launch *l, pid_t parent, int proxy_fd,
				  int qtest_fd)
{
	char *text, **argv = qemu_arguments(l, proxy_fd, qtest_fd, &text);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	fcntl(proxy_fd, F_SETFD, 0); /* to be kept over the exec */
	fcntl(qtest_fd, F_SETFD, 0);
	if (argv != NULL && argv[0] != NULL && getppid() == parent) {
		execvp(argv[0], argv);
		fprintf(stderr, "nanet3-emu: %s: %s\n", argv[0], strerror(errno));
	}
	_exit(NOT_STARTED);
}

static void close_pair(const int pair[2])
{
	close(pair[0]);
	close(pair[1]);
}

int qemu_start(const struct qemu_launch *l, struct qemu_child *ret_child)
{
	int proxy[2], qtest[2], err;
	const pid_t parent = getpid();
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, proxy) != 0) {
		return -errno;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, qtest) != 0) {
		err = -errno;
		close_pair(proxy);
		return err;
	}
	pid = fork();
	if (pid == 0) {
		become_qemu(l, parent, proxy[1], qtest[1]);
	}
	err = -errno;
	if (pid < 0) {
		close_pair(proxy);
		close_pair(qtest);
		return err;
	}
	close(proxy[1]);
	close(qtest[1]);
	*ret_child = (struct qemu_child){pid, pidfd_open(pid, 0), proxy[0], qtest[0]};
	if (ret_child->pid_fd < 0) {
		err = -errno;
		qemu_finish(ret_child);
		return err;
	}
	return 0;
}

/* ------------------------------------------------------------------------ end */

static bool ended(const struct qemu_child *c, int timeout_ms)
{
	struct pollfd p = {.fd = c->pid_fd, .events = POLLIN};

	return c->pid_fd >= 0 && poll(&p, 1, timeout_ms) > 0;
}

static int end(const struct qemu_child *c)
{
	int status, r;

	if (!ended(c, PATIENCE_MS)) {
		kill(c->pid, SIGKILL);
	}
	do {
		r = waitpid(c->pid, &status, 0);
	} while (r < 0 && errno == EINTR);
	if (r < 0) {
		return -errno;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int qemu_finish(struct qemu_child *c)
{
	int status = 0;

	if (c->pid > 0 && !ended(c, 0)) {
		kill(c->pid, SIGTERM);
	}
	/* It may be stuck in a question to us: with the sockets closed the answer is all ones. */
	close(c->proxy_fd);
	close(c->qtest_fd);
	if (c->pid > 0) {
		status = end(c);
	}
	if (c->pid_fd >= 0) {
		close(c->pid_fd);
	}
	return status;
}
