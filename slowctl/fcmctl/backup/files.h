/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of a backup: their SHA-256, copies that are on the disk, and a list of sums that sha256sum -c reads. All errors
 * are negative errno, and `error` says which file and what to do.
 */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "slowctl/param/error.h"

#define FILES_SUM  65 /* hexadecimal, with its 0 */
#define FILES_SUMS "SHA256SUMS"

/* A path as printf() makes it; one that does not fit is "", which opens nothing. Return path. */
const char *files_name(char path[PATH_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* `name` in `directory`. */
const char *files_path(char path[PATH_MAX], const char *directory, const char *name);
/* Failed with `r` while `doing`: full disks are named as such. Returns r. */
int files_fail(struct sc_error *error, int r, const char *doing, const char *path);

int files_sum(const char *path, char ret_sum[FILES_SUM], struct sc_error *error);
/* Whose a new file is, and its mode. Only root gives files away. */
struct files_as {
	uid_t user;
	gid_t group;
	mode_t mode;
};
/* A new file with the content of `from`, on the disk. */
int files_copy(const char *from, const char *to, const struct files_as *as, char ret_sum[FILES_SUM],
	       struct sc_error *error);
/* A new file with this text, on the disk. */
int files_write(const char *path, const char *text, struct sc_error *error);
/* A file or directory is on the disk with all that was written. */
int files_sync(const char *path, struct sc_error *error);
/* The directories above `name` below `directory`. */
int files_make_parents(const char *directory, const char *name, mode_t mode,
		       struct sc_error *error);

/* {NAME: sum, ...} as lines of sha256sum, and back. */
int files_write_sums(const char *directory, const json_t *sums, struct sc_error *error);
int files_read_sums(const char *directory, json_t **ret_sums, struct sc_error *error);
/* All files have these sums. */
int files_check_sums(const char *directory, const json_t *sums, struct sc_error *error);
/* Only the caller and root can have written them: what is changed with its sum has a right sum. */
int files_check_writers(const char *directory, const json_t *sums, struct sc_error *error);
