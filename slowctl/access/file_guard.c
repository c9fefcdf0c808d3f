/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks files that control access, see file_guard.h. It examines descriptors, from the file
 * upwards: no name is looked up twice, so nobody can put another file there in between.
 */
#include "slowctl/access/file_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITERS (S_IWGRP | S_IWOTH)
#define OTHERS	(S_IRWXG | S_IRWXO)
#define HINT	240

/* What to do, as a command on a name. */
static const char *hint(char text[HINT], const char *command, const char *name)
{
	snprintf(text, HINT, "%s %.170s", command, name);
	return text;
}

static const char *writers(const struct stat *st)
{
	return st->st_mode & S_IWOTH ? "anybody" : "its group";
}

/* ------------------------------------------------------------------------------- the file */

static int check_rights(const char *path, const struct stat *st, const struct file_guard *g,
			struct sc_error *error)
{
	/* As sshd: root may let a group read what is root's. So does systemd, by an ACL. */
	mode_t others = st->st_uid == g->user ? OTHERS : OTHERS & ~(mode_t)S_IRGRP;
	char text[HINT];

	if (st->st_uid != g->user && st->st_uid != 0) {
		snprintf(text, sizeof(text), "chown %u %s", (unsigned)g->user, path);
		return sc_fail(error, -EACCES, "owner", text,
			       "%s: belongs to uid %u; it must belong to uid %u or to root", path,
			       (unsigned)st->st_uid, (unsigned)g->user);
	}
	if (g->secret && st->st_mode & others) {
		return sc_fail(error, -EACCES, "mode",
			       hint(text,
				    "if somebody may have seen it, make a new one; else: chmod 600",
				    path),
			       "%s: others than its owner may read or write it (mode %03o)", path,
			       (unsigned)st->st_mode & 0777);
	}
	if (st->st_mode & WRITERS) {
		return sc_fail(error, -EACCES, "mode", hint(text, "chmod go-w", path),
			       "%s: %s may write to it (mode %03o), and let in whom they like",
			       path, writers(st), (unsigned)st->st_mode & 0777);
	}
	return 0;
}

static int check_file(const char *path, int fd, const struct file_guard *g, struct sc_error *error)
{
	struct stat st;
	int r = fstat(fd, &st) < 0 ? -errno : 0;

	if (r < 0) {
		return sc_fail(error, r, "file", NULL, "%s: %s", path, strerror(-r));
	}
	if (!S_ISREG(st.st_mode)) {
		return sc_fail(error, -EINVAL, "file", "name a file",
			       "%s: is no file, but a directory, pipe or device", path);
	}
	if ((uintmax_t)st.st_size > g->most) {
		return sc_fail(error, -EFBIG, "file", "name another file",
			       "%s: the file is longer than %zu bytes", path, g->most);
	}
	return check_rights(path, &st, g, error);
}

/* ------------------------------------------------------------------------ the directories above */

/* Its name, for people. */
static const char *name_of(int directory, char name[PATH_MAX])
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
	n = readlink(link, name, PATH_MAX - 1);
	if (n < 0) {
		return "a directory above";
	}
	name[n] = '\0';
	return name;
}

static int check_directory(const char *path, int directory, const struct stat *st, uid_t user,
			   struct sc_error *error)
{
	char buf[PATH_MAX], text[HINT];
	const char *name;

	if (st->st_uid != user && st->st_uid != 0) {
		name = name_of(directory, buf);
		return sc_fail(error, -EACCES, "owner",
			       "keep it in a directory of root's, as /etc/fcm-server",
			       "%s: %s belongs to uid %u, who can put another file in its place",
			       path, name, (unsigned)st->st_uid);
	}
	/* In a sticky one only its owner can replace what is in it, who has been looked at. */
	if (st->st_mode & WRITERS && !(st->st_mode & S_ISVTX)) {
		name = name_of(directory, buf);
		return sc_fail(
			error, -EACCES, "mode", hint(text, "chmod go-w", name),
			"%s: %s may write to %s (mode %03o), and put another file in its place",
			path, writers(st), name, (unsigned)st->st_mode & 07777);
	}
	return 0;
}

/* Look at a directory and go on to the one above: its descriptor instead of *directory; 0: that was the root. 1: go on. */
static int check_step(const char *path, int *directory, uid_t user, struct sc_error *error)
{
	struct stat st, above;
	int up, r;

	up = openat(*directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (up < 0 || fstat(*directory, &st) < 0 || fstat(up, &above) < 0) {
		r = -errno;
		sc_fail(error, r, "file", NULL, "%s: a directory above cannot be looked at: %s",
			path, strerror(-r));
	} else {
		r = check_directory(path, *directory, &st, user, error);
		r = r ? r : st.st_dev != above.st_dev || st.st_ino != above.st_ino;
	}
	if (up >= 0) {
		close(*directory);
		*directory = up;
	}
	return r;
}

/* ---------------------------------------------------------------------------------- opening */

/* The directory that has the file, and in *ret_name the file's name in it. */
static int open_directory(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
	char name[PATH_MAX] = ".";
	int fd;

	if (length >= sizeof(name)) {
		return -ENAMETOOLONG;
	}
	if (slash) {
		memcpy(name, path, length);
		name[length] = '\0';
	}
	*ret_name = slash ? slash + 1 : path;
	fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* 0 and *ret_fd, or why not, in words. */
static int open_in(int directory, const char *path, const char *name, int *ret_fd,
		   struct sc_error *error)
{
	/* A pipe must not hold us up, nor a terminal become ours. */
	int r, fd = openat(directory, *name ? name : ".",
			   O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);

	if (fd >= 0) {
		*ret_fd = fd;
		return 0;
	}
	r = -errno;
	if (r == -ELOOP) {
		return sc_fail(error, r, "link", "name the file that it leads to",
			       "%s: is a symbolic link, which is not followed", path);
	}
	return sc_fail(error, r, "file", "name a file that can be read", "%s: cannot be read: %s",
		       path, strerror(-r));
}

int file_guard_open(const char *path, const struct file_guard *guard, int *ret_fd,
		    struct sc_error *error)
{
	const char *name;
	int fd = -1, directory = open_directory(path, &name), r;

	if (directory < 0) {
		return sc_fail(error, directory, "file", "name a file that can be read",
			       "%s: cannot be read: %s", path, strerror(-directory));
	}
	r = open_in(directory, path, name, &fd, error);
	r = r ? r : check_file(path, fd, guard, error);
	if (r == 0) {
		do {
			r = check_step(path, &directory, guard->user, error);
		} while (r > 0);
	}
	close(directory);
	if (r == 0) {
		*ret_fd = fd;
	} else if (fd >= 0) {
		close(fd);
	}
	return r;
}

uid_t file_guard_user(const char *database)
{
	const char *name;
	struct stat st;
	int directory;
	bool known = stat(database, &st) == 0;

	if (!known) {
		directory = open_directory(database, &name);
		if (directory >= 0) {
			known = fstat(directory, &st) == 0;
			close(directory);
		}
	}
	return known ? st.st_uid : geteuid();
}
