/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What makes a conversion go on after kill -9 or on a full disk: a file OUTPUT.resume beside the output while that is
 * being made. It says up to where the output is complete (the last commit) and what the converter knew then.
 *
 * Files that only grow are cut to their length of then. An HDF5 file does not only grow: before anything in its first
 * `mark` bytes is overwritten, what is there is appended to the journal, and rolling back puts it there again, the last
 * first.
 *
 *   OUTPUT.resume   header, the parts of the state, their checksum; then what was overwritten since, record by record
 *
 * A commit writes a new journal and renames it: one step. Nothing is synced but for the last commit of a process, so a
 * crash of the machine in between ends all trust; the journal knows that by the kernel's boot id.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_PARTS 8u

struct journal_part {
	void *bytes;
	size_t n;
};

struct journal;

/* For an output that begins. Nothing is written before the first commit. -ENOMEM. */
int journal_create(const char *output, struct journal **ret_journal);
/* The journal of one that was left: its state goes into `parts`, which must be of the sizes kept. -ENOENT: there is none;
 * -EBADMSG: damaged, or of another version of this program; -ESTALE: the machine was restarted since; -ENOMEM; errno
 * of open(2). */
int journal_open(const char *output, const struct journal_part *parts, size_t n,
		 struct journal **ret_journal);
void journal_close(struct journal *j); /* NULL is fine; the file stays */

/* From now on the output is complete up to here. `mark`: bytes of it that are not to be overwritten unseen; 0: none. */
int journal_commit(struct journal *j, const struct journal_part *parts, size_t n, uint64_t mark,
		   bool last);
uint64_t journal_mark(const struct journal *j);
/* Bytes [offset, offset + n) of `fd` will be overwritten, or cut off: those below the mark are kept. */
int journal_keep(struct journal *j, int fd, uint64_t offset, uint64_t n);
/* The file as of the last commit. */
int journal_roll_back(struct journal *j, int fd);
/* The output is whole: the file goes. */
int journal_remove(struct journal *j);
