/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks files that control access: allow lists, secret keys. It checks them as sshd checks
 * authorized_keys and private keys: a file that other users may write or replace is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "slowctl/param/error.h"

struct file_guard {
	uid_t user;  /* whose program relies on the file */
	bool secret; /* others may not read it either */
	size_t most; /* bytes */
};

/*
 * Open `path` to read and check what was opened. 0 and *ret_fd, a regular file of at most `most` bytes; else negative
 * errno, and `error` says what is wrong, with which file or directory, and what to do:
 * -EACCES: file, or a directory above it, belongs neither to `user` nor to root, or group or others may write to it (to
 * a directory they may where it is sticky, as /tmp). Of a secret also: group or others may read it; the group of root's
 * own file may, which is how root gives it to a service.
 * -ELOOP: a symbolic link (directories above may be such); -EINVAL: no regular file; -EFBIG; else what open(2) says.
 */
int file_guard_open(const char *path, const struct file_guard *guard, int *ret_fd,
		    struct sc_error *error);

/* The user of the daemon that has this database, for programs that read its files: the owner of the
 * database, or of the directory where it will be; the caller if neither exists. */
uid_t file_guard_user(const char *database);
