/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files with the secret keys of CURVE (ZeroMQ's encryption): comments that begin with '#' and one line
 * `secret KEY`, readable only by its owner. A secret is written nowhere else.
 */
#pragma once

#include "slowctl/access/access.h"
#include "slowctl/param/error.h"

/* A new key pair: the secret into a new file, mode 0600; its public half. -EEXIST: never over another;
 * negative errno, `error` is filled; -ENOTSUP: this libzmq cannot encrypt. `owner`: whose it is, for the comment. */
int keyfile_make(const char *path, const char *owner, char ret_public[ACCESS_KEY_TEXT],
		 struct sc_error *error);

/* The secret key in `path`, its public half. Negative errno, `error` is filled: -ENOTSUP, as file_guard_open() of a
 * secret of `user`'s, whose program uses it; -EINVAL: no key in it. Wipe *ret_secret when it has been used. */
int keyfile_read(uid_t user, const char *path, char ret_secret[ACCESS_KEY_TEXT],
		 char ret_public[ACCESS_KEY_TEXT], struct sc_error *error);
