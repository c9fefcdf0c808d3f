/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of a backup: see files.h. */
#include "slowctl/fcmctl/backup/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slowctl/access/file_guard.h"

#define CHUNK (256u * 1024)

const char *files_name(char path[PATH_MAX], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vsnprintf(path, PATH_MAX, format, args) >= PATH_MAX) {
		path[0] = '\0';
	}
	va_end(args);
	return path;
}

const char *files_path(char path[PATH_MAX], const char *directory, const char *name)
{
	return files_name(path, "%s/%s", directory, name);
}

int files_fail(struct sc_error *error, int r, const char *doing, const char *path)
{
	const char *hint = r == -EACCES || r == -EPERM
				   ? "Be root, or the user of the daemon (sudo -u fcm)."
				   : "Look at the disk and at the system log.";

	if (r == -ENOSPC || r == -EDQUOT || r == -EFBIG) {
		return sc_fail(error, r, "disk-full",
			       "Free space on that disk, or name another directory.",
			       "the disk is full: %s cannot be %s", path, doing);
	}
	return sc_fail(error, r, "failed", hint, "%s cannot be %s: %s", path, doing, strerror(-r));
}

/* Writes all of it; 0 or negative errno. */
static int put(int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		bytes += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* All of `from` into the sum, and into `to` unless that is negative. *ret_read: the error is of reading. */
static int stream(int from, int to, char ret_sum[FILES_SUM], bool *ret_read)
{
	char *chunk = malloc(CHUNK);
	SHA2_CTX sum;
	ssize_t n = chunk != NULL ? 1 : -1;
	int r = chunk != NULL ? 0 : -ENOMEM;

	SHA256Init(&sum);
	*ret_read = false;
	while (r == 0 && n > 0) {
		n = read(from, chunk, CHUNK);
		if (n < 0) {
			r = -errno;
			*ret_read = true;
		} else {
			SHA256Update(&sum, (const uint8_t *)chunk, (size_t)n);
			r = to >= 0 ? put(to, chunk, (size_t)n) : 0;
		}
	}
	SHA256End(&sum, ret_sum);
	free(chunk);
	return r;
}

int files_sum(const char *path, char ret_sum[FILES_SUM], struct sc_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;
	bool reading;

	r = fd < 0 ? -errno : stream(fd, -1, ret_sum, &reading);
	if (fd >= 0) {
		close(fd);
	}
	return r < 0 ? files_fail(error, r, "read", path) : 0;
}

int files_copy(const char *from, const char *to, const struct files_as *as, char ret_sum[FILES_SUM],
	       struct sc_error *error)
{
	bool reading = false;
	int in = open(from, O_RDONLY | O_CLOEXEC), out, r = 0;

	if (in < 0) {
		return files_fail(error, -errno, "read", from);
	}
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	r = out < 0 ? -errno : stream(in, out, ret_sum, &reading);
	if (r == 0 && geteuid() == 0 && fchown(out, as->user, as->group) < 0) {
		r = -errno;
	}
	if (r == 0 && (fchmod(out, as->mode) < 0 || fsync(out) < 0)) {
		r = -errno;
	}
	if (out >= 0) {
		close(out);
	}
	close(in);
	return r < 0 ? files_fail(error, r, reading ? "read" : "written", reading ? from : to) : 0;
}

int files_write(const char *path, const char *text, struct sc_error *error)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	int r = fd < 0 ? -errno : put(fd, text, strlen(text));

	if (r == 0 && fsync(fd) < 0) {
		r = -errno;
	}
	if (fd >= 0) {
		close(fd);
	}
	return r < 0 ? files_fail(error, r, "written", path) : 0;
}

int files_sync(const char *path, struct sc_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 || fsync(fd) < 0 ? -errno : 0;

	if (fd >= 0) {
		close(fd);
	}
	return r < 0 ? files_fail(error, r, "written", path) : 0;
}

int files_make_parents(const char *directory, const char *name, mode_t mode, struct sc_error *error)
{
	char path[PATH_MAX];
	size_t base = strlen(directory) + 1;

	files_path(path, directory, name);
	for (char *slash = strchr(path + base, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, mode) < 0 && errno != EEXIST) {
			return files_fail(error, -errno, "made", path);
		}
		*slash = '/';
	}
	return 0;
}

