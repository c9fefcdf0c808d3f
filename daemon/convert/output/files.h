/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that only grow, for outputs of several of them: each is PREFIX and a name. Their lengths at the last commit are in
 * the state; who goes on cuts them to that. A file is made when it is first written to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILES_MAX  512u
#define FILES_NAME 48u

/* Kept with a commit. */
struct files_state {
	uint32_t n;
	struct {
		char name[FILES_NAME];
		uint64_t bytes, items; /* `items` is the caller's own count */
	} file[FILES_MAX];
};

struct files;

/* `state`: the caller's, lives as long; with `resume` the files in it are cut. `again`: what is there is written over.
 * 0, -ENOMEM, -ENAMETOOLONG, errno of truncate(2). */
int files_open(const char *prefix, struct files_state *state, bool resume, bool again,
	       struct files **ret_files);
void files_close(struct files *f); /* NULL is fine; what is not committed is dropped */

/* Its number; made with `head` bytes of 0. -E2BIG: too many; -EEXIST; errno of open(2). */
int files_find(struct files *f, const char *name, size_t head);
int files_put(struct files *f, int file, const void *bytes, size_t n);
/* Over its begin, at once. */
int files_put_head(struct files *f, int file, const void *bytes, size_t n);
/* All is written; the state has the lengths. `sync`: and on the disk. */
int files_commit(struct files *f, bool sync);
uint64_t files_length(const struct files *f, int file);
/* Its whole path; and of the file that failed last. */
const char *files_path(struct files *f, int file);
const char *files_failed(struct files *f);
