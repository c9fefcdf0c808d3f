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
/* A new file with the content of `from`, on the disk. ret_sum may be NULL. */
int files_copy(const char *from, const char *to, mode_t mode, char ret_sum[FILES_SUM],
	       struct sc_error *error);
/* A new file with this text, on the disk. */
int files_write(const char *path, const char *text, struct sc_error *error);
/* A file or directory is on the disk with all that was written. */
int files_sync(const char *path, struct sc_error *error);
/* The directories above `path` below `directory`. */
int files_make_parents(const char *directory, const char *name, struct sc_error *error);

/* {NAME: sum, ...} as lines of sha256sum, and back. */
int files_write_sums(const char *directory, const json_t *sums, struct sc_error *error);
int files_read_sums(const char *directory, json_t **ret_sums, struct sc_error *error);
/* All files have these sums. */
int files_check_sums(const char *directory, const json_t *sums, struct sc_error *error);
