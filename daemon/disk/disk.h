/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread that checks the disk of the database: free space, and the copy of the emergency journal beside the
 * database. When the disk hangs, only this thread hangs: its results have an age.
 *
 * All calls are the main thread's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk;

/* `database`: path of the file; `copy`: path to which offered bytes are written. Both strings are
 * copied. -ENOMEM, or negative errno of the thread. */
int disk_start(const char *database, const char *copy, struct disk **ret_disk);
/* Waits at most limit_ns for its first answer. True: it has answered. */
bool disk_has_answered(struct disk *d, uint64_t limit_ns);
/* Waits at most a second for a disk that hangs; then returns false, and the thread ends with the process.
 * NULL is accepted. */
bool disk_stop(struct disk *d);

/* Write these bytes to `copy`, completely or not at all; they are copied. False: the last ones are still
 * being written. */
bool disk_offer(struct disk *d, const void *bytes, size_t count);

#define DISK_HANGS_NS 500000000ull /* a disk without an answer for this time hangs */

struct disk_status {
	bool known; /* free and size are known */
	double free_bytes, size_bytes;
	uint64_t asked_ns; /* CLOCK_MONOTONIC of a check that is still going on; 0: none */
	int copy_error;	   /* negative errno of the last copy, or 0 */
};
void disk_get_status(struct disk *d, struct disk_status *ret_status);
