/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The emergency journal: rows of commands that make safer, while the database does not answer, and the numbers
 * that the engine has used. A file below /run, mapped and locked: writing to it is writing to memory and waits for
 * no disk. It survives kill -9, not a power cut; disk.c copies it to the state directory, under the database's name,
 * when that disk answers.
 *
 *   engine --ENGINE_EMERGENCY--> rows --bring--> store --answer--> brought: forgotten when their command has ended
 *                                 '--recover--> the engine of the next daemon
 *
 * Invariants:
 *  - a row is whole or not there: it is valid once `used` is behind it, an area once it is active;
 *  - bringing a row into the database twice is bringing it once (ROW_COMMAND_BROUGHT, ROW_TRANSITION_BROUGHT);
 *  - it is bounded. When it is full, ended commands are folded into a count per parameter; if there is still no
 *    room, the row is dropped and counted. The command is sent in any case.
 *
 * All calls are the main thread's.
 */
#ifndef DAEMON_DISK_EMERGENCY_H
#define DAEMON_DISK_EMERGENCY_H

#include "slowctl/engine/engine.h"

struct emergency;
struct store;

/*
 * Map the file at `path`, or create it: from `copy` if that is a whole copy of such a file, else empty. A file of
 * another version is renamed, with a warning in the log. If the file cannot be mapped, memory of the process is used
 * instead, and `error` says why. 0; 1: memory of the process; -ENOMEM.
 */
int emergency_open(const char *path, const char *copy, struct emergency **ret_journal,
		   struct sc_error *error);
void emergency_close(struct emergency *j); /* NULL is accepted; the file stays */

/* For the engine: engine_marks(). */
struct engine_marks *emergency_marks(struct emergency *j);
/* A row of ENGINE_EMERGENCY. -ENOSPC: it is full of open commands; counted. */
int emergency_put(struct emergency *j, const struct row *row);

/* Load the commands of a previous daemon into the engine. -ENOMEM. */
int emergency_recover(const struct emergency *j, struct engine *e, struct engine_now now);
/* Give the store the rows that it does not have yet, when it is well. Cheap: call it often. */
void emergency_bring(struct emergency *j, struct store *s, struct engine_now now);
/* The store's answer to the last row of emergency_bring(): its cookie and result. */
void emergency_brought(struct emergency *j, uint64_t cookie, int result, struct engine_now now);

struct emergency_status {
	unsigned rows;	  /* not in the database yet */
	uint64_t folded;  /* commands kept as a count only, not in the database yet */
	uint64_t dropped; /* rows lost since the file was created */
	bool own_memory;  /* it does not survive the process */
	char error[200];  /* why */
};
void emergency_get_status(const struct emergency *j, struct emergency_status *ret_status);

/* The whole image, for a copy: size, and memory with its sum as of now. True: it has changed since `*generation`,
 * which is then updated. */
size_t emergency_bytes(void);
const void *emergency_image(const struct emergency *j);
bool emergency_changed(const struct emergency *j, uint64_t *generation);

#endif