/* ------------------------------------------------------------------ sums */

int files_write_sums(const char *directory, const json_t *sums, struct sc_error *error)
{
	char path[PATH_MAX], *text = NULL;
	size_t size = 0;
	const char *name;
	const json_t *sum;
	FILE *f = open_memstream(&text, &size);
	int r;

	if (f == NULL) {
		return files_fail(error, -ENOMEM, "written", FILES_SUMS);
	}
	json_object_foreach ((json_t *)(uintptr_t)sums, name, sum) {
		fprintf(f, "%s  %s\n", json_string_value(sum), name);
	}
	r = fclose(f) == 0 ? 0 : files_fail(error, -ENOMEM, "written", FILES_SUMS);
	r = r == 0 ? files_write(files_path(path, directory, FILES_SUMS), text, error) : r;
	free(text);
	return r;
}

/* "SUM  NAME\n"; names stay below the directory. */
static int take_line(json_t *sums, char *line)
{
	size_t length = strcspn(line, "\n");
	char *name = line + FILES_SUM + 1;

	if (line[length] != '\n' || length < FILES_SUM + 2 || line[FILES_SUM - 1] != ' ' ||
	    line[FILES_SUM] != ' ' || strspn(line, "0123456789abcdef") != FILES_SUM - 1 ||
	    *name == '/' || strstr(name, "..") != NULL) {
		return -EUCLEAN;
	}
	line[length] = line[FILES_SUM - 1] = '\0';
	return json_object_set_new(sums, name, json_string(line)) == 0 ? 0 : -EUCLEAN;
}

int files_read_sums(const char *directory, json_t **ret_sums, struct sc_error *error)
{
	char path[PATH_MAX], *line = NULL;
	size_t size = 0;
	json_t *sums = json_object();
	FILE *f = fopen(files_path(path, directory, FILES_SUMS), "re");
	int r = f != NULL ? 0 : -errno;

	while (r == 0 && getline(&line, &size, f) > 0) {
		r = take_line(sums, line);
	}
	free(line);
	if (f != NULL) {
		fclose(f);
	}
	if (r == 0 && json_object_size(sums) > 0) {
		*ret_sums = sums;
		return 0;
	}
	json_decref(sums);
	return sc_fail(error, r < 0 ? r : -EUCLEAN, "failed",
		       "Name a directory that fcmctl backup has written.",
		       r == -ENOENT ? "%s is no backup: it has no " FILES_SUMS
				    : "%s is no backup: its " FILES_SUMS " cannot be read",
		       directory);
}

int files_check_sums(const char *directory, const json_t *sums, struct sc_error *error)
{
	char path[PATH_MAX], is[FILES_SUM];
	const char *name;
	const json_t *sum;

	json_object_foreach ((json_t *)(uintptr_t)sums, name, sum) {
		int r = files_sum(files_path(path, directory, name), is, error);

		if (r < 0) {
			return r;
		}
		if (strcmp(is, json_string_value(sum)) != 0) {
			return sc_fail(error, -EUCLEAN, "damaged",
				       "Use another backup; nothing was changed.",
				       "%s is damaged: its SHA-256 is not that of " FILES_SUMS,
				       path);
		}
	}
	return 0;
}

static int check_writers(const char *path, struct sc_error *error)
{
	const struct file_guard guard = {.user = geteuid(), .most = SIZE_MAX};
	int fd = -1, r = file_guard_open(path, &guard, &fd, error);

	if (fd >= 0) {
		close(fd);
	}
	return r;
}

int files_check_writers(const char *directory, const json_t *sums, struct sc_error *error)
{
	char path[PATH_MAX];
	const char *name;
	const json_t *sum;
	int r = check_writers(files_path(path, directory, FILES_SUMS), error);

	json_object_foreach ((json_t *)(uintptr_t)sums, name, sum) {
		r = r == 0 ? check_writers(files_path(path, directory, name), error) : r;
	}
	return r;
}
