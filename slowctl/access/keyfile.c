/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files with secret keys, see keyfile.h. */
#include "slowctl/access/keyfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "slowctl/access/file_guard.h"

#define FILE_BYTES 4096

static int keyfile_can(struct sc_error *error)
{
	if (zmq_has("curve")) {
		return 0;
	}
	return sc_fail(error, -ENOTSUP, "no-curve",
		       "install Debian's libzmq5, or one built with libsodium",
		       "this libzmq was built without CURVE: it cannot encrypt");
}

/* All of `text`, on the disk. */
static int write_out(int fd, const char *text)
{
	size_t length = strlen(text);
	ssize_t n = write(fd, text, length);

	if (n != (ssize_t)length) {
		return n < 0 ? -errno : -ENOSPC;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* A new file under its name only when it is whole: who is killed on the way leaves the name free. */
static int write_new(const char *path, const char *text)
{
	char beside[PATH_MAX];
	int fd, r;

	if (snprintf(beside, sizeof(beside), "%s.XXXXXX", path) >= (int)sizeof(beside)) {
		return -ENAMETOOLONG;
	}
	fd = mkostemp(beside, O_CLOEXEC); /* mode 600 */
	if (fd < 0) {
		return -errno;
	}
	r = write_out(fd, text);
	close(fd);
	if (r == 0 && link(beside, path) < 0) {
		r = -errno;
	}
	unlink(beside);
	return r;
}

int keyfile_make(const char *path, const char *owner, char ret_public[ACCESS_KEY_TEXT],
		 struct sc_error *error)
{
	char public[ACCESS_KEY_TEXT], secret[ACCESS_KEY_TEXT], text[512];
	int r = keyfile_can(error);

	if (r < 0) {
		return r;
	}
	r = zmq_curve_keypair(public, secret) < 0 ? -zmq_errno() : 0;
	if (r == 0) {
		snprintf(text, sizeof(text),
			 "# secret key of %s, made by fcmctl: who has it may do what the key may\n"
			 "# its public half: %s\n"
			 "secret %s\n",
			 owner, public, secret);
		r = write_new(path, text);
	}
	explicit_bzero(secret, sizeof(secret));
	explicit_bzero(text, sizeof(text));
	if (r < 0) {
		return sc_fail(error, r, "file",
			       r == -EEXIST ? "a key is never written over: name another file, or "
					      "move that one away"
			       : r == -ENOSPC ? "free space, or name another file"
					      : "name a file that can be made",
			       "%s: %s", path, strerror(-r));
	}
	memcpy(ret_public, public, sizeof(public));
	return 0;
}

/* The key behind "secret". */
static int find_secret(char *text, char ret_secret[ACCESS_KEY_TEXT])
{
	char *rest = NULL;

	for (char *line = strtok_r(text, "\r\n", &rest); line;
	     line = strtok_r(NULL, "\r\n", &rest)) {
		if (strncmp(line, "secret ", 7) == 0 && access_key_check(line + 7) == 0) {
			strcpy(ret_secret, line + 7);
			return 0;
		}
	}
	return -EINVAL;
}

int keyfile_read(uid_t user, const char *path, char ret_secret[ACCESS_KEY_TEXT],
		 char ret_public[ACCESS_KEY_TEXT], struct sc_error *error)
{
	const struct file_guard guard = {.user = user, .secret = true, .most = FILE_BYTES - 1};
	char text[FILE_BYTES] = "", secret[ACCESS_KEY_TEXT];
	ssize_t n;
	int r = keyfile_can(error), fd;

	if (r < 0) {
		return r;
	}
	r = file_guard_open(path, &guard, &fd, error);
	if (r < 0) {
		if (r == -ENOENT && error) {
			snprintf(error->hint, sizeof(error->hint), "make it: fcmctl key server");
		}
		return r;
	}
	n = read(fd, text, sizeof(text) - 1);
	r = n < 0 ? -errno : find_secret(text, secret);
	if (r < 0) {
		sc_fail(error, r, "file", "make one: fcmctl key server",
			"%s: has no line \"secret KEY\"", path);
	}
	close(fd);
	explicit_bzero(text, sizeof(text));
	if (r == 0 && zmq_curve_public(ret_public, secret) < 0) {
		r = sc_fail(error, -EINVAL, "file", "make another: fcmctl key server",
			    "%s: what it has is no key", path);
	}
	if (r == 0) {
		memcpy(ret_secret, secret, sizeof(secret));
	}
	explicit_bzero(secret, sizeof(secret));
	return r;
}
