/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops CAP_SYS_ADMIN of the calling thread for a test, and restores it. */
#pragma once

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Make it effective, if permitted, or not. -1: the kernel refused. */
static inline int privilege_admin(bool on)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	const uint32_t admin = 1u << CAP_SYS_ADMIN;

	if (syscall(SYS_capget, &head, data) != 0) {
		return -1;
	}
	data[0].effective = (data[0].effective & ~admin) | (on ? data[0].permitted & admin : 0);
	return (int)syscall(SYS_capset, &head, data);
}
