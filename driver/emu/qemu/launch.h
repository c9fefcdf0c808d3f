/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU as a child process. It inherits two private sockets and gets the arguments that make the
 * board one of its devices. It ends when the emulator ends, for whatever reason.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define QEMU_DEVICE 0x1eu /* a number that the machine does not use itself */
#define QEMU_DEVFN  (QEMU_DEVICE << 3)

struct qemu_launch {
	char *const *command; /* QEMU and the user's arguments, NULL-terminated; NULL: none */
	unsigned memory_mib;  /* of the guest */
	const char *bus; /* PCI bus of the board, or its place there (rp0:0.1); NULL: the first */
	bool iommu;	 /* the guest has one, and the board is QEMU_DEVFN of the first bus */
};

struct qemu_child {
	pid_t pid;			/* 0: not ours to end */
	int pid_fd, proxy_fd, qtest_fd; /* pid_fd: -1 with no pid */
};

/* The user's arguments with ours behind them, NULL-terminated; free() it, and then *ret_text, which
 * holds ours. NULL without memory. */
char **qemu_arguments(const struct qemu_launch *l, int proxy_fd, int qtest_fd, char **ret_text);

int qemu_start(const struct qemu_launch *l, struct qemu_child *ret_child);
/* Ask it to end, insist after 3 s, and take its exit status (128 + signal when killed, as a shell says
 * it; 0 when it is not ours, negative errno). Also when it has ended by itself. */
int qemu_finish(struct qemu_child *c);
