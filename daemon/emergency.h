/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The emergency journal: rows of what makes safer, when the database does not answer, and the numbers that the
 * engine has given. A file below /run, mapped and locked: writing to it is writing to memory, so it waits for no
 * disk. It survives kill -9, not a power cut; disk.c copies it to the state directory, under the database's name, when
 * that answers.
 *
 *   engine --ENGINE_EMERGENCY--> rows --bring--> store --answer--> brought: forgotten when their command has ended
 *                                 '--recover--> the engine of the next daemon
 *
 * Invariants:
 *  - a row is whole or not there: it counts from when `used` is moved behind it, an area from when it is active;
 *  - bringing a row into the database twice is bringing it once (ROW_COMMAND_BROUGHT, ROW_TRANSITION_BROUGHT);
 *  - it is bounded. When it is full, commands that have ended are folded into a count of their parameter; when
 *    that does not help either, the row is dropped and counted. What makes safer is sent all the same.
 *
 * All calls are the main thread's.
 */
#ifndef DAEMON_EMERGENCY_H
#define DAEMON_EMERGENCY_H

#include "slowctl/engine.h"

struct emergency;
struct store;

/*
 * Map the file at `path`, or begin it: with what `copy` has where that is a whole copy of such a file, else empty. One
 * of another version is renamed, with a warning in the log. Where the file cannot be had the memory is the process's
 * own, and `error` says why. 0; 1: the memory is our own; -ENOMEM.
 */
int emergency_open(const char *path, const char *copy, struct emergency **ret_journal,
		   struct sc_error *error);
void emergency_close(struct emergency *j); /* NULL is accepted; the file stays */

/* For the engine: engine_marks(). */
struct engine_marks *emergency_marks(struct emergency *j);
/* A row of ENGINE_EMERGENCY. -ENOSPC: it is full of open commands; counted. */
int emergency_put(struct emergency *j, const struct row *row);

/* The commands of a daemon before us, into the engine. -ENOMEM. */
int emergency_recover(const struct emergency *j, struct engine *e, struct engine_now now);
/* Give the store what it does not have yet, when it is well. To be called often: it costs nothing. */
void emergency_bring(struct emergency *j, struct store *s, struct engine_now now);
/* The store's answer to the last row of emergency_bring(): its cookie and result. */
void emergency_brought(struct emergency *j, uint64_t cookie, int result, struct engine_now now);

struct emergency_status {
	unsigned rows;	  /* not in the database yet */
	uint64_t folded;  /* commands that are a count only, not in the database yet */
	uint64_t dropped; /* rows lost, since the file was begun */
	bool own_memory;  /* it does not survive us */
	char error[200];  /* why */
};
void emergency_get_status(const struct emergency *j, struct emergency_status *ret_status);

/* The whole, for a copy of it: bytes, and memory with its sum as of now. True: it is another one than `*generation`
 * names, which is then set. */
size_t emergency_bytes(void);
const void *emergency_image(const struct emergency *j);
bool emergency_changed(const struct emergency *j, uint64_t *generation);

#endif
