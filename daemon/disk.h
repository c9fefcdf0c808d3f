/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread that looks at the database's disk: how much is free, and the copy of the emergency journal beside the
 * database. A disk may hang, and then this thread hangs, and nobody else: what it says has an age.
 *
 * All calls are the main thread's.
 */
#ifndef DAEMON_DISK_H
#define DAEMON_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk;

/* `database`: the path of the file; `copy`: where what is offered is written to. Both are copied. -ENOMEM, or negative
 * errno of the thread. */
int disk_start(const char *database, const char *copy, struct disk **ret_disk);
/* Waits for its first answer, so long at most. True: it has come. */
bool disk_has_answered(struct disk *d, uint64_t limit_ns);
/* Waits a second at most for a disk that hangs; then the thread is left alone, and it returns false. NULL
 * is accepted. */
bool disk_stop(struct disk *d);

/* To be written there, whole or not at all; copied. False: the last one is still on its way. */
bool disk_offer(struct disk *d, const void *bytes, size_t count);

#define DISK_HANGS_NS 500000000ull /* so long without an answer: it hangs */

struct disk_status {
	bool known; /* free and size are */
	double free_bytes, size_bytes;
	uint64_t asked_ns; /* monotonic: it has not answered since; 0: it has */
	int copy_error;	   /* negative errno of the last copy; 0: well */
};
void disk_get_status(struct disk *d, struct disk_status *ret_status);

#endif
